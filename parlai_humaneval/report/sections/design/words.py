"""The section on the study's design in words."""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.report.sections.design.rows import MeasureRow, name_of
from parlai_humaneval.statistics.clustered import MIN_CLUSTERS
from parlai_humaneval.statistics.measures import Unit
from parlai_humaneval.statistics.wording import counted, points_words, signed, signed_range

NAMED = 8
"""As many measures as are told one by one; the table has them all."""
_AS_GOOD_AS_ONE = 0.05
"""A ratio of variances so near 1 neither costs nor gains anything."""
_LEAST_ICC = 0.001
"""To plan with where the one seen is negative: the test stays the clustered one, and no gain is counted on."""


def sentence(row: MeasureRow, noun: str) -> str:
    """What the row says, for a reader who plans or weighs a study: first what likeness does to a comparison."""
    return f"{name_of(row)}: {_comparison(row, noun)}; {_likeness(row, noun)}; {_gap(row)}."


def _comparison(row: MeasureRow, noun: str) -> str:
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


def _likeness(row: MeasureRow, noun: str) -> str:
    """No more than the interval says. Of models judged one at a time it is about levels."""
    of = f"single {noun}s" if row.levels else "answers"
    if row.icc_worker is None:
        return f"how alike {of} of one worker are cannot be estimated"
    if row.icc_worker_low is None or row.icc_worker_high is None:
        return f"the ICC of {of} by worker is {signed(row.icc_worker)}, without an interval"
    icc = f"(ICC {signed(row.icc_worker)}, {signed_range(row.icc_worker_low, row.icc_worker_high)})"
    if row.icc_worker_low > 0:
        return f"{of} of one worker are alike{' in level' if row.levels else ''} {icc}"
    if row.icc_worker_high < 0:
        return f"{of} of one worker differ more than those of different ones {icc}"
    return f"whether {of} of one worker are alike cannot be told {icc}"


def _gap(row: MeasureRow) -> str:
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


def remarks(rows: Sequence[MeasureRow], told: MeasureRow) -> list[str]:
    """All that is to be said besides the sentence of ``told``."""
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
    named = "; ".join(f"{_icc_words(icc)} for {name_of(row)}" for row, icc in known)
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
    negative = [row for row in rows if row.icc_worker is not None and row.icc_worker < 0]
    standardised = [row for row in negative if row.unit == "z"]
    others = [row for row in negative if row.unit != "z"]
    sure = [row for row in others if row.icc_worker_high is not None and row.icc_worker_high < 0]
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
    return ", ".join(map(name_of, rows))


def _misleading(row: MeasureRow) -> bool:
    clustered, independent = row.detectable_gap, row.detectable_gap_independent
    return clustered is not None and independent is not None and clustered > 1.25 * independent
