"""An analysis that a package adds: everything that a report writes has it, and one that fails costs nothing else."""

from __future__ import annotations

import importlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from make_records import make_study
from rich.console import Console

from parlai_humaneval.report import registry, sections
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.document import Document
from parlai_humaneval.report.render.files import write_document
from parlai_humaneval.report.render.terminal import print_document, print_report_summary
from parlai_humaneval.report.section import Options
from parlai_humaneval.statistics.core.rows import Count, Name, Row
from parlai_humaneval.tables.build import Tables, tables

MODULE = """
from typing import Annotated
from parlai_humaneval.report.analysis import analysis
from parlai_humaneval.statistics.core.rows import Column, Count, Estimate, Name, Row
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.result import Result

class Pace(Row):
    model: Name
    n_turns: Count
    mean: Annotated[Result, Estimate("Seconds a turn", name="pace"), Column("p", "p", name="p_value", path="p_value")]
    hidden: str = "in the JSON alone"

@analysis("pace", title="Pace of replies", needs=["turns.text"], how="The mean.", source="Nobody 2020, §2")
def pace(tables, options):
    for model, rows in tables.turns.groupby("model"):
        seconds = rows["seconds"].to_numpy(dtype=float)
        if model == "wrong":
            raise KeyError("no such <b>model</b>")
        yield Pace(model=model, n_turns=len(rows), mean=clustered_mean(seconds, rows["worker_id"].to_numpy(dtype=object)))
"""
OLD = """
from parlai_humaneval.report.section import Section
from parlai_humaneval.report.views import DataTable, TableColumn

class Old(Section):
    TITLE = "As before"
    models: list[str]
    def data_tables(self):
        return [DataTable(key="old", title="Old", columns=(TableColumn(key="m", label="M"),), rows=({"m": "x"},))]
    def figures(self):
        return []
    def methods(self):
        return []

def build(tables, options):
    return Old(models=sorted(set(tables.turns["model"])))
"""


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package of two modules, named as a plug-in names them; afterwards they are not there."""
    (tmp_path / "pace_of_mine.py").write_text(MODULE)
    (tmp_path / "old_of_mine.py").write_text(OLD)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("pace_of_mine", "old_of_mine"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    registry.register_section("pace", "pace_of_mine")
    registry.register_section("old_one", "old_of_mine")
    yield
    for key in ("pace", "old_one"):
        registry._ADDED.pop(key, None)


def study(second: str = "retrieval", *, with_texts: bool = True) -> Tables:
    found = tables(make_study(models=("eliza", second)))
    if not with_texts:
        found.turns["text"] = pd.Series([None] * len(found.turns), dtype="string")
    return found


def report(of: Tables) -> Document:
    return build_report(of, Options(draws=100))


def printed(document: Document, show: Callable[[Document, Console], object] = print_document) -> str:
    out = io.StringIO()
    console = Console(file=out, width=120)
    show(document, console)
    return out.getvalue()


@pytest.mark.usefixtures("added", "undrawn")
def test_everything_that_a_report_writes_has_it(tmp_path: Path) -> None:
    """Guards the one seam: rows say how they are published, and nothing else names the analysis."""
    of = study()
    document = report(of)
    write_document(document, tmp_path / "page.html", of)
    folder = tmp_path / "page"
    of_json = json.loads((folder / "report.json").read_text())["pace"]["rows"]
    assert [(row["model"], row["n_turns"]) for row in of_json] == [("eliza", 96), ("retrieval", 96)]
    assert of_json[0]["pace_low"] <= of_json[0]["pace"] <= of_json[0]["pace_high"]
    assert of_json[0]["hidden"] == "in the JSON alone"
    assert (folder / "pace.csv").read_text().splitlines()[0] == (
        '"model","n_turns","pace","pace_low","pace_high","p_value"'
    )
    assert r"\caption{Pace of replies.}" in (folder / "pace.tex").read_text()
    page = (tmp_path / "page.html").read_text()
    assert page.count("Pace of replies") > 2
    assert "fig-pace-" in page
    assert "Nobody 2020, §2" in page
    assert "turns.csv where model = eliza" in page, "its rows lead to the table that it needs first"
    assert "Seconds a turn" in printed(document)
    assert document.sections["old_one"].heading() == "As before"
    assert json.loads((folder / "report.json").read_text())["old_one"]["models"] == ["eliza", "retrieval"]


@pytest.mark.usefixtures("only_answers", "added")
def test_one_that_fails_is_a_remark_with_its_name() -> None:
    """A mistake in somebody else's section must not take the whole report away, nor go unsaid."""
    document = report(study("wrong"))
    (remark,) = document.to_json()["pace"]["remarks"]
    assert remark.startswith(
        "The analysis “Pace of replies” failed and is left out (KeyError: 'no such <b>model</b>'; "
    )
    assert remark.endswith(".py, line 19).")
    assert document.to_json()["turns"]["models"]
    for show in (print_document, print_report_summary):
        assert "“Pace of replies” failed" in " ".join(printed(document, show).split())


@pytest.mark.usefixtures("only_answers", "added")
def test_where_the_tables_lack_what_it_needs_there_is_no_such_section() -> None:
    """Tables from elsewhere often have no texts."""
    assert set(report(study(with_texts=False)).sections) & {"pace", "old_one"} == {"old_one"}


@pytest.mark.usefixtures("only_answers", "added")
def test_a_section_of_this_package_may_be_such_a_function_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line in the list and a module under ``sections``; any other module has no right to the key."""
    monkeypatch.setitem(registry.SECTIONS, "speed", ("turns.text",))
    (tmp_path / "speed.py").write_text(MODULE.replace('"pace", title', '"speed", title'))
    importlib.invalidate_caches()  # the folder may have been read within the same tick of its clock
    monkeypatch.setattr(sections, "__path__", [*sections.__path__, str(tmp_path)])
    monkeypatch.delitem(sys.modules, f"{sections.__name__}.speed", raising=False)
    assert [row["model"] for row in report(study()).to_json()["speed"]["rows"]] == ["eliza", "retrieval"]
    assert "speed" not in report(study(with_texts=False)).sections
    with pytest.raises(ValueError, match="already has a key 'speed'"):
        registry.register_section("speed", "pace_of_mine")


class Asked(Row):
    model: Name
    n: Count
    share: float = 0.5


def test_a_row_takes_from_what_it_is_of_what_has_the_names_of_its_fields() -> None:
    class Counted:
        model, n, other = "alpha", 3, "not a field"

    assert Asked.of(Counted()).flat() == {"model": "alpha", "n": 3, "share": 0.5}
    later = Asked.of(Counted(), {"n": 4, "share": 0.25}, model="beta").flat()
    assert later == {"model": "beta", "n": 4, "share": 0.25}, "of two sources the later counts, and values before both"
