"""Dialogues of a free-for-all as matches: points of each model, in the order in which the dialogues began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups
from parlai_humaneval.tables.columns import Tables

TECHNIQUE = "free_for_all"


@dataclass(frozen=True)
class Dialogues:
    """Dialogues of one setting and metric, and their answered turns; ``models`` are all that took part in any.

    Attributes:
        points: dialogues × models, turns won; nan for a model that did not take part.
        workers: per dialogue.
        chosen, positions: turns × models, nan where not shown; ``positions`` None where none is known.
        turn_workers, turn_numbers, turn_dialogues: per turn; the last are rows of ``points``.
        started_known: dialogues stand in the order in which they began; else in that of the table.
    """

    setting: str
    metric: str
    models: list[str]
    points: Floats
    workers: Objects
    chosen: Floats
    positions: Floats | None
    turn_workers: Objects
    turn_numbers: Floats
    turn_dialogues: Ints
    started_known: bool
    automatic_turns: int
    failed_replies: int
    unfinished_dialogues: int

    def points_in_first_turns(self, most: int) -> tuple[list[int | None], Floats]:
        """Limits of turns (1, 2 … at most ``most`` − 1 of them, then None: all), and limits × dialogues × models."""
        numbers = np.unique(self.turn_numbers)[:-1][: most - 1]
        limits = [int(number) for number in numbers]
        cubes = [_points(self.chosen, self.turn_dialogues, self.turn_numbers <= limit, self.points) for limit in limits]
        return [*limits, None], np.stack([*cubes, self.points])


def free_for_all_dialogues(tables: Tables) -> list[Dialogues]:
    """The free-for-alls of ``tables``, sorted by setting and metric; none without two models that were compared.

    Which turns count is said in :func:`~parlai_humaneval.tables.choices.choice_groups`. Dialogues with other sets
    of models belong together. When a dialogue began is read from the table ``dialogues``.
    """
    groups = [group for group in choice_groups(_only(tables)) if group.kind != "single" and len(group.turns.turns)]
    families = groupby(groups, key=lambda group: group.family)  # they come sorted
    return [_dialogues(list(family), tables) for _, family in families]


def _only(tables: Tables) -> Tables:
    """The same tables where all turns are of free-for-alls, as what was made of them is kept."""
    mine = (tables.turns["technique"].str.lower() == TECHNIQUE).fillna(False).to_numpy(dtype=bool)
    if mine.all():
        return tables
    return Tables(turns=tables.turns[mine], dialogues=tables.dialogues, comparisons=tables.comparisons)


def _dialogues(groups: Sequence[ComparisonGroup], tables: Tables) -> Dialogues:
    models = sorted({model for group in groups for model in group.models})
    chosen = np.concatenate([_wide(group.turns.chosen, group.models, models) for group in groups])
    positions = np.concatenate([_wide(group.positions, group.models, models) for group in groups])
    names = np.concatenate([group.turns.dialogues for group in groups])
    workers = np.concatenate([group.turns.workers for group in groups])
    took_part = np.concatenate([_took_part(group, models) for group in groups])
    first = np.unique(names.astype(str), return_index=True)[1]
    ranked, known = _order(names[first], tables)
    first = first[ranked]
    turn_dialogues = pd.Index(names[first]).get_indexer(pd.Index(names)).astype(np.int64)
    absent = np.where(took_part[first], 0.0, np.nan)
    return Dialogues(
        setting=groups[0].setting,
        metric=groups[0].metric,
        models=models,
        points=_points(chosen, turn_dialogues, np.ones(len(chosen), dtype=bool), absent),
        workers=workers[first],
        chosen=chosen,
        positions=None if np.isnan(positions).all() else positions,
        turn_workers=workers,
        turn_numbers=np.concatenate([group.turns.turns for group in groups]),
        turn_dialogues=turn_dialogues,
        started_known=known,
        automatic_turns=sum(group.automatic_turns for group in groups),
        failed_replies=sum(group.failed_replies for group in groups),
        unfinished_dialogues=sum(group.unfinished_dialogues for group in groups),
    )


def _took_part(group: ComparisonGroup, models: Sequence[str]) -> Flags:
    """Turns × models: was the model in the turn's dialogue? A reply that failed is one of a model that was."""
    if not group.several_sets:
        return np.tile(np.isin(models, group.models), (len(group.turns.turns), 1))
    shown = pd.DataFrame(~np.isnan(_wide(group.turns.chosen, group.models, models)))
    return np.asarray(shown.groupby(group.turns.dialogues).transform("any"), dtype=bool)


def _wide(values: Floats, own: Sequence[str], models: Sequence[str]) -> Floats:
    """The columns of ``own`` among those of ``models``, nan elsewhere."""
    wide = np.full((len(values), len(models)), np.nan)
    wide[:, [models.index(model) for model in own]] = values
    return wide


def _points(chosen: Floats, dialogues: Ints, counted: Flags, shape: Floats) -> Floats:
    """Sums by dialogue of the counted turns; nan where ``shape`` is, as the model did not take part."""
    points = np.zeros(shape.shape)
    np.add.at(points, dialogues[counted], np.nan_to_num(chosen[counted]))
    return np.where(np.isnan(shape), np.nan, points)


def _order(names: Objects, tables: Tables) -> tuple[Ints, bool]:
    """Order of the dialogues: by when they began where that is known of all, else as they stand in ``turns``."""
    place = _by_name(tables.turns, np.arange(len(tables.turns)))
    rows = tables.dialogues
    times = pd.to_datetime(rows["started"], utc=True, format="ISO8601", errors="coerce")
    begun = _by_name(rows[times.notna().to_numpy(dtype=bool)], pd.DatetimeIndex(times.dropna()).asi8)
    at_table = np.array([place[name] for name in names], dtype=np.int64)
    if any(name not in begun for name in names):
        return np.argsort(at_table).astype(np.int64), False
    times_of = np.array([begun[name] for name in names], dtype=np.int64)
    return np.lexsort((at_table, times_of)).astype(np.int64), True


def _by_name(rows: pd.DataFrame, values: Ints) -> dict[str, int]:
    """The first of ``values`` of each dialogue, also by the name it has where several people rated it."""
    first = (~rows.duplicated(["dialogue_id", "worker_id"])).to_numpy(dtype=bool)
    own = rows[first]
    found = dict(zip(own["dialogue_id"] + " by " + own["worker_id"], values[first].tolist(), strict=True))
    for name, value in zip(own["dialogue_id"], values[first].tolist(), strict=True):
        found.setdefault(name, value)
    return found
