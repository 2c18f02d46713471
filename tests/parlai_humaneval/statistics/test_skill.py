"""TrueSkill of dialogues, by the paper's constants."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.statistics.ranking.trueskill import (
    Skill,
    conservative_skill,
    free_for_all_points,
    free_for_all_ranks,
    rate_free_for_all,
    shuffle_interval,
    trueskill,
)


def test_reference_matches(gold_cases):
    """Two and five players, with ties."""
    found = [case for case in gold_cases if case["function"] == "trueskill_ffa"]
    assert found
    for case in found:
        means, deviations = zip(*case["args"][0], strict=True)
        for got in zip(*rate_free_for_all(means, deviations, case["args"][1]), case["expected"], strict=True):
            assert got[:2] == pytest.approx(got[2], abs=1e-5 * max(map(abs, got[2])))


def test_reference_dialogues(gold_cases):
    """Points of dialogues, in order; no dialogue leaves what was believed before."""
    found = [case for case in gold_cases if case["function"] == "ffa_ratings"]
    assert found
    for case in found:
        dialogues, size = case["args"]
        models = [f"m{i}" for i in range(size)]
        got = trueskill([dict(zip(models, points, strict=True)) for points in dialogues], models)
        for model, expected in zip(models, case["expected"], strict=True):
            assert (got[model].mu, got[model].sigma) == pytest.approx(expected, abs=1e-5 * max(map(abs, expected)))


def test_score_is_mu_minus_three_sigma(gold_cases):
    """0 for a model that nobody has seen."""
    for case in gold_cases:
        if case["function"] == "conservative":
            assert Skill(*case["args"]).score == pytest.approx(case["expected"], abs=1e-9)
            assert conservative_skill(*case["args"]) == pytest.approx(case["expected"], abs=1e-9)
    assert conservative_skill(25, 2, k=1) == 23
    assert Skill().score == pytest.approx(0)


@settings(max_examples=30, deadline=None)
@given(points=st.lists(st.integers(0, 6), min_size=2, max_size=5))
def test_one_dialogue_orders_the_models_by_their_points(points):
    """More points, higher μ; everybody is known better than before."""
    models = [f"m{i}" for i in range(len(points))]
    got = trueskill([dict(zip(models, points, strict=True))], models)
    for a, own in zip(models, points, strict=True):
        assert got[a].sigma < Skill().sigma
        for b, other in zip(models, points, strict=True):
            assert own <= other or got[a].mu > got[b].mu


def test_a_model_alone_has_no_match():
    """And one that was not in the dialogue stays as it was."""
    got = trueskill([{"a": 3}, {"a": 1, "b": 2}], ["a", "b", "c"])
    assert got["c"] == Skill()
    assert got == trueskill([{"a": 1, "b": 2}], ["a", "b", "c"])


@pytest.mark.parametrize(
    ("function", "name"),
    [(free_for_all_points, "ffa_points"), (free_for_all_ranks, "ffa_ranks"), (shuffle_interval, "shuffle_ci")],
)
def test_points_ranks_and_shuffles_match_the_reference(gold_cases, function, name):
    """Points of picks, ranks of points, and the range over shuffles."""
    found = [case for case in gold_cases if case["function"] == name]
    assert found
    for case in found:
        got = function(*case["args"])
        assert [list(row) if isinstance(row, tuple) else row for row in got] == [
            pytest.approx(value, abs=1e-9) for value in case["expected"]
        ]


def test_an_unanswered_turn_is_nobodys_point():
    """It is neither a point nor a refusal; a pick of no model is one."""
    assert free_for_all_points(["a", None, "a", "b"], ["a", "b", "c"]) == [2, 1, 0]
    assert free_for_all_points([], ["a"]) == [0]
    with pytest.raises(ValueError, match="not among the models: d"):
        free_for_all_points(["d"], ["a", "b"])
    with pytest.raises(ValueError, match="twice"):
        free_for_all_points(["a"], ["a", "a"])


def test_missing_points_and_shuffles_are_refused():
    """No rank and no interval is made up."""
    with pytest.raises(ValueError, match="Points are missing"):
        free_for_all_ranks([1, float("nan")])
    with pytest.raises(ValueError, match="at least one replicate"):
        shuffle_interval([[float("nan"), 1.0]])
    with pytest.raises(ValueError, match="between 0 and 1"):
        shuffle_interval([[1.0]], level=95)


@given(points=st.lists(st.integers(0, 9), min_size=1, max_size=6))
def test_ranks_count_who_is_ahead(points):
    """Rank = number of models with more points."""
    assert free_for_all_ranks(points) == [sum(other > own for other in points) for own in points]
