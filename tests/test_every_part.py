"""``make test``: no part hides another, and one summary says what failed."""

from __future__ import annotations

import pytest
from every_part import run_parts

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
    assert summary.count("tests/test_x.py::test_y") == 2
    assert summary.endswith("FAILED: lint, python\n")


def test_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_parts({"lint": GOOD, "web": GOOD}) == 0
    assert capsys.readouterr().out.endswith("3 passed in 1.0s\n\nAll parts passed.\n")
