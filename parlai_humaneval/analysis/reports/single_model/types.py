"""What the report of a single-model study holds: ticks at each reply, ratings at the end."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.gaps import Gap
from parlai_humaneval.analysis.reports.types import Group, GroupedReport, Part
from parlai_humaneval.statistics.result import Result


class TickRate(Part):
    """How often a model's replies were ticked, of ``turns``.

    ``rate``: share of turns, clustered by worker. ``paper_low``, ``paper_high``: the paper's Wald interval, turns
    taken as independent (Liu et al. 2023, Table 6). ``dialogues_won``: share of dialogues with at least half of the
    turns ticked (Smith et al. 2022, §4.2).
    """

    model: str
    criterion: str
    turns: int
    ticked: int
    rate: Result
    paper_low: float | None
    paper_high: float | None
    dialogues_won: Result


class TickSpan(Part):
    """Turns ``first_turn`` to ``last_turn``. ``none``: by model, the share of turns in which nothing was ticked."""

    first_turn: int
    last_turn: int | None
    n_turns: int
    rates: list[TickRate]
    none: dict[str, Result]


class MeanRating(Part):
    """A model's mean rating on a criterion at the end of dialogues, on the scale ``minimum`` to ``maximum``."""

    model: str
    criterion: str
    minimum: float | None
    maximum: float | None
    mean: Result
    sd: float | None


class CriterionPair(Gap):
    """Two models on one criterion. ``paper``: the two-sided t test of Smith et al. 2022, App. C.7."""

    criterion: str
    paper: Result


class SingleModelGroup(Group):
    """One setting and metric; all of its models talked in dialogues of their own.

    ``tick_pairs`` compare shares over all turns, ``rating_pairs`` means at the end.
    """

    setting: str
    metric: str
    models: list[str]
    n_dialogues: int
    n_workers: int
    all_turns: TickSpan
    later_turns: TickSpan
    ratings: list[MeanRating]
    tick_pairs: list[CriterionPair]
    rating_pairs: list[CriterionPair]
    unfinished_dialogues: int
    unfinished_turns: int


class SingleModelReport(GroupedReport):
    groups: list[SingleModelGroup]
