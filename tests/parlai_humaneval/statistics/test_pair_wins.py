"""Wins of two models against each other: whichever way round rows stand, and however their observations cluster."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from make_comparisons import comparisons_frame
from scipy.stats import binomtest

from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share, effective_clusters
from parlai_humaneval.statistics.core.two_way import two_way_share
from parlai_humaneval.statistics.preference.pairs import (
    counted_comparisons,
    first_shown,
    model_wins,
    orient_pairs,
    wins_of_pairs,
)
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError, typed

CHANCES = {("apple", "pear"): 0.7, ("apple", "plum"): 0.5, ("pear", "plum"): 0.35}


def _rows(**more):
    return typed("comparisons", comparisons_frame(CHANCES, **more))


def test_counts_are_those_of_the_rows():
    """Wins, losses and ties counted by hand, over rows that stand both ways round."""
    rows = _rows(n=60)
    assert (rows["model_a"] > rows["model_b"]).any()
    for pair in wins_of_pairs(orient_pairs(rows)):
        own = rows[(rows["item_id"].str.startswith(f"{pair.model_a}-{pair.model_b}-")).to_numpy()]
        assert pair.wins_a == (own["winner"] == pair.model_a).sum()
        assert pair.wins_b == (own["winner"] == pair.model_b).sum()
        assert pair.ties == (own["winner"] == "tie").sum()
        assert pair.model_a < pair.model_b
        assert pair.win_rate.estimate == pair.wins_a / (pair.wins_a + pair.wins_b)
        assert pair.paper.p_value == pytest.approx(binomtest(pair.wins_a, pair.wins_a + pair.wins_b).pvalue)
        assert pair.score.estimate == pytest.approx((pair.wins_a + pair.ties / 2) / 60)


def test_answers_to_the_same_question_are_clustered_by_it():
    """Where all rows of a pair share a start, and it is not the same in all; dialogues are counted as before."""
    rows = orient_pairs(_rows(n=60))
    asked = pd.Series([f"q{n % 12}" for n in range(len(rows))], rows.index)
    by_question = wins_of_pairs(rows.assign(start=asked))
    as_dialogues = wins_of_pairs(rows.assign(dialogue_a=asked, dialogue_b=asked))
    plain = wins_of_pairs(rows)
    for pair, same, other in zip(by_question, as_dialogues, plain, strict=True):
        words = ("method", "assumptions", "notes")
        assert str(pair.win_rate.method) == "two-way t, clustered by rater and question"
        for by_both, known in ((pair.win_rate, same.win_rate), (pair.by_dialogue, same.by_dialogue)):
            assert by_both == known.but(**{name: getattr(by_both, name) for name in words}), "in other words alone"
            assert "dialogue" not in " ".join([by_both.method, *by_both.assumptions, *by_both.notes])
        assert pair.by_dialogue.p_value != other.by_dialogue.p_value
        assert pair.n_dialogues == other.n_dialogues
    assert wins_of_pairs(rows.assign(start="Hi!")) == plain
    assert wins_of_pairs(rows.assign(start=asked.where(asked != "q3"))) == plain


@given(st.integers(0, 1_000))
@settings(max_examples=8, deadline=None)
def test_the_way_round_and_the_order_of_rows_do_not_matter(seed):
    """Turning any rows round, and shuffling all, gives the same wins, intervals and p-values."""
    rng = np.random.default_rng(seed)
    rows = _rows(n=30, seed=seed)
    turned = rows.copy()
    swap = rng.random(len(rows)) < 0.5
    for one, other in (("model_a", "model_b"), ("dialogue_a", "dialogue_b")):
        turned[one] = np.where(swap, rows[other], rows[one])
        turned[other] = np.where(swap, rows[one], rows[other])
    turned = turned.iloc[rng.permutation(len(rows))]
    for got, expected in zip(wins_of_pairs(orient_pairs(turned)), wins_of_pairs(orient_pairs(rows)), strict=True):
        assert (got.wins_a, got.wins_b, got.ties) == (expected.wins_a, expected.wins_b, expected.ties)
        for a, b in ((got.win_rate, expected.win_rate), (got.by_dialogue, expected.by_dialogue)):
            assert (a.ci_low, a.ci_high, a.p_holm) == pytest.approx((b.ci_low, b.ci_high, b.p_holm))


def test_renaming_models_mirrors_the_win_rate():
    """With the alphabet reversed the same data give 1 − rate, and the same p."""
    rows = _rows(n=80)
    names = {"apple": "z", "pear": "y", "plum": "x", "tie": "tie"}
    mirrored = rows.assign(**{name: rows[name].map(names) for name in ("model_a", "model_b", "winner")})
    expected = {(names[p.model_b], names[p.model_a]): p for p in wins_of_pairs(orient_pairs(rows))}
    for pair in wins_of_pairs(orient_pairs(mirrored)):
        other = expected[(pair.model_a, pair.model_b)]
        assert pair.win_rate.estimate == pytest.approx(1 - other.win_rate.estimate)
        assert pair.win_rate.ci_low == pytest.approx(1 - other.win_rate.ci_high)
        assert pair.win_rate.p_value == pytest.approx(other.win_rate.p_value)
        assert pair.by_dialogue.p_value == pytest.approx(other.by_dialogue.p_value)


def test_all_ties_give_no_win_rate():
    """Nothing decided: p = 1, no estimate, and the pair does not count towards Holm's family."""
    rows = _rows(n=40)
    rows.loc[(rows["item_id"].str.startswith("apple-pear")).to_numpy(), "winner"] = "tie"
    tied, *others = wins_of_pairs(orient_pairs(rows))
    assert (tied.win_rate.estimate, tied.win_rate.p_value, tied.paper.p_value) == (None, 1.0, 1.0)
    assert tied.ties == 40
    smaller, larger = sorted(pair.paper.p_value for pair in others)
    holm = sorted(pair.paper.p_holm for pair in others)
    assert holm == pytest.approx([min(1, 2 * smaller), max(min(1, 2 * smaller), larger)])


@pytest.mark.parametrize(
    ("column", "value", "words"), [("winner", "banana", "neither of the models"), ("model_b", None, "both sides")]
)
def test_rows_that_cannot_be_are_named(column, value, words):
    """A winner that was not there, a model against itself: the item is named."""
    rows = _rows(n=5)
    rows.loc[3, column] = value or rows.loc[3, "model_a"]
    rows.loc[3, "winner"] = value or rows.loc[3, "model_a"]
    with pytest.raises(TableError, match=words) as caught:
        orient_pairs(rows)
    assert str(rows.loc[3, "item_id"]) in str(caught.value)


def test_kinds_are_told_apart():
    """Turns, verdicts and finished dialogues, also without our own columns."""
    rows = _rows(n=2).iloc[:3].copy()
    rows["item_id"] = ["d1:4", "d1:verdict", "x"]
    rows["dialogue_b"] = [rows["dialogue_a"].iloc[0], rows["dialogue_a"].iloc[1], "elsewhere"]
    assert orient_pairs(rows)["kind"].tolist() == ["turn", "verdict", "dialogue"]


def test_rows_that_were_not_answers_are_left_out():
    """Automatic rows, unfinished judgements and second ratings of a rated dialogue."""
    rows = _rows(n=4)
    rows.loc[0, "automatic"] = 1
    rows.loc[1, "dialogue_status"] = "partial"
    rows.loc[2, "own_worker"] = "w9"
    assert len(counted_comparisons(replace(tables([]), comparisons=rows))) == len(rows) - 3


def test_turns_of_dialogues_that_were_left_do_not_count():
    """Where rows do not say it, the table of dialogues does; judged dialogues are whole however their rater ended."""
    rows = _rows(n=4)
    rows.loc[0, "dialogue_b"] = rows.loc[0, "dialogue_a"]
    left = {"dialogue_id": rows["dialogue_a"], "worker_id": rows["worker_id"], "technique": "pw_turn", "setting": ""}
    dialogues = typed("dialogues", pd.DataFrame({**left, "started": "", "seconds": 1, "n_turns": 1, "complete": 0}))
    counted = counted_comparisons(replace(tables([]), comparisons=rows, dialogues=dialogues))
    assert counted.index.tolist() == rows.index[1:].tolist()


def test_the_side_is_turned_with_the_models():
    """What stood first won nine of ten, whichever way round the rows stand."""
    rows = _rows(n=40, tie=0.0).iloc[:40].copy()
    rows["side"] = 1
    winner = np.where(np.arange(40) < 36, rows["model_a"], rows["model_b"])
    rows["winner"] = winner
    assert first_shown(orient_pairs(rows)).estimate == pytest.approx(0.9)
    rows["side"] = 2
    assert first_shown(orient_pairs(rows)).estimate == pytest.approx(0.1)
    rows["side"], rows["position_a"], rows["n_models"] = None, 1, 2
    assert first_shown(orient_pairs(rows)).estimate == pytest.approx(0.9)
    rows["n_models"] = 3
    assert first_shown(orient_pairs(rows)).n == 0


def test_each_model_against_all():
    """Wins of one are losses of another; the best comes first."""
    found = model_wins(orient_pairs(_rows()))
    assert sum(model.wins for model in found) == sum(model.losses for model in found)
    rates = [model.win_rate.estimate for model in found]
    assert rates == sorted(rates, reverse=True)


def test_two_way_clustering_adds_and_subtracts():
    """V(a) + V(b) − V(a and b), each from statsmodels' least squares on a constant."""
    rng = np.random.default_rng(8)
    n = 300
    a, b = rng.integers(0, 30, n), rng.integers(0, 25, n)
    effect = rng.normal(0, 1, 30)[a] + rng.normal(0, 1, 25)[b]
    won = (effect + rng.normal(0, 1, n) > 0).astype(float)
    got = two_way_share(won, np.ones(n), a, b)

    def variance(groups):
        fit = sm.OLS(won, np.ones(n)).fit(cov_type="cluster", cov_kwds={"groups": groups})
        return float(fit.bse[0] ** 2)

    expected = variance(a) + variance(b) - variance(a * 100 + b)
    assert got.details["standard_error"] == pytest.approx(np.sqrt(expected))
    assert got.details["df"] == pytest.approx(effective_clusters(np.bincount(b)) - 1)
    assert got.estimate == pytest.approx(won.mean())
    assert got.ci_low < won.mean() < got.ci_high


def test_two_way_clustering_of_one_kind_is_one_way():
    """Replies of one dialogue share the dialogue on both sides."""
    rng = np.random.default_rng(9)
    won, dialogue = rng.integers(0, 2, 100).astype(float), rng.integers(0, 20, 100)
    got = two_way_share(won, np.ones(100), dialogue, dialogue)
    fit = sm.OLS(won, np.ones(100)).fit(cov_type="cluster", cov_kwds={"groups": dialogue})
    assert got.details["standard_error"] == pytest.approx(float(fit.bse[0]))
    assert got.details["n_dialogues"] == 20


def test_two_way_clustering_says_what_it_cannot_do():
    """Two dialogues, no comparison, all won."""
    few = two_way_share([1, 0, 1, 1], [1, 1, 1, 1], ["a", "a", "b", "b"], ["c", "d", "e", "f"])
    assert (few.ci_low, few.p_value, few.estimate) == (None, None, 0.75)
    nothing = two_way_share([0, 0], [0, 0], ["a", "b"], ["c", "d"])
    assert (nothing.estimate, nothing.p_value, nothing.n) == (None, 1.0, 0)
    names = np.array(["a", "b", "c", "d"] * 3)
    won = two_way_share(np.ones(12), np.ones(12), names, np.repeat(["e", "f", "g"], 4))
    by_fewest = clustered_share(cluster_sums(np.ones(12), np.ones(12), np.repeat(["e", "f", "g"], 4)))
    assert (won.estimate, won.ci_low, won.p_value) == (1.0, by_fewest.ci_low, by_fewest.p_value)
    assert won.notes
