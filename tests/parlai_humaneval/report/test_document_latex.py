"""Tables in LaTeX: nothing in a cell is a command, and rows have the cells that they should."""

from __future__ import annotations

import re

import pytest
from fake_sections import fake_section
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.report.render.files import LONG, escaped, to_latex
from parlai_humaneval.report.views import DataTable, TableColumn

COMMAND = re.compile(r"\\(?:[A-Za-z]+(?:\{[A-Za-z0-9]*\})*|[#$%&_{}])")


@given(st.text())
def test_no_text_is_a_command(text: str) -> None:
    """Once our own escapes are taken out, no special character is left, nor a line break."""
    left = COMMAND.sub("", escaped(text)).replace("$$", "").replace("$-$", "")
    assert not set(left) & set("\\{}#%&_^")
    assert left.count("$") % 2 == 0
    assert "\n" not in escaped(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("50 % & more_", r"50 \% \& more\_"),
        ("a\\b", r"a\textbackslash{}b"),
        ("$x^2$", r"\$x\textasciicircum{}2\$"),
        ("~{}#", r"\textasciitilde{}\{\}\#"),
        ("χ², κ − 1 ≤ ½", r"$\chi$\textsuperscript{2}, $\kappa$ $-$ 1 $\leq$ $\frac{1}{2}$"),
        ("“so” 1–2…", r"``so'' 1--2\ldots{}"),
        ("two\nlines", "two lines"),
        ("é", "é"),
    ],
)
def test_letters_that_latex_reads_are_spelt_out(text: str, written: str) -> None:
    assert escaped(text) == written


def cells_of(latex: str) -> list[list[str]]:
    """Rows between the rules: what stands between ampersands that are not escaped."""
    body = [line for line in latex.splitlines() if line.endswith(r"\\") and not line.startswith(r"\caption")]
    return [re.split(r"(?<!\\)&", line.removesuffix(r"\\")) for line in body]


def test_a_table_of_a_paper() -> None:
    """Booktabs, numbers on the right, a label, as many cells in each row as in its head."""
    latex = to_latex(fake_section().data_tables()[0])
    assert r"\begin{tabular}{@{}lrrrrrr@{}}" in latex
    assert [latex.count(rule) for rule in (r"\toprule", r"\midrule", r"\bottomrule")] == [1, 1, 1]
    assert r"\label{tab:fake-models}" in latex
    rows = cells_of(latex)
    assert [len(row) for row in rows] == [7] * 5
    assert rows[2][0].strip() == "=1+1"
    assert "XeLaTeX" in latex, "a Chinese name needs it"
    assert latex.count("{") == latex.count("}")


def test_long_tables_break_over_pages() -> None:
    latex = to_latex(fake_section(models=LONG + 1).data_tables()[0])
    assert r"\begin{longtable}" in latex
    assert r"\begin{table}" not in latex
    assert "longtable" in latex.splitlines()[0]


def test_a_row_that_begins_with_a_bracket_is_no_distance() -> None:
    r"""After ``\\`` LaTeX reads ``[…]`` as a length."""
    table = DataTable(key="t", title="T", columns=(TableColumn(key="m", label="M"),), rows=({"m": "[red]"}, {"m": "b"}))
    assert not re.search(r"(?m)^\[", to_latex(table))


def test_groups_are_lines_over_the_whole_width() -> None:
    keys = ("metric", "model", "n")
    columns = tuple(TableColumn(key=key, label=key, kind="count" if key == "n" else "text") for key in keys)
    rows = tuple({"metric": metric, "model": "a", "n": 1} for metric in ("human_ness", "preference"))
    latex = to_latex(DataTable(key="t", title="T", columns=columns, rows=rows))
    assert r"\multicolumn{2}{@{}l}{\emph{human\_ness}} \\" in latex
    alone = to_latex(DataTable(key="t", title="T", columns=columns, rows=rows[:1]))
    assert r"\multicolumn" not in alone
    assert r"T (human\_ness)." in alone
