"""Two models of which one won more often: a row, its line in a summary, its words, and the matrix of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from parlai_humaneval.report.deciding import pair_p
from parlai_humaneval.report.plotted import square
from parlai_humaneval.report.rows import Row, both_tests, ends, published
from parlai_humaneval.report.section import ModelLine, PairLine
from parlai_humaneval.report.views import HeatFigure
from parlai_humaneval.statistics.once_each import rescaled
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.strengths.order import ModelOrder, order_of
from parlai_humaneval.statistics.superiority import complement
from parlai_humaneval.statistics.wording import counted, percent, percent_range


class WonPair(Row):
    """Two models that were compared; ``model_a`` comes first in the alphabet.

    ``win_rate``: wins of A of the decided comparisons, tested against one half; clustered by worker, and by dialogue where
    several workers judged the same. ``paper``: the paper's test of them, which takes all for independent. Both are
    corrected over the ``family`` (``…_holm``). ``score``: the probability of superiority of A, in which ties count half,
    clustered likewise. ``adjusted``, ``adjusted_score``: both with each place counting alike, where the effect of the place
    outweighs that of the models; then these are what the pair is told by.
    ``lead_a``: wins of A minus those of B, as a share of the decided ones, which is twice the win rate minus one.
    """

    FROM = published(
        ends("win_rate", "win_rate_a"),
        ends("lead", "lead_a", "lead"),
        both_tests("paper", "win_rate"),
        ends("score", "score_a", "score"),
        ends("adjusted", "win_rate_adjusted", "adjusted"),
        ends("adjusted_score", "score_adjusted", "score_adjusted"),
        win_rate_b="win_rate_b.estimate",
        p_adjusted="adjusted.p_value",
        p_adjusted_holm="adjusted.p_decides",
    )

    model_a: str
    model_b: str
    wins_a: int
    wins_b: int
    ties: int
    win_rate: Result
    paper: Result
    score: Result
    adjusted: Result | None = None
    adjusted_score: Result | None = None

    @property
    def told(self) -> Result:
        """The win rate that the pair is told by: the adjusted one where there is one."""
        return self.adjusted or self.win_rate

    @property
    def a_leads(self) -> bool:
        return self.wins_a >= self.wins_b if self.adjusted is None else (self.adjusted.estimate or 0.0) >= 0.5

    @property
    def leader(self) -> str:
        return self.model_a if self.a_leads else self.model_b

    @property
    def other(self) -> str:
        return self.model_b if self.a_leads else self.model_a

    @property
    def lead(self) -> Result:
        """The win rate as a difference: 0 where both win as often, 1 where A always does."""
        return _as_lead(self.win_rate)

    @property
    def win_rate_b(self) -> Result:
        """The win rate of the other model, which is the rest."""
        return complement(self.win_rate)

    @property
    def differs(self) -> bool | None:
        """Whether the test that decides tells the two apart; None where it cannot be made."""
        return self.line().differs

    def names(self) -> str:
        return f"{self.model_a} against {self.model_b}"

    def line(self) -> PairLine:
        """The pair in a summary, the leader first."""
        return PairLine.of(
            self.model_a,
            self.model_b,
            _as_lead(self.told),
            self.paper.p_value,
            share=True,
            # The paper's test knows no places: of an adjusted win rate it decides nothing.
            paper=None if self.adjusted else self.paper,
            superiority=self.adjusted_score or self.score,
        )

    def model_lines(self, unit: str) -> list[ModelLine]:
        """Both models, where nobody else was compared, the leader first."""
        rates = [(self.model_a, self.told), (self.model_b, complement(self.told))]
        lines = [ModelLine.of(model, rate, unit, share=True) for model, rate in rates]
        return lines if self.a_leads else lines[::-1]

    def sentence(self, where: str) -> str:
        """“a won 62 % of the comparisons with b that were decided, WHERE (1 tie left out); 95 % interval 47–72 %, p = .31;
        they are statistically tied”; where it is adjusted for places, this is said, with the win rate as counted."""
        rate = self.told if self.a_leads else complement(self.told)
        shares = percent_range(rate.ci_low, rate.ci_high)
        interval = "no interval can be given" if rate.ci_low is None else f"{percent(rate.level)} interval {shares}"
        ties = f" ({counted(self.ties, 'tie')} left out)" if self.ties else ""
        apart = "; they are statistically tied" if self.differs is False else ""
        counted_as = (self.win_rate if self.a_leads else self.win_rate_b).estimate
        places = f", with both places counting alike ({percent(counted_as)} as counted)" if self.adjusted else ""
        return (
            f"{self.leader} won {percent(rate.estimate)} of the comparisons with {self.other} that were decided, {where}"
            f"{places}{ties}; {interval}, {pair_p(self.line())}{apart}"
        )


def _as_lead(rate: Result) -> Result:
    """A win rate as a difference of both models."""
    return rescaled(rate, lambda share: 2 * share - 1)


def matrix_of(
    key: str, title: str, models: Sequence[str], win_rates: Mapping[tuple[str, str], float | None]
) -> HeatFigure:
    """Win rate of row over column; the half that ``win_rates`` lacks is its mirror."""
    mirrored = {(b, a): None if rate is None else 1 - rate for (a, b), rate in win_rates.items()}
    both = {**mirrored, **win_rates}
    return square(key, title, models, [[both.get((row, column)) for column in models] for row in models], "share")


def order_of_pairs(values: Mapping[str, float | None], pairs: Sequence[WonPair]) -> ModelOrder | None:
    """The order of models by whom they won over; those that wins link by their ``values``. None where there are none."""
    names = list(values)
    over = np.zeros((len(names), len(names)))
    for pair in pairs:
        a, b = names.index(pair.model_a), names.index(pair.model_b)
        over[a, b] += pair.wins_a + pair.ties
        over[b, a] += pair.wins_b + pair.ties
    return order_of(over, names, list(values.values())) if names else None
