"""The decisions of a stopping rule on data collected without one, and the data that it would have needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, groupby
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd
from pydantic import BaseModel

from parlai_humaneval._util.arrays import Flags, Floats, Ints, Objects
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.statistics.preference.pairs import GROUP, counted_comparisons, orient_pairs
from parlai_humaneval.statistics.ratings.sliders import ends_of, is_reversed
from parlai_humaneval.statistics.survival.spotting import bot_contests, spot_the_bot_segments
from parlai_humaneval.stopping.batch import Studies, contradictions, in_words
from parlai_humaneval.stopping.estimates import WORDS
from parlai_humaneval.stopping.evidence import Evidence, pairs_of
from parlai_humaneval.stopping.rule import FLOOR, WIDEST_POOLED, StoppingRule, stopping_rule
from parlai_humaneval.stopping.units import share_of_ratings
from parlai_humaneval.tables.choices import choice_groups, merged
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set, on_sliders, taken_as_finished
from parlai_humaneval.tables.schema import STUDY

UNBALANCED = 2.0  # Where one pair of models has so many times the dialogues of another, pairs were not equally likely
SHUFFLES = 100
SCORES, SCALES, TICKS = "scores", "scales", "ticks"
RATED = (SCORES, SCALES, TICKS)
_NOTES: Mapping[str, str] = WORDS["replayed"]


class ReplayedPair(BaseModel, frozen=True):
    """Two models: the decision (None: none, with all the data), and the number of all dialogues before it."""

    first: str
    second: str
    decided: Literal["first", "second", "equal"] | None
    after: int | None


class Replay(BaseModel, frozen=True):
    """The outcome of a stopping rule for one technique, setting, metric and kind of data. ``needed``: dialogues (or
    comparisons, or judged segments) that were used until all was decided, or to the end. ``passed_over``: of pairs that
    were decided by then. ``dialogues``, ``workers``: in the data. ``workers_needed``: workers who had come when all was
    decided. ``answer``: what would have been decided, in words. ``shuffles``: replays with the workers in another
    order, in a share ``shuffled_decided`` of which all was decided; ``shuffled_share``: the mean share of the data that
    they needed, ``shuffled_low`` and ``shuffled_high``: between which four in five lie."""

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
        """The share of the data that was needed."""
        return self.needed / self.dialogues

    def __str__(self) -> str:
        name = " ".join(part for part in (self.technique, self.setting, self.metric) if part)
        open_pairs = sum(pair.decided is None for pair in self.pairs)
        reached = "answer reached" if self.decided else f"{open_pairs} of {len(self.pairs)} pairs open"
        answer = f": {self.answer}" if self.answer else ""
        return f"{name}: {reached}{answer}; {self.needed} of {self.dialogues} dialogues ({self.share:.0%})"


@dataclass(frozen=True)
class _Material:
    """Answers of one kind: a row each, in the order of the table. ``workers``: the worker of each row; ``done``: which
    part of its dialogue was answered. ``shares``: rows × pairs; nan of what the row does not show. ``sizes``: dialogues
    of each row: one, or of ratings all that are compared in it; one that was cut off counts as none."""

    names: dict[str, str]
    models: tuple[str, ...]
    workers: Objects
    shares: Floats
    sizes: Ints
    done: Floats


def replay_sequential(
    tables: Tables,
    *,
    margin: float,
    alpha: float = 0.05,
    evidence: Literal["pooled", "direct"] = "pooled",
    shuffles: int = SHUFFLES,
    seed: int = 0,
) -> list[Replay]:
    """Replay collected data as a study that stops when every pair is decided; one result per kind of data.

    Workers are folded in once each, in the order in which they came. From the data of a worker, only dialogues of pairs
    count that were open when they came. Dialogues that were left in the middle count as far as they went (see
    :class:`.Evidence`). Read are turns at which something was chosen of several replies, comparisons,
    segments of bots that were judged side by side, and ratings of single models: sliders, scales, and ticks at turns.

    Args:
        tables: the data.
        margin: two models are equal where their win rates are less than this apart: 0.1 means 10 points.
        alpha: chance of any false claim that one model is better, and of any that two are equal.
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
            raise InvalidValue(f"{name} is {given}", try_="give 0 or more")
    # Before all work.
    stopping_rule(models=("A", "B"), margin=margin, alpha=alpha, evidence=evidence, max_dialogues=FLOOR)
    # Worker → when they first began something, where that is known, whatever the zone of their clock.
    began = pd.concat([table[["worker_id", "started"]] for table in (tables.dialogues, tables.judgements)])
    moments = pd.to_datetime(began["started"], utc=True, format="ISO8601", errors="coerce")
    first = moments.groupby(began["worker_id"]).min().dropna()
    known = {str(worker): int(moment.value) for worker, moment in first.items()}
    return [
        _replayed(material, known, margin, alpha, evidence, shuffles, seed)
        for material in chain(
            _of_turns(tables), _of_comparisons(tables), _of_segments(tables), _of_ratings(tables, known)
        )
        if len(material.models) > 1
    ]


def _replayed(
    material: _Material,
    began: Mapping[str, int],
    margin: float,
    alpha: float,
    evidence: Literal["pooled", "direct"],
    shuffles: int,
    seed: int,
) -> Replay:
    total, pairs = int(material.sizes.sum()), pairs_of(len(material.models))
    # For each row, its worker's number in the order of arrival, or of the rows if a time is missing.
    order = list(dict.fromkeys(map(str, material.workers)))
    by_rows = any(worker not in began for worker in order)
    order = order if by_rows else sorted(order, key=lambda worker: began[worker])
    number = {worker: place for place, worker in enumerate(order)}
    came, shown = np.array([number[str(worker)] for worker in material.workers]), ~np.isnan(material.shares)
    rated, in_panels, counts = material.names["kind"] in RATED, bool((shown.sum(axis=1) > 1).any()), shown.sum(axis=0)
    balanced = counts.max() <= UNBALANCED * counts.min()
    is_near = margin <= WIDEST_POOLED
    pooled = evidence == "pooled" and is_near and balanced and not in_panels and len(material.models) > 2
    rule = stopping_rule(
        models=material.models,
        margin=margin,
        alpha=alpha,
        floor=1,
        max_dialogues=max(total, len(material.models)),
        shown="panel" if in_panels else "pairs",
        evidence="direct" if evidence == "pooled" and not pooled else evidence,
    )
    workers, rng = int(came.max()) + 1, np.random.default_rng(seed)
    orders = np.stack([np.arange(workers), *(rng.permutation(workers) for _ in range(shuffles))])
    judged = _by_worker(material, came)
    studies, (needed, passed, came_until), after = _run(rule, judged, material.sizes, orders)
    decisions, shares = studies.decisions, needed[1:] / total
    better, equal = decisions.better[0], decisions.equal[0]
    notes = [
        _NOTES["of_ratings"].format(share=50 * margin)
        if rated
        else _NOTES["in_panels"]
        if in_panels
        else _NOTES["no_allocation"],
        *(
            [_NOTES["not_balanced"]]
            if evidence == "pooled" and not balanced and not in_panels and pairs.count > 1
            else []
        ),
        *([_NOTES["finished_dialogues"]] if material.names["kind"] in ("dialogue", "segments") else []),
        *([_NOTES["by_rows"]] if by_rows else []),
    ]
    # All data, also those that were passed over, may contradict each other or the first study's claims.
    whole = Evidence(1, len(rule.models), rule.margin, pooled=rule.is_pooled)
    everything = np.ones((1, pairs.count), bool)
    for who in range(workers):
        of_who = judged.shown[[who]], judged.shares[[who]], everything, judged.done[[who]]
        whole.fold(np.zeros(1, dtype=np.int64), *of_who)
    circles = np.flatnonzero(contradictions(whole, better[None], rule.alpha)[0])
    if circles.size:
        names = (" and ".join(rule.models[i] for i in of) for of in np.stack([pairs.first, pairs.second], 1)[circles])
        notes.append(_NOTES["circle"].format(pairs="; of ".join(names)))
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
                decided="first" if better[i, j] else "second" if better[j, i] else "equal" if equal[pair] else None,
                after=int(after[0, pair]) if after[0, pair] >= 0 else None,
            )
            for pair, (i, j) in enumerate(zip(pairs.first, pairs.second, strict=True))
        ),
        answer=in_words(material.models, decisions, margin),
        needed=int(needed[0]),
        passed_over=int(passed[0]),
        dialogues=total,
        workers=workers,
        workers_needed=int(came_until[0]),
        shuffles=shuffles,
        shuffled_share=float(shares.mean()) if shuffles else None,
        shuffled_low=float(np.quantile(shares, 0.1)) if shuffles else None,
        shuffled_high=float(np.quantile(shares, 0.9)) if shuffles else None,
        shuffled_decided=float((after[1:] >= 0).all(axis=1).mean()) if shuffles else None,
        notes=tuple(notes),
    )


def _run(
    rule: StoppingRule, judged: _Judged, sizes: Ints, orders: Ints
) -> tuple[Studies, tuple[Ints, Ints, Ints], Ints]:
    """Replays side by side: dialogues needed, passed over and workers until the end, and after how many dialogues each pair
    was decided (−1: never)."""
    studies = Studies(rule, len(orders))
    needed, passed, workers = np.zeros((3, len(orders)), dtype=np.int64)
    after = np.full((len(orders), studies.evidence.pairs.count), -1)
    for place in range(orders.shape[1]):
        open_pairs = studies.decisions.open()
        rows = np.flatnonzero(open_pairs.any(axis=1))
        if not rows.size:
            break
        who = orders[rows, place]
        shown, dialogue = judged.shown[who], judged.dialogue[who]
        still = (shown >= 0) & np.take_along_axis(studies.decisions.asked[rows], np.maximum(shown, 0), axis=1)
        used = _dialogues(dialogue, still, sizes)
        needed[rows] += used
        passed[rows] += _dialogues(dialogue, shown >= 0, sizes) - used
        workers[rows] += 1
        moment = np.full(len(rows), float(place))
        shares = np.where(still, judged.shares[who], np.nan)
        studies.enter(rows, np.where(still, shown, -1), shares, judged.done[who], due=moment, ended=moment)
        studies.advance(rows, moment)
        after = np.where(open_pairs & ~studies.decisions.open(), needed[:, None], after)
    return studies, (needed, passed, workers), after


class _Judged(NamedTuple):
    """Workers × what they judged: the pair (−1: none), its share, the part of the dialogue that was answered, and the row
    of the dialogue."""

    shown: Ints
    shares: Floats
    done: Floats
    dialogue: Ints


def _by_worker(material: _Material, came: Ints) -> _Judged:
    row, pair = np.nonzero(~np.isnan(material.shares))
    order = np.argsort(came[row], kind="stable")
    row, pair, worker = row[order], pair[order], came[row][order]
    place = np.arange(len(worker)) - np.searchsorted(worker, worker)
    shape = int(came.max()) + 1, int(place.max(initial=-1)) + 1
    shown, dialogue, (shares, done) = np.full(shape, -1), np.full(shape, -1), np.full((2, *shape), np.nan)
    shown[worker, place], dialogue[worker, place] = pair, row
    shares[worker, place], done[worker, place] = material.shares[row, pair], material.done[row]
    return _Judged(shown, shares, done, dialogue)


def _dialogues(row: Ints, counted: Flags, sizes: Ints) -> Ints:
    """For each study, the number of dialogues that count; columns of one ``row`` of the material are adjacent."""
    held = np.where(counted, row, -1)
    before = np.concatenate([np.full((len(held), 1), -1), np.maximum.accumulate(held, axis=1)[:, :-1]], axis=1)
    return np.asarray(np.where(held > before, sizes[np.maximum(held, 0)], 0).sum(axis=1), dtype=np.int64)


def _by_study(rows: pd.DataFrame, kind: str) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    for keys, part in rows.groupby([rows[name].fillna("") for name in STUDY], sort=True):
        yield {**dict(zip(STUDY, map(str, keys), strict=True)), "kind": kind}, part


def _of_turns(tables: Tables) -> Iterator[_Material]:
    """Also of dialogues that were left in the middle, where the length of those that were finished says what is missing."""
    groups = sorted(
        (group for group in choice_groups(taken_as_finished(tables)) if group.kind != "single"),
        key=lambda group: group.family,
    )
    ended = {each for group in choice_groups(tables) for each in group.turns.dialogues}
    for family, alike in groupby(groups, key=lambda group: group.family):
        group = merged(list(alike))
        ids = [group.turns.workers.astype(str), group.turns.dialogues.astype(str)]
        grouped = pd.DataFrame(group.turns.chosen, columns=group.models).groupby(ids, sort=False)
        sums = grouped.sum()
        picks, turns = sums.to_numpy(dtype=float), grouped.size().to_numpy(dtype=float)
        shown, pairs = grouped.count().to_numpy() > 0, pairs_of(len(group.models))
        lead = (picks[:, pairs.first] - picks[:, pairs.second]) / turns[:, None]
        both = shown[:, pairs.first] & shown[:, pairs.second]
        is_whole = np.asarray(sums.index.get_level_values(1).isin(ended))
        if is_whole.any():
            yield _Material(
                {**dict(zip(STUDY, family, strict=True)), "kind": "turns"},
                tuple(group.models),
                sums.index.get_level_values(0).to_numpy(dtype=object),
                np.where(both, (1 + lead) / 2, np.nan),
                sizes=is_whole.astype(np.int64),
                done=np.where(is_whole, 1.0, np.minimum(turns / float(np.median(turns[is_whole])), 1.0)),
            )


def _of_comparisons(tables: Tables) -> Iterator[_Material]:
    rows = orient_pairs(counted_comparisons(tables))
    if len(tables.turns):
        there = rows["dialogue_a"].isin(tables.turns["dialogue_id"])
        rows = rows[(rows["kind"] != "turn") | ~there]  # the same answers as in the turns
    for keys, part in rows.groupby(list(GROUP), sort=True):
        names = dict(zip(("technique", "setting", "kind", "metric"), map(str, keys), strict=True))
        lead = part["outcome"].to_numpy(dtype=float)
        if names["kind"] == "turn":
            of_dialogue = ["worker_id", "dialogue_a", "model_a", "model_b"]
            part = part.assign(lead=lead).groupby(of_dialogue, sort=False)[["lead"]].mean().reset_index()
            lead = part["lead"].to_numpy(dtype=float)
        yield _paired(names, part, lead)


def _of_segments(tables: Tables) -> Iterator[_Material]:
    for names, part in _by_study(tables.segments[finished(tables.segments)], "segments"):
        contests = bot_contests(spot_the_bot_segments(part))
        if len(contests):
            yield _paired(names, contests, contests["lead_a"].to_numpy(dtype=float))


def rated_shares(tables: Tables) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Ratings of models that were rated each by itself: sliders, then scales of a few points, then ticks at turns; of each
    study, a row per worker, model and dialogue, with the ``rating`` as a part of its scale."""
    rows = tables.ratings[finished(tables.ratings) & tables.ratings["own_worker"].isna()]
    rows = rows[~is_set(rows, "degraded")]
    sliders, points = on_sliders(rows), []
    for kind, of_kind in ((SCORES, rows[sliders]), (SCALES, rows[~sliders])):
        if len(of_kind):
            low, high = ends_of(of_kind, sliders=kind == SCORES)
            value = of_kind["value"].to_numpy(dtype=float)
            above = np.where(is_reversed(of_kind), high - value, value - low)
            points.append((kind, of_kind.assign(points=above, most=high - low)))
    turns = tables.turns
    turns = turns[
        finished(turns)
        & turns["own_worker"].isna()
        & turns["tick_choices"].fillna("").ne("")
        & is_set(turns, "complete")
    ]
    if len(turns):
        offered, given, problems = (
            turns[name].fillna("").str.split(";").map(lambda names: set(names) - {""})
            for name in ("tick_choices", "ticks", "tick_problems")
        )
        marks = [len(a & c ^ b & c) for a, b, c in zip(given, problems, offered, strict=True)]
        points.append((TICKS, turns.assign(points=marks, most=offered.map(len))))
    for kind, of_kind in points:
        for names, part in _by_study(of_kind, kind):
            sums = part.groupby(["worker_id", "model", "dialogue_id"], sort=False)[["points", "most"]].sum()
            yield names, (sums["points"] / sums["most"]).rename("rating").reset_index()


def _of_ratings(tables: Tables, began: Mapping[str, int]) -> Iterator[_Material]:
    """If workers rated several models, compare these. If most rated one, compare the first rater of each model, the
    second, and so on, in the order in which they came. See :func:`.share_of_ratings`."""
    for names, shares in rated_shares(tables):
        if len({*shares["model"]}) < 2:
            continue
        if (shares.groupby("worker_id")["model"].nunique() > 1).mean() < 0.5:
            arrived = shares["worker_id"].map(lambda worker: began.get(str(worker), 0))
            if arrived.all():
                shares = shares.iloc[np.argsort(arrived, kind="stable")]
            place = shares.groupby("model").cumcount()
            # Each unit is named after one of its workers, whose arrival it takes.
            shares = shares.assign(worker_id=shares.groupby(place)["worker_id"].transform("last"))
        means = shares.pivot_table(index="worker_id", columns="model", values="rating", aggfunc="mean", sort=True)
        means = means.reindex(shares["worker_id"].unique())
        rating, pairs = means.to_numpy(dtype=float), pairs_of(len(means.columns))
        yield _Material(
            names,
            tuple(map(str, means.columns)),
            means.index.to_numpy(dtype=object),
            share_of_ratings(rating[:, pairs.first] - rating[:, pairs.second]),
            sizes=np.asarray(shares.groupby("worker_id", sort=False).size(), dtype=np.int64),
            done=np.ones(len(means)),
        )


def _paired(names: dict[str, str], rows: pd.DataFrame, lead: Floats) -> _Material:
    """For rows of two models each, a dialogue a row; ``lead``: from 1, the first won, to −1."""
    a, b = (rows[name].astype(str).to_numpy(dtype=object) for name in ("model_a", "model_b"))
    models = sorted({*a, *b})
    pairs = pairs_of(len(models))
    first, second = (pd.Index(models).get_indexer(pd.Index(side)) for side in (a, b))
    shares = np.full((len(rows), pairs.count), np.nan)
    shares[np.arange(len(rows)), pairs.number[first, second]] = (1 + lead * pairs.sign[first, second]) / 2
    workers, one = rows["worker_id"].to_numpy(dtype=object), np.ones(len(rows), dtype=np.int64)
    return _Material(names, tuple(models), workers, shares, sizes=one, done=one.astype(float))
