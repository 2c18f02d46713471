"""The leading tests of a report on any tables: of every two models, of all at once, or of one against a baseline.

All tests of turns that are corrected together, the leading test of each pair, and the changes without each model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby
from typing import Annotated

import numpy as np
import numpy.typing as npt

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.statistics.core.clustered import DIFFERENCE_LIMITS
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import ALPHA, Family, corrected, deciding, with_once_each
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Column, Row
from parlai_humaneval.statistics.preference import pairs as paired
from parlai_humaneval.statistics.preference.tests import (
    TurnTest,
    choices_checked,
    compare_choices,
    compare_singles,
    compare_with_baseline,
    equality_tests,
    holm_corrected,
)
from parlai_humaneval.statistics.preference.turn_dependence import first_place
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.statistics.ranking.plackett_luce import one_ranking, plackett_luce, strength_tests
from parlai_humaneval.statistics.ratings.sliders import TECHNIQUE as SLIDERS
from parlai_humaneval.statistics.ratings.sliders import assessed, score_gaps
from parlai_humaneval.statistics.survival.spotting import bot_contests, contest_wins, spot_the_bot_segments
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups, free_for_all_dialogues
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished
from parlai_humaneval.techniques.registry import FREE_FOR_ALL, with_trait


@dataclass(frozen=True)
class FamilyTest:
    """A test of the turns of ``group``. ``adjusted``: for a pair, the difference with both orders of the two weighted
    equally, if the position bias outweighs it; then the pair leads with it."""

    group: ComparisonGroup
    test: TurnTest
    adjusted: Result | None = None

    @property
    def told(self) -> Result:
        """The difference that the report leads with."""
        return self.adjusted or self.test.clustered


def family_tests(
    groups: Sequence[ComparisonGroup], *, level: float = 0.95, first: int = 1, asked_alone: bool = True
) -> list[FamilyTest]:
    """Tests of turns ``first`` on, group by group; Holm's correction is over the pairs of all ``groups`` of the family.

    ``asked_alone``: nothing else was asked of single models, so that the paper's baseline is theirs too.
    """
    parts = [group.at_turns(first) for group in groups] if first > 1 else groups
    made = [(group, test) for group in parts if len(group.turns.turns) for test in _tests(group, level, asked_alone)]
    family = Family(*groups[0].family, "" if first == 1 else f"turns from {first} on")
    pairs = [(group, test) for group, test in made if test.of_pair]
    effects = {tuple(group.models): place_effect(group, level) for group in parts}
    adjusted = [_gap_by_order(group, test, effects[tuple(group.models)], level) for group, test in pairs]
    told = [alike or test.clustered for alike, (_, test) in zip(adjusted, pairs, strict=True)]
    families = [family] * len(pairs)
    tests = holm_corrected([test for _, test in pairs], families)
    of_pairs = iter(zip(tests, adjusted, corrected(told, families), strict=True))
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
    """Position bias: how much more often the reply shown first is chosen; None with a single position."""
    several = group.kind != "single" and group.turns.by_position.shape[1] > 1
    return first_place(group.turns, level=level) if several else None


def _gap_by_order(group: ComparisonGroup, test: TurnTest, effect: Result | None, level: float) -> Result | None:
    """The difference of two models with both orders counting alike, where the effect of the place outweighs it."""
    if effect is None or not paired.place_outweighs(effect, effect.estimate, test.clustered.estimate):
        return None
    a, b = (group.models.index(model) for model in test.models)
    order = np.sign(group.positions[:, b] - group.positions[:, a])
    gaps = group.turns.chosen[:, a] - group.turns.chosen[:, b]
    values = paired.position_balanced(np.where(order == 0, np.nan, gaps), order)
    if values is None:
        return None
    values[order == 0] = gaps[order == 0]  # equal replies, shown once: a tie wherever they stood
    name, workers = test.clustered.name, group.turns.workers
    limits = DIFFERENCE_LIMITS
    return places_alike(with_once_each(clustered_mean, values, workers, name=name, null=0, limits=limits, level=level))


def places_alike(result: Result) -> Result:
    """Add the note to ``result`` that all positions count equally in it."""
    return result.but(method=f"{result.method}, {paired.METHOD}", source=f"{result.source}; {paired.SOURCE}")


class LeftOut(Row):
    """The comparison without one model: whether the others stand otherwise (``order_changed``), win rates of the turns
    that count without it, p of all that remain, and the pairs that differ (Holm) only with it, or only without it."""

    left_out: Annotated[str, Column("Without")]
    n: Annotated[int, Column("Turns")]
    ranking: Annotated[tuple[str, ...], Column("Ranking of the others")]
    order_changed: Annotated[bool, Column("Order changes")]
    win_rates: dict[str, float | None]
    p_value: Annotated[float | None, Column("Paper's p", "p")]
    p_clustered: Annotated[float | None, Column("Clustered p", "p")]
    changed_pairs: Annotated[tuple[str, ...], Column("Pairs whose verdict changes")]


def leave_one_out(
    chosen: npt.ArrayLike, models: Sequence[str], workers: npt.ArrayLike, tests: Sequence[TurnTest], *, one_pick: bool
) -> list[LeftOut]:
    """For each of three or more models what changes without it; ``tests`` are those of all (``compare_choices``)."""
    whole, everyone = choices_checked(chosen, models, workers)
    with_all, found = _ranked(whole, models)[1], []
    for place, out in enumerate(models if len(models) > 2 else ()):
        keep = (whole[:, place] != 1) if one_pick else np.ones(len(whole), dtype=bool)
        matrix, rest = np.delete(whole, place, axis=1)[keep], [model for model in models if model != out]
        rates, ranking = _ranked(matrix, rest)
        before = [test for test in tests if test.of_pair and out not in test.models]
        pairs = holm_corrected(before)
        overall = equality_tests(matrix, rest, everyone[keep], one_pick) if len(rest) > 2 else pairs[0]
        differ, differed = (
            [test.clustered.p_holm is not None and test.clustered.p_holm < ALPHA for test in side]
            for side in (pairs, before)
        )
        differing = zip(pairs, differ, differed, strict=True)
        without = LeftOut(
            left_out=out,
            n=len(matrix),
            ranking=ranking,
            order_changed=ranking != tuple(model for model in with_all if model != out),
            win_rates=rates,
            p_value=overall.paper.p_value,
            p_clustered=overall.clustered.p_value,
            changed_pairs=tuple(" – ".join(new.models) for new, now, then in differing if now != then),
        )
        found.append(without)
    return found


def _ranked(matrix: Floats, models: Sequence[str]) -> tuple[dict[str, float | None], tuple[str, ...]]:
    shown, won = (~np.isnan(matrix)).sum(axis=0), np.nansum(matrix, axis=0)
    rates = {model: float(w / n) if n else None for model, w, n in zip(models, won, shown, strict=True)}
    return rates, tuple(sorted(rates, key=lambda model: (-(rates[model] or 0.0), model)))


@dataclass(frozen=True)
class Lead:
    """One test of two ``models``; of more, whether all are equal; of one, against a baseline. ``told``: clustered by
    rater, the test that the report leads with; ``paper``: the paper's test, which may decide. Pairs have Holm's
    correction over the ``family``.
    """

    family: Family
    models: tuple[str, ...]
    told: Result
    paper: Result | None = None

    def p_decides(self, alpha: float = ALPHA) -> float | None:
        """The p that decides in a report; None if the report names no difference of the two."""
        if len(self.models) == 2 and self.told.estimate is None:
            return None
        return deciding(self.paper if len(self.models) == 2 else None, self.told, alpha)[0]


def leads(tables: Tables, *, baseline: bool = False) -> list[Lead]:
    """All tests of ``tables``, each question by itself; single models also against the paper's ``baseline``."""
    found: list[Lead] = []
    for groups in _families(tables):
        ranked = one_ranking(groups)
        if ranked is None:
            found.extend(_by_shares(groups, baseline))
        else:
            together, of_all = ranked
            found.extend(_by_strength(Family(*together.family), together.models, of_all))
    for group in free_for_all_dialogues(tables) if len(tables.turns) else ():
        strengths = plackett_luce(group.chosen, group.turn_workers, positions=group.positions, models=group.models)
        found.extend(_by_strength(Family(FREE_FOR_ALL.name, group.setting, group.metric), group.models, strengths))
    rows = paired.counted_comparisons(tables) if len(tables.comparisons) else tables.comparisons
    for key, own in paired.orient_pairs(rows).groupby(list(paired.GROUP), sort=True) if len(rows) else ():
        technique, setting, kind, metric = map(str, key)
        family = Family(technique, setting, metric, kind)
        for wins in paired.wins_of_pairs(own, family=family):
            paper = None if wins.adjusted else wins.paper
            found.append(Lead(family, (wins.model_a, wins.model_b), wins.told, paper))
    rows = tables.segments[finished(tables.segments)] if len(tables.segments) else tables.segments
    if len(rows):
        family = Family("spot_the_bot", "", "")
        for met in contest_wins(bot_contests(spot_the_bot_segments(rows)), family):
            found.append(Lead(family, (met.model_a, met.model_b), met.win_rate, met.paper))
    data = assessed(tables) if len(tables.ratings) else None
    if data is not None:
        family = Family(SLIDERS, "", "", "overall")
        for gap in score_gaps(data.counted, sorted(data.counted["model"].unique()), family=family):
            found.append(Lead(family, (gap.model_a, gap.model_b), gap.difference, gap.paper))
    return found


def turn_leads(tables: Tables, *, baseline: bool = False) -> list[Lead]:
    """The tests of turns by shares alone, even if one ranking or strengths lead the report."""
    return [lead for groups in _families(tables, every=True) for lead in _by_shares(groups, baseline)]


def _families(tables: Tables, *, every: bool = False) -> list[list[ComparisonGroup]]:
    answered = [group for group in choice_groups(tables) if len(group.turns.turns)] if len(tables.turns) else []
    kept = [group for group in answered if every or group.technique not in with_trait("points")]
    return [list(groups) for _, groups in groupby(kept, key=lambda group: group.family)]


def _by_shares(groups: Sequence[ComparisonGroup], baseline: bool) -> Iterator[Lead]:
    for found in family_tests(groups, asked_alone=baseline):
        paper = None if found.adjusted else found.test.paper
        yield Lead(Family(*groups[0].family), found.test.models, found.told, paper)


def _by_strength(family: Family, models: Sequence[str], strengths: Strengths) -> Iterator[Lead]:
    for pair, (test, independent) in zip(combinations(models, 2), strength_tests(strengths, family), strict=True):
        yield Lead(family, pair, test, independent)
    if len(models) > 2:
        yield Lead(family, tuple(models), strengths.equal)
