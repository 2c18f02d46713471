"""The benchmark of many raters at once: it notices what it is there to notice, and its figures are what they say."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # benchmarks/ is not part of the installed package

from benchmarks.__main__ import load
from benchmarks.processes import BenchmarkError, resident_kb
from benchmarks.stored_turns import TurnsDiffer, compare, slowest, stored_of, turns_astray, without_models
from benchmarks.stored_units import TASK_NAME, TEXT, write_units
from mephisto_tasks.simulation.raters import Outcome, SentTurn
from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.schema.records import DialogueRecord, Turn

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


def test_equal_turns_are_counted(records: list[DialogueRecord]) -> None:
    """Guards against a difference seen where there is none."""
    assert compare([_sent(record) for record in records], records) == 2 * TURNS


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


@pytest.mark.parametrize("change", [_lose, _double, _change_words, _choose_another, _cut_off])
def test_any_difference_is_noticed(
    records: list[DialogueRecord], change: Callable[[Outcome, DialogueRecord], None]
) -> None:
    """Guards the claim that no turn is lost, doubled or changed: each of these ends the benchmark with an error."""
    outcomes = [_sent(record) for record in records]
    change(outcomes[1], records[1])
    with pytest.raises(TurnsDiffer, match=r"^w"):
        compare(outcomes, records)


@pytest.mark.parametrize(("change", "astray"), [(_lose, 2), (_double, 1), (_change_words, 1), (_choose_another, 1)])
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
    assert compare([outcome], records[:1]) == TURNS


def test_records_of_nobody_are_noticed(tmp_path: Path, records: list[DialogueRecord]) -> None:
    """Guards the search for records by worker: one too many or too few is an error."""
    with pytest.raises(TurnsDiffer, match="2 workers are stored who did not take part"):
        stored_of(tmp_path / "data", TASK_NAME, [])
    with pytest.raises(TurnsDiffer, match="held one dialogue, and 0 are stored"):
        stored_of(tmp_path / "data", TASK_NAME, [Outcome(worker="stranger")])


def test_own_time_is_the_wait_less_the_slowest_model(records: list[DialogueRecord]) -> None:
    """Guards the figure “without models”: models are asked at once, so that the slowest one counts."""
    for number, turn in enumerate(records[0].turns, start=1):
        _set_latencies(turn, 0.01 * number, 0.1 * number)
    assert [slowest(turn) for turn in records[0].turns] == pytest.approx([0.1, 0.2, 0.3])
    assert without_models([0.15, 0.25, 0.4], records[0]) == pytest.approx([0.05, 0.05, 0.1])


def _set_latencies(turn: Turn, *seconds: float) -> None:
    for candidate, latency in zip(turn.candidates, seconds, strict=True):
        candidate.latency_s = latency


def test_memory_of_a_process() -> None:
    """Guards the reading of memory: a process that holds more says so, and one that is not there is an error."""
    before = resident_kb(os.getpid())
    ballast = bytearray(os.urandom(1024)) * (64 * 1024)
    assert resident_kb(os.getpid()) - before == pytest.approx(len(ballast) / 1024, rel=0.2)
    with pytest.raises(BenchmarkError, match="cannot be read"):
        resident_kb(2**22 + 1)


@pytest.mark.slow
def test_quick_load_gives_figures() -> None:
    """Guards the whole: raters in a process of their own, what is stored of them, and each kind of figure."""
    figures = {figure.name.partition(": ")[2]: figure.ours for figure in load("load")(True)}
    assert figures["turns lost, changed or doubled"] == 0
    assert figures["told to wait, for the study is full"] == 0
    assert figures["came to no end"] == 0
    assert all(math.isfinite(value) for value in figures.values())
    assert figures["message → cards, median"] > 0
    assert figures["first request → first page, median"] > 0
    assert figures["server's processor time per rater"] > 0


@pytest.mark.slow
def test_quick_run_gives_figures() -> None:
    """Guards the whole: a launch, raters at once, the comparison of what they sent, and each kind of figure."""
    figures = {figure.name: figure.ours for figure in load("raters")(True)}
    assert figures["turns sent, all stored once and alike"] == 2 * (1 + 3 + 3)
    assert all(math.isfinite(value) for value in figures.values())
    assert all(value > 0 for name, value in figures.items() if "per conversation" not in name)
    assert len([name for name in figures if name.startswith("round trip without models")]) == 6
