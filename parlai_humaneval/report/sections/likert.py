"""Section ``likert``: ratings at the end of dialogues on scales of a few points (Smith et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby
from typing import Any, ClassVar

from pydantic import Field

from parlai_humaneval.report.conclusions import (
    about_dialogues,
    apart_words,
    clearness,
    counted_once,
    holm_methods,
    pair_p,
    reuse_methods,
    rough_guides,
    to_cite,
)
from parlai_humaneval.report.rows import Labels, Row, columns, ends, every_worker_once, part_table, published
from parlai_humaneval.report.section import ModelLine, Options, PairLine, Section, Summary, results_disagree
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    IntervalFigure,
    Method,
    curve_of,
    interval_figures,
    method,
)
from parlai_humaneval.statistics.core.formatting import counted, format_number, listed, percent
from parlai_humaneval.statistics.core.means import clustered_difference, t_test
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.win_rates import effective_win_test
from parlai_humaneval.statistics.ranking.order import EQUAL
from parlai_humaneval.statistics.ratings.combined import SINGLE_WEIGHTS, single_combos
from parlai_humaneval.statistics.ratings.likert import (
    RATED_GROUP,
    ModelRatings,
    RatedCriterion,
    likert_groups,
    mean_rating,
    rated_pairs,
)
from parlai_humaneval.statistics.ratings.regression import single_groups, turn_weights
from parlai_humaneval.statistics.ratings.sliders import TECHNIQUE as DIRECT_ASSESSMENT
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.choices import ComparisonGroup


class LikertRow(Row):
    """Ratings of one technique, setting, metric and criterion; "" where there is none."""

    technique: str
    setting: str
    metric: str
    criterion: str
    reversed: bool

    @property
    def family(self) -> Family:
        """What is corrected for, and answered, together."""
        return Family(self.technique, self.setting, self.metric, self.criterion)


class LikertModel(LikertRow):
    """A model's mean as it was rated (not reversed); the interval is by worker, and by dialogue where several rated it."""

    FROM = published(ends("mean", "mean"), n="mean.n")

    model: str
    n_workers: int
    mean: Result
    sd: float | None
    minimum: float | None
    maximum: float | None


class LikertPair(LikertRow):
    """Two models on one criterion: mean of A minus mean of B, with the interval clustered by worker, and by dialogue
    where several workers rated the same; ``p_worker``: by worker alone, None where that is ``p_clustered``.

    ``p_value``: the paper's t test. ``effective_win_rate``: chance that A's rating is the better one, equal ones
    counting half; its interval and p are clustered. ``…_holm``: corrected over the ``family``.
    """

    FROM = published(
        ends("gap", "difference"),
        ends("effective", "effective_win_rate", "effective"),
        {name: f"paper.{name}" for name in ("statistic", "p_value", "p_holm")},
        {name: f"gap.details.{name}" for name in ("family", "family_tests")},
        every_worker_once("gap"),
        p_clustered="gap.p_value",
        p_clustered_holm="gap.p_holm",
        p_worker="gap.details.p_by_worker",
        p_effective="effective.p_value",
        p_effective_holm="effective.p_holm",
    )

    model_a: str
    model_b: str
    n_a: int
    n_b: int
    gap: Result
    paper: Result
    effective: Result

    @property
    def line(self) -> PairLine:
        """The pair with the better one first: that was rated higher, or lower where more is worse."""
        return PairLine.of(
            self.model_a,
            self.model_b,
            self.gap,
            self.paper.p_value,
            share=False,
            paper=self.paper,
            superiority=self.effective,
            fewer_is_better=self.reversed,
        )


class TurnTerm(Row):
    """A term of the regression of final ratings on per-turn rates; ``model`` "": all models together.

    ``ci_low``, ``ci_high`` and ``p_clustered`` are clustered by worker, the others the paper's.
    """

    FROM = published(
        ends("clustered"),
        {"paper_low": "paper.ci_low", "paper_high": "paper.ci_high", "p_value": "paper.p_value"},
        term="clustered.name",
        n="clustered.n",
        p_clustered="clustered.p_value",
    )

    technique: str
    setting: str
    model: str
    clustered: Result
    paper: Result


class LikertCombo(Row):
    """Two models by weighted means of a conversation's turns and its rating, ``w_turn`` : ``w_dialog``.

    ``metric``: of turns; ``criterion``: of ratings. ``difference``: mean of A minus mean of B, from 0 to 1 each, with
    the interval clustered by worker; ``p_value``: the paper's t test. ``effective_win_rate``: chance that A's score is
    the higher one, equal ones counting half.
    """

    FROM = published(
        ends("gap", "difference"),
        ends("effective", "effective_win_rate", "effective"),
        p_value="paper.p_value",
        p_clustered="gap.p_value",
    )

    technique: str
    setting: str
    metric: str
    criterion: str
    w_turn: float
    w_dialog: float
    model_a: str
    model_b: str
    n_a: int
    n_b: int
    mean_a: float
    mean_b: float
    gap: Result
    paper: Result
    effective: Result


class Likert(Section):
    """Final ratings on scales of points: means, pairs, regression on turns, combos with turns (Smith et al. 2022, §4)."""

    TITLE: ClassVar[str] = "Ratings at the end of dialogues"

    models: list[LikertModel]
    pairs: list[LikertPair] = Field(default_factory=list)
    regression: list[TurnTerm] = Field(default_factory=list)
    combos: list[LikertCombo] = Field(default_factory=list)
    summaries: list[Summary] = Field(default_factory=list, exclude=True)

    def summary(self) -> list[Summary]:
        """An answer for each criterion."""
        return self.summaries

    def data_tables(self) -> list[DataTable]:
        tables = [
            part_table("likert_models", "Mean ratings", columns(MODELS, LABELS), self.models),
            part_table(
                "likert_pairs",
                "Every two models",
                columns(PAIRS, LABELS),
                self.pairs,
                to_cite([pair.line for pair in self.pairs if pair.technique != DIRECT_ASSESSMENT]),
            ),
            part_table(
                "likert_turn_weights",
                "Which turns weigh in the final ratings",
                columns(TERMS, TERM_LABELS),
                self.regression,
            ),
            part_table("likert_combos", "Turns and final rating together", columns(COMBOS, COMBO_LABELS), self.combos),
        ]
        return [table for table in tables if table.rows]

    def figures(self) -> list[Figure]:
        """Means with intervals, a figure a criterion; and the coefficient of each turn."""
        figures: list[Figure] = []
        for number, (_, rows) in enumerate(groupby(self.models, key=lambda row: row.family), start=1):
            figures += _mean_figure(number, list(rows))
        curves = tuple(_curves(self.regression))
        if curves:
            weights = CurveFigure(
                key="likert_turn_weights",
                title="Weight of each turn in the final rating",
                x_label="turn",
                y_label="coefficient",
                curves=curves,
                reference=0.0,
            )
            figures.append(weights)
        return figures

    def methods(self) -> list[Method]:
        """How the numbers shown were made, and no others."""
        return [
            MEANS,
            *(OF_PAIRS if self.pairs else []),
            *reuse_methods([pair.gap for pair in self.pairs] or [row.mean for row in self.models]),
            *holm_methods(pair.gap for pair in self.pairs),
            *([TOGETHER] if self.combos else []),
            *([WEIGHTS] if self.regression else []),
        ]


def build(tables: Tables, options: Options) -> Likert | None:
    """Means, pairs and turn weights; None where nothing was rated on a scale of up to ten points."""
    groups = likert_groups(tables)
    if not groups:
        return None
    level = options.level
    section = Likert(models=[])
    for group in groups:
        section.models += [_model(group, ratings, level) for ratings in group.models]
        section.pairs += _pairs(group, level)
    turns = single_groups(tables)
    left_out = _add_regression(section, turns, groups, level)
    section.combos = list(_combos(turns, groups, level))
    section.summaries = [_summary(section, group.family, level) for group in groups]
    section.headline = _verdict(section.models, section.pairs, level)
    section.remarks = _remarks(section, left_out)
    return section


def _where(group: RatedCriterion) -> dict[str, Any]:
    return {name: getattr(group, name) for name in (*RATED_GROUP, "reversed")}


def _model(group: RatedCriterion, ratings: ModelRatings, level: float) -> LikertModel:
    return LikertModel(
        **_where(group),
        model=ratings.model,
        n_workers=len(set(ratings.workers)),
        mean=mean_rating(group, ratings, level=level),
        sd=float(ratings.values.std(ddof=1)) if len(ratings.values) > 1 else None,
        minimum=group.minimum,
        maximum=group.maximum,
    )


def _pairs(group: RatedCriterion, level: float) -> list[LikertPair]:
    return [
        LikertPair(
            **_where(group),
            model_a=pair.model_a.model,
            model_b=pair.model_b.model,
            n_a=len(pair.model_a.values),
            n_b=len(pair.model_b.values),
            gap=pair.difference,
            paper=pair.paper,
            effective=pair.effective,
        )
        for pair in rated_pairs(group, level=level)
    ]


def _add_regression(
    section: Likert, turns: Sequence[ComparisonGroup], groups: Sequence[RatedCriterion], level: float
) -> int:
    """Fills the regression of each technique and setting; returns how many dialogues it could not use."""
    left_out = 0
    for setting in sorted({group.setting for group in turns}):
        here = [group for group in turns if group.setting == setting]
        # Tables from elsewhere say no setting of ratings: dialogues are matched by their names.
        fits = turn_weights(here, [group for group in groups if group.setting in ("", setting)], level=level)
        section.regression += [
            TurnTerm(technique=here[0].technique, setting=setting, model=fit.model, clustered=clustered, paper=paper)
            for fit in fits
            for clustered, paper in zip(fit.terms, fit.paper, strict=True)
        ]
        left_out += fits[0].left_out if fits else 0
    return left_out


def _combos(turns: Sequence[ComparisonGroup], rated: Sequence[RatedCriterion], level: float) -> Iterator[LikertCombo]:
    asked = {group.metric for group in turns}
    for group in turns:
        # Tables from elsewhere say no setting of ratings: dialogues are matched by their names.
        fitting = [criterion for criterion in rated if criterion.setting in ("", group.setting)]
        namesakes = [criterion for criterion in fitting if criterion.criterion == group.metric]
        for criterion in namesakes or [other for other in fitting if other.criterion not in asked]:
            for weights in SINGLE_WEIGHTS:
                yield from _combos_of(group, criterion, weights, level)


def _combos_of(
    group: ComparisonGroup, rated: RatedCriterion, weights: tuple[float, float], level: float
) -> Iterator[LikertCombo]:
    for a, b in combinations(single_combos(group, rated, *weights), 2):
        yield LikertCombo(
            technique=group.technique,
            setting=group.setting,
            metric=group.metric,
            criterion=rated.criterion,
            w_turn=weights[0],
            w_dialog=weights[1],
            model_a=a.model,
            model_b=b.model,
            n_a=len(a.values),
            n_b=len(b.values),
            mean_a=float(a.values.mean()),
            mean_b=float(b.values.mean()),
            gap=clustered_difference(a.values, a.workers, b.values, b.workers, limits=(-1.0, 1.0), level=level),
            paper=t_test(a.values, b.values),
            effective=effective_win_test(a.values, a.workers, b.values, b.workers, level=level),
        )


# Words.


def _summary(section: Likert, family: Family, level: float) -> Summary:
    models = [row for row in section.models if row.family == family]
    pairs = [row for row in section.pairs if row.family == family]
    worse = models[0].reversed
    models.sort(key=lambda row: (row.mean.estimate or 0.0) * (1 if worse else -1))
    ends_of_scale = (models[0].minimum, models[0].maximum)
    scale = "" if None in ends_of_scale else f", {ends_of_scale[0]:g} to {ends_of_scale[1]:g}"
    return Summary(
        section="likert",
        **family._asdict(),
        what=f"mean rating of {family.question}{scale}{' (more is worse)' if worse else ''}",
        verdict=_verdict(models, pairs, level),
        models=[ModelLine.of(row.model, row.mean, "ratings", share=False) for row in models],
        pairs=[pair.line for pair in pairs],
        reference=None,
        model_table="likert_models",
        pair_table="likert_pairs" if pairs else "",
        remarks=[
            *_disagreements(pairs),
            *rough_guides(pair.gap for pair in pairs),
            *counted_once(pair.gap for pair in pairs),
            *about_dialogues(pair.gap for pair in pairs),
            *_on_models(models),
        ],
    )


def _verdict(models: Sequence[LikertModel], pairs: Sequence[LikertPair], level: float) -> str:
    if not pairs:
        alone = models[0]
        rated = f"{alone.model} was rated {format_number(alone.mean.estimate)} on {alone.criterion} on average"
        return f"{rated}{_interval(alone.mean.ci_low, alone.mean.ci_high, level)}."
    clearest = min(pairs, key=lambda pair: clearness(pair.line))
    if all(not pair.gap.estimate for pair in pairs):
        return _equal(pairs)
    if len(pairs) == 1:
        return f"{_sentence(clearest, level)}."
    criteria = {pair.criterion for pair in pairs}
    what = "models and criteria" if len(criteria) > 1 else "models"
    apart = apart_words([pair.line for pair in pairs], what)
    return f"{apart}; the clearest: {_sentence(clearest, level)}."


def _equal(pairs: Sequence[LikertPair]) -> str:
    """Where no mean differs from another: no pair is “the clearest”."""
    criteria = sorted({pair.criterion for pair in pairs})
    models = sorted({name for pair in pairs for name in (pair.model_a, pair.model_b)})
    return (
        f"On average {listed(models)} were rated exactly alike on {listed(criteria)}: nothing tells the models apart."
    )


def _sentence(pair: LikertPair, level: float) -> str:
    line = pair.line
    if line.gap is not None and line.gap < EQUAL:
        return f"{line.first} and {line.second} were rated exactly alike on {pair.criterion} on average, {pair_p(line)}"
    points, which = ("(reversed: more is worse) ", "lower") if pair.reversed else ("", "higher")
    return (
        f"{line.first} was rated {format_number(line.gap)} points {which} than {line.second} on {pair.criterion} {points}"
        f"on average{_interval(line.low, line.high, level)}, {pair_p(line)}"
        f"{'; they are statistically tied' if line.differs is False else ''}"
    )


def _interval(low: float | None, high: float | None, level: float) -> str:
    if low is None or high is None:
        return " (no interval can be given)"
    return f" ({percent(level)} interval {format_number(low)} to {format_number(high)})"


def _disagreements(pairs: Sequence[LikertPair]) -> list[str]:
    said = [
        results_disagree(f"{pair.model_a} against {pair.model_b}, {pair.criterion}", pair.paper, pair.gap)
        for pair in pairs
    ]
    return [remark for remark in said if remark]


def _on_models(models: Sequence[LikertModel]) -> Iterator[str]:
    turned = sorted({row.criterion for row in models if row.reversed})
    if turned:
        yield f"More is worse of {', '.join(turned)}: means are as rated, effective win rates count less as better."
    if len({row.model for row in models}) == 1:
        yield "Only one model was rated: there is nothing to compare."
    if any(row.mean.ci_low is None for row in models):
        yield "Where no interval is given there are too few workers for one, or all of them agree."


def _remarks(section: Likert, left_out: int) -> list[str]:
    remarks = [*_disagreements(section.pairs), *_on_models(section.models)]
    if left_out:
        remarks.append(
            f"{counted(left_out, 'dialogue')} left out of the regression on turns: not of the usual number of turns, or "
            "without final ratings."
        )
    return remarks


MEANS = method("likert", "mean_ratings")
OF_PAIRS = (
    method("likert", "difference_of_two_models"),
    method("likert", "effective_win_rate"),
)
TOGETHER = method("likert", "turns_and_rating_together")
WEIGHTS = method("likert", "weight_of_turns")


# Tables and figures.

LABELS: Labels = {
    "criterion": ("Criterion", "text"),
    "n": ("Ratings", "count"),
    "sd": ("SD", "number"),
    "minimum": ("Least", "number"),
    "maximum": ("Most", "number"),
    "p_value": ("p, t test (paper)", "p"),
    "p_holm": ("p, t test, Holm", "p"),
    "effective_win_rate": ("Superiority of A (effective win rate)", "share"),
    "p_effective": ("p, effective", "p"),
    "p_effective_holm": ("p, effective, Holm", "p"),
}
TERM_LABELS: Labels = {
    **LABELS,
    "model": ("Model (none: all)", "text"),
    "term": ("Term", "text"),
    "estimate": ("Coefficient", "number"),
    "paper_low": ("From, classical", "number"),
    "paper_high": ("To, classical", "number"),
    "p_value": ("p, classical", "p"),
    "n": ("Dialogues", "count"),
}
COMBO_LABELS: Labels = {
    **LABELS,
    "metric": ("Turns", "text"),
    "criterion": ("Rating", "text"),
    "w_turn": ("Weight of turns", "number"),
    "w_dialog": ("of rating", "number"),
    "mean_a": ("Mean of A", "number"),
    "mean_b": ("Mean of B", "number"),
}
MODELS = "technique setting metric criterion model n n_workers mean ci_low ci_high sd minimum maximum"
PAIRS = (
    "technique setting metric criterion model_a model_b difference ci_low ci_high p_clustered p_clustered_holm p_value "
    "p_holm effective_win_rate effective_low effective_high p_effective p_effective_holm per_worker p_per_worker_holm"
)
TERMS = "technique setting model term estimate ci_low ci_high p_clustered paper_low paper_high p_value n"
COMBOS = (
    "technique setting metric criterion w_turn w_dialog model_a model_b mean_a mean_b difference ci_low ci_high "
    "p_clustered p_value effective_win_rate effective_low effective_high"
)


def _mean_figure(number: int, models: Sequence[LikertModel]) -> list[IntervalFigure]:
    first = models[0]
    known = ", ".join(text for text in (first.technique, first.setting, first.metric) if text)
    return interval_figures(
        f"likert_means_{number}",
        f"Mean rating, {first.criterion}" + (f" ({known})" if known else ""),
        "mean rating (more is worse)" if first.reversed else "mean rating",
        [(row.model, row.mean) for row in models],
    )


def _curves(terms: Sequence[TurnTerm]) -> Iterator[Curve]:
    turns = [row for row in terms if row.clustered.name.startswith("turn ") and row.clustered.estimate is not None]
    several = len({(row.technique, row.setting) for row in turns}) > 1
    for (_, setting, model), rows in groupby(turns, key=lambda row: (row.technique, row.setting, row.model)):
        name = model or "all models"
        results = [row.clustered for row in rows]
        named = f"{name}, {setting}" if several and setting else name
        numbers = [float(result.name.removeprefix("turn ")) for result in results]
        yield curve_of(named, numbers, results, band=not model)
