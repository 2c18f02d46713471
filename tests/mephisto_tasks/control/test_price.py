"""What more dialogues can cost on MTurk, before anybody agrees to it."""

from __future__ import annotations

from typing import Any

import pytest

from mephisto_tasks.control.orders import More, Order, Pause, RetireModel
from mephisto_tasks.control.snapshot import GroupStatus
from mephisto_tasks.launch.changes import price
from mephisto_tasks.storage.results import flat


def group(*models: str, stopped: str | None = None) -> GroupStatus:
    return GroupStatus(
        label=" vs ".join(models),
        models=list(models),
        metric="preference",
        setting="",
        asked=10,
        wanted=10,
        completed=1,
        running=0,
        stopped=stopped,
    )


GROUPS = [group("a", "b"), group("a", "c"), group("b", "c", stopped="stopped")]


def costs(*orders: Order, provider: str = "mturk", **blueprint: Any) -> str | None:
    settings = flat({"provider": {"_provider_type": provider}, "task": {"task_reward": 1.25}, "blueprint": blueprint})
    return price(orders, settings, GROUPS)


@pytest.mark.parametrize(
    ("orders", "blueprint", "words"),
    [
        ([More(number=5)], {"conversations_per_unit": 1}, "up to $15.00 for 10 more HITs"),
        ([More(number=1, models=["b", "a"])], {"conversations_per_unit": 1}, "up to $1.50 for 1 more HIT,"),
        ([More(number=5)], {"conversations_per_unit": 6, "quality_control_model": "q"}, "up to $7.50 for 5 more HITs"),
        ([More(number=5), More(number=1)], {"items_per_unit": 5}, "up to $3.00 for 2 more HITs"),
        ([More(number=5)], {"items_per_unit": 5, "items_per_worker_and_group": 1}, "up to $7.50 for 5 more HITs"),
    ],
)
def test_real_money_is_counted_with_the_fee(orders: list[Order], blueprint: dict[str, Any], words: str) -> None:
    """20 % of each reward; groups that are stopped get none, and a unit may hold several, but not of one group."""
    sentence = costs(*orders, **blueprint)
    assert sentence is not None
    assert words in sentence


def test_nothing_is_said_where_nothing_is_spent() -> None:
    assert costs(More(number=5), provider="mturk_sandbox") is None
    assert costs(More(number=5), provider="mock") is None
    assert costs(Pause(), RetireModel(model="a")) is None
    assert costs(More(number=5, models=["b", "c"])) is None
