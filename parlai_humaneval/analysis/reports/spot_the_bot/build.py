"""Tables of labelled speakers → the report of Spot The Bot (Deriu et al. 2020, §3 and §4)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.agreed import agreement_of
from parlai_humaneval.analysis.reports.duels import correct_duels, duels_of, rate, standings_of
from parlai_humaneval.analysis.reports.facts import CLUSTERED, methods_of
from parlai_humaneval.analysis.reports.judged import NOTHING, REUSED, judged_facts
from parlai_humaneval.analysis.reports.spot_the_bot import words
from parlai_humaneval.analysis.reports.spot_the_bot.labels import label_agreement, label_rows
from parlai_humaneval.analysis.reports.spot_the_bot.types import (
    FeatureRow,
    SecondsRow,
    SpotGroup,
    SpotReport,
    SurvivalRow,
)
from parlai_humaneval.statistics.choice_tests import goodness_of_fit_test
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.statistics.spotting import GOODNESS, SEGMENT
from parlai_humaneval.statistics.survival.curve import survival
from parlai_humaneval.tables.counting import finished, median, unique
from parlai_humaneval.tables.from_records import Tables
from parlai_humaneval.tables.schema import FEATURES, TIE

METHODS = [
    "Win rate (Deriu et al. 2020, Eq. 1): segments in which the model got the better label (human > unsure > bot), of "
    "those in which one of the two did; ties are left out of it, and counted beside.",
    CLUSTERED + " Win rates are tested against one half. " + REUSED,
    "Paper's χ²: wins against losses, takes all segments as independent.",
    "Survival: share not labelled bot within k exchanges. A segment says only whether its speaker was spotted by its end "
    "(current status), so that it is estimated by isotonic regression over the lengths.",
    "Agreement on a label (the paper's Table 3): pairs of raters who both gave it, of those of whom one did. The paper "
    "takes .33 for chance; of three labels that are equally likely it is .20.",
]
HOLM = "Holm: clustered p corrected for all pairs of the report, the paper's p for those of its group."

KEY = list(SEGMENT)


def build_report(tables: Tables, *, seed: int = 0, include_partial: bool = False) -> SpotReport:
    """Labels, win rates, survival, features and agreement for each setting; reads ``segments``.

    Only complete judgements count; ``include_partial`` changes nothing, as a segment is judged as a whole.
    """
    rows = tables.segments.assign(setting=tables.segments["setting"].fillna(""))
    groups = [_group(own, str(setting), seed) for setting, own in rows.groupby("setting", sort=True)]
    correct_duels([pair for group in groups for pair in group.pairs])
    for group in groups:
        group.headline = words.headline(group)
        group.remarks = words.remarks(group)
    tested = [result for group in groups for pair in group.pairs for result in (pair.win_rate_a, pair.paper)]
    return SpotReport(
        **judged_facts(tables, rows, seed=seed),
        headline=" ".join(group.headline for group in groups) or NOTHING,
        groups=groups,
        methods=methods_of(METHODS if groups else [], HOLM, tested),
    )


def _group(rows: pd.DataFrame, setting: str, seed: int) -> SpotGroup:
    counted = rows[finished(rows)]
    contests = _contests(counted)
    speakers = counted["dialogue_id"] + "\x00" + counted["k"].astype(str) + "\x00" + counted["entity"].astype(str)
    segments = counted.drop_duplicates(KEY)
    features = [row for feature in FEATURES for row in _features(counted, feature)]
    answers = sum(row.better + row.worse + row.same for row in features)
    return SpotGroup(
        setting=setting,
        models=unique(counted["model"]),
        n_segments=len(segments),
        n_dialogues=int(counted["dialogue_id"].nunique()),
        n_workers=int(counted["worker_id"].nunique()),
        labels=label_rows(counted),
        survival=[
            SurvivalRow(model=str(model), n=len(own), survival=survival(own["k"], own["label"] == "bot"))
            for model, own in counted.groupby("model", sort=True)
        ],
        standings=standings_of(contests),
        pairs=duels_of(contests, _paper),
        features=features,
        feature_ties=sum(row.same for row in features) / answers if answers else None,
        agreement=agreement_of(speakers, counted["label"], counted["dialogue_id"], cluster="dialogue", seed=seed),
        label_agreement=label_agreement(counted, speakers),
        seconds=[
            SecondsRow(k=int(str(k)), n=len(own), median_seconds=median(own["seconds"]))
            for k, own in segments.groupby("k", sort=True)
        ],
        median_seconds=median(segments["seconds"]),
        unfinished=len(rows.drop_duplicates(KEY)) - len(segments),
    )


def _contests(rows: pd.DataFrame) -> pd.DataFrame:
    """A row for each segment of two different speakers: the models in alphabetical order, and who got the better label."""
    apart = rows[(rows["model"] != rows["opponent"]).to_numpy(dtype=bool)]
    sides = [apart[(apart["entity"] == entity).to_numpy(dtype=bool)] for entity in (0, 1)]
    both = sides[0].merge(sides[1], on=KEY, suffixes=("_0", "_1"))
    lead = both["label_0"].map(GOODNESS) - both["label_1"].map(GOODNESS)
    first = np.asarray(both["model_0"] < both["model_1"], dtype=bool)
    winner = np.select([lead > 0, lead < 0], [both["model_0"], both["model_1"]], TIE)
    contests: pd.DataFrame = both.assign(
        model_a=np.where(first, both["model_0"], both["model_1"]),
        model_b=np.where(first, both["model_1"], both["model_0"]),
        winner=winner,
    )
    return contests


def _paper(wins: int, losses: int) -> Result:
    return goodness_of_fit_test([wins, losses], name="wins of A")


def _features(rows: pd.DataFrame, feature: str) -> list[FeatureRow]:
    """The models of the setting in one feature; people talking with people, and self-chats, compare nobody."""
    apart = (rows["model"] != rows["opponent"]).to_numpy(dtype=bool) & rows[feature].notna().to_numpy(dtype=bool)
    found = []
    for model, own in rows[apart].groupby("model", sort=True):
        sign = own[feature].to_numpy(dtype=float)
        better = (sign > 0).astype(float)
        found.append(
            FeatureRow(
                feature=feature,
                model=str(model),
                better=int(better.sum()),
                worse=int((sign < 0).sum()),
                same=int((sign == 0).sum()),
                win_rate=rate(better, (sign != 0).astype(float), own, f"{model} more {feature}"),
            )
        )
    return found
