"""Pairs of finished dialogues: which there are, who is judged in them, and what is said where there are too few."""

from __future__ import annotations

from collections import Counter

import pytest
from finished import talk, with_person
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.allocation import pairing
from parlai_humaneval.allocation.groups import Cell, Item
from parlai_humaneval.allocation.pairing import Judged, NotEnough, pair_items
from parlai_humaneval.dialogues.dialogue import HUMAN, Dialogue


def pairs(
    dialogues: list[Dialogue],
    groups: tuple[tuple[str, str], ...] = (("a", "b"),),
    *,
    judged: Judged = "second",
    wanted: int = 1,
    seed: int = 0,
) -> list[Item]:
    return pair_items(dialogues, groups, "preference", "human_bot", judged=judged, wanted=wanted, seed=seed)


def test_each_pairing_once() -> None:
    """Smith et al. 2022, App. C.7: N dialogues of one and M of the other make N × M judgements at most."""
    items = pairs(
        [*with_person("a", 3), *with_person("b", 4), *with_person("c", 2)], (("a", "b"), ("c", "a")), wanted=6
    )
    of_first = [item for item in items if item.cell == Cell(("a", "b"), "preference", "human_bot")]
    assert {item.dialogues for item in of_first} == {(f"a-{n}", f"b-{m}") for n in range(3) for m in range(4)}
    assert {item.cell for item in items} == {
        Cell(("a", "b"), "preference", "human_bot"),
        Cell(("c", "a"), "preference", "human_bot"),
    }
    assert len(items) == 12 + 6
    assert {item.wanted for item in items} == {1}
    assert len({item.item_id for item in items}) == len(items)


def test_ids_stay_whatever_the_seed_the_order_and_the_other_dialogues() -> None:
    """Else a second launch would judge the same pairing again."""
    few = pairs([*with_person("a", 2), *with_person("b", 2)])
    more = pairs([*with_person("b", 3), *with_person("a", 3)], (("b", "a"),), judged="random", seed=5)
    assert {item.item_id for item in few} < {item.item_id for item in more}


def test_with_a_person_the_model_is_judged_wherever_it_speaks() -> None:
    dialogues = [talk("one", (HUMAN, "a")), talk("two", ("b", HUMAN))]
    for judged in ("first", "second", "random"):
        (item,) = pairs(dialogues, judged=judged)
        assert item.judged == (1, 0)


def test_the_speaker_of_a_self_chat_is_a_setting() -> None:
    """Drawn for each dialogue, the same in all of its pairings, and again with the same seed."""
    dialogues = [talk(f"{model}{n}", (model, model)) for model in "ab" for n in range(20)]
    assert {item.judged for item in pairs(dialogues, judged="first")} == {(0, 0)}
    assert {item.judged for item in pairs(dialogues, judged="second")} == {(1, 1)}
    drawn = pairs(dialogues, judged="random", seed=3)
    sides: dict[str, set[int | None]] = {}
    for item in drawn:
        for name, side in zip(item.dialogues, item.judged, strict=True):
            sides.setdefault(name, set()).add(side)
    assert all(len(found) == 1 for found in sides.values())
    assert 10 <= sum(found == {0} for found in sides.values()) <= 30
    assert drawn == pairs(dialogues, judged="random", seed=3) != pairs(dialogues, judged="random", seed=4)


def test_dialogues_between_two_models_are_left_aside() -> None:
    items = pairs([*with_person("a", 1), *with_person("b", 1), talk("both", ("a", "b"))])
    assert [item.dialogues for item in items] == [("a-0", "b-0")]


@settings(deadline=None)  # the machine may be busy
@given(st.integers(1, 40), st.integers(1, 40), st.data())
def test_a_part_of_the_pairings_is_balanced(ours: int, theirs: int, data: st.DataObject) -> None:
    """Each once, and every dialogue as often as any other of its model, or once more."""
    number = data.draw(st.integers(1, ours * theirs))
    found = pairing._balanced(with_person("a", ours), with_person("b", theirs), number, "seed")
    names = [(one.dialogue_id, other.dialogue_id) for one, other in found]
    assert len(set(names)) == number
    for side, all_of_them in ((0, ours), (1, theirs)):
        uses = Counter(pair[side] for pair in names)
        assert max(uses.values()) - (min(uses.values()) if len(uses) == all_of_them else 0) <= 1


def test_of_very_many_pairings_a_part_is_taken() -> None:
    dialogues = [*with_person("a", 120), *with_person("b", 100)]
    assert len(pairs(dialogues)) == pairing.ALL_PAIRINGS
    assert len(pairs(dialogues, wanted=2_000)) == 8_000
    assert len(pairs(dialogues, wanted=12_000)) == 12_000
    assert {item.item_id for item in pairs(dialogues)} != {item.item_id for item in pairs(dialogues, seed=1)}
    assert len(pairs([*with_person("a", 50), *with_person("b", 100)])) == 5_000, "all of them, where they are few"


@pytest.mark.parametrize(
    ("dialogues", "wanted", "said"),
    [
        ([*with_person("a", 2), *with_person("b", 3)], 7, "7 judg.* allow only 6: .*2 dialogues of a with 3 .*of b"),
        ([*with_person("a", 1), *with_person("b", 1)], 2, "allow only 1: .*one dialogue of a with one dialogue of b"),
        (with_person("a", 1), 1, r"no dialogue of b alone or with a person, only dialogues of a \(1\)"),
        ([], 1, "no dialogue of a .*dialogues of no model"),
        ([*with_person("a", 1), talk("both", ("b", "a"))], 1, "no dialogue of b alone"),
    ],
)  # fmt: skip
def test_too_few_dialogues_are_told_how_many_judgements_can_be_had(
    dialogues: list[Dialogue], wanted: int, said: str
) -> None:
    with pytest.raises(NotEnough, match=said):
        pairs(dialogues, wanted=wanted)


def test_where_no_file_lists_pairs_the_other_pairings_are_named() -> None:
    """More dialogues would not help."""
    dialogues = [*with_person("a", 2), *with_person("b", 2)]
    with pytest.raises(NotEnough, match="no file lists a pair of a vs b") as refused:
        pair_items(dialogues, [("a", "b")], "m", "", judged="second", wanted=1, seed=0, pairing="given")
    assert all(f"pairing={other}" in str(refused.value) for other in ("auto", "same_start", "any"))
    assert "collect more" not in str(refused.value)


@pytest.mark.parametrize(
    ("dialogue", "said"),
    [
        (talk("odd", ("", "a")), "talks.jsonl, line 7: dialogue odd does not say who s1 is.*entities"),
        (talk("odd", ("", "")), "does not say who s1 and s2 is"),
        (talk("odd", (HUMAN, HUMAN)), "dialogue odd is between people.*leave it out"),
    ],
)
def test_a_dialogue_of_nobody_knows_whom_is_named(dialogue: Dialogue, said: str) -> None:
    with pytest.raises(DataError, match=said):
        pairs([*with_person("a", 1), *with_person("b", 1), dialogue])
