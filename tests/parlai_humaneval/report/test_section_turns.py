"""The section on turns: its JSON, tables, figures and sentences, from our own tables and from elsewhere."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_live_records import make_choice, make_choices, make_ticked
from make_records import make_record, make_study, make_turn
from scipy.stats import t as t_distribution
from statsmodels.stats.proportion import proportion_confint

from parlai_humaneval.report.registry import SECTIONS
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turn_choices import build
from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.means import t_test
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.core.rows import CUT
from parlai_humaneval.statistics.core.shares import binomial_p, wald_interval, wilson_interval
from parlai_humaneval.statistics.preference.tests import cochran_q_test, mcnemar_test
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.filters import taken_as_finished


def section_of(records):
    found = build(tables(records), Options())
    assert found is not None
    return found


def from_frame(frame, folder):
    frame.to_csv(folder / "turns.csv", index=False)
    return build(read_tables(folder), Options())


def frame_of(chosen, models, *, workers, turns=10, setting="", technique="study", metric="preference", one_model=False):
    """Exchange columns: ``chosen`` turns × models; dialogues of ``turns`` turns; places rotate."""
    n, k = np.shape(chosen)
    rows = []
    for turn in range(n):
        for column, model in enumerate(models):
            rows.append(
                {
                    "dialogue_id": f"{technique}{setting}{models if one_model else ''}{turn // turns}",
                    "worker_id": f"w{workers[turn]}",
                    "technique": technique,
                    "setting": setting,
                    "metric": metric,
                    "turn": turn % turns + 1,
                    "model": model,
                    "position": (column + turn) % k + 1,
                    "selected": int(chosen[turn][column]),
                    "continued": 0,
                    "written": 0,
                    "seconds": "",
                }
            )
    return pd.DataFrame(rows)


def numbers(value):
    if isinstance(value, dict):
        for part in value.values():
            yield from numbers(part)
    elif isinstance(value, list):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def check_shown(section):
    """JSON without nan, tables whose rows have all their columns, unique keys, figures, methods and a headline."""
    assert all(math.isfinite(number) for number in numbers(json.loads(section.model_dump_json())))
    shown, figures = section.data_tables(), section.figures()
    for table in shown:
        assert table.rows
        assert all(set(row) == {column.key for column in table.columns} for row in table.rows)
    keys = [view.key for view in (*shown, *figures)]
    assert len(keys) == len(set(keys))
    assert section.headline.endswith(".")
    assert section.methods()


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
        "3 turns of 2 dialogues that did not end do not count; with them it would be eliza 33 %, retrieval 67 %."
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
    assert any("1 turn with equal replies only" in text for text in section.remarks)


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


def test_single_models_of_liu(tmp_path):
    """Table 6: 111, 106, 104 and 120 of 128, 126, 126 and 127 turns found good, with their Wald intervals; .8 as null."""
    counts = {"BST": (111, 128), "TCS": (106, 126), "WoW": (104, 126), "M-BST": (120, 127)}
    printed = {"BST": (0.87, 0.81, 0.93), "WoW": (0.83, 0.76, 0.89), "M-BST": (0.94, 0.91, 0.98)}
    rng = np.random.default_rng(0)
    frames = []
    for model, (k, n) in counts.items():
        marks = rng.permutation(np.repeat([1, 0], [k, n - k]))[:, None]
        frames.append(frame_of(marks, [model], workers=[f"{model}{i // 10}" for i in range(n)], one_model=True))
    section = from_frame(pd.concat(frames), tmp_path)
    rows = {row.model: row for row in section.models}
    assert list(rows) == sorted(counts)
    for model, expected in printed.items():
        assert (rows[model]["win_rate"], rows[model]["wald_low"], rows[model]["wald_high"]) == pytest.approx(
            expected, abs=0.005
        )
        assert rows[model]["ci_low"] < rows[model]["win_rate"] < rows[model]["ci_high"]
    baseline = {test["models"][0]: test for test in section.tests if len(test["models"]) == 1}
    assert baseline["M-BST"]["p_value"] == binomial_p(120, 127, 0.8)
    assert len([test for test in section.tests if len(test["models"]) == 2]) == 6
    assert not section.by_position
    check_shown(section)


ENGAGING, HUMAN = "engaging", "humanlike"
TICKED = [
    make_ticked("d1", [[ENGAGING], [ENGAGING, HUMAN]], model="a", worker="w1"),
    make_ticked("d2", [[ENGAGING], []], model="a", worker="w2"),
    make_ticked("d3", [[HUMAN], [HUMAN]], model="b", worker="w1"),
    make_ticked("d4", [[ENGAGING], []], model="b", worker="w3"),
]


def test_ticks_by_hand():
    """a: engaging in 3 of 4 turns, nothing ticked in one; b: in 1 of 4. Half of the turns make a good dialogue."""
    section = section_of(TICKED)
    rows = {(row.metric, row.model): row for row in section.models}
    engaging = rows[ENGAGING, "a"]
    assert (engaging.selected, engaging.n, engaging["win_rate"]) == (3, 4, 0.75)
    assert (engaging["wald_low"], engaging["wald_high"]) == wald_interval(3, 4)
    assert engaging.n_workers == 2
    assert (engaging["win_rate_from_2"], rows[ENGAGING, "b"]["win_rate"]) == (0.5, 0.25)
    assert (engaging["dialogues_won"], rows[ENGAGING, "b"]["dialogues_won"]) == (1, 0.5)
    (test,) = [test for test in section.tests if test.metric == ENGAGING]
    assert (test["models"], test["estimate"]) == (["a", "b"], 0.5)
    assert test["p_value"] == t_test([1, 1, 1, 0], [0, 0, 1, 0]).p_value
    assert -1 <= test["ci_low"] <= test["ci_high"] <= 1
    nothing = {row.model: row for row in section.nothing_ticked if row.first_turn == 1}
    assert (nothing["a"]["share"], nothing["a"]["n"], nothing["b"]["share"]) == (0.25, 4, 0.25)
    left = make_ticked("d9", [[ENGAGING]] * 3, worker="w9", status="partial")
    assert section_of([*TICKED, left]).models[0].n == 4


def test_later_turns_of_single_models_by_hand():
    """Turn by turn found good: yes yes no yes, and yes yes no no. All: 5 of 8; from turn 2: 3 of 6; from turn 3: 1 of 4.
    Both dialogues are at least half good, of turns 3 on only the first."""
    given = {"d1": [[ENGAGING], [ENGAGING], [], [ENGAGING]], "d2": [[ENGAGING], [ENGAGING], [], []]}
    records = [make_ticked(name, ticks, model="a", worker=f"w{name}") for name, ticks in given.items()]
    (row,) = [row for row in section_of(records).models if row.metric == ENGAGING]
    assert [row[name] for name in ("win_rate", "win_rate_from_2", "win_rate_from_3")] == [5 / 8, 3 / 6, 1 / 4]
    assert (row["dialogues_won"], row["dialogues_won_from_3"]) == (1, 1 / 2)
    assert [row[f"win_rate_from_{turn}_{end}"] for turn in (2, 3) for end in ("low", "high")] == [
        *(row.from_2.ci_low, row.from_2.ci_high),
        *(row.from_3.ci_low, row.from_3.ci_high),
    ]


def test_share_of_dialogues_is_that_of_the_reference(gold_cases):
    """Half of the turns counts as success."""
    (case,) = [case for case in gold_cases if case["function"] == "sm_wta"]
    records = [
        make_ticked(f"d{i}", [[ENGAGING]] * wins + [[]] * (turns - wins), worker=f"w{i}")
        for i, (wins, turns) in enumerate(case["args"][0])
    ]
    row = next(row for row in section_of(records).models if row.metric == ENGAGING)
    assert row["dialogues_won"] == pytest.approx(case["expected"])


def test_single_models_of_several_questions():
    """No baseline of .8, effective win rates of both scores, both ranges of turns."""
    rng = np.random.default_rng(1)
    records = [
        make_ticked(
            f"{model}{i}",
            [[name for name in (ENGAGING, HUMAN) if rng.random() < rate] for _ in range(6)],
            model=model,
            worker=f"w{i}",
        )
        for i in range(10)
        for model, rate in (("a", 0.7), ("b", 0.4))
    ]
    section = section_of(records)
    assert all(len(test["models"]) == 2 for test in section.tests)
    assert {row.score for row in section.effective} == {"share", "wta"}
    assert {row.first_turn for row in section.effective} == {1, 3}
    assert [answer.metric for answer in section.summary()] == sorted({row.metric for row in section.models})
    check_shown(section)


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


def test_disagreement_of_the_two_tests_is_said(tmp_path):
    """Two of twelve workers decide everything: significant by turns, not by workers."""
    workers = np.repeat(np.arange(12), 10)
    first = np.where(np.isin(workers, (0, 1, 2)), 1, np.arange(120) % 2)
    section = from_frame(frame_of(np.stack([first, 1 - first], axis=1), ["a", "b"], workers=workers), tmp_path)
    (test,) = section.tests
    assert test["p_value"] < 0.05 < test["p_clustered"]
    assert any("Believe the second" in text for text in section.remarks)
    assert "are statistically tied" in section.headline


def test_unfinished_dialogues_are_left_out_and_said():
    """As in the reports: who leaves early may not leave at random."""
    records = [
        *make_choices({"a": 0.6, "b": 0.4}, workers=4),
        make_choice("left", [("a",), ("a",)], worker="w9", status="partial"),
    ]
    section = section_of(records)
    assert section.models[0]["n"] == 40
    assert any("2 turns of 1 dialogue that did not end" in text for text in section.remarks)


def test_anchoring_is_found_and_said(tmp_path):
    """The reply shown first is chosen in 3 of 4 turns."""
    rng = np.random.default_rng(0)
    n = 200
    first = np.where(rng.random(n) < 0.75, np.arange(n) % 2 == 0, np.arange(n) % 2 == 1)
    section = from_frame(frame_of(np.stack([first, ~first], axis=1), ["a", "b"], workers=np.arange(n) // 10), tmp_path)
    gap = section.patterns.anchoring[0]
    assert gap["p_value"] < 0.001
    assert any("shown first" in text for text in section.remarks)
    places = {(row.position, row.model): row for row in section.by_position}
    assert places[1, None]["win_rate"] == pytest.approx((gap["estimate"] + 1) / 2)
    assert places[1, "a"]["n"] + places[2, "a"]["n"] == n
    assert places[1, "a"]["lin"] == places[1, "a"]["win_rate"]


def test_places_of_several_picks_are_tested_as_such():
    """Cochran's Q where any number is picked, Pearson's χ² where one is."""
    for records, expected in (
        (make_choices({"a": 0.5, "b": 0.5, "c": 0.5}), "Cochran's Q"),
        (make_choices({"a": 4, "b": 3, "c": 2}, setting="soba", one_pick=True), "Pearson"),
    ):
        assert expected in section_of(records).patterns.anchoring[1]["method"]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("case", ["one worker", "two workers", "all", "none", "one turn"])
def test_little_data_never_gives_nan(tmp_path, k, case):
    """One worker, two, everything chosen, nothing chosen, one turn: numbers or None, and words."""
    rng = np.random.default_rng(0)
    n = 1 if case == "one turn" else 24
    chosen = {"all": np.ones((n, k)), "none": np.zeros((n, k))}.get(case, (rng.random((n, k)) < 0.5).astype(int))
    workers = np.arange(n) % {"one worker": 1, "two workers": 2}.get(case, 6)
    section = from_frame(frame_of(chosen, "abc"[:k], workers=workers), tmp_path)
    if k == 1 and not np.any(chosen):
        assert section is None  # nothing was asked
        return
    check_shown(section)
    if case in ("one worker", "two workers"):
        assert all(row["ci_low"] is None for row in section.models)
        assert any("at least 3" in text for text in section.remarks)


def test_nothing_that_counts():
    """No turns: no section. Only unfinished dialogues: a section that says so, with no numbers."""
    assert build(tables([]), Options()) is None
    section = section_of([make_choice("left", [("a",)], status="partial")])
    assert section.models == []
    assert "nothing can be said" in section.headline
    assert section.data_tables() == []
    assert section.figures() == []


def test_order_of_rows_and_names_of_workers_do_not_matter(tmp_path):
    """The same JSON from shuffled rows and other pseudonyms."""
    rng = np.random.default_rng(0)
    frame = frame_of((rng.random((80, 3)) < 0.5).astype(int), ["a", "b", "c"], workers=np.arange(80) // 8)
    one = from_frame(frame, tmp_path)
    other = frame.sample(frac=1, random_state=3)
    other["worker_id"] = "x" + other["worker_id"].str[::-1]
    two = from_frame(other, tmp_path)
    flat = [list(numbers(json.loads(section.model_dump_json()))) for section in (one, two)]
    assert flat[0] == pytest.approx(flat[1], abs=1e-9)


def test_coverage_is_as_asked():
    """Intervals of 99 % are wider than of 95 %, and the headline names them."""
    found = tables(make_choices({"a": 0.6, "b": 0.4}))
    usual, wide = build(found, Options()), build(found, Options(level=0.99))
    assert wide.models[0]["ci_low"] < usual.models[0]["ci_low"]
    assert "99 % interval" in wide.headline
    assert "95 % interval" in usual.headline


def test_the_papers_tests_are_named_once():
    """Below the table, not in each row; the JSON has them in each."""
    section = section_of(make_choices({"a": 0.7, "b": 0.4}, workers=6))
    table = next(table for table in section.data_tables() if table.key == "turns_tests")
    assert "method" not in {column.key for column in table.columns}
    method = section.tests[0]["method"]
    assert [note for note in table.notes if method in note]
    labels = [column.label for column in table.columns]
    assert "Holm" not in labels


def test_shown_shares_end_at_their_ends(tmp_path):
    """Wald's interval of eight turns in nine goes to 109 %: the table is cut, and says so; the JSON is not."""
    chosen = [(1, 0)] * 8 + [(0, 1)]
    section = from_frame(frame_of(chosen, ("a", "b"), workers=[n % 3 for n in range(9)], turns=3), tmp_path)
    table = next(table for table in section.data_tables() if table.key == "turns_models")
    beyond = [
        row for row in section.models if row["wald_high"] is not None and (row["wald_high"] > 1 or row["wald_low"] < 0)
    ]
    assert beyond
    assert CUT in table.notes
    shares = [column.key for column in table.columns if column.kind == "share"]
    assert all(row[key] is None or 0 <= row[key] <= 1 for row in table.rows for key in shares)


picks = st.lists(st.lists(st.sampled_from("abc"), max_size=3, unique=True), min_size=1, max_size=8)


@settings(max_examples=4, deadline=None)
@given(dialogues=st.lists(picks, min_size=1, max_size=5), seed=st.integers(0, 99))
def test_whatever_was_picked(dialogues, seed):
    """Shares lie in 0–1, picks add up, p-values are p-values, and the order of rows changes nothing."""
    records = [make_choice(f"d{i}", turns, models="abc", worker=f"w{i}") for i, turns in enumerate(dialogues)]
    data, options = tables(records), Options(draws=10)
    section = build(data, options)
    if not section.models:
        return
    for row in [row for row in (*section.models, *section.by_position, *section.by_turn) if row.n]:
        assert 0 <= row["win_rate"] <= 1
        assert row["ci_low"] is None or 0 <= row["ci_low"] <= row["win_rate"] <= row["ci_high"] <= 1
    if section.models[0].kind == "any":
        picked = sum(len(turn) for turns in dialogues for turn in turns)
        assert sum(row.selected for row in section.models) == picked
        assert sum(row.selected for row in section.by_position if row.model is None) == picked
    for pair in section.pairs:
        assert pair.only_a + pair.only_b + pair.both + pair.neither == pair.n
    assert all(test["p_value"] is None or 0 <= test["p_value"] <= 1 for test in section.tests)
    other = build(Tables(data.turns.sample(frac=1, random_state=seed), data.dialogues, data.comparisons), options)
    for one, two in zip(section.tests, other.tests, strict=True):
        for name in ("estimate", "p_value", "p_clustered"):
            assert (one[name] or 0) == pytest.approx(two[name] or 0)


def side_by_side(chances, **where):
    """Turns of pairs with a model a: ``chances`` that the reply shown first is chosen, by the other model."""
    rng, n, frames = np.random.default_rng(0), 200, []
    for other, chance in chances.items():
        first_stands_first = np.arange(n) % 2 == 0
        first = np.where(rng.random(n) < chance, first_stands_first, ~first_stands_first)
        frame = frame_of(np.stack([first, ~first], axis=1), ["a", other], workers=np.arange(n) // 10, **where)
        frames.append(frame.assign(dialogue_id=frame["dialogue_id"] + other, worker_id=frame["worker_id"] + other))
    return pd.concat(frames)


def test_what_holds_of_one_pair_says_so(tmp_path):
    """The place matters where b stands beside a, and for nobody else; its p is corrected over the pairs."""
    section = from_frame(side_by_side({"b": 0.8, "c": 0.5, "d": 0.5}), tmp_path)
    (remark,) = [text for text in section.remarks if "shown first" in text]
    assert "more often than the others where a – b stood side by side, by" in remark
    assert "after Holm's correction" in remark or "p < .0001" in remark
    assert any(remark.endswith(text) for text in section.summary()[0].remarks)


def test_a_place_that_matters_by_chance_alone_is_not_told(tmp_path):
    """One p below .05 of several pairs is no finding once they are corrected; the rows keep it."""
    section = from_frame(side_by_side(dict.fromkeys("bcd", 0.5) | {"j": 0.57}), tmp_path)
    p_values = [row["p_value"] for row in section.patterns.anchoring if "first place" in row["name"]]
    assert min(p_values) < 0.05 < min(holm(p_values))
    assert not [text for text in section.remarks if "shown first" in text]


def test_remarks_of_one_setting_name_it(tmp_path):
    """In the summary of several questions; what holds for all of them is told once, without a name."""
    frames = [
        side_by_side({"b": chance}, setting=setting).assign(worker_id=lambda frame: frame["worker_id"].str[-2:])
        for setting, chance in (("soba", 0.8), ("sata_user", 0.5))
    ]
    answers = from_frame(pd.concat(frames), tmp_path).summary()
    remarks = [text for answer in answers for text in answer.remarks if "shown first" in text]
    assert len(remarks) == 1
    assert remarks[0].startswith("In study, soba, preference: replies shown first were chosen more often")


def test_captions_name_what_they_are_of(tmp_path):
    """No two figures have the same caption; of one group alone nothing need be named."""
    section = from_frame(side_by_side({"b": 0.8, "c": 0.5}), tmp_path)
    titles = [figure.title for figure in section.figures()]
    assert len(set(titles)) == len(titles)
    assert "Win rates: a – b" in titles
    alone = from_frame(side_by_side({"b": 0.8}), tmp_path)
    assert {figure.title for figure in alone.figures()} == {"Win rates", "Win rate by turn"}


def test_no_two_columns_have_one_name(tmp_path):
    """Tests of habits: what was tested, how, and a p that is the paper's in one row and clustered in the next."""
    section = from_frame(side_by_side({"b": 0.8}), tmp_path)
    tables_of_patterns = [
        table for table in section.data_tables() if table.key in ("turns_cascading", "turns_anchoring")
    ]
    assert len(tables_of_patterns) == 2
    for table in tables_of_patterns:
        labels = [column.label for column in table.columns]
        assert len(set(labels)) == len(labels)
        assert "p" in labels
        assert "Paper's p" not in labels


def test_a_winner_of_turns_is_named():
    """Ahead of both others: told as such, with the pairs by their gaps, and over several groups with the clearest."""
    section = section_of(make_choices({"b": 0.2, "a": 0.5, "c": 0.9}, workers=20))
    assert "c is ahead of both others; " in section.headline
    assert section.headline.index("c from b") < section.headline.index("c from a")
    gaps = [line.gap for line in section.summary()[0].pairs]
    assert gaps == sorted(gaps, reverse=True)
