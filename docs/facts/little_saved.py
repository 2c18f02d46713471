"""Where stopping saves little, by made-up studies: choices from several models at once, and scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from docs.facts.markdown import table
from docs.facts.one_study import CROWD
from parlai_humaneval.statistics.core.formatting import percent
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.evidence import pairs_of
from parlai_humaneval.stopping.fixed_plans import POWER, fixed_plan
from parlai_humaneval.stopping.rule import StoppingRule

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Draw = Callable[[Flags], Floats]
"""From which models are shown in each study (studies × models) to the share of each pair (studies × pairs)."""

STUDIES = 300
MARGIN, ALPHA = 0.1, 0.05
MODELS = 4
CAP = 3
"""Of the fixed plan."""
APART = 0.3
"""Of two models' scores, in standard deviations of the difference that workers see."""


def little() -> str:
    """A row each: dialogues by those of a fixed plan, and how many studies reached the cap."""
    rows = [
        (f"choice from {MODELS} models, all equal", *_panels(np.zeros(MODELS))),
        (f"choice from {MODELS} models, each chosen by 10 points more than the next", *_panels(_choices(0.1))),
        (f"choice from {MODELS} models, each chosen by 15 points more than the next", *_panels(_choices(0.15))),
        ("scores, two models just as far apart as planned", *_scores(APART)),
        ("scores, two models twice as far apart", *_scores(2 * APART)),
        ("scores, two models alike", *_scores(0.0)),
    ]
    head = ["study", "of a fixed plan", "90th percentile", "ended at the cap"]
    found = table(head, [[what, f"{mean:.2f}", f"{high:.2f}", percent(capped)] for what, mean, high, capped in rows])
    return f"By simulation, {STUDIES} studies a row, raters one after the other, with a cap of {CAP} fixed plans:\n\n{found}"


def _choices(step: float) -> Floats:
    """Strengths with which each model is chosen by so much more than the next."""
    places = np.arange(MODELS)[::-1] - (MODELS - 1) / 2
    return np.asarray(np.log(1 / MODELS + step * places))


def _panels(strengths: Floats) -> tuple[float, float, float]:
    """All models of which a pair is open are shown; one is chosen at a turn."""
    rule = StoppingRule(models=tuple("ABCD"[:MODELS]), margin=MARGIN, alpha=ALPHA, shown="panel", max_dialogues=10**6)
    alike = CROWD.icc + (1 - CROWD.icc) / CROWD.turns
    pairs = pairs_of(MODELS)
    plan = fixed_plan(rule, variance=alike / (2 * MODELS)) / pairs.count
    rng, size = np.random.default_rng(1), (1 - CROWD.icc) / CROWD.icc

    def draw(shown: Flags) -> Floats:
        odds = np.where(shown, np.exp(strengths), 0.0)
        liked = rng.standard_gamma(np.maximum(size * odds / odds.sum(axis=1, keepdims=True), 1e-12))
        picks = rng.multinomial(CROWD.turns, liked / liked.sum(axis=1, keepdims=True))
        lead = (picks[:, pairs.first] - picks[:, pairs.second]) / CROWD.turns
        return np.asarray((1 + lead) / 2)

    return _run(rule, plan, draw)


def _scores(apart: float) -> tuple[float, float, float]:
    """A worker rates both models; equal scores decide nothing."""
    rule = StoppingRule(models=("A", "B"), margin=MARGIN, alpha=ALPHA, equality=False, max_dialogues=10**6)
    plan = ((ndtri(1 - ALPHA / 2) + ndtri(POWER)) / APART) ** 2
    rng = np.random.default_rng(1)

    def draw(shown: Flags) -> Floats:
        return np.asarray((1 + np.tanh(rng.normal(apart, 1.0, (len(shown), 1)))) / 2)

    return _run(rule, float(plan), draw)


def _run(rule: StoppingRule, plan: float, draw: Draw) -> tuple[float, float, float]:
    """Mean and 90th percentile of dialogues by those of the plan, and the share of studies that end at the cap."""
    studies, pairs = Studies(rule, STUDIES), pairs_of(len(rule.models))
    needed = np.zeros(STUDIES)
    for place in range(round(CAP * plan)):
        open_pairs = studies.decisions.open()
        rows = np.flatnonzero(open_pairs.any(axis=1))
        if not rows.size:
            break
        shown = np.zeros((len(rows), len(rule.models)), dtype=bool)
        for pair in range(pairs.count):
            for end in (pairs.first[pair], pairs.second[pair]):
                shown[:, end] |= open_pairs[rows, pair]
        both = shown[:, pairs.first] & shown[:, pairs.second]
        moment = np.full(len(rows), float(place))
        numbers = studies.admit(rows, np.where(both, np.arange(pairs.count), -1), moment)
        studies.answer(rows, numbers, np.where(both, draw(shown), np.nan))
        studies.end(rows, numbers, moment)
        studies.advance(rows, moment)
        needed[rows] += 1
    ratio = needed / plan
    capped = studies.decisions.open().any(axis=1)
    return float(ratio.mean()), float(np.quantile(ratio, 0.9)), float(capped.mean())
