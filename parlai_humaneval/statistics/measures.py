"""What a study measures, in one form: observations whose mean is a gap between two models, whatever the technique.

Turns, comparisons, ratings and labels all come down to it: with paired answers an observation is the difference of one
turn; with ratings of one model at a time it is how far a rating pulls the difference of the two means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.design import observations_per_cluster

Floats = npt.NDArray[np.float64]
Objects = npt.NDArray[np.object_]
Source = Literal["turns", "comparisons", "ratings", "segments"]
Unit = Literal["share", "points", "z"]
"""Of gaps: a share of 0 to 1, points of a rating scale, or standard deviations of a worker's ratings."""


@dataclass(frozen=True)
class GapData:
    """Model A against B: observations whose mean is the gap A − B, and who gave them in which dialogue.

    ``second``: of models judged one at a time, which observations are of B; None where each is of both.
    """

    model_a: str
    model_b: str
    values: Floats
    workers: Objects
    dialogues: Objects
    second: npt.NDArray[np.bool_] | None = None

    @property
    def per_worker(self) -> float | None:
        """Σn²/Σn, of the observations that a worker gives to a sample: to the pair, or to a model judged by itself."""
        codes = pd.factorize(self.workers)[0]
        return observations_per_cluster(codes if self.second is None else 2 * codes + self.second)

    @property
    def judged_both(self) -> float:
        """Share of the workers who judged both models."""
        if self.second is None:
            return 1.0
        a, b = set(self.workers[~self.second]), set(self.workers[self.second])
        return len(a & b) / max(1, len(a | b))


@dataclass(frozen=True)
class Alike:
    """Observations of which one asks how alike they are within a worker: with the means of models taken out.

    ``strata``: which pair each is about; one answer may stand in several pairs, so that likeness is asked within each.
    ``n``: how many answers they come from. ``levels``: are they answers on one model each, not differences of two?
    """

    values: Floats
    workers: Objects
    dialogues: Objects
    strata: npt.NDArray[np.int_]
    n: int
    levels: bool = False


@dataclass(frozen=True)
class Measure:
    """One question of a study: who is better by it, over pairs of models; and what answers to it are like."""

    source: Source
    technique: str
    setting: str
    metric: str
    noun: str
    unit: Unit
    alike: Alike
    gaps: list[GapData] = field(default_factory=list)


@dataclass(frozen=True)
class Answers:
    """Answers on one model at a time."""

    model: str
    values: Floats
    workers: Objects
    dialogues: Objects


def paired_gaps(
    models: Sequence[str], chosen: Floats, workers: npt.ArrayLike, dialogues: npt.ArrayLike
) -> tuple[list[GapData], Alike]:
    """Every two columns of ``chosen`` (answers × models, nan where a model was not shown): differences of each answer."""
    worker, dialogue = np.asarray(workers, dtype=object), np.asarray(dialogues, dtype=object)
    gaps = []
    for i, j in combinations(range(len(models)), 2):
        lead = chosen[:, i] - chosen[:, j]
        known = ~np.isnan(lead)
        if known.any():
            gaps.append(GapData(models[i], models[j], lead[known], worker[known], dialogue[known]))
    return gaps, alike_of_gaps(gaps, len(worker))


def alike_of_gaps(gaps: Sequence[GapData], n: int) -> Alike:
    """The observations of all pairs, each less the mean of its pair; of ``n`` answers in all."""
    return _alike([(gap.values, gap.workers, gap.dialogues) for gap in gaps], n)


def separate_gaps(answers: Sequence[Answers]) -> tuple[list[GapData], Alike]:
    """Every two models that were judged one at a time: differences of their means."""
    known = [one for one in map(_known, answers) if one.values.size]
    gaps = [_difference(a, b) for a, b in combinations(known, 2)]
    together = _alike([(one.values, one.workers, one.dialogues) for one in known], sum(o.values.size for o in known))
    return gaps, replace(together, strata=np.zeros(together.n, dtype=int), levels=True)


def _known(answers: Answers) -> Answers:
    there = ~np.isnan(answers.values)
    return Answers(answers.model, answers.values[there], answers.workers[there], answers.dialogues[there])


def _difference(a: Answers, b: Answers) -> GapData:
    """Each answer by how far it moves the difference: the mean of these is the difference, and so is their error."""
    n, gap = a.values.size + b.values.size, float(a.values.mean() - b.values.mean())
    pull = [(a.values - a.values.mean()) / a.values.size, -(b.values - b.values.mean()) / b.values.size]
    return GapData(
        a.model,
        b.model,
        gap + n * np.concatenate(pull),
        np.concatenate([a.workers, b.workers]),
        np.concatenate([a.dialogues, b.dialogues]),
        np.repeat([False, True], [a.values.size, b.values.size]),
    )


def _alike(parts: Sequence[tuple[Floats, Objects, Objects]], n: int) -> Alike:
    nobody = np.zeros(0, dtype=object)
    return Alike(
        values=np.concatenate([values - values.mean() for values, _, _ in parts]) if parts else np.zeros(0),
        workers=np.concatenate([workers for _, workers, _ in parts]) if parts else nobody,
        dialogues=np.concatenate([dialogues for _, _, dialogues in parts]) if parts else nobody,
        strata=np.repeat(np.arange(len(parts)), [len(values) for values, _, _ in parts]),
        n=n,
    )


def answers_by_model(rows: pd.DataFrame, values: Floats) -> list[Answers]:
    """``values``, an entry a row, by the column ``model``, sorted."""
    workers, dialogues = (rows[name].to_numpy(dtype=object) for name in ("worker_id", "dialogue_id"))
    codes, models = pd.factorize(rows["model"], sort=True)
    return [
        Answers(str(model), values[own], workers[own], dialogues[own])
        for number, model in enumerate(models)
        for own in [codes == number]
    ]
