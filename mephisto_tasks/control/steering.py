"""Orders → how a study stands: the same for a running launch that reads them anew, and for the next one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from mephisto_tasks.control.orders import (
    More,
    Order,
    Pause,
    RestoreModel,
    Resume,
    ResumeGroup,
    RetireModel,
    StopGroup,
)
from mephisto_tasks.control.snapshot import OrderResult
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.statistics.core.formatting import counted

BY = {"terminal": "from a terminal", "page": "from the page", "launch": "by a second launch"}


@dataclass(frozen=True)
class Group:
    """What can be given out: a pair (group) of models in a setting.

    ``asked``: dialogues (judgements) by the settings; ``most``: as many as there can be at all, None: any number.
    """

    label: str
    models: tuple[str, ...]
    setting: str
    asked: int
    most: int | None = None


@dataclass(frozen=True)
class Field:
    """What orders are about.

    ``counted``: what is counted (conversations). ``kept``: models that no order can retire, and why. ``loaded``: models that
    can speak in this launch; None: any. ``drawn``: what is rated is drawn from what is not decided yet, and no order can
    change that.
    """

    groups: Sequence[Group]
    counted: str = "conversations"
    kept: Mapping[str, str] = field(default_factory=dict)
    loaded: Collection[str] | None = None
    drawn: bool = False


@dataclass(frozen=True)
class Steered:
    """How a study stands by the settings and all orders. Groups go by their labels."""

    paused: Pause | None
    wanted: Mapping[str, int]
    stopped: Mapping[str, str]
    """Label → why it is given out no more, in words."""
    retired: Collection[str]
    results: Sequence[OrderResult]


class _Refused(HumanevalError):
    """An order that cannot be followed; the message says why."""


def fold(orders: Sequence[Order], about: Field) -> Steered:
    """What holds when all ``orders`` were given in this order. One that cannot be followed changes nothing."""
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
        """What the order has done, in a sentence. Raises _Refused."""
        if self._about.drawn and not isinstance(order, (Pause, Resume)):
            raise _Refused(
                "This study ends when it is decided: what is rated is drawn by lot from what is open, and its error rates "
                "hold only as long as nothing else has a say",
                try_="pause it, or end the launch: a higher max_dialogues may be given at the next one",
            )
        match order:
            case Pause():
                before, self._paused = self._paused, self._paused or order
                return "It was paused already." if before else "Paused: nobody new comes in, and those inside finish."
            case Resume():
                before, self._paused = self._paused, None
                return "New workers may come in again." if before else "It was not paused."
            case More():
                return self._more(order)
            case StopGroup():
                return self._stop(order)
            case ResumeGroup():
                return self._resume_group(order)
            case RetireModel():
                return self._retire(order.model, order)
            case RestoreModel():
                return self._restore(order.model)

    def _groups(self, models: Sequence[str], setting: str | None) -> list[Group]:
        known = {model for group in self._about.groups for model in group.models}
        for model in models:
            if model not in known:
                raise _Refused(f"There is no model {model}", try_=f"name one of {', '.join(sorted(known))}")
        settings = sorted({group.setting for group in self._about.groups})
        if setting is not None and setting not in settings:
            named = ", ".join(filter(None, settings)) or "none, so name none"
            raise _Refused(f"There is no setting {setting}", try_=f"name one of {named}")
        chosen = [
            group
            for group in self._about.groups
            if set(group.models) == set(models) and setting in (None, group.setting)
        ]
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
            raise _Refused(f"{_named(groups)} {_is(groups)} stopped: resume first what is to get more")
        targets = {group.label: self._target(group, order) for group in given_out}
        beyond = [group for group in given_out if group.most is not None and targets[group.label] > group.most]
        if beyond:
            raise _Refused(_too_many(beyond[0], self._wanted(beyond[0]), self._about.counted))
        self._targets |= targets
        wanted = sorted(set(targets.values()))
        now = f"{wanted[0]}" if len(wanted) == 1 else f"{wanted[0]} to {wanted[-1]}"
        each, of_each = ("each of ", " of each") if len(given_out) > 1 else ("", "")
        left = len(groups) - len(given_out)
        besides = f" ({counted(left, 'group')} that {'is' if left == 1 else 'are'} stopped left out)" if left else ""
        wanted_now = f"{now} {self._about.counted}{of_each} are wanted now."
        return f"{order.number} more for {each}{_named(given_out)}{besides}: {wanted_now}"

    def _wanted(self, group: Group) -> int:
        return max(group.asked, self._targets.get(group.label, 0))

    def _target(self, group: Group, order: More) -> int:
        """On top of what was asked for when the order was given: settings that asked for more later hold that already."""
        before = max(order.base.get(group.label, group.asked), self._targets.get(group.label, 0))
        return before + order.number

    def _stop(self, order: StopGroup) -> str:
        groups = self._groups(order.models, order.setting)
        new = [group for group in groups if group.label not in self._stopped]
        self._stopped |= {group.label: order for group in new}
        if not new:
            return f"{_named(groups)} {_was(groups)} stopped already."
        return f"{_named(new)} {_is(new)} given out no more; what is under way is finished.{self._nothing_left()}"

    def _resume_group(self, order: ResumeGroup) -> str:
        groups = self._groups(order.models, order.setting)
        retired = [model for model in order.models if model in self._retired]
        if retired:
            raise _Refused(
                f"{' and '.join(retired)} {'is' if len(retired) == 1 else 'are'} retired", try_="restore it first"
            )
        self._must_be_loaded(order.models)
        stopped = [group for group in groups if self._stopped.pop(group.label, None)]
        if not stopped:
            return f"{_named(groups)} {_was(groups)} not stopped."
        return f"{_named(stopped)} {_is(stopped)} given out again."

    def _retire(self, model: str, order: RetireModel) -> str:
        if model in self._about.kept:
            raise _Refused(self._about.kept[model])
        groups = self._with(model)
        if model in self._retired:
            return f"{model} was retired already."
        self._retired[model] = order
        groups_of = f"its {counted(len(groups), 'group')} {_is(groups)}"
        return (
            f"{model} is retired: {groups_of} given out no more; what is under way is finished.{self._nothing_left()}"
        )

    def _nothing_left(self) -> str:
        given_out = any(self._why_stopped(group) is None for group in self._about.groups)
        return "" if given_out else " Nothing else is given out: the launch ends when those inside have finished."

    def _restore(self, model: str) -> str:
        self._with(model)
        self._must_be_loaded([model])
        if self._retired.pop(model, None) is None:
            return f"{model} was not retired."
        return f"{model} takes part again."

    def _with(self, model: str) -> list[Group]:
        groups = [group for group in self._about.groups if model in group.models]
        if not groups:
            known = sorted({name for group in self._about.groups for name in group.models})
            raise _Refused(f"There is no model {model}", try_=f"name one of {', '.join(known)}")
        return groups

    def _must_be_loaded(self, models: Sequence[str]) -> None:
        loaded = self._about.loaded
        missing = [] if loaded is None else [model for model in models if model not in loaded]
        if missing:
            raise _Refused(
                f"{' and '.join(missing)} {'was' if len(missing) == 1 else 'were'} not loaded at this launch, as "
                "no group was left for it: the order holds from the next launch on"
            )


def _named(groups: Sequence[Group]) -> str:
    return groups[0].label if len(groups) == 1 else counted(len(groups), "group")


def _is(groups: Sequence[Group]) -> str:
    return "is" if len(groups) == 1 else "are"


def _was(groups: Sequence[Group]) -> str:
    return "was" if len(groups) == 1 else "were"


def _too_many(group: Group, wanted: int, counted_: str) -> str:
    assert group.most is not None
    left = group.most - wanted
    possible = f"only {left} more {'is' if left == 1 else 'are'} possible" if left > 0 else "no more are possible"
    return (
        f"{group.label}: {possible}, for there {'is' if group.most == 1 else 'are'} {group.most} to be had and {wanted} "
        f"{counted_} are wanted already. Add dialogues, and launch again."
    )
