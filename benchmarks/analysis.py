"""Seconds for statistics, next to packages and the obvious way: the same numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.figures import Figure, median
from benchmarks.plain_statistics import (
    binomial_looks,
    conditional_logit,
    em_survival,
    pandas_bootstrap,
    plain_zhao_sun,
    play_free_for_all,
    play_matches,
)
from benchmarks.processes import BenchmarkError
from parlai_humaneval import analysis
from parlai_humaneval.statistics.core.clustered import cluster_bootstrap
from parlai_humaneval.statistics.ranking.trueskill import free_for_all_ratings, rate_two_player
from parlai_humaneval.statistics.survival.tests import zhao_sun_scores

REPEATS = 5
MODELS = 5
LENGTHS = np.array([2, 3, 5])
Rng = np.random.Generator


@dataclass(frozen=True)
class Sizes:
    """What is computed; the peer does ``peer_share`` of it where all would take many minutes."""

    replicates: int
    matches: int
    shuffles: int
    dialogues: int
    draws: int
    workers: int
    looks: int
    segments: int
    peer_share: float


FULL = Sizes(1_000, 5_000, 1_000, 100, 2_000, 300, 5_000, 5_000, 0.01)
QUICK = Sizes(10, 50, 10, 10, 50, 20, 50, 60, 0.2)


def run(quick: bool) -> list[Figure]:
    """All ratios; with ``quick`` tiny sizes."""
    sizes, rng = QUICK if quick else FULL, np.random.default_rng(0)
    return [
        _matches(sizes, rng),
        _free_for_all(sizes, rng),
        _bootstrap(sizes, rng),
        _looks(sizes, rng),
        *_survival(sizes, rng),
        _strengths(sizes, rng),
    ]


def _figure(
    name: str,
    peer_name: str,
    ours: Callable[[], Any],
    peer: Callable[[], Any],
    same: Callable[[Any, Any], bool],
    *,
    scale: float = 1.0,
) -> Figure:
    """Both sides in turn, and only if they give the same. ``scale``: how much more than the peer did it was to do."""
    ours()
    our_times, peer_times = [], []
    for number in range(REPEATS):
        taken, found = _timed(ours)
        our_times.append(taken)
        if number < 2:
            taken, expected = _timed(peer)
            peer_times.append(taken * scale)
            if not same(found, expected):
                raise BenchmarkError(f"{name}: the two sides differ")
    part = "" if scale == 1 else f", which did one part in {scale:.0f} (its time is multiplied)"
    return Figure(
        name=name,
        unit="s",
        ours=median(our_times),
        peer=median(peer_times),
        peer_source="same run",
        note=f"peer: {peer_name}{part}; both give the same numbers",
        repeats=REPEATS,
    )


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def _matches(sizes: Sizes, rng: Rng) -> Figure:
    first = rng.integers(0, MODELS, sizes.matches)
    second = (first + rng.integers(1, MODELS, sizes.matches)) % MODELS
    result = rng.integers(-1, 2, sizes.matches)
    orders = rng.integers(0, sizes.matches, (sizes.replicates, sizes.matches))
    few = max(1, round(sizes.replicates * sizes.peer_share / 2))
    return _figure(
        f"TrueSkill, {sizes.replicates:,} bootstraps × {sizes.matches:,} matches",
        "the package trueskill, match by match",
        lambda: rate_two_player(first, second, result, MODELS, orders=orders)[0],
        lambda: play_matches(first, second, result, MODELS, orders[:few]),
        lambda ours, peer: np.allclose(ours[:few], peer, atol=1e-4),
        scale=sizes.replicates / few,
    )


def _free_for_all(sizes: Sizes, rng: Rng) -> Figure:
    points = rng.multinomial(6, np.full(MODELS, 1 / MODELS), sizes.dialogues)
    orders = rng.random((sizes.shuffles, sizes.dialogues)).argsort(axis=1)
    few = max(1, round(sizes.shuffles * sizes.peer_share))
    return _figure(
        f"free-for-all, {sizes.shuffles:,} shuffles × {sizes.dialogues:,} dialogues of {MODELS} models",
        "the package trueskill, dialogue by dialogue",
        lambda: free_for_all_ratings(points, orders=orders)[0],
        lambda: play_free_for_all(points, orders[:few]),
        lambda ours, peer: np.allclose(ours[:few], peer, atol=1e-2),
        scale=sizes.shuffles / few,
    )


def _bootstrap(sizes: Sizes, rng: Rng) -> Figure:
    workers = np.repeat(np.arange(sizes.workers), 10)
    turns: pd.DataFrame = pd.DataFrame({"worker": workers, "won": rng.integers(0, 2, len(workers))})
    few = max(10, round(sizes.draws * 10 * sizes.peer_share))

    def ours() -> tuple[float, float] | None:
        sums = analysis.cluster_sums(turns["won"], np.ones(len(turns)), turns["worker"])
        return cluster_bootstrap(sums, seed=0, draws=sizes.draws)

    return _figure(
        f"cluster bootstrap of {sizes.workers} workers, {sizes.draws:,} draws",
        "pandas: the rows of the drawn workers put together, each time",
        ours,
        lambda: pandas_bootstrap(turns, few),
        lambda found, peer: np.allclose(found, peer, atol=0.05),
        scale=sizes.draws / few,
    )


def _looks(sizes: Sizes, rng: Rng) -> Figure:
    outcomes = rng.integers(0, 2, sizes.looks)
    times = np.arange(1.0, sizes.looks + 1)
    return _figure(
        f"time to significance, {sizes.looks:,} looks",
        "scipy's binomtest at every look",
        lambda: analysis.time_to_significance(outcomes, times).p_values,
        lambda: binomial_looks(outcomes),
        lambda ours, peer: np.allclose(ours, peer, atol=1e-9),
    )


def _survival(sizes: Sizes, rng: Rng) -> list[Figure]:
    k: npt.NDArray[np.int_] = LENGTHS[rng.integers(0, len(LENGTHS), sizes.segments)]
    spotted = (rng.random(sizes.segments) < 0.2 + 0.1 * k).astype(int)
    group = rng.integers(0, 2, sizes.segments)
    return [
        _figure(
            f"Zhao–Sun scores of {sizes.segments:,} judgements",
            "a loop over judgements",
            lambda: zhao_sun_scores(k, spotted, group)[1],
            lambda: plain_zhao_sun(k, spotted, group),
            lambda ours, peer: np.allclose(ours, peer, atol=1e-6),
        ),
        _figure(
            f"survival (NPMLE) of {sizes.segments:,} judgements",
            "Turnbull's self-consistency steps until they stand still",
            lambda: list(analysis.survival_curve(k, spotted).values()),
            lambda: em_survival(k, spotted),
            lambda ours, peer: np.allclose(ours, peer, atol=1e-4),
        ),
    ]


def _strengths(sizes: Sizes, rng: Rng) -> Figure:
    """Any number of picks of the replies shown, without positions."""
    turns = 10 * sizes.dialogues
    shown = rng.random((turns, 2 * MODELS)).argsort(axis=1) < MODELS
    liked = rng.random((turns, 2 * MODELS)) < np.linspace(0.3, 0.7, 2 * MODELS)
    chosen = np.where(shown, liked, np.nan)
    return _figure(
        f"Plackett–Luce of {turns:,} turns, {MODELS} of {2 * MODELS} models shown, any number picked",
        "statsmodels' ConditionalLogit",
        lambda: [model.estimate for model in analysis.plackett_luce(chosen, np.arange(turns) // 10).models],
        lambda: conditional_logit(chosen),
        lambda ours, peer: np.allclose(ours, peer, atol=1e-5),
    )
