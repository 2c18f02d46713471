"""Equality of many pairs at once: which may be called equal together, and whom to ask about until they can be.

All arrays have the studies as their first axis.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval.stopping.evidence import Pairs, pairs_of


@dataclass(frozen=True, eq=False)
class Rivals:
    """Of each pair, those others that may be a margin apart when it is. ``through``: 2 × pairs × (models − 2); the pairs of
    either of its two models with each other model, of which one at most counts. ``elsewhere``: pairs × …; the rest, of
    which ``most`` may count."""

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


def rivals_apart(apart: Flags, rivals: Rivals) -> Ints:
    """Studies × pairs; how many rivals of each pair may be ``apart`` (studies × pairs) at once."""
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
    """Rows; whether any flag of the row is set. ``any`` takes four times as long where rows are short."""
    return np.asarray(flags.view(np.uint8) @ np.ones(flags.shape[1], dtype=np.int16) > 0)
