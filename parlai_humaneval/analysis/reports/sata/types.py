"""What the report of SOBA and SATA holds (Liu et al. 2023): who was chosen, alone, with others, or not at all."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.gaps import Gap
from parlai_humaneval.analysis.reports.types import ChosenGroup, GroupedReport, Part
from parlai_humaneval.statistics.result import Result


class ModelWins(Part):
    """Turns in which the model's reply was chosen, of those in which it was shown."""

    model: str
    shown: int
    chosen: int
    win_rate: Result


class ChoicePair(Gap):
    """Two models in the turns that showed both.

    ``difference``: win rate of A minus that of B, clustered by worker; its ``p_holm`` is corrected for all pairs of
    the report. ``paper``: the paper's own test; its ``p_holm`` is corrected for the pairs of this group.
    """

    n_turns: int
    only_a: int
    only_b: int
    both: int
    neither: int
    paper: Result


class TurnSpan(Part):
    """Turns ``first_turn`` to ``last_turn``.

    ``tie_win``: share of turns in which all replies were chosen, ``tie_loss``: none; ``written``: share in which the
    rater wrote the reply. ``test``: the paper's test of all models at once, where there are more than two.
    """

    first_turn: int
    last_turn: int | None
    n_turns: int
    n_dialogues: int
    n_workers: int
    models: list[ModelWins]
    tie_win: Result
    tie_loss: Result
    written: Result
    test: Result | None
    pairs: list[ChoicePair]


class SataGroup(ChosenGroup):
    """What was chosen in all turns, and from the second on."""

    all_turns: TurnSpan
    turns_2_to_last: TurnSpan


class SataReport(GroupedReport):
    groups: list[SataGroup]
