"""How often equal models are called different by who tests while a study grows, and by studies that end by themselves."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import ttest_1samp

from docs.facts.markdown import table
from docs.facts.one_study import CROWD, turns_won
from parlai_humaneval.statistics.core.formatting import percent
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import first_crossing, fixed_plan, made_up, win_rates

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

STUDIES = 1000
ALPHA, MARGIN = 0.05, 0.1
LOOKS = 5


def looking() -> str:
    """The share of studies of two equal models that claim a difference, by how one looks."""
    rule = StoppingRule(models=("A", "B"), margin=MARGIN, alpha=ALPHA, max_dialogues=10**6)
    planned = math.ceil(fixed_plan(rule, variance=CROWD.share_variance()))
    won = turns_won(0.5, STUDIES * planned, np.random.default_rng(1)).reshape(STUDIES, planned)
    shares = won / CROWD.turns
    some = [_differ(shares[:, : planned * look // LOOKS]) for look in range(1, LOOKS + 1)]
    rates = win_rates([0.0, 0.0])
    ended = made_up(rule.model_copy(update={"max_dialogues": planned}), rates, CROWD, studies=STUDIES, seed=1).run()
    rows = {
        f"p < .05 at the planned end, after {planned} dialogues": _differ(shares),
        f"p < .05, five looks at {planned // LOOKS}, {2 * planned // LOOKS}, … dialogues": np.any(some, axis=0),
        "p < .05 after every rater, until the planned end": np.array([_crosses(study) for study in shares]),
        "`stop=decided`, after every rater": ended.better.any(axis=(1, 2)),
    }
    return table(
        ["looks", f"share of {STUDIES:,} studies that claim one model is better"],
        [[how, percent(float(claims.mean()))] for how, claims in rows.items()],
    )


def _differ(shares: Floats) -> Flags:
    """Whether a t test by worker has p < α in each study."""
    return np.asarray(ttest_1samp(shares, 0.5, axis=1).pvalue < ALPHA)


def _crosses(study: Floats) -> bool:
    return first_crossing(study, ALPHA) is not None
