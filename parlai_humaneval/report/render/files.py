"""Write a document's files: the page, and a folder next to it with the same content as JSON, CSV and LaTeX."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, get_args

import pandas as pd

from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.files import json_object_in
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.facts import excluded_table, facts_tables
from parlai_humaneval.report.render.figures import to_file
from parlai_humaneval.report.render.html import Files, references_of, to_html
from parlai_humaneval.report.summary import answer_tables, figure_of, leaders_table, leading, superiority_table
from parlai_humaneval.report.views import DataTable, laid_out
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import README_WORDS, STOPPING, write_stopping
from parlai_humaneval.tables.files import write_csv as write_csv
from parlai_humaneval.tables.schema import TABLE_DESCRIPTIONS, TableName
from parlai_humaneval.viewer.entries import entries, facets_of
from parlai_humaneval.viewer.write import PAGE, viewer_files

LONG = 40
"""Tables with more rows break over pages."""

_BREAKS = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


_LETTERS: dict[int, str] = str.maketrans(read_yaml(Path(__file__).with_name("latex_letters.yaml")))


def escaped(text: str) -> str:
    """``text`` as LaTeX that prints it: nothing in it is a command, and it stays on one line."""
    return _BREAKS.sub(" ", text).translate(_LETTERS)


def to_latex(table: DataTable, note: str = "") -> str:
    """A floating table, or a longtable where it has more than :data:`LONG` rows; numbers are right-aligned.

    ``note``: the first line and part of the caption: that raters are programs.
    """
    layout = laid_out(table)
    columns = layout.columns
    spec = "".join("l" if column.is_text else "r" for column in columns)
    header = _row([column.label for column in columns])
    body: list[str] = []
    for group, rows in layout.groups.items():
        if group and not layout.only_group:
            body.append(f"\\multicolumn{{{len(columns)}}}{{@{{}}l}}{{\\emph{{{escaped(group)}}}}} \\\\")
        body += [_row(cells) for cells in rows]
    long = len(body) > LONG
    parts = [layout.title, *filter(None, (note, *table.notes))]
    words = " ".join(part if part.endswith((".", "!", "?", ":")) else f"{part}." for part in parts)
    caption = f"\\caption{{{escaped(words)}}}\\label{{tab:{re.sub(r'[^A-Za-z0-9:-]+', '-', table.key)}}}"
    head = ["\\toprule", header, "\\midrule"]
    if long:
        begin = [f"\\begin{{longtable}}{{@{{}}{spec}@{{}}}}", f"{caption} \\\\"]
        lines = [*begin, *head, "\\endhead", *body, "\\bottomrule", "\\end{longtable}"]
    else:
        begin = ["\\begin{table}", "\\centering", caption, f"\\begin{{tabular}}{{@{{}}{spec}@{{}}}}"]
        lines = [*begin, *head, *body, "\\bottomrule", "\\end{tabular}", "\\end{table}"]
    text = "\n".join(lines) + "\n"
    comments = [_BREAKS.sub(" ", note)] if note else []
    comments.append(f"Needs package booktabs{' and package longtable' if long else ''}.")
    if any(ord(letter) > 0x17F for letter in text):
        comments.append("Contains non-Latin letters: compile with XeLaTeX or LuaLaTeX and a suitable font.")
    return "".join(f"% {line}\n" for line in comments) + text


def _row(cells: list[str]) -> str:
    # An empty group before a bracket: \\[ would be read as a distance.
    return " & ".join(f"{{}}{cell}" if cell.startswith("[") else cell for cell in map(escaped, cells)) + " \\\\"


PAGE_ENDINGS = (".html", ".htm")
NUMBERS, README = "report.json", "README.md"
VIEWER = "viewer"  # Folder of the viewer, within that of the report
FILES = "files"
"""Key of `NUMBERS` that lists the other files written, so that they can be replaced later."""


def folder_of(page: Path) -> Path:
    """Folder of the tables of a page: ``report.html`` → ``report``."""
    return page.with_suffix("")


def check_output(page: Path, *, force: bool, tables: Path | None = None) -> None:
    """Check that a document can be written to ``page``, before hours of work. ``force``: an older one may be replaced.
    Raises InvalidValue: a wrong ending, a place that is taken, or ``tables``, the folder that the document is made
    from."""
    folder = folder_of(page)
    if page.suffix.lower() not in PAGE_ENDINGS:
        raise InvalidValue(f"{page} does not end in .html", try_="name the page, such as report.html")
    if page.is_dir():
        raise InvalidValue(f"{page} is a folder", try_="name another page")
    if folder.exists() and not folder.is_dir():
        raise InvalidValue(f"{folder} is in the way: the tables need a folder of that name", try_="name another page")
    if tables is not None and folder.resolve() == tables.resolve():
        raise InvalidValue(
            f"{folder} holds the tables that the report is made from", try_=f"name another page than {page.name}"
        )
    known = {Path(name).parts[0] for name in _written_before(folder)}
    others = sorted(path.name for path in folder.iterdir() if path.name not in known) if folder.is_dir() else []
    if others:
        named = ", ".join(others[:3]) + (" …" if len(others) > 3 else "")
        raise InvalidValue(f"{folder} holds files that no report wrote ({named})", try_="name another page")
    present = [str(path) for path in (page, folder) if path.exists()]
    if present and not force:
        raise InvalidValue(
            f"{' and '.join(present)} already exist", try_="name another page, or replace them with --force"
        )


def write_document(
    document: Document,
    page: Path,
    tables: Tables | None = None,
    *,
    with_viewer: bool = False,
    on_figure: Callable[[], None] | None = None,
) -> list[Path]:
    """Write the page and its folder, and remove the files of an older report; return all files, the page first.

    ``tables``: what the document was made from, written next to it so that a number leads to its rows; None: not
    written. ``with_viewer``: as dialogues, too, to which the numbers then lead (:mod:`parlai_humaneval.viewer`). Call
    :func:`check_output` before. Raises TableError: two tables have the same key; ViewerMissing: ``with_viewer``, and
    its page has not been built; OSError: the place cannot be written.

    >>> from tempfile import TemporaryDirectory
    >>> from parlai_humaneval.report.build import build_report
    >>> from parlai_humaneval.tables.example import example_tables
    >>> with TemporaryDirectory() as folder:
    ...     files = write_document(build_report(example_tables()), Path(folder) / "report.html")
    >>> files[0].name, files[1].name
    ('report.html', 'report.json')
    """
    folder, raters = folder_of(page), document.facts.rater_kinds.kind
    texts = dict(_texts(document))
    figure = figure_of(leading(document.summaries()))
    names_of_tables: tuple[TableName, ...] = () if tables is None else get_args(TableName)
    data = {name: frame for name in names_of_tables if len(frame := getattr(tables, name))}
    clash = sorted({f"{name}.csv" for name in data} & texts.keys())
    if clash:
        raise TableError(f"a table of the report and a tidy table are both called {clash[0]!r}")
    note = raters and f"raters: {raters}"
    formats: tuple[Literal["svg", "pdf"], ...] = ("svg", "pdf") if figure is not None else ()
    drawn = {f"figure.{name}": to_file(figure, name, note) for name in formats if figure is not None}
    logs = () if tables is None else tables.stopping
    names = [NUMBERS, README, *texts, *drawn, *(f"{name}.csv" for name in data), *([STOPPING] if logs else [])]
    every = entries(tables) if tables is not None and with_viewer else []
    files = Files(folder.name, names, frozenset(data))
    views: dict[str, bytes] = {}
    if every:
        files = replace(files, viewer=f"{VIEWER}/{PAGE}", facets=facets_of(every))
        made = viewer_files(every, title=document.facts.title, note=document.facts.note)
        views = {f"{VIEWER}/{name}": content for name, content in made}
    html = to_html(document, files=files, on_figure=on_figure)
    for name in _written_before(folder):
        (folder / name).unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    whole = {**document.to_json(), FILES: [*names, *views]}
    (folder / NUMBERS).write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / README).write_text(_readme(document, data, with_logs=bool(logs)), encoding="utf-8")
    for name, content in texts.items():
        if isinstance(content, pd.DataFrame):
            write_csv(content, folder / name)
        else:
            (folder / name).write_text(content, encoding="utf-8")
    for name, picture in drawn.items():
        (folder / name).write_bytes(picture)
    for name, frame in data.items():
        write_csv(frame, folder / f"{name}.csv")
    for name, view in views.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(view)
    write_stopping(logs, folder)
    page.write_text(html, encoding="utf-8")
    return [page, *(folder / name for name in (*names, *views))]


def _texts(document: Document) -> Iterator[tuple[str, str | pd.DataFrame]]:
    facts, answers = document.facts, leading(document.summaries())
    across, leaders = superiority_table(answers), leaders_table(answers)
    tables = [
        *facts_tables(facts),
        *([across] if across.rows else []),
        *([excluded_table(facts.excluded)] if facts.excluded is not None else []),
        *answer_tables(answers),
        *([leaders] if leaders.rows else []),
        *(table for key in document.sections for table in document.data_tables(key)),
    ]
    twice = [key for key, times in Counter(table.key for table in tables).items() if times > 1]
    if twice:
        raise TableError(f"two tables of the report are called {twice[0]!r}")
    for table in tables:
        # The values themselves, not the words for them; a first column says so where raters were simulated.
        keys = [column.key for column in table.columns]
        values = [[row.get(key) for key in keys] for row in table.rows]
        frame: pd.DataFrame = pd.DataFrame(values, columns=keys, dtype=object)
        if facts.rater_kinds.kind:
            frame.insert(0, "raters", facts.rater_kinds.kind)
        yield f"{table.key}.csv", frame
        yield f"{table.key}.tex", to_latex(table, facts.note)
    references = references_of(document)
    if references:
        yield "references.bib", "\n\n".join(reference.bibtex for reference in references) + "\n"


def _readme(document: Document, data: Mapping[TableName, pd.DataFrame], *, with_logs: bool) -> str:
    """What each file is; programs that rated are named in its first line. ``with_logs``: those of decisions are there."""
    note = document.facts.note
    lines = [
        *([f"**{note}**", ""] if note else []),
        f"# {document.facts.title}",
        "",
        document.headline(),
        "",
        f"- `{NUMBERS}`: every number in the report.",
        "- the other `.csv` files and the `.tex` files (LaTeX with booktabs): the tables of the report.",
        "- `references.bib`: the papers behind the methods. `figure.svg`, `figure.pdf`: the figure at the top of the page.",
        *(f"- `{name}.csv`: {len(frame):,} rows. {TABLE_DESCRIPTIONS[name]}" for name, frame in data.items()),
        *([f"- `{STOPPING}`: {README_WORDS['stopping']}"] if with_logs else []),
        "",
        "Files listed with a row count are tidy tables of answers. `parlai-humaneval report --tables` reads these files.",
    ]
    return "\n".join(lines) + "\n"


def _written_before(folder: Path) -> set[str]:
    """Names of files in ``folder`` that an older report says it wrote; none elsewhere, whoever wrote that file."""
    listed = json_object_in(folder / NUMBERS).get(FILES)
    names = [(name, Path(name)) for name in (listed if isinstance(listed, list) else []) if isinstance(name, str)]
    # Files of a report's folder, or of the viewer in it.
    within = {name for name, path in names if path.name == name or (path.parts[0] == VIEWER and ".." not in path.parts)}
    return {name for name in within if (folder / name).is_file()}
