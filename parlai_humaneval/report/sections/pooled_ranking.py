"""One ranking of models that were never all shown side by side: rows, words, and why it may differ from shares.

A share of turns depends on who stood beside the model; strengths of one model of all choices do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import expit

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.report.conclusions import (
    apart_words,
    below_words,
    best_of_pairs,
    clearness,
    leader_words,
    order_words,
    pair_p,
    rank_ranges,
    rank_words,
)
from parlai_humaneval.report.rows import Row, ends, published, whole
from parlai_humaneval.report.section import Best, ModelLine, PairLine
from parlai_humaneval.statistics.core.effect_sizes import paired_superiority
from parlai_humaneval.statistics.core.formatting import counted, format_range, listed, percent
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.statistics.ranking.from_tables import strength_tests
from parlai_humaneval.statistics.ranking.order import EQUAL
from parlai_humaneval.tables.choices import ComparisonGroup, merged

AXIS = "chance of being chosen over the average model (Plackett–Luce)"


class PooledRow(Row):
    """One question that was asked of models that were not all shown side by side."""

    technique: str
    setting: str
    metric: str

    @property
    def family(self) -> Family:
        """What is corrected for, and answered, together."""
        return Family(self.technique, self.setting, self.metric)


class PooledModel(PooledRow):
    """A model in the one ranking. ``strength``: log-odds against the mean; ``chance``: the same, as the chance of being
    chosen over a model of mean strength. The intervals of all models hold together. ``met``: with how many others it
    was shown; ``n``: turns that showed it, ``share``: of these it was chosen in. ``may_be_best``: by the tests of pairs
    it is below no other one, family-wise; None where nothing could be tested. ``rank_low``, ``rank_high``: the ranks that
    these tests leave possible, ``ranks`` in words; ``rank``: the place in the order of strengths."""

    FROM = published(
        ends("strength", "strength"), ends("chance", "chance", "chance"), p_all_equal="equal.p_value", ranks="ranks"
    )

    rank: int
    model: str
    n: int
    met: int
    share: float
    strength: Result
    equal: Result
    may_be_best: bool | None
    rank_low: int | None = None
    rank_high: int | None = None

    @property
    def ranks(self) -> str:
        return rank_words(self.rank_low, self.rank_high)

    @property
    def chance(self) -> Result:
        return _as_chance(self.strength)


class PooledPair(PooledRow):
    """Two models: the difference of their strengths with its own interval; ``together``: one that holds together with
    those of all pairs, and the step-down test that belongs to it. What decides is ``test``, corrected by Holm's method.

    ``lead_a``: in how many more turns with only these two the first would be chosen, as a share. ``n``: turns that showed
    both; ``superiority``: in these, None where there are none. ``independent``: the test if all turns were independent.
    """

    FROM = published(
        ends("test", "difference"),
        ends("lead", "lead_a", "lead"),
        whole("superiority"),
        simultaneous_low="together.ci_low",
        simultaneous_high="together.ci_high",
        p_value="independent.p_value",
        p_holm="independent.p_decides",
        p_clustered="test.p_value",
        p_clustered_holm="test.p_decides",
        p_step_down="together.p_holm",
    )

    model_a: str
    model_b: str
    n: int
    test: Result
    independent: Result
    superiority: Result | None
    together: Result | None

    @property
    def lead(self) -> Result:
        chance = _as_chance(self.test)
        estimate, low, high = (
            None if share is None else 2 * share - 1 for share in (chance.estimate, chance.ci_low, chance.ci_high)
        )
        return chance.but(estimate=estimate, ci_low=low, ci_high=high)

    def line(self) -> PairLine:
        """The pair in a summary, the stronger first."""
        line = PairLine.of(
            self.model_a,
            self.model_b,
            self.lead,
            self.independent.p_value,
            share=True,
            paper=self.independent,
            superiority=self.superiority,
        )
        return line.model_copy(update={"met": self.n > 0, "modelled": True, "independent": True})


def _as_chance(log_odds: Result) -> Result:
    estimate, low, high = (
        None if value is None else float(expit(value))
        for value in (log_odds.estimate, log_odds.ci_low, log_odds.ci_high)
    )
    return log_odds.but(estimate=estimate, ci_low=low, ci_high=high)


@dataclass(frozen=True)
class PooledAnswer:
    """The models, strongest first, their pairs, and who leads; ``beside``: mean strength of those that stood beside."""

    models: list[PooledModel]
    pairs: list[PooledPair]
    beside: dict[str, float]
    n_turns: int
    n_workers: int
    best: Best | None
    notes: tuple[str, ...]

    @property
    def family(self) -> Family:
        return self.models[0].family

    def lines(self) -> list[ModelLine]:
        return [ModelLine.of(row.model, row.chance, "turns", share=True, n=row.n) for row in self.models]

    def verdict(self, level: float) -> str:
        """Who leads, which of the others are tied, how many pairs differ, and the clearest of them."""
        turns = f"{counted(self.n_turns, 'turn')} of {counted(self.n_workers, 'worker')}"
        basis = f"One ranking over {turns} (Plackett–Luce)"
        lines = [pair.line() for pair in self.pairs if pair.line().differs is not None]
        if not lines:
            return f"Whether {listed([row.model for row in self.models])} differ cannot be tested ({basis})."
        ranks = [] if self.best is None else [leader_words(self.best), below_words(self.best, lines)]
        told = " ".join(filter(None, [*ranks, basis]))
        line = min([line for line in lines if line.gap is not None] or lines, key=clearness)
        apart = apart_words(lines, "models")
        if line.gap is None or line.gap < EQUAL:
            return f"{told}: {apart}{', as their strengths are equal' if line.gap is not None else ''}."
        chances = [None if value is None else (1 + value) / 2 for value in (line.gap, line.low, line.high)]
        known = f"{percent(level)} interval {format_range(chances[1], chances[2])}"
        interval = known if line.low is not None and line.high is not None else "no interval can be given"
        return (
            f"{told}: {apart}; the clearest: next to {line.second} alone, {line.first} would "
            f"be chosen in {percent(chances[0])} of turns ({interval}, clustered by worker; "
            f"{pair_p(line)})."
        )

    def remarks(self) -> Iterator[str]:
        """Why the order is not that of the shares, in one sentence; and what could not be estimated."""
        swapped = [
            (above, below)
            for above, below in combinations([row for row in self.models if row.strength.estimate is not None], 2)
            if above.share < below.share
        ]
        if swapped:
            above, below = max(swapped, key=lambda two: two[1].share - two[0].share)
            weaker = self.beside[below.model] < self.beside[above.model]
            shares = f"{below.model} was chosen in {percent(below.share)} of its turns"
            shares += f", {above.model} in {percent(above.share)}"
            yield order_words(shares, above.model, "stood beside weaker models" if weaker else "")
        yield from self.notes


def pooled_answer(groups: Sequence[ComparisonGroup], strengths: Strengths | None, level: float) -> PooledAnswer | None:
    """The one ranking by a question's strengths; None where a model may be the best whose strength is not finite."""
    return None if strengths is None or strengths.best is None else _answer(merged(groups), strengths, level)


def _answer(group: ComparisonGroup, strengths: Strengths, level: float) -> PooledAnswer:
    names, of_all = group.models, strengths.best
    assert of_all is not None
    chosen = group.turns.chosen
    shown = (~np.isnan(chosen)).astype(float)
    together = shown.T @ shown
    known = [i for i, result in enumerate(strengths.models) if result.estimate is not None]
    intervals = dict(zip(known, of_all.models, strict=False))
    order = sorted(range(len(names)), key=lambda i: (-_or_last(strengths.models[i].estimate), names[i]))
    values = np.array([result.estimate or 0.0 for result in strengths.models])
    others = together - np.diag(np.diag(together))
    beside = others @ values / np.maximum(others.sum(axis=1), 1)
    pairs = _pairs(group, strengths, together, dict(zip(combinations(known, 2), of_all.pairs, strict=False)), level)
    lines = [pair.line() for pair in pairs]
    best = best_of_pairs({names[i]: strengths.models[i].estimate for i in order}, lines, strengths.order)
    ranks = rank_ranges(names, lines)
    return PooledAnswer(
        models=[
            PooledModel(
                **_where(group),
                rank=rank,
                model=names[i],
                n=int(together[i, i]),
                met=int((others[i] > 0).sum()),
                share=float(np.nansum(chosen[:, i]) / together[i, i]) if together[i, i] else 0.0,
                strength=intervals.get(i, strengths.models[i].but(ci_low=None, ci_high=None)),
                equal=strengths.equal,
                may_be_best=None if best is None or names[i] in best.untested else names[i] in best.together,
                rank_low=ranks.get(names[i], (None, None))[0],
                rank_high=ranks.get(names[i], (None, None))[1],
            )
            for rank, i in enumerate(order, start=1)
        ],
        pairs=pairs,
        beside=dict(zip(names, beside.tolist(), strict=True)),
        n_turns=len(chosen),
        n_workers=len(set(group.turns.workers)),
        best=best,
        notes=(*strengths.notes, *(f"{note[:1].upper()}{note[1:]}." for note in of_all.notes)),
    )


def _where(group: ComparisonGroup) -> dict[str, str]:
    return dict(zip(("technique", "setting", "metric"), group.family, strict=True))


def _pairs(
    group: ComparisonGroup,
    strengths: Strengths,
    together: Floats,
    simultaneous: Mapping[tuple[int, int], Result],
    level: float,
) -> list[PooledPair]:
    """All pairs of models; ``together``: in how many turns both were shown."""
    chosen, workers = group.turns.chosen, group.turns.workers
    tests = strength_tests(strengths, Family(*group.family))
    return [
        PooledPair(
            **_where(group),
            model_a=group.models[i],
            model_b=group.models[j],
            n=int(together[i, j]),
            test=test,
            independent=independent,
            superiority=paired_superiority(chosen[:, i] - chosen[:, j], workers, level=level)
            if together[i, j]
            else None,
            together=simultaneous.get((i, j)),
        )
        for (i, j), (test, independent) in zip(combinations(range(len(group.models)), 2), tests, strict=True)
    ]


def _or_last(estimate: float | None) -> float:
    return -np.inf if estimate is None else estimate
