"""A second launch of a running task: its changes as orders to the first launch, and the cost of orders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic import JsonValue

from mephisto_tasks.config.names import ConfigError, short_name, texts_of
from mephisto_tasks.config.stopping import StoppingSettings
from mephisto_tasks.control.orders import More, Order, RetireModel, StopGroup
from mephisto_tasks.control.snapshot import GroupStatus
from mephisto_tasks.crowds.registry import crowd_of
from mephisto_tasks.storage.results import Settings
from parlai_humaneval.allocation.groups import units_needed
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.statistics.core.formatting import counted


def price(orders: Sequence[Order], settings: Settings, groups: Sequence[GroupStatus]) -> str | None:
    """In a sentence, at most; None where nothing real is spent."""
    missing = [0 if group.stopped else max(0, (group.wanted or 0) - group.completed) for group in groups]
    further = [0] * len(groups)
    for order in (order for order in orders if isinstance(order, More)):
        for place, group in enumerate(groups):
            is_meant = not order.models or set(group.models) == set(order.models)
            if group.stopped is None and is_meant and order.setting in (None, group.setting):
                further[place] += order.number
    if not any(further):
        return None
    after = [there + more for there, more in zip(missing, further, strict=True)]
    units = _units(after, settings) - _units(missing, settings)
    crowd = crowd_of(str(settings.get("provider._provider_type")))
    quote = crowd.quote_more(units, settings)
    if quote is None:
        return None
    more, most = counted(units, f"more {crowd.words.unit}"), quote.money(quote.total)
    return f"This change spends real money {crowd.words.where}: up to {most} for {more}, including the fee."


def _units(missing: Sequence[int], settings: Settings) -> int:
    if (items := settings.get("blueprint.items_per_unit")) is not None:
        most = settings.get("blueprint.items_per_worker_and_group")
        return units_needed(missing, int(str(items)), None if most is None else int(str(most)))
    control = bool(settings.get("blueprint.quality_control_model"))
    conversations = int(str(settings.get("blueprint.conversations_per_unit") or 1)) - control
    return units_needed(missing, max(1, conversations), 1)


_FULL = "mephisto."
_BLUEPRINT = "blueprint."
_MODELS = _BLUEPRINT + "models"
_GROUPS = _BLUEPRINT + "groups"
_SEED = _BLUEPRINT + "seed"
_PREREG = _BLUEPRINT + "prereg"
_PER_ITEM = _BLUEPRINT + "judgements_per_item"
_AMOUNTS = (_BLUEPRINT + "dialogues_per_group", _BLUEPRINT + "judgements_per_group", _PER_ITEM)
_OF_THE_RULE = {_BLUEPRINT + name for name in StoppingSettings.model_fields} - {
    _BLUEPRINT + name for name in ("max_dialogues", "raters_at_a_time")
}
_OF_THE_LAUNCH_ALONE = {"log_level"}  # what says nothing of the study


def changes(before: Settings, now: Settings, groups: Sequence[GroupStatus], task_name: str) -> list[Order]:
    """Orders that make of the running launch (``before``, ``groups``) what ``now`` asks for. Raises ConfigError."""
    differing = {name for name in {*before, *now} if before.get(name) != now.get(name)} - _OF_THE_LAUNCH_ALONE
    if now.get(_SEED) is None:  # the seed is drawn at the first launch
        differing.discard(_SEED)
    if not now.get(_PREREG):  # what is registered holds for every launch
        differing.discard(_PREREG)
    for name in sorted(differing - {_MODELS, _GROUPS, *_AMOUNTS}):
        raise _unchangeable(name, before.get(name), now.get(name), task_name)
    kept = _kept(now, groups, task_name) if differing & {_MODELS, _GROUPS} else list(groups)
    left = [group for group in groups if group not in kept and group.stopped is None]
    staying = {model for group in kept for model in group.models}
    retired = sorted({model for group in left for model in group.models} - staying)
    stopped = [group for group in left if not set(group.models) & set(retired)]
    orders: list[Order] = [
        *(RetireModel(model=model, by="launch") for model in retired),
        *(StopGroup(models=group.models, setting=group.setting, by="launch") for group in stopped),
    ]
    for name in sorted(differing & set(_AMOUNTS)):
        more = _more(name, before.get(name), now.get(name), kept, task_name)
        alike = {order.number for order in more}
        whole = len(more) == len(groups) == len(kept) and len(alike) == 1
        orders += [More(number=alike.pop(), by="launch")] if whole else more
    return orders


def _unchangeable(name: str, before: JsonValue, now: JsonValue, task_name: str) -> ConfigError:
    was, is_ = ("not set" if value in (None, "", []) else f"{value!r}" for value in (before, now))
    what = f"{short_name(_FULL + name)} is {was} in the running launch of {task_name!r} and {is_} here"
    return ConfigError(worded(__file__, "fixed_rule" if name in _OF_THE_RULE else "fixed", what=what))


def _kept(now: Settings, groups: Sequence[GroupStatus], task_name: str) -> list[GroupStatus]:
    value, models = now.get(_GROUPS), texts_of(now.get(_MODELS))
    named = [set(texts_of(group)) for group in value] if isinstance(value, list) else []
    there = {model for group in groups for model in group.models}
    again = "stop it and launch again: it continues with its counts"
    if strange := sorted({*models, *(model for group in named for model in group)} - there):
        what = f"the running launch of {task_name!r} has no such model, and cannot add any"
        raise ConfigError(what, where=", ".join(strange), try_=again)
    if new := [group for group in named if group not in [set(known.models) for known in groups]]:
        none = f"{' and '.join(sorted(new[0]))} are not a group of the running launch of {task_name!r}"
        raise ConfigError(f"{none}, which cannot add any", where="groups", try_=again)
    if named:
        kept = [group for group in groups if set(group.models) in named]
    else:
        kept = [group for group in groups if not models or set(group.models) <= set(models)]
    if not kept:
        nothing = f"these models leave nothing to collect in the running launch of {task_name!r}"
        raise ConfigError(nothing, try_="stop it instead")
    return kept


def _more(name: str, before: JsonValue, now: JsonValue, groups: Iterable[GroupStatus], task_name: str) -> list[More]:
    if not isinstance(before, int) or not isinstance(now, int):
        raise _unchangeable(name, before, now, task_name)
    if now < before:
        facts = {"short": short_name(_FULL + name), "before": before, "now": now, "task_name": task_name}
        raise ConfigError(worded(__file__, "fewer", **facts))
    orders = []
    for group in groups:
        wanted = group.asked * now // before if name == _PER_ITEM else now
        if group.stopped is None and group.wanted is not None and wanted > group.wanted:
            orders.append(More(number=wanted - group.wanted, models=group.models, setting=group.setting, by="launch"))
    return orders
