"""What the section on turns holds."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from parlai_humaneval.report.section import Part, Section
from parlai_humaneval.report.views import DataTable, Figure, Method
from parlai_humaneval.tables.choices import Kind


class OfGroup(Part):
    """Where a row belongs. ``group``: the models that stood side by side, joined by " – "; of single models all."""

    technique: str
    setting: str
    metric: str
    group: str
    kind: Kind


class ModelRow(OfGroup):
    """A model in all turns that count. ``selected`` of ``n``: chosen, or as a single reply found good.

    ``ci_low``, ``ci_high``: CR1 t, clustered by worker; ``boot_…``: percentiles over resampled workers; ``wald_…``,
    ``wilson_…``: all turns taken as independent.
    ``win_rate_from_2``: without first turns, as Liu et al. 2023 count. ``dialogues_won``: of a single model, the share of
    dialogues with at least half of their turns good; ``dialogues_won_from_3``: the same of turns 3 on (Smith et al. 2022).
    """

    model: str
    n: int
    selected: int
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    boot_low: float | None
    boot_high: float | None
    wald_low: float | None
    wald_high: float | None
    wilson_low: float | None
    wilson_high: float | None
    win_rate_from_2: float | None
    dialogues_won: float | None
    dialogues_won_from_3: float | None
    n_dialogues: int
    n_workers: int


class TestRow(OfGroup):
    """A test. ``p_value``, ``p_holm``: the paper's ``method``; ``p_clustered…``: by worker.

    Of a pair ``estimate`` is the difference of the selected rates with its clustered interval; ``p_exact``, ``p_mid``: of
    McNemar's test; ``p_sign_flip``: with few workers. Holm's correction is over the pairs of the metric.
    """

    __test__: ClassVar[bool] = False  # a test of statistics, not of this program

    name: str
    models: list[str]
    n: int
    statistic: float | None
    p_value: float | None
    p_holm: float | None
    method: str
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None
    p_clustered_holm: float | None
    method_clustered: str
    p_exact: float | None
    p_mid: float | None
    p_sign_flip: float | None
    notes: list[str]


class TurnRow(OfGroup):
    """A model at one turn; ``lin``: of turns that one of two models won alone."""

    turn: int
    model: str
    n: int
    selected: int
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    lin: float | None


class PositionRow(OfGroup):
    """Replies shown at one place, of one model or (``model`` None) of any."""

    position: int
    model: str | None
    n: int
    selected: int
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    lin: float | None


class PairRow(OfGroup):
    """Two models in turns ``first_turn`` to the last, on turns that showed both. All rates are of A, clustered by worker.

    ``lin``: turns won of those that one won alone; ``sqr``, ``wta``: means over dialogues. ``tie_win``: both chosen,
    ``tie_loss``: neither; ``win_rate_a`` + ``win_rate_b`` = 1 + ``tie_win`` − ``tie_loss``.
    """

    first_turn: int
    model_a: str
    model_b: str
    n: int
    only_a: int
    only_b: int
    both: int
    neither: int
    win_rate_a: float | None
    win_rate_b: float | None
    tie_win: float | None
    tie_loss: float | None
    lin: float | None
    lin_low: float | None
    lin_high: float | None
    sqr: float | None
    sqr_low: float | None
    sqr_high: float | None
    wta: float | None
    wta_low: float | None
    wta_high: float | None


class EffectiveRow(OfGroup):
    """Two single models from turn ``first_turn`` on: how often a dialogue of A scores higher than one of B, equal ones half.

    ``score``: of a dialogue, its share of good turns ("share") or whether that is at least half ("wta").
    """

    first_turn: int
    score: str
    model_a: str
    model_b: str
    n_a: int
    n_b: int
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None


class ReselectionRow(OfGroup):
    """Chosen in two consecutive turns; see :class:`~parlai_humaneval.statistics.turn_patterns.Reselection`."""

    what: str
    n: int
    both: float | None
    expected: float | None
    independent: float | None
    again: float | None
    again_low: float | None
    again_high: float | None
    second_rate: float | None
    excess: float | None
    excess_low: float | None
    excess_high: float | None
    p_clustered: float | None


class BiasRow(OfGroup):
    """A test of cascading or anchoring: a difference of selected rates, or whether all places are chosen as often."""

    name: str
    n: int
    estimate: float | None
    ci_low: float | None
    ci_high: float | None
    statistic: float | None
    p_value: float | None
    method: str
    notes: list[str]


class Patterns(Part):
    """Do turns depend on each other (cascading), or on the place of a reply (anchoring)? Liu et al. 2023; Ma et al. 2023."""

    reselection: list[ReselectionRow] = Field(default_factory=list)
    cascading: list[BiasRow] = Field(default_factory=list)
    anchoring: list[BiasRow] = Field(default_factory=list)


class LeftOutRow(OfGroup):
    """See :class:`~parlai_humaneval.statistics.turn_subsets.LeftOut`."""

    left_out: str
    n: int
    ranking: list[str]
    order_changed: bool
    win_rates: dict[str, float | None]
    p_value: float | None
    p_clustered: float | None
    changed_pairs: list[str]


class StrengthRow(OfGroup):
    """A model's log-odds of being chosen, against the mean of all and free of where its replies stood.

    ``p_all_equal``: joint test of all models of the group.
    """

    model: str
    n: int
    strength: float | None
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None
    p_all_equal: float | None
    notes: list[str]


class PullRow(OfGroup):
    """What a place adds to the log-odds, against the mean of all places; ``p_no_effect``: joint test of all places."""

    position: str
    pull: float | None
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None
    p_no_effect: float | None


class ComboRow(OfGroup):
    """“PW combo” of Smith et al. 2022, Table 3: ``combo`` = (1 · ``lin_turns_2_6`` + 5 · ``win_rate_dialog``) / 6, of A.

    ``setting_dialog``: of the comparisons of whole dialogues; "" where the table does not say that they are self-chats.
    """

    pair: list[str]
    model_a: str
    model_b: str
    setting_dialog: str
    n_turns: int
    n_dialogs: int
    lin_turns_2_6: float
    win_rate_dialog: float
    combo: float
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None
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

    def data_tables(self) -> list[DataTable]:
        from parlai_humaneval.report.sections.turns.shown import data_tables

        return data_tables(self)

    def figures(self) -> list[Figure]:
        from parlai_humaneval.report.sections.turns.drawn import figures

        return figures(self)

    def methods(self) -> list[Method]:
        from parlai_humaneval.report.sections.turns.words import methods

        return methods(self)
