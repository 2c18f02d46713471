"""What a plan says must hold: its power, its sources, and what it takes without being asked."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.plan import Plan, plan_study
from parlai_humaneval.planning.power import binomial_power, one_proportion_size


def plan(**question: Any) -> Plan:
    return plan_study(ask(**{"technique": "pw_turn", "gap": 0.1, **question}))


@pytest.mark.parametrize(
    "question",
    [
        {"technique": "pw_turn"},
        {"technique": "pw_turn", "models": 20},
        {"technique": "pw_turn", "gap": 0.4},
        {"technique": "pw_turn", "gap": 0.03},
        {"technique": "single_model", "models": 1},
        {"technique": "single_model", "models": 1, "gap": 0.19},
        {"technique": "sata"},
        {"technique": "sata", "models": 5},
        {"technique": "direct_assessment", "models": 4},
    ],
)
def test_the_headline_keeps_its_power(question: dict[str, Any]) -> None:
    """Guards the promise of “power 80 %”: by the plan's own power, for answers that are alike."""
    for icc in (0.05, 0.3):
        for power in (0.7, 0.8, 0.9):
            assert plan(**question, icc=icc, power=power).power >= power


@settings(max_examples=25, deadline=None)
@given(gap=st.floats(0.08, 0.6), power=st.floats(0.5, 0.95), alpha=st.sampled_from([0.05, 0.01]))
def test_exact_sizes_are_the_smallest(gap: float, power: float, alpha: float) -> None:
    """Guards independent forced choices: the formula's turns, and beside them the fewest by the exact test."""
    found = plan(gap=gap, power=power, alpha=alpha, icc=0)
    assert found.n_turns == math.ceil(one_proportion_size(0.5, 0.5 + gap / 2, alpha, power))
    assert found.power == pytest.approx(binomial_power(found.n_turns, 0.5, 0.5 + gap / 2, alpha))
    if found.exact_first is not None:
        assert binomial_power(found.exact_first, 0.5, 0.5 + gap / 2, alpha) >= power - 1e-9
        fewer = range(max(1, round(0.7 * found.exact_first)), found.exact_first)
        assert all(binomial_power(n, 0.5, 0.5 + gap / 2, alpha) < power for n in fewer)
        assert any(f"first reached with {found.exact_first:,} turns" in note for note in found.notes)


def test_scores_are_not_planned_for_another_test() -> None:
    """Guards direct assessment: the clustered t test needs fewer scores than the rank-sum test; the power is not above. Both
    need many more than of independent scores (498 and 524): two scores that are standardised together with the
    degraded model's mirror each other."""
    clustered, ranks = plan(technique="direct_assessment"), plan(technique="direct_assessment", icc=0)
    assert (clustered.n_per_sample, ranks.n_per_sample) == (969, 648)
    assert clustered.power == pytest.approx(0.8, abs=0.002)
    five = plan(technique="direct_assessment", models=5, alpha=0.5)  # of ten pairs: .05 each, as of the one pair
    assert five.n_independent / clustered.n_independent < 0.9


def test_sources_are_those_of_the_test() -> None:
    """Guards citations: nothing is cited for a test that the plan does not make."""
    cited = {
        "Noether 1987": {"technique": "direct_assessment", "icc": 0},
        "Connor 1987": {"technique": "sata"},
        "section 2.5": {"technique": "pw_turn"},
        "section 4.2": {"technique": "single_model"},
        "normal scores": {"technique": "direct_assessment"},
        "Cochran's Q": {"technique": "sata", "models": 4},
        "Cohen 1988": {"technique": "sata", "setting": "soba", "models": 4},
        "Luce 1959": {"technique": "free_for_all", "models": 4},
        "Sample Size for Different": {"technique": "pw_turn", "method": "liu2023"},
    }
    for words, question in cited.items():
        sources = plan(**question).sources
        assert words in sources[0]
        assert not any(other in sources[0] for other in cited if other not in (words, "Sample Size for Different"))
        clustered = question.get("icc") != 0 and question.get("method") is None
        assert any("Kish 1965" in source for source in sources) == clustered


def test_pay_and_practice() -> None:
    """Guards the note on practice that is worked and not paid: what an hour comes to; none where it is nil."""
    found = plan(minutes=9, onboarding=3, pay=2.0, fee=0.2)
    assert any("raters earn $10.00 per hour" in note for note in found.notes)
    assert not any("practice" in note for note in plan(onboarding=0).notes)
    assert not any("practice" in note for note in plan(pay=0).notes)


def test_discordance_of_more_models_is_told() -> None:
    """Guards that more models do not look cheaper without a word: another discordance is taken for them."""
    two, three = (plan(technique="sata", models=models, tests="pairs") for models in (2, 3))
    assert three.n_turns < two.n_turns
    assert any("seem to need fewer turns" in note for note in three.notes)
    assert not any("seem to need fewer" in note for note in two.notes)
    given = plan(technique="sata", models=3, tests="pairs", discordance=0.6)
    assert not any("seem to need fewer" in note for note in given.notes)
    assert given.n_turns > plan(technique="sata", tests="pairs", discordance=0.6).n_turns


def test_models_of_shares_are_told() -> None:
    """Guards that shares which say the number of models do not do so silently."""
    found = plan(technique="sata", setting="soba", gap=None, shares=(54, 53, 48, 35))
    assert found.models == 4
    assert any("for 4 models because" in note for note in found.notes)
