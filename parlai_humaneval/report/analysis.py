"""Custom analyses: a function that returns rows, and their display in a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from pydantic import PrivateAttr, SerializeAsAny

from parlai_humaneval.report.registry import Analysis, add_analysis
from parlai_humaneval.report.section import Options, Section
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures
from parlai_humaneval.statistics.core.rows import Column, Estimate, Row, published_by, table_of
from parlai_humaneval.tables.build import Tables

Function = TypeVar("Function", bound=Callable[[Tables, Options], "Section | Iterable[Row] | None"])


class RowsSection(Section):
    """The section of an analysis that gives rows alone: one table, and a figure of their first estimate."""

    rows: list[SerializeAsAny[Row]]
    _said: tuple[str, str] = PrivateAttr(default=("", ""))
    _methods: list[Method] = PrivateAttr(default_factory=list)

    def heading(self) -> str:
        return self._said[1]

    def data_tables(self) -> list[DataTable]:
        return [table_of(*self._said, self.rows)]

    def figures(self) -> list[Figure]:
        named = [(name, item) for name, field in type(self.rows[0]).model_fields.items() for item in field.metadata]
        items = [(name, item) for name, item in named if isinstance(item, Estimate) and not item.path]
        names = [one.name for one in published_by(type(self.rows[0])) if isinstance(one, Column) and one.kind == "text"]
        return [
            figure
            for field, estimate in items[:1]
            for figure in interval_figures(
                self._said[0],
                self._said[1],
                estimate.label or field.replace("_", " "),
                [(", ".join(str(row[name]) for name in names if row[name]), getattr(row, field)) for row in self.rows],
                share=estimate.kind == "share",
            )
        ]

    def methods(self) -> list[Method]:
        return self._methods


def analysis(
    key: str, *, title: str, needs: Sequence[str] = (), how: str = "", source: str = ""
) -> Callable[[Function], Function]:
    """Add the decorated function to every report: a statistic with its section, after all others.

    Import its module in your plug-in, or name it there with :func:`~parlai_humaneval.report.registry.register_section`.
    It gets tables and options, and returns :class:`~parlai_humaneval.statistics.core.rows.Row` objects, which become a
    table and a figure; or a whole :class:`~parlai_humaneval.report.section.Section`; or None, where there is nothing to
    say. Where it raises, the report has a remark with its name instead.

    Args:
        key: of the report's JSON, and of the table's files. Raises ValueError where it is taken.
        title: above the section.
        needs: what the tables must hold, all of it: ``turns`` (any rows), ``turns.text`` (any value in that column).
        how, source: how the numbers were made, for the methods of the report, and the paper that this comes from.
    """

    def register(function: Function) -> Function:
        def build(tables: Tables, options: Options) -> Section | None:
            found = function(tables, options)
            if found is None or isinstance(found, Section):
                return found
            rows = list(found)
            if not rows:
                return None
            section = RowsSection(rows=rows)
            section._said = (key, title)
            section._methods = [Method(name=title, text=how, source=source)] if how else []
            return section

        add_analysis(key, Analysis(function.__module__, title, build, tuple(needs)))
        return function

    return register
