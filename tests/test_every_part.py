"""``make test``: no part hides another, and one summary says what failed."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest
from every_part import AGAIN, LAST_LINES, MOST_AGAIN, run_parts

GOOD = ["sh", "-c", "echo '===== 3 passed in 1.0s ====='"]
BAD = ["sh", "-c", "echo 'FAILED tests/test_x.py::test_y - assert 1 == 2'; echo '1 failed in 0.1s'; exit 3"]


def test_a_part_that_fails_hides_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards who mends a red run: everything ran, and what failed stands at the end, by name."""
    assert run_parts({"lint": BAD, "web": GOOD, "python": BAD, "browser": GOOD}) == 1
    said = capsys.readouterr().out
    summary = said[said.index("\n\n") :]
    verdicts = [
        line.split()[:2] for line in summary.splitlines() if line.startswith(("lint", "web", "python", "browser"))
    ]
    assert verdicts == [["lint", "FAILED"], ["web", "passed"], ["python", "FAILED"], ["browser", "passed"]]
    table, *ends = summary.split("\n--- The end of ")
    assert table.count("tests/test_x.py::test_y") == 2
    assert [end.splitlines()[:3] for end in ends] == [
        [f"{name}:", "FAILED tests/test_x.py::test_y - assert 1 == 2", "1 failed in 0.1s"]
        for name in ("lint", "python")
    ]
    assert summary.endswith("FAILED: lint, python\n")


def test_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_parts({"lint": GOOD, "web": GOOD}) == 0
    said = capsys.readouterr().out
    assert said.endswith("3 passed in 1.0s\n\nAll parts passed.\n")
    assert said.count(" CPU s ") == 2


TESTS = """
import pathlib
def test_always(): pass
def test_once_busy(tmp_path):
    mark = pathlib.Path(__file__).with_name("was here")
    seen, _ = mark.exists(), mark.touch()
    assert seen
def test_wrong(): assert {wrong} == 0
"""


@pytest.mark.parametrize(("wrong", "status", "verdict"), [(0, 0, "flaky"), (1, 1, "FAILED")])
def test_what_failed_runs_once_more_and_is_named(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    wrong: int,
    status: int,
    verdict: str,
) -> None:
    """By pytest itself: what passes alone does not stop a change and is not hidden either; what fails twice has failed."""
    (tmp_path / "test_it.py").write_text(TESTS.format(wrong=wrong))
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -ra")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # they take two seconds of each start
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "--rootdir", str(tmp_path), str(tmp_path)]
    assert run_parts({"python": command}, {"python": [*command, *shlex.split(AGAIN)]}) == status
    said = capsys.readouterr().out
    summary, _, end = said[said.index("\n\npython") :].partition("\n--- The end of python:\n")
    assert [line.split()[1] for line in summary.splitlines() if line.startswith("python")] == [verdict, "again"]
    assert summary.count("test_it.py::test_once_busy") == 1, "named, and it passed the second time"
    assert summary.count("test_it.py::test_wrong") == 2 * wrong
    assert "assert seen" in end or wrong, "of what passed alone, the time when it failed"
    assert f"{1 + wrong} failed, {2 - wrong} passed" in said
    assert "All parts passed.\n" not in said


def test_many_failures_are_not_the_machines(capsys: pytest.CaptureFixture[str]) -> None:
    """Guards the time of a red run, and its verdict: nothing runs again."""
    lines = "; ".join(f"echo 'FAILED tests/test_x.py::test_{number}'" for number in range(MOST_AGAIN + 1))
    bad = ["sh", "-c", f"{lines}; exit 1"]
    assert run_parts({"python": bad, "lint": BAD}, {"python": GOOD}) == 1
    assert "again" not in capsys.readouterr().out


@pytest.mark.parametrize(("second", "verdict"), [("exit 0", "flaky"), ("exit 1", "FAILED")])
def test_a_storm_runs_once_more_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], second: str, verdict: str
) -> None:
    """It is no pytest: no test of it can be named, and its last words are all that tells why."""
    mark = tmp_path / "was here"
    last = "; ".join(f"echo line {number}" for number in range(LAST_LINES + 1))
    storm = ["sh", "-c", f"test -e '{mark}' && {{ echo calm; {second}; }}; touch '{mark}'; {last}; exit 1"]
    assert run_parts({"storm": storm, "lint": GOOD}, {}, {"storm"}) == (verdict == "FAILED")
    table, _, end = capsys.readouterr().out.partition("\n--- The end of storm:\n")
    rows = table[table.rindex("\n\n") :].splitlines()
    assert [row.split()[:2] for row in rows if row] == [["storm", verdict], ["storm", "again"], ["lint", "passed"]]
    said = {"flaky": [f"line {number}" for number in range(1, LAST_LINES + 1)], "FAILED": ["calm"]}[verdict]
    assert end.splitlines()[: len(said)] == said


def test_parts_that_compute_delay_none_that_waits(tmp_path: Path) -> None:
    """Guards tests that go by the clock: what computes runs meanwhile, and gives way."""
    write = "import os, pathlib; pathlib.Path({!r}).write_text(str(os.nice(0)))"
    commands = {name: [sys.executable, "-c", write.format(str(tmp_path / name))] for name in ("lint", "test-tasks")}
    assert run_parts(commands) == 0
    assert int((tmp_path / "lint").read_text()) > int((tmp_path / "test-tasks").read_text())
