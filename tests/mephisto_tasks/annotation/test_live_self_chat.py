"""Self-chat: missing dialogues are made at launch, those of earlier launches are used again, and pairs of them judged."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted_models
from hands import always
from judging_hands import (
    LONG,
    SHORT,
    TERSE,
    WORDY,
    Judge,
    everything_heard,
    judged_texts,
    judgements,
    launch_study,
    long_texts,
    page_config,
    simulate,
    study_beside,
    told_of,
)
from live import eventually

from mephisto_tasks.annotation import items as gathering
from mephisto_tasks.simulation.raters import Behaviour

THIRD = "zz-third-model"


@pytest.fixture(autouse=True)
def _scripts() -> Iterator[None]:
    always({WORDY: LONG, TERSE: SHORT})
    scripted_models.HEARD.clear()
    yield
    scripted_models.SCRIPTS.clear()


def settings(data_dir: Path, **more: Any) -> dict[str, Any]:
    data_dir.mkdir(parents=True, exist_ok=True)
    zoo = scripted_models.zoo_file(data_dir, [WORDY, TERSE, THIRD])
    common = {"models": [WORDY, TERSE], "zoo_files": [str(zoo)], "num_dialogues": 3, "exchanges": 2, "start": "hi"}
    return {**common, "judgements_per_group": 2, "items_per_unit": 1, **more}


def files_of(data_dir: Path) -> dict[Path, list[str]]:
    """The files of dialogues, and their lines."""
    found = sorted((data_dir / gathering.SELF_CHATS).rglob("*.jsonl"))
    return {path: path.read_text(encoding="utf-8").splitlines() for path in found}


async def test_missing_dialogues_are_made_once(data_dir: Path) -> None:
    """The second launch has nothing to generate; more of them only adds, and the old ones stay as they are."""
    async with study_beside(data_dir, "self_chat", **settings(data_dir)):
        first = files_of(data_dir)
        asked = len(scripted_models.HEARD)
    assert [len(lines) for lines in first.values()] == [3, 3]
    assert asked > 0
    async with study_beside(data_dir, "self_chat", **settings(data_dir)):
        pass
    assert files_of(data_dir) == first
    assert len(scripted_models.HEARD) == asked, "no model was asked for anything"
    async with study_beside(data_dir, "self_chat", **settings(data_dir, num_dialogues=5)):
        more = files_of(data_dir)
    assert {path: lines[:3] for path, lines in more.items()} == first
    assert [len(lines) for lines in more.values()] == [5, 5]
    per_dialogue = asked / 6
    assert len(scripted_models.HEARD) - asked == 4 * per_dialogue
    async with study_beside(data_dir, "self_chat", **settings(data_dir, num_dialogues=4)) as run:
        assert len(run.study.items) >= 16
    assert files_of(data_dir) == more, "fewer are fewer to show, not fewer to keep"


async def test_other_ways_to_make_them_have_a_folder_of_their_own(data_dir: Path) -> None:
    async with study_beside(data_dir, "self_chat", **settings(data_dir)):
        first = files_of(data_dir)
    async with study_beside(data_dir, "self_chat", **settings(data_dir, exchanges=3)):
        both = files_of(data_dir)
    assert {path: lines for path, lines in both.items() if path in first} == first
    assert len({path.parent for path in both}) == 2


async def test_a_model_that_joins_is_the_only_one_to_talk(data_dir: Path) -> None:
    async with study_beside(data_dir, "self_chat", **settings(data_dir)):
        first = files_of(data_dir)
    scripted_models.HEARD.clear()
    wider = settings(data_dir, models=[WORDY, TERSE, THIRD])
    async with study_beside(data_dir, "self_chat", **wider) as run:
        assert len({item.cell for item in run.study.items.values()}) == 3
    assert {name for name, _ in scripted_models.HEARD} == {THIRD}
    assert {path: lines for path, lines in files_of(data_dir).items() if path in first} == first


async def test_the_second_speaker_is_judged_unless_set(data_dir: Path) -> None:
    """“Hi!”, which no model said, is the first one's."""
    for judged, marked in (("second", 1), ("first", 0)):
        task_name = f"judge-{judged}"
        async with study_beside(
            data_dir, "self_chat", task_name=task_name, **settings(data_dir, judged_speaker=judged)
        ) as run:
            async with Judge(run, f"w-{judged}") as rater:
                state = await rater.state()
                assert [line.judged for line in state.panels[0].lines] == [n % 2 == marked for n in range(4)]
                assert ("Hi!" in judged_texts(state.panels[0])) == (marked == 0)
                await rater.whole_unit()
                (record,) = rater.judgements(run)
            assert (record.technique, record.setting) == ("pw_dialog", "self_chat")
            assert {(shown.kind, shown.judged) for shown in record.dialogues} == {("self_chat", marked)}
            assert [len(set(shown.entities)) for shown in record.dialogues] == [1, 1]


def test_a_whole_study(data_dir: Path) -> None:
    """The wordier model wins with raters who like long texts, and no page hears its name."""
    wanted = settings(data_dir, judgements_per_group=9, onboarding_qualification="q", golds_per_unit=1)
    with launch_study(data_dir, "self_chat", **wanted) as run, everything_heard() as heard:
        heard.append(page_config(run))
        simulate(run, Behaviour(practice=run.study.practice, taste=long_texts))
        asyncio.run(eventually(run.is_done))
    ordinary = [record for record in judgements(run) if record.expected is None]
    assert len(ordinary) == 9
    wins = [record.dialogues[0 if record.answers[0].option == "first" else 1].entities[1] for record in ordinary]
    assert wins.count(WORDY) >= 7
    assert told_of(heard, [WORDY, TERSE, gathering.SELF_CHATS, "jsonl", "gold:"]) == []


async def test_a_model_that_fails_is_named(data_dir: Path) -> None:
    """What is made stays, and the next launch goes on with it."""

    def broken(dialogue: Any) -> str:
        raise ValueError("out of words")

    scripted_models.SCRIPTS[TERSE] = broken
    with pytest.raises(Exception, match=TERSE) as caught:
        async with study_beside(data_dir, "self_chat", **settings(data_dir)):
            pass
    assert "out of words" in str(caught.value)
    always({TERSE: SHORT})
    async with study_beside(data_dir, "self_chat", **settings(data_dir)):
        assert [len(lines) for lines in files_of(data_dir).values()] == [3, 3]
