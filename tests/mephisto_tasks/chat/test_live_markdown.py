"""Whether markdown is drawn is decided by what models write, where their entries in the zoo do not tell."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from live import Launch, Rater, eventually, records

from mephisto_tasks.chat import study as chat_study
from mephisto_tasks.launch.running import RunningStudy
from parlai_humaneval.schema.steps import ChooseStep

PLAIN, LIST = "I would read a book.", "1. **Read** a book\\n2. Bake"


@pytest.fixture
def own_models(tmp_path: Path) -> dict[str, Any]:
    """Settings of a study of three functions, which note what they are asked."""
    code = (
        f"import time\nfrom pathlib import Path\n\nASKED = Path({str(tmp_path / 'asked')!r})\n\n"
        "def note(history):\n    with ASKED.open('a') as file:\n        file.write(history[-1].text + '\\n')\n\n"
        f"def plain(history):\n    note(history)\n    return '{PLAIN}'\n\n"
        f"def lists(history):\n    note(history)\n    return '{LIST}'\n\n"
        "def slow(history):\n    time.sleep(0.5)\n    return plain(history)\n"
    )
    (tmp_path / "bots.py").write_text(code, encoding="utf-8")
    model = "parlai_humaneval.agents.callable:CallableAgent"
    options = {
        name: {"options": {"model": model, "function": f"bots.py:{name}"}} for name in ("plain", "lists", "slow")
    }
    zoo = tmp_path / "bots.yaml"
    zoo.write_text(yaml.safe_dump({"models": options}), encoding="utf-8")
    return {"zoo_files": [str(zoo)], "turns": 1, "dialogues_per_group": 2}


async def drawn_cards(run: RunningStudy, person: str) -> list[bool]:
    async with Rater(run, person) as rater:
        step = (await rater.state()).step
        assert isinstance(step, ChooseStep)
        drawn = [card.markup is not None for card in step.cards]
        await rater.finish()
    await eventually(lambda: not run.live_run.task_runner.running_units)
    return sorted(drawn)


async def test_one_first_reply_in_markdown_has_it_drawn_for_all(
    start: Launch, own_models: dict[str, Any], tmp_path: Path
) -> None:
    """Guards functions behind which an LLM writes lists; the study keeps the look, and asks nobody again."""
    async with start(models=["plain", "lists"], **own_models) as run:
        assert [one for one in run.study.remarks if "Markdown is rendered" in one and "because lists used" in one]
        assert await drawn_cards(run, "first") == [False, True]
        assert records(run)[0].settings["replies"]["appearance"] == "markdown"
    async with start(models=["plain", "lists"], **own_models) as run:
        assert await drawn_cards(run, "second") == [False, True]
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert asked.count(chat_study.FIRST_QUESTION) == 2


@pytest.mark.parametrize(
    ("models", "remarked"),
    [(["plain", "retrieval"], False), (["plain", "slow"], True), (["retrieval", "eliza"], False)],
)
async def test_without_markdown_replies_are_shown_as_written(
    start: Launch, own_models: dict[str, Any], monkeypatch: pytest.MonkeyPatch, models: list[str], remarked: bool
) -> None:
    """Guards papers' protocols; a model that has not answered by then is named, and what to set."""
    monkeypatch.setattr(chat_study, "FIRST_REPLY_S", 0.2)
    async with start(models=models, **own_models) as run:
        assert run.study.config.replies.appearance == "as_said"
        assert any("slow sent no test reply within 0.2 seconds" in one for one in run.study.remarks) is remarked
