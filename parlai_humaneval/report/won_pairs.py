"""Two models of which one won more often: a row, its line in a summary, its words, and the matrix of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parlai_humaneval.report.deciding import deciding_p
from parlai_humaneval.report.plotted import square
from parlai_humaneval.report.rows import Row, both_tests, ends, published
from parlai_humaneval.report.section import ALPHA, ModelLine, PairLine
from parlai_humaneval.report.views import HeatFigure
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.wording import counted, percent, percent_range


class WonPair(Row):
    """Two models that were compared; ``model_a`` comes first in the alphabet.

    ``win_rate``: wins of A of the decided comparisons, tested against one half; clustered by worker, and by dialogue where
    several workers judged the same. ``paper``: the paper's test of them, which takes all for independent. Both are
    corrected over the ``family`` (``…_holm``).
    ``lead_a``: wins of A minus those of B, as a share of the decided ones, which is twice the win rate minus one.
    """

    FROM = published(
        ends("win_rate", "win_rate_a"),
        ends("lead", "lead_a", "lead"),
        both_tests("paper", "win_rate"),
        win_rate_b="win_rate_b.estimate",
    )

    model_a: str
    model_b: str
    wins_a: int
    wins_b: int
    ties: int
    win_rate: Result
    paper: Result

    @property
    def a_leads(self) -> bool:
        return self.wins_a >= self.wins_b

    @property
    def leader(self) -> str:
        return self.model_a if self.a_leads else self.model_b

    @property
    def other(self) -> str:
        return self.model_b if self.a_leads else self.model_a

    @property
    def lead(self) -> Result:
        """The win rate as a difference: 0 where both win as often, 1 where A always does."""
        rate = self.win_rate
        estimate, low, high = (
            None if share is None else 2 * share - 1 for share in (rate.estimate, rate.ci_low, rate.ci_high)
        )
        return rate.but(estimate=estimate, ci_low=low, ci_high=high)

    @property
    def win_rate_b(self) -> Result:
        """The win rate of the other model, which is the rest."""
        return _mirrored(self.win_rate)

    @property
    def differs(self) -> bool | None:
        """Whether the clustered test tells the two apart; None where it cannot be made."""
        p = self.win_rate.p_decides
        return None if p is None else p < ALPHA

    def names(self) -> str:
        return f"{self.model_a} against {self.model_b}"

    def line(self) -> PairLine:
        """The pair in a summary, the leader first."""
        return PairLine.of(self.model_a, self.model_b, self.lead, self.paper.p_value, share=True)

    def model_lines(self, unit: str) -> list[ModelLine]:
        """Both models, where nobody else was compared, the leader first."""
        rates = [(self.model_a, self.win_rate), (self.model_b, self.win_rate_b)]
        lines = [ModelLine.of(model, rate, unit, share=True) for model, rate in rates]
        return lines if self.a_leads else lines[::-1]

    def sentence(self, where: str) -> str:
        """“a won 62 % of the comparisons with b that were decided, WHERE (1 tie left out); 95 % interval 47–72 %, p = .31;
        they cannot be told apart”."""
        rate = self.win_rate if self.a_leads else self.win_rate_b
        shares = percent_range(rate.ci_low, rate.ci_high)
        interval = "no interval can be given" if rate.ci_low is None else f"{percent(rate.level)} interval {shares}"
        ties = f" ({counted(self.ties, 'tie')} left out)" if self.ties else ""
        apart = "; they cannot be told apart" if self.differs is False else ""
        return (
            f"{self.leader} won {percent(rate.estimate)} of the comparisons with {self.other} that were decided, {where}"
            f"{ties}; {interval}, {deciding_p(self.win_rate.p_value, self.win_rate.p_holm)}{apart}"
        )


def _mirrored(win_rate: Result) -> Result:
    """The same of the other model."""
    shares = (win_rate.estimate, win_rate.ci_high, win_rate.ci_low)
    estimate, low, high = (None if share is None else 1 - share for share in shares)
    return win_rate.but(estimate=estimate, ci_low=low, ci_high=high)


def matrix_of(
    key: str, title: str, models: Sequence[str], win_rates: Mapping[tuple[str, str], float | None]
) -> HeatFigure:
    """Win rate of row over column; the half that ``win_rates`` lacks is its mirror."""
    mirrored = {(b, a): None if rate is None else 1 - rate for (a, b), rate in win_rates.items()}
    both = {**mirrored, **win_rates}
    return square(key, title, models, [[both.get((row, column)) for column in models] for row in models], "share")
