"""Exact cases replayed through the public API, and how exact they are."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from reference import REFERENCE

ROOT = Path(__file__).resolve().parents[3]
PATH = REFERENCE / "gold_cases.json"
CASES: list[dict[str, Any]] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else []

sys.path.append(str(ROOT / "tests"))
from replay_gold import differences, replay  # noqa: E402  # found only with the line above


@pytest.mark.skipif(not CASES, reason="the exact cases are not beside this checkout")
@pytest.mark.parametrize("case", CASES, ids=[f"{n}-{case['function']}" for n, case in enumerate(CASES)])
def test_an_exact_case_holds(case: dict[str, Any]) -> None:
    """Our function gives what the case expects, within its tolerance."""
    assert replay(case) == []


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
