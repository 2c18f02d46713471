"""One adapter per function of the exact cases: names and shapes are translated, every number is the product's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from parlai_humaneval import analysis
from parlai_humaneval.analysis import Result
from parlai_humaneval.models.baselines.degraded import span_length, span_starts
from parlai_humaneval.planning.power import chi2_noncentrality
from parlai_humaneval.quality.answers import degraded_rated_lower
from parlai_humaneval.statistics.core.ranks import kendall_tau_b, rank_clusters, rank_range, rank_range_shortest
from parlai_humaneval.statistics.core.shares import binomial_p, wald_interval
from parlai_humaneval.statistics.preference.win_rates import effective_win_rate, lin_pooled, pw_combo_score, sm_wta
from parlai_humaneval.statistics.ranking.order import same_ranking_share
from parlai_humaneval.statistics.ranking.trueskill import (
    SkillModel,
    conservative_skill,
    free_for_all_points,
    free_for_all_ranks,
    free_for_all_ratings,
    rate_free_for_all,
    shuffle_interval,
)
from parlai_humaneval.statistics.raters.time import chunk_variability
from parlai_humaneval.statistics.ratings.sliders import standardise
from parlai_humaneval.statistics.survival.spotting import win_by_label
from parlai_humaneval.statistics.survival.tests import logrank_scores, permutation_logrank_test, zhao_sun_scores

Numbers = Sequence[float]


def _mcnemar(b: int, c: int) -> dict[str, Any]:
    found = analysis.mcnemar_test(b, c)
    exact, mid = found.details["p_exact"], found.details["p_mid"]
    return {"chi2": found.statistic, "p_chi2": found.p_value, "p_exact": exact, "p_mid": mid}


def _test(found: Result, statistic: str) -> dict[str, Any]:
    return {statistic: found.statistic, "df": found.details["df"], "p": found.p_value}


def _score_test(found: Result) -> dict[str, Any]:
    return {"U": found.details["U"], "V": found.details["V"], "chi2": found.statistic, "p": found.p_value}


def _rank_sum(x: Numbers, y: Numbers, alternative: Any = "two-sided") -> dict[str, Any]:
    found = analysis.rank_sum_test(x, y, alternative)
    return {"U": found.statistic, "p": found.p_value}


def _worker_passes(qc_scores: Numbers, model_scores: Numbers, alpha: float = 0.05) -> dict[str, Any]:
    found = degraded_rated_lower(qc_scores, model_scores, alpha=alpha)
    return {"passed": found.passed is True, "p": found.p}


def _trueskill_ffa(
    ratings: Sequence[tuple[float, float]],
    ranks: Sequence[int],
    beta: float = 25 / 6,
    tau: float = 25 / 300,
    p_draw: float = 0.10,
    tol: float = 1e-12,
    iters: int = 1000,
) -> list[list[float]]:
    model = SkillModel(beta=beta, tau=tau, draw=p_draw)
    before = [[belief[part] for belief in ratings] for part in (0, 1)]
    mu, sigma = rate_free_for_all(*before, ranks, model=model, tolerance=tol, passes=iters)
    return [[float(m), float(s)] for m, s in zip(mu, sigma, strict=True)]


def _ffa_ratings(conversations: Sequence[Numbers], n_models: int, **kwargs: Any) -> list[list[float]]:
    renamed = {"p_draw": "draw"}
    model = SkillModel(**{renamed.get(key, key): value for key, value in kwargs.items()})
    points = np.reshape(np.array(conversations, dtype=float), (len(conversations), n_models))
    mu, sigma = free_for_all_ratings(points, model=model)
    return [[float(m), float(s)] for m, s in zip(mu[0], sigma[0], strict=True)]


def _cloglog_cox(k: Numbers, spotted: Numbers, X: Sequence[Numbers]) -> dict[str, Any]:
    fit = analysis.cloglog_cox(k, spotted, X)
    return {"beta": fit.beta, "loglik": fit.loglik, "Lambda": fit.baseline}


def _zhao_sun_u(k: Numbers, spotted: Numbers, group: Sequence[Any]) -> list[Any]:
    groups, u = zhao_sun_scores(k, spotted, group)
    return [groups, u]


def _zhao_sun(k: Numbers, spotted: Numbers, group: Sequence[Any], M: int = 50, seed: int = 0) -> dict[str, Any]:
    _, u = zhao_sun_scores(k, spotted, group)
    # Both sides are random: more imputations than the case has keep this side's share of the noise small.
    found = analysis.zhao_sun_test(k, spotted, group, imputations=max(M, 5_000), seed=seed)
    return {"U": u, "chi2": found.statistic, "df": found.details["df"], "p": found.p_value}


def _logrank(time: Numbers, event: Numbers, group: Sequence[Any]) -> list[Any]:
    found = logrank_scores(time, event, group)
    return [found.u, found.v]


def _time_to_significance(
    outcomes: Numbers, times: Numbers, alpha: float = 0.05, p0: float = 0.5, min_n: int = 1
) -> dict[str, Any]:
    found = analysis.time_to_significance(outcomes, times, alpha=alpha, p0=p0, min_looks=min_n)
    return {"first": found.first, "sustained": found.sustained, "p": found.p_values}


def _chunk_sd(outcomes: Numbers, durations: Numbers, chunk: float = 45.0, ddof: int = 0) -> dict[str, Any]:
    found = chunk_variability(outcomes, durations, chunk=chunk, ddof=ddof)
    return {"rates": found.rates, "sd": found.sd}


ADAPTERS: Mapping[str, Callable[..., Any]] = {
    "lin": analysis.linear_win_rate,
    "lin_pooled": lin_pooled,
    "sqr": analysis.squared_win_rate,
    "wta": analysis.winner_takes_all,
    "sm_wta": sm_wta,
    "effective_win_rate": effective_win_rate,
    # Rates that are undefined themselves come as null.
    "combo": lambda a, b, *weights, **named: None if None in (a, b) else pw_combo_score(a, b, *weights, **named),
    "binom_two_sided": binomial_p,
    "mcnemar": _mcnemar,
    "cochran_q": lambda X: _test(analysis.cochran_q_test(X), "Q"),
    "gof": lambda counts, p0=None: _test(analysis.goodness_of_fit_test(counts, p0), "chi2"),
    "wald_ci": lambda k, n, conf=0.95: wald_interval(k, n, conf),
    "wilson_ci": lambda k, n, conf=0.95: analysis.wilson_interval(k, n, conf),
    "rank_sum": _rank_sum,
    "worker_z": standardise,
    "worker_passes": _worker_passes,
    "distortion_len": span_length,
    "distortion_starts": lambda n: list(span_starts(n)),
    "trueskill_ffa": _trueskill_ffa,
    "ffa_points": free_for_all_points,
    "ffa_ranks": free_for_all_ranks,
    "conservative": conservative_skill,
    "ffa_ratings": _ffa_ratings,
    "shuffle_ci": lambda score_matrix, conf=0.95: shuffle_interval(score_matrix, conf),
    "rank_stability": lambda rankings, reference: same_ranking_share(rankings, reference),
    "kendall_tau_b": kendall_tau_b,
    "rank_range": lambda ranks, conf=0.95: rank_range(ranks, conf),
    "rank_range_shortest": lambda ranks, conf=0.95: rank_range_shortest(ranks, conf),
    "clusters": rank_clusters,
    "stb_winner": win_by_label,
    "turnbull_pava": lambda k, spotted, w=None: list(analysis.survival_curve(k, spotted, w).items()),
    "zhao_sun_U": _zhao_sun_u,
    # Its variance is Finkelstein's own, with a parameter for each length.
    "finkelstein_score_test": lambda k, spotted, group: _score_test(
        analysis.survival_score_test(k, spotted, group, lengths_apart=True)
    ),
    "permutation_logrank": lambda k, spotted, group: _score_test(permutation_logrank_test(k, spotted, group)),
    "cloglog_cox": _cloglog_cox,
    "zhao_sun_test": _zhao_sun,
    "logrank": _logrank,
    "time_to_significance": _time_to_significance,
    "chunk_sd": _chunk_sd,
    "ols": lambda X, y: [term.estimate for term in analysis.ols(X, y)],
    "n_one_prop": analysis.one_proportion_size,
    "n_mcnemar": lambda psi, d, *args, **kwargs: analysis.mcnemar_size(psi, d, *args, **kwargs),
    "ncp_chi2": chi2_noncentrality,
    "n_gof": lambda p, *args, **kwargs: analysis.goodness_of_fit_size(p, *args, **kwargs),
    "n_cochran_q": lambda p, psi_bar, *args, **kwargs: analysis.cochran_q_size(p, psi_bar, *args, **kwargs),
    "design_effect": analysis.design_effect,
}
