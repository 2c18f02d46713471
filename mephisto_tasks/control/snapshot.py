"""The state of a running launch, which writes it to a file of the study once a second and at its end: the people
inside, how visits ended, and the same in one line. Commands that watch a study read only this file."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mephisto_tasks.storage.locks import running_task_run, study_folder
from parlai_humaneval._util.files import write_private
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.schema.records import ModelHealth
from parlai_humaneval.schema.steps import Progress
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.stopping.events import Forecast, PairForecast, StoppingStatus

SNAPSHOT_FILE = "snapshot.json"

Phase = Literal["practice", "task"]


class _Part(BaseModel):
    # A newer launch may say more than this version knows.
    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class GroupStatus(_Part):
    """One pair (group) of models in one setting."""

    label: str  # the group's name in progress and reports
    models: list[str]
    metric: str
    setting: str
    completed: int  # dialogues (judgements)
    wanted: int | None  # none: as many as it takes until the answer is reached, or no launch of this version has said
    running: int = 0
    stopped: str | None = None  # why no new ones are given out, in words; None: they are
    asked: int = 0  # what the settings of the launch ask for; orders may have added to it

    @classmethod
    def of(cls, cell: Cell, *, completed: int, wanted: int | None, **more: Any) -> GroupStatus:
        models, metric, setting = list(cell.models), cell.metric, cell.setting
        return cls(
            label=str(cell), models=models, metric=metric, setting=setting, completed=completed, wanted=wanted, **more
        )


def so_far(groups: Iterable[GroupStatus], deciding: DecidingNow | None = None) -> tuple[int, int]:
    """Complete dialogues (judgements), and how many it will be (at most, where answers decide the end)."""
    groups = list(groups)
    completed = sum(group.completed for group in groups)
    if deciding is not None:
        return completed, completed if deciding.standing.ended else deciding.standing.cap
    return completed, sum(group.completed + group.running if group.stopped else group.wanted or 0 for group in groups)


class DecidingNow(_Part):
    """How far the answer of a study is that stops once it reaches a decision."""

    standing: StoppingStatus
    margin: float  # two models are equal where their win rates are less than this apart
    forecast: Forecast | None = None  # dialogues to go; None: not foreseen yet, or nothing to foresee

    def pairs_to_go(self) -> dict[frozenset[str], PairForecast]:
        """The dialogues that each open pair still needs, as far as they are foreseen."""
        if self.forecast is None or self.standing.ended:
            return {}
        foreseen = {frozenset((pair.first, pair.second)): pair for pair in self.forecast.pairs}
        still_open = map(frozenset, self.standing.open)
        return {pair: foreseen[pair] for pair in still_open if pair in foreseen}

    def __str__(self) -> str:
        """“4 of 6 pairs open; about 203 more dialogues (80 %: 131–429)”."""
        forecast = "" if self.forecast is None or self.standing.ended else f"; {self.forecast}"
        return f"{self.standing}{forecast}"


class PausedNow(_Part):
    """No new worker may begin."""

    by: str
    since: float


class Inside(_Part):
    """Somebody on a page."""

    worker: str  # A pseudonym
    simulated: bool
    phase: Phase
    since: float
    step: str  # kind of the step on the page (message, choose, wait, …); empty before the first
    step_since: float | None = None
    part: int | None = None  # number of the turn, conversation, pair or practice item, and of how many
    parts: int | None = None
    unit: str | None = None  # what is counted by ``part``: turn, conversation, pair, practice
    last_seen: float  # their last answer, or a sign of life of their page
    here: bool = True  # whether the page is connected


class Left(_Part):
    """Workers who went away before the end, at one step, and did not come back."""

    phase: Phase
    step: str
    count: int


class Door(_Part):
    """Visitors. Counts of this launch."""

    came: int = 0
    """Registrations. A reload does not count, each try of a rejected visitor does, and so does a visitor who waits for
    a place."""
    let_in: int = 0
    waited: int = 0  # workers who were told that the study is full (``max_concurrent``)
    turned_away: dict[str, int] = Field(default_factory=dict)  # kind of reason, such as ``practice_failed`` → how often
    practice_passed: int = 0
    practice_failed: int = 0
    completed: int = 0  # units done to their end
    left: list[Left] = Field(default_factory=list)  # drop-outs, most frequent first
    failed: int = 0  # units that ended on our side


class OrderResult(_Part):
    """The outcome of an order; ``text``: as a sentence."""

    order_id: str
    kind: str
    at: float
    by: str
    done: bool
    text: str


class Snapshot(_Part):
    """A launch at one moment. Times are seconds since the epoch."""

    schema_version: int = 1
    at: float
    task_name: str
    task_run_id: str
    pid: int
    began: float
    url: str
    technique: str
    metric: str
    counted: str  # what is counted: conversations, judgements
    remaining: int  # units that are still to be done
    paused: PausedNow | None = None
    closing: bool = False  # the launch is ending
    broken: str | None = None  # why nothing is given out any more: units failed in a row
    trouble: str | None = None  # what cannot be written down now, and what to do; None: everything can be
    groups: list[GroupStatus] = Field(default_factory=list)
    deciding: DecidingNow | None = None
    inside: list[Inside] = Field(default_factory=list)
    door: Door = Field(default_factory=Door)
    models: list[ModelHealth] = Field(default_factory=list)
    orders: list[OrderResult] = Field(default_factory=list)  # all orders that this launch has read, oldest first
    remarks: list[str] = Field(default_factory=list)
    ended: float | None = None  # when the launch ended; None while it runs, and where it was killed


def snapshot_file(data_dir: Path, task_name: str) -> Path:
    return study_folder(data_dir, task_name) / SNAPSHOT_FILE


def write_snapshot(data_dir: Path, task_name: str, snapshot: Snapshot) -> None:
    """Whole or not at all: a reader finds the last one or this one. Readable by its owner only."""
    write_private(snapshot_file(data_dir, task_name), snapshot.model_dump_json().encode())


def read_snapshot(data_dir: Path, task_name: str) -> Snapshot | None:
    """The newest; None where no launch of this task wrote any that can be read."""
    try:
        return Snapshot.model_validate_json(snapshot_file(data_dir, task_name).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def is_alive(data_dir: Path, task_name: str) -> bool:
    """Whether a launch of the task runs now; that of a snapshot without ``ended`` may have been killed."""
    return running_task_run(data_dir, task_name) is not None


def one_line(
    done: int,
    wanted: int,
    what: str,
    *,
    inside: Sequence[Inside],
    door: Door,
    models: Sequence[ModelHealth],
    is_paused: bool,
    deciding: DecidingNow | None = None,
) -> str:
    """“12 of 40 conversations complete, 3 inside, 1 left early, …”; ``what``: is counted by ``done`` and ``wanted``."""
    words = [
        f"{done_words(done, wanted, deciding)} {what} complete",
        inside_words(inside),
        f"{sum(left.count for left in door.left):,} left early",
        f"{sum(door.turned_away.values()):,} turned away",
        counted(max(door.failed, sum(model.errors for model in models)), "error"),  # a unit may end by a model's
        *(["paused"] if is_paused else []),
    ]
    return "; ".join([", ".join(words), *([] if deciding is None else [str(deciding)])])


def done_words(done: int, wanted: int | None, deciding: DecidingNow | None) -> str:
    """“12 of 40”, “12 of at most 400”; “12” where it is not known how many it will be, or that is decided."""
    if wanted is None or (deciding is not None and deciding.standing.ended):
        return f"{done:,}"
    return f"{done:,} of {'' if deciding is None else 'at most '}{wanted:,}"


def inside_words(inside: Sequence[Inside]) -> str:
    """“3 inside (1 in the practice)”."""
    practising = sum(one.phase == "practice" for one in inside)
    return f"{len(inside):,} active" + (f" ({practising} in the practice round)" if practising else "")


Ending = Literal["done", "failed", "left", "closed", "nothing"]
"""Done to its end; ended on our side; the rater went away; the launch ended; there was nothing for them."""


@dataclass(eq=False)
class Visit:
    """One rater's page, in the practice or in a unit. Written by the thread that holds it, read by others."""

    worker: str  # the name in Mephisto's database, which leaves the launch as a pseudonym only
    phase: Phase
    simulated: bool
    is_here: Callable[[], bool] = lambda: True  # whether the page is connected now
    since: float = field(default_factory=time.time)
    step: str = ""
    step_since: float | None = None
    progress: Progress | None = None
    answered_at: float | None = None

    def showed(self, step: str, progress: Progress | None) -> None:
        if (step, progress) != (self.step, self.progress):
            self.step, self.progress, self.step_since = step, progress, time.time()

    def answered(self) -> None:
        self.answered_at = time.time()

    def inside(self, pseudonym: Callable[[str], str]) -> Inside:
        progress = self.progress
        return Inside(
            worker=pseudonym(self.worker),
            simulated=self.simulated,
            phase=self.phase,
            since=self.since,
            step=self.step,
            step_since=self.step_since,
            part=None if progress is None else progress.current,
            parts=None if progress is None else progress.total,
            unit=None if progress is None else progress.unit,
            last_seen=self.answered_at or self.since,
            here=self.is_here(),
        )


class Presence:
    """All visits of one launch. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._visits: dict[Visit, None] = {}
        self._turned_away: Counter[str] = Counter()
        self._left: dict[str, tuple[Phase, str]] = {}  # worker → where they went away; not of those who came back
        self._endings: Counter[Ending] = Counter()
        self._verdicts: Counter[bool] = Counter()
        self._passed: set[str] = set()
        self._came = self._let_in = self._waited = 0

    def came(self) -> None:
        with self._lock:
            self._came += 1

    def waits(self) -> None:
        with self._lock:
            self._waited += 1

    def turned_away(self, kind: str) -> None:
        """Somebody's page was told why there is none; ``kind`` is the reason in a word."""
        with self._lock:
            self._turned_away[kind] += 1

    def enter(self, visit: Visit) -> Visit:
        """A rater begins the practice or a unit; a rater who continues from the practice to a unit counts once."""
        with self._lock:
            self._visits[visit] = None
            if visit.phase == "practice" or visit.worker not in self._passed:
                self._let_in += 1
            self._passed.discard(visit.worker)
            self._left.pop(visit.worker, None)
        return visit

    def verdict(self, worker: str, passed: bool) -> None:
        with self._lock:
            self._verdicts[passed] += 1
            if passed:
                self._passed.add(worker)

    def leave(self, visit: Visit, ending: Ending) -> None:
        """A visit is over; one that was over already stays as it ended."""
        with self._lock:
            if visit not in self._visits:
                return
            del self._visits[visit]
            if visit.phase == "task":
                self._endings[ending] += 1
            if ending == "left":
                self._left[visit.worker] = (visit.phase, visit.step)

    def inside(self, pseudonym: Callable[[str], str]) -> list[Inside]:
        """The raters on a page now, the earliest arrival first."""
        with self._lock:
            visits = list(self._visits)
        return [visit.inside(pseudonym) for visit in visits]

    def door(self) -> Door:
        with self._lock:
            left = Counter(self._left.values()).most_common()
            return Door(
                came=self._came,
                let_in=self._let_in,
                waited=self._waited,
                turned_away=dict(self._turned_away.most_common()),
                practice_passed=self._verdicts[True],
                practice_failed=self._verdicts[False],
                completed=self._endings["done"],
                failed=self._endings["failed"],
                left=[Left(phase=phase, step=step, count=count) for (phase, step), count in left],
            )
