"""Spot The Bot: who wins a segment, ranks over resamples, stability of the ranking, bands of the survival."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import isotonic_regression

from parlai_humaneval.statistics.core.clustered import too_few_clusters
from parlai_humaneval.statistics.core.ranks import rank_range
from parlai_humaneval.statistics.survival import spotting
from parlai_humaneval.statistics.survival.curve import isotonic_shares, survival_curve, survival_with_bands
from parlai_humaneval.statistics.survival.spotting import (
    bootstrap_ranks,
    bot_contests,
    bradley_terry_strengths,
    ranking_stability,
    spot_the_bot_segments,
    win_by_label,
)
from parlai_humaneval.tables.columns import TableError, from_rows

LABELS = ("bot", "unsure", "human")


def rows_of(dialogue, worker, entities, labels, k=2, seconds=20.0):
    """The two rows of a judged segment."""
    return [
        {
            "dialogue_id": dialogue,
            "worker_id": worker,
            "k": k,
            "entity": entity,
            "model": entities[entity],
            "opponent": entities[1 - entity],
            "label": labels[entity],
            "seconds": seconds,
        }
        for entity in (0, 1)
    ]


def table(*segments):
    return from_rows("segments", [row for segment in segments for row in segment])


def contests(strengths, *, n=400, workers=20, ties=0.4, seed=0):
    """Contests of bots of log strengths, of which some are ties, with a few segments a dialogue."""
    rng = np.random.default_rng(seed)
    names = sorted(strengths)
    found = []
    for number in range(n):
        a, b = sorted(rng.choice(names, 2, replace=False))
        chance = 1 / (1 + np.exp(strengths[b] - strengths[a]))
        lead = 0 if rng.random() < ties else 1 if rng.random() < chance else -1
        found.append((f"{a}{b}{number % 25}", f"w{rng.integers(workers)}", a, b, lead))
    return pd.DataFrame(found, columns=["dialogue_id", "worker_id", "model_a", "model_b", "lead_a"])


def test_reference_winner(gold_cases):
    """The published cases of the win function."""
    cases = [case for case in gold_cases if case["function"] == "stb_winner"]
    assert cases
    for case in cases:
        assert win_by_label(*case["args"]) == case["expected"]


def test_the_better_label_wins():
    """human > unsure > bot, whoever stands first; others are refused."""
    for i, one in enumerate(LABELS):
        for j, other in enumerate(LABELS):
            assert win_by_label(one, other) == np.sign(i - j)
    with pytest.raises(ValueError, match="unknown label 'robot'"):
        win_by_label("human", "robot")


def test_who_wins_what():
    """Speaker 0 leads, then speaker 1, then a tie; names in alphabetical order with the lead turned along."""
    found = spot_the_bot_segments(
        table(
            rows_of("d1", "w1", "ba", ("human", "unsure")),
            rows_of("d1", "w2", "ba", ("bot", "unsure"), k=3),
            rows_of("d2", "w1", "ab", ("bot", "bot")),
        )
    )
    assert found["lead"].tolist() == [1, -1, 0]
    played = bot_contests(found)
    assert played[["model_a", "model_b"]].to_numpy().tolist() == [["a", "b"]] * 3
    assert played["lead_a"].tolist() == [-1, 1, 0]
    assert played["winner"].tolist() == ["b", "a", "tie"]


def test_what_is_no_contest():
    """Self-chats, people, and a segment of which one speaker has no label."""
    segments = [
        rows_of("d1", "w1", ("a", "a"), ("human", "bot")),
        rows_of("d2", "w1", ("a", "human"), ("bot", "human")),
        rows_of("d3", "w1", ("human", "human"), ("bot", "human")),
        rows_of("d4", "w1", ("a", "b"), ("bot", "human"))[:1],
    ]
    assert len(spot_the_bot_segments(table(*segments))) == 3
    assert bot_contests(spot_the_bot_segments(table(*segments))).empty


def test_speakers_who_contradict_each_other_are_refused():
    """The error names dialogue, worker and both names."""
    one = rows_of("d7", "w1", ("a", "b"), ("bot", "human"))
    one[1]["opponent"] = "c"
    with pytest.raises(TableError, match=r"dialogue 'd7', rater 'w1', k 2.*'c'"):
        spot_the_bot_segments(table(one))


def test_a_segment_that_stands_twice_is_refused():
    """Joined by what names it, it would count four times."""
    one = rows_of("d7", "w1", ("a", "b"), ("bot", "human"))
    with pytest.raises(TableError, match=r"the same answer .*'d7'"):
        spot_the_bot_segments(table(one, one))


@pytest.mark.parametrize("unit", ["segment", "worker"])
@pytest.mark.parametrize("limit", [spotting.MOST_MATCHES, 100])
def test_ranks_follow_strengths(unit, limit, monkeypatch):
    """Far apart: always the same ranks, by TrueSkill and by Bradley–Terry; the same seed, the same ranks."""
    monkeypatch.setattr(spotting, "MOST_MATCHES", limit)
    played = contests({"x": 2.0, "a": 0.0, "m": -2.0}, n=600)
    ranks = bootstrap_ranks(played, ["x", "a", "m"], unit=unit, draws=200, seed=3)
    assert ranks.shape == (200, 3)
    assert [rank_range(own) for own in ranks.T] == [(1, 1), (2, 2), (3, 3)]
    assert (ranks == bootstrap_ranks(played, ["x", "a", "m"], unit=unit, draws=200, seed=3)).all()


@pytest.mark.parametrize("limit", [spotting.MOST_MATCHES, 100])
def test_equal_bots_share_the_ranks(limit, monkeypatch):
    """Nothing between them: each may be first or last."""
    monkeypatch.setattr(spotting, "MOST_MATCHES", limit)
    played = contests(dict.fromkeys("abc", 0.0), n=300, seed=2)
    ranks = bootstrap_ranks(played, ["a", "b", "c"], draws=300)
    assert [rank_range(own) for own in ranks.T] == [(1, 3)] * 3


def test_both_ways_to_rank_agree(monkeypatch):
    """Median ranks by TrueSkill and by Bradley–Terry are the same on ordinary data."""
    played = contests({"a": 0.0, "b": 0.5, "c": -0.6, "d": 1.2}, n=900, seed=5)
    models = list("abcd")
    skill = bootstrap_ranks(played, models, draws=200)
    monkeypatch.setattr(spotting, "MOST_MATCHES", 100)
    strength = bootstrap_ranks(played, models, draws=200)
    assert np.median(skill, axis=0).tolist() == np.median(strength, axis=0).tolist() == [3, 2, 4, 1]


def test_ranges_narrow_with_data():
    """Skills do not drift: 55 wins of 100 decided may be chance, 1,650 of 3,000 are not."""
    lead = np.tile([1] * 11 + [-1] * 9, 5)
    few = pd.DataFrame({"dialogue_id": "d", "worker_id": "w", "model_a": "a", "model_b": "b", "lead_a": lead})
    many = pd.concat([few] * 30, ignore_index=True)
    assert rank_range(bootstrap_ranks(few, ["a", "b"], draws=200)[:, 0]) == (1, 2)
    assert rank_range(bootstrap_ranks(many, ["a", "b"], draws=200)[:, 0]) == (1, 1)


def test_whole_workers_are_drawn():
    """One worker of many judged half of all segments, and against the others: ranks by worker vary, by segment less."""
    rng = np.random.default_rng(0)
    worker = np.where(rng.random(600) < 0.5, "w0", np.array([f"w{i % 8 + 1}" for i in range(600)]))
    lead = np.where(worker == "w0", 1, np.where(rng.random(600) < 0.3, 1, -1))
    played = pd.DataFrame(
        {"dialogue_id": "d", "worker_id": worker, "model_a": "a", "model_b": "b", "lead_a": lead.astype(int)}
    )
    by_segment = bootstrap_ranks(played, ["a", "b"], draws=200)
    by_worker = bootstrap_ranks(played, ["a", "b"], unit="worker", draws=200)
    assert (by_segment[:, 0] == 1).all()
    assert 0.3 < (by_worker[:, 0] == 1).mean() < 0.9


def test_orders_of_workers_hold_their_segments():
    """Each resample has the data's own size, and of each worker all segments equally often, but for the cut."""
    codes = np.array([0] * 5 + [1] * 2 + [2] * 3)
    orders = spotting._workers(codes, 300, np.random.default_rng(0))
    assert orders.shape == (300, 10)
    assert np.bincount(orders.ravel(), minlength=10).min() > 0
    for order in orders[:50]:
        counts = np.bincount(order, minlength=10)
        partly = sum(np.ptp(counts[codes == worker]) > 0 for worker in range(3))
        assert partly <= 1, "only the last drawn is cut, or the first begun again"
    alike = spotting._workers(np.repeat([0, 1, 2], 4), 600, np.random.default_rng(0))
    assert np.bincount(alike.ravel(), minlength=12) / alike.size == pytest.approx([1 / 12] * 12, rel=0.1)


def test_nothing_decided_ranks_nobody():
    """All ties, or no contests: no resamples, rather than ranks from nothing; unknown models are named."""
    tied = contests({"a": 0.0, "b": 0.0}, n=20).assign(lead_a=0)
    assert bootstrap_ranks(tied, ["a", "b"]).shape == (0, 2)
    assert bootstrap_ranks(tied[:0], []).shape == (0, 0)
    with pytest.raises(ValueError, match="models lacks b"):
        bootstrap_ranks(tied, ["a"])


def test_strengths_of_two_are_the_log_odds():
    """(wins + ½ ties + ½) against (losses + ½ ties + ½); one who met nobody stays at 0, in each resample."""
    points = np.zeros((2, 3, 3))
    points[0, 0, 1], points[0, 1, 0] = 7, 2
    points[1, 0, 1], points[1, 1, 0] = 4, 0
    found = bradley_terry_strengths(points)
    assert found[:, 0] - found[:, 1] == pytest.approx(np.log([7.5 / 2.5, 4.5 / 0.5]), abs=1e-5)
    assert found[:, 2] == pytest.approx([0, 0], abs=1e-6)


def test_stability_rises_to_one_and_knows_the_close_pair():
    """Two bots are close, two far off: without one of the close pair fewer dialogues do."""
    played = contests({"a": 0.1, "b": 0.0, "c": 3.0, "d": -3.0}, n=1500, ties=0.2, seed=4)
    curves = {curve.left_out: curve for curve in ranking_stability(played, list("abcd"), draws=300)}
    assert list(curves) == ["", "a", "b", "c", "d"]
    for curve in curves.values():
        assert curve.dialogues[0] == 3
        assert curve.dialogues == sorted(set(curve.dialogues))
        assert curve.stability[-1] == curve.as_all[-1] == 1.0
        assert all(share <= most for share, most in zip(curve.as_all, curve.stability, strict=True))
    assert curves["a"].stability[0] > 0.95 > curves[""].stability[0]
    assert curves["d"].stability[0] < 0.95


def test_stability_of_two_bots_by_hand():
    """One dialogue won by each and a third by a: of any three all are drawn; of a single pair there is one pool."""
    played = pd.DataFrame(
        {"dialogue_id": ["d1", "d2", "d3"], "worker_id": "w", "model_a": "a", "model_b": "b", "lead_a": [1, -1, 1]}
    )
    (curve,) = ranking_stability(played, ["a", "b"])
    assert (curve.left_out, curve.dialogues, curve.stability) == ("", [3], [1.0])
    assert ranking_stability(played[:0], []) == []


def test_a_subsample_has_whole_dialogues():
    """A dialogue of ten judgements counts as one: of 4 dialogues three are drawn, and with it a wins, else b."""
    played = pd.DataFrame(
        {
            "dialogue_id": ["big"] * 10 + ["d1", "d2", "d3"],
            "worker_id": "w",
            "model_a": "a",
            "model_b": "b",
            "lead_a": [1] * 10 + [-1] * 3,
        }
    )
    (curve,) = ranking_stability(played, ["a", "b"], draws=2_000)
    assert curve.dialogues == [3, 4]
    assert curve.stability == [pytest.approx(0.75, abs=0.04), 1.0]


COUNTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=8)


@settings(max_examples=120, deadline=None)
@given(st.lists(COUNTS, min_size=1, max_size=4))
def test_isotonic_shares_are_those_of_scikit_learn(curves):
    """Each row by itself; places at which nothing was seen lie between their neighbours."""
    width = min(len(curve) for curve in curves)
    spotted = np.array([[found for found, _ in curve[:width]] for curve in curves], dtype=float)
    total = spotted + np.array([[left for _, left in curve[:width]] for curve in curves], dtype=float)
    found = isotonic_shares(spotted, total)
    for own, of, shares in zip(spotted, total, found, strict=True):
        seen = of > 0
        if not seen.any():
            assert np.isnan(shares).all()
            continue
        expected = isotonic_regression(own[seen] / of[seen], sample_weight=of[seen])
        assert shares[seen] == pytest.approx(expected, abs=1e-9)
        assert all(a <= b + 1e-12 for a, b in pairwise(shares))


def test_weights_count_as_rows_do():
    """A row of weight 3 is three rows; one of weight 0 is none; bad weights are refused."""
    plain = survival_curve([2, 2, 2, 2, 3, 3], [1, 1, 1, 0, 0, 1])
    assert survival_curve([2, 2, 3, 3, 5], [1, 0, 0, 1, 1], [3, 1, 1, 1, 0]) == pytest.approx(plain)
    with pytest.raises(ValueError, match="numbers, 0 or more"):
        survival_curve([2, 3], [1, 0], [1, -1])
    with pytest.raises(ValueError, match="1 weights for 2"):
        survival_curve([2, 3], [1, 0], [1])


def test_bands_are_those_of_a_plain_bootstrap():
    """Workers drawn one by one and their rows put together: the same percentiles, up to chance."""
    rng = np.random.default_rng(0)
    worker = rng.integers(0, 15, 300)
    k = rng.choice([2, 3, 5], 300)
    spotted = (rng.random(300) < np.clip(0.1 * k + rng.normal(0, 0.15, 15)[worker], 0, 1)).astype(int)
    points = survival_with_bands(k, spotted, worker, seed=1, draws=4_000)
    curves = []
    for _ in range(1_500):
        rows = np.concatenate([np.flatnonzero(worker == one) for one in rng.integers(0, 15, 15)])
        curves.append(list(survival_curve(k[rows], spotted[rows]).values()))
    low, high = np.quantile(np.array(curves), [0.025, 0.975], axis=0)
    assert [point.ci_low for point in points] == pytest.approx(low, abs=0.03)
    assert [point.ci_high for point in points] == pytest.approx(high, abs=0.03)
    assert [point.estimate for point in points] == pytest.approx(list(survival_curve(k, spotted).values()))
    assert [point.details["k"] for point in points] == [2, 3, 5]
    assert points[0].details["n_workers"] == 15


def test_no_band_is_claimed_where_none_can_be():
    """Two workers: no band. Nobody spotted: no width of 0, but the reason. No data: no points."""
    few = survival_with_bands([2, 2, 3], [0, 1, 1], ["a", "b", "b"])
    assert {(point.ci_low, point.ci_high) for point in few} == {(None, None)}
    assert few[0].notes[0] == too_few_clusters().replace(" and a p-value", "")
    (flat,) = survival_with_bands([2] * 12, [0] * 12, np.arange(12), cluster="dialogue")
    assert (flat.estimate, flat.ci_low) == (1.0, None)
    assert "no resample of dialogues differs" in flat.notes[-1]
    assert survival_with_bands([], [], []) == []
