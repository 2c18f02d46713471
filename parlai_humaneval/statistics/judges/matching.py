"""People's answers and a judge's to one question, matched by what was judged; and shares and means of them as evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Codes, Flags, Floats, Objects
from parlai_humaneval.statistics.core.two_way import numbered
from parlai_humaneval.statistics.judges.prediction_powered import Evidence


@dataclass(frozen=True)
class Answers:
    """Answers to one question, an entry each.

    Attributes:
        values: what was answered; of a share 1 for a success, and 0 where it does not count.
        counted: 1 where the answer counts (for a share of decided comparisons: where it is no tie), else 0.
        strata: number of the pair or model that it is about.
        items: what was judged, named alike for people and judge.
        workers: who answered.
        dialogues: of the first and the second side; the same where there is one.
    """

    values: Floats
    counted: Floats
    strata: Codes
    items: Objects
    workers: Objects
    dialogues: tuple[Objects, Objects]


@dataclass(frozen=True)
class Matched:
    """People's answers beside what the judge said of the same items, several answers of the judge to one averaged.

    ``on_people``: for each of people's answers the place of its item among the judge's, −1 where the judge did not
    answer. ``judge``: an entry an item.
    """

    people: Answers
    judge: Answers
    on_people: Codes
    workers: Codes
    dialogues: tuple[Codes, Codes]
    dialogues_of_all: tuple[Codes, Codes]

    @property
    def known(self) -> Flags:
        """Which of people's answers the judge has answered, too."""
        return np.asarray(self.on_people >= 0)

    @property
    def only_judged(self) -> int:
        """Items that the judge answered and people did not."""
        return len(self.judge.items) - len(np.unique(self.on_people[self.known]))

    def beside(self, of_items: Floats) -> Floats:
        """A value of each of the judge's items (the last axis) for each of people's answers; nan where there is none."""
        taken = of_items[..., np.maximum(self.on_people, 0)].astype(float)
        return np.where(self.known, taken, np.nan)

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
    """The judge's answers to each item averaged, and found again for people's."""
    whole = one_an_item(judge)
    on_people = pd.Index(whole.items).get_indexer(pd.Index(people.items))
    sides = numbered([*people.dialogues, *whole.dialogues])
    (workers,) = numbered([people.workers])
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
    means = [
        np.bincount(codes, weights=part, minlength=len(items)) / size for part in (answers.values, answers.counted)
    ]
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
