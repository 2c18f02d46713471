"""Section ``design``: correlation of answers by one worker, and the gaps between models that the data could show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd

from parlai_humaneval.report import views
from parlai_humaneval.report.section import Options, Section, say, sentence
from parlai_humaneval.statistics.core import rows as cells
from parlai_humaneval.statistics.core.clustered import FEW_CLUSTERS, MIN_CLUSTERS
from parlai_humaneval.statistics.core.clustering_effects import (
    design_effect,
    detectable_gap,
    effective_number,
    intraclass_correlation,
    power_of_gaps,
)
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import by_both
from parlai_humaneval.statistics.ratings.correlations import (
    LEAST_ICC,
    AnswerClustering,
    GapData,
    Measure,
    Unit,
    measures_of,
    planning_dialogue_icc,
    planning_icc,
)
from parlai_humaneval.tables.build import Tables

Score = float | None
POWER = 0.8
LIKENESS = "design_likeness"
"""A second table of measures."""
NAMED = 8
"""The most measures to name; the table has them all."""
_AS_GOOD_AS_ONE = 0.05
"""A ratio of variances so near 1 neither costs nor gains anything."""
POINTS_OF_CURVE = 41
MOST_CURVES = 6
_WIDEST = 1.5
"""A figure ends at so many times the largest gap that is found with the power wanted."""
_GAPS_OF: dict[Unit, str] = {"share": "true gap of win rates", "z": "true gap in z", "points": "true gap in points"}
_PLANNED = ("icc_for_planning", "dialogue_icc_for_planning")
OVER_PAIRS = (
    *("variance_ratio", "effective_workers", "judged_both", "detectable_gap", "detectable_gap_independent"),
    *(f"{name}{end}" for name in _PLANNED for end in ("", "_low", "_high")),
)
"""What a measure has as the median over its pairs of models."""


class MeasureRow(cells.Row):
    """One question of the study; ``group``: the models that stood side by side, where several groups of models were asked
    it.

    ``variance_ratio``: of the gap between two models, clustered by rater (and by dialogue, where several workers judged
    the same), by that of independent answers: what likeness costs a comparison, or (below 1) what it gains.
    ``icc_for_planning``, ``dialogue_icc_for_planning``: of workers and of dialogues, with which a plan's design effect is
    about that ratio; ties are among the judgements that a plan counts. These, ``judged_both`` (share of workers who
    judged both models) and ``effective_workers``, (Σn)²/Σn², are medians over pairs.

    ``per_worker``, ``per_dialogue``: answers to one, Σn²/Σn. ``icc_worker``, ``icc_dialogue``: how alike those of one
    are; can be negative. Where models are judged one at a time (``levels``) that is about levels, of which a comparison
    within workers is free. ``design_effect``, ``effective_n``: of the mean level, by worker. ``detectable_gap``: in
    ``unit``, found with power .8 at two-sided .05; ``_largest``: of the pair with the least data; ``_independent``: if
    all answers were independent.
    """

    source: cells.Name
    technique: cells.Name
    setting: cells.Name
    metric: Annotated[str, cells.Column("Measure", table=cells.EVERY)]
    group: Annotated[str, cells.Column("Models", table=cells.EVERY)]
    n: Annotated[int, cells.Column("Answers")]
    n_workers: cells.Count
    effective_workers: Annotated[Score, cells.Column("Effective raters")]
    variance_ratio: Annotated[Score, cells.Column("Ratio of variances")]
    icc_for_planning: Annotated[Score, cells.Column("ICC for plan")]
    icc_for_planning_low: Annotated[Score, cells.Column("from")]
    icc_for_planning_high: Annotated[Score, cells.Column("to")]
    dialogue_icc_for_planning: Annotated[Score, cells.Column("ICC of dialogues for plan")]
    dialogue_icc_for_planning_low: Score
    dialogue_icc_for_planning_high: Annotated[Score, cells.Column("at most")]
    unit: Annotated[Unit, cells.Column("Unit of gaps")]
    detectable_gap: Annotated[Score, cells.Column("Detectable gap")]
    detectable_gap_largest: Annotated[Score, cells.Column("Gap of the least sure pair")]
    detectable_gap_independent: Annotated[Score, cells.Column("Gap if independent")]
    n_dialogues: Annotated[int, cells.Column(table=LIKENESS)]
    per_worker: Annotated[Score, cells.Column("Answers a rater (Σn²/Σn)", table=LIKENESS)]
    per_dialogue: Score
    by_worker: Annotated[Result, cells.Estimate("ICC, rater", name="icc_worker", table=LIKENESS)]
    by_dialogue: Annotated[Result, cells.Column("ICC, dialogue", name="icc_dialogue", path="estimate", table=LIKENESS)]
    design_effect: Annotated[Score, cells.Column("Design effect of the mean", table=LIKENESS)]
    design_effect_dialogue: Score
    effective_n: Annotated[Score, cells.Column("Effective answers", "count", table=LIKENESS)]
    levels: bool
    judged_both: Score
    sentence: str

    @property
    def named(self) -> str:
        """“preference (sata, sata_user)”; of one of several groups of models also “(…, eliza – retrieval)”."""
        return _name_of(self, self.group)


class GapRow(cells.Row):
    """Model A against B: the gap seen, its standard errors, and the smallest gap that such data would show.

    ``clustered``: the mean gap, tested against 0 by worker (by rater and dialogue, where several workers judged the same
    dialogues), with its standard error.
    ``variance_ratio``: the variance of the gap, so clustered, by that of independent answers: the design effect
    that the test really meets. Below 1 where workers judge both models and differ in level. ``per_worker``: answers of a
    worker to the pair, or to each model judged by itself; with ``icc_for_planning`` they give about that ratio.
    ``effective_workers``: (Σn)²/Σn². ``icc_for_planning``, ``dialogue_icc_for_planning``: as in the measure's row.
    """

    source: cells.Name
    technique: cells.Name
    setting: cells.Name
    metric: Annotated[str, cells.Column("Measure")]
    model_a: Annotated[str, cells.Column("A")]
    model_b: Annotated[str, cells.Column("B")]
    n_workers: Annotated[int, cells.Column("Answers", "count", name="n", of="clustered", path="n"), cells.Column()]
    effective_workers: Annotated[float, cells.Column("Effective raters")]
    unit: Annotated[Unit, cells.Column("Unit")]
    clustered: Annotated[
        Result,
        cells.Column("Gap seen (A − B)", name="gap", path="estimate"),
        cells.Column("Standard error", name="standard_error", path="details.standard_error"),
    ]
    standard_error_independent: Annotated[Score, cells.Column("if independent")]
    variance_ratio: Annotated[Score, cells.Column("Ratio of variances")]
    per_worker: Score
    judged_both: float
    icc: Annotated[
        Result | None,
        cells.Column("ICC for plan", name="icc_for_planning", path="estimate"),
        cells.interval_keys("icc_for_planning", "icc_for_planning")[1:],
    ]
    dialogue_icc: Annotated[
        Result | None, cells.interval_keys("dialogue_icc_for_planning", "dialogue_icc_for_planning")
    ]
    detectable_gap: Annotated[Score, cells.Column("Detectable gap")]
    detectable_gap_independent: Annotated[Score, cells.Column("if independent")]

    @property
    def standard_error(self) -> Score:
        """Standard error of the gap, clustered; None if it cannot be estimated."""
        return _detail(self.clustered, "standard_error")

    @property
    def df(self) -> float:
        """Degrees of freedom: effective workers − 1, or dialogues − 1 if fewer, with several workers each."""
        df = _detail(self.clustered, "df")
        return self.effective_workers - 1 if df is None else df


def _name_of(row: MeasureRow | GapRow, group: str = "") -> str:
    where = ", ".join(text for text in (row.technique, row.setting, group) if text)
    return f"{row.metric} ({where})" if where else row.metric


class Design(Section):
    """Correlation of answers by one worker and about one dialogue, and the gaps that the data could show."""

    TITLE: ClassVar[str] = "What these data could show"

    measures: list[MeasureRow]
    pairs: list[GapRow]
    power: float = POWER
    alpha: float = 0.05

    def data_tables(self) -> list[views.DataTable]:
        measures = views.table("design_measures", self.measures, *say("design", "of_measures"))
        likeness = views.table(LIKENESS, self.measures, *say("design", "of_likeness"))
        return views.shown(measures, likeness, views.table("design_pairs", self.pairs))

    def figures(self) -> list[views.Figure]:
        names = [f"{row.source}: {row.named}" for row in self.measures]
        named = list(zip(names, self.measures, strict=True))
        icc = [(name, row.by_worker) for name, row in named]
        points = tuple(
            views.IntervalPoint(label=name, estimate=row.detectable_gap)
            for name, row in named
            if row.unit == "share" and row.detectable_gap is not None
        )
        by_unit: dict[Unit, dict[str, list[GapRow]]] = {}
        for pair in self.pairs:
            if pair.standard_error and pair.detectable_gap is not None and pair.df >= 1:
                by_unit.setdefault(pair.unit, {}).setdefault(_name_of(pair), []).append(pair)
        return [
            *views.interval_figures(**views.look("design_icc"), results=icc),
            *([views.IntervalFigure(**views.look("design_gaps"), points=points)] if points else []),
            *(_power_figure(unit, questions, self.alpha) for unit, questions in by_unit.items()),
        ]

    def methods(self) -> list[views.Method]:
        names = ("likeness_of_answers_icc", "design_effect", "icc_for_plan", "smallest_detectable_gap")
        return [views.method("design", name) for name in names]


def build(tables: Tables, options: Options) -> Design | None:
    """Likeness of answers and detectable gaps of everything measured; None where nothing was."""
    found = [measure for measure in measures_of(tables) if measure.alike.n]
    if not found:
        return None
    asked = [(one.source, one.technique, one.setting, one.metric) for one in found]
    section = Design(measures=[], pairs=[])
    for measure, question in zip(found, asked, strict=True):
        planned = {(gap.model_a, gap.model_b): gap for gap in measure.of_plan}
        gaps = [_gap_row(measure, gap, planned.get((gap.model_a, gap.model_b)), options.level) for gap in measure.gaps]
        # The models that it is of, where the same was asked of several groups of models.
        models = sorted({name for gap in measure.gaps for name in (gap.model_a, gap.model_b)})
        group = " – ".join(models) if asked.count(question) > 1 else ""
        section.measures.append(_measure_row(measure, group, gaps, options.level))
        section.pairs += gaps
    rows = section.measures
    told = next((row for row in rows if row.detectable_gap is not None), rows[0])
    section.headline = told.sentence
    section.remarks = say("design", "remarks", told=told, named=NAMED, least_icc=LEAST_ICC, **_worth_a_remark(rows))
    return section


def _measure_row(measure: Measure, group: str, gaps: Sequence[GapRow], level: float) -> MeasureRow:
    alike = measure.alike
    by_worker, by_dialogue = (_icc(alike, name, level) for name in ("worker", "dialogue"))
    effect, effect_dialogue = (
        None if result.estimate is None else design_effect(_size(result), result.estimate)
        for result in (by_worker, by_dialogue)
    )
    effective = None
    if by_worker.estimate is not None:
        # At most as many: a negative ICC must not count answers twice.
        count = effective_number(alike.n, _size(by_worker), by_worker.estimate)
        effective = float(alike.n) if count is None else min(float(alike.n), count)
    known = {name: [value for gap in gaps if (value := gap[name]) is not None] for name in OVER_PAIRS}
    row = MeasureRow.of(
        measure,
        {name: float(np.median(values)) if values else None for name, values in known.items()},
        group=group,
        n=alike.n,
        n_workers=len(set(alike.workers)),
        n_dialogues=len(set(alike.dialogues)),
        per_worker=_detail(by_worker, "per_worker"),
        per_dialogue=_detail(by_dialogue, "per_dialogue"),
        by_worker=by_worker,
        by_dialogue=by_dialogue,
        design_effect=effect,
        design_effect_dialogue=effect_dialogue,
        effective_n=effective,
        levels=alike.levels,
        detectable_gap_largest=max(known["detectable_gap"], default=None),
        sentence="",
    )
    row.sentence = sentence("design", "measure", row=row, noun=measure.noun, nearly=_AS_GOOD_AS_ONE)
    return row


def _icc(alike: AnswerClustering, name: str, level: float) -> Result:
    """Within each pair of models; over several pairs that share answers the F interval would be too narrow."""
    codes = pd.factorize(getattr(alike, f"{name}s"))[0].astype(np.int64)
    within = alike.strata * (int(codes.max(initial=0)) + 1) + codes
    found = intraclass_correlation(alike.values, within, name=f"ICC by {name}", cluster=name, level=level)
    several = bool(alike.strata.size) and int(alike.strata.max()) > 0
    return found.but(ci_low=None, ci_high=None, p_value=None) if several else found


def _detail(result: Result, name: str) -> Score:
    value = result.details.get(name)
    return float(value) if isinstance(value, int | float) else None


def _size(result: Result) -> float:
    return next((float(v) for k, v in result.details.items() if k.startswith("per_") and v is not None), 1.0)


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
    return GapRow.of(
        measure,
        gap,
        clustered=clustered,
        n_workers=len(set(gap.workers)),
        standard_error_independent=independent,
        variance_ratio=None if error is None or independent is None else (error / independent) ** 2,
        icc=None if planned is None else planning_icc([planned], level=level),
        dialogue_icc=None if planned is None else planning_dialogue_icc([planned], level=level),
        detectable_gap=_detectable(error, gap.effective_workers - 1 if df is None else df, measure.unit),
        detectable_gap_independent=_detectable(independent, None, measure.unit),
    )


def _detectable(error: Score, df: Score, unit: Unit) -> Score:
    """None where even the largest possible gap of two shares would be missed too often, or nothing is left of ``df``."""
    known = error is not None and (df is None or df >= 1)
    gap = detectable_gap(error, df=df, alpha=ALPHA, power=POWER) if known and error is not None else None
    return None if gap is None or (unit == "share" and gap > 1) else gap


def _worth_a_remark(rows: Sequence[MeasureRow]) -> dict[str, Any]:
    negative = [row for row in rows if row.by_worker.estimate is not None and row.by_worker.estimate < 0]
    raw = [row for row in negative if row.unit != "z"]
    sure = [row for row in raw if row.by_worker.ci_high is not None and row.by_worker.ci_high < 0]
    gaps = [(row, row.detectable_gap, row.detectable_gap_independent) for row in rows]
    return {
        "rows": rows,
        "planned": [row for row in rows if row.icc_for_planning is not None],
        "sure": sure,
        "perhaps": [row for row in raw if row not in sure],
        "standardised": [row for row in negative if row.unit == "z"],
        "least": MIN_CLUSTERS,
        "too_few": any(row.n_workers < MIN_CLUSTERS for row in rows),
        "enough": FEW_CLUSTERS,
        "few": [r for r in rows if r.n_workers >= MIN_CLUSTERS and (r.effective_workers or 0) < FEW_CLUSTERS],
        "worse": [row for row, gap, plain in gaps if gap is not None and plain is not None and gap > 1.25 * plain],
    }


def _power_figure(unit: Unit, questions: dict[str, list[GapRow]], alpha: float) -> views.CurveFigure:
    rows: dict[str, GapRow] = {}
    for name, of_question in list(questions.items())[:MOST_CURVES]:
        by_error = sorted(of_question, key=lambda row: row.standard_error or 0.0)
        rows[name] = by_error[(len(by_error) - 1) // 2]
    widest = _WIDEST * max(row.detectable_gap or 0.0 for row in rows.values())
    gaps = np.linspace(0, min(widest, 1.0) if unit == "share" else widest, POINTS_OF_CURVE)
    powers = {
        name: power_of_gaps(gaps, row.standard_error or 1.0, df=row.df, alpha=alpha) for name, row in rows.items()
    }
    return views.CurveFigure(
        **views.look("design_power", f"_{unit}"),
        x_label=_GAPS_OF[unit],
        curves=tuple(views.Curve(name=name, x=tuple(gaps.tolist()), y=tuple(y.tolist())) for name, y in powers.items()),
        reference=POWER,
    )
