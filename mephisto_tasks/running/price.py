"""What orders can cost on MTurk: more dialogues are more HITs than were agreed to at the launch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

from mephisto_tasks.crowds.mturk.names import MTURK
from mephisto_tasks.running.orders import More, Order
from mephisto_tasks.running.run_settings import Settings
from mephisto_tasks.running.snapshot import GroupNow


def price(orders: Sequence[Order], settings: Settings, groups: Sequence[GroupNow]) -> str | None:
    """In a sentence, at most; None where nothing real is spent."""
    if settings.get("provider._provider_type") != MTURK:
        return None
    further = sum(_further(order, groups) for order in orders if isinstance(order, More))
    if not further:
        return None
    from mephisto_tasks.crowds.mturk.money import LaunchTotal, fee_share

    units = math.ceil(further / _per_unit(settings))
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


def _further(order: More, groups: Sequence[GroupNow]) -> int:
    meant = [
        group
        for group in groups
        if group.stopped is None
        and (not order.models or set(group.models) == set(order.models))
        and order.setting in (None, group.setting)
    ]
    return order.number * len(meant)


def _per_unit(settings: Settings) -> int:
    """Dialogues (judgements) of a unit that count."""
    if (items := settings.get("blueprint.items_per_unit")) is not None:
        return int(str(items))
    control = bool(settings.get("blueprint.quality_control_model"))
    return max(1, int(str(settings.get("blueprint.conversations_per_unit") or 1)) - control)
