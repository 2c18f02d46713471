"""Rows and numbers of the section ``segments``: labels, contests of bots, survival, features, agreement, time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field

from parlai_humaneval._util.arrays import Ints
from parlai_humaneval.report.conclusions import WonPair, order_of_pairs
from parlai_humaneval.report.section import Options, Part
from parlai_humaneval.schema.records import HUMAN
from parlai_humaneval.statistics.core import rows as cells
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.core.multiplicity import Family, corrected_fields
from parlai_humaneval.statistics.core.ranks import rank_clusters, rank_range, rank_range_shortest
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.win_rates import paired_superiority
from parlai_humaneval.statistics.ranking.order import ModelOrder
from parlai_humaneval.statistics.raters.agreement import label_agreement, rating_counts
from parlai_humaneval.statistics.survival import spotting
from parlai_humaneval.statistics.survival.curve import cloglog_cox, survival_with_bands
from parlai_humaneval.statistics.survival.tests import (
    clustered_score_test,
    permutation_logrank_test,
    survival_score_test,
    zhao_sun_test,
)
from parlai_humaneval.tables.files import dialogue_ids
from parlai_humaneval.tables.filters import finished, median, unique
from parlai_humaneval.tables.schema import FEATURES, LABELS

_CLUSTERED = cells.p_columns(label="p (clustered)", holm="p (clustered), Holm")


class Share(cells.Row):
    """A share with its interval, clustered by rater, and by dialogue where several workers judged the same."""

    result: Annotated[Result, cells.Estimate(name="estimate", ends="ci")]


class LabelCount(cells.Row):
    """The labels of a speaker; ``taken_for_human`` and ``spotted``: shares of the labels human and bot."""

    n: Annotated[int, cells.Column("Labels")]
    human: cells.Count
    unsure: cells.Count
    bot: cells.Count
    taken_for_human: Annotated[
        Share, cells.Key(), cells.Column("Taken for human", "share", path="result.estimate", in_json=False)
    ]
    spotted: Share


class OfModel(cells.Row):
    """A row of a model, or of people."""

    model: cells.Name


class _OfLength(OfModel):
    k: Annotated[int, cells.Column("Exchanges")]


class LengthRow(LabelCount, _OfLength):
    """Labels in segments of ``k`` exchanges."""

    taken_for_human: Annotated[
        Share, cells.Key(), cells.Estimate("Taken for human", "share", path="result", in_json=False)
    ]
    spotted: Annotated[Share, cells.Key(), cells.Estimate("Spotted", "share", path="result", in_json=False)]


class SpeakerRow(LabelCount, OfModel):
    """Labels over all lengths, and the share not spotted within so many exchanges (``survival``) with its band."""

    curve: Annotated[dict[str, Result], cells.interval_keys("survival", "survival", path="*")]

    @property
    def not_spotted(self) -> float:
        """Share not spotted within the most exchanges that were shown."""
        return (list(self.curve.values())[-1].estimate or 0.0) if self.curve else 0.0


class _Record(OfModel):
    wins: Annotated[int | None, cells.Column()] = None
    losses: Annotated[int | None, cells.Column()] = None
    ties: Annotated[int | None, cells.Column()] = None
    tie_share: float | None = None
    win_rate: Annotated[Result | None, cells.Estimate("Win rate, mean over opponents", "share", ends="ci")] = None
    win_rate_pooled: Annotated[
        Result | None,
        cells.Estimate("Win rate, pooled", "share"),
        cells.Column("p (clustered)", "p", name="p_clustered", of="win_rate", path="p_value"),
        cells.Key(name="p_clustered_pooled", path="p_value"),
    ] = None


class SpottedModel(SpeakerRow, _Record):
    """A bot. ``win_rate``: the mean over its opponents of the rates of Eq. 1, as the paper ranks; ``win_rate_pooled``:
    all decided segments against other bots together, so that an opponent counts as often as they met. ``ties`` are left
    out of both; clustered by rater and dialogue, tested against one half.

    ``rank_low`` to ``rank_high`` and ``cluster`` (1: best) are the paper's: TrueSkill over resamples of segments, central
    range; ``rank_low_shortest`` and ``rank_high_shortest`` their shortest range. ``rank``, ``rank_low_workers``,
    ``rank_high_workers``, ``cluster_workers``: median, range and cluster over resamples of whole workers. All None for a
    bot that met no other.
    """

    rank_low: Annotated[
        int | None,
        cells.Column("Ranks, segments resampled", "text", name="ranks", of="ranks", in_json=False),
        cells.Key(),
    ] = None
    rank_high: int | None = None
    cluster: Annotated[int | None, cells.Column()] = None
    rank_low_shortest: int | None = None
    rank_high_shortest: int | None = None
    rank: int | None = None
    rank_low_workers: Annotated[
        int | None,
        cells.Column("Ranks, raters resampled", "text", name="ranks_workers", of="ranks_workers", in_json=False),
        cells.Key(),
    ] = None
    rank_high_workers: int | None = None
    cluster_workers: Annotated[int | None, cells.Column("Cluster, raters resampled")] = None

    @property
    def ranks(self) -> str | None:
        return None if self.rank_low is None else f"{self.rank_low}–{self.rank_high}"

    @property
    def ranks_workers(self) -> str | None:
        return None if self.rank_low_workers is None else f"{self.rank_low_workers}–{self.rank_high_workers}"


class _Met(cells.Row):
    model_a: str
    model_b: str
    n: Annotated[int, cells.Column("Segments")]
    wins_a: cells.Count
    wins_b: cells.Count
    ties: cells.Count
    tie_share: Annotated[float, cells.Column("Share of ties", "share")]


class SpottedPair(WonPair, _Met):
    """Two bots in segments in which they talk to each other. ``paper``: χ² of wins against losses.

    ``p_worker``: of the win rate by worker alone; None where that is ``p_clustered``.
    """

    n_dialogues: int
    n_workers: int
    method: Annotated[
        str,
        cells.Key(),
        cells.Key(name="statistic", of="paper", path="statistic"),
        cells.Key(name="p_worker", of="win_rate", path="details.p_by_worker"),
    ]
    notes: list[str]


class SurvivalTest(cells.Row):
    """Two bots: is one spotted sooner? ``score`` takes judgements for independent; ``clustered``: the same by worker, and
    by dialogue where several workers judged the same. Its estimate, a log hazard ratio, is above 0 where the second of
    ``models`` is spotted sooner; one step from 0, so too small where it is large. ``zhao_sun``: the paper's test;
    ``permutation``: Sun's."""

    models: Annotated[
        list[str],
        cells.Key(),
        cells.Column("A", "text", name="model_a", path="0", in_json=False),
        cells.Column("B", "text", name="model_b", path="1", in_json=False),
    ]
    clustered: Annotated[
        Result,
        cells.Estimate("Log hazard ratio of B", name="log_hazard_ratio", ends="ci"),
        _CLUSTERED,
        cells.FAMILY,
        cells.once_columns(),
    ]
    score: Annotated[
        Result,
        cells.p_columns(name="p_value", label="p (score test)", holm="p (score test), Holm"),
        cells.keys("name", "n", "method", "statistic"),
    ]
    zhao_sun: Annotated[
        Result,
        cells.p_columns(name="p_zhao_sun", label="p (Zhao & Sun, the paper's)", holm="p (Zhao & Sun), Holm"),
        cells.Key(name="statistic_zhao_sun", path="statistic"),
    ]
    permutation: Annotated[
        Result, cells.p_columns(name="p_permutation", label="p (permutation)", holm="p (permutation), Holm")
    ]
    notes: list[str]


class FeatureRow(cells.Row):
    """A feature of a bot: its win rate (against other bots, those found the same left out) and its effect.

    The estimate of ``clustered`` is the log hazard ratio of being spotted, of one step (worse → same → better), with the
    other features held; below 0: the better, the longer it survives. ``paper`` is the same with judgements taken for
    independent; ``p_dialogue`` is clustered by dialogue.
    """

    model: cells.Name
    feature: Annotated[str, cells.Column()]
    better: int
    worse: int
    same: int
    win_rate: Annotated[Result, cells.Estimate(kind="share", ends="ci")]
    clustered: Annotated[
        Result,
        cells.Estimate("Effect (log hazard ratio)", name="effect"),
        _CLUSTERED,
        cells.Column("p (by dialogue)", "p", name="p_dialogue", path="details.p_dialogue"),
        cells.FAMILY,
        cells.once_keys(),
        cells.keys("n", "notes", hazard_ratio="details.hazard_ratio"),
    ]
    paper: Annotated[Result, cells.p_columns(name="p_value", label="p (the paper's)", holm="p (the paper's), Holm")]


class LabelRow(cells.Row):
    """Pairs of raters of the same speaker of whom ``either`` gave the label, and ``both`` did; clustered by dialogue."""

    model: str
    label: str
    agreement: Annotated[
        Result, cells.interval_keys("share", "ci"), cells.keys(both="details.both", either="details.either")
    ]


class StabilityPoint(cells.Row):
    """A line of the table of :class:`StabilityCurve`."""

    left_out: Annotated[str, cells.Column("Without")]
    dialogues: Annotated[int, cells.Column("Dialogues of each pair")]
    stability: Annotated[float, cells.Column("Most frequent ranking", "share")]
    as_all: Annotated[float, cells.Column("Ranking of all data", "share")]


class SecondsRow(cells.Row):
    """Median time to judge a segment, of ``kind`` of dialogue and of ``k`` exchanges; None: of any."""

    kind: Annotated[str | None, cells.Key(), cells.Column("Dialogues", "text", of="kinds", in_json=False)]
    k: Annotated[int | None, cells.Key(), cells.Column("Exchanges", "text", of="exchanges", in_json=False)]
    n: Annotated[int, cells.Column("Segments")]
    median_seconds: Annotated[float, cells.Column("Median time", "seconds")]

    @property
    def kinds(self) -> str:
        return (self.kind or "all").replace("_", "–")

    @property
    def exchanges(self) -> str:
        return "any" if self.k is None else str(self.k)


CHI2 = "χ² of wins against losses (the paper's)"
ALL_TIES = "all segments are ties: nothing distinguishes the two"
SUBSAMPLES = 500
"""The most subsamples for stability."""
KINDS = ("bot_bot", "self_chat", "human_bot", "human_human")
WINS, SPOTTED_SOONER, EFFECTS = "the bot with the better label", "the bot that is spotted sooner", "effects of features"
"""Questions of which the tests are one family each."""


class Analysis(Part):
    """The analysis of some judged segments. ``models``: bots only, best first; ``humans``: people, if shown.

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
    models: list[SpottedModel]
    humans: SpeakerRow | None
    by_length: list[LengthRow]
    pairs: list[SpottedPair]
    tests: list[SurvivalTest]
    features: list[FeatureRow]
    same_features: float | None
    labels: list[LabelRow]
    stability: list[spotting.StabilityCurve]
    seconds: list[SecondsRow]
    resamples: int
    order: ModelOrder | None = Field(default=None, exclude=True)

    @property
    def speakers(self) -> list[SpeakerRow]:
        """Bots, best first, then people."""
        return [*self.models, *([] if self.humans is None else [self.humans])]

    @property
    def playing(self) -> list[str]:
        """Bots that met others."""
        return [row.model for row in self.models if row.wins or row.losses or row.ties]

    @property
    def win_rates(self) -> dict[tuple[str, str], float | None]:
        """For each two bots, the win rate of the first."""
        return {(pair.model_a, pair.model_b): pair.win_rate.estimate for pair in self.pairs}


def analyse(rows: pd.DataFrame, options: Options) -> Analysis:
    """The analysis of all rows that count; ``rows`` may hold unfinished ones, which are counted."""
    labelled = rows[finished(rows)]
    contests = spotting.bot_contests(spotting.spot_the_bot_segments(labelled))
    people = labelled[(labelled["model"] == HUMAN).to_numpy(dtype=bool)]
    segments = labelled.drop_duplicates(list(spotting.SEGMENT))
    technique, setting, metric = (" and ".join(unique(labelled[name])) for name in ("technique", "setting", "metric"))
    family = Family(technique, setting, metric)
    bots = [model for model in unique(labelled["model"]) if model != HUMAN]
    of_bots = [(labelled[(labelled["model"] == bot).to_numpy(dtype=bool)], bot) for bot in bots]
    models, resamples = _model_rows(of_bots, contests, options)
    won = spotting.contest_wins(contests, family._replace(question=WINS), level=options.level)
    pairs = [_pair(pair, options.level) for pair in won]
    order = order_of_pairs({row.model: row.win_rate.estimate for row in models if row.win_rate is not None}, pairs)
    if order is not None and len(order.groups) > 1:  # else the shares of the paper order them
        models.sort(key=lambda row: order.names.index(row.model) if row.model in order.names else len(order.names))
    playing = sorted({*contests["model_a"], *contests["model_b"]})
    features = [row for of_bot in of_bots for row in _features(*of_bot, options)]
    features = corrected_fields(features, family._replace(question=EFFECTS), "clustered", "paper")
    answers, subsamples = sum(row.better + row.worse + row.same for row in features), min(options.draws, SUBSAMPLES)
    return Analysis(
        technique=technique,
        setting=setting,
        metric=metric,
        n_segments=len(segments),
        n_dialogues=int(dialogue_ids(labelled).nunique()),
        n_workers=int(labelled["worker_id"].nunique()),
        unfinished=len(rows.drop_duplicates(list(spotting.SEGMENT))) - len(segments),
        lengths=sorted(int(k) for k in labelled["k"].unique()),
        models=models,
        humans=_speaker(people, HUMAN, options) if len(people) else None,
        by_length=[
            LengthRow(model=str(model), k=int(str(k)), **dict(_label_count(of_length, str(model), options.level)))
            for (model, k), of_length in labelled.groupby(["model", "k"], sort=True)
        ],
        pairs=pairs,
        tests=_survival_tests(labelled, family, options),
        features=features,
        same_features=sum(row.same for row in features) / answers if answers else None,
        labels=_label_rows(labelled, options),
        stability=spotting.ranking_stability(contests, playing, draws=subsamples, seed=options.seed),
        seconds=_seconds_rows(labelled),
        resamples=resamples,
        order=order,
    )


def _label_count(rows: pd.DataFrame, model: str, level: float) -> LabelCount:
    labels, ones = rows["label"].to_numpy(dtype=object), np.ones(len(rows))
    taken, spotted = (
        Share(result=spotting.contest_share(labels == name, ones, rows, name=f"{model} taken for {name}", level=level))
        for name in ("human", "bot")
    )
    counts = {label: int((labels == label).sum()) for label in LABELS}
    return LabelCount(n=len(rows), **counts, taken_for_human=taken, spotted=spotted)


def _speaker(rows: pd.DataFrame, model: str, options: Options) -> SpeakerRow:
    spotted, workers = (rows["label"] == "bot").to_numpy(dtype=bool), rows["worker_id"].to_numpy(dtype=object)
    points = survival_with_bands(rows["k"].to_numpy(dtype=float), spotted, workers, **options.bootstrap)
    curve = {str(point.details["k"]): point for point in points}
    return SpeakerRow(model=model, **dict(_label_count(rows, model, options.level)), curve=curve)


def _model_rows(
    of_bots: Sequence[tuple[pd.DataFrame, str]], contests: pd.DataFrame, options: Options
) -> tuple[list[SpottedModel], int]:
    """The bots, best first, and the number of resamples of their ranks."""
    models = [_with_record(_speaker(rows, bot, options), contests, options) for rows, bot in of_bots]
    playing = sorted({*contests["model_a"], *contests["model_b"]})
    drawn = {"draws": options.draws, "seed": options.seed}
    by_segment = spotting.bootstrap_ranks(contests, playing, unit="segment", **drawn)
    by_worker: Ints = np.zeros((0, len(playing)), dtype=np.int64)
    if contests["worker_id"].nunique() >= MIN_CLUSTERS:
        by_worker = spotting.bootstrap_ranks(contests, playing, unit="worker", **drawn)
    of_paper, of_workers = (_places(ranks, playing, options.level) for ranks in (by_segment, by_worker))
    for row in models:
        if row.model in of_paper:
            row.rank_low, row.rank_high, row.cluster = of_paper[row.model]
            shortest = rank_range_shortest(by_segment[:, playing.index(row.model)], options.level)
            row.rank_low_shortest, row.rank_high_shortest = shortest or (None, None)
        if row.model in of_workers:
            row.rank_low_workers, row.rank_high_workers, row.cluster_workers = of_workers[row.model]
            row.rank = int(np.floor(np.median(by_worker[:, playing.index(row.model)])))

    def place(row: SpottedModel) -> tuple[float, float, float, str]:
        rate = 0.0 if row.win_rate is None else row.win_rate.estimate or 0.0
        return row.cluster or np.inf, -rate, -row.not_spotted, row.model

    return sorted(models, key=place), len(by_segment)


def _with_record(speaker: SpeakerRow, contests: pd.DataFrame, options: Options) -> SpottedModel:
    is_a, is_b = ((contests[name] == speaker.model).to_numpy(dtype=bool) for name in ("model_a", "model_b"))
    met = contests[is_a | is_b]
    lead = np.where(is_a, 1, -1)[is_a | is_b] * met["lead_a"].to_numpy(dtype=np.int64)
    wins, losses, ties = (int((lead == sign).sum()) for sign in (1, -1, 0))
    record: dict[str, Any] = {"wins": wins, "losses": losses, "ties": ties}
    if len(met):
        name, decided = f"win rate of {speaker.model}", (lead != 0).astype(float)
        weights = spotting.equal_weights(np.where(is_a, contests["model_b"], contests["model_a"])[is_a | is_b], decided)
        for field, of, among in (("win_rate", "mean over opponents", weights), ("win_rate_pooled", "pooled", decided)):
            share = spotting.contest_share(among * (lead > 0), among, met, name=f"{name}, {of}", level=options.level)
            record |= {field: share, "tie_share": ties / len(met)}
    return SpottedModel.of(speaker, record)


def _places(ranks: Ints, playing: list[str], level: float) -> dict[str, tuple[int, int, int]]:
    """Model → range and cluster; none without resamples."""
    ranges = {
        model: places
        for model, of_model in zip(playing, ranks.T, strict=True)
        if (places := rank_range(of_model, level)) is not None
    }
    clusters = rank_clusters(ranges)
    return {model: (*ranges[model], place) for place, members in enumerate(clusters, start=1) for model in members}


def _pair(pair: spotting.ContestWins, level: float) -> SpottedPair:
    rows, rate = pair.rows, pair.win_rate
    ties = len(rows) - pair.wins - pair.losses
    lead, dialogues = rows["lead_a"].to_numpy(dtype=np.int64), [rows["dialogue_id"].to_numpy(dtype=object)]
    return SpottedPair.of(
        pair,
        n=len(rows),
        n_dialogues=int(rows["dialogue_id"].nunique()),
        n_workers=int(rows["worker_id"].nunique()),
        wins_a=pair.wins,
        wins_b=pair.losses,
        ties=ties,
        tie_share=ties / len(rows),
        score=paired_superiority(lead, rows["worker_id"], dialogues=dialogues, level=level),
        method=f"{CHI2}; of the win rate {rate.method}",
        notes=[ALL_TIES] if ties == len(rows) else list(rate.notes),
    )


def _survival_tests(rows: pd.DataFrame, family: Family, options: Options) -> list[SurvivalTest]:
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
        by_both = clustered_score_test(*seen, workers[both], name=name, level=options.level, dialogues=dialogues[both])
        test = SurvivalTest(
            models=[a, b],
            score=score,
            clustered=by_both,
            zhao_sun=zhao_sun_test(*seen, seed=options.seed, name=name),
            permutation=permutation_logrank_test(*seen, name=name),
            notes=list(dict.fromkeys([*score.notes, *by_both.notes])),
        )
        tests.append(test)
    family = family._replace(question=SPOTTED_SOONER)
    return corrected_fields(tests, family, "score", "clustered", "zhao_sun", "permutation")


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
            win_rate=spotting.contest_share(
                sign > 0, sign != 0, compared, name=f"{model} more {feature}", level=options.level
            ),
            clustered=effect.but(p_value=effect.details.get("p_worker")),
            paper=effect.but(p_value=effect.details.get("p_independent")),
        )


def _label_rows(rows: pd.DataFrame, options: Options) -> list[LabelRow]:
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


def _seconds_rows(rows: pd.DataFrame) -> list[SecondsRow]:
    """Median time of a judged segment: of all, of each kind of dialogue, and of each length; known times only."""
    segments = rows.drop_duplicates(list(spotting.SEGMENT))
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
