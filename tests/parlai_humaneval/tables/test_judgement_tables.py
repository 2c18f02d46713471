"""Judgements of finished dialogues → tables: nothing lost, nothing invented, attention checks apart."""

from __future__ import annotations

import json

import pytest
from make_judgements import (
    METRICS,
    make_pair,
    make_ranking,
    make_replay,
    make_segment,
    make_whole,
    one_of_each,
    shown,
)
from make_live_records import make_choice, make_ticked, make_verdict

from parlai_humaneval.schema.records import HUMAN
from parlai_humaneval.tables import schema
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError, typed
from parlai_humaneval.tables.files import read_tables, write_tables

SEGMENTS = ["dialogue_id", "worker_id", "k", "entity", "model", "opponent", "label", "fluent", "sensible", "specific"]
SEGMENTS += ["seconds"]


def values(frame, *names):
    return frame[list(names)].astype(object).where(frame[list(names)].notna(), None).to_numpy().tolist()


def test_exchange_columns_of_segments_come_first():
    """As other tools expect them."""
    assert list(tables([]).segments.columns)[: len(SEGMENTS)] == SEGMENTS


def test_the_chosen_side_is_told_from_the_model():
    """The left one of (b, a) is b; model_a is a, on the right, and won where the right one was chosen."""
    got = tables([make_pair("j1", "b", "a", "second"), make_pair("j2", "a", "b", "second", dialogues=("a-2", "b-9"))])
    assert values(
        got.comparisons, "model_a", "model_b", "dialogue_a", "dialogue_b", "winner", "side", "position_a"
    ) == [
        ["a", "b", "a-1", "b-1", "a", 2, 2],
        ["a", "b", "a-2", "b-9", "b", 1, 1],
    ]
    assert got.turns.empty
    assert got.dialogues.empty
    assert got.judgements["dialogues"].tolist() == ["b-1;a-1", "a-2;b-9"]


def test_a_row_for_each_metric_that_was_asked():
    """Three metrics of one form: three rows of one item and one judgement, which share its time."""
    got = tables([make_pair("j1", "a", "b", dict(zip(METRICS, ("first", "second", "tie"), strict=True)), seconds=90)])
    assert got.comparisons["metric"].tolist() == list(METRICS)
    assert got.comparisons["winner"].tolist() == ["a", "b", "tie"]
    assert got.comparisons["item_id"].nunique() == got.comparisons["judgement_id"].nunique() == 1
    assert got.comparisons["seconds"].tolist() == [90] * 3
    assert got.judgements["seconds"].tolist() == [90], "the answers of one form share their time"


def test_a_human_bot_dialogue_is_compared_by_its_bot():
    """The judged speaker is the model, not the person."""
    row = tables([make_pair("j1", "a", "b", "first", setting="human_bot")]).comparisons.iloc[0]
    assert (row["model_a"], row["model_b"], row["setting"]) == ("a", "b", "human_bot")


def test_a_model_against_itself_is_no_comparison():
    """Its judgement is kept."""
    got = tables([make_pair("j1", "a", "a", "first", dialogues=("a-1", "a-2"))])
    assert (len(got.comparisons), len(got.judgements)) == (0, 1)


def test_both_speakers_of_a_segment_with_opposite_features():
    """Speaker A more fluent, as sensible, less specific; B the other way round."""
    features = {"fluent": "first", "sensible": "same", "specific": "second"}
    got = tables([make_segment("j1", ("b", "a"), ("human", "unsure"), features=features, k=3, seconds=21)]).segments
    assert values(got, "entity", "model", "opponent", "label", "fluent", "sensible", "specific", "k", "seconds") == [
        [0, "b", "a", "human", 1, 0, -1, 3, 21.0],
        [1, "a", "b", "unsure", -1, 0, 1, 3, 21.0],
    ]
    assert got["position"].tolist() == [1, 2]


def test_people_are_in_the_table_and_features_may_not_be_asked():
    """Human–human segments are the upper bound."""
    got = tables([make_segment("j1", ("human", "human"), ("human", "bot"))]).segments
    assert values(got, "model", "opponent", "kind", "fluent") == [["human", "human", "human_human", None]] * 2


def test_attention_checks_stand_in_the_judgements_only():
    """They are no result: a wrong answer changes no number but the count of checks."""
    got = tables(
        [
            make_pair("g1", "x", "y", "second", expected={"preference": "first"}),
            make_segment("g2", ("x", "y"), ("bot", "human"), expected={"label_0": "bot", "label_1": "human"}),
            make_segment("g3", ("x", "y"), ("bot", "human"), expected={"label_0": "bot"}, end="left"),
        ]
    )
    assert values(got.judgements, "gold", "gold_passed", "status") == [
        [1, 0, "complete"],
        [1, 1, "complete"],
        [1, None, "partial"],
    ]
    assert got.comparisons.empty
    assert got.segments.empty


def test_unfinished_judgements_are_kept_and_marked():
    """A replay left after one of two turns: its answer stands there as of a partial judgement."""
    live = make_choice("d1", [("a",), ("b",)])
    got = tables([make_replay("j1", live, [("a",)], end="left"), make_pair("j2", "a", "b", "first", end="failed")])
    assert got.judgements["status"].tolist() == ["partial", "failed"]
    assert set(got.turns["dialogue_status"]) == {"partial"}
    assert got.judgements["failure"].tolist() == [None, "the page was lost"]
    assert got.judgements["seconds"].isna().tolist() == [False, True]


def test_a_replay_has_both_answers_beside_each_other():
    """The own rater chose a, then b; the new one both, then none. The turns keep the dialogue's id."""
    live = make_choice("d1", [("a",), ("b",)], worker="own")
    got = tables([make_replay("j1", live, [("a", "b"), ()], worker="new")]).turns
    assert values(got, "turn", "model", "selected", "own_selected", "none_said") == [
        [1, "a", 1, 1, 0],
        [1, "b", 1, 0, 0],
        [2, "a", 0, 0, 1],
        [2, "b", 0, 1, 1],
    ]
    assert set(map(tuple, values(got, "dialogue_id", "worker_id", "own_worker", "technique", "own_technique"))) == {
        ("d1", "new", "own", "third_party", "sata")
    }
    assert set(got["metric"]) == {"preference"}, "what was asked, not that it was asked again"


def test_turns_in_which_the_own_rater_was_not_asked_have_no_answer_of_theirs():
    """All replies were the same: nothing to agree with."""
    live = make_choice("d1", [("a",)])
    live.turns[0].automatic = True
    got = tables([make_replay("j1", live, [("a",)])]).turns
    assert got["own_asked"].tolist() == [0, 0]
    assert got["own_selected"].isna().all()


def test_ticks_and_ratings_of_both_raters():
    """A single model: ticked once more, and rated once more at the end."""
    live = make_ticked("d1", [["engaging"], []], ratings={"engaging": 4.0})
    got = tables([make_replay("j1", live, [["engaging", "humanlike"], []], final={"engaging": 2.0})])
    assert values(got.turns, "ticks", "own_ticks") == [["engaging;humanlike", "engaging"], [None, None]]
    assert set(got.turns["tick_choices"]) == {"engaging;humanlike;interesting"}
    assert values(got.ratings, "criterion", "value", "own_value", "metric") == [["engaging", 2.0, 4.0, "preference"]]


@pytest.mark.parametrize(("verdict", "winner"), [("a", "z"), ("b", "y"), ("tie", "tie"), ("both_bad", "tie")])
def test_a_verdict_given_again(verdict, winner):
    """A is who stood first, whatever the models are called."""
    live = make_verdict("d1", "b", models=("z", "y"))
    row = tables([make_replay("j1", live, verdict=verdict)]).comparisons.iloc[0]
    assert (row["model_a"], row["model_b"], row["winner"], row["own_winner"]) == ("y", "z", winner, "y")
    assert (row["both_bad"], row["position_a"]) == (int(verdict == "both_bad"), 2)


def test_a_ranking_is_each_pair_with_ties():
    """a and c first, b behind; the own rater picked b."""
    live = make_choice("d1", [("b",)], models=("a", "b", "c"))
    got = tables([make_ranking("j1", live, 1, {"a": 1, "b": 3, "c": 1})])
    assert values(got.comparisons, "model_a", "model_b", "winner", "rank_a", "rank_b", "own_winner", "turn") == [
        ["a", "b", "a", 1, 3, "b", 1],
        ["a", "c", "tie", 1, 1, "tie", 1],
        ["b", "c", "c", 3, 1, "b", 1],
    ]
    assert values(got.turns, "model", "rank", "selected") == [["a", 1, 1], ["b", 3, 0], ["c", 1, 1]]


def test_equal_replies_share_their_place():
    """Shown as one card: the second reply has the place of the first."""
    live = make_choice("d1", [("a",)], models=("a", "b", "c"))
    first, second = live.turns[0].candidates[:2]
    second.same_as = first.candidate_id
    got = tables([make_ranking("j1", live, 1, {"a": 2, "c": 1})])
    assert got.turns["rank"].tolist() == [2, 2, 1]
    assert got.comparisons["winner"].tolist() == ["tie", "c", "c"]


def test_whole_dialogues_on_scales():
    """Who is judged in a self-chat is the model; with no one judged, all models that speak."""
    chat, mixed = shown("d1", ("m", "m"), judged=1), shown("d2", ("x", "y"))
    people = shown("d3", ("human", "human"))
    records = [make_whole(f"j{i}", one, {"overall": 3}) for i, one in enumerate((chat, mixed, people))]
    got = tables(records).ratings
    assert got["model"].tolist() == ["m", "x;y", "human"]
    assert values(got, "value", "scale", "minimum", "maximum", "own_value")[0] == [3, "points", 1, 5, None]


def test_live_and_judged_records_together_and_through_files(tmp_path):
    """A mixed list gives the rows of both; files give them back."""
    live = make_choice("d1", [("a",), ("b",)])
    mixed = tables([live, *one_of_each()])
    apart, judged = tables([live]), tables(one_of_each())
    assert len(mixed.turns) == len(apart.turns) + len(judged.turns)
    assert len(mixed.comparisons) == len(apart.comparisons) + len(judged.comparisons)
    write_tables(mixed, tmp_path)
    back = read_tables(tmp_path)
    for name in ("turns", "comparisons", "ratings", "segments", "judgements"):
        assert getattr(back, name).equals(getattr(mixed, name)), name
    assert json.loads(back.judgements["answers"].iloc[0])[0]["question_id"] == "preference"


def test_a_repeated_judgement_is_refused_by_name():
    """Read twice, it would count twice. A dialogue and a judgement may share an id."""
    with pytest.raises(TableError, match=r"judgement_id 'j1' is in 2 records"):
        tables([make_pair("j1", "a", "b", "first")] * 2)
    assert len(tables([make_choice("j1", [("a",)]), make_pair("j1", "a", "b", "first")]).judgements) == 1


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label", "robot", r"segments\.label: 'robot' in row 2, expected human, unsure or bot"),
        ("fluent", 2, r"segments\.fluent: 2 in row 2, expected -1, 0 or 1"),
        ("entity", 2, r"segments\.entity: 2 in row 2, expected 0 or 1"),
        ("k", None, r"segments\.k: empty in row 2"),
    ],
)
def test_unknown_labels_are_named_with_their_row(column, value, message):
    """A table from elsewhere is refused with the place to look at."""
    frame = tables([make_segment("j1", ("a", "b"), ("bot", "bot"))]).segments.astype(object)
    frame.loc[1, column] = value
    with pytest.raises(TableError, match=message):
        typed("segments", frame)


def test_people_have_the_same_name_in_records_and_tables():
    """Tables know nothing of records, so that both name a person among the speakers."""
    assert schema.HUMAN == HUMAN
