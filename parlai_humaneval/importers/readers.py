"""Units of work → checked tables: all of them, or none; and workers' names → pseudonyms, everywhere in a set of tables: in
columns that name them, and inside texts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from parlai_humaneval._util.text import clean_label
from parlai_humaneval.importers import chats
from parlai_humaneval.importers.units import ImportPlan, LeftOut, Rows, Unit, UnreadableUnit
from parlai_humaneval.importers.vocabulary import Understood
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.columns import HOW_REPEATS, Repeats, TableError, Tables, from_rows, with_clean_labels
from parlai_humaneval.tables.files import Checked, checked, tables_of
from parlai_humaneval.tables.schema import TableName

_PSEUDONYM = re.compile(r"w[0-9a-f]{12}")
_TOKEN = re.compile(r"[\w@][\w@.+-]{4,}[\w@]")
_WORD = re.compile(r"\w{6,}")
_SANDBOX = "_sandbox"  # Mephisto's mock and sandbox providers put it behind a worker's name


class Pseudonyms:
    """Pseudonyms that remember the original names, so that these can be replaced in texts too."""

    def __init__(self, make: Callable[[str], str]) -> None:
        self._make = make
        self.given: dict[str, str] = {}

    def __call__(self, name: str) -> str:
        """The pseudonym of a worker, whatever blanks their name was typed with; a pseudonym stays what it is."""
        name = clean_label(name)
        if _PSEUDONYM.fullmatch(name):
            return name
        if name not in self.given:
            self.given[name] = self._make(name)
        return self.given[name]


def without_names(tables: Tables, given: Mapping[str, str]) -> tuple[Tables, int]:
    """``tables`` in which no text holds a key of ``given``: its value, the pseudonym, stands there in its place.
    Workers do write their own id into a comment. Only names of six characters and more are looked for, as whole words:
    a shorter one, such as “12”, may mean anything. Returns also how many cells were changed."""
    wanted = {
        form: pseudonym
        for name, pseudonym in given.items()
        for form in (name, name.removesuffix(_SANDBOX))
        if len(form) >= 6 and _TOKEN.fullmatch(form)
    }
    if not wanted:
        return tables, 0
    changed: dict[str, Any] = {}
    count = 0
    for table in get_args(TableName):
        frame: pd.DataFrame = getattr(tables, table)
        clean = {name: _clean(frame[name], wanted) for name in frame.columns if not is_numeric_dtype(frame[name])}
        different = {name: column for name, column in clean.items() if column is not None}
        if different:
            count += sum(int((column != frame[name]).sum() - column.isna().sum()) for name, column in different.items())
            changed[table] = frame.assign(**different)
    judges = None if tables.judges is None else without_names(tables.judges, given)[0]
    return replace(tables, **changed, judges=judges), count


def _clean(column: pd.Series[Any], wanted: Mapping[str, str]) -> pd.Series[Any] | None:
    """The column without the names, or None where it has none of them."""
    text = "\n".join({value for value in column if isinstance(value, str)})
    found = wanted.keys() & {*_TOKEN.findall(text), *_WORD.findall(text)}
    if not found:
        return None
    longest_first = sorted(found, key=len, reverse=True)
    pattern = re.compile(rf"(?<![\w@])(?:{'|'.join(map(re.escape, longest_first))})(?![\w@])")
    cells = [pattern.sub(lambda hit: wanted[hit[0]], v) if isinstance(v, str) else v for v in column]
    clean: pd.Series[Any] = pd.Series(cells, index=column.index, dtype=object)
    return clean


WORKERS = ("worker_id", "own_worker")  # Columns of ours that name workers


def with_pseudonyms(tables: Tables, pseudonym: Callable[[str], str]) -> Tables:
    """Workers by pseudonym in the columns that name them, and in every other column that holds nothing but their ids."""
    frames: dict[str, pd.DataFrame] = {name: getattr(tables, name) for name in get_args(TableName)}
    named = (frame[name].dropna() for frame in frames.values() for name in WORKERS if name in frame.columns)
    renamed = {value: pseudonym(value) for value in {str(value) for column in named for value in column}}
    for table, frame in [(name, frame) for name, frame in frames.items() if len(frame)]:
        columns: dict[str, pd.Series[Any]] = {}
        for name, column in frame.items():
            values = [] if is_numeric_dtype(column) else column.dropna().unique().tolist()
            # Short numbers may well be something other than ids of workers.
            ids = (isinstance(one, str) and len(one) >= 6 and clean_label(one) in renamed for one in values)
            if name in WORKERS or (values and all(ids)):
                cells = [renamed[clean_label(value)] if isinstance(value, str) else None for value in column]
                columns[str(name)] = pd.Series(cells, index=frame.index, dtype=object)
        frames[table] = frame.assign(**columns) if columns else frame
    return Tables(**frames, repeats=tables.repeats, judges=None, stopping=(), cleaned=tables.cleaned)


SavedFormat = Literal["model_chat", "pairwise_per_turn_eval", "acute_eval"]
READERS: Mapping[SavedFormat, Callable[[Unit, ImportPlan], Rows]] = {
    "model_chat": chats.model_chat_rows,
    "pairwise_per_turn_eval": chats.per_turn_rows,
    "acute_eval": chats.acute_rows,
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
        chats.without_failed([rows for _, rows in good])
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
        raise TableError(error, sorted(set(owners[list(error.rows)].tolist()))) from error
