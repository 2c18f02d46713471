"""Ratings on scales of a few points: which rows they are, means, pairs, and the weight of turns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from make_comparisons import ratings_frame, tick_study
from make_live_records import make_assessment, make_ticked
from scipy.stats import mannwhitneyu, ttest_ind

from parlai_humaneval.statistics.ratings.likert import (
    final_scores,
    likert_groups,
    likert_rows,
    mean_rating,
    rated_pairs,
    turn_rates,
    turn_weights,
)
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.columns import typed


def _tables(frame: pd.DataFrame, **more: pd.DataFrame) -> Tables:
    return replace(tables([]), ratings=typed("ratings", frame), **more)


def test_pairs_are_tested_as_scipy_does():
    """The t test, and the effective win rate U/(nm), against scipy."""
    frame = ratings_frame({"a": 3.8, "b": 3.2})
    for group in likert_groups(_tables(frame)):
        (pair,) = rated_pairs(group)
        own = frame[frame["criterion"] == group.criterion]
        x, y = (own.loc[own["model"] == model, "value"].to_numpy() for model in "ab")
        assert pair.paper.p_value == pytest.approx(ttest_ind(x, y).pvalue)
        assert pair.effective.estimate == pytest.approx(mannwhitneyu(x, y).statistic / (len(x) * len(y)))
        assert pair.difference.estimate == pytest.approx(x.mean() - y.mean())
        assert pair.difference.ci_low < pair.difference.estimate < pair.difference.ci_high
        assert pair.difference.p_holm == pair.difference.p_value


def test_swapping_models_turns_the_difference():
    """Named the other way round, the difference has the other sign and the same p."""
    frame = ratings_frame({"a": 3.8, "b": 3.2})
    (one,) = rated_pairs(likert_groups(_tables(frame))[0])
    swapped = frame.assign(model=frame["model"].map({"a": "b", "b": "a"}))
    (other,) = rated_pairs(likert_groups(_tables(swapped))[0])
    assert one.difference.estimate == pytest.approx(-other.difference.estimate)
    assert one.difference.p_value == pytest.approx(other.difference.p_value)
    assert one.effective.estimate == pytest.approx(1 - other.effective.estimate)


def test_sliders_are_left_to_others():
    """A value above ten, or a degraded model, makes a table of unnamed scales one of sliders."""
    frame = ratings_frame({"a": 3, "b": 4}, n=5)
    assert len(likert_rows(_tables(frame))) == 20
    assert likert_rows(_tables(frame.assign(value=frame["value"] * 20))).empty
    assert likert_rows(_tables(frame.assign(degraded=(frame["model"] == "b").astype(int)))).empty
    assert likert_rows(tables(make_assessment({"good": 70, "qc": 20}))).empty
    assert likert_rows(_tables(frame.assign(technique="direct_assessment"))).empty
    named = frame.assign(scale="slider")
    assert likert_rows(_tables(named)).empty


def test_rows_that_do_not_count():
    """Unfinished dialogues, by their own status or by the table of dialogues, and second raters."""
    frame = ratings_frame({"a": 3, "b": 4}, n=5)
    left = frame.drop_duplicates("dialogue_id").iloc[:2][["dialogue_id", "worker_id"]]
    dialogues = typed(
        "dialogues", left.assign(technique="x", setting="", started="", seconds=1, n_turns=1, complete=[0, 1])
    )
    rated = set(likert_rows(_tables(frame, dialogues=dialogues))["dialogue_id"])
    ended = frame.merge(left.iloc[:1], on=["dialogue_id", "worker_id"])
    assert len(likert_rows(_tables(frame, dialogues=dialogues))) == 20 - len(ended)
    assert left["dialogue_id"].iloc[1] in rated
    again = frame.assign(own_worker=["w99"] * 2 + [""] * 18, dialogue_status=["complete"] * 18 + ["partial"] * 2)
    assert len(likert_rows(_tables(again))) == 16


def test_reversed_criteria():
    """Means stay as rated; who is better, and the final score, turn round."""
    frame = ratings_frame({"a": 4, "b": 2}).assign(reversed=1, minimum=1, maximum=5)
    group = likert_groups(_tables(frame))[0]
    assert mean_rating(group, group.models[0]).estimate > 3
    (pair,) = rated_pairs(group)
    assert pair.difference.estimate > 0
    assert pair.effective.estimate < 0.5
    straight = final_scores(likert_groups(_tables(frame.assign(reversed=0))))
    turned = final_scores(likert_groups(_tables(frame)))
    np.testing.assert_allclose(turned["score"], 6 - straight["score"])
    unknown = frame.drop(columns=["minimum", "maximum"])
    assert final_scores(likert_groups(_tables(unknown))).empty


def test_one_worker_and_equal_ratings():
    """No interval from one worker; no test where nobody differs."""
    one = likert_groups(_tables(ratings_frame({"a": 4, "b": 2}, workers=1)))[0]
    (pair,) = rated_pairs(one)
    assert (pair.difference.ci_low, pair.difference.p_value) == (None, None)
    equal = ratings_frame({"a": 4, "b": 2}).assign(value=3.0)
    (pair,) = rated_pairs(likert_groups(_tables(equal))[0])
    assert (pair.difference.estimate, pair.paper.p_value, pair.effective.estimate) == (0.0, 1.0, 0.5)


def test_turn_weights_are_found_again():
    """Ratings made from the turns give the very weights; all models first, then each."""
    given = tables(tick_study([0.2, 0.5, 1.0]))
    turns = [group for group in choice_groups(given) if group.kind == "single"]
    found = turn_weights(turns, likert_groups(given))
    assert [one.model for one in found] == ["", "a", "b"]
    assert [term.name for term in found[0].terms] == ["intercept", "turn 1", "turn 2", "turn 3"]
    for one in found:
        assert [term.estimate for term in one.terms] == pytest.approx([1, 0.2, 0.5, 1.0])
    assert (found[0].n_dialogues, found[0].n_turns, found[0].left_out) == (60, 3, 0)


def test_dialogues_of_another_length_are_left_out():
    """Two of 62 dialogues have one turn more or less."""
    records = tick_study([0.2, 0.5, 1.0])
    records += [make_ticked("long", [["engaging"]] * 4, worker="w1"), make_ticked("short", [["engaging"]], worker="w2")]
    given = tables(records)
    (found, *_) = turn_weights(choice_groups(given), likert_groups(given))
    assert (found.n_dialogues, found.n_turns, found.left_out) == (60, 3, 2)


def test_no_ratings_no_weights():
    """Ticks without ratings at the end, and nothing at all."""
    given = tables(tick_study([1.0], n=4))
    assert turn_weights(choice_groups(given), []) == []
    assert turn_weights([], likert_groups(given)) == []
    assert turn_rates([]).empty


def test_criteria_are_reversed_by_their_names_too():
    """A table from elsewhere has no column "reversed": robotic is one where less is better, as of direct assessment."""
    frame = ratings_frame({"a": 4.0, "b": 2.0}, n=10).replace({"criterion": {"human": "robotic"}})
    groups = {group.criterion: group for group in likert_groups(_tables(frame))}
    assert groups["robotic"].reversed
    assert not groups["engaging"].reversed
    (pair,) = rated_pairs(groups["robotic"])
    assert pair.difference.estimate > 1
    assert pair.effective.estimate < 0.3
    said = likert_groups(_tables(frame.assign(reversed=0)))
    assert not any(group.reversed for group in said)
