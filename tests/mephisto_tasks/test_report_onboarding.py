"""``report --onboarding`` and ``--reuse``: what rater time holds besides the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from mephisto_tasks.cli.report import report

TURNS = "dialogue_id,worker_id,technique,setting,metric,turn,model,position,selected,continued,written,seconds"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    lines = [
        f"d{d},w{d % 4},pw_turn,,preference,{turn},{model},{place},{int(place == 1 + (d + turn) % 2)},0,0,10"
        for d in range(8)
        for turn in (1, 2)
        for place, model in ((1, "a"), (2, "b"))
    ]
    (tmp_path / "turns.csv").write_text("\n".join([TURNS, *lines]) + "\n", encoding="utf-8")
    return tmp_path


def rater_time(folder: Path, *options: str) -> Any:
    result = CliRunner().invoke(report, ["--tables", str(folder), "--json", "--draws", "100", *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.output)["crowd_time"]


def test_onboarding_counts_once_for_each_worker(folder: Path) -> None:
    """Four workers with fifteen minutes of practice: an hour more than the answers took."""
    plain, more = rater_time(folder), rater_time(folder, "--onboarding", "900", "--reuse", "2")
    assert plain["pairs"][0]["hours"] == pytest.approx(16 * 10 / 3600)
    assert more["pairs"][0]["hours"] == pytest.approx(16 * 10 / 3600 + 1)
    assert any("is not counted here" in remark for remark in plain["remarks"])
    assert any("900 seconds of onboarding" in remark for remark in more["remarks"])


@pytest.mark.parametrize("option", [("--onboarding", "-1"), ("--reuse", "0")])
def test_impossible_values_are_refused(folder: Path, option: tuple[str, str]) -> None:
    result = CliRunner().invoke(report, ["--tables", str(folder), "--json", *option])
    assert result.exit_code == 2
    assert option[0] in result.output
