"""Tables → the section on the study's design."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from parlai_humaneval.report.section import ALPHA, Options
from parlai_humaneval.report.sections.design.found import measures
from parlai_humaneval.report.sections.design.rows import POWER, GapRow, MeasureRow, Score
from parlai_humaneval.report.sections.design.types import Design
from parlai_humaneval.report.sections.design.words import remarks, sentence
from parlai_humaneval.statistics.design import (
    design_effect,
    detectable_gap,
    effective_number,
    icc_for_planning,
    intraclass_correlation,
)
from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.statistics.measures import Alike, GapData, Measure, Objects, Unit
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.tables.from_records import Tables


def build(tables: Tables, options: Options) -> Design | None:
    """Likeness of answers and detectable gaps of everything measured; None where nothing was."""
    found = [measure for measure in measures(tables) if measure.alike.n]
    if not found:
        return None
    gaps = [[_gap_row(measure, gap) for gap in measure.gaps] for measure in found]
    rows = [_measure_row(measure, own, options.level) for measure, own in zip(found, gaps, strict=True)]
    section = Design(measures=rows, pairs=[row for own in gaps for row in own])
    told = next((row for row in rows if row.detectable_gap is not None), rows[0])
    section.headline = told.sentence
    section.remarks = remarks(rows, told)
    return section


def _measure_row(measure: Measure, gaps: Sequence[GapRow], level: float) -> MeasureRow:
    alike = measure.alike
    by_worker, by_dialogue = (_likeness(alike, of, name, level) for of, name in _clusters(alike))
    effect, effect_dialogue = (_effect(result) for result in (by_worker, by_dialogue))
    row = MeasureRow(
        source=measure.source,
        technique=measure.technique,
        setting=measure.setting,
        metric=measure.metric,
        unit=measure.unit,
        n=alike.n,
        n_workers=len(set(alike.workers)),
        n_dialogues=len(set(alike.dialogues)),
        per_worker=_detail(by_worker, "per_worker"),
        per_dialogue=_detail(by_dialogue, "per_dialogue"),
        icc_worker=by_worker.estimate,
        icc_worker_low=by_worker.ci_low,
        icc_worker_high=by_worker.ci_high,
        icc_dialogue=by_dialogue.estimate,
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
    row.sentence = sentence(row, measure.noun)
    return row


def _median(values: Iterable[Score]) -> Score:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _clusters(alike: Alike) -> list[tuple[Objects, str]]:
    return [(alike.workers, "worker"), (alike.dialogues, "dialogue")]


def _likeness(alike: Alike, clusters: Objects, name: str, level: float) -> Result:
    """Within each pair of models; over several pairs that share answers the F interval would be too narrow."""
    codes = pd.factorize(clusters)[0].astype(np.int64)
    within = alike.strata * (int(codes.max(initial=0)) + 1) + codes
    found = intraclass_correlation(alike.values, within, name=f"ICC by {name}", cluster=name, level=level)
    several = bool(alike.strata.size) and int(alike.strata.max()) > 0
    return found.model_copy(update={"ci_low": None, "ci_high": None, "p_value": None}) if several else found


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
    clustered = clustered_mean(gap.values, gap.workers, null=0.0)
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
        n=n,
        n_workers=len(set(gap.workers)),
        gap=float(gap.values.mean()),
        standard_error=error,
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
