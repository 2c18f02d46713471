"""What the section ``comparisons`` holds."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from parlai_humaneval.report.section import Part, Section
from parlai_humaneval.report.sections.comparisons import views
from parlai_humaneval.report.views import DataTable, Figure, Method


class ComparedPart(Part):
    """Comparisons of one technique, setting, kind (turn, verdict or dialogue) and metric; "" where there is none."""

    technique: str
    setting: str
    kind: str
    metric: str

    @property
    def group(self) -> tuple[str, str, str, str]:
        return self.technique, self.setting, self.kind, self.metric


class ComparedPair(ComparedPart):
    """Two models under one metric; ``model_a`` comes first in the alphabet.

    ``win_rate_a``: wins of A of the decided comparisons, with the interval clustered by worker, as ``p_clustered`` and
    ``p_sign_flip``. ``dialogue_low`` … ``p_dialogue``: the same clustered by the dialogues of A and of B. ``score_a``:
    ties count half. ``p_value``: the paper's binomial test. ``…_holm``: corrected within the group. ``both_bad``: None
    where raters could not say so.
    """

    model_a: str
    model_b: str
    n: int
    n_workers: int
    n_dialogues: int
    wins_a: int
    wins_b: int
    ties: int
    both_bad: int | None
    tie_rate: float | None
    win_rate_a: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float | None
    p_holm: float | None
    p_clustered: float | None
    p_clustered_holm: float | None
    p_sign_flip: float | None
    dialogue_low: float | None
    dialogue_high: float | None
    p_dialogue: float | None
    p_dialogue_holm: float | None
    score_a: float | None
    score_low: float | None
    score_high: float | None
    notes: list[str]


class ComparedModel(ComparedPart):
    """One model against all its opponents; ``strength`` is that of Bradley and Terry, relative to the mean."""

    model: str
    wins: int
    losses: int
    ties: int
    win_rate: float | None
    ci_low: float | None
    ci_high: float | None
    strength: float | None = None
    strength_low: float | None = None
    strength_high: float | None = None


class FirstShown(ComparedPart):
    """How often the reply or dialogue that was shown first won, of decided comparisons; tested against one half."""

    n: int
    share: float | None
    ci_low: float | None
    ci_high: float | None
    p_clustered: float | None


class Comparisons(Section):
    """Win rates of every two models that were compared (Smith et al. 2022)."""

    TITLE: ClassVar[str] = "Models compared two at a time"

    pairs: list[ComparedPair]
    models: list[ComparedModel]
    first_shown: list[FirstShown] = Field(default_factory=list)

    def data_tables(self) -> list[DataTable]:
        return views.data_tables(self)

    def figures(self) -> list[Figure]:
        return views.figures(self)

    def methods(self) -> list[Method]:
        return views.methods(self)
