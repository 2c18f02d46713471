"""``view``: from a study or from tables to a folder with every dialogue; and the viewer beside a report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from stored_study import StoredStudy, choices

from benchmarks.report import studies
from benchmarks.simulated_dialogues import many
from mephisto_tasks.cli.report import export, report, view
from mephisto_tasks.storage.logs import written_files
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.files import write_tables
from parlai_humaneval.viewer import write

WORKERS = ("A1MEPHISTO0001", "A1MEPHISTO0002")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = StoredStudy(tmp_path_factory.mktemp("stored"))
    for number, worker in enumerate(WORKERS):
        study.add("sata", worker, [*choices(f"s{number}", [[1], [2], [1, 2]])])
    return study.data_dir


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is written does not depend on the page, which the tests in a browser look at."""
    static = tmp_path / "static"
    static.mkdir()
    for name in write.BUILT:
        (static / name).write_text(name)
    monkeypatch.setattr(write, "STATIC", static)


def run(command: Any, *arguments: object) -> Result:
    return CliRunner().invoke(command, list(map(str, arguments)), default_map={"draws": 100})


def texts(folder: Path) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*")) if path.is_file())


def test_a_task_is_written_with_pseudonyms_only(stored: Path, tmp_path: Path) -> None:
    """All dialogues are there, no worker's name is, and ``forget`` finds the files."""
    out = tmp_path / "viewer"
    done = run(view, "sata", "--out", out, "--data-dir", stored, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert (told["page"], told["entries"]) == (str(out / "index.html"), 2)
    written = texts(out)
    assert [name for name in WORKERS if name in written] == []
    assert "s0" in written
    assert set(told["files"]) <= {file.path for file in written_files(stored)}
    again = run(view, "sata", "--out", out, "--data-dir", stored)
    assert (again.exit_code, "--force" in again.output) == (1, True)
    assert "sata" in run(view, "sota", "--out", out, "--data-dir", stored).output, (
        "a misspelt task comes before a folder"
    )
    assert "2 entries → " in run(view, "sata", "--out", out, "--data-dir", stored, "--force").output


def test_tables_give_the_same_viewer_as_their_task(stored: Path, tmp_path: Path) -> None:
    """Ids are those of the tables, so that a link to a turn holds in both."""
    tables, one, two = tmp_path / "tables", tmp_path / "one", tmp_path / "two"
    for command, *arguments in (
        (export, "--task-name", "sata", "--out", tables, "--data-dir", stored),
        (view, "sata", "--out", one, "--data-dir", stored, "--title", "t"),
        (view, tables, "--out", two, "--title", "t"),
    ):
        done = run(command, *arguments)
        assert done.exit_code == 0, done.output
    assert texts(one) == texts(two)
    assert "the viewer shows one folder of tables" in run(view, tables, "sata", "--data-dir", stored).output


def test_what_is_neither_is_named(stored: Path, tmp_path: Path) -> None:
    done = run(view, "satta", "--out", tmp_path / "x", "--data-dir", stored)
    assert done.exit_code == 1
    assert "satta" in done.output
    assert not (tmp_path / "x").exists()


def test_a_report_has_its_viewer_and_replaces_it(stored: Path, tmp_path: Path) -> None:
    """Its numbers lead there; without a built page the report is written all the same, and says what is missing."""
    page = tmp_path / "report.html"
    arguments = ("--task-name", "sata", "--data-dir", stored, "--out", page)
    done = run(report, *arguments)
    assert done.exit_code == 0, done.output
    viewer = tmp_path / "report" / "viewer"
    assert f"All dialogues, to search and filter → {viewer / 'index.html'}" in done.output
    assert 'href="report/viewer/index.html#?technique=sata' in page.read_text(encoding="utf-8")
    assert (viewer / "data" / "index.js").is_file()
    for name in write.BUILT:
        (write.STATIC / name).unlink()
    done = run(report, *arguments, "--force")
    assert done.exit_code == 0, done.output
    assert "The dialogue viewer has not been built" in done.output
    assert 'href="report/turns.csv"' in page.read_text(encoding="utf-8")
    assert list(viewer.rglob("*.js")) == []


@pytest.mark.parametrize("tables", [many(20), *studies(60, np.random.default_rng(0)).values()])
def test_what_report_reads_can_be_viewed(tables: Tables, tmp_path: Path) -> None:
    """The simulated tables of every kind pass the checks of tables, and the viewer has their dialogues."""
    write_tables(tables, tmp_path / "tables")
    shown = run(view, tmp_path / "tables", "--out", tmp_path / "viewer", "--data-dir", tmp_path, "--json")
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.output)["entries"] > 0
