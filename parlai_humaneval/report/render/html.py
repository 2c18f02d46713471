"""A document → one HTML file that needs nothing else: no network, no script, no font."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from parlai_humaneval.report import facts as telling
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.registry import first_table
from parlai_humaneval.report.render.figures import to_svg
from parlai_humaneval.report.section import Section, Summary
from parlai_humaneval.report.summary import figure_of, leading, models_table, name_of, pairs_table, superiority_table
from parlai_humaneval.report.views import Cell, DataTable, Figure, Layout, laid_out
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.schema import COLUMNS, LABELS, TABLE_NAMES, TableName
from parlai_humaneval.viewer.entries import FACETS, answer_of, pair_of

_FILE = Path(__file__).with_name("references.bib")
_ENTRY = re.compile(r"^@\w+\{(?P<key>\w+),\n(?P<fields>.*?)^\}\n", re.MULTILINE | re.DOTALL)
_NAME = re.compile(r"\b[A-Z]\w+")
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


@dataclass(frozen=True)
class Reference:
    """``bibtex``: the entry as in the file; ``text``: “S. Holm. A Simple … Journal 6(2), 1979.”"""

    authors: tuple[str, ...]
    year: str
    text: str
    bibtex: str

    def is_named(self, text: str) -> bool:
        """Whether ``text`` names it, as “Smith et al. 2022, §4.1” or “Zhao–Sun (2004)” do."""
        # The year follows the first author, and no other year or reference stands between. “Zhao & Sun 2004” is not Sun's.
        pattern = rf"(?<!& )(?<!–)\b{self.first_author}\b([^\d;\n]{{0,60}})\(?{self.year}\b"
        # Co-authors distinguish papers of the same author and year.
        between = re.findall(pattern, text)
        return any(self.twins == 1 or set(_NAME.findall(others)) <= {*self.authors} for others in between)

    @property
    def first_author(self) -> str:
        return self.authors[0]

    @property
    def twins(self) -> int:
        """References of the same first author and year."""
        return sum((one.first_author, one.year) == (self.first_author, self.year) for one in all_references())


def references_in(texts: Iterable[str]) -> list[Reference]:
    """References that ``texts`` name; sorted by their text."""
    whole = "\n".join(texts)
    return [reference for reference in all_references() if reference.is_named(whole)]


@lru_cache(maxsize=1)
def all_references() -> tuple[Reference, ...]:
    """All references, sorted by their text."""
    return tuple(sorted(map(_reference, _ENTRY.finditer(_FILE.read_text(encoding="utf-8"))), key=lambda one: one.text))


def _reference(entry: re.Match[str]) -> Reference:
    fields = dict(_FIELD.findall(entry["fields"]))
    authors = [name.split(", ") for name in fields["author"].split(" and ")]
    people = ", ".join(f"{first} {family}" for family, first in authors)
    number = f"({fields['number']})" if "number" in fields else ""
    volume = f" {fields['volume']}{number}" if "volume" in fields else ""
    edition = f", {fields['edition']} edition" if "edition" in fields else ""
    where = ", ".join(fields[name] for name in ("journal", "booktitle", "publisher") if name in fields)
    text = f"{people}. {fields['title'].strip('{}')}{edition}. {where}{volume}, {fields['year']}.".replace(r"\&", "&")
    return Reference(tuple(family for family, _ in authors), fields["year"], text, entry[0].strip())


_FILTERS = ("technique", "setting", "metric", "kind", "criterion", "model", "model_a", "model_b", "k")
"""Columns of a row that say which rows of the tidy table it is made of."""
LONG_ENOUGH = "turns"
"""What the viewer calls its filter by length: dialogues that have a turn."""


class Origin(NamedTuple):
    """The tidy table that a number is made of (None: several), its filter in words, and as facets of the viewer."""

    table: TableName | None
    where: str
    facets: list[tuple[str, str]]


def origin_of(section: str, row: Mapping[str, Cell], held: Collection[str] = ()) -> Origin | None:
    """Where the numbers of a row come from: the table is what its ``source`` names or what its section needs first of those
    that are ``held``, its filter such as “model = alpha and metric = preference”; None where neither is known."""
    named = row.get("source") or first_table(section, held)
    table = next((name for name in TABLE_NAMES if name == named), None)
    if table is None and not row.get("technique"):
        return None
    return Origin(table, "" if table is None else _filter(table, row), _facets(table, row))


def _facets(table: TableName | None, row: Mapping[str, Cell]) -> list[tuple[str, str]]:
    columns = FACETS if table is None else COLUMNS[table]
    names = [name for name in _FILTERS if name in FACETS and name in columns and row.get(name) not in (None, "")]
    values = [(name, str(row[name])) for name in names if name != "model"]
    values += [(str(row["by"]), str(row["value"]))] if row.get("by") and row.get("value") else []
    values += [(LONG_ENOUGH, f"{row[name]}-") for name in ("turn", "first_turn") if row.get(name)][:1]
    models = [str(row[name]) for name in ("model_a", "model_b", "model") if row.get(name)]
    if len(models) == 2 and "model_a" in columns:
        return [*values, ("pair", pair_of(*models))]
    if len(models) == 2 and table in ("turns", None):
        values.append((f"pair of {row.get('technique')}", pair_of(*models)))
    return [*values, *(("model", model) for model in models)]


def _answers(row: Mapping[str, Cell], models: Sequence[str], decided: str) -> dict[str, list[tuple[str, str]]]:
    """Column of counts → the facets of the comparisons that it counts; ``models``: all of the study; ``decided``: the column
    that counts those with a winner. A row is of a pair, of a model and whomever it met, or of all."""
    first, second, model = (row.get(name) for name in ("model_a", "model_b", "model"))
    if first and second:
        met = [(str(first), str(second))]
    else:
        met = [(str(model), one) for one in models if one != model] if model else list(combinations(models, 2))
    wins, losses = ([answer_of(*pair, pair[side]) for pair in met] for side in (0, 1))
    both_bad = [answer_of(*pair, None, both_bad=True) for pair in met]
    ties = [answer_of(*pair, None) for pair in met] + both_bad
    ways = {"wins": wins, "wins_a": wins, "losses": losses, "wins_b": losses, "ties": ties, "both_bad": both_bad}
    return {name: [("answer", each) for each in of] for name, of in {**ways, decided: wins + losses}.items()}


def origin_of_answer(answer: Summary, models: tuple[str, ...]) -> Origin | None:
    """Like :func:`origin_of`, for a line of a summary about a model or a pair."""
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
    if row.get("by") in known and row.get("value"):
        parts.append(f"{row['by']} = {row['value']}")
    return " and ".join(parts)


ROWS_NAMED = 24
"""As many filters of rows are named below a table; the others only where the pointer is."""
FIGURES_IN_SIGHT = 6
"""Later figures of a section are folded once more."""
ANSWERS_IN_SIGHT = 3
"""With more answers, only the overall verdict is visible, and each answer is folded."""
TEMPLATES = Path(__file__).parent / "templates"

_UNITS = re.compile(r"(?<=\d) (?=%)|(?<=\b\w) (?=[=<>≤≥] [−-]?[.\d])|(?<=\b\w [=<>≤≥]) (?=[−-]?[.\d])")
"""Spaces within “32 %” and “p < .0001”, at which no line may end."""
_RANGES = re.compile(r"(?<=\d)–(?=\d)")
"""Dashes within “36–68 %”, likewise."""

Step = Callable[[], None]


@dataclass(frozen=True)
class Files:
    """The files in the folder next to the page; ``folder`` is relative to the page, empty if there is none.

    ``names``: all files. ``data``: tidy tables whose rows are there. ``viewer``: the page of all dialogues; empty: none.
    ``facets``: what one can filter by there; a row's “overall z” is a value of no dialogue.
    """

    folder: str = ""
    names: Sequence[str] = ()
    data: frozenset[str] = frozenset()
    viewer: str = ""
    facets: frozenset[tuple[str, str]] = frozenset()

    def link(self, origin: Origin, answers: Sequence[tuple[str, str]] = ()) -> str:
        """The link of a number: to its dialogues in the viewer, or else to the table of its rows; ``answers``: facets
        of the comparisons that it counts."""
        if not self.viewer:
            return f"{self.folder}/{origin.table}.csv"
        known = [one for one in (*origin.facets, *answers) if one in self.facets or one[0] == LONG_ENOUGH]
        query = [(name.partition(" of ")[0], value) for name, value in known]
        return f"{self.folder}/{self.viewer}#?{urlencode(query, quote_via=quote)}"

    def links(self, origin: Origin, row: Mapping[str, Cell], decided: str) -> dict[str, str]:
        """Column of counts → the dialogues in which they were counted; ``decided``: as in :func:`_answers`."""
        models = sorted(value for name, value in self.facets if name == "model")
        answers = _answers(row, models, decided) if origin.table == "comparisons" and self.viewer else {}
        if origin.table == "segments" and row.get("model"):
            answers = {label: [("outcome", f"{row['model']} taken for {label}")] for label in LABELS}
        return {
            name: self.link(origin, each) for name, each in answers.items() if row.get(name) and self.facets & {*each}
        }


class MadeOf(NamedTuple):
    """Where a row comes from: which rows of which ``file``, and the ``link`` that shows them. Empty: it has no rows.

    ``links``: column → a narrower one, of counts of an outcome.
    """

    link: str = ""
    rows: str = ""
    file: str = ""
    links: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class TableView:
    """A table with the sources of its rows."""

    layout: Layout
    made_of: Sequence[MadeOf]

    @property
    def link_column(self) -> int:
        """The first column of numbers, which link to the rows."""
        return next((place for place, column in enumerate(self.layout.columns) if place and not column.is_text), -1)

    @cached_property
    def groups(self) -> dict[str, list[tuple[Sequence[str], MadeOf]]]:
        """Group of rows → their cells and sources."""
        places = self.layout.places
        return {
            group: [(cells, self.made_of[place]) for cells, place in zip(rows, places[group], strict=True)]
            for group, rows in self.layout.groups.items()
        }

    @property
    def origins(self) -> dict[str, str]:
        """Which rows the numbers are made of, “turns.csv where model = alpha” → the file; each once, in order."""
        return {made.rows: made.file for group in self.groups.values() for _, made in group if made.rows}


class SectionView(NamedTuple):
    """A section in the page, or the ``tables`` that it has of one technique, without its words and figures."""

    key: str
    section: Section
    tables: Sequence[TableView]
    is_whole: bool


@dataclass(frozen=True)
class Drawing:
    """The context of a page: its files, and the text that changes from figure to figure."""

    files: Files = Files()
    on_figure: Step | None = None

    def figure(self, figure: Figure) -> Markup:
        svg = Markup(to_svg(figure))  # written by an XML serialiser, which escapes all texts in it
        if self.on_figure is not None:
            self.on_figure()
        return svg

    def table(self, table: DataTable, origins: Sequence[Origin | None] | None = None) -> TableView:
        """``origins``: of the rows of the table; None: they come from no other."""
        made_of = []
        label = "Answers" if table.key.startswith("design_") else "Decided"  # The section design leaves ties out
        decided = next((column.key for column in table.columns if column.label.startswith(label)), "")
        for row, origin in zip(table.rows, origins or [None] * len(table.rows), strict=True):
            if origin is None or origin.table not in self.files.data:
                leads = origin if origin and origin.table is None and self.files.viewer else None
                made_of.append(MadeOf(self.files.link(leads) if leads else ""))
                continue
            name = f"{origin.table}.csv"
            rows = f"{name} where {origin.where}" if origin.where else name
            file, links = f"{self.files.folder}/{name}", self.files.links(origin, row, decided)
            made_of.append(MadeOf(self.files.link(origin), rows, file, links))
        return TableView(laid_out(table), made_of)

    def answer(self, answer: Summary) -> list[TableView]:
        """The tables of an answer's models and pairs."""
        of_models = [origin_of_answer(answer, (line.model,)) for line in answer.models]
        of_pairs = [origin_of_answer(answer, (pair.first, pair.second)) for pair in answer.pairs]
        tables = ((models_table(answer), of_models), (pairs_table(answer), of_pairs))
        return [self.table(table, origins) for table, origins in tables if table.rows]

    def folds(self, document: Document) -> Iterator[tuple[str, list[SectionView]]]:
        """With several techniques, sections of each technique come together, and all others after them."""
        techniques, sections = document.facts.techniques, document.sections.items()
        several = len(techniques) > 1
        for technique in techniques if several else ():
            views = [
                SectionView(f"{k}-{technique}", one, list(self._tables(k, document, technique)), False)
                for k, one in sections
            ]
            yield technique, [view for view in views if view.tables]
        title = "All techniques together" if several else "".join(techniques)
        shared = "" if several else None
        yield title, [SectionView(key, one, list(self._tables(key, document, shared)), True) for key, one in sections]

    def _tables(self, key: str, document: Document, technique: str | None) -> Iterator[TableView]:
        """``technique``: only rows of it; empty: only tables without rows of any; None: all tables."""
        for table in document.data_tables(key):
            rows = table.rows
            if technique:
                rows = tuple(row for row in rows if row.get("technique") == technique)
            elif technique is not None and any(row.get("technique") for row in rows):
                continue
            if rows:
                yield self.table(
                    table.model_copy(update={"rows": rows}), [origin_of(key, row, self.files.data) for row in rows]
                )


def to_html(document: Document, *, files: Files | None = None, on_figure: Step | None = None) -> str:
    """The page. Texts of raters and models, and names of models, are escaped. ``files``: names of files next to the page;
    ``on_figure``: called after each figure, which takes most of the time.
    """
    facts, answers = document.facts, leading(document.summaries())
    draw, across = Drawing(files or Files(), on_figure), superiority_table(answers)
    page: str = (
        environment()
        .get_template("report.html.j2")
        .render(
            facts=facts,
            examples=document.examples,
            headline=document.headline(),
            draw=draw,
            figure=figure_of(answers),
            answers=[(name_of(answer), answer.verdict, draw.answer(answer)) for answer in answers],
            across=draw.table(across) if across.rows else None,
            in_sight=len(answers) <= ANSWERS_IN_SIGHT,
            sentence=document.sentence(),
            qualifying=telling.qualifying(facts, answers, document.in_short()),
            raters_line=telling.raters_line(facts),
            folds=draw.folds(document),
            figures_in_sight=FIGURES_IN_SIGHT,
            data_words=telling.data_words(facts),
            raters_words=telling.raters_words(facts),
            facts_tables=[draw.table(table) for table in telling.facts_tables(facts)],
            excluded=None if facts.excluded is None else draw.table(telling.excluded_table(facts.excluded)),
            references=references_of(document),
            files=draw.files,
            rows_named=ROWS_NAMED,
        )
    )
    return page


def joined(text: str) -> str:
    """``text`` without line breaks between a number and its unit or its sign."""
    return _RANGES.sub("–\u2060", _UNITS.sub("\u00a0", text))


def figure_count(document: Document) -> int:
    """The number of calls of ``on_figure``."""
    first = figure_of(leading(document.summaries())) is not None
    return int(first) + sum(len(section.figures()) for section in document.sections.values())


def references_of(document: Document) -> list[Reference]:
    """The full references that the methods of the document name."""
    return references_in(f"{method.source}\n{method.text}" for method in document.methods())


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The templates of pages, which escape all inserted values."""
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
