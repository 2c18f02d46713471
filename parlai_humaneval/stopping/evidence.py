"""What has been learnt of each pair, in many studies at once: capital of bets that grows with every worker.

All arrays have the studies as their first axis. A live study is one of them; simulations run thousands side by side
through this very code.

The pairs of K models by number, and which of them a dialogue is about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.statistics.core.sequential import (
    direct_terms,
    equality_bets,
    order_bets,
    pooled_terms,
    squares,
    staked,
    variance_seen,
)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two models each.

    Attributes:
    models: how many there are.
    first, second: the two models of each pair, the one with the smaller number first.
    number: models × models; the pair of two models, and one more than the last pair of a model with itself.
    sign: models × models; 1 where the row's model is the first of the pair, −1 where it is the second, 0 of one with itself.
    """

    models: int
    first: Ints
    second: Ints
    number: Ints
    sign: Ints

    @property
    def count(self) -> int:
        return len(self.first)


@lru_cache
def pairs_of(models: int) -> Pairs:
    """The pairs of so many models."""
    first, second = np.triu_indices(models, 1)
    number = np.full((models, models), len(first))
    number[first, second] = number[second, first] = np.arange(len(first))
    places = np.arange(models)
    return Pairs(models, first, second, number, np.sign(places[None, :] - places[:, None]))


FILLINGS = 2
"""Ways in which what a worker left unanswered is filled: even, and by their own mean so far."""
PRIOR_DIALOGUES = 2.0
"""So many drawn dialogues a mean of two models against a third begins with, so that the first ones do not sway it."""


class Evidence:
    """Bets on every pair, each worker folded in once.

    Workers who leave take a part of their dialogues with them, and nobody knows why they left. Filled with one half, a turn
    that is missing counts for neither model: that is fair where workers leave because of what they have just chosen. Filled
    with the mean of the turns that a worker did answer of the pair, it is fair where they leave because of what they like.
    With ``filled`` both bets are held, and the lower one counts: its chance of being wrong is held in either case. As long
    as nobody leaves in mid-dialogue both are the same, and only one is held.

    Attributes:
        order: studies × kinds × 2 × pairs; the highest e-value so far that the first model of a pair is better, and that the
            second is. Kinds: of dialogues of the two alone; where evidence is pooled also with and of dialogues of one of
            them with a third.
        equal: studies × 2 × pairs; the same, of direct dialogues: that the first is not better by the margin, that the
            second is not.
        won, met: studies × models × models; the shares that the row's model won against the column's, and dialogues.
        dialogues: studies × models; dialogues that were folded in; one that was cut off counts in part.
    """

    def __init__(
        self, studies: int, models: int, margin: float, *, pooled: bool, panels: bool = False, filled: bool = True
    ) -> None:
        self.pairs: Pairs = pairs_of(models)
        self.margin, self.is_pooled, self.panels, self.filled = margin, pooled, panels, filled
        self.order_bets, self.equality_bets = order_bets(margin), equality_bets(margin)
        kinds = 3 if pooled else 1
        self.order = np.ones((studies, kinds, 2, self.pairs.count))
        self.equal = np.ones((studies, 2, self.pairs.count))
        # The second axis is that of fillings, which is made when there is something to fill.
        self._order_capital = np.ones((studies, 1, kinds, 2, self.pairs.count, len(self.order_bets.gains)))
        self._equal_capital = np.ones((studies, 1, 2, self.pairs.count, len(self.equality_bets.gains)))
        self._squares, self._counted = np.zeros((2, studies, 1))
        self.won, self.met = np.zeros((2, studies, models, models))
        self.dialogues = np.zeros((studies, models))

    @property
    def direct(self) -> Floats:
        """Studies × 2 × pairs: evidence on who is better from dialogues of the two alone."""
        return self.order[:, 0]

    @property
    def pooled(self) -> Floats:
        """The same that decides: with dialogues of one of the two with a third, where these count."""
        return self.order[:, 1 if self.is_pooled else 0]

    @property
    def indirect(self) -> Floats | None:
        """The same from dialogues with a third alone."""
        return self.order[:, 2] if self.is_pooled else None

    def variance(self, rows: Ints) -> Floats:
        """Mean square of what the share of a dialogue's turns that is won is away from one half, as far as is known."""
        return self._variances(rows)[:, 0]

    def _variances(self, rows: Ints) -> Floats:
        return variance_seen(self._squares[rows], self._counted[rows])

    def take(self, rows: Ints | Flags) -> None:
        """Keep only these studies, in this order; a study may be taken several times."""
        for name in (
            "order",
            "equal",
            "_order_capital",
            "_equal_capital",
            "_squares",
            "_counted",
            "won",
            "met",
            "dialogues",
        ):
            setattr(self, name, getattr(self, name)[rows])

    def fold(self, rows: Ints, shown: Ints, shares: Floats, likely: Flags, done: Floats | None = None) -> None:
        """Fold one worker into each of the studies ``rows``.

        Args:
            rows: the studies, each once.
            shown: studies × dialogues of the worker; the pair that each was about, −1 for none.
            shares: of the same shape; what the first model of the pair won of the answered turns, nan where none was.
            likely: studies × pairs; which pairs the worker's dialogues could be about, all as probable.
            done: of the same shape as ``shares``; the part of each dialogue's turns that was answered, above 0 and up to 1.
                Without it every one that has a share was finished.
        """
        at, number = np.nonzero(shown >= 0)
        pair, share = shown[at, number], shares[at, number]
        shape = len(rows), self.pairs.count
        answered = ~np.isnan(share)
        part = np.where(answered, 1.0 if done is None else done[at, number], 0.0)
        # Stakes go by what a worker was shown: how much they answer is theirs to choose, and may follow from their likes.
        asked, terms = _sums(at, pair, None, shape), _sums(at, pair, part, shape)
        is_cut = (terms > 0) & (terms < asked)
        if self.filled and self._squares.shape[1] < FILLINGS and is_cut.any():
            self._fill()
        grown = np.divide(asked, terms, out=np.ones_like(asked), where=is_cut)
        parts = np.stack([part, part * grown[at, pair]][: self._squares.shape[1]], axis=1)
        lead, terms = (
            np.stack([_sums(at, pair, weight * value, shape) for weight in parts.T], axis=1)
            for value in (np.where(answered, share - 0.5, 0.0), 1.0)
        )
        self._bet_on_order(rows, lead, asked, self._indirect(rows, at, pair, share, likely, parts))
        self._bet_on_equality(rows, lead, terms, asked)
        self._count(rows, at[answered], pair[answered], share[answered], part[answered])
        self._squares[rows] += squares(lead, terms).sum(axis=2)
        self._counted[rows] += (terms > 0).sum(axis=2)

    def _fill(self) -> None:
        for name in ("_order_capital", "_equal_capital", "_squares", "_counted"):
            setattr(self, name, np.repeat(getattr(self, name), FILLINGS, axis=1))

    def _bet_on_order(
        self, rows: Ints, lead: Floats, asked: Floats, indirect: tuple[Floats, Floats, Floats] | None
    ) -> None:
        """``lead``: studies × fillings × pairs; ``asked``: studies × pairs, dialogues that were shown."""
        leads, said = lead[:, :, None], direct_terms(asked[:, None])
        if indirect is not None:
            around, informed, bound = indirect
            leads = np.stack([lead, lead + around, around], axis=2)
            none = np.zeros_like(asked)
            said = pooled_terms(
                np.stack([asked, asked, none], axis=1),
                np.stack([none, informed, informed], axis=1),
                np.stack([none, bound, bound], axis=1),
            )
        stakes = self.order_bets.of(said.of_each(), self._variances(rows)[:, :, None, None])
        outcome = np.stack([leads, -leads], axis=3)
        self._bet(self._order_capital, self.order, rows, outcome, stakes, self.order_bets.weights)

    def _bet_on_equality(self, rows: Ints, lead: Floats, terms: Floats, asked: Floats) -> None:
        margin = self.margin / 2 * terms
        outcome = np.stack([margin - lead, margin + lead], axis=2)
        stakes = self.equality_bets.of(direct_terms(asked).of_each(), self._variances(rows)[:, :, None])
        self._bet(self._equal_capital, self.equal, rows, outcome, stakes, self.equality_bets.weights)

    def _indirect(
        self, rows: Ints, at: Ints, pair: Ints, share: Floats, likely: Flags, parts: Floats
    ) -> tuple[Floats, Floats, Floats] | None:
        """What dialogues with a third model say of each pair by each filling, how many were shown, and how far from 0 it
        could be; None where they do not count. ``parts``: dialogues × fillings; how much of each one counts.

        A dialogue of i with k tells of i against x where one of x with k was as probable: i's share, less what i and x
        together have won of k so far, and half of that, as k is met by one of the two at a time.
        """
        if not self.is_pooled:
            return None
        pairs = self.pairs
        first, second = pairs.first[pair], pairs.second[pair]
        i, k = np.concatenate([first, second]), np.concatenate([second, first])
        at, won, parts = np.concatenate([at, at]), np.concatenate([share, 1 - share]), np.concatenate([parts, parts])
        wins, met = self.won[rows[at], :, k], self.met[rows[at], :, k]
        every = np.arange(len(i))
        mean = (wins + wins[every, i, None] + PRIOR_DIALOGUES / 2) / (met + met[every, i, None] + PRIOR_DIALOGUES)
        x = np.arange(pairs.models)
        as_probable = np.concatenate([likely, np.zeros((len(likely), 1), dtype=bool)], axis=1)
        informs = as_probable[at[:, None], pairs.number[k]] & as_probable[at, pairs.number[i, k]][:, None]
        informs &= (x != i[:, None]) & (x != k[:, None])
        outcome = np.nan_to_num(pairs.sign[i] * (won[:, None] - mean) / 2)  # 0 where it was not answered
        which, model = np.nonzero(informs)
        about, shape = pairs.number[i[which], model], (len(rows), pairs.count)
        furthest = np.maximum(mean, 1 - mean)[which, model] / 2
        around = [_sums(at[which], about, outcome[which, model] * part[which], shape) for part in parts.T]
        informed, bound = (_sums(at[which], about, each, shape) for each in (None, furthest))
        return np.stack(around, axis=1), informed, bound

    def _bet(
        self, capital: Floats, highest: Floats, rows: Ints, outcome: Floats, stakes: Floats, weights: Floats
    ) -> None:
        """Put ``stakes`` (rows × fillings × … × pairs × bets) on ``outcome`` (rows × fillings × … × 2 × pairs), and note
        what they are worth by the filling by which that is least."""
        grown = staked(capital[rows], np.expand_dims(stakes, -3), outcome)
        capital[rows] = grown
        highest[rows] = np.maximum(highest[rows], (grown @ weights).min(axis=1))

    def _count(self, rows: Ints, at: Ints, pair: Ints, share: Floats, part: Floats) -> None:
        shape = len(rows), self.pairs.count
        first, second = self.pairs.first, self.pairs.second
        won, met = _sums(at, pair, part * share, shape), _sums(at, pair, part, shape)
        for model, other, wins in ((first, second, won), (second, first, met - won)):
            self.won[rows[:, None], model, other] += wins
            self.met[rows[:, None], model, other] += met
        # In a panel a model meets several at once, of whom the last one left was there from the beginning.
        self.dialogues[rows] = self.met[rows].max(axis=2) if self.panels else self.met[rows].sum(axis=2)


def _sums(at: Ints, pair: Ints, values: Floats | None, shape: tuple[int, int]) -> Floats:
    """Sums of ``values`` (without: how many there are) by study and pair."""
    sums = np.bincount(at * shape[1] + pair, weights=values, minlength=shape[0] * shape[1])
    return np.asarray(sums, dtype=float).reshape(shape)
