"""What a report of pairwise per-turn choices holds, by name: the shape of ``report --json``."""

from __future__ import annotations

from pydantic import Field

from parlai_humaneval.analysis.reports.types import Finding, LiveReport, Part, Share, rest


class Rate(Share):
    """A win rate: beside the interval its clustered p (against one half) and the bootstrap interval as a check.

    ``n``: turns decided (Lin) or dialogues that count (Sqr, WTA). ``method`` and ``notes``: of interval and p.
    """

    p_value: float | None
    bootstrap_low: float | None
    bootstrap_high: float | None
    n: int
    method: str
    notes: list[str]

    def mirrored(self) -> Rate:
        return self.model_copy(
            update={
                "estimate": rest(self.estimate),
                "ci_low": rest(self.ci_high),
                "ci_high": rest(self.ci_low),
                "bootstrap_low": rest(self.bootstrap_high),
                "bootstrap_high": rest(self.bootstrap_low),
            }
        )


class TurnRange(Part):
    """One model's win rates over turns ``first_turn`` to ``last_turn`` (Smith et al. 2022, §4.1).

    ``binomial_p``: the paper's two-sided binomial test of wins against losses, turns taken as independent.
    """

    first_turn: int
    last_turn: int | None
    n_turns: int
    wins: int
    losses: int
    ties: int
    binomial_p: float
    lin: Rate
    sqr: Rate
    wta: Rate

    def mirrored(self) -> TurnRange:
        """The same of the other model."""
        return self.model_copy(
            update={
                "wins": self.losses,
                "losses": self.wins,
                **{name: getattr(self, name).mirrored() for name in ("lin", "sqr", "wta")},
            }
        )


class ModelRates(Part):
    all_turns: TurnRange
    turns_2_to_last: TurnRange

    def mirrored(self) -> ModelRates:
        """The same of the other model."""
        return ModelRates(all_turns=self.all_turns.mirrored(), turns_2_to_last=self.turns_2_to_last.mirrored())


class TurnRow(Part):
    """The choices made in one turn; ``wins`` and ``win_rates`` by model."""

    turn: int
    n: int
    wins: dict[str, int]
    ties: int
    win_rates: dict[str, Share]


class PositionRow(Part):
    """Anchoring: how often the reply at ``position`` was chosen, of ``n`` decided turns.

    ``p_value``: worker-clustered, against one half. ``win_rates``: of each model when it stood here.
    """

    position: int
    n: int
    selected: int
    share: Share
    p_value: float | None
    win_rates: dict[str, float | None]


class Unfinished(Part):
    """Answered turns of dialogues that were not completed, and Lin (by model) if they counted as well."""

    dialogues: int
    turns: int
    included: bool
    win_rates_with_them: dict[str, float | None]


class PairReport(Part):
    """Two models under one metric.

    ``win_rate_a``, ``ci_low``, ``ci_high``: Lin of model_a over all turns, clustered by worker.
    ``p_value``: the paper's binomial test; ``p_clustered``: the worker-clustered t test; ``p_holm``: that one
    corrected for all pairs and metrics of the report, where there are several. ``favoured``: the model with more
    turns won; None where both won as many.
    """

    model_a: str
    model_b: str
    metric: str
    n_dialogues: int
    n_workers: int
    n_turns: int
    wins_a: int
    wins_b: int
    ties: int
    win_rate_a: float | None
    ci_low: float | None
    ci_high: float | None
    p_value: float
    p_clustered: float | None
    p_holm: float | None = None
    favoured: str | None
    win_rates: dict[str, ModelRates]
    by_turn: list[TurnRow]
    by_position: list[PositionRow]
    unfinished: Unfinished
    headline: str = ""
    remarks: list[str] = Field(default_factory=list)


class PairwiseReport(LiveReport):
    """All that ``report`` prints of PW-Turn.

    ``median_turn_seconds`` is over the turns that count.
    """

    pairs: list[PairReport]
    bootstrap_draws: int

    def findings(self) -> list[Finding]:
        return [(pair.headline, pair.remarks) for pair in self.pairs]

    def footnotes(self) -> list[str]:
        return [f"Bootstrap: {self.bootstrap_draws:,} resamples, seed {self.seed}."] if self.pairs else []
