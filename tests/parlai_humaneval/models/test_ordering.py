"""The order in which replies are shown."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.allocation.groups import BalancedOrder, FixedOrder, shown_order


@given(n=st.integers(1, 6), seed=st.integers(), turns=st.integers(1, 20))
def test_each_model_gets_each_position_as_equally_often_as_possible(n: int, seed: int, turns: int) -> None:
    """Guards balance within one dialogue: counts of any model at any two positions differ by at most one."""
    order = BalancedOrder(n, seed)
    counts: Counter[tuple[int, int]] = Counter()
    for turn in range(turns):
        shown = order.of_turn(turn)
        assert sorted(shown) == list(range(n))
        counts.update((model, position) for position, model in enumerate(shown))
    by_pair = [counts[model, position] for model in range(n) for position in range(n)]
    assert max(by_pair) - min(by_pair) <= 1


def test_the_order_is_random_over_dialogues_and_fixed_by_the_seed() -> None:
    """Guards that position is no clue to the model: about half of 1,000 dialogues begin with either of two."""
    firsts = Counter(BalancedOrder(2, seed).of_turn(0)[0] for seed in range(1000))
    assert 430 < firsts[0] < 570
    assert [BalancedOrder(3, 7).of_turn(t) for t in range(9)] == [BalancedOrder(3, 7).of_turn(t) for t in range(9)]


@given(n=st.integers(1, 8), seed=st.integers())
def test_a_fixed_order_is_one_order_for_all_turns(n: int, seed: int) -> None:
    """Guards columns: every model has one place, and the seed decides which."""
    order = shown_order("fixed", n, seed)
    assert sorted(order.of_turn(0)) == list(range(n))
    assert all(order.of_turn(turn) == order.of_turn(0) for turn in range(10))
    assert shown_order("fixed", n, seed).of_turn(0) == order.of_turn(0)


def test_all_fixed_orders_are_equally_likely() -> None:
    """Guards against a side that a model gets more often: six orders of three, about 200 dialogues each."""
    counts = Counter(tuple(FixedOrder(3, seed).of_turn(0)) for seed in range(1200))
    assert len(counts) == 6
    assert all(150 < count < 250 for count in counts.values())


def test_the_kinds_of_order_are_told_apart() -> None:
    """Guards the setting: the usual order changes places."""
    assert isinstance(shown_order("balanced", 3, 0), BalancedOrder)
    assert len({tuple(shown_order("balanced", 3, 0).of_turn(turn)) for turn in range(3)}) == 3
