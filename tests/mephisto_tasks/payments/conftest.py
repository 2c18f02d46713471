"""Folders in memory: each payment is on the disk before the next one is made, and a disk takes its time for that.

And the stand-in of Prolific, with people to pay.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from prolific_stage import Stage, at
from prolific_study import Remembered, everybody
from servers.prolific import StandIn

MEMORY = Path("/dev/shm")


@pytest.fixture
def tmp_path(tmp_path: Path) -> Iterator[Path]:
    """What a killed process wrote outlives it there as it does on a disk."""
    if not os.access(MEMORY, os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY, prefix="pay-") as folder:
        yield Path(folder)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """Made once; :func:`stage` is a copy to pay from."""
    with StandIn() as site:
        data_dir = tmp_path_factory.mktemp("pay") / "data"
        site.market.delays.bonus_seen_s = 0.0
        owed = everybody(data_dir, site)
        site.market.pass_time()
        yield Stage(data_dir, site, owed, Remembered(site))


@pytest.fixture
def stage(first: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Nobody has been paid but by hand."""
    first.before.again()
    at(first.site, tmp_path, monkeypatch)
    return Stage(Path(shutil.copytree(first.data_dir, tmp_path / "data")), first.site, first.owed, first.before)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    with StandIn() as server:
        at(server, tmp_path, monkeypatch)
        yield server
