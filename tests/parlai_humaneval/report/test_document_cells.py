"""Numbers of a table as people read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.report.views import INTERVAL, DataTable, TableColumn, cell_text, interval_text, laid_out


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (None, "number", "–"),
        ("", "text", "–"),
        (0.62, "share", "62 %"),
        (-0.125, "number", "−0.125"),
        (-0.12, "share", "−12 %"),
        (12345, "number", "12,345"),
        (3, "number", "3.000"),
        (124.922, "number", "124.9"),
        (12.0, "number", "12"),
        (53.127, "number", "53.127"),
        (12345, "count", "12,345"),
        (0.0432, "p", ".043"),
        (0.00001, "p", "< .0001"),
        (200.0, "seconds", "3 min 20 s"),
        (0.00034, "money", "0.00034"),
        (0.000000345, "money", "0.00000034"),
        (0.0996, "money", "0.100"),
        (0.5, "money", "0.50"),
        (1234.5, "money", "1,234.50"),
        (0, "money", "0.00"),
        (None, "money", "–"),
        ("<b>", "text", "<b>"),
        ("none", "number", "none"),
        (2, "text", "2.000"),
    ],
)
def test_a_cell_is_written_by_its_kind(value: object, kind: str, words: str) -> None:
    """The dash for nothing, a real minus, percent without decimals, p without its zero."""
    assert cell_text(value, kind) == words


@given(st.floats(-1e9, 1e9) | st.none(), st.sampled_from(["number", "share", "p", "count", "seconds", "money"]))
def test_no_cell_shows_a_nan_or_a_hyphen(value: float | None, kind: str) -> None:
    """Whatever the number: a minus is “−”, nothing is “–”."""
    words = cell_text(abs(value) if value is not None and kind in ("p", "seconds") else value, kind)
    assert words
    assert "nan" not in words
    assert "-" not in words


def test_intervals_are_written_as_ranges() -> None:
    """One per cent sign for both ends; a missing end is no interval; no dash between signed numbers."""
    assert interval_text(0.59, 0.76, "share") == "59–76 %"
    assert interval_text(-0.1, 0.2, "share") == "−10 % to 20 %"
    assert interval_text(0.1, None, "share") == "–"
    assert interval_text(-0.5, 0.25, "number") == "−0.500 to 0.250"


def columns(*keys: str) -> tuple[TableColumn, ...]:
    texts = ("model", "technique", "metric", "setting")
    return tuple(
        TableColumn(key=key, label=key.replace("_", " "), kind="text" if key in texts else "number") for key in keys
    )


def test_the_ends_of_an_interval_become_one_column() -> None:
    """Only neighbours of one name; the common words are the label."""
    table = DataTable(
        key="t",
        title="T",
        columns=columns("model", "wald_low", "wald_high", "low", "high", "x_low", "y_high"),
        rows=({"model": "a", "wald_low": 1, "wald_high": 2, "low": 3, "high": 4, "x_low": 5, "y_high": 6},),
    )
    layout = laid_out(table)
    assert [column.label for column in layout.columns] == ["model", "wald", INTERVAL, "x low", "y high"]
    assert layout.groups[""] == [["a", "1.000 to 2.000", "3.000 to 4.000", "5.000", "6.000"]]


def test_what_rows_are_of_stands_above_them() -> None:
    """Technique, setting and metric are no columns; rows of one group come together, and none is lost."""
    rows = tuple(
        {"technique": "sata", "setting": setting, "metric": None, "model": model}
        for setting, model in (("soba", "a"), ("all", "b"), ("soba", "c"))
    )
    layout = laid_out(
        DataTable(key="t", title="T", columns=columns("technique", "setting", "metric", "model"), rows=rows)
    )
    assert layout.groups == {"sata, soba": [["a"], ["c"]], "sata, all": [["b"]]}
    assert (sum(map(len, layout.groups.values())), layout.only_group) == (3, "")


def test_tables_are_shown_without_their_empty_columns() -> None:
    """Files have them; a table without rows keeps its heads."""
    keys = [f"n{place}" for place in range(4)]
    row = dict.fromkeys(keys, 1.0) | {"n3": None}
    shown = laid_out(DataTable(key="t", title="T", columns=columns(*keys), rows=(row,)))
    assert [column.label for column in shown.columns] == keys[:3]
    assert len(laid_out(DataTable(key="t", title="T", columns=columns(*keys), rows=())).columns) == 4


def labelled(*pairs: tuple[str, str]) -> list[str]:
    """Heads of a table with a column Rate, then intervals with these labels for their ends."""
    given = [TableColumn(key="rate", label="Rate", kind="share")]
    for place, (low, high) in enumerate(pairs):
        given += [
            TableColumn(key=f"i{place}_{end}", label=label, kind="share")
            for end, label in (("low", low), ("high", high))
        ]
    row = {column.key: 0.5 for column in given}
    layout = laid_out(DataTable(key="t", title="T", columns=tuple(given), rows=(row,)))
    return [column.label for column in layout.columns[1:]]


def test_two_intervals_of_one_table_have_different_heads() -> None:
    """The words beside from and to are kept, wherever these stand."""
    assert labelled(("From", "To"), ("From, by dialogue", "To, by dialogue")) == [INTERVAL, "interval, by dialogue"]
    assert labelled(("Order, from", "to"), ("95 %, from", "to"), ("Wald low", "Wald high")) == ["Order", "95 %", "Wald"]
    assert labelled(("from a", "to b")) == [INTERVAL]


def test_bare_intervals_say_of_what_where_there_are_several() -> None:
    """The column before names it."""
    keys = ("model", "lin", "lin_low", "lin_high", "sqr", "sqr_low", "sqr_high")
    labels = ("Model", "Lin", "from", "to", "Sqr", "from", "to")
    made = tuple(
        TableColumn(key=key, label=label, kind="text" if key == "model" else "number")
        for key, label in zip(keys, labels, strict=True)
    )
    row = {key: "a" if key == "model" else 1.0 for key in keys}
    layout = laid_out(DataTable(key="t", title="T", columns=made, rows=(row,)))
    assert [column.label for column in layout.columns] == ["Model", "Lin", "interval, Lin", "Sqr", "interval, Sqr"]
