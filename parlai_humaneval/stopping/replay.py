"""What a stopping rule would have decided on data that were collected without one, and after how much of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import BaseModel, ConfigDict

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.statistics.preference.pairs import GROUP, counted_comparisons, orient_pairs
from parlai_humaneval.statistics.ratings.sliders import standardised
from parlai_humaneval.statistics.survival.spotting import bot_contests, spot_the_bot_segments
from parlai_humaneval.stopping.batch import Studies, contradictions
from parlai_humaneval.stopping.evidence import Evidence, pairs_of
from parlai_humaneval.stopping.rule import FLOOR, StoppingRule, stopping_rule
from parlai_humaneval.stopping.status import in_words
from parlai_humaneval.tables.choices import choice_groups, merged
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set, on_sliders, taken_as_finished

UNBALANCED = 2.0
"""Where one pair of models has so many times the dialogues of another, pairs were not equally likely."""
SHUFFLES = 100
NO_ALLOCATION = (
    "The data were collected without looking, so that nobody was sent where the answer was open: dialogues of pairs that "
    "were decided are passed over, and count neither as evidence nor as needed."
)
IN_PANELS = (
    "Dialogues showed more than two models at once: none could be taken out of them, so that a dialogue counts as needed as "
    "long as any of its pairs was open. Nothing is promised for such data."
)
NOT_BALANCED = (
    "Pairs of models have very different numbers of dialogues, so that they were not equally likely: each pair is decided "
    "by its own dialogues alone."
)
SCORES = "scores"
OF_SCORES = (
    "Scores have no win rate, so that no two models can be called equal, and what a worker rated counts as a whole. "
    "Nothing is promised for such data: a study of them needs a cap."
)
FINISHED_DIALOGUES = (
    "Finished dialogues were judged, some by several workers: what is decided holds for these dialogues, and less surely "
    "for others of the same models."
)
BY_ROWS = "It is not known when each worker began: they are taken in the order in which the tables name them."
IN_A_CIRCLE = (
    "Dialogues of {pairs} contradict those with other models: who is better may go in a circle. What follows through others "
    "may be wrong, and strengths on one line describe such models badly."
)


class ReplayedPair(BaseModel):
    """Two models: what would have been decided (None: nothing, with all the data), after so many of all dialogues."""

    model_config = ConfigDict(frozen=True)

    first: str
    second: str
    decided: Literal["first", "second", "equal"] | None
    after: int | None


class Replay(BaseModel):
    """What a stopping rule would have made of one technique, setting, metric and kind of data.

    Attributes:
        needed: dialogues (or comparisons, or judged segments) that were used until all was decided, or to the end.
        passed_over: of pairs that were decided by then.
        dialogues, workers: in the data.
        workers_needed: who had come when all was decided.
        answer: what would have been decided, in words.
        shuffles: replays with the workers in another order, in a share ``shuffled_decided`` of which all was decided;
            ``shuffled_share``: the mean share of the data that they needed, ``shuffled_low`` and ``shuffled_high``: between
            which four in five lie.
    """

    model_config = ConfigDict(frozen=True)

    technique: str
    setting: str
    metric: str
    kind: str
    models: tuple[str, ...]
    margin: float
    alpha: float
    evidence: Literal["pooled", "direct"]
    pairs: tuple[ReplayedPair, ...]
    answer: str
    needed: int
    passed_over: int
    dialogues: int
    workers: int
    workers_needed: int
    shuffles: int
    shuffled_share: float | None
    shuffled_low: float | None
    shuffled_high: float | None
    shuffled_decided: float | None
    notes: tuple[str, ...]

    @property
    def decided(self) -> bool:
        """Would every pair have been decided?"""
        return all(pair.decided is not None for pair in self.pairs)

    @property
    def share(self) -> float:
        """Of the data, what was needed."""
        return self.needed / self.dialogues

    def __str__(self) -> str:
        name = " ".join(part for part in (self.technique, self.setting, self.metric) if part)
        open_pairs = sum(pair.decided is None for pair in self.pairs)
        reached = "answer reached" if self.decided else f"{open_pairs} of {len(self.pairs)} pairs open"
        answer = f": {self.answer}" if self.answer else ""
        return f"{name}: {reached}{answer}; {self.needed} of {self.dialogues} dialogues ({self.share:.0%})"


@dataclass(frozen=True)
class _Material:
    """Answers of one kind: a row each, in the order of the table.

    Attributes:
        workers: of each row, their number in the order of arrival.
        shares: rows × pairs; nan of what the row does not show.
        done: of each row, which part of the dialogue was answered.
        sizes: dialogues of each row: one, or of scores all that a worker rated; one that was cut off counts as none.
    """

    names: dict[str, str]
    models: tuple[str, ...]
    workers: Ints
    shares: Floats
    done: Floats
    sizes: Ints
    by_rows: bool


def replay_sequential(
    tables: Tables,
    *,
    margin: float,
    alpha: float = 0.05,
    evidence: Literal["pooled", "direct"] = "pooled",
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> list[Replay]:
    """Replay collected data as a study that stops when every two models are decided; one result a kind of data.

    Workers are folded in once each, in the order in which they came. From the data of a worker, only dialogues of pairs
    count that were open when they came. Dialogues that were left in the middle count as far as they went (see
    :class:`.Evidence`). Read are turns at which something was chosen of several replies, comparisons,
    segments of bots that were judged side by side, and slider ratings of several models by the same worker.

    Args:
        tables: the data.
        margin: two models are equal where their win rates are less than this apart: 0.1 means 10 points.
        alpha: chance of any false claim.
        evidence: see :class:`StoppingRule`; it is direct where pairs were not equally likely.
        shuffles: replays with the workers in other orders, which say how much the order matters.
        seed: of these orders.

    Assumes that workers are independent, and that their order does not depend on their answers; pooled evidence that pairs
    were drawn with equal chances, and strong stochastic transitivity.

    Raises:
        ValueError: the rule is none (see :class:`StoppingRule`), or ``shuffles`` or ``seed`` is below 0.

    Source: Waudby-Smith & Ramdas 2024; Ramdas et al. 2023; Holm 1979.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> replays = replay_sequential(example_tables(), margin=0.5, alpha=0.2)
    >>> print(replays[1])
    pw_dialog interestingness: answer reached: ada > bob; 24 of 32 dialogues (75%)
    >>> replays[1].pairs[0].after, replays[1].shuffled_share
    (24, 0.95)
    """
    for name, given in (("shuffles", shuffles), ("seed", seed)):
        if given < 0:
            raise ValueError(f"{name} is {given}: give 0 or more")
    stopping_rule(
        models=("A", "B"), margin=margin, alpha=alpha, evidence=evidence, max_dialogues=FLOOR
    )  # before all work
    return [
        _replayed(material, margin, alpha, evidence, shuffles, seed)
        for material in _materials(tables)
        if len(material.models) > 1
    ]


def _replayed(
    material: _Material, margin: float, alpha: float, evidence: Literal["pooled", "direct"], shuffles: int, seed: int
) -> Replay:
    total, pairs = int(material.sizes.sum()), pairs_of(len(material.models))
    scores = material.names["kind"] == SCORES
    in_panels = bool(((~np.isnan(material.shares)).sum(axis=1) > 1).any())
    counts = (~np.isnan(material.shares)).sum(axis=0)
    balanced = counts.max() <= UNBALANCED * counts.min()
    pooled = evidence == "pooled" and balanced and not in_panels and len(material.models) > 2
    rule = stopping_rule(
        models=material.models,
        margin=margin,
        alpha=alpha,
        floor=1,
        max_dialogues=max(total, len(material.models)),
        shown="panel" if in_panels else "pairs",
        evidence="direct" if evidence == "pooled" and not pooled else evidence,
        equality=not scores,
    )
    workers, rng = int(material.workers.max()) + 1, np.random.default_rng(seed)
    orders = np.stack([np.arange(workers), *(rng.permutation(workers) for _ in range(shuffles))])
    run = _run(rule, material, orders)
    decisions = run.studies.decisions
    after = run.after[0]
    better = decisions.better[0]
    shares = run.needed[1:] / total
    notes = [
        OF_SCORES if scores else IN_PANELS if in_panels else NO_ALLOCATION,
        *([NOT_BALANCED] if evidence == "pooled" and not balanced and not in_panels and pairs.count > 1 else []),
        *([FINISHED_DIALOGUES] if material.names["kind"] in ("dialogue", "segments") else []),
        *([BY_ROWS] if material.by_rows else []),
        *_in_a_circle(rule, material, run.studies),
    ]
    return Replay(
        **material.names,
        models=material.models,
        margin=margin,
        alpha=alpha,
        evidence="pooled" if pooled else "direct",
        pairs=tuple(
            ReplayedPair(
                first=material.models[i],
                second=material.models[j],
                decided=(
                    "first"
                    if better[i, j]
                    else "second"
                    if better[j, i]
                    else "equal"
                    if decisions.equal[0, pair]
                    else None
                ),
                after=int(after[pair]) if after[pair] >= 0 else None,
            )
            for pair, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True))
        ),
        answer=in_words(material.models, decisions, margin),
        needed=int(run.needed[0]),
        passed_over=int(run.passed[0]),
        dialogues=total,
        workers=workers,
        workers_needed=int(run.workers[0]),
        shuffles=shuffles,
        shuffled_share=float(shares.mean()) if shuffles else None,
        shuffled_low=float(np.quantile(shares, 0.1)) if shuffles else None,
        shuffled_high=float(np.quantile(shares, 0.9)) if shuffles else None,
        shuffled_decided=float((run.after[1:] >= 0).all(axis=1).mean()) if shuffles else None,
        notes=tuple(notes),
    )


@dataclass(frozen=True)
class _Run:
    """Replays side by side: dialogues needed, passed over and workers until the end, and after how many each pair was
    decided (−1: never)."""

    studies: Studies
    needed: Ints
    passed: Ints
    workers: Ints
    after: Ints


def _run(rule: StoppingRule, material: _Material, orders: Ints) -> _Run:
    n, pairs = len(orders), pairs_of(len(rule.models)).count
    shown, shares, done, dialogue = _by_worker(material)
    studies = Studies(rule, n)
    needed, passed, workers = np.zeros((3, n), dtype=np.int64)
    after = np.full((n, pairs), -1)
    for place in range(orders.shape[1]):
        open_pairs = studies.decisions.open()
        rows = np.flatnonzero(open_pairs.any(axis=1))
        if not rows.size:
            break
        who = orders[rows, place]
        columns = shown[who]
        still = (columns >= 0) & np.take_along_axis(open_pairs[rows], np.maximum(columns, 0), axis=1)
        used = _dialogues(dialogue[who], still, material.sizes)
        needed[rows] += used
        passed[rows] += _dialogues(dialogue[who], columns >= 0, material.sizes) - used
        workers[rows] += 1
        moment = np.full(len(rows), float(place))
        numbers = studies.admit(rows, np.where(still, columns, -1), moment)
        studies.answer(rows, numbers, np.where(still, shares[who], np.nan), done[who])
        studies.end(rows, numbers, moment)
        studies.advance(rows, moment)
        closed = open_pairs & ~studies.decisions.open()
        after = np.where(closed, needed[:, None], after)
    return _Run(studies, needed, passed, workers, after)


def _in_a_circle(rule: StoppingRule, material: _Material, studies: Studies) -> Iterator[str]:
    """A warning where all data, also those that were passed over, contradict each other or the first study's claims."""
    pairs, (shown, shares, done, _) = pairs_of(len(rule.models)), _by_worker(material)
    whole = Evidence(1, len(rule.models), rule.margin, pooled=rule.is_pooled)
    anything = np.ones((1, pairs.count), dtype=bool)
    for worker in range(len(shown)):
        whole.fold(np.zeros(1, dtype=np.int64), shown[[worker]], shares[[worker]], anything, done[[worker]])
    found = np.flatnonzero(contradictions(whole, studies.decisions.better[:1], rule.alpha)[0])
    if found.size:
        names = (f"{rule.models[pairs.first[pair]]} and {rule.models[pairs.second[pair]]}" for pair in found)
        yield IN_A_CIRCLE.format(pairs="; of ".join(names))


def _by_worker(material: _Material) -> tuple[Ints, Floats, Floats, Ints]:
    """Workers × what they judged: the pair (−1: none), its share, the part of the dialogue that was answered, and a number
    for the dialogue, from 0 for each worker."""
    row, pair = np.nonzero(~np.isnan(material.shares))
    worker = material.workers[row]
    order = np.argsort(worker, kind="stable")
    row, pair, worker = row[order], pair[order], worker[order]
    place = np.arange(len(worker)) - np.searchsorted(worker, worker)
    shape = int(material.workers.max()) + 1, int(place.max(initial=-1)) + 1
    shown, dialogue, (shares, done) = np.full(shape, -1), np.full(shape, -1), np.full((2, *shape), np.nan)
    shown[worker, place], dialogue[worker, place] = pair, row
    shares[worker, place], done[worker, place] = material.shares[row, pair], material.done[row]
    return shown, shares, done, dialogue


def _dialogues(row: Ints, counted: Flags, sizes: Ints) -> Ints:
    """Of each study, the dialogues that count; columns of one ``row`` of the material stand side by side."""
    held = np.where(counted, row, -1)
    before = np.concatenate([np.full((len(held), 1), -1), np.maximum.accumulate(held, axis=1)[:, :-1]], axis=1)
    return np.asarray(np.where(held > before, sizes[np.maximum(held, 0)], 0).sum(axis=1), dtype=np.int64)


def _materials(tables: Tables) -> Iterator[_Material]:
    # Worker → when they first began something, where that is known, whatever the zone of their clock.
    began = pd.concat([table[["worker_id", "started"]] for table in (tables.dialogues, tables.judgements)])
    moments = pd.to_datetime(began["started"], utc=True, format="ISO8601", errors="coerce")
    first = moments.groupby(began["worker_id"]).min().dropna()
    times = {str(worker): int(moment.value) for worker, moment in first.items()}
    yield from _of_turns(tables, times)
    yield from _of_comparisons(tables, times)
    rows = tables.segments[finished(tables.segments)]
    for keys, part in rows.groupby([rows[name].fillna("") for name in ("technique", "setting", "metric")], sort=True):
        technique, setting, metric = map(str, keys)
        contests = bot_contests(spot_the_bot_segments(part))
        if len(contests):
            names = {"technique": technique, "setting": setting, "metric": metric, "kind": "segments"}
            yield _paired(names, contests, contests["lead_a"].to_numpy(dtype=float), times)
    yield from _of_scores(tables, times)


def _of_turns(tables: Tables, times: dict[str, int]) -> Iterator[_Material]:
    """Also of dialogues that were left in the middle, where the length of those that were finished says what is missing."""
    groups = sorted(
        (group for group in choice_groups(taken_as_finished(tables)) if group.kind != "single"),
        key=lambda group: group.family,
    )
    ended = {each for group in choice_groups(tables) for each in group.turns.dialogues}
    for (technique, setting, metric), alike in groupby(groups, key=lambda group: group.family):
        group = merged(list(alike))
        chosen = pd.DataFrame(group.turns.chosen, columns=group.models)
        ids = [group.turns.workers.astype(str), group.turns.dialogues.astype(str)]
        grouped = chosen.groupby(ids, sort=False)
        sums = grouped.sum()
        picks, turns = sums.to_numpy(dtype=float), grouped.size().to_numpy(dtype=float)
        shown = grouped.count().to_numpy() > 0
        workers = sums.index.get_level_values(0).to_numpy(dtype=object)
        pairs = pairs_of(len(group.models))
        lead = (picks[:, pairs.first] - picks[:, pairs.second]) / turns[:, None]
        both = shown[:, pairs.first] & shown[:, pairs.second]
        is_whole = sums.index.get_level_values(1).isin(ended)
        whole = float(np.median(turns[is_whole])) if is_whole.any() else np.inf
        done = np.where(is_whole, 1.0, np.minimum(turns / whole, 1.0))
        names = {"technique": technique, "setting": setting, "metric": metric, "kind": "turns"}
        material = _material(
            names,
            tuple(group.models),
            workers,
            np.where(both, (1 + lead) / 2, np.nan),
            times,
            is_whole.astype(np.int64),
        )
        if is_whole.any():
            yield replace(material, done=done)


def _of_comparisons(tables: Tables, times: dict[str, int]) -> Iterator[_Material]:
    rows = orient_pairs(counted_comparisons(tables))
    if len(tables.turns):
        there = rows["dialogue_a"].isin(tables.turns["dialogue_id"])
        rows = rows[(rows["kind"] != "turn") | ~there]  # the same answers as in the turns
    for keys, part in rows.groupby(list(GROUP), sort=True):
        technique, setting, kind, metric = map(str, keys)
        names = {"technique": technique, "setting": setting, "metric": metric, "kind": kind}
        lead = part["outcome"].to_numpy(dtype=float)
        if kind == "turn":
            of_dialogue = ["worker_id", "dialogue_a", "model_a", "model_b"]
            part = part.assign(lead=lead).groupby(of_dialogue, sort=False)[["lead"]].mean().reset_index()
            lead = part["lead"].to_numpy(dtype=float)
        yield _paired(names, part, lead, times)


def _of_scores(tables: Tables, times: dict[str, int]) -> Iterator[_Material]:
    """Ratings on sliders, standardised by worker: of two models that a worker rated, half of 1 + tanh of the difference.

    Where neither is better, a worker's difference is as often so much above 0 as below, and that is one half on average.
    """
    rows = tables.ratings[finished(tables.ratings) & on_sliders(tables.ratings) & tables.ratings["own_worker"].isna()]
    for keys, part in rows.groupby([rows[name].fillna("") for name in ("technique", "setting", "metric")], sort=True):
        technique, setting, metric = map(str, keys)
        rated = part.assign(z=standardised(part))[~is_set(part, "degraded")].dropna(subset=["z"])
        means = rated.pivot_table(index="worker_id", columns="model", values="z", aggfunc="mean", sort=True)
        means = means.reindex(rated["worker_id"].unique())
        pairs = pairs_of(len(means.columns))
        z = means.to_numpy(dtype=float)
        shares = (1 + np.tanh(z[:, pairs.first] - z[:, pairs.second])) / 2
        dialogues = rated.groupby("worker_id")["dialogue_id"].nunique().reindex(means.index)
        sizes = np.asarray(dialogues, dtype=np.int64)
        names = {"technique": technique, "setting": setting, "metric": metric, "kind": SCORES}
        models, workers = tuple(map(str, means.columns)), means.index.to_numpy(dtype=object)
        if pairs.count and len(workers):
            yield _material(names, models, workers, shares, times, sizes)


def _paired(names: dict[str, str], rows: pd.DataFrame, lead: Floats, times: dict[str, int]) -> _Material:
    """Of rows of two models each; ``lead``: from 1, the first won, to −1."""
    a, b = (rows[name].astype(str).to_numpy(dtype=object) for name in ("model_a", "model_b"))
    models = sorted({*a, *b})
    place = {model: number for number, model in enumerate(models)}
    pairs = pairs_of(len(models))
    first, second = (np.array([place[name] for name in side], dtype=np.int64) for side in (a, b))
    shares = np.full((len(rows), pairs.count), np.nan)
    shares[np.arange(len(rows)), pairs.number[first, second]] = (1 + lead * pairs.sign[first, second]) / 2
    return _material(names, tuple(models), rows["worker_id"].to_numpy(dtype=object), shares, times)


def _material(
    names: dict[str, str],
    models: tuple[str, ...],
    workers: npt.NDArray[Any],
    shares: Floats,
    times: dict[str, int],
    sizes: Ints | None = None,
) -> _Material:
    """With the workers numbered in the order in which they came; without ``sizes`` every row is one dialogue."""
    met = list(dict.fromkeys(map(str, workers)))
    by_rows = any(worker not in times for worker in met)
    order = met if by_rows else sorted(met, key=lambda worker: times[worker])
    number = {worker: place for place, worker in enumerate(order)}
    came = np.array([number[str(worker)] for worker in workers])
    sizes = np.ones_like(came) if sizes is None else sizes
    return _Material(names, models, came, shares, np.ones(len(came)), sizes, by_rows)
