"""Estimates from people, made more precise by a judge's answers: PPI++ (Angelopoulos, Duchi & Zrnic 2023), clustered.

θ = people's estimate − λ·(judge's answers on people's part − judge's answers on all). The gap is 0 on average however
wrong the judge is: it corrects for the luck of which dialogues people happened to judge. λ, from 0 to 1, makes the
variance small.

What each answer adds to the error of people's estimate and of the gap is summed by worker (people's alone) and by
dialogue (people's and the judge's on the same dialogue hang together). λ is tuned on the sums of dialogues, of which
there are more than workers. ``python -m benchmarks prediction_powered`` measures what that comes to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from parlai_humaneval._util.arrays import Codes, Flags, Floats, Objects
from parlai_humaneval.statistics.core import two_way
from parlai_humaneval.statistics.core.clustered import NO_VARIANCE, Limits, effective_clusters, small_sample_notes
from parlai_humaneval.statistics.core.result import Detail, Result

Ends = tuple[Codes, Codes]  # Dialogues of the first and of the second side, numbered alike; the same where there is one

SOURCE = "Angelopoulos, Duchi & Zrnic 2023, PPI++: Efficient Prediction-Powered Inference"
CROSSED = "Cameron, Gelbach & Miller 2011, Robust inference with multiway clustering"
METHOD = f"prediction-powered t, {two_way.OF_BOTH}"
ASSUMPTIONS = (
    "people judged a random part of what the judge judged",
    "the judge answers dialogues of both parts in the same way",
    "answers without a common rater or dialogue are independent",
)
MOST_WIDER = 1.01  # An interval that is wider than people's alone by more is not given: people's is
FEWEST_CLUSTERS = 6
"""Below so many effective workers (or dialogues, where people judged the same ones) the judge is not used.

Simulated with a perfect judge, intervals of 3, 4 and 5 workers missed the truth in .11, .09 and .07 of studies, people's own
in about .06.
"""


@dataclass(frozen=True)
class Evidence:
    """People's estimate of some parameters, and the judge's answers about the same items and more.

    ``influence``: parameters × people's answers, what each adds to the error. ``said_of_people``, ``said_of_all``: how
    the judge's answers would move the estimate, nan where it gave none. ``strata``: the pair or model that each is
    about; only like is compared with like. ``times``: how many times as much the judge answered.
    """

    influence: Floats
    said_of_people: Floats
    said_of_all: Floats
    strata: Codes
    strata_of_all: Codes
    workers: Codes
    dialogues: Ends
    dialogues_of_all: Ends
    times: float

    @property
    def size(self) -> int:
        """The number of parameters."""
        return len(self.influence)

    @cached_property
    def gap(self) -> Floats:
        """The difference between the judge's answers on people's items and on all items."""
        return self._adjustment[0]

    @cached_property
    def _adjustment(self) -> tuple[Floats, Floats, Floats]:
        """The gap, and what each of people's and of the judge's answers adds to its error."""
        gap = np.zeros(self.size)
        of_people, of_all = np.zeros_like(self.influence), np.zeros_like(self.said_of_all)
        known = ~np.isnan(self.said_of_people).any(axis=0)
        for stratum in np.unique(self.strata):
            here = self.strata == stratum
            matched, everything = here & known, self.strata_of_all == stratum
            if matched.sum() < 2 or not everything.any():
                continue
            answers, few = int(here.sum()), float(matched.sum() / (matched.sum() - 1))
            people, judge = self.said_of_people[:, matched], self.said_of_all[:, everything]
            middle, mean = people.mean(axis=1, keepdims=True), judge.mean(axis=1, keepdims=True)
            gap += answers * (middle - mean)[:, 0]
            of_people[:, matched] = answers / matched.sum() * (people - middle) * np.sqrt(few)
            of_all[:, everything] = -answers / everything.sum() * (judge - mean)
        return gap, of_people, of_all

    @cached_property
    def _covariances(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Covariances of estimate and gap, 2·parameters square: of people's answers by both, by worker, by dialogue; by
        dialogue of all answers."""
        _, of_people, of_all = self._adjustment
        people = np.vstack([self.influence, of_people])
        everything = np.hstack([people, np.vstack([np.zeros_like(of_all), of_all])])
        ends = tuple(
            np.concatenate([side, of_judge])
            for side, of_judge in zip(self.dialogues, self.dialogues_of_all, strict=True)
        )
        by_people = two_way.either_side_covariances(people, self.workers, self.dialogues)
        return (*by_people, two_way.dialogue_covariances(everything, (ends[0], ends[1])))

    def tuned(self, rows: Floats) -> float:
        """λ that makes the sum of the variances by dialogue of these combinations of the parameters least, cut to 0–1."""
        by_dialogue, size = self._covariances[3], self.size
        together = float(np.einsum("ij,jk,ik->", rows, by_dialogue[:size, size:], rows))
        of_gap = float(np.einsum("ij,jk,ik->", rows, by_dialogue[size:, size:], rows))
        if of_gap <= NO_VARIANCE**2:
            return 0.0
        return min(1.0, max(0.0, together / of_gap))

    def together(self, row: Floats, power: float, sizes: Floats) -> tuple[float, float, float]:
        """Standard error with λ = ``power``, its degrees of freedom, and the gain: people's variance by that with the
        judge.

        Degrees of freedom are weighed by the variance that people's answers and the judge's add (Satterthwaite). What
        the judge takes off the variance by dialogue is known better than what it takes off the two-way one: where that
        is less, it counts.
        """
        before, _, _ = self._variances(row, 0.0)
        people, by_dialogue, of_all = self._variances(row, power)
        units = max(2.0, self._effective(self.dialogues, sizes))
        people *= (units + 1) / (units - 1)  # λ was tuned on as many
        judge, judged = max(0.0, of_all - by_dialogue), max(1.0, self._effective(self.dialogues_of_all) - 1)
        parts = people**2 / self.df(sizes) + judge**2 / judged
        df = (people + judge) ** 2 / parts if people + judge else 1.0
        variance = people + of_all - by_dialogue
        variance = variance if variance > 0 else people
        by_dialogues = before + of_all - self._variances(row, 0.0)[2]
        cautious = max(variance, min(by_dialogues, variance * (1 + float(np.sqrt(2 / df)))))
        # No judge makes people's answers worth more than as many as it gave.
        gain = min(max(1.0, before / cautious), self.times) if cautious else self.times
        return float((variance * cautious) ** 0.25), df, gain

    def _variances(self, row: Floats, power: float) -> tuple[float, float, float]:
        """Variances of people's answers less λ times the judge's: as in people's own test (by worker alone if nobody
        shares a dialogue), by dialogue, and by dialogue with all answers of the judge."""
        both = np.concatenate([row, -power * row])
        by_both, by_worker, by_dialogue, of_all = (float(both @ part @ both) for part in self._covariances)
        people = max(0.0, by_both, by_worker, by_dialogue) if self._reused else max(0.0, by_worker)
        return people, by_dialogue, of_all

    def error_alone(self, row: Floats) -> float:
        """The standard error of a combination by people alone."""
        return float(np.sqrt(self._variances(row, 0.0)[0]))

    def df(self, sizes: Floats) -> float:
        """The fewest effective clusters of people's answers, of ``sizes``, less one."""
        effective = effective_clusters(np.bincount(self.workers, weights=sizes))
        if self._reused:
            effective = min(effective, self._effective(self.dialogues, sizes))
        return max(1.0, effective - 1)

    @staticmethod
    def _effective(dialogues: Ends, sizes: Floats | None = None) -> float:
        return min(effective_clusters(np.bincount(side, weights=sizes)) for side in dialogues)

    @cached_property
    def _reused(self) -> bool:
        return two_way.are_reused(self.dialogues, self.workers)


@dataclass(frozen=True)
class Question:
    """A combination (``row``) of the evidence's parameters: ``people``, the answer by people alone; ``sizes``, how much
    each of their answers is about it; ``units`` of a ``unit`` that people judged; the others as for
    :func:`.two_way.by_both`.
    """

    people: Result
    row: Floats
    sizes: Floats
    unit: str
    units: int
    null: float | None = None
    limits: Limits = None
    share: bool = False


def combined(evidence: Evidence, question: Question, power: float) -> Result:
    """The answer of people and judge combined; people's alone if the judge does not make it more precise."""
    people = question.people
    if people.estimate is None or people.ci_low is None or people.ci_high is None:
        return _alone(question, "without an interval of people's answers, the judge is not used")
    if not power:
        return _alone(question)
    alone, df_alone = evidence.error_alone(question.row), evidence.df(question.sizes)
    if round(df_alone) + 1 < FEWEST_CLUSTERS:
        return _alone(
            question,
            f"people's answers come from fewer than {FEWEST_CLUSTERS} effective raters or dialogues, too few to use the "
            "judge's answers: the result uses people's answers alone",
        )
    error, df, gain = evidence.together(question.row, power, question.sizes)
    estimate = people.estimate - power * float(question.row @ evidence.gap)
    tail = 0.5 + people.level / 2
    within = question.limits is None or question.limits[0] < estimate < question.limits[1]
    if (
        not within
        or not NO_VARIANCE < error < alone
        or error * float(stdtrit(df, tail)) >= alone * float(stdtrit(df_alone, tail))
    ):
        return _alone(question)
    base = people.but(
        estimate=estimate,
        method=METHOD if not people.method.startswith("Bradley") else f"{people.method.split(',')[0]}, {METHOD}",
        assumptions=ASSUMPTIONS,
        source=f"{SOURCE}; {CROSSED}",
        statistic=None,
        p_value=None,
        p_holm=None,
        details={key: value for key, value in people.details.items() if key.startswith("n_") or key == "null"},
    )
    result = two_way.by_t(base, error, df, question.null, question.limits, share=question.share)
    if (result.ci_high or 0.0) - (result.ci_low or 0.0) > MOST_WIDER * (people.ci_high - people.ci_low):
        return _alone(question)
    sizes = np.bincount(evidence.workers, weights=question.sizes)
    about = (note for note in people.notes if note.startswith(two_way.ABOUT_THESE))
    notes = (*small_sample_notes(int((sizes > 0).sum()), "worker", sizes), *about, *result.notes)
    return _with_human_result(result.but(notes=notes), question, power, gain)


def _alone(
    question: Question, why: str = "the judge does not make people's answer more precise, so it is not used"
) -> Result:
    people = question.people.but(p_holm=None, notes=(*question.people.notes, why))
    return _with_human_result(people, question, 0.0, 1.0)


def _with_human_result(result: Result, question: Question, power: float, gain: float) -> Result:
    worth = round(gain * question.units)
    details: dict[str, Detail] = {
        **result.details,
        "people": question.people.estimate,
        "people_low": question.people.ci_low,
        "people_high": question.people.ci_high,
        "lambda": power,
        "gain": gain,
        "human": question.units,
        "worth": worth,
    }
    what, verb = ("this", "is") if question.units == 1 else (f"these {question.units:,}", "are")
    noun = question.unit if question.units == 1 else f"{question.unit}s"
    words = f"{what} human {noun} {verb} worth {worth:,}"
    return result.but(notes=(words, *result.notes), details=details)


@dataclass(frozen=True)
class Answers:
    """Answers to one question, an entry each; 1 is ``counted`` where it counts, as ties do not. ``strata``: of the pair
    or model; ``items``: what was judged, named alike for people and judge; ``dialogues``: of both sides, the same where
    there is one.
    """

    values: Floats
    counted: Floats
    strata: Codes
    items: Objects
    workers: Objects
    dialogues: tuple[Objects, Objects]


@dataclass(frozen=True)
class Matched:
    """People's answers, the place of each one's item among the judge's (−1: none), and the judge's, averaged to one an
    item."""

    people: Answers
    judge: Answers
    on_people: Codes
    workers: Codes
    dialogues: tuple[Codes, Codes]
    dialogues_of_all: tuple[Codes, Codes]

    @property
    def known(self) -> Flags:
        """The people's answers about items that the judge answered, too."""
        return np.asarray(self.on_people >= 0)

    @property
    def only_judged(self) -> int:
        """Items that the judge answered and people did not."""
        return len(self.judge.items) - len(np.unique(self.on_people[self.known]))

    def beside(self, of_items: Floats) -> Floats:
        """A value of each of the judge's items (the last axis) for each of people's answers; nan where there is none."""
        return np.where(self.known, of_items[..., np.maximum(self.on_people, 0)].astype(float), np.nan)

    def evidence(self, influence: Floats, said: Floats) -> Evidence:
        """The evidence of an estimate; ``said``: parameters × the judge's items, how each would move it."""
        return Evidence(
            influence=influence,
            said_of_people=self.beside(said),
            said_of_all=said,
            strata=self.people.strata,
            strata_of_all=self.judge.strata,
            workers=self.workers,
            dialogues=self.dialogues,
            dialogues_of_all=self.dialogues_of_all,
            times=len(self.judge.items) / max(1, len(self.judge.items) - self.only_judged),
        )


def matched(people: Answers, judge: Answers) -> Matched:
    """Average the judge's answers to each item, and match them to people's answers."""
    whole = one_an_item(judge)
    on_people = pd.Index(whole.items).get_indexer(pd.Index(people.items))
    sides = two_way.numbered([*people.dialogues, *whole.dialogues])
    (workers,) = two_way.numbered([people.workers])
    return Matched(
        people=people,
        judge=whole,
        on_people=np.asarray(on_people, dtype=np.intp),
        workers=workers,
        dialogues=(sides[0], sides[1]),
        dialogues_of_all=(sides[2], sides[3]),
    )


def one_an_item(answers: Answers) -> Answers:
    """The mean of the answers to each item, however many gave them."""
    codes, items = pd.factorize(answers.items)
    size = np.bincount(codes, minlength=len(items)).astype(float)
    first = np.unique(codes, return_index=True)[1]
    sums = (np.bincount(codes, weights=part, minlength=len(items)) for part in (answers.values, answers.counted))
    means = [of_item / size for of_item in sums]
    sides = (answers.dialogues[0][first], answers.dialogues[1][first])
    strata, workers = answers.strata[first], answers.workers[first]
    return Answers(means[0], means[1], strata, np.asarray(items, dtype=object), workers, sides)


def evidence_of_rates(answers: Matched, signs: Sequence[float] = (1.0,)) -> Evidence:
    """Σ values / Σ counted of each stratum, times its sign, summed: a share, a mean, or the difference of two."""
    people, judge = answers.people, answers.judge
    influence, said = np.zeros(len(people.values)), np.zeros(len(judge.values))
    for stratum, sign in enumerate(signs):
        here, of_all = people.strata == stratum, judge.strata == stratum
        total = float(people.counted[here].sum())
        if not total:
            continue
        rate = float(people.values[here].sum()) / total
        influence[here] = sign * (people.values[here] - rate * people.counted[here]) / total
        said[of_all] = sign * (judge.values[of_all] - rate * judge.counted[of_all]) / total
    return answers.evidence(influence[None], said[None])
