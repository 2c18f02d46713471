"""A shipped study in another language is blind with the presenter that its conf makes."""

from __future__ import annotations

import pytest
from omegaconf import OmegaConf

from mephisto_tasks.chat.config import InteractiveConfig
from mephisto_tasks.config.task import read_config
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.session.build import study_presenter
from parlai_humaneval.display.presenter import Presenter


@pytest.fixture(scope="module")
def presenter() -> Presenter:
    blueprint = compose_config("free_for_all", "ma2023_zh").mephisto.blueprint
    config = read_config(InteractiveConfig, OmegaConf.to_container(blueprint, resolve=True))
    assert isinstance(config, InteractiveConfig)
    return study_presenter(config.replies, [], compared=config.hides_ai_talk)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("我是ChatGPT，由OpenAI训练。", "我是[name]，由[maker]训练。"),
        ("我叫ma2023_eva2。", "我叫[name]。"),
        ("我是一个人工智能语言模型。今天天气真好！", "今天天气真好！"),
        ("作為一個人工智慧助理，我沒有感情。不過茶很好喝。", "不過茶很好喝。"),
        ("我是小冰，你呢？", "我是[name]，你呢？"),
        ("你好！\n用户：再见", "你好！"),
        ("我喜欢喝茶，你呢？", "我喜欢喝茶，你呢？"),
    ],
)
def test_the_chinese_study_of_ma_2023_is_blind(presenter: Presenter, text: str, shown: str) -> None:
    assert presenter.present(text, ["ma2023_eva2", "ma2023_plato_2"]).text == shown
