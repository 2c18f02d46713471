"""Section ``design``: how alike answers of one worker are, and which gaps between models the data could show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Objects
from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published
from parlai_humaneval.report.section import Options, Section
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    IntervalFigure,
    IntervalPoint,
    Method,
    interval_figures,
    method,
)
from parlai_humaneval.statistics.core.clustered import FEW_CLUSTERS, MIN_CLUSTERS
from parlai_humaneval.statistics.core.clustering_effects import (
    design_effect,
    detectable_gap,
    effective_number,
    intraclass_correlation,
    power_of_gaps,
)
from parlai_humaneval.statistics.core.formatting import counted, points_words, signed, signed_range
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import by_both
from parlai_humaneval.statistics.ratings.correlations import (
    LEAST_ICC,
    Alike,
    GapData,
    Measure,
    Source,
    Unit,
    measures_of,
    planning_dialogue_icc,
    planning_icc,
)
from parlai_humaneval.tables.build import Tables

Score = float | None
POWER = 0.8


class MeasureRow(Row):
    """One question of the study.

    ``variance_ratio``: of the gap between two models, clustered by worker (and by dialogue, where several workers judged
    the same), by that of independent answers: what likeness costs a comparison, or (below 1) what it gains.
    ``icc_for_planning``, with its interval: of workers, with it a plan's design effect is about that ratio; of the
    judgements that a plan counts, so that ties are among them. ``dialogue_icc_for_planning``: the same of dialogues that
    several workers judged. These, ``judged_both``, the share of workers who judged both models, and
    ``effective_workers``, (Σn)²/Σn² of the workers of a pair, are medians over pairs.

    ``n`` answers, ``per_worker`` and ``per_dialogue`` of them to a worker and dialogue (Σn²/Σn). ``icc_worker``,
    ``icc_dialogue``: how alike those of one are; can be negative. Where models are judged one at a time (``levels``) that
    is about levels, of which a comparison within workers is free. ``design_effect``, ``effective_n``: of the mean level,
    by worker; ``effective_n`` is not above ``n``. ``detectable_gap``: between two models, the median over pairs, clustered
    by worker, found with power .8 at two-sided .05; ``_largest``: of the pair with the least data; ``_independent``: if all
    answers were independent. ``unit``: of gaps. ``sentence``: the same in words. ``group``: the models that stood side by
    side, where a question was asked of several groups of models; else "".
    """

    FROM = published(ends("by_worker", "icc_worker", "icc_worker"), icc_dialogue="by_dialogue.estimate")

    source: Source
    technique: str
    setting: str
    metric: str
    group: str
    unit: Unit
    n: int
    n_workers: int
    n_dialogues: int
    per_worker: Score
    per_dialogue: Score
    by_worker: Result
    by_dialogue: Result
    design_effect: Score
    design_effect_dialogue: Score
    effective_n: Score
    levels: bool
    variance_ratio: Score
    icc_for_planning: Score
    icc_for_planning_low: Score
    icc_for_planning_high: Score
    dialogue_icc_for_planning: Score
    dialogue_icc_for_planning_low: Score
    dialogue_icc_for_planning_high: Score
    effective_workers: Score
    judged_both: Score
    detectable_gap: Score
    detectable_gap_largest: Score
    detectable_gap_independent: Score
    sentence: str


class GapRow(Row):
    """Model A against B: the gap seen, its standard errors, and the smallest gap that such data would show.

    ``clustered``: the mean gap, tested against 0 by worker (by worker and dialogue, where several workers judged the same
    dialogues), with its standard error.
    ``variance_ratio``: the variance of the gap, so clustered, by that of independent answers: the design effect
    that the test really meets. Below 1 where workers judge both models and differ in level. ``per_worker``: answers of a
    worker to the pair, or to each model judged by itself; with ``icc_for_planning`` they give about that ratio.
    ``effective_workers``: (Σn)²/Σn². ``icc_for_planning``, ``dialogue_icc_for_planning``: as in the measure's row.
    """

    FROM = published(
        ends("icc", "icc_for_planning", "icc_for_planning"),
        ends("dialogue_icc", "dialogue_icc_for_planning", "dialogue_icc_for_planning"),
        gap="clustered.estimate",
        n="clustered.n",
        standard_error="clustered.details.standard_error",
    )

    source: Source
    technique: str
    setting: str
    metric: str
    unit: Unit
    model_a: str
    model_b: str
    clustered: Result
    n_workers: int
    standard_error_independent: Score
    variance_ratio: Score
    per_worker: Score
    effective_workers: float
    judged_both: float
    icc: Result | None
    dialogue_icc: Result | None
    detectable_gap: Score
    detectable_gap_independent: Score

    @property
    def standard_error(self) -> Score:
        """Of the gap, clustered; None where it cannot be estimated."""
        return _detail(self.clustered, "standard_error")

    @property
    def df(self) -> float:
        """Of the test: effective workers − 1, or of dialogues, where several workers judged them and these are fewer."""
        df = _detail(self.clustered, "df")
        return self.effective_workers - 1 if df is None else df


def _name_of(row: MeasureRow | GapRow) -> str:
    """“preference (sata, sata_user)”; of one of several groups of models also “(…, eliza – retrieval)”."""
    group = row.group if isinstance(row, MeasureRow) else ""
    where = ", ".join(text for text in (row.technique, row.setting, group) if text)
    return f"{row.metric} ({where})" if where else row.metric


_LABELS: Labels = {
    "metric": ("Measure", "text"),
    "group": ("Models", "text"),
    "n": ("Answers", "count"),
    "variance_ratio": ("Ratio of variances", "number"),
    "icc_for_planning": ("ICC for plan", "number"),
    "icc_for_planning_low": ("from", "number"),
    "icc_for_planning_high": ("to", "number"),
    "dialogue_icc_for_planning": ("ICC of dialogues for plan", "number"),
    "dialogue_icc_for_planning_high": ("at most", "number"),
    "effective_workers": ("Effective workers", "number"),
    "unit": ("Unit of gaps", "text"),
    "detectable_gap": ("Detectable gap", "number"),
    "detectable_gap_largest": ("Gap of the least sure pair", "number"),
    "detectable_gap_independent": ("Gap if independent", "number"),
    "per_worker": ("Answers a worker (Σn²/Σn)", "number"),
    "icc_worker": ("ICC, worker", "number"),
    "icc_dialogue": ("ICC, dialogue", "number"),
    "design_effect": ("Design effect of the mean", "number"),
    "effective_n": ("Effective answers", "count"),
    "model_a": ("A", "text"),
    "model_b": ("B", "text"),
    "gap": ("Gap seen (A − B)", "number"),
    "standard_error": ("Standard error", "number"),
    "standard_error_independent": ("if independent", "number"),
}
_MEASURE = columns(
    "source technique setting metric group n n_workers effective_workers variance_ratio icc_for_planning "
    "icc_for_planning_low icc_for_planning_high dialogue_icc_for_planning dialogue_icc_for_planning_high unit "
    "detectable_gap detectable_gap_largest detectable_gap_independent",
    _LABELS,
)
_LIKENESS = columns(
    "source technique setting metric group n_dialogues per_worker icc_worker icc_worker_low icc_worker_high icc_dialogue "
    "design_effect effective_n",
    _LABELS,
)
_MEASURE_NOTES = (
    "Ratio of variances: of the gap between two models, clustered by worker (and by dialogue, where several workers judged "
    "the same), by that of independent answers. Above 1 a "
    "comparison loses by likeness, below 1 it gains, as workers who judge both models carry their level into both.",
    "ICC for plan: the one with which a plan has about that ratio as its design effect, of the judgements that a plan "
    "counts, ties among them (parlai-humaneval plan --icc; plan --pilot reads it from the tables). Below 0 take 0.001: no "
    "gain should be counted on. Labels of one speaker have none: Spot The Bot is planned for the better label of two.",
    "ICC of dialogues for plan: of comparisons that share a dialogue (plan --dialogue-icc). Effective workers: (Σn)²/Σn², "
    "as many workers with equally many answers would say as much.",
)
_LIKENESS_NOTES = (
    "Of models judged one at a time these are about levels: what a mean of one model loses, not a comparison of two.",
)
_GAP = columns(
    "source technique setting metric model_a model_b n n_workers effective_workers unit gap standard_error "
    "standard_error_independent variance_ratio icc_for_planning detectable_gap detectable_gap_independent",
    {**_LABELS, "unit": ("Unit", "text"), "detectable_gap_independent": ("if independent", "number")},
)


class Design(Section):
    """How alike answers of one worker and of one dialogue are, and which gaps the data could show."""

    TITLE: ClassVar[str] = "What these data could show"

    measures: list[MeasureRow]
    pairs: list[GapRow]
    power: float = POWER
    alpha: float = 0.05

    def data_tables(self) -> list[DataTable]:
        gaps = [part_table("design_pairs", "Each pair of models", _GAP, self.pairs)] if self.pairs else []
        title = "What likeness costs a comparison, and the smallest gap that would be found with power .8"
        return [
            part_table("design_measures", title, _MEASURE, self.measures, _MEASURE_NOTES),
            part_table("design_likeness", "How alike answers are", _LIKENESS, self.measures, _LIKENESS_NOTES),
            *gaps,
        ]

    def figures(self) -> list[Figure]:
        return [
            *_likeness_figures(self.measures),
            *_gap_figures(self.measures),
            *_power_figures(self.pairs, self.alpha),
        ]

    def methods(self) -> list[Method]:
        return list(METHODS)


def _likeness_figures(rows: list[MeasureRow]) -> list[IntervalFigure]:
    title = "How alike the answers of one worker are"
    icc = [(f"{row.source}: {_name_of(row)}", row.by_worker) for row in rows]
    return interval_figures("design_icc", title, "ICC by worker", icc, reference=0.0)


def _gap_figures(rows: list[MeasureRow]) -> list[Figure]:
    points = tuple(
        IntervalPoint(label=f"{row.source}: {_name_of(row)}", estimate=row.detectable_gap)
        for row in rows
        if row.unit == "share" and row.detectable_gap is not None
    )
    title = "Smallest gap between two models that would be found with power .8"
    figure = IntervalFigure(key="design_gaps", title=title, x_label="gap", points=points, share=True, reference=0.0)
    return [figure] if points else []


METHODS = (
    method("design", "likeness_of_answers_icc"),
    method("design", "design_effect"),
    method("design", "icc_for_plan"),
    method("design", "smallest_detectable_gap"),
)


def build(tables: Tables, options: Options) -> Design | None:
    """Likeness of answers and detectable gaps of everything measured; None where nothing was."""
    found = [measure for measure in measures_of(tables) if measure.alike.n]
    if not found:
        return None
    gaps = [_gap_rows(measure, options.level) for measure in found]
    rows = [
        _measure_row(measure, group, own, options.level)
        for measure, group, own in zip(found, _groups(found), gaps, strict=True)
    ]
    section = Design(measures=rows, pairs=[row for own in gaps for row in own])
    told = next((row for row in rows if row.detectable_gap is not None), rows[0])
    section.headline = told.sentence
    section.remarks = _remarks(rows, told)
    return section


def _groups(measures: Sequence[Measure]) -> list[str]:
    """Of each measure the models that it is of, where the same was asked of several groups of models; else empty."""
    asked = [(one.source, one.technique, one.setting, one.metric) for one in measures]
    return [
        " – ".join(sorted({name for gap in measure.gaps for name in (gap.model_a, gap.model_b)}))
        if asked.count(question) > 1
        else ""
        for measure, question in zip(measures, asked, strict=True)
    ]


def _measure_row(measure: Measure, group: str, gaps: Sequence[GapRow], level: float) -> MeasureRow:
    alike = measure.alike
    by_worker, by_dialogue = (
        _icc(alike, of, name, level) for of, name in [(alike.workers, "worker"), (alike.dialogues, "dialogue")]
    )
    effect, effect_dialogue = (_effect(result) for result in (by_worker, by_dialogue))
    row = MeasureRow(
        source=measure.source,
        technique=measure.technique,
        setting=measure.setting,
        metric=measure.metric,
        group=group,
        unit=measure.unit,
        n=alike.n,
        n_workers=len(set(alike.workers)),
        n_dialogues=len(set(alike.dialogues)),
        per_worker=_detail(by_worker, "per_worker"),
        per_dialogue=_detail(by_dialogue, "per_dialogue"),
        by_worker=by_worker,
        by_dialogue=by_dialogue,
        design_effect=effect,
        design_effect_dialogue=effect_dialogue,
        effective_n=_effective(alike.n, by_worker),
        levels=alike.levels,
        variance_ratio=_median(gap.variance_ratio for gap in gaps),
        **{name: _median(gap[name] for gap in gaps) for name in GapRow.FROM if "icc_for_planning" in name},
        effective_workers=_median(gap.effective_workers for gap in gaps),
        judged_both=_median(gap.judged_both for gap in gaps),
        detectable_gap=_median(gap.detectable_gap for gap in gaps),
        detectable_gap_largest=max((g.detectable_gap for g in gaps if g.detectable_gap is not None), default=None),
        detectable_gap_independent=_median(gap.detectable_gap_independent for gap in gaps),
        sentence="",
    )
    row.sentence = _sentence(row, measure.noun)
    return row


def _median(values: Iterable[Score]) -> Score:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _icc(alike: Alike, clusters: Objects, name: str, level: float) -> Result:
    """Within each pair of models; over several pairs that share answers the F interval would be too narrow."""
    codes = pd.factorize(clusters)[0].astype(np.int64)
    within = alike.strata * (int(codes.max(initial=0)) + 1) + codes
    found = intraclass_correlation(alike.values, within, name=f"ICC by {name}", cluster=name, level=level)
    several = bool(alike.strata.size) and int(alike.strata.max()) > 0
    return found.but(ci_low=None, ci_high=None, p_value=None) if several else found


def _detail(result: Result, name: str) -> Score:
    value = result.details.get(name)
    return float(value) if isinstance(value, int | float) else None


def _size(result: Result) -> float:
    return next((float(v) for k, v in result.details.items() if k.startswith("per_") and v is not None), 1.0)


def _effect(result: Result) -> Score:
    return None if result.estimate is None else design_effect(_size(result), result.estimate)


def _effective(n: int, result: Result) -> Score:
    """At most ``n``: that answers of one worker differ more than others is no reason to count them twice."""
    if result.estimate is None:
        return None
    found = effective_number(n, _size(result), result.estimate)
    return float(n) if found is None else min(float(n), found)


def _gap_rows(measure: Measure, level: float) -> list[GapRow]:
    planned = {(gap.model_a, gap.model_b): gap for gap in measure.of_plan}
    return [_gap_row(measure, gap, planned.get((gap.model_a, gap.model_b)), level) for gap in measure.gaps]


def _gap_row(measure: Measure, gap: GapData, planned: GapData | None, level: float) -> GapRow:
    name = f"gap of {gap.model_a} and {gap.model_b}"
    n = gap.values.size
    clustered = by_both(
        clustered_mean(gap.values, gap.workers, name=name, null=0.0),
        (gap.values - gap.values.mean()) / max(1, n),
        gap.workers,
        [gap.dialogues] if gap.dialogues_b is None else [gap.dialogues, gap.dialogues_b],
        null=0.0,
        models=gap.second,
    )
    error, df = _detail(clustered, "standard_error"), _detail(clustered, "df")
    plain = float(gap.values.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    independent = plain if plain > 1e-9 else None
    return GapRow(
        source=measure.source,
        technique=measure.technique,
        setting=measure.setting,
        metric=measure.metric,
        unit=measure.unit,
        model_a=gap.model_a,
        model_b=gap.model_b,
        clustered=clustered,
        n_workers=len(set(gap.workers)),
        effective_workers=gap.effective_workers,
        standard_error_independent=independent,
        variance_ratio=None if error is None or independent is None else (error / independent) ** 2,
        per_worker=gap.per_worker,
        judged_both=gap.judged_both,
        icc=None if planned is None else planning_icc(planned, level=level),
        dialogue_icc=None if planned is None else planning_dialogue_icc(planned, level=level),
        detectable_gap=_detectable(error, gap.effective_workers - 1 if df is None else df, measure.unit),
        detectable_gap_independent=_detectable(independent, None, measure.unit),
    )


def _detectable(error: Score, df: Score, unit: Unit) -> Score:
    """None where even the largest possible gap of two shares would be missed too often, or nothing is left of ``df``."""
    known = error is not None and (df is None or df >= 1)
    gap = detectable_gap(error, df=df, alpha=ALPHA, power=POWER) if known and error is not None else None
    return None if gap is None or (unit == "share" and gap > 1) else gap


NAMED = 8
"""As many measures as are told one by one; the table has them all."""
_AS_GOOD_AS_ONE = 0.05
"""A ratio of variances so near 1 neither costs nor gains anything."""


def _sentence(row: MeasureRow, noun: str) -> str:
    return f"{_name_of(row)}: {_comparison_words(row, noun)}; {_likeness_words(row, noun)}; {_gap_words(row)}."


def _comparison_words(row: MeasureRow, noun: str) -> str:
    who = f"{counted(row.n, noun)} by {counted(row.n_workers, 'worker')}"
    ratio = row.variance_ratio
    if ratio is None:
        return f"what likeness of one worker's answers costs a comparison cannot be estimated from {who}"
    times = f"the variance is {ratio:.2f} times that of independent answers"
    if abs(ratio - 1) <= _AS_GOOD_AS_ONE:
        return f"a comparison of two models neither loses nor gains by who answers, as {times} ({who})"
    if ratio > 1:
        worth = counted(round(row.n / ratio), "independent one")
        shared = " and one dialogue gets several" if row.dialogue_icc_for_planning is not None else ""
        loses = f"a comparison of two models loses as one worker gives several answers{shared}"
        return f"{loses}: {times}, so that {who} say as much as {worth}"
    if row.levels and (row.judged_both or 0.0) >= 0.5:
        return f"a comparison of two models gains from workers who judge both: {times} ({who})"
    return f"a comparison of two models loses nothing by who answers: {times}, which may be chance ({who})"


def _likeness_words(row: MeasureRow, noun: str) -> str:
    of = f"single {noun}s" if row.levels else "answers"
    if row.by_worker.estimate is None:
        return f"how alike {of} of one worker are cannot be estimated"
    if row.by_worker.ci_low is None or row.by_worker.ci_high is None:
        return f"the ICC of {of} by worker is {signed(row.by_worker.estimate)}, without an interval"
    icc = f"(ICC {signed(row.by_worker.estimate)}, {signed_range(row.by_worker.ci_low, row.by_worker.ci_high)})"
    if row.by_worker.ci_low > 0:
        return f"{of} of one worker are alike{' in level' if row.levels else ''} {icc}"
    if row.by_worker.ci_high < 0:
        return f"{of} of one worker differ more than those of different ones {icc}"
    return f"whether {of} of one worker are alike cannot be told {icc}"


def _gap_words(row: MeasureRow) -> str:
    if row.detectable_gap is None:
        return "no gap between two models can be named that would be found with power .8"
    gap = _in_words(row.detectable_gap, row.unit)
    largest = row.detectable_gap_largest
    least = (
        f" ({_in_words(largest, row.unit)} for the least sure pair)"
        if largest and largest != row.detectable_gap
        else ""
    )
    return f"a true gap of {gap} between two models would be found with power .8{least}"


def _in_words(gap: float, unit: Unit) -> str:
    if unit == "share":
        return f"{points_words(gap)} percentage points"
    return f"{gap:.2f} {'standard deviations of a worker' if unit == 'z' else 'points'}"


def _remarks(rows: Sequence[MeasureRow], told: MeasureRow) -> list[str]:
    found = [row.sentence for row in rows if row is not told] if len(rows) <= NAMED else []
    found += [*_planning(rows), *_negative(rows)]
    if any(row.n_workers < MIN_CLUSTERS for row in rows):
        found.append(
            f"With fewer than {MIN_CLUSTERS} workers a ratio of variances is a rough guess, and no gap can be said to be "
            "detectable."
        )
    few = [row for row in rows if row.n_workers >= MIN_CLUSTERS and (row.effective_workers or 0) < FEW_CLUSTERS]
    if few:
        named = "; ".join(f"{row.effective_workers or 0:.1f} for {_name_of(row)}" for row in few[:NAMED])
        found.append(
            f"Fewer than {FEW_CLUSTERS} effective workers, (Σn)²/Σn², who differ in how much they gave ({named}): ratios of "
            "variances and detectable gaps are a rough guide."
        )
    worse = [row for row in rows if _misleading(row)]
    if worse:
        found.append(
            "Who takes all answers for independent believes in much smaller detectable gaps than there are: "
            f"{_names(worse)}."
        )
    return found


def _planning(rows: Sequence[MeasureRow]) -> list[str]:
    known = [(row, row.icc_for_planning) for row in rows if row.icc_for_planning is not None]
    if not known or len(rows) > NAMED:
        return []
    named = "; ".join(f"{_icc_words(icc)}{_upper_words(row)} for {_name_of(row)}" for row, icc in known)
    return [
        "To plan another study in which workers judge as they did here, give these tables to parlai-humaneval plan --pilot, "
        f"or type the ICC for plan, with parlai-humaneval plan --icc: {named}."
    ]


def _icc_words(icc: float) -> str:
    if icc >= 0:
        return f"{max(icc, LEAST_ICC):.3f}"
    return f"{LEAST_ICC} (here −{abs(icc):.3f}, a gain not to be counted on)"


def _upper_words(row: MeasureRow) -> str:
    high = row.icc_for_planning_high
    return "" if high is None else f" (up to {max(high, LEAST_ICC):.3f})"


def _negative(rows: Sequence[MeasureRow]) -> list[str]:
    """Below 0 for sure, or perhaps; and why z always is."""
    negative = [row for row in rows if row.by_worker.estimate is not None and row.by_worker.estimate < 0]
    standardised = [row for row in negative if row.unit == "z"]
    others = [row for row in negative if row.unit != "z"]
    sure = [row for row in others if row.by_worker.ci_high is not None and row.by_worker.ci_high < 0]
    perhaps = [row for row in others if row not in sure]
    found = []
    if sure:
        found.append(
            f"Negative ICC by worker ({_names(sure)}): answers of one worker differ more than those of different ones. "
            "It is no gain to count on."
        )
    if perhaps:
        found.append(f"Negative ICC by worker ({_names(perhaps)}): that may be chance; it is no gain to count on.")
    if standardised:
        found.append(
            f"Negative ICC by worker ({_names(standardised)}): z has the same mean for every worker, which alone makes it "
            "negative."
        )
    return found


def _names(rows: Sequence[MeasureRow]) -> str:
    return ", ".join(map(_name_of, rows))


def _misleading(row: MeasureRow) -> bool:
    clustered, independent = row.detectable_gap, row.detectable_gap_independent
    return clustered is not None and independent is not None and clustered > 1.25 * independent


POINTS_OF_CURVE = 41
"""Points of a curve."""
MOST_CURVES = 6
_WIDEST = 1.5
"""A figure ends at so many times the largest gap that is found with the power wanted."""
_GAPS_OF: dict[Unit, str] = {"share": "true gap of win rates", "z": "true gap in z", "points": "true gap in points"}


def _power_figures(pairs: Sequence[GapRow], alpha: float) -> list[CurveFigure]:
    by_unit: dict[Unit, dict[str, list[GapRow]]] = {}
    for row in pairs:
        if row.standard_error and row.detectable_gap is not None and row.df >= 1:
            by_unit.setdefault(row.unit, {}).setdefault(_name_of(row), []).append(row)
    return [_power_figure(unit, questions, alpha) for unit, questions in by_unit.items()]


def _power_figure(unit: Unit, questions: dict[str, list[GapRow]], alpha: float) -> CurveFigure:
    rows = {name: _median_pair(found) for name, found in list(questions.items())[:MOST_CURVES]}
    widest = _WIDEST * max(row.detectable_gap or 0.0 for row in rows.values())
    gaps = np.linspace(0, min(widest, 1.0) if unit == "share" else widest, POINTS_OF_CURVE)
    curves = tuple(
        Curve(
            name=name,
            x=tuple(gaps.tolist()),
            y=tuple(power_of_gaps(gaps, row.standard_error or 1.0, df=row.df, alpha=alpha).tolist()),
        )
        for name, row in rows.items()
    )
    return CurveFigure(
        key=f"design_power_{unit}",
        title="Power: the chance that data like these show a true gap between two models",
        x_label=_GAPS_OF[unit],
        y_label="power",
        curves=curves,
        reference=POWER,
        share=True,
    )


def _median_pair(rows: Sequence[GapRow]) -> GapRow:
    return sorted(rows, key=lambda row: row.standard_error or 0.0)[(len(rows) - 1) // 2]
