"""Exact cases replayed through the public API, and the program that does it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from reference import REFERENCE

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tests" / "replay_gold.py"
PATH = REFERENCE / "gold_cases.json"
CASES: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else []

sys.path.append(str(ROOT / "tests"))
from replay_gold import differences, main, replay  # noqa: E402  # found only with the line above


@pytest.mark.skipif(not CASES, reason="the exact cases are not beside this checkout")
@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{case['function']}" for n, case in enumerate(CASES)])
def test_an_exact_case_holds(case: dict[str, Any]) -> None:
    """Our function gives what the case expects, within its tolerance."""
    assert replay(case) == []


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


@pytest.mark.parametrize(
    ("got", "expected", "tolerance", "same"),
    [
        (100.4, 100, 0.005, True),
        (100.6, 100, 0.005, False),
        (0.104, 0.1, 0.005, True),
        ([1, 2.1], [1, 2], 0.1, True),
        ([1], [1, 2], 0.1, False),
        (None, None, 0.1, True),
        (0.0, None, 0.1, False),
        (None, 0.0, 0.1, False),
        (True, 1, 0.1, True),
        (1, True, 0.1, False),
        ({2: 0.5}, {"2": 0.5}, 1e-9, True),
        ({"a": 1, "b": 1}, {"a": 1}, 1e-9, False),
        ({"a": 1.04, "b": 1}, {"a": 1, "b": 1}, {"a": "5% relative", "b": 0}, True),
        ({"a": 1.06, "b": 1}, {"a": 1, "b": 1}, {"a": "5% relative", "b": 0}, False),
    ],
)
def test_tolerances(got: Any, expected: Any, tolerance: Any, same: bool) -> None:
    """A number is relative to values above 1, a text is relative always, a mapping has one for each key."""
    assert (differences(got, expected, tolerance) == []) is same
