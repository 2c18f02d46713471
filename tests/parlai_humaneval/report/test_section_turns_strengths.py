"""The section on turns: strengths with pulls of places, PW combos, bootstrap intervals, Lin over all turns."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.turn_choices import build
from parlai_humaneval.statistics.core.clustered import cluster_bootstrap, cluster_sums
from parlai_humaneval.statistics.preference.win_rates import pw_combo_score
from parlai_humaneval.statistics.ranking.plackett_luce import plackett_luce, turn_strengths
from parlai_humaneval.statistics.ratings.likert import pair_combo
from parlai_humaneval.tables.choices import choice_groups
from parlai_humaneval.tables.files import read_tables


def turns_of(chosen, models, *, turns=10, technique="sata", workers=12) -> pd.DataFrame:
    """Exchange columns: ``chosen`` turns × models; dialogues of ``turns`` turns; places drawn by chance."""
    rng = np.random.default_rng(8)
    rows = []
    for i, row in enumerate(chosen):
        places = rng.permutation(len(models)) + 1
        for column, model in enumerate(models):
            rows.append(
                {
                    "dialogue_id": f"d{i // turns}",
                    "worker_id": f"w{i // turns % workers}",
                    "technique": technique,
                    "setting": "",
                    "metric": "preference",
                    "turn": i % turns + 1,
                    "model": model,
                    "position": places[column],
                    "selected": int(row[column]),
                    "continued": 0,
                    "written": 0,
                    "seconds": 5,
                }
            )
    return pd.DataFrame(rows)


def of(folder, **frames):
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    tables = read_tables(folder)
    return tables, build(tables, Options(seed=3, draws=500))


@pytest.fixture
def ticked():
    rng = np.random.default_rng(1)
    return turns_of(rng.random((240, 3)) < [0.7, 0.4, 0.2], ["a", "b", "c"])


def test_strengths_and_pulls_of_places_stand_beside_the_turns(tmp_path, ticked):
    """Of each group with several candidates: as fitted, clustered; with a table, a figure and a method."""
    tables, section = of(tmp_path, turns=ticked)
    (group,) = choice_groups(tables)
    expected = turn_strengths(group)
    for row, result in zip(section.strengths, expected.models, strict=True):
        assert (row["strength"], row["ci_low"], row["ci_high"]) == (result.estimate, result.ci_low, result.ci_high)
        assert (row["p_clustered"], row["p_all_equal"]) == (result.p_value, expected.equal.p_value)
    assert [row.model for row in section.strengths] == ["a", "b", "c"]
    assert section.strengths[0]["ci_low"] > section.strengths[2]["ci_high"]
    assert [row.position for row in section.positions] == ["1", "2", "3"]
    assert [row["pull"] for row in section.positions] == [result.estimate for result in expected.positions]
    assert {row["p_no_effect"] for row in section.positions} == {expected.no_position_effect.p_value}
    assert {"turns_strengths", "turns_pulls"} <= {table.key for table in section.data_tables()}
    assert any(figure.key.startswith("turns_strengths") for figure in section.figures())
    assert any(method.name == "Strengths" for method in section.methods())
    json.loads(section.model_dump_json())


def test_two_models_have_strengths_but_no_figure_of_them(tmp_path):
    """One number needs no figure; free-for-alls have theirs in their own section."""
    rng = np.random.default_rng(2)
    won = rng.random(120) < 0.6
    frame = turns_of(np.column_stack([won, ~won]), ["a", "b"], technique="pw_turn")
    _, section = of(tmp_path, turns=frame)
    assert len(section.strengths) == 2
    assert not any(figure.key.startswith("turns_strengths") for figure in section.figures())
    _, other = of(tmp_path, turns=frame.assign(technique="free_for_all"))
    assert (other.strengths, other.positions) == ([], [])


def test_win_rates_have_a_bootstrap_interval(tmp_path, ticked):
    """Percentiles over resampled workers with the seed and draws that were asked for, near the t interval."""
    tables, section = of(tmp_path, turns=ticked)
    again = build(tables, Options(seed=3, draws=500))
    other = build(tables, Options(seed=4, draws=500))
    for row, same in zip(section.models, again.models, strict=True):
        chosen = ticked.loc[ticked["model"] == row.model]
        sums = cluster_sums(chosen["selected"], np.ones(len(chosen)), chosen["worker_id"])
        plain = cluster_bootstrap(sums, seed=9, draws=4000)
        assert (row["boot_low"], row["boot_high"]) == pytest.approx(plain, abs=0.02)
        assert (row["boot_low"], row["boot_high"]) == (same["boot_low"], same["boot_high"])
        assert row["boot_low"] < row["win_rate"] < row["boot_high"]
    assert [row["boot_low"] for row in other.models] != [row["boot_low"] for row in section.models]


def compared(wins: int, losses: int, ties: int, *, metric="preference", **more) -> pd.DataFrame:
    """Whole dialogues of a and b, every second row the other way round; exchange columns and ``more``."""
    winners = ["a"] * wins + ["b"] * losses + ["tie"] * ties
    rows = [
        {
            "item_id": f"i{i}",
            "worker_id": f"w{i % 20}",
            "metric": metric,
            "model_a": "ab"[i % 2],
            "model_b": "ba"[i % 2],
            "dialogue_a": f"{'ab'[i % 2]}{i}",
            "dialogue_b": f"{'ba'[i % 2]}{i}",
            "winner": winner,
            "seconds": 60,
            **more,
        }
        for i, winner in enumerate(winners)
    ]
    return pd.DataFrame(rows)


def test_pw_combo_of_turns_and_self_chats(tmp_path):
    """(Lin over turns 2–6 + 5 · share of decided self-chats) / 6, where both are there for the pair and the metric."""
    won = np.array([[turn in (2, 3, 4, 5), turn not in (2, 3, 4, 5)] for _ in range(12) for turn in range(1, 11)])
    turns = turns_of(won, ["a", "b"], technique="pw_turn")
    _, section = of(tmp_path, turns=turns, comparisons=compared(30, 20, 10, setting="self_chat"))
    (row,) = section.combos
    assert (row.pair, row.metric, row.n_turns, row.n_dialogs) == (["a", "b"], "preference", 60, 50)
    assert (row.lin_turns_2_6, row.win_rate_dialog) == pytest.approx((0.8, 0.6))
    assert row["combo"] == pytest.approx(pw_combo_score(0.8, 0.6)) == pytest.approx((0.8 + 5 * 0.6) / 6)
    assert row["ci_low"] < row["combo"] < row["ci_high"]
    assert not row["notes"] or "self-chats" not in row["notes"][-1]
    assert "turns_combos" in {table.key for table in section.data_tables()}
    assert any(method.name == "PW combo" for method in section.methods())
    _, unsaid = of(tmp_path, turns=turns, comparisons=compared(30, 20, 10))
    assert any("does not say" in note for note in unsaid.combos[0]["notes"])
    for missing in (compared(30, 20, 0, setting="human_bot"), compared(30, 20, 0, metric="humanness")):
        assert of(tmp_path, turns=turns, comparisons=missing)[1].combos == []


def test_the_interval_of_a_combo_is_that_of_resampled_workers():
    """CR1 against a plain bootstrap of workers who gave turns, dialogues or both."""
    rng = np.random.default_rng(5)
    turn_workers, dialog_workers = rng.integers(0, 40, 600), rng.integers(20, 60, 300)
    taste = rng.normal(0, 0.2, 60)
    turns = (rng.random(600) < 0.55 + taste[turn_workers]).astype(float)
    dialogs = (rng.random(300) < 0.6 + taste[dialog_workers]).astype(float)
    found = pair_combo(turns, turn_workers, dialogs, dialog_workers)
    rates = []
    for _ in range(1500):
        times = np.bincount(rng.integers(0, 60, 60), minlength=60)
        rates.append(
            pw_combo_score(
                np.average(turns, weights=times[turn_workers]), np.average(dialogs, weights=times[dialog_workers])
            )
        )
    assert found.details["standard_error"] == pytest.approx(np.std(rates), rel=0.12)
    assert found.estimate == pytest.approx(pw_combo_score(turns.mean(), dialogs.mean()))


def test_lin_pools_the_turns_of_all_dialogues(tmp_path):
    """A dialogue with nine decided turns weighs nine times one with a single one: 9 of 10, not ½."""
    chosen = [[1, 0]] * 9 + [[1, 1]] + [[0, 1]] + [[1, 1]] * 9
    _, section = of(tmp_path, turns=turns_of(chosen, ["a", "b"]))
    pair = next(row for row in section.pairs if row.first_turn == 1)
    assert (pair["lin"], pair["sqr"], pair["wta"]) == pytest.approx((0.9, 0.5, 0.5))


def test_remarks_on_one_turn_end_with_one_full_stop(tmp_path):
    """Notes that are sentences already stand in remarks as well as those that are not."""
    turns_of(np.array([[1, 0]]), ["a", "b"]).to_csv(tmp_path / "turns.csv", index=False)
    section = build(read_tables(tmp_path), Options(draws=20))
    (note,) = plackett_luce([[1, 0]], ["w"]).notes
    assert note.endswith(".")
    assert any(note in remark for remark in section.remarks)
    assert not [remark for remark in section.remarks if remark.endswith("..")]
