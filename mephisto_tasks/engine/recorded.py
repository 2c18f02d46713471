"""What was asked and answered before in a unit that goes on, read in its order by the world that holds it again.

A world asks here first, at every step: what stands there is taken as the answer, and only what is missing is asked. So there
is one flow, whether a dialogue is new or goes on in its middle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TypeVar

from parlai_humaneval.protocol.records.events import (
    Delayed,
    Event,
    Failed,
    FeedbackGiven,
    Finished,
    Interrupted,
    JudgingStarted,
    Refused,
    Resumed,
    Started,
)
from parlai_humaneval.protocol.records.rebuilding import split_dialogues

E = TypeVar("E")

_BESIDE = (Refused, Delayed, Interrupted, Failed, Resumed, FeedbackGiven)
"""Events that no step of a world waits for."""


class DoesNotFit(RuntimeError):
    """What is recorded of a part is not what its world would ask: it must not be mixed with anything else."""


class Recorded:
    """The events of earlier visits, by the dialogue or judgement that they are of.

    Args:
        events: in the order in which they happened.
    """

    def __init__(self, events: Sequence[Event] = ()) -> None:
        self.has_feedback = any(isinstance(event, FeedbackGiven) for event in events)
        self._parts = {name: part for part in split_dialogues(events) if (name := part_id(part[0])) is not None}
        self._next: deque[Event] = deque()

    def begun(self, part: str) -> bool:
        """Whether anything was done in a dialogue or judgement of this id."""
        return any(not isinstance(event, _BESIDE) for event in self._parts.get(part, ())[1:])

    def finished(self, part: str) -> bool:
        """Whether it came to its end."""
        return any(isinstance(event, Finished) for event in self._parts.get(part, ()))

    def open(self, part: str) -> None:
        """From now on :meth:`take` reads in the dialogue or judgement of this id; there may be nothing to be read."""
        self._next = deque(event for event in self._parts.get(part, ()) if not isinstance(event, _BESIDE))

    def next(self, kind: type[E]) -> E | None:
        """What comes next, where it is of this kind; it stays."""
        event = self._next[0] if self._next else None
        return event if isinstance(event, kind) else None

    def take(self, kind: type[E]) -> E | None:
        """What comes next, where it is of this kind; it has been read then."""
        event = self.next(kind)
        if event is not None:
            self._next.popleft()
        return event

    def must_be_over(self) -> None:
        """Something new is about to happen.

        Raises:
            DoesNotFit: there is more on record, which the world did not ask for.
        """
        if self._next:
            raise DoesNotFit(
                f"the record goes on with {self._next[0].event!r}, which is not what this dialogue would ask now"
            )


def part_id(beginning: Event) -> str | None:
    """The id of the dialogue or judgement that begins with an event; None: it is no beginning."""
    if isinstance(beginning, Started):
        return beginning.dialogue_id
    return beginning.judgement_id if isinstance(beginning, JudgingStarted) else None
