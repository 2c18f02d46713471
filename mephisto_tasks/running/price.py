"""What orders can cost on MTurk: more dialogues are more HITs than were agreed to at the launch."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from mephisto_tasks.crowds.mturk.names import MTURK
from mephisto_tasks.running.orders import More, Order
from mephisto_tasks.running.run_settings import Settings
from mephisto_tasks.running.snapshot import GroupNow
from parlai_humaneval.protocol.allocation.groups import units_needed


def price(orders: Sequence[Order], settings: Settings, groups: Sequence[GroupNow]) -> str | None:
    """In a sentence, at most; None where nothing real is spent."""
    if settings.get("provider._provider_type") != MTURK:
        return None
    missing = [0 if group.stopped else max(0, (group.wanted or 0) - group.completed) for group in groups]
    further = [_further(group, orders) for group in groups]
    if not any(further):
        return None
    from mephisto_tasks.crowds.mturk.money import LaunchTotal, fee_share

    after = [there + more for there, more in zip(missing, further, strict=True)]
    units = _units(after, settings) - _units(missing, settings)
    total = LaunchTotal(
        provider=MTURK,
        requester=str(settings.get("provider.requester_name")),
        endpoint="",
        units=units,
        reward=Decimal(str(settings.get("task.task_reward"))),
        fee_share=fee_share(bool(settings.get("blueprint.workers.masters"))),
        most_open=units,
        balance=Decimal(0),
    )
    hits = "1 more HIT" if units == 1 else f"{units:,} more HITs"
    return f"This spends real money on MTurk: up to ${total.total:.2f} for {hits}, MTurk's fee included."


def _further(group: GroupNow, orders: Sequence[Order]) -> int:
    """So many more of a group; none where it is stopped."""
    return sum(
        order.number
        for order in orders
        if isinstance(order, More)
        and group.stopped is None
        and (not order.models or set(group.models) == set(order.models))
        and order.setting in (None, group.setting)
    )


def _units(missing: Sequence[int], settings: Settings) -> int:
    """HITs for so many dialogues (judgements), counted as the launch counts them."""
    if (items := settings.get("blueprint.items_per_unit")) is not None:
        most = settings.get("blueprint.items_per_worker_and_group")
        return units_needed(missing, int(str(items)), None if most is None else int(str(most)))
    control = bool(settings.get("blueprint.quality_control_model"))
    conversations = int(str(settings.get("blueprint.conversations_per_unit") or 1)) - control
    return units_needed(missing, max(1, conversations), 1)
