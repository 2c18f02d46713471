"""Tables → the section on the study's design."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.clustered import MIN_CLUSTERS
from parlai_humaneval.analysis.design_effects import design_effect, effective_number, intraclass_correlation
from parlai_humaneval.analysis.detectable import detectable_gap
from parlai_humaneval.analysis.frames import Tables
from parlai_humaneval.analysis.means import clustered_mean
from parlai_humaneval.analysis.measures import Alike, GapData, Measure, Objects, Unit
from parlai_humaneval.analysis.result import Result
from parlai_humaneval.analysis.sections.base import ALPHA, Options
from parlai_humaneval.analysis.sections.design.found import measures
from parlai_humaneval.analysis.sections.design.rows import POWER, GapRow, MeasureRow, Score, name_of
from parlai_humaneval.analysis.sections.design.types import Design
from parlai_humaneval.analysis.wording import counted, points_words, signed, signed_range

NAMED = 8
"""As many measures as are told one by one; the table has them all."""


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
    section.remarks = _remarks(rows, told)
    return section


def _measure_row(measure: Measure, gaps: Sequence[GapRow], level: float) -> MeasureRow:
    alike = measure.alike
    by_worker, by_dialogue = (_likeness(alike, of, name, level) for of, name in _clusters(alike))
    effect, effect_dialogue = (_effect(result) for result in (by_worker, by_dialogue))
    clustered = [gap.detectable_gap for gap in gaps if gap.detectable_gap is not None]
    independent = [gap.detectable_gap_independent for gap in gaps if gap.detectable_gap_independent is not None]
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
        detectable_gap=float(np.median(clustered)) if clustered else None,
        detectable_gap_largest=max(clustered) if clustered else None,
        detectable_gap_independent=float(np.median(independent)) if independent else None,
        sentence="",
    )
    row.sentence = _sentence(row, measure.noun)
    return row


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
        variance_ratio=None if error is None or independent is None else (error / independent) ** 2,
        detectable_gap=_detectable(error, df, measure.unit),
        detectable_gap_independent=_detectable(independent, None, measure.unit),
    )


def _detectable(error: Score, df: Score, unit: Unit) -> Score:
    """None where even the largest possible gap of two shares would be missed too often."""
    gap = None if error is None else detectable_gap(error, df=df, alpha=ALPHA, power=POWER)
    return None if gap is None or (unit == "share" and gap > 1) else gap


def _sentence(row: MeasureRow, noun: str) -> str:
    """What the row says, for a reader who plans or weighs a study."""
    who = f"{counted(row.n, noun)} by {counted(row.n_workers, 'worker')}"
    alike = f"how alike those of one worker are cannot be estimated from {who}"
    if row.icc_worker is not None:
        interval = "" if row.icc_worker_low is None else f", {signed_range(row.icc_worker_low, row.icc_worker_high)}"
        icc = f"ICC {signed(row.icc_worker)}{interval}"
        alike = (
            f"answers of one worker are alike ({icc}), so that {who} say as much as {row.effective_n or 0:,.0f} "
            "independent ones"
            if row.icc_worker > 0
            else f"answers of one worker are no more alike than those of different ones ({icc}; {who})"
        )
    return f"{name_of(row)}: {alike}; {_gap_words(row)}."


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
    negative = [row for row in rows if row.icc_worker is not None and row.icc_worker < 0]
    if negative:
        names = ", ".join(map(name_of, negative))
        found.append(
            f"Negative ICC by worker ({names}): answers of one worker differ more than those of different ones. That can "
            "be chance, or how the measure is made, as z has the same mean for every worker; it is no gain to count on."
        )
    if any(row.n_workers < MIN_CLUSTERS for row in rows):
        found.append(f"With fewer than {MIN_CLUSTERS} workers no gap can be said to be detectable.")
    worse = [row for row in rows if _misleading(row)]
    if worse:
        names = ", ".join(map(name_of, worse))
        found.append(
            f"Who takes all answers for independent believes in much smaller detectable gaps than there are: {names}."
        )
    return found


def _misleading(row: MeasureRow) -> bool:
    clustered, independent = row.detectable_gap, row.detectable_gap_independent
    return clustered is not None and independent is not None and clustered > 1.25 * independent
