"""Section ``crowd_time``: rater time spent, and when it was enough (Smith et al. 2022, App. C.6 and C.7)."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.report import views
from parlai_humaneval.report.section import Options, Section, told
from parlai_humaneval.statistics.core.formatting import seconds_words, with_article
from parlai_humaneval.statistics.core.means import t_test
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Column, Name, Row
from parlai_humaneval.statistics.core.sequential import SEQUENTIAL_SOURCE
from parlai_humaneval.statistics.core.shares import INDEPENDENT, binomial_test
from parlai_humaneval.statistics.preference.win_rates import effective_win_rate
from parlai_humaneval.statistics.raters import time
from parlai_humaneval.tables.build import Tables

MOST_MEDIANS = 2
"""Units whose median the headline tells."""
MOST_CURVES = 8
"""Curves of one figure: those of the smallest p at the end."""

HOUR = 3600.0
_CURVE_POINTS = 80


class PairTime(Row):
    """The rater hours after which the paper's test distinguished two models; None: never.

    ``paper``: that ``test`` at the end, of the answers that decided something; ``anytime``: the p-value that allows for
    looking after every answer, of comparisons only. ``hours``: of all answers (left-open pages count as the median), with
    onboarding where it is known, and the dialogues that had to be collected where ``collection`` is ``counted``.
    ``first_hours``: of the first look with p < .05, ``sustained_hours`` of the one from which on it stayed there,
    ``anytime_hours`` of the first with ``anytime`` below .05. ``chunk_sd``: of the win rate over ``n_chunks`` chunks of
    45 minutes. ``curve_…``: p over hours.
    """

    technique: Name
    setting: Name
    kind: Annotated[str, Column("Answers")]
    metric: Name
    model_a: Annotated[str, Column()]
    model_b: Annotated[str, Column()]
    test: Literal["binomial", "t"]
    paper: Annotated[Result, Column("Decided", "count", name="n", path="n")]
    hours: Annotated[float, Column("Hours in all")]
    first_hours: Annotated[float | None, Column("First p < .05")]
    sustained_hours: Annotated[float | None, Column("p < .05 to the end")]
    anytime_hours: Annotated[
        float | None,
        Column("Allowing for looks"),
        Column("p at the end", "p", name="p_value", of="paper", path="p_value"),
    ]
    anytime: Annotated[Result | None, Column("p allowing for looks", "p", name="p_anytime", path="p_value")]
    collection: Literal["none", "counted", "unknown"]
    chunk_sd: Annotated[float | None, Column("SD over chunks", "share")]
    n_chunks: Annotated[int, Column("Chunks")]
    curve_hours: list[float]
    curve_p: list[float]

    @property
    def title(self) -> str:
        return f"{self.metric} ({', '.join(filter(None, (self.technique, self.setting, self.kind)))})"


class CrowdTime(Section):
    """Rater time spent, by unit of work, and until two models were told apart (Smith et al. 2022, App. C.1 and C.7)."""

    TITLE: ClassVar[str] = "Rater time"

    spent: list[time.TimeSpent]
    pairs: list[PairTime] = Field(default_factory=list)

    def data_tables(self) -> list[views.DataTable]:
        return views.shown(views.table("crowd_time_spent", self.spent), views.table("crowd_time_pairs", self.pairs))

    def figures(self) -> list[views.Figure]:
        units = []
        for spent in self.spent:
            known = ", ".join(filter(None, (spent.technique, spent.setting)))
            units.append((f"{spent.unit} ({known})" if known else spent.unit, spent.trimmed))
        groups: dict[str, list[PairTime]] = {}
        for pair in self.pairs:
            if pair.curve_p:
                groups.setdefault(pair.title, []).append(pair)
        curves = [_curves(place, *group) for place, group in enumerate(groups.items(), start=1)]
        return [*views.interval_figures(**views.look("crowd_time_spent"), results=units), *curves]

    def methods(self) -> list[views.Method]:
        of_pairs = ("time_to_significance", "allowing_for_looks", "sd_over_chunks") if self.pairs else ()
        return [views.method("crowd_time", name) for name in ("rater_time", *of_pairs)]


def build(tables: Tables, options: Options) -> CrowdTime | None:
    """Time spent, and time to significance of every two models; None where no table has times."""
    spent = time.time_spent(tables, level=options.level)
    pairs = [_pair(answers, options) for answers in time.timed_answers(tables)]
    if not spent and not pairs:
        return None
    section = CrowdTime(spent=spent, pairs=pairs)
    apart = [pair for pair in pairs if pair.sustained_hours is not None]
    longest = sorted(spent, key=lambda unit: -unit.trimmed_hours)[:MOST_MEDIANS]
    words = told(
        "crowd_time",
        s=section,
        options=options,
        told=apart,
        fastest=min(apart, key=lambda pair: pair.sustained_hours or 0.0, default=None),
        hours=sum(unit.trimmed_hours for unit in spent),
        measured=sum(unit.hours for unit in spent),
        medians=dict.fromkeys(f"{seconds_words(unit.median_seconds)} {with_article(unit.unit)}" for unit in longest),
    )
    return section.model_copy(update=words)


def _pair(answers: time.TimedAnswers, options: Options) -> PairTime:
    times = time.cumulative_time(answers.seconds, answers.workers, onboarding=options.onboarding_seconds) / HOUR
    if answers.dialogue_seconds is not None:
        judgements = np.arange(1, len(times) + 1)
        times = times + time.collection_time(judgements, answers.dialogue_seconds, options.reuse) / HOUR
    # The paper's test of all answers; its p is that of the last look.
    if answers.of_a is None:
        decided = answers.values != 0.5
        times_of_looks = times[decided]
        found = time.time_to_significance(answers.values[decided], times_of_looks, alpha=ALPHA)
        name = f"win rate of {answers.model_a} over {answers.model_b}"
        at_end = binomial_test(int((answers.values == 1).sum()), found.n, name=name, level=options.level)
    else:
        times_of_looks = times
        found = time.time_to_difference(answers.values, answers.of_a, times, alpha=ALPHA)
        name = f"{answers.model_a} minus {answers.model_b}"
        at_end = t_test(answers.values[answers.of_a], answers.values[~answers.of_a], name=name)
    # Win rate of A in each full chunk; of single models the effective one.
    ends = time.chunk_ends(answers.seconds / 60, chunk=time.CHUNK_MINUTES)
    rates: list[float | None] = []
    for start, end in zip([0, *ends], ends, strict=False):
        values = answers.values[start:end]
        if answers.of_a is None:
            told = values[values != 0.5]
            rates.append(float(told.mean()) if told.size else None)
        else:
            of_a = answers.of_a[start:end]
            rates.append(effective_win_rate(values[of_a], values[~of_a]))
    rates = [rate for rate in rates if rate is not None]
    places: Ints = np.unique(np.linspace(0, found.n - 1, min(found.n, _CURVE_POINTS)).round().astype(int))
    return PairTime.of(
        answers,
        test="binomial" if answers.of_a is None else "t",
        paper=at_end.but(p_value=_last(found.p_values)),
        anytime=None  # there is no e-process for the test
        if found.anytime_p_values is None
        else Result(
            name=f"{answers.model_a} against {answers.model_b}, allowing for looks",
            p_value=_last(found.anytime_p_values),
            n=found.n,
            method="beta-binomial e-process",
            assumptions=(INDEPENDENT,),
            source=SEQUENTIAL_SOURCE,
        ),
        hours=float(times[-1]),
        first_hours=found.first,
        sustained_hours=found.sustained,
        anytime_hours=found.anytime,
        n_chunks=len(rates),
        chunk_sd=time.spread(rates),
        curve_hours=[round(float(times_of_looks[place]), 6) for place in places],
        curve_p=[float(found.p_values[place]) for place in places],
    )


def _last(p_values: Floats) -> float:
    """1 before the first look."""
    return float(p_values[-1]) if p_values.size else 1.0


def _curves(place: int, words: str, pairs: list[PairTime]) -> views.CurveFigure:
    clearest = sorted(pairs, key=lambda pair: pair.curve_p[-1])[:MOST_CURVES]
    more = f" ({len(clearest)} of {len(pairs)} pairs, the clearest)" if len(clearest) < len(pairs) else ""
    curves = (
        views.Curve(name=f"{pair.model_a} against {pair.model_b}", x=tuple(pair.curve_hours), y=tuple(pair.curve_p))
        for pair in clearest
    )
    return views.CurveFigure(**views.look("crowd_time_p", f"_{place}", words=words, more=more), curves=tuple(curves))
