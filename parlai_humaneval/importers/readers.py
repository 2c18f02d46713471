"""Units of work → checked tables: all of them, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd

from parlai_humaneval.importers import acute, model_chat
from parlai_humaneval.importers import pw_turn as per_turn
from parlai_humaneval.importers.units import LeftOut, Plan, Rows, Unit, UnreadableUnit
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.columns import HOW_REPEATS, Repeated, Repeats, TableError, Tables, check_unique, from_rows
from parlai_humaneval.tables.labels import CleanedLabels, with_clean_labels
from parlai_humaneval.tables.repeats import settled
from parlai_humaneval.tables.schema import TableName
from parlai_humaneval.tables.validate import check_rules

SavedFormat = Literal["model_chat", "pairwise_per_turn_eval", "acute_eval"]
READERS: Mapping[SavedFormat, Callable[[Unit, Plan], Rows]] = {
    "model_chat": model_chat.rows_of,
    "pairwise_per_turn_eval": per_turn.rows_of,
    "acute_eval": acute.rows_of,
}


@dataclass
class Imported:
    """Checked tables, and what is not in them: ``left_out`` by reason, ``skipped`` one by one, as it was bad."""

    tables: Tables
    units: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def gather(
    found: Iterable[tuple[SavedFormat, Unit | LeftOut | UnreadableUnit]], plan: Plan, *, skip_bad: bool = False
) -> Imported:
    """Make rows of all units, and check them together.

    Raises:
        TableError: a unit is bad and ``skip_bad`` is not set; or nothing is left to import.
    """
    left_out: Counter[str] = Counter()
    skipped: list[str] = []
    good: list[_Good] = []
    known: dict[str, str] = {}
    for kind, unit in found:
        if isinstance(unit, LeftOut):
            left_out[unit.reason] += 1
            continue
        try:
            if isinstance(unit, UnreadableUnit):
                raise unit
            good.append(_read(kind, unit, plan, known))
        except UnreadableUnit as error:
            if not skip_bad:
                raise
            skipped.append(str(error))
    if not plan.keep_failed:
        acute.without_failed([one.rows for one in good])
    kept, tables = _checked(good, plan.repeats, skipped if skip_bad else None)
    for one in kept:
        left_out += one.rows.left_out
    if not kept:
        raise _nothing(left_out, skipped)
    return Imported(tables, len(kept), left_out, skipped)


@dataclass(frozen=True)
class _Good:
    where: str
    rows: Rows


def _read(kind: SavedFormat, unit: Unit, plan: Plan, known: dict[str, str]) -> _Good:
    """The rows of a unit; ``known``: id → place of what was read before, to which its own ids are added."""
    other = saved_by(unit.data)
    if other not in (None, kind):
        raise UnreadableUnit(
            f"{unit.where} was saved by ParlAI's {other}, not by {kind}", try_=f"import it with --from {other}"
        )
    rows = READERS[kind](unit, plan)
    ids = [str(row["dialogue_id"]) for row in rows.tables.get("dialogues", ())]
    ids += [str(row["judgement_id"]) for row in rows.tables.get("judgements", ())]
    for one in ids if plan.repeats is None else ():
        if one in known:
            raise UnreadableUnit(
                f"{unit.where} holds the same answers as {known[one]}", try_=("name one of the two", HOW_REPEATS)
            )
    known.update(dict.fromkeys(ids, unit.where))
    return _Good(unit.where, rows)


def saved_by(data: Any) -> SavedFormat | None:
    """The task that saved a unit's data, by the fields that the others lack; None where nothing tells it."""
    if isinstance(data, list):
        return "acute_eval"
    task = data.get("task_description") if isinstance(data, dict) else None
    if not isinstance(task, dict):
        return None
    return (
        "pairwise_per_turn_eval" if "model_1_nickname" in task else "model_chat" if "model_nickname" in task else None
    )


def _checked(
    good: Sequence[_Good], repeats: Repeats | None, skipped: list[str] | None
) -> tuple[Sequence[_Good], Tables]:
    """The tables of all units, or of those that pass, where others are listed in ``skipped``."""
    while True:
        frames: dict[TableName, pd.DataFrame] = {}
        told: list[Repeated] = []
        cleaned: list[CleanedLabels] = []
        try:
            for name in get_args(TableName):
                frames[name], again, clean = _table(name, good, repeats)
                told += again
                cleaned += clean
            return good, Tables(**frames, repeats=tuple(told), judges=None, stopping=(), cleaned=tuple(cleaned))
        except _InvalidUnits as error:
            if skipped is None:
                raise TableError(error, where=good[error.units[0]].where) from error
            skipped += [f"{good[place].where}: {error}" for place in error.units]
            good = [one for place, one in enumerate(good) if place not in error.units]


class _InvalidUnits(TableError):
    def __init__(self, message: str, units: Sequence[int]) -> None:
        super().__init__(message)
        self.units = tuple(units)


def _table(
    name: TableName, good: Sequence[_Good], repeats: Repeats | None
) -> tuple[pd.DataFrame, tuple[Repeated, ...], tuple[CleanedLabels, ...]]:
    rows = [row for one in good for row in one.rows.tables.get(name, ())]
    owners = np.repeat(np.arange(len(good)), [len(one.rows.tables.get(name, ())) for one in good])
    try:
        whole, cleaned = with_clean_labels(name, from_rows(name, rows))
        frame, told = settled(name, whole, repeats)
        owners = owners[frame.index]
        check_unique(name, frame)
        check_rules(name, frame)
    except TableError as error:
        if not error.rows:
            raise
        raise _InvalidUnits(str(error), sorted(set(owners[list(error.rows)].tolist()))) from error
    return frame.reset_index(drop=True), told, cleaned


def _nothing(left_out: Counter[str], skipped: Sequence[str]) -> TableError:
    reasons = [f"{count} × {reason}" for reason, count in sorted(left_out.items())]
    bad = [f"{counted(len(skipped), 'unit')} skipped, the first: {skipped[0]}"] if skipped else []
    return TableError(f"There is nothing to import. {'; '.join([*reasons, *bad])}".strip())
