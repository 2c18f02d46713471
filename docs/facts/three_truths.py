"""Pictures of what studies take under three truths: by a fixed plan, by peeking at an ordinary test, and until decided."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from docs.facts.decided_picture import FIXED, STOPPED, as_svg
from docs.facts.one_study import CROWD, turns_won
from parlai_humaneval.report.render.figures import PAGE
from parlai_humaneval.statistics.core.formatting import percent
from parlai_humaneval.stopping.evidence import pairs_of
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import first_crossing, fixed_plan, made_up, win_rates

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

MODELS, MARGIN, ALPHA = 4, 0.1, 0.05
STUDIES = 200
STEP = math.log(0.55 / 0.45)
"""Log-odds of one model being ten points above another."""
TRUTHS = {
    "all equal": np.zeros(MODELS),
    "the best one 20 points above the rest": np.array([math.log(0.6 / 0.4), 0.0, 0.0, 0.0]),
    "each 10 points above the next": -STEP * np.arange(MODELS),
}
RULE = StoppingRule(models=tuple("ABCD"), margin=MARGIN, alpha=ALPHA, max_dialogues=10**6)
SIZES = {"wide": 8.0, "narrow": 4.1}
"""Inches."""
ROW, ENDS = 0.62, 0.62


@dataclass(frozen=True)
class Regime:
    """How studies end. ``dialogues``: of each; ``wrong``: how many of them claim something false, in words."""

    name: str
    dialogues: npt.NDArray[np.float64]
    wrong: str
    colour: str

    @property
    def words(self) -> str:
        low, high = np.quantile(self.dialogues, [0.1, 0.9])
        spread = "" if low == high else f" (four in five studies {low:,.0f} to {high:,.0f})"
        return f"{self.name}: {self.dialogues.mean():,.0f} dialogues{spread}; false claims in {self.wrong}"


def pictures() -> str:
    """A picture of each truth, as wide as a screen and as wide as a phone, and what is to be seen."""
    parts = []
    found = dict(zip(TRUTHS, _regimes(), strict=True))
    longest = max(float(np.quantile(each.dialogues, 0.9)) for regimes in found.values() for each in regimes)
    for place, (truth, regimes) in enumerate(found.items()):
        said = "; ".join(each.words for each in regimes)
        for name, width in SIZES.items():
            draw = partial(_bars, regimes, longest)
            height = ENDS + ROW * len(regimes)
            svg = as_svg(f"truth-{place}-{name}", f"Four models, {truth}", f"{said}.", (width, height), draw)
            parts.append(f'<div class="drawn {name}" data-search-exclude>\n{svg}\n</div>')
        parts.append(f"\n*Four models, {truth}.* {said[:1].upper()}{said[1:]}.\n")
    return "\n".join(parts)


def _regimes() -> Iterator[list[Regime]]:
    """Of each truth, what 200 studies take."""
    pairs = pairs_of(MODELS)
    planned, pooled = (
        math.ceil(fixed_plan(RULE, variance=CROWD.share_variance(), pooled=pooled)) for pooled in (False, True)
    )
    rates = [win_rates(strengths) for strengths in TRUTHS.values()]
    every = np.repeat(rates, STUDIES, axis=0)
    done = made_up(RULE, every, CROWD, studies=len(every), seed=1).run()
    for place, truth in enumerate(rates):
        ours = done.among(slice(place * STUDIES, (place + 1) * STUDIES))
        taken, wrong = _peeked(truth[pairs.first, pairs.second], planned // pairs.count)
        yield [
            Regime("one fixed plan for all", np.full(STUDIES, float(pooled)), f"at most {percent(ALPHA)}", FIXED),
            Regime("peeking, pair by pair", taken, percent(wrong), FIXED),
            Regime(
                "until decided",
                ours.dialogues.astype(float),
                percent(float(ours.false_claims(truth, MARGIN).mean())),
                STOPPED,
            ),
        ]


def _peeked(rates: npt.NDArray[np.float64], planned: int) -> tuple[npt.NDArray[np.float64], float]:
    """Dialogues, and the share of studies that claim something false: each pair is looked at after every dialogue, and ends
    at the first p < α over the number of pairs, or at its plan."""
    rng = np.random.default_rng(1)
    taken, wrong = np.zeros(STUDIES), np.zeros(STUDIES, dtype=bool)
    for rate in rates:
        won = turns_won(float(rate), STUDIES * planned, rng).reshape(STUDIES, planned) / CROWD.turns
        for study, shares in enumerate(won):
            crossed = first_crossing(shares, ALPHA / len(rates))
            taken[study] += planned if crossed is None else crossed[0]
            wrong[study] |= crossed is not None and (crossed[1] == "first") != (rate > 0.5 + 1e-9)
    return taken, float(wrong.mean())


def _bars(regimes: list[Regime], longest: float, drawing: Drawing) -> None:
    width, height = drawing.get_size_inches()
    axes = drawing.add_axes((0.12 / width, 0.45 / height, 1 - 0.24 / width, 1 - 0.5 / height))
    for place, each in enumerate(regimes):
        low, high = np.quantile(each.dialogues, [0.1, 0.9])
        axes.barh([place], [each.dialogues.mean()], height=0.34, color=each.colour)
        if low < high:
            axes.plot([low, high], [place, place], color=PAGE.muted, linewidth=2.5)
        words = f"{each.name}: {each.dialogues.mean():,.0f}, wrong in {each.wrong}"
        axes.text(0, place - 0.27, words, fontsize=10, va="bottom")
    axes.set_xlim(0, longest * 1.02)
    axes.set_ylim(len(regimes) - 0.6, -0.85)
    axes.set_xlabel("dialogues", fontsize=9)
    axes.tick_params(labelleft=False, left=False, labelsize=9)
