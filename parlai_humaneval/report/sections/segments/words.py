"""The sentences on judged segments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parlai_humaneval.report.section import disagreement
from parlai_humaneval.report.sections.segments.types import Analysis, ModelRow
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS, too_few
from parlai_humaneval.statistics.wording import counted, percent, percent_range

_NAMED = 4
"""As many disagreements or failures of one kind as are told one by one."""


def headline(found: Analysis) -> str:
    """Who wins, and who cannot be told apart; of one bot, how long it passes for a person."""
    ranked = [row for row in found.models if row.win_rate is not None]
    if ranked:
        return _of_ranking(found, ranked)
    if not found.models:
        people = found.humans
        taken = people.taken_for_human if people else None
        return "No bot was judged, only people." + (
            f" They were taken for people in {_share(taken.estimate, taken.ci_low, taken.ci_high)} of "
            f"cases, clustered by {counted(found.n_workers, 'worker')}."
            if taken
            else ""
        )
    best = max(found.models, key=lambda row: list(row.survival.values())[-1] or 0.0)
    k, left = list(best.survival.items())[-1]
    which = f"{best.model} passes longest: it" if len(found.models) > 1 else best.model
    return (
        f"{which} is not taken for a bot within {counted(int(k), 'exchange')} in "
        f"{_share(left, best.survival_low[k], best.survival_high[k])} of cases; no two bots can be compared by win rates."
    )


def _of_ranking(found: Analysis, ranked: Sequence[ModelRow]) -> str:
    best = max(ranked, key=lambda row: row.win_rate or 0.0)  # of equal ones the first, as they are ranked
    rate = _share(best.win_rate, best.ci_low, best.ci_high)
    basis = f"clustered by {counted(found.n_workers, 'worker')}"
    first = f"{best.model} wins {rate} of its decided segments against other bots ({basis})"
    clusters = clusters_of(found.models, workers=True)
    if not clusters:
        return f"{first}; whether others rank as high cannot be estimated from {counted(found.n_workers, 'worker')}."
    if len(clusters) == 1:
        return f"{first}; the ranks of {_listed(clusters[0])} cannot be told apart."
    order = ", then ".join(_listed(cluster) for cluster in clusters)
    return f"{first}; best cluster of ranks first: {order}."


def clusters_of(models: Sequence[ModelRow], *, workers: bool) -> list[list[str]]:
    """Models by cluster, best first; by resamples of workers or of segments."""
    by_cluster: dict[int, list[str]] = {}
    for row in models:
        cluster = row.cluster_workers if workers else row.cluster
        if cluster is not None:
            by_cluster.setdefault(cluster, []).append(row.model)
    return [by_cluster[number] for number in sorted(by_cluster)]


def pooled(settings: Sequence[str]) -> list[str]:
    """That settings are pooled, if there are several."""
    if not settings:
        return []
    return [
        f"{len(settings)} settings are pooled here ({', '.join(settings)}): a bot of the same name counts as the same in "
        "all of them. Each setting is analysed by itself below; rather believe these if the bots were trained for them."
    ]


def remarks(found: Analysis) -> list[str]:
    """What a reader must know before using the numbers."""
    return [*_of_data(found), *_of_ranks(found), *_disagreements(found), *_of_features(found)]


def _of_data(found: Analysis) -> Iterator[str]:
    if found.n_workers < MIN_CLUSTERS:
        yield f"{counted(found.n_workers, 'worker')}: {too_few()}."
    if len(found.models) == 1:
        yield "Only one bot was judged: there are no win rates, ranks or comparisons."
    if len(found.lengths) == 1:
        yield (
            f"All segments have {counted(found.lengths[0], 'exchange')}: the survival is known at this one point, and the "
            "tests compare how often the bots were spotted by then."
        )
    if found.humans is None:
        yield "No dialogues of people were judged: there is no upper bound, and raters may have come to expect bots only."
    else:
        spotted = found.humans.spotted
        yield (
            f"People were taken for bots in {_share(spotted.estimate, spotted.ci_low, spotted.ci_high)} of "
            f"{counted(found.humans.n, 'case')}, clustered by {counted(found.n_workers, 'worker')}."
        )
    if found.unfinished:
        yield f"{counted(found.unfinished, 'unfinished judgement')} left out."
    if not found.labels:
        yield "No segment was judged by two people: agreement on labels cannot be estimated."


def _of_ranks(found: Analysis) -> Iterator[str]:
    if len(found.models) > 1 and not found.pairs:
        yield "No two bots talked to each other: there are no win rates and no ranks."
    ties, total = sum(pair.ties for pair in found.pairs), sum(pair.n for pair in found.pairs)
    if total and ties == total:
        yield f"All {counted(total, 'segment')} of two bots are ties: win rates and ranks cannot be estimated."
    elif ties:
        yield f"{percent(ties / total)} of {counted(total, 'segment')} of two bots are ties, left out of win rates."
    playing = {name for pair in found.pairs for name in (pair.model_a, pair.model_b)}
    missing = len(playing) * (len(playing) - 1) // 2 - len(found.pairs)
    if missing:
        yield (
            f"{counted(missing, 'pair')} of bots never met: a bot's win rate depends on whom it met, so that pairs tell "
            "more than the order does."
        )
    by_segment, by_worker = clusters_of(found.models, workers=False), clusters_of(found.models, workers=True)
    if by_worker and by_segment != by_worker:
        yield (
            f"Resampling segments, as the paper does, gives the clusters {_clusters(by_segment)}; resampling workers with "
            f"all their segments gives {_clusters(by_worker)}. Believe the second: a worker's labels are not independent."
        )


def _clusters(clusters: Sequence[Sequence[str]]) -> str:
    return " > ".join(_listed(cluster) for cluster in clusters)


def _disagreements(found: Analysis) -> Iterator[str]:
    of_wins = (
        disagreement(f"Wins of {pair.model_a} against {pair.model_b}", pair.p_holm, pair.p_clustered_holm)
        for pair in found.pairs
    )
    of_survival = (
        disagreement(f"Survival of {test.models[0]} and {test.models[1]}", test.p_holm, test.p_clustered_holm)
        for test in found.tests
    )
    of_features = (
        disagreement(f"Effect of {row.feature} on how long {row.model} passes", row.p_holm, row.p_clustered_holm)
        for row in found.features
    )
    for told in (of_wins, of_survival, of_features):
        sentences = [sentence for sentence in told if sentence is not None]
        yield from sentences[:_NAMED]
        if len(sentences) > _NAMED:
            yield f"{len(sentences) - _NAMED} more disagree in the same way; the tables have both p-values."


def _of_features(found: Analysis) -> Iterator[str]:
    lost = [
        f"{row.feature} of {row.model} ({row.notes[0]})" for row in found.features if row.effect is None and row.notes
    ]
    if lost:
        more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        yield f"Effects that cannot be estimated: {'; '.join(lost[:_NAMED])}{more}."


def _share(estimate: float | None, low: float | None, high: float | None) -> str:
    interval = "no interval" if low is None or high is None else percent_range(low, high)
    return f"{percent(estimate)} ({interval})"


def _listed(names: Sequence[str]) -> str:
    """“a”, “a and b”, “a, b and c”."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
