"""Records → tables: nothing lost, nothing invented, unfinished dialogues kept apart."""

from __future__ import annotations

import json

import pytest
from make_records import QUESTION, make_record, make_study, make_turn

from parlai_humaneval.analysis.columns import COLUMNS, TABLES, TableError, typed
from parlai_humaneval.analysis.frames import tables
from parlai_humaneval.protocol.records import Mask

TURNS = ["dialogue_id", "worker_id", "technique", "setting", "metric", "turn", "model", "position"]
TURNS += ["selected", "continued", "written", "seconds"]
DIALOGUES = ["dialogue_id", "worker_id", "technique", "setting", "started", "seconds", "n_turns", "complete"]
COMPARISONS = ["item_id", "worker_id", "metric", "model_a", "model_b", "dialogue_a", "dialogue_b", "winner"]
COMPARISONS += ["seconds"]


def partial():
    """Two turns answered, the third shown, then the worker left."""
    shown = ("retrieval", "eliza")
    turns = [make_turn(1, shown, "eliza"), make_turn(2, shown, "retrieval"), make_turn(3, shown, None)]
    return make_record("d2", turns, worker="w2", status="partial")


def test_exchange_columns_come_first_and_in_order():
    """The columns that other tools read stand where they expect them."""
    got = tables(make_study(1, 1))
    assert list(got.turns.columns)[: len(TURNS)] == TURNS
    assert list(got.dialogues.columns)[: len(DIALOGUES)] == DIALOGUES
    assert list(got.comparisons.columns)[: len(COMPARISONS)] == COMPARISONS


@pytest.mark.parametrize("name", ["turns", "dialogues", "comparisons"])
def test_no_records_give_empty_tables_with_all_columns(name):
    """An analysis of an empty task does not fail on a missing column, and types stay the same."""
    empty, full = getattr(tables([]), name), getattr(tables(make_study(1, 1)), name)
    assert len(empty) == 0
    assert list(empty.columns) == list(COLUMNS[name]) == list(full.columns)
    assert empty.dtypes.equals(full.dtypes)


def test_every_declared_column_is_filled_from_records():
    """A column that is declared but that no row ever fills would be a lie in the README."""
    turn = make_turn(1, ("eliza", "retrieval"), "eliza").model_copy(update={"written": "better"})
    turn.candidates[0].masks = [Mask(start=0, end=1, original="x", replacement="y")]
    turn.candidates[0].raw_text = "raw"
    record = make_record("d1", [turn]).model_copy(
        update={"failure": "model died", "feedback": "nice", "unit_id": "u", "setting": "x"}
    )
    record.context.topic = "tea"
    got = tables([record])
    for name, columns in TABLES.items():
        unfilled = [c.name for c in columns if getattr(got, name)[c.name].isna().all()]
        assert unfilled == [], name


def test_turns_hold_each_candidate_with_its_choice():
    """A row per candidate, as shown and as chosen."""
    turns = tables([partial()]).turns
    assert turns["model"].tolist() == ["retrieval", "eliza"] * 3
    assert turns["position"].tolist() == [1, 2] * 3
    assert turns["selected"].tolist() == turns["continued"].tolist() == [0, 1, 1, 0, 0, 0]
    assert turns["complete"].tolist() == [1, 1, 1, 1, 0, 0]
    assert turns["human_fixed"].tolist() == [1, 1, 0, 0, 0, 0]
    assert turns["seconds"].isna().tolist() == [False] * 4 + [True] * 2
    assert set(turns["dialogue_status"]) == {"partial"}


def test_comparisons_hold_answered_turns_only_with_models_in_alphabetical_order():
    """The unanswered turn of a dialogue that was cut off is no comparison."""
    rows = tables([partial()]).comparisons
    assert rows["item_id"].tolist() == ["d2:1", "d2:2"]
    assert set(rows["model_a"]) == {"eliza"}
    assert set(rows["model_b"]) == {"retrieval"}
    assert rows["position_a"].tolist() == [2, 2]
    assert rows["winner"].tolist() == ["eliza", "retrieval"]
    assert rows["dialogue_a"].tolist() == rows["dialogue_b"].tolist() == ["d2", "d2"]
    assert set(rows["question"]) == {QUESTION}


@pytest.mark.parametrize("count", [0, 2])
def test_both_or_none_chosen_is_a_tie(count):
    """Where any number may be chosen, choosing both or none prefers neither."""
    turn = make_turn(1, ("eliza", "retrieval"), "eliza")
    turn.selected = [c.candidate_id for c in turn.candidates[:count]]
    assert tables([make_record("d1", [turn])]).comparisons["winner"].tolist() == ["tie"]


def test_a_model_against_itself_and_three_candidates_are_no_pairwise_comparison():
    """They stay in `turns`, where they can be analysed, and invent no winner."""
    same = make_turn(1, ("eliza", "eliza"), "eliza")
    three = make_turn(1, ("eliza", "retrieval"), "eliza")
    extra = three.candidates[0].model_copy(update={"model": "third", "candidate_id": "x", "position": 3})
    three.candidates.append(extra)
    got = tables([make_record("d1", [same]), make_record("d2", [three])])
    assert len(got.turns) == 5
    assert got.comparisons.empty


def test_dialogues_count_answered_and_begun_turns():
    """A dialogue left in turn 3 has two turns, and is not complete."""
    row = tables([partial()]).dialogues.iloc[0]
    assert (row["n_turns"], row["n_turns_started"], row["complete"], row["status"]) == (2, 3, 0, "partial")
    assert row["started"] == "2023-11-14T22:13:20.000+00:00"
    assert row["seconds"] is not None
    assert row["models"] == "eliza;retrieval"
    assert json.loads(row["model_settings"])[0]["options"] == {"beam_size": 10}


def test_seconds_of_a_dialogue_run_from_start_to_end():
    """The finished dialogue took 400 s."""
    assert tables(make_study(1, 1)).dialogues["seconds"].tolist() == [400.0]


def test_a_repeated_dialogue_is_refused_by_name():
    """The same dialogue read twice would count twice."""
    with pytest.raises(TableError, match=r"'d2' stands in 2 records"):
        tables([partial(), partial()])


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("selected", 2, r"turns\.selected: 2 in row 3, expected 0 or 1"),
        ("turn", "two", r"turns\.turn: 'two' in row 3, expected a number"),
        ("turn", 1.5, r"turns\.turn: 1\.5 in row 3, expected a whole number"),
        ("model", None, r"turns\.model: empty in row 3"),
    ],
)
def test_bad_values_are_named_with_their_row(column, value, message):
    """A table from elsewhere is refused with the place to look at."""
    frame = tables([partial()]).turns.astype(object)
    frame.loc[2, column] = value
    with pytest.raises(TableError, match=message):
        typed("turns", frame)


def test_a_missing_column_is_named():
    """… and what is there instead is shown."""
    with pytest.raises(TableError, match=r"comparisons: missing column winner\. It has: item_id"):
        typed("comparisons", tables([partial()]).comparisons.drop(columns="winner"))


def test_other_columns_pass_through():
    """A researcher's own columns survive."""
    frame = tables([partial()]).turns.assign(country="CH")
    assert typed("turns", frame)["country"].tolist() == ["CH"] * 6
