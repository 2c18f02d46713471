"""Turns in which replies are chosen from several, as matrices: turns × models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.tables.counting import Mask, finished, is_set, that_count

Floats = npt.NDArray[np.float64]
Objects = npt.NDArray[np.object_]


@dataclass(frozen=True)
class ChosenTurns:
    """Answered turns of one group of models. All arrays have an entry a turn.

    ``chosen``: turns × ``models``; 1 chosen, 0 not, nan where nothing of that model was shown. ``by_position``: the
    same by place shown, where equal replies were shown once.
    """

    models: list[str]
    chosen: Floats
    by_position: Floats
    workers: Objects
    dialogues: Objects
    turns: Floats
    written: Floats

    def from_turn(self, first: int) -> ChosenTurns:
        """Only turn ``first`` and later ones."""
        return self._only(self.turns >= first)

    def all_shown(self) -> ChosenTurns:
        """Only turns in which no model failed."""
        return self._only(~np.isnan(self.chosen).any(axis=1))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Columns of each two models."""
        return combinations(range(len(self.models)), 2)

    def _only(self, rows: Mask) -> ChosenTurns:
        return ChosenTurns(
            self.models,
            self.chosen[rows],
            self.by_position[rows],
            self.workers[rows],
            self.dialogues[rows],
            self.turns[rows],
            self.written[rows],
        )


@dataclass(frozen=True)
class TurnGroup:
    """Turns that can be compared: one setting, metric and set of models.

    ``counted``: those the numbers rest on, of ``dialogues``. Beside them: turns in which nothing was asked because all
    replies were the same, replies that failed, and answered turns of unfinished dialogues, which count only with
    ``include_partial``.
    """

    setting: str
    metric: str
    counted: ChosenTurns
    dialogues: frozenset[str]
    automatic_turns: int
    failed_replies: int
    unfinished_dialogues: int
    unfinished_turns: int


def turn_groups(turns: pd.DataFrame, *, include_partial: bool) -> list[TurnGroup]:
    """The groups of a ``turns`` table, sorted by setting, metric and models; turns with no choice are left out."""
    asked = turns["tick_choices"].isna().to_numpy(dtype=bool) & ~is_set(turns, "continued_each")
    rows = turns[asked & is_set(turns, "complete", missing=1)]
    twice = rows.duplicated(["dialogue_id", "turn", "model"], keep=False).to_numpy(dtype=bool)
    rows = rows[~twice]  # a model against itself has no winner
    rows = rows.assign(setting=rows["setting"].fillna(""), models=rows["dialogue_id"].map(_models_of(turns)))
    groups = rows.groupby(["setting", "metric", "models"], sort=True)
    return [
        _group(str(setting), str(metric), names.split(";"), part, include_partial)
        for (setting, metric, names), part in groups
        if ";" in names
    ]


def _models_of(turns: pd.DataFrame) -> dict[str, str]:
    """Dialogue → names of its models, sorted and joined by ;."""
    names: dict[str, list[str]] = {}
    for dialogue, model in turns[["dialogue_id", "model"]].drop_duplicates().itertuples(index=False):
        names.setdefault(dialogue, []).append(model)
    return {dialogue: ";".join(sorted(models)) for dialogue, models in names.items()}


def _group(setting: str, metric: str, models: list[str], rows: pd.DataFrame, include_partial: bool) -> TurnGroup:
    left = rows[~finished(rows)].drop_duplicates(["dialogue_id", "turn"])
    rows = rows[that_count(rows, include_partial)]
    automatic = is_set(rows, "automatic")
    return TurnGroup(
        setting=setting,
        metric=metric,
        counted=_matrix(rows[~automatic], models),
        dialogues=frozenset(str(dialogue) for dialogue in rows["dialogue_id"]),
        automatic_turns=len(rows[automatic].drop_duplicates(["dialogue_id", "turn"])),
        failed_replies=int(is_set(rows, "failed").sum()),
        unfinished_dialogues=int(left["dialogue_id"].nunique()),
        unfinished_turns=len(left),
    )


def _matrix(rows: pd.DataFrame, models: list[str]) -> ChosenTurns:
    codes = rows.groupby(["dialogue_id", "turn"], sort=False).ngroup().to_numpy(dtype=int)
    first = rows.drop_duplicates(["dialogue_id", "turn"])
    model_codes = pd.Categorical(rows["model"], categories=models).codes
    shown = ~is_set(rows, "failed")
    selected = rows["selected"].to_numpy(dtype=float)
    chosen = np.full((len(first), len(models)), np.nan)
    chosen[codes[shown], model_codes[shown]] = selected[shown]
    return ChosenTurns(
        models=models,
        chosen=chosen,
        by_position=_positions(rows, codes, selected, len(first)),
        workers=first["worker_id"].to_numpy(dtype=object),
        dialogues=first["dialogue_id"].to_numpy(dtype=object),
        turns=first["turn"].to_numpy(dtype=float),
        written=is_set(first, "written").astype(float),
    )


def _positions(rows: pd.DataFrame, codes: npt.NDArray[np.int64], selected: Floats, n: int) -> Floats:
    position = rows["position"].to_numpy(dtype=int)
    own = (position > 0) & rows["same_as"].isna().to_numpy(dtype=bool)
    places = np.full((n, int(position.max()) if len(position) else 0), np.nan)
    places[codes[own], position[own] - 1] = selected[own]
    return places
