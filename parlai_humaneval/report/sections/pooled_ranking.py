"""One ranking of models that were never all shown side by side: rows, words, and why it may differ from shares.

A share of turns depends on the competing models; strengths in one model of all choices do not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
from scipy.special import expit

from parlai_humaneval.report import conclusions
from parlai_humaneval.report.section import Best, ModelLine, PairLine, sentence
from parlai_humaneval.statistics.core.formatting import percent
from parlai_humaneval.statistics.core.multiplicity import Family, rescaled
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import AskedRow, Column, Estimate, Key, Name, interval_keys, p_columns
from parlai_humaneval.statistics.preference.win_rates import paired_superiority
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.statistics.ranking.order import EQUAL
from parlai_humaneval.statistics.ranking.plackett_luce import strength_tests
from parlai_humaneval.tables.choices import ComparisonGroup, merged

AXIS = "chance of being chosen over the average model (Plackett–Luce)"


class PooledModel(AskedRow):
    """A model in the one ranking. ``strength``: log-odds against the mean; ``chance``: the same, as the chance of being
    chosen over a model of mean strength. The intervals of all models hold together. ``met``: with how many others it
    was shown; ``n``: turns that showed it, ``share``: of these it was chosen in. ``may_be_best``: by the tests of pairs
    it is below no other one, family-wise; None where nothing could be tested. ``rank_low``, ``rank_high``: the ranks that
    these tests leave possible, ``ranks`` in words; ``rank``: the place in the order of strengths."""

    rank: int
    rank_low: int | None = None
    rank_high: Annotated[int | None, Key(), Column("Rank", "text", name="ranks", of="ranks")] = None
    model: Name
    n: Annotated[int, Column("Turns")]
    met: Annotated[int, Column("Opponents")]
    share: Annotated[float, Column("Chosen", "share")]
    strength: Annotated[
        Result, Estimate(ends="ci"), Estimate("Chance over the average", "share", name="chance", of="chance")
    ]
    may_be_best: Annotated[bool | None, Column("May be the best")]
    equal: Annotated[Result, Column("All equal, p", "p", name="p_all_equal", path="p_value")]

    @property
    def ranks(self) -> str:
        return conclusions.rank_words(self.rank_low, self.rank_high)

    @property
    def chance(self) -> Result:
        return rescaled(self.strength, lambda log_odds: float(expit(log_odds)))


class PooledPair(AskedRow):
    """Two models: the difference of their strengths with its own interval; ``together``: one that holds together with
    those of all pairs, and the step-down test that belongs to it. What decides is ``test``, corrected by Holm's method.

    ``lead_a``: in how many more turns with only these two the first would be chosen, as a share. ``n``: turns that showed
    both; ``superiority``: in these, None where there are none. ``independent``: the test if all turns were independent.
    """

    model_a: Annotated[str, Column("A")]
    model_b: Annotated[str, Column("B")]
    n: Annotated[int, Column("Turns")]
    test: Annotated[
        Result,
        Estimate("A ahead by", "points", name="lead_a", ends="lead", of="lead"),
        Estimate("A − B, log-odds", name="difference", ends="ci"),
    ]
    superiority: Annotated[Result | None, interval_keys("superiority", "superiority")]
    together: Annotated[
        Result | None,
        Column("Simultaneous from", name="simultaneous_low", path="ci_low"),
        Column("Simultaneous to", name="simultaneous_high", path="ci_high"),
    ]
    independent: Annotated[
        Result,
        p_columns("p_value", "p_value", "p, independent", "p, independent, Holm"),
        p_columns("p_value", "p_clustered", "Clustered p", "Clustered p, Holm", of="test"),
        Column("p, step-down", "p", name="p_step_down", of="together", path="p_holm"),
    ]

    @property
    def lead(self) -> Result:
        return rescaled(self.test, lambda log_odds: 2 * float(expit(log_odds)) - 1)

    def line(self) -> PairLine:
        """The pair in a summary, the stronger first."""
        tests: dict[str, Any] = {"paper": self.independent, "superiority": self.superiority}
        line = PairLine.of(self.model_a, self.model_b, self.lead, self.independent.p_value, share=True, **tests)
        return line.model_copy(update={"met": self.n > 0, "modelled": True, "independent": True})


@dataclass(frozen=True)
class PooledAnswer:
    """The models, strongest first, their pairs, and the leader; ``beside``: mean strength of competitors."""

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
        """The leader, the models tied with it, the number of pairs that differ, and the clearest pair."""
        lines = [line for pair in self.pairs if (line := pair.line()).differs is not None]
        ranks = (
            []
            if self.best is None or not lines
            else [conclusions.leader_words(self.best), conclusions.below_words(self.best, lines)]
        )
        facts = {
            "ranks": list(filter(None, ranks)),
            "apart": conclusions.apart_words(lines, "models"),
            "clearest": min(
                [line for line in lines if line.gap is not None] or lines, key=conclusions.clearness, default=None
            ),
        }
        return sentence("turns", "pooled", answer=self, **facts, level=level, equal=EQUAL, pair_p=conclusions.pair_p)

    def remarks(self) -> Iterator[str]:
        """A sentence on why the order differs from that of the shares, and estimates that are missing."""
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
            why = "met weaker models" if weaker else ""
            yield sentence("conclusions", "order", shares=shares, first=above.model, why=why)
        yield from self.notes


def pooled_answer(groups: Sequence[ComparisonGroup], strengths: Strengths | None, level: float) -> PooledAnswer | None:
    """The one ranking by a question's strengths; None where a model may be the best whose strength is not finite."""
    of_all = None if strengths is None else strengths.best
    if strengths is None or of_all is None:
        return None
    group = merged(groups)
    names = group.models
    chosen = group.turns.chosen
    shown = (~np.isnan(chosen)).astype(float)
    together = shown.T @ shown
    known = [i for i, result in enumerate(strengths.models) if result.estimate is not None]
    intervals = dict(zip(known, of_all.models, strict=False))
    last = -np.inf
    placed = [(last if result.estimate is None else result.estimate) for result in strengths.models]
    order = sorted(range(len(names)), key=lambda i: (-placed[i], names[i]))
    values = np.array([result.estimate or 0.0 for result in strengths.models])
    others = together - np.diag(np.diag(together))
    beside = others @ values / np.maximum(others.sum(axis=1), 1)
    simultaneous = dict(zip(combinations(known, 2), of_all.pairs, strict=False))
    tests = strength_tests(strengths, Family(*group.family))
    pairs = [
        PooledPair.of(
            group,
            model_a=group.models[i],
            model_b=group.models[j],
            n=int(together[i, j]),
            test=test,
            independent=independent,
            superiority=paired_superiority(chosen[:, i] - chosen[:, j], group.turns.workers, level=level)
            if together[i, j]
            else None,
            together=simultaneous.get((i, j)),
        )
        for (i, j), (test, independent) in zip(combinations(range(len(group.models)), 2), tests, strict=True)
    ]
    lines = [pair.line() for pair in pairs]
    best = conclusions.best_of_pairs({names[i]: strengths.models[i].estimate for i in order}, lines, strengths.order)
    ranks = conclusions.rank_ranges(names, lines)
    return PooledAnswer(
        models=[
            PooledModel.of(
                group,
                rank=rank,
                model=names[i],
                n=int(together[i, i]),
                met=int((others[i] > 0).sum()),
                share=float(np.nansum(chosen[:, i]) / together[i, i]) if together[i, i] else 0.0,
                strength=intervals.get(i, strengths.models[i].but(ci_low=None, ci_high=None)),
                equal=strengths.equal,
                may_be_best=None if best is None or names[i] in best.untested else names[i] in best.together,
                **dict(zip(("rank_low", "rank_high"), ranks.get(names[i], (None, None)), strict=True)),
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
