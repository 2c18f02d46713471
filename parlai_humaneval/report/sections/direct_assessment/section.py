"""The section on direct assessment: its JSON, tables, figures and methods."""

from __future__ import annotations

from typing import ClassVar

from parlai_humaneval.report.section import Section
from parlai_humaneval.report.sections.direct_assessment import pictures, tables
from parlai_humaneval.report.sections.direct_assessment.types import (
    Basis,
    Correlations,
    DialogueCount,
    ModelRow,
    OpinionRow,
    PairRow,
    RaterPairsRow,
    ReplicationRow,
    Significance,
    WorkerCount,
)
from parlai_humaneval.report.views import DataTable, Figure, Method


class DirectAssessment(Section):
    """Slider ratings of each model (Ji et al. 2022); models stand from best to worst."""

    TITLE: ClassVar[str] = "Direct assessment"

    basis: Basis
    models: list[ModelRow]
    workers: WorkerCount
    dialogues: DialogueCount
    pairs: list[PairRow]
    significance: Significance
    correlations: Correlations
    opinions: list[OpinionRow]
    rater_pairs: list[RaterPairsRow]
    replications: list[ReplicationRow]

    def data_tables(self) -> list[DataTable]:
        return [
            tables.scores_table(self.models, self.basis.criteria, "z"),
            tables.scores_table(self.models, self.basis.criteria, "raw"),
            tables.workers_table(self.workers, self.dialogues),
            *([tables.pairs_table(self.pairs)] if self.pairs else []),
            *([tables.correlations_table(self.correlations)] if len(self.models) > 1 else []),
            *([tables.opinions_table(self.opinions)] if self.opinions else []),
            *([tables.raters_table(self.rater_pairs)] if self.rater_pairs else []),
            *([tables.replications_table(self.replications, self.basis.criteria)] if self.replications else []),
        ]

    def figures(self) -> list[Figure]:
        return pictures.figures(self.models, self.significance, self.correlations, self.rater_pairs)

    def methods(self) -> list[Method]:
        return pictures.methods(
            checked=self.workers.passed is not None,
            pairs=bool(self.pairs),
            raters=bool(self.rater_pairs),
            replicated=bool(self.replications),
        )
