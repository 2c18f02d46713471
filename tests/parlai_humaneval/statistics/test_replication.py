"""Two runs of a study: correlation of scores, and share of identical conclusions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.statistics.core.ranks import replication, same_conclusions

MODELS = ("A", "B", "Ap", "C", "Cp", "Bp", "D", "Dp", "Ep", "E")
FIRST = (0.534, 0.419, 0.318, 0.262, 0.189, 0.173, -0.087, -0.201, -0.217, -0.243)
SECOND = (0.455, 0.344, 0.423, 0.245, 0.154, 0.260, 0.002, -0.258, -0.218, -0.202)
PS = st.sampled_from([0.001, 0.04, 0.07, 0.5, 0.97])
PAIRS = [("a", "b"), ("a", "c"), ("b", "c")]


def run(values):
    return {model: {"overall": value} for model, value in zip(MODELS, values, strict=True)}


def matrix(ps):
    """Both directions of each pair; the other direction has the rest of the chance."""
    return {key: p for (a, b), x in zip(PAIRS, ps, strict=True) for key, p in (((a, b), x), ((b, a), 1 - x))}


def test_the_published_replication():
    """Overall z of both free runs (Ji et al. 2022, Tables 3 and 9): r = .969."""
    result = replication(run(FIRST), run(SECOND))["overall"]
    assert result.estimate == pytest.approx(0.969, abs=0.0015)
    assert result.ci_low < 0.969 < result.ci_high
    assert result.n == 10


def test_models_of_one_run_only_are_left_out_and_counted():
    """Only what both runs have can be correlated; nothing in common is an error that names the models."""
    first, second = {"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 4}}, {"b": {"x": 1}, "c": {"x": 3}, "d": {"x": 0}}
    result = replication(first, second)["x"]
    assert (result.n, result.estimate, result.details["models_of_one_run_only"]) == (2, pytest.approx(1), 2)
    with pytest.raises(ValueError, match="no model in common: a against z"):
        replication({"a": {"x": 1}}, {"z": {"x": 1}})
    assert replication(first, second, ["nothing"])["nothing"].estimate is None


def test_same_conclusions_by_hand():
    """a over b in both; a over c in one only; b and c alike in both: 2 of 3. At .1 all three agree."""
    first, second = matrix([0.01, 0.04, 0.5]), matrix([0.02, 0.06, 0.4])
    result = same_conclusions(first, second)
    assert (result.estimate, result.n, result.details["same"]) == (pytest.approx(2 / 3), 3, 2)
    assert same_conclusions(first, second, alpha=0.1).estimate == 1
    opposite = {("a", "b"): 0.99, ("b", "a"): 0.01}
    assert same_conclusions(first, opposite).estimate == 0


@given(st.lists(PS, min_size=3, max_size=3), st.lists(PS, min_size=3, max_size=3))
def test_conclusions_do_not_depend_on_order(one, other):
    """Runs exchanged, pairs in another order: the same share; a run agrees with itself."""
    first, second = matrix(one), matrix(other)
    there = same_conclusions(first, second)
    assert there.estimate == same_conclusions(second, first).estimate
    assert there.estimate == same_conclusions(dict(reversed(first.items())), second).estimate
    assert same_conclusions(first, first).estimate == 1


def test_what_was_not_tested_does_not_count():
    """Pairs without p-values, or of one run only; none at all has no share."""
    first = {("a", "b"): None, ("b", "a"): None, ("a", "c"): 0.01, ("c", "a"): 0.99}
    nothing = same_conclusions(first, {("a", "b"): 0.01, ("b", "a"): 0.99})
    assert (nothing.n, nothing.estimate, nothing.ci_low) == (0, None, None)
    assert nothing.notes
    with pytest.raises(ValueError, match="alpha"):
        same_conclusions(first, first, alpha=1)
