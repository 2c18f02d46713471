"""Seconds to read the units of a task back, next to Mephisto's DataBrowser."""

from __future__ import annotations

import gc
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, median
from benchmarks.processes import BenchmarkError
from benchmarks.stored_units import TASK_NAME, write_units
from mephisto_tasks.storage.results import read_dialogues

UNITS = 2000
REPEATS = 5
PEER_REPEATS = 3
SIZES = {"small units (1 turn)": 1, "usual units (6 turns)": 6}
NOTE = (
    "{units} units → checked records with pseudonyms. Peer: Mephisto's DataBrowser, get_units_for_task_name and "
    "get_data_from_unit for each, on the same database, which gives the unchecked JSON of each unit"
)


def browse(data_dir: Path) -> list[Any]:
    """Mephisto's own way."""
    from mephisto.abstractions.databases.local_database import LocalMephistoDB
    from mephisto.tools.data_browser import DataBrowser

    browser = DataBrowser(LocalMephistoDB(str(data_dir / "database.db")))
    return [browser.get_data_from_unit(unit) for unit in browser.get_units_for_task_name(TASK_NAME)]


def seconds(read: Callable[[], list[Any]], expected: int) -> float:
    """Time of one call. Raises BenchmarkError when it does not give all units."""
    gc.collect()
    started = time.perf_counter()
    found = read()
    taken = time.perf_counter() - started
    if len(found) != expected:
        raise BenchmarkError(f"{expected} units were written, but {len(found)} were read")
    return taken


def compare(units: int, turns: int, label: str, repeats: int = REPEATS) -> Figure:
    """Both sides take turns; the first call of each is not counted."""
    with tempfile.TemporaryDirectory() as name:
        data_dir = Path(name) / "data"
        write_units(data_dir, units, turns)

        def ours() -> list[Any]:
            return list(read_dialogues(data_dir, TASK_NAME))

        def peer() -> list[Any]:
            return browse(data_dir)

        seconds(ours, units)
        our_times, peer_times = [], []
        for number in range(repeats):
            our_times.append(seconds(ours, units))
            if number < PEER_REPEATS:
                peer_times.append(seconds(peer, units))
    return Figure(
        name=f"reading {units} {label}",
        unit="s",
        ours=median(our_times),
        peer=median(peer_times),
        peer_source="same run",
        note=NOTE.format(units=units),
        repeats=len(our_times),
    )


def run(quick: bool) -> list[Figure]:
    """Small and usual units; with ``quick`` three of each, once."""
    units, repeats = (3, 1) if quick else (UNITS, REPEATS)
    return [compare(units, turns, label, repeats) for label, turns in SIZES.items()]
