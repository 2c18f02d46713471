"""Ratings of people that were published, as a study that stops: what it claims is what all of them say together."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from parlai_humaneval.analysis import Tables, replay_sequential
from parlai_humaneval.stopping.replay import Replay
from parlai_humaneval.tables.columns import from_rows

RUN1 = Path(__file__).resolve().parents[4] / "shared" / "data" / "dialogue_eval_run1"
REVERSED = {"robotic", "repetitive"}
CRITERIA = ("interesting", "fun", "consistent", "fluent", "topic", *sorted(REVERSED))
MARGIN = 0.4


@pytest.fixture(scope="module")
def published() -> pd.DataFrame:
    """A row a dialogue of those who passed the check, but for those of the model that was bad on purpose."""
    if not RUN1.is_dir():
        pytest.skip("the published ratings are not beside this checkout")
    with (RUN1 / "ratings.csv").open(encoding="utf-8", newline="") as file:
        read = [row for row in csv.DictReader(file) if row["released_split"] == "pass" and row["model"] != "qc"]
    return pd.DataFrame(read)


@pytest.fixture(scope="module")
def replayed(published: pd.DataFrame) -> Replay:
    rows = [
        {
            "dialogue_id": str(number),
            "worker_id": row["worker"],
            "technique": "direct_assessment",
            "model": row["model"],
            "criterion": criterion,
            "value": row[criterion],
            "reversed": int(criterion in REVERSED),
            "degraded": 0,
            "scale": "slider",
            "minimum": 0,
            "maximum": 100,
        }
        for number, row in published.iterrows()
        for criterion in CRITERIA
    ]
    tables = Tables(
        turns=from_rows("turns", []),
        dialogues=from_rows("dialogues", []),
        comparisons=from_rows("comparisons", []),
        ratings=from_rows("ratings", rows),
    )
    (replay,) = replay_sequential(tables, margin=MARGIN, shuffles=0)
    return replay


@pytest.fixture(scope="module")
def leads(published: pd.DataFrame) -> pd.DataFrame:
    """Workers × models: mean ratings as shares of the scale, by plain arithmetic."""
    points = published[list(CRITERIA)].astype(float)
    points[sorted(REVERSED)] = 100 - points[sorted(REVERSED)]
    rated = published.assign(share=points.mean(axis=1) / 100)
    return rated.pivot_table(index="worker", columns="model", values="share", aggfunc="mean")


def test_no_claim_contradicts_all_ratings_together(replayed: Replay, leads: pd.DataFrame) -> None:
    """Guards the matching of ratings, the side of each pair, and reversed criteria: a t test of each worker's difference and
    two one-sided ones, with all the data, agree with every claim; and what they are surest of is claimed."""
    half = MARGIN / 2
    for pair in replayed.pairs:
        # Half the scale is a whole win, so that a worker's lead is cut off at one half.
        lead = (leads[pair.first] - leads[pair.second]).dropna().clip(-0.5, 0.5)
        found = stats.ttest_1samp(lead, 0.0)
        if pair.decided == "equal":
            low, high = found.confidence_interval(0.9)
            assert -half < low <= high < half, pair
        elif pair.decided is not None:
            assert found.pvalue < 0.05, pair
            assert (found.statistic > 0) == (pair.decided == "first"), pair
        if abs(found.statistic) > 5:
            assert pair.decided in ("first", "second"), pair
    kinds = {pair.decided for pair in replayed.pairs}
    assert {"first", "equal"} <= kinds


def test_claims_go_by_the_published_ranks(replayed: Replay) -> None:
    """Guards against claims that only our arithmetic supports: the paper's means, standardised by worker, rank alike."""
    score = json.loads((RUN1 / "expected.json").read_text(encoding="utf-8"))["z"]
    better = [pair for pair in replayed.pairs if pair.decided in ("first", "second")]
    assert len(better) >= 15
    for pair in better:
        winner, loser = (pair.first, pair.second) if pair.decided == "first" else (pair.second, pair.first)
        assert score[winner]["overall"] > score[loser]["overall"], pair


def test_people_are_folded_in_whole(replayed: Replay, published: pd.DataFrame) -> None:
    """Guards the unit: whatever is decided is decided where somebody's ratings end, and never within them."""
    order = list(dict.fromkeys(published["worker"]))
    ends = set(np.cumsum(published["worker"].value_counts()[order]))
    decided = [pair.after for pair in replayed.pairs if pair.after is not None]
    assert replayed.dialogues == len(published)
    assert replayed.workers == len(order)
    assert max(decided) <= replayed.needed <= replayed.dialogues
    assert set(decided) <= ends
