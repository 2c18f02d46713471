"""The section on free-for-alls as tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from parlai_humaneval.report.section import Part, Section
from parlai_humaneval.report.sections.free_for_all.rows import (
    GroupRow,
    ModelRow,
    PairRow,
    PositionRow,
    StabilityRow,
)
from parlai_humaneval.report.sections.free_for_all.words import METHODS
from parlai_humaneval.report.views import (
    CellKind,
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    IntervalFigure,
    IntervalPoint,
    Method,
    TableColumn,
)

_MODEL_COLUMNS: tuple[tuple[str, str, CellKind], ...] = (
    ("rank", "Rank", "count"),
    ("model", "Model", "text"),
    ("points", "Points", "count"),
    ("dialogues", "Dialogues", "count"),
    ("mu", "μ", "number"),
    ("sigma", "σ", "number"),
    ("score", "μ − 3σ", "number"),
    ("order_low", "Order, from", "number"),
    ("order_high", "to", "number"),
    ("bootstrap_low", "Bootstrap, from", "number"),
    ("bootstrap_high", "to", "number"),
    ("rank_low", "Rank, from", "count"),
    ("rank_high", "to", "count"),
    ("strength", "Strength", "number"),
    ("strength_low", "95 %, from", "number"),
    ("strength_high", "to", "number"),
)
_PAIR_COLUMNS: tuple[tuple[str, str, CellKind], ...] = (
    ("name", "Pair", "text"),
    ("estimate", "Difference", "number"),
    ("ci_low", "95 %, from", "number"),
    ("ci_high", "to", "number"),
    ("chance", "Chosen over the second", "share"),
    ("statistic", "t", "number"),
    ("p_value", "p, clustered", "p"),
    ("p_holm", "p, Holm", "p"),
    ("p_independent", "p, independent turns", "p"),
)
_POSITION_COLUMNS: tuple[tuple[str, str, CellKind], ...] = (
    ("position", "Position", "text"),
    ("pull", "Pull", "number"),
    ("ci_low", "95 %, from", "number"),
    ("ci_high", "to", "number"),
    ("p_value", "p, clustered", "p"),
)
_STABILITY_COLUMNS: tuple[tuple[str, str, CellKind], ...] = (
    ("dialogues", "Dialogues", "count"),
    ("turns", "First turns", "count"),
    ("same", "Same ranking", "share"),
    ("tau_b", "τ-b, mean", "number"),
    ("samples", "Samples", "count"),
)


class FreeForAllSection(Section):
    """See the classes of its rows; all lists are sorted by setting and metric, models by rank."""

    TITLE: ClassVar[str] = "Free-for-all"

    groups: list[GroupRow] = Field(default_factory=list)
    models: list[ModelRow] = Field(default_factory=list)
    tests: list[PairRow] = Field(default_factory=list)
    positions: list[PositionRow] = Field(default_factory=list)
    stability: list[StabilityRow] = Field(default_factory=list)

    def data_tables(self) -> list[DataTable]:
        return [
            _table(
                "free_for_all_models",
                "Points and TrueSkill, dialogues in the order in which they began",
                self.models,
                _MODEL_COLUMNS,
                "Order: range over random orders of the same dialogues; it is no sampling interval.",
                "Bootstrap: workers resampled, in random order. Strength: Plackett–Luce, log-odds against the mean.",
            ),
            _table("free_for_all_tests", "Pairs: difference of strengths in log-odds", self.tests, _PAIR_COLUMNS),
            _table("free_for_all_positions", "Pull of the position", self.positions, _POSITION_COLUMNS),
            _table("free_for_all_stability", "Rankings from fewer dialogues", self.stability, _STABILITY_COLUMNS),
        ]

    def figures(self) -> list[Figure]:
        return [figure for number, group in enumerate(self.groups, start=1) for figure in self._of_group(group, number)]

    def _of_group(self, group: GroupRow, number: int) -> list[Figure]:
        of = f"_{number}" if number > 1 else ""
        where = f": {group.where}" if len(self.groups) > 1 else ""
        models = [row for row in self.models if row.where == group.where]
        known = [row for row in models if row.strength is not None]
        found: list[Figure] = [
            IntervalFigure(
                key=f"free_for_all_scores{of}",
                title=f"TrueSkill scores with bootstrap intervals{where}",
                x_label="μ − 3σ",
                points=tuple(_point(row.model, row.score, row.bootstrap_low, row.bootstrap_high) for row in models),
            ),
            IntervalFigure(
                key=f"free_for_all_orders{of}",
                title=f"Order sensitivity: range of the scores over random orders{where}",
                x_label="μ − 3σ",
                points=tuple(_point(row.model, row.score, row.order_low, row.order_high) for row in models),
            ),
        ]
        if known:
            points = (_point(r.model, r.strength or 0.0, r.strength_low, r.strength_high) for r in known)
            found.append(
                IntervalFigure(
                    key=f"free_for_all_strengths{of}",
                    title=f"Plackett–Luce strengths, clustered by worker{where}",
                    x_label="log-odds against the mean",
                    points=tuple(points),
                    reference=0.0,
                )
            )
        stability = [row for row in self.stability if row.where == group.where]
        if stability:
            found.append(
                CurveFigure(
                    key=f"free_for_all_stability{of}",
                    title=f"Share of samples with the ranking of all dialogues{where}",
                    x_label="dialogues",
                    y_label="same ranking",
                    curves=tuple(_curve(stability, limit) for limit in dict.fromkeys(row.turns for row in stability)),
                    share=True,
                )
            )
        return found

    def methods(self) -> list[Method]:
        return METHODS


def _table(
    key: str, title: str, rows: Sequence[Part], columns: tuple[tuple[str, str, CellKind], ...], *notes: str
) -> DataTable:
    """Rows with their columns; setting and metric stand first where they tell rows apart."""
    cells = [row.model_dump() for row in rows]
    telling = [name for name in ("setting", "metric") if len({row[name] for row in cells}) > 1]
    shown = [*((name, name.capitalize(), "text") for name in telling), *columns]
    return DataTable(
        key=key,
        title=title,
        columns=tuple(TableColumn(key=name, label=label, kind=kind) for name, label, kind in shown),
        rows=tuple({name: row[name] for name, _, _ in shown} for row in cells),
        notes=notes,
    )


def _point(label: str, estimate: float, low: float | None, high: float | None) -> IntervalPoint:
    return IntervalPoint(label=label, estimate=estimate, low=low, high=high)


def _curve(rows: Sequence[StabilityRow], limit: int | None) -> Curve:
    own = [row for row in rows if row.turns == limit]
    name = "all turns" if limit is None else "first turn" if limit == 1 else f"first {limit} turns"
    return Curve(name=name, x=tuple(float(row.dialogues) for row in own), y=tuple(row.same for row in own))
