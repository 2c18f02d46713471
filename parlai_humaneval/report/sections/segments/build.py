"""Table of labelled speakers → the section on Spot The Bot (Deriu et al. 2020, §3 to §5)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from pydantic import BaseModel

from parlai_humaneval.protocol.records.judgement import HUMAN
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.segments import words
from parlai_humaneval.report.sections.segments.effects import (
    feature_rows,
    label_rows,
    seconds_rows,
    survival_tests,
)
from parlai_humaneval.report.sections.segments.section import SegmentsSection
from parlai_humaneval.report.sections.segments.speakers import model_rows, pair_rows, speaker_row
from parlai_humaneval.report.sections.segments.types import Analysis, SettingAnalysis, StabilityRow
from parlai_humaneval.statistics.correction import holm
from parlai_humaneval.statistics.spotting import SEGMENT, bot_contests, judged_segments, ranking_stability
from parlai_humaneval.tables.counting import finished
from parlai_humaneval.tables.from_records import Tables

SUBSAMPLES = 500
"""Of the stability, at most."""
CORRECTED = ("p_value", "p_clustered", "p_zhao_sun", "p_permutation")


def build(tables: Tables, options: Options) -> SegmentsSection | None:
    """All that ``segments`` says; None where nobody finished judging one.

    With several settings, the numbers of the section pool them, and each setting is analysed by itself besides.

    Raises:
        TableError: the two speakers of a segment contradict each other.
        ValueError: a length k below 1.
    """
    rows = tables.segments.assign(setting=tables.segments["setting"].fillna(""))
    if not finished(rows).any():
        return None
    whole = analyse(rows, options)
    names = sorted(rows.loc[finished(rows), "setting"].unique())
    settings = []
    if len(names) > 1:
        for name in names:
            own = analyse(rows[(rows["setting"] == name).to_numpy(dtype=bool)], options)
            found, remarks = words.headline(own), words.remarks(own)
            settings.append(SettingAnalysis(**dict(own), setting=name or "no setting", headline=found, remarks=remarks))
    return SegmentsSection(
        **dict(whole),
        headline=words.headline(whole),
        remarks=[*words.pooled([one.setting for one in settings]), *words.remarks(whole)],
        settings=settings,
        seed=options.seed,
        draws=options.draws,
        subsamples=min(options.draws, SUBSAMPLES),
        level=options.level,
    )


def analyse(rows: pd.DataFrame, options: Options) -> Analysis:
    """The analysis of all rows that count; ``rows`` may hold unfinished ones, which are counted."""
    counted = rows[finished(rows)]
    contests = bot_contests(judged_segments(counted))
    people = counted[(counted["model"] == HUMAN).to_numpy(dtype=bool)]
    segments = counted.drop_duplicates(list(SEGMENT))
    models, resamples = model_rows(counted, contests, options)
    pairs, tests, features = (
        pair_rows(contests, options),
        survival_tests(counted, options),
        feature_rows(counted, options),
    )
    for family in (pairs, tests, features):
        _correct(family)
    playing = sorted({*contests["model_a"], *contests["model_b"]})
    stability = ranking_stability(contests, playing, draws=min(options.draws, SUBSAMPLES), seed=options.seed)
    return Analysis(
        n_segments=len(segments),
        n_dialogues=int(counted["dialogue_id"].nunique()),
        n_workers=int(counted["worker_id"].nunique()),
        unfinished=len(rows.drop_duplicates(list(SEGMENT))) - len(segments),
        lengths=sorted(int(k) for k in counted["k"].unique()),
        models=models,
        humans=speaker_row(people, HUMAN, options) if len(people) else None,
        pairs=pairs,
        tests=tests,
        features=features,
        labels=label_rows(counted, options),
        stability=[StabilityRow(**vars(curve)) for curve in stability],
        seconds=seconds_rows(counted),
        resamples=resamples,
    )


def _correct(family: Sequence[BaseModel]) -> None:
    """Holm over all rows of a table, for each kind of p-value that they have."""
    for field in CORRECTED:
        target = "p_holm" if field == "p_value" else f"{field}_holm"
        if family and hasattr(family[0], field):
            values: list[Any] = [getattr(row, field) for row in family]
            for row, p in zip(family, holm(values), strict=True):
                setattr(row, target, p)
