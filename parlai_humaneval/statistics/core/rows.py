"""Rows of statistics: a row declares how its fields are published in JSON, CSV, LaTeX and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, model_serializer
from pydantic.fields import FieldInfo
from typing_extensions import Self

from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval.statistics.core.multiplicity import HIGH, LOW, P_HOLM, VALUE, Family, P
from parlai_humaneval.statistics.core.result import Result

Cell = float | int | str | None
CellKind = Literal["text", "number", "share", "points", "p", "count", "tenths", "seconds", "money"]
"""How a cell is written: ``share`` is 0–1 and written in percent, ``points`` a difference of two shares in percentage
points, ``number`` has three decimals, ``tenths`` one, ``p`` is a p-value, ``money`` so that small amounts have digits."""


class Part(BaseModel, extra="forbid", allow_inf_nan=False, defer_build=True):
    """A piece of a report's JSON; a number that cannot be estimated is None."""


class View(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class TableColumn(View):
    """``key``: of the row, and name of the column in files; ``label``: what people read above it."""

    key: str
    label: str
    kind: CellKind = "text"


class DataTable(View):
    """A table as the papers print them. ``key``: file name without ending, unique in a report (``turns_models``).

    None is "cannot be estimated" (or not asked), never nan.
    """

    key: str
    title: str
    columns: tuple[TableColumn, ...]
    rows: tuple[dict[str, Cell], ...]
    notes: tuple[str, ...] = ()


Columns = tuple[tuple[str, str, CellKind], ...]
"""Name in JSON and files, what people read above it, and how its cells are written."""
CUT = "Intervals of shares are cut off at 0 and 100 %; the JSON file has the full intervals."


@dataclass(frozen=True)
class Key:
    """A name under which part of a field is published, only in JSON; see :class:`Row`.

    ``name``: "": the field's own. ``path``: the part of the field's value, ``details.df``; a star means every name of a
    mapping: ``*.estimate``. What is None on the way gives None. ``of``: another field or property to take it from.
    """

    _: KW_ONLY
    name: str = ""
    path: str = ""
    of: str = ""

    @property
    def whole_path(self) -> str:
        """The path, beginning at the row."""
        return f"{self.of}.{self.path}".strip(".")


@dataclass(frozen=True)
class Column(Key):
    """A key that is also a column of tables.

    ``label``: what people read above it; "": the word that the name has everywhere (``_words``). ``kind``: how its cells are
    written; None: by the type of the field. ``table``: key of the one table that has it, if a row fills several tables
    (``EVERY``: all of them). ``last``: behind all other columns. ``telling``: it is left out where it does not tell
    rows apart. ``in_json``: False: only in tables.
    """

    label: str = ""
    kind: CellKind | None = None
    _: KW_ONLY
    table: str = ""
    last: bool = False
    telling: bool = False
    in_json: bool = True


@dataclass(frozen=True)
class Estimate(Column):
    """A result: its estimate, and the ends of its interval as ``…_low`` and ``…_high`` of ``ends`` ("": of the name).

    ``end_labels``: above the two ends; None: "from" and "to", with the words of ``ends`` where these are another name.
    """

    _: KW_ONLY
    ends: str = ""
    end_labels: tuple[str, str] | None = None

    def columns(self, field: str) -> Iterator[Column]:
        """The estimate's three columns."""
        name = self.name or field
        stem = self.ends or name
        whose = "" if stem in ("ci", name) else f"{stem.replace('_', ' ').capitalize()} "
        labels = self.end_labels or (f"{whose}from", f"{whose}to")
        path = f"{self.path}." if self.path else ""
        whole = Column(self.label, self.kind, name=name, path=f"{path}estimate", of=self.of, table=self.table)
        whole = replace(whole, last=self.last, telling=self.telling, in_json=self.in_json)
        yield whole
        for end, label in zip(("low", "high"), labels, strict=True):
            yield replace(whole, label=label, name=f"{stem}_{end}", path=f"{path}ci_{end}")


EVERY = "*"
UNSEEN = ()
"""For a field that is published through other fields, or not at all."""
Name = Annotated[str, Column(table=EVERY)]
"""A column that says what the row is of, under the word that its name has everywhere."""
Count = Annotated[int, Column()]


def p_columns(
    path: str = "p_value", name: str = "p_clustered", label: str = "", holm: str = "", after: str = "", *, of: str = ""
) -> tuple[Column, Column]:
    """The p of a result and its Holm-corrected p, under the words for ``name`` or the given words.

    ``after``: path of the corrected one, where that is not the p that decides."""
    plain = Column(label, "p", name=name, path=path, of=of)
    corrected = f"{name.removesuffix('_value')}_holm"
    return plain, replace(plain, label=holm, name=corrected, path=after or path.replace("p_value", "p_decides"))


def family_keys(of: str = "") -> tuple[Key, ...]:
    """The family of tests that a result was corrected with."""
    return tuple(Key(name=name, path=f"details.{name}", of=of) for name in ("family", "family_tests"))


def keys(*names: str, **paths: str) -> tuple[Key, ...]:
    """The values of a result with these ``names`` and at these ``paths``, in the JSON alone."""
    return tuple(Key(name=name, path=path) for name, path in (*((name, name) for name in names), *paths.items()))


FAMILY = family_keys()


def interval_keys(name: str, stem: str, *, path: str = "") -> tuple[Key, ...]:
    """An estimate and the ends of its interval, in the JSON alone."""
    parts = ((name, "estimate"), (f"{stem}_low", "ci_low"), (f"{stem}_high", "ci_high"))
    return tuple(Key(name=name, path=f"{path}.{part}".strip(".")) for name, part in parts)


def once_keys(*, of: str = "") -> tuple[Key, ...]:
    """A result with every worker counted once, its p and its corrected p, only in the JSON."""
    return tuple(Key(name=name, path=f"details.{name}", of=of) for name in (VALUE, LOW, HIGH, P, P_HOLM))


def once_columns(label: str = "", kind: CellKind = "number", *, of: str = "") -> tuple[Key, ...]:
    """A result with every worker counted once, its p and its corrected p; the estimate and the last are columns."""
    shown = Column(label, kind, name=VALUE, path=f"details.{VALUE}", of=of, last=True)
    hidden = (Key(name=name, path=f"details.{name}", of=of) for name in (LOW, HIGH, P))
    return (shown, *hidden, replace(shown, label="", kind="p", name=P_HOLM, path=f"details.{P_HOLM}"))


class Row(Part):
    """A row of a statistic: its own values, and the complete results behind them.

    A field says in its annotation how it is published: ``n: Annotated[int, Column("Turns")]``,
    ``rate: Annotated[Result, Estimate("Win rate", "share", name="win_rate", ends="ci")]``; several things of one field are
    several items, or tuples of them. A field without an annotation is published under its name, but not as a column.
    Names keep the order of the class, in JSON and in tables.
    """

    @model_serializer(mode="plain")
    def flat(self) -> dict[str, Any]:
        """All published values of the row, by name: the only source of JSON, CSV, LaTeX and tables."""
        keys = published_by(type(self))
        return {key.name: self.at(key.whole_path) for key in keys if not isinstance(key, Column) or key.in_json}

    def at(self, path: str) -> Any:
        """The value at a path such as ``clustered.details.df``; None where something on the way is None."""
        return _at(self, path.split("."))

    @classmethod
    def of(cls, *sources: object, **values: Any) -> Self:
        """A row of ``values``, and of what ``sources`` hold under the names of its fields; of two the later counts."""
        held: dict[str, Any] = {}
        for source in sources:
            known = source if isinstance(source, Mapping) else {}
            held |= {
                name: known[name] if name in known else getattr(source, name)
                for name in cls.model_fields
                if name in known or hasattr(source, name)
            }
        return cls(**held | values)

    def __getitem__(self, name: str) -> Any:
        """What is published under ``name``."""
        return self.at(next((key.whole_path for key in published_by(type(self)) if key.name == name), name))


class AskedRow(Row):
    """Rows of one technique, setting and metric; "" where the table names none."""

    technique: Name
    setting: Name
    metric: Name

    @property
    def family(self) -> Family:
        """The family for corrections, which also gets one answer."""
        return Family(self.technique, self.setting, self.metric)


@cache
def published_by(row: type[Row]) -> tuple[Key, ...]:
    """All names that a class of rows publishes, each with its full path, label and kind, in their order."""
    return tuple(key for name, field in row.model_fields.items() for key in _keys_of(name, field))


def _keys_of(field: str, info: FieldInfo) -> Iterator[Key]:
    said = [item for item in info.metadata if isinstance(item, (Key, tuple))] or [Key()]
    for key in (key for item in said for key in (item if isinstance(item, tuple) else (item,))):
        for one in key.columns(field) if isinstance(key, Estimate) else (key,):
            name = one.name or field
            whole = replace(one, name=name, of=one.of or field)
            if isinstance(whole, Column):
                label, kind = _words().get(name, (name.replace("_", " ").capitalize(), None))
                kind = whole.kind or kind or _KINDS.get(info.annotation, "number" if whole.path else "text")
                whole = replace(whole, label=whole.label or label, kind=kind)
            yield whole


@cache
def _words() -> Mapping[str, tuple[str, CellKind | None]]:
    words: Mapping[str, tuple[str, CellKind | None]] = read_yaml(packaged("column_words.yaml"))
    return words


_KINDS: Mapping[Any, CellKind] = {int: "count", int | None: "count", float: "number", float | None: "number"}


def table_of(
    key: str,
    title: str,
    rows: Sequence[Row],
    *notes: str,
    labels: Mapping[str, str] = MappingProxyType({}),
    filled: bool = False,
    of: type[Row] | None = None,
) -> DataTable:
    """The rows, under the columns that their class (``of``, where there may be none) declares for the table ``key``.

    A column of texts that is empty throughout is left out, and one that is ``telling`` and does not tell rows apart; other
    empty columns only where all that is shown is to be ``filled``. ``labels``: instead of those that are declared.
    """
    kind = type(rows[0]) if rows else of
    declared = [] if kind is None else [one for one in published_by(kind) if isinstance(one, Column)]
    own = any(one.table == key for one in declared)
    listed = [one for one in declared if one.table in (EVERY, key if own else "")]
    listed.sort(key=lambda one: one.last)
    cells = [{one.name: cell(row.at(one.whole_path)) for one in listed} for row in rows]
    telling = {one.name for one in listed if one.telling and len({row[one.name] for row in cells}) > 1}
    columns = tuple(
        (one.name, labels.get(one.name, one.label), one.kind or "text")
        for one in listed
        if not one.telling or one.name in telling
    )
    return row_table(key, title, columns, cells, notes, filled=filled)


def row_table(
    key: str,
    title: str,
    columns: Columns,
    rows: Sequence[Mapping[str, Any]],
    notes: Sequence[str] = (),
    *,
    filled: bool = False,
) -> DataTable:
    """A table of ``rows`` whose columns no class knows; a name that a row lacks gives an empty cell. Empty columns as of
    :func:`table_of`; a share is cut to 0–1, as Wald's and Student's intervals know no ends, and a note says so."""
    cells = [{name: cell(row.get(name)) for name, _, _ in columns} for row in rows]
    shown = tuple(
        TableColumn(key=name, label=label, kind=kind)
        for name, label, kind in columns
        if any(row[name] not in (None, "") for row in cells) or not (filled or kind == "text")
    )
    within = [{one.key: _cut(row[one.key], one.kind) for one in shown} for row in cells]
    was_cut = any(row[one.key] != value[one.key] for row, value in zip(cells, within, strict=True) for one in shown)
    return DataTable(
        key=key, title=title, columns=shown, rows=tuple(within), notes=(*notes, *([CUT] if was_cut else []))
    )


def cell(value: object) -> Cell:
    """The cell of a value: lists as one text, booleans as yes or no, everything else unchanged."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value)
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def _cut(value: Cell, kind: CellKind) -> Cell:
    return value if kind != "share" or value is None or isinstance(value, str) else min(1.0, max(0.0, value))


def _at(value: Any, steps: Sequence[str]) -> Any:
    if value is None or not steps:
        return list(value) if isinstance(value, tuple) else _plain(value)
    step, *rest = steps
    if step.isdigit():
        return _at(value[int(step)], rest)
    if step == "*":
        return {name: _at(one, rest) for name, one in value.items()}
    return _at(value.get(step) if isinstance(value, Mapping) else getattr(value, step), rest)


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    return value.model_dump(mode="json") if isinstance(value, Part) else value
