"""The benchmark of many raters at once: it notices what it is there to notice, and its figures are what they say."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.load import Rated, Wave, served
from benchmarks.processes import BenchmarkError, resident_kb
from benchmarks.stored_turns import turns_astray
from benchmarks.stored_units import TASK_NAME, TEXT, write_units
from mephisto_tasks.simulation.raters import Outcome, SentTurn
from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.schema.records import DialogueRecord

TURNS = 3


@pytest.fixture
def records(tmp_path: Path) -> list[DialogueRecord]:
    """Two stored dialogues."""
    write_units(tmp_path / "data", units=2, turns=TURNS)
    return read_dialogues(tmp_path / "data", TASK_NAME)


def _sent(record: DialogueRecord) -> Outcome:
    """What a rater sent of whom exactly this is stored."""
    turns = [SentTurn(turn.human_text, selected=list(turn.selected)) for turn in record.turns]
    return Outcome(worker="w", finished=True, turns=turns)


def _lose(outcome: Outcome, record: DialogueRecord) -> None:
    del record.turns[1]


def _double(outcome: Outcome, record: DialogueRecord) -> None:
    record.turns.append(record.turns[-1])


def _change_words(outcome: Outcome, record: DialogueRecord) -> None:
    outcome.turns[1].message = f"{TEXT}!"


def _choose_another(outcome: Outcome, record: DialogueRecord) -> None:
    outcome.turns[2].selected = [record.turns[2].candidates[1].candidate_id]


def _cut_off(outcome: Outcome, record: DialogueRecord) -> None:
    record.status = "partial"


@pytest.mark.parametrize(
    ("change", "astray"), [(_lose, 2), (_double, 1), (_change_words, 1), (_choose_another, 1), (_cut_off, 3)]
)
def test_differences_are_counted(
    records: list[DialogueRecord], change: Callable[[Outcome, DialogueRecord], None], astray: int
) -> None:
    """Guards the count of lost and doubled turns under load: a gap moves what comes after it, a second record doubles."""
    outcome, record = _sent(records[0]), records[0]
    assert turns_astray(outcome, [record]) == 0
    assert turns_astray(outcome, []) == TURNS
    assert turns_astray(outcome, [record, record]) == TURNS
    change(outcome, record)
    assert turns_astray(outcome, [record]) == astray


def test_candidates_of_the_same_text_are_one_choice(records: list[DialogueRecord]) -> None:
    """Guards the comparison against a choice that was credited to two models, of which one was on the screen."""
    turn = records[0].turns[0]
    turn.candidates[1].same_as = turn.selected[0]
    outcome = _sent(records[0])
    turn.selected = [candidate.candidate_id for candidate in turn.candidates]
    assert turns_astray(outcome, records[:1]) == 0


def test_memory_of_a_process() -> None:
    """Guards the reading of memory: a process that holds more says so, and one that is not there is an error."""
    before = resident_kb(os.getpid())
    ballast = bytearray(os.urandom(1024)) * (64 * 1024)
    assert resident_kb(os.getpid()) - before == pytest.approx(len(ballast) / 1024, rel=0.2)
    with pytest.raises(BenchmarkError, match="cannot be read"):
        resident_kb(2**22 + 1)


def test_raters_are_served_who_finish_and_wait_briefly() -> None:
    """Guards the largest number of raters served: slow ones do not count, nor do those of whom one came to no end."""
    waves = [Wave(raters) for raters in (10, 20, 30, 40)]
    for wave, seconds in zip(waves, (0.1, 0.9, 1.1, 0.1), strict=True):
        wave.rated = [Rated(Outcome(f"w{n}", finished=True, waits_s=[seconds])) for n in range(wave.raters)]
    waves[3].rated[0].outcome.finished = False
    assert served(waves, 1.0).ours == 20
