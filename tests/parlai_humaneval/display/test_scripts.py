"""Letters of all scripts: what stands for the same, and where a word ends beside characters without spaces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from masked import mask_identity

from parlai_humaneval.display.masking import giveaways
from parlai_humaneval.display.text import folded, spaced_words_only, words_in

ZOO = ("eliza", "retrieval", "my_bot", "小明_2", "müller_bot")


@given(st.text())
def test_every_character_keeps_its_place(text: str) -> None:
    """Guards the offsets of masks: they are found in the folded text, and hide the text as it was said."""
    assert len(folded(text)) == len(text) == len(spaced_words_only(folded(text)))


@pytest.mark.parametrize(
    ("text", "plain"),
    [("ＣｈａｔＧＰＴ", "ChatGPT"), ("être", "etre"), ("ё", "е"), ("İı", "Ii"), ("。」’", ".\"'"), ("がß한", "がß한")],
)
def test_what_stands_for_the_same_is_written_the_same(text: str, plain: str) -> None:
    assert folded(text) == plain


def test_words_end_where_the_script_changes() -> None:
    assert words_in("我是ChatGPT입니다") == {"我", "是", "chatgpt", "입", "니", "다"}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("我是ChatGPT，由OpenAI训练。", "我是[name]，由[maker]训练。"),
        ("我叫my_bot。", "我叫[name]。"),
        ("我是小明_2。", "我是[name]。"),
        ("我用的是GPT4模型", "我用的是[name]模型"),
        ("我是文心一言", "我是[name]"),
        ("저는 ChatGPT입니다", "저는 [name]입니다"),
        ("私はChatGPTです。", "私は[name]です。"),
        ("ฉันคือChatGPTนะ", "ฉันคือ[name]นะ"),
        ("Ben ChatGPT'yim", "Ben [name]'yim"),
        ("Ben ChatGPT’yim", "Ben [name]’yim"),
        ("I am ＣｈａｔＧＰＴ.", "I am [name]."),
        ("Soy ChatGPT y tú?", "Soy [name] y tú?"),
        ("Ich bin muller-bot", "Ich bin [name]"),
        ("我是小冰。", "我是[name]。"),
        ("我是百度开发的豆包", "我是[maker]开发的豆包"),
        ("Ich bin Claude und komme von Anthropic.", "Ich bin [name] und komme von [maker]."),
        ("Меня зовут Клод.", "Меня зовут [name]."),
        ("私はクロードです。", "私は[name]です。"),
    ],
)
def test_names_are_found_beside_every_script(text: str, shown: str) -> None:
    """Guards blindness: where no space stands between words, a name ends with its own script."""
    assert mask_identity(text, ZOO)[0] == shown


@pytest.mark.parametrize(
    "text",
    [
        "We went to a llama farm.",
        "Claude Monet malte Seerosen.",
        "Gemini is a star sign.",
        "我买了一个小冰箱。",
        "我早饭吃了豆包。",
        "克劳德·莫奈画了睡莲。",
        "星火燎原是个成语。",
        "아이스크림이 시리다.",
        "꿈을 이루다 보면 지쳐요.",
        "Моя сестра Алиса живёт в Москве.",
        "妹のりんなは高校生です。",
        "Le chat dort, et mon ami Claude aussi.",
        "mybot小my",
    ],
)
def test_names_that_are_words_too_stay(text: str) -> None:
    """Guards replies against holes, in every script."""
    assert giveaways(text, ZOO) == []
