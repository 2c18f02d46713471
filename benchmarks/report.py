"""Seconds from ``report --tables`` of a large study to the written page."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.figures import Figure
from benchmarks.plain_statistics import pandas_bootstrap
from benchmarks.simulated_tables import (
    Study,
    comparisons_table,
    likert_table,
    ratings_table,
    segments_table,
    turns_table,
)
from parlai_humaneval.analysis import write_tables
from parlai_humaneval.planning.made_studies import only
from parlai_humaneval.tables.build import Tables

DIALOGUES, TURNS = 10_000, 100_000
AIM_SECONDS = {DIALOGUES: 10, TURNS: 20}
MANY_MODELS, SHOWN, MANY_AIM_SECONDS = 30, 8, 10
DRAWS, PEER_DRAWS = 1_000, 3
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


def many_turns(turns: int, rng: np.random.Generator) -> dict[str, Tables]:
    """Two models at so many turns: twenty dialogues a worker of ten turns each, and one dialogue a worker."""
    few, many = Study(workers=turns // 200, dialogues=20, turns=10), Study(workers=turns // 10, dialogues=1, turns=10)
    return {
        "one pick of two": only(turns=turns_table(few, rng)),
        "any number of two": only(turns=turns_table(few, rng, setting="sata_random", forced=False)),
        "one pick of two, a dialogue a worker": only(turns=turns_table(many, rng)),
    }


def many_models(models: int, workers: int, rng: np.random.Generator) -> dict[str, Tables]:
    """So many models: in dialogues of six turns that each show ``SHOWN`` or all of them, and finished, in pairs."""
    study = Study(workers=workers, dialogues=2, models=tuple(f"m{number}" for number in range(models)))
    pairs = Study(workers=max(1, workers // 8), dialogues=2, models=study.models)
    return {
        f"one pick of {SHOWN} a dialogue": only(turns=some_models(study, SHOWN, rng)),
        "one pick of all": only(turns=turns_table(study, rng)),
        "finished dialogues in pairs": only(comparisons=comparisons_table(pairs, rng)),
    }


def some_models(study: Study, shown: int, rng: np.random.Generator) -> pd.DataFrame:
    """Each dialogue shows ``shown`` models, drawn at random, of whose replies one is picked at every turn."""
    rows = turns_table(study, rng, forced=False)
    drawn = rng.random((study.workers * study.dialogues, len(study.models))).argsort(axis=1).argsort(axis=1) < shown
    rows = rows[np.repeat(drawn, study.turns, axis=0).ravel()].reset_index(drop=True)
    turns = rows.groupby(["dialogue_id", "turn"])
    # The best one of those that are liked, or of all where none is.
    liking = rows["selected"] + rng.random(len(rows))
    picked = (liking == liking.groupby([rows["dialogue_id"], rows["turn"]]).transform("max")).astype(int)
    position = turns["position"].rank(method="first").astype(int)
    return rows.assign(position=position, selected=picked, continued=picked)


def seconds(folder: Path) -> float:
    """Time of the command, all imports included. Raises CalledProcessError where it fails."""
    program = "from parlai_humaneval.cli import main; main()"
    command = [sys.executable, "-c", program, "report", "--tables", str(folder), "--draws", str(DRAWS)]
    started = time.perf_counter()
    subprocess.run([*command, "--out", str(folder / "report.html")], check=True, capture_output=True)
    return time.perf_counter() - started


def plain_seconds(path: Path, draws: int) -> float:
    """Time to read the table with pandas, and for one bootstrap interval of each model; ``draws`` are made of ``DRAWS``."""
    started = time.perf_counter()
    rows = pd.read_csv(path)
    answer = next(name for name in ("selected", "winner", "value", "label") if name in rows)
    model = "model" if "model" in rows else "model_a"
    won = (
        rows[answer] if answer in ("selected", "value") else rows[answer].isin(["bot"]) | (rows[answer] == rows[model])
    )
    answers = pd.DataFrame({"worker": rows["worker_id"], "won": won.astype(float)})
    read = time.perf_counter()
    for _, of_model in answers.groupby(rows[model]):
        pandas_bootstrap(of_model, draws)
    return read - started + (time.perf_counter() - read) * DRAWS / draws


def run(quick: bool) -> list[Figure]:
    """A figure a kind of table, of more turns, and of many models; with ``quick`` of one kind, 60 dialogues."""
    rng = np.random.default_rng(0)
    if quick:
        return [_figure("60 dialogues", *next(iter(studies(60, rng).items())), 10)]
    return [
        _figure(f"{size:,} {what}", name, tables, AIM_SECONDS[size])
        for size, what, make in ((DIALOGUES, "dialogues", studies), (TURNS, "turns", many_turns))
        for name, tables in make(size, rng).items()
    ] + [
        _figure(f"{MANY_MODELS} models", name, tables, MANY_AIM_SECONDS)
        for name, tables in many_models(MANY_MODELS, 100, rng).items()
    ]


def _figure(size: str, name: str, tables: Tables, aim: float) -> Figure:
    with tempfile.TemporaryDirectory() as folder:
        write_tables(tables, Path(folder))
        taken = seconds(Path(folder))
        ((table, frame),) = ((key, rows) for key, rows in vars(tables).items() if rows is not None and len(rows))
        peer = plain_seconds(Path(folder) / f"{table}.csv", PEER_DRAWS)
    return Figure(
        name=f"report of {size}: {name}",
        unit="s",
        ours=taken,
        peer=peer,
        peer_source="same run",
        note=f"`report --tables --out`, {len(frame):,} rows, {DRAWS:,} bootstrap draws; the aim is below {aim} s. Peer: "
        f"pandas reads the table, and puts the rows of the drawn workers together for one interval a model ({PEER_DRAWS} "
        "draws, multiplied)",
    )
