"""What raters sent beside what was stored of it: every turn once, with the same words and the same choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.processes import BenchmarkError
from mephisto_tasks.simulation.raters import Outcome, SentTurn
from mephisto_tasks.storage.results import PSEUDONYM_KEY, read_dialogues
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.records import DialogueRecord, Turn


class TurnsDiffer(BenchmarkError):
    """A turn was lost, doubled or changed; the message names the worker and the turn."""


def stored_of(data_dir: Path, task_name: str, outcomes: Iterable[Outcome]) -> list[DialogueRecord]:
    """The record of each outcome, in the same order.

    Raises:
        TurnsDiffer: a worker has no record or more than one, or there is a record of somebody else.
    """
    stored = StoredByWorker(data_dir, task_name)
    records = []
    for outcome in outcomes:
        own = stored.take(outcome.worker)
        if len(own) != 1:
            raise TurnsDiffer(f"{outcome.worker} held one dialogue, and {len(own)} are stored")
        records += own
    if stored.others:
        raise TurnsDiffer(f"{stored.others} workers are stored who did not take part")
    return records


class StoredByWorker:
    """All records of a task, to be asked for by the name with which a rater came."""

    def __init__(self, data_dir: Path, task_name: str) -> None:
        self._pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
        self._records: dict[str, list[DialogueRecord]] = defaultdict(list)
        for record in read_dialogues(data_dir, task_name):
            self._records[record.worker].append(record)

    def take(self, worker: str) -> list[DialogueRecord]:
        """The records of a worker, which are not held any more."""
        # Mephisto's mock provider stores workers under this name.
        return self._records.pop(self._pseudonyms.worker(f"{worker}_sandbox"), [])

    @property
    def others(self) -> int:
        """Workers whose records were not asked for."""
        return len(self._records)


def turns_astray(outcome: Outcome, records: Sequence[DialogueRecord]) -> int:
    """Turns of a rater who finished that are not stored once and alike: lost, changed, doubled, or in a second record."""
    sent, stored = list(outcome.turns), [turn for record in records for turn in record.turns]
    pairs = enumerate(zip(sent, stored, strict=False), start=1)
    alike = sum(its.turn == place and _same(turn, its) for place, (turn, its) in pairs)
    return max(len(sent), len(stored)) - alike


def compare(outcomes: Sequence[Outcome], records: Sequence[DialogueRecord]) -> int:
    """Turns that were sent and stored alike: all of them.

    Raises:
        TurnsDiffer: one was lost, doubled or changed, or a dialogue was not finished.
    """
    return sum(_compare_one(outcome, record) for outcome, record in zip(outcomes, records, strict=True))


def _compare_one(outcome: Outcome, record: DialogueRecord) -> int:
    who = outcome.worker
    if not outcome.finished or record.status != "complete":
        end = outcome.refused or outcome.stopped or f"stored as {record.status}"
        raise TurnsDiffer(f"{who} did not finish: {end}")
    if [turn.turn for turn in record.turns] != list(range(1, len(outcome.turns) + 1)):
        raise TurnsDiffer(f"{who} sent {len(outcome.turns)} turns, stored are {[turn.turn for turn in record.turns]}")
    for sent, stored in zip(outcome.turns, record.turns, strict=True):
        if not _same(sent, stored):
            raise TurnsDiffer(f"{who}, turn {stored.turn}: sent {sent}, stored {stored.model_dump()}")
    return len(outcome.turns)


def _same(sent: SentTurn, stored: Turn) -> bool:
    # Of candidates with the same text one was shown, and all are credited.
    shown = {candidate.candidate_id for candidate in stored.candidates if candidate.same_as is None}
    return (
        stored.complete
        and sent.message in (None, stored.human_text)
        and sorted(sent.selected) == sorted(shown.intersection(stored.selected))
        and sent.ticks == stored.ticks
        and sent.written == stored.written
    )


def without_models(waits_s: Sequence[float], record: DialogueRecord) -> list[float]:
    """Seconds from a message to its candidates that no model is to blame for, a value a turn."""
    return [wait - slowest(turn) for wait, turn in zip(waits_s, record.turns, strict=True)]


def slowest(turn: Turn) -> float:
    """Seconds that the slowest model of a turn took, its queue included."""
    return max(candidate.latency_s for candidate in turn.candidates)
