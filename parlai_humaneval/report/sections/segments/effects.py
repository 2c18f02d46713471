"""Survival of pairs of bots, features and their effects, agreement on labels, time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.protocol.records.judgement import HUMAN
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.segments.speakers import share
from parlai_humaneval.report.sections.segments.types import FeatureRow, LabelRow, SecondsRow, SurvivalTest
from parlai_humaneval.statistics.agreement import rating_counts
from parlai_humaneval.statistics.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.spotting import SEGMENT
from parlai_humaneval.statistics.survival.curve import Floats, Ints
from parlai_humaneval.statistics.survival.generalised_logrank import zhao_sun_test
from parlai_humaneval.statistics.survival.regression import cloglog_cox
from parlai_humaneval.statistics.survival.tests import (
    clustered_score_test,
    permutation_logrank_test,
    survival_score_test,
)
from parlai_humaneval.tables.counting import median, unique
from parlai_humaneval.tables.schema import FEATURES, LABELS

KINDS = ("bot_bot", "self_chat", "human_bot", "human_human")
_FEATURE_ROW_MISSING: dict[str, Any] = {
    "effect": None,
    "hazard_ratio": None,
    "effect_low": None,
    "effect_high": None,
    "p_value": None,
    "p_clustered": None,
    "p_dialogue": None,
}


def survival_tests(rows: pd.DataFrame, options: Options) -> list[SurvivalTest]:
    """All pairs of bots, by name; p-values are not yet corrected."""
    models = rows["model"].to_numpy(dtype=object)
    k, spotted = rows["k"].to_numpy(dtype=float), (rows["label"] == "bot").to_numpy(dtype=float)
    workers = rows["worker_id"].to_numpy(dtype=object)
    bots = [model for model in unique(rows["model"]) if model != HUMAN]
    own = {model: np.flatnonzero(models == model) for model in bots}
    found = []
    for a, b in combinations(bots, 2):
        both = np.concatenate([own[a], own[b]])
        is_second = np.repeat([0, 1], [own[a].size, own[b].size])
        found.append(_survival_test((k[both], spotted[both], is_second), workers[both], (a, b), options))
    return found


def _survival_test(
    seen: tuple[Floats, Floats, Ints], workers: npt.NDArray[np.object_], models: tuple[str, str], options: Options
) -> SurvivalTest:
    """``seen``: k, spotted, and whether it is of the second of ``models``."""
    k, spotted, second = seen
    name = f"survival of {models[0]} and {models[1]}"
    score = survival_score_test(k, spotted, second, name=name)
    clustered = clustered_score_test(k, spotted, second, workers, name=name, level=options.level)
    zhao_sun = zhao_sun_test(k, spotted, second, seed=options.seed, name=name)
    permutation = permutation_logrank_test(k, spotted, second, name=name)
    return SurvivalTest(
        name=name,
        models=list(models),
        n=score.n,
        statistic=score.statistic,
        p_value=score.p_value,
        method=score.method,
        log_hazard_ratio=clustered.estimate,
        ci_low=clustered.ci_low,
        ci_high=clustered.ci_high,
        p_clustered=clustered.p_value,
        statistic_zhao_sun=zhao_sun.statistic,
        p_zhao_sun=zhao_sun.p_value,
        p_permutation=permutation.p_value,
        notes=list(dict.fromkeys([*score.notes, *clustered.notes])),
    )


def feature_rows(rows: pd.DataFrame, options: Options) -> list[FeatureRow]:
    """Every bot and feature that was asked; p-values are not yet corrected."""
    bots = [model for model in unique(rows["model"]) if model != HUMAN]
    return [
        row for model in bots for row in _features(rows[(rows["model"] == model).to_numpy(dtype=bool)], model, options)
    ]


def _features(rows: pd.DataFrame, model: str, options: Options) -> list[FeatureRow]:
    asked = [name for name in FEATURES if rows[name].notna().any()]
    known = rows[rows[asked].notna().all(axis=1).to_numpy(dtype=bool)]
    fit = cloglog_cox(
        known["k"].to_numpy(dtype=float),
        (known["label"] == "bot").to_numpy(dtype=float),
        known[asked].to_numpy(dtype=float).reshape(len(known), len(asked)),
        names=asked,
        clusters={
            "worker": known["worker_id"].to_numpy(dtype=object),
            "dialogue": known["dialogue_id"].to_numpy(dtype=object),
        },
        level=options.level,
    )
    apart = (rows["opponent"] != model) & (rows["opponent"] != HUMAN)
    return [
        _feature(rows[apart.to_numpy(dtype=bool)], model, feature, effect, options)
        for feature, effect in zip(asked, fit.effects, strict=True)
    ]


def _feature(rows: pd.DataFrame, model: str, feature: str, effect: Result, options: Options) -> FeatureRow:
    """``rows``: of the bot against other bots, for the win rate."""
    own = rows[rows[feature].notna().to_numpy(dtype=bool)]
    sign = own[feature].to_numpy(dtype=float)
    rate = share(sign > 0, sign != 0, own, f"{model} more {feature}", options.level)
    estimated = effect.estimate is not None
    return FeatureRow(
        model=model,
        feature=feature,
        n=effect.n,
        better=int((sign > 0).sum()),
        worse=int((sign < 0).sum()),
        same=int((sign == 0).sum()),
        win_rate=rate.estimate,
        ci_low=rate.ci_low,
        ci_high=rate.ci_high,
        notes=list(effect.notes),
        **(_effect_fields(effect) if estimated else _FEATURE_ROW_MISSING),
    )


def _effect_fields(effect: Result) -> dict[str, Any]:
    return {
        "effect": effect.estimate,
        "hazard_ratio": effect.details["hazard_ratio"],
        "effect_low": effect.ci_low,
        "effect_high": effect.ci_high,
        "p_value": effect.details["p_independent"],
        "p_clustered": effect.details["p_worker"],
        "p_dialogue": effect.details["p_dialogue"],
    }


def label_rows(rows: pd.DataFrame, options: Options) -> list[LabelRow]:
    """Agreement on each label, of the speakers that several people judged at the same length (the paper's Table 3)."""
    speakers = rows.groupby(["dialogue_id", "k", "entity"], sort=False).ngroup()
    counts, labels, names = rating_counts(speakers, rows["label"])
    first = rows.assign(speaker=speakers).drop_duplicates("speaker").set_index("speaker").loc[names]
    models, dialogues = first["model"].to_numpy(dtype=object), first["dialogue_id"].to_numpy(dtype=object)
    raters = counts.sum(axis=1)
    pairs = raters * (raters - 1) / 2
    found = []
    for label in LABELS:
        given = counts[:, labels.index(label)] if label in labels else np.zeros(len(counts))
        others = raters - given
        both, either = given * (given - 1) / 2, pairs - others * (others - 1) / 2
        for model in sorted(set(models[raters > 1])):
            own = (models == model) & (raters > 1)
            sums = cluster_sums(both[own], either[own], dialogues[own])
            result = clustered_share(sums, name=f"both say {label}", level=options.level, cluster="dialogue")
            found.append(
                LabelRow(
                    model=model,
                    label=label,
                    either=int(either[own].sum()),
                    both=int(both[own].sum()),
                    share=result.estimate,
                    ci_low=result.ci_low,
                    ci_high=result.ci_high,
                )
            )
    return sorted(found, key=lambda row: row.model)


def seconds_rows(rows: pd.DataFrame) -> list[SecondsRow]:
    """Median time of a judged segment: of all, of each kind of dialogue, and of each length; known times only."""
    own = rows.drop_duplicates(list(SEGMENT))
    own = own[own["seconds"].notna().to_numpy(dtype=bool)]
    people = (own["model"] == HUMAN).astype(int) + (own["opponent"] == HUMAN).astype(int)
    bots = np.where(own["model"] == own["opponent"], "self_chat", "bot_bot")
    own = own.assign(of_kind=np.select([people == 2, people == 1], ["human_human", "human_bot"], bots))
    cuts: list[tuple[str | None, int | None, pd.DataFrame]] = [(None, None, own)]
    cuts += [(kind, None, part) for kind in KINDS for part in [own[(own["of_kind"] == kind).to_numpy(dtype=bool)]]]
    cuts += [(None, int(str(k)), part) for k, part in own.groupby("k", sort=True)]
    cuts += [(str(kind), int(str(k)), part) for (kind, k), part in own.groupby(["of_kind", "k"], sort=True)]
    return [
        SecondsRow(kind=kind, k=k, n=len(part), median_seconds=middle)
        for kind, k, part in cuts
        if (middle := median(part["seconds"])) is not None
    ]


def models_of(rows: Sequence[FeatureRow | LabelRow]) -> list[str]:
    """Each model once, in order."""
    return list(dict.fromkeys(row.model for row in rows))
