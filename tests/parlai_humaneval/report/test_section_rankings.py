"""The section on rankings: places by hand, agreement with the own rater's picks, families, summary."""

from __future__ import annotations

import numpy as np
import pytest
from make_judgements import make_ranking, make_third_party
from make_live_records import make_choice, make_choices
from scipy.stats import kendalltau

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.rankings import build
from parlai_humaneval.tables.build import tables


def ranked(places, picked=("a",)):
    """A ranking of one turn each, by its own worker, of dialogues in which the own rater picked ``picked``."""
    live = [make_choice(f"d{i}", [picked]) for i in range(len(places))]
    return [
        make_ranking(f"j{i}", record, 1, of, worker=f"t{i}")
        for i, (record, of) in enumerate(zip(live, places, strict=True))
    ]


@pytest.fixture(scope="module")
def section():
    """A made-up study of a third party, of three models."""
    return build(tables(make_third_party(seed=3)), Options())


def test_nothing_ranked():
    """Choices and ratings are told elsewhere."""
    assert build(tables([]), Options()) is None
    assert build(tables(make_choices({"a": 0.6, "b": 0.4})), Options()) is None


def test_places_by_hand():
    """Places of a: 1, 1, 2; of b: 2, 1, 1; a was picked in all, b in none: τ-b of the three turns 1, –, −1."""
    section = build(tables(ranked([{"a": 1, "b": 2}, {"a": 1, "b": 1}, {"a": 2, "b": 1}])), Options())
    rows = {row.model: (row.mean_rank.estimate, row.best.estimate, row.own_picked) for row in section.models}
    assert rows["a"] == (pytest.approx(4 / 3), pytest.approx(2 / 3), 1)
    assert rows["b"] == (pytest.approx(4 / 3), pytest.approx(2 / 3), 0)
    (pair,) = section.pairs
    assert (pair.wins_a, pair.wins_b, pair.ties) == (1, 1, 1)
    (ranking,) = section.rankings
    assert (ranking.tau.n, ranking.tau.estimate) == (2, 0)
    assert (ranking.n_rankings, ranking.n_turns, ranking.n_workers) == (3, 3, 3)


def test_rankings_whose_names_read_alike_in_a_row_are_two():
    """Item i1 of worker t0 and item i of worker 1t0, both of turn 1: one agrees with the own rater fully, one not at all."""
    record = make_choice("d", [("a",)])
    rankings = [
        make_ranking("j1", record, 1, {"a": 1, "b": 2}, worker="t0", item_id="i1"),
        make_ranking("j2", record, 1, {"a": 2, "b": 1}, worker="1t0", item_id="i"),
    ]
    (ranking,) = build(tables(rankings), Options()).rankings
    assert (ranking.tau.n, ranking.n_rankings, ranking.tau.estimate) == (2, 2, 0)


def test_tau_is_the_mean_of_scipys_over_rankings(section):
    """Where the own rater picked none or all, there is none."""
    expected = []
    for record in (record for record in make_third_party(seed=3) if record.metric == "rank"):
        (answer,) = record.answers
        turn = record.dialogues[0].replayed.turns[answer.turn - 1]
        places = [-answer.ranks[candidate.candidate_id] for candidate in turn.candidates]
        picked = [int(candidate.candidate_id in turn.selected) for candidate in turn.candidates]
        asked = turn.complete and len(set(picked)) > 1
        expected += [kendalltau(places, picked).statistic] if asked else []
    (ranking,) = section.rankings
    assert ranking.tau.n == len(expected) > 5
    assert ranking.tau.estimate == pytest.approx(np.mean(expected))
    assert f"{ranking.tau.estimate:.2f}".replace("-", "−") in section.headline


def test_models_stand_from_the_best_place_on_and_pairs_are_one_family(section):
    """Mean places rise; Holm's correction is over the pairs of the metric."""
    places = [row.mean_rank.estimate for row in section.models]
    assert places == sorted(places)
    assert {pair["family_tests"] for pair in section.pairs} == {len(section.pairs)}
    smallest = min((pair.win_rate for pair in section.pairs), key=lambda test: test.p_value)
    assert smallest.p_holm == pytest.approx(min(1, len(section.pairs) * smallest.p_value))


def test_what_is_shown_is_the_rows(section):
    """Tables, figure and summary hold the numbers of the rows."""
    made = {table.key: table for table in section.data_tables()}
    assert set(made) == {"rankings_models", "rankings_pairs", "rankings_tau"}
    (summary,) = section.summary()
    assert [(line.model, line.estimate) for line in summary.models] == [
        (row["model"], row["mean_rank"]) for row in made["rankings_models"].rows
    ]
    (figure,) = section.figures()
    assert [point.estimate for point in figure.points] == [line.estimate for line in summary.models]
    assert len(summary.pairs) == len(section.pairs)
    assert summary.verdict == section.headline
    assert "NaN" not in section.model_dump_json()
