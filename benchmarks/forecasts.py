"""How often the forecast of a running study holds: its 80 % range of dialogues to go, and that of each pair (half an hour).

Made-up studies of four models, or two, stand still after a quarter, a half and three quarters of another one of the same
models took. Raters choose models, or score them. Each is foreseen from there, and then runs on: was what it still took
within the range? Studies that have ended before do not count, so that there is something to foresee.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from benchmarks.figures import Figure
from benchmarks.processes import BenchmarkError
from parlai_humaneval.stopping.batch import Studies
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import Crowd, Crowded, forecasts, win_rates
from parlai_humaneval.stopping.units import FULL, Scored, Scores

MODELS, MARGIN, CAP = 4, 0.1, 20_000
STEP = math.log(0.55 / 0.45)
"""Log-odds of one model being ten points above another."""
MOMENTS = (0.25, 0.5, 0.75)
LEAST, MOST = 0.70, 0.90
"""Of the ranges that hold, for it to be what it says."""
ERRORS = 2.0
"""Standard errors of the simulation by which they may be off."""
STUDIES, SIMULATIONS = 200, 50
FEW, FEW_DIALOGUES, FEW_SIMULATIONS = 1, 60, 5
"""Studies of each kind with ``quick``, the dialogues after which they end, and how often each is foreseen."""

Numbers = npt.NDArray[np.int64]


class Paused(Crowded):
    """Studies that stand still after so many dialogues, with raters inside."""

    def run_to(self, dialogues: Numbers) -> None:
        self.clock = np.zeros(self.studies.count)
        while True:
            rows = np.flatnonzero((self.begun < dialogues) & self.studies.decisions.open().any(axis=1))
            if not rows.size:
                return
            slot = self.free_at[rows].argmin(axis=1)
            now = self.free_at[rows, slot]
            come = self.advance(rows, now) & self.studies.decisions.open(rows).any(axis=1)
            if come.any():
                self._arrive(rows[come], slot[come], now[come])
                self.clock[rows[come]] = now[come]
            self.studies.drop_folded()

    def as_seen(self) -> Studies:
        """The studies as somebody sees them who does not know yet what raters who are inside will say, and when."""
        seen = copy.deepcopy(self.studies)
        for place in range(int((seen.arrived - seen.folded).max())):
            rows = np.flatnonzero(seen.folded + place < seen.arrived)
            numbers = seen.folded[rows] + place
            inside = seen.ended[rows, numbers - seen.dropped[rows]] > self.clock[rows]
            rows, numbers = rows[inside], numbers[inside]
            seen.answer(rows, numbers, np.full(seen.of_worker(rows, numbers)[1].shape, np.nan))
            seen.end(rows, numbers, np.full(len(rows), np.inf))
        return seen


class PausedScored(Paused, Scored):
    """The same, with raters who score models."""


@dataclass(frozen=True)
class Kind:
    """Studies in which models are scored: each by itself (of which a margin is half as many points), or all in a chat."""

    name: str
    raters: Scores
    margin: float
    rated: Literal["together", "apart"] = "apart"

    @property
    def rule(self) -> dict[str, Any]:
        """What the rule says besides models, margin and cap."""
        return {"rated": self.rated, "shown": "panel" if self.raters.at_once > 2 else "pairs"}

    def levels(self, studies: int) -> dict[str, npt.NDArray[np.float64]]:
        """Studies × models: mean scores, of models that are equal, or of which one is better by the margin."""
        best = self.margin * (FULL if self.rated == "apart" else 1.0)
        middle = 0.5 if self.rated == "apart" or self.raters.any_number else 1 / MODELS
        rows = {"all equal": np.zeros(MODELS), "the best by the margin": np.array([best, *[0.0] * (MODELS - 1)])}
        return {truth: np.tile(middle + level - level.mean(), (studies, 1)) for truth, level in rows.items()}


KINDS = (
    Kind("two ratings of each rater", Scores(2, within=0.15), 0.2),
    Kind("one rating of each rater", Scores(1, within=0.15, between=0.14), 0.2),
    Kind("four ratings of each rater", Scores(4, within=0.15), 0.2),
    Kind("four models in a chat, any chosen", Scores(4, turns=6, icc=0.05, any_number=True), 0.1, "together"),
    Kind("four models in a chat, one chosen", Scores(4, turns=6, icc=0.05), 0.1, "together"),
)


def run(quick: bool) -> list[Figure]:
    """The share of ranges that hold.

    Raises:
        BenchmarkError: it is not between .70 and .90; not with ``quick``, where studies are too few to tell.
    """
    studies, cap, simulations = (FEW, FEW_DIALOGUES, FEW_SIMULATIONS) if quick else (STUDIES, CAP, SIMULATIONS)
    figures = [
        figure
        for name, rates in truths(studies).items()
        for figure in measured(name, rates, cap, simulations=simulations)
    ]
    for kind in KINDS:
        figures += of_kind(kind, studies, cap, simulations)
    wrong = [f"{each.name} {each.ours:.2f}" for each in figures if not is_held(each)]
    if wrong and not quick:
        raise BenchmarkError(f"ranges of 80 % that do not hold in {LEAST:g} to {MOST:g}: {'; '.join(wrong)}")
    return figures


def is_held(figure: Figure) -> bool:
    """As far as so few can tell."""
    error = ERRORS * math.sqrt(0.8 * 0.2 / figure.repeats)
    return LEAST - error <= figure.ours <= MOST + error


def truths(studies: int) -> dict[str, npt.NDArray[np.float64]]:
    """Studies × models × models: win rates."""
    drawn = np.random.default_rng(1).normal(0, 0.3, (studies, MODELS))
    strengths = {
        "all equal": np.zeros((studies, MODELS)),
        "the best 20 points above the rest": np.tile([2 * STEP, *[0.0] * (MODELS - 1)], (studies, 1)),
        "each 10 points above the next": np.tile(-STEP * np.arange(MODELS), (studies, 1)),
        "strengths with a standard deviation of .3": drawn,
        "two models, 20 points apart": np.tile([2 * STEP, 0.0], (studies, 1)),
    }
    return {name: np.stack([win_rates(each) for each in rows]) for name, rows in strengths.items()}


def of_kind(kind: Kind, studies: int, cap: int = CAP, simulations: int = SIMULATIONS) -> Iterator[Figure]:
    """The figures of both truths of a kind."""
    how = {"margin": kind.margin, "simulations": simulations, "raters": kind.raters, **kind.rule}
    for truth, levels in kind.levels(studies).items():
        yield from measured(f"{kind.name}, {truth}", levels, cap, **how)


def measured(
    name: str,
    truth: npt.NDArray[np.float64],
    cap: int = CAP,
    *,
    margin: float = MARGIN,
    simulations: int = SIMULATIONS,
    raters: Crowd | Scores | None = None,
    **rule_of: Any,
) -> Iterator[Figure]:
    """A figure of all dialogues, and one of those of pairs, at each moment. ``truth``: studies × models × models, or where
    ``raters`` score models, studies × models; win rates, or mean scores."""
    models = tuple(f"m{number}" for number in range(truth.shape[1]))
    rule = StoppingRule(models=models, margin=margin, max_dialogues=cap, **rule_of)
    crowd: Any = raters or Crowd()
    going, still_standing = (Crowded, Paused) if isinstance(crowd, Crowd) else (Scored, PausedScored)
    others = going(_begun(rule, len(truth)), truth, crowd, seed=1).run()
    for moment in MOMENTS:
        paused = still_standing(_begun(rule, len(truth)), truth, crowd, seed=2)
        paused.run_to(np.ceil(moment * others.dialogues).astype(np.int64))
        still = paused.studies.decisions.open().any(axis=1) & (paused.begun < cap)
        paused.clock = paused.clock[still]
        paused.take(still)
        if not still.any():
            continue
        note = f"{len(models)} models, margin {margin:g}, {simulations} simulations each; wanted: {LEAST:g} to {MOST:g}"
        foreseen = forecasts(paused.as_seen(), begun=paused.begun, crowd=crowd, simulations=simulations)
        ahead = going(copy.deepcopy(paused.studies), truth[still], crowd, begun=paused.begun, seed=3)
        ahead.free_at = paused.free_at.copy()
        done, open_pairs = ahead.run(), paused.studies.decisions.open()
        in_all = [
            each.low <= taken <= each.high
            for each, taken in zip(foreseen, np.minimum(done.dialogues, cap) - paused.begun, strict=True)
        ]
        of_pairs = [
            pair.low <= taken <= pair.high
            for row, each in enumerate(foreseen)
            for pair, taken in zip(each.pairs, done.given[row, open_pairs[row]], strict=True)
        ]
        for what, held in (("all dialogues", in_all), ("those of each open pair", of_pairs)):
            yield Figure(
                name=f"{name}, {moment:.0%} of the way: {what}",
                unit="of 80 % ranges hold",
                ours=float(np.mean(held)),
                better="more",
                note=note,
                repeats=len(foreseen),
            )


def _begun(rule: StoppingRule, studies: int) -> Studies:
    begun = Studies(rule, studies)
    begun.evidence.only_decide()
    return begun
