"""Records → tables: nothing lost, nothing invented, unfinished dialogues kept apart."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make_judgements import one_of_each
from make_live_records import make_choice, make_rated, make_ticked, make_verdict
from make_records import QUESTION, make_record, make_study, make_turn

from parlai_humaneval.schema.records import ContextRecord, DialogueRecord, ImageRecord, Mask, ReplyInfo, Withdrawn
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError, typed
from parlai_humaneval.tables.schema import COLUMNS, TABLES

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


@pytest.mark.parametrize("name", list(TABLES))
def test_no_records_give_empty_tables_with_all_columns(name):
    """An analysis of an empty task does not fail on a missing column, and types stay the same."""
    empty, full = getattr(tables([]), name), getattr(tables([*make_study(1, 1), *one_of_each()]), name)
    assert len(empty) == 0
    assert list(empty.columns) == list(COLUMNS[name]) == list(full.columns)
    assert empty.dtypes.equals(full.dtypes)


def test_every_declared_column_is_filled_from_records():
    """A column that is declared but that no row ever fills would be a lie in the README."""
    turn = make_turn(1, ("eliza", "retrieval"), "eliza").model_copy(update={"written": "better"})
    turn.candidates[0].masks = [Mask(start=0, end=1, original="x", replacement="y")]
    turn.candidates[0].raw_text, turn.candidates[0].changes = "raw", ["markdown"]
    turn.candidates[0].first_token_s = 0.4
    turn.human_images = turn.candidates[0].images = [ImageRecord(digest="a" * 64, alt="A wall", width=8, height=6)]
    turn.candidates[0].info = ReplyInfo(
        served_model="m-1",
        prompt_tokens=7,
        completion_tokens=3,
        cost=0.01,
        currency="USD",
        finish_reason="stop",
        outage_s=2.5,
        turns_left_out=3,
        thoughts="A plan.",
    )
    turn.candidates[1].blocked = "a word of the list"
    turn.candidates[1].asked_again = [Withdrawn(text="I am ChatGPT.", reason="gives itself away")]
    turn.candidates[1].same_as = turn.candidates[0].candidate_id
    record = make_record("d1", [turn]).model_copy(
        update={
            "failure": "model died",
            "feedback": "nice",
            "unit_id": "u",
            "setting": "x",
            "checks": {"greeting": {"check": "greeting", "passed": False, "reason": "“Hi!”", "value": None}},
        }
    )
    record.context = ContextRecord(topic="tea", topic_source="free", opinion="liked")
    ticked = make_ticked("d3")
    ticked.turn_criteria[0].reversed = True
    got = tables([record, make_rated("d2"), ticked, make_verdict("d4", "a"), *one_of_each()])
    for name, columns in TABLES.items():
        filled = [c.name for c in columns if c.name != "answer_number"]  # of a second answer: test_repeats.py
        unfilled = [column for column in filled if getattr(got, name)[column].isna().all()]
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


def test_a_model_against_itself_is_no_comparison():
    """Its turns stay in `turns`, where they can be analysed, and invent no winner."""
    got = tables([make_record("d1", [make_turn(1, ("eliza", "eliza"), "eliza")])])
    assert len(got.turns) == 2
    assert got.comparisons.empty


def test_of_three_models_each_pair_is_compared():
    """a and c chosen of a, b, c: each beats b, and between them it is a tie."""
    got = tables([make_choice("d1", [("a", "c")], models=("a", "b", "c"))]).comparisons
    pairs = got[["model_a", "model_b", "winner", "selected_a", "selected_b", "n_models"]].to_numpy().tolist()
    assert pairs == [["a", "b", "a", 1, 0, 3], ["a", "c", "tie", 1, 1, 3], ["b", "c", "c", 0, 1, 3]]
    assert set(got["item_id"]) == {"d1:1"}


def test_a_failed_reply_keeps_its_row_and_is_compared_with_nothing():
    """What was not shown could not be chosen; the table says so, and no model wins over silence."""
    record = make_choice("d1", [("a",)], models=("a", "b", "c"))
    failed = record.turns[0].candidates[1]
    failed.failed, failed.position, failed.text = True, 0, ""
    got = tables([record])
    row = got.turns[got.turns["model"] == "b"].iloc[0]
    assert (row["failed"], row["position"], row["selected"], row["continued"], row["text"]) == (1, 0, 0, 0, None)
    assert got.comparisons[["model_a", "model_b"]].to_numpy().tolist() == [["a", "c"]]


def test_equal_replies_are_credited_to_both():
    """Shown once, chosen once: two rows selected, the second says under which id it stood."""
    record = make_choice("d1", [("a", "b")], models=("a", "b", "c"))
    first, second = record.turns[0].candidates[:2]
    second.same_as, second.position = first.candidate_id, first.position
    rows = tables([record]).turns
    assert rows["selected"].tolist() == [1, 1, 0]
    assert rows["same_as"].tolist() == [None, first.candidate_id, None]


def test_ticks_stand_beside_what_could_be_ticked():
    """Nothing ticked is an answer; no tick column filled means that nothing was asked."""
    rows = tables([make_ticked("d1", [["engaging", "interesting"], []])]).turns
    assert rows["tick_choices"].tolist() == ["engaging;humanlike;interesting"] * 2
    assert rows["ticks"].tolist() == ["engaging;interesting", None]
    assert rows["none_said"].tolist() == [0, 1]
    assert tables([make_choice("d2", [("a",)])]).turns["tick_choices"].isna().all()


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [("a", ("m1", 1, 0, 0)), ("b", ("m2", 0, 1, 0)), ("tie", ("tie", 0, 0, 0)), ("both_bad", ("tie", 0, 0, 1))],
)
def test_a_verdict_is_one_comparison_of_the_whole_dialogue(verdict, expected):
    """The turns, in which nothing was chosen, compare nothing."""
    got = tables([make_verdict("d1", verdict)])
    (row,) = got.comparisons.to_dict("records")
    assert (row["winner"], row["selected_a"], row["selected_b"], row["both_bad"]) == expected
    assert row["item_id"] == "d1:verdict"
    assert got.points.empty
    assert got.turns["continued_each"].tolist() == [1, 1] * 2


def test_a_verdict_on_a_model_against_itself_is_no_comparison():
    """Nobody won."""
    assert tables([make_verdict("d1", "a", models=("m1", "m1"))]).comparisons.empty


def test_ratings_have_a_row_per_criterion_as_given():
    """Not reversed, with the wording, and marked where the model is the degraded one."""
    rows = tables([make_rated("d1", "bad", {"fluent": 12.5, "robotic": 90}, degraded="bad")]).ratings
    assert rows["criterion"].tolist() == ["fluent", "robotic"]
    assert rows["value"].tolist() == [12.5, 90]
    assert rows["reversed"].tolist() == [0, 1]
    assert rows["degraded"].tolist() == [1, 1]
    assert rows["statement"].tolist() == ["It was fluent.", "It was robotic."]


def test_points_are_turns_won_with_their_ranks():
    """2 : 1 : 0, and who is equal shares a rank."""
    rows = tables([make_choice("d1", [("a",), ("b",), ("a",)], models=("a", "b", "c"))]).points
    assert rows[["model", "points", "rank", "n_turns"]].to_numpy().tolist() == [
        ["a", 2, 1, 3],
        ["b", 1, 2, 3],
        ["c", 0, 3, 3],
    ]


def test_a_record_of_the_first_schema_has_points_too():
    """They were not stored then, and are counted from its choices."""
    record = make_choice("d1", [("a",), ("b",), ("a",)])
    old = record.model_dump(exclude={"points", "ranks", "criteria", "turn_criteria", "session", "verdict"})
    got = tables([DialogueRecord.model_validate({**old, "schema_version": 1})])
    assert got.points["points"].tolist() == [2, 1]
    assert got.dialogues["schema_version"].tolist() == [1]


@settings(max_examples=8, deadline=None)
@given(picks=st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=12))
def test_points_sum_to_answered_turns_where_one_is_picked(picks):
    """No point is lost or invented."""
    rows = tables([make_choice("d1", [(pick,) for pick in picks], models=("a", "b", "c"))]).points
    assert rows["points"].sum() == len(picks) == rows["n_turns"].iloc[0]
    assert rows["rank"].min() == 1


def test_checks_that_failed_are_named():
    """The practice, and a check that could not be judged, are no failures."""
    record = make_choice("d1", [("a",)])
    record.checks = {
        "practice": {"passed": False, "tries": 2, "choices": []},
        "greeting": {"check": "greeting", "passed": False, "reason": "“Hi!”", "value": None},
        "capitals": {"check": "capitals", "passed": None, "reason": "too few messages", "value": None},
    }
    assert tables([record]).dialogues["checks_failed"].tolist() == ["greeting"]


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
    with pytest.raises(TableError, match=r"'d2' is in 2 records"):
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
    with pytest.raises(TableError, match=r"comparisons: missing column winner\. The table has: item_id"):
        typed("comparisons", tables([partial()]).comparisons.drop(columns="winner"))


def test_other_columns_pass_through():
    """A researcher's own columns survive."""
    frame = tables([partial()]).turns.assign(country="CH")
    assert typed("turns", frame)["country"].tolist() == ["CH"] * 6


def test_usage_is_summed_over_the_replies_of_a_dialogue():
    """What servers charged for all candidates counts, chosen or not; what nobody told stays empty."""
    turns = [make_turn(number, ("eliza", "retrieval"), "eliza") for number in (1, 2)]
    for number, turn in enumerate(turns, start=1):
        turn.candidates[0].info = ReplyInfo(prompt_tokens=10 * number, completion_tokens=5, cost=0.25, currency="USD")
    turns[1].candidates[1].info = ReplyInfo(served_model="free", completion_tokens=1)
    got = tables([make_record("d1", turns), make_record("d2", [make_turn(1, ("eliza", "retrieval"), "eliza")])])
    first, second = got.dialogues.iloc[0], got.dialogues.iloc[1]
    assert (first.prompt_tokens, first.completion_tokens, first.cost, first.currency) == (30, 11, 0.5, "USD")
    assert second[["prompt_tokens", "completion_tokens", "cost", "currency"]].isna().all()
    assert got.turns["prompt_tokens"].isna().tolist() == [False, True, False, True, True, True]


def test_costs_in_two_currencies_have_no_sum():
    """Euros and dollars are not added up."""
    turn = make_turn(1, ("eliza", "retrieval"), "eliza")
    for candidate, currency in zip(turn.candidates, ("USD", "EUR"), strict=True):
        candidate.info = ReplyInfo(cost=1.0, currency=currency, prompt_tokens=1)
    dialogue = tables([make_record("d1", [turn])]).dialogues.iloc[0]
    assert dialogue.prompt_tokens == 2
    assert dialogue[["cost", "currency"]].isna().all()
