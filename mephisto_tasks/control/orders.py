"""Orders to a study: no new workers for now, more dialogues, one pair less. A file of the study, only ever appended to.

A running launch follows them within a second; the next launch of the same task folds them again (:mod:`.steering`), so
that they hold after a restart, however the last launch ended.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal
from uuid import uuid4

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from mephisto_tasks.control.snapshot import read_snapshot
from mephisto_tasks.storage.logs import LogFile, Personal

By = Literal["terminal", "page", "launch"]
"""Who gives an order: a command, the page of ``watch``, or a second launch of the same task."""


class _Order(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    order_id: str = Field(default_factory=lambda: uuid4().hex)
    at: float = Field(default_factory=time.time)
    """Seconds since the epoch."""
    by: By = "terminal"


class Pause(_Order):
    """No new workers; those inside finish."""

    kind: Literal["pause"] = "pause"


class Resume(_Order):
    """New workers may come in again."""

    kind: Literal["resume"] = "resume"


class _OfGroup(_Order):
    models: list[str] = Field(min_length=1)
    """In any order."""
    setting: str | None = None
    """None: every setting."""


class More(_Order):
    """So many further dialogues (judgements) of every group that is not stopped, or of one."""

    kind: Literal["more"] = "more"
    number: int = Field(ge=1, le=100_000)
    models: list[str] = Field(default_factory=list)
    """Of one group, in any order; empty: of every group."""
    setting: str | None = None
    """None: every setting."""
    base: dict[str, int] = Field(default_factory=dict)
    """Label of a group → what the settings of the newest launch ask for, which :func:`give` fills in: a later launch that
    asks for more by its settings does not get the number on top once more."""


class StopGroup(_OfGroup):
    """No new dialogues (judgements) of a pair (group) of models; those under way finish."""

    kind: Literal["stop_group"] = "stop_group"


class ResumeGroup(_OfGroup):
    """A group that was stopped is given out again."""

    kind: Literal["resume_group"] = "resume_group"


class RetireModel(_Order):
    """All groups with a model are stopped."""

    kind: Literal["retire_model"] = "retire_model"
    model: str


class RestoreModel(_Order):
    """A model that was retired takes part again."""

    kind: Literal["restore_model"] = "restore_model"
    model: str


Order = Annotated[
    Pause | Resume | More | StopGroup | ResumeGroup | RetireModel | RestoreModel, Field(discriminator="kind")
]
ORDERS = LogFile("orders.jsonl", TypeAdapter[Order](Order), Personal.NONE)


def in_words(order: Order) -> str:
    """What an order asks for, in the words of who gives it."""
    match order:
        case Pause():
            return "pause: let nobody new in"
        case Resume():
            return "let new workers in again"
        case More():
            return f"{order.number} more for {_named(order.models, order.setting) if order.models else 'every group'}"
        case StopGroup():
            return f"stop {_named(order.models, order.setting)}"
        case ResumeGroup():
            return f"give out {_named(order.models, order.setting)} again"
        case RetireModel():
            return f"retire {order.model}: stop every group with it"
        case RestoreModel():
            return f"take {order.model} in again"


def _named(models: Sequence[str], setting: str | None) -> str:
    return " vs ".join(models) + (f" ({setting})" if setting else "")


def give(data_dir: Path, task_name: str, order: Order) -> Order:
    """Write an order down; any number of processes may do so at once. Returns it as it was written.

    Whether it can be followed is said by the launch: :attr:`.snapshot.Snapshot.orders`.
    """
    if isinstance(order, More) and not order.base:
        snapshot = read_snapshot(data_dir, task_name)
        asked = {} if snapshot is None else {group.label: group.asked for group in snapshot.groups}
        order = order.model_copy(update={"base": asked})
    ORDERS.append(data_dir, order, task=task_name)
    return order
