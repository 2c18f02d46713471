"""The program that replays exact cases: what it says, and its exit status, which no release of a library changes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parents[2]
PROGRAM = TESTS / "replay_gold.py"

sys.path.append(str(TESTS))
from replay_gold import main  # noqa: E402  # found only with the line above


def case(function: str, args: list[Any], expected: Any, tolerance: Any = 1e-9) -> dict[str, Any]:
    return {"function": function, "args": args, "kwargs": {}, "expected": expected, "tolerance": tolerance}


def test_the_program_counts_and_exits_by_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 where all hold; 1, from any folder, for a wrong number, an unknown function, or arguments that raise."""
    path = tmp_path / "cases.json"
    good = [case("lin", [3, 1], 0.75), case("lin", [0, 0], None), case("wald_ci", [5, 10], [0.19010, 0.80990], 1e-4)]
    path.write_text(json.dumps(good), encoding="utf-8")
    assert main([str(path)]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "3 passed, 0 failed"
    bad = [case("lin", [3, 1], 0.76), case("no_such", [], 1), case("lin", ["a", "b"], 1)]
    path.write_text(json.dumps([*good, *bad]), encoding="utf-8")
    done = subprocess.run([sys.executable, PROGRAM, path], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (1, "3 passed, 3 failed")
    assert "0.75 instead of 0.76" in done.stdout
    assert "no adapter for 'no_such'" in done.stdout


@pytest.mark.parametrize("cases", [{"a": 1}, [1], [{"args": []}]])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, cases: object, capsys: pytest.CaptureFixture[str]) -> None:
    """With words, and another exit status than a failed case."""
    path = tmp_path / "cases.json"
    path.write_text(json.dumps(cases), encoding="utf-8")
    assert main([str(path)]) == 2
    assert "cannot be replayed" in capsys.readouterr().err
