"""The benchmarks run and give well-formed figures. No time is asserted: that would only test the machine."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks.__main__ import BENCHMARKS, main
from benchmarks.bundle import gzipped_kb
from benchmarks.figures import Figure, percentile
from benchmarks.stored_units import TASK_NAME, dialogue, write_units
from mephisto_tasks.storage.results import read_dialogues


def test_reading_compares_equal_units(tmp_path: Path) -> None:
    """Guards the synthetic database: what our reader finds in it is what was written."""
    write_units(tmp_path / "data", units=3, turns=6)
    records = read_dialogues(tmp_path / "data", TASK_NAME)
    assert [record.dialogue_id for record in records] == ["1-1", "1-2", "1-3"]
    assert all(record.status == "complete" and len(record.complete_turns) == 6 for record in records)
    assert len({record.worker for record in records}) == 3
    assert len(dialogue(1, turns=6)) == 1 + 3 * 6 + 1


@pytest.mark.parametrize(("better", "ratio"), [("less", 5.0), ("more", 0.2)])
def test_ratio_says_how_many_times_better_ours_is(better: str, ratio: float) -> None:
    """Guards the direction of the ratio: less time is better, fewer replies a second are not."""
    values = {"name": "x", "unit": "s", "ours": 2.0, "peer": 10.0, "peer_source": "same run", "note": "n"}
    assert Figure.model_validate({**values, "better": better}).ratio == pytest.approx(ratio)


def test_no_ratio_without_a_peer() -> None:
    """Guards against a made-up ratio where the peer was not measured."""
    assert Figure(name="x", unit="s", ours=2.0, note="n").ratio is None


def test_percentile_is_a_measured_value() -> None:
    """Guards p95: the nearest rank, never beyond the largest."""
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 96.0
    assert percentile([3.0], 0.95) == 3.0


def test_bundle_counts_what_browsers_load(tmp_path: Path) -> None:
    """Guards the bundle's size against counting source maps and against missing nested files."""
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text("<html></html>")
    only_page = gzipped_kb(tmp_path)
    (tmp_path / "assets" / "app.js.map").write_text("x" * 1000)
    assert gzipped_kb(tmp_path) == only_page
    (tmp_path / "assets" / "app.js").write_text("x" * 1000)
    assert gzipped_kb(tmp_path) > only_page


def test_help_names_every_benchmark() -> None:
    """Guards the list in ``--help`` against a benchmark that nobody can find."""
    printed = CliRunner().invoke(main, ["--help"]).output
    assert all(name in printed for name in BENCHMARKS)
    assert "Example" in printed


def test_unknown_benchmark_is_refused_with_the_known_ones() -> None:
    """Guards the error of a mistyped name: it lists what there is, without a traceback."""
    result = CliRunner().invoke(main, ["lunch"])
    assert result.exit_code == 2
    assert "launch" in result.output
