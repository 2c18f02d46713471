"""A document → one HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from parlai_humaneval.report.cells import ShownColumn, laid_out
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.facts_text import (
    data_words,
    excluded_table,
    facts_tables,
    qualifying,
    raters_line,
    raters_words,
)
from parlai_humaneval.report.render.figures import to_svg
from parlai_humaneval.report.rows import origin_of, origin_of_answer
from parlai_humaneval.report.section import Section, Summary
from parlai_humaneval.report.summary import (
    figure_of,
    leading,
    models_table,
    name_of,
    pairs_table,
    sentence_of,
    superiority_table,
)
from parlai_humaneval.report.views import DataTable, Figure, Method
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.schema import TableName

_FILE = Path(__file__).with_name("references.bib")
_ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n(?P<fields>.*?)^\}\n", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """``bibtex``: the entry as it stands in the file; ``text``: “S. Holm. A Simple … Journal 6(2), 1979.”"""

    first_author: str
    year: str
    text: str
    bibtex: str


def references_in(texts: Iterable[str]) -> list[Reference]:
    """References that ``texts`` name, as “Smith et al. 2022, §4.1” or “Zhao–Sun (2004)” do; sorted by their text."""
    whole = "\n".join(texts)
    return [reference for reference in all_references() if _named(whole, reference.first_author, reference.year)]


@lru_cache(maxsize=1)
def all_references() -> tuple[Reference, ...]:
    """All references, sorted by their text."""
    return tuple(sorted(_read(), key=lambda reference: reference.text))


def _read() -> tuple[Reference, ...]:
    return tuple(_reference(entry) for entry in _ENTRY.finditer(_FILE.read_text(encoding="utf-8")))


def _reference(entry: re.Match[str]) -> Reference:
    fields = dict(_FIELD.findall(entry["fields"]))
    authors = [name.split(", ") for name in fields["author"].split(" and ")]
    people = ", ".join(f"{first} {family}" for family, first in authors)
    number = f"({fields['number']})" if "number" in fields else ""
    volume = f" {fields['volume']}{number}" if "volume" in fields else ""
    edition = f", {fields['edition']} edition" if "edition" in fields else ""
    where = ", ".join(fields[name] for name in ("journal", "booktitle", "publisher") if name in fields)
    text = f"{people}. {fields['title'].strip('{}')}{edition}. {where}{volume}, {fields['year']}.".replace(r"\&", "&")
    return Reference(authors[0][0], fields["year"], text, entry[0].strip())


def _named(text: str, name: str, year: str) -> bool:
    # The year follows the first author, and no other year or reference stands between. “Zhao & Sun 2004” is not Sun's.
    return re.search(rf"(?<!& )(?<!–)\b{name}\b[^\d;\n]{{0,60}}\(?{year}\b", text) is not None


ROWS_NAMED = 24
"""As many filters of rows are named below a table; the others only where the pointer is."""
FIGURES_IN_SIGHT = 6
"""Later figures of a section are folded once more."""
ANSWERS_IN_SIGHT = 3
"""Of more answers the verdict over all is in sight, and each one is folded."""
TEMPLATES = Path(__file__).parent / "templates"

_UNITS = re.compile(r"(?<=\d) (?=%)|(?<=\b\w) (?=[=<>≤≥] [−-]?[.\d])|(?<=\b\w [=<>≤≥]) (?=[−-]?[.\d])")
"""Spaces within “32 %” and “p < .0001”, at which no line may end."""
_RANGES = re.compile(r"(?<=\d)–(?=\d)")
"""Dashes within “36–68 %”, likewise."""

Step = Callable[[], None]
Origin = tuple[TableName, str] | None


@dataclass(frozen=True)
class Files:
    """What stands in the folder beside the page; ``folder`` is relative to it, empty where there is none.

    ``names``: all files. ``data``: tidy tables whose rows are there.
    """

    folder: str = ""
    names: Sequence[str] = ()
    data: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RowView:
    """``file``: with the rows that the row was made of, empty where there is none; ``rows``: which of them."""

    cells: Sequence[str]
    file: str
    rows: str


@dataclass(frozen=True)
class TableView:
    """A table ready to be written: its cells are words."""

    title: str
    columns: Sequence[ShownColumn]
    groups: Mapping[str, Sequence[RowView]]
    only_group: str
    notes: Sequence[str]

    @property
    def link_column(self) -> int:
        """The first column of numbers: they lead to the rows."""
        return next((place for place, column in enumerate(self.columns) if place and not column.is_text), -1)

    @property
    def origins(self) -> dict[str, str]:
        """Which rows the numbers are made of, “turns.csv where model = alpha” → the file; each once, in order."""
        return {row.rows: row.file for rows in self.groups.values() for row in rows if row.rows}


@dataclass(frozen=True)
class FigureView:
    title: str
    svg: Markup
    folded: bool


@dataclass(frozen=True)
class SectionView:
    """A section, or what it has of one technique; ``key``: of its place in the page."""

    key: str
    title: str
    headline: str = ""
    remarks: Sequence[str] = ()
    tables: Sequence[TableView] = ()
    figures: Sequence[FigureView] = ()
    methods: Sequence[Method] = ()


@dataclass(frozen=True)
class AnswerView:
    """One answer: its verdict and its tables of models and pairs."""

    title: str
    question: str
    verdict: str
    tables: Sequence[TableView]


@dataclass(frozen=True)
class Drawing:
    """What views are made with: which files there are, and what is told figure by figure."""

    files: Files
    on_figure: Step | None = None

    def figure(self, figure: Figure, place: int = 0) -> FigureView:
        svg = Markup(to_svg(figure))  # written by an XML serialiser, which escapes all texts in it
        if self.on_figure is not None:
            self.on_figure()
        return FigureView(title=figure.title, svg=svg, folded=place >= FIGURES_IN_SIGHT)

    def table(self, table: DataTable, origins: Sequence[Origin]) -> TableView:
        """``origins``: of the rows of the table."""
        layout = laid_out(table)
        groups = {
            group: [
                self._row(cells, origins[place])
                for cells, place in zip(layout.groups[group], layout.places[group], strict=True)
            ]
            for group in layout.groups
        }
        title = f"{table.title} ({layout.only_group})" if layout.only_group else table.title
        return TableView(title, layout.columns, groups, layout.only_group, table.notes)

    def plain(self, table: DataTable) -> TableView:
        """A table whose rows come from no other."""
        return self.table(table, [None] * len(table.rows))

    def _row(self, cells: Sequence[str], origin: Origin) -> RowView:
        if origin is None or origin[0] not in self.files.data:
            return RowView(cells, "", "")
        file = f"{origin[0]}.csv"
        return RowView(cells, f"{self.files.folder}/{file}", f"{file} where {origin[1]}" if origin[1] else file)


def to_html(document: Document, *, files: Files | None = None, on_figure: Step | None = None) -> str:
    """The page. Texts of raters and models, and names of models, are escaped.

    Args:
        document: facts and sections.
        files: what stands beside the page; None: nothing, and nothing is said of it.
        on_figure: called after each figure, which takes most of the time.
    """
    facts, answers = document.facts, leading(document.summaries())
    draw = Drawing(files or Files(), on_figure)
    figure = figure_of(answers)
    references = references_of(document)
    across = superiority_table(answers)
    page: str = (
        environment()
        .get_template("report.html.j2")
        .render(
            facts=facts,
            examples=document.examples,
            headline=document.headline(),
            figure=None if figure is None else draw.figure(figure),
            answers=[_answer(answer, draw) for answer in answers],
            across=draw.plain(across) if across.rows else None,
            in_sight=len(answers) <= ANSWERS_IN_SIGHT,
            sentence=sentence_for(document),
            qualifying=qualifying(facts, answers, document.in_short()),
            raters_line=raters_line(facts),
            folds=list(_folds(document, draw)),
            data_words=data_words(facts),
            raters_words=raters_words(facts),
            facts_tables=[draw.plain(table) for table in facts_tables(facts)],
            excluded=None if facts.excluded is None else draw.plain(excluded_table(facts.excluded)),
            references=references,
            files=draw.files,
            rows_named=ROWS_NAMED,
        )
    )
    return page


def joined(text: str) -> str:
    """``text`` with no line ending between a number and its unit or its sign."""
    return _RANGES.sub("–\u2060", _UNITS.sub("\u00a0", text))


def figure_count(document: Document) -> int:
    """How often ``on_figure`` will be called."""
    first = figure_of(leading(document.summaries())) is not None
    return int(first) + sum(len(section.figures()) for section in document.sections.values())


def references_of(document: Document) -> list[Reference]:
    """Whole references of all that the methods of the document name."""
    return references_in(f"{method.source}\n{method.text}" for method in document.methods())


def sentence_for(document: Document) -> str:
    """The verdict as it can stand in a paper."""
    facts = document.facts
    made_by = f"parlai-humaneval {facts.versions['parlai-humaneval']}"
    answers = leading(document.summaries())
    return sentence_of(document.headline(), answers, facts.raters.workers, facts.note, made_by)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Templates of pages, which escape all that is put into them."""
    templates = Environment(
        loader=FileSystemLoader(str(TEMPLATES)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Callable[..., Any]] = {
        "counted": counted,
        "in_words": lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
        "joined": joined,
    }
    templates.filters.update(filters)
    return templates


def _answer(answer: Summary, draw: Drawing) -> AnswerView:
    models, pairs = models_table(answer), pairs_table(answer)
    of_models = [origin_of_answer(answer, (line.model,)) for line in answer.models]
    of_pairs = [origin_of_answer(answer, (pair.first, pair.second)) for pair in answer.pairs]
    tables = [draw.table(table, of) for table, of in ((models, of_models), (pairs, of_pairs)) if table.rows]
    return AnswerView(name_of(answer), answer.question, answer.verdict, tables)


def _folds(document: Document, draw: Drawing) -> Iterator[tuple[str, list[SectionView]]]:
    techniques = document.facts.techniques
    if len(techniques) > 1:
        for technique in techniques:
            sections = [_technique_rows(key, one, technique, draw) for key, one in document.sections.items()]
            yield technique, [section for section in sections if section.tables]
    title = "All techniques together" if len(techniques) > 1 else "".join(techniques)
    shared = [_shared(key, section, len(techniques) > 1, draw) for key, section in document.sections.items()]
    yield title, shared


def _technique_rows(key: str, section: Section, technique: str, draw: Drawing) -> SectionView:
    tables = []
    for table in section.data_tables():
        rows = tuple(row for row in table.rows if row.get("technique") == technique)
        if rows:
            tables.append(_table(key, table.model_copy(update={"rows": rows}), draw))
    return SectionView(key=f"{key}-{technique}", title=section.TITLE, tables=tables)


def _shared(key: str, section: Section, several: bool, draw: Drawing) -> SectionView:
    """The section; where there are ``several`` techniques without the rows that stand with theirs."""
    tables = [table for table in section.data_tables() if table.rows]
    if several:
        tables = [table for table in tables if not any(row.get("technique") for row in table.rows)]
    return SectionView(
        key=key,
        title=section.TITLE,
        headline=section.headline,
        remarks=section.remarks,
        tables=[_table(key, table, draw) for table in tables],
        figures=[draw.figure(figure, place) for place, figure in enumerate(section.figures())],
        methods=section.methods(),
    )


def _table(key: str, table: DataTable, draw: Drawing) -> TableView:
    return draw.table(table, [origin_of(key, row) for row in table.rows])
