"""Made-up slider ratings of a direct assessment, by workers who can tell the degraded model (Ji et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Ints
from parlai_humaneval.planning.inputs import PlanInputs
from parlai_humaneval.statistics.ratings.sliders import REVERSED_CRITERIA, standardised, worker_checks
from parlai_humaneval.tables.columns import typed

CRITERIA = ("interesting", "fun", "consistent", "fluent", "topic", *REVERSED_CRITERIA)
MIDDLE, OF_WORKERS, OF_DIALOGUES, OF_CRITERIA = 38.0, 13.0, 17.0, 32.0
"""Points of the scale: where a dialogue is rated on average, and standard deviations between workers, between dialogues of
a worker, and between the criteria of a dialogue. Cut at 0 and 100, and of workers who pass, standardised scores of dialogues
have a standard deviation of .49, and two of a worker who rates five models correlate by −.24; in run 1 of the data of Ji et
al. 2022 it is .47 and −.22."""
DEGRADED = 30.0
"""Points by which the degraded model is below the others, of these workers."""
_CALIBRATED = 12_000
"""Workers by models by whom the gap is turned into points."""
_A_GUESS, _STEPS = 30.0, 3
"""Points of a gap of 1, and how often the guess is made better."""
_DRAWN = 3
"""Times as many workers are drawn as are kept, of whom some do not pass the check."""


def slider_study(
    question: PlanInputs, names: Sequence[str], sizes: Ints
) -> Callable[[np.random.Generator], pd.DataFrame]:
    """What draws one study: ``sizes`` dialogues of each worker with each model, and with the degraded one."""
    points = _points_of_gap(question.gap or 0.0, int(np.median(sizes)), len(names), question.icc or 0.0)
    levels = _levels(points, len(names))

    def draw(rng: np.random.Generator) -> pd.DataFrame:
        frames: list[pd.DataFrame] = []
        for size in np.unique(sizes):  # workers who give equally much, of whom those count who pass
            wanted, kept = int((sizes == size).sum()), 0
            while kept < wanted:
                scores = _scores(levels, int(size), _DRAWN * wanted, question.icc or 0.0, rng)
                part = _frame(scores, [*names, "degraded"], len(frames))
                checks = worker_checks(part)
                passed = checks["worker_id"][checks["passed"]].to_numpy()[: wanted - kept]
                frames.append(part[part["worker_id"].isin(passed).to_numpy()])
                kept += len(passed)
        return typed("ratings", pd.concat(frames, ignore_index=True))

    return draw


def _scores(levels: Floats, size: int, workers: int, icc: float, rng: np.random.Generator) -> Floats:
    """Workers × models (the degraded one last) × dialogues × criteria, within the scale, more as better."""
    every = np.append(levels, -DEGRADED)
    taste = rng.normal(0, 1, (workers, len(every), 1)) * np.sqrt(icc)
    own = rng.normal(0, 1, (workers, len(every), size)) * np.sqrt(1 - icc)
    dialogue = every[:, None] + OF_DIALOGUES * (taste + own) + rng.normal(0, OF_WORKERS, (workers, 1, 1))
    noise = rng.normal(0, OF_CRITERIA, (*dialogue.shape, len(CRITERIA)))
    return np.asarray(np.clip(MIDDLE + dialogue[..., None] + noise, 0, 100))


def _frame(scores: Floats, names: Sequence[str], part: int) -> pd.DataFrame:
    worker, model, number, criterion = (place.ravel() for place in np.indices(scores.shape))
    backwards = np.isin(CRITERIA, REVERSED_CRITERIA)[criterion]
    values = scores.ravel()
    person = np.array([f"w{part}-{number}" for number in range(len(scores))], dtype=object)[worker]
    dialogue = (
        person + np.array([f" {name} " for name in names], dtype=object)[model] + number.astype(str).astype(object)
    )
    rows: pd.DataFrame = pd.DataFrame(
        {
            "dialogue_id": dialogue,
            "worker_id": person,
            "technique": "direct_assessment",
            "model": np.array(names, dtype=object)[model],
            "criterion": np.array(CRITERIA, dtype=object)[criterion],
            "value": np.where(backwards, 100 - values, values),
            "degraded": (model == len(names) - 1).astype(int),
        }
    )
    return rows


@lru_cache
def _points_of_gap(gap: float, size: int, models: int, icc: float) -> float:
    """By how many points the first model is above the last, so that by the report's standardised scores a dialogue of the
    first is above one of the last more often than below by the gap: of many workers, the same whatever the points."""

    def lead(points: float) -> float:
        scores = _scores(_levels(points, models), size, _CALIBRATED // models, icc, np.random.default_rng(0))
        frame = typed("ratings", _frame(scores, [str(number) for number in range(models + 1)], 0))
        checks = worker_checks(frame)
        z = standardised(frame).reshape(scores.shape).mean(axis=-1)[checks["passed"].to_numpy()[_places(checks)]]
        first, last = np.sort(z[:, 0].ravel()), z[:, models - 1].ravel()
        below, reached = (np.searchsorted(first, last, side) for side in ("left", "right"))
        return float(1 - (below + reached).mean() / len(first))

    by_chance = lead(0.0)
    points = _A_GUESS * gap
    for _ in range(_STEPS):
        points *= gap / max(lead(points) - by_chance, gap / 4)
    return points


def _places(checks: pd.DataFrame) -> Ints:
    """Where each worker, by number, stands among those of ``checks``, which are sorted by name."""
    numbers = checks["worker_id"].str.rpartition("-")[2].to_numpy(dtype=np.int64)
    return np.argsort(numbers)


def _levels(points: float, models: int) -> Floats:
    """Of each model: the first and the last are ``points`` apart, others lie in the middle."""
    return np.array([points / 2, *[0.0] * (models - 2), -points / 2])
