"""A second launch of a task that runs: which orders it amounts to, and what it cannot change."""

from __future__ import annotations

from typing import Any

import pytest

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.control.orders import More, Order, RetireModel, StopGroup
from mephisto_tasks.control.snapshot import GroupStatus
from mephisto_tasks.launch.changes import changes
from mephisto_tasks.storage.results import Settings, flat

BLUEPRINT: dict[str, Any] = {
    "models": ["a", "b", "c"],
    "groups": [],
    "dialogues_per_group": 10,
    "alpha": 0.05,
    "max_dialogues": 60,
    "judgements_per_group": None,
    "seed": None,
    "turns": 6,
    "replies": {"filter": "off", "words": []},
}


def settings(**blueprint: Any) -> Settings:
    return flat({"blueprint": {**BLUEPRINT, **blueprint}, "task": {"task_reward": 1.0}, "log_level": "warning"})


def group(*models: str, wanted: int = 10, stopped: str | None = None) -> GroupStatus:
    return GroupStatus(
        label=" vs ".join(models),
        models=list(models),
        metric="preference",
        setting="",
        asked=10,
        wanted=wanted,
        completed=1,
        running=0,
        stopped=stopped,
    )


GROUPS = [group("a", "b"), group("a", "c"), group("b", "c")]


def ordered(now: dict[str, Any], running: list[GroupStatus] = GROUPS) -> list[Order]:
    return changes(settings(), settings(**now), running, "t")


def gist(orders: list[Order]) -> list[tuple[Any, ...]]:
    said: list[tuple[Any, ...]] = []
    for order in orders:
        match order:
            case More():
                said.append(("more", order.number, *order.models))
            case StopGroup():
                said.append(("stop", *order.models))
            case RetireModel():
                said.append(("retire", order.model))
    assert {order.by for order in orders} <= {"launch"}
    return said


def test_the_same_settings_ask_for_nothing() -> None:
    assert ordered({}) == []
    assert ordered({"models": ["c", "b", "a"]}) == []
    assert changes({**settings(seed=7), "log_level": "info"}, settings(), GROUPS, "t") == []


def test_more_is_what_is_missing_now() -> None:
    """Orders may have added some already; what is stopped stays so."""
    assert gist(ordered({"dialogues_per_group": 15})) == [("more", 5)]
    some = [group("a", "b", wanted=12), group("a", "c"), group("b", "c", stopped="stopped from the page")]
    assert gist(ordered({"dialogues_per_group": 15}, some)) == [("more", 3, "a", "b"), ("more", 5, "a", "c")]
    assert ordered({"dialogues_per_group": 15}, [group("a", "b", wanted=20)]) == []


def test_more_judgements_of_each_item_are_as_many_times_as_many_of_a_group() -> None:
    before, now = settings(judgements_per_item=2), settings(judgements_per_item=3)
    assert gist(changes(before, now, [group("a", "b")], "t")) == [("more", 5)]


def test_fewer_models_are_retired_and_fewer_groups_stopped() -> None:
    assert gist(ordered({"models": ["a", "b"]})) == [("retire", "c")]
    assert gist(ordered({"groups": [["b", "a"], ["c", "a"]]})) == [("stop", "b", "c")]
    assert gist(ordered({"groups": [["b", "a"]]})) == [("retire", "c")]
    assert gist(ordered({"models": ["a", "b"], "dialogues_per_group": 12})) == [("retire", "c"), ("more", 2, "a", "b")]
    gone = [group("a", "b"), group("a", "c", stopped="c retired"), group("b", "c", stopped="c retired")]
    assert ordered({"models": ["a", "b"]}, gone) == []


@pytest.mark.parametrize(
    ("now", "words"),
    [
        ({"turns": 5}, "turns is 6 in the running launch of 't' and 5 here"),
        ({"replies": {"filter": "mask", "words": []}}, "replies.filter is 'off'"),
        ({"seed": 3}, "seed is not set in the running launch of 't' and 3 here"),
        ({"extra": 1}, "extra is not set"),
        ({"dialogues_per_group": 9}, "a running launch cannot collect fewer"),
        ({"judgements_per_group": 9}, "judgements_per_group is not set"),
        ({"models": ["a", "b", "d"]}, "d: the running launch of 't' has no such model"),
        ({"groups": [["a", "b"], ["d", "b"]]}, "d: the running launch"),
        ({"models": ["a"]}, "leave nothing to collect in the running launch"),
        ({"turns": 5, "dialogues_per_group": 15}, "turns"),
        ({"alpha": 0.01}, "the rule that ends a study cannot change"),
        ({"max_dialogues": 90}, "stop it and launch again"),
    ],
)
def test_what_a_running_launch_cannot_change_is_named(now: dict[str, Any], words: str) -> None:
    """And nothing is done by half: no order comes of settings of which one cannot be followed."""
    with pytest.raises(ConfigError, match=words.replace("(", r"\(")):
        ordered(now)


def test_a_group_that_is_not_among_the_running_ones() -> None:
    with pytest.raises(ConfigError, match="b and c are not a group of the running launch of 't'"):
        ordered({"groups": [["a", "b"], ["b", "c"]]}, [group("a", "b"), group("a", "c")])
