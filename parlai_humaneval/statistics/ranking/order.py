"""How far answers order models where not every strength is finite.

A model ranks above another where it was chosen over it, directly or through other models, and the other never was in the
same way. Models that were each chosen over the other, directly or through others, are linked: only their strengths can be
compared as numbers (Ford 1957; Hunter 2004). With the slightest penalty, strengths of the others follow the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np
from pydantic import BaseModel, ConfigDict

from parlai_humaneval._util.arrays import Flags, Floats
from parlai_humaneval.statistics.core.formatting import listed, sentence

SOURCE = "Ford 1957; Hunter 2004"
EQUAL = 1e-6
"""Strengths that differ by less are equal: they are no more exact."""
NAMED = 3
"""As many relations between groups are worded."""


class ModelOrder(BaseModel):
    """The order of models, as far as answers tell it.

    Attributes:
        groups: linked models together, best first; a group never comes before one that it ranks below.
        above: pairs of indices of ``groups``, of which the first ranks above the second. Two groups without such a pair
            cannot be ordered.
        tied: names of two models of one group whose strengths are equal, or unknown.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    groups: tuple[tuple[str, ...], ...]
    above: frozenset[tuple[int, int]]
    tied: frozenset[frozenset[str]] = frozenset()

    @property
    def names(self) -> list[str]:
        """All models, best first as far as they can be ordered."""
        return [name for group in self.groups for name in group]

    def group_of(self, model: str) -> tuple[str, ...]:
        """The models that are linked with it, and itself."""
        return next(group for group in self.groups if model in group)

    def is_above(self, model: str, other: str) -> bool:
        """Whether ``model`` ranks above ``other``."""
        a, b = (self.groups.index(self.group_of(name)) for name in (model, other))
        if a != b:
            return (a, b) in self.above
        group = self.groups[a]
        return group.index(model) < group.index(other) and frozenset((model, other)) not in self.tied

    def rank(self, model: str) -> int:
        """One more than the number of models above it."""
        return 1 + sum(self.is_above(other, model) for other in self.names if other != model)

    def first(self, among: Sequence[str]) -> list[str]:
        """Those of ``among`` that none of ``among`` ranks above: one model leads, of several none does."""
        return [model for model in among if not any(self.is_above(other, model) for other in among if other != model)]

    def unordered(self, models: Sequence[str]) -> list[tuple[str, ...]]:
        """The groups of ``models`` where they are several, none of which ranks above another; else nothing."""
        places = sorted({self.groups.index(self.group_of(name)) for name in models})
        return [self.groups[place] for place in places] if len(places) > 1 else []

    def note(self, model: str) -> str:
        """“among a and b”: with whom its strength can be compared; empty where that is with all."""
        group = self.group_of(model)
        return f"among {listed(group)}" if 1 < len(group) < len(self.names) else ""

    def reasons(self) -> Iterator[str]:
        """Sentences that say why strengths do not compare all models, and which groups cannot be ordered.

        A single model that always won, always lost or met nobody has a note of its own (:func:`why_unknown`).
        """
        pairs = [(a, b) for a, b in combinations(range(len(self.groups)), 2) if not self._has_note(a, b)]
        ordered = [(a, b) for a, b in pairs if (a, b) in self.above and not self._is_implied(a, b)]
        for a, b in ordered[:NAMED]:
            better, worse = self.groups[a], self.groups[b]
            never, rank = ("was" if len(worse) == 1 else "were"), ("ranks" if len(better) == 1 else "rank")
            yield (
                f"{listed(worse)} {never} never chosen over {listed(better, 'or')}, directly or through other models, so "
                f"{listed(better)} {rank} above, by more than any number can say."
            )
        apart = [(a, b) for a, b in pairs if (a, b) not in self.above]
        for a, b in apart[:NAMED]:
            yield sentence(not_compared([self.groups[a], self.groups[b]]))
        more = len(ordered[NAMED:]) + len(apart[NAMED:])
        if more:
            yield f"The same holds of {more} more pairs of groups: strengths compare models within a group only."

    def _has_note(self, a: int, b: int) -> bool:
        above, below = (frozenset(pair[place] for pair in self.above) for place in (0, 1))
        return any(len(self.groups[one]) == 1 and not {one} <= above & below for one in (a, b))

    def _is_implied(self, a: int, b: int) -> bool:
        return any((a, c) in self.above and (c, b) in self.above for c in range(len(self.groups)))


def not_compared(groups: Sequence[Sequence[str]]) -> str:
    """“no answer ranks a above or below b and c, directly or through other models”."""
    if len(groups) == 2:
        return (
            f"no answer ranks {listed(groups[0])} above or below {listed(groups[1])}, directly or through other models"
        )
    named = "; ".join(listed(group) for group in groups)
    return f"no answer ranks any of these above another, directly or through other models: {named}"


def order_of(over: Floats, names: Sequence[str], strengths: Sequence[float | None]) -> ModelOrder:
    """The order that answers tell.

    Args:
        over: models × models, how often the row's model was chosen while the column's was not; of a tie both.
        names: of the models.
        strengths: by which linked models are ordered; None where there is none.

    >>> over = np.array([[0, 5, 5], [0, 0, 3], [0, 2, 0]])
    >>> order_of(over, ['a', 'b', 'c'], [None, 0.2, -0.2]).groups
    (('a',), ('b', 'c'))
    """
    reach = _reached(over)
    linked, higher = reach & reach.T, reach & ~reach.T
    better, worse = higher.sum(axis=0), higher.sum(axis=1)
    tops = sorted({int(np.flatnonzero(row)[0]) for row in linked}, key=lambda i: (better[i], -worse[i], names[i]))
    members = [
        sorted(np.flatnonzero(linked[i]).tolist(), key=lambda j: (_downwards(strengths[j]), names[j])) for i in tops
    ]
    return ModelOrder(
        groups=tuple(tuple(names[j] for j in group) for group in members),
        above=frozenset((a, b) for a, i in enumerate(tops) for b, j in enumerate(tops) if higher[i, j]),
        tied=frozenset(
            frozenset((names[i], names[j]))
            for group in members
            for place, i in enumerate(group)
            for j in group[place + 1 :]
            if _are_tied(strengths[i], strengths[j])
        ),
    )


def _reached(over: Floats) -> Flags:
    """Whether the row's model was chosen over the column's, directly or through others; each reaches itself."""
    reach = (np.asarray(over) > 0) | np.eye(len(over), dtype=bool)
    for _ in range(max(1, len(over).bit_length())):
        reach = (reach.astype(int) @ reach.astype(int)) > 0
    return np.asarray(reach)


def _downwards(strength: float | None) -> float:
    return np.inf if strength is None else -strength


def _are_tied(strength: float | None, other: float | None) -> bool:
    return strength is None or other is None or abs(strength - other) <= EQUAL
