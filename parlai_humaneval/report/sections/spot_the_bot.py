"""Section ``segments``: which bots pass for a person, how long, and why (Spot The Bot, Deriu et al. 2020, §3 to §5)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import starmap
from typing import Any, ClassVar

from pydantic import Field

from parlai_humaneval.report import conclusions, views
from parlai_humaneval.report.section import ModelLine, OfDecided, Options, Section, Summary, say, told
from parlai_humaneval.report.sections import spot_numbers
from parlai_humaneval.schema.records import HUMAN
from parlai_humaneval.statistics.core.clustered import MIN_CLUSTERS, too_few_clusters
from parlai_humaneval.statistics.core.formatting import counted, percent
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Columns, row_table
from parlai_humaneval.statistics.ranking.order import EQUAL, not_compared
from parlai_humaneval.statistics.survival.spotting import MOST_MATCHES
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import finished
from parlai_humaneval.tables.schema import LABELS

NAMED = 4
"""The most disagreements or failures of one kind to name."""
BEYOND = 0.5
"""Exchanges by which a curve goes on after the last length."""


class SettingAnalysis(spot_numbers.Analysis):
    """One setting (domain) by itself."""

    headline: str = ""
    remarks: list[str] = Field(default_factory=list)


class SegmentsSection(spot_numbers.Analysis, Section):
    """How often and how long bots pass for a person, and why; ``settings``: one part each, if there are several."""

    TITLE: ClassVar[str] = "Spot The Bot: who passes for a person"

    settings: list[SettingAnalysis] = Field(default_factory=list)
    seed: int
    draws: int
    subsamples: int
    level: float

    def _parts(self) -> Iterator[tuple[SegmentsSection | SettingAnalysis, str, str]]:
        yield self, "", f", {len(self.settings)} settings pooled" if self.settings else ""
        taken: set[str] = set()
        for place, part in enumerate(self.settings, start=1):
            key = re.sub(r"\W+", "_", part.setting).strip("_").lower() or str(place)
            key = f"{key}_{place}" if key in taken else key
            taken.add(key)
            yield part, f"_{key}", f", {part.setting}"

    def summary(self) -> list[Summary]:
        """Answers over all segments, then for each setting if there are several."""
        return [_summary(part, key) for part, key, _ in self._parts()]

    def data_tables(self) -> list[views.DataTable]:
        return [
            table.model_copy(update={"key": f"{table.key}{key}", "title": f"{table.title}{title}"})
            for part, key, title in self._parts()
            for table in views.shown(*_tables(part, self.of_decided))
        ]

    def figures(self) -> list[views.Figure]:
        return [
            figure.model_copy(update={"key": f"{figure.key}{key}", "title": f"{figure.title}{title}"})
            for part, key, title in self._parts()
            for figure in _figures(part)
        ]

    def methods(self) -> list[views.Method]:
        values = {name: getattr(self, name) for name in ("level", "seed", "draws", "resamples", "subsamples")}
        values["most_matches"] = MOST_MATCHES
        parts = [self, *self.settings]
        wins = [pair.win_rate for part in parts for pair in part.pairs]
        sooner = [test.clustered for part in parts for test in part.tests]
        effects = [row.clustered for part in parts for row in part.features]

        def how(**names: object) -> Iterator[views.Method]:
            yield from (views.method("spot_the_bot", name, **values) for name, applies in names.items() if applies)

        return [
            *how(win_rate=True),
            conclusions.BY_WORKER,
            *how(ranks_and_clusters=self.resamples, survival=True, comparison_of_survival=True),
            *how(effect_of_features=self.features),
            *conclusions.reuse_methods(row.taken_for_human.result for part in parts for row in part.speakers),
            *conclusions.holm_methods([*wins, *sooner, *effects]),
            *how(agreement_on_a_label=self.labels, stability=self.stability),
        ]


def build(tables: Tables, options: Options) -> SegmentsSection | None:
    """The section on ``segments``; None if nobody finished judging one.

    With several settings, the numbers of the section pool them, and each setting is analysed by itself besides. Raises
    TableError: the two speakers of a segment contradict each other; ValueError: a length k below 1.
    """
    rows = tables.segments.assign(setting=tables.segments["setting"].fillna(""))
    if not finished(rows).any():
        return None
    whole, settings = spot_numbers.analyse(rows, options), []
    names = sorted(rows.loc[finished(rows), "setting"].unique())
    for name in names if len(names) > 1 else ():
        part = spot_numbers.analyse(rows[(rows["setting"] == name).to_numpy(dtype=bool)], options)
        settings.append(SettingAnalysis(**{**dict(part), "setting": name or "no setting"}, **_told(part)))
    words = _told(whole)
    pooled = say("segments", "pooled", settings=[part.setting for part in settings]) if settings else []
    return SegmentsSection(
        **dict(whole),
        headline=words["headline"],
        remarks=[*pooled, *words["remarks"]],
        settings=settings,
        seed=options.seed,
        draws=options.draws,
        subsamples=min(options.draws, spot_numbers.SUBSAMPLES),
        level=options.level,
    )


def _summary(analysis: SegmentsSection | SettingAnalysis, key: str) -> Summary:
    ranked = [(row, row.win_rate) for row in analysis.models if row.win_rate is not None]
    lines = [ModelLine.of(row.model, rate, "decided segments", share=True) for row, rate in ranked]
    pairs, order = [pair.line() for pair in analysis.pairs], analysis.order
    taken = [ModelLine.of(row.model, row.taken_for_human.result, "labels", share=True) for row in analysis.speakers]
    question = spot_numbers.WINS if lines else "who is taken for a person"
    return Summary(
        section="segments",
        **Family(analysis.technique, analysis.setting, analysis.metric, question)._asdict(),
        what="win rate, mean over the other bots, ties left out" if lines else "taken for a person",
        verdict=analysis.headline,
        models=lines or taken,
        pairs=pairs,
        reference=0.5 if lines else None,
        model_table=f"segments_models{key}",
        pair_table=f"segments_pairs{key}" if analysis.pairs else "",
        remarks=analysis.remarks,
        best=None if order is None else conclusions.best_of_pairs(dict.fromkeys(order.names), pairs, order),
    )


def _told(a: spot_numbers.Analysis) -> dict[str, Any]:
    ranked = [row for row in a.models if row.win_rate is not None and row.win_rate.estimate is not None]
    first = [] if a.order is None else a.order.first([row.model for row in ranked])
    playing = {name for pair in a.pairs for name in (pair.model_a, pair.model_b)}
    longest = max((row.not_spotted for row in a.models), default=0.0)
    tests = (
        ((f"Wins of {pair.names()}", pair.paper, pair.win_rate) for pair in a.pairs),
        ((f"Survival of {' and '.join(test.models)}", test.score, test.clustered) for test in a.tests),
        ((f"Effect of {row.feature} on how long {row.model} passes", row.paper, row.clustered) for row in a.features),
    )
    wins = [pair.win_rate for pair in a.pairs]
    return told(
        "segments",
        a=a,
        ranked=ranked,
        first=first,
        apart=[] if a.order is None else a.order.unordered(first),
        alike=[row.model for row in a.models if abs(row.not_spotted - longest) <= EQUAL],
        by_segment=_clusters(a.models, "cluster"),
        by_worker=_clusters(a.models, "cluster_workers"),
        unmet=len(playing) * (len(playing) - 1) // 2 - len(a.pairs),
        about_tests=[
            *([f"{counted(a.n_workers, 'rater')}: {too_few_clusters()}."] if a.n_workers < MIN_CLUSTERS else []),
            *conclusions.rough_guides(wins),
            *conclusions.counted_once(wins),
            *conclusions.counted_once(test.clustered for test in a.tests),
            *conclusions.about_dialogues(wins),
        ],
        disagreeing=[list(filter(None, starmap(conclusions.results_disagree, kind))) for kind in tests],
        named=NAMED,
        clusters_words=conclusions.clusters_words,
        not_compared=not_compared,
        pair_p=conclusions.pair_p,
    )


def _clusters(models: Sequence[spot_numbers.SpottedModel], name: str) -> list[list[str]]:
    numbers = sorted({row[name] for row in models} - {None})
    return [[row.model for row in models if row[name] == number] for number in numbers]


def _tables(a: spot_numbers.Analysis, decided: OfDecided) -> Iterator[views.DataTable]:
    speakers = [*a.models, *([] if a.humans is None else [spot_numbers.SpottedModel(**dict(a.humans))])]
    yield views.table("segments_models", speakers)
    curves: list[dict[str, views.Cell]] = [
        {"model": row.model, **_cells({f"s{length}": point for length, point in row.curve.items()})}
        for row in a.speakers
    ]
    shares = [column for k in a.lengths for column in _ends(f"s{k}", f"S({k})", "low", "high")]
    title = "Share not spotted within k exchanges"
    yield row_table("segments_survival", title, (_MODEL, *shares), curves, ("Bands clustered by rater.",))
    yield views.table("segments_lengths", a.by_length)
    # The paper's Table 1.
    names = a.playing
    heat = conclusions.matrix_of("matrix", "Win rate of row over column, ties left out", names, a.win_rates)
    against: list[dict[str, views.Cell]] = [
        {"model": name, **{f"against {other}": value for other, value in zip(names, values, strict=True)}}
        for name, values in zip(names, heat.values, strict=True)
    ]
    shown: Columns = (("model", "Win rate of", "text"), *((f"against {name}", name, "share") for name in names))
    yield row_table("segments_matrix", heat.title, shown, against)
    cited = conclusions.to_cite([pair.line() for pair in a.pairs], decided)
    yield views.table("segments_pairs", a.pairs, *cited)
    yield views.table("segments_tests", a.tests)
    note = f"Below 0: survives longer. In {percent(a.same_features)} of answers, both speakers were rated the same."
    yield views.table("segments_features", a.features, note)
    # The paper's Table 3.
    agreed: dict[str, dict[str, views.Cell]] = {}
    for row in a.labels:
        cells = {**_cells({row.label: row.agreement}), f"{row.label}_n": row["either"]}
        agreed.setdefault(row.model, {"model": row.model}).update(cells)
    columns = [
        column
        for label in LABELS
        for column in (
            *_ends(label, label.capitalize(), f"{label}, low", f"{label}, high"),
            (f"{label}_n", f"{label}, n", "count"),
        )
    ]
    title = "Pairs of raters who both gave the label, as a share of pairs in which at least one did"
    yield row_table("segments_labels", title, (_MODEL, *columns), list(agreed.values()))
    points = [
        spot_numbers.StabilityPoint(left_out=row.left_out or "none", dialogues=n, stability=most, as_all=same_as_all)
        for row in a.stability
        for n, most, same_as_all in zip(row.dialogues, row.stability, row.as_all, strict=True)
    ]
    yield views.table("segments_stability", points)
    yield views.table("segments_seconds", a.seconds)


_MODEL: tuple[str, str, views.CellKind] = ("model", "Model", "text")


def _ends(name: str, label: str, low: str, high: str) -> Columns:
    return (name, label, "share"), (f"{name}_low", low, "share"), (f"{name}_high", high, "share")


def _cells(results: Mapping[str, Result]) -> dict[str, views.Cell]:
    return {
        f"{name}{end}": value
        for name, result in results.items()
        for end, value in (("", result.estimate), ("_low", result.ci_low), ("_high", result.ci_high))
    }


def _figures(a: spot_numbers.Analysis) -> Iterator[views.Figure]:
    survive = (_curve(row, "people" if row.model == HUMAN else row.model) for row in a.speakers)
    yield from views.curve_figures(**views.look("segments_survival"), curves=survive)
    ranks = [
        views.IntervalPoint(label=row.model, estimate=row.rank, low=row.rank_low_workers, high=row.rank_high_workers)
        for row in a.models
        if row.rank is not None
    ]
    if ranks:
        yield views.IntervalFigure(**views.look("segments_ranks"), points=tuple(ranks))
    # Matrices of three bots or more: of two there is one number, which the table has.
    names, playing = [row.model for row in a.models], a.playing
    if a.pairs and len(playing) > 2:
        yield conclusions.matrix_of(**views.look("segments_win_rates"), models=playing, win_rates=a.win_rates)
    wins = {(pair.model_a, pair.model_b): pair.win_rate.p_decides for pair in a.pairs}
    survival = {(test.models[0], test.models[1]): test.clustered.p_decides for test in a.tests}
    for of, models, p_values in (("win_p", playing, wins), ("survival_p", names, survival)):
        if len(models) > 2 and any(p is not None for p in p_values.values()):
            yield views.p_matrix(**views.look(f"segments_{of}"), names=models, p_of_pairs=p_values)
    of_subsamples = (
        views.Curve(name=f"without {one.left_out}" if one.left_out else "all bots", x=one.dialogues, y=one.stability)
        for one in a.stability
        if len(one.dialogues) > 1
    )
    yield from views.curve_figures(**views.look("segments_stability"), curves=of_subsamples)


def _curve(row: spot_numbers.SpeakerRow, name: str) -> views.Curve:
    """Everybody passes before the first exchange; a little beyond the last length, so that its step and band show."""
    known = [(float(k), point) for k, point in row.curve.items() if point.estimate is not None]
    drawn = [point for _, point in [*known, *known[-1:]]]
    return views.Curve(
        name=name,
        x=(0.0, *(k for k, _ in known), *(k + BEYOND for k, _ in known[-1:])),
        y=(1.0, *(point.estimate or 0.0 for point in drawn)),
        low=(None, *(point.ci_low for point in drawn)),
        high=(None, *(point.ci_high for point in drawn)),
    )
