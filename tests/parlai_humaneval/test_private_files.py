"""Names of folders outlast a loss of power, and each is waited for once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from parlai_humaneval._util.files import settle_folders


def test_folders_beside_settled_ones_wait_for_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rater has a folder in that of the run: it is settled there, and the folders above are not asked again."""
    run = tmp_path / "run"
    first, second = run / "1", run / "2"
    settled: list[int] = []
    sync = os.fsync

    def fsync(descriptor: int) -> None:
        settled.append(os.fstat(descriptor).st_ino)
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    first.mkdir(parents=True)
    settle_folders(first)
    assert settled[:3] == [each.stat().st_ino for each in (first, run, tmp_path)]
    settled.clear()
    second.mkdir()
    settle_folders(second)
    assert settled == [each.stat().st_ino for each in (second, run)]
