"""Tables of slider ratings → the report of a direct assessment (Ji et al. 2022, §3.2–3.3, Figure 3, Tables 1, 3 and 10)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.direct_assessment import words
from parlai_humaneval.analysis.reports.direct_assessment.types import (
    AssessmentGroup,
    AssessmentReport,
    Cell,
    ModelScores,
    ScorePair,
    Scores,
    WorkerRow,
)
from parlai_humaneval.analysis.reports.facts import CLUSTERED, LEVEL, common_facts, methods_of
from parlai_humaneval.analysis.reports.gaps import correct_gaps
from parlai_humaneval.analysis.reports.words import NO_RATINGS
from parlai_humaneval.quality.ratings import degraded_rated_lower
from parlai_humaneval.statistics.means import clustered_difference, clustered_mean
from parlai_humaneval.statistics.slider_scores import standardised, turned, worker_checks
from parlai_humaneval.tables.counting import is_set, that_count, unique
from parlai_humaneval.tables.from_records import Tables

CHECK = (
    "Worker check: one-sided rank-sum test that the worker rates the degraded model lower, on the criteria where more "
    "is better; passed at p < .05 (Ji et al. 2022, §3.2)."
)
METHODS = [
    "Reversed criteria are turned round. z: ratings minus the worker's mean, divided by their standard deviation, over "
    "all criteria and models, the degraded one's too; the degraded model is not in the table (§3.3).",
    CLUSTERED,
]
OF_PAIRS = (
    "Pairs: the difference of overall z. Paper's p: one-sided rank-sum test on the overall z of dialogues, which takes "
    "them as independent (Figure 3)."
)
HOLM = "Holm: clustered p, corrected for all pairs of its table."


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> AssessmentReport:
    """How good each model was found, by workers who can tell a degraded one; reads ``ratings``.

    Only complete dialogues count unless ``include_partial``. A worker is checked by all that they rated in a setting.
    """
    ratings = tables.ratings[that_count(tables.ratings, include_partial)]
    ratings = ratings.assign(setting=ratings["setting"].fillna(""))
    groups = [_group(str(setting), rows) for setting, rows in ratings.groupby("setting", sort=True)]
    return AssessmentReport(
        **common_facts(tables, include_partial=include_partial, seed=seed),
        headline=" ".join(group.headline for group in groups) or NO_RATINGS,
        groups=groups,
        methods=_methods(groups),
    )


def _methods(groups: Sequence[AssessmentGroup]) -> list[str]:
    """Notes on what is printed, and on nothing else."""
    shown = [group for group in groups if words.basis(group).models]
    pairs = [pair for group in shown for pair in words.basis(group).pairs]
    check = [CHECK] if any(group.checked for group in shown) else []
    scores = [*METHODS, *([OF_PAIRS] if pairs else [])] if shown else []
    return methods_of([*check, *scores], HOLM, [pair.difference for pair in pairs])


def _group(setting: str, ratings: pd.DataFrame) -> AssessmentGroup:
    checks = worker_checks(ratings)
    checked = bool(is_set(ratings, "degraded").any())
    passed = set(checks["worker_id"][checks["passed"]])
    scored = ratings.assign(raw=turned(ratings), z=standardised(ratings))
    models = scored[~is_set(scored, "degraded")]
    criteria = list(dict.fromkeys(str(name) for name in ratings["criterion"]))
    group = AssessmentGroup(
        setting=setting,
        criteria=criteria,
        reversed=unique(ratings["criterion"][is_set(ratings, "reversed")]),
        checked=checked,
        workers=[
            WorkerRow(worker=str(worker), p=p, passed=ok, constant=constant)
            for worker, p, ok, constant in checks.itertuples(index=False)
        ],
        workers_passed=len(passed),
        workers_constant=int(checks["constant"].sum()),
        passed=_scores(models[models["worker_id"].isin(passed)], criteria),
        everyone=_scores(models, criteria),
    )
    group.headline = words.headline(group)
    group.remarks = words.remarks(group)
    return group


def _scores(ratings: pd.DataFrame, criteria: list[str]) -> Scores:
    dialogues = _by_dialogue(ratings)
    rows = [
        ModelScores(
            model=str(model),
            dialogues=len(own),
            overall=_cell(own, f"overall of {model}"),
            criteria={
                name: _cell(part[(part["criterion"] == name).to_numpy(dtype=bool)], f"{name} of {model}")
                for name in criteria
            },
        )
        for model, own in dialogues.groupby("model", sort=True)
        for part in [ratings[(ratings["model"] == model).to_numpy(dtype=bool)]]
    ]
    rows.sort(key=lambda row: -np.inf if row.overall.z.estimate is None else row.overall.z.estimate, reverse=True)
    return Scores(
        workers=int(ratings["worker_id"].nunique()),
        dialogues=len(dialogues),
        models=rows,
        pairs=_pairs([row.model for row in rows], dialogues),
    )


def _by_dialogue(ratings: pd.DataFrame) -> pd.DataFrame:
    """A row per dialogue: the means of its criteria."""
    keys = ["dialogue_id", "model", "worker_id"]
    means: pd.DataFrame = ratings.groupby(keys, sort=False)[["raw", "z"]].mean().reset_index()
    return means


def _cell(rows: pd.DataFrame, name: str) -> Cell:
    workers = rows["worker_id"].to_numpy(dtype=object)
    raw, z = (rows[column].to_numpy(dtype=float) for column in ("raw", "z"))
    return Cell(
        n=len(rows),
        raw=clustered_mean(raw, workers, name=name, level=LEVEL),
        z=clustered_mean(z, workers, name=f"{name}, standardised", level=LEVEL),
    )


def _pairs(models: list[str], dialogues: pd.DataFrame) -> list[ScorePair]:
    scored = dialogues[dialogues["z"].notna().to_numpy(dtype=bool)]
    own = {
        model: scored[(scored["model"] == model).to_numpy(dtype=bool)][["z", "worker_id"]].to_numpy()
        for model in models
    }
    pairs = [
        ScorePair(
            model_a=a,
            model_b=b,
            difference=clustered_difference(
                own[a][:, 0], own[a][:, 1], own[b][:, 0], own[b][:, 1], name=f"overall z of {a} − {b}", level=LEVEL
            ),
            paper_p=degraded_rated_lower(own[b][:, 0], own[a][:, 0]).p,
        )
        for a, b in combinations(models, 2)
    ]
    correct_gaps(pairs)
    return pairs
