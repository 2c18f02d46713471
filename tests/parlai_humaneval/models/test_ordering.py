"""The order in which replies are shown."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.allocation.groups import shown_order


@given(n=st.integers(1, 6), seed=st.integers(), turns=st.integers(1, 20))
def test_each_model_gets_each_position_as_equally_often_as_possible(n: int, seed: int, turns: int) -> None:
    """Guards balance within one dialogue: counts of any model at any two positions differ by at most one."""
    counts: Counter[tuple[int, int]] = Counter()
    for turn in range(turns):
        shown = shown_order("balanced", n, seed, turn)
        assert sorted(shown) == list(range(n))
        counts.update((model, position) for position, model in enumerate(shown))
    by_pair = [counts[model, position] for model in range(n) for position in range(n)]
    assert max(by_pair) - min(by_pair) <= 1


def test_the_order_is_random_over_dialogues_and_fixed_by_the_seed() -> None:
    """Guards that position is no clue to the model: about half of 1,000 dialogues begin with either of two."""
    firsts = Counter(shown_order("balanced", 2, seed, 0)[0] for seed in range(1000))
    assert 430 < firsts[0] < 570
    twice = [[shown_order("balanced", 3, 7, turn) for turn in range(9)] for _ in range(2)]
    assert twice[0] == twice[1]


@given(n=st.integers(1, 8), seed=st.integers())
def test_a_fixed_order_is_one_order_for_all_turns(n: int, seed: int) -> None:
    """Guards columns: every model has one place, and the seed decides which."""
    order = shown_order("fixed", n, seed, 0)
    assert sorted(order) == list(range(n))
    assert all(shown_order("fixed", n, seed, turn) == order for turn in range(10))


def test_all_fixed_orders_are_equally_likely() -> None:
    """Guards against a side that a model gets more often: six orders of three, about 200 dialogues each."""
    counts = Counter(tuple(shown_order("fixed", 3, seed, 0)) for seed in range(1200))
    assert len(counts) == 6
    assert all(150 < count < 250 for count in counts.values())


def test_the_kinds_of_order_are_told_apart() -> None:
    """Guards the setting: the usual order changes places."""
    assert len({tuple(shown_order("balanced", 3, 0, turn)) for turn in range(3)}) == 3
