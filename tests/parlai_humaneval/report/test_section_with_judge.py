"""The section of people's answers with a judge's: where it is asked for, beside all others, and never in place of one."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from rich.console import Console

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.render.files import folder_of, write_document
from parlai_humaneval.report.render.terminal import print_document, print_report_summary
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.columns import TableError, Tables
from parlai_humaneval.tables.example import example_tables

JUDGE = "my-judge"


def judged(*, more: bool = True) -> Tables:
    """Who was taken for a person, by half of the example's raters, and by a judge (of all, or of no more than they)."""
    everyone = example_tables()
    labels = everyone.segments
    people = labels[labels["worker_id"] < "w6"]
    of_judge = (labels if more else people).assign(worker_id=JUDGE)
    nothing = {name: getattr(everyone, name)[:0] for name in ("turns", "comparisons", "ratings")}
    return replace(everyone, segments=pd.concat([people, of_judge], ignore_index=True), **nothing)


def report(tables: Tables, judge: str = JUDGE) -> Document:
    return build_report(tables, Options(draws=100, judge=judge))


@pytest.fixture(scope="module")
def found() -> Document:
    return report(judged())


def test_it_stands_beside_people_and_changes_nothing_else(found: Document) -> None:
    """Guards that no judge's row counts in any other section, though it stands among people's."""
    tables = judged()
    people = replace(tables, segments=tables.segments[tables.segments["worker_id"] != JUDGE])
    alone = report(people, judge="")
    assert "with_judge" not in alone.sections
    with_judge, without = found.to_json(), alone.to_json()
    assert with_judge.pop("with_judge")["rows"][0]["worth"] == 16
    assert {key for key in without if with_judge[key] != without[key]} <= {"facts", "methods"}
    section = found.sections["with_judge"]
    assert section.headline == (
        "With judge my-judge, these 12 human dialogues are worth 16 (share of ada, taken for human, where it helps most): "
        "the interval is 0.422 to 0.678, compared with 0.333 to 0.820 from people alone."
    )
    assert section.in_short() == [section.headline]


@pytest.mark.usefixtures("undrawn")
def test_terminal_page_and_files_draw_the_same(tmp_path: Path, found: Document) -> None:
    rows = found.to_json()["with_judge"]["rows"]
    screen = io.StringIO()
    print_document(found, Console(file=screen, width=160))
    page = tmp_path / "report.html"
    write_document(found, page, judged())
    (table,) = folder_of(page).rglob("with_judge.csv")
    of_file = list(csv.DictReader(table.open()))
    assert [float(row["together"]) for row in of_file] == pytest.approx([row["together"] for row in rows])
    for text in (screen.getvalue(), page.read_text()):
        assert "these 12 human dialogues are worth 16" in " ".join(text.split())


@pytest.mark.usefixtures("only_answers")
def test_a_judge_that_cannot_help_says_why() -> None:
    """Guards a remark where it answered no more than people; and an error, which names no rater, where there is none."""
    section = report(judged(more=False)).sections["with_judge"]
    assert not section.data_tables()
    assert any("cannot be combined with people's answers" in remark for remark in section.remarks)
    with pytest.raises(TableError, match="judge 'nobody': the tables hold no judge's answers") as error:
        report(judged(), judge="nobody")
    assert "w1" not in str(error.value)


@pytest.mark.usefixtures("only_answers")
def test_studies_that_end_when_decided_are_left_out() -> None:
    """Their intervals are others: these are for one look."""
    tables = judged()
    settings = '{"stop": "decided", "metric": "bot"}'
    marked = replace(tables, dialogues=tables.dialogues.assign(technique="spot_the_bot", setting="", settings=settings))
    document = report(marked)
    section = document.sections["with_judge"]
    assert not section.data_tables()
    (remark,) = section.remarks
    assert remark.startswith(
        "Estimates of studies that stop once they reach a decision are left out (share of ada, taken for human; "
    )
    screen = io.StringIO()
    print_report_summary(document, Console(file=screen, width=400))
    assert remark in screen.getvalue()
