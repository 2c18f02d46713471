"""Speakers and pairs of them: labels, survival, win rates, ranks."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.protocol.records.judgement import HUMAN
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.segments.types import ByLength, Estimate, ModelRow, PairRow, SpeakerRow
from parlai_humaneval.statistics.choice_tests import goodness_of_fit_test
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS, cluster_sums, clustered_share
from parlai_humaneval.statistics.ranks import Ints, rank_clusters, rank_range, rank_range_shortest
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.spotting import bootstrap_ranks
from parlai_humaneval.statistics.survival.curve import survival_with_bands
from parlai_humaneval.tables.counting import unique
from parlai_humaneval.tables.schema import LABELS

CHI2 = "χ² of wins against losses (the paper's); CR1 t of the win rate, clustered by worker"


def share(given: npt.ArrayLike, of: npt.ArrayLike, rows: pd.DataFrame, name: str, level: float) -> Result:
    """A share clustered by worker, tested against one half."""
    return clustered_share(cluster_sums(given, of, rows["worker_id"].to_numpy(dtype=object)), name=name, level=level)


def speaker_row(rows: pd.DataFrame, model: str, options: Options) -> SpeakerRow:
    """``rows``: all labels of the speaker."""
    labels = rows["label"].to_numpy(dtype=object)
    ones = np.ones(len(rows))
    points = survival_with_bands(
        rows["k"].to_numpy(dtype=float),
        labels == "bot",
        rows["worker_id"].to_numpy(dtype=object),
        level=options.level,
        seed=options.seed,
        draws=options.draws,
    )
    taken, spotted = (
        share(labels == label, ones, rows, f"{model} taken for {label}", options.level) for label in ("human", "bot")
    )
    return SpeakerRow(
        model=model,
        n=len(rows),
        **{label: int((labels == label).sum()) for label in LABELS},
        taken_for_human=_estimate(taken),
        spotted=_estimate(spotted),
        survival=_by_length(points, "estimate"),
        survival_low=_by_length(points, "ci_low"),
        survival_high=_by_length(points, "ci_high"),
    )


def _estimate(result: Result) -> Estimate:
    return Estimate(estimate=result.estimate, ci_low=result.ci_low, ci_high=result.ci_high)


def _by_length(points: Iterable[Result], field: str) -> ByLength:
    return {str(point.details["k"]): getattr(point, field) for point in points}


def model_rows(rows: pd.DataFrame, contests: pd.DataFrame, options: Options) -> tuple[list[ModelRow], int]:
    """The bots, best first, and the number of resamples of their ranks."""
    found = []
    for model in unique(rows["model"]):
        if model != HUMAN:
            own = rows[(rows["model"] == model).to_numpy(dtype=bool)]
            found.append(ModelRow(**{**dict(speaker_row(own, model, options)), **_record(contests, model, options)}))
    playing = sorted({*contests["model_a"], *contests["model_b"]})
    by_segment = _resampled(contests, playing, "segment", options)
    by_worker = _resampled(contests, playing, "worker", options)
    paper, ours = _ranges(by_segment, playing, options.level), _ranges(by_worker, playing, options.level)
    for row in found:
        if row.model in paper:
            row.rank_low, row.rank_high, row.cluster = paper[row.model]
            shortest = rank_range_shortest(by_segment[:, playing.index(row.model)], options.level)
            row.rank_low_shortest, row.rank_high_shortest = shortest or (None, None)
        if row.model in ours:
            row.rank_low_workers, row.rank_high_workers, row.cluster_workers = ours[row.model]
            row.rank = int(np.floor(np.median(by_worker[:, playing.index(row.model)])))
    return sorted(found, key=_best_first), len(by_segment)


def _best_first(row: ModelRow) -> tuple[float, float, float, str]:
    """By cluster and win rate, those who met nobody by survival at last, then by name."""
    last = list(row.survival.values())[-1] if row.survival else None
    return (row.cluster or np.inf, -(row.win_rate or 0.0), -(last or 0.0), row.model)


def _record(contests: pd.DataFrame, model: str, options: Options) -> dict[str, float | int | None]:
    """Wins, losses and ties against all other bots."""
    is_a, is_b = ((contests[name] == model).to_numpy(dtype=bool) for name in ("model_a", "model_b"))
    own = contests[is_a | is_b]
    lead = np.where(is_a, 1, -1)[is_a | is_b] * own["lead_a"].to_numpy(dtype=np.int64)
    rate = share(lead > 0, lead != 0, own, f"win rate of {model}", options.level)
    ties = int((lead == 0).sum())
    return {
        "wins": int((lead > 0).sum()),
        "losses": int((lead < 0).sum()),
        "ties": ties,
        "tie_share": ties / len(own) if len(own) else None,
        "win_rate": rate.estimate,
        "ci_low": rate.ci_low,
        "ci_high": rate.ci_high,
        "p_clustered": rate.p_value if len(own) else None,
    }


def _resampled(contests: pd.DataFrame, playing: list[str], unit: str, options: Options) -> Ints:
    if unit == "worker" and contests["worker_id"].nunique() < MIN_CLUSTERS:
        return np.zeros((0, len(playing)), dtype=np.int64)
    return bootstrap_ranks(
        contests,
        playing,
        unit="worker" if unit == "worker" else "segment",
        draws=options.draws,
        seed=options.seed,
    )


def _ranges(ranks: Ints, playing: list[str], level: float) -> dict[str, tuple[int, int, int]]:
    """Model → range and cluster; none without resamples."""
    ranges = {}
    for model, own in zip(playing, ranks.T, strict=True):
        found = rank_range(own, level)
        if found is not None:
            ranges[model] = found
    clusters = rank_clusters(ranges)
    return {model: (*ranges[model], place) for place, own in enumerate(clusters, start=1) for model in own}


def pair_rows(contests: pd.DataFrame, options: Options) -> list[PairRow]:
    """Every pair of bots that met, by name; p-values are not yet corrected."""
    return [_pair(own, str(a), str(b), options) for (a, b), own in contests.groupby(["model_a", "model_b"], sort=True)]


def _pair(rows: pd.DataFrame, model_a: str, model_b: str, options: Options) -> PairRow:
    lead = rows["lead_a"].to_numpy(dtype=np.int64)
    wins, losses, ties = (int((lead == sign).sum()) for sign in (1, -1, 0))
    rate = share(lead > 0, lead != 0, rows, f"win rate of {model_a} over {model_b}", options.level)
    paper = goodness_of_fit_test([wins, losses], name=rate.name)
    return PairRow(
        model_a=model_a,
        model_b=model_b,
        n=len(rows),
        n_dialogues=int(rows["dialogue_id"].nunique()),
        n_workers=int(rows["worker_id"].nunique()),
        wins_a=wins,
        wins_b=losses,
        ties=ties,
        tie_share=ties / len(rows),
        win_rate_a=rate.estimate,
        ci_low=rate.ci_low,
        ci_high=rate.ci_high,
        statistic=paper.statistic,
        p_value=paper.p_value,
        p_clustered=rate.p_value,
        method=CHI2,
        notes=["all segments are ties: nothing tells the two apart"] if ties == len(rows) else list(rate.notes),
    )
