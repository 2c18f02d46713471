"""The log of decisions stays where it is: releases leave it out and say so, and who is forgotten is told that it remains."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from stored_decisions import decided_study

from mephisto_tasks.privacy.release import WORDS
from mephisto_tasks.storage.logs import DECISIONS
from mephisto_tasks.workers.roster import known_workers
from parlai_humaneval.cli import main
from parlai_humaneval.stopping.study import SequentialStudy, replay

TASK = "decided-study"


@pytest.fixture
def study(tmp_path: Path) -> SequentialStudy:
    return decided_study(tmp_path / "data", TASK, 30)


def command(*arguments: object) -> Result:
    done = CliRunner().invoke(main, [str(one) for one in arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done


def test_a_release_has_no_log_and_says_so(study: SequentialStudy, tmp_path: Path) -> None:
    """Guards times and the order of workers: neither stands in a release; the card says what its estimates are."""
    out = tmp_path / "out"
    done = command(
        *("export", "--release", "--without-consent-text", "Signed forms on paper."),
        *("--task-name", TASK, "--data-dir", tmp_path / "data", "--out", out),
    )
    assert WORDS["log_left_out"] in done.stdout
    assert json.loads((out / "data_card.json").read_text())["left_out"] == [WORDS["log_left_out"]]
    assert not (out / "sequential.jsonl").exists()
    written = "".join(path.read_text() for path in out.iterdir())
    assert "name-1" not in written, "a name of the log"


def test_names_of_the_log_are_in_no_table(study: SequentialStudy, tmp_path: Path) -> None:
    """Guards against leading from an order of arrival to answers: what is exported names workers otherwise."""
    out = tmp_path / "out"
    command("export", "--task-name", TASK, "--data-dir", tmp_path / "data", "--out", out)
    log = (out / "sequential.jsonl").read_text()
    tables = "".join(path.read_text() for path in out.glob("*.csv"))
    for known in known_workers(tmp_path / "data").values():
        assert known.pseudonym in tables
        assert known.pseudonym not in log
        assert known.name not in log


def test_who_is_forgotten_is_told_that_decisions_stay(study: SequentialStudy, tmp_path: Path) -> None:
    """Guards the study and the truth about it: its decisions can be made again afterwards, and what remains is said."""
    data_dir = tmp_path / "data"
    before = DECISIONS.path(data_dir, TASK).read_bytes()
    done = command("forget", "A1DECIDED00000", "--yes", "--json", "--data-dir", data_dir)
    assert "claims could not be reproduced" in json.loads(done.stdout)["remains"]["the log of decisions"]
    assert DECISIONS.path(data_dir, TASK).read_bytes() == before
    assert replay(DECISIONS.read(data_dir, TASK)).standing() == study.standing()
    report = command("report", "--task-name", TASK, "--data-dir", data_dir, "--json", "--draws", "100")
    assert json.loads(report.stdout)["headline"] == f"A{str(study.standing())[1:]}."
