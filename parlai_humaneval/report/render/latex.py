"""Tables of a document → LaTeX (booktabs), to go into a paper as they are."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.report.cells import laid_out
from parlai_humaneval.report.views import DataTable

LONG = 40
"""Tables with more rows break over pages."""

_BREAKS = re.compile(r"[\x00-\x1f\x7f\u2028\u2029]+")


@cache
def _letters() -> dict[int, str]:
    letters: dict[str, str] = read_yaml(Path(__file__).with_name("latex_letters.yaml"))
    return str.maketrans(letters)


def escaped(text: str) -> str:
    """``text`` as LaTeX that prints it: nothing in it is a command, and it stays on one line."""
    return _BREAKS.sub(" ", text).translate(_letters())


def to_latex(table: DataTable, note: str = "") -> str:
    """A floating table, or a longtable where it has more than :data:`LONG` rows; numbers stand on the right.

    ``note``: what stands in the first line and in the caption: that raters were simulated.
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
        comments.append("Contains non-Latin letters: compile with XeLaTeX or LuaLaTeX and a font that has them.")
    return "".join(f"% {line}\n" for line in comments) + text


def _row(cells: list[str]) -> str:
    # An empty group before a bracket: \\[ would be read as a distance.
    return " & ".join(f"{{}}{cell}" if cell.startswith("[") else cell for cell in map(escaped, cells)) + " \\\\"
