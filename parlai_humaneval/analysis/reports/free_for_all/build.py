"""Tables of points → the report of a free-for-all (Ma et al. 2023, §2)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.facts import CLUSTERED, LEVEL, common_facts, methods_of
from parlai_humaneval.analysis.reports.free_for_all import words
from parlai_humaneval.analysis.reports.free_for_all.types import FreeForAllGroup, FreeForAllReport, Standing
from parlai_humaneval.analysis.reports.gaps import Gap, correct_gaps
from parlai_humaneval.analysis.reports.sata.build import anchoring, gap_of_shares, picks_one, places, share
from parlai_humaneval.analysis.reports.words import NO_TURNS
from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.statistics.trueskill.ratings import trueskill
from parlai_humaneval.tables.choices import ChosenTurns, TurnGroup, turn_groups
from parlai_humaneval.tables.counting import that_count
from parlai_humaneval.tables.from_records import Tables

METHODS = [
    "A reply that is picked is a point; the points of a dialogue rank its models, equal points share a rank (Ma et al. "
    "2023, §2). An unanswered turn is nobody's point.",
    "TrueSkill over dialogues in the order in which they began (μ 25, σ 25/3, β 25/6, τ 25/300, draw chance .10), "
    "sorted by μ − 3σ, as the paper does. Another order of the same dialogues gives somewhat other scores, so that "
    "small differences between them mean nothing.",
    CLUSTERED + " Of pairs: of the difference of the shares of turns won.",
]
HOLM = "Holm: p corrected for all pairs of the report."


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> FreeForAllReport:
    """Points, ranks and TrueSkill of each setting, metric and set of models; reads ``points`` and ``turns``.

    Only complete dialogues count unless ``include_partial``.
    """
    counted = tables.points[that_count(tables.points, include_partial)].sort_values(["started", "dialogue_id", "model"])
    groups = [_group(found, counted) for found in turn_groups(tables.turns, include_partial=include_partial)]
    correct_gaps([gap for group in groups for gap in group.gaps])
    for group in groups:
        group.headline = words.headline(group)
        group.remarks = words.remarks(group, include_partial)
    return FreeForAllReport(
        **common_facts(tables, include_partial=include_partial, seed=seed),
        headline=" ".join(group.headline for group in groups) or NO_TURNS,
        groups=groups,
        methods=methods_of(METHODS if groups else [], HOLM, [gap.difference for group in groups for gap in group.gaps]),
    )


def _group(found: TurnGroup, points: pd.DataFrame) -> FreeForAllGroup:
    turns = found.counted
    own = points[points["dialogue_id"].isin(list(found.dialogues)).to_numpy(dtype=bool)]
    first = own[(own["rank"] == 1).to_numpy(dtype=bool)]
    return FreeForAllGroup(
        setting=found.setting,
        metric=found.metric,
        models=turns.models,
        n_dialogues=int(own["dialogue_id"].nunique()),
        n_turns=len(turns.turns),
        n_workers=int(own["worker_id"].nunique()),
        tied_dialogues=int((first.groupby("dialogue_id").size() > 1).sum()),
        standings=_standings(turns, own),
        gaps=[_gap(turns, a, b) for a, b in turns.pairs()],
        by_position=places(turns),
        anchoring=anchoring(turns, picks_one(found)),
        automatic_turns=found.automatic_turns,
        failed_replies=found.failed_replies,
        unfinished_dialogues=found.unfinished_dialogues,
        unfinished_turns=found.unfinished_turns,
    )


def _standings(turns: ChosenTurns, points: pd.DataFrame) -> list[Standing]:
    matches = [
        dict(zip(rows["model"], rows["points"].astype(int), strict=True))
        for _, rows in points.groupby("dialogue_id", sort=False)
    ]
    skills = trueskill(matches, turns.models)
    standings = []
    for column, model in enumerate(turns.models):
        own = points[(points["model"] == model).to_numpy(dtype=bool)]
        standings.append(
            Standing(
                model=model,
                dialogues=len(own),
                points=int(np.nansum(turns.chosen[:, column])),
                point_share=share(turns.chosen[:, column], turns, f"turns won by {model}"),
                mean_rank=clustered_mean(
                    own["rank"].to_numpy(dtype=float),
                    own["worker_id"].to_numpy(dtype=object),
                    name=f"mean rank of {model}",
                    limits=(1, len(turns.models)),
                    level=LEVEL,
                ),
                mu=skills[model].mu,
                sigma=skills[model].sigma,
                score=skills[model].score,
            )
        )
    return sorted(standings, key=lambda row: -row.score)


def _gap(turns: ChosenTurns, a: int, b: int) -> Gap:
    model_a, model_b = turns.models[a], turns.models[b]
    difference = np.asarray(turns.chosen[:, a] - turns.chosen[:, b])
    name = f"turns won by {model_a} − {model_b}"
    return Gap(
        model_a=model_a,
        model_b=model_b,
        difference=gap_of_shares(difference, turns, name),
    )
