"""Intervals of people's answers on a part and a judge's on all: misses, widths; judges in studies that stop (20 minutes).

Judges are useless, biased, contrary, as noisy as a person, nearly perfect and perfect; workers few and unequal. The
benchmark fails where an interval misses more or less often than in .04 to .06 of studies by more than three standard
errors of the simulation, unless people's own does too, or where one is wider than people's by more than 1 %. So it does
where studies that stop claim something false in more than .05 by two standard errors, or need more than 1.03 times the
dialogues with a judge that is of no use.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np

from benchmarks.figures import Figure
from benchmarks.judged_stopping import JUDGES as PREDICTING
from benchmarks.judged_stopping import QUALITY, Ended, Judged
from benchmarks.judged_studies import JUDGES, MEASURES, PROPHET, STUDIES, Found, Study
from benchmarks.processes import BenchmarkError

STUDIED, STUDIED_QUICKLY = 1_000, 1
FITS_A_STUDY = 2.5
"""Strengths take longer: of so many fewer studies, of some crowds and judges."""
FITTED, FIT_BY = (
    (Study(20, 120), Study(20, 120, 2), Study(40, 120, 2, True)),
    ("useless", "biased", "like a person", "perfect"),
)
FEWEST, MOST = 0.04, 0.06
"""Misses that are right at a level of .95."""
WIDEST = 1.01
STOPPED, STOPPED_QUICKLY = 2_000, 2
CLEAR = 2.0  # Where dialogues differ so much, people agree in 79 % of verdicts and not in 66 %
TRUTHS: dict[str, tuple[tuple[float, ...], int, float, float]] = {
    "two models, equal": ((0.0, 0.0), 560, 1.0, QUALITY),
    "two models, the margin apart": ((0.2, 0.0), 560, 1.0, QUALITY),
    "two models, twice the margin apart": ((0.4, 0.0), 560, 1.0, QUALITY),
    "two models, equal, clear dialogues": ((0.0, 0.0), 560, 1.0, CLEAR),
    "two models, the margin apart, clear dialogues": ((0.2, 0.0), 560, 1.0, CLEAR),
    "four models, all equal": ((0.0, 0.0, 0.0, 0.0), 2200, 0.25, QUALITY),
    "four models, each the margin above the next": ((0.6, 0.4, 0.2, 0.0), 2200, 0.25, QUALITY),
}
"""Differences of win rates, the cap, the part of the studies that is simulated (with four models each takes long), and how
much dialogues differ."""
SOONEST = "two models, twice the margin apart"
"""The truth whose studies end first, which is all of them with ``quick``."""
MUTANT = "peeks"  # It is to claim false things: a judge that answers after the person
DEAREST = 1.03  # So many times the dialogues, with a judge that is of no use


@dataclass(frozen=True)
class Row:
    """What many studies of a kind came to."""

    name: str
    judge: str
    found: tuple[Found, ...]
    studies: int

    @property
    def missed(self) -> float:
        """Share of intervals without the truth."""
        return 1 - float(np.mean([one.held for one in self.found]))

    @property
    def missed_by_people(self) -> float:
        """The same of people's own."""
        return 1 - float(np.mean([one.held_by_people for one in self.found]))

    @property
    def width(self) -> float:
        """Mean width, people's own being 1."""
        return float(np.mean([one.width for one in self.found]))

    @property
    def widest(self) -> float:
        """Of any study."""
        return max(one.width for one in self.found)

    @property
    def gain(self) -> float:
        """Mean effective gain."""
        return float(np.mean([one.gain for one in self.found]))

    @property
    def fault(self) -> str:
        """What it breaks of the promise; empty where nothing."""
        if self.widest > WIDEST + 1e-9:
            return f"{self.name}, {self.judge}: an interval is {self.widest:.3f} times as wide as people's"
        error = 3 * float(np.sqrt(0.05 * 0.95 / self.studies))
        least, most = min(FEWEST, self.missed_by_people), max(MOST, self.missed_by_people)
        if least - error <= self.missed <= most + error:
            return ""
        return (
            f"{self.name}, {self.judge}: {self.missed:.3f} of intervals miss, people's own {self.missed_by_people:.3f}"
        )

    def figures(self) -> list[Figure]:
        """Misses, widths and gains."""
        name, alone = f"{self.name}: {self.judge} judge", "peer: people alone, of the same studies"
        return [
            Figure(
                name=f"missed, {name}",
                unit="share of 95 % intervals",
                ours=self.missed,
                peer=self.missed_by_people,
                peer_source="same run",
                note=f"right is .05; {alone}",
                repeats=self.studies,
            ),
            Figure(
                name=f"width, {name}",
                unit="of people's",
                ours=self.width,
                peer=1.0,
                peer_source="same run",
                note=f"{alone}",
                repeats=self.studies,
            ),
            Figure(
                name=f"worth, {name}",
                unit="human answers each",
                ours=self.gain,
                better="more",
                note="effective gain: people's variance by that of people and judge",
                repeats=self.studies,
            ),
        ]


def measured(measure: str, study: Study, judge: str, studies: int) -> Row:
    """So many studies; always the same ones."""
    name = f"{measure}, {study.name}"
    rng = np.random.default_rng(crc32(f"{name} {judge}".encode()))
    found = tuple(one for _ in range(studies) for one in MEASURES[measure](study, judge, rng))
    return Row(name, judge, found, studies)


def rows(studies: int, kinds: Sequence[Study] = STUDIES, fitted: Sequence[Study] = FITTED) -> list[Row]:
    """Every measure, study and judge; the prophet where one rater's answer is its own."""
    cells = [(measure, study, judge) for measure in ("win rate", "mean rating") for study in kinds for judge in JUDGES]
    cells += [("win rate", study, PROPHET) for study in kinds if study.raters == 1]
    fits = [("Bradley–Terry", study, judge) for study in fitted for judge in FIT_BY]
    fewer = max(1, round(studies / FITS_A_STUDY))
    return [*(measured(*cell, studies) for cell in cells), *(measured(*cell, fewer) for cell in fits)]


def run(quick: bool) -> list[Figure]:
    """Misses, widths and gains; with ``quick`` of the smallest studies, by one rater an item and by two.

    Raises:
        BenchmarkError: an interval breaks its promise; not with ``quick``, where studies are too few to tell.
    """
    table = rows(STUDIED_QUICKLY, STUDIES[:2], FITTED[:1]) if quick else rows(STUDIED)
    stopped = [*(stopping(STOPPED_QUICKLY, [SOONEST]) if quick else stopping(STOPPED, list(TRUTHS)))]
    every: list[Row | Stopped] = [*table, *stopped]
    faults = [row.fault for row in every if row.fault]
    if faults and not quick:
        raise BenchmarkError("; ".join(faults))
    return [figure for row in every for figure in row.figures()]


@dataclass(frozen=True)
class Stopped:
    """What studies that stop came to with a ``judge``, and without one (``alone``)."""

    truth: str
    judge: str
    ended: Ended
    alone: Ended

    @property
    def ratio(self) -> float:
        """Dialogues, those without the judge being 1."""
        return float(self.ended.dialogues.mean() / self.alone.dialogues.mean())

    @property
    def error(self) -> float:
        """The standard error of a share of .05 of so many studies."""
        return float(np.sqrt(0.05 * 0.95 / len(self.ended.dialogues)))

    @property
    def fault(self) -> str:
        """What it breaks of the promise; empty where nothing."""
        name, false = f"{self.truth}, {self.judge} judge", self.ended.false
        if (false > 0.05 + 2 * self.error) != (self.judge == MUTANT):
            return f"{name}: {false:.3f} of studies claim something false"
        if self.judge in ("useless", "contrary") and self.ratio > DEAREST:
            return f"{name}: {self.ratio:.3f} times the dialogues"
        return ""

    def figures(self) -> list[Figure]:
        """False claims and dialogues."""
        name = f"{self.truth}: {'mutant that' if self.judge == MUTANT else 'judge'} {self.judge}"
        both = [(f"false claims, {name}", "of studies", self.ended.false, self.alone.false, "at most .05")]
        both.append(
            (f"dialogues, {name}", "of those without", self.ratio, 1.0, "mean of studies; a judge explains a part")
        )
        return [
            Figure(
                name=named,
                unit=unit,
                ours=ours,
                peer=peer,
                peer_source="same run",
                note=f"{note}; peer: no judge",
                repeats=len(self.ended.dialogues),
            )
            for named, unit, ours, peer, note in both
        ]


def stopping(studies: int, truths: list[str]) -> Iterator[Stopped]:
    """Every truth and judge, the same raters and pools with each."""
    for truth in truths:
        rates, cap, part, quality = TRUTHS[truth]
        number = max(2, round(studies * part))
        alone = Judged(rates, None, number, cap=cap, quality=quality).run()
        for judge in PREDICTING:
            yield Stopped(truth, judge, Judged(rates, judge, number, cap=cap, quality=quality).run(), alone)
