"""Agreement of a third party with the dialogue's own rater (Liu et al. 2023, “Experiments”)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from parlai_humaneval.analysis.reports.agreed import Agreement, agreement_of
from parlai_humaneval.analysis.reports.facts import LEVEL
from parlai_humaneval.analysis.reports.third_party.types import AnswerAgreement, RatingAgreement, ReplayGroup, TurnRow
from parlai_humaneval.statistics.agreement import cohen_kappa, krippendorff_alpha, percent_agreement
from parlai_humaneval.statistics.means import clustered_mean
from parlai_humaneval.statistics.result import Result
from parlai_humaneval.tables.counting import is_set

KEYS = ["own_technique", "own_setting", "metric"]
CHOSEN, VERDICT = "chosen", "verdict"
ARENA = "arena"
"""The live technique that asks for a verdict."""


def replay_groups(turns: pd.DataFrame, pairs: pd.DataFrame, ratings: pd.DataFrame, *, seed: int) -> list[ReplayGroup]:
    """A group for each live technique, setting and metric whose dialogues were rated once more."""
    chosen = turns[turns["rank"].isna().to_numpy(dtype=bool) & is_set(turns, "own_asked")]
    own_rated = ratings[ratings["own_value"].notna().to_numpy(dtype=bool)]
    verdicts = pairs[(pairs["turn"].isna() & pairs["own_winner"].notna()).to_numpy(dtype=bool)]
    verdicts = verdicts.assign(own_technique=ARENA, own_setting="", dialogue_id=verdicts["dialogue_a"])
    parts = [frame.assign(own_setting=frame["own_setting"].fillna("")) for frame in (chosen, own_rated, verdicts)]
    keys = pd.concat([frame[KEYS] for frame in parts]).drop_duplicates().sort_values(KEYS)
    return [
        _group([frame[(frame[KEYS] == key).all(axis=1).to_numpy(dtype=bool)] for frame in parts], key, seed)
        for key in keys.to_numpy().tolist()
    ]


def _group(parts: Sequence[pd.DataFrame], key: Sequence[str], seed: int) -> ReplayGroup:
    """``parts``: rows of turns, ratings and verdicts."""
    turns, ratings, verdicts = parts
    everything = pd.concat([frame[["dialogue_id", "worker_id"]] for frame in parts])
    technique, setting, metric = key
    return ReplayGroup(
        technique=technique,
        setting=setting,
        metric=metric,
        n_dialogues=int(everything["dialogue_id"].nunique()),
        n_workers=int(everything["worker_id"].nunique()),
        answers=[_agreement(what, rows, seed) for what, rows in _answers(turns, verdicts)],
        ratings=[_rating(str(name), rows, seed) for name, rows in ratings.groupby("criterion", sort=False)],
    )


def _answers(turns: pd.DataFrame, verdicts: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """What was asked → rows of ``dialogue_id``, ``turn``, ``thing`` and both answers."""
    shown = turns[(turns["same_as"].isna() & (turns["failed"].fillna(0) == 0)).to_numpy(dtype=bool)]
    thing = shown["dialogue_id"] + "\x00" + shown["turn"].astype(str) + "\x00" + shown["candidate_id"].fillna("")
    shown = shown.assign(thing=thing)
    ticked = shown["tick_choices"].notna().to_numpy(dtype=bool)
    if (~ticked).any():
        rows = shown[~ticked]
        yield CHOSEN, rows.assign(own=rows["own_selected"].astype(int), third=rows["selected"].astype(int))
    rows = shown[ticked]
    choices = dict.fromkeys(name for text in rows["tick_choices"].unique() for name in str(text).split(";"))
    for name in choices:
        yield name, rows.assign(own=_has(rows["own_ticks"], name), third=_has(rows["ticks"], name))
    if len(verdicts):
        own, third = _side(verdicts, "own_winner"), _side(verdicts, "winner")
        yield VERDICT, verdicts.assign(thing=verdicts["dialogue_id"], own=own, third=third)


def _has(ticks: pd.Series[str], name: str) -> list[int]:
    return [int(name in str(text).split(";")) for text in ticks.fillna("")]


def _side(rows: pd.DataFrame, column: str) -> list[int]:
    """1: A, −1: B, 0: neither; whatever the models are called."""
    won = (rows[column] == rows["model_a"]).astype(int) - (rows[column] == rows["model_b"]).astype(int)
    return [int(value) for value in won]


def _agreement(what: str, rows: pd.DataFrame, seed: int) -> AnswerAgreement:
    yes_or_no = what != VERDICT and len(rows) > 0
    by_turn = rows[rows["turn"].notna().to_numpy(dtype=bool)].groupby("turn", sort=True)
    return AnswerAgreement(
        what=what,
        n=len(rows),
        n_dialogues=int(rows["dialogue_id"].nunique()),
        own_share=float(rows["own"].mean()) if yes_or_no else None,
        third_share=float(rows["third"].mean()) if yes_or_no else None,
        percent=_percent(rows),
        kappa=_kappa(rows, seed),
        by_turn=[
            TurnRow(turn=int(str(turn)), n=len(own), percent=_percent(own), kappa=_kappa(own, seed))
            for turn, own in by_turn
        ],
        among_several=_among_several(rows, seed),
    )


def _percent(rows: pd.DataFrame) -> Result:
    return percent_agreement(rows["own"], rows["third"], rows["dialogue_id"], cluster="dialogue")


def _kappa(rows: pd.DataFrame, seed: int) -> Result:
    return cohen_kappa(rows["own"], rows["third"], rows["dialogue_id"], seed=seed)


def _among_several(rows: pd.DataFrame, seed: int) -> Agreement | None:
    """Of the third parties and the own rater together, where a dialogue has several third parties."""
    if not rows["thing"].duplicated().any():
        return None
    own = rows.drop_duplicates("thing").assign(third=lambda once: once["own"])
    everybody = pd.concat([rows, own])
    return agreement_of(everybody["thing"], everybody["third"], everybody["dialogue_id"], cluster="dialogue", seed=seed)


def _rating(criterion: str, rows: pd.DataFrame, seed: int) -> RatingAgreement:
    own, third = (rows[name].to_numpy(dtype=float) for name in ("own_value", "value"))
    workers = rows["worker_id"].to_numpy(dtype=object)
    values = sorted({*own, *third})
    counts = (own[:, None] == np.array(values)).astype(float) + (third[:, None] == np.array(values))
    return RatingAgreement(
        criterion=criterion,
        n=len(rows),
        own_mean=float(own.mean()),
        third_mean=float(third.mean()),
        difference=clustered_mean(third - own, workers, name=f"{criterion}: third − own", null=0.0, level=LEVEL),
        equal=percent_agreement(own, third, rows["dialogue_id"], cluster="dialogue"),
        alpha=krippendorff_alpha(counts, rows["dialogue_id"], values, seed=seed),
    )
