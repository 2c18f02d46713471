"""The section on turns: its JSON and numbers, from our tables and from elsewhere."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from make_live_records import make_choice, make_choices
from make_records import make_record, make_study, make_turn
from scipy.stats import t as t_distribution
from statsmodels.stats.proportion import proportion_confint
from turn_frames import check_shown, frame_of, from_frame, section_of

from parlai_humaneval.report.registry import SECTIONS
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turn_choices import build
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.core.shares import binomial_p, wald_interval, wilson_interval
from parlai_humaneval.statistics.preference.tests import cochran_q_test, mcnemar_test
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.filters import taken_as_finished


def test_keys_of_the_json():
    """Those that readers of the JSON rely on, and the name of the section."""
    assert "turns" in SECTIONS
    data = json.loads(section_of(make_choices({"a": 0.6, "b": 0.4})).model_dump_json())
    assert {"model", "n", "selected", "win_rate", "ci_low", "ci_high"} <= set(data["models"][0])
    assert {"name", "models", "statistic", "p_value", "p_holm", "method"} <= set(data["tests"][0])
    assert {"by_turn", "by_position", "pairs", "patterns", "leave_one_out"} <= set(data)


@pytest.mark.parametrize(
    "records",
    [
        make_choices({"a": 0.6, "b": 0.4}),
        make_choices({"a": 0.6, "b": 0.4, "c": 0.3, "d": 0.3}),
        make_choices({"a": 0.6, "b": 0.4, "c": 0.3}, setting="soba", one_pick=True),
    ],
)
def test_numbers_are_those_of_the_statistics(records):
    """Shares, intervals and tests as the statistics give them for the turns of each model, all and without first ones."""
    data = tables(records)
    section = section_of(records)
    for row in section.models:
        turns = data.turns[data.turns["model"] == row.model]
        rate, later = (_clustered(rows) for rows in (turns, turns[turns["turn"] > 1]))
        assert (row.n, row.selected) == (len(turns), turns["selected"].sum())
        assert (row.rate.estimate, row.rate.ci_low, row.rate.ci_high) == pytest.approx(
            (rate.estimate, rate.ci_low, rate.ci_high)
        )
        assert (row["win_rate_from_2"], row["win_rate_from_2_low"]) == pytest.approx((later.estimate, later.ci_low))
        assert (row["wald_low"], row["wald_high"]) == wald_interval(row.selected, row.n)
        assert (row["wilson_low"], row["wilson_high"]) == wilson_interval(row.selected, row.n)
    whole = {(row.model_a, row.model_b): row for row in section.pairs if row.first_turn == 1}
    for test in [test for test in section.tests if test.test.of_pair]:
        pair = whole[tuple(test["models"])]
        expected = binomial_p(pair.only_a, pair.only_a + pair.only_b)
        if "McNemar" in test["method"]:
            expected = mcnemar_test(pair.only_a, pair.only_b, n=pair.n).p_value
        assert test["p_value"] == pytest.approx(expected)
        assert pair["p_value"] == pytest.approx(binomial_p(pair.only_a, pair.only_a + pair.only_b))
    assert max(section.models, key=lambda row: row["win_rate"]).rank == 1
    check_shown(section)


def _clustered(turns):
    return clustered_share(cluster_sums(turns["selected"], np.ones(len(turns)), turns["worker_id"]))


def preferred(name, wins, worker, **more):
    """A dialogue from its winners by turn: “r” retrieval, “e” eliza, “-” not answered; retrieval is shown first."""
    shown = ("retrieval", "eliza")
    names = {"r": "retrieval", "e": "eliza", "-": None}
    turns = [make_turn(t, shown, names[letter]) for t, letter in enumerate(wins, start=1)]
    return make_record(name, turns, worker=worker, **more)


PREFERRED = [
    preferred("d1", "errrrr", "w1"),
    preferred("d2", "rrreee", "w2"),
    preferred("d3", "rrrrre", "w3"),
    preferred("d4", "ee-", "w4", status="partial"),
    preferred("d5", "", "w5", status="failed"),
    preferred("d6", "r-", "w1", status="running"),
]


def test_lin_sqr_and_wta_by_hand():
    """retrieval won 5:1, 3:3 and 5:1; without the first turn 5:0, 2:3 and 4:1. eliza comes first in the alphabet."""
    whole, later = section_of(PREFERRED).pairs
    assert (whole.only_b, whole.only_a, whole.n_dialogues, whole.n_workers) == (13, 5, 3, 3)
    rates = [1 - whole[name] for name in ("lin", "sqr", "wta")]
    assert rates == pytest.approx([13 / 18, (25 / 26 + 1 / 2 + 25 / 26) / 3, 2.5 / 3])
    assert (later.first_turn, later.last_turn, later.n) == (2, 6, 15)
    rates = [1 - later[name] for name in ("lin", "sqr", "wta")]
    assert rates == pytest.approx([11 / 15, (1 + 4 / 13 + 16 / 17) / 3, 2 / 3])
    assert (whole["p_value"], later["p_value"]) == (binomial_p(13, 18), binomial_p(11, 15))
    for row, name in [(row, name) for row in (whole, later) for name in ("lin", "sqr", "wta")]:
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]
        assert row[f"{name}_boot_low"] <= row[name] <= row[f"{name}_boot_high"]


def test_the_p_and_the_resampled_intervals_of_a_pair_by_hand():
    """eliza, model A, won 1, 3 and 1 of 6 turns with three workers.

    Rate 5/18 with CR1 variance 3/2 · (4/9 + 16/9 + 4/9) / 18² = 1/81, so t = −2 with 2 degrees of freedom, of which p =
    1 − 2/√6; the same t keeps shares up to .756. Below .2 the binomial of the effective answers tells: with answers as
    good as independent, 5 of 18. Of 27 resamples of workers 8 hold only those with one turn won and 1 only the one with
    three: more than 2.5 % each, so that the interval ends there.
    """
    section = section_of(PREFERRED)
    whole = section.pairs[0]
    assert whole["lin"] == pytest.approx(5 / 18)
    assert whole["p_clustered"] == pytest.approx(1 - 2 / 6**0.5)
    assert whole["p_value"] == pytest.approx(2 * sum(math.comb(18, wins) for wins in range(6)) / 2**18)
    t_of_two = 0.95 * (2 / (1 - 0.95**2)) ** 0.5
    assert whole["lin_high"] == pytest.approx(5 / 18 + t_of_two / 9)
    assert whole["lin_low"] == pytest.approx(proportion_confint(5, 18, method="beta")[0], abs=2e-3)
    ends = {"lin": (1 / 6, 1 / 2), "sqr": (1 / 26, 1 / 2), "wta": (0, 1 / 2)}
    for name, (low, high) in ends.items():
        assert (whole[f"{name}_boot_low"], whole[f"{name}_boot_high"]) == pytest.approx((low, high)), name
    (eliza,) = [row for row in section.models if row.model == "eliza"]
    assert (eliza["boot_low"], eliza["boot_high"]) == pytest.approx((1 / 6, 1 / 2))


def test_bootstrap_intervals_of_pairs_are_those_of_resampled_workers():
    """Of Lin, Sqr and WTA: with the seed and draws asked for, near the t interval of many workers."""
    records = make_study(30, 2)
    one, same, other = (
        build(tables(records), options) for options in (Options(seed=1), Options(seed=1), Options(seed=2))
    )
    assert [row.lin_boot for row in one.pairs] == [row.lin_boot for row in same.pairs]
    assert [row.lin_boot for row in one.pairs] != [row.lin_boot for row in other.pairs]
    for row, name in [(row, name) for row in one.pairs for name in ("lin", "sqr", "wta")]:
        assert (row[f"{name}_boot_low"], row[f"{name}_boot_high"]) == pytest.approx(
            (row[f"{name}_low"], row[f"{name}_high"]), abs=0.04
        )


def test_turns_and_places_by_hand():
    """Turn 1 went 2:1; retrieval always stood first, so that place and model coincide."""
    section = section_of(PREFERRED)
    first = {row.model: (row.selected, row.n) for row in section.by_turn if row.turn == 1}
    assert first == {"eliza": (1, 3), "retrieval": (2, 3)}
    places = {(row.position, row.model): row for row in section.by_position}
    assert [places[place, None].selected for place in (1, 2)] == [13, 5]
    assert places[1, None]["win_rate"] == places[1, "retrieval"]["win_rate"] == pytest.approx(13 / 18)
    assert places[1, "eliza"]["win_rate"] is None


def test_unfinished_dialogues_are_shown_beside():
    """Three answered turns of two unfinished dialogues: with them retrieval would have 14 of 21."""
    section = section_of(PREFERRED)
    rows = {row.model: row for row in section.models}
    assert (rows["retrieval"].n, rows["retrieval"].n_with_unfinished) == (18, 21)
    assert rows["retrieval"].win_rate_with_unfinished == pytest.approx(14 / 21)
    assert any(
        "3 turns in 2 dialogues that did not end do not count; with them, the rates would be eliza 33 %, retrieval 67 %."
        in text
        for text in section.remarks
    )
    with_them = build(taken_as_finished(tables(PREFERRED)), Options(include_partial=True))
    assert [row.n for row in with_them.models] == [21, 21]
    assert "Answered turns of dialogues that did not end count as well." in with_them.remarks


def test_every_turn_a_tie():
    """Both replies chosen in every turn: no Lin, no error."""
    section = section_of([make_choice("d1", [("a", "b")] * 3)])
    pair = section.pairs[0]
    assert (pair.both, pair["lin"], pair["p_value"], pair.tie_win) == (3, None, 1, 1)


def test_ties_by_hand():
    """Two workers; turns a · ab · none · b, then a · ab: in six turns both twice, none once, in which the rater wrote."""
    records = [
        make_choice("d1", [("a",), ("a", "b"), (), ("b",)], worker="w1"),
        make_choice("d2", [("a",), ("a", "b")], worker="w2"),
    ]
    section = section_of(records)
    assert [(row.model, row.selected, row.n) for row in section.models] == [("a", 4, 6), ("b", 3, 6)]
    whole, later = section.ranges
    assert (whole.n, whole.n_dialogues, whole.n_workers, whole.last_turn) == (6, 2, 2, 4)
    assert (whole["tie_win"], whole["tie_loss"], whole["written"]) == pytest.approx((2 / 6, 1 / 6, 1 / 6))
    assert (later.first_turn, later.last_turn, later.n) == (2, 4, 4)
    pair = section.pairs[0]
    assert (pair.only_a, pair.only_b, pair.both, pair.neither) == (2, 1, 2, 1)
    assert [round(row["win_rate_from_2"] * 4) for row in section.models] == [2, 3]
    assert section.tests[0]["p_value"] == mcnemar_test(2, 1, n=6).p_value
    assert (section.tests[0]["estimate"], section.tests[0]["ci_low"]) == (pytest.approx(1 / 6), None)
    assert section.tests_from_2[0]["estimate"] == pytest.approx(-1 / 4)
    assert section.headline.endswith("whether they differ cannot be tested.")
    # A third worker takes a twice. Sums by worker: 0 of 4 turns, 1 of 2, 2 of 2; around 3/8 they are −1.5, .25, 1.25.
    (test,) = section_of([*records, make_choice("d3", [("a",), ("a",)], worker="w3")]).tests
    error = np.sqrt(3 / 2 * 3.875) / 8
    assert test["estimate"] == pytest.approx(3 / 8)
    assert test.test.clustered.details["standard_error"] == pytest.approx(error)
    weighs_like = 8**2 / (4**2 + 2**2 + 2**2)
    half = t_distribution.ppf(0.975, weighs_like - 1) * error
    assert half > 11 / 8  # beyond every gap that is possible
    assert (test["ci_low"], test["ci_high"]) == (-1, 1)


def test_all_models_at_once_by_hand():
    """One pick of three, 6, 2, 1: χ² = 14/3 with 2 degrees of freedom; any number of picks: Cochran's Q, then McNemar."""
    record = make_choice("d1", [("a",)] * 6 + [("b",)] * 2 + [("c",)], models="abc", setting="soba")
    whole = section_of([record]).tests[0].test.paper
    assert (whole.statistic, whole.details["df"]) == pytest.approx((14 / 3, 2))
    picks = [("a",), ("a", "b"), ("a", "c"), ("a",), (), ("b",), ("a", "b", "c"), ("a",)]
    whole, *pairs = section_of([make_choice("d1", picks, models="abc")]).tests
    matrix = [[int(model in picked) for model in "abc"] for picked in picks]
    assert whole["p_value"] == cochran_q_test(matrix).p_value
    assert [test["models"] for test in pairs] == [["a", "b"], ["a", "c"], ["b", "c"]]


def test_a_failed_reply_leaves_its_pairs_but_not_the_others():
    """b failed in the first turn: it was shown in one of two, and one turn compares a with b."""
    record = make_choice("d1", [("a",), ("b",)], models="abc")
    failed = record.turns[0].candidates[1]
    failed.failed, failed.position = True, 0
    section = section_of([record])
    assert [(row.model, row.n, row.selected) for row in section.models] == [("a", 2, 1), ("b", 1, 1), ("c", 2, 0)]
    assert [row.n for row in section.pairs if row.first_turn == 1] == [1, 2, 1]
    assert section.tests[0].test.paper.n == 1
    assert any("1 reply failed" in text for text in section.remarks)


def test_turns_in_which_nothing_was_asked_do_not_count():
    """Both said the same, the dialogue went on by itself."""
    record = make_choice("d1", [("a",), ("b",)])
    record.turns[1].automatic = True
    section = section_of([record])
    assert section.ranges[0].n == 1
    assert any("1 turn in which all replies were the same" in text for text in section.remarks)


def test_equal_replies_count_for_both_and_take_one_place():
    """a and b said the same, shown first, chosen: a point for each, place 1 chosen once."""
    record = make_choice("d1", [("a", "b")], models="abc")
    first, second = record.turns[0].candidates[:2]
    second.same_as, second.position = first.candidate_id, first.position
    record.turns[0].candidates[2].position = 2
    section = section_of([record])
    assert [row.selected for row in section.models] == [1, 1, 0]
    places = [(row.position, row.selected, row.n) for row in section.by_position if row.model is None]
    assert places == [(1, 1, 1), (2, 0, 1)]


def test_several_pairs_of_a_question_have_one_answer():
    """Each pair in dialogues of its own: one family, one ranking over all of them, one sentence."""
    records = [
        *make_choices({"a": 0.8, "b": 0.3}, workers=12),
        *make_choices({"a": 0.8, "b": 0.3, "c": 0.2}, workers=12, seed=3),
    ]
    section = section_of(records)
    (answer,) = section.summary()
    assert {row["family"] for row in section.tests if row.test.of_pair} == {"sata, sata_user, preference"}
    assert {row["family_tests"] for row in section.tests if row.test.of_pair} == {4}
    assert {line.family_tests for line in answer.pairs} == {3}, "each pair once, by its strengths over all turns"
    rows = {row.model: row for row in section.ranking}
    assert [line.model for line in answer.models] == [row.model for row in section.pooled] == ["a", "b", "c"]
    assert [row.model for row in section.ranking] == ["a", "b", "c"]
    assert rows["a"].n == sum(row.n for row in section.models if row.model == "a")
    assert rows["a"].selected == sum(row.selected for row in section.models if row.model == "a")
    assert "pairs of models differ after Holm's correction" in answer.verdict
    assert any("4 tests" in method.text for method in section.methods())


def test_summaries_hold_the_numbers_of_the_rows():
    """An answer for each question: models by rank, pairs with the one ahead first, in tables that the section has."""
    section = section_of(make_choices({"b": 0.2, "a": 0.5, "c": 0.9}, workers=12))
    (answer,) = section.summary()
    rows = {row.model: row for row in section.models}
    assert [line.model for line in answer.models] == ["c", "a", "b"]
    for line in answer.models:
        rate = rows[line.model].rate
        assert (line.estimate, line.low, line.high, line.n) == (rate.estimate, rate.ci_low, rate.ci_high, 120)
    tests = {frozenset(row["models"]): row for row in section.tests if row.test.of_pair}
    for line in answer.pairs:
        test = tests[frozenset((line.first, line.second))]
        assert line.gap == abs(test["estimate"])
        assert (line.p_paper, line.p_clustered, line.p_decides) == (
            test["p_value"],
            test["p_clustered"],
            test["p_clustered_holm"],
        )
        assert line.low <= line.gap <= line.high
    assert {answer.model_table, answer.pair_table} <= {table.key for table in section.data_tables()}
    assert section.headline == answer.verdict
    assert "summaries" not in json.loads(section.model_dump_json())
    assert section_of(make_choices({"a": 0.6, "b": 0.4}, technique="free_for_all", setting="")).summary() == []


def test_win_rates_and_ties_add_up():
    """WR_A + WR_B = 1 + tie-win − tie-loss; no more than printed rounding away in Table 3 of Liu et al. 2023."""
    section = section_of(make_choices({"a": 0.6, "b": 0.4, "c": 0.2}))
    for row in section.pairs:
        assert row.win_rate_a + row.win_rate_b == pytest.approx(1 + row["tie_win"] - row["tie_loss"])
        assert row["n"] == row.only_a + row.only_b + row["both"] + row.neither


def test_pairs_of_one_setting_are_corrected_together(tmp_path):
    """A baseline against three others: Holm over three pairs; another setting is another family."""
    rng = np.random.default_rng(0)
    frames = []
    for setting in ("soba", "sata_user"):
        for other in ("b", "c", "d"):
            first = rng.random(60) < 0.62
            chosen = np.stack([first, ~first], axis=1)
            frame = frame_of(chosen, ["a", other], workers=np.arange(60) // 5, setting=setting)
            frames.append(frame.assign(dialogue_id=frame["dialogue_id"] + other))
    section = from_frame(pd.concat(frames), tmp_path)
    for setting in ("soba", "sata_user"):
        family = [test for test in section.tests if test.setting == setting]
        assert len(family) == 3
        assert [test["p_holm"] for test in family] == holm([test["p_value"] for test in family])
        assert [test["p_clustered_holm"] for test in family] == holm([test["p_clustered"] for test in family])
    assert {test["method"].split()[0] for test in section.tests} == {"two-sided", "McNemar's"}
    # The baseline has a row for each rival, so the tables say which; elsewhere they need not.
    assert section.data_tables()[0].rows[0]["group"] == "a – b"
    alone = section_of(make_choices({"a": 0.6, "b": 0.4}))
    assert "group" not in alone.data_tables()[0].rows[0]
