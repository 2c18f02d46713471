"""The page and its folder: what is written, and what is never written over."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from fake_sections import fake_document, fake_summary, said_tables

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.report.render.files import check_output, folder_of, write_document
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.files import read_tables


def test_the_same_stands_beside_the_page(tmp_path: Path) -> None:
    """JSON of all, CSV with the numbers themselves and guarded texts, LaTeX; the list in the JSON is the folder."""
    page = tmp_path / "new" / "report.html"
    document = fake_document()
    written = write_document(document, page)
    folder = folder_of(page)
    assert set(written) == {page, *folder.iterdir()}
    found = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert set(found["files"]) == {path.name for path in folder.iterdir()}
    assert found["turns"]["share"] == 0.62
    assert found["facts"]["seed"] == 3
    rows = list(csv.DictReader((folder / "fake_models.csv").open(encoding="utf-8", newline="")))
    assert (rows[0]["win_rate"], rows[1]["ci_high"], rows[1]["model"]) == ("0.62", "", "'=1+1")
    assert rows[0]["gap"] == "-0.125", "a number is no formula"
    assert (folder / "fake_models.tex").read_text(encoding="utf-8").startswith("% Needs package booktabs")
    assert "setup_designs.csv" in found["files"]
    assert (folder / "references.bib").read_text(encoding="utf-8").startswith("@inproceedings{smith2022,")


def test_the_answers_and_the_figure_stand_beside_the_page(tmp_path: Path) -> None:
    """Tidy tables that can be read again; the figure with colours of its own."""
    page = tmp_path / "report.html"
    write_document(fake_document(answers=[fake_summary()]), page, said_tables())
    folder = folder_of(page)
    assert len(read_tables(folder).turns) == len(said_tables().turns)
    assert not (folder / "ratings.csv").exists(), "a table without rows"
    svg = (folder / "figure.svg").read_text(encoding="utf-8")
    assert "var(--" not in svg
    assert "#0072b2" in svg
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")


def test_simulated_raters_are_named_in_every_file(tmp_path: Path) -> None:
    """JSON and README in their first line, LaTeX in its first and in the caption, CSV in a first column; the figure too."""
    document = fake_document(answers=[fake_summary()])
    raters = document.facts.raters.model_copy(update={"simulated": 2, "people": 0})
    facts = document.facts.model_copy(update={"raters": raters})
    page = tmp_path / "report.html"
    write_document(document.model_copy(update={"facts": facts}), page)
    folder = folder_of(page)
    note = "All raters are programs (2)"
    keys = list(json.loads((folder / "report.json").read_text(encoding="utf-8")).items())
    assert keys[0][0] == "raters"
    assert note in keys[0][1]
    assert ">raters: programs</text>" in (folder / "figure.svg").read_text(encoding="utf-8")
    assert note in (folder / "README.md").read_text(encoding="utf-8").splitlines()[0]
    latex = (folder / "fake_models.tex").read_text(encoding="utf-8")
    assert note in latex.splitlines()[0]
    assert note in latex[latex.index("\\caption") :]
    rows = list(csv.DictReader((folder / "fake_models.csv").open(encoding="utf-8", newline="")))
    assert next(iter(rows[0])) == "raters"
    assert {row["raters"] for row in rows} == {"programs"}


def test_a_report_is_not_replaced_unasked(tmp_path: Path) -> None:
    """With force it is, with all that the older one left; the page alone is enough to be asked."""
    page = tmp_path / "report.html"
    check_output(page, force=False)
    write_document(fake_document(prefix="older"), page)
    with pytest.raises(InvalidValue, match="--force"):
        check_output(page, force=False)
    check_output(page, force=True)
    write_document(fake_document(), page)
    names = {path.name for path in folder_of(page).iterdir()}
    assert "fake_models.csv" in names
    assert not [name for name in names if name.startswith("older")]
    (tmp_path / "alone.html").write_text("mine")
    with pytest.raises(InvalidValue, match="--force"):
        check_output(tmp_path / "alone.html", force=False)


def test_what_no_report_wrote_is_never_touched(tmp_path: Path) -> None:
    """Not even with force: somebody's files in the folder, or a file in its place."""
    page = tmp_path / "report.html"
    folder_of(page).mkdir()
    (folder_of(page) / "turns.csv").write_text("mine")
    with pytest.raises(InvalidValue, match=r"turns\.csv"):
        check_output(page, force=True)
    (tmp_path / "other").write_text("mine")
    with pytest.raises(InvalidValue, match=str(tmp_path / "other")):
        check_output(tmp_path / "other.html", force=True)


def test_a_list_of_files_is_not_believed_blindly(tmp_path: Path) -> None:
    """It names what will be removed; a path that leads elsewhere is ignored."""
    page = tmp_path / "report.html"
    folder_of(page).mkdir()
    (tmp_path / "precious.txt").write_text("keep")
    files = ["report.json", "../precious.txt", str(tmp_path / "precious.txt"), 3, "..", ""]
    (folder_of(page) / "report.json").write_text(json.dumps({"files": files}))
    check_output(page, force=True)
    write_document(fake_document(), page)
    assert (tmp_path / "precious.txt").read_text() == "keep"


def test_the_tables_themselves_are_no_place(tmp_path: Path) -> None:
    """tables/ and tables.html would mix what was given with what was made."""
    (tmp_path / "tables").mkdir()
    with pytest.raises(InvalidValue, match="holds the tables"):
        check_output(tmp_path / "tables.html", force=True, tables=tmp_path / "x" / ".." / "tables")


@pytest.mark.parametrize("name", ["report", "report.txt", "folder.html"])
def test_the_page_is_an_html_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(InvalidValue, match=r"\.html|is a folder"):
        check_output(tmp_path / name, force=True)


def test_tables_have_names_of_their_own(tmp_path: Path) -> None:
    """One would silently replace the other."""
    with pytest.raises(TableError, match="'other_models'"):
        write_document(fake_document(prefix="other"), tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
