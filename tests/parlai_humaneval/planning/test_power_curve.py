"""The power curve: its points, and what it says at the plan's own size."""

from __future__ import annotations

import pytest

from parlai_humaneval.planning.inputs import ask
from parlai_humaneval.planning.plan import plan_study, power_curve


@pytest.mark.parametrize("technique", ["pw_turn", "sata", "single_model", "direct_assessment", "spot_the_bot"])
def test_curve_rises_through_the_plan(technique: str) -> None:
    """Guards the curve: it rises, ends at twice the plan, and has the plan's power where the plan is."""
    question = ask(technique=technique, gap=0.15, models=3)
    plan = plan_study(question)
    points = power_curve(question)
    sizes, powers = zip(*points, strict=True)
    assert list(sizes) == sorted(set(sizes))
    assert list(powers) == sorted(powers)
    assert sizes[-1] == 2 * plan.n_judgements
    below = max(power for size, power in points if size <= plan.n_judgements)
    above = min(power for size, power in points if size >= plan.n_judgements)
    assert below <= plan.power <= above


def test_other_truths() -> None:
    """Guards the lines beside it: at the same size, half of the gap is found less often, more of it more often."""
    question = ask(technique="pw_turn", gap=0.1)
    half, whole, more = (power_curve(question, gap=gap) for gap in (0.05, 0.1, 0.15))
    assert whole == power_curve(question)
    for (n, low), (_, middle), (_, high) in zip(half, whole, more, strict=True):
        assert low <= middle <= high, n
