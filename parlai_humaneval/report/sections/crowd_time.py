"""Section ``crowd_time``: what rater time was spent, and when it was enough (Smith et al. 2022, App. C.6 and C.7)."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published
from parlai_humaneval.report.section import Options, Section
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    Method,
    interval_figures,
    method,
)
from parlai_humaneval.statistics.core.formatting import counted, hours_words, seconds_words
from parlai_humaneval.statistics.core.means import t_test
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.sequential import SEQUENTIAL_SOURCE
from parlai_humaneval.statistics.core.shares import INDEPENDENT, binomial_test
from parlai_humaneval.statistics.preference.win_rates import effective_win_rate
from parlai_humaneval.statistics.raters.time import TimedAnswers, time_spent, timed_answers
from parlai_humaneval.statistics.raters.time_to_significance import (
    CHUNK_MINUTES,
    TimeToSignificance,
    chunk_ends,
    collection_time,
    cumulative_time,
    spread,
    time_to_difference,
    time_to_significance,
)
from parlai_humaneval.tables.build import Tables

MOST_MEDIANS = 2
"""Units whose median the headline tells."""
MOST_CURVES = 8
"""Curves of one figure: those of the smallest p at the end."""

_LABELS: Labels = {
    "n": ("Units", "count"),
    "median_seconds": ("Median", "seconds"),
    "trimmed_mean_seconds": ("Mean, trimmed", "seconds"),
    "trimmed_mean_low": ("From", "seconds"),
    "trimmed_mean_high": ("To", "seconds"),
    "trimmed_hours": ("Hours, trimmed", "number"),
    "n_cut": ("Left open", "count"),
    "mean_seconds": ("Mean as measured", "seconds"),
    "mean_low": ("From", "seconds"),
    "mean_high": ("To", "seconds"),
    "hours": ("Hours as measured", "number"),
    "kind": ("Answers", "text"),
    "first_hours": ("First p < .05", "number"),
    "sustained_hours": ("p < .05 to the end", "number"),
    "anytime_hours": ("Allowing for looks", "number"),
    "p_value": ("p at the end", "p"),
    "p_anytime": ("p allowing for looks", "p"),
    "chunk_sd": ("SD over chunks", "share"),
    "n_chunks": ("Chunks", "count"),
}
_SPENT = columns(
    "technique setting unit n n_workers median_seconds trimmed_mean_seconds trimmed_mean_low trimmed_mean_high "
    "trimmed_hours n_cut mean_seconds mean_low mean_high hours",
    _LABELS,
)
_PAIRS = columns(
    "technique setting kind metric model_a model_b n hours first_hours sustained_hours anytime_hours p_value "
    "p_anytime chunk_sd n_chunks",
    {**_LABELS, "n": ("Decided", "count"), "hours": ("Hours in all", "number")},
)
HOUR = 3600.0
_CURVE_POINTS = 80


class SpentTime(Row):
    """Rater time on one kind of unit: dialogue, judgement, attention check, segment, comparison or turn.

    ``trimmed``: the mean of a unit, clustered by worker, without the ``n_cut`` whose page was left open;
    ``trimmed_hours``: all units, these counted as the median. ``seconds``, ``hours``: as measured.
    """

    FROM = published(
        ends("trimmed", "trimmed_mean_seconds", "trimmed_mean"), ends("seconds", "mean_seconds", "mean"), n="seconds.n"
    )

    technique: str
    setting: str
    unit: str
    seconds: Result
    n_workers: int
    median_seconds: float
    hours: float
    trimmed: Result
    trimmed_hours: float
    n_cut: int


class PairTime(Row):
    """When the paper's test told two models apart, in rater hours; None where it never did.

    Attributes:
        test: binomial (comparisons) or t test (single models).
        paper: that test at the end, of the answers that decided something.
        anytime: the p-value that allows for looking after every answer; of comparisons only.
        hours: of all answers (left-open pages count as the median), with onboarding where it is known, and the dialogues
            that had to be collected where ``collection`` is ``counted``.
        first_hours: of the first look with p < .05, ``sustained_hours`` of the one from which on it stayed there.
        anytime_hours: of the first look at which ``anytime`` was below .05.
        collection: dialogues that were judged did not have to be collected (none), their time counts, or is unknown.
        chunk_sd: standard deviation of the win rate over ``n_chunks`` full chunks of 45 minutes, without collection.
        curve_hours, curve_p: p over hours, thinned out.
    """

    FROM = published(n="paper.n", p_value="paper.p_value", p_anytime="anytime.p_value")

    technique: str
    setting: str
    kind: str
    metric: str
    model_a: str
    model_b: str
    test: Literal["binomial", "t"]
    paper: Result
    anytime: Result | None
    hours: float
    first_hours: float | None
    sustained_hours: float | None
    anytime_hours: float | None
    collection: Literal["none", "counted", "unknown"]
    n_chunks: int
    chunk_sd: float | None
    curve_hours: list[float]
    curve_p: list[float]


class CrowdTime(Section):
    """Rater time spent, by unit of work, and until two models were told apart (Smith et al. 2022, App. C.1 and C.7)."""

    TITLE: ClassVar[str] = "Rater time"

    spent: list[SpentTime]
    pairs: list[PairTime] = Field(default_factory=list)

    def data_tables(self) -> list[DataTable]:
        notes = (
            "Hours until the paper's test was below .05: at the first look, and from which on it stayed there; and of a "
            "p-value that may be looked at after every answer. A dash: never within the time spent.",
        )
        found = [
            part_table("crowd_time_spent", "Time that raters spent", _SPENT, self.spent),
            part_table("crowd_time_pairs", "Rater hours to tell two models apart", _PAIRS, self.pairs, notes),
        ]
        return [table for table in found if table.rows]

    def figures(self) -> list[Figure]:
        return _figures(self)

    def methods(self) -> list[Method]:
        return _methods(self)


def build(tables: Tables, options: Options) -> CrowdTime | None:
    """Time spent, and time to significance of every two models; None where no table has times."""
    spent = [SpentTime(**spent._asdict()) for spent in time_spent(tables, level=options.level)]
    pairs = [_pair(answers, options) for answers in timed_answers(tables)]
    if not spent and not pairs:
        return None
    section = CrowdTime(spent=spent, pairs=pairs)
    section.headline = _headline(section)
    section.remarks = _remarks(section, options)
    return section


def _pair(answers: TimedAnswers, options: Options) -> PairTime:
    times = cumulative_time(answers.seconds, answers.workers, onboarding=options.onboarding_seconds) / HOUR
    if answers.dialogue_seconds is not None:
        judgements = np.arange(1, len(times) + 1)
        times = times + collection_time(judgements, answers.dialogue_seconds, options.reuse) / HOUR
    if answers.of_a is None:
        decided = answers.values != 0.5
        times_of_looks = times[decided]
        found = time_to_significance(answers.values[decided], times_of_looks, alpha=ALPHA)
    else:
        times_of_looks = times
        found = time_to_difference(answers.values, answers.of_a, times, alpha=ALPHA)
    rates = _chunk_rates(answers)
    hours, p = _thinned(times_of_looks, found)
    return PairTime(
        technique=answers.technique,
        setting=answers.setting,
        kind=answers.kind,
        metric=answers.metric,
        model_a=answers.model_a,
        model_b=answers.model_b,
        test="binomial" if answers.of_a is None else "t",
        paper=_at_end(answers, found, options.level),
        anytime=_allowing_for_looks(answers, found),
        hours=float(times[-1]),
        first_hours=found.first,
        sustained_hours=found.sustained,
        anytime_hours=found.anytime,
        collection=answers.collection,
        n_chunks=len(rates),
        chunk_sd=spread(rates),
        curve_hours=hours,
        curve_p=p,
    )


def _at_end(answers: TimedAnswers, found: TimeToSignificance, level: float) -> Result:
    """The paper's test of all answers; its p is that of the last look."""
    if answers.of_a is None:
        name = f"win rate of {answers.model_a} over {answers.model_b}"
        test = binomial_test(int((answers.values == 1).sum()), found.n, name=name, level=level)
    else:
        name = f"{answers.model_a} minus {answers.model_b}"
        test = t_test(answers.values[answers.of_a], answers.values[~answers.of_a], name=name)
    return test.but(p_value=_last(found.p_values))


def _allowing_for_looks(answers: TimedAnswers, found: TimeToSignificance) -> Result | None:
    """None where there is no e-process for the test."""
    if found.anytime_p_values is None:
        return None
    return Result(
        name=f"{answers.model_a} against {answers.model_b}, allowing for looks",
        p_value=_last(found.anytime_p_values),
        n=found.n,
        method="beta-binomial e-process",
        assumptions=(INDEPENDENT,),
        source=SEQUENTIAL_SOURCE,
    )


def _last(p_values: Floats) -> float:
    """1 before the first look."""
    return float(p_values[-1]) if p_values.size else 1.0


def _chunk_rates(answers: TimedAnswers) -> list[float | None]:
    """Win rate of A in each full chunk; of single models the effective one."""
    ends = chunk_ends(answers.seconds / 60, chunk=CHUNK_MINUTES)
    rates: list[float | None] = []
    for start, end in zip([0, *ends], ends, strict=False):
        values = answers.values[start:end]
        if answers.of_a is None:
            decided = values[values != 0.5]
            rates.append(float(decided.mean()) if decided.size else None)
        else:
            of_a = answers.of_a[start:end]
            rates.append(effective_win_rate(values[of_a], values[~of_a]))
    return [rate for rate in rates if rate is not None]


def _thinned(times: Floats, found: TimeToSignificance) -> tuple[list[float], list[float]]:
    if not found.n:
        return [], []
    places = np.unique(np.linspace(0, found.n - 1, min(found.n, _CURVE_POINTS)).round().astype(int))
    return [round(float(x), 6) for x in times[places]], [float(x) for x in found.p_values[places]]


def _headline(section: CrowdTime) -> str:
    parts = []
    if section.spent:
        parts.append(
            f"Raters spent {_hours(sum(one.trimmed_hours for one in section.spent))} hours{_medians(section)}."
        )
    told = [pair for pair in section.pairs if pair.sustained_hours is not None]
    if told:
        best = min(told, key=lambda pair: pair.sustained_hours or 0.0)
        parts.append(
            f"{len(told)} of {counted(len(section.pairs), 'comparison')} of two models became significant by the paper's "
            f"test and stayed so; the fastest was {best.model_a} against {best.model_b} ({_group_words(best)}) after "
            f"{hours_words(best.sustained_hours or 0.0)} rater hours, {_allowed(best)}."
        )
    elif section.pairs:
        parts.append("No two models became different for good by the paper's test within the time that was spent.")
    return " ".join(parts)


def _hours(hours: float) -> str:
    return f"{hours:,.1f}" if hours >= 0.1 else hours_words(hours)


def _medians(section: CrowdTime) -> str:
    """“, in the median 21 s a segment”, of the units that took most time."""
    longest = sorted(section.spent, key=lambda one: -one.trimmed_hours)[:MOST_MEDIANS]
    units = [f"{seconds_words(one.median_seconds)} a {one.unit}" for one in longest]
    return f", in the median {' and '.join(dict.fromkeys(units))}"


def _cut(section: CrowdTime) -> list[str]:
    n = sum(one.n_cut for one in section.spent)
    if not n:
        return []
    units = ", ".join(f"{one.n_cut:,} of {counted(one['n'], one.unit)}" for one in section.spent if one.n_cut)
    measured = _hours(sum(one.hours for one in section.spent))
    return [
        f"{units} took longer than an hour and ten times the median of their kind: a page that was left open rather than "
        f"work. Means leave them out, and in hours they count as the median ({measured} hours as measured). Nothing is "
        "deleted."
    ]


def _allowed(pair: PairTime) -> str:
    if pair.test == "t":
        return "for which there is no p-value that allows for looking"
    if pair.anytime_hours is None:
        return "though not by the p-value that allows for looking after every answer"
    return f"and after {hours_words(pair.anytime_hours)} by the p-value that allows for looking after every answer"


def _remarks(section: CrowdTime, options: Options) -> list[str]:
    found = _cut(section)
    if section.pairs:
        found.append(
            f"Hours until models differ hold {options.onboarding_seconds:g} seconds of onboarding for each worker, before "
            "the first answer."
            if options.onboarding_seconds
            else "Time of onboarding is not in the tables and does not count here (`--onboarding SECONDS` adds it)."
        )
    if any(pair.collection == "unknown" for pair in section.pairs):
        found.append(
            "Dialogues that were judged in pairs may have had to be collected from raters; their time is not in the "
            "tables and does not count."
        )
    if any(pair.collection == "counted" for pair in section.pairs):
        reuse = "" if options.reuse is None else f" and none is judged more than {counted(options.reuse, 'time')}"
        found.append(
            "Collecting the dialogues that were judged counts: as many of each model as are needed when no two are "
            f"paired twice{reuse}."
        )
    flipped = [p for p in section.pairs if p.first_hours is not None and p.sustained_hours is None]
    if flipped:
        found.append(
            f"{counted(len(flipped), 'comparison')} of two models passed p < .05 on the way but did not stay there: who "
            "had stopped at the first such look would have reported a difference."
        )
    return found


def _figures(section: CrowdTime) -> list[Figure]:
    of_units = [(_unit(spent), spent.trimmed) for spent in section.spent]
    found: list[Figure] = [
        *interval_figures(
            "crowd_time_spent",
            "Rater time a unit",
            "mean seconds without left-open pages, clustered interval",
            of_units,
        )
    ]
    groups: dict[str, list[PairTime]] = {}
    for pair in section.pairs:
        if pair.curve_p:
            groups.setdefault(_group_words(pair), []).append(pair)
    for number, (words, pairs) in enumerate(groups.items(), start=1):
        shown = sorted(pairs, key=lambda pair: pair.curve_p[-1])[:MOST_CURVES]
        more = f" ({len(shown)} of {len(pairs)} pairs, the clearest)" if len(shown) < len(pairs) else ""
        found.append(
            CurveFigure(
                key=f"crowd_time_p_{number}",
                title=f"p over rater hours, {words}{more}",
                x_label="rater hours",
                y_label="p-value of the paper's test",
                curves=tuple(
                    Curve(
                        name=f"{pair.model_a} against {pair.model_b}", x=tuple(pair.curve_hours), y=tuple(pair.curve_p)
                    )
                    for pair in shown
                ),
                reference=0.05,
            )
        )
    return found


def _group_words(pair: PairTime) -> str:
    return f"{pair.metric} ({', '.join(text for text in (pair.technique, pair.setting, pair.kind) if text)})"


def _unit(one: SpentTime) -> str:
    known = ", ".join(text for text in (one.technique, one.setting) if text)
    return f"{one.unit} ({known})" if known else one.unit


def _methods(section: CrowdTime) -> list[Method]:
    found = [method("crowd_time", "rater_time")]
    if section.pairs:
        found += [
            method("crowd_time", "time_to_significance"),
            method("crowd_time", "allowing_for_looks"),
            method("crowd_time", "sd_over_chunks"),
        ]
    return found
