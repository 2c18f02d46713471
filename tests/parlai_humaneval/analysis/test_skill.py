"""TrueSkill of dialogues, by the paper's constants."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.analysis.skill import Skill, trueskill, update


def test_reference_matches(gold_cases):
    """Two and five players, with ties."""
    found = [case for case in gold_cases if case["function"] == "trueskill_ffa"]
    assert found
    for case in found:
        got = update([Skill(*rating) for rating in case["args"][0]], case["args"][1])
        for skill, expected in zip(got, case["expected"], strict=True):
            assert (skill.mu, skill.sigma) == pytest.approx(expected, abs=1e-5 * max(map(abs, expected)))


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
