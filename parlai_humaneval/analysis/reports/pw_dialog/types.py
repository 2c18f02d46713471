"""What the report of PW-Dialog holds (Smith et al. 2022, §3.1.3): two finished dialogues side by side."""

from __future__ import annotations

from parlai_humaneval.analysis.reports.agreed import Agreement
from parlai_humaneval.analysis.reports.duels import Duel, Standing
from parlai_humaneval.analysis.reports.types import Group, JudgedReport, Part
from parlai_humaneval.statistics.result import Result


class Reuse(Part):
    """How often the dialogues of a model were judged: mean and most over its ``dialogues``."""

    model: str
    dialogues: int
    judgements: int
    mean: float
    most: int


class DialogGroup(Group):
    """One setting (self-chat or human–bot dialogues) and metric.

    ``left``: share of decided judgements for the dialogue on the left, clustered by worker and tested against one half.
    ``median_seconds``: shown → answered; the metrics of one item share its time.
    """

    setting: str
    metric: str
    question: str
    n_judgements: int
    n_items: int
    n_workers: int
    standings: list[Standing]
    pairs: list[Duel]
    left: Result
    reuse: list[Reuse]
    agreement: Agreement | None
    median_seconds: float | None
    unfinished: int


class PairwiseDialogReport(JudgedReport):
    groups: list[DialogGroup]
