"""The viewer's folder: safe scripts, nothing of others replaced, and numbers of a report that lead into it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import pandas as pd
import pytest
from make_judgements import one_of_each
from make_records import make_study

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.render.html import Drawing, Files
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.summary import leading
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import Tables, from_rows
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.tables.schema import TABLE_NAMES
from parlai_humaneval.tables.validate import with_dialogues
from parlai_humaneval.viewer import write
from parlai_humaneval.viewer.entries import entries, facets_of
from parlai_humaneval.viewer.write import ViewerMissing, viewer_files, write_viewer


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """These tests look at data: any page will do."""
    folder = tmp_path / "static"
    folder.mkdir()
    for name in write.BUILT:
        (folder / name).write_text(name)
    monkeypatch.setattr(write, "STATIC", folder)


def content_of(script: bytes) -> Any:
    """What a script hands over: its name, and what the page parses."""
    text = script.decode()
    name, content = json.loads(f"[{text[text.index('(') + 1 : text.rindex(')')]}]")
    return name, json.loads(content)


HOSTILE = "</script><!-- <script> \u2028\u2029 \ud800 ]]> \\"


def hostile_tables() -> Tables:
    turn = {"dialogue_id": HOSTILE, "worker_id": "w1", "technique": "sata", "metric": "m", "turn": 1, "position": 1}
    turn |= {"model": HOSTILE, "selected": 1, "continued": 1, "written": 0, "seconds": 1.0, "text": HOSTILE}
    empty = {name: from_rows(name, []) for name in ("dialogues", "comparisons")}
    return Tables(turns=from_rows("turns", [turn]), **empty)


@pytest.mark.usefixtures("built")
def test_no_text_can_end_its_script() -> None:
    """Guards pages that carry texts of anybody: no sign that HTML or JavaScript reads as its own, and every letter back."""
    files = dict(viewer_files(entries(hostile_tables()), title=HOSTILE, note=HOSTILE))
    scripts = [content for name, content in files.items() if name.startswith("data/")]
    assert len(scripts) == 2
    for script in scripts:
        assert b"<" not in script
        assert "\u2028" not in script.decode()
    name, index = content_of(files["data/index.js"])
    assert (name, index["title"], index["ids"]) == ("index", HOSTILE, [HOSTILE])
    number, part = content_of(files["data/texts-0.js"])
    assert number == 0
    assert part[HOSTILE]["turns"][0]["replies"][0]["text"] == HOSTILE


@pytest.mark.usefixtures("built")
def test_a_viewer_replaces_a_viewer_and_nothing_else(tmp_path: Path) -> None:
    made = list(viewer_files(entries(tables(make_study(2))), title="t"))
    out = tmp_path / "out"
    written = write_viewer(made, out)
    assert written[0] == out / "index.html"
    assert {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()} == {name for name, _ in made}
    with pytest.raises(InvalidValue, match="already contains a viewer"):
        write_viewer(made, out)
    (out / "data" / "texts-7.js").write_text("of an older, larger study")
    write_viewer(made, out, force=True)
    assert not (out / "data" / "texts-7.js").exists()
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("years of work")
    with pytest.raises(InvalidValue, match="contains other files"):
        write_viewer(made, other, force=True)


def test_what_is_to_be_built_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A clone without a built page: the error names the command."""
    monkeypatch.setattr(write, "STATIC", tmp_path)
    with pytest.raises(ViewerMissing, match=r"not built.*; run `make install`"):
        list(viewer_files([], title="t"))


def grouped() -> Tables:
    """Votes on two topics, which are too many for a place of their own in most studies."""
    vote = {"technique": "t", "metric": "m", "model_a": "a", "model_b": "b"}
    rows = [
        {
            **vote,
            "item_id": f"{topic}{n}",
            "worker_id": f"w{n}",
            "winner": "ab"[n % (2 + place)] if n % (2 + place) < 2 else "tie",
        }
        for place, topic in enumerate(("art", "law"))
        for n in range(30)
    ]
    topics = ["art"] * 30 + ["law"] * 30
    return replace(tables([]), comparisons=from_rows("comparisons", rows).assign(topic=topics))


STUDIES = {
    "example": (example_tables(), {"pair=ada vs. bob&model=ada", "turns=3-", "outcome=ada taken for bot"}),
    "each": (tables(one_of_each()), {"answer="}),
    "live": (tables(make_study()), {"turns=2-"}),
    "grouped": (grouped(), {"topic=law&pair=a vs. b", "topic=art&pair=a vs. b&answer=a better than b"}),
}


@pytest.mark.parametrize(("study", "narrow"), STUDIES.values(), ids=STUDIES)
@pytest.mark.usefixtures("built")
def test_numbers_of_a_report_lead_to_entries(study: Tables, narrow: set[str]) -> None:
    """At least one entry fits the filter of each link; ``narrow``: parts of filters as narrow as the row is."""
    document = build_report(study, Options(draws=100))
    data = frozenset(name for name in TABLE_NAMES if len(getattr(study, name)))
    every = entries(study)
    draw = Drawing(Files("report", data=data, viewer="viewer/index.html", facets=facets_of(every)))
    views = [view for answer in leading(document.summaries()) for view in draw.answer(answer)]
    views += [view for _, folds in draw.folds(document) for fold in folds for view in fold.tables]
    links = {link for view in views for made in view.made_of for link in (made.link, *made.links.values()) if link}
    assert all(made.link for view in views for made in view.made_of), "each row of each section leads somewhere"
    counts = {name for view in views for made in view.made_of for name in made.links}
    assert {"wins_a", "n"} <= counts, "how often somebody won, and how often anybody did, leads to where"
    assert {part for part in narrow if any(part in unquote(link) for link in links)} == narrow
    facets = [{**one.facets, "turns": [f"{turn}-" for turn in range(1, one.length + 1)]} for one in every]
    assert any("model=" in link or "pair=" in link for link in links)
    for link in links:
        page, _, query = link.partition("#?")
        assert page == "report/viewer/index.html"
        wanted: dict[str, set[str]] = {}
        for name, value in parse_qsl(query):
            wanted.setdefault(name, set()).add(value)
        assert any(all(values & set(one.get(name, ())) for name, values in wanted.items()) for one in facets), link


def test_a_report_replaces_its_own_viewer(tmp_path: Path) -> None:
    """Guards ``--force``: the files of an older viewer go, and a list that names files elsewhere takes none of them."""
    from parlai_humaneval.report.render.files import _written_before

    folder = tmp_path / "report"
    (folder / "viewer" / "data").mkdir(parents=True)
    for name in ("turns.csv", "viewer/index.html", "viewer/data/index.js"):
        (folder / name).write_text("")
    (tmp_path / "mine.txt").write_text("")
    names = [
        "turns.csv",
        "viewer/index.html",
        "viewer/data/index.js",
        "../mine.txt",
        "viewer/../../mine.txt",
        "/etc/passwd",
    ]
    (folder / "report.json").write_text(json.dumps({"files": names}))
    assert _written_before(folder) == {"turns.csv", "viewer/index.html", "viewer/data/index.js"}
    shutil.rmtree(folder)


@pytest.mark.usefixtures("built")
def test_the_number_of_decided_answers_leads_to_those_without_ties() -> None:
    """Guards the first table of a report: as many entries fit its link as the cell says, where each was judged once."""
    third = grouped().comparisons.assign(model_b="c", item_id=lambda frame: frame["item_id"] + "c")
    third["winner"] = third["winner"].replace("b", "c")
    votes = pd.concat([grouped().comparisons, third], ignore_index=True).assign(technique="pw_dialog")
    study = replace(grouped(), comparisons=with_dialogues(votes))
    every = entries(study)
    draw = Drawing(Files("report", data=frozenset({"comparisons"}), viewer="index.html", facets=facets_of(every)))
    document = build_report(study, Options(draws=100))
    models = draw.answer(document.summaries()[0])[0]
    counted = [
        (row.n, made.links["n"]) for row, made in zip(document.summaries()[0].models, models.made_of, strict=True)
    ]
    for table, view in zip(document.data_tables("design"), draw._tables("design", document, None), strict=True):
        rows = zip(table.rows, view.made_of, strict=True)
        counted += [(row["n"], made.links["n"]) for row, made in rows if any(one.key == "n" for one in table.columns)]
    assert len(counted) > 5
    for number, link in counted:
        wanted: dict[str, set[str]] = {}
        for name, value in parse_qsl(link.partition("#?")[2]):
            wanted.setdefault(name, set()).add(value)
        fitting = [one for one in every if all(values & set(one.facets.get(n, ())) for n, values in wanted.items())]
        assert len(fitting) == number < len(every)
