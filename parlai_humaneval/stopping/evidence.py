"""The evidence on each pair, in many studies at once: the capital of bets, updated with every worker.

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
from parlai_humaneval.statistics.core import sequential


@dataclass(frozen=True, eq=False)
class Pairs:
    """Two models each. models: how many there are. first, second: the two models of each pair, the one with the smaller
    number first. number: models × models; the pair of two models, and one more than the last pair of a model with
    itself. sign: models × models; 1 where the row's model is the first of the pair, −1 where it is the second, 0 of one
    with itself. thirds: models × models × all but two; the pairs of the column's model with all that are neither of the
    two. The rest has a row for each pair, and then for each with its two models changed over, i and k, and a column for
    each third model x: with_k: the pair (x, k); of_i: the pair (i, x); leads: 1 where i is its first model, else −1;
    theirs, own: places in a table of models × models; x against k, i against k."""

    models: int
    first: Ints
    second: Ints
    number: Ints
    sign: Ints
    thirds: Ints
    with_k: Ints
    of_i: Ints
    leads: Ints
    theirs: Ints
    own: Ints

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
    thirds = number[others, places[None, :, None]]
    i, k = np.concatenate([first, second]), np.concatenate([second, first])
    x = others[i, k]
    of_i, leads = number[i[:, None], x], sign[i[:, None], x]
    return Pairs(
        models, first, second, number, sign, thirds, thirds[i, k], of_i, leads, x * models + k[:, None], i * models + k
    )


FILLINGS = 2  # Ways in which what a worker left unanswered is filled: even, and by their own mean so far
PRIOR_DIALOGUES = 2.0
"""The prior weight, in drawn dialogues, of a mean of two models against a third, so that early dialogues do not sway
it."""


ORDER_KINDS = ("direct", "pooled", "indirect", "wide")


class _BetsOf:
    """Bets on some ``kinds`` of evidence, of which the first ``order`` are on who is better, the others on equality. A row
    for each kind: ``direct``, ``third``: 1 where dialogues of the two count, and those of one of them with a third model;
    ``wider``: how much further from 0 a dialogue of the two can be; ``tilt``: what each dialogue is worth besides what it
    says; ``sides``: 1 or −1, by what it says for the first model, and for the second; ``weights``: kinds × bets, parts of
    the capital. ``of``: bets; the kind of each."""

    def __init__(self, margin: float, order: tuple[str, ...], equal: tuple[str, ...]) -> None:
        self.kinds, self.order = order + equal, len(order)
        is_wide, is_equal = self._where("wide"), self._where(*equal)
        self.direct = 1 - self._where("indirect")
        self.third = self._where("pooled", "indirect", "equal pooled")
        self.wider = margin / 2 * is_wide
        self.tilt = (margin / 2 * (is_equal - is_wide))[..., None]
        self.sides = (1 - 2 * is_equal)[..., None] * np.array([[1.0], [-1.0]])
        held = [*[sequential.order_bets(margin)] * len(order), *[sequential.equality_bets(margin)] * len(equal)]
        self.of = np.repeat(np.arange(len(held)), [len(bets.gains) for bets in held])
        each = np.concatenate([bets.weights for bets in held])
        self.weights = np.where(self.of == np.arange(len(held))[:, None], each, 0.0)
        self._gains = np.concatenate([bets.gains for bets in held])[:, None, None]
        self._most = np.array([bets.most for bets in held])[:, None, None]

    def _where(self, *kinds: str) -> Floats:
        return np.array([kind in kinds for kind in self.kinds], dtype=float)[:, None, None]

    def stakes(self, said: sequential.Terms, variances: Floats) -> Floats:
        """Bets × fillings × places; ``said``: kinds × 1 × places, ``variances``: fillings × places."""
        scale, most = said.scale(variances), said.most(self._most)
        return np.minimum(self._gains * scale.take(self.of, axis=0), most.take(self.of, axis=0))


class Evidence:
    """Bets on every pair, each worker folded in once. Workers who leave take a part of their dialogues with them, and
    nobody knows why they left. Filled with one half, a turn that is missing counts for neither model: that is fair
    where workers leave because of what they have just chosen. Filled with the mean of the turns that a worker did
    answer of the pair, it is fair where they leave because of what they like. With ``filled`` both bets are held, and
    the lower one counts: its chance of being wrong is held in either case. As long as nobody leaves in mid-dialogue
    both are the same, and only one is held. ``of`` a kind: studies × 2 × pairs; the highest e-value so far that the
    first model of a pair is better, and that the second is. Kinds: of dialogues of the two alone; where evidence is
    pooled also with and of dialogues of one of them with a third; and of the two alone, that the gap is wider than the
    margin. ``equal``: studies × 2 × pairs; the same, that the first is not better by the margin, that the second is not:
    of direct dialogues, and with ``together`` also of those with a third, where evidence is pooled; ``equal_now`` is what
    these are worth now. ``even``: see :meth:`_indirect`. ``won``, ``met``: studies × models ×
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
        even: bool = True,
    ) -> None:
        self.pairs: Pairs = pairs_of(models)
        self.margin, self.is_pooled, self.panels, self.filled, self.judged = margin, pooled, panels, filled, judged
        self.together, self.even = together, even
        # Tables have the studies last, so that one step is one run through memory, and … × fillings first. What is left
        # unanswered is filled in one way, as long as there is nothing to fill.
        equal = ("equal pooled", "equal direct") if pooled and together else ("equal direct",)
        self._bets = _BetsOf(margin, ORDER_KINDS if pooled else ("direct",), equal)
        shape = 2, studies, self.pairs.count
        self._capital = np.ones((len(self._bets.of), 1, *shape))
        self._best = np.ones((len(self._bets.kinds), *shape))
        self._now = self._best.copy()
        self._squares, self._counted = np.zeros((2, 1, studies))
        self._together, self._predicted = np.zeros((2, studies))
        self.won, self.met, self._lost = np.zeros((3, studies, models, models))
        self.dialogues = np.zeros((studies, models))

    @property
    def equal(self) -> Floats:
        """See above."""
        return np.moveaxis(self._best[self._bets.order], 1, 0)

    @property
    def equal_now(self) -> Floats:
        """See above."""
        return np.moveaxis(self._now[self._bets.order], 1, 0)

    @property
    def pooled(self) -> Floats:
        """The evidence on the better model, including dialogues of one of the two with a third model, if these
        count."""
        return self.of("pooled" if self.is_pooled else "direct")

    @property
    def clearest(self) -> Floats:
        """Studies × pairs; the higher side of :attr:`pooled`."""
        return np.asarray(np.maximum(*self._best[self._bets.kinds.index("pooled" if self.is_pooled else "direct")]))

    @property
    def least_equal(self) -> Floats:
        """Studies × pairs; the lower side of :attr:`equal`."""
        return np.asarray(np.minimum(*self._best[self._bets.order]))

    @property
    def least_now(self) -> Floats:
        """Studies × pairs; the lower side of :attr:`equal_now`."""
        return np.asarray(np.minimum(*self._now[self._bets.order]))

    @property
    def least_alone(self) -> Floats:
        """Studies × pairs; the lower side of the current evidence of equality from direct dialogues."""
        return np.asarray(np.minimum(*self._now[-1]))

    @property
    def order_now(self) -> Floats:
        """Studies × 2 × pairs; the current evidence of :attr:`pooled`."""
        return np.moveaxis(self._now[self._bets.kinds.index("pooled" if self.is_pooled else "direct")], 1, 0)

    def of(self, kind: str) -> Floats:
        """See above; unless evidence is pooled, only direct dialogues count."""
        return np.moveaxis(self._best[self._bets.kinds.index(kind)], 1, 0)

    def only_decide(self) -> None:
        """Hold only the deciding bets: the others only detect evidence that contradicts itself."""
        kept = "pooled" if self.is_pooled else "direct"
        held, self._bets = self._bets, _BetsOf(self.margin, (kept,), self._bets.kinds[self._bets.order :])
        at = [held.kinds.index(kind) for kind in self._bets.kinds]
        self._best, self._now = self._best[at], self._now[at]
        self._capital = self._capital[np.concatenate([np.flatnonzero(held.of == kind) for kind in at])]

    def variance(self, rows: Ints) -> Floats:
        """Mean squared distance of a dialogue's share of won turns from one half, as far as it is known."""
        return np.asarray(self._variances(rows)[0], dtype=float)

    def weight(self, rows: Ints) -> Floats:
        """The weight of a judge's prediction for the next worker; see :func:`prediction_weight`."""
        return sequential.prediction_weight(self._together[rows], self._predicted[rows], self.variance(rows))

    def help_of_judge(self, rows: Ints) -> tuple[Floats, Floats]:
        """The weight, and the number of dialogues without the judge that one with it has been worth so far."""
        weight, left = self.weight(rows), self._squares[0, rows]
        saved = np.maximum(2 * weight * self._together[rows] - weight**2 * self._predicted[rows], 0.0)
        return weight, 1 + np.divide(saved, left, out=np.zeros_like(saved), where=left > 0)

    def _variances(self, rows: Ints) -> Floats:
        return sequential.variance_seen(self._squares[:, rows], self._counted[:, rows])

    def take(self, rows: Ints | Flags) -> None:
        """Keep only these studies, in this order; a study may be taken several times."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        for name in ("won", "met", "_lost", "dialogues", "_together", "_predicted"):
            setattr(self, name, getattr(self, name)[rows])
        for name in ("_squares", "_counted"):
            setattr(self, name, getattr(self, name)[:, rows])
        for name in ("_best", "_now", "_capital"):
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
        pairs, n = self.pairs, len(rows)
        there = (shown >= 0).ravel().nonzero()[0]
        at, pair, share = there // shown.shape[1], shown.ravel().take(there), shares.ravel().take(there)
        place, count = at * pairs.count + pair, n * pairs.count
        answered = ~np.isnan(share)
        part = np.where(answered, 1.0 if done is None else done.ravel().take(there), 0.0)
        share = np.where(answered, share, 0.5)
        # Stakes go by what a worker was shown: how much they answer is theirs to choose, and may follow from their likes.
        asked, won = _sums(place, count), _sums(place, count, part * share)
        met, parts, lost = asked, part[None], np.zeros_like(asked)
        if not (part == 1).all():
            met = _sums(place, count, part)
            lost = _sums(place, count, part == 0)
            is_cut = (met > 0) & (met < asked)
            if self.filled and len(self._squares) < FILLINGS and is_cut.any():
                self._capital = np.repeat(self._capital, FILLINGS, axis=1)
                self._squares, self._counted = (
                    np.repeat(each, FILLINGS, axis=0) for each in (self._squares, self._counted)
                )
            if len(self._squares) == FILLINGS:
                grown = np.divide(asked, met, out=np.ones_like(asked), where=is_cut)
                parts = np.stack([part, part * grown[place]])
        if len(parts) < len(self._squares):
            parts = np.repeat(parts, FILLINGS, axis=0)
        lead = _filled_sums(place, count, parts * (share - 0.5))
        terms = met[None] if len(parts) == 1 else _filled_sums(place, count, parts)
        # What a judge predicted, of each dialogue that was shown, and how much further from 0 outcomes can be by it.
        taken, reach, further = None, None, None
        if self.judged and predicted is not None:
            reach, of_each = self.weight(rows), predicted.ravel().take(there)
            taken, foretold = reach[at] * of_each, _sums(place, count, of_each)
            through = np.where(met == asked, 1 / np.maximum(asked, 1), 0.0).reshape(n, -1)
            self._together[rows] += (through * (lead[0] * foretold).reshape(through.shape)).sum(axis=1)
            self._predicted[rows] += (through * foretold.reshape(through.shape) ** 2).sum(axis=1)
            lead = lead - _sums(place, count, taken)
            further = np.repeat(reach, pairs.count) * asked
        indirect = self._indirect(rows, at, pair, share, likely, parts, taken, reach) if self.is_pooled else None
        self._bet(rows, lead, terms, asked, further, indirect)
        # What follows is of the pairs that were shown.
        shown_at = asked.nonzero()[0]
        at = shown_at // pairs.count
        pair = shown_at - at * pairs.count
        lead, terms = lead.take(shown_at, axis=1), terms.take(shown_at, axis=1)
        self._count(rows, at, pair, *(each.take(shown_at) for each in (won, met, lost)))
        for known, values in (
            (self._squares, sequential.squares(lead, terms)),
            (self._counted, (terms > 0).astype(float)),
        ):
            known[:, rows] += _filled_sums(at, n, values)

    def _count(self, rows: Ints, at: Ints, pair: Ints, won: Floats, met: Floats, lost: Floats) -> None:
        """Note what the first model of these pairs, at these places of ``rows``, won, of how many dialogues, and how many
        were left before any answer."""
        table = rows.take(at) * self.pairs.models**2
        for of, wins in ((pair, won), (pair + self.pairs.count, met - won)):
            place = table + self.pairs.own.take(of)
            self.won.reshape(-1)[place] += wins
            self.met.reshape(-1)[place] += met
            self._lost.reshape(-1)[place] += lost
        # In a panel a model meets several at once, of whom the last one left was there from the beginning.
        with_others = self.met.take(rows, axis=0)
        self.dialogues[rows] = with_others.max(axis=2) if self.panels else with_others.sum(axis=2)

    def _bet(
        self, rows: Ints, lead: Floats, terms: Floats, asked: Floats, further: Floats | None, indirect: _Indirect | None
    ) -> None:
        """Bet on what a worker says, and note what that is worth by the filling by which it is least. ``lead``, ``terms``:
        fillings × places, each a study and a pair; ``asked``: places, dialogues that were shown; ``further``: places, how
        much further from 0 the lead can be by a judge. If strengths add up, two models that are a margin apart have shares
        against a third one that are half a margin apart: a quarter of that is what a dialogue with it, halved, tells on
        average."""
        bets, count = self._bets, self.pairs.count
        places = (asked if indirect is None else asked + indirect.informed).nonzero()[0]
        at = places // count
        given, direct, third = asked.take(places), bets.direct, bets.third
        leads, heard = (direct * each.take(places, axis=1) for each in (lead, terms))
        if indirect is None:
            said = sequential.direct_terms(direct * given)
        else:
            leads += third * indirect.around.take(places, axis=1)
            heard += third / 4 * indirect.heard.take(places, axis=1)
            furthest = third * indirect.furthest.take(places) + bets.wider * given
            said = sequential.pooled_terms(direct * given, third * indirect.informed.take(places), furthest)
        if further is not None:
            said = said.reaching(direct * further.take(places))
        # Kinds × fillings × sides × places.
        outcome = bets.sides * leads[:, :, None] + bets.tilt * heard[:, :, None]
        stakes = bets.stakes(said, self._variances(rows).take(at, axis=1))
        place = places + ((rows - np.arange(len(rows))) * count).take(at)
        table, best, now = (each.reshape(*each.shape[:-2], -1) for each in (self._capital, self._best, self._now))
        grown = sequential.staked(table.take(place, axis=-1), stakes[:, :, None], outcome.take(bets.of, axis=0))
        table[..., place] = grown
        worth = (bets.weights @ grown.reshape(len(grown), -1)).reshape(outcome.shape)
        worth = worth.min(axis=1) if worth.shape[1] > 1 else worth[:, 0]
        best[..., place] = np.maximum(best.take(place, axis=-1), worth)
        now[..., place] = worth

    def _indirect(
        self,
        rows: Ints,
        at: Ints,
        pair: Ints,
        share: Floats,
        likely: Flags,
        parts: Floats,
        taken: Floats | None,
        reach: Floats | None,
    ) -> _Indirect:
        """What dialogues with a third model say. ``parts``: fillings × dialogues; how much of each one counts. ``taken``:
        of each, what is taken off for a judge, no more than its study's ``reach``. A dialogue of i with k tells of i
        against x where one of x with k was as probable: i's share, less what i and x together have won of k so far, and
        half of that, as k is met by one of the two at a time. Of the one whose dialogues with k are answered more often each
        counts for less, so that both tell as much (``even``): else what is taken off would matter."""
        pairs, count = self.pairs, len(rows) * self.pairs.count
        # Dialogues, and then the same with the two models changed over, × third models.
        way, at = np.concatenate([pair, pair + pairs.count]), np.concatenate([at, at])
        place, as_probable = (at * pairs.count)[:, None], likely.ravel()
        counts = as_probable.take(place + pairs.with_k.take(way, axis=0))
        counts &= as_probable.take(place[:, 0] + np.concatenate([pair, pair]))[:, None]
        of = rows.take(at) * pairs.models**2
        theirs, own = of[:, None] + pairs.theirs.take(way, axis=0), of + pairs.own.take(way)
        wins, met = (
            table.reshape(-1).take(theirs) + table.reshape(-1).take(own)[:, None] for table in (self.won, self.met)
        )
        mean = (wins + PRIOR_DIALOGUES / 2) / (met + PRIOR_DIALOGUES)
        counted = counts * np.concatenate([parts, parts], axis=1)[:, :, None]
        if self.even and self._lost.any():
            answered, asked = self.met.reshape(-1) + 1, self.met.reshape(-1) + self._lost.reshape(-1) + 1
            of_x, of_i = (answered.take(place) / asked.take(place) for place in (theirs, own[:, None]))
            counted *= np.minimum(of_x / of_i, 1)
        leads = pairs.leads.take(way, axis=0)
        outcome = leads * (np.concatenate([share, 1 - share])[:, None] - mean) / 2
        furthest = np.maximum(mean, 1 - mean)
        off: Floats | float = 0.0
        if taken is not None and reach is not None:
            off = leads * np.concatenate([taken, -taken])[:, None] / 2
            furthest += reach.take(at)[:, None]
        told = (place + pairs.of_i.take(way, axis=0)).ravel()
        around = _filled_sums(told, count, (outcome * counted - off * counts).reshape(len(parts), -1))
        heard = _filled_sums(told, count, counted.reshape(len(parts), -1))
        informed = _sums(told, count, counts.ravel().astype(float))
        return _Indirect(around, heard, informed, _sums(told, count, (counts * (furthest / 2)).ravel()))


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
    """The same sums for each filling (fillings × sums)."""
    sums = np.empty((len(values), count))
    for filling, each in enumerate(values):
        sums[filling] = np.bincount(place, weights=each, minlength=count)
    return sums
