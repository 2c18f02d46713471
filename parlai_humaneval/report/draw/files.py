"""A document → files: the page, and beside it a folder with the same as JSON, CSV and LaTeX."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from parlai_humaneval.report.document import Document
from parlai_humaneval.report.draw.html import to_html
from parlai_humaneval.report.draw.latex import to_latex
from parlai_humaneval.report.views import DataTable
from parlai_humaneval.report.words import excluded_table, facts_tables
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import write_csv as write_csv

PAGE_ENDINGS = (".html", ".htm")
NUMBERS = "report.json"
FILES = "files"
"""Key of :data:`NUMBERS` that names what was written beside it, so that it can be replaced later."""


class OutputError(ValueError):
    """A place where nothing can be written; the message says why, and what to do."""


def folder_of(page: Path) -> Path:
    """Folder of the tables of a page: ``report.html`` → ``report``."""
    return page.with_suffix("")


def check_output(page: Path, *, force: bool, tables: Path | None = None) -> None:
    """Whether a document may be written to ``page``, before hours of work go into it.

    ``force``: an older document may be replaced. ``tables``: the folder that the document is made from.

    Raises:
        OutputError: a wrong ending, a place that is taken, or the folder of the tables themselves.
    """
    folder = folder_of(page)
    if page.suffix.lower() not in PAGE_ENDINGS:
        raise OutputError(f"{page} does not end in .html. Name the page, such as report.html.")
    if page.is_dir():
        raise OutputError(f"{page} is a folder. Name another page.")
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is in the way: a folder of that name is to hold the tables. Name another page.")
    if tables is not None and folder.resolve() == tables.resolve():
        raise OutputError(
            f"{folder} holds the tables that the report is made from. Name another page than {page.name}."
        )
    ours = _written_before(folder)
    others = sorted(path.name for path in folder.iterdir() if path.name not in ours) if folder.is_dir() else []
    if others:
        named = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        raise OutputError(f"{folder} holds files that no report has written ({named}). Name another page.")
    present = [str(path) for path in (page, folder) if path.exists()]
    if present and not force:
        raise OutputError(
            f"{' and '.join(present)} stand there already. Name another page, or replace them with --force."
        )


def write_document(document: Document, page: Path, *, on_figure: Callable[[], None] | None = None) -> list[Path]:
    """Write the page and its folder, and take away what an older report left there; returns all files, the page first.

    Call :func:`check_output` before.

    Raises:
        TableError: two tables have the same key.
        OSError: the place cannot be written.
    """
    folder = folder_of(page)
    tables = _tables(document)
    names = [NUMBERS, *(f"{key}.{ending}" for key in tables for ending in ("csv", "tex"))]
    html = to_html(document, files=names, folder=folder.name, on_figure=on_figure)
    for name in _written_before(folder):
        (folder / name).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    whole = {**document.to_json(), FILES: names}
    (folder / NUMBERS).write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    for key, table in tables.items():
        write_csv(_frame(table), folder / f"{key}.csv")
        (folder / f"{key}.tex").write_text(to_latex(table), encoding="utf-8")
    page.write_text(html, encoding="utf-8")
    return [page, *(folder / name for name in names)]


def _tables(document: Document) -> dict[str, DataTable]:
    """Key → table, of facts and of all sections."""
    found: dict[str, DataTable] = {}
    for table in _all_tables(document):
        if table.key in found:
            raise TableError(f"two tables of the report are called {table.key!r}.")
        found[table.key] = table
    return found


def _all_tables(document: Document) -> Iterator[DataTable]:
    yield from facts_tables(document.facts)
    if document.facts.excluded is not None:
        yield excluded_table(document.facts.excluded)
    for section in document.sections.values():
        yield from section.data_tables()


def _frame(table: DataTable) -> pd.DataFrame:
    """The values themselves, not the words for them."""
    keys = [column.key for column in table.columns]
    frame: pd.DataFrame = pd.DataFrame(
        [[row.get(key) for key in keys] for row in table.rows], columns=keys, dtype=object
    )
    return frame


def _written_before(folder: Path) -> set[str]:
    """Names of files in ``folder`` that an older report says it wrote; plain names only, whoever wrote that file."""
    try:
        listed = json.loads((folder / NUMBERS).read_text(encoding="utf-8"))[FILES]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    names = listed if isinstance(listed, list) else []
    return {name for name in names if isinstance(name, str) and Path(name).name == name and (folder / name).is_file()}
