"""Rows of a section: results are kept whole, and JSON, CSV, LaTeX and tables read the same names of them.

Where the rows of a report's tables come from: the tidy table, and the filter that gives its rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, get_args

from pydantic import model_serializer

from parlai_humaneval.report.section import Part, Summary
from parlai_humaneval.report.views import Cell, CellKind, DataTable, TableColumn
from parlai_humaneval.statistics.core.once_each import HIGH, LOW, P_HOLM, VALUE, P
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.tables.schema import COLUMNS, TableName

_OF_SECTION: Mapping[str, TableName] = {
    "turns": "turns",
    "free_for_all": "turns",
    "comparisons": "comparisons",
    "direct_assessment": "ratings",
    "likert": "ratings",
    "segments": "segments",
    "justifications": "judgements",
    "rankings": "turns",
    "replies": "turns",
}
"""Section → the tidy table of its answers; rows of the others name theirs themselves, in a column ``source``."""
_FILTERS = ("technique", "setting", "metric", "kind", "criterion", "model", "model_a", "model_b", "k")
"""Columns of a row that say which rows of the tidy table it is made of."""


def origin_of(section: str, row: Mapping[str, Cell]) -> tuple[TableName, str] | None:
    """The tidy table of a row and its filter in words, “model = alpha and metric = preference”; None where unknown."""
    named = str(row.get("source") or "")
    table = next((name for name in get_args(TableName) if name == named), _OF_SECTION.get(section))
    return None if table is None else (table, _filter(table, row))


def origin_of_answer(answer: Summary, models: tuple[str, ...]) -> tuple[TableName, str] | None:
    """The same of a line of a summary, which is of one model or of a pair."""
    names: dict[str, Any] = {"model": models[0]} if len(models) == 1 else {"model_a": models[0], "model_b": models[1]}
    row = {"technique": answer.technique, "setting": answer.setting, "metric": answer.metric, **names}
    return origin_of(answer.section, row)


def _filter(table: TableName, row: Mapping[str, Cell]) -> str:
    known = COLUMNS[table]
    models = sorted(str(row[name]) for name in ("model_a", "model_b") if row.get(name))
    if models and "model_a" in known:
        row = {**row, **dict(zip(("model_a", "model_b"), models, strict=False))}
    parts = [f"{name} = {row[name]}" for name in _FILTERS if name in known and row.get(name) not in (None, "")]
    if models and "model_a" not in known:
        parts.append(f"model is {' or '.join(models)}")
    one = str(row.get("model") or "")
    if one and "model" not in known:
        parts.append(f"model_a or model_b = {one}")
    return " and ".join(parts)


Columns = tuple[tuple[str, str, CellKind], ...]
"""Name in JSON and files, what people read above it, and how its cells are written."""
CUT = "Intervals of shares are cut at 0 and 100 %; the JSON has them whole."


class Row(Part):
    """A row of a section: values of its own, and the results that it rests on, each of them whole.

    ``FROM`` says under which names parts of results are published: ``{"p_clustered": "clustered.p_value"}``; a star
    stands for every name of a mapping: ``{"survival": "curve.*.estimate"}``. Every other field that is no result is
    published under its own name. A result that is None gives None.
    """

    FROM: ClassVar[Mapping[str, str]] = {}

    @model_serializer(mode="plain")
    def flat(self) -> dict[str, Any]:
        """Everything that is published of the row, by name: the one source of JSON, CSV, LaTeX and tables."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        plain = {name: _plain(value) for name, value in values.items() if name not in self._results()}
        return {**plain, **{name: self.at(path) for name, path in self.FROM.items()}}

    def at(self, path: str) -> Any:
        """The value at a path such as ``clustered.details.df``; None where something on the way is None."""
        return _at(self, path.split("."))

    def __getitem__(self, name: str) -> Any:
        """What is published under ``name``."""
        return self.at(self.FROM.get(name, name))

    @classmethod
    def _results(cls) -> set[str]:
        return {path.partition(".")[0] for path in cls.FROM.values()}


def _at(value: Any, steps: Sequence[str]) -> Any:
    if value is None or not steps:
        return list(value) if isinstance(value, tuple) else value
    step, *rest = steps
    if step == "*":
        return {name: _at(one, rest) for name, one in value.items()}
    return _at(value.get(step) if isinstance(value, Mapping) else getattr(value, step), rest)


def _plain(value: Any) -> Any:
    if isinstance(value, Result):
        return value.to_dict()
    return value.model_dump(mode="json") if isinstance(value, Part) else value


def published(*parts: Mapping[str, str], **names: str) -> dict[str, str]:
    """For ``FROM``: name → path, of all ``parts`` and ``names`` together."""
    return {name: path for part in (*parts, names) for name, path in part.items()}


def ends(path: str, name: str = "estimate", stem: str = "ci") -> dict[str, str]:
    """For ``FROM``: the result at ``path`` as ``name``, its interval as ``…_low`` and ``…_high`` of ``stem``."""
    return {name: f"{path}.estimate", f"{stem}_low": f"{path}.ci_low", f"{stem}_high": f"{path}.ci_high"}


def whole(*names: str) -> dict[str, str]:
    """For ``FROM``: results that are published under their own names, each with its interval."""
    return published(*(ends(name, name, name) for name in names))


def every_worker_once(path: str) -> dict[str, str]:
    """For ``FROM``: what the result at ``path`` is where every worker counts once, its p, and its corrected p."""
    names = (VALUE, LOW, HIGH, P, P_HOLM)
    return {name: f"{path}.details.{name}" for name in names}


def both_tests(paper: str, clustered: str) -> dict[str, str]:
    """For ``FROM``: p of the paper's test and of the one by worker, each with what Holm's correction made of it."""
    return {
        "p_value": f"{paper}.p_value",
        "p_holm": f"{paper}.p_decides",
        "p_clustered": f"{clustered}.p_value",
        "p_clustered_holm": f"{clustered}.p_decides",
        "family": f"{clustered}.details.family",
        "family_tests": f"{clustered}.details.family_tests",
        **every_worker_once(clustered),
    }


Labels = Mapping[str, tuple[str, CellKind]]
"""What people read above the columns of a section, and how their cells are written, by name."""

WORDS: Labels = {
    "technique": ("Technique", "text"),
    "setting": ("Setting", "text"),
    "metric": ("Metric", "text"),
    "source": ("Table", "text"),
    "unit": ("Unit", "text"),
    "rank": ("Rank", "count"),
    "turn": ("Turn", "count"),
    "model": ("Model", "text"),
    "model_a": ("Model A", "text"),
    "model_b": ("Model B", "text"),
    "dialogues": ("Dialogues", "count"),
    "n_dialogues": ("Dialogues", "count"),
    "n_turns": ("Turns", "count"),
    "n_workers": ("Workers", "count"),
    "wins_a": ("A won", "count"),
    "wins_b": ("B won", "count"),
    "ties": ("Ties", "count"),
    "win_rate": ("Win rate", "share"),
    "win_rate_a": ("Win rate of A", "share"),
    "lead_a": ("A ahead by", "points"),
    "score_a": ("Superiority of A", "share"),
    "score_low": ("From, superiority", "share"),
    "score_high": ("To, superiority", "share"),
    "superiority": ("Superiority of A", "share"),
    "mean": ("Mean", "number"),
    "difference": ("A − B", "number"),
    "estimate": ("Difference", "number"),
    "strength": ("Strength", "number"),
    "strength_note": ("Its strength", "text"),
    "pull": ("Pull", "number"),
    "per_worker": ("Every worker once", "number"),
    "p_per_worker": ("p, every worker once", "p"),
    "p_per_worker_holm": ("p, every worker once, Holm", "p"),
    "p_clustered": ("p, clustered", "p"),
    "p_clustered_holm": ("p, clustered, Holm", "p"),
}
"""What columns are called where a section has no words of its own for them."""


def columns(names: str, labels: Labels = MappingProxyType({})) -> Columns:
    """The columns of ``names``, which are parted by blanks, in the words of ``labels`` or else of ``WORDS``.

    The ends of an interval, ``…_low`` and ``…_high``, need no label: they are of the kind of the column before them, and
    say whose they are (“Boot from”) unless that is the column they follow.
    """
    known = {**WORDS, **labels}
    listed: list[tuple[str, str, CellKind]] = []
    estimate = ""
    for name in names.split():
        if name in known:
            listed.append((name, *known[name]))
            estimate = name
        else:
            stem, _, end = name.rpartition("_")
            whose = "" if stem in ("ci", estimate) else f"{stem.replace('_', ' ').capitalize()} "
            listed.append((name, f"{whose}{'from' if end == 'low' else 'to'}", listed[-1][2]))
    return tuple(listed)


def part_table(
    key: str,
    title: str,
    columns: Columns,
    parts: Sequence[Part],
    notes: tuple[str, ...] = (),
    telling: tuple[str, ...] = (),
) -> DataTable:
    """A row per part, of what it publishes under the names of ``columns``; see :func:`row_table`."""
    return row_table(key, title, columns, [part.model_dump() for part in parts], notes, telling)


def row_table(
    key: str,
    title: str,
    columns: Columns,
    rows: Sequence[Mapping[str, Any]],
    notes: tuple[str, ...] = (),
    telling: tuple[str, ...] = (),
) -> DataTable:
    """A table of ``rows``; a name that a row lacks gives an empty cell. A column of texts that is empty throughout, such
    as the setting of a table from elsewhere, is left out, and one of ``telling`` that does not tell rows apart; numbers
    that cannot be estimated keep their column."""
    cells = [{name: cell(row.get(name)) for name, _, _ in columns} for row in rows]
    shown = [
        TableColumn(key=name, label=label, kind=kind)
        for name, label, kind in columns
        if (kind != "text" or any(row[name] not in (None, "") for row in cells))
        and (name not in telling or len({row[name] for row in cells}) > 1)
    ]
    return DataTable(
        key=key,
        title=title,
        columns=tuple(shown),
        rows=tuple({column.key: cut(row[column.key], column.kind) for column in shown} for row in cells),
        notes=(*notes, *cut_notes(cells, columns)),
    )


def cell(value: object) -> Cell:
    """Lists as one text, truth as yes or no; everything else as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(part) for part in value)
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


def cut(value: Cell, kind: CellKind) -> Cell:
    """A share within 0–1: Wald's and Student's intervals know no ends."""
    return value if kind != "share" or value is None or isinstance(value, str) else min(1.0, max(0.0, value))


def cut_notes(rows: Sequence[Mapping[str, Any]], columns: Columns) -> list[str]:
    """That something was cut, if it was."""
    shares = [name for name, _, kind in columns if kind == "share"]
    return [CUT] if any(cut(row[name], "share") != row[name] for row in rows for name in shares) else []
