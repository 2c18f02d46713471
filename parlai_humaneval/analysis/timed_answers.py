"""Answers about two models in the order in which they came, each with the rater time that it took."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.analysis.frames import Tables
from parlai_humaneval.analysis.likert import likert_groups
from parlai_humaneval.analysis.pair_wins import GROUP, counted_comparisons, oriented
from parlai_humaneval.analysis.turn_weights import single_groups

Floats = npt.NDArray[np.float64]
Objects = npt.NDArray[np.object_]
Keys: TypeAlias = "Objects | pd.Series[Any]"
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


class _Clock:
    """When dialogues and judgements began, and how long dialogues took, as far as the tables say."""

    def __init__(self, tables: Tables) -> None:
        dialogues = tables.dialogues
        keys = pd.MultiIndex.from_frame(dialogues[["dialogue_id", "worker_id"]])
        seconds = dialogues["seconds"].to_numpy(dtype=float, na_value=np.nan)
        self._seconds: pd.Series[Any] = pd.Series(seconds, index=keys)
        self._started: pd.Series[Any] = pd.Series(_epoch(dialogues["started"]), index=keys)
        judged = tables.judgements
        self._judged: pd.Series[Any] = pd.Series(_epoch(judged["started"]), index=judged["judgement_id"])
        # Who held a dialogue does not matter when its pair is judged.
        self._of_dialogue = self._seconds.groupby(level=0).mean()

    def seconds(self, dialogues: Keys, workers: Keys) -> Floats:
        return _found(self._seconds, pd.MultiIndex.from_arrays([dialogues, workers]))

    def started(self, dialogues: Keys, workers: Keys) -> Floats:
        return _found(self._started, pd.MultiIndex.from_arrays([dialogues, workers]))

    def judged(self, judgements: pd.Series[Any]) -> Floats:
        return _found(self._judged, pd.Index(judgements))

    def collected(self, dialogues: pd.Series[Any]) -> Floats:
        return _found(self._of_dialogue, pd.Index(dialogues.unique()))


def _found(known: pd.Series[Any], keys: pd.Index[Any]) -> Floats:
    return np.asarray(known.reindex(keys).to_numpy(dtype=float))


def _epoch(times: pd.Series[Any]) -> Floats:
    """Seconds since 1970; nan where nothing is said, or nothing that can be read."""
    read = pd.to_datetime(times.fillna(""), utc=True, errors="coerce", format="ISO8601")
    seconds = (read - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
    return np.asarray(seconds.to_numpy(dtype=float))


def answers_in_time(tables: Tables) -> list[TimedAnswers]:
    """Comparisons first, then ticks and ratings of single models. What has no time at all is left out."""
    clock = _Clock(tables)
    return [*_comparisons(tables, clock), *_ticks(tables, clock), *_ratings(tables, clock)]


def _comparisons(tables: Tables, clock: _Clock) -> Iterator[TimedAnswers]:
    rows = counted_comparisons(tables)
    if rows.empty:
        return
    rows = oriented(rows)
    began = clock.started(rows["dialogue_a"], rows["worker_id"])
    rows = rows.assign(
        at=np.where(rows["kind"] == "dialogue", clock.judged(rows["judgement_id"]), began),
        talk=clock.seconds(rows["dialogue_a"], rows["worker_id"]),
    ).sort_values(["at", "turn"], kind="stable")
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


def _collection(rows: pd.DataFrame, kind: str, setting: str, clock: _Clock) -> tuple[Collection, float | None]:
    if kind != "dialogue" or setting == "self_chat":
        return "none", None
    seconds = clock.collected(pd.concat([rows["dialogue_a"], rows["dialogue_b"]]))
    known = seconds[~np.isnan(seconds)]
    return ("counted", float(known.mean())) if known.size else ("unknown", None)


def _filled(seconds: Floats) -> Floats | None:
    """Times that are missing are taken for the median; None where none is known."""
    known = seconds[~np.isnan(seconds)]
    return np.where(np.isnan(seconds), np.median(known), seconds) if known.size else None


def _ticks(tables: Tables, clock: _Clock) -> Iterator[TimedAnswers]:
    for group in single_groups(tables):
        turns, names = group.turns, (group.technique, group.setting, "ticks", group.metric)
        codes, _ = pd.factorize(pd.MultiIndex.from_arrays([turns.dialogues, turns.workers]))
        size = np.bincount(codes, minlength=int(codes.max(initial=-1)) + 1)
        seconds = clock.seconds(turns.dialogues, turns.workers) / size[codes]
        order = np.lexsort((turns.turns, clock.started(turns.dialogues, turns.workers)))
        shown = ~np.isnan(turns.chosen)
        for i, j in turns.pairs():
            rows = order[(shown[:, i] | shown[:, j])[order]]
            values, of_a = np.where(shown[:, i], turns.chosen[:, i], turns.chosen[:, j])[rows], shown[rows, i]
            yield from _single(
                names, turns.models[i], turns.models[j], values, of_a, seconds[rows], turns.workers[rows]
            )


def _ratings(tables: Tables, clock: _Clock) -> Iterator[TimedAnswers]:
    for group in likert_groups(tables):
        names = (group.technique, group.setting, "rating", group.criterion)
        for a, b in combinations(group.models, 2):
            dialogues, workers = (np.concatenate([getattr(x, n) for x in (a, b)]) for n in ("dialogues", "workers"))
            order = np.argsort(clock.started(dialogues, workers), kind="stable")
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
