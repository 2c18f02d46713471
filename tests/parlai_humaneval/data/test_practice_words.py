"""The practice items of every task: nobody passes without reading, and everybody can learn from the feedback."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.materials.instructions import ChooseItem, Practice, RateItem, TickItem, VerdictItem, load_practice
from parlai_humaneval.techniques.questions import CRITERIA
from parlai_humaneval.techniques.registry import techniques

TASKS = Path(__file__).parents[3] / "mephisto_tasks" / "presets"


def shows_finished_chats(path: Path) -> bool:
    """Whether a practice is one of those that test_judging_practice_words.py is for."""
    return not {"conversations", "labels"}.isdisjoint(json.loads(path.read_text(encoding="utf-8"))["items"][0])


FILES = [path for path in sorted(TASKS.glob("*/task_config/onboarding_*.json")) if not shows_finished_chats(path)]
APPROPRIATE = "onboarding_appropriate.json"


@pytest.fixture(params=FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def practice(request: pytest.FixtureRequest) -> Practice:
    path: Path = request.param
    return load_practice(path, json.loads(path.read_text(encoding="utf-8"))["metric"])


def load(task: str, name: str = APPROPRIATE) -> Practice:
    return load_practice(TASKS / task / "task_config" / name, "appropriate")


ChatItem = ChooseItem | TickItem | RateItem | VerdictItem


def items_of(practice: Practice) -> list[ChatItem]:
    """The items, none of which shows finished chats side by side or to be labelled."""
    found = [item for item in practice.items if isinstance(item, ChatItem)]
    assert len(found) == len(practice.items)
    return found


def replies_of(item: ChatItem) -> list[str]:
    """What the partner says, or could say."""
    if isinstance(item, RateItem):
        return list(item.lines[1::2])
    return [item.reply] if isinstance(item, TickItem) else list(item.replies)


def human_of(item: ChatItem) -> list[str]:
    return list(item.lines[::2]) if isinstance(item, RateItem) else [item.human]


def test_every_task_has_a_practice() -> None:
    assert {path.parts[-3] for path in FILES} == {*techniques("live"), "third_party"}


def test_no_line_stands_twice(practice: Practice) -> None:
    """A reply may repeat the person's words, as bad ones do; beside that every line is a line of its own."""
    for lines in (
        [line for item in items_of(practice) for line in replies_of(item)],
        [line for item in items_of(practice) for line in human_of(item)],
        [item.why for item in practice.items],
    ):
        assert len({line.casefold() for line in lines}) == len(lines)


def longest(replies: list[str]) -> set[int]:
    return {max(range(len(replies)), key=lambda index: len(replies[index]))}


def shortest(replies: list[str]) -> set[int]:
    return {min(range(len(replies)), key=lambda index: len(replies[index]))}


BLIND: list[Callable[[list[str]], set[int]]] = [
    longest,
    shortest,
    lambda replies: set(range(len(replies))),
    lambda replies: set(),
    lambda replies: {index for index, reply in enumerate(replies) if reply.endswith("?")},
]
"""Ways to answer without reading. Positions are no way: the page shuffles."""


def is_right(item: ChatItem, chosen: set[int], replies: list[str]) -> bool:
    """Whether choosing these of ``replies`` (or ticking everything of the one that is chosen) passes the item."""
    if isinstance(item, ChooseItem):
        return {number - 1 for number in item.right} == chosen
    if isinstance(item, VerdictItem):
        return {"a": {0}, "b": {1}, "tie": {0, 1}, "both_bad": set[int]()}[item.better] == chosen
    if isinstance(item, TickItem):
        return not item.must_not if chosen else not item.must
    return set(item.sides.values()) == ({"high"} if chosen else {"low"})


@pytest.mark.parametrize("blind", range(len(BLIND)))
def test_nobody_passes_without_reading(practice: Practice, blind: int) -> None:
    """By length, by taking all or nothing, or by taking the questions."""
    shown = [(item, replies_of(item)) for item in items_of(practice)]
    assert not all(is_right(item, BLIND[blind](replies), replies) for item, replies in shown)


def test_single_replies_cannot_be_told_by_their_length(practice: Practice) -> None:
    """Where one reply is judged: neither are all good ones longer than all bad ones, nor shorter."""
    ticked = [item for item in practice.items if isinstance(item, TickItem)]
    good = [len(item.reply) for item in ticked if item.must]
    bad = [len(item.reply) for item in ticked if not item.must]
    if ticked:
        assert min(good) < max(bad)
        assert min(bad) < max(good)


def test_feedback_is_one_sentence(practice: Practice) -> None:
    for item in practice.items:
        assert re.fullmatch(r"[A-Z][^.!?]*\.", item.why), item.why


def texts(node: Any) -> list[str]:
    """Every string of a nested document."""
    if isinstance(node, str):
        return [node]
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return [text for child in children for text in texts(child)]


def test_practice_is_not_offensive(practice: Practice, unfit: re.Pattern[str]) -> None:
    assert [line for item in practice.items for line in texts(item.model_dump()) if unfit.search(line)] == []


@pytest.mark.parametrize("metric", ["humanness", "interestingness", "preference"])
def test_pw_turn_has_four_pairs(metric: str) -> None:
    """Smith et al. 2022, App. B.2."""
    practice = load_practice(TASKS / "pw_turn" / "task_config" / f"onboarding_{metric}.json", metric)
    assert [len(replies_of(item)) for item in items_of(practice)] == [2, 2, 2, 2]


def test_select_all_teaches_none_one_several_and_all() -> None:
    items = [item for item in load("sata").items if isinstance(item, ChooseItem)]
    shares = {(len(item.right), len(item.replies)) for item in items}
    assert {len(item.replies) for item in items} == {2, 3, 4}
    assert {right for right, _ in shares} >= {0, 1, 2}
    assert any(right == shown for right, shown in shares)
    assert len(items) >= 5


@pytest.mark.parametrize(("task", "name"), [("sata", "onboarding_soba.json"), ("free_for_all", APPROPRIATE)])
def test_select_one_has_one_right_reply(task: str, name: str) -> None:
    items = [item for item in load(task, name).items if isinstance(item, ChooseItem)]
    assert {len(item.right) for item in items} == {1}
    assert max(len(item.replies) for item in items) >= 3


def test_a_conversation_goes_on_from_what_is_right(practice: Practice) -> None:
    """What continues is a right reply; where none is right, it is one that was not shown."""
    for item in practice.items:
        if isinstance(item, ChooseItem):
            right = [item.replies[number - 1] for number in item.right]
            assert item.next_line in right if right else item.next_line not in item.replies


def test_side_by_side_has_every_verdict() -> None:
    practice = load_practice(TASKS / "arena" / "task_config" / "onboarding_better.json", "better")
    verdicts = [item.better for item in practice.items if isinstance(item, VerdictItem)]
    assert sorted(verdicts) == ["a", "b", "both_bad", "tie"]


def test_statements_need_both_ends_in_every_chat() -> None:
    """Some statements speak well of a chatbot and some badly: who puts all sliders on one side fails each item."""
    practice = load_practice(TASKS / "direct_assessment" / "task_config" / "onboarding_quality.json", "quality")
    chats = [item for item in practice.items if isinstance(item, RateItem)]
    assert len(chats) == len(practice.items) == 2
    for chat in chats:
        assert set(chat.sides) <= set(CRITERIA["slider"])
        assert set(chat.sides.values()) == {"low", "high"}
    assert chats[0].sides["repetitive"] != chats[1].sides["repetitive"]
