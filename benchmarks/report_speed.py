"""Seconds from ``report --tables`` of a large study to the written page, as a user waits for it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.figures import Figure
from benchmarks.simulated_tables import (
    Study,
    comparisons_table,
    likert_table,
    only,
    ratings_table,
    segments_table,
    turns_table,
)
from parlai_humaneval.analysis import write_tables
from parlai_humaneval.tables.from_records import Tables

DIALOGUES = 10_000
AIM_SECONDS = 20
MODELS = ("a", "b", "c", "d")


def studies(dialogues: int, rng: np.random.Generator) -> dict[str, Tables]:
    """A study of so many dialogues for each kind of table."""
    live = Study(workers=dialogues // 2, dialogues=2, models=MODELS)
    judged = Study(workers=dialogues // 20, dialogues=20, models=MODELS)
    pairs = Study(workers=dialogues // 12, dialogues=2, models=MODELS)
    return {
        "one pick of four, six turns": only(turns=turns_table(live, rng)),
        "any number of four, six turns": only(turns=turns_table(live, rng, setting="sata_random", forced=False)),
        "free-for-all of four, six turns": only(turns=turns_table(live, rng, technique="free_for_all", setting="")),
        "finished dialogues in pairs": only(comparisons=comparisons_table(pairs, rng)),
        "direct assessment": only(ratings=ratings_table(Study(workers=dialogues // 5, models=MODELS), rng)),
        "Likert ratings": only(ratings=likert_table(live, rng)),
        "judged segments": only(segments=segments_table(judged, rng)),
    }


def seconds(folder: Path) -> float:
    """Time of the command, all imports included. Raises CalledProcessError where it fails."""
    program = "from parlai_humaneval.cli import main; main()"
    command = [sys.executable, "-c", program, "report", "--tables", str(folder)]
    started = time.perf_counter()
    subprocess.run([*command, "--out", str(folder / "report.html")], check=True, capture_output=True)
    return time.perf_counter() - started


def run(quick: bool) -> list[Figure]:
    """A figure a kind of table; with ``quick`` of two kinds, 60 dialogues each."""
    dialogues = 60 if quick else DIALOGUES
    figures = []
    for name, tables in list(studies(dialogues, np.random.default_rng(0)).items())[: 2 if quick else None]:
        with tempfile.TemporaryDirectory() as folder:
            write_tables(tables, Path(folder))
            taken = seconds(Path(folder))
        rows = sum(len(frame) for frame in vars(tables).values() if isinstance(frame, pd.DataFrame))
        note = f"`report --tables --out`, {rows:,} rows, 1,000 bootstrap draws; the aim is below {AIM_SECONDS} s"
        figures.append(Figure(name=f"report of {dialogues:,} dialogues: {name}", unit="s", ours=taken, note=note))
    return figures
