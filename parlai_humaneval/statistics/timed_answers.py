"""Answers about two models in the order in which they came, each with the rater time that it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.likert import likert_groups
from parlai_humaneval.statistics.pair_wins import GROUP, counted_comparisons, oriented
from parlai_humaneval.tables.choices import ChoiceGroup, choice_groups
from parlai_humaneval.tables.from_records import Tables
from parlai_humaneval.tables.rater_clock import Floats, Ints, Objects, RaterClock

Collection = Literal["none", "counted", "unknown"]


@dataclass(frozen=True)
class TimedAnswers:
    """All answers on two models under one metric or criterion, in order of time; arrays have an entry an answer.

    Attributes:
        kind: turn, verdict or dialogue of comparisons; ticks or rating of single models.
        values: of comparisons 1 where A won, 0 where B did, ½ a tie; of single models the tick or the rating.
        of_a: of single models, where a value is A's; None of comparisons.
        seconds: rater time of the answer, with its share of the conversation where raters talk themselves.
        collection: whether the dialogues that were judged had to be collected from raters, and their time is known.
        dialogue_seconds: mean time of one of those; None unless it is known.
    """

    technique: str
    setting: str
    kind: str
    metric: str
    model_a: str
    model_b: str
    values: Floats
    of_a: npt.NDArray[np.bool_] | None
    seconds: Floats
    workers: Objects
    collection: Collection = "none"
    dialogue_seconds: float | None = None


def answers_in_time(tables: Tables) -> list[TimedAnswers]:
    """Comparisons first, then turns, ticks and ratings of single models. What has no time at all is left out.

    Turns in which replies stood side by side are read from ``comparisons``; where these do not hold them, from ``turns``.
    """
    clock, groups = RaterClock(tables), choice_groups(tables)
    compared = list(_comparisons(tables, clock))
    known = {_question(one.metric, one.model_a, one.model_b) for one in compared if one.kind == "turn"}
    turns = (one for one in _turns(groups, clock) if _question(one.metric, one.model_a, one.model_b) not in known)
    return [*compared, *turns, *_ticks(groups, clock), *_ratings(tables, clock)]


def _question(metric: str, *models: str) -> tuple[str, ...]:
    return metric, *models


def _comparisons(tables: Tables, clock: RaterClock) -> Iterator[TimedAnswers]:
    rows = counted_comparisons(tables)
    if rows.empty:
        return
    rows = oriented(rows)
    began = clock.started(rows["dialogue_a"], rows["worker_id"])
    rows = rows.assign(
        at=np.where(rows["kind"] == "dialogue", clock.judged(rows["judgement_id"]), began),
        talk=clock.seconds(rows["dialogue_a"], rows["worker_id"]),
        row=_rows(rows),
    ).sort_values(["at", "row", "turn"], kind="stable")
    for key, own in rows.groupby([*GROUP, "model_a", "model_b"], sort=True):
        technique, setting, kind, metric, a, b = (str(part) for part in key)
        seconds = own["seconds"].to_numpy(dtype=float, na_value=np.nan)
        if kind != "dialogue":
            # Raters talk to be able to answer: the whole conversation is spent on its answers.
            answers = own.groupby(["dialogue_a", "worker_id"])["turn"].transform("size").to_numpy(dtype=float)
            talk = own["talk"].to_numpy(dtype=float) / answers
            seconds = np.where(np.isnan(talk), seconds, talk)
        filled = _filled(seconds)
        if filled is None:
            continue
        collection, each = _collection(own, kind, setting, clock)
        values = (own["outcome"].to_numpy(dtype=float) + 1) / 2
        workers = own["worker_id"].to_numpy(dtype=object)
        yield TimedAnswers(technique, setting, kind, metric, a, b, values, None, filled, workers, collection, each)


def _rows(rows: pd.DataFrame) -> Ints:
    """The order where no time is said: that of the table, in which turns of one conversation belong together."""
    number = np.arange(len(rows))
    first = pd.Series(number, index=rows.index).groupby([rows["dialogue_a"], rows["worker_id"]]).transform("min")
    return np.asarray(np.where(rows["kind"] == "dialogue", number, first), dtype=np.int64)


def _collection(rows: pd.DataFrame, kind: str, setting: str, clock: RaterClock) -> tuple[Collection, float | None]:
    if kind != "dialogue" or setting == "self_chat":
        return "none", None
    seconds = clock.collected(pd.concat([rows["dialogue_a"], rows["dialogue_b"]]))
    known = seconds[~np.isnan(seconds)]
    return ("counted", float(known.mean())) if known.size else ("unknown", None)


def _filled(seconds: Floats) -> Floats | None:
    """Times that are missing are taken for the median; None where none is known."""
    known = seconds[~np.isnan(seconds)]
    return np.where(np.isnan(seconds), np.median(known), seconds) if known.size else None


def _turns(groups: Sequence[ChoiceGroup], clock: RaterClock) -> Iterator[TimedAnswers]:
    """Every two models whose replies stood side by side, in whichever company: 1 where only A's was chosen, ½ a tie."""
    found: dict[tuple[str, ...], list[_Turns]] = {}
    for group in groups:
        if group.kind == "single":
            continue
        turns = group.turns
        seconds = clock.of_turns(turns.dialogues, turns.workers, turns.turns)
        for i, j in combinations(range(len(group.models)), 2):
            values = (1 + turns.chosen[:, i] - turns.chosen[:, j]) / 2
            both = ~np.isnan(values)
            columns = (values, seconds, turns.turns, turns.dialogues, turns.workers)
            part = _Turns(*(column[both] for column in columns))
            found.setdefault((*group.family, group.models[i], group.models[j]), []).append(part)
    for (technique, setting, metric, a, b), parts in found.items():
        values, seconds, numbers, dialogues, workers = (np.concatenate(column) for column in zip(*parts, strict=True))
        filled = _filled(seconds)
        if filled is None:
            continue
        order = clock.order(dialogues, workers, numbers)
        yield TimedAnswers(technique, setting, "turn", metric, a, b, values[order], None, filled[order], workers[order])


class _Turns(NamedTuple):
    """Columns of turns that showed two models."""

    values: Floats
    seconds: Floats
    turns: Floats
    dialogues: Objects
    workers: Objects


def _ticks(groups: Sequence[ChoiceGroup], clock: RaterClock) -> Iterator[TimedAnswers]:
    for group in groups:
        if group.kind != "single":
            continue
        turns, names = group.turns, (group.technique, group.setting, "ticks", group.metric)
        seconds = clock.of_turns(turns.dialogues, turns.workers, turns.turns)
        order = clock.order(turns.dialogues, turns.workers, turns.turns)
        shown = ~np.isnan(turns.chosen)
        for i, j in turns.pairs():
            rows = order[(shown[:, i] | shown[:, j])[order]]
            values, of_a = np.where(shown[:, i], turns.chosen[:, i], turns.chosen[:, j])[rows], shown[rows, i]
            yield from _single(
                names, turns.models[i], turns.models[j], values, of_a, seconds[rows], turns.workers[rows]
            )


def _ratings(tables: Tables, clock: RaterClock) -> Iterator[TimedAnswers]:
    for group in likert_groups(tables):
        names = (group.technique, group.setting, "rating", group.criterion)
        for a, b in combinations(group.models, 2):
            dialogues, workers = (np.concatenate([getattr(x, n) for x in (a, b)]) for n in ("dialogues", "workers"))
            order = clock.order(dialogues, workers)
            values = np.concatenate([a.values, b.values])[order]
            of_a, seconds = order < len(a.values), clock.seconds(dialogues, workers)[order]
            yield from _single(names, a.model, b.model, values, of_a, seconds, workers[order])


def _single(
    names: Sequence[str],
    model_a: str,
    model_b: str,
    values: Floats,
    of_a: npt.NDArray[np.bool_],
    seconds: Floats,
    workers: Objects,
) -> Iterator[TimedAnswers]:
    filled = _filled(seconds)
    if filled is not None and of_a.any() and not of_a.all():
        technique, setting, kind, metric = names
        yield TimedAnswers(technique, setting, kind, metric, model_a, model_b, values, of_a, filled, workers)
