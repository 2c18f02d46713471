"""What a unit holds: every item once, attention checks among them, sides by the seed alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mephisto_tasks.annotation.items import BatchPlan, plan_batch

ITEMS = [f"item-{number}" for number in range(6)]


def plan(**changes: Any) -> BatchPlan:
    common: dict[str, Any] = {"session": "s", "name": "n", "item_ids": ITEMS, "golds": [], "done": 0, "wanted": 6}
    return plan_batch(**{**common, "swap": True, "seed": 1, **changes})


@given(
    st.lists(st.text(max_size=5), unique=True, max_size=12),
    st.lists(st.integers(1, 9), unique=True, max_size=4),
    st.integers(0, 9),
    st.integers(0, 10**6),
)
def test_every_item_and_check_once_and_the_numbers_add_up(
    item_ids: list[str], golds: list[int], done: int, seed: int
) -> None:
    made = plan(item_ids=item_ids, golds=golds, done=done, wanted=len(item_ids) + done, seed=seed)
    assert [item.item_id for item in made.items if item.gold is None] == item_ids, (
        "in the order in which they were drawn"
    )
    checks = [item for item in made.items if item.gold is not None]
    assert sorted(item.item_id for item in checks) == sorted(f"gold:{number}" for number in golds)
    assert (made.number, made.numbers) == (done + 1, done + len(item_ids) + len(golds))
    assert BatchPlan.model_validate(made.model_dump(mode="json")) == made, "as it comes back from the database"
    assert plan(item_ids=item_ids, golds=golds, done=done, wanted=len(item_ids) + done, seed=seed) == made


def test_sides_are_swapped_about_half_the_time() -> None:
    """1,000 draws: 450 to 550 in all but one of 600 seeds; and never where there are no two sides."""
    swapped = [item.swapped for number in range(200) for item in plan(name=str(number), item_ids=ITEMS[:5]).items]
    assert 450 <= sum(swapped) <= 550
    assert not any(item.swapped for number in range(20) for item in plan(name=str(number), swap=False).items)


@pytest.mark.parametrize(("golds_done", "places_possible"), [(0, range(1, 7)), (1, range(7))])
def test_checks_fall_anywhere_in_a_unit_but_first(golds_done: int, places_possible: range) -> None:
    """Who has found one in the same place twice must not know the next; a unit begins with something of the study."""
    plans = [plan(name=str(number), golds=[3], golds_done=golds_done) for number in range(300)]
    places = [[item.gold for item in one.items].index(3) for one in plans]
    assert set(places) == set(places_possible)
    assert max(places.count(place) for place in places_possible) < 90
    assert {(one.number, one.numbers) for one in plans} == {(1 + golds_done, 7 + golds_done)}


def test_two_visits_have_orders_of_their_own() -> None:
    assert len({tuple(i.swapped for i in plan(name=str(number)).items) for number in range(30)}) > 10
