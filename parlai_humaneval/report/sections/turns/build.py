"""Tables → the section on turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turns import words
from parlai_humaneval.report.sections.turns.combos import combo_rows
from parlai_humaneval.report.sections.turns.rows import (
    by_position,
    by_turn,
    effective_rows,
    model_rows,
    of_group,
    pair_rows,
)
from parlai_humaneval.report.sections.turns.strengths import strength_rows
from parlai_humaneval.report.sections.turns.types import (
    BiasRow,
    LeftOutRow,
    Patterns,
    ReselectionRow,
    TestRow,
    TurnsSection,
)
from parlai_humaneval.statistics.oddities import oddities
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.turn_patterns import Reselection, first_choice, first_place, reselection
from parlai_humaneval.statistics.turn_subsets import leave_one_out
from parlai_humaneval.statistics.turn_tests import (
    TurnTest,
    compare_choices,
    compare_singles,
    compare_with_baseline,
    equality_tests,
    with_holm,
)
from parlai_humaneval.tables.choices import ChoiceGroup, choice_groups, self_comparisons
from parlai_humaneval.tables.from_records import Tables

PATTERN_TURNS = 2
"""Consecutive turns say something where there are two."""


def build(tables: Tables, options: Options) -> TurnsSection | None:
    """The section; None where nobody chose anything turn by turn.

    Raises:
        TableError: as reading the tables.
    """
    groups = choice_groups(tables)
    odd = oddities(tables.turns)
    if not groups and not odd:
        return None
    found = [group for group in groups if len(group.turns.turns)]
    level = options.level
    families = [list(family) for _, family in groupby(found, key=lambda group: group.family)]
    questions = Counter((family[0].technique, family[0].setting) for family in families)
    tests = [
        row
        for family in families
        for row in _tests(family, level, questions[family[0].technique, family[0].setting] == 1)
    ]
    strengths, pulls = strength_rows(found, level)
    section = TurnsSection(
        models=[row for group in found for row in model_rows(group, options)],
        tests=tests,
        by_turn=[row for group in found for row in by_turn(group, level)],
        by_position=[row for group in found for row in by_position(group, level)],
        pairs=[row for group in found for first in (1, 2) for row in pair_rows(group, first, level)],
        effective=[row for group in found for row in effective_rows(group, level)],
        patterns=_patterns(found, level),
        leave_one_out=[row for group in found for row in _left_out(group)],
        strengths=strengths,
        positions=pulls,
        combos=list(combo_rows(found, tables, level)),
    )
    section.headline = words.headline(section, level)
    if odd and not found:
        section.headline = f"No turn counts, so nothing can be said about the models. {odd[0]}"
    section.remarks = [*odd, *words.remarks(section, groups, self_comparisons(tables.turns))]
    return section


def _tests(family: Sequence[ChoiceGroup], level: float, asked_alone: bool) -> list[TestRow]:
    """Tests of each group of a metric; Holm's correction is over the pairs of all of them."""
    made = [(group, test) for group in family for test in _of_group(group, level, asked_alone)]
    pairs = iter(with_holm([test for _, test in made if test.of_pair]))
    return [_test_row(group, next(pairs) if test.of_pair else test) for group, test in made]


def _of_group(group: ChoiceGroup, level: float, asked_alone: bool) -> list[TurnTest]:
    turns = group.turns
    if group.kind != "single":
        one = group.kind == "one"
        return compare_choices(turns.chosen, turns.models, turns.workers, one_pick=one, level=level)
    pairs = compare_singles(turns.chosen, turns.models, turns.workers, level=level)
    # The paper's baseline is for its one question, whether the reply is appropriate; not for several finer ones.
    alone = compare_with_baseline(turns.chosen, turns.models, turns.workers, level=level) if asked_alone else []
    return [*pairs, *alone]


def _test_row(group: ChoiceGroup, test: TurnTest) -> TestRow:
    paper, clustered = test.paper, test.clustered
    return TestRow(
        **of_group(group),
        name=paper.name,
        models=list(test.models),
        n=clustered.n,
        statistic=paper.statistic,
        p_value=paper.p_value,
        p_holm=paper.p_holm,
        method=paper.method,
        estimate=clustered.estimate,
        ci_low=clustered.ci_low,
        ci_high=clustered.ci_high,
        p_clustered=clustered.p_value,
        p_clustered_holm=clustered.p_holm,
        method_clustered=clustered.method,
        p_exact=_number(paper, "p_exact"),
        p_mid=_number(paper, "p_mid"),
        p_sign_flip=test.sign_flip_p,
        notes=list(dict.fromkeys([*paper.notes, *clustered.notes])),
    )


def _number(result: Result, name: str) -> float | None:
    value = result.details.get(name)
    return float(value) if isinstance(value, (int, float)) else None


def _patterns(groups: Sequence[ChoiceGroup], level: float) -> Patterns:
    patterns = Patterns()
    for group in groups:
        if len(np.unique(group.turns.turns)) >= PATTERN_TURNS:
            repeats = reselection(group.turns, one_pick=group.kind == "one", level=level)
            if group.kind == "single":
                repeats = repeats[: len(group.models)]
            patterns.reselection += [_repeat_row(group, found) for found in repeats if found.n_pairs]
            if group.kind != "single":
                first = first_choice(group.turns, level=level)
                patterns.cascading += [_bias(group, r) for r in (first.paper, first.clustered, first.adjusted)]
        if group.turns.by_position.shape[1] > 1:
            patterns.anchoring += [_bias(group, r) for r in _anchoring(group, level)]
    return patterns


def _anchoring(group: ChoiceGroup, level: float) -> list[Result]:
    """The first place against the others; all places at once, as the papers test models, and clustered."""
    places = group.turns.by_position
    known = ~np.isnan(places).any(axis=1)
    names = [f"place {number}" for number in range(1, places.shape[1] + 1)]
    whole = equality_tests(places[known], names, group.turns.workers[known], group.kind == "one", level)
    both = (whole.paper, whole.clustered)
    return [first_place(group.turns, level=level), *(r.model_copy(update={"name": "all places"}) for r in both)]


def _bias(group: ChoiceGroup, result: Result) -> BiasRow:
    return BiasRow(
        **of_group(group),
        name=result.name,
        n=result.n,
        estimate=result.estimate,
        ci_low=result.ci_low,
        ci_high=result.ci_high,
        statistic=result.statistic,
        p_value=result.p_value,
        method=result.method,
        notes=list(result.notes),
    )


def _repeat_row(group: ChoiceGroup, found: Reselection) -> ReselectionRow:
    again, excess = found.again, found.excess
    return ReselectionRow(
        **of_group(group),
        what=found.what,
        n=found.n_pairs,
        both=found.both,
        expected=found.expected,
        independent=found.independent,
        again=None if again is None else again.estimate,
        again_low=None if again is None else again.ci_low,
        again_high=None if again is None else again.ci_high,
        second_rate=found.second_rate,
        excess=excess.estimate,
        excess_low=excess.ci_low,
        excess_high=excess.ci_high,
        p_clustered=excess.p_value,
    )


def _left_out(group: ChoiceGroup) -> list[LeftOutRow]:
    if group.kind == "single" or len(group.models) < 3:
        return []
    turns, one = group.turns, group.kind == "one"
    tests = compare_choices(turns.chosen, turns.models, turns.workers, one_pick=one)
    found = leave_one_out(turns.chosen, turns.models, turns.workers, tests, one_pick=one)
    return [LeftOutRow(**of_group(group), **left.model_dump(mode="json")) for left in found]
