"""What one worker has met, and their units of work: which are done, and which was cut off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from parlai_humaneval.protocol.allocation.item_pool import CellKey
from parlai_humaneval.protocol.dialogues.items import Item, PastJudgement


@dataclass
class Session:
    """One unit of work, maybe in several visits: ``done`` of ``numbers`` items are judged.

    ``numbers`` is that of the last visit in which anything was shown. ``running``: a visit is under way.
    """

    name: str
    numbers: int = 0
    done: int = 0
    running: bool = False

    @property
    def lacks(self) -> int:
        return max(0, self.numbers - self.done)


@dataclass
class Visit:
    """What a worker was given at once. ``shown`` and ``done`` are ids of items."""

    worker: str
    session: Session
    items: dict[str, Item]
    numbers: int
    shown: set[str] = field(default_factory=set)
    done: set[str] = field(default_factory=set)

    @property
    def open_items(self) -> list[Item]:
        """What is not judged yet."""
        return [item for name, item in self.items.items() if name not in self.done]


class WorkerPast:
    """One worker's memory."""

    def __init__(self) -> None:
        self.sessions: dict[str, Session] = {}
        self.cells: Counter[CellKey] = Counter()
        self.barred_groups: set[frozenset[str]] = set()
        """Models that the worker rated elsewhere, and may not rate again."""
        self._met: set[str] = set()
        self._visits: list[Visit] = []

    @property
    def busy(self) -> bool:
        """Whether a unit is under way."""
        return bool(self._visits)

    @property
    def cut_off(self) -> Session | None:
        """The last unit that ended before its end."""
        return next((one for one in reversed(self.sessions.values()) if one.lacks and not one.running), None)

    @property
    def barred(self) -> set[str]:
        """Dialogues that the worker has seen, or is about to see."""
        planned = (item.dialogues for visit in self._visits for item in visit.items.values())
        return self._met.union(*planned)

    def judged_of(self, key: CellKey) -> int:
        """Items of a cell that the worker has judged, or is about to."""
        return self.cells[key] + sum(item.cell.key == key for visit in self._visits for item in visit.open_items)

    def judged_of_group(self, models: frozenset[str]) -> int:
        """Items of the same models that the worker has judged, or is about to, in whatever cell."""
        keys = {*self.cells, *(item.cell.key for visit in self._visits for item in visit.open_items)}
        return sum(self.judged_of(key) for key in keys if key[0] == models)

    def bar(self, dialogues: Iterable[str]) -> None:
        """Dialogues that the worker knows from elsewhere, such as their own."""
        self._met.update(dialogues)

    def restore(self, past: PastJudgement) -> None:
        """Remember an earlier judgement; they come in the order in which they were made."""
        self._met.update(past.dialogues)
        session = self.sessions.setdefault(past.session, Session(past.session))
        session.numbers = past.numbers
        if past.complete:
            session.done += 1
            self.cells[past.cell.key] += 1

    def begin(self, visit: Visit) -> None:
        """A unit begins, or goes on."""
        self.sessions[visit.session.name] = visit.session
        visit.session.running = True
        self._visits.append(visit)

    def note_shown(self, visit: Visit, item: Item) -> None:
        visit.shown.add(item.item_id)
        visit.session.numbers = visit.numbers
        self._met.update(item.dialogues)

    def note_done(self, visit: Visit, item: Item) -> None:
        visit.done.add(item.item_id)
        visit.session.done += 1
        self.cells[item.cell.key] += 1

    def end(self, visit: Visit) -> None:
        """The unit is over; one of which nothing was ever shown is as if it had not been."""
        self._visits.remove(visit)
        visit.session.running = False
        if not visit.session.numbers:
            del self.sessions[visit.session.name]
