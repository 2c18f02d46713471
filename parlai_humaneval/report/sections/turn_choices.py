"""Section ``turns``: who was chosen how often, turn by turn (Smith et al. 2022; Liu et al. 2023; Ma et al. 2023)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, groupby
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import Field

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval.report.conclusions import (
    BY_WORKER,
    apart_words,
    best_of_pairs,
    clearness,
    counted_once,
    deciding_p,
    holm_methods,
    pair_p,
    rough_guides,
    to_cite,
    winner_words,
)
from parlai_humaneval.report.rows import Labels, Row, columns, ends, every_worker_once, part_table, published, whole
from parlai_humaneval.report.section import (
    ModelLine,
    Options,
    PairLine,
    Part,
    Section,
    Summary,
    results_disagree,
)
from parlai_humaneval.report.sections.pooled_ranking import (
    AXIS,
    PooledAnswer,
    PooledModel,
    PooledPair,
    pooled_answer,
)
from parlai_humaneval.report.views import (
    CurveFigure,
    DataTable,
    Figure,
    HeatFigure,
    IntervalFigure,
    Method,
    curve_of,
    interval_figures,
    method,
    p_matrix,
    with_note,
)
from parlai_humaneval.statistics.core.clustered import (
    MIN_CLUSTERS,
    SHARE_LIMITS,
    cluster_bootstrap,
    cluster_sums,
    clustered_share,
)
from parlai_humaneval.statistics.core.effect_sizes import complement, paired_superiority, superiority_of_difference
from parlai_humaneval.statistics.core.formatting import (
    counted,
    format_p,
    format_range,
    percent,
    points_range,
    points_words,
)
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA, Family, holm
from parlai_humaneval.statistics.core.ranks import ranks_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.shares import binomial_test, wald_interval, wilson_interval
from parlai_humaneval.statistics.preference.data_checks import data_warnings
from parlai_humaneval.statistics.preference.leave_one_out import LeftOut, leave_one_out
from parlai_humaneval.statistics.preference.pairs import (
    counted_comparisons,
    orient_pairs,
    place_outweighs,
    position_balanced,
)
from parlai_humaneval.statistics.preference.tests import (
    BASELINE,
    TurnTest,
    compare_choices,
    equality_tests,
)
from parlai_humaneval.statistics.preference.turn_dependence import (
    Reselection,
    first_choice,
    first_place,
    fixed_places,
    reselection,
)
from parlai_humaneval.statistics.preference.turn_families import family_tests, place_effect, places_alike
from parlai_humaneval.statistics.preference.win_rates import (
    effective_win_test,
    linear_win_rate,
    sm_wta_scores,
    sqr_scores,
    wta_scores,
)
from parlai_humaneval.statistics.ranking.fit import strength_note
from parlai_humaneval.statistics.ranking.from_tables import pooled_strengths, turn_strengths
from parlai_humaneval.statistics.ranking.order import ModelOrder
from parlai_humaneval.statistics.ratings.combined import PAIR_TURNS, pair_combo
from parlai_humaneval.statistics.ratings.regression import turn_rates
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.choices import ComparisonGroup, Kind, choice_groups, merged, self_comparisons
from parlai_humaneval.tables.filters import taken_as_finished
from parlai_humaneval.tables.free_for_all import TECHNIQUE as FREE_FOR_ALL

LATER = 2
"""First turns are left out by Liu et al. 2023: nothing was said before them."""
LATER_SINGLE = 3
"""First of the turns that Smith et al. 2022 (Table 2) count of single models."""
SENTENCES = 3
"""As many questions as a headline answers."""
NAMED_PAIRS = 6
SELF_CHATS = ("self_chat", "")
"""Settings of comparisons that count for a PW combo; "" where a table from elsewhere does not say what was compared."""
NOT_SAID = "the table does not say whether the dialogues that were compared are self-chats, as in the paper"
IN_ORDER = (
    "Not every strength is finite, so models are ordered by which was chosen over which, directly or through others; shares "
    "need not follow that order."
)
POOLED_TITLE = "Pairs of the one ranking"
NOTHING = "nothing ticked"
ALL_PLACES = "all places"
"""What was chosen twice running, of all models of a group together."""
LIU, SMITH = "Liu et al. 2023", "Smith et al. 2022"


class Interval(NamedTuple):
    """Ends that stand beside a result; None where there can be none."""

    low: float | None = None
    high: float | None = None


class OfQuestion(Row):
    """What was asked. ``kind``: one reply of several was picked each turn, any number of them, or a single one judged.

    ``problem``: a single reply was marked with what is wrong with it, so that the model with the lower rate is ahead.
    """

    technique: str
    setting: str
    metric: str
    kind: Kind
    problem: bool = False

    @property
    def family(self) -> Family:
        """What is corrected for, and answered, together."""
        return Family(self.technique, self.setting, self.metric)


class OfGroup(OfQuestion):
    """``group``: the models that stood side by side, joined by " – "; of single models all."""

    group: str

    @property
    def where(self) -> tuple[Family, str]:
        """What rows of one group share."""
        return self.family, self.group


class ModelRow(OfGroup):
    """A model in all turns that count. ``selected`` of ``n``: chosen, or as a single reply found good (or marked with a
    ``problem``: then all that is said of dialogues is of turns without it).

    ``ci_low``, ``ci_high``: clustered by worker; ``boot_…``: percentiles over resampled workers; ``wald_…``,
    ``wilson_…``: all turns taken as independent. ``win_rate_adjusted``: with all places counting alike, where the effect of
    the place outweighs a difference of models; then it is told first. ``rank``: by what is told, 1 best, equal ones share
    the better rank.
    ``…from_2``: without first turns, as Liu et al. 2023 count. ``dialogues_won``: of a single model, the share of
    dialogues with at least half of their turns good; ``dialogues_won_from_3``: the same of turns 3 on (Smith et al.
    2022). ``…with_unfinished``: with the answered turns of dialogues that did not end; None where all did.
    """

    FROM = published(
        ends("rate", "win_rate"),
        ends("adjusted", "win_rate_adjusted", "adjusted"),
        ends("from_2", "win_rate_from_2", "win_rate_from_2"),
        ends("from_3", "win_rate_from_3", "win_rate_from_3"),
        ends("dialogues", "dialogues_won", "dialogues_won"),
        ends("dialogues_3", "dialogues_won_from_3", "dialogues_won_from_3"),
        n_from_2="from_2.n",
        boot_low="boot.low",
        boot_high="boot.high",
        wald_low="wald.low",
        wald_high="wald.high",
        wilson_low="wilson.low",
        wilson_high="wilson.high",
    )

    model: str
    rank: int
    n: int
    selected: int
    rate: Result
    boot: Interval
    wald: Interval
    wilson: Interval
    from_2: Result
    from_3: Result | None
    dialogues: Result | None
    dialogues_3: Result | None
    n_dialogues: int
    n_workers: int
    n_with_unfinished: int | None
    win_rate_with_unfinished: float | None
    adjusted: Result | None = None

    @property
    def told(self) -> Result:
        """The win rate that the model is told by."""
        return self.adjusted or self.rate


class RankRow(OfQuestion):
    """A model over all turns of a question that was asked of several groups of models, whoever stood beside it."""

    FROM = ends("rate", "win_rate")

    rank: int
    model: str
    n: int
    selected: int
    rate: Result

    @property
    def told(self) -> Result:
        """Of several groups of models, whose places differ, as it was counted."""
        return self.rate


class RangeRow(OfGroup):
    """A group in turns ``first_turn`` to ``last_turn``, of which one showed several replies.

    ``tie_win``: share of turns in which all replies were chosen, ``tie_loss``: none (Liu et al. 2023, Table 3);
    ``written``: share in which the rater wrote the next reply.
    """

    FROM = whole("tie_win", "tie_loss", "written")

    first_turn: int
    last_turn: int
    n: int
    n_dialogues: int
    n_workers: int
    tie_win: Result
    tie_loss: Result
    written: Result


class NothingRow(OfGroup):
    """Turns of a single model from ``first_turn`` on in which none of several criteria was ticked."""

    FROM = published(ends("rate", "share"), n="rate.n")

    first_turn: int
    model: str
    rate: Result


class TestRow(OfGroup):
    """A test of turns ``first_turn`` on. ``p_value``, ``p_holm``: the paper's ``method``; ``p_clustered…``: by worker.

    Of a pair ``estimate`` is the difference of the selected rates with its clustered interval; ``p_exact``, ``p_mid``: of
    McNemar's test; ``p_sign_flip``: with few workers. Holm's correction is over the ``family``. ``superiority``: of the
    first of two models, ties counting half, over all groups in which they met. ``adjusted``: the difference with both orders
    of the two counting alike, where the effect of the place outweighs it; then the pair is told by that.
    """

    __test__: ClassVar[bool] = False  # a test of statistics, not of this program

    FROM = published(
        {name: f"test.paper.{name}" for name in ("name", "statistic", "p_value", "p_holm", "method")},
        {name: f"test.paper.details.{name}" for name in ("p_exact", "p_mid")},
        {name: f"test.clustered.details.{name}" for name in ("family", "family_tests")},
        every_worker_once("told"),
        ends("test.clustered"),
        whole("superiority", "adjusted"),
        models="test.models",
        n="test.clustered.n",
        p_clustered="test.clustered.p_value",
        p_clustered_holm="test.clustered.p_holm",
        method_clustered="test.clustered.method",
        p_sign_flip="test.sign_flip_p",
        p_adjusted="adjusted.p_value",
        p_adjusted_holm="adjusted.p_holm",
        notes="notes",
    )

    first_turn: int
    test: TurnTest
    adjusted: Result | None = None
    superiority: Result | None = None

    @property
    def told(self) -> Result:
        """The difference that the pair is told by."""
        return self.adjusted or self.test.clustered

    @property
    def notes(self) -> list[str]:
        """Of both tests, each once."""
        return list(dict.fromkeys([*self.test.paper.notes, *self.test.clustered.notes]))


class TurnRow(OfGroup):
    """A model at one turn; ``lin``: of turns that one of two models won alone."""

    FROM = ends("rate", "win_rate")

    turn: int
    model: str
    n: int
    selected: int
    rate: Result
    lin: float | None


class PositionRow(OfGroup):
    """Replies shown at one place, of one model or (``model`` None) of any."""

    FROM = ends("rate", "win_rate")

    position: int
    model: str | None
    n: int
    selected: int
    rate: Result
    lin: float | None


class PairRow(OfGroup):
    """Two models in turns ``first_turn`` to ``last_turn``, on turns that showed both. All rates are of A, by worker.

    ``lin``: turns won of those that one won alone; ``sqr``, ``wta``: means over dialogues; ``…_boot_…``: percentiles
    over resampled workers. ``p_clustered``: of Lin against one half; ``p_value``: the binomial test of the same turns.
    ``tie_win``: both chosen, ``tie_loss``: neither; ``win_rate_a`` + ``win_rate_b`` = 1 + ``tie_win`` − ``tie_loss``.
    """

    FROM = published(
        whole("lin", "sqr", "wta"),
        {f"{name}_boot_{end}": f"{name}_boot.{end}" for name in ("lin", "sqr", "wta") for end in ("low", "high")},
        p_value="paper.p_value",
        p_clustered="lin.p_value",
    )

    first_turn: int
    last_turn: int
    model_a: str
    model_b: str
    n: int
    n_dialogues: int
    n_workers: int
    only_a: int
    only_b: int
    both: int
    neither: int
    win_rate_a: float
    win_rate_b: float
    tie_win: float
    tie_loss: float
    paper: Result
    lin: Result
    lin_boot: Interval
    sqr: Result
    sqr_boot: Interval
    wta: Result
    wta_boot: Interval


class EffectiveRow(OfGroup):
    """Two single models from turn ``first_turn`` on: how often a dialogue of A scores higher than one of B, equal ones half.

    ``score``: of a dialogue, its share of good turns ("share") or whether that is at least half ("wta").
    """

    FROM = published(ends("rate", "win_rate"), p_clustered="rate.p_value")

    first_turn: int
    score: Literal["share", "wta"]
    model_a: str
    model_b: str
    n_a: int
    n_b: int
    rate: Result


class ReselectionRow(OfGroup):
    """Chosen in two consecutive turns; see :class:`~parlai_humaneval.statistics.preference.turn_dependence.Reselection`."""

    FROM = published(
        {name: f"repeats.{name}" for name in ("what", "scope", "both", "expected", "independent", "second_rate")},
        ends("repeats.again", "again", "again"),
        ends("repeats.excess", "excess", "excess"),
        n="repeats.n_pairs",
        p_clustered="repeats.excess.p_value",
    )

    repeats: Reselection


class BiasRow(OfGroup):
    """A test of cascading or anchoring: a difference of selected rates, or whether all places are chosen as often."""

    FROM = published(
        ends("test"), {name: f"test.{name}" for name in ("name", "n", "statistic", "p_value", "method", "notes")}
    )

    test: Result


class Patterns(Part):
    """Do turns depend on each other (cascading), or on the place of a reply (anchoring)? Liu et al. 2023; Ma et al. 2023."""

    reselection: list[ReselectionRow] = Field(default_factory=list)
    cascading: list[BiasRow] = Field(default_factory=list)
    anchoring: list[BiasRow] = Field(default_factory=list)


class LeftOutRow(OfGroup):
    """See :class:`~parlai_humaneval.statistics.preference.leave_one_out.LeftOut`."""

    FROM = published({name: f"without.{name}" for name in LeftOut.model_fields})

    without: LeftOut


class StrengthRow(OfGroup):
    """A model's log-odds of being chosen, against the mean of all and free of where its replies stood.

    ``p_all_equal``: joint test of all models of the group.
    """

    FROM = published(
        ends("strength", "strength"), n="strength.n", p_clustered="strength.p_value", p_all_equal="equal.p_value"
    )

    model: str
    strength: Result
    equal: Result
    notes: list[str]
    strength_note: str = ""


class PullRow(OfGroup):
    """What a place adds to the log-odds, against the mean of all places; ``p_no_effect``: joint test of all places."""

    FROM = published(ends("pull", "pull"), p_clustered="pull.p_value", p_no_effect="no_effect.p_value")

    position: str
    pull: Result
    no_effect: Result | None


class ComboRow(OfGroup):
    """“PW combo” of Smith et al. 2022, Table 3: ``combo`` = (1 · ``lin_turns_2_6`` + 5 · ``win_rate_dialog``) / 6, of A.

    ``setting_dialog``: of the comparisons of whole dialogues; "" where the table does not say that they are self-chats.
    """

    FROM = published(ends("combo", "combo"), p_clustered="combo.p_value")

    pair: list[str]
    model_a: str
    model_b: str
    setting_dialog: str
    n_turns: int
    n_dialogs: int
    lin_turns_2_6: float
    win_rate_dialog: float
    combo: Result
    notes: list[str]


class TurnsSection(Section):
    """Who was chosen how often, and whether that tells the models apart."""

    TITLE: ClassVar[str] = "Turn by turn"

    models: list[ModelRow]
    tests: list[TestRow]
    by_turn: list[TurnRow]
    by_position: list[PositionRow]
    pairs: list[PairRow]
    effective: list[EffectiveRow]
    patterns: Patterns
    leave_one_out: list[LeftOutRow]
    strengths: list[StrengthRow] = Field(default_factory=list)
    positions: list[PullRow] = Field(default_factory=list)
    combos: list[ComboRow] = Field(default_factory=list)
    ranking: list[RankRow] = Field(default_factory=list)
    pooled: list[PooledModel] = Field(default_factory=list)
    pooled_pairs: list[PooledPair] = Field(default_factory=list)
    ranges: list[RangeRow] = Field(default_factory=list)
    tests_from_2: list[TestRow] = Field(default_factory=list)
    nothing_ticked: list[NothingRow] = Field(default_factory=list)
    summaries: list[Summary] = Field(default_factory=list, exclude=True)

    def summary(self) -> list[Summary]:
        """An answer for each question; free-for-alls have theirs in their own section."""
        return [answer for answer in self.summaries if answer.technique != FREE_FOR_ALL]

    def data_tables(self) -> list[DataTable]:
        """All tables that hold a row, as in the papers: win rates, tests, pairs, turns, places, patterns."""
        singles = [row for row in self.models if row.kind == "single"]
        patterns, paper = self.patterns, _papers_tests(self.tests)
        answers = POOLED_TITLE if self.pooled else "Tests"
        pooled = to_cite([row.line() for row in self.pooled_pairs])
        tables = [
            _table("turns_models", "Win rates", MODELS, self._by_rank()),
            _table(
                "turns_pooled", "One ranking of all models", POOLED_MODELS, self.pooled, *POOLED_NOTES, labels=OF_POOLED
            ),
            _table("turns_pooled_pairs", POOLED_TITLE, POOLED_PAIRS, self.pooled_pairs, *pooled, labels=OF_POOLED),
            _table("turns_ranking", "Win rates over all groups of models", f"rank model {RATE}", self.ranking),
            _table("turns_tests", "Tests", TESTS, self.tests, *paper, *self._cited()),
            _table(
                "turns_tests_from_2",
                "Tests without first turns",
                TESTS,
                self.tests_from_2,
                *paper,
                f"Not to cite: a check whether the answer rests on first turns, which {LIU} leave out. Cite “{answers}”.",
            ),
            _table(
                "turns_pairs",
                "Pairs: ties, Lin, Sqr and winner-takes-all",
                PAIRS,
                self.pairs,
                f"Not to cite: p of Lin, of turns that one of the two won alone ({SMITH}). Cite “{answers}”.",
            ),
            _table("turns_ranges", "All replies chosen (tie-win), or none (tie-loss)", RANGES, self.ranges),
            _table("turns_single", "Single models: dialogues with at least half of the turns good", DIALOGUES, singles),
            _table("turns_nothing_ticked", "Single models: turns with nothing ticked", NONE, self.nothing_ticked),
            _table(
                "turns_effective",
                "Single models: effective win rates",
                EFFECTIVE,
                self.effective,
                "Not to cite: p of an effect size of dialogues. Cite “Tests”, which counts turns.",
            ),
            _table("turns_by_turn", "Win rates by turn", f"turn model {RATE} lin", self.by_turn),
            _table(
                "turns_by_position", "Win rates by place (anchoring)", f"position model {RATE} lin", self.by_position
            ),
            _table("turns_reselection", "Chosen in two consecutive turns", RESELECTION, patterns.reselection),
            _table(
                "turns_cascading", "What was chosen first, in later turns", BIAS, patterns.cascading, labels=OF_PATTERNS
            ),
            _table("turns_anchoring", "Tests of places", BIAS, patterns.anchoring, labels=OF_PATTERNS),
            _table(
                "turns_strengths", "Strengths (Plackett–Luce, log-odds against the mean)", STRENGTHS, self.strengths
            ),
            _table("turns_pulls", "Pull of the place (log-odds against the mean)", PULLS, self.positions),
            _table("turns_combos", "PW combo: turns and self-chats together", COMBOS, self.combos),
            _table("turns_leave_one_out", "Without each model", LEFT_OUT, self.leave_one_out),
        ]
        return [table for table in tables if table.rows]

    def _cited(self) -> Iterator[str]:
        pooled = {row.family for row in self.pooled}
        pairs = [row for row in self.tests if row.test.of_pair]
        own = [row for row in pairs if row.family not in pooled and row.technique != FREE_FOR_ALL]
        if any(row.family in pooled for row in pairs):
            which = f" ({'; '.join(map(str, sorted(pooled)))})" if own else ""
            yield (
                f"Cite “{POOLED_TITLE}” where not all models stood side by side{which}. There these tests are a check: each "
                "is of the turns of one set of models only."
            )
        if any(row.technique == FREE_FOR_ALL for row in pairs):
            yield "Free-for-alls: cite the section “Free-for-all”."
        yield from to_cite(list(map(_line, own)), alike=any(row.adjusted for row in own)) if own else ()

    def _by_rank(self) -> list[ModelRow]:
        groups = list(dict.fromkeys(row.where for row in self.models))
        return sorted(self.models, key=lambda row: (groups.index(row.where), row.rank, row.model))

    def figures(self) -> list[Figure]:
        """Of each group: win rates with intervals, win rates by turn; of more than two models p-values and strengths."""
        figures: list[Figure] = []
        captions = _captions(self.models)
        for number, (where, rows) in enumerate(groupby(self.models, key=lambda row: row.where), start=1):
            models = list(rows)
            of = captions[where]
            figures += _win_rate_figure(number, of, models)
            figures += _turn_curves(number, of, [row for row in self.by_turn if row.where == where])
            if len(models) > 2:
                figures.append(_p_matrix(number, of, models, [row for row in self.tests if row.where == where]))
                figures += _strength_figure(number, of, [row for row in self.strengths if row.where == where])
        return figures

    def methods(self) -> list[Method]:
        """How the numbers shown were made, and no others."""
        return list(_methods(self))


def build(tables: Tables, options: Options) -> TurnsSection | None:
    """The section; None where nobody chose anything turn by turn.

    Raises:
        TableError: as reading the tables.
    """
    groups = choice_groups(tables)
    odd = data_warnings(tables.turns)
    if not groups and not odd:
        return None
    answered = [group for group in groups if len(group.turns.turns)]
    families = [list(family) for _, family in groupby(answered, key=lambda group: group.family)]
    unfinished = _with_unfinished(groups, tables)
    level = options.level
    strengths = [pooled_strengths(family, level=level) for family in families]
    section = TurnsSection(
        models=[row for group in answered for row in _model_rows(group, options, unfinished)],
        tests=_test_rows(families, level),
        by_turn=[row for group in answered for row in _by_turn(group, level)],
        by_position=[row for group in answered for row in _by_position(group, level)],
        pairs=[row for group in answered for first in (1, LATER) for row in _pair_rows(group, first, options)],
        effective=[row for group in answered for row in _effective_rows(group, level)],
        patterns=_patterns(answered, level),
        leave_one_out=[row for group in answered for row in _left_out_rows(group)],
        combos=list(_combo_rows(answered, tables, level)),
        ranking=[
            row
            for family, found in zip(families, strengths, strict=True)
            if len(family) > 1
            for row in _ranking(family, level, None if found is None else found.order)
        ],
        ranges=[row for group in answered for first in (1, LATER) for row in _range_rows(group, first, level)],
        tests_from_2=_test_rows(families, level, LATER),
        nothing_ticked=list(_nothing_ticked(answered, level)),
    )
    _add_strengths(section, answered, level)
    several = [
        (family, found)
        for family, found in zip(families, strengths, strict=True)
        if family[0].technique != FREE_FOR_ALL
    ]
    pooled = [answer for both in several for answer in [pooled_answer(*both, level)] if answer is not None]
    orders = {Family(*family[0].family): found.order for family, found in several if found is not None}
    section.pooled = [row for answer in pooled for row in answer.models]
    section.pooled_pairs = [row for answer in pooled for row in answer.pairs]
    section.summaries = _summaries(section, groups, {answer.family: answer for answer in pooled}, orders, level)
    section.headline = _headline(section.summaries)
    if odd and not answered:
        section.headline = f"No turn counts, so nothing can be said about the models. {odd[0]}"
    of_ranking = {answer.family: list(answer.remarks()) for answer in pooled}
    section.remarks = _remarks(
        section, groups, odd, self_comparisons(tables.turns), of_ranking, include_partial=options.include_partial
    )
    return section


def _of_group(group: ComparisonGroup) -> dict[str, Any]:
    return {
        "technique": group.technique,
        "setting": group.setting,
        "metric": group.metric,
        "group": " – ".join(group.models),
        "kind": group.kind,
        "problem": group.problem,
    }


def _share(values: Floats, workers: Objects, level: float, counts: Floats | None = None) -> Result:
    """Sum of ``values`` of the sum of ``counts`` (one each), clustered by worker; nan does not count."""
    whole = np.ones_like(values) if counts is None else counts
    return clustered_share(cluster_sums(values, whole, workers), level=level)


# Models: win rates, ranks, dialogues won.


def _model_rows(
    group: ComparisonGroup, options: Options, unfinished: dict[Any, tuple[int, float]]
) -> Iterator[ModelRow]:
    """A row a model: selected / turns in which it was shown (Liu et al. 2023), with the intervals of :class:`ModelRow`."""
    turns, level, single = group.turns, options.level, group.kind == "single"
    rates = [_share(chosen, turns.workers, level) for chosen in turns.chosen.T]
    adjusted = _rates_by_place(group, rates, level)
    ranks = _ranks([alike or rate for alike, rate in zip(adjusted, rates, strict=True)], fewest_first=group.problem)
    columns = zip(group.models, turns.chosen.T, rates, adjusted, ranks, strict=True)
    for model, chosen, rate, alike, rank in columns:
        seen = ~np.isnan(chosen)
        n, selected = int(seen.sum()), int(np.nansum(chosen))
        later = {first: turns.turns >= first for first in (LATER, LATER_SINGLE)}
        with_unfinished = unfinished.get((*group.family, *group.models, model), (None, None))
        yield ModelRow(
            **_of_group(group),
            model=model,
            rank=rank,
            n=n,
            selected=selected,
            rate=rate,
            adjusted=alike,
            boot=_bootstrapped(chosen, np.ones_like(chosen), turns.workers, options),
            wald=Interval(*(wald_interval(selected, n, level) or ())),
            wilson=Interval(*(wilson_interval(selected, n, level) or ())),
            from_2=_share(chosen[later[LATER]], turns.workers[later[LATER]], level),
            from_3=_share(chosen[later[LATER_SINGLE]], turns.workers[later[LATER_SINGLE]], level) if single else None,
            dialogues=_dialogues_won(group, model, 1, level) if single else None,
            dialogues_3=_dialogues_won(group, model, LATER_SINGLE, level) if single else None,
            n_dialogues=len(set(turns.dialogues[seen])),
            n_workers=len(set(turns.workers[seen])),
            n_with_unfinished=with_unfinished[0],
            win_rate_with_unfinished=with_unfinished[1],
        )


def _rates_by_place(group: ComparisonGroup, rates: Sequence[Result], level: float) -> list[Result | None]:
    """The win rates with all places counting alike, where the effect of the place outweighs a difference of two models."""
    nothing: list[Result | None] = [None] * len(rates)
    estimates = [rate.estimate for rate in rates if rate.estimate is not None]
    gaps = [a - b for a, b in combinations(estimates, 2)]
    effect = place_effect(group, level)
    if effect is None or not gaps or not place_outweighs(effect, effect.estimate, min(map(abs, gaps))):
        return nothing
    columns = zip(group.turns.chosen.T, group.positions.T, strict=True)
    balanced = [position_balanced(chosen, places) for chosen, places in columns]
    if any(values is None for values in balanced):
        return nothing
    return [
        places_alike(clustered_mean(values, group.turns.workers, name=rate.name, limits=SHARE_LIMITS, level=level))
        for values, rate in zip(balanced, rates, strict=True)
        if values is not None
    ]


def _ranks(rates: Sequence[Result], *, fewest_first: bool = False) -> list[int]:
    sign = -1 if fewest_first else 1
    estimates = [-2.0 if rate.estimate is None else sign * rate.estimate for rate in rates]
    return [int(rank) for rank in ranks_of([estimates])[0]]


def _with_unfinished(groups: Sequence[ComparisonGroup], tables: Tables) -> dict[Any, tuple[int, float]]:
    left = {(*group.family, *group.models) for group in groups if group.unfinished_turns}
    whole = choice_groups(taken_as_finished(tables)) if left else []
    return {
        (*group.family, *group.models, model): (int((~np.isnan(chosen)).sum()), float(np.nanmean(chosen)))
        for group in whole
        if (*group.family, *group.models) in left
        for model, chosen in zip(group.models, group.turns.chosen.T, strict=True)
        if not np.isnan(chosen).all()
    }


def _bootstrapped(numerators: Floats, denominators: Floats, workers: Objects, options: Options) -> Interval:
    sums = cluster_sums(numerators, denominators, workers)
    drawn = cluster_bootstrap(sums, seed=options.seed, draws=options.draws, level=options.level)
    return Interval(*(drawn or ()))


def _ranking(family: Sequence[ComparisonGroup], level: float, order: ModelOrder | None) -> list[RankRow]:
    """The models of several groups, best first, over all turns in which each was shown; ``order``: None: by their rates."""
    models = sorted({model for group in family for model in group.models})
    parts = {model: [group for group in family if model in group.models] for model in models}
    chosen = {
        model: np.concatenate([group.turns.chosen[:, group.models.index(model)] for group in groups])
        for model, groups in parts.items()
    }
    rates = [
        _share(chosen[model], np.concatenate([group.turns.workers for group in groups]), level)
        for model, groups in parts.items()
    ]
    rows = [
        RankRow(
            technique=family[0].technique,
            setting=family[0].setting,
            metric=family[0].metric,
            kind=family[0].kind,
            rank=rank,
            model=model,
            n=rate.n,
            selected=int(np.nansum(chosen[model])),
            rate=rate,
        )
        for model, rate, rank in zip(
            models, rates, _ranks(rates) if order is None else map(order.rank, models), strict=True
        )
    ]
    return sorted(rows, key=lambda row: (row.rank, order.names.index(row.model) if order is not None else 0))


def _dialogue_scores(group: ComparisonGroup, model: str, first: int) -> tuple[Floats, Floats, Objects]:
    """Of each dialogue of a single model: its share of good turns, whether at least half are, and its worker."""
    turns = group.turns
    chosen = group.good[:, group.models.index(model)]
    rows = ~np.isnan(chosen) & (turns.turns >= first)
    codes, names = pd.factorize(turns.dialogues[rows])
    n = np.bincount(codes, minlength=len(names)).astype(float)
    good = np.bincount(codes, weights=chosen[rows], minlength=len(names)).astype(float)
    return good / n, sm_wta_scores(good, n), _workers_of(codes, turns.workers[rows], len(names))


def _workers_of(codes: Ints, workers: Objects, size: int) -> Objects:
    of_dialogue = np.full(size, "", dtype=object)
    of_dialogue[codes] = workers
    return of_dialogue


def _dialogues_won(group: ComparisonGroup, model: str, first: int, level: float) -> Result:
    _, won, workers = _dialogue_scores(group, model, first)
    return _share(won, workers, level)


def _effective_rows(group: ComparisonGroup, level: float) -> Iterator[EffectiveRow]:
    if group.kind != "single":
        return
    for first in (1, LATER_SINGLE):
        scores = {model: _dialogue_scores(group, model, first) for model in group.models}
        for a, b in combinations(group.models, 2):
            for score, of_a, of_b in (("share", scores[a][0], scores[b][0]), ("wta", scores[a][1], scores[b][1])):
                yield EffectiveRow(
                    **_of_group(group),
                    first_turn=first,
                    score=score,
                    model_a=a,
                    model_b=b,
                    n_a=len(of_a),
                    n_b=len(of_b),
                    rate=effective_win_test(of_a, scores[a][2], of_b, scores[b][2], level=level),
                )


def _nothing_ticked(groups: Sequence[ComparisonGroup], level: float) -> Iterator[NothingRow]:
    singles = [group for group in groups if group.kind == "single"]
    for (technique, setting), found in groupby(singles, key=lambda group: group.family[:2]):
        criteria = list(found)
        if len(criteria) < 2:
            continue
        good = turn_rates(criteria)
        models = {
            dialogue: group.models[column]
            for group in criteria
            for dialogue, column in zip(
                group.turns.dialogues, np.nanargmax(~np.isnan(group.turns.chosen), axis=1), strict=True
            )
        }
        of_model = good.index.get_level_values("dialogue_id").map(models).to_numpy(dtype=object)
        workers = good.index.get_level_values("worker_id").to_numpy(dtype=object)
        names = sorted(set(models.values()))
        for first in (1, LATER_SINGLE):
            later = [turn for turn in good.columns if int(turn) >= first]
            for model in names:
                shares = good.loc[of_model == model, later].to_numpy(dtype=float)
                nothing = np.where(np.isnan(shares), np.nan, shares == 0)
                rate = _share(nothing.ravel(), np.repeat(workers[of_model == model], len(later)), level)
                if rate.n:
                    yield NothingRow(
                        technique=technique,
                        setting=setting,
                        metric=NOTHING,
                        group=" – ".join(names),
                        kind="single",
                        first_turn=first,
                        model=model,
                        rate=rate,
                    )


# Turns, places and ranges of turns.


def _cell(group: ComparisonGroup, column: int, rows: Flags, level: float) -> dict[str, Any]:
    chosen, workers = group.turns.chosen[rows], group.turns.workers[rows]
    own = chosen[:, column]
    pair_lin = None
    if len(group.models) == 2 and group.kind != "single":
        gaps = own - chosen[:, 1 - column]
        pair_lin = linear_win_rate(float((gaps > 0).sum()), float((gaps < 0).sum()))
    return {**_counts(own), "rate": _share(own, workers, level), "lin": pair_lin}


def _counts(chosen: Floats) -> dict[str, int]:
    return {"n": int((~np.isnan(chosen)).sum()), "selected": int(np.nansum(chosen))}


def _by_turn(group: ComparisonGroup, level: float) -> Iterator[TurnRow]:
    numbers = group.turns.turns
    for number in np.unique(numbers):
        for column, model in enumerate(group.models):
            values = _cell(group, column, numbers == number, level)
            if values["n"]:
                yield TurnRow(**_of_group(group), turn=int(number), model=model, **values)


def _by_position(group: ComparisonGroup, level: float) -> Iterator[PositionRow]:
    places = group.turns.by_position
    for place, chosen in enumerate(places.T, start=1):
        rate = _share(chosen, group.turns.workers, level)
        yield PositionRow(**_of_group(group), position=place, model=None, **_counts(chosen), rate=rate, lin=None)
    for column, model in enumerate(group.models if places.shape[1] else ()):
        for place in range(1, places.shape[1] + 1):
            values = _cell(group, column, group.positions[:, column] == place, level)
            yield PositionRow(**_of_group(group), position=place, model=model, **values)


def _range_rows(group: ComparisonGroup, first: int, level: float) -> Iterator[RangeRow]:
    """Ties of all models of the group from turn ``first`` on; none of single replies, or where there is no such turn."""
    turns = group.at_turns(first).turns
    if group.kind == "single" or not len(turns.turns):
        return
    shown, picks = (~np.isnan(turns.chosen)).sum(axis=1), np.nansum(turns.chosen, axis=1)
    several = np.where(shown > 1, 1.0, np.nan)
    yield RangeRow(
        **_of_group(group),
        first_turn=first,
        last_turn=int(turns.turns.max()),
        n=len(turns.turns),
        n_dialogues=len(set(turns.dialogues)),
        n_workers=len(set(turns.workers)),
        tie_win=_share((picks == shown) * several, turns.workers, level),
        tie_loss=_share((picks == 0) * several, turns.workers, level),
        written=_share(turns.written, turns.workers, level),
    )


# Pairs of models.


def _pair_rows(group: ComparisonGroup, first: int, options: Options) -> Iterator[PairRow]:
    if group.kind == "single":
        return
    part = group.at_turns(first)
    turns = part.turns
    dialogues, names = pd.factorize(turns.dialogues)
    workers = _workers_of(dialogues, turns.workers, len(names))
    for a, b in combinations(range(len(part.models)), 2):
        x, y = turns.chosen[:, a], turns.chosen[:, b]
        both_shown = ~np.isnan(x) & ~np.isnan(y)
        if both_shown.any():
            yield PairRow(
                **_of_group(group),
                first_turn=first,
                last_turn=int(turns.turns[both_shown].max()),
                model_a=part.models[a],
                model_b=part.models[b],
                n_dialogues=len(set(dialogues[both_shown])),
                n_workers=len(set(turns.workers[both_shown])),
                **_pair_counts(x[both_shown], y[both_shown]),
                **_pair_rates(x, y, dialogues, workers, options),
            )


def _pair_counts(x: Floats, y: Floats) -> dict[str, Any]:
    n = len(x)
    both, neither = int(((x == 1) & (y == 1)).sum()), int(((x == 0) & (y == 0)).sum())
    only_a, only_b = int((x > y).sum()), int((x < y).sum())
    return {
        "n": n,
        "only_a": only_a,
        "only_b": only_b,
        "both": both,
        "neither": neither,
        "win_rate_a": float(x.mean()),
        "win_rate_b": float(y.mean()),
        "tie_win": both / n,
        "tie_loss": neither / n,
        "paper": binomial_test(only_a, only_a + only_b),
    }


def _pair_rates(
    x: Floats, y: Floats, dialogues: Ints, workers: Objects, options: Options
) -> dict[str, Result | Interval]:
    size = len(workers)
    wins = np.bincount(dialogues, weights=x > y, minlength=size).astype(float)
    losses = np.bincount(dialogues, weights=x < y, minlength=size).astype(float)
    once = np.ones(size)
    values: dict[str, Result | Interval] = {}
    for name, scores, counts in (
        ("lin", wins, wins + losses),
        ("sqr", sqr_scores(wins, losses), once),
        ("wta", wta_scores(wins, losses), once),
    ):
        values[name] = _share(scores, workers, options.level, counts)
        values[f"{name}_boot"] = _bootstrapped(scores, counts, workers, options)
    return values


def _combo_rows(groups: Sequence[ComparisonGroup], tables: Tables, level: float) -> Iterator[ComboRow]:
    picked = [g for g in groups if g.kind == "one" and len(g.models) == 2 and g.technique != FREE_FOR_ALL]
    rows = counted_comparisons(tables)
    rows = rows[(rows["dialogue_a"] != rows["dialogue_b"]).to_numpy(dtype=bool)]
    if not picked or rows.empty:
        return
    rows = orient_pairs(rows)
    rows = rows[((rows["outcome"] != 0) & rows["setting"].isin(SELF_CHATS)).to_numpy(dtype=bool)]
    of_pair = {tuple(map(str, key)): part for key, part in rows.groupby(["metric", "model_a", "model_b", "setting"])}
    for group in picked:
        turns = group.at_turns(*PAIR_TURNS).turns
        gap = turns.chosen[:, 0] - turns.chosen[:, 1]
        decided = ~np.isnan(gap) & (gap != 0)
        for setting in SELF_CHATS:
            compared = of_pair.get((group.metric, *group.models, setting))
            if compared is None or not decided.any():
                continue
            won, dialogs = (gap[decided] > 0).astype(float), (compared["outcome"].to_numpy() > 0).astype(float)
            workers = turns.workers[decided], compared["worker_id"].to_numpy(dtype=object)
            combo = pair_combo(won, workers[0], dialogs, workers[1], level=level)
            if combo.estimate is not None:
                yield ComboRow(
                    **_of_group(group),
                    pair=group.models,
                    model_a=group.models[0],
                    model_b=group.models[1],
                    setting_dialog=setting,
                    n_turns=len(won),
                    n_dialogs=len(dialogs),
                    lin_turns_2_6=float(won.mean()),
                    win_rate_dialog=float(dialogs.mean()),
                    combo=combo,
                    notes=[*combo.notes, *([] if setting else [NOT_SAID])],
                )


# Tests.


def _test_rows(families: Sequence[Sequence[ComparisonGroup]], level: float, first: int = 1) -> list[TestRow]:
    """Tests of turns ``first`` on, group by group; Holm's correction is over the pairs of all groups of a family."""
    questions = Counter(family[0].family[:2] for family in families)
    rows: list[TestRow] = []
    for groups in families:
        asked_alone = questions[groups[0].family[:2]] == 1
        parts = [group.at_turns(first) for group in groups]
        everywhere = _superiorities(parts, level) if len(groups) > 1 else {}
        for found in family_tests(groups, level=level, first=first, asked_alone=asked_alone):
            row = TestRow(**_of_group(found.group), first_turn=first, test=found.test, adjusted=found.adjusted)
            if found.test.of_pair:
                row.superiority = everywhere.get(_two(found.test)) or _superiority(row)
            rows.append(row)
    return rows


def _superiority(row: TestRow) -> Result:
    """The difference that a pair is told by, on the scale of other techniques."""
    superiority = superiority_of_difference(row.told)
    return complement(superiority) if row.problem else superiority


def _superiorities(groups: Sequence[ComparisonGroup], level: float) -> dict[tuple[str, str], Result]:
    together = merged(groups)
    chosen, workers = together.turns.chosen, together.turns.workers
    return {
        (together.models[a], together.models[b]): paired_superiority(chosen[:, a] - chosen[:, b], workers, level=level)
        for a, b in combinations(range(len(together.models)), 2)
    }


def _left_out_rows(group: ComparisonGroup) -> list[LeftOutRow]:
    if group.kind == "single" or len(group.models) < 3:
        return []
    turns, one_pick = group.turns, group.kind == "one"
    tests = compare_choices(turns.chosen, turns.models, turns.workers, one_pick=one_pick)
    without = leave_one_out(turns.chosen, turns.models, turns.workers, tests, one_pick=one_pick)
    return [LeftOutRow(**_of_group(group), without=left) for left in without]


def _patterns(groups: Sequence[ComparisonGroup], level: float) -> Patterns:
    patterns = Patterns()
    for group in groups:
        where = _of_group(group)
        if len(np.unique(group.turns.turns)) > 1:
            repeats = reselection(group.turns, one_pick=group.kind == "one", level=level)
            if group.kind == "single":
                repeats = repeats[: len(group.models)]
            patterns.reselection += [ReselectionRow(**where, repeats=row) for row in repeats if row.n_pairs]
            if group.kind != "single":
                first = first_choice(group.turns, level=level)
                tests = (first.paper, first.clustered, first.adjusted)
                patterns.cascading += [BiasRow(**where, test=test) for test in tests]
        if group.turns.by_position.shape[1] > 1:
            patterns.anchoring += [BiasRow(**where, test=test) for test in _anchoring(group, level)]
    return patterns


def _anchoring(group: ComparisonGroup, level: float) -> list[Result]:
    """The first place against the others; all places at once, as the papers test models, and clustered."""
    places = group.turns.by_position
    known = ~np.isnan(places).any(axis=1)
    names = [f"place {number}" for number in range(1, places.shape[1] + 1)]
    whole = equality_tests(places[known], names, group.turns.workers[known], group.kind == "one", level)
    both = (whole.paper, whole.clustered)
    return [first_place(group.turns, level=level), *(test.but(name=ALL_PLACES) for test in both)]


def _add_strengths(section: TurnsSection, groups: Sequence[ComparisonGroup], level: float) -> None:
    for group in groups:
        fitted = None if group.technique == FREE_FOR_ALL else turn_strengths(group, level=level)
        if fitted is None:
            continue
        section.strengths += [
            StrengthRow(
                **_of_group(group),
                model=model,
                strength=strength,
                equal=fitted.equal,
                # Why a model has none is among those of the fit, with its name.
                notes=list(dict.fromkeys([*fitted.notes, *(() if strength.estimate is None else strength.notes)])),
                strength_note=strength_note(fitted.order, model, strength),
            )
            for model, strength in zip(group.models, fitted.models, strict=True)
        ]
        section.positions += [
            PullRow(
                **_of_group(group),
                position=pull.name.removeprefix("pull of position "),
                pull=pull,
                no_effect=fitted.no_position_effect,
            )
            for pull in fitted.positions
        ]


# Words.


def _summaries(
    section: TurnsSection,
    groups: Sequence[ComparisonGroup],
    pooled: Mapping[Family, PooledAnswer],
    orders: Mapping[Family, ModelOrder],
    level: float,
) -> list[Summary]:
    answers = []
    for family, rows in groupby(section.models, key=lambda row: row.family):
        models = list(rows)
        tests = [row for row in section.tests if row.family == family and row.test.of_pair]
        if family in pooled:
            answers.append(_of_pooled(pooled[family], level))
        else:
            answers.append(_summary(section, family, models, tests, orders.get(family), level))
        mine = [group for group in groups if Family(*group.family) == family]
        answers[-1].remarks += list(dict.fromkeys(_family_remarks(section, family, mine)))
    _say_where(answers)
    return sorted(answers, key=lambda answer: -sum(line.n for line in answer.models))


def _say_where(answers: Sequence[Summary]) -> None:
    """Of several answers a remark says of which it is, unless it holds for all of them."""
    for_all = set.intersection(*(set(answer.remarks) for answer in answers)) if answers else set()
    told = [
        [text if text in for_all else f"In {_title(answer)}: {text}" for text in answer.remarks] for answer in answers
    ]
    for answer, remarks in zip(answers, told, strict=True):
        answer.remarks = remarks


def _summary(
    section: TurnsSection,
    family: Family,
    models: list[ModelRow],
    pairs: list[TestRow],
    order: ModelOrder | None,
    level: float,
) -> Summary:
    """The answer to one question; more remarks are still to come. ``order``: of models that were not all shown together."""
    ranking = [row for row in section.ranking if row.family == family]
    ranked: list[RankRow] | list[ModelRow] = ranking or models
    place = {} if order is None else {model: place for place, model in enumerate(order.names)}
    lines = {
        (place.get(row.model, 0), row.rank, row.model): ModelLine.of(row.model, row.told, "turns", share=True, n=row.n)
        for row in ranked
    }
    kind = models[0].kind
    verdict = _several_groups(pairs, level) if ranking or order else _one_group(models, pairs, level)
    of_pairs = [_line(row) for row in pairs]
    remarks = ["Each model is rated over all turns that showed it, whoever stood beside it."] if ranking else []
    return Summary(
        section="turns",
        **family._asdict(),
        what=_axis(models[0]),
        verdict=verdict,
        models=[lines[place] for place in sorted(lines)],
        pairs=of_pairs,
        reference=1 / len(models) if kind == "one" and not ranking else None,
        model_table="turns_ranking" if ranking else "turns_models",
        pair_table="turns_tests" if pairs else "",
        remarks=[*remarks, *(() if order is None else (IN_ORDER, *order.reasons()))],
        best=None if order is None else best_of_pairs(dict.fromkeys(order.names), of_pairs, order),
    )


def _of_pooled(answer: PooledAnswer, level: float) -> Summary:
    return Summary(
        section="turns",
        **answer.family._asdict(),
        what=AXIS,
        verdict=answer.verdict(level),
        models=answer.lines(),
        pairs=[pair.line() for pair in answer.pairs],
        reference=0.5,
        model_table="turns_pooled",
        pair_table="turns_pooled_pairs",
        remarks=list(answer.remarks()),
        best=answer.best,
    )


def _two(test: TurnTest) -> tuple[str, str]:
    first, second = test.models
    return first, second


def _axis(row: OfQuestion) -> str:
    if row.problem:
        return f"replies marked as {row.metric} (fewer is better)"
    return "replies found good" if row.kind == "single" else "turns in which the reply was chosen"


def _headline(summaries: Sequence[Summary]) -> str:
    if not summaries:
        return "No turn that counts has been answered yet, so nothing can be said about the models."
    named = len(summaries) > 1
    sentences = [f"{_title(answer)}: {answer.verdict}" if named else answer.verdict for answer in summaries[:SENTENCES]]
    more = len(summaries) - SENTENCES
    return " ".join(sentences) + (f" {counted(more, 'more comparison')}: see the tables." if more > 0 else "")


def _title(row: OfGroup | ComparisonGroup | Summary) -> str:
    return ", ".join(part for part in (row.technique, row.setting, row.metric) if part)


def _one_group(rows: Sequence[ModelRow], pairs: Sequence[TestRow], level: float) -> str:
    best, *others = sorted(rows, key=lambda row: (row.rank, row.model))
    verb = f"marked as {best.metric}" if best.problem else "found good" if best.kind == "single" else "chosen"
    first = (
        f"{best.model} was {verb} in {percent(best.told.estimate)} of {counted(best.n, 'turn')} "
        f"({_interval(best, level)})"
    )
    if not others:
        return f"{first}."
    rates = ", ".join(f"{row.model} in {percent(row.told.estimate)}" for row in others)
    return f"{first}, {rates}{_as_counted(rows)}; {_which_differ(pairs)}."


def _as_counted(rows: Sequence[ModelRow]) -> str:
    if not any(row.adjusted for row in rows):
        return ""
    rates = ", ".join(f"{row.model} {percent(row.rate.estimate)}" for row in rows)
    return f", with all places counting alike (as counted: {rates})"


def _interval(row: ModelRow, level: float) -> str:
    if row.told.ci_low is None:
        return f"{counted(row.n_workers, 'worker')}: too few for an interval, at least {MIN_CLUSTERS} are needed"
    interval = f"{percent(level)} interval {format_range(row.told.ci_low, row.told.ci_high)}"
    return f"{interval}, clustered by {counted(row.n_workers, 'worker')}"


def _which_differ(pairs: Sequence[TestRow]) -> str:
    """By the clustered tests of pairs, Holm's correction where the family has several."""
    made = [row for row in pairs if row.test.clustered.p_holm is not None]
    if not made:
        return "whether they differ cannot be tested"
    if len(pairs) == 1:
        line = _line(made[0])
        return f"they {'differ' if line.differs else 'are statistically tied'} ({pair_p(line)})"
    lines = sorted(map(_line, made), key=lambda line: -(line.gap or 0.0))
    apart = [f"{line.first} from {line.second}" for line in lines if line.differs]
    smallest = format_p(min(line.p_decides or 0.0 for line in lines))
    if not apart:
        return f"no pair of {len(made)} differs (Holm's correction, smallest {smallest})"
    more = len(apart) - NAMED_PAIRS
    named = ", ".join(apart[:NAMED_PAIRS]) + (f" and {more} more" if more > 0 else "")
    verb = "differs" if len(apart) == 1 else "differ"
    winner = winner_words(lines)
    told = f"{len(apart)} of {len(made)} pairs {verb} (Holm's correction, smallest {smallest}): {named}"
    return f"{winner}; {told}" if winner else told


def _several_groups(pairs: Sequence[TestRow], level: float) -> str:
    made = [row for row in pairs if row.test.clustered.p_holm is not None]
    if not made:
        return "Whether the models differ cannot be tested."
    lines = [_line(row) for row in pairs if row.test.clustered.n]
    clearest = min(lines, key=clearness)
    if not clearest.gap:
        return f"{apart_words(lines, 'models')}: nothing tells the models apart."
    p = pair_p(clearest)
    between = (
        "no interval can be given"
        if clearest.low is None
        else f"{percent(level)} interval {points_range(clearest.low, clearest.high)}"
    )
    return (
        f"{apart_words(lines, 'models')}; the clearest: {clearest.first} is ahead of {clearest.second} by "
        f"{points_words(clearest.gap)} points ({between}, clustered by worker; {p})."
    )


def _line(row: TestRow) -> PairLine:
    a, b = _two(row.test)
    test = row.test
    return PairLine.of(
        a,
        b,
        row.told,
        test.paper.p_value,
        share=True,
        # The paper's test knows no places: of an adjusted difference it decides nothing.
        paper=None if row.adjusted else test.paper,
        superiority=row.superiority,
        fewer_is_better=row.problem,
    )


def _remarks(
    section: TurnsSection,
    groups: Sequence[ComparisonGroup],
    odd: Sequence[str],
    own_rival: int,
    of_ranking: Mapping[Family, Sequence[str]],
    *,
    include_partial: bool,
) -> list[str]:
    """What was left out, where the two kinds of tests disagree, and signs that turns are not independent.

    ``own_rival``: turns in which a model stood against itself; ``of_ranking``: what is said of one ranking of models that
    were not all shown together.
    """
    alone = [f"{counted(own_rival, 'turn')} of a model against itself count nowhere."] if own_rival else []
    partial = ["Answered turns of dialogues that did not end count as well."] if include_partial else []
    of_families = [
        f"{_title(mine[0])}: {text}"
        for family, mine in ((key, list(part)) for key, part in groupby(groups, key=lambda group: group.family))
        for text in [*of_ranking.get(Family(*family), ()), *_family_remarks(section, Family(*family), mine)]
    ]
    return list(dict.fromkeys([*odd, *alone, *partial, *of_families]))


def _family_remarks(section: TurnsSection, family: Family, groups: Sequence[ComparisonGroup]) -> Iterator[str]:
    if any(group.problem for group in groups):
        yield "what was marked is a problem of a reply: fewer is better, and the model with the lowest rate is the first."
    for group in groups:
        names = " – ".join(group.models)
        which = f"{names}: " if len(groups) > 1 else ""
        for text in _left_out(group, [row for row in section.models if row.where == (family, names)]):
            yield f"{which}{text}"
    # Where one ranking answers, tests and strengths of its parts decide nothing.
    in_parts = any(row.family == family for row in section.pooled)
    few = [model for model in section.models if model.family == family and model.rate.ci_low is None]
    if few and in_parts:
        sets = counted(len({model.group for model in few}), "set")
        yield (
            f"some models were judged by fewer than {MIN_CLUSTERS} workers in {sets} of models that stood side by side, so "
            "that their rates there have no interval; the one ranking is of all sets together."
        )
    for model in few if not in_parts else ():
        which = f"{model.group}: " if len(groups) > 1 else ""
        yield (
            f"{which}{model.model} was judged by {counted(model.n_workers, 'worker')}; a clustered interval needs at least "
            f"{MIN_CLUSTERS}."
        )
    rows = [] if in_parts else [row for row in section.tests if row.family == family]
    for row in rows:
        # What decides is the corrected p where there is one.
        test = row.test
        told = None if row.adjusted else results_disagree(test.paper.name, test.paper, test.clustered)
        yield from filter(None, [told])
    yield from rough_guides(row.told for row in rows)
    yield from counted_once(row.told for row in rows)
    adjusted = [row.test.paper.name for row in rows if row.adjusted]
    if adjusted:
        yield (
            f"the effect of the place outweighs the difference of {'; '.join(adjusted)}: of these, and of the rates of "
            "models, all places count alike."
        )
    yield from _pattern_remarks(section.patterns, family)
    for strength in section.strengths:
        if not in_parts and strength.family == family and strength.strength.ci_low is None:
            yield from (f"strengths: {note.removesuffix('.')}." for note in strength.notes)
    for combo in section.combos:
        if combo.family == family:
            yield from (f"PW combo of {combo.group}: {note}." for note in combo.notes)


def _left_out(group: ComparisonGroup, models: Sequence[ModelRow]) -> Iterator[str]:
    if group.unfinished_turns:
        turns, dialogues = counted(group.unfinished_turns, "turn"), counted(group.unfinished_dialogues, "dialogue")
        rates = ", ".join(f"{row.model} {percent(row.win_rate_with_unfinished)}" for row in models)
        with_them = f"; with them it would be {rates}" if rates else ""
        yield f"{turns} of {dialogues} that did not end do not count{with_them}."
    if group.automatic_turns:
        yield f"{counted(group.automatic_turns, 'turn')} with equal replies only do not count: nothing was asked."
    if group.failed_replies:
        n = group.failed_replies
        yield f"{n} {'reply' if n == 1 else 'replies'} failed and {'was' if n == 1 else 'were'} not shown."
    fixed = 0 if group.kind == "single" else len(fixed_places(group.turns))
    if fixed:
        yield (
            f"in {fixed} of {counted(len(set(group.turns.dialogues)), 'dialogue')} the same places were chosen at every "
            f"turn. They count here; {LIU} leave such dialogues out."
        )
    if not len(group.turns.turns):
        yield "no turn counts."


def _pattern_remarks(patterns: Patterns, family: Family) -> Iterator[str]:
    places = [row for row in patterns.anchoring if row.family == family and row.test.name != ALL_PLACES]
    for group, bias, p in _seen([(row.group, row.test) for row in places]):
        more = "more" if (bias.estimate or 0.0) > 0 else "less"
        yield (
            f"replies shown first were chosen {more} often than the others{group}, by "
            f"{points_words(bias.estimate)} points ({p})."
        )
    pooled = [row for row in patterns.reselection if row.family == family and row.repeats.scope == "all models"]
    for group, excess, p in _seen([(row.group, row.repeats.excess) for row in pooled]):
        more = "more" if (excess.estimate or 0.0) > 0 else "less"
        yield (
            f"a model that was chosen is chosen again at the next turn {more} often than the order of "
            f"turns would give by chance{group} ({p}): turns are not independent."
        )


def _seen(tests: Sequence[tuple[str, Result]]) -> Iterator[tuple[str, Result, str]]:
    made = [(group, test) for group, test in tests if test.n]
    for (group, test), p in zip(made, holm([test.p_value for _, test in made]), strict=True):
        if p is not None and p < ALPHA:
            where = f" where {group} stood side by side" if len(tests) > 1 else ""
            yield where, test, deciding_p(test.p_value, p)


def _methods(section: TurnsSection) -> Iterator[Method]:
    kinds = {row.kind for row in section.models}
    yield method("turn_choices", "win_rate")
    yield BY_WORKER
    if "one" in kinds:
        yield _test_method("one reply picked a turn", "two-sided binomial test of two models, Pearson's χ² of more")
    if "any" in kinds:
        yield _test_method("any number picked", "McNemar's χ² without correction of two models, Cochran's Q of more")
    if "single" in kinds:
        yield method("turn_choices", "single_models", baseline=BASELINE)
    if section.pairs:
        yield method("turn_choices", "pairs")
    yield from holm_methods(row.test.clustered for row in section.tests)
    if section.patterns.reselection:
        yield method("turn_choices", "cascading")
    if section.strengths:
        yield method("turn_choices", "strengths")
    if section.pooled:
        yield method("turn_choices", "one_ranking")
    if section.combos:
        yield method("turn_choices", "pw_combo")
    if any(row.adjusted for row in section.tests):
        yield method("turn_choices", "places_counting_alike")
    if section.by_position:
        text = "Selected rate by the place at which a reply stood; places are drawn at random."
        yield Method(name="Anchoring", text=text, source=f"{LIU}, “Examining anchoring effects”")


def _test_method(what: str, tests: str) -> Method:
    return method("turn_choices", "tests", what=what, tests=tests)


# Tables and figures.

LABELS: Labels = {
    "rank": ("Order", "count"),
    "group": ("Side by side", "text"),
    "n": ("Turns", "count"),
    "selected": ("Chosen", "count"),
    "win_rate_from_2": ("Without first turns", "share"),
    "win_rate_from_3": ("Turns 3 on", "share"),
    "win_rate_with_unfinished": ("With unfinished dialogues", "share"),
    "n_with_unfinished": ("Turns with these", "count"),
    "first_turn": ("From turn", "count"),
    "last_turn": ("to turn", "count"),
    "tie_win": ("Tie-win", "share"),
    "tie_loss": ("Tie-loss", "share"),
    "written": ("Next reply written", "share"),
    "dialogues_won": ("Dialogues half good", "share"),
    "dialogues_won_from_3": ("the same, turns 3 on", "share"),
    "share": ("Nothing ticked", "share"),
    "name": ("Test", "text"),
    "statistic": ("Statistic", "number"),
    "p_value": ("Paper's p", "p"),
    "p_holm": ("Paper's p, Holm", "p"),
    "p_clustered": ("Clustered p", "p"),
    "p_clustered_holm": ("Clustered p, Holm", "p"),
    "p_exact": ("McNemar exact", "p"),
    "p_mid": ("McNemar mid-p", "p"),
    "p_sign_flip": ("Sign flip", "p"),
    "win_rate_adjusted": ("Places alike", "share"),
    "adjusted": ("Difference, places alike", "number"),
    "p_adjusted": ("p, places alike", "p"),
    "p_adjusted_holm": ("p, places alike, Holm", "p"),
    "method": ("How tested", "text"),
    "model_a": ("A", "text"),
    "model_b": ("B", "text"),
    "win_rate_a": ("Win rate A", "share"),
    "win_rate_b": ("Win rate B", "share"),
    "lin": ("Lin (of A)", "share"),
    "sqr": ("Sqr of A", "share"),
    "wta": ("WTA of A", "share"),
    "score": ("Score", "text"),
    "n_a": ("Dialogues A", "count"),
    "n_b": ("Dialogues B", "count"),
    "position": ("Place", "count"),
    "p_no_effect": ("No place differs, p", "p"),
    "lin_turns_2_6": ("Lin of A, turns 2–6", "share"),
    "win_rate_dialog": ("Dialogues won by A", "share"),
    "combo": ("PW combo of A", "share"),
    "n_dialogs": ("Dialogues", "count"),
    "what": ("Chosen", "text"),
    "both": ("Twice running", "share"),
    "expected": ("in any order", "share"),
    "independent": ("if independent", "share"),
    "again": ("Again, if chosen before", "share"),
    "second_rate": ("At any rate", "share"),
    "excess": ("Above chance", "number"),
    "left_out": ("Without", "text"),
    "ranking": ("Ranking of the others", "text"),
    "order_changed": ("Order changes", "text"),
    "changed_pairs": ("Pairs whose verdict changes", "text"),
}
OF_PATTERNS: Labels = {**LABELS, "p_value": ("p", "p")}
"""The rows of one table are the paper's tests and clustered ones, each with its p."""
OF_POOLED: Labels = {
    **LABELS,
    "ranks": ("Rank", "text"),
    "met": ("Others beside it", "count"),
    "share": ("Chosen", "share"),
    "chance": ("Chance over the average", "share"),
    "may_be_best": ("May be the best", "text"),
    "p_all_equal": ("All equal, p", "p"),
    "lead_a": ("A ahead by", "points"),
    "difference": ("A − B, log-odds", "number"),
    "p_value": ("p, independent", "p"),
    "p_holm": ("p, independent, Holm", "p"),
    "p_step_down": ("p, step-down", "p"),
}
POOLED_NOTES = (
    "Strength: Plackett–Luce, log-odds against the mean, free of who stood beside the model, and where; the intervals of "
    "all models hold together. May be the best: below no other model by the tests of pairs (Holm, family-wise 5 %).",
)
RATE = "n selected win_rate ci_low ci_high"
MODELS = (
    f"rank model n_dialogues {RATE} win_rate_adjusted adjusted_low adjusted_high boot_low boot_high wald_low wald_high "
    "wilson_low wilson_high win_rate_from_2 "
    "win_rate_from_2_low win_rate_from_2_high win_rate_from_3 win_rate_from_3_low win_rate_from_3_high "
    "win_rate_with_unfinished n_with_unfinished n_workers"
)
TESTS = (
    "name n statistic p_value p_holm estimate ci_low ci_high superiority superiority_low superiority_high p_clustered "
    "p_clustered_holm p_exact p_mid p_sign_flip adjusted adjusted_low adjusted_high p_adjusted p_adjusted_holm "
    "per_worker p_per_worker_holm"
)
PAIRS = (
    "model_a model_b first_turn last_turn n win_rate_a win_rate_b tie_win tie_loss lin lin_low lin_high lin_boot_low "
    "lin_boot_high sqr sqr_low sqr_high sqr_boot_low sqr_boot_high wta wta_low wta_high wta_boot_low wta_boot_high "
    "p_clustered p_value"
)
RANGES = (
    "first_turn last_turn n tie_win tie_win_low tie_win_high tie_loss tie_loss_low tie_loss_high written written_low "
    "written_high n_dialogues n_workers"
)
DIALOGUES = (
    "model dialogues_won dialogues_won_low dialogues_won_high dialogues_won_from_3 dialogues_won_from_3_low "
    "dialogues_won_from_3_high"
)
NONE = "model first_turn n share ci_low ci_high"
EFFECTIVE = "score model_a model_b first_turn n_a n_b win_rate ci_low ci_high p_clustered"
RESELECTION = "what n both expected independent again second_rate excess excess_low excess_high p_clustered"
BIAS = "name n estimate ci_low ci_high statistic p_value method"
STRENGTHS = "model strength ci_low ci_high p_clustered n strength_note"
PULLS = "position pull ci_low ci_high p_clustered p_no_effect"
COMBOS = "model_a model_b lin_turns_2_6 win_rate_dialog combo ci_low ci_high p_clustered n_turns n_dialogs"
POOLED_MODELS = "ranks model n met share strength ci_low ci_high chance chance_low chance_high may_be_best p_all_equal"
POOLED_PAIRS = (
    "model_a model_b n lead_a lead_low lead_high difference ci_low ci_high simultaneous_low simultaneous_high p_value "
    "p_holm p_clustered p_clustered_holm p_step_down"
)
LEFT_OUT = "left_out n ranking order_changed p_value p_clustered changed_pairs"


def _table(key: str, title: str, names: str, rows: Sequence[Row], *notes: str, labels: Labels = LABELS) -> DataTable:
    """Of the columns ``names`` those that some row fills; the group where a question was asked of several."""
    values = [row.flat() for row in rows]
    used = ["technique", "setting", "metric", *(["group"] if any("group" in value for value in values) else [])]
    used += [name for name in names.split() if any(value[name] not in (None, "", []) for value in values)]
    return part_table(key, title, columns(" ".join(used), labels), rows, notes, telling=("group",))


def _papers_tests(tests: Sequence[TestRow]) -> list[str]:
    """What the paper's p are, once for all rows: in each row they would make a tall column of the same words."""
    of_pairs = {row.test.paper.method: row.test.of_pair for row in tests if row.test.paper.method}
    told = [
        f"of {which}: {', '.join(method for method, of_pair in of_pairs.items() if of_pair == pairs)}"
        for pairs, which in ((True, "two models"), (False, "all models, or of one"))
        if pairs in of_pairs.values()
    ]
    return [f"Paper's p, {'; '.join(told)}."] if told else []


def _captions(models: Sequence[ModelRow]) -> dict[tuple[Family, str], str]:
    groups: dict[Family, set[str]] = {}
    for row in models:
        groups.setdefault(row.family, set()).add(row.group)
    named = {}
    for row in models:
        parts = [_title(row) if len(groups) > 1 else "", row.group if len(groups[row.family]) > 1 else ""]
        words = ", ".join(filter(None, parts))
        named[row.where] = f": {words}" if words else ""
    return named


def _win_rate_figure(number: int, of: str, models: Sequence[ModelRow]) -> list[IntervalFigure]:
    first = models[0]
    return interval_figures(
        f"turns_win_rates_{number}",
        f"Win rates{of}",
        _axis(first),
        [(row.model, row.rate) for row in models],
        reference=1 / len(models) if first.kind == "one" else None,
        share=True,
    )


def _turn_curves(number: int, of: str, rows: Sequence[TurnRow]) -> Iterator[CurveFigure]:
    if len({row.turn for row in rows}) < 2:
        return
    by_model = {model: [row for row in rows if row.model == model] for model in sorted({row.model for row in rows})}
    yield CurveFigure(
        key=f"turns_by_turn_{number}",
        title=f"Win rate by turn{of}",
        x_label="turn",
        y_label="win rate",
        curves=tuple(
            curve_of(model, [row.turn for row in of_model], [row.rate for row in of_model])
            for model, of_model in by_model.items()
        ),
        reference=1 / len(by_model) if rows[0].kind == "one" else None,
        share=True,
    )


def _p_matrix(number: int, of: str, models: Sequence[ModelRow], tests: Sequence[TestRow]) -> HeatFigure:
    title = f"p of each pair, clustered by worker, Holm's correction{of}"
    p_values = {_two(row.test): row.test.clustered.p_holm for row in tests if row.test.of_pair}
    return p_matrix(f"turns_pairs_{number}", title, [row.model for row in models], p_values)


def _strength_figure(number: int, of: str, rows: Sequence[StrengthRow]) -> list[IntervalFigure]:
    known = [row for row in rows if row.strength.estimate is not None]
    known.sort(key=lambda row: -(row.strength.estimate or 0.0))
    return interval_figures(
        f"turns_strengths_{number}",
        f"Plackett–Luce strengths{of}",
        "log-odds against the mean, clustered by worker",
        [(with_note(row.model, row.strength_note), row.strength) for row in known if len(known) > 2],
        reference=0.0,
    )
