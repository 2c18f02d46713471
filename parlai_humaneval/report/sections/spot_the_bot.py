"""Section ``segments``: who passes for a person, for how long, and why (Spot The Bot, Deriu et al. 2020, §3 to §5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from parlai_humaneval._util.arrays import Ints
from parlai_humaneval.report.conclusions import (
    BY_WORKER,
    WonPair,
    about_dialogues,
    best_of_pairs,
    clusters_words,
    counted_once,
    holm_methods,
    matrix_of,
    order_of_pairs,
    pair_p,
    reuse_methods,
    rough_guides,
    to_cite,
)
from parlai_humaneval.report.rows import (
    Columns,
    Labels,
    Row,
    both_tests,
    columns,
    ends,
    part_table,
    published,
    row_table,
)
from parlai_humaneval.report.section import ModelLine, Options, Part, Section, Summary, results_disagree
from parlai_humaneval.report.views import (
    Cell,
    CellKind,
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    IntervalFigure,
    IntervalPoint,
    Method,
    method,
    p_matrix,
)
from parlai_humaneval.schema.records import HUMAN
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS, too_few_clusters
from parlai_humaneval.statistics.core.effect_sizes import paired_superiority
from parlai_humaneval.statistics.core.formatting import counted, format_range, listed, percent
from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.ranks import rank_clusters, rank_range, rank_range_shortest
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.ranking.order import EQUAL, ModelOrder, not_compared
from parlai_humaneval.statistics.raters.agreement import label_agreement, rating_counts
from parlai_humaneval.statistics.survival.cox import cloglog_cox
from parlai_humaneval.statistics.survival.curve import survival_with_bands
from parlai_humaneval.statistics.survival.spotting import (
    MOST_MATCHES,
    SEGMENT,
    ContestWins,
    Unit,
    bootstrap_ranks,
    bot_contests,
    contest_share,
    contest_wins,
    equal_weights,
    ranking_stability,
    spot_the_bot_segments,
)
from parlai_humaneval.statistics.survival.tests import (
    clustered_score_test,
    permutation_logrank_test,
    survival_score_test,
    zhao_sun_test,
)
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import finished, median, unique
from parlai_humaneval.tables.repeats import dialogue_ids
from parlai_humaneval.tables.schema import FEATURES, LABELS

CHI2 = "χ² of wins against losses (the paper's)"
ALL_TIES = "all segments are ties: nothing tells the two apart"
SUBSAMPLES = 500
"""Of the stability, at most."""
KINDS = ("bot_bot", "self_chat", "human_bot", "human_human")
WINS, SPOTTED_SOONER, EFFECTS = "who gets the better label", "who is spotted sooner", "effects of features"
"""Questions of which the tests are one family each."""
NAMED = 4
"""As many disagreements or failures of one kind as are told one by one."""
BEYOND = 0.5
"""Exchanges by which a curve goes on after the last length."""


class Estimate(Row):
    """A share with its interval, clustered by worker, and by dialogue where several workers judged the same."""

    FROM = ends("result")

    result: Result


class LabelCount(Row):
    """What a speaker was taken for; ``taken_for_human`` and ``spotted``: shares of the labels human and bot."""

    model: str
    n: int
    human: int
    unsure: int
    bot: int
    taken_for_human: Estimate
    spotted: Estimate


class LengthRow(LabelCount):
    """The same in segments of ``k`` exchanges."""

    k: int


class SpeakerRow(LabelCount):
    """The same over all lengths, and the share not spotted within so many exchanges (``survival``) with its band."""

    FROM = ends("curve.*", "survival", "survival")

    curve: dict[str, Result]

    @property
    def not_spotted(self) -> float:
        """Share not spotted within the most exchanges that were shown."""
        return (list(self.curve.values())[-1].estimate or 0.0) if self.curve else 0.0


class ModelRow(SpeakerRow):
    """A bot. ``win_rate``: the mean over its opponents of the rates of Eq. 1, as the paper ranks; ``win_rate_pooled``:
    all decided segments against other bots together, so that an opponent counts as often as they met. ``ties`` are left
    out of both; clustered by worker and dialogue, tested against one half.

    ``rank_low`` to ``rank_high`` and ``cluster`` (1: best) are the paper's: TrueSkill over resamples of segments, central
    range; ``rank_low_shortest`` and ``rank_high_shortest`` their shortest range. ``rank``, ``rank_low_workers``,
    ``rank_high_workers``, ``cluster_workers``: median, range and cluster over resamples of whole workers. All None for a
    bot that met no other.
    """

    FROM = published(
        SpeakerRow.FROM,
        ends("win_rate", "win_rate"),
        ends("win_rate_pooled", "win_rate_pooled", "win_rate_pooled"),
        p_clustered="win_rate.p_value",
        p_clustered_pooled="win_rate_pooled.p_value",
    )

    wins: int
    losses: int
    ties: int
    tie_share: float | None
    win_rate: Result | None
    win_rate_pooled: Result | None
    rank_low: int | None = None
    rank_high: int | None = None
    cluster: int | None = None
    rank_low_shortest: int | None = None
    rank_high_shortest: int | None = None
    rank: int | None = None
    rank_low_workers: int | None = None
    rank_high_workers: int | None = None
    cluster_workers: int | None = None


class PairRow(WonPair):
    """Two bots in segments in which they talk to each other. ``paper``: χ² of wins against losses.

    ``p_worker``: of the win rate by worker alone; None where that is ``p_clustered``.
    """

    FROM = published(WonPair.FROM, statistic="paper.statistic", p_worker="win_rate.details.p_by_worker")

    n: int
    n_dialogues: int
    n_workers: int
    tie_share: float
    method: str
    notes: list[str]


class SurvivalTest(Row):
    """Two bots: is one spotted sooner? ``score`` takes judgements for independent; ``clustered``: the same by worker, and
    by dialogue where several workers judged the same.

    The estimate of ``clustered``, a log hazard ratio, is above 0 where the second of ``models`` is spotted sooner; one
    step from 0, so too small where it is large. ``zhao_sun``: the paper's test; ``permutation``: Sun's.
    """

    FROM = published(
        ends("clustered", "log_hazard_ratio"),
        both_tests("score", "clustered"),
        name="score.name",
        n="score.n",
        method="score.method",
        statistic="score.statistic",
        statistic_zhao_sun="zhao_sun.statistic",
        p_zhao_sun="zhao_sun.p_value",
        p_zhao_sun_holm="zhao_sun.p_decides",
        p_permutation="permutation.p_value",
        p_permutation_holm="permutation.p_decides",
    )

    models: list[str]
    score: Result
    clustered: Result
    zhao_sun: Result
    permutation: Result
    notes: list[str]


class FeatureRow(Row):
    """A feature of a bot: its win rate (against other bots, those found the same left out) and its effect.

    The estimate of ``clustered`` is the log hazard ratio of being spotted, of one step (worse → same → better), with the
    other features held; below 0: the better, the longer it survives. ``paper`` is the same with judgements taken for
    independent; ``p_dialogue`` is clustered by dialogue.
    """

    FROM = published(
        ends("win_rate", "win_rate"),
        ends("clustered", "effect", "effect"),
        both_tests("paper", "clustered"),
        n="clustered.n",
        hazard_ratio="clustered.details.hazard_ratio",
        p_dialogue="clustered.details.p_dialogue",
        notes="clustered.notes",
    )

    model: str
    feature: str
    better: int
    worse: int
    same: int
    win_rate: Result
    clustered: Result
    paper: Result


class LabelRow(Row):
    """Pairs of raters of the same speaker of whom ``either`` gave the label, and ``both`` did; clustered by dialogue."""

    FROM = published(ends("agreement", "share"), both="agreement.details.both", either="agreement.details.either")

    model: str
    label: str
    agreement: Result


class StabilityRow(Part):
    """Share of subsamples with the most frequent ranking (``stability``) and with that of all data (``as_all``).

    ``dialogues``: of each pair of bots; ``left_out``: the bot taken out of the pool, empty: none.
    """

    left_out: str
    dialogues: list[int]
    stability: list[float]
    as_all: list[float]


class SecondsRow(Part):
    """Median time to judge a segment, of ``kind`` of dialogue and of ``k`` exchanges; None: of any."""

    kind: str | None
    k: int | None
    n: int
    median_seconds: float


class Analysis(Part):
    """All that is said of some judged segments. ``models``: bots only, best first; ``humans``: people, if shown.

    ``resamples``: of the ranks, as many as asked for, or fewer where there are very many segments. ``same_features``:
    share of answers on features in which the two speakers were found the same.
    """

    technique: str
    setting: str
    metric: str
    n_segments: int
    n_dialogues: int
    n_workers: int
    unfinished: int
    lengths: list[int]
    models: list[ModelRow]
    humans: SpeakerRow | None
    by_length: list[LengthRow]
    pairs: list[PairRow]
    tests: list[SurvivalTest]
    features: list[FeatureRow]
    same_features: float | None
    labels: list[LabelRow]
    stability: list[StabilityRow]
    seconds: list[SecondsRow]
    resamples: int
    order: ModelOrder | None = Field(default=None, exclude=True)

    @property
    def speakers(self) -> list[SpeakerRow]:
        """Bots, best first, then people."""
        return [*self.models, *([] if self.humans is None else [self.humans])]


class SettingAnalysis(Analysis):
    """One setting (domain) by itself."""

    headline: str = ""
    remarks: list[str] = Field(default_factory=list)


class SegmentsSection(Analysis, Section):
    """Who passes for a person, for how long, and why; ``settings``: each by itself, where there are several."""

    TITLE: ClassVar[str] = "Spot The Bot: who passes for a person"

    settings: list[SettingAnalysis] = Field(default_factory=list)
    seed: int
    draws: int
    subsamples: int
    level: float

    def _parts(self) -> Iterator[tuple[Analysis, str, str]]:
        yield self, "", f", {len(self.settings)} settings pooled" if self.settings else ""
        taken: set[str] = set()
        for place, part in enumerate(self.settings, start=1):
            key = re.sub(r"\W+", "_", part.setting).strip("_").lower() or str(place)
            key = f"{key}_{place}" if key in taken else key
            taken.add(key)
            yield part, f"_{key}", f", {part.setting}"

    def summary(self) -> list[Summary]:
        """Of all segments, then of each setting where there are several."""
        first = _summary(self, self.headline, self.remarks, "")
        keys = [key for _, key, _ in self._parts()][1:]
        return [
            first,
            *(_summary(part, part.headline, part.remarks, key) for part, key in zip(self.settings, keys, strict=True)),
        ]

    def data_tables(self) -> list[DataTable]:
        return [
            table.model_copy(update={"key": f"segments_{table.key}{key}", "title": f"{table.title}{title}"})
            for part, key, title in self._parts()
            for table in _tables(part)
            if table.rows
        ]

    def figures(self) -> list[Figure]:
        return [
            figure.model_copy(update={"key": f"segments_{figure.key}{key}", "title": f"{figure.title}{title}"})
            for part, key, title in self._parts()
            for figure in (*_survival(part), *_ranks(part), *_heats(part), *_stability(part))
        ]

    def methods(self) -> list[Method]:
        return list(_methods(self))


def build(tables: Tables, options: Options) -> SegmentsSection | None:
    """All that ``segments`` says; None where nobody finished judging one.

    With several settings, the numbers of the section pool them, and each setting is analysed by itself besides.

    Raises:
        TableError: the two speakers of a segment contradict each other.
        ValueError: a length k below 1.
    """
    rows = tables.segments.assign(setting=tables.segments["setting"].fillna(""))
    if not finished(rows).any():
        return None
    whole = analyse(rows, options)
    names = sorted(rows.loc[finished(rows), "setting"].unique())
    settings = []
    for name in names if len(names) > 1 else ():
        part = analyse(rows[(rows["setting"] == name).to_numpy(dtype=bool)], options)
        values = {**dict(part), "setting": name or "no setting"}
        settings.append(SettingAnalysis(**values, headline=_headline(part), remarks=list(_remarks(part))))
    return SegmentsSection(
        **dict(whole),
        headline=_headline(whole),
        remarks=[*_pooled([part.setting for part in settings]), *_remarks(whole)],
        settings=settings,
        seed=options.seed,
        draws=options.draws,
        subsamples=min(options.draws, SUBSAMPLES),
        level=options.level,
    )


def analyse(rows: pd.DataFrame, options: Options) -> Analysis:
    """The analysis of all rows that count; ``rows`` may hold unfinished ones, which are counted."""
    labelled = rows[finished(rows)]
    contests = bot_contests(spot_the_bot_segments(labelled))
    people = labelled[(labelled["model"] == HUMAN).to_numpy(dtype=bool)]
    segments = labelled.drop_duplicates(list(SEGMENT))
    technique, setting, metric = (" and ".join(unique(labelled[name])) for name in ("technique", "setting", "metric"))
    family = Family(technique, setting, metric)
    models, resamples = model_rows(labelled, contests, options)
    pairs = pair_rows(contests, family, options)
    order = order_of_pairs({row.model: row.win_rate.estimate for row in models if row.win_rate is not None}, pairs)
    if order is not None and len(order.groups) > 1:  # else the shares of the paper order them
        models.sort(key=lambda row: order.names.index(row.model) if row.model in order.names else len(order.names))
    playing = sorted({*contests["model_a"], *contests["model_b"]})
    stability = ranking_stability(contests, playing, draws=min(options.draws, SUBSAMPLES), seed=options.seed)
    features = feature_rows(labelled, family, options)
    answers = sum(row.better + row.worse + row.same for row in features)
    return Analysis(
        technique=technique,
        setting=setting,
        metric=metric,
        n_segments=len(segments),
        n_dialogues=int(dialogue_ids(labelled).nunique()),
        n_workers=int(labelled["worker_id"].nunique()),
        unfinished=len(rows.drop_duplicates(list(SEGMENT))) - len(segments),
        lengths=sorted(int(k) for k in labelled["k"].unique()),
        models=models,
        humans=_speaker(people, HUMAN, options) if len(people) else None,
        by_length=_by_length(labelled, options.level),
        pairs=pairs,
        tests=survival_tests(labelled, family, options),
        features=features,
        same_features=sum(row.same for row in features) / answers if answers else None,
        labels=label_rows(labelled, options),
        stability=[StabilityRow(**vars(curve)) for curve in stability],
        seconds=seconds_rows(labelled),
        resamples=resamples,
        order=order,
    )


def _label_count(rows: pd.DataFrame, model: str, level: float) -> LabelCount:
    """``rows``: labels of the speaker."""
    labels, ones = rows["label"].to_numpy(dtype=object), np.ones(len(rows))
    taken, spotted = (
        contest_share(labels == name, ones, rows, name=f"{model} taken for {name}", level=level)
        for name in ("human", "bot")
    )
    counts = {label: int((labels == label).sum()) for label in LABELS}
    return LabelCount(
        model=model, n=len(rows), **counts, taken_for_human=Estimate(result=taken), spotted=Estimate(result=spotted)
    )


def _by_length(rows: pd.DataFrame, level: float) -> list[LengthRow]:
    return [
        LengthRow(**dict(_label_count(labelled, str(model), level)), k=int(str(k)))
        for (model, k), labelled in rows.groupby(["model", "k"], sort=True)
    ]


def _speaker(rows: pd.DataFrame, model: str, options: Options) -> SpeakerRow:
    points = survival_with_bands(
        rows["k"].to_numpy(dtype=float),
        (rows["label"] == "bot").to_numpy(dtype=bool),
        rows["worker_id"].to_numpy(dtype=object),
        level=options.level,
        seed=options.seed,
        draws=options.draws,
    )
    curve = {str(point.details["k"]): point for point in points}
    return SpeakerRow(**dict(_label_count(rows, model, options.level)), curve=curve)


def model_rows(rows: pd.DataFrame, contests: pd.DataFrame, options: Options) -> tuple[list[ModelRow], int]:
    """The bots, best first, and the number of resamples of their ranks."""
    models = []
    for model in unique(rows["model"]):
        if model != HUMAN:
            speaker = _speaker(rows[(rows["model"] == model).to_numpy(dtype=bool)], model, options)
            models.append(_with_record(speaker, contests, options))
    playing = sorted({*contests["model_a"], *contests["model_b"]})
    by_segment = _resampled(contests, playing, "segment", options)
    by_worker = _resampled(contests, playing, "worker", options)
    of_paper, of_workers = (_places(ranks, playing, options.level) for ranks in (by_segment, by_worker))
    for row in models:
        if row.model in of_paper:
            row.rank_low, row.rank_high, row.cluster = of_paper[row.model]
            shortest = rank_range_shortest(by_segment[:, playing.index(row.model)], options.level)
            row.rank_low_shortest, row.rank_high_shortest = shortest or (None, None)
        if row.model in of_workers:
            row.rank_low_workers, row.rank_high_workers, row.cluster_workers = of_workers[row.model]
            row.rank = int(np.floor(np.median(by_worker[:, playing.index(row.model)])))
    models = sorted(models, key=lambda row: (row.cluster or np.inf, -_rate_of(row), -row.not_spotted, row.model))
    return models, len(by_segment)


def _rate_of(row: ModelRow) -> float:
    return 0.0 if row.win_rate is None else row.win_rate.estimate or 0.0


def _with_record(speaker: SpeakerRow, contests: pd.DataFrame, options: Options) -> ModelRow:
    is_a, is_b = ((contests[name] == speaker.model).to_numpy(dtype=bool) for name in ("model_a", "model_b"))
    met = contests[is_a | is_b]
    lead = np.where(is_a, 1, -1)[is_a | is_b] * met["lead_a"].to_numpy(dtype=np.int64)
    rate = pooled = None
    if len(met):
        name, decided = f"win rate of {speaker.model}", (lead != 0).astype(float)
        pooled = contest_share(lead > 0, decided, met, name=f"{name}, pooled", level=options.level)
        weights = equal_weights(np.where(is_a, contests["model_b"], contests["model_a"])[is_a | is_b], decided)
        rate = contest_share(
            weights * (lead > 0), weights, met, name=f"{name}, mean over opponents", level=options.level
        )
    wins, losses, ties = (int((lead == sign).sum()) for sign in (1, -1, 0))
    tie_share = ties / len(met) if len(met) else None
    return ModelRow(
        **dict(speaker), wins=wins, losses=losses, ties=ties, tie_share=tie_share, win_rate=rate, win_rate_pooled=pooled
    )


def _resampled(contests: pd.DataFrame, playing: list[str], unit: Unit, options: Options) -> Ints:
    if unit == "worker" and contests["worker_id"].nunique() < MIN_CLUSTERS:
        return np.zeros((0, len(playing)), dtype=np.int64)
    return bootstrap_ranks(contests, playing, unit=unit, draws=options.draws, seed=options.seed)


def _places(ranks: Ints, playing: list[str], level: float) -> dict[str, tuple[int, int, int]]:
    """Model → range and cluster; none without resamples."""
    ranges = {
        model: places
        for model, of_model in zip(playing, ranks.T, strict=True)
        if (places := rank_range(of_model, level)) is not None
    }
    clusters = rank_clusters(ranges)
    return {model: (*ranges[model], place) for place, members in enumerate(clusters, start=1) for model in members}


def pair_rows(contests: pd.DataFrame, family: Family, options: Options) -> list[PairRow]:
    """Every pair of bots that met, by name."""
    pairs = contest_wins(contests, family._replace(question=WINS), level=options.level)
    return [_pair(pair, options) for pair in pairs]


def _pair(pair: ContestWins, options: Options) -> PairRow:
    rows, rate = pair.rows, pair.win_rate
    ties = len(rows) - pair.wins - pair.losses
    return PairRow(
        model_a=pair.model_a,
        model_b=pair.model_b,
        n=len(rows),
        n_dialogues=int(rows["dialogue_id"].nunique()),
        n_workers=int(rows["worker_id"].nunique()),
        wins_a=pair.wins,
        wins_b=pair.losses,
        ties=ties,
        tie_share=ties / len(rows),
        win_rate=rate,
        paper=pair.paper,
        score=paired_superiority(
            rows["lead_a"].to_numpy(dtype=np.int64),
            rows["worker_id"],
            dialogues=[rows["dialogue_id"].to_numpy(dtype=object)],
            level=options.level,
        ),
        method=f"{CHI2}; of the win rate {rate.method}",
        notes=[ALL_TIES] if ties == len(rows) else list(rate.notes),
    )


def _correct(rows: Sequence[Row], tests: Sequence[str], family: Family) -> None:
    """Puts Holm's correction over ``rows`` into each of their ``tests``, which are names of results."""
    for name in tests:
        results = corrected([getattr(row, name) for row in rows], [family] * len(rows))
        for row, result in zip(rows, results, strict=True):
            setattr(row, name, result)


def survival_tests(rows: pd.DataFrame, family: Family, options: Options) -> list[SurvivalTest]:
    """All pairs of bots, by name."""
    models = rows["model"].to_numpy(dtype=object)
    k, spotted = rows["k"].to_numpy(dtype=float), (rows["label"] == "bot").to_numpy(dtype=float)
    workers, dialogues = (rows[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue_id"))
    places = {model: np.flatnonzero(models == model) for model in unique(rows["model"]) if model != HUMAN}
    tests = []
    for a, b in combinations(places, 2):
        both = np.concatenate([places[a], places[b]])
        seen = k[both], spotted[both], np.repeat([0, 1], [places[a].size, places[b].size])
        name = f"survival of {a} and {b}"
        score = survival_score_test(*seen, name=name)
        clustered = clustered_score_test(
            *seen, workers[both], name=name, level=options.level, dialogues=dialogues[both]
        )
        test = SurvivalTest(
            models=[a, b],
            score=score,
            clustered=clustered,
            zhao_sun=zhao_sun_test(*seen, seed=options.seed, name=name),
            permutation=permutation_logrank_test(*seen, name=name),
            notes=list(dict.fromkeys([*score.notes, *clustered.notes])),
        )
        tests.append(test)
    _correct(tests, ("score", "clustered", "zhao_sun", "permutation"), family._replace(question=SPOTTED_SOONER))
    return tests


def feature_rows(rows: pd.DataFrame, family: Family, options: Options) -> list[FeatureRow]:
    """Every bot and feature that was asked; the effects of all of them are one family."""
    bots = [model for model in unique(rows["model"]) if model != HUMAN]
    effects = [
        row for model in bots for row in _features(rows[(rows["model"] == model).to_numpy(dtype=bool)], model, options)
    ]
    _correct(effects, ("clustered", "paper"), family._replace(question=EFFECTS))
    return effects


def _features(rows: pd.DataFrame, model: str, options: Options) -> Iterator[FeatureRow]:
    asked = [name for name in FEATURES if rows[name].notna().any()]
    known = rows[rows[asked].notna().all(axis=1).to_numpy(dtype=bool)]
    clusters = {
        name: ids.to_numpy(dtype=object)
        for name, ids in (("worker", known["worker_id"]), ("dialogue", dialogue_ids(known)))
    }
    fit = cloglog_cox(
        known["k"].to_numpy(dtype=float),
        (known["label"] == "bot").to_numpy(dtype=float),
        known[asked].to_numpy(dtype=float).reshape(len(known), len(asked)),
        names=asked,
        clusters=clusters,
        level=options.level,
    )
    apart = rows[((rows["opponent"] != model) & (rows["opponent"] != HUMAN)).to_numpy(dtype=bool)]
    for feature, effect in zip(asked, fit.effects, strict=True):
        compared = apart[apart[feature].notna().to_numpy(dtype=bool)]
        sign = compared[feature].to_numpy(dtype=float)
        yield FeatureRow(
            model=model,
            feature=feature,
            better=int((sign > 0).sum()),
            worse=int((sign < 0).sum()),
            same=int((sign == 0).sum()),
            win_rate=contest_share(sign > 0, sign != 0, compared, name=f"{model} more {feature}", level=options.level),
            clustered=effect.but(p_value=effect.details.get("p_worker")),
            paper=effect.but(p_value=effect.details.get("p_independent")),
        )


def label_rows(rows: pd.DataFrame, options: Options) -> list[LabelRow]:
    """Agreement on each label, of the speakers that several people judged at the same length (the paper's Table 3)."""
    speakers = rows.groupby(["dialogue_id", "k", "entity"], sort=False).ngroup()
    counts, labels, names = rating_counts(speakers, rows["label"])
    first = rows.assign(speaker=speakers).drop_duplicates("speaker").set_index("speaker").loc[names.tolist()]
    models, dialogues = first["model"].to_numpy(dtype=object), first["dialogue_id"].to_numpy(dtype=object)
    raters = counts.sum(axis=1)
    agreed = []
    for model in sorted(set(models[raters > 1])):
        of_model = (models == model) & (raters > 1)
        for label in LABELS:
            given = counts[of_model, labels.index(label)] if label in labels else np.zeros(int(of_model.sum()))
            agreement = label_agreement(
                given, raters[of_model], dialogues[of_model], name=f"both say {label}", level=options.level
            )
            agreed.append(LabelRow(model=model, label=label, agreement=agreement))
    return agreed


def seconds_rows(rows: pd.DataFrame) -> list[SecondsRow]:
    """Median time of a judged segment: of all, of each kind of dialogue, and of each length; known times only."""
    segments = rows.drop_duplicates(list(SEGMENT))
    segments = segments[segments["seconds"].notna().to_numpy(dtype=bool)]
    people = (segments["model"] == HUMAN).astype(int) + (segments["opponent"] == HUMAN).astype(int)
    bots = np.where(segments["model"] == segments["opponent"], "self_chat", "bot_bot")
    segments = segments.assign(of_kind=np.select([people == 2, people == 1], ["human_human", "human_bot"], bots))
    cuts: list[tuple[str | None, int | None, pd.DataFrame]] = [(None, None, segments)]
    cuts += [(kind, None, segments[(segments["of_kind"] == kind).to_numpy(dtype=bool)]) for kind in KINDS]
    cuts += [(None, int(str(k)), part) for k, part in segments.groupby("k", sort=True)]
    cuts += [(str(kind), int(str(k)), part) for (kind, k), part in segments.groupby(["of_kind", "k"], sort=True)]
    return [
        SecondsRow(kind=kind, k=k, n=len(part), median_seconds=middle)
        for kind, k, part in cuts
        if (middle := median(part["seconds"])) is not None
    ]


def _summary(analysis: Analysis, headline: str, remarks: list[str], key: str) -> Summary:
    ranked = [(row, row.win_rate) for row in analysis.models if row.win_rate is not None]
    lines = [ModelLine.of(row.model, rate, "decided segments", share=True) for row, rate in ranked]
    pairs, order = [pair.line() for pair in analysis.pairs], analysis.order
    taken = [ModelLine.of(row.model, row.taken_for_human.result, "labels", share=True) for row in analysis.speakers]
    return Summary(
        section="segments",
        technique=analysis.technique,
        setting=analysis.setting,
        metric=analysis.metric,
        question=WINS if lines else "who is taken for a person",
        what="win rate, mean over the other bots, ties left out" if lines else "taken for a person",
        verdict=headline,
        models=lines or taken,
        pairs=pairs,
        reference=0.5 if lines else None,
        model_table=f"segments_models{key}",
        pair_table=f"segments_pairs{key}" if analysis.pairs else "",
        remarks=remarks,
        best=None if order is None else best_of_pairs(dict.fromkeys(order.names), pairs, order),
    )


def _headline(analysis: Analysis) -> str:
    ranked = [row for row in analysis.models if row.win_rate is not None and row.win_rate.estimate is not None]
    if ranked:
        return _of_ranking(analysis, ranked)
    if not analysis.models:
        return f"No bot was judged, only people.{_of_people(analysis)}"
    best = max(analysis.models, key=lambda row: row.not_spotted)
    same = [row.model for row in analysis.models if abs(row.not_spotted - best.not_spotted) <= EQUAL]
    k, last = list(best.curve.items())[-1]
    within = f"taken for a bot within {counted(int(k), 'exchange')}"
    none = "; no two bots can be compared by win rates" if len(analysis.models) > 1 else ""
    if len(analysis.models) == len(same) > 1:
        often = {1.0: f"were never {within}", 0.0: f"were always {within}"}
        never = often.get(best.not_spotted, f"are not {within} in {_share(last)} of cases each")
        return f"{listed(same)} {never}: nothing tells them apart{none}."
    if len(same) > 1:
        return f"{listed(same)} pass equally long: they are not {within} in {_share(last)} of cases each{none}."
    which = f"{best.model} passes longest: it" if len(analysis.models) > 1 else best.model
    return f"{which} is not {within} in {_share(last)} of cases{none}."


def _of_people(analysis: Analysis) -> str:
    if analysis.humans is None:
        return ""
    taken = analysis.humans.taken_for_human.result
    return f" They were taken for people in {_share(taken)} of cases, {clusters_words(taken, analysis.n_workers)}."


def _of_ranking(analysis: Analysis, ranked: Sequence[ModelRow]) -> str:
    order = analysis.order
    first = [] if order is None else order.first([row.model for row in ranked])
    if order is not None and (apart := order.unordered(first)):
        return f"No bot leads: {not_compared(apart)}."
    best = next(row for row in ranked if not first or row.model == first[0])
    if len(first) > 1:
        each = f"each win {percent(_rate_of(best))} of decided segments, in the mean over the other bots"
        return f"{listed(first)} {each}{_of_two(analysis)}."
    basis = clusters_words(best.win_rate, analysis.n_workers, "its ")
    both = best.win_rate_pooled if len(ranked) > 2 else None  # with one opponent both rates are the same
    pooled = "" if both is None else f"pooled {percent(both.estimate)}, "
    wins = f"{best.model} wins {_share(best.win_rate)} of decided segments"
    told = f"{wins}, in the mean over the other bots ({pooled}{basis})"
    if differ := _of_two(analysis):
        return f"{told}{differ}."
    clusters = _clusters(analysis.models, workers=True)
    if not clusters:
        return f"{told}; whether others rank as high cannot be estimated from {counted(analysis.n_workers, 'worker')}."
    if len(clusters) == 1:
        return f"{told}; by ranks over resampled workers {listed(clusters[0])} are tied."
    named = ", then ".join(listed(cluster) for cluster in clusters)
    return f"{told}; by ranks over resampled workers, which test no pair, the clusters are, best first: {named}."


def _of_two(analysis: Analysis) -> str:
    """“; they differ (p = .02)” of two bots that were tested, else nothing: of more, pairs and ranks say it."""
    lines = [pair.line() for pair in analysis.pairs]
    if len(lines) != 1 or lines[0].differs is None:
        return ""
    return f"; they {'differ' if lines[0].differs else 'are statistically tied'} ({pair_p(lines[0])})"


def _clusters(models: Sequence[ModelRow], *, workers: bool) -> list[list[str]]:
    by_cluster: dict[int, list[str]] = {}
    for row in models:
        cluster = row.cluster_workers if workers else row.cluster
        if cluster is not None:
            by_cluster.setdefault(cluster, []).append(row.model)
    return [by_cluster[number] for number in sorted(by_cluster)]


def _pooled(settings: Sequence[str]) -> list[str]:
    if not settings:
        return []
    return [
        f"{len(settings)} settings are pooled here ({', '.join(settings)}): a bot of the same name counts as the same in "
        "all of them. Each setting is analysed by itself below; rather believe these if the bots were trained for them."
    ]


def _remarks(analysis: Analysis) -> Iterator[str]:
    """What a reader must know before using the numbers."""
    yield from _of_data(analysis)
    yield from _of_ranks(analysis)
    of_wins = [(f"Wins of {pair.names()}", pair.paper, pair.win_rate) for pair in analysis.pairs]
    of_survival = [(f"Survival of {' and '.join(test.models)}", test.score, test.clustered) for test in analysis.tests]
    of_features = [
        (f"Effect of {row.feature} on how long {row.model} passes", row.paper, row.clustered)
        for row in analysis.features
    ]
    for kind in (of_wins, of_survival, of_features):
        told = (results_disagree(what, paper, clustered) for what, paper, clustered in kind)
        sentences = list(filter(None, told))
        yield from sentences[:NAMED]
        if len(sentences) > NAMED:
            yield f"{len(sentences) - NAMED} more disagree in the same way; the tables have both p-values."
    yield from _of_features(analysis)


def _of_data(analysis: Analysis) -> Iterator[str]:
    if analysis.n_workers < MIN_CLUSTERS:
        yield f"{counted(analysis.n_workers, 'worker')}: {too_few_clusters()}."
    yield from rough_guides(pair.win_rate for pair in analysis.pairs)
    yield from counted_once(pair.win_rate for pair in analysis.pairs)
    yield from counted_once(test.clustered for test in analysis.tests)
    yield from about_dialogues(pair.win_rate for pair in analysis.pairs)
    if len(analysis.models) == 1:
        yield "Only one bot was judged: there are no win rates, ranks or comparisons."
    if len(analysis.lengths) == 1:
        yield (
            f"All segments have {counted(analysis.lengths[0], 'exchange')}: the survival is known at this one point, and "
            "the tests compare how often the bots were spotted by then."
        )
    if analysis.humans is None:
        yield "No dialogues of people were judged: there is no upper bound, and raters may have come to expect bots only."
    else:
        yield (
            f"People were taken for bots in {_share(analysis.humans.spotted.result)} of "
            f"{counted(analysis.humans.n, 'case')}, {clusters_words(analysis.humans.spotted.result, analysis.n_workers)}."
        )
    if analysis.unfinished:
        yield f"{counted(analysis.unfinished, 'unfinished judgement')} left out."
    if not analysis.labels:
        yield "No segment was judged by two people: agreement on labels cannot be estimated."


def _of_ranks(analysis: Analysis) -> Iterator[str]:
    if len(analysis.models) > 1 and not analysis.pairs:
        yield "No two bots talked to each other: there are no win rates and no ranks."
    ties, total = sum(pair.ties for pair in analysis.pairs), sum(pair.n for pair in analysis.pairs)
    if total and ties == total:
        yield f"All {counted(total, 'segment')} of two bots are ties: win rates and ranks cannot be estimated."
    elif ties:
        yield f"{percent(ties / total)} of {counted(total, 'segment')} of two bots are ties, left out of win rates."
    playing = {name for pair in analysis.pairs for name in (pair.model_a, pair.model_b)}
    missing = len(playing) * (len(playing) - 1) // 2 - len(analysis.pairs)
    if missing:
        yield (
            f"{counted(missing, 'pair')} of bots never met: a bot's win rate depends on whom it met, so that pairs tell "
            "more than the order does."
        )
    yield from () if analysis.order is None else analysis.order.reasons()
    by_segment, by_worker = _clusters(analysis.models, workers=False), _clusters(analysis.models, workers=True)
    if by_worker and by_segment != by_worker:
        of_segments, of_workers = (" > ".join(map(listed, clusters)) for clusters in (by_segment, by_worker))
        yield (
            f"Resampling segments, as the paper does, gives the clusters {of_segments}; resampling workers with all their "
            f"segments gives {of_workers}. Believe the second: a worker's labels are not independent."
        )


def _of_features(analysis: Analysis) -> Iterator[str]:
    lost = [
        f"{row.feature} of {row.model} ({row.clustered.notes[0]})"
        for row in analysis.features
        if row.clustered.estimate is None and row.clustered.notes
    ]
    if lost:
        more = f" and {len(lost) - NAMED} more" if len(lost) > NAMED else ""
        yield f"Effects that cannot be estimated: {'; '.join(lost[:NAMED])}{more}."


def _share(result: Result | None) -> str:
    if result is None or result.ci_low is None:
        return f"{percent(None if result is None else result.estimate)} (no interval)"
    return f"{percent(result.estimate)} ({format_range(result.ci_low, result.ci_high)})"


_LABELS: Labels = {
    "n": ("Labels", "count"),
    "human": ("Human", "count"),
    "unsure": ("Unsure", "count"),
    "bot": ("Bot", "count"),
    "taken_for_human": ("Taken for human", "share"),
    "win_rate": ("Win rate, mean over opponents", "share"),
    "win_rate_pooled": ("Win rate, pooled", "share"),
    "wins": ("Wins", "count"),
    "losses": ("Losses", "count"),
    "p_clustered": ("p (clustered)", "p"),
    "ranks": ("Ranks, segments resampled", "text"),
    "cluster": ("Cluster", "count"),
    "ranks_workers": ("Ranks, workers resampled", "text"),
    "cluster_workers": ("Cluster, workers resampled", "count"),
    "k": ("Exchanges", "count"),
    "spotted": ("Spotted", "share"),
    "model_a": ("A", "text"),
    "model_b": ("B", "text"),
    "wins_a": ("A wins", "count"),
    "wins_b": ("B wins", "count"),
    "tie_share": ("Share of ties", "share"),
    "p_clustered_holm": ("p (clustered), Holm", "p"),
    "p_value": ("p (paper's χ²)", "p"),
    "p_holm": ("p (paper's χ²), Holm", "p"),
    "log_hazard_ratio": ("Log hazard ratio of B", "number"),
    "p_zhao_sun": ("p (Zhao & Sun, the paper's)", "p"),
    "p_zhao_sun_holm": ("p (Zhao & Sun), Holm", "p"),
    "p_permutation": ("p (permutation)", "p"),
    "p_permutation_holm": ("p (permutation), Holm", "p"),
    "feature": ("Feature", "text"),
    "effect": ("Effect (log hazard ratio)", "number"),
    "p_dialogue": ("p (by dialogue)", "p"),
    "left_out": ("Without", "text"),
    "dialogues": ("Dialogues of each pair", "count"),
    "stability": ("Most frequent ranking", "share"),
    "as_all": ("Ranking of all data", "share"),
    "kind": ("Dialogues", "text"),
    "median_seconds": ("Median time", "seconds"),
}
_MODELS = columns(
    "model wins losses ties win_rate ci_low ci_high win_rate_pooled win_rate_pooled_low win_rate_pooled_high p_clustered "
    "n human unsure bot taken_for_human ranks cluster ranks_workers cluster_workers",
    _LABELS,
)
_LENGTHS = columns(
    "model k n human unsure bot taken_for_human taken_for_human_low taken_for_human_high spotted spotted_low "
    "spotted_high",
    _LABELS,
)
_PAIRS = columns(
    "model_a model_b n wins_a wins_b ties tie_share win_rate_a ci_low ci_high lead_a lead_low lead_high score_a "
    "score_low score_high p_clustered p_clustered_holm p_value p_holm per_worker p_per_worker_holm",
    {**_LABELS, "n": ("Segments", "count"), "per_worker": ("Every worker once", "share")},
)
_TESTS = columns(
    "model_a model_b log_hazard_ratio ci_low ci_high p_clustered p_clustered_holm p_value p_holm p_zhao_sun "
    "p_zhao_sun_holm p_permutation p_permutation_holm per_worker p_per_worker_holm",
    {**_LABELS, "p_value": ("p (score test)", "p"), "p_holm": ("p (score test), Holm", "p")},
)
_FEATURES = columns(
    "model feature win_rate ci_low ci_high effect effect_low effect_high p_clustered p_clustered_holm p_dialogue "
    "p_value p_holm",
    {
        **_LABELS,
        "win_rate": ("Win rate", "share"),
        "p_value": ("p (the paper's)", "p"),
        "p_holm": ("p (the paper's), Holm", "p"),
    },
)
_STABILITY = columns("left_out dialogues stability as_all", _LABELS)
_SECONDS = columns("kind k n median_seconds", {**_LABELS, "k": ("Exchanges", "text"), "n": ("Segments", "count")})


def _tables(analysis: Analysis) -> Iterator[DataTable]:
    note = (
        "Win rate: of decided segments against each other bot, then the mean over these opponents (the paper's); pooled: of "
        "all decided segments at once. Both clustered by worker and dialogue, p of the mean against one half, not corrected."
    )
    speakers = [_with_ranks(row) for row in analysis.speakers]
    yield row_table("models", "Bots and people", _MODELS, speakers, (note,))
    yield _survival_table(analysis)
    yield row_table("lengths", "What each was taken for after k exchanges", _LENGTHS, _length_cells(analysis.by_length))
    yield _matrix_table(analysis)
    yield part_table(
        "pairs", "Pairs of bots", _PAIRS, analysis.pairs, to_cite([pair.line() for pair in analysis.pairs])
    )
    tests = [{**row.model_dump(), "model_a": row.models[0], "model_b": row.models[1]} for row in analysis.tests]
    note = "Above 0: B is spotted sooner. One step from 0: too small where the difference is large."
    yield row_table("tests", "Is one spotted sooner? All pairs of bots", _TESTS, tests, (note,))
    same = f" Found the same: {percent(analysis.same_features)} of answers."
    yield part_table(
        "features",
        "Features, and their effect on being spotted",
        _FEATURES,
        analysis.features,
        (f"Below 0: survives longer.{same if analysis.features else ''}",),
    )
    yield _labels_table(analysis)
    stability: list[dict[str, Cell]] = [
        {"left_out": row.left_out or "none", "dialogues": n, "stability": most, "as_all": same_as_all}
        for row in analysis.stability
        for n, most, same_as_all in zip(row.dialogues, row.stability, row.as_all, strict=True)
    ]
    yield row_table("stability", "Stability of the ranking", _STABILITY, stability)
    seconds: list[dict[str, Cell]] = [
        {**dict(row), "kind": (row.kind or "all").replace("_", "–"), "k": "any" if row.k is None else str(row.k)}
        for row in analysis.seconds
    ]
    yield row_table("seconds", "Time to judge a segment", _SECONDS, seconds)


def _with_ranks(row: SpeakerRow) -> dict[str, Cell]:
    cells: dict[str, Cell] = {**row.model_dump(), "taken_for_human": row.taken_for_human.result.estimate}
    for name, ends_with in (("ranks", ""), ("ranks_workers", "_workers")):
        low, high = cells.get(f"rank_low{ends_with}"), cells.get(f"rank_high{ends_with}")
        cells[name] = None if low is None else f"{low}–{high}"
    return cells


def _length_cells(rows: Sequence[LengthRow]) -> list[dict[str, Cell]]:
    def cells(name: str, result: Result) -> dict[str, Cell]:
        return {name: result.estimate, f"{name}_low": result.ci_low, f"{name}_high": result.ci_high}

    return [
        {
            **row.model_dump(),
            **cells("taken_for_human", row.taken_for_human.result),
            **cells("spotted", row.spotted.result),
        }
        for row in rows
    ]


def _survival_table(analysis: Analysis) -> DataTable:
    listed: list[tuple[str, str, CellKind]] = [("model", "Model", "text")]
    for k in analysis.lengths:
        listed += [(f"s{k}", f"S({k})", "share"), (f"s{k}_low", "low", "share"), (f"s{k}_high", "high", "share")]
    rows: list[dict[str, Cell]] = []
    for row in analysis.speakers:
        cells: dict[str, Cell] = {"model": row.model}
        for length, point in row.curve.items():
            cells |= {f"s{length}": point.estimate, f"s{length}_low": point.ci_low, f"s{length}_high": point.ci_high}
        rows.append(cells)
    title = "Share not spotted within k exchanges"
    return row_table("survival", title, tuple(listed), rows, ("Bands clustered by worker.",))


def _matrix_table(analysis: Analysis) -> DataTable:
    """The paper's Table 1."""
    names = _playing(analysis)
    listed: Columns = (("model", "Win rate of", "text"), *((f"against {name}", name, "share") for name in names))
    heat = matrix_of("matrix", "Win rate of row over column, ties left out", names, _win_rates(analysis))
    rows: list[dict[str, Cell]] = [
        {"model": name, **{f"against {other}": value for other, value in zip(names, values, strict=True)}}
        for name, values in zip(names, heat.values, strict=True)
    ]
    return row_table(heat.key, heat.title, listed, rows)


def _labels_table(analysis: Analysis) -> DataTable:
    """The paper's Table 3."""
    listed: list[tuple[str, str, CellKind]] = [("model", "Model", "text")]
    for label in LABELS:
        listed += [(label, label.capitalize(), "share"), (f"{label}_low", f"{label}, low", "share")]
        listed += [(f"{label}_high", f"{label}, high", "share"), (f"{label}_n", f"{label}, n", "count")]
    by_model: dict[str, dict[str, Cell]] = {}
    for row in analysis.labels:
        name, result = row.label, row.agreement
        cells = {name: result.estimate, f"{name}_low": result.ci_low, f"{name}_high": result.ci_high}
        by_model.setdefault(row.model, {"model": row.model}).update({**cells, f"{name}_n": row["either"]})
    title = "Pairs of raters who both gave the label, of those of whom one did"
    return row_table("labels", title, tuple(listed), list(by_model.values()))


def _playing(analysis: Analysis) -> list[str]:
    return [row.model for row in analysis.models if row.wins + row.losses + row.ties]


def _win_rates(analysis: Analysis) -> dict[tuple[str, str], float | None]:
    return {(pair.model_a, pair.model_b): pair.win_rate.estimate for pair in analysis.pairs}


def _survival(analysis: Analysis) -> Iterator[Figure]:
    curves = [_curve(row, "people" if row.model == HUMAN else row.model) for row in analysis.speakers]
    if curves:
        yield CurveFigure(
            key="survival",
            title="Share not taken for a bot within k exchanges",
            x_label="exchanges",
            y_label="share not spotted",
            curves=tuple(curves),
            share=True,
            step=True,
        )


def _curve(row: SpeakerRow, name: str) -> Curve:
    """Everybody passes before the first exchange; a little beyond the last length, so that its step and band show."""
    known = [(float(k), point) for k, point in row.curve.items() if point.estimate is not None]
    drawn = [point for _, point in [*known, *known[-1:]]]
    return Curve(
        name=name,
        x=(0.0, *(k for k, _ in known), *(k + BEYOND for k, _ in known[-1:])),
        y=(1.0, *(point.estimate or 0.0 for point in drawn)),
        low=(None, *(point.ci_low for point in drawn)),
        high=(None, *(point.ci_high for point in drawn)),
    )


def _ranks(analysis: Analysis) -> Iterator[Figure]:
    points = [
        IntervalPoint(label=row.model, estimate=row.rank, low=row.rank_low_workers, high=row.rank_high_workers)
        for row in analysis.models
        if row.rank is not None
    ]
    if points:
        yield IntervalFigure(
            key="ranks", title="Rank, workers resampled", x_label="rank (1 is best)", points=tuple(points)
        )


def _heats(analysis: Analysis) -> Iterator[Figure]:
    """Matrices of three bots or more: of two there is one number, which the table has."""
    names, playing = [row.model for row in analysis.models], _playing(analysis)
    if analysis.pairs and len(playing) > 2:
        yield matrix_of("win_rates", "Win rate of row over column", playing, _win_rates(analysis))
    wins = {(pair.model_a, pair.model_b): pair.win_rate.p_decides for pair in analysis.pairs}
    survival = {(test.models[0], test.models[1]): test.clustered.p_decides for test in analysis.tests}
    for key, title, models, p_values in (
        ("win_p", "Do win rates differ from one half? p, clustered, Holm", playing, wins),
        ("survival_p", "Is one spotted sooner? p, clustered, Holm", names, survival),
    ):
        if len(models) > 2 and any(p is not None for p in p_values.values()):
            yield p_matrix(key, title, models, p_values)


def _stability(analysis: Analysis) -> Iterator[Figure]:
    curves = [
        Curve(
            name=f"without {row.left_out}" if row.left_out else "all bots",
            x=tuple(float(n) for n in row.dialogues),
            y=tuple(row.stability),
        )
        for row in analysis.stability
        if len(row.dialogues) > 1
    ]
    if curves:
        yield CurveFigure(
            key="stability",
            title="Share of subsamples with the most frequent ranking",
            x_label="dialogues of each pair",
            y_label="stability",
            curves=tuple(curves),
            share=True,
        )


def _methods(section: SegmentsSection) -> Iterator[Method]:
    yield method("spot_the_bot", "win_rate", level=section.level)
    yield BY_WORKER
    if section.resamples:
        yield method(
            "spot_the_bot",
            "ranks_and_clusters",
            most_matches=MOST_MATCHES,
            resamples=section.resamples,
            seed=section.seed,
            level=section.level,
        )
    yield method("spot_the_bot", "survival", draws=section.draws, seed=section.seed)
    yield method("spot_the_bot", "comparison_of_survival", seed=section.seed)
    if section.features:
        yield method("spot_the_bot", "effect_of_features")
    parts = [section, *section.settings]
    yield from reuse_methods(row.taken_for_human.result for part in parts for row in part.speakers)
    yield from holm_methods(
        result
        for part in parts
        for results in (
            [pair.win_rate for pair in part.pairs],
            [test.clustered for test in part.tests],
            [row.clustered for row in part.features],
        )
        for result in results
    )
    if section.labels:
        yield method("spot_the_bot", "agreement_on_a_label")
    if section.stability:
        yield method("spot_the_bot", "stability", subsamples=section.subsamples, seed=section.seed)
