"""Segments of dialogues: which there are, how many are of people, and what is said of dialogues that do not suffice."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from finished import talk
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.allocation.groups import Cell, Item
from parlai_humaneval.allocation.pairing import NotEnough, segment_items
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue


def bots(count: int, exchanges: int = 5) -> list[Dialogue]:
    return [talk(f"bot-{n}", ("b", "a") if n % 2 else ("a", "b"), exchanges) for n in range(count)]


def people(count: int, exchanges: int = 5) -> list[Dialogue]:
    return [talk(f"people-{n}", (HUMAN, HUMAN), exchanges) for n in range(count)]


def segments(
    bot_dialogues: Sequence[Dialogue],
    human_dialogues: Sequence[Dialogue] = (),
    lengths: Sequence[int] = (2, 3, 5),
    share: float = 0.0,
    *,
    seeded: int = 0,
    seed: int = 0,
) -> list[Item]:
    return segment_items(bot_dialogues, human_dialogues, lengths, share, 2, "spot", seeded=seeded, seed=seed)


def test_each_dialogue_at_each_length() -> None:
    """Deriu et al. 2020, §3.1 and 4: the first 2, 3 and 5 exchanges, each judged by two; who began does not matter."""
    items = segments([*bots(2), talk("self", ("a", "a"), 5)])
    assert [(item.dialogues, item.k, item.wanted) for item in items] == [
        ((name,), k, 2) for name in ("bot-0", "bot-1", "self") for k in (2, 3, 5)
    ]
    assert [item.cell for item in items[::3]] == [
        Cell(("a", "b"), "spot"),
        Cell(("a", "b"), "spot"),
        Cell(("a", "a"), "spot"),
    ]
    assert [item.judged for item in items] == [(None,)] * 9
    assert len({item.item_id for item in items}) == 9


@settings(deadline=None)  # the machine may be busy
@given(st.integers(1, 60), st.floats(0, 0.8))
def test_the_share_of_people_comes_true(count: int, share: float) -> None:
    """As near as whole dialogues allow, and never without any."""
    items = segments(bots(count), people(300), (2, 3), share)
    human = sum(item.cell.models == (HUMAN, HUMAN) for item in items)
    exact = 2 * count * share / (1 - share)
    assert abs(human - exact) <= 1 or human == 2 > exact
    assert bool(human) == (share > 0)
    assert len(items) == 2 * count + human


def test_people_are_drawn_by_the_seed_from_those_that_are_long_enough() -> None:
    pool = [*people(20), *(talk(f"short-{n}", (HUMAN, HUMAN), 4) for n in range(50))]
    drawn = [{item.dialogues[0] for item in segments(bots(8), pool, share=0.5, seed=seed)} for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert not any(name.startswith("short") for name in drawn[0])


def test_exchanges_of_the_seed_come_on_top() -> None:
    """They are shown, but no model has said them."""
    assert len(segments(bots(1, 6), seeded=1)) == 3
    with pytest.raises(DataError, match=r"has 5 complete exchange.*needs 5 after 1 of the seed"):
        segments(bots(1, 5), seeded=1)


@pytest.mark.parametrize(
    ("dialogues", "human", "share", "said"),
    [
        ([], (), 0.0, "none of the dialogues has a model"),
        (
            bots(8),
            people(1),
            0.2,
            "share of 0.2 in addition to 8 .* takes 2 .*but of 1 only 1 are long enough .*lower the share to 0.11",
        ),
        (bots(8), [], 0.2, "but of 0 only 0 are long enough"),
    ],
)
def test_too_few_dialogues_are_told_with_numbers(
    dialogues: list[Dialogue], human: list[Dialogue], share: float, said: str
) -> None:
    with pytest.raises(NotEnough, match=said):
        segments(dialogues, human, share=share)


@pytest.mark.parametrize(
    ("dialogues", "human", "said"),
    [
        ([*bots(3), talk("brief", ("a", "b"), 4)], people(9), r"line 7: dialogue brief has 4 .*needs 5 \(3 of the 4"),
        (bots(3), people(9, 4), r"people-0 has 4 .* \(0 of the 9 dialogues between people"),
        ([talk("odd", ("a", ""), 5)], people(9), "line 7: dialogue odd does not say who s2 is.*entities"),
        (bots(3), [talk("odd", ("", ""), 5)] * 9, "does not say who s1 and s2"),
        (bots(3), [talk("odd", ("a", HUMAN), 5)] * 9, "odd is not between people"),
    ],
)  # fmt: skip
def test_a_dialogue_that_will_not_do_is_named(dialogues: list[Dialogue], human: list[Dialogue], said: str) -> None:
    with pytest.raises(DataError, match=said):
        segments(dialogues, human, share=0.5)


@pytest.mark.parametrize(("lengths", "share"), [((), 0.0), ((0, 1), 0.0), ((2, 2), 0.0), ((2,), 1.0), ((2,), -0.1)])
def test_lengths_and_shares_that_cannot_be(lengths: tuple[int, ...], share: float) -> None:
    with pytest.raises(ValueError, match=r"segments|share"):
        segments(bots(3), people(3), lengths, share)


def test_people_who_are_drawn_are_long_enough_for_the_seed_as_well() -> None:
    """Segments of people have the length of those of models, whose first exchange no model said."""
    drawn = segments(bots(3, 6), [*people(4, 5), talk("long", (HUMAN, HUMAN), 6)], share=0.25, seeded=1)
    assert {name for item in drawn for name in item.dialogues if not name.startswith("bot")} == {"long"}
    with pytest.raises(DataError, match="the longest segment needs 5 after 1 of the seed"):
        segments(bots(3, 6), people(4, 5), share=0.25, seeded=1)
