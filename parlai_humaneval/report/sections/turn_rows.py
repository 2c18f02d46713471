"""Rows of the section ``turns``, for its tables and its JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from parlai_humaneval.report.section import PairLine, Part, Section, Summary
from parlai_humaneval.report.sections.pooled_ranking import PooledModel, PooledPair
from parlai_humaneval.statistics.core import rows
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.leads import LeftOut
from parlai_humaneval.statistics.preference.tests import TurnTest
from parlai_humaneval.statistics.preference.turn_dependence import Reselection
from parlai_humaneval.tables.choices import Kind

SINGLE = "turns_single"
"""A second table of models, of single ones."""
FirstTurn = Annotated[int, rows.Column("From turn")]
LastTurn = Annotated[int, rows.Column("to turn")]
Turns = Annotated[int, rows.Column("Turns")]
Chosen = Annotated[int, rows.Column("Chosen")]
WinRate = Annotated[Result, rows.Estimate("Win rate", "share", name="win_rate", ends="ci")]
RateTested = Annotated[
    Result,
    rows.Estimate("Win rate", "share", name="win_rate", ends="ci"),
    rows.Column(name="p_clustered", path="p_value", label="Clustered p", kind="p"),
]
Lin = Annotated[float | None, rows.Column("Lin (of A)", "share")]
CLUSTERED_P = ("Clustered p", "Clustered p, Holm")
OfA = Annotated[str, rows.Column("A")]
OfB = Annotated[str, rows.Column("B")]


class Interval(NamedTuple):
    """Interval ends next to a result; None if there are none."""

    low: float | None
    high: float | None


def _bounds(stem: str) -> tuple[rows.Column, rows.Column]:
    words = stem.replace("_", " ").capitalize()
    low = rows.Column(f"{words} from", "share", name=f"{stem}_low", path="low")
    return low, replace(low, label=f"{words} to", name=f"{stem}_high", path="high")


class OfQuestion(rows.AskedRow):
    """What was asked. ``kind``: one reply of several was picked each turn, any number of them, or a single one judged.

    ``problem``: a single reply was marked with what is wrong with it, so that the model with the lower rate is ahead.
    """

    kind: Kind
    problem: bool = False


class OfGroup(OfQuestion):
    """``group``: the models that stood side by side, joined by " – "; of single models all."""

    group: Annotated[str, rows.Column("Side by side", table=rows.EVERY, telling=True)]

    @property
    def where(self) -> tuple[Family, str]:
        """What rows of one group share."""
        return self.family, self.group


class TurnModel(OfGroup):
    """A model in all turns that count. ``selected`` of ``n``: chosen, or as a single reply found good (or marked with a
    ``problem``: then all that is said of dialogues is of turns without it).

    ``rate``: clustered by rater; ``boot``: percentiles over resampled workers; ``wald``, ``wilson``: all turns taken as
    independent. ``adjusted``: with all positions weighted equally, if the position bias outweighs the difference of
    models; then the report leads with it. ``rank``: by the leading number, 1 is best, equal ones share the better rank.
    ``from_2``: without first turns, as Liu et al. 2023 count. ``dialogues``: of a single model, the share of dialogues
    with at least half of their turns good; ``dialogues_3``: the same of turns 3 on (Smith et al. 2022).
    ``…with_unfinished``: with the answered turns of dialogues that did not end; None where all did.
    """

    rank: Annotated[int, rows.Column("Order")]
    model: rows.Name
    n_dialogues: rows.Count
    n: Turns
    selected: Chosen
    rate: WinRate
    adjusted: Annotated[
        Result | None, rows.Estimate("Places alike", "share", name="win_rate_adjusted", ends="adjusted")
    ] = None
    boot: Annotated[Interval, _bounds("boot")]
    wald: Annotated[Interval, _bounds("wald")]
    wilson: Annotated[Interval, _bounds("wilson")]
    from_2: Annotated[
        Result,
        rows.Estimate("Without first turns", "share", name="win_rate_from_2"),
        rows.Key(name="n_from_2", path="n"),
    ]
    from_3: Annotated[Result | None, rows.Estimate("Turns 3 on", "share", name="win_rate_from_3")]
    win_rate_with_unfinished: Annotated[float | None, rows.Column("With unfinished dialogues", "share")]
    n_with_unfinished: Annotated[int | None, rows.Column("Turns with these")]
    n_workers: rows.Count
    dialogues: Annotated[
        Result | None, rows.Estimate("Dialogues half good", "share", name="dialogues_won", table=SINGLE)
    ]
    dialogues_3: Annotated[
        Result | None, rows.Estimate("the same, turns 3 on", "share", name="dialogues_won_from_3", table=SINGLE)
    ]

    @property
    def told(self) -> Result:
        """The win rate that the report leads with."""
        return self.adjusted or self.rate


class RankRow(OfQuestion):
    """A model over all turns of a question that was asked of several groups of models, with any competitors."""

    rank: Annotated[int, rows.Column("Order")]
    model: rows.Name
    n: Turns
    selected: Chosen
    rate: WinRate

    @property
    def told(self) -> Result:
        """The win rate as counted, since several groups of models differ in their positions."""
        return self.rate


class RangeRow(OfGroup):
    """A group in turns ``first_turn`` to ``last_turn``, of which one showed several replies.

    ``tie_win``: share of turns in which all replies were chosen, ``tie_loss``: none (Liu et al. 2023, Table 3);
    ``written``: share in which the rater wrote the next reply.
    """

    first_turn: FirstTurn
    last_turn: LastTurn
    n: Turns
    tie_win: Annotated[Result, rows.Estimate("Tie-win", "share")]
    tie_loss: Annotated[Result, rows.Estimate("Tie-loss", "share")]
    written: Annotated[Result, rows.Estimate("Next reply written", "share")]
    n_dialogues: rows.Count
    n_workers: rows.Count


class NothingRow(OfGroup):
    """Turns of a single model from ``first_turn`` on in which none of several criteria was ticked."""

    model: rows.Name
    first_turn: FirstTurn
    rate: Annotated[
        Result,
        rows.Column("Turns", "count", name="n", path="n"),
        rows.Estimate("Nothing ticked", "share", name="share", ends="ci"),
    ]


class TestRow(OfGroup):
    """A test of turns ``first_turn`` on: the paper's, and by worker; of a pair also McNemar's exact and mid-p, and a sign
    flip with few workers. ``superiority``: of the first of two models, ties counting half, over all groups in which they
    met. ``adjusted``: the difference with both orders of the pair weighted equally, if the position bias outweighs it;
    then the report leads with it.
    """

    __test__: ClassVar[bool] = False  # a test of statistics, not of this program

    first_turn: int
    test: Annotated[
        TurnTest,
        rows.Column("Test", name="name", path="paper.name", kind="text"),
        rows.Column("Turns", "count", name="n", path="clustered.n"),
        rows.Column("Statistic", name="statistic", path="paper.statistic"),
        rows.p_columns("paper.p_value", "p_value", "Paper's p", "Paper's p, Holm", "paper.p_holm"),
        rows.Estimate("Difference", name="estimate", ends="ci", path="clustered"),
        rows.keys(method="paper.method", method_clustered="clustered.method", models="models"),
    ]
    superiority: Annotated[
        Result | None,
        rows.Estimate("Superiority of A", "share"),
        rows.p_columns("clustered.p_value", "p_clustered", *CLUSTERED_P, "clustered.p_holm", of="test"),
        rows.Column("McNemar exact", "p", name="p_exact", of="test", path="paper.details.p_exact"),
        rows.Column("McNemar mid-p", "p", name="p_mid", of="test", path="paper.details.p_mid"),
        rows.Column("Sign flip", "p", name="p_sign_flip", of="test", path="sign_flip_p"),
        rows.family_keys("test.clustered"),
    ] = None
    adjusted: Annotated[
        Result | None,
        rows.Estimate("Difference, positions balanced"),
        rows.p_columns("p_value", "p_adjusted", "p, positions balanced", "p, positions balanced, Holm", "p_holm"),
        rows.once_columns(of="told"),
        rows.Key(name="notes", of="notes"),
    ] = None

    @property
    def told(self) -> Result:
        """The difference that the report leads with."""
        return self.adjusted or self.test.clustered

    @property
    def notes(self) -> list[str]:
        """Notes of both tests, each once."""
        return list(dict.fromkeys([*self.test.paper.notes, *self.test.clustered.notes]))

    @property
    def pair(self) -> tuple[str, str]:
        """The two models that are compared."""
        first, second = self.test.models
        return first, second

    def line(self) -> PairLine:
        """The pair in a summary, the leader first."""
        # The paper's test knows no places: of an adjusted difference it decides nothing.
        paper = self.test.paper
        of_pair: dict[str, Any] = {"paper": None if self.adjusted else paper, "superiority": self.superiority}
        return PairLine.of(*self.pair, self.told, paper.p_value, share=True, fewer_is_better=self.problem, **of_pair)


class TurnRow(OfGroup):
    """A model at one turn; ``lin``: of turns that one of two models won alone."""

    turn: rows.Count
    model: rows.Name
    n: Turns
    selected: Chosen
    rate: WinRate
    lin: Lin


class PositionRow(OfGroup):
    """Replies shown at one place, of one model or (``model`` None) of any."""

    position: Annotated[int, rows.Column("Place")]
    model: Annotated[str | None, rows.Column("Model")]
    n: Turns
    selected: Chosen
    rate: WinRate
    lin: Lin


class TurnPair(OfGroup):
    """Two models in turns ``first_turn`` to ``last_turn``, on turns that showed both. All rates are of A, by worker.

    ``lin``: turns won of those that one won alone; ``sqr``, ``wta``: means over dialogues; ``…_boot``: percentiles
    over resampled workers. ``p_clustered``: of Lin against one half; ``p_value``: the binomial test of the same turns.
    ``tie_win``: both chosen, ``tie_loss``: neither; ``win_rate_a`` + ``win_rate_b`` = 1 + ``tie_win`` − ``tie_loss``.
    """

    model_a: OfA
    model_b: OfB
    first_turn: FirstTurn
    last_turn: LastTurn
    n: Turns
    n_dialogues: int
    n_workers: int
    only_a: int
    only_b: int
    both: int
    neither: int
    win_rate_a: Annotated[float, rows.Column("Win rate A", "share")]
    win_rate_b: Annotated[float, rows.Column("Win rate B", "share")]
    tie_win: Annotated[float, rows.Column("Tie-win", "share")]
    tie_loss: Annotated[float, rows.Column("Tie-loss", "share")]
    lin: Annotated[Result, rows.Estimate("Lin (of A)", "share")]
    lin_boot: Annotated[Interval, _bounds("lin_boot")]
    sqr: Annotated[Result, rows.Estimate("Sqr of A", "share")]
    sqr_boot: Annotated[Interval, _bounds("sqr_boot")]
    wta: Annotated[Result, rows.Estimate("WTA of A", "share")]
    wta_boot: Annotated[Interval, _bounds("wta_boot")]
    paper: Annotated[
        Result,
        rows.Column("Clustered p", "p", name="p_clustered", of="lin", path="p_value"),
        rows.Column("Paper's p", "p", name="p_value", path="p_value"),
    ]


class EffectiveRow(OfGroup):
    """Two single models from turn ``first_turn`` on: how often a dialogue of A scores higher than one of B, equal ones half.

    ``score``: of a dialogue, its share of good turns ("share") or whether that is at least half ("wta").
    """

    score: Annotated[Literal["share", "wta"], rows.Column("Score")]
    model_a: OfA
    model_b: OfB
    first_turn: FirstTurn
    n_a: Annotated[int, rows.Column("Dialogues A")]
    n_b: Annotated[int, rows.Column("Dialogues B")]
    rate: RateTested


class ReselectionRow(Reselection, OfGroup):
    """Chosen in two consecutive turns of a group."""


class BiasRow(OfGroup):
    """A test of cascading or anchoring: a difference of selected rates, or whether all places are chosen as often."""

    test: Annotated[
        Result,
        rows.Column("Test", "text", name="name", path="name"),
        rows.Column("Turns", "count", name="n", path="n"),
        rows.Estimate("Difference", name="estimate", ends="ci"),
        rows.Column("Statistic", name="statistic", path="statistic"),
        rows.Column("p", "p", name="p_value", path="p_value"),
        rows.Column("How tested", "text", name="method", path="method"),
        rows.Key(name="notes", path="notes"),
    ]


class LeftOutRow(LeftOut, OfGroup):
    """The group without one of its models."""


class StrengthRow(OfGroup):
    """A model's log-odds of being chosen, against the mean of all and free of where its replies stood.

    ``equal``: joint test of all models of the group.
    """

    model: rows.Name
    strength: Annotated[
        Result,
        rows.Estimate(ends="ci"),
        rows.Column("Clustered p", "p", name="p_clustered", path="p_value"),
        rows.Column("Turns", "count", name="n", path="n"),
    ]
    equal: Annotated[Result, rows.Key(name="p_all_equal", path="p_value")]
    strength_note: Annotated[str, rows.Column()] = ""
    notes: list[str]


class PullRow(OfGroup):
    """What a place adds to the log-odds, against the mean of all places; ``no_effect``: joint test of all places."""

    position: Annotated[str, rows.Column("Place", "count")]
    pull: Annotated[
        Result, rows.Estimate(ends="ci"), rows.Column("Clustered p", "p", name="p_clustered", path="p_value")
    ]
    no_effect: Annotated[Result | None, rows.Column("No place differs, p", "p", name="p_no_effect", path="p_value")]


class ComboRow(OfGroup):
    """“PW combo” of Smith et al. 2022, Table 3: ``combo`` = (1 · ``lin_turns_2_6`` + 5 · ``win_rate_dialog``) / 6, of A.

    ``setting_dialog``: of the comparisons of whole dialogues; "" where the table does not say that they are self-chats.
    """

    pair: list[str]
    model_a: OfA
    model_b: OfB
    setting_dialog: str
    lin_turns_2_6: Annotated[float, rows.Column("Lin of A, turns 2–6", "share")]
    win_rate_dialog: Annotated[float, rows.Column("Dialogues won by A", "share")]
    combo: Annotated[
        Result,
        rows.Estimate("PW combo of A", "share", ends="ci"),
        rows.Column("Clustered p", "p", name="p_clustered", path="p_value"),
    ]
    n_turns: Annotated[int, rows.Column("Turns")]
    n_dialogs: Annotated[int, rows.Column("Dialogues")]
    notes: list[str]


class Patterns(Part):
    """Do turns depend on each other (cascading), or on the place of a reply (anchoring)? Liu et al. 2023; Ma et al. 2023."""

    reselection: list[ReselectionRow] = Field(default_factory=list)
    cascading: list[BiasRow] = Field(default_factory=list)
    anchoring: list[BiasRow] = Field(default_factory=list)


class TurnRows(Section):
    """All rows of the section, by table, and its answers."""

    models: list[TurnModel]
    tests: list[TestRow]
    by_turn: list[TurnRow]
    by_position: list[PositionRow]
    pairs: list[TurnPair]
    effective: list[EffectiveRow]
    patterns: Patterns
    leave_one_out: list[LeftOutRow]
    strengths: list[StrengthRow]
    positions: list[PullRow]
    combos: list[ComboRow]
    ranking: list[RankRow]
    pooled: list[PooledModel]
    pooled_pairs: list[PooledPair]
    ranges: list[RangeRow]
    tests_from_2: list[TestRow]
    nothing_ticked: list[NothingRow]
    summaries: list[Summary] = Field(default_factory=list, exclude=True)
