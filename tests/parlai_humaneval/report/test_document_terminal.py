"""The print: the answers first, within 80 columns, nothing read as markup."""

from __future__ import annotations

from io import StringIO

import pytest
from fake_sections import HOSTILE, fake_document, fake_summary
from rich.console import Console

from parlai_humaneval.report.render.terminal import BLOCKS, ROWS, _print_table, print_document, print_report_summary
from parlai_humaneval.report.views import Cell, DataTable, TableColumn


def printed(width: int = 80, **values: object) -> str:
    out = StringIO()
    print_document(fake_document(**values), Console(file=out, width=width, highlight=False))
    return out.getvalue()


def summary_of(**values: object) -> str:
    out = StringIO()
    print_report_summary(fake_document(**values), Console(file=out, width=80, highlight=False))
    return out.getvalue()


def test_three_models_are_told_on_one_screen() -> None:
    """The answer, a table of models, one of pairs, what qualifies it, and where to read more."""
    text = summary_of(answers=[fake_summary(("alpha", "beta", "gamma"))])
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    words = ["alpha is ahead of gamma", "60 %", "alpha over beta", ".40", "Fewer than 10", "Rated by: 2", "--full"]
    places = [text.index(word) for word in words]
    assert places == sorted(places)


def test_a_written_page_is_not_suggested() -> None:
    """Guards `report --out report.html`, which wrote the page before it printed the summary."""
    out = StringIO()
    print_report_summary(fake_document(), Console(file=out, width=80), has_page=True)
    assert out.getvalue().rstrip().endswith("Use --full for all sections.")
    assert "--out report.html" in summary_of()


def test_several_questions_have_a_block_each() -> None:
    """Those beyond are counted."""
    text = summary_of(answers=[fake_summary(setting=f"s{number}") for number in range(BLOCKS + 2)])
    assert "sata, s0, preference" in text
    assert f"sata, s{BLOCKS}, preference" not in text.split("turns in which", 1)[1].split("- ", 1)[0]
    assert "2 more questions: use --full to see them." in text


@pytest.mark.parametrize(("simulated", "words"), [(2, "All raters are programs (2)"), (1, "1 program, 1 person.")])
def test_simulated_raters_are_named_in_the_first_line(simulated: int, words: str) -> None:
    document = fake_document(answers=[fake_summary()])
    raters = document.facts.raters.model_copy(update={"simulated": simulated, "people": 2 - simulated})
    facts = document.facts.model_copy(update={"raters": raters})
    for print_it in (print_report_summary, print_document):
        out = StringIO()
        print_it(document.model_copy(update={"facts": facts}), Console(file=out, width=80, highlight=False))
        assert words in out.getvalue().splitlines()[0]


def test_the_answer_is_printed_first() -> None:
    """After the question; then what it rests on, then sections with remarks and their first table."""
    text = printed()
    places = [text.index(words) for words in ("Which is better?", "wins 62 %", "Raters: 2", "Fake things", "Win rates")]
    assert places == sorted(places)
    assert f"Beware of {HOSTILE}." in text
    assert "55–69 %" in text


def test_it_fits_the_terminal() -> None:
    """Columns that do not fit are left out, and that is said."""
    for width in (60, 80, 120):
        assert max(map(len, printed(width).splitlines())) <= width
    assert "column" in printed(60)
    assert "more with --out)" not in printed(120)


def test_all_tables_of_a_section_are_printed_under_whole_titles() -> None:
    document = fake_document()
    text = " ".join(printed().split())
    for section in document.sections.values():
        for table in section.data_tables():
            assert not table.rows or table.title in text


def test_names_are_never_broken() -> None:
    """Columns are left out from the right until all others have their width."""
    names = ["Model A", "Model B", "Gap"]
    columns = [TableColumn(key=name, label=name) for name in names]
    columns += [TableColumn(key=f"p{place}", label="probability", kind="p") for place in range(9)]
    row: dict[str, Cell] = dict.fromkeys(names, "retrieval_with_a_long_name") | {f"p{place}": 0.5 for place in range(9)}
    table = DataTable(key="t", title="T", columns=tuple(columns), rows=(row,))
    for width in range(70, 160, 7):
        out = StringIO()
        _print_table(table, Console(file=out, width=width, highlight=False))
        lines = out.getvalue().splitlines()
        assert max(map(len, lines)) <= width
        assert sum("retrieval_with_a_long_name" in line for line in lines) == 1
        assert any("Model A" in line and "Model B" in line for line in lines)


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


def test_long_names_leave_the_room_of_p_and_intervals() -> None:
    """Guards a table of two long names and nothing else: names are broken, where so all columns fit."""
    columns = [TableColumn(key="pair", label="Pair")]
    columns += [TableColumn(key=f"p{place}", label="p, by rater", kind="p") for place in range(5)]
    row: dict[str, Cell] = {column.key: "x" * 60 if column.kind == "text" else 0.5 for column in columns}
    out = StringIO()
    table = DataTable(key="t", title="T", columns=tuple(columns), rows=(row,))
    _print_table(table, Console(file=out, width=80, highlight=False))
    assert "more with" not in out.getvalue()
    assert out.getvalue().count(".50") == 5
    assert "".join(out.getvalue().split()).count("x") == 60


def test_the_summary_says_what_the_share_of_a_model_is() -> None:
    """A share of what? The title says it, above the table."""
    text = summary_of(answers=[fake_summary(("alpha", "beta", "gamma"))])
    what = fake_summary(("alpha", "beta", "gamma")).what
    assert f"{what[:1].upper()}{what[1:]}" in text.splitlines()
