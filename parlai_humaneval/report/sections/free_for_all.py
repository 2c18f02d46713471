"""Section ``free_for_all`` (Ma et al. 2023): points, TrueSkill, order-free strengths, and how firm the ranking is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np
from pydantic import Field

from parlai_humaneval.report.conclusions import best_of_pairs, clearness, holm_methods, pair_p, to_cite, winner_words
from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published, whole
from parlai_humaneval.report.section import ModelLine, Options, PairLine, Section, Summary, results_disagree
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    IntervalFigure,
    IntervalPoint,
    Method,
    interval_figures,
    method,
    with_note,
)
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.effect_sizes import paired_superiority
from parlai_humaneval.statistics.core.formatting import counted, format_p, listed, percent, signed, signed_range
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA, Family
from parlai_humaneval.statistics.core.ranks import ranks_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.ranking.fit import Strengths, strength_note
from parlai_humaneval.statistics.ranking.from_tables import strength_tests
from parlai_humaneval.statistics.ranking.order import ModelOrder, not_compared
from parlai_humaneval.statistics.ranking.plackett_luce import plackett_luce
from parlai_humaneval.statistics.ranking.stability import (
    MEMORY,
    ScoreRange,
    StabilityPoint,
    ranking_agreement,
    score_ranges,
    stability_curves,
)
from parlai_humaneval.statistics.ranking.trueskill import Skill, free_for_all_ratings
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.free_for_all import TECHNIQUE, Dialogues, free_for_all_dialogues

SAMPLES, MOST_LIMITS = 100, 6
TOLERANCE = 1e-9  # scores are right to 1e-6
ORDER_FREE = "free of the order, "
SHARE_AXIS = "turns that showed it in which its reply was chosen"
STRENGTH_AXIS = "strength, log-odds against the mean (Plackett–Luce)"
SAME_SCORE = 0.05
"""TrueSkill scores that differ by less are equal."""
FIRM = 0.95
"""A ranking that so many samples share needs no remark."""


class OfQuestion(Row):
    """Dialogues that were rated together: of one setting and metric."""

    setting: str
    metric: str

    @property
    def where(self) -> str:
        """“setting, metric”, empty where the table names neither."""
        return ", ".join(part for part in (self.setting, self.metric) if part)


class ModelRow(OfQuestion):
    """One model. ``score``: the paper's, μ − 3σ after all dialogues in their order. ``strength``: Plackett–Luce.

    ``typical_score``: the median of the score over resamples of workers in random order (with too few of them: over orders),
    which is what the bootstrap interval is of; ``rank``: by that, 1 best, or by strength (see :class:`GroupRow`).

    ``point_share``: of the answered turns that showed it, those that it won; ``mean_rank``: over dialogues, 1 best, equal
    points share the better rank. Both are clustered by worker.
    """

    FROM = published(
        {name: f"skill.{name}" for name in ("mu", "sigma", "score")},
        {f"order_{name}": f"ranges.order_{name}" for name in ("middle", "low", "high")},
        {f"bootstrap_{name}": f"ranges.bootstrap_{name}" for name in ("low", "high")},
        {name: f"ranges.{name}" for name in ("rank_low", "rank_high")},
        whole("strength", "point_share", "mean_rank"),
        typical_score="ranges.middle",
        turns="point_share.n",
    )

    model: str
    rank: int
    points: int
    dialogues: int
    skill: Skill
    ranges: ScoreRange
    strength: Result
    point_share: Result
    mean_rank: Result
    strength_note: str = ""


class PairRow(OfQuestion):
    """Strength of the first minus that of the second; ``chance``: of the first being chosen over the second.

    ``independent``: the same test if every turn were independent. ``superiority``: how often the first had more points in
    a dialogue that had both, as many points counting half; clustered by worker.
    """

    FROM = published(
        {name: f"test.{name}" for name in ("name", "statistic", "p_value", "p_holm", "method")},
        {name: f"test.details.{name}" for name in ("chance", "family", "family_tests")},
        ends("test"),
        whole("superiority"),
        p_independent="independent.p_value",
        p_independent_holm="independent.p_decides",
    )

    models: list[str]
    test: Result
    independent: Result
    superiority: Result


class PositionRow(OfQuestion):
    """Pull of a position, in log-odds against the mean of all."""

    FROM = published(ends("pull", "pull"), p_value="pull.p_value")

    position: str
    pull: Result


class StabilityRow(OfQuestion):
    """See :class:`~parlai_humaneval.statistics.ranking.stability.StabilityPoint`; ``turns`` None: all."""

    FROM = published({name: f"point.{name}" for name in StabilityPoint.model_fields})

    point: StabilityPoint


class GroupRow(OfQuestion):
    """Dialogues that were rated together; ``tau_b``, ``pearson``: of TrueSkill scores and Plackett–Luce strengths.

    ``p_equal``: are all strengths equal? ``by_strength``: models are ranked by strength, as not all were in each dialogue.
    ``tied_dialogues``: those in which several models share the first rank.
    """

    FROM = published(
        p_equal="equal.p_value",
        p_no_position_effect="no_position_effect.p_value",
        tau_b="agreement_tau_b.estimate",
        pearson="agreement_pearson.estimate",
    )

    n_dialogues: int
    n_turns: int
    n_workers: int
    tied_dialogues: int
    by_strength: bool
    equal: Result
    no_position_effect: Result | None
    agreement_tau_b: Result
    agreement_pearson: Result
    draws: int
    seed: int


class FreeForAllSection(Section):
    """See the classes of its rows; all lists are sorted by setting and metric, models by rank."""

    TITLE: ClassVar[str] = "Free-for-all"

    groups: list[GroupRow] = Field(default_factory=list)
    models: list[ModelRow] = Field(default_factory=list)
    tests: list[PairRow] = Field(default_factory=list)
    positions: list[PositionRow] = Field(default_factory=list)
    stability: list[StabilityRow] = Field(default_factory=list)
    summaries: list[Summary] = Field(default_factory=list, exclude=True)

    def summary(self) -> list[Summary]:
        """Models by TrueSkill, as the paper ranks them; pairs by strengths, which can be tested."""
        return self.summaries

    def data_tables(self) -> list[DataTable]:
        return [
            _table(
                "free_for_all_models",
                "Points and TrueSkill, dialogues in the order in which they began",
                MODELS,
                self.models,
                "μ − 3σ: after all dialogues in their order, as in the paper. Order: median and range over random orders of "
                "the same dialogues; it is no sampling interval.",
                "Median and bootstrap: workers resampled, in random order; ranks are by the median. Strength: "
                "Plackett–Luce, log-odds against the mean.",
            ),
            _table(
                "free_for_all_tests",
                "Pairs: difference of strengths in log-odds",
                TESTS,
                self.tests,
                *to_cite([_line(row) for row in self.tests]),
            ),
            _table("free_for_all_positions", "Pull of the position", POSITIONS, self.positions),
            _table("free_for_all_stability", "Rankings from fewer dialogues", STABILITY, self.stability),
        ]

    def figures(self) -> list[Figure]:
        return [figure for number, group in enumerate(self.groups, start=1) for figure in self._of_group(group, number)]

    def _of_group(self, group: GroupRow, number: int) -> Iterator[Figure]:
        key = f"_{number}" if number > 1 else ""
        where = f": {group.where}" if len(self.groups) > 1 else ""
        models = [row for row in self.models if row.where == group.where]
        scores = [(row.model, row.ranges) for row in models]
        yield IntervalFigure(
            key=f"free_for_all_scores{key}",
            title=f"TrueSkill scores with bootstrap intervals{where}",
            x_label="μ − 3σ",
            points=tuple(_point(name, of.middle, of.bootstrap_low, of.bootstrap_high) for name, of in scores),
        )
        yield IntervalFigure(
            key=f"free_for_all_orders{key}",
            title=f"Order sensitivity: range of the scores over random orders{where}",
            x_label="μ − 3σ",
            points=tuple(_point(name, of.order_middle, of.order_low, of.order_high) for name, of in scores),
        )
        yield from interval_figures(
            f"free_for_all_strengths{key}",
            f"Plackett–Luce strengths, clustered by worker{where}",
            "log-odds against the mean",
            [(with_note(row.model, row.strength_note), row.strength) for row in models],
            reference=0.0,
        )
        stability = [row.point for row in self.stability if row.where == group.where]
        if stability:
            yield CurveFigure(
                key=f"free_for_all_stability{key}",
                title=f"Share of samples with the ranking of all dialogues{where}",
                x_label="dialogues",
                y_label="same ranking",
                curves=tuple(_curve(stability, limit) for limit in dict.fromkeys(point.turns for point in stability)),
                share=True,
            )

    def methods(self) -> list[Method]:
        return [*METHODS, *holm_methods(row.test for row in self.tests)]


def build(tables: Tables, options: Options) -> FreeForAllSection | None:
    """From the turns of technique ``free_for_all``; ``dialogues`` say in which order they began, where they do."""
    section = FreeForAllSection()
    for group in free_for_all_dialogues(tables):
        _add(section, group, options)
    answers = list(zip(section.groups, section.summaries, strict=True))
    section.headline = " ".join(_titled(row, answer.verdict) for row, answer in answers)
    section.remarks = [_titled(row, text) for row, answer in answers for text in answer.remarks]
    return section if section.groups else None


def _add(section: FreeForAllSection, group: Dialogues, options: Options) -> None:
    where = {"setting": group.setting, "metric": group.metric}
    mu, sigma = free_for_all_ratings(group.points, tolerance=TOLERANCE)
    skills = [Skill(float(m), float(s)) for m, s in zip(mu[0], sigma[0], strict=True)]
    scores = np.array([skill.score for skill in skills])
    ranges = score_ranges(group.points, group.workers, seed=options.seed, draws=options.draws, level=options.level)
    strengths = plackett_luce(
        group.chosen, group.turn_workers, positions=group.positions, models=group.models, level=options.level
    )
    agreement = ranking_agreement(
        dict(zip(group.models, scores.tolist(), strict=True)),
        {m: r.estimate for m, r in zip(group.models, strengths.models, strict=True)},
    )
    # A model that did not take part has no points, and a rank that nobody asks for.
    dialogue_ranks = np.where(np.isnan(group.points), np.nan, ranks_of(np.nan_to_num(group.points, nan=-1.0)))
    # TrueSkill knows a model by those that it met; strengths allow for who they were.
    by_strength, order = bool(np.isnan(group.points).any()), strengths.order
    ranks = [order.rank(name) for name in group.models] if by_strength else ranks_of([[of.middle for of in ranges]])[0]
    models = [
        ModelRow(
            **where,
            model=group.models[i],
            rank=int(rank),
            points=int(np.nansum(group.points[:, i])),
            dialogues=int((~np.isnan(group.points[:, i])).sum()),
            skill=skills[i],
            ranges=ranges[i],
            strength=strengths.models[i],
            strength_note=strength_note(order, group.models[i], strengths.models[i]),
            point_share=_point_share(group, i, options.level),
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
    curves = stability_curves(cube, scores, turns=limits, samples=SAMPLES, seed=options.seed)
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
    pairs = strength_tests(strengths, Family(TECHNIQUE, group.setting, group.metric))
    tests = [
        PairRow(
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
    section.stability += [StabilityRow(**where, point=point) for point in curves]
    section.summaries.append(
        _summary(row, models, tests, order, list(_remarks(group, row, strengths, tests, ranges[0], curves)))
    )


def _point_share(group: Dialogues, model: int, level: float) -> Result:
    chosen = group.chosen[:, model]
    sums = cluster_sums(chosen, np.ones_like(chosen), group.turn_workers)
    share = clustered_share(sums, name=f"turns won by {group.models[model]}", level=level)
    return share.but(statistic=None, p_value=None)


# Words.


def _titled(group: GroupRow, text: str) -> str:
    return f"{group.where}: {text}" if group.where else text


def _summary(
    group: GroupRow, models: Sequence[ModelRow], tests: Sequence[PairRow], order: ModelOrder, remarks: list[str]
) -> Summary:
    pairs = [_line(row) for row in tests]
    # Strengths of models that wins do not link are on scales of their own.
    shares, strengths = group.by_strength and len(order.groups) > 1, group.by_strength and len(order.groups) == 1
    return Summary(
        section="free_for_all",
        technique=TECHNIQUE,
        setting=group.setting,
        metric=group.metric,
        question="",
        what=SHARE_AXIS
        if shares
        else STRENGTH_AXIS
        if strengths
        else "TrueSkill score μ − 3σ, median over resampled workers",
        verdict=_verdict(group, models, tests, order),
        models=[
            ModelLine.of(row.model, row.point_share, "turns", share=True)
            if shares
            else _model_line(row, group.by_strength)
            for row in models
        ],
        pairs=pairs,
        reference=0.0 if strengths else None,
        model_table="free_for_all_models",
        pair_table="free_for_all_tests",
        remarks=[
            _of_strengths(models)
            if group.by_strength
            else "Pairs are compared by strengths in log-odds, which do not depend on the order of dialogues.",
            *remarks,
        ],
        best=best_of_pairs(dict.fromkeys(order.names), pairs, order),
    )


def _model_line(row: ModelRow, by_strength: bool) -> ModelLine:
    if by_strength:
        return ModelLine.of(row.model, row.strength, "dialogues", share=False, n=row.dialogues)
    return ModelLine(
        model=row.model,
        n=row.dialogues,
        unit="dialogues",
        estimate=row.ranges.middle,
        low=row.ranges.bootstrap_low,
        high=row.ranges.bootstrap_high,
        share=False,
    )


def _of_strengths(models: Sequence[ModelRow]) -> str:
    by_score = max(models, key=lambda row: row.ranges.middle).model
    first = f"; it puts {by_score} first" if by_score != models[0].model else ""
    return (
        "Not all models were in each dialogue, so that they are ordered and compared by strengths in log-odds, which allow "
        f"for who met whom; TrueSkill knows a model only by those that it met{first}."
    )


def _verdict(group: GroupRow, models: Sequence[ModelRow], tests: Sequence[PairRow], order: ModelOrder) -> str:
    basis = f"{counted(group.n_dialogues, 'dialogue')} ({counted(group.n_turns, 'turn')})"
    first = models[0]
    over = f"Over {basis} by {counted(group.n_workers, 'worker')}, "
    if group.by_strength:
        return f"{over}{_by_order(first, order)}; {_strongest(models, tests, order).removeprefix(ORDER_FREE)}."
    ranges = first.ranges
    # Of equal points TrueSkill gives the model in the middle of its list a little more.
    equal = [row.model for row in models if ranges.middle - row.ranges.middle < SAME_SCORE]
    if len(equal) > 1:
        same = f"{over}{listed(equal)} have the same TrueSkill score (about {ranges.middle:.1f})"
        return f"{same}; {_strongest(models, tests, order)}."
    low, high, of = ranges.bootstrap_low, ranges.bootstrap_high, "resampled workers"
    if low is None:
        low, high, of = ranges.order_low, ranges.order_high, "random orders"
    leads = (
        f"{first.model} has the highest TrueSkill score ({signed(ranges.middle)}; {signed_range(low, high)} over {of})"
    )
    return f"{over}{leads}; {_strongest(models, tests, order)}."


def _by_order(first: ModelRow, order: ModelOrder) -> str:
    tops = order.first(order.names)
    if order.unordered(tops):
        return f"no model leads: {not_compared(order.unordered(tops))}"
    if len(tops) > 1:
        return f"{listed(tops)} are equally strong"
    if first.strength.estimate is None:
        return f"{first.model} is the strongest: no other model was ever chosen over it"
    against = order.note(first.model).removeprefix("among ")
    return (
        f"{first.model} is the strongest ({signed(first.strength.estimate)} log-odds against the mean"
        f"{f' of {against}' if against else ''})"
    )


def _strongest(models: Sequence[ModelRow], tests: Sequence[PairRow], order: ModelOrder) -> str:
    """By how much the strongest is ahead of the next, where wins link the two."""
    one, two = order.names[:2]
    known = {row.model for row in models if row.strength.estimate is not None}
    if len(known) < 2:
        lines = [_line(row) for row in tests]
        tested = [line for line in lines if line.differs is not None]
        cannot = "strengths that do not depend on the order cannot be estimated"
        if not tested:
            return cannot
        clearest, winner = min(tested, key=clearness), winner_words(lines)
        apart = f"{clearest.first} is ahead of {clearest.second}"
        tied = f"{clearest.first} and {clearest.second} are statistically tied"
        told = f"{f'{winner}; ' if winner else ''}{apart if clearest.differs else tied} ({pair_p(clearest)})"
        return f"{ORDER_FREE}{told}, though strengths cannot be estimated"
    if not {one, two} <= known or two not in order.group_of(one):
        return f"{ORDER_FREE}the strengths of {one} and {two} cannot be compared as numbers"
    (pair,) = [row for row in tests if set(row.models) == {one, two}]
    line = _line(pair)
    if not order.is_above(one, two):
        return f"{ORDER_FREE}{one} and {two} are equally strong ({pair_p(line)})"
    interval = (
        "no interval"
        if line.low is None
        else f"{percent(pair.test.level)} interval {signed_range(line.low, line.high)}"
    )
    told = "" if line.differs is None else f", {pair_p(line)}{'' if line.differs else ': statistically tied'}"
    winner = winner_words([_line(row) for row in tests])
    gap = f"{line.first} is ahead of {line.second} by {signed(line.gap)} log-odds ({interval}{told})"
    return f"{ORDER_FREE}{f'{winner}; ' if winner else ''}{gap}"


def _line(pair: PairRow) -> PairLine:
    first, second = pair.models
    independent = pair.independent
    line = PairLine.of(
        first,
        second,
        pair.test,
        independent.p_value,
        share=False,
        paper=independent,
        superiority=pair.superiority,
    )
    return line.model_copy(update={"independent": True})


def _remarks(
    group: Dialogues,
    row: GroupRow,
    strengths: Strengths,
    tests: Sequence[PairRow],
    first: ScoreRange,
    curves: Sequence[StabilityPoint],
) -> Iterator[str]:
    if group.automatic_turns:
        yield f"{counted(group.automatic_turns, 'turn')} with equal replies only were not asked and do not count."
    if group.failed_replies:
        yield f"{counted(group.failed_replies, 'reply')} failed and could not be chosen.".replace("replys", "replies")
    if group.unfinished_dialogues:
        yield f"{counted(group.unfinished_dialogues, 'unfinished dialogue')} do not count."
    if not group.started_known:
        yield "It is not known when each dialogue began; TrueSkill takes them in the order of the table."
    if row.tied_dialogues:
        yield f"Several models share the first rank in {counted(row.tied_dialogues, 'dialogue')}."
    yield from strengths.notes
    for pair in tests:
        yield from filter(None, [results_disagree(pair.test.name, pair.independent, pair.test)])
    moved = row.no_position_effect
    if moved is not None and moved.p_value is not None and moved.p_value < ALPHA:
        yield (
            f"Where a reply stood mattered ({format_p(moved.p_value)}); the strengths are free of it, points and TrueSkill "
            "are not."
        )
    yield from (f"Bootstrap of TrueSkill: {note}." for note in first.notes)
    rough = dict.fromkeys(note for pair in tests for note in pair.test.notes[:1] if "rough" in note)
    yield from (f"Strengths: {note}." for note in rough)
    whole = [point for point in curves if point.turns is None]
    if whole and whole[-1].same < FIRM:
        yield (
            f"Of random samples of {counted(whole[-1].dialogues, 'dialogue')} in random order, "
            f"{percent(whole[-1].same)} give the same ranking as all dialogues in their order."
        )


METHODS = [
    method("free_for_all", "points_and_trueskill"),
    method("free_for_all", "order_sensitivity"),
    method("free_for_all", "bootstrap_of_trueskill", memory=MEMORY),
    method("free_for_all", "strengths"),
    method("free_for_all", "stability"),
]


# Tables and figures.

LABELS: Labels = {
    "points": ("Points", "count"),
    "point_share": ("Turns won", "share"),
    "turns": ("Turns", "count"),
    "mean_rank": ("Mean rank", "number"),
    "mu": ("μ", "number"),
    "sigma": ("σ", "number"),
    "score": ("μ − 3σ", "number"),
    "order_middle": ("Order, median", "number"),
    "typical_score": ("Median", "number"),
    "rank_low": ("Rank, from", "count"),
    "name": ("Pair", "text"),
    "chance": ("Chosen over the second", "share"),
    "superiority": ("Superiority of the first", "share"),
    "statistic": ("t", "number"),
    "p_value": ("p, clustered", "p"),
    "p_holm": ("p, clustered, Holm", "p"),
    "p_independent": ("p, independent turns", "p"),
    "p_independent_holm": ("p, independent turns, Holm", "p"),
    "position": ("Position", "text"),
    "same": ("Same ranking", "share"),
    "tau_b": ("τ-b, mean", "number"),
    "samples": ("Samples", "count"),
}
MODELS = (
    "rank model points turns point_share point_share_low point_share_high dialogues mu sigma score order_middle "
    "order_low order_high typical_score bootstrap_low bootstrap_high rank_low rank_high mean_rank mean_rank_low "
    "mean_rank_high strength strength_low strength_high strength_note"
)
TESTS = (
    "name estimate ci_low ci_high chance superiority superiority_low superiority_high statistic p_value p_holm "
    "p_independent p_independent_holm"
)
POSITIONS = "position pull ci_low ci_high p_value"
STABILITY = "dialogues turns same tau_b samples"


def _table(key: str, title: str, names: str, rows: Sequence[Row], *notes: str) -> DataTable:
    listed = columns(f"setting metric {names}", LABELS)
    return part_table(key, title, listed, rows, notes, telling=("setting", "metric"))


def _point(label: str, estimate: float, low: float | None, high: float | None) -> IntervalPoint:
    return IntervalPoint(label=label, estimate=estimate, low=low, high=high)


def _curve(points: Sequence[StabilityPoint], limit: int | None) -> Curve:
    shown = [point for point in points if point.turns == limit]
    name = "all turns" if limit is None else "first turn" if limit == 1 else f"first {limit} turns"
    return Curve(name=name, x=tuple(float(point.dialogues) for point in shown), y=tuple(point.same for point in shown))
