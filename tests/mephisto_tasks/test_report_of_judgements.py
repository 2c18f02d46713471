"""``report`` and ``export`` of tasks on finished dialogues, from Mephisto's database; exclusion across live and static."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from stored_study import START, StoredStudy, choices

from mephisto_tasks.cli.report import export, report
from parlai_humaneval.schema.events import Event, Finished, Judged, JudgingStarted
from parlai_humaneval.schema.records import AskedQuestion, GivenAnswer, ShownDialogue, ShownLine
from parlai_humaneval.tables.files import read_tables

ALWAYS_FIRST = [[1]] * 6
VARIED = [[1], [1, 2], [], [2], [1], [2]]


def dialogue(model: str, number: int, position: int) -> ShownDialogue:
    lines = [ShownLine(speaker=i % 2, text="a line of a few words") for i in range(6)]
    return ShownDialogue(
        dialogue_id=f"{model}-{number}",
        position=position,
        kind="self_chat",
        entities=[model, model],
        judged=1,
        lines=lines,
    )


def judged(worker: str, options: str, *, golds: str = "") -> Iterator[Event]:
    """Items of one unit: f (left, alpha) or s (right, beta) was chosen; then attention checks whose answer is f."""
    unit = sum(map(ord, worker))  # no name of a worker in an id
    for number, letter in enumerate(options + golds):
        is_gold = number >= len(options)
        at = START + 100 * number
        given = GivenAnswer(
            question_id="preference", option="first" if letter == "f" else "second", seconds=30, at=at + 30
        )
        yield JudgingStarted(
            at=at,
            schema_version=2,
            judgement_id=f"{unit}-{number}",
            item_id=f"{'gold:' if is_gold else ''}{number}",
            technique="pw_dialog",
            setting="self_chat",
            settings={},
            metric="preference",
            group=["alpha", "beta"],
            dialogues=[dialogue("alpha", number, 1), dialogue("beta", number, 2)],
            questions=[AskedQuestion(question_id="preference", text="Which?", options={"first": "1", "second": "2"})],
            expected={"preference": "first"} if is_gold else None,
            seed=1,
            session=f"s-{unit}",
            number=number + 1,
            numbers=len(options + golds),
        )
        yield Judged(at=at + 30, answers=[given])
        yield Finished(at=at + 30)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PW-Dialog of five; “careless” failed its attention check, and “steady” a live SATA task."""
    study = StoredStudy(tmp_path_factory.mktemp("stored"))
    for worker in ("w0", "w1", "w2"):
        study.add("pairs", worker, [*judged(worker, "fffs", golds="f")])
    study.add("pairs", "careless", [*judged("careless", "ssfs", golds="s")])
    study.add("pairs", "steady", [*judged("steady", "fsss", golds="f")])
    study.add("live", "steady", [*choices("t-steady", ALWAYS_FIRST)])
    study.add("live", "careless", [*choices("t-careless", VARIED)])
    study.add("live", "w0", [*choices("t0", VARIED)])
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


def wins(found: dict[str, Any]) -> tuple[int, int]:
    (pair,) = found["comparisons"]["pairs"]
    return pair["wins_a"], pair["wins_b"]


def test_a_task_on_finished_dialogues_is_reported(stored: Path) -> None:
    """Win rates, and how many attention checks were passed."""
    found = as_json(stored, "--task-name", "pairs")
    assert (found["technique"], found["workers"], wins(found)) == ("pw_dialog", 5, (11, 9))
    assert found["judgements"]["complete"] == 20
    assert found["attention_checks"] == {"passed": 4, "failed": 1, "not_answered": 0, "workers_failing": 1}
    done = run(report, stored, "--task-name", "pairs")
    assert max(map(len, done.output.splitlines())) <= 80
    assert "4 passed, 1 failed (by 1 rater)" in " ".join(done.output.split())


def test_who_failed_the_attention_check_is_left_out(stored: Path) -> None:
    """Their four judgements and the check itself; the screen says so."""
    found = as_json(stored, "--task-name", "pairs", "--exclude", "failed_gold")
    assert (wins(found), found["workers"]) == ((10, 6), 4)
    assert found["excluded"]["here"] == {
        "dialogues": 0, "workers": 1, "turns": 0, "judgements": 5, "simulated": 0,
    }  # fmt: skip
    done = " ".join(run(report, stored, "--task-name", "pairs", "--exclude", "paper").output.split())
    assert (
        "Left out by quality checks: 5 judgements; 1 rater with all their work (raters who failed: failed_gold 1"
        in done
    )
    full = " ".join(run(report, stored, "--task-name", "pairs", "--exclude", "paper", "--full").output.split())
    assert "failed_gold 1 5 0" in full


def test_who_fails_live_is_left_out_of_finished_dialogues_too(stored: Path) -> None:
    """Everywhere: “steady” always took the first reply of another task; “careless” failed here."""
    found = as_json(stored, "--task-name", "pairs", "--exclude", "failed_gold,same_position", "--everywhere")
    assert (wins(found), found["excluded"]["here"]["workers"]) == ((9, 3), 2)
    live = as_json(stored, "--task-name", "live", "--exclude", "failed_gold,same_position", "--everywhere")
    assert (live["workers"], live["excluded"]["here"]["dialogues"]) == (1, 2)


def test_when_nobody_is_left_the_report_says_so(stored: Path, tmp_path: Path) -> None:
    study = StoredStudy(tmp_path / "only")
    study.add("pairs", "w", [*judged("w", "fs", golds="s")])
    done = run(report, study.data_dir, "--task-name", "pairs", "--exclude", "failed_gold")
    assert "The checks excluded every judgement, so none are left." in " ".join(done.output.split())


def test_export_writes_judgements_with_pseudonyms(stored: Path, tmp_path: Path) -> None:
    """All tables and the README of columns; no name of a worker in any of them."""
    done = run(export, stored, "--task-name", "pairs", "--out", str(tmp_path / "tables"), "--json")
    assert done.exit_code == 0, done.output
    assert (json.loads(done.output)["judgements"], json.loads(done.output)["dialogues"]) == (25, 0)
    got = read_tables(tmp_path / "tables")
    assert (len(got.judgements), len(got.comparisons), int(got.judgements["gold"].sum())) == (25, 20, 5)
    texts = [path.read_text(encoding="utf-8") for path in (tmp_path / "tables").iterdir()]
    assert not any("careless" in text or "steady" in text for text in texts)
    assert "## segments.csv" in (tmp_path / "tables" / "README.md").read_text(encoding="utf-8")
