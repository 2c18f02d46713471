"""Made-up studies that a judge answers in full and people in part: do intervals hold the truth, and how wide are they?

Items differ (log-odds SD 2), workers differ (SD .5), so that two people agree on seven of ten; judges see an item more or
less well. Comparisons of finished dialogues are of four models, whose dialogues stand in several comparisons each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import expit

from parlai_humaneval.statistics.core.clustered import SHARE_LIMITS
from parlai_humaneval.statistics.core.means import crossed_mean
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import crossed_share
from parlai_humaneval.statistics.judges.prediction_powered import (
    Answers,
    Question,
    combined,
    evidence_of_rates,
    matched,
)
from parlai_humaneval.statistics.judges.tables import strengths_with_judge
from parlai_humaneval.statistics.ranking.bradley_terry import bradley_terry

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int_]

TASTE, QUALITY, LEAD = 0.5, 2.0, 0.3
"""Standard deviations of workers and of items, and the mean, in log-odds of winning."""
SCALE = (1.0, 5.0)
STRENGTHS = np.array([0.45, 0.15, -0.15, -0.45])
MODELS = ("a", "b", "c", "d")
TIES = 0.1
SAID = 8
"""Answers that a judge gives to a comparison, which are averaged: so that it can say more than who wins."""
OF_A_MODEL = 2.0
"""Comparisons that share a dialogue of a model, on average."""


@dataclass(frozen=True)
class Study:
    """How many people judge how much: ``raters`` of them each of ``dialogues``, of which the judge has ``times`` as many.

    ``unequal``: workers give lognormal numbers of answers (σ 1.1) instead of equal ones.
    """

    workers: int
    dialogues: int
    raters: int = 1
    unequal: bool = False
    times: int = 6

    @property
    def name(self) -> str:
        """“20 workers, 60 dialogues by 3 each, unequal”."""
        by = f" by {self.raters} each" if self.raters > 1 else ""
        return f"{self.workers} workers, {self.dialogues} dialogues{by}{', unequal' if self.unequal else ''}"


STUDIES = (
    Study(10, 60),
    Study(10, 60, 2),
    Study(20, 120),
    Study(20, 40, 4),
    Study(40, 120, 2),
    Study(40, 120, 2, True),
)

Judge = Callable[[Floats, np.random.Generator], Floats]
"""Log-odds of items → what the judge says, from 0 to 1."""


def _says(log_odds: Floats, rng: np.random.Generator) -> Floats:
    return np.asarray(rng.random(log_odds.shape) < expit(log_odds), dtype=float)


JUDGES: Mapping[str, Judge] = {
    "useless": lambda odds, rng: _says(np.zeros_like(odds), rng),
    "biased": lambda odds, rng: _says(odds + 2, rng),
    "contrary": lambda odds, rng: _says(-odds, rng),
    "like a person": lambda odds, rng: _says(odds + rng.normal(0, TASTE, odds.shape), rng),
    "mean of five": lambda odds, rng: np.mean([_says(odds, rng) for _ in range(5)], axis=0),
    "perfect": lambda odds, rng: np.asarray(expit(odds)),
}
"""Judges, the perfect one of whom says of every item what people say on average."""
PROPHET = "prophet"
"""Answers what the person answers, or would answer, whose answer it replaces; of one rater an item."""


@dataclass(frozen=True)
class Found:
    """One study: whether each interval holds the truth, and the width by people's alone, gain and λ."""

    held: bool
    held_by_people: bool
    width: float
    gain: float
    power: float


def share(study: Study, judge: str, rng: np.random.Generator) -> list[Found]:
    """The share of comparisons that are won."""
    odds, who, items = _drawn(study, rng)
    taste = rng.normal(0, TASTE, study.workers)[who]
    won = (rng.random(len(who)) < expit(odds[items] + taste)).astype(float)
    said = _prophecy(study, odds, won, rng) if judge == PROPHET else JUDGES[judge](odds, rng)
    people, judged = _answers(won, items, who), _answers(said, np.arange(len(said)), np.zeros(len(said), dtype=int))
    alone = crossed_share(people.values, people.counted, people.workers, [people.dialogues[0]])
    question = Question(alone, np.ones(1), people.counted, "dialogue", study.dialogues, 0.5, SHARE_LIMITS, share=True)
    return [_found(people, judged, question, _true_share())]


def mean(study: Study, judge: str, rng: np.random.Generator) -> list[Found]:
    """The mean of ratings from 1 to 5."""
    odds, who, items = _drawn(study, rng)
    rated = _rated(odds[items] + rng.normal(0, TASTE, study.workers)[who], rng)
    said = 1 + 4 * JUDGES[judge](odds, rng)
    people, judged = _answers(rated, items, who), _answers(said, np.arange(len(said)), np.zeros(len(said), dtype=int))
    alone = crossed_mean(people.values, people.workers, people.dialogues[0], limits=SCALE)
    question = Question(alone, np.ones(1), people.counted, "dialogue", study.dialogues, None, SCALE)
    return [_found(people, judged, question, _true_mean())]


def strengths(study: Study, judge: str, rng: np.random.Generator) -> list[Found]:
    """The first model's strength and its difference to the last one's, of comparisons of two finished dialogues."""
    number, items = study.dialogues * study.times, _compared(study, rng)
    quality = STRENGTHS[items["model"]] + rng.normal(0, QUALITY / np.sqrt(2), items["pool"])[items["dialogue"]]
    odds = quality[0] - quality[1]
    who, part = _raters(study, rng), np.repeat(np.arange(study.dialogues), study.raters)
    taste = rng.normal(0, TASTE, (study.workers, len(MODELS)))
    lead = odds[part] + taste[who, items["model"][0][part]] - taste[who, items["model"][1][part]]
    outcome = np.where(rng.random(len(part)) < TIES, 0, np.where(rng.random(len(part)) < expit(lead), 1, -1))
    won = np.floor(SAID * JUDGES[judge](odds, rng) + rng.random(number))
    verdict = np.where(np.arange(SAID) < won[:, None], 1, -1).ravel()
    people = _comparisons(items, part, outcome, _names("w", who))
    said = np.repeat(np.arange(number), SAID)
    judged = _comparisons(items, said, verdict, np.full(len(said), "judge", dtype=object))
    together = strengths_with_judge(people, judged, "comparison", level=0.95)
    if together is None:
        return []
    truth = _true_strengths()
    wanted = [(together.models[0], truth[0]), (together.pairs[2], truth[0] - truth[3])]
    return [_held(result, value) for result, value in wanted if result.ci_low is not None]


MEASURES: Mapping[str, Callable[[Study, str, np.random.Generator], list[Found]]] = {
    "win rate": share,
    "mean rating": mean,
    "Bradley–Terry": strengths,
}


def _drawn(study: Study, rng: np.random.Generator) -> tuple[Floats, Ints, Ints]:
    """Log-odds of all items; who gave each of people's answers, and to which item."""
    odds = rng.normal(LEAD, QUALITY, study.dialogues * study.times)
    return odds, _raters(study, rng), np.repeat(np.arange(study.dialogues), study.raters)


def _raters(study: Study, rng: np.random.Generator) -> Ints:
    """The workers of every answer, different ones for one item."""
    if study.unequal:
        keys = np.log(rng.lognormal(0, 1.1, study.workers)) + rng.gumbel(size=(study.dialogues, study.workers))
        return np.asarray((-keys).argsort(axis=1)[:, : study.raters].ravel())
    rounds = -(-study.dialogues * study.raters // study.workers)
    order = np.concatenate([rng.permutation(study.workers) for _ in range(rounds)])
    return np.asarray(order[: study.dialogues * study.raters])


def _prophecy(study: Study, odds: Floats, won: Floats, rng: np.random.Generator) -> Floats:
    rest = odds[study.dialogues :]
    return np.concatenate([won, _says(rest + rng.normal(0, TASTE, rest.shape), rng)])


def _rated(liking: Floats, rng: np.random.Generator) -> Floats:
    return np.clip(np.round(3 + 0.5 * liking + rng.normal(0, 0.7, liking.shape)), *SCALE)


def _answers(values: Floats, items: Ints, who: Ints) -> Answers:
    names, ones = _names("d", items), np.ones(len(values))
    return Answers(values, ones, np.zeros(len(values), dtype=np.intp), names, _names("w", who), (names, names))


def _names(prefix: str, numbers: Ints) -> npt.NDArray[np.object_]:
    return np.array([f"{prefix}{number}" for number in numbers], dtype=object)


def _found(people: Answers, judged: Answers, question: Question, truth: float) -> Found:
    evidence = evidence_of_rates(matched(people, judged))
    return _held(combined(evidence, question, evidence.tuned(np.ones((1, 1)))), truth)


def _held(result: Result, truth: float) -> Found:
    low, high, gain, power = (
        float(result.details[name] or 0) for name in ("people_low", "people_high", "gain", "lambda")
    )
    ends = (result.ci_low or 0.0, result.ci_high or 0.0)
    return Found(ends[0] <= truth <= ends[1], low <= truth <= high, (ends[1] - ends[0]) / (high - low), gain, power)


def _compared(study: Study, rng: np.random.Generator) -> dict[str, npt.NDArray[np.int_]]:
    """Two models and a dialogue of each for every item; people's items are of dialogues that others may share."""
    number = study.dialogues * study.times
    pairs = np.array([(i, j) for i in range(len(MODELS)) for j in range(i + 1, len(MODELS))])
    model = pairs[rng.integers(0, len(pairs), number)].T
    of_each = max(2, round(2 * number / len(MODELS) / OF_A_MODEL))
    dialogue = model * of_each + rng.integers(0, of_each, model.shape)
    return {"model": model, "dialogue": dialogue, "pool": np.array(of_each * len(MODELS))}


def _comparisons(
    items: dict[str, npt.NDArray[np.int_]], which: Ints, outcome: Ints, workers: npt.NDArray[np.object_]
) -> pd.DataFrame:
    names = np.array(MODELS, dtype=object)
    table: pd.DataFrame = pd.DataFrame(
        {
            "model_a": names[items["model"][0][which]],
            "model_b": names[items["model"][1][which]],
            "dialogue_a": _names("d", items["dialogue"][0][which]),
            "dialogue_b": _names("d", items["dialogue"][1][which]),
            "item": _names("i", which),
            "worker_id": workers,
            "outcome": outcome,
            "first_a": np.nan,
        }
    )
    return table


_MANY = 1_000_000


@cache
def _true_share() -> float:
    rng = np.random.default_rng(0)
    return float(expit(rng.normal(LEAD, np.hypot(QUALITY, TASTE), _MANY)).mean())


@cache
def _true_mean() -> float:
    rng = np.random.default_rng(0)
    return float(_rated(rng.normal(LEAD, np.hypot(QUALITY, TASTE), _MANY), rng).mean())


@cache
def _true_strengths() -> Floats:
    """What Bradley–Terry finds in ever more comparisons of new dialogues by new workers."""
    rng, number = np.random.default_rng(0), _MANY // 2
    pairs = np.array([(i, j) for i in range(len(MODELS)) for j in range(i + 1, len(MODELS))])
    first, second = pairs[rng.integers(0, len(pairs), number)].T
    spread = np.hypot(QUALITY, np.sqrt(2) * TASTE)
    lead = STRENGTHS[first] - STRENGTHS[second] + rng.normal(0, spread, number)
    outcome = np.where(rng.random(number) < TIES, 0, np.where(rng.random(number) < expit(lead), 1, -1))
    names, workers = np.array(MODELS, dtype=object), rng.integers(0, 50, number)
    found = bradley_terry(names[first], names[second], outcome, workers, slots=False)
    return np.array([model.estimate for model in found.models])
