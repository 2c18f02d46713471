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

from parlai_humaneval.analysis.columns import typed
from parlai_humaneval.analysis.crowd_time import collection_time, time_to_significance
from parlai_humaneval.analysis.frames import Tables, tables
from parlai_humaneval.analysis.sections.base import Options
from parlai_humaneval.analysis.sections.crowd_time import build
from parlai_humaneval.analysis.timed_answers import answers_in_time


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
    assert (pair.n, pair.test, pair.collection) == (decided.sum(), "binomial", "unknown")
    assert pair.first_hours == pytest.approx(found.first)
    assert pair.sustained_hours == pytest.approx(found.sustained)
    assert pair.anytime_hours == pytest.approx(found.anytime)
    assert pair.hours == pytest.approx(frame["seconds"].sum() / 3600)
    assert pair.curve_p[-1] == pair.p_value == pytest.approx(found.p_values[-1])
    assert [(one.unit, one.n) for one in section.spent] == [("comparison", 80)]
    assert section.spent[0].median_seconds == frame["seconds"].median()
    assert any("onboarding" in remark for remark in section.remarks)
    json.loads(section.model_dump_json())


def test_collected_dialogues_count_with_reuse():
    """Judged dialogues whose collection is known add as many as N² pairs need; self-chats add none."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=80, tie=0.0)
    names = sorted({*frame["dialogue_a"], *frame["dialogue_b"]})
    dialogues = typed("dialogues", dialogues_frame(names, ["w0"] * len(names), [600.0] * len(names)))
    given = replace(tables([]), comparisons=typed("comparisons", frame), dialogues=dialogues)
    (answers,) = answers_in_time(given)
    assert (answers.collection, answers.dialogue_seconds) == ("counted", 600.0)
    (pair,) = build(given, Options()).pairs
    assert pair.hours == pytest.approx((frame["seconds"].sum() + collection_time([80], 600.0)[0]) / 3600)
    own = given.comparisons.assign(setting="self_chat")
    (answers,) = answers_in_time(replace(given, comparisons=own))
    assert (answers.collection, answers.dialogue_seconds) == ("none", None)


def test_a_conversation_is_spent_on_its_turns():
    """Each turn takes its share of the dialogue's time, in the order in which dialogues began."""
    records = [make_choices({"a": 0.7, "b": 0.4}, workers=3, turns=4, seed=i)[i] for i in range(3)]
    records = [r.model_copy(update={"started_at": START - 100 * i}) for i, r in enumerate(records)]
    given = tables(records)
    answers = next(one for one in answers_in_time(given) if one.kind == "turn")
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
    assert all(pair.p_anytime is None and pair.anytime_hours is None for pair in section.pairs)


def test_ratings_in_the_order_of_dialogues(tmp_path):
    """Ratings from elsewhere with their dialogues: sorted by beginning, and each takes its dialogue's time."""
    frame = ratings_frame({"a": 4.2, "b": 2.2}, n=30)
    whole = frame.drop_duplicates("dialogue_id")
    seconds = [300.0 + i for i in range(60)]
    dialogues = dialogues_frame(list(whole["dialogue_id"]), list(whole["worker_id"]), seconds)
    given = exchange_tables(tmp_path, {"ratings": frame, "dialogues": dialogues})
    answers = next(one for one in answers_in_time(given) if one.metric == "human")
    assert answers.seconds.tolist() == seconds[::-1]
    own = frame[frame["criterion"] == "human"].set_index("dialogue_id")["value"]
    assert answers.values.tolist() == own.loc[whole["dialogue_id"]].tolist()[::-1]
    assert answers.of_a.tolist() == [False] * 30 + [True] * 30
    assert build(given, Options()).pairs[0].chunk_sd is not None


def test_times_that_are_missing():
    """The median stands in for some; with none known there is no time to tell, and no section."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=5).assign(seconds=[10.0, None, 30.0, 20.0, None])
    given = replace(tables([]), comparisons=typed("comparisons", frame))
    assert answers_in_time(given)[0].seconds.tolist() == [10.0, 20.0, 30.0, 20.0, 20.0]
    nothing = replace(given, comparisons=typed("comparisons", frame.assign(seconds=None)))
    assert answers_in_time(nothing) == []
    assert build(nothing, Options()) is None
    assert build(tables([]), Options()) is None


def test_all_ties():
    """Nothing decided: no look, p = 1, never significant."""
    frame = comparisons_frame({("a", "b"): 0.8}, n=20).assign(winner="tie")
    (pair,) = build(replace(tables([]), comparisons=typed("comparisons", frame)), Options()).pairs
    assert (pair.n, pair.first_hours, pair.p_value, pair.p_anytime, pair.curve_p) == (0, None, 1.0, 1.0, [])
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
    assert judged.mean_low < judged.mean_seconds < judged.mean_high


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
    assert all(len(figure.curves) <= 8 for figure in figures if figure.kind == "curves")
    assert all(method.source for method in section.methods())
