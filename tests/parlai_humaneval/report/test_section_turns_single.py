"""The section on turns with one model each: shares of good turns, of ticks, and of dialogues."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from make_live_records import make_ticked
from turn_frames import check_shown, frame_of, from_frame, section_of

from parlai_humaneval.statistics.core.means import t_test
from parlai_humaneval.statistics.core.shares import binomial_p, wald_interval


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
