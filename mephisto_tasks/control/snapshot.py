"""What a running launch says of itself, about once a second and a last time at its end: a file of the study.

Whoever watches a study reads this, and never the launch's memory.

How a launch stands, in one line: the same in its own log and for whoever watches it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from mephisto_tasks.storage.locks import running_task_run, study_folder
from parlai_humaneval._util.files import write_private
from parlai_humaneval.schema.records import ModelHealth
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.stopping.status import Forecast, StoppingStatus

SNAPSHOT_FILE = "snapshot.json"

Phase = Literal["practice", "task"]


class _Part(BaseModel):
    # A newer launch may say more than this version knows.
    model_config = ConfigDict(extra="ignore", frozen=True, use_attribute_docstrings=True)


class GroupStatus(_Part):
    """One pair (group) of models in one setting."""

    label: str
    """The group's name in progress and reports."""
    models: list[str]
    metric: str
    setting: str
    completed: int
    """Dialogues (judgements)."""
    wanted: int | None
    """None: as many as it takes until the answer is reached, or no launch of this version has said."""
    running: int = 0
    stopped: str | None = None
    """Why no new ones are given out, in words; None: they are."""


class GroupNow(GroupStatus):
    """The same, as a launch knows it."""

    asked: int
    """What the settings of the launch ask for; orders may have added to it."""


def so_far(groups: Iterable[GroupNow], deciding: DecidingNow | None = None) -> tuple[int, int]:
    """Complete dialogues (judgements), and how many it will be; of groups that were stopped no more than there are.

    Of a study that ends when its answer is reached: how many it will be at most.
    """
    groups = list(groups)
    completed = sum(group.completed for group in groups)
    if deciding is not None:
        return completed, completed if deciding.standing.ended else deciding.standing.cap
    return completed, sum(group.completed + group.running if group.stopped else group.wanted or 0 for group in groups)


class DecidingNow(_Part):
    """How far the answer of a study is that ends when it is reached."""

    standing: StoppingStatus
    margin: float
    """Two models are equal where their win rates are less than this apart."""
    forecast: Forecast | None = None
    """Dialogues to go; None: not foreseen yet, or nothing to foresee."""

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

    worker: str
    """A pseudonym."""
    simulated: bool
    phase: Phase
    since: float
    step: str
    """Kind of the step on the page (message, choose, wait, …); empty before the first."""
    step_since: float | None = None
    part: int | None = None
    """Number of the turn, conversation, pair or practice item, and of how many."""
    parts: int | None = None
    unit: str | None = None
    """What is counted by ``part``: turn, conversation, pair, practice."""
    last_seen: float
    """Their last answer, or a sign of life of their page."""
    here: bool = True
    """Whether the page is connected."""


class Left(_Part):
    """Workers who went away before the end, at one step."""

    phase: Phase
    step: str
    count: int


class Door(_Part):
    """Who came. Counts of this launch."""

    came: int = 0
    """Registrations; a reload is none, and who is turned away is one at every try. Who waits for a place is one."""
    let_in: int = 0
    waited: int = 0
    """Workers who were told that the study is full (``max_concurrent``)."""
    turned_away: dict[str, int] = Field(default_factory=dict)
    """Kind of reason, such as ``practice_failed`` → how often."""
    practice_passed: int = 0
    practice_failed: int = 0
    completed: int = 0
    """Units done to their end."""
    left: list[Left] = Field(default_factory=list)
    """Drop-outs, most frequent first."""
    failed: int = 0
    """Units that ended on our side."""


class OrderResult(_Part):
    """What became of an order; ``text`` says it in a sentence."""

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
    counted: str
    """What is counted: conversations, judgements."""
    remaining: int
    """Units that are still to be done."""
    paused: PausedNow | None = None
    closing: bool = False
    """The launch is ending."""
    broken: str | None = None
    """Why nothing is given out any more: units failed in a row."""
    trouble: str | None = None
    """What cannot be written down now, and what to do; None: everything can be."""
    groups: list[GroupNow] = Field(default_factory=list)
    deciding: DecidingNow | None = None
    inside: list[Inside] = Field(default_factory=list)
    door: Door = Field(default_factory=Door)
    models: list[ModelHealth] = Field(default_factory=list)
    orders: list[OrderResult] = Field(default_factory=list)
    """All orders that this launch has read, oldest first."""
    remarks: list[str] = Field(default_factory=list)
    ended: float | None = None
    """When the launch ended; None while it runs, and where it was killed."""


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
    """“12 of 40 conversations complete, 3 inside, 1 left early, …”; ``what``: is counted by ``done`` and ``wanted``.

    Of a study that ends when it is decided: “12 of at most 400 conversations complete, …; 4 of 6 pairs open; …”.
    """
    words = [
        f"{done_words(done, wanted, deciding)} {what} complete",
        inside_words(inside),
        f"{sum(left.count for left in door.left):,} left early",
        f"{sum(door.turned_away.values()):,} turned away",
        counted(door.failed + sum(model.errors for model in models), "error"),
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
    return f"{len(inside):,} inside" + (f" ({practising} in the practice)" if practising else "")
