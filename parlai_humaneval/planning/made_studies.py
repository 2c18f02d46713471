"""Tidy tables of made-up studies of any technique, as large as a plan says: what its real ones yield, answer by answer.

A table of turns or comparisons holds several studies, each under a metric of its own: so are questions kept apart that were
asked of the same dialogues. Ratings and segments of all metrics count together, so that each study has a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import combinations
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, logit

from parlai_humaneval._util.arrays import Floats, Ints, Objects
from parlai_humaneval.planning.design_effect import Clustering
from parlai_humaneval.planning.designs import Contest, OneShare, TwoShares, patterns
from parlai_humaneval.planning.inputs import PlanInputs
from parlai_humaneval.planning.layout import Layout, all_at_once
from parlai_humaneval.planning.raters import answers_of_workers, leads_of_dialogues, shared_out
from parlai_humaneval.statistics.ratings.sliders import REVERSED_CRITERIA, standardised, worker_checks
from parlai_humaneval.tables.columns import Tables, from_rows, typed
from parlai_humaneval.tables.schema import TIE, TableName
from parlai_humaneval.techniques.registry import recorded_as

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


_ROWS_AT_ONCE = 20_000
_LENGTHS = (2, 3, 5)
"""Exchanges of the beginnings that are judged in Spot The Bot."""


@dataclass(frozen=True)
class MadeStudies:
    """``models``: best first, the first and the last of which the gap parts. ``workers``: of a test. ``draw``: so many
    studies as tables, of which one table can hold ``most``."""

    models: tuple[str, ...]
    workers: int
    most: int
    draw: Callable[[int, np.random.Generator], Tables]


def made_studies(question: PlanInputs, found: Layout, n: int) -> MadeStudies:
    """Studies of ``n`` judgements a sample; the question is filled up.

    Raises:
        PlanError: answers cannot be as alike as was asked for.
    """
    names = tuple(f"model {number + 1:02d}" for number in range(question.models or 1))
    of_sample = max(2, math.ceil(n / found.per_worker - 1e-9))
    sizes = shared_out(n, of_sample, found.likeness.inequality)
    frame, draw = _made(question, found, n, names, sizes)
    most = 1 if frame is None else max(1, _ROWS_AT_ONCE // len(frame))
    workers = len(sizes) * (1 if found.design.crossed else found.design.samples)
    return MadeStudies(names, workers, most, draw)


Drawing = tuple["pd.DataFrame | None", Callable[[int, np.random.Generator], Tables]]
"""The rows of one study without its answers (None: a table holds one study only), and what draws these."""


def _made(question: PlanInputs, found: Layout, n: int, names: Sequence[str], sizes: Ints) -> Drawing:
    habits = question.habits
    if habits.measures == "score":
        ratings = slider_study(question, names, sizes)
        return None, lambda _, rng: only(ratings=ratings(rng))
    if habits.measures == "share":
        return _single_model_rows(question, found, names, sizes)
    if habits.at_once:
        return _turns(question, found, names, [(range(len(names)), all_at_once(question, len(names)), sizes)])
    pairs = [(pair, contest, sizes) for pair, contest in _contests(found, len(names))]
    if habits.of_turns:
        return _turns(question, found, names, pairs)
    if habits.held:
        return _verdict_rows(question, found, names, pairs)
    return _of_finished(question, found.likeness.at(n), names, pairs)


Asked = tuple[Sequence[int], Contest, Ints]
"""Models that meet, how often each is chosen, and judgements of each worker."""


def _contests(found: Layout, models: int) -> list[tuple[tuple[int, int], Contest]]:
    """Every two models: the first and the last differ by the gap, others lie in the middle, on the scale of log-odds."""
    assert isinstance(found.design, Contest)
    discordance = found.design.discordance
    strength = logit(0.5 + found.design.gap / discordance / 2) / 2 if found.design.gap < discordance else 20.0
    place = np.array([strength, *[0.0] * (models - 2), -strength])
    return [
        ((i, j), Contest((0.5 + lead / 2, 0.5 - lead / 2), discordance))
        for i, j in combinations(range(models), 2)
        for lead in [discordance * (2 * float(expit(place[i] - place[j])) - 1)]
    ]


def _turns(question: PlanInputs, found: Layout, names: Sequence[str], asked: Sequence[Asked]) -> Drawing:
    """Turns that show several replies, in any order; ``asked``: each of workers of its own."""
    parts = [
        _turn_rows(question, [names[model] for model in models], sizes, str(number))
        for number, (models, _, sizes) in enumerate(asked)
    ]
    frame = pd.concat(parts, ignore_index=True)

    def draw(studies: int, rng: np.random.Generator) -> Tables:
        selected, position = [], []
        for models, contest, sizes in asked:
            chosen, chances = patterns(contest)
            given = answers_of_workers(chances, sizes, found.likeness.icc, studies, rng)
            selected.append(chosen[given].reshape(studies, -1))
            places = rng.random((*given.shape, len(models))).argsort(axis=2).argsort(axis=2) + 1
            position.append(places.reshape(studies, -1))
        columns = {"selected": np.concatenate(selected, axis=1), "position": np.concatenate(position, axis=1)}
        return _filled("turns", frame, columns)

    return frame, draw


def _turn_rows(question: PlanInputs, models: Sequence[str], sizes: Ints, prefix: str) -> pd.DataFrame:
    worker = np.repeat(np.arange(len(sizes)), sizes)
    turn = np.arange(len(worker)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    each = question.turns or 1
    dialogue = _names(f"d{prefix}-", worker, turn // each)
    columns = {
        "dialogue_id": np.repeat(dialogue, len(models)),
        "worker_id": np.repeat(_names(f"w{prefix}-", worker), len(models)),
        "turn": np.repeat(turn % each + 1, len(models)),
        "model": np.tile(np.array(models, dtype=object), len(worker)),
    }
    constant = {
        "technique": recorded_as(question.technique),
        "setting": question.setting,
        "metric": "",
        "continued": 0,
        "written": 0,
    }
    rows: pd.DataFrame = pd.DataFrame({**columns, **constant, "seconds": 30.0, "position": 1, "selected": 0})
    return rows


def _single_model_rows(question: PlanInputs, found: Layout, names: Sequence[str], sizes: Ints) -> Drawing:
    design = found.design
    if isinstance(design, OneShare):
        shares = [design.share] * len(names)
    else:
        assert isinstance(design, TwoShares)
        shares = [design.share_a, *[(design.share_a + design.share_b) / 2] * (len(names) - 2), design.share_b]
    frame = pd.concat(
        [_turn_rows(question, [name], sizes, str(number)) for number, name in enumerate(names)], ignore_index=True
    )

    def draw(studies: int, rng: np.random.Generator) -> Tables:
        missed = [
            answers_of_workers(np.array([share, 1 - share]), sizes, found.likeness.icc, studies, rng)
            for share in shares
        ]
        return _filled("turns", frame, {"selected": 1 - np.concatenate(missed, axis=1)})

    return frame, draw


def _verdict_rows(question: PlanInputs, found: Layout, names: Sequence[str], pairs: Sequence[Asked]) -> Drawing:
    parts = []
    for number, ((a, b), _, sizes) in enumerate(pairs):
        dialogue = _names(f"d{number}-", np.arange(sizes.sum()))
        worker = np.repeat(_names(f"w{number}-", np.arange(len(sizes))), sizes)
        parts.append(_compared(question, names[a], names[b], dialogue + ":verdict", worker, dialogue, dialogue))
    frame = pd.concat(parts, ignore_index=True)

    def draw(studies: int, rng: np.random.Generator) -> Tables:
        leads = []
        for _, contest, sizes in pairs:
            chosen, chances = patterns(contest)
            given = answers_of_workers(chances, sizes, found.likeness.icc, studies, rng)
            leads.append((chosen[:, 0] - chosen[:, 1])[given])
        return _filled("comparisons", frame, _winners(frame, np.concatenate(leads, axis=1), rng, "position_a"))

    return frame, draw


def _of_finished(question: PlanInputs, likeness: Clustering, names: Sequence[str], pairs: Sequence[Asked]) -> Drawing:
    """Finished dialogues, each judged several times; who judges which is dealt out by chance, once for all studies."""
    rng = np.random.default_rng(question.seed)
    n = int(pairs[0][2].sum())
    dialogues = shared_out(n, max(2, round(n / likeness.per_dialogue)))
    dealt = [
        [np.repeat(np.arange(len(sizes)), sizes)]
        + [rng.permutation(np.repeat(np.arange(len(dialogues)), dialogues)) for _ in range(likeness.sides)]
        for _, _, sizes in pairs
    ]
    frame = pd.concat(
        [
            (_judged if likeness.sides == 2 else _segments)(question, names[a], names[b], f"{a}-{b}", codes)
            for ((a, b), _, _), codes in zip(pairs, dealt, strict=True)
        ],
        ignore_index=True,
    )

    def draw(studies: int, rng: np.random.Generator) -> Tables:
        of_models = rng.standard_normal((len(names), studies, len(dialogues)))
        leads = []
        for ((a, b), contest, sizes), codes in zip(pairs, dealt, strict=True):
            workers = rng.standard_normal((studies, len(sizes)))
            shown = [of_models[a], of_models[b]] if likeness.sides == 2 else [rng.standard_normal(of_models[a].shape)]
            leads.append(leads_of_dialogues(contest, codes, likeness, [workers, *shown], rng))
        ahead = np.concatenate(leads, axis=1)
        if likeness.sides == 2:
            return _filled("comparisons", frame, _winners(frame, ahead, rng, "side"))
        better = np.where(ahead == 0, "unsure", np.where(ahead > 0, "human", "bot")).astype(object)
        worse = np.where(ahead == 0, "unsure", np.where(ahead > 0, "bot", "human")).astype(object)
        return _filled("segments", frame, {"label": np.stack([better, worse], axis=2).reshape(studies, -1)})

    return frame if likeness.sides == 2 else None, draw


def _judged(question: PlanInputs, a: str, b: str, prefix: str, codes: Sequence[Ints]) -> pd.DataFrame:
    item = _names(f"{prefix}-", np.arange(len(codes[0])))
    shown = [_names(f"{name} ", code) for name, code in zip((a, b), codes[1:], strict=True)]
    return _compared(question, a, b, item, _names("w", codes[0]), *shown)


def _compared(
    question: PlanInputs, a: str, b: str, item: Objects, worker: Objects, dialogue_a: Objects, dialogue_b: Objects
) -> pd.DataFrame:
    columns = {"item_id": item, "worker_id": worker, "dialogue_a": dialogue_a, "dialogue_b": dialogue_b}
    constant = {"metric": "", "model_a": a, "model_b": b, "winner": TIE, "seconds": 60.0, "n_models": 2}
    where = {"technique": recorded_as(question.technique), "setting": question.setting}
    rows: pd.DataFrame = pd.DataFrame({**columns, **constant, **where, "side": None, "position_a": None})
    return rows


def _segments(question: PlanInputs, a: str, b: str, prefix: str, codes: Sequence[Ints]) -> pd.DataFrame:
    worker, dialogue = codes
    order = np.argsort(dialogue, kind="stable")
    place = np.empty_like(dialogue)
    place[order] = np.arange(len(dialogue)) - np.searchsorted(dialogue[order], dialogue[order])
    columns = {
        "dialogue_id": np.repeat(_names(f"{prefix}-", dialogue), 2),
        "worker_id": np.repeat(_names("w", worker), 2),
        "judgement_id": np.repeat(_names(f"j{prefix}-", np.arange(len(worker))), 2),
        "k": np.repeat(np.array(_LENGTHS)[place % len(_LENGTHS)], 2),
        "entity": np.tile([0, 1], len(worker)),
        "model": np.tile(np.array([a, b], dtype=object), len(worker)),
        "opponent": np.tile(np.array([b, a], dtype=object), len(worker)),
    }
    constant = {"label": "unsure", "fluent": 0, "sensible": 0, "specific": 0, "seconds": 25.0, "metric": ""}
    rows: pd.DataFrame = pd.DataFrame({**columns, **constant, "technique": recorded_as(question.technique)})
    return rows


def _winners(frame: pd.DataFrame, leads: Ints | Any, rng: np.random.Generator, place: str) -> dict[str, Any]:
    a, b = (frame[name].to_numpy(dtype=object) for name in ("model_a", "model_b"))
    return {
        "winner": np.where(leads == 0, TIE, np.where(leads > 0, a, b)),
        place: rng.integers(1, 3, leads.shape),
    }


def _filled(table: TableName, frame: pd.DataFrame, columns: dict[str, npt.NDArray[Any]]) -> Tables:
    """The rows of a study, once for each row of the ``columns`` (studies × rows), as a table of several metrics."""
    studies = len(next(iter(columns.values())))
    whole = frame.loc[np.tile(np.arange(len(frame)), studies)].reset_index(drop=True)
    metric = np.repeat(_names("study ", np.arange(studies)), len(frame))
    answers = {name: values.ravel() for name, values in columns.items()}
    return only(**{table: typed(table, whole.assign(metric=metric, **answers))})


def only(**frames: pd.DataFrame) -> Tables:
    """Tables of which the others are empty."""
    return Tables(**{**_empty(), **frames})


@cache
def _empty() -> dict[str, Any]:
    return {name: from_rows(name, []) for name in get_args(TableName)}


def _names(prefix: str, *numbers: npt.NDArray[Any]) -> Objects:
    return np.array([prefix + "-".join(map(str, parts)) for parts in zip(*numbers, strict=True)], dtype=object)
