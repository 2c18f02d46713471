"""Self-chats: one command from nothing has the models talk, shows pairs of what they said, and ends when all is judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from parlai_humaneval.techniques.questions import PW_DIALOG_QUESTIONS

from .finished import launch_self_chat
from .judging import Judging
from .leaks import check_secrecy_of_finished
from .looks import Looks
from .practising import practise
from .rater import Rater
from .techniques import practice_of

pytestmark = pytest.mark.browser

MODELS = {"eliza", "retrieval"}
EXCHANGES = 6
QUESTION = PW_DIALOG_QUESTIONS["preference"]


def test_from_nothing_to_the_last_judgement(visit: Callable[..., Rater], tmp_path: Path) -> None:
    """The dialogues are made, shown as they stand in their files, and two judgements later the launch is over."""
    study = launch_self_chat(tmp_path / "study")
    try:
        study.wait_until_up()
        rater = visit(study.url, "keyboard")
        rater.watch.keep_bodies()
        looks = Looks("wide")
        worker = rater.start_from_preview()
        rater.sees_task()
        practise(rater, practice_of("pw_dialog", "preference", "preference"))
        shown = []
        for number in range(1, 4):
            rater.progress(f"Pair {number} of 3")
            judging = Judging(rater)
            shown.append([[line.text for line in lines] for lines in judging.lines(2)])
            looks.look(rater.page, f"self-chat-{number}")
            judging.pick(QUESTION, "Speaker 2")
            rater.write("It is a little less odd.")
            rater.send("Continue")
        rater.finish()
        assert study.wait_until_done() == 0
    finally:
        status = study.stop()
    assert status == 0, study.log[-3000:]

    records = study.judgements_of(worker)
    assert [record.status for record in records] == ["complete"] * 3
    assert [record.setting for record in records] == ["self_chat"] * 3
    said = _self_chats(study.data_dir)
    for record, texts in zip(records, shown, strict=True):
        assert [[line.text for line in one.lines] for one in record.dialogues] == texts
        if record.expected is None:
            assert {one.entities[0] for one in record.dialogues} == MODELS
            assert all(len(lines) == 2 * EXCHANGES and lines in said for lines in texts)
    check_secrecy_of_finished(rater.watch.received, sorted(MODELS), [records[0].worker, "gold:"])
    assert looks.problems() == []


def _self_chats(data_dir: Path) -> list[list[str]]:
    """Everything that the models said to themselves, from the files of the launch."""
    found = sorted((data_dir / "self_chats").rglob("*.jsonl"))
    assert len(found) == len(MODELS)
    lines = [line for path in found for line in path.read_text(encoding="utf-8").splitlines()]
    return [[act["text"] for turn in json.loads(line)["dialog"] for act in turn] for line in lines]
