"""Section ``likert``: ratings at the end of dialogues on scales of a few points (Smith et al. 2022)."""

from __future__ import annotations

from typing import Any, ClassVar

from pydantic import Field

from parlai_humaneval.report.deciding import deciding_p, pairs_apart
from parlai_humaneval.report.section import ALPHA, Options, Part, Section, disagreement
from parlai_humaneval.report.sections import likert_views as views
from parlai_humaneval.report.sections.likert_combos import LikertCombo, combo_rows
from parlai_humaneval.report.views import DataTable, Figure, Method
from parlai_humaneval.statistics.likert import (
    RATED_GROUP,
    ModelRatings,
    RatedCriterion,
    RatedPair,
    likert_groups,
    mean_rating,
    rated_pairs,
)
from parlai_humaneval.statistics.regression import TurnWeights, single_groups, weigh_turns
from parlai_humaneval.statistics.wording import counted, number_words, percent
from parlai_humaneval.tables.choices import ChoiceGroup
from parlai_humaneval.tables.from_records import Tables


class LikertPart(Part):
    """Ratings of one technique, setting, metric and criterion; "" where there is none."""

    technique: str
    setting: str
    metric: str
    criterion: str
    reversed: bool


class LikertModel(LikertPart):
    """A model's mean as it was rated (not reversed), with the interval clustered by worker."""

    model: str
    n: int
    n_workers: int
    mean: float | None
    ci_low: float | None
    ci_high: float | None
    sd: float | None
    minimum: float | None
    maximum: float | None


class LikertPair(LikertPart):
    """Two models on one criterion: mean of A minus mean of B, with the interval clustered by worker.

    ``p_value``: the paper's t test. ``effective_win_rate``: chance that A's rating is the better one, equal ones
    counting half; its interval and p are clustered.
    """

    model_a: str
    model_b: str
    n_a: int
    n_b: int
    difference: float | None
    ci_low: float | None
    ci_high: float | None
    statistic: float | None
    p_value: float | None
    p_holm: float | None
    p_clustered: float | None
    p_clustered_holm: float | None
    effective_win_rate: float | None
    effective_low: float | None
    effective_high: float | None
    p_effective: float | None
    p_effective_holm: float | None


class TurnTerm(Part):
    """A term of the regression of final ratings on per-turn rates; ``model`` "": all models together.

    ``ci_low``, ``ci_high`` and ``p_clustered`` are clustered by worker, the others the paper's.
    """

    technique: str
    setting: str
    model: str
    term: str
    n: int
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None
    paper_low: float | None
    paper_high: float | None
    p_value: float | None


class Likert(Section):
    """Final ratings on scales of points: means, pairs, regression on turns, combos with turns (Smith et al. 2022, §4)."""

    TITLE: ClassVar[str] = "Ratings at the end of dialogues"

    models: list[LikertModel]
    pairs: list[LikertPair] = Field(default_factory=list)
    regression: list[TurnTerm] = Field(default_factory=list)
    combos: list[LikertCombo] = Field(default_factory=list)

    def data_tables(self) -> list[DataTable]:
        return views.data_tables(self)

    def figures(self) -> list[Figure]:
        return views.figures(self)

    def methods(self) -> list[Method]:
        return views.methods(self)


def build(tables: Tables, options: Options) -> Likert | None:
    """Means, pairs and turn weights; None where nothing was rated on a scale of up to ten points."""
    groups = likert_groups(tables)
    if not groups:
        return None
    section = Likert(models=[])
    for group in groups:
        section.models += [_model(group, one, options.level) for one in group.models]
        section.pairs += [_pair(group, pair) for pair in rated_pairs(group, level=options.level)]
    turns = single_groups(tables)
    left_out = _regression(section, turns, groups, options.level)
    section.combos = list(combo_rows(turns, groups, options.level))
    section.headline = _headline(section, options.level)
    section.remarks = _remarks(section, left_out)
    return section


def _key(group: RatedCriterion) -> dict[str, Any]:
    return {name: getattr(group, name) for name in (*RATED_GROUP, "reversed")}


def _model(group: RatedCriterion, one: ModelRatings, level: float) -> LikertModel:
    result = mean_rating(group, one, level=level)
    return LikertModel(
        **_key(group),
        model=one.model,
        n=result.n,
        n_workers=len(set(one.workers)),
        mean=result.estimate,
        ci_low=result.ci_low,
        ci_high=result.ci_high,
        sd=float(one.values.std(ddof=1)) if len(one.values) > 1 else None,
        minimum=group.minimum,
        maximum=group.maximum,
    )


def _pair(group: RatedCriterion, pair: RatedPair) -> LikertPair:
    difference, paper, effective = pair.difference, pair.paper, pair.effective
    return LikertPair(
        **_key(group),
        model_a=pair.model_a.model,
        model_b=pair.model_b.model,
        n_a=len(pair.model_a.values),
        n_b=len(pair.model_b.values),
        difference=difference.estimate,
        ci_low=difference.ci_low,
        ci_high=difference.ci_high,
        statistic=paper.statistic,
        p_value=paper.p_value,
        p_holm=paper.p_holm,
        p_clustered=difference.p_value,
        p_clustered_holm=difference.p_holm,
        effective_win_rate=effective.estimate,
        effective_low=effective.ci_low,
        effective_high=effective.ci_high,
        p_effective=effective.p_value,
        p_effective_holm=effective.p_holm,
    )


def _regression(section: Likert, turns: list[ChoiceGroup], groups: list[RatedCriterion], level: float) -> int:
    """Fills the regression of each technique and setting; returns how many dialogues it could not use."""
    left_out = 0
    for setting in sorted({group.setting for group in turns}):
        here = [group for group in turns if group.setting == setting]
        # Tables from elsewhere say no setting of ratings: dialogues are matched by their names.
        found = weigh_turns(here, [group for group in groups if group.setting in ("", setting)], level=level)
        section.regression += [term for one in found for term in _terms(one, here[0].technique, setting)]
        left_out += found[0].left_out if found else 0
    return left_out


def _terms(weights: TurnWeights, technique: str, setting: str) -> list[TurnTerm]:
    return [
        TurnTerm(
            technique=technique,
            setting=setting,
            model=weights.model,
            term=term.name,
            n=term.n,
            estimate=term.estimate,
            ci_low=term.ci_low,
            ci_high=term.ci_high,
            p_clustered=term.p_value,
            paper_low=paper.ci_low,
            paper_high=paper.ci_high,
            p_value=paper.p_value,
        )
        for term, paper in zip(weights.terms, weights.paper, strict=True)
    ]


def _headline(section: Likert, level: float) -> str:
    if not section.pairs:
        one = section.models[0]
        rated = f"{one.model} was rated {number_words(one.mean)} on {one.criterion} on average"
        return f"{rated}{_interval(one.ci_low, one.ci_high, level)}."
    tested = [pair for pair in section.pairs if pair.p_clustered is not None] or section.pairs
    best = min(
        tested,
        key=lambda pair: (
            *(1.0 if p is None else p for p in (pair.p_clustered_holm, pair.p_clustered)),
            -abs(pair.difference or 0),
        ),
    )
    if not best.difference and all(not pair.difference for pair in section.pairs):
        return _equal(section)
    if len(section.pairs) == 1:
        return f"{_sentence(best, level)}."
    different = [p for p in section.pairs if p.p_clustered_holm is not None and p.p_clustered_holm < ALPHA]
    apart = pairs_apart(len(different), len(section.pairs), "models and criteria")
    return f"{apart[0].upper()}{apart[1:]}; the clearest: {_sentence(best, level)}."


def _equal(section: Likert) -> str:
    """Where no mean differs from another: no pair is “the clearest”."""
    criteria = sorted({pair.criterion for pair in section.pairs})
    models = sorted({name for pair in section.pairs for name in (pair.model_a, pair.model_b)})
    who, what = ", ".join(models), ", ".join(criteria)
    return f"On average {who} were rated exactly alike on {what}: nothing tells the models apart."


def _sentence(pair: LikertPair, level: float) -> str:
    difference, low, high = pair.difference or 0.0, pair.ci_low, pair.ci_high
    first, second = pair.model_a, pair.model_b
    if difference < 0:
        difference, first, second = -difference, second, first
        low, high = (None, None) if low is None or high is None else (-high, -low)
    points = "(reversed: more is worse) " if pair.reversed else ""
    return (
        f"{first} was rated {number_words(difference)} points higher than {second} on {pair.criterion} {points}"
        f"on average{_interval(low, high, level)}, {deciding_p(pair.p_clustered, pair.p_clustered_holm)}"
    )


def _interval(low: float | None, high: float | None, level: float) -> str:
    if low is None or high is None:
        return " (no interval can be given)"
    return f" ({percent(level)} interval {number_words(low)} to {number_words(high)})"


def _remarks(section: Likert, left_out: int) -> list[str]:
    found = [
        disagreement(f"{pair.model_a} against {pair.model_b}, {pair.criterion}", pair.p_value, pair.p_clustered)
        for pair in section.pairs
    ]
    turned = sorted({one.criterion for one in section.models if one.reversed})
    if turned:
        found.append(
            f"More is worse of {', '.join(turned)}: means are as rated, effective win rates count less as better."
        )
    if len({one.model for one in section.models}) == 1:
        found.append("Only one model was rated: there is nothing to compare.")
    if any(one.ci_low is None for one in section.models):
        found.append("Where no interval is given there are too few workers for one, or all of them agree.")
    if left_out:
        found.append(
            f"{counted(left_out, 'dialogue')} left out of the regression on turns: not of the usual number of turns, or "
            "without final ratings."
        )
    return [remark for remark in found if remark]
