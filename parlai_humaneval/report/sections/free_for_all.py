"""Section ``free_for_all`` (Ma et al. 2023): points, TrueSkill, order-free strengths, and how firm the ranking is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from parlai_humaneval.report import conclusions, views
from parlai_humaneval.report.section import ModelLine, Options, PairLine, Section, Summary, say, sentence
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA, Family
from parlai_humaneval.statistics.core.ranks import ranks_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import FAMILY, Column, Count, Estimate, Key, Name, Row, p_columns
from parlai_humaneval.statistics.preference.win_rates import paired_superiority
from parlai_humaneval.statistics.ranking import order as ordering
from parlai_humaneval.statistics.ranking.fit import strength_note
from parlai_humaneval.statistics.ranking.plackett_luce import plackett_luce, strength_tests
from parlai_humaneval.statistics.ranking.trueskill import Skill, free_for_all_ratings
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.choices import Dialogues, free_for_all_dialogues
from parlai_humaneval.techniques.registry import FREE_FOR_ALL

SAMPLES, MOST_LIMITS = 100, 6
TOLERANCE = 1e-9  # scores are right to 1e-6
SHARE_AXIS = "turns that showed it in which its reply was chosen"
SCORE_AXIS = "TrueSkill score μ − 3σ, median over resampled raters"
STRENGTH_AXIS = "strength, log-odds against the mean (Plackett–Luce)"
SAME_SCORE = 0.05
"""TrueSkill scores that differ by less are equal."""
FIRM = 0.95
"""A ranking that so many samples share needs no remark."""


class OfQuestion(Row):
    """Dialogues that were rated together: of one setting and metric."""

    setting: Annotated[str, Column(telling=True)]
    metric: Annotated[str, Column(telling=True)]

    @property
    def where(self) -> str:
        """“setting, metric”, empty where the table names neither."""
        return ", ".join(part for part in (self.setting, self.metric) if part)


class FreeForAllModel(OfQuestion):
    """One model. ``score``: the paper's, μ − 3σ after all dialogues in their order. ``strength``: Plackett–Luce.

    ``typical_score``: the median of the score over resamples of workers in random order (with too few of them: over orders),
    which is what the bootstrap interval is of; ``rank``: by that, 1 best, or by strength (see :class:`GroupRow`).

    ``point_share``: of the answered turns that showed it, those that it won; ``mean_rank``: over dialogues, 1 best, equal
    points share the better rank. Both are clustered by rater.
    """

    rank: Annotated[int, Column()]
    model: Name
    points: Annotated[int, Column("Points")]
    point_share: Annotated[Result, Column("Turns", "count", name="turns", path="n"), Estimate("Turns won", "share")]
    dialogues: Count
    skill: Annotated[
        Skill,
        Column("μ", name="mu", path="mu"),
        Column("σ", name="sigma", path="sigma"),
        Column("μ − 3σ", name="score", path="score"),
    ]
    ranges: Annotated[
        ordering.ScoreRange,
        Column("Order, median", name="order_middle", path="order_middle"),
        Column("Order from", name="order_low", path="order_low"),
        Column("Order to", name="order_high", path="order_high"),
        Column("Median", name="typical_score", path="middle"),
        Column("Bootstrap from", name="bootstrap_low", path="bootstrap_low"),
        Column("Bootstrap to", name="bootstrap_high", path="bootstrap_high"),
        Column("Rank, from", "count", name="rank_low", path="rank_low"),
        Column("Rank to", "count", name="rank_high", path="rank_high"),
    ]
    mean_rank: Annotated[Result, Estimate("Mean rank")]
    strength: Annotated[Result, Estimate()]
    strength_note: Annotated[str, Column()] = ""

    def line(self, *, shares: bool, strengths: bool) -> ModelLine:
        """The model's share of turns or its strength if these decide the ranking; otherwise its TrueSkill."""
        if shares:
            return ModelLine.of(self.model, self.point_share, "turns", share=True)
        score, ranges = self.strength, self.ranges
        if not strengths:
            ends = {"ci_low": ranges.bootstrap_low, "ci_high": ranges.bootstrap_high}
            score = score.but(estimate=ranges.middle, **ends)
        return ModelLine.of(self.model, score, "dialogues", share=False, n=self.dialogues)


class FreeForAllPair(OfQuestion):
    """Strength of the first minus that of the second; ``chance``: of the first being chosen over the second.

    ``independent``: the same test if every turn were independent. ``superiority``: how often the first had more points in
    a dialogue that had both, as many points counting half; clustered by rater.
    """

    models: list[str]
    test: Annotated[
        Result,
        Column("Pair", "text", name="name", path="name"),
        Estimate(name="estimate", ends="ci"),
        Column("Chosen over the second", "share", name="chance", path="details.chance"),
        Key(name="method", path="method"),
        FAMILY,
    ]
    superiority: Annotated[
        Result,
        Estimate("Superiority of the first", "share"),
        Column("t", name="statistic", of="test", path="statistic"),
        p_columns("p_value", "p_value", "p, clustered", "p, clustered, Holm", "p_holm", of="test"),
    ]
    independent: Annotated[
        Result, p_columns("p_value", "p_independent", "p, independent turns", "p, independent turns, Holm")
    ]

    def line(self) -> PairLine:
        """The pair in a summary, the stronger first."""
        first, second = self.models
        tests: dict[str, Any] = {"paper": self.independent, "superiority": self.superiority}
        line = PairLine.of(first, second, self.test, self.independent.p_value, share=False, **tests)
        return line.model_copy(update={"independent": True})


class PositionRow(OfQuestion):
    """Pull of a position, in log-odds against the mean of all."""

    position: Annotated[str, Column("Position")]
    pull: Annotated[Result, Estimate(ends="ci"), Column("p, clustered", "p", name="p_value", path="p_value")]


class StabilityRow(ordering.StabilityPoint, OfQuestion):
    """The same, of one question."""


class GroupRow(OfQuestion):
    """Dialogues that were rated together; ``tau_b``, ``pearson``: of TrueSkill scores and Plackett–Luce strengths.

    ``p_equal``: are all strengths equal? ``by_strength``: models are ranked by strength, as not all were in each dialogue.
    ``tied_dialogues``: those in which several models share the first rank.
    """

    n_dialogues: int
    n_turns: int
    n_workers: int
    tied_dialogues: int
    by_strength: bool
    equal: Annotated[Result, Key(name="p_equal", path="p_value")]
    no_position_effect: Annotated[Result | None, Key(name="p_no_position_effect", path="p_value")]
    agreement_tau_b: Annotated[Result, Key(name="tau_b", path="estimate")]
    agreement_pearson: Annotated[Result, Key(name="pearson", path="estimate")]
    draws: int
    seed: int


class FreeForAllSection(Section):
    """See the classes of its rows; all lists are sorted by setting and metric, models by rank."""

    TITLE: ClassVar[str] = "Free-for-all"

    groups: list[GroupRow] = Field(default_factory=list)
    models: list[FreeForAllModel] = Field(default_factory=list)
    tests: list[FreeForAllPair] = Field(default_factory=list)
    positions: list[PositionRow] = Field(default_factory=list)
    stability: list[StabilityRow] = Field(default_factory=list)
    summaries: list[Summary] = Field(default_factory=list, exclude=True)

    def summary(self) -> list[Summary]:
        """Models by TrueSkill, as the paper ranks them; pairs by strengths, which can be tested."""
        return self.summaries

    def data_tables(self) -> list[views.DataTable]:
        cited = conclusions.to_cite([row.line() for row in self.tests], self.of_decided)
        return [
            views.table("free_for_all_models", self.models, *say("free_for_all", "of_models")),
            views.table("free_for_all_tests", self.tests, *cited),
            views.table("free_for_all_positions", self.positions, of=PositionRow),
            views.table("free_for_all_stability", self.stability, of=StabilityRow),
        ]

    def figures(self) -> list[views.Figure]:
        return [figure for number, group in enumerate(self.groups, start=1) for figure in self._of_group(group, number)]

    def _of_group(self, group: GroupRow, number: int) -> Iterator[views.Figure]:
        key = f"_{number}" if number > 1 else ""
        where = f": {group.where}" if len(self.groups) > 1 else ""
        models = [row for row in self.models if row.where == group.where]
        for of, middle, ends in (("scores", "middle", "bootstrap"), ("orders", "order_middle", "order")):
            points = tuple(
                views.IntervalPoint(
                    label=row.model,
                    estimate=getattr(row.ranges, middle),
                    **{end: getattr(row.ranges, f"{ends}_{end}") for end in ("low", "high")},
                )
                for row in models
            )
            yield views.IntervalFigure(**views.look(f"free_for_all_{of}", key, where=where), points=points)
        strengths = [(views.with_note(row.model, row.strength_note), row.strength) for row in models]
        yield from views.interval_figures(**views.look("free_for_all_strengths", key, where=where), results=strengths)
        stability = [row for row in self.stability if row.where == group.where]
        curves = [_curve(stability, limit) for limit in dict.fromkeys(point.turns for point in stability)]
        yield from views.curve_figures(**views.look("free_for_all_stability", key, where=where), curves=curves)

    def methods(self) -> list[views.Method]:
        names = ("points_and_trueskill", "order_sensitivity", "bootstrap_of_trueskill", "strengths", "stability")
        ours = (views.method("free_for_all", name, memory=ordering.MEMORY) for name in names)
        return [*ours, *conclusions.holm_methods(row.test for row in self.tests)]


def build(tables: Tables, options: Options) -> FreeForAllSection | None:
    """From the turns of technique ``free_for_all``; ``dialogues`` say in which order they began, where they do."""
    section = FreeForAllSection()
    for group in free_for_all_dialogues(tables):
        _add(section, group, options)
    answers = [
        (f"{row.where}: " if row.where else "", answer)
        for row, answer in zip(section.groups, section.summaries, strict=True)
    ]
    section.headline = " ".join(f"{where}{answer.verdict}" for where, answer in answers)
    section.remarks = [f"{where}{text}" for where, answer in answers for text in answer.remarks]
    return section if section.groups else None


def _add(section: FreeForAllSection, group: Dialogues, options: Options) -> None:
    where = {"setting": group.setting, "metric": group.metric}
    mu, sigma = free_for_all_ratings(group.points, tolerance=TOLERANCE)
    skills = [Skill(float(m), float(s)) for m, s in zip(mu[0], sigma[0], strict=True)]
    scores = np.array([skill.score for skill in skills])
    ranges = ordering.score_ranges(group.points, group.workers, **options.bootstrap)
    strengths = plackett_luce(
        group.chosen, group.turn_workers, positions=group.positions, models=group.models, level=options.level
    )
    estimates = [result.estimate for result in strengths.models]
    of_models = (dict(zip(group.models, values, strict=True)) for values in (scores.tolist(), estimates))
    agreement = ordering.ranking_agreement(*of_models)
    # A model that did not take part has no points, and a rank that nobody asks for.
    dialogue_ranks = np.where(np.isnan(group.points), np.nan, ranks_of(np.nan_to_num(group.points, nan=-1.0)))
    # TrueSkill ranks a model by its opponents; strengths adjust for them.
    ones = np.ones(len(group.chosen))
    by_strength, order = bool(np.isnan(group.points).any()), strengths.order
    ranks = [order.rank(name) for name in group.models] if by_strength else ranks_of([[of.middle for of in ranges]])[0]
    models = [
        FreeForAllModel(
            **where,
            model=group.models[i],
            rank=int(rank),
            points=int(np.nansum(group.points[:, i])),
            dialogues=int((~np.isnan(group.points[:, i])).sum()),
            skill=skills[i],
            ranges=ranges[i],
            strength=strengths.models[i],
            strength_note=strength_note(order, group.models[i], strengths.models[i]),
            point_share=clustered_share(
                cluster_sums(group.chosen[:, i], ones, group.turn_workers),
                name=f"turns won by {group.models[i]}",
                level=options.level,
            ).but(statistic=None, p_value=None),
            mean_rank=clustered_mean(
                dialogue_ranks[:, i],
                group.workers,
                name=f"mean rank of {group.models[i]}",
                limits=(1, len(group.models)),
                level=options.level,
            ),
        )
        for i, rank in enumerate(ranks)
    ]
    models.sort(key=lambda row: (row.rank, order.names.index(row.model) if by_strength else 0, row.model))
    limits, cube = group.points_in_first_turns(MOST_LIMITS)
    curves = ordering.stability_curves(cube, scores, turns=limits, samples=SAMPLES, seed=options.seed)
    row = GroupRow(
        **where,
        n_dialogues=len(group.points),
        n_turns=len(group.chosen),
        n_workers=len(set(group.workers)),
        tied_dialogues=int(((dialogue_ranks == 1).sum(axis=1) > 1).sum()),
        by_strength=by_strength,
        equal=strengths.equal,
        no_position_effect=strengths.no_position_effect,
        agreement_tau_b=agreement["tau_b"],
        agreement_pearson=agreement["pearson"],
        draws=ranges[0].draws,
        seed=options.seed,
    )
    pairs = strength_tests(strengths, Family(FREE_FOR_ALL.name, group.setting, group.metric))
    tests = [
        FreeForAllPair(
            **where,
            models=[group.models[i], group.models[j]],
            test=test,
            independent=independent,
            superiority=paired_superiority(group.points[:, i] - group.points[:, j], group.workers, level=options.level),
        )
        for (test, independent), (i, j) in zip(pairs, combinations(range(len(group.models)), 2), strict=True)
    ]
    section.groups.append(row)
    section.models += models
    section.tests += tests
    section.positions += [
        PositionRow(**where, position=pull.name.removeprefix("pull of position "), pull=pull)
        for pull in strengths.positions
    ]
    section.stability += [StabilityRow.of(where, point) for point in curves]
    moved = None if row.no_position_effect is None else row.no_position_effect.p_value
    whole = [point for point in curves if point.turns is None]
    lines = [one.line() for one in tests]
    # Strengths of models that wins do not link are on scales of their own.
    shares, told_by_strength = row.by_strength and len(order.groups) > 1, row.by_strength and len(order.groups) == 1
    by_score = max(models, key=lambda one: one.ranges.middle).model
    disagreeing = [
        text for pair in tests if (text := conclusions.results_disagree(pair.test.name, pair.independent, pair.test))
    ]
    section.summaries.append(
        Summary(
            section="free_for_all",
            **Family(FREE_FOR_ALL.name, row.setting, row.metric)._asdict(),
            what=SHARE_AXIS if shares else STRENGTH_AXIS if told_by_strength else SCORE_AXIS,
            verdict=_verdict(row, models, tests, order),
            models=[one.line(shares=shares, strengths=told_by_strength) for one in models],
            pairs=lines,
            reference=0.0 if told_by_strength else None,
            model_table="free_for_all_models",
            pair_table="free_for_all_tests",
            remarks=[
                *say("free_for_all", "compared", group=row, by_score=by_score, first=models[0].model),
                *say(
                    "free_for_all",
                    "remarks",
                    group=group,
                    row=row,
                    strengths=strengths,
                    disagreeing=disagreeing,
                    moved=moved if moved is not None and moved < ALPHA else None,
                    first=ranges[0],
                    rough=dict.fromkeys(note for pair in tests for note in pair.test.notes[:1] if "rough" in note),
                    whole=whole[-1] if whole and whole[-1].same < FIRM else None,
                ),
            ],
            best=conclusions.best_of_pairs(dict.fromkeys(order.names), lines, order),
        )
    )


# Words.


def _verdict(
    group: GroupRow, models: Sequence[FreeForAllModel], tests: Sequence[FreeForAllPair], order: ordering.ModelOrder
) -> str:
    first, tops = models[0], order.first(order.names)
    lines = [row.line() for row in tests]
    one, two = order.names[:2]
    known = {row.model for row in models if row.strength.estimate is not None}
    next_to = next((row for row in tests if set(row.models) == {one, two}), None)
    return sentence(
        "free_for_all",
        "verdict",
        group=group,
        first=first,
        order=order,
        tops=tops,
        unordered=order.unordered(tops),
        not_compared=ordering.not_compared,
        # With equal points, TrueSkill favors the model in the middle of its list a little.
        alike=[row.model for row in models if first.ranges.middle - row.ranges.middle < SAME_SCORE],
        one=one,
        two=two,
        known=known,
        linked={one, two} <= known and two in order.group_of(one),
        clearest=min((line for line in lines if line.differs is not None), key=conclusions.clearness, default=None),
        winner=conclusions.winner_words(lines),
        pair=next_to,
        line=None if next_to is None else next_to.line(),
        pair_p=conclusions.pair_p,
    )


def _curve(points: Sequence[ordering.StabilityPoint], limit: int | None) -> views.Curve:
    shown = [point for point in points if point.turns == limit]
    name = "all turns" if limit is None else "first turn" if limit == 1 else f"first {limit} turns"
    return views.Curve(
        name=name, x=tuple(float(point.dialogues) for point in shown), y=tuple(point.same for point in shown)
    )
