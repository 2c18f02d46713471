"""An estimate by people, made more exact by a judge's answers: PPI++ (Angelopoulos, Duchi & Zrnic 2023), clustered.

θ = people's estimate − λ·(judge's answers on people's part − judge's answers on all). Both terms of the gap come from the
same judge, so that it is 0 on average however wrong the judge is: it corrects for the luck of which dialogues people
happened to judge. λ, from 0 to 1, is chosen to make the variance small: 0 for a judge that says nothing.

What each answer adds to the error of people's estimate and of the gap is summed by worker (people's alone: the judge is
one and the same) and by dialogue (people's answers and the judge's on the same dialogue hang together), so that the
interval is for other workers and other dialogues. λ is tuned on the sums of dialogues, of which there are more than
workers: tuned on the two-way variance of ten workers it follows their noise. ``python -m benchmarks prediction_powered``
measures what that comes to.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import stdtrit

from parlai_humaneval._util.arrays import Codes, Floats
from parlai_humaneval.statistics.core.clustered import NO_VARIANCE, Limits, effective_clusters, small_sample_notes
from parlai_humaneval.statistics.core.result import Detail, Result
from parlai_humaneval.statistics.core.two_way import (
    ABOUT_THESE,
    OF_BOTH,
    are_reused,
    by_t,
    dialogue_covariances,
    either_side_covariances,
)

Ends = tuple[Codes, Codes]
"""Dialogues of the first and of the second side, numbered alike; the same where there is one."""

SOURCE = "Angelopoulos, Duchi & Zrnic 2023, PPI++: Efficient Prediction-Powered Inference"
CROSSED = "Cameron, Gelbach & Miller 2011, Robust inference with multiway clustering"
METHOD = f"prediction-powered t, {OF_BOTH}"
ASSUMPTIONS = (
    "people judged a part of what the judge judged that was drawn by chance",
    "the judge answers dialogues of both parts in the same way",
    "answers without a common worker or dialogue are independent",
)
MOST_WIDER = 1.01
"""An interval that is wider than people's alone by more is not given: people's is."""
FEWEST_CLUSTERS = 6
"""Below so many effective workers (or dialogues, where people judged the same ones) the judge is not used.

Simulated with a perfect judge, intervals of 3, 4 and 5 workers missed the truth in .11, .09 and .07 of studies, people's own
in about .06.
"""


@dataclass(frozen=True)
class Evidence:
    """People's estimate of some parameters, and the judge's answers to the same and to more.

    Attributes:
        influence: parameters × people's answers, what each adds to the error of the estimate; rows sum to 0.
        said_of_people: parameters × people's answers, how the judge's answer would move the estimate; nan where the
            judge did not answer.
        said_of_all: the same, parameters × everything the judge answered.
        strata, strata_of_all: of each answer, the pair or model it is about; only like is compared with like.
        workers: of people's answers.
        dialogues, dialogues_of_all: of people's answers and of the judge's, numbered alike.
        times: how many times as much the judge answered as people did.
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
        """How many parameters there are."""
        return len(self.influence)

    @cached_property
    def gap(self) -> Floats:
        """How far the judge's answers on people's part are from those on all."""
        return self._adjustment[0]

    @cached_property
    def _adjustment(self) -> tuple[Floats, Floats, Floats]:
        """The gap, and what each of people's and of the judge's answers adds to its error.

        The mean of a stratum takes a degree of freedom, which counts where people gave few answers to each of many pairs.
        """
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
        """Of estimate and gap, 2·parameters square: of people's answers by both, by worker, by dialogue; by dialogue of
        all answers."""
        _, of_people, of_all = self._adjustment
        people = np.vstack([self.influence, of_people])
        everything = np.hstack([people, np.vstack([np.zeros_like(of_all), of_all])])
        ends = tuple(
            np.concatenate([side, of_judge])
            for side, of_judge in zip(self.dialogues, self.dialogues_of_all, strict=True)
        )
        by_people = either_side_covariances(people, self.workers, self.dialogues)
        return (*by_people, dialogue_covariances(everything, (ends[0], ends[1])))

    def tuned(self, rows: Floats) -> float:
        """λ that makes the sum of the variances by dialogue of these combinations of the parameters least, cut to 0–1."""
        by_dialogue, size = self._covariances[3], self.size
        together = float(np.einsum("ij,jk,ik->", rows, by_dialogue[:size, size:], rows))
        of_gap = float(np.einsum("ij,jk,ik->", rows, by_dialogue[size:, size:], rows))
        if of_gap <= NO_VARIANCE**2:
            return 0.0
        return min(1.0, max(0.0, together / of_gap))

    def alone(self, row: Floats, sizes: Floats) -> tuple[float, float]:
        """Standard error of a combination of the parameters by people alone, and its degrees of freedom.

        ``sizes``: how much each of people's answers is about it.
        """
        return float(np.sqrt(self._by_people(row, 0.0))), self._df(sizes)

    def together(self, row: Floats, power: float, sizes: Floats) -> tuple[float, float, float]:
        """Standard error with λ = ``power``, its degrees of freedom, and the gain: people's variance by that with the judge.

        The degrees of freedom are those of people's answers and of the judge's, weighed by the variance that each adds
        (Satterthwaite). Of few workers this variance is a noisy number, and judges that seem to help are used, so that by
        itself it promises too much. What the judge takes off the variance by dialogue is known better: where that is less,
        it counts, as far as the other may be off by chance (by its standard error); for the gain in full, for the
        interval, whose degrees of freedom allow for chance too, half of it.
        """
        people, (by_dialogue, of_all) = self._by_people(row, power), self._by_dialogue(row, power)
        units = max(2.0, self._effective_dialogues(sizes))
        people *= (units + 1) / (units - 1)  # λ was tuned on as many
        judge = max(0.0, of_all - by_dialogue)
        df = (
            (people + judge) ** 2 / (people**2 / self._df(sizes) + judge**2 / self._df_of_judge)
            if people + judge
            else 1.0
        )
        variance = people + of_all - by_dialogue
        variance = variance if variance > 0 else people
        before = self._by_people(row, 0.0)
        by_dialogues = before + of_all - self._by_dialogue(row, 0.0)[1]
        cautious = max(variance, min(by_dialogues, variance * (1 + float(np.sqrt(2 / df)))))
        # No judge makes people's answers worth more than as many as it gave.
        gain = min(max(1.0, before / cautious), self.times) if cautious else self.times
        return float((variance * cautious) ** 0.25), df, gain

    def _by_people(self, row: Floats, power: float) -> float:
        """The variance of people's answers less λ times the judge's, as in people's own test: by worker alone where nobody
        shares a dialogue."""
        both = np.concatenate([row, -power * row])
        variances = [float(both @ part @ both) for part in self._covariances[:3]]
        return max(0.0, *variances) if self._reused else max(0.0, variances[1])

    def _by_dialogue(self, row: Floats, power: float) -> tuple[float, float]:
        """The variance by dialogue of people's answers less λ times the judge's, and with all answers of the judge."""
        both = np.concatenate([row, -power * row])
        return float(both @ self._covariances[2] @ both), float(both @ self._covariances[3] @ both)

    def _df(self, sizes: Floats) -> float:
        """The fewest effective clusters of people's answers less one."""
        effective = effective_clusters(np.bincount(self.workers, weights=sizes))
        if self._reused:
            effective = min(effective, self._effective_dialogues(sizes))
        return max(1.0, effective - 1)

    @cached_property
    def _reused(self) -> bool:
        return are_reused(self.dialogues, self.workers)

    def _effective_dialogues(self, sizes: Floats) -> float:
        return min(effective_clusters(np.bincount(side, weights=sizes)) for side in self.dialogues)

    @cached_property
    def _df_of_judge(self) -> float:
        return max(1.0, min(effective_clusters(np.bincount(side)) for side in self.dialogues_of_all) - 1)


@dataclass(frozen=True)
class Question:
    """What is asked of the evidence: a combination of its parameters.

    ``people``: the answer by people alone, as reports give it; ``row``: the combination; ``sizes``: how much each of
    people's answers is about it; ``unit``, ``units``: what people judged, in words, and how many of it. ``null``,
    ``limits``, ``share``: as in :func:`~parlai_humaneval.statistics.core.two_way.by_both`.
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
    """The answer of people and judge together; people's own where the judge does not make it more exact."""
    people = question.people
    if people.estimate is None or people.ci_low is None or people.ci_high is None:
        return _alone(question, "without an interval of people's answers the judge's are not used")
    if not power:
        return _alone(question)
    alone, df_alone = evidence.alone(question.row, question.sizes)
    if round(df_alone) + 1 < FEWEST_CLUSTERS:
        return _alone(
            question,
            f"people's answers are of fewer than {FEWEST_CLUSTERS} effective workers or dialogues, too few to use the "
            "judge's: the answer is theirs alone",
        )
    error, df, gain = evidence.together(question.row, power, question.sizes)
    estimate = people.estimate - power * float(question.row @ evidence.gap)
    within = question.limits is None or question.limits[0] < estimate < question.limits[1]
    if (
        not within
        or not NO_VARIANCE < error < alone
        or _half(error, df, people.level) >= _half(alone, df_alone, people.level)
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
    result = by_t(base, error, df, question.null, question.limits, share=question.share)
    if _width(result) > MOST_WIDER * _width(people):
        return _alone(question)
    sizes = np.bincount(evidence.workers, weights=question.sizes)
    about = (note for note in people.notes if note.startswith(ABOUT_THESE))
    notes = (*small_sample_notes(int((sizes > 0).sum()), "worker", sizes), *about, *result.notes)
    return _with_human_result(result.but(notes=notes), question, power, gain)


def _half(error: float, df: float, level: float) -> float:
    return error * float(stdtrit(df, 0.5 + level / 2))


def _width(result: Result) -> float:
    return (result.ci_high or 0.0) - (result.ci_low or 0.0)


def _alone(
    question: Question, why: str = "the judge does not make people's answer more exact: it is theirs alone"
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
