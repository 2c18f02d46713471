"""How often the headline tests find a difference between equal models, when every worker has a taste of their own.

At α = .05 it should be one study in twenty. The papers' tests, which take every answer for independent, stand beside.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.figures import Figure
from benchmarks.simulated_tables import (
    Floats,
    Objects,
    Study,
    chosen_replies,
    comparisons_table,
    likert_table,
    ratings_table,
    segments_table,
    single_replies,
)
from parlai_humaneval import analysis
from parlai_humaneval.statistics.pair_wins import oriented, wins_of_pairs
from parlai_humaneval.statistics.slider_scores import standardised
from parlai_humaneval.statistics.spotting import bot_contests, judged_segments
from parlai_humaneval.statistics.standardised_scores import score_gaps
from parlai_humaneval.statistics.turn_tests import compare_choices, compare_singles

ALPHA = 0.05
ALLOWED = (0.03, 0.07)
STUDIES = 2_000
"""Simulated studies a test: a rate of .05 is then known to ±.01."""
Ps = tuple[float | None, float | None]
"""p of the headline test, and of the test that takes every answer for independent."""
Simulate = Callable[[np.random.Generator], Ps]

PAIR = Study()
FOUR = Study(models=("a", "b", "c", "d"))
CHATS = Study(dialogues=4)
SEGMENTS = Study(dialogues=10, models=("a", "b", "c"))


def _turn_test(study: Study, forced: bool) -> Simulate:
    def simulate(rng: np.random.Generator) -> Ps:
        chosen, workers = chosen_replies(study, rng, forced=forced)
        test = compare_choices(chosen, study.models, workers, one_pick=forced)[0]
        return test.clustered.p_value, test.paper.p_value

    return simulate


def _single(rng: np.random.Generator) -> Ps:
    found, workers = single_replies(CHATS, rng)
    (test,) = compare_singles(found, CHATS.models, workers)
    return test.clustered.p_value, test.paper.p_value


def _plackett_luce(rng: np.random.Generator) -> Ps:
    chosen, workers = chosen_replies(FOUR, rng)
    return analysis.plackett_luce(chosen, workers, models=FOUR.models).pairs[0].p_value, None


def _comparisons(rng: np.random.Generator) -> Ps:
    (pair,) = wins_of_pairs(oriented(comparisons_table(PAIR, rng)))
    return pair.win_rate.p_value, pair.paper.p_value


def _bradley_terry(rng: np.random.Generator) -> Ps:
    found = analysis.comparison_strengths(comparisons_table(FOUR, rng))
    return (None if found is None else found.pairs[0].p_value), None


def _likert(rng: np.random.Generator) -> Ps:
    a, workers_a, b, workers_b = _final_ratings(rng)
    return analysis.clustered_difference(a, workers_a, b, workers_b).p_value, analysis.t_test(a, b).p_value


def _effective(rng: np.random.Generator) -> Ps:
    a, workers_a, b, workers_b = _final_ratings(rng)
    return analysis.effective_win_test(a, workers_a, b, workers_b).p_value, analysis.rank_sum_test(a, b).p_value


def _final_ratings(rng: np.random.Generator) -> tuple[Floats, Objects, Floats, Objects]:
    """Values and workers of the first model, and of the second."""
    table = likert_table(CHATS, rng)
    sides = [table[table["model"] == model] for model in CHATS.models]
    (a, b), (workers_a, workers_b) = ([side[name].to_numpy() for side in sides] for name in ("value", "worker_id"))
    return a.astype(float), workers_a, b.astype(float), workers_b


def _direct(rng: np.random.Generator) -> Ps:
    table = ratings_table(FOUR, rng)
    scored: pd.DataFrame = table.assign(z=standardised(table))
    models = scored[scored["degraded"] == 0]
    gap = score_gaps(models, FOUR.models)[0]
    return gap.difference.p_value, gap.paper.p_value


def _survival(rng: np.random.Generator) -> Ps:
    table = segments_table(SEGMENTS, rng)
    rows = table[table["model"].isin(SEGMENTS.models[:2])]
    k, spotted, model = rows["k"].to_numpy(dtype=int), (rows["label"] == "bot").to_numpy(), rows["model"].to_numpy()
    clustered = analysis.clustered_score_test(k, spotted, model, rows["worker_id"].to_numpy())
    return clustered.p_value, analysis.survival_score_test(k, spotted, model).p_value


def _segments(rng: np.random.Generator) -> Ps:
    contests = bot_contests(judged_segments(segments_table(SEGMENTS, rng)))
    pair = contests[(contests["model_a"] == "a") & (contests["model_b"] == "b") & (contests["lead_a"] != 0)]
    won = (pair["lead_a"] > 0).to_numpy(dtype=float)
    sums = analysis.cluster_sums(won, np.ones(len(won)), pair["worker_id"].to_numpy())
    return analysis.clustered_share(sums).p_value, analysis.binomial_p(int(won.sum()), len(won))


HEADLINES: dict[str, Simulate] = {
    **{
        f"turns, {'one pick' if forced else 'any number'} of {len(study.models)}": _turn_test(study, forced)
        for study, forced in product((PAIR, FOUR), (True, False))
    },
    "turns, single models": _single,
    "turns, Plackett–Luce": _plackett_luce,
    "finished dialogues in pairs": _comparisons,
    "finished dialogues, Bradley–Terry": _bradley_terry,
    "Likert ratings": _likert,
    "Likert ratings, effective win rate": _effective,
    "direct assessment": _direct,
    "segments, survival": _survival,
    "segments, wins": _segments,
}


def false_positive_rates(name: str, studies: int, seed: int = 0) -> tuple[float, float | None]:
    """Share of ``studies`` in which the headline test, and the paper's, has p < .05; None where a paper has no test.

    Raises:
        RuntimeError: the headline test could not be made in a study of this size.
    """
    rng = np.random.default_rng(seed)
    found = [HEADLINES[name](rng) for _ in range(studies)]
    if any(p is None for p, _ in found):
        raise RuntimeError(f"{name}: no p-value in some of the studies")
    papers = [p for _, p in found if p is not None]
    rate = float(np.mean([p is not None and p < ALPHA for p, _ in found]))
    return rate, (float(np.mean(np.array(papers) < ALPHA)) if papers else None)


def run(quick: bool) -> list[Figure]:
    """Every headline test.

    Raises:
        RuntimeError: a rate outside of :data:`ALLOWED`; not with ``quick``, where studies are too few to tell.
    """
    studies = 20 if quick else STUDIES
    figures, wrong = [], []
    for name in HEADLINES:
        ours, paper = false_positive_rates(name, studies)
        if not ALLOWED[0] <= ours <= ALLOWED[1]:
            wrong.append(f"{name} {ours:.3f}")
        figures.append(
            Figure(
                name=f"false positives: {name}",
                unit="share of studies",
                ours=ours,
                peer=paper,
                peer_source="none" if paper is None else "same run",
                note=f"α = .05, {studies:,} studies of equal models and workers with tastes; peer: the paper's test",
                repeats=studies,
            )
        )
    if wrong and not quick:
        raise RuntimeError(f"outside of {ALLOWED[0]} to {ALLOWED[1]}: {', '.join(wrong)}")
    return figures
