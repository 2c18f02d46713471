"""Many studies side by side, from the arrival of each worker to the last decision; a live study is one of them.

Workers are added one by one, in the order in which they came: a later worker waits until the earlier one has finished,
left or run out of time. What a worker is asked is drawn on arrival, from what those before them are known to have said.
All arrays have the studies as their first axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.stopping.evidence import Evidence, Pairs, pairs_of
from parlai_humaneval.stopping.rule import StoppingRule


@dataclass(frozen=True, eq=False)
class Rivals:
    """For each pair, the other pairs that may be a margin apart when it is. ``through``: 2 × pairs × (models − 2); the
    pairs of either of its two models with each other model, of which one at most counts. ``elsewhere``: pairs × …; the
    rest, of which ``most`` may count."""

    through: Ints
    elsewhere: Ints
    most: int


@lru_cache
def rivals_of(models: int, *, line: bool) -> Rivals:
    """The rivals of each pair. If models stand on one ``line``, and three are apart by the margin or more, the outer two
    are so by twice of it, and are taken for equal by nobody: sets of pairs count in which no three models have all of
    their pairs (of m models at most m²/4 pairs, Mantel 1907). Else all sets count."""
    pairs = pairs_of(models)
    every, ends = np.arange(pairs.count), np.stack([pairs.first, pairs.second])
    if not line:
        others = [every[every != pair] for pair in every]
        return Rivals(np.empty((2, pairs.count, 0), dtype=np.int64), np.array(others), pairs.count - 1)
    meets = (ends[:, None, :, None] == ends[None, :, None, :]).any(axis=(0, 1))
    elsewhere = np.array([every[~meets[pair]] for pair in every], dtype=np.int64)
    through = np.stack([pairs.thirds[ends[0], ends[1]], pairs.thirds[ends[1], ends[0]]])
    return Rivals(through, elsewhere, (models - 2) ** 2 // 4)


def alike(now: Floats, highest: Floats, equal: Flags, among: Flags, rivals: Rivals, beta: float) -> Flags:
    """Which pairs ``among`` those of each study are less than the margin apart, besides those that were called
    ``equal``. ``now``, ``highest``: studies × 2 × pairs; e-values against each of the two directions in which the models
    of a pair can be a margin apart.

    Closed testing by averages: whatever set of pairs is a margin apart, the mean of their e-values now is one, as that of
    a capital that was split over them. So a pair is called equal when there is no set that holds it, and none that was
    called equal, whose mean stays below 1/β; of the pair alone that may have been at any time. Of the other pairs the
    smaller side counts.
    """
    reached = np.zeros_like(among)
    study, pair = np.nonzero(among & (beta * highest.min(axis=1) >= 1))
    if study.size:
        lowest, of = np.where(equal, np.inf, now.min(axis=1)), study[:, None]
        through = np.minimum(*(lowest[of, ends[pair]] for ends in rivals.through))
        elsewhere = np.sort(lowest[of, rivals.elsewhere[pair]], axis=1)[:, : rivals.most]
        others = np.sort(np.concatenate([through, elsewhere], axis=1), axis=1).cumsum(axis=1)
        sizes = np.arange(2, others.shape[1] + 2)
        means = (now[study, :, pair][:, :, None] + others[:, None]) / sizes
        reached[study, pair] = (beta * means >= 1).all(axis=(1, 2))
    return reached


ALL_DIRECTIONS = 0.25
"""Part of the capital that is split over all directions that may still be false: models far apart are decided first."""


def along_paths(now: Floats, better: Flags, pairs: Pairs) -> Floats:
    """Studies × 2 × pairs; the least evidence of bets on neighbors against each claim, over all orders of the models.
    ``now``: of the same shape; e-values that the first model of a pair is better, and that the second is. ``better``:
    see :class:`Decisions`.

    Somebody who knew the order could split a capital over its K − 1 neighbors, and bet on each that the lower one is
    better. If model j is the higher one, but i was called the better, the bets on the path from j down to i have paid at
    least as much as those on the path that pays least. Equal models have no order: half of the capital goes down
    their row of numbers, and half goes up. An order that contradicts earlier claims is not that of the models, or
    those were false."""
    models, first, second = pairs.models, pairs.first, pairs.second
    paid = np.full((len(now), models, models), np.inf)  # higher × lower model
    paid[:, second, first], paid[:, first, second] = now[:, 0], now[:, 1]
    paid[np.swapaxes(better, 1, 2)] = np.inf
    by_number = paid.copy()
    for by in range(models):
        paid = np.minimum(paid, paid[:, :, by, None] + paid[:, None, by])
        for higher, lower in ((slice(by), slice(by + 1, None)), (slice(by + 1, None), slice(by))):
            through = by_number[:, higher, by, None] + by_number[:, None, by, lower]
            by_number[:, higher, lower] = np.minimum(by_number[:, higher, lower], through)
    least = np.minimum(paid, by_number / 2) / (models - 1)
    return np.stack([least[:, second, first], least[:, first, second]], axis=1)


def rivals_apart(apart: Flags, rivals: Rivals) -> Ints:
    """Studies × pairs; the number of rivals of each pair that may be ``apart`` (studies × pairs) at once."""
    through = (apart[:, rivals.through[0]] | apart[:, rivals.through[1]]).sum(axis=2)
    return np.asarray(through + np.minimum(apart[:, rivals.elsewhere].sum(axis=2), rivals.most), dtype=np.int64)


def to_ask(wanted: Flags, apart: Flags, pairs: Pairs) -> Flags:
    """Studies × pairs; those to draw from: all ``wanted`` ones, and with them the other pairs of the models that these
    join, but for pairs ``apart``, where more is learnt so of all that is wanted. A dialogue tells of its pair, and half
    as much of one of its models and a third, if the third meets the other model as often."""
    joined = _meets(wanted, pairs) + np.eye(pairs.models, dtype=np.float32)
    for _ in range(int(pairs.models).bit_length()):
        joined = np.minimum(joined @ joined, 1)
    wide = (joined[:, pairs.first, pairs.second] > 0) & ~apart

    def information(asked: Flags) -> Floats:
        meets = _meets(asked, pairs)
        each = (2 * meets + meets @ meets)[:, pairs.first, pairs.second]
        return np.asarray((each * wanted).sum(axis=1), dtype=float)

    more = information(wide) * wanted.sum(axis=1) > information(wanted) * wide.sum(axis=1)
    return np.where(more[:, None], wide, wanted)


def _meets(asked: Flags, pairs: Pairs) -> Floats:
    """Studies × models × models; 1 where the pair of the two is asked."""
    table = np.concatenate([asked, np.zeros((len(asked), 1), dtype=bool)], axis=1)
    return np.asarray(table[:, pairs.number], dtype=np.float32)


def any_of_each(flags: Flags) -> Flags:
    """Rows; whether any flag of the row is set. ``any`` takes four times as long for short rows."""
    return np.asarray(flags.view(np.uint8) @ np.ones(flags.shape[1], dtype=np.int16) > 0)


AGAINST = 0.3
"""What evidence of equality from dialogues of two models alone must not be below, if they are to be called equal: with 0.1
more circles of three models are called equal, and with 1 ten equal models need a quarter more dialogues."""


class Decisions:
    """Claims so far, which are never taken back; with a ``beta`` of 0 none that two models are equal. ``better``:
    studies × models × models; the row's model is better than the column's, also through others. ``through``: of those,
    the ones that follow from two others. ``equal``: studies × pairs; the two are less than the margin apart. ``asked``:
    studies × pairs; those that dialogues are drawn from. ``going``: studies; whether any pair is open. ``together``:
    pairs are called equal together (see :func:`.alike`); else one by one, as in older studies. ``pooled``: dialogues of
    decided pairs tell of others, too. ``paths``: the better model is decided over all possible orders of the models
    (see `along_paths`); else pair by pair, as in older studies, and if no order is assumed."""

    def __init__(
        self,
        studies: int,
        models: int,
        *,
        alpha: float,
        beta: float,
        floor: int,
        transitive: bool = True,
        together: bool = True,
        pooled: bool = False,
        paths: bool = True,
    ) -> None:
        self.pairs, self.alpha, self.beta, self.floor = pairs_of(models), alpha, beta, floor
        self.transitive, self.together, self.pooled, self.paths = transitive, together, pooled, paths and transitive
        self._rivals = rivals_of(models, line=transitive)
        self.better, self.through = np.zeros((2, studies, models, models), dtype=bool)
        self.equal = np.zeros((studies, self.pairs.count), dtype=bool)
        self.asked, self._open, self._wanted = np.ones((3, studies, self.pairs.count), dtype=bool)
        # Rivals that may be, of which one is better.
        self._apart = np.zeros((studies, self.pairs.count), dtype=np.int64)
        self._true = np.full(studies, 2 * self.pairs.count)  # directions that may be, for all that is claimed
        self.going = np.ones(studies, dtype=bool)

    def take(self, rows: Ints | Flags) -> None:
        """Keep only these studies, in this order; a study may be taken several times."""
        for name in ("better", "through", "equal", "asked", "_open", "_wanted", "_apart", "_true", "going"):
            setattr(self, name, getattr(self, name)[rows])

    def open(self, rows: Ints | slice = slice(None)) -> Flags:
        """Studies × pairs; which pairs are not decided."""
        return self._open[rows].copy()

    def look(self, rows: Ints, evidence: Evidence) -> None:
        """Decide in the studies ``rows`` what the evidence allows: first which models are better, then which are equal.
        For better: at α, the clearest direction first, one at a time, so that no two claims can contradict each other.
        For equal: all pairs together, or one by one, at β. Then settle whom to ask about."""
        clearest = evidence.order_now.max(axis=1) if self.paths else evidence.clearest
        fewest = np.minimum(self._true, 2 * (self.pairs.models - 1) if self.paths else np.inf)[:, None]
        among = self._with(rows, self._open & (clearest >= fewest / self.alpha))
        if among.size:
            worth = (evidence.order_now if self.paths else evidence.pooled)[among]
            self._order(among, np.where(self._enough(among, evidence)[:, None], worth, 0.0))
        near = self._with(rows, self._open & (self.beta * evidence.least_equal >= 1))
        while near.size:
            may = self._open[near] & self._enough(near, evidence) & ~self._spoken_against(near, evidence)
            if self.together:
                now, best = evidence.equal_now[near], evidence.equal[near]
                reached = alike(now, best, self.equal[near], may, self._rivals, self.beta)
            else:
                reached = may & (self.beta * evidence.least_equal[near] >= self._left(near)[:, None])
            self.equal[near] |= reached
            self._close(near, reached)
            near = near[any_of_each(reached)]
        self._settle(rows, evidence)

    def _with(self, rows: Ints, flags: Flags) -> Ints:
        """Those of ``rows`` with any of the ``flags`` (studies × pairs)."""
        return rows[any_of_each(flags.take(rows, axis=0))] if flags.any() else rows[:0]

    def _close(self, rows: Ints, decided: Flags) -> None:
        self._open[rows] &= ~decided
        self.going[rows] = any_of_each(self._open[rows])

    def _spoken_against(self, rows: Ints, evidence: Evidence) -> Flags:
        """Studies × pairs; where dialogues of the two alone say that they are a margin apart, whatever those with others
        say: there may be no line on which models stand."""
        if not (self.together and self.pooled):
            return np.zeros((len(rows), self.pairs.count), dtype=bool)
        return np.asarray(evidence.least_alone.take(rows, axis=0) < AGAINST)

    def _settle(self, rows: Ints, evidence: Evidence) -> None:
        """Ask about pairs that are open. Where decided pairs tell of others, those need not be asked about whose evidence
        would do if that of others did, too; and such may be that tell more than the open ones."""
        wanted = self._open.take(rows, axis=0)
        if self.together and self.pooled:
            needy = self.beta * evidence.least_now.take(rows, axis=0) < 1 + self._apart.take(rows, axis=0)
            needy = wanted & (needy | self._spoken_against(rows, evidence))
            wanted = np.where(any_of_each(needy)[:, None], needy, wanted)
        changed = any_of_each(wanted != self._wanted.take(rows, axis=0))
        rows, wanted = rows[changed], wanted[changed]
        self._wanted[rows] = self.asked[rows] = wanted
        if rows.size and self.together and self.pooled:
            self.asked[rows] = to_ask(wanted, self._is_better(rows), self.pairs)

    def _is_better(self, rows: Ints) -> Flags:
        """Studies × pairs; whether one of the two was called better."""
        first, second, better = self.pairs.first, self.pairs.second, self.better[rows]
        return np.asarray(better[:, first, second] | better[:, second, first])

    def _enough(self, rows: Ints, evidence: Evidence) -> Flags:
        dialogues = evidence.dialogues[rows]
        return (dialogues[:, self.pairs.first] >= self.floor) & (dialogues[:, self.pairs.second] >= self.floor)

    def _order(self, rows: Ints, worth: Floats) -> None:
        while rows.size:
            least = worth / self._true[rows, None, None]
            if self.paths:
                on_paths = along_paths(worth, self.better[rows], self.pairs)
                least = (1 - ALL_DIRECTIONS) * on_paths + ALL_DIRECTIONS * least
            left = np.where(self._open[rows][:, None], least, 0.0).reshape(len(rows), -1)
            clearest = left.argmax(axis=1)
            reached = left.max(axis=1) >= 1 / self.alpha
            rows, worth = rows[reached], worth[reached]
            if rows.size:
                self._claim(rows, clearest[reached])

    def _left(self, rows: Ints) -> Ints:
        """How many pairs may be wrongly called equal, if every claim so far is true (Holm 1979). If models stand on one
        line, and three are apart by the margin or more, the outer two are so by twice of it, and are taken for equal by
        nobody: as many pairs count as can be without three models all of whose pairs are among them (Mantel 1907:
        K²/4). Where no line is taken for granted, all count. At K − 1, the neighbours in a row, more than one in twenty
        studies of two groups of models claimed something false."""
        left: Ints = self.pairs.count - self.equal[rows].sum(axis=1)
        return np.minimum(left, self.better.shape[1] ** 2 // 4) if self.transitive else left

    def _refuted(self, rows: Ints) -> Ints:
        """How many directions must be false if every claim so far is true (Holm 1979; Shaffer 1986). The claims
        themselves, also those that follow. If the models form one order, with ties, a chain of L models, each claimed
        to be better than the next, requires L ranks, and at least as many pairs of different rank as if all other
        models shared one of these."""
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
        apart = self._is_better(rows)
        self._close(rows, apart)
        self._apart[rows] = rivals_apart(apart & ~self.equal[rows], self._rivals)
        self._true[rows] = 2 * self.pairs.count - self._refuted(rows)


def drawn_pairs(open_pairs: Flags, dialogues: int, rng: np.random.Generator) -> Ints:
    """Studies × dialogues: for each study, pairs drawn from the open ones, all of them as probable; −1 where none is
    open. No pair is drawn again before all others have been."""
    keys = np.where(open_pairs, rng.random(open_pairs.shape), 2.0)
    order = keys.argmin(axis=1)[:, None] if dialogues == 1 else keys.argsort(axis=1)
    count = open_pairs.sum(axis=1, keepdims=True)
    place = np.arange(dialogues)[None, :] % np.maximum(count, 1)
    return np.where(count > 0, np.take_along_axis(order, place, axis=1), -1)


def contradictions(evidence: Evidence, better: Flags, alpha: float) -> Flags:
    """Studies × pairs; where dialogues of two models say that one is better, and those with others the opposite; or that
    they are further apart than the margin, and all together that they are not. ``better``: what was claimed, studies ×
    models × models. Where what pooling takes for granted holds, one of the two is wrong, in at most 3α of studies for
    each: α for claims, 2α for dialogues of the two."""
    direct, pairs = evidence.of("direct"), evidence.pairs
    bar = pairs.count / alpha
    claimed = np.stack([better[:, pairs.first, pairs.second], better[:, pairs.second, pairs.first]], axis=1)
    against = claimed[:, ::-1]
    if evidence.is_pooled:
        against = against | (evidence.of("indirect")[:, ::-1] >= bar)
    found = (direct >= bar) & against
    if evidence.is_pooled:
        found |= (evidence.of("wide") >= bar) & (evidence.equal >= bar).all(axis=1, keepdims=True)
    return np.asarray(found.any(axis=1))


def in_words(models: tuple[str, ...], decisions: Decisions, margin: float) -> str:
    """The ranking in the first of the studies, such as “A > B > {C ≈ D within 10 points}”. If that is not a
    row of groups, as long as pairs are open or where A ≈ B ≈ C though A > C, claim after claim."""
    better, equal, number = decisions.better[0], decisions.equal[0], decisions.pairs.number
    points = f"within {margin * 100:g} points"
    order = sorted(range(len(models)), key=lambda i: (-int(better[i].sum()), int(better[:, i].sum()), i))
    groups: list[list[int]] = []
    for model in order:
        if groups and not better[groups[-1][-1], model]:
            groups[-1].append(model)
        else:
            groups.append([model])
    place = {model: at for at, group in enumerate(groups) for model in group}
    is_row = all(
        better[i, j] if place[i] < place[j] else better[j, i] if place[i] > place[j] else equal[number[i, j]]
        for i in order
        for j in order
        if i < j
    )
    if is_row:
        return " > ".join(
            models[group[0]] if len(group) == 1 else f"{{{' ≈ '.join(models[i] for i in group)} {points}}}"
            for group in groups
        )
    claims = [
        f"{models[i]} > {models[j]}"
        for i in order
        for j in order
        if better[i, j] and not any(better[i, k] and better[k, j] for k in order)
    ]
    alike = [f"{models[i]} ≈ {models[j]}" for i in order for j in order if i < j and equal[number[i, j]]]
    return "; ".join([*claims, *([f"{', '.join(alike)} {points}"] if alike else [])])


_NOTHING = {
    "_shown": -1,
    "_shares": np.nan,
    "_done": np.nan,
    "_predicted": 0.0,
    "_due": np.inf,
    "ended": np.inf,
    "_likely": False,
}
"""Tables of the held workers, studies × workers (and × dialogues, or pairs) → the value for unknown cells."""


class Studies:
    """Evidence, decisions, and the workers who came and are not folded in. ``arrived``: studies; workers who came.
    ``folded``: studies; of those, the first so many are folded in. ``ended``: studies × workers; when each of them was
    through, infinite of those who are not. ``dropped``: studies; so many of the first workers are folded in and no
    longer held. ``together``: pairs are called equal together, and ``paths``: all orders decide who is better (see
    :class:`Decisions`). ``evidence``: how that counts (see :class:`.Evidence`). Older studies did none of this."""

    def __init__(
        self, rule: StoppingRule, studies: int = 1, *, together: bool = True, paths: bool = True, **evidence: bool
    ) -> None:
        self.rule, models = rule, len(rule.models)
        how = {"pooled": rule.is_pooled, "panels": rule.shown == "panel", "together": together, **evidence}
        self.evidence = Evidence(studies, models, rule.margin, judged=bool(rule.judge), **how)
        self.decisions = Decisions(
            studies,
            models,
            alpha=rule.alpha,
            beta=rule.beta if rule.equality else 0.0,
            floor=rule.floor,
            transitive=rule.transitive,
            together=together,
            pooled=rule.is_pooled,
            paths=paths,
        )
        self.arrived, self.folded, self.dropped = np.zeros((3, studies), dtype=np.int64)
        self._shown = np.full((studies, 0, 0), -1)
        self._shares, self._done = np.full((2, studies, 0, 0), np.nan)
        self._predicted = np.zeros((studies, 0, 0))
        self._due, self.ended = np.full((2, studies, 0), np.inf)
        self._likely = np.zeros((studies, 0, self.evidence.pairs.count), dtype=bool)

    @property
    def count(self) -> int:
        """Number of studies."""
        return len(self.arrived)

    def take(self, rows: Ints | Flags) -> None:
        """Keep only these studies, in this order; a study may be taken several times."""
        self.evidence.take(rows)
        self.decisions.take(rows)
        for name in ("arrived", "folded", "dropped", *_NOTHING):
            setattr(self, name, getattr(self, name)[rows])

    def admit(self, rows: Ints, shown: Ints, due: Floats) -> Ints:
        """Note a worker of each study in ``rows``, who is shown these pairs (studies × dialogues); returns their
        numbers. ``due``: until when they are waited for."""
        numbers: Ints = self.arrived[rows]
        held = numbers - self.dropped[rows]
        have, width = self._shown.shape[1:]
        more, wider = max(0, int(held.max(initial=-1)) + 1 - have), max(0, shown.shape[1] - width)
        more = max(more, have, 16) if more else 0
        for name, nothing in _NOTHING.items() if more or wider else ():
            table = getattr(self, name)
            grown = ((0, 0), (0, more), (0, 0 if name == "_likely" else wider))[: table.ndim]
            setattr(self, name, np.pad(table, grown, constant_values=nothing))
        self._shown[rows, held, : shown.shape[1]] = shown
        self._likely[rows, held] = self.decisions.asked[rows]
        self._due[rows, held] = due
        self.arrived[rows] += 1
        return numbers

    def wait(self, rows: Ints, numbers: Ints, due: Floats) -> None:
        """Wait for workers until another time."""
        self._due[rows, numbers - self.dropped[rows]] = due

    def predict(self, rows: Ints, numbers: Ints, predicted: Floats) -> None:
        """Note how far above its mean a judge rated the first model in the workers' dialogues: studies × dialogues."""
        self._predicted[rows, numbers - self.dropped[rows], : predicted.shape[1]] = predicted

    def answer(self, rows: Ints, numbers: Ints, shares: Floats, done: Floats | None = None) -> None:
        """Note what workers answered: studies × dialogues, nan for what they did not. ``done``: which part of each
        dialogue; without it each that has a share was finished."""
        held = numbers - self.dropped[rows]
        self._shares[rows, held, : shares.shape[1]] = shares
        self._done[rows, held, : shares.shape[1]] = np.where(np.isnan(shares), np.nan, 1.0 if done is None else done)

    def end(self, rows: Ints, numbers: Ints, at: Floats) -> None:
        """Note when workers finished or left."""
        self.ended[rows, numbers - self.dropped[rows]] = at

    def enter(
        self,
        rows: Ints,
        shown: Ints,
        shares: Floats,
        done: Floats,
        predicted: Floats | None = None,
        *,
        due: Floats,
        ended: Floats,
    ) -> None:
        """Note a worker of each study in ``rows`` from their arrival to their end, as if all of it were known at once."""
        numbers = self.admit(rows, shown, due)
        if predicted is not None:
            self.predict(rows, numbers, predicted)
        self.answer(rows, numbers, shares, done)
        self.end(rows, numbers, ended)

    def ready(self, rows: Ints, now: Floats) -> Flags:
        """The studies of ``rows`` in which a worker is ready to be folded in."""
        ready = (self.folded[rows] < self.arrived[rows]) & self.decisions.going[rows]
        waiting = rows[ready]
        held = self.folded[waiting] - self.dropped[waiting]
        ready[ready] = np.minimum(self.ended[waiting, held], self._due[waiting, held]) <= now[ready]
        return ready

    def advance(self, rows: Ints, now: Floats, most: float = np.inf) -> int:
        """Fold in whoever is next in the order of arrival and has ended, or run out of time, and decide after each. Of
        each study ``most`` workers at once; returns of how many at least one study was folded one in."""
        times = 0
        while times < most:
            ready = self.ready(rows, now)
            rows, now = rows[ready], now[ready]
            if not rows.size:
                break
            self.fold(rows, self.folded[rows])
            self.folded[rows] += 1
            times += 1
        return times

    def of_worker(self, rows: Ints, numbers: Ints) -> tuple[Ints, Floats, Floats]:
        """The dialogues and answers of held workers: studies × dialogues (see :meth:`answer`)."""
        held = numbers - self.dropped[rows]
        return self._shown[rows, held], self._shares[rows, held], self._done[rows, held]

    def fold(self, rows: Ints, numbers: Ints) -> None:
        """Fold these workers into their studies, and make the decisions that are possible."""
        held, (shown, shares, done) = numbers - self.dropped[rows], self.of_worker(rows, numbers)
        predicted = self._predicted[rows, held] if self.evidence.judged else None
        self.evidence.fold(rows, shown, shares, self._likely[rows, held], done, predicted)
        self.decisions.look(rows, self.evidence)

    def drop_folded(self) -> None:
        """Drop the workers who are folded in: long simulations would fill the memory."""
        gone, width = self.folded - self.dropped, int((self.arrived - self.folded).max(initial=0))
        rows, held = np.arange(self.count)[:, None], gone[:, None] + np.arange(width)
        is_held = held < (self.arrived - self.dropped)[:, None]
        for name, nothing in _NOTHING.items():
            table = getattr(self, name)[rows, np.where(is_held, held, 0)] if width else getattr(self, name)[:, :0]
            table[~is_held] = nothing
            setattr(self, name, table)
        self.dropped = self.folded.copy()

    def of_pair(self, row: int, pair: int) -> tuple[Floats, Floats, Floats]:
        """For a study's pair: each folded worker's mean share, in the order of arrival; their dialogues, where one that
        was cut off counts in part; and the dialogues shown to them. Only of held workers."""
        folded = int(self.folded[row] - self.dropped[row])
        shown = self._shown[row, :folded] == pair
        done = np.nan_to_num(np.where(shown, self._done[row, :folded], 0.0))
        terms = done.sum(axis=1)
        judged = terms > 0
        means = (np.nan_to_num(self._shares[row, :folded]) * done).sum(axis=1)[judged] / terms[judged]
        return means, terms[judged], shown[judged].sum(axis=1).astype(float)

    def dialogues_of(self, row: int, pair: int) -> int:
        """Dialogues of a study's pair with any part folded in; only for held workers."""
        folded = int(self.folded[row] - self.dropped[row])
        answered = ~np.isnan(self._shares[row, :folded]) & (self._shown[row, :folded] == pair)
        return int(answered.sum())

    def contradicted(self) -> Flags:
        """Studies × pairs; where the evidence contradicts itself (see :func:`contradictions`)."""
        return contradictions(self.evidence, self.decisions.better, self.rule.alpha)
