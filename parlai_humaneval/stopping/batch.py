"""Many studies side by side, from the arrival of each worker to the last decision; a live study is one of them.

Every worker is folded in once, in the order in which they came: whoever came later waits, until the one before has
finished, left or run out of time. What a worker is asked is drawn on arrival, from what those before them are known to
have said.
"""

from __future__ import annotations

import numpy as np

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.stopping.evidence import Evidence, pairs_of
from parlai_humaneval.stopping.rule import StoppingRule


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


def drawn_pairs(open_pairs: Flags, dialogues: int, rng: np.random.Generator) -> Ints:
    """Studies × dialogues: for each study, pairs drawn from the open ones, all of them as probable; −1 where none is open.

    No pair is drawn again before all others have been.
    """
    keys = np.where(open_pairs, rng.random(open_pairs.shape), 2.0)
    order = keys.argsort(axis=1)
    count = open_pairs.sum(axis=1, keepdims=True)
    place = np.arange(dialogues)[None, :] % np.maximum(count, 1)
    drawn: Ints = np.where(count > 0, np.take_along_axis(order, place, axis=1), -1)
    return drawn


def contradictions(evidence: Evidence, better: Flags, alpha: float) -> Flags:
    """Studies × pairs; where dialogues of two models say that one is better, and those with others the opposite.

    ``better``: what was claimed, studies × models × models. Where strong stochastic transitivity holds, one of the two is
    wrong, in at most 3α of studies: α for claims, 2α for dialogues of the two.
    """
    direct, pairs = evidence.direct, evidence.pairs
    bar = pairs.count / alpha
    claimed = np.stack([better[:, pairs.first, pairs.second], better[:, pairs.second, pairs.first]], axis=1)
    against = claimed[:, ::-1]
    if evidence.indirect is not None:
        against = against | (evidence.indirect[:, ::-1] >= bar)
    contradicts: Flags = ((direct >= bar) & against).any(axis=1)
    return contradicts


class Studies:
    """Evidence, decisions, and those who came and are not folded in.

    Attributes:
        arrived: studies; workers who came.
        folded: studies; of those, the first so many are folded in.
        ended: studies × workers; when each of them was through, infinite of those who are not.
        dropped: so many of the first workers are folded in everywhere, and no longer held.

    ``filled``: what those who leave do not answer is filled (see :class:`.Evidence`), which older studies did not do.
    """

    def __init__(self, rule: StoppingRule, studies: int = 1, *, filled: bool = True) -> None:
        self.rule, models = rule, len(rule.models)
        panels = rule.shown == "panel"
        self.evidence = Evidence(studies, models, rule.margin, pooled=rule.is_pooled, panels=panels, filled=filled)
        self.decisions = Decisions(
            studies,
            models,
            alpha=rule.alpha,
            beta=rule.beta if rule.equality else 0.0,
            floor=rule.floor,
            transitive=rule.transitive,
        )
        self.arrived, self.folded = np.zeros((2, studies), dtype=np.int64)
        self.dropped = 0
        self._shown = np.full((studies, 0, 0), -1)
        self._shares, self._done = np.full((2, studies, 0, 0), np.nan)
        self._due, self.ended = np.full((2, studies, 0), np.inf)
        self._likely = np.zeros((studies, 0, self.evidence.pairs.count), dtype=bool)

    @property
    def count(self) -> int:
        """Studies that there are."""
        return len(self.arrived)

    def take(self, rows: Ints | Flags) -> None:
        """Keep only these studies, in this order; a study may be taken several times."""
        self.evidence.take(rows)
        self.decisions.take(rows)
        for name in ("arrived", "folded", "_shown", "_shares", "_done", "_due", "ended", "_likely"):
            setattr(self, name, getattr(self, name)[rows])

    def admit(self, rows: Ints, shown: Ints, due: Floats) -> Ints:
        """Note a worker of each study in ``rows``, who is shown these pairs (studies × dialogues); returns their numbers.

        ``due``: until when they are waited for.
        """
        numbers: Ints = self.arrived[rows]
        held = numbers - self.dropped
        self._make_room(int(held.max(initial=-1)) + 1, shown.shape[1])
        self._shown[rows, held, : shown.shape[1]] = shown
        self._likely[rows, held] = self.decisions.open(rows)
        self._due[rows, held] = due
        self.arrived[rows] += 1
        return numbers

    def answer(self, rows: Ints, numbers: Ints, shares: Floats, done: Floats | None = None) -> None:
        """Note what workers answered: studies × dialogues, nan for what they did not.

        ``done``: which part of each dialogue; without it each that has a share was finished.
        """
        held = numbers - self.dropped
        self._shares[rows, held, : shares.shape[1]] = shares
        self._done[rows, held, : shares.shape[1]] = np.where(np.isnan(shares), np.nan, 1.0 if done is None else done)

    def end(self, rows: Ints, numbers: Ints, at: Floats) -> None:
        """Note when workers finished or left."""
        self.ended[rows, numbers - self.dropped] = at

    def advance(self, rows: Ints, now: Floats, most: float = np.inf) -> int:
        """Fold in whoever is next in the order of arrival and has ended, or run out of time, and decide after each.

        Of each study ``most`` workers at once; returns of how many at least one study was folded one in.
        """
        times = 0
        while times < most:
            waiting = (self.folded[rows] < self.arrived[rows]) & self.decisions.open(rows).any(axis=1)
            rows, now = rows[waiting], now[waiting]
            held = self.folded[rows] - self.dropped
            ready = np.minimum(self.ended[rows, held], self._due[rows, held]) <= now
            rows, now = rows[ready], now[ready]
            if not rows.size:
                break
            self.fold(rows, self.folded[rows])
            self.folded[rows] += 1
            times += 1
        return times

    def fold(self, rows: Ints, numbers: Ints) -> None:
        """Fold these workers into their studies, and decide what can be."""
        held = numbers - self.dropped
        shown, shares, done = (table[rows, held] for table in (self._shown, self._shares, self._done))
        self.evidence.fold(rows, shown, shares, self._likely[rows, held], done)
        self.decisions.look(rows, self.evidence)

    def drop_folded(self) -> None:
        """Hold no longer who is folded in everywhere: long simulations would fill the memory."""
        gone = (int(self.folded.min()) if self.count else self.dropped) - self.dropped
        for name in ("_shown", "_shares", "_done", "_due", "ended", "_likely"):
            setattr(self, name, getattr(self, name)[:, gone:])
        self.dropped += gone

    def of_pair(self, row: int, pair: int) -> tuple[Floats, Floats, Floats]:
        """Of a study's pair: each folded worker's mean share, in the order of arrival, of how many dialogues, one that was
        cut off in part, and of how many that they were shown.

        Only of those who are held.
        """
        folded = int(self.folded[row]) - self.dropped
        shown = self._shown[row, :folded] == pair
        done = np.nan_to_num(np.where(shown, self._done[row, :folded], 0.0))
        terms = done.sum(axis=1)
        judged = terms > 0
        means = (np.nan_to_num(self._shares[row, :folded]) * done).sum(axis=1)[judged] / terms[judged]
        return means, terms[judged], shown[judged].sum(axis=1).astype(float)

    def dialogues_of(self, row: int, pair: int) -> int:
        """Dialogues of a study's pair of which anything is folded in; only of workers who are held."""
        folded = int(self.folded[row]) - self.dropped
        answered = ~np.isnan(self._shares[row, :folded]) & (self._shown[row, :folded] == pair)
        return int(answered.sum())

    def contradicted(self) -> Flags:
        """Studies × pairs; where what was learnt contradicts itself (see :func:`contradictions`)."""
        return contradictions(self.evidence, self.decisions.better, self.rule.alpha)

    def _make_room(self, workers: int, dialogues: int) -> None:
        have, width = self._shown.shape[1:]
        more, wider = max(0, workers - have), max(0, dialogues - width)
        if more:
            more = max(more, have, 16)
            self._due, self.ended = (
                np.pad(table, ((0, 0), (0, more)), constant_values=np.inf) for table in (self._due, self.ended)
            )
            self._likely = np.pad(self._likely, ((0, 0), (0, more), (0, 0)))
        if more or wider:
            grown = ((0, 0), (0, more), (0, wider))
            self._shown = np.pad(self._shown, grown, constant_values=-1)
            self._shares, self._done = (
                np.pad(table, grown, constant_values=np.nan) for table in (self._shares, self._done)
            )
