"""Units that were cut off go on under the settings that they began with, or not at all. A world asks what is on record
first, at every step, and the rater only for what is missing: one flow, whether a dialogue is new or goes on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.storage.work import CutOff
from parlai_humaneval.schema import events as log
from parlai_humaneval.schema.rebuild import split_dialogues
from parlai_humaneval.statistics.core.formatting import counted

Difference = tuple[str, object, object]  # A setting's name, what it was, and what it is now

MOST_SHOWN = 160  # characters of a value in the refusal


def going_on(
    units: Mapping[str, CutOff], differences: Callable[[CutOff], Iterable[Difference]], *, anew: bool
) -> dict[str, CutOff]:
    """Units that go on in a launch; none for a fresh start, nor simulated ones of other settings. Raises ConfigError."""
    if anew:
        return {}
    told: dict[str, Difference] = {}
    fit, cut_off = {}, 0
    for worker, unit in units.items():
        found = list(differences(unit))
        if not found:
            fit[worker] = unit
        elif not all(beginning.simulated for beginning in unit.beginnings):
            cut_off += 1
            told |= {name: (name, then, now) for name, then, now in found}
    if told:
        raise _refusal(cut_off, told.values())
    return fit


def _refusal(number: int, differences: Iterable[Difference]) -> ConfigError:
    lines = "\n".join(f"  {name}: {_shown(then)} then, {_shown(now)} now" for name, then, now in differences)
    units = counted(number, "unit")
    return ConfigError(
        f"{units} of this task {'was' if number == 1 else 'were'} interrupted and can continue, but only with the "
        f"settings that they began with:\n{lines}",
        try_=(
            "launch with the old settings to continue them",
            "or add cut_off=anew: their raters then start again, and their earlier work stays partial",
            "or start another study: task_name=…",
        ),
    )


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def settings_that_differ(
    then: Mapping[str, Any], now: Mapping[str, Any], apart: Collection[str], within: str = "mephisto.blueprint"
) -> Iterator[Difference]:
    """Settings that are others now, but for those ``apart``; one that did not exist then changes nothing."""
    for name, value in now.items():
        if name not in then or name in apart or then[name] == value:
            continue
        if isinstance(value, Mapping) and isinstance(then[name], Mapping):
            yield from settings_that_differ(then[name], value, (), f"{within}.{name}")
        else:
            yield f"{within}.{name}", then[name], value


E = TypeVar("E")

# Events that no step of a world waits for.
_BESIDE = (log.Refused, log.Delayed, log.Interrupted, log.Failed, log.Resumed, log.FeedbackGiven)


class DoesNotFit(RuntimeError):
    """What is recorded of a part is not what its world would ask: it must not be mixed with anything else."""


class Recorded:
    """The events of earlier visits, by the dialogue or judgement that they are of."""

    def __init__(self, events: Sequence[log.Event] = ()) -> None:
        self.has_feedback = any(isinstance(event, log.FeedbackGiven) for event in events)
        self._parts = {name: part for part in split_dialogues(events) if (name := part_id(part[0])) is not None}
        self._next: deque[log.Event] = deque()

    def begun(self, part: str) -> bool:
        return any(not isinstance(event, _BESIDE) for event in self._parts.get(part, ())[1:])

    def finished(self, part: str) -> bool:
        return any(isinstance(event, log.Finished) for event in self._parts.get(part, ()))

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
        """Something new is about to happen. Raises DoesNotFit: more is on record than the world asked for."""
        if self._next:
            what = f"the record continues with {self._next[0].event!r}, which is not what this dialogue would ask now"
            raise DoesNotFit(what)


def part_id(beginning: log.Event) -> str | None:
    """The id of the dialogue or judgement that begins with an event; None: the event does not begin one."""
    if isinstance(beginning, log.Started):
        return beginning.dialogue_id
    return beginning.judgement_id if isinstance(beginning, log.JudgingStarted) else None
