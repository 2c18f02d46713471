"""What tests read of a study: sums of each worker, for many studies at once (studies × workers)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.inference.crowd import Floats


@dataclass(frozen=True)
class Arm:
    """One of the one or two samples of a comparison: sums of values and numbers of answers."""

    values: Floats
    counts: Floats

    @property
    def total(self) -> Floats:
        return np.asarray(np.maximum(self.counts.sum(axis=1, keepdims=True), 1))

    @property
    def mean(self) -> Floats:
        return np.asarray(self.values.sum(axis=1, keepdims=True) / self.total)

    @property
    def weights(self) -> Floats:
        """Share of each worker in the answers."""
        return np.asarray(self.counts / self.total)

    def deviations(self, mean: Floats | float) -> Floats:
        """What each worker adds to the mean of the arm, less ``mean``."""
        return (self.values - mean * self.counts) / self.total


@dataclass(frozen=True)
class Gap:
    """A mean against ``null``, or (``second``) the difference of two means against 0."""

    first: Arm
    second: Arm | None = None
    null: float = 0.5

    @property
    def signed(self) -> tuple[tuple[Arm, float], ...]:
        return ((self.first, 1.0),) if self.second is None else ((self.first, 1.0), (self.second, -1.0))

    @property
    def estimate(self) -> Floats:
        """Less the null: 0 is no difference."""
        means = sum(sign * arm.mean for arm, sign in self.signed)
        return np.asarray(means)[:, 0] - (self.null if self.second is None else 0.0)

    @property
    def under_null(self) -> tuple[Floats, ...]:
        """Of each arm what each worker adds, with the mean held at the null; they sum to the estimate."""
        if self.second is None:
            return (self.first.deviations(self.null),)
        total = self.first.total + self.second.total
        pooled = (self.first.total * self.first.mean + self.second.total * self.second.mean) / total
        return self.first.deviations(pooled), -self.second.deviations(pooled)

    @property
    def contributions(self) -> Floats:
        """What each worker adds to the estimate; under the null their signs are arbitrary."""
        return np.asarray(sum(self.under_null))

    @property
    def counts(self) -> Floats:
        return np.asarray(sum(arm.counts for arm, _ in self.signed))


class Rate(Gap):
    """The rate of one model against a baseline that may be near 1."""


@dataclass(frozen=True)
class Joint:
    """Several models: ``values`` of each (studies × workers × models), and numbers of answers."""

    values: Floats
    counts: Floats

    @property
    def centred(self) -> Floats:
        """Each model's value less the mean of all of the same worker."""
        return np.asarray(self.values - self.values.mean(axis=-1, keepdims=True))

    @property
    def contrasts(self) -> Floats:
        """Each model but the last, less the last."""
        return np.asarray(self.values[..., :-1] - self.values[..., -1:])


@dataclass(frozen=True)
class Crossed:
    """Workers who judge the same items: wins and judgements of each cell (studies × workers × items)."""

    wins: Floats
    counts: Floats

    @property
    def by_worker(self) -> Gap:
        return Gap(Arm(self.wins.sum(axis=2), self.counts.sum(axis=2)))

    @property
    def by_item(self) -> Gap:
        return Gap(Arm(self.wins.sum(axis=1), self.counts.sum(axis=1)))
