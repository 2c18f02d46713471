"""Section ``likert``: ratings at the end of dialogues on scales of a few points (Smith et al. 2022)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, groupby
from typing import Annotated, Any, ClassVar

from pydantic import Field

from parlai_humaneval.report import conclusions, views
from parlai_humaneval.report.section import ModelLine, Options, PairLine, Section, Summary, say, sentence
from parlai_humaneval.statistics.core import rows as cells
from parlai_humaneval.statistics.core.means import clustered_difference, t_test
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.win_rates import effective_win_test
from parlai_humaneval.statistics.ranking.order import EQUAL
from parlai_humaneval.statistics.ratings import likert
from parlai_humaneval.statistics.ratings.likert import single_groups, turn_weights
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.choices import ComparisonGroup
from parlai_humaneval.techniques.registry import with_trait

OF_PAIRS = ("difference_of_two_models", "effective_win_rate")
EFFECTIVE = cells.Estimate(
    "Superiority of A (effective win rate)", "share", name="effective_win_rate", ends="effective"
)


class LikertRow(cells.AskedRow):
    """Ratings of one technique, setting, metric and criterion; "" where there is none."""

    criterion: Annotated[str, cells.Column("Criterion")]
    reversed: bool

    @property
    def family(self) -> Family:
        """The family for corrections, which also gets one answer."""
        return Family(self.technique, self.setting, self.metric, self.criterion)


class LikertModel(LikertRow):
    """A model's mean as it was rated (not reversed); the interval is by worker, and by dialogue where several rated it."""

    model: cells.Name
    n_workers: Annotated[int, cells.Column("Ratings", name="n", of="mean", path="n"), cells.Column()]
    mean: Annotated[Result, cells.Estimate(ends="ci")]
    sd: Annotated[float | None, cells.Column("SD")]
    minimum: Annotated[float | None, cells.Column("Least")]
    maximum: Annotated[float | None, cells.Column("Most")]


class LikertPair(LikertRow):
    """Two models on one criterion: mean of A minus mean of B, with the interval clustered by rater, and by dialogue
    where several workers rated the same; ``p_worker``: by worker alone, None where that is ``p_clustered``.

    ``p_value``: the paper's t test. ``effective_win_rate``: chance that A's rating is the better one, equal ones
    counting half; its interval and p are clustered. ``…_holm``: corrected over the ``family``.
    """

    model_a: cells.Name
    model_b: cells.Name
    n_a: int
    n_b: int
    gap: Annotated[
        Result,
        cells.Estimate(name="difference", ends="ci"),
        cells.p_columns(after="p_holm"),
        cells.Key(name="p_worker", path="details.p_by_worker"),
        cells.FAMILY,
        cells.once_columns(),
    ]
    paper: Annotated[
        Result,
        cells.Key(name="statistic", path="statistic"),
        cells.p_columns("p_value", "p_value", "p, t test (paper)", "p, t test, Holm", "p_holm"),
    ]
    effective: Annotated[
        Result, EFFECTIVE, cells.p_columns("p_value", "p_effective", "p, effective", "p, effective, Holm", "p_holm")
    ]

    @property
    def line(self) -> PairLine:
        """The pair with the better model first: rated higher, or lower if more is worse."""
        tests: dict[str, Any] = {"paper": self.paper, "superiority": self.effective}
        names = (self.model_a, self.model_b)
        return PairLine.of(*names, self.gap, self.paper.p_value, share=False, fewer_is_better=self.reversed, **tests)


class TurnTerm(cells.Row):
    """A term of the regression of final ratings on per-turn rates; ``model`` "": all models together.

    ``ci_low``, ``ci_high`` and ``p_clustered`` are clustered by rater, the others the paper's.
    """

    technique: cells.Name
    setting: cells.Name
    model: Annotated[str, cells.Column("Model (none: all)")]
    clustered: Annotated[
        Result,
        cells.Column("Term", "text", name="term", path="name"),
        cells.Estimate("Coefficient", name="estimate", ends="ci"),
        cells.Column(kind="p", name="p_clustered", path="p_value"),
    ]
    paper: Annotated[
        Result,
        cells.Column("From, classical", name="paper_low", path="ci_low"),
        cells.Column("To, classical", name="paper_high", path="ci_high"),
        cells.Column("p, classical", "p", name="p_value", path="p_value"),
        cells.Column("Dialogues", "count", name="n", of="clustered", path="n"),
    ]


class LikertCombo(cells.Row):
    """Two models by weighted means of a conversation's turns and its rating, ``w_turn`` : ``w_dialog``.

    ``metric``: of turns; ``criterion``: of ratings. ``difference``: mean of A minus mean of B, from 0 to 1 each, with
    the interval clustered by rater; ``p_value``: the paper's t test. ``effective_win_rate``: chance that A's score is
    the higher one, equal ones counting half.
    """

    technique: cells.Name
    setting: cells.Name
    metric: Annotated[str, cells.Column("Turns")]
    criterion: Annotated[str, cells.Column("Rating")]
    w_turn: Annotated[float, cells.Column("Weight of turns")]
    w_dialog: Annotated[float, cells.Column("of rating")]
    model_a: cells.Name
    model_b: cells.Name
    n_a: int
    n_b: int
    mean_a: Annotated[float, cells.Column("Mean of A")]
    mean_b: Annotated[float, cells.Column("Mean of B")]
    gap: Annotated[
        Result, cells.Estimate(name="difference", ends="ci"), cells.Column(kind="p", name="p_clustered", path="p_value")
    ]
    paper: Annotated[Result, cells.Column("p, t test (paper)", "p", name="p_value", path="p_value")]
    effective: Annotated[Result, EFFECTIVE]


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

    def data_tables(self) -> list[views.DataTable]:
        own = [pair.line for pair in self.pairs if pair.technique not in with_trait("sliders")]
        cited = conclusions.to_cite(own, self.of_decided)
        rows: dict[str, Sequence[cells.Row]] = {"models": self.models, "pairs": self.pairs}
        rows |= {"turn_weights": self.regression, "combos": self.combos}
        notes = {"pairs": cited}
        return views.shown(*(views.table(f"likert_{of}", rows[of], *notes.get(of, ())) for of in rows))

    def figures(self) -> list[views.Figure]:
        """Means with intervals, a figure a criterion; and the coefficient of each turn."""
        figures: list[views.Figure] = []
        for number, (_, rows) in enumerate(groupby(self.models, key=lambda row: row.family), start=1):
            first, *others = rows
            known = ", ".join(text for text in (first.technique, first.setting, first.metric) if text)
            words = {"criterion": first.criterion, "where": f" ({known})" if known else ""}
            words["worse"] = " (more is worse)" if first.reversed else ""
            means = [(row.model, row.mean) for row in (first, *others)]
            figures += views.interval_figures(**views.look("likert_means", f"_{number}", **words), results=means)
        curves = _curves(self.regression)
        return [*figures, *views.curve_figures(**views.look("likert_turn_weights"), curves=curves)]

    def methods(self) -> list[views.Method]:
        """The methods behind the numbers shown."""
        return [
            views.method("likert", "mean_ratings"),
            *(views.method("likert", name) for name in OF_PAIRS if self.pairs),
            *conclusions.reuse_methods([pair.gap for pair in self.pairs] or [row.mean for row in self.models]),
            *conclusions.holm_methods(pair.gap for pair in self.pairs),
            *([views.method("likert", "turns_and_rating_together")] if self.combos else []),
            *([views.method("likert", "weight_of_turns")] if self.regression else []),
        ]


def build(tables: Tables, options: Options) -> Likert | None:
    """Means, pairs and turn weights; None where nothing was rated on a scale of up to ten points."""
    groups = likert.likert_groups(tables)
    if not groups:
        return None
    level = options.level
    section = Likert(models=[])
    for group in groups:
        section.models += [
            LikertModel.of(
                group,
                model=ratings.model,
                n_workers=len(set(ratings.workers)),
                mean=likert.mean_rating(group, ratings, level=level),
                sd=float(ratings.values.std(ddof=1)) if len(ratings.values) > 1 else None,
            )
            for ratings in group.models
        ]
        for pair in likert.rated_pairs(group, level=level):
            a, b = pair.model_a, pair.model_b
            named = {"model_a": a.model, "model_b": b.model, "n_a": len(a.values), "n_b": len(b.values)}
            section.pairs.append(LikertPair.of(group, pair, named, gap=pair.difference))
    turns = single_groups(tables)
    # Fills the regression of each technique and setting; returns how many dialogues it could not use.
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
    left_out = left_out
    section.combos = list(_combos(turns, groups, level))
    section.summaries = [_summary(section, group.family, level) for group in groups]
    section.headline = _verdict(section.models, section.pairs, level)
    section.remarks = [*_disagreements(section.pairs), *_on_models(section.models, left_out)]
    return section


def _combos(
    turns: Sequence[ComparisonGroup], rated: Sequence[likert.RatedCriterion], level: float
) -> Iterator[LikertCombo]:
    asked = {group.metric for group in turns}
    for group in turns:
        # Tables from elsewhere say no setting of ratings: dialogues are matched by their names.
        fitting = [criterion for criterion in rated if criterion.setting in ("", group.setting)]
        namesakes = [criterion for criterion in fitting if criterion.criterion == group.metric]
        for criterion in namesakes or [other for other in fitting if other.criterion not in asked]:
            for w_turn, w_dialog in likert.SINGLE_WEIGHTS:
                for a, b in combinations(likert.single_combos(group, criterion, w_turn, w_dialog), 2):
                    ratings = (a.values, a.workers, b.values, b.workers)
                    yield LikertCombo.of(
                        group,
                        criterion=criterion.criterion,
                        w_turn=w_turn,
                        w_dialog=w_dialog,
                        model_a=a.model,
                        model_b=b.model,
                        n_a=len(a.values),
                        n_b=len(b.values),
                        mean_a=float(a.values.mean()),
                        mean_b=float(b.values.mean()),
                        gap=clustered_difference(*ratings, limits=(-1.0, 1.0), level=level),
                        paper=t_test(a.values, b.values),
                        effective=effective_win_test(*ratings, level=level),
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
        model_table="likert_models",
        pair_table="likert_pairs" if pairs else "",
        remarks=[
            *_disagreements(pairs),
            *conclusions.rough_guides(pair.gap for pair in pairs),
            *conclusions.counted_once(pair.gap for pair in pairs),
            *conclusions.about_dialogues(pair.gap for pair in pairs),
            *_on_models(models),
        ],
    )


def _verdict(models: Sequence[LikertModel], pairs: Sequence[LikertPair], level: float) -> str:
    clearest = min(pairs, key=lambda pair: conclusions.clearness(pair.line), default=None)
    criteria = sorted({pair.criterion for pair in pairs})
    line, what = None if clearest is None else clearest.line, "models and criteria" if criteria[1:] else "models"
    return sentence(
        "likert",
        "verdict",
        alone=models[0],
        pairs=pairs,
        pair=clearest,
        line=line,
        level=level,
        all_equal=all(not pair.gap.estimate for pair in pairs),
        criteria=criteria,
        models=sorted({name for pair in pairs for name in (pair.model_a, pair.model_b)}),
        alike=line is not None and line.gap is not None and line.gap < EQUAL,
        apart=conclusions.apart_words([pair.line for pair in pairs], what),
        p="" if line is None else conclusions.pair_p(line),
    )


def _disagreements(pairs: Sequence[LikertPair]) -> list[str]:
    said = (
        conclusions.results_disagree(f"{pair.model_a} against {pair.model_b}, {pair.criterion}", pair.paper, pair.gap)
        for pair in pairs
    )
    return list(filter(None, said))


def _on_models(models: Sequence[LikertModel], left_out: int = 0) -> list[str]:
    worse = sorted({row.criterion for row in models if row.reversed})
    return say("likert", "remarks", models=models, worse=worse, left_out=left_out)


def _curves(terms: Sequence[TurnTerm]) -> Iterator[views.Curve]:
    turns = [row for row in terms if row.clustered.name.startswith("turn ") and row.clustered.estimate is not None]
    several = len({(row.technique, row.setting) for row in turns}) > 1
    for (_, setting, model), rows in groupby(turns, key=lambda row: (row.technique, row.setting, row.model)):
        name = model or "all models"
        results = [row.clustered for row in rows]
        named = f"{name}, {setting}" if several and setting else name
        numbers = [float(result.name.removeprefix("turn ")) for result in results]
        yield views.curve_of(named, numbers, results, band=not model)
