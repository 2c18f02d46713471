"""Tidy tables of made-up studies: equal models, and workers who each have a taste of their own.

All models are equally good over the population of workers, so that every difference that a test finds is a false one. A
worker's answers are alike all the same: tastes (log-odds, or points) are drawn once a worker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.tables.columns import typed

Floats = npt.NDArray[np.float64]
Objects = npt.NDArray[np.object_]
CRITERIA = ("interesting", "fun", "consistent", "fluent", "topic", "robotic", "repetitive")
LABELS = np.array(["human", "unsure", "bot"], dtype=object)


@dataclass(frozen=True)
class Study:
    """How large, and how much workers differ (``taste``: standard deviation of log-odds between workers)."""

    workers: int = 60
    dialogues: int = 2
    turns: int = 6
    models: tuple[str, ...] = ("a", "b")
    taste: float = 1.0


def _tastes(study: Study, rng: np.random.Generator) -> Floats:
    """Workers × models."""
    return rng.normal(0, study.taste, (study.workers, len(study.models)))


def _turn_index(study: Study) -> tuple[npt.NDArray[np.int_], npt.NDArray[np.int_], npt.NDArray[np.int_]]:
    """Worker, dialogue and turn of each turn."""
    worker, dialogue, turn = (part.ravel() for part in np.indices((study.workers, study.dialogues, study.turns)))
    return worker, worker * study.dialogues + dialogue, turn + 1


def chosen_replies(study: Study, rng: np.random.Generator, *, forced: bool = True) -> tuple[Floats, Objects]:
    """Turns × models, 1 where a reply was chosen: the best one (``forced``), or each that is liked; and who chose."""
    worker, _, _ = _turn_index(study)
    likes = _tastes(study, rng)[worker]
    if forced:
        best = (likes + rng.gumbel(size=likes.shape)).argmax(axis=1)
        selected = np.arange(likes.shape[1]) == best[:, None]
    else:
        selected = rng.random(likes.shape) < 1 / (1 + np.exp(-likes))
    return selected.astype(float), _names("w", worker)


def turns_table(
    study: Study, rng: np.random.Generator, *, technique: str = "sata", setting: str = "soba", forced: bool = True
) -> pd.DataFrame:
    """Replies of all models in random order at every turn, chosen as in :func:`chosen_replies`."""
    _, dialogue, turn = _turn_index(study)
    selected, workers = chosen_replies(study, rng, forced=forced)
    position = rng.random(selected.shape).argsort(axis=1).argsort(axis=1) + 1
    size = len(study.models)
    frame = pd.DataFrame(
        {
            "dialogue_id": _names("d", np.repeat(dialogue, size)),
            "worker_id": np.repeat(workers, size),
            "technique": technique,
            "setting": setting,
            "metric": "preference",
            "turn": np.repeat(turn, size),
            "model": np.tile(np.array(study.models, dtype=object), len(turn)),
            "position": position.ravel(),
            "selected": selected.ravel().astype(int),
            "continued": selected.ravel().astype(int) if forced else 0,
            "written": 0,
            "seconds": np.repeat(rng.lognormal(2.5, 0.5, len(turn)), size),
        }
    )
    return typed("turns", frame)


def comparisons_table(study: Study, rng: np.random.Generator, *, ties: float = 0.1) -> pd.DataFrame:
    """Finished dialogues in pairs: ``dialogues`` judgements a worker of every pair of models."""
    pairs = [(i, j) for i in range(len(study.models)) for j in range(i + 1, len(study.models))]
    likes = _tastes(study, rng)
    worker, number = (part.ravel() for part in np.indices((study.workers, study.dialogues)))
    parts = []
    for i, j in pairs:
        lead = likes[worker, i] - likes[worker, j]
        won = rng.random(len(worker)) < 1 / (1 + np.exp(-lead))
        winner = np.where(won, study.models[i], study.models[j]).astype(object)
        winner[rng.random(len(worker)) < ties] = "tie"
        item = _names(f"{study.models[i]}-{study.models[j]}-", worker * study.dialogues + number)
        parts.append(
            pd.DataFrame(
                {
                    "item_id": item,
                    "worker_id": _names("w", worker),
                    "metric": "preference",
                    "model_a": study.models[i],
                    "model_b": study.models[j],
                    "dialogue_a": item + "-a",
                    "dialogue_b": item + "-b",
                    "winner": winner,
                    "seconds": rng.lognormal(4, 0.5, len(worker)),
                }
            )
        )
    return typed("comparisons", pd.concat(parts, ignore_index=True))


def ratings_table(study: Study, rng: np.random.Generator, *, degraded: str = "qc") -> pd.DataFrame:
    """Every worker rates a dialogue with each model, and one with a much worse one, on seven sliders."""
    models = (*study.models, degraded)
    worker, model = (part.ravel() for part in np.indices((study.workers, len(models))))
    likes = np.hstack([10 * _tastes(study, rng), np.full((study.workers, 1), -40.0)])[worker, model]
    level = rng.normal(55, 10, study.workers)[worker]
    values = np.clip(level[:, None] + likes[:, None] + rng.normal(0, 12, (len(worker), len(CRITERIA))), 0, 100)
    values[:, -2:] = 100 - values[:, -2:]
    size = len(CRITERIA)
    frame = pd.DataFrame(
        {
            "dialogue_id": _names("d", np.repeat(np.arange(len(worker)), size)),
            "worker_id": _names("w", np.repeat(worker, size)),
            "model": np.repeat(np.array(models, dtype=object)[model], size),
            "criterion": np.tile(np.array(CRITERIA, dtype=object), len(worker)),
            "value": values.ravel(),
            "degraded": np.repeat((model == len(models) - 1).astype(int), size),
        }
    )
    return typed("ratings", frame)


def likert_table(study: Study, rng: np.random.Generator) -> pd.DataFrame:
    """``dialogues`` of each worker, each with one of the models, rated from 1 to 5 at its end."""
    worker, number = (part.ravel() for part in np.indices((study.workers, study.dialogues)))
    model = rng.integers(0, len(study.models), len(worker))
    liking = 3 + 0.5 * (_tastes(study, rng)[worker, model] + rng.normal(0, study.taste, study.workers)[worker])
    frame = pd.DataFrame(
        {
            "dialogue_id": _names("d", worker * study.dialogues + number),
            "worker_id": _names("w", worker),
            "model": np.array(study.models, dtype=object)[model],
            "criterion": "engaging",
            "value": np.clip(np.round(liking + rng.normal(0, 0.7, len(worker))), 1, 5),
            "degraded": 0,
        }
    )
    return typed("ratings", frame)


def segments_table(study: Study, rng: np.random.Generator, lengths: Sequence[int] = (2, 3, 5)) -> pd.DataFrame:
    """Beginnings of dialogues of two different models, both judged; the longer, the more often both are spotted."""
    worker, number = (part.ravel() for part in np.indices((study.workers, study.dialogues)))
    size = len(worker)
    first = rng.integers(0, len(study.models), size)
    second = (first + rng.integers(1, len(study.models), size)) % len(study.models)
    k = np.array(lengths)[rng.integers(0, len(lengths), size)]
    likes, strictness = _tastes(study, rng), rng.normal(0, study.taste, study.workers)[worker]
    rows = []
    for entity, (own, other) in enumerate(((first, second), (second, first))):
        spotted = rng.random(size) < 1 / (1 + np.exp(-(strictness - likes[worker, own] + 0.4 * (k - 3))))
        label = np.where(spotted, "bot", LABELS[rng.integers(0, 2, size)])
        names = np.array(study.models, dtype=object)
        rows.append(
            pd.DataFrame(
                {
                    "dialogue_id": _names("d", worker * study.dialogues + number),
                    "worker_id": _names("w", worker),
                    "k": k,
                    "entity": entity,
                    "model": names[own],
                    "opponent": names[other],
                    "label": label,
                    **{feature: rng.integers(-1, 2, size) for feature in ("fluent", "sensible", "specific")},
                    "seconds": rng.lognormal(3.5, 0.4, size),
                }
            )
        )
    return typed("segments", pd.concat(rows, ignore_index=True))


def _names(prefix: str, numbers: npt.NDArray[np.int_]) -> npt.NDArray[np.object_]:
    return np.array([f"{prefix}{number}" for number in numbers], dtype=object)
