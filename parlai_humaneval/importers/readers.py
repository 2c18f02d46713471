"""Units of work → checked tables: all of them, or none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from parlai_humaneval.importers import acute, chats
from parlai_humaneval.importers.units import ImportPlan, LeftOut, Rows, Unit, UnreadableUnit
from parlai_humaneval.importers.vocabulary import Understood
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.columns import HOW_REPEATS, Repeats, TableError, Tables, from_rows, with_clean_labels
from parlai_humaneval.tables.files import Checked, checked, tables_of
from parlai_humaneval.tables.schema import TableName

SavedFormat = Literal["model_chat", "pairwise_per_turn_eval", "acute_eval"]
READERS: Mapping[SavedFormat, Callable[[Unit, ImportPlan], Rows]] = {
    "model_chat": chats.model_chat_rows,
    "pairwise_per_turn_eval": chats.per_turn_rows,
    "acute_eval": acute.rows_of,
}
_Good = tuple[str, Rows]  # Where a unit stands, and its rows


@dataclass
class Imported:
    """Checked tables, and what is not in them: ``left_out`` by reason, ``skipped`` one by one, as it was bad.
    ``understood``: what was made of each file of tables."""

    tables: Tables
    units: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    skipped: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    understood: list[Understood] = field(default_factory=list)


def gather(
    found: Iterable[tuple[SavedFormat, Unit | LeftOut | UnreadableUnit]], plan: ImportPlan, *, skip_bad: bool = False
) -> Imported:
    """Make rows of all units, and check them together. Raises TableError."""
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
            good.append((unit.where, _read(kind, unit, plan, known)))
        except UnreadableUnit as error:
            if not skip_bad:
                raise
            skipped.append(str(error))
    if not plan.keep_failed:
        acute.without_failed([rows for _, rows in good])
    while True:
        try:
            tables = tables_of({name: _table(name, good, plan.repeats) for name in get_args(TableName)})
            break
        except TableError as error:
            if not skip_bad or not error.rows:
                raise TableError(error, where=good[error.rows[0]][0] if error.rows else "") from error
            skipped += [f"{good[place][0]}: {error}" for place in error.rows]
            good = [one for place, one in enumerate(good) if place not in error.rows]
    for _, rows in good:
        left_out += rows.left_out
    if not good:
        reasons = [f"{reason}: {count}" for reason, count in sorted(left_out.items())]
        bad = [f"{counted(len(skipped), 'unit')} skipped, the first: {skipped[0]}"] if skipped else []
        raise TableError(f"There is nothing to import. {'; '.join([*reasons, *bad])}".strip())
    return Imported(tables, len(good), left_out, skipped)


def _read(kind: SavedFormat, unit: Unit, plan: ImportPlan, known: dict[str, str]) -> Rows:
    """The rows of a unit; ``known``: id → place of what was read before, to which its own ids are added."""
    other = saved_by(unit.data)
    if other not in (None, kind):
        raise UnreadableUnit(
            f"{unit.where} was saved by ParlAI's {other}, not by {kind}", try_=f"import it with --from {other}"
        )
    rows = READERS[kind](unit, plan)
    if isinstance(unit.data, dict) and (unknown := sorted(unit.data.keys() - chats.KNOWN)):
        rows.left_out[f"fields that {kind} is not known to have ({', '.join(unknown)})"] += 1
    ids = [str(row["dialogue_id"]) for row in rows.tables.get("dialogues", ())]
    ids += [str(row["judgement_id"]) for row in rows.tables.get("judgements", ())]
    for one in ids if plan.repeats is None else ():
        if one in known:
            raise UnreadableUnit(
                f"{unit.where} holds the same answers as {known[one]}", try_=("name one of the two", HOW_REPEATS)
            )
    known.update(dict.fromkeys(ids, unit.where))
    return rows


def saved_by(data: Any) -> SavedFormat | None:
    """The task that saved a unit's data, by the fields that the others lack; None where nothing tells it."""
    if isinstance(data, list):
        return "acute_eval"
    task = data.get("task_description") if isinstance(data, dict) else None
    names: Iterable[str] = task if isinstance(task, dict) else ()
    return (
        "pairwise_per_turn_eval" if "model_1_nickname" in names else "model_chat" if "model_nickname" in names else None
    )


def _table(name: TableName, good: Sequence[_Good], repeats: Repeats | None) -> Checked:
    found = [rows.tables.get(name, ()) for _, rows in good]
    owners = np.repeat(np.arange(len(good)), [len(rows) for rows in found])
    try:
        whole, cleaned = with_clean_labels(name, from_rows(name, [row for rows in found for row in rows]))
        return checked(name, whole, repeats, cleaned)
    except TableError as error:
        if not error.rows:
            raise
        raise TableError(str(error), sorted(set(owners[list(error.rows)].tolist()))) from error
