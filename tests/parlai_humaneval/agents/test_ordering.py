"""The order in which replies are shown."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.agents.ordering import BalancedOrder, FixedOrder, shown_order


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
