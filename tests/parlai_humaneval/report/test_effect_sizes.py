"""The same two models in several techniques stand in one table, on one scale; and which p decides between them."""

from __future__ import annotations

import csv
from io import StringIO

import pytest
from fake_sections import fake_summary
from make_judgements import make_pairs, make_spotting
from make_live_records import make_assessment, make_choices
from rich.console import Console

from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.conclusions import pair_p, results_disagree
from parlai_humaneval.report.render.files import folder_of, write_document
from parlai_humaneval.report.render.terminal import print_document
from parlai_humaneval.report.section import Options, PairLine
from parlai_humaneval.report.summary import leading, pairs_table, superiority_table
from parlai_humaneval.statistics.core.clustered import P_LESS, RATIO
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.tables.build import tables

OPTIONS = Options(draws=50)


@pytest.fixture(scope="module")
def several():
    """Tables and document of a study of a and b by four techniques."""
    records = [
        *make_choices({"a": 0.8, "b": 0.5}, setting="sata_user"),
        *make_pairs({"a": 3, "b": 2}),
        *make_spotting({"a": 0.7, "b": 0.4, "human": 0.9}),
        *make_assessment({"a": 62, "b": 60, "qc": 20}),
    ]
    data = tables(records)
    return data, build_report(data, OPTIONS)


def test_a_column_a_technique(several):
    """Of each technique what its own pair says, for the model named first; with the words that say how to read it."""
    _, document = several
    answers = leading(document.summaries())
    table = superiority_table(answers)
    (row,) = table.rows
    assert {row["first"], row["second"]} == {"a", "b"}
    own = [answer.pairs[0].superiority_of(row["first"]) for answer in answers]
    shown = [column.key for column in table.columns if column.key.endswith("_low")]
    assert len(shown) == len(answers) == 4
    keys = [key.removesuffix("_low") for key in shown]
    assert [(row[key], row[f"{key}_low"], row[f"{key}_high"]) for key in keys] == own
    assert all(0 < low <= share <= high < 1.001 for share, low, high in own)
    told = " ".join(table.notes)
    assert "compared across techniques" in told
    assert "ties count half" in told
    assert "At 50 %, neither model is better" in told


def test_the_table_is_on_every_form(several, tmp_path, undrawn):
    """Terminal, page and files."""
    data, document = several
    title = superiority_table(leading(document.summaries())).title
    stream = StringIO()
    print_document(document, Console(file=stream, width=200))
    assert title in stream.getvalue()
    page = tmp_path / "report.html"
    write_document(document, page, data)
    assert page.read_text(encoding="utf-8").index(title) < page.read_text(encoding="utf-8").index("Caveats")
    with (folder_of(page) / "superiority.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    shares = [float(row[name]) for name in row if name.endswith("_low")]
    assert len(shares) == 4


def test_one_technique_needs_no_table():
    """Two questions of one technique and setting, or techniques of other models."""
    one = fake_summary()
    pair = one.pairs[0].model_copy(update={"superiority": 0.6, "superiority_low": 0.5, "superiority_high": 0.7})
    one = one.model_copy(update={"pairs": [pair]})
    assert not superiority_table([one, one.model_copy(update={"metric": "humanness"})]).rows
    others = [pair.model_copy(update={"first": "x"})]
    assert not superiority_table([one, one.model_copy(update={"technique": "arena", "pairs": others})]).rows
    assert len(superiority_table([one, one.model_copy(update={"technique": "arena"})]).rows) == 1


def test_a_row_is_about_one_model_throughout():
    """Where techniques disagree on who is ahead, one of them is below one half."""
    pair = fake_summary().pairs[0]
    ends = {"superiority": 0.6, "superiority_low": 0.52, "superiority_high": 0.7}
    alpha = fake_summary(pairs=[{**pair.model_dump(), **ends}])
    turned = {"first": "beta", "second": "alpha"}
    beta = fake_summary(technique="arena", setting="", pairs=[{**pair.model_dump(), **ends, **turned}])
    (row,) = superiority_table([alpha, beta]).rows
    values = [value for name, value in row.items() if name not in ("first", "second")]
    assert (row["first"], row["second"]) == ("alpha", "beta")
    assert values == pytest.approx([0.6, 0.52, 0.7, 0.4, 0.3, 0.48])


@pytest.mark.usefixtures("only_answers")
def test_models_that_met_in_several_groups_have_one_number():
    """Of all turns that showed both, whoever stood beside them."""
    groups = [{"a": 0.8, "b": 0.4, "c": 0.3}, {"a": 0.7, "b": 0.6, "d": 0.3}]
    records = [record for group in groups for record in make_choices(group, setting="sata_user")]
    document = build_report(tables(records), OPTIONS)
    section = document.sections["turns"]
    rows = [row for row in section.tests if row.test.models == ("a", "b")]
    assert len(rows) == 2
    assert rows[0]["superiority"] == rows[1]["superiority"]
    both = {row.group: row["estimate"] for row in rows}
    assert len(set(both.values())) == 2
    assert rows[0]["superiority"] == pytest.approx(0.5 + sum(both.values()) / 4), "as many turns of each group"


CLUSTERED = Result(name="a − b", estimate=0.2, ci_low=0.05, ci_high=0.35, p_value=0.02, n=90, method="by rater")
PAPER = CLUSTERED.but(p_value=0.11, method="of the paper")


def test_the_larger_p_decides_where_agreement_is_not_shown():
    """The clustered p of .02 stands beside the paper's .11: they do not differ, and the report says which p it goes by."""
    line = PairLine.of("a", "b", CLUSTERED, 0.11, share=True, paper=PAPER)
    assert (line.p_decides, line.decided_by, line.differs) == (0.11, "paper", False)
    assert (line.p_paper, line.p_clustered, line.low) == (0.11, 0.02, 0.05)
    assert pair_p(line) == (
        "p = .11 if every answer were independent, which decides because it is larger (clustered by rater: p = .020)"
    )
    told = results_disagree("A against B", PAPER, CLUSTERED)
    assert "The larger p decides" in told
    assert "their sums vary" not in told
    table = pairs_table(fake_summary(pairs=[line.model_dump()]))
    assert table.rows[0]["p_decides"] == 0.11
    assert "p_decides" in [column.key for column in table.columns]
    assert any("is larger, so it decides" in note for note in table.notes)


def test_agreement_is_said_where_it_is_shown():
    """Sums of workers that vary less than those of independent answers, shown by a p of its own: the clustered p decides."""
    shown = CLUSTERED.but(details={RATIO: 0.41, P_LESS: 0.01})
    line = PairLine.of("a", "b", shown, 0.11, share=True, paper=PAPER)
    assert (line.p_decides, line.decided_by, line.differs) == (0.02, "clustered", True)
    told = results_disagree("A against B", PAPER, shown)
    assert "raters agree with each other more than by chance" in told
    assert "0.41 times" in told
    unsure = CLUSTERED.but(details={RATIO: 0.9, P_LESS: 0.3})
    assert PairLine.of("a", "b", unsure, 0.11, share=True, paper=PAPER).decided_by == "paper"


@pytest.mark.parametrize(("clustered", "paper"), [(0.01, 0.04), (0.2, 0.4), (0.2, 0.01), (0.04, None)])
def test_else_the_clustered_p_decides(clustered, paper):
    """Also where it is the smaller one of two that say the same."""
    line = PairLine.of("a", "b", CLUSTERED.but(p_value=clustered), paper, share=True, paper=PAPER.but(p_value=paper))
    assert (line.p_decides, line.decided_by, line.differs) == (clustered, "clustered", clustered < 0.05)


def test_corrected_p_values_are_compared_with_corrected_ones():
    """Before Holm's correction both are below .05, after it only the clustered one is."""
    clustered = CLUSTERED.but(p_value=0.004, p_holm=0.012, details={"family": "f", "family_tests": 3})
    paper = PAPER.but(p_value=0.03, p_holm=0.09)
    line = PairLine.of("a", "b", clustered, 0.03, share=True, paper=paper)
    assert (line.p_decides, line.decided_by) == (0.09, "paper")
    assert "p = .090 after Holm's correction if every answer were independent" in pair_p(line)
