"""Cascading and anchoring: by hand, against plain references, and what they say of data without either."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.preference.turn_dependence import first_choice, first_place, fixed_places, reselection
from parlai_humaneval.tables.choices import ChosenTurns


def make_turns(chosen, dialogues, *, workers=None, numbers=None, places=None, models=None):
    """Turns in the order of the table; numbered within each dialogue unless ``numbers`` says otherwise."""
    chosen = np.asarray(chosen, dtype=float)
    dialogues = np.asarray(dialogues, dtype=object)
    if numbers is None:
        numbers = [int((dialogues[:i] == d).sum()) + 1 for i, d in enumerate(dialogues)]
    return ChosenTurns(
        models=list(models or "abcd"[: chosen.shape[1]]),
        chosen=chosen,
        by_position=np.asarray(chosen if places is None else places, dtype=float),
        workers=np.asarray(dialogues if workers is None else workers, dtype=object),
        dialogues=dialogues,
        turns=np.asarray(numbers, dtype=float),
        written=np.zeros(len(chosen)),
    )


def simulate(rng, dialogues=60, turns=8, shares=(0.5, 0.3, 0.2), again=0.0, taste=0.0):
    """One pick a turn; with chance ``again`` it is the last one. ``taste``: how much dialogues differ in what they like."""
    chosen, names = [], []
    for dialogue in range(dialogues):
        liking = np.array(shares) * np.exp(rng.normal(0, taste, len(shares)))
        last = None
        for _ in range(turns):
            model = int((rng.random() > np.cumsum(liking / liking.sum())[:-1]).sum())
            last = last if last is not None and rng.random() < again else model
            chosen.append(np.eye(len(shares))[last])
            names.append(dialogue)
    return make_turns(chosen, names)


def row(found, what):
    (wanted,) = [one for one in found if one.what == what]
    return wanted


def test_reselection_by_hand():
    """a a b · b b: of three steps a is repeated once, b once. Any order of a a b: 2/3 · 1/2 for a, nothing for b."""
    turns = make_turns([[1, 0], [1, 0], [0, 1], [0, 1], [0, 1]], ["x", "x", "x", "y", "y"])
    found = reselection(turns, one_pick=True)
    a, b, pooled = row(found, "a"), row(found, "b"), row(found, "any model")
    assert (a.n_pairs, a.both, a.expected) == (3, pytest.approx(1 / 3), pytest.approx((1 / 3 + 1 / 3 + 0) / 3))
    assert (a.again.estimate, a.second_rate) == (pytest.approx(1 / 2), pytest.approx(1 / 3))
    assert a.independent == pytest.approx(2 / 3 * 1 / 3)
    assert (b.both, b.expected) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert pooled.both == pytest.approx(a.both + b.both)
    assert pooled.expected == pytest.approx(a.expected + b.expected)
    assert pooled.excess.estimate == pytest.approx(pooled.both - pooled.expected)
    assert pooled.again is None


def test_turns_that_do_not_follow_each_other():
    """Turns 1 and 3 of a dialogue are no step; the order of rows does not matter."""
    turns = make_turns([[1, 0], [1, 0], [0, 1]], ["x"] * 3, numbers=[4, 1, 3])
    assert row(reselection(turns, one_pick=True), "a").n_pairs == 1
    assert row(reselection(turns, one_pick=True), "a").both == 0


def test_ties_are_looked_at_where_they_can_be():
    """All chosen, all chosen, none, none: each tie comes twice running once, in three steps."""
    turns = make_turns([[1, 1], [1, 1], [0, 0], [0, 0]], ["x"] * 4)
    found = reselection(turns, one_pick=False)
    assert row(found, "tie-win").both == row(found, "tie-loss").both == pytest.approx(1 / 3)
    assert row(found, "mean of models").both == pytest.approx(1 / 3)
    assert {one.what for one in reselection(turns, one_pick=True)} == {"a", "b", "any model"}


@settings(deadline=None, max_examples=40)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=25))
def test_reselection_is_that_of_a_loop(rows):
    """Joint rate and expectation as a loop over dialogues counts them."""
    dialogues = [d for d, _, _ in rows]
    turns = make_turns([pair for _, *pair in rows], dialogues)
    both, expected = [], []
    for d in set(dialogues):
        marks = [a for dialogue, a, _ in rows if dialogue == d]
        steps = list(pairwise(marks))
        both += [x * y for x, y in steps]
        if len(marks) > 1:
            expected += [sum(marks) * (sum(marks) - 1) / (len(marks) * (len(marks) - 1))] * len(steps)
    got = row(reselection(turns, one_pick=False), "a")
    assert got.n_pairs == len(both)
    if both:
        assert (got.both, got.expected) == pytest.approx((np.mean(both), np.mean(expected)))
    else:
        assert (got.both, got.expected, got.excess.p_value) == (None, None, 1)


def test_raters_with_tastes_are_not_cascading():
    """Repeats are more frequent than if turns were independent, but not than in any order of the same choices."""
    found = row(reselection(simulate(np.random.default_rng(0), 300, taste=1.5), one_pick=True), "any model")
    assert found.both > found.independent + 0.05
    assert found.excess.p_value > 0.05


def test_true_cascading_is_found():
    """The last pick is repeated with chance .3."""
    found = row(reselection(simulate(np.random.default_rng(0), 100, again=0.3), one_pick=True), "any model")
    assert found.excess.estimate > 0.1
    assert found.excess.p_value < 0.001


def test_reselection_holds_its_level():
    """About 5 % of studies without cascading are said to have it, also with tastes."""
    rng = np.random.default_rng(1)
    rejected, studies = 0, 50  # .05 with an error of .031
    for _ in range(studies):
        pooled = reselection(simulate(rng, 40, 6, taste=1), one_pick=True)[-1]
        rejected += pooled.excess.p_value < 0.05
    assert 0 < rejected / studies <= 0.11


def test_first_choice_by_hand():
    """x: a first, then a a b: 2/3 − 1/3. y: b first, then a b: ½ − ½. Without each dialogue the others' later rates."""
    turns = make_turns(
        [[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]], ["x"] * 4 + ["y"] * 3, workers=["w"] * 7
    )
    found = first_choice(turns)
    assert found.paper.n == 2
    assert found.paper.estimate == found.clustered.estimate == pytest.approx((1 / 3 + 0) / 2)
    # x: (2/3 − 1/2) − (1/3 − 1/2); y: (1/2 − 1/3) − (1/2 − 2/3)
    assert found.adjusted.estimate == pytest.approx(1 / 3)
    assert found.clustered.p_value is None


def test_first_choice_is_the_t_test_of_scipy():
    """One difference a dialogue, against a loop."""
    from scipy.stats import ttest_1samp

    turns = simulate(np.random.default_rng(3), 20, again=0.2)
    values = []
    for d in range(20):
        chosen = turns.chosen[turns.dialogues == d]
        first = chosen[0] == 1
        later = chosen[1:].mean(axis=0)
        values.append(later[first].mean() - later[~first].mean())
    expected = ttest_1samp(values, 0)
    got = first_choice(turns).paper
    assert (got.statistic, got.p_value) == pytest.approx((expected.statistic, expected.pvalue))
    assert got.estimate == pytest.approx(np.mean(values))


def test_a_good_model_alone_is_no_cascading_bias():
    """Models of 70, 20 and 10 %: the paper's test finds a bias where there is none, the adjusted one does not."""
    found = first_choice(simulate(np.random.default_rng(0), 200, shares=(0.7, 0.2, 0.1)))
    assert found.paper.p_value < 0.001
    assert found.adjusted.p_value > 0.05
    biased = first_choice(simulate(np.random.default_rng(0), 200, again=0.3))
    assert biased.adjusted.p_value < 0.01


def test_first_choice_without_later_turns():
    """p = 1 and no estimate from no dialogue; where all differences are equal, no p and a reason; nothing is nan."""
    found = first_choice(make_turns([[1, 0], [0, 1]], ["x", "y"]))
    for result in (found.paper, found.clustered, found.adjusted):
        assert (result.estimate, result.n, result.p_value) == (None, 0, 1)
    same = first_choice(make_turns([[1, 0], [1, 0]] * 3, ["x", "x", "y", "y", "z", "z"])).paper
    assert (same.estimate, same.p_value) == (1, None)
    assert same.notes
    none = first_choice(make_turns(np.zeros((0, 2)), []))
    assert none.paper.p_value == 1
    assert reselection(make_turns(np.zeros((0, 2)), []), one_pick=True)[0].n_pairs == 0


def test_first_place_by_hand():
    """First place chosen in 3 of 4 turns, the two others in 1 of 4 and none: .75 − .125."""
    places = [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0]]
    turns = make_turns(np.zeros((4, 3)), list("wxyz"), places=places)
    assert first_place(turns).estimate == pytest.approx(0.625)
    alone = make_turns(np.zeros((4, 1)), list("wxyz"), places=np.ones((4, 1)))
    assert (first_place(alone).estimate, first_place(alone).p_value) == (None, 1)
    nowhere = make_turns(np.zeros((4, 2)), list("wxyz"), places=np.zeros((4, 0)))
    assert first_place(nowhere).p_value == 1


def test_fixed_patterns_of_choice():
    """x always the first place, y once the second, z too short, n never any; one reply alone is no pattern."""
    places = [[1, 0]] * 3 + [[1, 0], [0, 1], [1, 0]] + [[1, 0]] * 2 + [[0, 0]] * 4
    dialogues = list("xxxyyyzznnnn")
    turns = make_turns(np.zeros((12, 2)), dialogues, places=places)
    assert fixed_places(turns) == {"x": 3, "n": 4}
    assert fixed_places(turns, least=2) == {"x": 3, "z": 2, "n": 4}
    assert fixed_places(make_turns(np.zeros((3, 1)), list("xxx"), places=np.ones((3, 1)))) == {}
    assert fixed_places(make_turns(np.zeros((0, 2)), [], places=np.zeros((0, 2)))) == {}
