"""Section ``design``: how alike answers of one worker are, and which gaps between models the data could show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar

import numpy as np
import pandas as pd

from parlai_humaneval.protocol.records.judgement import HUMAN
from parlai_humaneval.report.plotted import interval_figures
from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published
from parlai_humaneval.report.section import ALPHA, Options, Section
from parlai_humaneval.report.views import Curve, CurveFigure, DataTable, Figure, IntervalFigure, IntervalPoint, Method
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.design import (
    design_effect,
    detectable_gap,
    effective_number,
    icc_for_planning,
    intraclass_correlation,
    power_of_gaps,
)
from parlai_humaneval.statistics.likert import likert_groups
from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.statistics.measures import (
    Alike,
    Answers,
    GapData,
    Measure,
    Objects,
    Source,
    Unit,
    alike_of_gaps,
    answers_by_model,
    paired_gaps,
    separate_gaps,
)
from parlai_humaneval.statistics.pair_wins import GROUP, counted_comparisons, oriented
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.slider_scores import assessed
from parlai_humaneval.statistics.standardised_scores import overall_parts
from parlai_humaneval.statistics.wording import counted, points_words, signed, signed_range
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.counting import finished
from parlai_humaneval.tables.from_records import Tables

Score = float | None
POWER = 0.8


class MeasureRow(Row):
    """One question of the study.

    ``variance_ratio``: of the gap between two models, clustered by worker, by that of independent answers: what likeness
    costs a comparison, or (below 1) what it gains. ``icc_for_planning``: with it a plan's design effect is that ratio.
    Both, and ``judged_both``, the share of workers who judged both models, are medians over pairs.

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
    judged_both: Score
    detectable_gap: Score
    detectable_gap_largest: Score
    detectable_gap_independent: Score
    sentence: str


class GapRow(Row):
    """Model A against B: the gap seen, its standard errors, and the smallest gap that such data would show.

    ``clustered``: the mean gap, tested against 0 with CR1 by worker.
    ``variance_ratio``: the variance of the gap, clustered by worker, by that of independent answers: the design effect
    that the test really meets. Below 1 where workers judge both models and differ in level. ``per_worker``: answers of a
    worker to the pair, or to each model judged by itself; with ``icc_for_planning`` they give that ratio.
    """

    FROM = published(gap="clustered.estimate", n="clustered.n", standard_error="clustered.details.standard_error")

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
    judged_both: float
    icc_for_planning: Score
    detectable_gap: Score
    detectable_gap_independent: Score

    @property
    def standard_error(self) -> Score:
        """Of the gap, clustered by worker; None where it cannot be estimated."""
        return _detail(self.clustered, "standard_error")


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
    "source technique setting metric group n n_workers variance_ratio icc_for_planning unit detectable_gap "
    "detectable_gap_largest detectable_gap_independent",
    _LABELS,
)
_LIKENESS = columns(
    "source technique setting metric group n_dialogues per_worker icc_worker icc_worker_low icc_worker_high icc_dialogue "
    "design_effect effective_n",
    _LABELS,
)
_MEASURE_NOTES = (
    "Ratio of variances: of the gap between two models, clustered by worker, by that of independent answers. Above 1 a "
    "comparison loses by likeness, below 1 it gains, as workers who judge both models carry their level into both.",
    "ICC for plan: the one with which a plan has that ratio as its design effect (parlai-humaneval plan --icc). Below 0 "
    "take 0.001: no gain should be counted on.",
)
_LIKENESS_NOTES = (
    "Of models judged one at a time these are about levels: what a mean of one model loses, not a comparison of two.",
)
_GAP = columns(
    "source technique setting metric model_a model_b n n_workers unit gap standard_error standard_error_independent "
    "variance_ratio icc_for_planning detectable_gap detectable_gap_independent",
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
    Method(
        name="Likeness of answers (ICC)",
        text="One-way analysis of variance, with the means of models taken out: of the difference of two models in a turn "
        "or comparison, of a rating or label where models are judged one at a time. F interval, rough for 0/1 answers; "
        "none where several pairs of models share turns.",
        source="Donner & Koval 1980; Ridout, Demétrio & Firth 1999",
    ),
    Method(
        name="Design effect",
        text="Of a comparison: the ratio of variances of the gap, clustered by worker and as if all answers were "
        "independent; the ICC for plan is (ratio − 1)/(m − 1), with m = Σn²/Σn answers that a worker gives to a pair, or "
        "to each model judged by itself. Of a mean: 1 + (m − 1)·ICC, with all answers of a worker; effective answers: n "
        "by that, at most n.",
        source="Kish 1965",
    ),
    Method(
        name="Smallest detectable gap",
        text="The true gap between two models that a two-sided test at .05 would find with power .8, from the standard "
        "error seen in these data: clustered by worker (CR1 t, workers − 1 degrees of freedom), and beside it as if all "
        "answers were independent. It says what the study could show, not how sure a gap is that was found.",
        source="Bloom 1995",
    ),
)


def build(tables: Tables, options: Options) -> Design | None:
    """Likeness of answers and detectable gaps of everything measured; None where nothing was."""
    found = [measure for measure in _measures(tables) if measure.alike.n]
    if not found:
        return None
    gaps = [[_gap_row(measure, gap) for gap in measure.gaps] for measure in found]
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
    by_worker, by_dialogue = (_icc(alike, of, name, level) for of, name in _clusters(alike))
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
        icc_for_planning=_median(gap.icc_for_planning for gap in gaps),
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


def _clusters(alike: Alike) -> list[tuple[Objects, str]]:
    return [(alike.workers, "worker"), (alike.dialogues, "dialogue")]


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


def _gap_row(measure: Measure, gap: GapData) -> GapRow:
    name = f"gap of {gap.model_a} and {gap.model_b}"
    clustered = clustered_mean(gap.values, gap.workers, name=name, null=0.0)
    error = _detail(clustered, "standard_error")
    n = gap.values.size
    plain = float(gap.values.std(ddof=1) / np.sqrt(n)) if n > 1 else 0.0
    independent = plain if plain > 1e-9 else None
    df = _detail(clustered, "df")
    ratio = None if error is None or independent is None else (error / independent) ** 2
    m = gap.per_worker
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
        standard_error_independent=independent,
        variance_ratio=ratio,
        per_worker=m,
        judged_both=gap.judged_both,
        icc_for_planning=None if ratio is None or m is None else icc_for_planning(ratio, m),
        detectable_gap=_detectable(error, df, measure.unit),
        detectable_gap_independent=_detectable(independent, None, measure.unit),
    )


def _detectable(error: Score, df: Score, unit: Unit) -> Score:
    """None where even the largest possible gap of two shares would be missed too often."""
    gap = None if error is None else detectable_gap(error, df=df, alpha=ALPHA, power=POWER)
    return None if gap is None or (unit == "share" and gap > 1) else gap


def _measures(tables: Tables) -> list[Measure]:
    """All that the tables measure, in the order of the report's sections."""
    return [*_turns(tables), *_comparisons(tables), *_sliders(tables), *_likert(tables), *_segments(tables)]


def _turns(tables: Tables) -> Iterator[Measure]:
    for group in choice_groups(tables):
        turns = group.turns
        if group.kind == "single":
            columns = [
                Answers(model, turns.chosen[:, number], turns.workers, turns.dialogues)
                for number, model in enumerate(turns.models)
            ]
            gaps, alike = separate_gaps(columns)
        else:
            gaps, alike = paired_gaps(turns.models, turns.chosen, turns.workers, turns.dialogues)
        yield Measure("turns", group.technique, group.setting, group.metric, "turn", "share", alike, gaps)


def _comparisons(tables: Tables) -> Iterator[Measure]:
    """Decided ones: a win of A counts 1, of B −1, so that the mean is the gap of their win rates.

    Comparisons of turns are left to the table of turns, where there is one.
    """
    rows = oriented(counted_comparisons(tables))
    decided = (rows["outcome"] != 0).to_numpy(dtype=bool)
    of_turns = rows["kind"].eq("turn").to_numpy(dtype=bool) & bool(len(tables.turns))
    rows = rows[decided & ~of_turns]
    for key, own in rows.groupby(list(GROUP), sort=True):
        technique, setting, _, metric = (str(part) for part in key)
        gaps = [
            GapData(
                str(a),
                str(b),
                pair["outcome"].to_numpy(dtype=float),
                pair["worker_id"].to_numpy(dtype=object),
                pair["dialogue_a"].to_numpy(dtype=object),
            )
            for (a, b), pair in own.groupby(["model_a", "model_b"], sort=True)
        ]
        alike = alike_of_gaps(gaps, len(own))
        yield Measure("comparisons", technique, setting, metric, "decided comparison", "share", alike, gaps)


def _sliders(tables: Tables) -> Iterator[Measure]:
    data = assessed(tables)
    if data is None or data.counted.empty:
        return
    technique = str(data.counted["technique"].fillna("").iloc[0])
    kinds: tuple[tuple[str, str, Unit], ...] = (("raw", "overall, raw", "points"), ("z", "overall z", "z"))
    for column, name, unit in kinds:
        answers = [
            Answers(str(model), *overall_parts(own, column)) for model, own in data.counted.groupby("model", sort=True)
        ]
        gaps, alike = separate_gaps(answers)
        yield Measure("ratings", technique, "", name, "rated dialogue", unit, alike, gaps)


def _likert(tables: Tables) -> Iterator[Measure]:
    for group in likert_groups(tables):
        answers = [Answers(own.model, own.values, own.workers, own.dialogues) for own in group.models]
        gaps, alike = separate_gaps(answers)
        name = group.criterion
        yield Measure("ratings", group.technique, group.setting, name, "rating", "points", alike, gaps)


def _segments(tables: Tables) -> Iterator[Measure]:
    """How often a bot was taken for a person."""
    rows = tables.segments
    bots = rows[finished(rows) & (rows["model"] != HUMAN).to_numpy(dtype=bool)]
    bots = bots.assign(technique=bots["technique"].fillna(""), setting=bots["setting"].fillna(""))
    for (technique, setting), own in bots.groupby(["technique", "setting"], sort=True):
        human = np.asarray(own["label"] == HUMAN, dtype=float)
        gaps, alike = separate_gaps(answers_by_model(own, human))
        yield Measure("segments", str(technique), str(setting), "taken for human", "label", "share", alike, gaps)


NAMED = 8
"""As many measures as are told one by one; the table has them all."""
_AS_GOOD_AS_ONE = 0.05
"""A ratio of variances so near 1 neither costs nor gains anything."""
_LEAST_ICC = 0.001
"""To plan with where the one seen is negative: the test stays the clustered one, and no gain is counted on."""


def _sentence(row: MeasureRow, noun: str) -> str:
    """What the row says, for a reader who plans or weighs a study: first what likeness does to a comparison."""
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
        loses = "a comparison of two models loses as one worker gives several answers"
        return f"{loses}: {times}, so that {who} say as much as {worth}"
    if row.levels and (row.judged_both or 0.0) >= 0.5:
        return f"a comparison of two models gains from workers who judge both: {times} ({who})"
    return f"a comparison of two models loses nothing by who answers: {times}, which may be chance ({who})"


def _likeness_words(row: MeasureRow, noun: str) -> str:
    """No more than the interval says. Of models judged one at a time it is about levels."""
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
    """All that is to be said besides the _sentence of ``told``."""
    found = [row.sentence for row in rows if row is not told] if len(rows) <= NAMED else []
    found += [*_planning(rows), *_negative(rows)]
    if any(row.n_workers < MIN_CLUSTERS for row in rows):
        found.append(
            f"With fewer than {MIN_CLUSTERS} workers a ratio of variances is a rough guess, and no gap can be said to be "
            "detectable."
        )
    worse = [row for row in rows if _misleading(row)]
    if worse:
        found.append(
            "Who takes all answers for independent believes in much smaller detectable gaps than there are: "
            f"{_names(worse)}."
        )
    return found


def _planning(rows: Sequence[MeasureRow]) -> list[str]:
    """Which ICC a plan should have, and not that of levels."""
    known = [(row, row.icc_for_planning) for row in rows if row.icc_for_planning is not None]
    if not known or len(rows) > NAMED:
        return []
    named = "; ".join(f"{_icc_words(icc)} for {_name_of(row)}" for row, icc in known)
    return [
        "To plan another study in which workers judge as they did here, take the ICC that belongs to the ratio of "
        f"variances, with parlai-humaneval plan --icc: {named}."
    ]


def _icc_words(icc: float) -> str:
    if icc >= 0:
        return f"{max(icc, _LEAST_ICC):.3f}"
    return f"{_LEAST_ICC} (here −{abs(icc):.3f}, a gain not to be counted on)"


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
    """A figure for each unit of gaps, a curve for each question: of its pair with the median standard error."""
    by_unit: dict[Unit, dict[str, list[GapRow]]] = {}
    for row in pairs:
        if row.standard_error and row.detectable_gap is not None and row.n_workers > 1:
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
            y=tuple(power_of_gaps(gaps, row.standard_error or 1.0, df=row.n_workers - 1, alpha=alpha).tolist()),
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
