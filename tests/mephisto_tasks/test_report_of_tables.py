"""``report --tables`` and ``--out``: tables from anywhere, a page, and refusals that say what to do."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from stored_study import StoredStudy, choices

from mephisto_tasks.cli.report import export, report, view
from parlai_humaneval.report.build import default_title
from parlai_humaneval.report.document import SCHEMA, SCHEMA_VERSION
from parlai_humaneval.report.registry import SECTIONS
from parlai_humaneval.tables.files import read_tables

TURN_COLUMNS = "dialogue_id,worker_id,technique,setting,metric,turn,model,position,selected,continued,written,seconds"
VARIED = [[1], [1, 2], [], [2], [1], [2]]


def turn_lines(**changes: str) -> Iterator[str]:
    """Twelve dialogues of four workers, four turns each; model beta wins two of three turns."""
    for dialogue in range(12):
        for turn in range(1, 5):
            winner = "alpha" if (dialogue + turn) % 3 == 0 else "beta"
            for position, model in enumerate(("alpha", "beta") if turn % 2 else ("beta", "alpha"), start=1):
                won = int(model == winner)
                cells = dict(
                    zip(
                        TURN_COLUMNS.split(","),
                        (
                            f"d{dialogue}",
                            f"w{dialogue % 4}",
                            "sata",
                            "soba",
                            "preference",
                            str(turn),
                            model,
                            str(position),
                        ),
                        strict=False,
                    )
                )
                cells |= {"selected": str(won), "continued": str(won), "written": "0", "seconds": "12.5"} | changes
                yield ",".join(cells[name] for name in TURN_COLUMNS.split(","))


def folder_with(path: Path, lines: Iterator[str] | list[str], header: str = TURN_COLUMNS) -> Path:
    path.mkdir(exist_ok=True)
    (path / "turns.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder_with(tmp_path_factory.mktemp("from-elsewhere") / "tables", turn_lines())


def run(*arguments: object) -> Result:
    return CliRunner().invoke(
        report, [str(one) for one in arguments], env={"COLUMNS": "80"}, default_map={"draws": 100}
    )


def refused(*arguments: object) -> str:
    """What is said where nothing can be done: one message, exit code 1, no traceback."""
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    return " ".join(done.stderr.split())


def test_tables_from_anywhere_give_json(tables: Path) -> None:
    """The section under its key, facts beside it, and nothing else on standard output; no nan anywhere."""
    done = run("--tables", tables, "--json", "--draws", 100)
    assert done.exit_code == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))
    assert (found["schema"], found["schema_version"]) == (SCHEMA, SCHEMA_VERSION)
    assert {"facts", "examples", "summaries", "headline", "turns"} <= set(found)
    rows = {row["model"]: row for row in found["turns"]["models"]}
    assert (rows["alpha"]["n"], rows["alpha"]["selected"], rows["beta"]["selected"]) == (48, 16, 32)
    assert rows["beta"]["win_rate"] == pytest.approx(2 / 3)
    assert (found["facts"]["raters"]["workers"], found["facts"]["draws"]) == (4, 100)


def test_tables_are_printed(tables: Path) -> None:
    """Answers and main tables on 80 columns."""
    done = run("--tables", tables, "--draws", 100)
    assert done.exit_code == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "beta" in done.stdout
    assert "Rated by: 4 raters" in done.stdout


def test_a_page_is_written_with_its_folder(tables: Path, tmp_path: Path) -> None:
    """--json and --out together give both; the same numbers in the page's folder; a second time only with --force."""
    page = tmp_path / "deep" / "report.html"
    page.parent.mkdir()
    done = run("--tables", tables, "--out", page, "--json", "--draws", 100)
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    assert str(page) in found["files"]
    assert all(Path(name).is_file() for name in found["files"])
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    beside = json.loads((page.parent / "report" / "report.json").read_text(encoding="utf-8"))
    assert beside["turns"] == found["turns"]
    with (page.parent / "report" / "turns_models.csv").open(encoding="utf-8", newline="") as file:
        assert {row["model"]: row["selected"] for row in csv.DictReader(file)} == {"alpha": "16", "beta": "32"}
    assert "--force" in refused("--tables", tables, "--out", page)
    again = run("--tables", tables, "--out", page, "--force", "--draws", 100)
    assert again.exit_code == 0
    assert f"Report → {page}" in again.stdout.replace("\n", "")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--task-name", "x"], "--tables cannot be combined with --task-name"),
        (["--exclude", "paper"], "--tables cannot be combined with --exclude"),
        (["--everywhere", "--exclude", "paper"], "cannot be combined with --exclude, --everywhere"),
        (["--exclude-scope", "dialogue"], "cannot be combined with --exclude-scope"),
        (["--data-dir", "x"], "cannot be combined with --data-dir"),
        (["--out", "report.pdf"], "does not end in .html"),
    ],
)
def test_what_does_not_fit_tables_is_refused(tables: Path, arguments: list[str], words: str) -> None:
    assert words in refused("--tables", tables, *arguments)


def test_a_page_needs_answers(tmp_path: Path) -> None:
    """Without a task and without tables there is nothing to write."""
    assert "name a task (--task-name) or tables (--tables)" in refused("--out", tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"selected": "2"}, "turns.selected: '2' in row 2, and the same in rows 3–97, expected 0 or 1"),
        ({"turn": "first"}, "turns.turn: 'first' in row 2, and the same in rows 3–97, expected a number"),
        ({"model": ""}, "turns.model: empty in row 2"),
        ({"dialogue_id": "d1", "worker_id": "w1", "turn": "1"}, "rows 2 and 6 contradict"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, changes: dict[str, str], words: str) -> None:
    """Table, column, row and what was expected; nothing is written."""
    folder = folder_with(tmp_path / "tables", turn_lines(**changes))
    assert words in refused("--tables", folder, "--out", tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["tables"]


def test_folders_that_hold_nothing_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert "does not exist" in refused("--tables", tmp_path / "nowhere")
    result = CliRunner().invoke(view, ["nowhere", "--data-dir", str(tmp_path)])
    assert "the folder nowhere does not exist, and there is no Mephisto database" in result.stderr
    (tmp_path / "turns.csv").touch()
    assert "is a file, not a folder" in refused("--tables", tmp_path / "turns.csv")
    assert "holds none of turns, dialogues" in refused("--tables", tmp_path / "empty")
    assert f"{tmp_path}/header" in refused("--tables", folder_with(tmp_path / "header", []))
    no_model = TURN_COLUMNS.replace("model,", "")
    lines = [line.replace(",alpha,", ",").replace(",beta,", ",") for line in turn_lines()]
    assert "missing column model" in refused("--tables", folder_with(tmp_path / "short", lines, no_model))


def test_an_unknown_label_is_named(tmp_path: Path) -> None:
    header = "dialogue_id,worker_id,k,entity,model,opponent,label,fluent,sensible,specific,seconds"
    (tmp_path / "segments.csv").write_text(f"{header}\nd,w,2,0,a,b,robot,0,0,0,9\n", encoding="utf-8")
    assert "'robot' in row 2, expected human, unsure or bot" in refused("--tables", tmp_path)


def test_the_tables_are_not_written_over(tables: Path) -> None:
    """tables.html beside tables/ would put its files among them."""
    before = sorted(path.name for path in tables.iterdir())
    assert str(tables) in refused("--tables", tables, "--out", tables.parent / "tables.html", "--force")
    assert sorted(path.name for path in tables.iterdir()) == before


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four workers of a SATA task, one of whom always takes the first reply."""
    study = StoredStudy(tmp_path_factory.mktemp("stored"))
    for number in range(4):
        study.add("study", f"name-of-{number}", [*choices(f"s{number}", VARIED)])
    study.add("study", "name-of-steady", [*choices("s-steady", [[1]] * 6)])
    return study.data_dir


def test_a_task_gives_the_same_page(stored: Path, tmp_path: Path) -> None:
    """Who was left out and why, the question as worded, a dialogue as said; no name of a worker, no path."""
    page = tmp_path / "study.html"
    arguments = ("--task-name", "study", "--data-dir", stored, "--exclude", "same_position")
    done = run(*arguments, "--out", page, "--draws", 100)
    assert done.exit_code == 0, done.stderr
    assert "of 24 turns" in " ".join(done.stdout.split())
    text = page.read_text(encoding="utf-8")
    assert "Which would you rather talk to?" in text
    assert "Left out by quality checks: 1 dialogue, 6 turns; 1 rater with all their work" in text
    assert "I would like to hear more about that 1" in text
    everything = [path.read_bytes() for path in [page, *(tmp_path / "study").rglob("*")] if path.is_file()]
    assert not [one for one in everything if b"name-of" in one or str(stored).encode() in one]


def test_json_of_a_task_has_both(stored: Path) -> None:
    """What people read first, and the sections of the same answers; the count of turns has a name of its own."""
    found: dict[str, Any] = json.loads(
        run("--task-name", "study", "--data-dir", stored, "--json", "--draws", 100).stdout
    )
    assert (found["technique"], found["dialogue_count"]["complete"], found["turn_count"]["complete"]) == ("sata", 5, 30)
    assert {row["n"] for row in found["turns"]["models"]} == {30}
    assert found["facts"]["raters"]["workers"] == found["workers"] == 5


def test_exported_tables_say_the_same_as_their_task(stored: Path, tmp_path: Path) -> None:
    """Every number of every section, whichever way it comes."""
    out = tmp_path / "tables"
    done = CliRunner().invoke(export, ["--task-name", "study", "--data-dir", str(stored), "--out", str(out)])
    assert done.exit_code == 0, done.output
    of_task = json.loads(run("--task-name", "study", "--data-dir", stored, "--json", "--draws", 100).stdout)
    of_tables = json.loads(run("--tables", out, "--json", "--draws", 100).stdout)
    shared = [key for key in SECTIONS if key in of_tables]
    assert "turns" in shared
    assert {key: of_task.get(key) for key in shared} == {key: of_tables[key] for key in shared}
    assert of_task["examples"] == of_tables["examples"]


def test_the_title_is_chosen_or_made_of_what_is_there(tables: Path, tmp_path: Path) -> None:
    """On the page, in “To cite” and in the JSON; never the name of the folder."""
    page = tmp_path / "r.html"
    done = run("--tables", tables, "--out", page, "--json", "--draws", 100, "--title", "Candidate <2>")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["facts"]["title"] == "Candidate <2>"
    text = page.read_text(encoding="utf-8")
    assert "<h1>Candidate &lt;2&gt;</h1>" in text
    assert "report “Candidate &lt;2&gt;”" in text
    made = json.loads(run("--tables", tables, "--json", "--draws", 100).stdout)["facts"]["title"]
    assert made == default_title(read_tables(tables))


def test_the_title_of_a_task_can_be_chosen(stored: Path) -> None:
    arguments = ("--task-name", "study", "--data-dir", stored, "--json", "--draws", 100)
    assert json.loads(run(*arguments, "--title", "Ours").stdout)["facts"]["title"] == "Ours"
    assert json.loads(run(*arguments).stdout)["facts"]["title"] == "study"


def test_who_reads_only_the_head_has_the_page_and_waits_for_no_engine(tables: Path, tmp_path: Path) -> None:
    """``report --out p.html | head``: the pipe closes while the answers are printed, after the page was written. A colleague
    with tables alone, and without a GPU, waits neither for Mephisto nor for ParlAI."""
    page = tmp_path / "r.html"
    arguments = ["report", "--tables", str(tables), "--out", str(page), "--draws", "100"]
    code = (
        "import atexit, sys; from parlai_humaneval.cli import main\n"
        "slow = ('torch', 'parlai', 'mephisto', 'matplotlib.pyplot')\n"
        "atexit.register(lambda: print([name for name in slow if name in sys.modules], file=sys.stderr))\n"
        f"main({arguments!r})"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        told = process.stderr.read().decode()
    assert "Traceback" not in told
    assert page.is_file()
    assert (tmp_path / "r" / "report.json").is_file()
    assert told.rstrip().endswith("[]")


def test_turns_of_unfinished_dialogues_count_when_asked(tmp_path: Path) -> None:
    """Every second dialogue was left: its turns count with the option only, which the facts say."""
    folder = folder_with(tmp_path / "tables", turn_lines())
    dialogues = sorted({line.split(",")[0] for line in turn_lines()})
    header = "dialogue_id,worker_id,technique,setting,started,seconds,n_turns,complete\n"
    worker = {line.split(",")[0]: line.split(",")[1] for line in turn_lines()}
    rows = [f"{name},{worker[name]},sata,sata_user,,,6,{number % 2}\n" for number, name in enumerate(dialogues)]
    (folder / "dialogues.csv").write_text(header + "".join(rows), encoding="utf-8")
    few, all_of_them = (
        json.loads(run("--tables", folder, "--json", *more).stdout) for more in ([], ["--include-partial"])
    )
    assert few["turns"]["models"][0]["n"] == all_of_them["turns"]["models"][0]["n"] / 2
    assert not any("--include-partial" in note for note in few["facts"]["notes"])
    assert any("--include-partial" in note for note in all_of_them["facts"]["notes"])


SEGMENT_COLUMNS = "dialogue_id,worker_id,k,entity,model,opponent,label,fluent,sensible,specific,seconds,started"


def release(path: Path) -> Path:
    """Spot The Bot as released: 24 segments by four workers, of which the first two were annotated again later."""
    labels = [("human", "bot"), ("bot", "human"), ("human", "unsure"), ("bot", "bot")]
    rows = []
    for place in [*range(24), 0, 1]:
        again = len(rows) >= 48
        for entity, (model, opponent) in enumerate((("ada", "bob"), ("bob", "ada"))):
            label = "unsure" if again else labels[place % 4][entity]
            day = "2020-05-02" if again else "2020-05-01"
            seconds = "600000" if place == 23 else f"{20 + place}.5"
            cells = (
                f"d{place}",
                f"w{place % 4}",
                "3",
                str(entity),
                model,
                opponent,
                label,
                "0",
                "0",
                "0",
                seconds,
                day,
            )
            rows.append(",".join(cells))
    path.mkdir()
    (path / "segments.csv").write_text("\n".join([SEGMENT_COLUMNS, *rows]) + "\n", encoding="utf-8")
    return path


def test_a_release_with_repeats_is_reported_as_asked(tmp_path: Path) -> None:
    """Refused by name of the option; then all, the first or the last count, which terminal, page and JSON tell."""
    folder = release(tmp_path / "release")
    assert "--repeats" in refused("--tables", folder, "--json")
    found = {}
    for repeats, segments, left_out in (("keep", 26, 0), ("first", 24, 4), ("last", 24, 4)):
        done = run("--tables", folder, "--repeats", repeats, "--json")
        assert done.exit_code == 0, done.stderr
        found[repeats] = json.loads(done.stdout)
        assert found[repeats]["segments"]["n_segments"] == segments
        assert found[repeats]["segments"]["n_dialogues"] == 24
        (told,) = found[repeats]["facts"]["repeats"]
        expected = {
            "table": "segments",
            "repeats": repeats,
            "answers": 2,
            "more_rows": 4,
            "left_out": left_out,
            "copies": 0,
        }
        assert told == expected
    wins = {repeats: found[repeats]["segments"]["models"][0]["wins"] for repeats in found}
    assert wins["keep"] == wins["first"] > wins["last"]
    page = tmp_path / "report.html"
    printed = run("--tables", folder, "--repeats", "last", "--out", page)
    said = "segments: 2 answers were given again by the same rater."
    assert said.capitalize() in " ".join(printed.stdout.split())
    assert said.capitalize() in page.read_text(encoding="utf-8")


def test_repeats_that_are_none_change_nothing(tables: Path) -> None:
    """The option does no harm where no answer was given again."""
    plain, asked = (run("--tables", tables, "--json", *more) for more in ((), ("--repeats", "keep")))
    one, other = (json.loads(done.stdout) for done in (plain, asked))
    for found in (one, other):
        del found["facts"]["made"]
    assert one == other


def test_a_task_that_stores_a_dialogue_twice(tmp_path: Path) -> None:
    """The same dialogue of the same worker in two units is refused by name of the option, or counts as asked."""
    study = StoredStudy(tmp_path)
    for number in (0, 1, 2, 0):
        study.add("study", f"name-of-{number}", [*choices(f"s{number}", VARIED)])
    task = ("--task-name", "study", "--data-dir", study.data_dir, "--json")
    assert "--repeats" in refused(*task)
    for repeats, dialogues in (("keep", 4), ("last", 3)):
        done = run(*task, "--repeats", repeats)
        assert done.exit_code == 0, done.stderr
        found = json.loads(done.stdout)
        assert found["dialogue_count"]["complete"] == dialogues
        assert {row["n"] for row in found["turns"]["models"]} == {6 * dialogues}
        assert found["workers"] == 3
        assert {told["table"] for told in found["facts"]["repeats"]} >= {"turns", "dialogues"}
