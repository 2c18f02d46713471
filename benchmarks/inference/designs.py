"""The studies: every headline of the report, with equal models or with a gap, many studies at once.

A design draws the sums of workers that remedies read, and can hand one of its studies to the public function that a
report leads with. Those functions read of turns only the sums of each worker, so that a worker's turns are laid out in
any order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from benchmarks.inference.crowd import Crowd, Floats, Ints, any_number, one_pick
from benchmarks.inference.sums import Arm, Crossed, Gap, Joint, Rate
from parlai_humaneval import analysis
from parlai_humaneval.statistics.preference.tests import compare_with_baseline
from parlai_humaneval.statistics.ratings.sliders import score_gaps
from parlai_humaneval.statistics.survival.tests import clustered_score_test

TURNS = 6
"""Turns of a dialogue."""
QUALITY = 0.7
"""Standard deviation of the quality of reused dialogues, in log-odds."""
NAMES = ("a", "b", "c", "d")
HARSH, TIMES = 0.1, 6.0
"""Share of harsh workers, and how many times as many failures they see."""
LENGTHS = np.array([2, 3, 5])
SCALE = np.array([0.05, 0.15, 0.30, 0.35, 0.15])
"""Shares of the ratings 1 to 5."""


@dataclass(frozen=True)
class Studies:
    """``sums``: what remedies read; ``ask``: p of the headline of one study, by the public function."""

    sums: Gap | Joint | Crossed
    ask: Callable[[int], float | None]


Draw = Callable[[Crowd, float, int, np.random.Generator], Studies]


@dataclass(frozen=True)
class Design:
    """``draw`` makes studies with a gap (0: equal models); ``widest``: a gap that any test finds.

    ``positions``: raters can have a pull to a place. ``crowds``: numbers of workers. ``thinned``: how many times fewer
    studies are drawn; reused dialogues take an array of workers × dialogues a study.
    """

    name: str
    draw: Draw
    widest: float
    positions: bool = True
    crowds: tuple[int, ...] = (20, 50, 150)
    thinned: int = 1


def turns_of(counts: Ints) -> tuple[Floats, Ints]:
    """Turns × kinds with a 1 for the kind of each turn, and whose turn it is, from workers × kinds."""
    kinds = counts.shape[1]
    rows = np.repeat(np.tile(np.eye(kinds), (len(counts), 1)), counts.ravel(), axis=0)
    return rows, np.repeat(np.arange(len(counts)), counts.sum(axis=1))


def _spread(values: Ints, counts: Ints) -> tuple[Floats, Ints]:
    """0 and 1 of each worker, so many of them 1, and whose they are."""
    kinds, workers = turns_of(np.stack([values, counts - values], axis=1))
    return kinds[:, 0], workers


def _tilted(models: int, gap: float) -> Floats:
    """Shares of picks: equal, or from the first model to the last ever fewer."""
    return (1 + gap * np.linspace(1, -1, models)) / models


def _picks(models: int, crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    sizes = crowd.sizes(studies, TURNS, rng)
    counts = one_pick(crowd, sizes, _tilted(models, gap), rng).sum(axis=2)

    def ask(study: int) -> float | None:
        chosen, workers = turns_of(counts[study])
        return analysis.compare_choices(chosen, NAMES[:models], workers, one_pick=True)[0].clustered.p_value

    return Studies(_of_models(counts, sizes), ask)


def _of_models(values: Ints, sizes: Ints) -> Gap | Joint:
    """The difference of two models, or all of several."""
    x, n = values.astype(float), sizes.astype(float)
    return Gap(Arm(x[..., 0] - x[..., 1], n), null=0.0) if x.shape[-1] == 2 else Joint(x, n)


def _likes(models: int, crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    sizes = crowd.sizes(studies, TURNS, rng)
    counts = any_number(crowd, sizes, 0.5 + gap / 2 * np.linspace(1, -1, models), rng)

    def ask(study: int) -> float | None:
        sides = [_spread(counts[study, :, model], sizes[study]) for model in range(models)]
        chosen = np.stack([liked for liked, _ in sides], axis=1)
        return analysis.compare_choices(chosen, NAMES[:models], sides[0][1], one_pick=False)[0].clustered.p_value

    return Studies(_of_models(counts, sizes), ask)


def _halves(crowd: Crowd, studies: int, each: int, rng: np.random.Generator) -> list[Ints]:
    """Answers of each worker on two models, one of which is drawn for each dialogue."""
    dialogues = crowd.sizes(studies, 1, rng)
    first = rng.binomial(dialogues, 0.5)
    return [first * each, (dialogues - first) * each]


def _two(values: Sequence[Floats | Ints] | Floats, counts: Sequence[Ints]) -> Gap:
    """The difference of two models from the sums of each."""
    first, second = (Arm(x.astype(float), n.astype(float)) for x, n in zip(values, counts, strict=True))
    return Gap(first, second)


def _singles(crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    sizes = _halves(crowd, studies, TURNS, rng)
    liked = [
        rng.binomial(n, crowd.chances(0.6 + sign * gap / 2, n.shape, rng))
        for n, sign in zip(sizes, (1, -1), strict=True)
    ]

    def ask(study: int) -> float | None:
        sides = [_spread(x[study], n[study]) for x, n in zip(liked, sizes, strict=True)]
        values = np.concatenate([side for side, _ in sides])
        chosen = np.full((len(values), 2), np.nan)
        model = np.repeat([0, 1], [len(side) for side, _ in sides])
        chosen[np.arange(len(values)), model] = values
        workers = np.concatenate([who for _, who in sides])
        return analysis.compare_singles(chosen, NAMES[:2], workers)[0].clustered.p_value

    return Studies(_two(liked, sizes), ask)


def _baseline(null: float, harsh: bool, crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    """``harsh``: a few workers see most of the failures, so that workers are not beta-distributed."""
    sizes = crowd.sizes(studies, TURNS, rng)
    failures: Floats = np.full(sizes.shape, 1 - null)
    if harsh:
        failures = failures * np.where(rng.random(sizes.shape) < HARSH, TIMES, (1 - HARSH * TIMES) / (1 - HARSH))
    liked = rng.binomial(sizes, crowd.chances(np.maximum(1 - gap - failures, 1e-6), sizes.shape, rng))

    def ask(study: int) -> float | None:
        values, workers = _spread(liked[study], sizes[study])
        test = compare_with_baseline(values[:, None], NAMES[:1], workers, baseline=null)[0]
        return test.clustered.p_value

    return Studies(Rate(Arm(liked.astype(float), sizes.astype(float)), null=null), ask)


def _won(wins: Ints, decided: Ints, first: Ints, reused: bool) -> float | None:
    """p of the win rate of A over B, as the report leads with it: with both places counting alike where places matter.

    Workers × cells of wins and decided judgements; ``first``: 1 where A stood first. A cell is a dialogue that is
    ``reused``, or only a place, and each judgement is of a dialogue of its own.
    """
    outcome, cell = _spread(wins.ravel(), decided.ravel())
    worker, column = np.divmod(cell, wins.shape[1])
    names = pd.Series(column if reused else np.arange(len(cell))).astype(str)
    rows = pd.DataFrame(
        {
            "model_a": "a",
            "model_b": "b",
            "outcome": np.where(outcome == 1, 1, -1),
            "worker_id": worker,
            "dialogue_a": "a" + names,
            "dialogue_b": "b" + names,
            "first_a": np.broadcast_to(first, wins.shape).ravel()[cell].astype(float),
            "both_bad": 0,
        }
    )
    pair = analysis.wins_of_pairs(rows)[0]
    return (pair.adjusted or pair.win_rate).p_value


def _comparisons(each: int, crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    """A tenth ties. ``each``: judgements of a dialogue, as there are segments of it."""
    decided = rng.binomial(crowd.sizes(studies, each, rng), 0.9)
    picks = one_pick(crowd, decided, _tilted(2, gap), rng)

    def ask(study: int) -> float | None:
        return _won(picks[study, ..., 0], picks[study].sum(axis=-1), np.array([1, 0]), reused=False)

    return Studies(Gap(Arm(picks[..., 0].sum(axis=2).astype(float), decided.astype(float))), ask)


def _reused(items: int, each: int, crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    """Every worker judges some of the same items, whose quality differs."""
    sizes = crowd.sizes(studies, 1, rng)
    shown = rng.random((studies, crowd.workers, items)).argsort(axis=2) < sizes[..., None]
    decided = rng.binomial(shown * each, 0.9)
    quality = rng.normal(logit((1 + gap) / 2), QUALITY, (studies, 1, items))
    taste = logit(crowd.chances(0.5, sizes.shape, rng))[..., None]
    side = rng.choice([-1, 1], decided.shape)
    wins = rng.binomial(decided, expit(quality + taste + side * crowd.pulls(sizes.shape, rng)[..., None]))

    def ask(study: int) -> float | None:
        return _won(wins[study], decided[study], (side[study] + 1) // 2, reused=True)

    return Studies(Crossed(wins.astype(float), decided.astype(float)), ask)


def _survival(crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    """Two speakers, judged in segments of three lengths: spotted sooner or later."""
    sizes = _halves(crowd, studies, 3, rng)
    hardness = logit(np.array([0.3, 0.45, 0.65]))
    total, spotted = [], []
    for n, sign in zip(sizes, (1, -1), strict=True):
        taste = logit(crowd.chances(0.5, n.shape, rng))[..., None]
        of_length = rng.multinomial(n, np.full(3, 1 / 3))
        total.append(of_length)
        spotted.append(rng.binomial(of_length, expit(hardness + sign * gap / 2 + taste)))
    seen, shown = np.stack(spotted, axis=2), np.stack(total, axis=2)  # studies × workers × speakers × lengths

    def ask(study: int) -> float | None:
        counts = np.stack([seen[study], shown[study] - seen[study]], axis=-1)
        worker, speaker, length, missed = (part.ravel() for part in np.indices(counts.shape))
        times = counts.ravel()
        rows = [np.repeat(part, times) for part in (LENGTHS[length], 1 - missed, speaker, worker)]
        return clustered_score_test(*rows).p_value

    return Studies(Gap(Arm(_survival_scores(seen, shown), np.ones(seen.shape[:2])), null=0.0), ask)


def _survival_scores(seen: Ints, shown: Ints) -> Floats:
    """What each worker adds to the score of a hazard ratio of 1, times the number of workers (Finkelstein 1986)."""
    spotted, total = seen.sum(axis=(1, 2)), np.maximum(shown.sum(axis=(1, 2)), 1)
    # Isotonic shares of three lengths: the least over all ends of the greatest mean over all starts.
    means = {
        (i, j): spotted[:, i : j + 1].sum(axis=1) / total[:, i : j + 1].sum(axis=1)
        for i in range(3)
        for j in range(i, 3)
    }
    share = np.stack(
        [
            np.max([np.min([means[i, j] for j in range(length, 3)], axis=0) for i in range(length + 1)], axis=0)
            for length in range(3)
        ],
        axis=1,
    )
    left = np.clip(1 - share, 1e-9, 1 - 1e-9)
    hazard = -np.log(left)
    score = seen * (hazard * left / (1 - left))[:, None, None] - (shown - seen) * hazard[:, None, None]
    second = shown[:, :, 1].sum(axis=1) / total
    sums: Floats = (score[:, :, 1] * (1 - second[:, None]) - score[:, :, 0] * second[:, None]).sum(axis=-1)
    return np.asarray(sums * seen.shape[1])


def _ratings(crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> list[Ints]:
    """How often each worker gave 1 to 5 to each of two models."""
    found = []
    for n, sign in zip(_halves(crowd, studies, 1, rng), (1, -1), strict=True):
        means = SCALE * np.exp(sign * gap / 2 * np.arange(5))
        found.append(rng.multinomial(n, crowd.shares(means / means.sum(), n.shape, rng)))
    return found


def _as_rated(counts: Sequence[Ints], study: int) -> list[Floats | Ints]:
    """Values and workers of the first model, and of the second."""
    sides: list[Floats | Ints] = []
    for of_model in counts:
        kinds, workers = turns_of(of_model[study])
        sides += [kinds @ np.arange(1.0, 6.0), workers]
    return sides


def _likert(crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    counts = _ratings(crowd, gap, studies, rng)
    sums = _two([of_model @ np.arange(1.0, 6.0) for of_model in counts], [of_model.sum(axis=-1) for of_model in counts])

    def ask(study: int) -> float | None:
        return analysis.clustered_difference(*_as_rated(counts, study)).p_value

    return Studies(sums, ask)


def _effective(crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    """The chance of a higher rating is the difference of mean mid-ranks over the number of ratings, plus ½."""
    counts = _ratings(crowd, gap, studies, rng)
    of_value = np.sum([of_model.sum(axis=1) for of_model in counts], axis=0)
    ranks = (np.cumsum(of_value, axis=1) - of_value / 2) / of_value.sum(axis=1, keepdims=True)
    placed = [(of_model * ranks[:, None]).sum(axis=-1) for of_model in counts]
    sums = _two(placed, [of_model.sum(axis=-1) for of_model in counts])

    def ask(study: int) -> float | None:
        return analysis.effective_win_test(*_as_rated(counts, study)).p_value

    return Studies(sums, ask)


def _direct(crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    """Overall scores, standardised within each worker, who rated every model equally often."""
    sizes = crowd.sizes(studies, 1, rng)
    likes = rng.normal(0, np.sqrt(crowd.icc), (2, *sizes.shape)) + np.array([gap / 2, -gap / 2])[:, None, None]
    most = int(sizes.max())
    noise = rng.normal(0, np.sqrt(1 - crowd.icc), (2, *sizes.shape, most))
    given = np.arange(most) < sizes[..., None]
    scores = np.where(given, likes[..., None] + noise, 0.0)

    def ask(study: int) -> float | None:
        model, worker, number = np.nonzero(np.broadcast_to(given[study], (2, *given[study].shape)))
        values = scores[:, study][model, worker, number]
        rows = pd.DataFrame(
            {
                "dialogue_id": [f"d{place}" for place in range(len(values))],
                "worker_id": worker,
                "model": np.array(NAMES[:2], dtype=object)[model],
                "criterion": "fun",
                "raw": values,
                "z": values,
            }
        )
        return score_gaps(rows, NAMES[:2])[0].difference.p_value

    return Studies(_two(scores.sum(axis=-1), [sizes, sizes]), ask)


def _plackett_luce(pair: bool, crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    """One pick of four, read by the model of strengths and positions, as free-for-all is."""
    sizes = crowd.sizes(studies, TURNS, rng)
    means = np.array([1 + gap, 1 - gap, 1, 1]) / 4 if pair else _tilted(4, gap)
    picks = one_pick(crowd, sizes, means, rng)
    counts = picks.sum(axis=2)

    def ask(study: int) -> float | None:
        worker, first, chosen = (
            np.repeat(part.ravel(), picks[study].ravel()) for part in np.indices(picks[study].shape)
        )
        others = np.random.default_rng(study).random((len(worker), 4))
        others[np.arange(len(worker)), first] = -1
        places = others.argsort(axis=1).argsort(axis=1) + 1
        fit = analysis.plackett_luce(np.eye(4)[chosen], worker, positions=places, models=NAMES)
        return (fit.pairs[0] if pair else fit.equal).p_value

    return Studies(_pair_of_four(counts, sizes) if pair else _of_models(counts, sizes), ask)


def _pair_of_four(values: Ints, sizes: Ints) -> Gap:
    return Gap(Arm((values[..., 0] - values[..., 1]).astype(float), sizes.astype(float)), null=0.0)


def _bradley_terry(pair: bool, crowd: Crowd, gap: float, studies: int, rng: np.random.Generator) -> Studies:
    """Comparisons of two of four models with ties; what is summed are wins less losses of each model.

    Gamma-distributed tastes make the chances of every pair beta-distributed with the intraclass correlation.
    """
    sizes = crowd.sizes(studies, 2, rng)
    pairs = list(combinations(range(4), 2))
    tilt = np.exp(gap * (np.array([1.0, -1.0, 0, 0]) if pair else np.linspace(1, -1, 4)))
    shape = (*sizes.shape, 4)
    tastes = rng.standard_gamma((1 / crowd.icc - 1) / 2, shape) + 1e-30 if crowd.icc else np.ones(shape)
    pulls = crowd.pulls(sizes.shape, rng)
    of_pair = rng.multinomial(sizes, np.full(len(pairs), 1 / len(pairs)))
    results = np.zeros((*sizes.shape, len(pairs), 2, 3), dtype=np.int64)  # who stood first; second, tie, first won
    for number, (i, j) in enumerate(pairs):
        lead = np.log(tastes[..., i] * tilt[i]) - np.log(tastes[..., j] * tilt[j])
        as_first = rng.binomial(of_pair[..., number], 0.5)
        for side, n in enumerate((as_first, of_pair[..., number] - as_first)):
            decided = rng.binomial(n, 0.9)
            won = rng.binomial(decided, expit(lead * (1, -1)[side] + pulls))
            results[..., number, side, :] = np.stack([decided - won, n - decided, won], axis=-1)
    net = np.zeros(shape, dtype=np.int64)
    for number, (i, j) in enumerate(pairs):
        lead_i = sum(
            sign * (results[..., number, side, 2] - results[..., number, side, 0]) for side, sign in enumerate((1, -1))
        )
        net[..., i] += lead_i
        net[..., j] -= lead_i

    def ask(study: int) -> float | None:
        index = np.indices(results[study].shape)
        worker, number, side, outcome = (np.repeat(part.ravel(), results[study].ravel()) for part in index)
        models = np.array(NAMES, dtype=object)[np.array(pairs)[number]]
        rows = np.arange(len(worker))
        first, second = models[rows, side], models[rows, 1 - side]
        fit = analysis.bradley_terry(first, second, outcome - 1, worker, models=NAMES)
        return (fit.pairs[0] if pair else fit.equal).p_value

    return Studies(_pair_of_four(net, sizes) if pair else _of_models(net, sizes), ask)


DESIGNS: tuple[Design, ...] = (
    Design("pw_turn, pair", partial(_picks, 2), 0.9),
    Design("sata, pair", partial(_likes, 2), 0.9),
    Design("single_model, pair", _singles, 0.7, positions=False),
    Design("one model against .80", partial(_baseline, 0.8, False), 0.6, positions=False),
    Design("one model against .95", partial(_baseline, 0.95, False), 0.6, positions=False),
    Design("one model against .95, harsh workers", partial(_baseline, 0.95, True), 0.6, positions=False),
    Design("comparisons", partial(_comparisons, 1), 0.95),
    Design("comparisons, 30 dialogues reused", partial(_reused, 30, 1), 0.95, crowds=(60, 150), thinned=4),
    Design("comparisons, 100 dialogues reused", partial(_reused, 100, 1), 0.95, crowds=(60, 150), thinned=4),
    Design("Spot The Bot, wins", partial(_comparisons, 3), 0.95),
    Design("Spot The Bot, wins, 30 dialogues reused", partial(_reused, 30, 3), 0.95, crowds=(60, 150), thinned=4),
    Design("Spot The Bot, survival", _survival, 4.0, positions=False),
    Design("Likert, difference", _likert, 2.0, positions=False),
    Design("Likert, effective win rate", _effective, 2.0, positions=False),
    Design("direct assessment", _direct, 2.5, positions=False),
    Design("soba, three models", partial(_picks, 3), 0.95),
    Design("soba, four models", partial(_picks, 4), 0.95),
    Design("sata, four models", partial(_likes, 4), 0.95),
    Design("free-for-all (Plackett–Luce), four models", partial(_plackett_luce, False), 0.95),
    Design("Plackett–Luce, pair of four", partial(_plackett_luce, True), 0.95),
    Design("Bradley–Terry, four models", partial(_bradley_terry, False), 2.5),
    Design("Bradley–Terry, pair of four", partial(_bradley_terry, True), 2.5),
)
