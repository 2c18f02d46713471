"""Ids and names as people type and paste them: without blanks and invisible characters at their ends, in one spelling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from pandas.api.types import is_numeric_dtype

from parlai_humaneval._util.text import clean_label
from parlai_humaneval.tables.schema import JUDGE_COLUMNS, TABLES, TableName

WRITTEN: frozenset[str] = frozenset(
    {
        *("text", "raw_text", "human_text", "written_text", "reason", "feedback", "topic", "question", "statement"),
        *("failure", "changes", "blocked", "withdrawn", "thoughts", "prompt", "reply"),
        *(
            "model_settings",
            "settings",
            "persona",
            "topic_changes",
            "context",
            "turn_criteria",
            "final_ratings",
            "checks",
        ),
        *("answers", "shown"),
    }
)
"""Columns of what models, raters and researchers wrote, and of JSON: they stay letter for letter."""
LISTS: frozenset[str] = frozenset(
    {
        *("models", "group", "dialogues", "ticks", "tick_choices", "tick_problems", "own_ticks", "checks_failed"),
        *("model", "kind", "k", "family"),
    }
)
"""Columns that may hold several names, joined by ;."""
RUN = "run"
"""A column that is not ours, and names the runs of a study where it is there."""


@dataclass(frozen=True)
class CleanedLabels:
    """How many cells of a table :func:`~parlai_humaneval._util.text.clean_label` changed, by column."""

    table: TableName
    cells: Mapping[str, int]

    @property
    def words(self) -> str:
        """“ratings: 14 cells had blanks or invisible characters …”"""
        count = sum(self.cells.values())
        cells = "1 cell" if count == 1 else f"{count:,} cells"
        return (
            f"{self.table}: {cells} ({', '.join(self.cells)}) had blanks or invisible characters at the ends, or accents in "
            "another Unicode form. They were cleaned, so that each name is one thing."
        )


def with_clean_labels(table: TableName, frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[CleanedLabels, ...]]:
    """``frame`` with clean ids, names and numbers in our columns but :data:`WRITTEN`, and what was changed.

    Columns that are not ours stay as they are, but for :data:`RUN`.
    """
    changed: dict[str, pd.Series[Any]] = {}
    counts: dict[str, int] = {}
    ours = {column.name for column in (*TABLES[table], *JUDGE_COLUMNS[table])} - WRITTEN | {RUN}
    names = Counter(map(str, frame.columns))
    for name in ours & {name for name, count in names.items() if count == 1}:  # the same name twice is refused later
        values: pd.Series[Any] = frame[name]
        clean = {} if is_numeric_dtype(values) else _new_labels(values.tolist(), lists=name in LISTS)
        if clean:
            counts[name] = sum(isinstance(value, str) and value in clean for value in values)
            cells = [clean.get(value, value) if isinstance(value, str) else value for value in values]
            changed[name] = pd.Series(cells, index=frame.index, dtype=object)
    if not changed:
        return frame, ()
    whole: pd.DataFrame = frame.assign(**changed)
    return whole, (CleanedLabels(table, {name: counts[name] for name in names if name in counts}),)


def _new_labels(values: Sequence[Any], *, lists: bool) -> dict[str, str | None]:
    """Every label that is not clean → the clean one; None: nothing was left of it."""
    clean = {
        value: ";".join(map(clean_label, value.split(";"))) if lists else clean_label(value)
        for value in {value for value in values if isinstance(value, str)}
    }
    return {before: after or None for before, after in clean.items() if after != before}


def added_up(parts: Sequence[CleanedLabels]) -> tuple[CleanedLabels, ...]:
    """The counts of several files of one table, added up."""
    found: dict[TableName, Counter[str]] = {}
    for part in parts:
        found.setdefault(part.table, Counter()).update(part.cells)
    return tuple(CleanedLabels(table, dict(cells)) for table, cells in found.items())
