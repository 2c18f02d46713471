"""Intervals of people's answers on a part and a judge's on all: misses, widths (ten minutes).

Judges are useless, biased, contrary, as noisy as a person, nearly perfect and perfect; workers few and unequal. The
benchmark fails where an interval misses more or less often than in .04 to .06 of studies by more than three standard
errors of the simulation, unless people's own does too, or where one is wider than people's by more than 1 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32

import numpy as np

from benchmarks.figures import Figure
from benchmarks.judged_studies import JUDGES, MEASURES, PROPHET, STUDIES, Found, Study
from benchmarks.processes import BenchmarkError

STUDIED, STUDIED_QUICKLY = 1_000, 2
FITS_A_STUDY = 2.5
"""Strengths take longer: of so many fewer studies, of some crowds and judges."""
FITTED, FIT_BY = (
    (Study(20, 120), Study(20, 120, 2), Study(40, 120, 2, True)),
    ("useless", "biased", "like a person", "perfect"),
)
FEWEST, MOST = 0.04, 0.06
"""Misses that are right at a level of .95."""
WIDEST = 1.01


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


def measured(measure: str, study: Study, judge: str, studies: int) -> Row:
    """So many studies; always the same ones."""
    name = f"{measure}, {study.name}"
    rng = np.random.default_rng(crc32(f"{name} {judge}".encode()))
    found = tuple(one for _ in range(studies) for one in MEASURES[measure](study, judge, rng))
    return Row(name, judge, found, studies)


def rows(studies: int) -> list[Row]:
    """Every measure, study and judge; the prophet where one rater's answer is its own."""
    cells = [
        (measure, study, judge) for measure in ("win rate", "mean rating") for study in STUDIES for judge in JUDGES
    ]
    cells += [("win rate", study, PROPHET) for study in STUDIES if study.raters == 1]
    fits = [("Bradley–Terry", study, judge) for study in FITTED for judge in FIT_BY]
    fewer = max(2, round(studies / FITS_A_STUDY))
    return [*(measured(*cell, studies) for cell in cells), *(measured(*cell, fewer) for cell in fits)]


def run(quick: bool) -> list[Figure]:
    """Misses, widths and gains.

    Raises:
        BenchmarkError: an interval breaks its promise; not with ``quick``, where studies are too few to tell.
    """
    table = rows(STUDIED_QUICKLY if quick else STUDIED)
    faults = [row.fault for row in table if row.fault]
    if faults and not quick:
        raise BenchmarkError("; ".join(faults))
    return [figure for row in table for figure in _figures(row)]


def _figures(row: Row) -> list[Figure]:
    name, alone = f"{row.name}: {row.judge} judge", "peer: people alone, of the same studies"
    return [
        Figure(
            name=f"missed, {name}",
            unit="share of 95 % intervals",
            ours=row.missed,
            peer=row.missed_by_people,
            peer_source="same run",
            note=f"right is .05; {alone}",
            repeats=row.studies,
        ),
        Figure(
            name=f"width, {name}",
            unit="of people's",
            ours=row.width,
            peer=1.0,
            peer_source="same run",
            note=f"{alone}",
            repeats=row.studies,
        ),
        Figure(
            name=f"worth, {name}",
            unit="human answers each",
            ours=row.gain,
            better="more",
            note="effective gain: people's variance by that of people and judge",
            repeats=row.studies,
        ),
    ]
