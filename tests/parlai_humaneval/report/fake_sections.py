"""A section that shows everything a section may show, and names that look like markup; and tables to go with it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import combinations
from typing import ClassVar

from pydantic import Field

from parlai_humaneval.report.build import examples_of
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.facts import facts_of
from parlai_humaneval.report.section import ModelLine, Options, PairLine, Section, Summary
from parlai_humaneval.report.views import (
    Cell,
    Curve,
    CurveFigure,
    DataTable,
    Figure,
    HeatFigure,
    IntervalFigure,
    IntervalPoint,
    Method,
    TableColumn,
)
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import from_rows

HOSTILE = '<script>alert("x")</script>'
FORMULA = "=1+1"
NAMES = (HOSTILE, FORMULA, "modèle_3 & 50 % $x$", "模型")
NOW = datetime(2024, 5, 6, 7, 8, 9, tzinfo=timezone.utc)

COLUMNS = (
    TableColumn(key="model", label="Model"),
    TableColumn(key="n", label="Turns", kind="count"),
    TableColumn(key="win_rate", label="Win rate", kind="share"),
    TableColumn(key="ci_low", label="95 % from", kind="share"),
    TableColumn(key="ci_high", label="95 % to", kind="share"),
    TableColumn(key="gap", label="Gap", kind="number"),
    TableColumn(key="p_value", label="p", kind="p"),
    TableColumn(key="seconds", label="Time", kind="seconds"),
)


def fake_summary(names: Sequence[str] = ("alpha", "beta"), **values: object) -> Summary:
    """An answer in which each model beats the next by four points, and only the first pair differs."""
    models = [
        ModelLine(model=name, n=48, unit="turns", estimate=0.6 - place / 25, low=0.5, high=0.7, share=True)
        for place, name in enumerate(names)
    ]
    pairs = [
        PairLine(
            first=first,
            second=second,
            gap=0.125,
            low=0.01,
            high=0.2,
            share=True,
            p_paper=0.001,
            p_clustered=0.004 if not place else 0.2,
            p_decides=0.012 if not place else 0.4,
            differs=not place,
            family="sata, soba, preference",
            family_tests=len(names) * (len(names) - 1) // 2,
        )
        for place, (first, second) in enumerate(combinations(names, 2))
    ]
    fields = {
        "section": "turns",
        "technique": "sata",
        "setting": "soba",
        "metric": "preference",
        "question": "",
        "what": "turns in which the reply was chosen",
        "verdict": f"{names[0]} is ahead of {names[-1]} (p = .012, clustered by 8 raters).",
        "models": models,
        "pairs": pairs,
        "reference": 0.5,
        "model_table": "fake_models",
        "pair_table": "",
        "remarks": ["Fewer than 10 raters: take the interval as a rough guide."],
    }
    return Summary.model_validate({**fields, **values})


class FakeSection(Section):
    """``models``: how many rows the table has."""

    TITLE: ClassVar[str] = "Fake things"

    prefix: str = "fake"
    models: int = 4
    share: float | None = 0.62
    answers: list[Summary] = Field(default_factory=list)

    def summary(self) -> list[Summary]:
        return self.answers

    def data_tables(self) -> list[DataTable]:
        rows: list[dict[str, Cell]] = [
            {
                "model": NAMES[place] if place < len(NAMES) else f"model {place}",
                "n": 1200 + place,
                "win_rate": self.share,
                "ci_low": 0.55,
                "ci_high": None if place == 1 else 0.69,
                "gap": -0.125,
                "p_value": 0.04321,
                "seconds": 200.0,
            }
            for place in range(self.models)
        ]
        main = DataTable(
            key=f"{self.prefix}_models", title="Win rates", columns=COLUMNS, rows=tuple(rows), notes=(HOSTILE,)
        )
        return [main, DataTable(key=f"{self.prefix}_empty", title="Nothing", columns=COLUMNS, rows=())]

    def figures(self) -> list[Figure]:
        points = tuple(IntervalPoint(label=name, estimate=0.5, low=0.4, high=0.6) for name in NAMES[:3])
        curves = tuple(Curve(name=name, x=(1, 2, 3), y=(0.9, 0.5, 0.2)) for name in NAMES)
        values = ((None, 0.8), (0.2, None))
        return [
            IntervalFigure(key=f"{self.prefix}_i", title="Intervals", x_label="win rate", points=points, reference=0.5),
            CurveFigure(key=f"{self.prefix}_c", title="Survival", x_label="k", y_label="S", curves=curves, step=True),
            HeatFigure(
                key=f"{self.prefix}_h", title="Matrix", rows=NAMES[:2], columns=NAMES[:2], values=values, scale="share"
            ),
        ]

    def methods(self) -> list[Method]:
        return [Method(name="Win rate", text=f"Shares. {HOSTILE}", source="Smith et al. 2022, §4.1")]


def fake_section(**values: object) -> FakeSection:
    fields = {"headline": f"{HOSTILE} wins 62 % (55 to 69 %).", "remarks": [f"Beware of {HOSTILE}."], **values}
    return FakeSection.model_validate(fields)


def said_tables() -> Tables:
    """Two dialogues of two turns, with hostile texts everywhere."""
    rows = [
        {
            "dialogue_id": f"d{dialogue}",
            "worker_id": f"w{dialogue}",
            "technique": "sata",
            "setting": "soba",
            "metric": "preference",
            "turn": turn,
            "model": model,
            "position": position,
            "selected": int(position == turn),
            "continued": int(position == turn),
            "written": 0,
            "seconds": 12.0,
            "text": f"{model} says {HOSTILE} in {turn}",
            "human_text": f"Hi & <b>bye</b> {turn}",
            "reason": FORMULA,
            "question": f"Which is better? {HOSTILE}",
        }
        for dialogue in (1, 2)
        for turn in (1, 2)
        for position, model in enumerate(("alpha", "beta"), start=1)
    ]
    return Tables(
        turns=from_rows("turns", rows), dialogues=from_rows("dialogues", []), comparisons=from_rows("comparisons", [])
    )


def fake_document(**values: object) -> Document:
    tables, options = said_tables(), Options(seed=3)
    return Document(
        facts=facts_of(tables, options, title=f"Study {HOSTILE}", now=NOW),
        sections={"turns": fake_section(**values), "design": fake_section(prefix="other", headline="")},
        examples=examples_of(tables, seed=options.seed),
    )
