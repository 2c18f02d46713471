"""Tidy tables of simulated studies of any technique, as large as planned, with the same rows as real ones.

A table of turns or comparisons holds several studies, each under a metric of its own: so are questions kept apart that were
asked of the same dialogues. Ratings and segments of all metrics count together, so that each study has a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit, logit, ndtr, ndtri

from parlai_humaneval._util.arrays import Floats, Ints, Objects
from parlai_humaneval.planning.designs import SHORT, ChoiceDesign, OneProportion, TwoProportions, patterns
from parlai_humaneval.planning.inputs import PlanError, PlanInputs
from parlai_humaneval.planning.layout import Layout, all_at_once, layout
from parlai_humaneval.planning.plan import size_of
from parlai_humaneval.planning.power import Clustering, normal_nodes
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.shares import wilson_interval
from parlai_humaneval.statistics.leads import leads, turn_leads
from parlai_humaneval.statistics.ratings.sliders import REVERSED_CRITERIA, standardised, worker_checks
from parlai_humaneval.tables.columns import Tables, from_rows, typed
from parlai_humaneval.tables.schema import TIE, TableName
from parlai_humaneval.techniques.registry import recorded_as, with_trait

_WIDEST = 6.0  # Standard deviation of a lognormal distribution in which one worker gives nearly everything


def shared_out(n: int, workers: int, inequality: float = 0.0) -> Ints:
    """Share ``n`` judgements out to ``workers``, at least one each, with about that coefficient of variation. Of equal
    workers none has two more than another; else what each gives beyond the first judgement is lognormal."""
    workers = min(n, workers)
    extra = n - workers
    if not inequality or extra <= 0:
        return _rounded(np.ones(workers), extra)
    normal = ndtri((np.arange(workers) + 0.5) / workers)
    low, high = 0.0, _WIDEST
    while high - low > 1e-3:
        middle = (low + high) / 2
        sizes = _rounded(np.exp(middle * normal), extra)
        low, high = (middle, high) if sizes.std() < inequality * sizes.mean() else (low, middle)
    return _rounded(np.exp(low * normal), extra)


def _rounded(weights: Floats, extra: int) -> Ints:
    """One for each, and ``extra`` more by their weights: whole numbers, the largest fractions rounded up."""
    shares = extra * weights / weights.sum()
    sizes = np.floor(shares + 1e-9).astype(np.int64)
    sizes[np.argsort(sizes - shares, kind="stable")[: extra - int(sizes.sum())]] += 1
    return np.asarray(sizes + 1)


def shares_of_workers(means: Floats, icc: float, shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """The chances of several answers for each worker, who gives one of them: Dirichlet around ``means``, ``shape`` ×
    answers. Two answers of a worker correlate by ``icc``."""
    if not icc:
        return np.array(np.broadcast_to(means, (*shape, len(means))))
    weights = rng.standard_gamma(np.broadcast_to(means * (1 / icc - 1), (*shape, len(means))))
    total = weights.sum(axis=-1, keepdims=True)
    empty = np.nonzero(total[..., 0] == 0)  # with an ICC near 1 all weights may vanish: then one answer has them all
    if len(empty[0]):
        chosen = rng.choice(len(means), size=len(empty[0]), p=means)
        weights[tuple([*empty, chosen])] = 1.0  # noqa: C409 -- a star in an index is of Python 3.11
        total = weights.sum(axis=-1, keepdims=True)
    return np.asarray(weights / total)


def answers_of_workers(chances: Floats, sizes: Ints, icc: float, studies: int, rng: np.random.Generator) -> Ints:
    """The answers given: studies × judgements, where the first ``sizes[0]`` are the first worker's, and so on."""
    shares = shares_of_workers(chances, icc, (studies, len(sizes)), rng).cumsum(axis=-1)
    reached = np.repeat(shares, sizes, axis=1)
    return np.asarray((rng.random((*reached.shape[:2], 1)) * reached[..., -1:] >= reached[..., :-1]).sum(axis=-1))


def leads_of_dialogues(
    design: ChoiceDesign,
    codes: Sequence[Ints],
    likeness: Clustering,
    effects: Sequence[Floats],
    rng: np.random.Generator,
) -> Ints:
    """1, 0 or −1 by where a normal score stands between two thresholds: studies × judgements. The score is the sum of
    what worker, dialogues and judgement add; their shares of its variance give the likeness asked for to the leads.
    ``codes``: worker and dialogues of each judgement, whose standard normal ``effects`` (studies × workers or
    dialogues) are."""
    # Below the first the second model is ahead, above the other one the first.
    lead = design.shares[0] - design.shares[1]
    won = (design.discordance + lead) / 2
    ends = float(ndtri(design.discordance - won)), float(ndtri(1 - won))
    shares = [_latent(ends, likeness.icc), *[_latent(ends, likeness.dialogue_icc)] * likeness.sides]
    own = 1 - sum(shares)
    if own <= 0:
        raise PlanError.of("no_room", likeness=likeness)
    score = math.sqrt(own) * rng.standard_normal((len(effects[0]), len(codes[0])))
    for share, code, drawn, sign in zip(shares, codes, effects, (1, 1, -1), strict=False):
        score += sign * math.sqrt(share) * drawn[:, code]
    return (score > ends[1]).astype(np.int64) - (score < ends[0])


@lru_cache
def _latent(ends: tuple[float, float], icc: float) -> float:
    """Share of the score's variance with which leads are as alike as ``icc`` says."""
    nodes, weights = normal_nodes()
    chances = ndtr(ends[0]), 1 - ndtr(ends[1])
    mean, variance = chances[1] - chances[0], sum(chances) - (chances[1] - chances[0]) ** 2

    def likeness_of(share: float) -> float:
        rest = math.sqrt(1 - share)
        below = ndtr((ends[0] - math.sqrt(share) * nodes) / rest)
        above = 1 - ndtr((ends[1] - math.sqrt(share) * nodes) / rest)
        return float((weights @ (above - below) ** 2 - mean**2) / variance)

    low, high = 0.0, 1 - 1e-9
    while icc and high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (middle, high) if likeness_of(middle) < icc else (low, middle)
    return low


CRITERIA = ("interesting", "fun", "consistent", "fluent", "topic", *REVERSED_CRITERIA)
MIDDLE, OF_WORKERS, OF_DIALOGUES, OF_CRITERIA = 38.0, 13.0, 17.0, 32.0
"""Points of the scale: where a dialogue is rated on average, and standard deviations between workers, between dialogues of
a worker, and between the criteria of a dialogue. Cut at 0 and 100, and of workers who pass, standardised scores of dialogues
have a standard deviation of .49, and two of a worker who rates five models correlate by −.24; in run 1 of the data of Ji et
al. 2022 it is .47 and −.22."""
DEGRADED = 30.0  # Points by which the degraded model is below the others, of these workers
_CALIBRATED = 12_000  # Workers by models by whom the gap is turned into points
_A_GUESS, _STEPS = 30.0, 3  # Points of a gap of 1, and how often the guess is made better
_DRAWN = 3  # Times as many workers are drawn as are kept, of whom some do not pass the check


def slider_study(
    question: PlanInputs, names: Sequence[str], sizes: Ints
) -> Callable[[np.random.Generator], pd.DataFrame]:
    """A function that draws a study: ``sizes`` dialogues of each worker with each model, and with the degraded one."""
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
    return pd.DataFrame(
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


@lru_cache
def _points_of_gap(gap: float, size: int, models: int, icc: float) -> float:
    """Find how many points the first model must lead the last, so that by the report's standardised scores its
    dialogues win by the gap. Based on many workers, the same for any number of points."""

    def lead(points: float) -> float:
        scores = _scores(_levels(points, models), size, _CALIBRATED // models, icc, np.random.default_rng(0))
        frame = typed("ratings", _frame(scores, [str(number) for number in range(models + 1)], 0))
        checks = worker_checks(frame)
        # Checks are sorted by name, scores by the worker's number.
        numbers = checks["worker_id"].str.rpartition("-")[2].to_numpy(dtype=np.int64)
        passed = checks["passed"].to_numpy()[np.argsort(numbers)]
        z = standardised(frame).reshape(scores.shape).mean(axis=-1)[passed]
        first, last = np.sort(z[:, 0].ravel()), z[:, models - 1].ravel()
        below, reached = (np.searchsorted(first, last, side) for side in ("left", "right"))
        return float(1 - (below + reached).mean() / len(first))

    by_chance = lead(0.0)
    points = _A_GUESS * gap
    for _ in range(_STEPS):
        points *= gap / max(lead(points) - by_chance, gap / 4)
    return points


def _levels(points: float, models: int) -> Floats:
    """The mean of each model: the first and the last are ``points`` apart, the others in the middle."""
    return np.array([points / 2, *[0.0] * (models - 2), -points / 2])


_ROWS_AT_ONCE = 20_000
_LENGTHS = (2, 3, 5)  # Exchanges of the beginnings that are judged in Spot The Bot


@dataclass(frozen=True)
class MadeStudies:
    """``models``: best first, the first and the last of which the gap parts. ``workers``: of a test. ``draw``: so many
    studies as tables, of which one table can hold ``most``."""

    models: tuple[str, ...]
    workers: int
    most: int
    draw: Callable[[int, np.random.Generator], Tables]


def made_studies(question: PlanInputs, found: Layout, n: int) -> MadeStudies:
    """Studies of ``n`` judgements a sample; the question is filled up. Raises PlanError."""
    names = tuple(f"model {number + 1:02d}" for number in range(question.models or 1))
    of_sample = max(2, math.ceil(n / found.likeness.per_worker - 1e-9))
    sizes = shared_out(n, of_sample, found.likeness.inequality)
    workers = len(sizes) * (1 if found.design.crossed else found.design.samples)
    if question.habits.measures == "score":
        ratings = slider_study(question, names, sizes)
        return MadeStudies(names, workers, 1, lambda _, rng: only(ratings=ratings(rng)))
    habits, icc = question.habits, found.likeness.icc
    if habits.measures == "share":
        made = _single_models(question, found, names, sizes)
    elif habits.at_once:
        made = _turns(question, icc, names, [(range(len(names)), all_at_once(question, len(names)), sizes)])
    else:
        pairs: list[Asked] = [(pair, design, sizes) for pair, design in _choice_designs(found, len(names))]
        if habits.of_turns:
            made = _turns(question, icc, names, pairs)
        elif habits.held:
            made = _verdicts(question, icc, names, pairs)
        else:
            made = _of_finished(question, found.likeness.at(n), names, pairs)
    # What is said of a segment counts under all metrics together, so that a table holds one study.
    most = 1 if made.table == "segments" else max(1, _ROWS_AT_ONCE // len(made.frame))
    return MadeStudies(names, workers, most, made.tables)


@dataclass(frozen=True)
class _Made:
    """The rows of one study without its ``answers``, which are columns, studies × rows."""

    table: TableName
    frame: pd.DataFrame
    answers: Callable[[int, np.random.Generator], dict[str, npt.NDArray[Any]]]

    def tables(self, studies: int, rng: np.random.Generator) -> Tables:
        """The rows once for each study, which is a metric of its own."""
        answers = self.answers(studies, rng)
        whole = self.frame.loc[np.tile(np.arange(len(self.frame)), studies)].reset_index(drop=True)
        metric = np.repeat(_names("study ", np.arange(studies)), len(self.frame))
        columns = {name: values.ravel() for name, values in answers.items()}
        return only(**{self.table: typed(self.table, whole.assign(metric=metric, **columns))})


# Models that meet, how often each is chosen, and judgements of each worker.
Asked = tuple[Sequence[int], ChoiceDesign, Ints]


def _choice_designs(found: Layout, models: int) -> list[tuple[tuple[int, int], ChoiceDesign]]:
    """Every two models: the first and the last differ by the gap, others lie in the middle, on the scale of log-odds."""
    assert isinstance(found.design, ChoiceDesign)
    discordance = found.design.discordance
    strength = logit(0.5 + found.design.gap / discordance / 2) / 2 if found.design.gap < discordance else 20.0
    place = np.array([strength, *[0.0] * (models - 2), -strength])
    return [
        ((i, j), ChoiceDesign((0.5 + lead / 2, 0.5 - lead / 2), discordance))
        for i, j in combinations(range(models), 2)
        for lead in [discordance * (2 * float(expit(place[i] - place[j])) - 1)]
    ]


def _turns(question: PlanInputs, icc: float, names: Sequence[str], asked: Sequence[Asked]) -> _Made:
    """Turns that show several replies, in any order; ``asked``: each of workers of its own."""
    parts = [
        _turn_rows(question, [names[model] for model in models], sizes, str(number))
        for number, (models, _, sizes) in enumerate(asked)
    ]

    def answers(studies: int, rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        selected, position = [], []
        for models, design, sizes in asked:
            chosen, chances = patterns(design)
            given = answers_of_workers(chances, sizes, icc, studies, rng)
            selected.append(chosen[given].reshape(studies, -1))
            places = rng.random((*given.shape, len(models))).argsort(axis=2).argsort(axis=2) + 1
            position.append(places.reshape(studies, -1))
        return {"selected": np.concatenate(selected, axis=1), "position": np.concatenate(position, axis=1)}

    return _Made("turns", pd.concat(parts, ignore_index=True), answers)


def _turn_rows(question: PlanInputs, models: Sequence[str], sizes: Ints, prefix: str) -> pd.DataFrame:
    worker = np.repeat(np.arange(len(sizes)), sizes)
    turn = np.arange(len(worker)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    each, shown = question.turns or 1, len(models)
    return pd.DataFrame(
        {
            "dialogue_id": np.repeat(_names(f"d{prefix}-", worker, turn // each), shown),
            "worker_id": np.repeat(_names(f"w{prefix}-", worker), shown),
            "turn": np.repeat(turn % each + 1, shown),
            "model": np.tile(np.array(models, dtype=object), len(worker)),
            **_study(question),
            "continued": 0,
            "written": 0,
            "seconds": 30.0,
            "position": 1,
            "selected": 0,
        }
    )


def _study(question: PlanInputs) -> dict[str, str | None]:
    return {"technique": recorded_as(question.technique), "setting": question.setting, "metric": ""}


def _single_models(question: PlanInputs, found: Layout, names: Sequence[str], sizes: Ints) -> _Made:
    design = found.design
    if isinstance(design, OneProportion):
        shares = [design.share] * len(names)
    else:
        assert isinstance(design, TwoProportions)
        shares = [design.share_a, *[(design.share_a + design.share_b) / 2] * (len(names) - 2), design.share_b]
    parts = [_turn_rows(question, [name], sizes, str(number)) for number, name in enumerate(names)]

    def answers(studies: int, rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        missed = [
            answers_of_workers(np.array([share, 1 - share]), sizes, found.likeness.icc, studies, rng)
            for share in shares
        ]
        return {"selected": 1 - np.concatenate(missed, axis=1)}

    return _Made("turns", pd.concat(parts, ignore_index=True), answers)


def _verdicts(question: PlanInputs, icc: float, names: Sequence[str], pairs: Sequence[Asked]) -> _Made:
    parts = []
    for number, ((a, b), _, sizes) in enumerate(pairs):
        dialogue = _names(f"d{number}-", np.arange(sizes.sum()))
        worker = np.repeat(_names(f"w{number}-", np.arange(len(sizes))), sizes)
        parts.append(_compared(question, names[a], names[b], dialogue + ":verdict", worker, dialogue, dialogue))
    frame = pd.concat(parts, ignore_index=True)

    def answers(studies: int, rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        leads = []
        for _, design, sizes in pairs:
            chosen, chances = patterns(design)
            given = answers_of_workers(chances, sizes, icc, studies, rng)
            leads.append((chosen[:, 0] - chosen[:, 1]).astype(np.int64)[given])
        return _winners(frame, np.concatenate(leads, axis=1), rng, "position_a")

    return _Made("comparisons", frame, answers)


def _of_finished(question: PlanInputs, likeness: Clustering, names: Sequence[str], pairs: Sequence[Asked]) -> _Made:
    """Finished dialogues, each judged several times. Raters are assigned at random, once for all studies."""
    rng, side_by_side = np.random.default_rng(question.seed), likeness.sides == 2
    n = int(pairs[0][2].sum())
    dialogues = shared_out(n, max(2, round(n / likeness.per_dialogue)))
    dealt = [
        [np.repeat(np.arange(len(sizes)), sizes)]
        + [rng.permutation(np.repeat(np.arange(len(dialogues)), dialogues)) for _ in range(likeness.sides)]
        for _, _, sizes in pairs
    ]
    parts = []
    for ((a, b), _, _), codes in zip(pairs, dealt, strict=True):
        first, second, prefix = names[a], names[b], f"{a}-{b}-"
        if side_by_side:
            item, worker = _names(prefix, np.arange(len(codes[0]))), _names("w", codes[0])
            shown = _names(f"{first} ", codes[1]), _names(f"{second} ", codes[2])
            parts.append(_compared(question, first, second, item, worker, *shown))
        else:
            parts.append(_segments(question, first, second, prefix, codes))
    frame = pd.concat(parts, ignore_index=True)

    def answers(studies: int, rng: np.random.Generator) -> dict[str, npt.NDArray[Any]]:
        of_models = rng.standard_normal((len(names), studies, len(dialogues)))
        leads = []
        for ((a, b), design, sizes), codes in zip(pairs, dealt, strict=True):
            workers = rng.standard_normal((studies, len(sizes)))
            of_dialogues = [of_models[a], of_models[b]] if side_by_side else [rng.standard_normal(of_models[a].shape)]
            leads.append(leads_of_dialogues(design, codes, likeness, [workers, *of_dialogues], rng))
        ahead = np.concatenate(leads, axis=1)
        if side_by_side:
            return _winners(frame, ahead, rng, "side")
        labels = np.array(["bot", "unsure", "human"], dtype=object)
        return {"label": np.stack([labels[1 + ahead], labels[1 - ahead]], axis=2).reshape(studies, -1)}

    return _Made("comparisons" if side_by_side else "segments", frame, answers)


def _compared(
    question: PlanInputs, a: str, b: str, item: Objects, worker: Objects, dialogue_a: Objects, dialogue_b: Objects
) -> pd.DataFrame:
    columns = {"item_id": item, "worker_id": worker, "dialogue_a": dialogue_a, "dialogue_b": dialogue_b}
    constant = {"model_a": a, "model_b": b, "winner": TIE, "seconds": 60.0, "n_models": 2}
    nowhere = {"side": None, "position_a": None}
    return pd.DataFrame({**columns, **constant, **_study(question), **nowhere})


def _segments(question: PlanInputs, a: str, b: str, prefix: str, codes: Sequence[Ints]) -> pd.DataFrame:
    worker, dialogue = codes
    order = np.argsort(dialogue, kind="stable")
    place = np.empty_like(dialogue)
    place[order] = np.arange(len(dialogue)) - np.searchsorted(dialogue[order], dialogue[order])
    rows: pd.DataFrame = pd.DataFrame(
        {
            "dialogue_id": np.repeat(_names(prefix, dialogue), 2),
            "worker_id": np.repeat(_names("w", worker), 2),
            "judgement_id": np.repeat(_names(f"j{prefix}", np.arange(len(worker))), 2),
            "k": np.repeat(np.array(_LENGTHS)[place % len(_LENGTHS)], 2),
            "entity": np.tile([0, 1], len(worker)),
            "model": np.tile(np.array([a, b], dtype=object), len(worker)),
            "opponent": np.tile(np.array([b, a], dtype=object), len(worker)),
            **_study(question),
        }
    )
    return rows.assign(label="unsure", fluent=0, sensible=0, specific=0, seconds=25.0)


def _winners(frame: pd.DataFrame, leads: Ints, rng: np.random.Generator, place: str) -> dict[str, npt.NDArray[Any]]:
    a, b = (frame[name].to_numpy(dtype=object) for name in ("model_a", "model_b"))
    return {"winner": np.where(leads == 0, TIE, np.where(leads > 0, a, b)), place: rng.integers(1, 3, leads.shape)}


def only(**frames: pd.DataFrame) -> Tables:
    """Tables with these rows, the others empty."""
    empty: dict[str, Any] = {name: from_rows(name, []) for name in ("turns", "dialogues", "comparisons")}
    return Tables(**{**empty, **frames})


def _names(prefix: str, *numbers: npt.NDArray[Any]) -> Objects:
    return np.array([prefix + "-".join(map(str, parts)) for parts in zip(*numbers, strict=True)], dtype=object)


REPLICATES, OF_SLOW = 1_000, 400
"""Studies that are simulated, if nothing is said; of free-for-alls and direct assessments, each of which takes longer."""
_AT_ONCE = 25  # Studies between two words of how many there are


def simulated_power(
    inputs: PlanInputs, *, replicates: int | None = None, on_progress: Callable[[int], None] | None = None
) -> Result:
    """Share of made-up studies of the planned size in which the report finds the gap, with its Wilson interval.

    ``replicates``: how many; None: as :func:`usual_replicates` says.

    Each is made into tidy tables, which the functions of the report read: of several models with Holm's correction over
    all pairs, of which the best and the worst are the gap apart. ``on_progress`` gets the number of added studies.
    Raises PlanError.

    >>> print(simulated_power(PlanInputs(technique="pw_turn", gap=0.1), replicates=4))
    simulated power: 1.000, 95% interval 0.510 to 1.000, n = 4 [share of simulated studies in which the report finds the
    gap, Wilson interval (Monte Carlo error only)]
    """
    replicates = usual_replicates(inputs) if replicates is None else replicates
    question = inputs.filled()
    found = layout(question)
    n = size_of(question, found)
    made = made_studies(question, found, n)
    of_all = found.tests == 1 and len(made.models) > 2
    models = frozenset(made.models if of_all else (made.models[0], made.models[-1]))
    rng = np.random.default_rng(question.seed)
    hits, left = 0, replicates
    while left:
        size = min(left, made.most, _AT_ONCE)
        hits += _found(made.draw(size, rng), models, question)
        left -= size
        if on_progress:
            on_progress(size)
    return _result(question, hits, replicates, n, made.workers)


def _found(tables: Tables, models: frozenset[str], question: PlanInputs) -> int:
    """In how many of the studies of ``tables``, a question each, the report's test of ``models`` (two, all, or the one)
    finds a difference: by the report's leading test, or by the paper's test, for plans of independent answers."""
    # Liu et al. test each pair at a level of its own, uncorrected.
    clustered, alone, alpha = question.clustered, question.method == "liu2023", question.alpha
    tests = (leads if clustered or not len(tables.turns) else turn_leads)(tables, baseline=len(models) == 1)
    hits = 0
    for test in tests:
        if frozenset(test.models) != models:
            continue
        if clustered:
            p = test.told.p_value if alone else test.p_decides(alpha)
        else:
            p = None if test.paper is None else test.paper.p_value if alone else test.paper.p_decides
        hits += p is not None and p < alpha
    return hits


def usual_replicates(inputs: PlanInputs) -> int:
    """The number of studies that take about a minute to simulate."""
    slow = inputs.habits.measures == "score" or inputs.technique in with_trait("points")
    return OF_SLOW if slow else REPLICATES


def _result(question: PlanInputs, hits: int, replicates: int, n: int, workers: int) -> Result:
    low, high = wilson_interval(hits, replicates) or (None, None)
    missed = high is not None and high < question.power - SHORT
    note = f"the simulated power stays below the requested {question.power:.0%}"
    return Result(
        name="simulated power",
        estimate=hits / replicates if replicates else None,
        ci_low=low,
        ci_high=high,
        n=replicates,
        method="share of simulated studies in which the report finds the gap, Wilson interval (Monte Carlo error only)",
        assumptions=(
            "raters are as unequal as asked for",
            "answers of a rater, and of a dialogue, are as correlated as their ICC says",
        ),
        source="beta-binomial (Dirichlet-multinomial) raters, or ordered probit of raters and dialogues",
        notes=(note,) if missed else (),
        details={
            "seed": question.seed,
            "n_workers": workers,
            "n_per_sample": n,
            "icc": question.icc,
            "asked": question.power,
        },
    )
