"""Tables → the section on free-for-alls."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.free_for_all.rows import (
    GroupRow,
    ModelRow,
    PairRow,
    PositionRow,
    StabilityRow,
)
from parlai_humaneval.report.sections.free_for_all.show import FreeForAllSection
from parlai_humaneval.report.sections.free_for_all.words import headline, remarks
from parlai_humaneval.statistics.rank_stability import ScoreRange, ranking_agreement, score_ranges, stability_curves
from parlai_humaneval.statistics.ranks import ranks_of
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.strengths.tables import plackett_luce
from parlai_humaneval.statistics.trueskill.ratings import Skill, free_for_all_ratings
from parlai_humaneval.tables.free_for_all import Dialogues, free_for_all_dialogues
from parlai_humaneval.tables.from_records import Tables

_SAMPLES, _MOST_LIMITS = 100, 6
_TOLERANCE = 1e-9  # scores are right to 1e-6


def build(tables: Tables, options: Options) -> FreeForAllSection | None:
    """From the turns of technique ``free_for_all``; ``dialogues`` say in which order they began, where they do."""
    section = FreeForAllSection()
    headlines: list[str] = []
    for group in free_for_all_dialogues(tables):
        headlines.append(_add(section, group, options))
    section.headline = " ".join(headlines)
    return section if section.groups else None


def _add(section: FreeForAllSection, group: Dialogues, options: Options) -> str:
    """Put a group into the section; returns its headline."""
    where = {"setting": group.setting, "metric": group.metric}
    mu, sigma = free_for_all_ratings(group.points, tolerance=_TOLERANCE)
    skills = [Skill(float(m), float(s)) for m, s in zip(mu[0], sigma[0], strict=True)]
    scores = np.array([skill.score for skill in skills])
    ranges = score_ranges(group.points, group.workers, seed=options.seed, draws=options.draws, level=options.level)
    strengths = plackett_luce(
        group.chosen, group.turn_workers, positions=group.positions, models=group.models, level=options.level
    )
    rows = [
        _model_row(group, i, skills[i], int(rank), ranges[i], strengths.models[i])
        for i, rank in enumerate(ranks_of(scores[None])[0])
    ]
    rows.sort(key=lambda row: (row.rank, row.model))
    agreement = ranking_agreement(
        dict(zip(group.models, scores.tolist(), strict=True)),
        {m: r.estimate for m, r in zip(group.models, strengths.models, strict=True)},
    )
    limits, cube = group.points_in_first_turns(_MOST_LIMITS)
    curves = stability_curves(cube, scores, turns=limits, samples=_SAMPLES, seed=options.seed)
    found = GroupRow(
        **where,
        n_dialogues=len(group.points),
        n_turns=len(group.chosen),
        n_workers=len(set(group.workers)),
        p_equal=strengths.equal.p_value,
        p_no_position_effect=None if strengths.no_position_effect is None else strengths.no_position_effect.p_value,
        tau_b=agreement["tau_b"].estimate,
        pearson=agreement["pearson"].estimate,
        draws=ranges[0].draws,
        seed=options.seed,
    )
    section.groups.append(found)
    section.models.extend(rows)
    section.tests.extend(
        _pair_row(where, result, list(names))
        for result, names in zip(strengths.pairs, combinations(group.models, 2), strict=True)
    )
    section.positions.extend(_position_row(where, result) for result in strengths.positions)
    section.stability.extend(StabilityRow(**where, **point.model_dump()) for point in curves)
    section.remarks.extend(remarks(group, found, strengths, ranges[0], curves))
    return headline(found, rows, strengths)


def _model_row(
    group: Dialogues, index: int, skill: Skill, rank: int, score_range: ScoreRange, strength: Result
) -> ModelRow:
    points = group.points[:, index]
    return ModelRow(
        setting=group.setting,
        metric=group.metric,
        model=group.models[index],
        rank=rank,
        points=int(np.nansum(points)),
        dialogues=int((~np.isnan(points)).sum()),
        mu=skill.mu,
        sigma=skill.sigma,
        score=skill.score,
        order_low=score_range.order_low,
        order_high=score_range.order_high,
        bootstrap_low=score_range.bootstrap_low,
        bootstrap_high=score_range.bootstrap_high,
        rank_low=score_range.rank_low,
        rank_high=score_range.rank_high,
        strength=strength.estimate,
        strength_low=strength.ci_low,
        strength_high=strength.ci_high,
    )


def _pair_row(where: dict[str, str], result: Result, models: list[str]) -> PairRow:
    details = result.details
    independent, chance = details.get("p_independent"), details.get("chance")
    return PairRow(
        **where,
        name=result.name,
        models=models,
        estimate=result.estimate,
        ci_low=result.ci_low,
        ci_high=result.ci_high,
        statistic=result.statistic,
        p_value=result.p_value,
        p_holm=result.p_holm,
        p_independent=None if independent is None else float(independent),
        chance=None if chance is None else float(chance),
        method=result.method,
    )


def _position_row(where: dict[str, str], result: Result) -> PositionRow:
    return PositionRow(
        **where,
        position=result.name.removeprefix("pull of position "),
        pull=result.estimate,
        ci_low=result.ci_low,
        ci_high=result.ci_high,
        p_value=result.p_value,
    )
