"""A document → one HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from parlai_humaneval.report.cells import Layout, laid_out
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.draw.figures import to_svg
from parlai_humaneval.report.references import references_in
from parlai_humaneval.report.section import Section
from parlai_humaneval.report.views import DataTable, Figure, Method
from parlai_humaneval.report.words import data_words, excluded_table, facts_tables, raters_words
from parlai_humaneval.statistics.wording import counted

TABLES_IN_SIGHT = 3
"""Later tables of a section are folded."""
FIGURES_IN_SIGHT = 6
ROWS_IN_SIGHT = 24
"""Longer tables are folded too."""
OF_THE_DATA = ("agreement", "design", "crowd_time", "justifications", "replies")
"""Sections that answer how far the data can be trusted, and what they cost, not which model is better."""
TEMPLATES = Path(__file__).parent / "templates"

Step = Callable[[], None]


@dataclass(frozen=True)
class TableView:
    """A table ready to be written: its cells are words."""

    title: str
    layout: Layout
    notes: Sequence[str]
    folded: bool


@dataclass(frozen=True)
class FigureView:
    title: str
    svg: Markup
    folded: bool


@dataclass(frozen=True)
class SectionView:
    key: str
    title: str
    headline: str
    remarks: Sequence[str]
    tables: Sequence[TableView]
    figures: Sequence[FigureView]
    methods: Sequence[Method]


def to_html(document: Document, *, files: Sequence[str] = (), folder: str = "", on_figure: Step | None = None) -> str:
    """The page. Texts of raters and models, and names of models, are escaped.

    Args:
        document: facts and sections.
        files: names of files that hold the same, in ``folder``, a name relative to the page; none: nothing is said.
        folder: see ``files``.
        on_figure: called after each figure, which takes most of the time.
    """
    sections = [_section(key, section, on_figure) for key, section in document.sections.items()]
    facts = document.facts
    methods = [method for section in sections for method in section.methods]
    page: str = (
        _environment()
        .get_template("report.html.j2")
        .render(
            facts=facts,
            examples=document.examples,
            sections=sections,
            answers=[section for section in sections if section.headline and section.key not in OF_THE_DATA],
            of_the_data=[section for section in sections if section.headline and section.key in OF_THE_DATA],
            data_words=data_words(facts),
            raters_words=raters_words(facts),
            facts_tables=[_table(table) for table in facts_tables(facts)],
            excluded=None if facts.excluded is None else _table(excluded_table(facts.excluded)),
            references=references_in(f"{method.source}\n{method.text}" for method in methods),
            headline=document.headline(),
            from_tables=not facts.from_task,
            files=files,
            folder=folder,
        )
    )
    return page


def figure_count(document: Document) -> int:
    """How often ``on_figure`` will be called."""
    return sum(len(section.figures()) for section in document.sections.values())


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(str(TEMPLATES)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Callable[..., Any]] = {"counted": counted, "in_words": _in_words}
    environment.filters.update(filters)
    return environment


def _in_words(value: Any) -> str:
    """A value of a setting: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _section(key: str, section: Section, on_figure: Step | None) -> SectionView:
    tables = [table for table in section.data_tables() if table.rows]
    return SectionView(
        key=key,
        title=section.TITLE,
        headline=section.headline,
        remarks=section.remarks,
        tables=[_table(table, place) for place, table in enumerate(tables)],
        figures=[_figure(figure, place, on_figure) for place, figure in enumerate(section.figures())],
        methods=section.methods(),
    )


def _table(table: DataTable, place: int = 0) -> TableView:
    layout = laid_out(table)
    return TableView(
        title=f"{table.title} ({layout.only_group})" if layout.only_group else table.title,
        layout=layout,
        notes=table.notes,
        folded=place >= TABLES_IN_SIGHT or layout.n_rows > ROWS_IN_SIGHT,
    )


def _figure(figure: Figure, place: int, on_figure: Step | None) -> FigureView:
    svg = Markup(to_svg(figure))  # written by an XML serialiser, which escapes all texts in it
    if on_figure is not None:
        on_figure()
    return FigureView(title=figure.title, svg=svg, folded=place >= FIGURES_IN_SIGHT)
