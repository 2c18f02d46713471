"""``report`` and ``export``: from Mephisto's database to the terminal, to JSON and to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from stored_study import StoredStudy, choices, rated

from mephisto_tasks.cli.report import export, report
from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.schema import TABLES

GOOD = {"fluent": 80.0, "topic": 75.0, "robotic": 20.0}
BAD = {"fluent": 10.0, "topic": 5.0, "robotic": 90.0}
VARIED = [[1], [1, 2], [], [2], [1], [2]]
ALWAYS_FIRST = [[1]] * 6


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two SATA tasks and a direct assessment; the worker “steady” always takes the first reply, in one task only."""
    study = StoredStudy(tmp_path_factory.mktemp("stored"))
    for number in range(4):
        study.add("sata", f"w{number}", [*choices(f"s{number}", VARIED)])
    study.add("sata", "steady", [*choices("s-steady", VARIED)])
    study.add("sata", "w0", [*choices("s-again", ALWAYS_FIRST)])
    study.add("soba", "steady", [*choices("t-steady", ALWAYS_FIRST, setting="soba")])
    study.add("soba", "w1", [*choices("t1", [[1], [2], [2], [1]], setting="soba")])
    for worker in ("w0", "w1"):
        events = [
            event
            for model, ratings in (("alpha", GOOD), ("beta", GOOD | {"fluent": 60}), ("degraded", BAD))
            for event in rated(
                f"{worker}-{model}", model, {name: value + len(model) for name, value in ratings.items()}
            )
        ]
        study.add("assessment", worker, events)
    return study.data_dir


def run(command: Any, data_dir: Path, *arguments: str) -> Result:
    return CliRunner().invoke(
        command, [*arguments, "--data-dir", str(data_dir)], env={"COLUMNS": "80"}, default_map={"draws": 100}
    )


def as_json(data_dir: Path, *arguments: str) -> dict[str, Any]:
    done = run(report, data_dir, *arguments, "--json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.output)
    return found


def test_a_task_is_reported_by_its_technique(stored: Path) -> None:
    """Shares of SATA on the screen, at 80 columns; the same in JSON; every section when asked."""
    done = run(report, stored, "--task-name", "sata")
    assert done.exit_code == 0, done.output
    assert "of 36 turns" in " ".join(done.output.split())
    full = run(report, stored, "--task-name", "sata", "--full")
    assert "What these data could show" in full.output
    assert "What these data could show" not in done.output
    assert max(map(len, [*done.output.splitlines(), *full.output.splitlines()])) <= 80
    found = as_json(stored, "--task-name", "sata")
    assert (found["technique"], found["excluded"], found["workers"]) == ("sata", None, 5)
    assert {row["n"] for row in found["turns"]["models"]} == {36}
    assert found["headline"] in " ".join(done.output.split())


def test_conversations_of_one_unit_are_dialogues_of_one_session(stored: Path) -> None:
    """A direct assessment's unit holds three; the report knows who passed."""
    found = as_json(stored, "--task-name", "assessment")
    assert found["dialogue_count"]["complete"] == 6
    assert {row["model"] for row in found["direct_assessment"]["models"]} >= {"alpha", "beta"}
    assert found["workers"] == 2


def test_several_tasks_are_reported_together(stored: Path) -> None:
    """Settings stand apart, and so do techniques."""
    found = as_json(stored, "--task-name", "sata", "--task-name", "soba")
    assert found["tasks"] == ["sata", "soba"]
    assert {row["setting"] for row in found["turns"]["models"]} == {"sata_random", "soba"}
    both = as_json(stored, "--task-name", "sata", "--task-name", "assessment")
    assert both["techniques"] == ["direct_assessment", "sata"]
    assert {"turns", "direct_assessment"} <= set(both)


def test_workers_who_fail_are_left_out_with_all_they_did(stored: Path) -> None:
    """w0 always took the first reply in one of two dialogues: both go."""
    found = as_json(stored, "--task-name", "sata", "--exclude", "same_position")
    assert found["dialogue_count"]["complete"] == 4
    assert found["excluded"]["here"] == {"dialogues": 2, "workers": 1, "turns": 12, "judgements": 0, "simulated": 0}
    (count,) = found["excluded"]["counts"]
    assert (count["check"], count["dialogues_failed"], count["workers_failed"]) == ("same_position", 1, 1)
    assert found["excluded"]["failures"][0]["reason"]


def test_dialogues_that_fail_go_alone_when_asked(stored: Path) -> None:
    """The scope of Liu et al. 2023."""
    found = as_json(stored, "--task-name", "sata", "--exclude", "same_position", "--exclude-scope", "dialogue")
    assert found["dialogue_count"]["complete"] == 5
    assert found["excluded"]["here"] == {"dialogues": 1, "workers": 0, "turns": 6, "judgements": 0, "simulated": 0}


def test_workers_who_fail_elsewhere_are_left_out_everywhere(stored: Path) -> None:
    """“steady” failed in the other task: their dialogue here, which is good, goes too."""
    found = as_json(stored, "--task-name", "sata", "--exclude", "same_position", "--everywhere")
    assert found["dialogue_count"]["complete"] == 3
    assert found["excluded"]["here"] == {"dialogues": 3, "workers": 2, "turns": 18, "judgements": 0, "simulated": 0}
    assert set(found["excluded"]["tasks"]) == {"sata", "soba", "assessment"}
    done = run(report, stored, "--task-name", "sata", "--exclude", "same_position", "--everywhere")
    assert "judged in 3 tasks" in " ".join(done.output.split())


def test_the_papers_checks_are_those_of_its_technique(stored: Path) -> None:
    """`paper`, which --everywhere alone means too."""
    found = as_json(stored, "--task-name", "sata", "--exclude", "paper")
    assert {count["check"] for count in found["excluded"]["counts"]} >= {"same_position", "short_tokens"}
    assert as_json(stored, "--task-name", "sata", "--everywhere")["excluded"]["tasks"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--exclude", "same_positon"], "there is no check 'same_positon'. Did you mean same_position?"),
        (["--exclude", " , "], "--exclude lists no check"),
        (["--everywhere", "--exclude-scope", "dialogue"], "--everywhere excludes raters"),
        (["--task-name", "nowhere"], "there is no task 'nowhere'"),
    ],
)
def test_wrong_requests_are_told_what_to_do(stored: Path, arguments: list[str], words: str) -> None:
    """One sentence, no traceback."""
    done = run(report, stored, "--task-name", "sata", *arguments)
    assert done.exit_code == 1
    assert words in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_leaving_out_everything_is_said(stored: Path) -> None:
    """Not “no turn has been answered yet”: they were, and did not count."""
    arguments = ("--task-name", "soba", "--exclude", "same_position", "--exclude-scope", "dialogue")
    assert as_json(stored, *arguments)["dialogue_count"]["complete"] == 1
    found = as_json(stored, "--task-name", "assessment", "--exclude", "rank_sum,too_fast")
    assert found["technique"] == "direct_assessment"
    done = run(report, stored, "--task-name", "assessment", "--exclude", "rank_sum,too_fast")
    assert "The checks excluded every dialogue, so none are left." in " ".join(done.output.split())
    assert "assessment" in done.output.splitlines()[0]


def test_nothing_is_deleted(stored: Path) -> None:
    """After any exclusion all dialogues are still there."""
    run(report, stored, "--task-name", "sata", "--exclude", "paper", "--everywhere")
    assert len(read_dialogues(stored, "sata")) == 6


def test_tasks_are_listed_without_a_name(stored: Path) -> None:
    assert as_json(stored)["tasks"] == ["assessment", "soba", "sata"]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_export_writes_every_table(stored: Path, tmp_path: Path, form: str) -> None:
    """All five and a README; they read back, with the verdicts of the checks."""
    out = tmp_path / "tables"
    done = run(export, stored, "--task-name", "sata", "--out", str(out), "--format", form, "--json")
    assert done.exit_code == 0, done.output
    written = {Path(path).name for path in json.loads(done.output)["files"]}
    assert written == {path.name for path in out.iterdir()}
    assert written - {"README.md"} == {f"{table}.{form}" for table in TABLES}
    got = read_tables(out)
    assert (len(got.turns), len(got.comparisons), len(got.dialogues), len(got.points)) == (72, 36, 6, 12)
    failed = got.dialogues["checks_failed"].fillna("").str.contains("same_position")
    assert got.dialogues["dialogue_id"][failed].tolist() == ["s-again"]


def test_export_of_ratings(stored: Path, tmp_path: Path) -> None:
    """A row per dialogue, model and criterion, as given; an export that stands there is not replaced unasked."""
    arguments = ("--task-name", "assessment", "--out", str(tmp_path))
    assert run(export, stored, *arguments).exit_code == 0
    ratings = read_tables(tmp_path).ratings
    assert len(ratings) == 2 * 3 * 3
    assert ratings.groupby("model")["degraded"].max().to_dict() == {"alpha": 0, "beta": 0, "degraded": 1}
    assert run(export, stored, *arguments, "--force").output.startswith("6 dialogues → ")
    again = run(export, stored, *arguments)
    assert again.exit_code == 1
    assert "ratings.csv" in again.output
    assert run(export, stored, *arguments, "--force").exit_code == 0


def test_one_dialogue_is_one(tmp_path: Path) -> None:
    """No “1 dialogues”, no “1 tasks”."""
    study = StoredStudy(tmp_path / "data")
    study.add("only", "w0", [*choices("s0", VARIED)])
    done = run(export, study.data_dir, "--task-name", "only", "--out", str(tmp_path / "tables"))
    assert done.output.startswith("1 dialogue → ")
    done = run(report, study.data_dir, "--task-name", "only", "--exclude", "same_position", "--everywhere")
    assert "judged in 1 task;" in " ".join(done.output.split())
