"""Orders to a study (an append-only file), and the state that they lead to. A running launch follows them within a
second, and so does the next launch, so they survive a restart, however the last launch ended."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Literal
from uuid import uuid4

import pydantic
from pydantic import BaseModel, TypeAdapter

from mephisto_tasks.control.snapshot import OrderResult, read_snapshot
from mephisto_tasks.storage.logs import LogFile, Personal
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.statistics.core.formatting import counted

By = Literal["terminal", "page", "launch"]
"""The source of an order: a command, the page of ``watch``, or a second launch of the same task."""


class _Order(BaseModel, extra="forbid", frozen=True, use_attribute_docstrings=True):
    order_id: str = pydantic.Field(default_factory=lambda: uuid4().hex)
    at: float = pydantic.Field(default_factory=time.time)  # seconds since the epoch
    by: By = "terminal"


class Pause(_Order):
    """No new workers; those inside finish."""

    kind: Literal["pause"] = "pause"


class Resume(_Order):
    """New workers may come in again."""

    kind: Literal["resume"] = "resume"


class _OfGroup(_Order):
    models: list[str] = pydantic.Field(min_length=1)  # in any order
    setting: str | None = None  # none: every setting


class More(_Order):
    """A number of further dialogues (judgements) for every group that is not stopped, or for one."""

    kind: Literal["more"] = "more"
    number: int = pydantic.Field(ge=1, le=100_000)
    models: list[str] = pydantic.Field(default_factory=list)  # of one group, in any order; empty: of every group
    setting: str | None = None  # none: every setting
    base: dict[str, int] = pydantic.Field(default_factory=dict)
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
    Pause | Resume | More | StopGroup | ResumeGroup | RetireModel | RestoreModel, pydantic.Field(discriminator="kind")
]
ORDERS = LogFile("orders.jsonl", TypeAdapter[Order](Order), Personal.NONE)


def in_words(order: Order) -> str:
    """An order in words."""
    match order:
        case Pause():
            return "pause: admit no new raters"
        case Resume():
            return "admit new raters again"
        case More():
            return f"{order.number} more for {_named(order.models, order.setting) if order.models else 'every group'}"
        case StopGroup():
            return f"stop {_named(order.models, order.setting)}"
        case ResumeGroup():
            return f"resume {_named(order.models, order.setting)}"
        case RetireModel():
            return f"retire {order.model}: stop every group with it"
        case RestoreModel():
            return f"restore {order.model}"


def _named(models: Sequence[str], setting: str | None) -> str:
    return " vs ".join(models) + (f" ({setting})" if setting else "")


def give(data_dir: Path, task_name: str, order: Order) -> Order:
    """Write an order down, and return it as written. The launch reports the result (:attr:`.Snapshot.orders`)."""
    if isinstance(order, More) and not order.base:
        snapshot = read_snapshot(data_dir, task_name)
        asked = {} if snapshot is None else {group.label: group.asked for group in snapshot.groups}
        order = order.model_copy(update={"base": asked})
    ORDERS.append(data_dir, order, task=task_name)
    return order


BY = {"terminal": "from a terminal", "page": "from the page", "launch": "by a second launch"}


@dataclass(frozen=True)
class Group:
    """A unit of allocation: a pair (group) of models in a setting."""

    label: str
    models: tuple[str, ...]
    setting: str
    asked: int  # dialogues (judgements) by the settings
    most: int | None = None  # as many as there can be at all; None: any number


@dataclass(frozen=True)
class Field:
    """The groups and models that orders can name."""

    groups: Sequence[Group]
    counted: str = "conversations"  # what is counted
    kept: Mapping[str, str] = field(default_factory=dict)  # models that no order can retire, and why
    loaded: Collection[str] | None = None  # models that can speak in this launch; None: any
    drawn: bool = False  # what is rated is drawn from what is not decided yet, and no order can change that


@dataclass(frozen=True)
class Steered:
    """How a study stands by the settings and all orders. Groups go by their labels."""

    paused: Pause | None
    wanted: Mapping[str, int]
    stopped: Mapping[str, str]  # label → why it is given out no more, in words
    retired: Collection[str]
    results: Sequence[OrderResult]


DRAWN = (
    "This study stops once it reaches a decision: raters get pairs drawn at random from the undecided ones, and its error "
    "rates are only valid if nothing else influences the draw"
)


class _Refused(HumanevalError):
    """An order that cannot be followed; the message says why."""


def fold(orders: Sequence[Order], about: Field) -> Steered:
    """The result of all ``orders``, given in this sequence. One that cannot be followed changes nothing."""
    folding = _Folding(about)
    results = []
    for order in orders:
        try:
            text, done = folding.follow(order), True
        except _Refused as refused:
            text, done = f"{refused}.".replace("..", "."), False
        results.append(
            OrderResult(order_id=order.order_id, kind=order.kind, at=order.at, by=order.by, done=done, text=text)
        )
    return folding.steered(results)


class _Folding:
    def __init__(self, about: Field) -> None:
        self._about = about
        self._paused: Pause | None = None
        self._targets: dict[str, int] = {}
        self._stopped: dict[str, StopGroup] = {}
        self._retired: dict[str, RetireModel] = {}

    def steered(self, results: Sequence[OrderResult]) -> Steered:
        wanted = {group.label: max(group.asked, self._targets.get(group.label, 0)) for group in self._about.groups}
        stopped = {group.label: why for group in self._about.groups if (why := self._why_stopped(group))}
        return Steered(self._paused, wanted, stopped, set(self._retired), results)

    def _why_stopped(self, group: Group) -> str | None:
        if (order := self._stopped.get(group.label)) is not None:
            return f"stopped {BY[order.by]}"
        retired = [model for model in group.models if model in self._retired]
        return f"{' and '.join(retired)} retired {BY[self._retired[retired[0]].by]}" if retired else None

    def follow(self, order: Order) -> str:
        """Follow an order, and describe the result in a sentence. Raises _Refused."""
        if self._about.drawn and not isinstance(order, (Pause, Resume)):
            advice = "pause it, or end the launch; the next launch may have a higher max_dialogues"
            raise _Refused(DRAWN, try_=advice)
        match order:
            case Pause():
                before, self._paused = self._paused, self._paused or order
                return "It was already paused." if before else "Paused: no new raters start; active raters finish."
            case Resume():
                before, self._paused = self._paused, None
                return "New raters are admitted again." if before else "It was not paused."
            case More():
                return self._more(order)
            case StopGroup():
                groups = self._groups(order.models, order.setting)
                new = [group for group in groups if group.label not in self._stopped]
                self._stopped |= {group.label: order for group in new}
                if not new:
                    return f"{_labels(groups)} {_was(groups)} stopped already."
                return f"{_labels(new)} {_is(new)} stopped; work in progress is completed.{self._nothing_left()}"
            case ResumeGroup():
                groups = self._groups(order.models, order.setting)
                if retired := [model for model in order.models if model in self._retired]:
                    raise _Refused(f"{' and '.join(retired)} {_is(retired)} retired", try_="restore it first")
                self._must_be_loaded(order.models)
                stopped = [group for group in groups if self._stopped.pop(group.label, None)]
                if not stopped:
                    return f"{_labels(groups)} {_was(groups)} not stopped."
                return f"{_labels(stopped)} {_is(stopped)} resumed."
            case RetireModel(model=model):
                if model in self._about.kept:
                    raise _Refused(self._about.kept[model])
                groups = self._with(model)
                if model in self._retired:
                    return f"{model} was retired already."
                self._retired[model] = order
                groups_of = f"its {counted(len(groups), 'group')} {_is(groups)}"
                left = self._nothing_left()
                return f"{model} is retired: {groups_of} stopped; work in progress is completed.{left}"
            case RestoreModel(model=model):
                self._with(model)
                self._must_be_loaded([model])
                if self._retired.pop(model, None) is None:
                    return f"{model} was not retired."
                return f"{model} takes part again."

    def _groups(self, models: Sequence[str], setting: str | None) -> list[Group]:
        for model in models:
            self._with(model)
        settings = sorted({group.setting for group in self._about.groups})
        if setting is not None and setting not in settings:
            named = ", ".join(filter(None, settings)) or "none, so leave it out"
            raise _Refused(f"There is no setting {setting}", try_=f"name one of {named}")
        of_models = (group for group in self._about.groups if set(group.models) == set(models))
        chosen = [group for group in of_models if setting in (None, group.setting)]
        if not chosen:
            labels = "; ".join(group.label for group in self._about.groups)
            raise _Refused(f"There is no group of {' and '.join(models)}", try_=f"name one of {labels}")
        return chosen

    def _more(self, order: More) -> str:
        groups = self._groups(order.models, order.setting) if order.models else list(self._about.groups)
        if not order.models and order.setting is not None:
            groups = [group for group in groups if group.setting == order.setting]
            if not groups:
                raise _Refused(f"There is no setting {order.setting}")
        given_out = [group for group in groups if self._why_stopped(group) is None]
        if not given_out:
            raise _Refused(f"{_labels(groups)} {_is(groups)} stopped: resume a group before collecting more for it")
        targets = {}
        for group in given_out:
            # On top of what was asked for when the order was given: settings that asked for more later hold that already.
            before = max(order.base.get(group.label, group.asked), self._targets.get(group.label, 0))
            targets[group.label] = before + order.number
        beyond = [group for group in given_out if group.most is not None and targets[group.label] > group.most]
        if beyond:
            wanted_before = max(beyond[0].asked, self._targets.get(beyond[0].label, 0))
            most = beyond[0].most or 0
            left = most - wanted_before
            possible = (
                f"only {left} more {'is' if left == 1 else 'are'} possible" if left > 0 else "no more are possible"
            )
            there = f"{most} {'is' if most == 1 else 'are'} available and {wanted_before} {self._about.counted}"
            what = f"{beyond[0].label}: {possible}, because {there} are already requested"
            raise _Refused(what, try_="add dialogues and launch again")
        self._targets |= targets
        wanted = sorted(set(targets.values()))
        now = f"{wanted[0]}" if len(wanted) == 1 else f"{wanted[0]} to {wanted[-1]}"
        each, of_each = ("each of ", " of each") if len(given_out) > 1 else ("", "")
        left = len(groups) - len(given_out)
        besides = f" ({counted(left, 'group')} {'is' if left == 1 else 'are'} stopped and left out)" if left else ""
        wanted_now = f"{now} {self._about.counted}{of_each} are requested now."
        return f"{order.number} more for {each}{_labels(given_out)}{besides}: {wanted_now}"

    def _nothing_left(self) -> str:
        given_out = any(self._why_stopped(group) is None for group in self._about.groups)
        return "" if given_out else " No groups are left: the launch ends when active raters have finished."

    def _with(self, model: str) -> list[Group]:
        groups = [group for group in self._about.groups if model in group.models]
        if not groups:
            known = sorted({name for group in self._about.groups for name in group.models})
            raise _Refused(f"There is no model {model}", try_=f"name one of {', '.join(known)}")
        return groups

    def _must_be_loaded(self, models: Sequence[str]) -> None:
        loaded = self._about.loaded
        if missing := [] if loaded is None else [model for model in models if model not in loaded]:
            unloaded = f"{' and '.join(missing)} {_was(missing)} not loaded in this launch, because no group needed it"
            raise _Refused(f"{unloaded}: the order applies from the next launch")


def _labels(groups: Sequence[Group]) -> str:
    return groups[0].label if len(groups) == 1 else counted(len(groups), "group")


def _is(several: Sequence[object]) -> str:
    return "is" if len(several) == 1 else "are"


def _was(several: Sequence[object]) -> str:
    return "was" if len(several) == 1 else "were"
