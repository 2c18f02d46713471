"""The print: the answers first, within 80 columns, nothing read as markup."""

from __future__ import annotations

from io import StringIO

from fake_sections import HOSTILE, fake_document
from rich.console import Console

from parlai_humaneval.report.draw.terminal import ROWS, _print_table, print_document
from parlai_humaneval.report.views import Cell, DataTable, TableColumn


def printed(width: int = 80, **values: object) -> str:
    out = StringIO()
    print_document(fake_document(**values), Console(file=out, width=width, highlight=False))
    return out.getvalue()


def test_the_answer_is_printed_first() -> None:
    """After the question; then what it rests on, then sections with remarks and their first table."""
    text = printed()
    places = [
        text.index(words) for words in ("Which is better?", "wins 62 %", "Workers: 2", "Fake things", "Win rates")
    ]
    assert places == sorted(places)
    assert f"Beware of {HOSTILE}." in text
    assert "55–69 %" in text


def test_it_fits_the_terminal() -> None:
    """Columns that do not fit are left out, and that is said."""
    for width in (60, 80, 120):
        assert max(map(len, printed(width).splitlines())) <= width
    assert "column" in printed(60)
    assert "more with --out)" not in printed(120)


def test_long_tables_are_cut() -> None:
    text = printed(models=ROWS + 3)
    assert "(3 rows" in text
    assert f"model {ROWS - 1}" in text
    assert f"model {ROWS}" not in text


def test_brackets_are_no_markup() -> None:
    assert "[red]x[/red] wins" in printed(headline="[red]x[/red] wins")


def test_words_above_numbers_are_not_cut() -> None:
    """A long label is broken between words, never within one, at any width."""
    column = TableColumn(key="p_clustered_holm", label="p, clustered, Holm", kind="p")
    columns = [TableColumn(key="model", label="Model")] + [
        column.model_copy(update={"key": f"p{place}"}) for place in range(9)
    ]
    row: dict[str, Cell] = {column.key: "a" if column.kind == "text" else 0.5 for column in columns}
    table = DataTable(key="t", title="T", columns=tuple(columns), rows=(row,))
    for width in range(60, 160, 7):
        out = StringIO()
        _print_table(table, Console(file=out, width=width, highlight=False))
        assert "…" not in out.getvalue()
