"""The section on rater time: whose time it is, in which order, and when it was enough."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from make_comparisons import comparisons_frame, exchange_tables, ratings_frame, tick_study
from make_judgements import make_pairs
from make_live_records import make_choices, make_ticked
from make_records import START

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.crowd_time import build
from parlai_humaneval.statistics.raters.time import (
    collection_time,
    idle_answers,
    time_spent,
    time_to_difference,
    time_to_significance,
    timed_answers,
)
from parlai_humaneval.tables.build import Tables, tables
from parlai_humaneval.tables.columns import typed


def dialogues_frame(
    names: list[str], workers: list[str], seconds: list[float], *, technique: str = "x"
) -> pd.DataFrame:
    """Exchange columns only; dialogues began a minute after each other, the last row first."""
    count = len(names)
    began = [f"2024-01-01T10:{59 - i % 60:02d}:00Z" for i in range(count)]
    return pd.DataFrame(
        {
            "dialogue_id": names,
            "worker_id": workers,
            "technique": technique,
            "setting": "",
            "started": began,
            "seconds": seconds,
            "n_turns": 6,
            "complete": 1,
        }
    )


def test_judged_pairs_from_elsewhere(tmp_path):
    """Time to significance in the order of the table, ties taking time; as one computes it by hand from its rows."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=80, tie=0.2)
    section = build(exchange_tables(tmp_path, {"comparisons": frame}), Options())
    (pair,) = section.pairs
    decided = (frame["winner"] != "tie").to_numpy()
    hours = frame["seconds"].cumsum().to_numpy()[decided] / 3600
    found = time_to_significance((frame["winner"] == "a").to_numpy()[decided], hours)
    assert (pair["n"], pair.test, pair.collection) == (decided.sum(), "binomial", "unknown")
    assert pair.first_hours == pytest.approx(found.first)
    assert pair.sustained_hours == pytest.approx(found.sustained)
    assert pair.anytime_hours == pytest.approx(found.anytime)
    assert pair.hours == pytest.approx(frame["seconds"].sum() / 3600)
    assert pair.curve_p[-1] == pair["p_value"] == pytest.approx(found.p_values[-1])
    assert [(one.unit, one["n"]) for one in section.spent] == [("comparison", 80)]
    assert section.spent[0].median_seconds == frame["seconds"].median()
    assert any("onboarding" in remark for remark in section.remarks)
    json.loads(section.model_dump_json())


def test_collected_dialogues_count_with_reuse():
    """Judged dialogues whose collection is known add as many as N² pairs need; self-chats add none."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=80, tie=0.0)
    names = sorted({*frame["dialogue_a"], *frame["dialogue_b"]})
    dialogues = typed("dialogues", dialogues_frame(names, ["w0"] * len(names), [600.0] * len(names)))
    given = replace(tables([]), comparisons=typed("comparisons", frame), dialogues=dialogues)
    (answers,) = timed_answers(given)
    assert (answers.collection, answers.dialogue_seconds) == ("counted", 600.0)
    (pair,) = build(given, Options()).pairs
    assert pair.hours == pytest.approx((frame["seconds"].sum() + collection_time([80], 600.0)[0]) / 3600)
    own = given.comparisons.assign(setting="self_chat")
    (answers,) = timed_answers(replace(given, comparisons=own))
    assert (answers.collection, answers.dialogue_seconds) == ("none", None)


def test_a_conversation_is_spent_on_its_turns():
    """Each turn takes its share of the dialogue's time, in the order in which dialogues began."""
    records = [make_choices({"a": 0.7, "b": 0.4}, workers=3, turns=4, seed=i)[i] for i in range(3)]
    records = [r.model_copy(update={"started_at": START - 100 * i}) for i, r in enumerate(records)]
    given = tables(records)
    answers = next(one for one in timed_answers(given) if one.kind == "turn")
    by_worker = given.dialogues.set_index("worker_id")["seconds"]
    order = given.dialogues.sort_values("started")["worker_id"].tolist()
    assert list(dict.fromkeys(answers.workers)) == order
    for worker in order:
        own = answers.seconds[answers.workers == worker]
        assert own.sum() == pytest.approx(by_worker[worker])
        assert len(set(own)) == 1


def test_single_models_are_told_apart_by_the_t_test():
    """Ticks and ratings of our own records; there is no p that allows for looking at a t test."""
    section = build(tables(tick_study([0.2, 0.5, 1.0])), Options())
    kinds = {pair.kind for pair in section.pairs}
    assert kinds == {"ticks", "rating"}
    assert {pair.test for pair in section.pairs} == {"t"}
    assert all(pair["p_anytime"] is None and pair.anytime_hours is None for pair in section.pairs)


def test_ratings_in_the_order_of_dialogues(tmp_path):
    """Ratings from elsewhere with their dialogues: sorted by beginning, and each takes its dialogue's time."""
    frame = ratings_frame({"a": 4.2, "b": 2.2}, n=30)
    whole = frame.drop_duplicates("dialogue_id")
    seconds = [300.0 + i for i in range(60)]
    dialogues = dialogues_frame(list(whole["dialogue_id"]), list(whole["worker_id"]), seconds)
    given = exchange_tables(tmp_path, {"ratings": frame, "dialogues": dialogues})
    answers = next(one for one in timed_answers(given) if one.metric == "human")
    assert answers.seconds.tolist() == seconds[::-1]
    own = frame[frame["criterion"] == "human"].set_index("dialogue_id")["value"]
    assert answers.values.tolist() == own.loc[whole["dialogue_id"]].tolist()[::-1]
    assert answers.of_a.tolist() == [False] * 30 + [True] * 30
    assert build(given, Options()).pairs[0].chunk_sd is not None


def test_times_that_are_missing():
    """The median stands in for some; with none known there is no time to tell, and no section."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=5).assign(seconds=[10.0, None, 30.0, 20.0, None])
    given = replace(tables([]), comparisons=typed("comparisons", frame))
    assert timed_answers(given)[0].seconds.tolist() == [10.0, 20.0, 30.0, 20.0, 20.0]
    nothing = replace(given, comparisons=typed("comparisons", frame.assign(seconds=None)))
    assert timed_answers(nothing) == []
    assert build(nothing, Options()) is None
    assert build(tables([]), Options()) is None


def test_all_ties():
    """Nothing decided: no look, p = 1, never significant."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=20).assign(winner="tie")
    (pair,) = build(replace(tables([]), comparisons=typed("comparisons", frame)), Options()).pairs
    assert (pair["n"], pair.first_hours, pair["p_value"], pair["p_anytime"], pair.curve_p) == (0, None, 1.0, 1.0, [])
    assert pair.n_chunks == 0


def test_spent_time_of_our_own_records():
    """Dialogues by technique, judgements apart from them; medians and hours by hand."""
    given = tables([*make_pairs({"a": 0.7, "b": 0.4}), make_ticked("d1"), make_ticked("d2", status="partial")])
    section = build(given, Options())
    units = {(one.technique, one.unit): one for one in section.spent}
    assert set(units) == {("pw_dialog", "judgement"), ("single_model", "dialogue")}
    judged = units[("pw_dialog", "judgement")]
    seconds = given.judgements["seconds"].to_numpy(dtype=float)
    assert judged.median_seconds == pytest.approx(np.median(seconds))
    assert judged.hours == pytest.approx(seconds.sum() / 3600)
    assert judged["mean_low"] < judged["mean_seconds"] < judged["mean_high"]


def _big(folder) -> Tables:
    names = [f"m{i}" for i in range(10)]
    chances = {(a, b): 0.5 for i, a in enumerate(names) for b in names[i + 1 :]}
    frame = comparisons_frame(chances, n=75, workers=300, metrics=("a", "b", "c"))
    return exchange_tables(folder, {"comparisons": frame})


def test_what_is_shown(tmp_path):
    """Tables hold together, figures have own keys and not too many curves, of 10,000 judgements."""
    given = _big(tmp_path)
    section = build(given, Options())
    assert len(section.pairs) == 135
    for table in section.data_tables():
        assert all(list(row) == [column.key for column in table.columns] for row in table.rows)
    figures = section.figures()
    assert len({figure.key for figure in figures}) == len(figures) == 4
    curves = [figure for figure in figures if figure.kind == "curves"]
    assert all((len(figure.curves), "(8 of 45 pairs" in figure.title) == (8, True) for figure in curves)
    few = section.model_copy(update={"pairs": section.pairs[:8]}).figures()
    assert not any(" pairs" in figure.title for figure in few), "all are shown"
    assert all(method.source for method in section.methods())


def turns_frame(
    picks: list[list[int]], models: list[str], *, turns: int = 5, seconds: float = 30.0, technique: str = "pw_turn"
) -> pd.DataFrame:
    """Exchange columns; ``picks`` turns × models, dialogues of ``turns`` turns; names fall while rows go on."""
    return pd.DataFrame(
        [
            {
                "dialogue_id": f"d{99 - i // turns}",
                "worker_id": f"w{i // turns % 7}",
                "technique": technique,
                "setting": "",
                "metric": "preference",
                "turn": i % turns + 1,
                "model": model,
                "position": 1 + (i + place) % len(models),
                "selected": picks[i][place],
                "continued": 0,
                "written": 0,
                "seconds": seconds,
            }
            for i in range(len(picks))
            for place, model in enumerate(models)
        ]
    )


@pytest.mark.parametrize("technique", ["pw_turn", "sata_pair", "free_for_all"])
def test_turns_from_elsewhere_have_a_time_to_significance(tmp_path, technique):
    """Replies side by side, without a table of comparisons: in the order of rows, each turn with its own seconds."""
    rng = np.random.default_rng(4)
    picks = [[1, 0] if won else [0, 1] for won in rng.random(100) < 0.75]
    frame = turns_frame(picks, ["a", "b"], technique=technique)
    (pair,) = build(exchange_tables(tmp_path, {"turns": frame}), Options()).pairs
    found = time_to_significance([first for first, _ in picks], np.arange(1, 101) * 30 / 3600)
    assert (pair.kind, pair.technique, pair["n"], pair.hours) == ("turn", technique, 100, pytest.approx(3000 / 3600))
    assert pair.first_hours == pytest.approx(found.first)
    assert pair.sustained_hours == pytest.approx(found.sustained)
    assert pair.anytime_hours == pytest.approx(found.anytime)
    assert pair.n_chunks == 1


def test_turns_with_both_or_no_reply_chosen_take_time_and_decide_nothing(tmp_path):
    """Select all that apply: n counts decided turns, hours all of them; and of three models every two are compared."""
    picks = [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1], [0, 1, 1]] * 4
    frame = turns_frame(picks, ["a", "b", "c"], technique="sata")
    pairs = build(exchange_tables(tmp_path, {"turns": frame}), Options()).pairs
    assert [(p.model_a, p.model_b, p["n"]) for p in pairs] == [("a", "b", 12), ("a", "c", 12), ("b", "c", 8)]
    assert all(pair.hours == pytest.approx(20 * 30 / 3600) for pair in pairs)


def test_the_dialogues_time_is_spread_over_its_turns_and_orders_them(tmp_path):
    """Where dialogues are timed, turns share that time, and later rows that began earlier come first."""
    picks = [[1, 0], [0, 1], [1, 0], [1, 0], [0, 1]] * 3
    frame = turns_frame(picks, ["a", "b"])
    names = list(dict.fromkeys(frame["dialogue_id"]))
    given = {"turns": frame, "dialogues": dialogues_frame(names, ["w0", "w1", "w2"], [500.0, 1000.0, 1500.0])}
    (answers,) = timed_answers(exchange_tables(tmp_path, given))
    assert answers.seconds.tolist() == [300.0] * 5 + [200.0] * 5 + [100.0] * 5
    assert answers.workers.tolist() == ["w2"] * 5 + ["w1"] * 5 + ["w0"] * 5
    assert answers.values.tolist() == [1, 0, 1, 1, 0] * 3


def test_a_dialogue_rated_by_several_people_has_the_time_of_each(tmp_path):
    """Dialogues of one name are parted by rater; each turn still has its seconds."""
    frame = turns_frame([[1, 0], [0, 1]] * 10, ["a", "b"]).assign(dialogue_id="d")
    frame["worker_id"] = [f"w{i // 10}" for i in range(len(frame))]
    frame["seconds"] = [10.0 + i // 10 for i in range(len(frame))]
    (answers,) = timed_answers(exchange_tables(tmp_path, {"turns": frame}))
    assert answers.seconds.tolist() == [10.0] * 5 + [11.0] * 5 + [12.0] * 5 + [13.0] * 5


def test_single_models_from_turns_alone(tmp_path):
    """Marks of single replies: the t test over the turns' own seconds, in the order of rows."""
    rng = np.random.default_rng(2)
    frame = turns_frame([[1, 1]] * 100, ["a", "b"], technique="liu_single")
    frame = frame[(frame["dialogue_id"].str[1:].astype(int) % 2 == 0) == (frame["model"] == "a")]
    frame["selected"] = (rng.random(len(frame)) < np.where(frame["model"] == "a", 0.9, 0.4)).astype(int)
    (pair,) = build(exchange_tables(tmp_path, {"turns": frame}), Options()).pairs
    times = np.arange(1, 101) * 30 / 3600
    found = time_to_difference(frame["selected"].to_numpy(dtype=float), (frame["model"] == "a").to_numpy(), times)
    assert (pair.test, pair.kind, pair["n"]) == ("t", "ticks", found.n)
    assert pair.first_hours == pytest.approx(found.first)
    assert pair.sustained_hours == pytest.approx(found.sustained)


def test_onboarding_counts_once_a_worker_and_reuse_limits_what_is_collected():
    """As asked for: the same study takes longer by the onboarding of its workers, and by more dialogues."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=80, tie=0.0)
    names = sorted({*frame["dialogue_a"], *frame["dialogue_b"]})
    dialogues = typed("dialogues", dialogues_frame(names, ["w0"] * len(names), [600.0] * len(names)))
    given = replace(tables([]), comparisons=typed("comparisons", frame), dialogues=dialogues)
    plain, told = build(given, Options()), build(given, Options(onboarding_seconds=300.0, reuse=2))
    more = 300 * frame["worker_id"].nunique() + 2 * 600 * (40 - 9)
    assert told.pairs[0].hours - plain.pairs[0].hours == pytest.approx(more / 3600)
    assert told.pairs[0].first_hours > plain.pairs[0].first_hours
    assert any("300 seconds of onboarding" in remark for remark in told.remarks)
    assert any("more than 2 times" in remark for remark in told.remarks)
    assert not any("300" in remark for remark in plain.remarks)


def test_comparisons_and_turns_of_one_study_are_counted_once():
    """Our own records fill both tables: each two models stand once under a metric."""
    given = tables(make_choices({"a": 0.7, "b": 0.4}, workers=3, turns=4))
    kinds = [(one.metric, one.model_a, one.model_b) for one in timed_answers(given) if one.kind == "turn"]
    assert len(kinds) == len(set(kinds)) == 1


def test_dialogues_that_nobody_finished_have_no_time_to_significance():
    """Groups without a turn that counts: of one reply and of two."""
    choices = [record.model_copy(update={"status": "partial"}) for record in make_choices({"a": 0.7, "b": 0.4})]
    ticks = [record.model_copy(update={"status": "partial"}) for record in tick_study([1, 1])]
    assert [one for one in timed_answers(tables([*choices, *ticks])) if one.kind in ("turn", "ticks")] == []


def test_a_page_that_was_left_open_is_no_work():
    """One comparison of 10,000 minutes: means, hours and curves are those of the others, and it is told."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=80, tie=0.2)
    usual = build(replace(tables([]), comparisons=typed("comparisons", frame)), Options())
    seconds = frame["seconds"].astype(float)
    others = seconds.drop(index=7)
    open_tab = frame.assign(seconds=seconds.where(seconds.index != 7, 600_000.0))
    given = replace(tables([]), comparisons=typed("comparisons", open_tab))
    section = build(given, Options())
    (spent,) = section.spent
    assert (spent.n_cut, usual.spent[0].n_cut) == (1, 0)
    assert spent["trimmed_mean_seconds"] == pytest.approx(others.mean())
    assert spent.trimmed_hours == pytest.approx((others.sum() + others.median()) / 3600)
    assert spent.hours == pytest.approx((others.sum() + 600_000) / 3600)
    assert spent.median_seconds == pytest.approx(usual.spent[0].median_seconds, rel=0.1)
    assert section.pairs[0].hours == pytest.approx(spent.trimmed_hours)
    assert section.pairs[0].n_chunks == usual.pairs[0].n_chunks
    assert section.headline.startswith(f"Raters spent {spent.trimmed_hours:.1f} hours (median: ")
    assert any("1 of 80 comparisons took longer than an hour" in remark for remark in section.remarks)
    assert not any("longer than an hour" in remark for remark in usual.remarks)
    (row,) = time_spent(given)
    assert (row.n_cut, row.trimmed_hours, row.hours) == (spent.n_cut, spent.trimmed_hours, spent.hours)
    assert (row.trimmed.ci_low, row.seconds.ci_low) == (spent["trimmed_mean_low"], spent["mean_low"])
    (table,) = [table for table in section.data_tables() if table.key == "crowd_time_spent"]
    keys = [column.key for column in table.columns]
    assert keys.index("median_seconds") < keys.index("trimmed_hours") < keys.index("hours")
    assert given.comparisons["seconds"].max() == 600_000


def test_a_conversation_that_was_left_open_takes_the_time_of_its_turns():
    """Its turns were timed one by one; without them it counts as the median."""
    records = [make_choices({"a": 0.7, "b": 0.4}, workers=4, turns=4, seed=i)[i] for i in range(4)]
    given = tables(records)
    dialogues = given.dialogues.assign(seconds=[60.0, 70.0, 80.0, 500_000.0])
    answers = next(one for one in timed_answers(replace(given, dialogues=dialogues)) if one.kind == "turn")
    own = answers.seconds[answers.workers == dialogues["worker_id"].iloc[3]]
    assert own.sum() == pytest.approx(
        given.turns[given.turns["dialogue_id"] == dialogues["dialogue_id"].iloc[3]]
        .drop_duplicates("turn")["seconds"]
        .sum()
    )
    assert answers.seconds.max() < 3_600


def test_which_pages_were_left_open():
    """Beyond an hour and ten medians of their kind; the median of two is the lower one; an unknown time is no fault."""
    assert idle_answers([20, 600_000]).tolist() == [False, True]
    assert idle_answers([20, 30, 3_600]).tolist() == [False] * 3, "an hour is never cut"
    assert idle_answers([600, 700, 5_900]).tolist() == [False] * 3, "nor are ten medians"
    assert idle_answers([np.nan, 20, 30, 3_601]).tolist() == [False, False, False, True]
    kinds = ["slow", "slow", "slow", "quick", "quick", "quick"]
    assert idle_answers([4_000, 5_000, 6_000, 10, 12, 6_000], kinds).tolist() == [False] * 5 + [True]
    assert idle_answers([]).tolist() == idle_answers([], []).tolist() == []
    assert idle_answers([600_000]).tolist() == [False], "one alone has nothing to be told by"
