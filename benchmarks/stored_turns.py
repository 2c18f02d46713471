"""What raters sent, next to what was stored of it: every turn once, with the same words and the same choice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from mephisto_tasks.simulation.raters import Outcome, SentTurn
from mephisto_tasks.storage.results import PSEUDONYM_KEY, read_dialogues
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.records import DialogueRecord, Turn


class StoredByWorker:
    """All records of a task, by the name with which each rater came."""

    def __init__(self, data_dir: Path, task_name: str) -> None:
        self._pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
        self._records: dict[str, list[DialogueRecord]] = defaultdict(list)
        for record in read_dialogues(data_dir, task_name):
            self._records[record.worker].append(record)

    def turns_astray(self, outcome: Outcome) -> int:
        """Turns of a rater who finished that are not stored exactly once and alike."""
        # Mephisto's mock provider stores workers under this name.
        return turns_astray(outcome, self._records[self._pseudonyms.worker(f"{outcome.worker}_sandbox")])


def turns_astray(outcome: Outcome, records: Sequence[DialogueRecord]) -> int:
    """Turns that were lost, changed or doubled, or are in a second or unfinished record."""
    sent = list(outcome.turns)
    stored = [turn for record in records if record.status == "complete" for turn in record.turns]
    pairs = enumerate(zip(sent, stored, strict=False), start=1)
    alike = sum(its.turn == place and _same(turn, its) for place, (turn, its) in pairs)
    return max(len(sent), len(stored)) - alike


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
