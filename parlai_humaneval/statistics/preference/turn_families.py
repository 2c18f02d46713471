"""All tests of turns that one report corrects together, and by what each pair of models is told, also if places matter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parlai_humaneval.statistics.core.clustered import DIFFERENCE_LIMITS
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import Family, corrected
from parlai_humaneval.statistics.core.once_each import with_once_each
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import METHOD, SOURCE, place_outweighs, position_balanced
from parlai_humaneval.statistics.preference.tests import (
    TurnTest,
    compare_choices,
    compare_singles,
    compare_with_baseline,
    holm_corrected,
)
from parlai_humaneval.statistics.preference.turn_dependence import first_place
from parlai_humaneval.tables.choices import ComparisonGroup


@dataclass(frozen=True)
class FamilyTest:
    """A test of the turns of ``group``. ``adjusted``: of a pair, the difference with both orders of the two counting alike,
    where the effect of the place outweighs it; then the pair is told by that."""

    group: ComparisonGroup
    test: TurnTest
    adjusted: Result | None = None

    @property
    def told(self) -> Result:
        """The difference that the pair is told by."""
        return self.adjusted or self.test.clustered


def family_tests(
    groups: Sequence[ComparisonGroup], *, level: float = 0.95, first: int = 1, asked_alone: bool = True
) -> list[FamilyTest]:
    """Tests of turns ``first`` on, group by group; Holm's correction is over the pairs of all ``groups`` of the family.

    ``asked_alone``: nothing else was asked of single models, so that the paper's baseline, which is for its one question
    whether the reply is appropriate, is theirs too.
    """
    parts = [group.at_turns(first) for group in groups] if first > 1 else groups
    made = [(group, test) for group in parts if len(group.turns.turns) for test in _tests(group, level, asked_alone)]
    family = Family(*groups[0].family, "" if first == 1 else f"turns from {first} on")
    pairs = [(group, test) for group, test in made if test.of_pair]
    effects = {tuple(group.models): place_effect(group, level) for group in parts}
    adjusted = [_gap_by_order(group, test, effects[tuple(group.models)], level) for group, test in pairs]
    told = [alike or test.clustered for alike, (_, test) in zip(adjusted, pairs, strict=True)]
    families = [family] * len(pairs)
    of_pairs = iter(
        zip(holm_corrected([test for _, test in pairs], families), adjusted, corrected(told, families), strict=True)
    )
    found = []
    for group, test in made:
        own, alike, leads = next(of_pairs) if test.of_pair else (test, None, test.clustered)
        found.append(FamilyTest(group, own, alike and leads))
    return found


def _tests(group: ComparisonGroup, level: float, asked_alone: bool) -> list[TurnTest]:
    turns = group.turns
    if group.kind != "single":
        return compare_choices(turns.chosen, turns.models, turns.workers, one_pick=group.kind == "one", level=level)
    pairs = compare_singles(turns.chosen, turns.models, turns.workers, level=level)
    has_baseline = asked_alone and not group.problem
    alone = compare_with_baseline(turns.chosen, turns.models, turns.workers, level=level) if has_baseline else []
    return [*pairs, *alone]


def place_effect(group: ComparisonGroup, level: float = 0.95) -> Result | None:
    """How much more often the reply shown first is chosen than the others; None where there is but one place."""
    several = group.kind != "single" and group.turns.by_position.shape[1] > 1
    return first_place(group.turns, level=level) if several else None


def _gap_by_order(group: ComparisonGroup, test: TurnTest, effect: Result | None, level: float) -> Result | None:
    """The difference of two models with both orders counting alike, where the effect of the place outweighs it."""
    if effect is None or not place_outweighs(effect, effect.estimate, test.clustered.estimate):
        return None
    a, b = (group.models.index(model) for model in test.models)
    order = np.sign(group.positions[:, b] - group.positions[:, a])
    gaps = group.turns.chosen[:, a] - group.turns.chosen[:, b]
    values = position_balanced(np.where(order == 0, np.nan, gaps), order)
    if values is None:
        return None
    values[order == 0] = gaps[order == 0]  # equal replies, shown once: a tie wherever they stood
    name, workers = test.clustered.name, group.turns.workers
    limits = DIFFERENCE_LIMITS
    return places_alike(with_once_each(clustered_mean, values, workers, name=name, null=0, limits=limits, level=level))


def places_alike(result: Result) -> Result:
    """``result``, which says of itself that all places count alike in it."""
    return result.but(method=f"{result.method}, {METHOD}", source=f"{result.source}; {SOURCE}")
