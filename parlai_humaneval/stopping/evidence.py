"""What has been learnt of each pair, in many studies at once: capital of bets that grows with every worker.

All arrays have the studies as their first axis. A live study is one of them; simulations run thousands side by side
through this very code.

The pairs of K models by number, and which of them a dialogue is about.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.statistics.core.sequential import (
    direct_terms,
    equality_bets,
    order_bets,
    pooled_terms,
    prediction_weight,
    squares,
    staked,
    variance_seen,
)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two models each. models: how many there are. first, second: the two models of each pair, the one with the smaller
    number first. number: models × models; the pair of two models, and one more than the last pair of a model with
    itself. sign: models × models; 1 where the row's model is the first of the pair, −1 where it is the second, 0 of one
    with itself. others: models × models × all but two; the models that are neither of the two. thirds: of the
    same shape; the pairs of these with the column's model."""

    models: int
    first: Ints
    second: Ints
    number: Ints
    sign: Ints
    others: Ints
    thirds: Ints

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
    neither = [[[x for x in places if x not in (i, k)][: models - 2] for k in places] for i in places]
    others = np.array(neither, dtype=np.int64)
    sign = np.sign(places[None, :] - places[:, None])
    return Pairs(models, first, second, number, sign, others, number[others, places[None, :, None]])


FILLINGS = 2  # Ways in which what a worker left unanswered is filled: even, and by their own mean so far
_SIDES = np.array([[1.0], [-1.0]])  # What the first model leads by, and the second
PRIOR_DIALOGUES = 2.0
"""So many drawn dialogues a mean of two models against a third begins with, so that the first ones do not sway it."""


class Evidence:
    """Bets on every pair, each worker folded in once. Workers who leave take a part of their dialogues with them, and
    nobody knows why they left. Filled with one half, a turn that is missing counts for neither model: that is fair
    where workers leave because of what they have just chosen. Filled with the mean of the turns that a worker did
    answer of the pair, it is fair where they leave because of what they like. With ``filled`` both bets are held, and
    the lower one counts: its chance of being wrong is held in either case. As long as nobody leaves in mid-dialogue
    both are the same, and only one is held. ``order``: studies × kinds × 2 × pairs; the highest e-value so far that the
    first model of a pair is better, and that the second is. Kinds: of dialogues of the two alone; where evidence is
    pooled also with and of dialogues of one of them with a third; and of the two alone, that the gap is wider than the
    margin. ``equal``: studies × 2 × pairs; the same, that the first is not better by the margin, that the second is not:
    of direct dialogues, and with ``together`` also of those with a third, where evidence is pooled; ``equal_now`` is what
    these are worth now, and ``alone`` what those of direct dialogues are. ``won``, ``met``: studies × models ×
    models; the shares that the row's model won against the column's, and dialogues. ``dialogues``: studies × models;
    dialogues that were folded in; one that was cut off counts in part. ``judged``: what a judge predicted is taken off
    what workers say, as far as it proved right of earlier ones. A prediction is 0 on average over what could have been
    drawn, whatever the judge is like, so that bets stay fair; it is taken off whether or not a worker answers, as
    answering may follow from the same things."""

    def __init__(
        self,
        studies: int,
        models: int,
        margin: float,
        *,
        pooled: bool,
        panels: bool = False,
        filled: bool = True,
        judged: bool = False,
        together: bool = True,
    ) -> None:
        self.pairs: Pairs = pairs_of(models)
        self.margin, self.is_pooled, self.panels, self.filled, self.judged = margin, pooled, panels, filled, judged
        self.together = together
        self.order_bets, self.equality_bets = order_bets(margin), equality_bets(margin)
        self._kinds = ("direct", "pooled", "indirect", "wide") if pooled else ("direct",)
        kinds, count = len(self._kinds), self.pairs.count
        # Tables have the studies last, so that one step is one run through memory, and … × bets × fillings first. What is
        # left unanswered is filled in one way, as long as there is nothing to fill.
        self._order = np.ones((kinds, 2, studies, count))
        ways = 2 if pooled and together else 1  # with a third model, and of the two alone
        shape = ways, 2, studies, count
        self._equal, self._equal_now = np.ones(shape), np.ones(shape)
        self._order_capital = np.ones((len(self.order_bets.gains), 1, kinds, 2, studies, count))
        self._equal_capital = np.ones((len(self.equality_bets.gains), 1, ways, 2, studies, count))
        self._squares, self._counted = np.zeros((2, 1, studies))
        self._together, self._predicted = np.zeros((2, studies))
        self.won, self.met = np.zeros((2, studies, models, models))
        self.dialogues = np.zeros((studies, models))

    @property
    def order(self) -> Floats:
        """See above."""
        return self._order.transpose(2, 0, 1, 3)

    @property
    def equal(self) -> Floats:
        """See above."""
        return np.moveaxis(self._equal[0], 1, 0)

    @property
    def equal_now(self) -> Floats:
        """See above."""
        return np.moveaxis(self._equal_now[0], 1, 0)

    @property
    def alone(self) -> Floats:
        """See above."""
        return np.moveaxis(self._equal_now[-1], 1, 0)

    @property
    def direct(self) -> Floats:
        """Studies × 2 × pairs: evidence on who is better from dialogues of the two alone."""
        return self.order[:, self._kinds.index("direct")]

    @property
    def pooled(self) -> Floats:
        """The same that decides: with dialogues of one of the two with a third, where these count."""
        return self.order[:, self._kinds.index("pooled" if self.is_pooled else "direct")]

    @property
    def indirect(self) -> Floats | None:
        """The same from dialogues with a third alone."""
        return self.order[:, self._kinds.index("indirect")] if self.is_pooled else None

    @property
    def wide(self) -> Floats | None:
        """Evidence of dialogues of the two alone that the first model is better by more than the margin, or the second."""
        return self.order[:, self._kinds.index("wide")] if self.is_pooled else None

    def only_decide(self) -> None:
        """Hold no bets but those that decide: the others only serve to notice that evidence contradicts itself."""
        kept = "pooled" if self.is_pooled else "direct"
        at = [self._kinds.index(kept)]
        self._kinds = (kept,)
        self._order, self._order_capital = self._order.take(at, axis=0), self._order_capital.take(at, axis=2)

    def variance(self, rows: Ints) -> Floats:
        """Mean square of what the share of a dialogue's turns that is won is away from one half, as far as is known."""
        return np.asarray(self._variances(rows)[0], dtype=float)

    def weight(self, rows: Ints) -> Floats:
        """How much of a judge's prediction is taken off what the next worker says; see :func:`prediction_weight`."""
        return prediction_weight(self._together[rows], self._predicted[rows], self.variance(rows))

    def help_of_judge(self, rows: Ints) -> tuple[Floats, Floats]:
        """That weight, and how many dialogues without the judge one with it has been worth so far."""
        weight, left = self.weight(rows), self._squares[0, rows]
        saved = np.maximum(2 * weight * self._together[rows] - weight**2 * self._predicted[rows], 0.0)
        return weight, 1 + np.divide(saved, left, out=np.zeros_like(saved), where=left > 0)

    def _variances(self, rows: Ints) -> Floats:
        return variance_seen(self._squares[:, rows], self._counted[:, rows])

    def take(self, rows: Ints | Flags) -> None:
        """Keep only these studies, in this order; a study may be taken several times."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        for name in ("won", "met", "dialogues", "_together", "_predicted"):
            setattr(self, name, getattr(self, name)[rows])
        for name in ("_squares", "_counted"):
            setattr(self, name, getattr(self, name)[:, rows])
        for name in ("_order", "_equal", "_equal_now", "_order_capital", "_equal_capital"):
            setattr(self, name, getattr(self, name).take(rows, axis=-2))

    def fold(
        self,
        rows: Ints,
        shown: Ints,
        shares: Floats,
        likely: Flags,
        done: Floats | None = None,
        predicted: Floats | None = None,
    ) -> None:
        """Fold one worker into each of the studies ``rows``. ``rows``: the studies, each once. ``shown``: studies ×
        dialogues of the worker; the pair that each was about, −1 for none. ``shares``: of the same shape; what the
        first model of the pair won of the answered turns, nan where none was. ``likely``: studies × pairs; which pairs
        the worker's dialogues could be about, all as probable. ``done``: of the same shape as ``shares``; the part of
        each dialogue's turns that was answered, above 0 and up to 1. Without it every one that has a share was
        finished. ``predicted``: of the same shape; by how much a judge had put the first model above its mean."""
        at, number = np.nonzero(shown >= 0)
        pair, share = shown[at, number], shares[at, number]
        place, count = at * self.pairs.count + pair, len(rows) * self.pairs.count
        answered = ~np.isnan(share)
        share = np.where(answered, share, 0.5)
        part = np.where(answered, 1.0 if done is None else done[at, number], 0.0)
        # Stakes go by what a worker was shown: how much they answer is theirs to choose, and may follow from their likes.
        asked, met, won = (_sums(place, count, each) for each in (None, part, part * share))
        is_cut = (met > 0) & (met < asked)
        if self.filled and len(self._squares) < FILLINGS and is_cut.any():
            for name, axis in (("_order_capital", 1), ("_equal_capital", 1), ("_squares", 0), ("_counted", 0)):
                setattr(self, name, np.repeat(getattr(self, name), FILLINGS, axis=axis))
        parts = part[None]
        if len(self._squares) == FILLINGS:
            grown = np.divide(asked, met, out=np.ones_like(asked), where=is_cut)
            parts = np.stack([part, part * grown[place]])
        lead, terms = (_filled_sums(place, count, values) for values in (parts * (share - 0.5), parts))
        variances = self._variances(rows)
        # What a judge predicted, of each dialogue that was shown, and how much further from 0 outcomes can be by it.
        taken, reach = np.zeros(len(at)), np.zeros(len(rows))
        if self.judged and predicted is not None:
            reach, of_each = self.weight(rows), predicted[at, number]
            taken, foretold = reach[at] * of_each, _sums(place, count, of_each)
            through = np.where(met == asked, 1 / np.maximum(asked, 1), 0.0).reshape(len(rows), -1)
            self._together[rows] += (through * (lead[0] * foretold).reshape(through.shape)).sum(axis=1)
            self._predicted[rows] += (through * foretold.reshape(through.shape) ** 2).sum(axis=1)
            lead = lead - _sums(place, count, taken)
        further = np.repeat(reach, self.pairs.count) * asked
        indirect = self._indirect(rows, at, pair, share, likely, parts, taken, reach)
        self._bet_on_order(rows, lead, terms, asked, further, indirect, variances)
        self._bet_on_equality(rows, lead, terms, asked, further, indirect if self.together else None, variances)
        # What follows is of the pairs that were shown.
        shown_at = np.flatnonzero(asked)
        at, pair = np.divmod(shown_at, self.pairs.count)
        lead, terms = lead[:, shown_at], terms[:, shown_at]
        self._count(rows[at], pair, won[shown_at], met[shown_at])
        for known, values in ((self._squares, squares(lead, terms)), (self._counted, (terms > 0).astype(float))):
            known[:, rows] += _filled_sums(at, len(rows), values)

    def _count(self, of: Ints, pair: Ints, won: Floats, met: Floats) -> None:
        """Note what the first model of these pairs of the studies ``of`` won, and of how many dialogues."""
        first, second = self.pairs.first[pair], self.pairs.second[pair]
        for model, other, wins in ((first, second, won), (second, first, met - won)):
            self.won[of, model, other] += wins
            self.met[of, model, other] += met
        for model in (first, second):
            # In a panel a model meets several at once, of whom the last one left was there from the beginning.
            with_others = self.met[of, model]
            self.dialogues[of, model] = with_others.max(axis=1) if self.panels else with_others.sum(axis=1)

    def _bet_on_order(
        self,
        rows: Ints,
        lead: Floats,
        terms: Floats,
        asked: Floats,
        further: Floats,
        indirect: _Indirect | None,
        variances: Floats,
    ) -> None:
        """``lead``, ``terms``: fillings × places, each a study and a pair; ``asked``: places, dialogues that were shown;
        ``further``: places, how much further from 0 the lead can be by a judge; ``variances``: fillings × studies."""
        if indirect is None:
            places = np.flatnonzero(asked)
            outcome, said = lead[:, None, None, places] * _SIDES, direct_terms(asked[None, places])
            said = said.reaching(further[places])
        else:
            places = np.flatnonzero(asked + indirect.informed)
            direct, third = (
                np.array([[kind not in without] for kind in self._kinds], dtype=float)
                for without in (("indirect",), ("direct", "wide"))
            )
            gap = self.margin / 2 * np.array([[kind == "wide"] for kind in self._kinds], dtype=float)
            leads = lead[:, None, places] * direct + indirect.around[:, None, places] * third
            outcome = leads[:, :, None] * _SIDES - (gap * terms[:, None, places])[:, :, None]
            furthest = indirect.furthest[places] * third + gap * asked[places]
            said = pooled_terms(asked[places] * direct, indirect.informed[places] * third, furthest)
            said = said.reaching(further[places] * direct)
        at, pair = np.divmod(places, self.pairs.count)
        stakes = self.order_bets.of(said, variances[:, None, at])
        self._bet(self._order_capital, self._order, rows[at], pair, outcome, stakes, self.order_bets.weights)

    def _bet_on_equality(
        self,
        rows: Ints,
        lead: Floats,
        terms: Floats,
        asked: Floats,
        further: Floats,
        indirect: _Indirect | None,
        variances: Floats,
    ) -> None:
        """Arguments as of :meth:`_bet_on_order`. If strengths add up, two models that are a margin apart have shares
        against a third one that are half a margin apart: a quarter of that is what a dialogue with it, halved, tells on
        average."""
        if indirect is None:
            places = np.flatnonzero(asked)
            leads, heard, said = lead[:, None, places], terms[:, None, places], direct_terms(asked[None, places])
        else:
            places, third = np.flatnonzero(asked + indirect.informed), np.array([[1.0], [0.0]])
            leads = lead[:, None, places] + indirect.around[:, None, places] * third
            heard = terms[:, None, places] + indirect.heard[:, None, places] / 4 * third
            said = pooled_terms(asked[places], indirect.informed[places] * third, indirect.furthest[places] * third)
        at, pair = np.divmod(places, self.pairs.count)
        outcome = (self.margin / 2 * heard)[:, :, None] - leads[:, :, None] * _SIDES
        stakes = self.equality_bets.of(said.reaching(further[places]), variances[:, None, at])
        weights = self.equality_bets.weights
        self._bet(self._equal_capital, self._equal, rows[at], pair, outcome, stakes, weights, self._equal_now)

    def _indirect(
        self,
        rows: Ints,
        at: Ints,
        pair: Ints,
        share: Floats,
        likely: Flags,
        parts: Floats,
        taken: Floats,
        reach: Floats,
    ) -> _Indirect | None:
        """What dialogues with a third model say; None where they do not count. ``parts``: fillings × dialogues; how much
        of each one counts. ``taken``: of each, what is taken off for a judge, no more than its study's ``reach``. A
        dialogue of i with k tells of i against x where one of x with k was as probable: i's
        share, less what i and x together have won of k so far, and half of that, as k is met by one of the two at a
        time."""
        if not self.is_pooled:
            return None
        pairs, models = self.pairs, self.pairs.models
        first, second = pairs.first[pair], pairs.second[pair]
        i, k = np.concatenate([first, second]), np.concatenate([second, first])
        at, won = np.concatenate([at, at]), np.concatenate([share, 1 - share])
        place, as_probable = at * pairs.count, likely.ravel()
        of_third = as_probable.take(place[:, None] + pairs.thirds[i, k])
        dialogue, which = np.nonzero(of_third & as_probable.take(place + np.concatenate([pair, pair]))[:, None])
        i, k, at = i[dialogue], k[dialogue], at[dialogue]
        x, of = pairs.others.ravel().take((i * models + k) * (models - 2) + which), rows.take(at) * models
        theirs, own = (of + x) * models + k, (of + i) * models + k
        wins, met = (table.ravel().take(theirs) + table.ravel().take(own) for table in (self.won, self.met))
        mean = (wins + PRIOR_DIALOGUES / 2) / (met + PRIOR_DIALOGUES)
        outcome = pairs.sign[i, x] * (won.take(dialogue) - mean) / 2
        off = pairs.sign[i, x] * np.concatenate([taken, -taken]).take(dialogue) / 2
        informed, count = at * pairs.count + pairs.number[i, x], len(rows) * pairs.count
        counted = np.concatenate([parts, parts], axis=1).take(dialogue, axis=1)
        around, heard = (_filled_sums(informed, count, each) for each in (outcome * counted - off, counted))
        furthest = (np.maximum(mean, 1 - mean) + reach.take(at)) / 2
        return _Indirect(around, heard, _sums(informed, count), _sums(informed, count, furthest))

    def _bet(
        self,
        capital: Floats,
        highest: Floats,
        of: Ints,
        pair: Ints,
        outcome: Floats,
        stakes: Floats,
        weights: Floats,
        now: Floats | None = None,
    ) -> None:
        """Put ``stakes`` (bets × fillings × … × places) on ``outcome`` (fillings × … × 2 × places), at each place of one
        pair of one of the studies ``of``, and note what they are worth by the filling by which that is least."""
        places = of * self.pairs.count + pair
        table, best = capital.reshape(*capital.shape[:-2], -1), highest.reshape(*highest.shape[:-2], -1)
        grown = staked(table.take(places, axis=-1), stakes[..., None, :], outcome)
        table[..., places] = grown
        worth = (weights @ grown.reshape(len(weights), -1)).reshape(outcome.shape).min(axis=0)
        best[..., places] = np.maximum(best.take(places, axis=-1), worth)
        if now is not None:
            now.reshape(*now.shape[:-2], -1)[..., places] = worth


class _Indirect(NamedTuple):
    """What one worker's dialogues with a third model say, at places that are a study and a pair each. ``around``, ``heard``:
    fillings × places; what was won above the mean, halved, and in how many dialogues. ``informed``: places; how many were
    shown. ``furthest``: places; how far from 0 ``around`` could be."""

    around: Floats
    heard: Floats
    informed: Floats
    furthest: Floats


def _sums(place: Ints, count: int, values: Floats | None = None) -> Floats:
    """Sums of ``values`` (without: how many there are) at each of so many places."""
    return np.asarray(np.bincount(place, weights=values, minlength=count), dtype=float)


def _filled_sums(place: Ints, count: int, values: Floats) -> Floats:
    """The same of each filling (fillings × what is summed)."""
    sums = np.empty((len(values), count))
    for filling, each in enumerate(values):
        sums[filling] = np.bincount(place, weights=each, minlength=count)
    return sums
