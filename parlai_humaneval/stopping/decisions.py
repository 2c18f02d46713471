"""Which pairs are decided, in many studies at once: claims whose chance of any wrong one is held."""

from __future__ import annotations

import numpy as np

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.stopping.evidence import Evidence, pairs_of


class Decisions:
    """Claims so far, which are never taken back; with a ``beta`` of 0 none that two models are equal.

    Attributes:
        better: studies × models × models; the row's model is better than the column's, also through others.
        through: of those, the ones that follow from two others.
        equal: studies × pairs; the two are less than the margin apart.
    """

    def __init__(
        self, studies: int, models: int, *, alpha: float, beta: float, floor: int, transitive: bool = True
    ) -> None:
        self.pairs, self.alpha, self.beta, self.floor = pairs_of(models), alpha, beta, floor
        self.transitive = transitive
        self.better, self.through = np.zeros((2, studies, models, models), dtype=bool)
        self.equal = np.zeros((studies, self.pairs.count), dtype=bool)

    def take(self, rows: Ints | Flags) -> None:
        """Keep only these studies, in this order; a study may be taken several times."""
        self.better, self.through, self.equal = self.better[rows], self.through[rows], self.equal[rows]

    def open(self, rows: Ints | slice = slice(None)) -> Flags:
        """Studies × pairs; which pairs are not decided."""
        first, second, better = self.pairs.first, self.pairs.second, self.better[rows]
        undecided: Flags = ~(better[:, first, second] | better[:, second, first] | self.equal[rows])
        return undecided

    def look(self, rows: Ints, evidence: Evidence) -> None:
        """Decide in the studies ``rows`` what the evidence allows: first who is better, then who is equal.

        Who is better: stepwise over all 2M directions at α, the clearest one first, one at a time, so that no two claims can
        contradict each other. Who is equal: stepwise over the pairs that may still be a margin apart, at β.
        """
        first, second = self.pairs.first, self.pairs.second
        dialogues = evidence.dialogues[rows]
        enough = (dialogues[:, first] >= self.floor) & (dialogues[:, second] >= self.floor)
        self._order(rows, np.where(enough[:, None], evidence.pooled[rows], 0.0))
        self._alike(rows, np.where(enough, evidence.equal[rows].min(axis=1), 0.0))

    def _order(self, rows: Ints, highest: Floats) -> None:
        while rows.size:
            left = np.where(self.open(rows)[:, None], highest, 0.0).reshape(len(rows), -1)
            clearest = left.argmax(axis=1)
            reached = left.max(axis=1) >= (2 * self.pairs.count - self._refuted(rows)) / self.alpha
            rows, highest = rows[reached], highest[reached]
            self._claim(rows, clearest[reached])

    def _alike(self, rows: Ints, lowest: Floats) -> None:
        while rows.size:
            reached = self.open(rows) & (self.beta * lowest >= self._apart(rows)[:, None])
            self.equal[rows] |= reached
            more = reached.any(axis=1)
            rows, lowest = rows[more], lowest[more]

    def _apart(self, rows: Ints) -> Ints:
        """How many pairs may be wrongly called equal, if every claim so far is true (Holm 1979).

        If models stand on one line, and three are apart by the margin or more, the outer two are so by twice of it, and are
        taken for equal by nobody: as many pairs count as can be without three models all of whose pairs are among them
        (Mantel 1907: K²/4). Where no line is taken for granted, all count. At K − 1, the neighbours in a row, more than one
        in twenty studies of two groups of models claimed something false.
        """
        left: Ints = self.pairs.count - self.equal[rows].sum(axis=1)
        return np.minimum(left, self.better.shape[1] ** 2 // 4) if self.transitive else left

    def _refuted(self, rows: Ints) -> Ints:
        """How many directions must be false if every claim so far is true (Holm 1979; Shaffer 1986).

        The claims themselves, also those that follow. If models stand in one order, with ties, a chain of L of them, each
        claimed to be better than the next, means L places, and at least so many pairs at different places as where all
        other models share one of these.
        """
        claims: Ints = self.better[rows].sum(axis=(1, 2))
        if not self.transitive:
            return claims
        below = np.zeros((len(rows), self.better.shape[1]), dtype=np.int64)
        for _ in range(self.better.shape[1] - 1):
            below = np.where(self.better[rows], below[:, None, :] + 1, 0).max(axis=2)
        together = self.better.shape[1] - below.max(axis=1)
        false: Ints = np.maximum(claims, self.pairs.count - together * (together - 1) // 2)
        return false

    def _claim(self, rows: Ints, direction: Ints) -> None:
        """Claim one direction of a pair in each study, and all that follows: i > x wherever i ≥ a, b ≥ x for a > b."""
        pair, is_mirror = direction % self.pairs.count, direction >= self.pairs.count
        ends = self.pairs.first[pair], self.pairs.second[pair]
        a, b = np.where(is_mirror, ends[1], ends[0]), np.where(is_mirror, ends[0], ends[1])
        at = np.arange(len(rows))
        better = self.better[rows]
        above, below = better[at, :, a], better[at, b]
        above[at, a] = below[at, b] = True
        follows = above[:, :, None] & below[:, None, :] & ~better
        follows[at, a, b] = False
        follows &= self.transitive
        better |= follows
        better[at, a, b] = True
        self.better[rows] = better
        self.through[rows] |= follows
