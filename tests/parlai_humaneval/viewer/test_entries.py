"""Entries of the viewer: all that was said and answered, of every technique, in the place where one looks for it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from make_judgements import make_pair, make_replay, make_segment, make_whole, one_of_each, shown
from make_judges import judged, letter
from make_live_records import make_choice, make_rated, make_ticked, make_verdict
from make_records import make_record, make_turn

from parlai_humaneval.schema.records import ImageRecord, Mask, Rated
from parlai_humaneval.tables.build import judge_tables, tables
from parlai_humaneval.tables.columns import Tables, from_rows
from parlai_humaneval.tables.example import example_tables
from parlai_humaneval.viewer import entries as viewer
from parlai_humaneval.viewer.entries import Entry, entries
from parlai_humaneval.viewer.write import viewer_files

REPOSITORY = Path(__file__).parents[3]


def entry_of(*records: Rated, name: str | None = None) -> Entry:
    made = entries(tables(records))
    return next(one for one in made if one.id == name) if name else made[0]


def said(entry: Entry) -> list[tuple[str, str, str]]:
    """Who answered what about the whole."""
    return [(answer["by"], *one) for answer in entry.details()["answers"] for one in answer.get("says", [])]


def test_a_turn_has_all_replies_and_who_chose_what_and_why() -> None:
    """Guards the core of the viewer: replies in the order shown, the choice, its reason and its time."""
    entry = entry_of(make_record("d1", [make_turn(1, ("eliza", "retrieval"), "retrieval", 9.0)]))
    (turn,) = entry.details()["turns"]
    assert [reply["model"] for reply in turn["replies"]] == ["eliza", "retrieval"]
    assert turn["human"] == {"text": "Hi!"}
    (answer,) = turn["answers"]
    assert (answer["by"], answer["chosen"], answer["seconds"]) == ("w1", ["retrieval"], 9.0)
    assert answer["reason"] == "it answers my question"
    assert list(entry.facets["outcome"]) == ["retrieval preferred"]
    assert list(entry.facets["pair"]) == ["eliza vs. retrieval"]
    assert entry.disagreement is None


def test_masked_words_and_failed_replies_are_shown_and_marked() -> None:
    """Researchers look for what raters could not see: the model's own words, earlier tries and blocked replies."""
    turn = make_turn(1, ("eliza", "retrieval"), "retrieval")
    mask = Mask(start=0, end=5, original="Eliza", replacement="I")
    turn.candidates[0] = turn.candidates[0].model_copy(update={"raw_text": "Eliza am I", "masks": [mask]})
    entry = entry_of(make_record("d1", [turn]))
    reply = entry.details()["turns"][0]["replies"][0]
    assert (reply["raw"], reply["masked"]) == ("Eliza am I", True)
    assert "masked words" in entry.facets["mark"]


def test_failed_checks_have_reasons_and_are_a_facet() -> None:
    """With the rater whom they concern; a check that was passed is no value of the facet."""
    checks = {"too_fast": {"passed": False, "reason": "2 s a turn"}, "greeting": {"passed": True, "reason": ""}}
    entry = entry_of(make_choice("d1", [["a"]]).model_copy(update={"checks": checks, "feedback": "fun!"}))
    assert list(entry.facets["check"]) == ["too_fast"]
    assert {(one["name"], one["passed"], one["reason"]) for one in entry.details()["checks"]} == {
        ("too_fast", False, "2 s a turn"),
        ("greeting", True, ""),
    }
    assert entry.details()["feedback"] == [("w1", "fun!")]


def test_ticks_verdicts_and_ratings_of_live_dialogues() -> None:
    ticked = entry_of(make_ticked("d2", [["engaging"], []]))
    assert ticked.details()["turns"][0]["answers"][0]["ticks"] == {"a": ["engaging"]}
    assert ticked.details()["turns"][1]["answers"][0]["none"]
    assert said(ticked) == [("w1", "a: engaging", "4 (1–5)")]
    assert said(entry_of(make_verdict("d3", "b"))) == [("w1", "preference", "m2 better than m1")]
    assert said(entry_of(make_verdict("d3", "both_bad"))) == [("w1", "preference", "m1 and m2 both bad")]
    assert said(entry_of(make_rated("d4", "a", {"fluent": 50.0}))) == [("w1", "a: fluent", "50 (0–100)")]


def test_raters_of_the_same_pair_are_in_one_entry_with_both_dialogues() -> None:
    """Two raters who differ: the entry has both answers, and disagreement is whole."""
    pairs = [make_pair("p1", "a", "b", "first", worker="w1"), make_pair("p2", "a", "b", "second", worker="w2")]
    entry = entry_of(*pairs)
    assert [talk["title"] for talk in entry.details()["talks"]] == ["a", "b"]
    assert [line["text"] for line in entry.details()["talks"][0]["lines"]][:1] == ["this is line number 0 of it"]
    assert said(entry) == [("w1", "preference", "a better than b"), ("w2", "preference", "b better than a")]
    assert entry.disagreement == 1
    assert list(entry.facets["rater"]) == ["w1", "w2"]
    assert list(entry.facets["answer"]) == ["a better than b", "b better than a"]
    same = [make_pair("p1", "a", "b", "first", worker="w1"), make_pair("p2", "a", "b", "first", worker="w2")]
    assert entry_of(*same).disagreement == 0


def test_segments_say_who_was_taken_for_what() -> None:
    entry = entry_of(make_segment("s1", ("a", "human"), ("bot", "human"), features={"fluent": "first"}))
    assert ("w1", "a (speaks first) taken for", "bot") in said(entry)
    assert ("w1", "fluent", "a is more so") in said(entry)
    assert list(entry.facets["outcome"]) == ["a taken for bot", "human taken for human"]
    assert list(entry.facets["k"]) == ["2"]
    assert "human" not in entry_of(make_segment("s1", ("a", "human"), ("bot", "human"))).facets["pair"]


def test_ratings_of_finished_dialogues_and_attention_checks() -> None:
    whole = entry_of(make_whole("j8", shown("d8", ("a", "a")), {"coherence": 2, "overall": 4}))
    assert said(whole) == [("t1", "a: coherence", "2 (1–3)"), ("t1", "a: overall", "4 (1–5)")]
    gold = entry_of(make_segment("j3", ("x", "y"), ("bot", "human"), expected={"label_0": "bot"}))
    assert "attention check" in gold.facets["mark"]
    assert ("w1", "label_0", "bot") in said(gold), "its answers stand in no other table"


def test_another_rater_of_a_live_dialogue_is_beside_its_own() -> None:
    """Third-party ratings turn by turn: both choices are at the turn, and their difference is disagreement."""
    live = make_choice("live1", [("a",), ("b",)])
    entry = entry_of(make_replay("j4", live, [("a",), ("a",)]))
    assert entry.id == "live1"
    answers = [[(one["kind"], one["chosen"]) for one in turn["answers"]] for turn in entry.details()["turns"]]
    assert answers == [[("rater", ["a"]), ("own", ["a"])], [("rater", ["a"]), ("own", ["b"])]]
    assert entry.disagreement == 0.5


def test_judges_answer_beside_raters_and_are_never_among_them() -> None:
    """At the turn that they judged, with what they wrote, in both orders; a facet of their own."""
    records = [make_choice("d1", [["a"]], technique="pw_turn", setting=""), make_pair("p1", "a", "b", "first")]
    both = replace(tables(records), judges=judge_tables(records, judged(records, lambda question: letter(1))))
    live, pair = entries(both)
    kinds = [(one["kind"], one.get("order"), one["chosen"]) for one in live.details()["turns"][0]["answers"]]
    assert kinds == [("rater", None, ["a"]), ("judge", 1, ["a"]), ("judge", 2, ["b"])]
    assert live.details()["turns"][0]["answers"][1]["says"] == [("wrote", '{"answer": "A"}')]
    assert (list(live.facets["rater"]), list(live.facets["judge"])) == (["w1"], ["j"])
    assert ("j", "preference", "a better than b") in said(pair)


def test_every_answer_of_every_technique_is_somewhere() -> None:
    """Nothing is lost on the way: each rater of each table is in an entry that names the model."""
    for all_tables in (example_tables(), tables(one_of_each())):
        made = entries(all_tables)
        known = {(rater, model) for one in made for rater in one.facets["rater"] for model in one.facets["model"]}
        for frame in (all_tables.turns, all_tables.ratings, all_tables.segments):
            for worker, models in zip(frame["worker_id"], frame["model"], strict=True):
                assert {(worker, model) for model in models.split(";")} <= known
        for worker, first, second in all_tables.comparisons[["worker_id", "model_a", "model_b"]].itertuples(
            index=False
        ):
            assert {(worker, first), (worker, second)} <= known


def test_tables_from_elsewhere_need_no_texts_and_may_hold_anything() -> None:
    """Guards imports: comparisons alone, cells of JSON that hold none, dialogues whose fields are of other kinds."""
    row = {
        "item_id": "i1",
        "model_a": "a",
        "model_b": "b",
        "winner": "b",
        "metric": "m",
        "dialogue_a": "x",
        "dialogue_b": "y",
    }
    rows = [{**row, "worker_id": worker} for worker in ("r1", "r2")]
    empty = {name: from_rows(name, []) for name in ("turns", "dialogues")}
    (entry,) = entries(Tables(comparisons=from_rows("comparisons", rows), **empty))
    assert (entry.id, len(said(entry)), list(entry.facets["mark"])) == ("i1", 2, ["no texts"])
    base = {"technique": "t", "metric": "m", "group": "a", "dialogues": "d", "status": "complete", "worker_id": "r"}
    strange = ["{", "[1, {}]", '[{"entities": 3, "lines": [7, {"speaker": "x"}]}]', '{"a": 1}']
    rows = [
        {**base, "judgement_id": f"j{n}", "item_id": f"i{n}", "shown": one, "checks": one}
        for n, one in enumerate(strange)
    ]
    judgements = from_rows("judgements", rows)
    assert len(entries(Tables(comparisons=from_rows("comparisons", []), judgements=judgements, **empty))) == 4


def test_comparisons_from_elsewhere_have_the_texts_of_their_columns() -> None:
    """Guards the way from a number of imported answers to what was said: messages by speaker, and plain replies."""
    vote = {"item_id": "i", "worker_id": "w", "metric": "m", "model_a": "x", "model_b": "y", "winner": "x"}
    talk = [{"role": "user", "content": "Do you hike?"}, {"role": "assistant", "content": "<b>Often</b>"}]
    rows = [
        {**vote, "dialogue_a": "d", "conversation_a": json.dumps(talk), "conversation_b": "no messages"},
        {**vote, "item_id": "j", "prompt": "Hi!", "response_a": "Hello.", "response_b": "[1, 2]"},
    ]
    found = [
        {talk["id"]: [(line["who"], line["text"]) for line in talk["lines"]] for talk in one.talks.values()}
        for row in rows
        for one in entries(replace(tables([]), comparisons=from_rows("comparisons", [row]).assign(**row)))
    ]
    assert found == [
        {"d": [("human", "Do you hike?"), ("x", "<b>Often</b>")], "i-2": [("y", "no messages")]},
        {"j-1": [("human", "Hi!"), ("x", "Hello.")], "j-2": [("human", "Hi!"), ("y", "[1, 2]")]},
    ]


TALK = [{"role": "user", "content": "Hi!"}, {"role": "assistant", "content": "Hello."}]
TURNS = [("human", "Hi!"), ("x", "Hello.")]
MORE = [*TURNS, ("human", "Well?"), ("x", "Yes.")]


@pytest.mark.parametrize(
    ("prompt", "reply", "said"),
    [
        ("", "\n\nHuman: Hi!\n\nAssistant: Hello.\n\nHuman: Well?\n\nAssistant: Yes.", MORE),
        (
            "",
            json.dumps({"conversations": [{"from": "human", "value": "Hi!"}, {"from": "gpt", "value": "Hello."}]}),
            TURNS,
        ),
        ("Hi!", json.dumps(TALK), TURNS),
        (json.dumps(TALK[:1]), json.dumps(TALK[1:]), TURNS),
        ("Human: Hi!\n\nAssistant:", " Hello.", TURNS),
        ("User: Hi!", "System: Hello.", TURNS),
        ("User: Hi!\nSystem: Hello.\nUser: Well?", "System: Yes.", [MORE[0], ("bot", "Hello."), *MORE[2:]]),
        ('["Hi!", "Well?"]', '["Hello.", "Yes."]', MORE),
        ("Hi!", "Model: T, a car", [TURNS[0], ("x", "Model: T, a car")]),
        ("Hi!", "", [TURNS[0], ("x", "")]),
        ("Hi!", "Hi!", [TURNS[0], ("x", "Hi!")]),
        ("Hi!", '[{"role": "assistant", "content": [{"type": "text", "text": 7}]}]', [TURNS[0], ("x", "7")]),
        ("", json.dumps([*TALK, TALK[0], {"role": "assistant", "content": ""}]), [*TURNS, TURNS[0], ("x", "")]),
        ('["Hi!", "Well?"]', '["Hello.", null]', [*TURNS, ("human", "Well?"), ("x", "")]),
        ("Hi!", "Quoted:\nUser: a\nBot: b", [TURNS[0], ("x", "Quoted:\nUser: a\nBot: b")]),
    ],
)
def test_a_cell_with_a_conversation_is_shown_as_turns(prompt: str, reply: str, said: list[tuple[str, str]]) -> None:
    """In each form, of comparisons and of ratings alike; plain texts stay what they are."""
    vote = {"item_id": "i", "dialogue_id": "i", "worker_id": "w", "metric": "m", "winner": "x", "prompt": prompt}
    vote |= {"model_a": "x", "model_b": "y", "response_a": reply, "response_b": "No."}
    rating = {**vote, "model": "x", "criterion": "c", "value": 1, "minimum": 0, "maximum": 1, "context": prompt}
    compared = from_rows("comparisons", [vote]).assign(**vote)
    of_pair = Tables(comparisons=compared, **{name: from_rows(name, []) for name in ("turns", "dialogues")})
    other = {**rating, "dialogue_id": "j", "response": "No."}
    rated = from_rows("ratings", [rating, other]).assign(context=prompt, response=[reply or None, "No."])
    for made in (of_pair, replace(tables([]), ratings=rated)):
        talk = next(iter(entries(made)[0].talks.values()))
        assert (talk["title"], [(line["who"], line["text"]) for line in talk["lines"]]) == ("x", said)


def test_one_question_of_several_pairs_keeps_all_texts_and_who_was_compared() -> None:
    """Tables reuse the id of a question for every pair of models: no text is lost, and none stands under another's name."""
    vote = {"item_id": "q", "worker_id": "w", "metric": "m", "winner": "tie"}
    rows = [
        {**vote, "model_a": "x", "model_b": "y", "response_a": "of x", "response_b": "of y"},
        {**vote, "model_a": "z", "model_b": "x", "response_a": "of z", "response_b": "of x", "worker_id": "v"},
        {**vote, "model_a": "x", "model_b": "z", "response_a": "other of x", "response_b": "of z", "winner": "z"},
    ]
    texts_of = {name: [row[name] for row in rows] for name in rows[0]}
    table = from_rows("comparisons", rows).assign(**texts_of)
    (entry,) = entries(replace(tables([]), comparisons=table))
    (same_ids,) = entries(replace(tables([]), comparisons=table.assign(dialogue_a="q-a", dialogue_b="q-b")))
    assert sorted(talk["lines"][0]["text"] for talk in same_ids.details()["talks"])[:2] == ["of x", "of x"]
    assert "other of x" in str(same_ids.details()["talks"])
    assert len({talk["id"] for talk in same_ids.details()["talks"]}) == len(same_ids.details()["talks"])
    talks = [(talk["id"], talk["title"], talk["lines"][0]["text"]) for talk in entry.details()["talks"]]
    texts = [("x", "of x"), ("y", "of y"), ("z", "of z"), ("x", "other of x")]
    assert talks == [(f"q-{place}", *text) for place, text in enumerate(texts, 1)]
    assert said(entry) == [
        ("w", "m", "x and y alike"),
        ("w", "m (dialogues 4 and 3)", "z better than x"),
        ("v", "m (dialogues 3 and 1)", "x and z alike"),
    ]


@pytest.mark.parametrize("appearance", ["markdown", "as_said"])
def test_markup_is_drawn_where_raters_saw_it_drawn(appearance: str) -> None:
    """By the settings of the study, which are in the tables; else texts are letter for letter."""
    turn = make_turn(1, ("eliza", "retrieval"), "eliza")
    turn.candidates[0] = turn.candidates[0].model_copy(update={"text": "**Yes**, <b>no</b>"})
    record = make_record("d1", [turn]).model_copy(update={"settings": {"replies": {"appearance": appearance}}})
    reply: Any = entry_of(record).details()["turns"][0]["replies"][0]
    assert reply["text"] == "**Yes**, <b>no</b>"
    drawn = [{"tag": "p", "parts": [{"tag": "b", "parts": ["Yes"]}, ", <b>no</b>"]}]
    assert reply.get("markup") == (drawn if appearance == "markdown" else None)


@pytest.mark.parametrize("with_files", [True, False])
def test_pictures_are_shown_or_described(tmp_path: Path, with_files: bool) -> None:
    """Guards readers from a message whose picture is not mentioned, and from a picture that was not to be published."""
    digest, other = "a" * 64, "b" * 64
    record = make_choice("d1", [["a"]], setting="soba")
    record.turns[0].human_images = [ImageRecord(digest=digest, alt="A <red> wall", width=8, height=6)]
    record.turns[0].candidates[0].images = [ImageRecord(digest=other, alt="", width=8, height=6)]
    made = tables([record])
    assert json.loads(made.turns["human_images"].iloc[0])[0]["alt"] == "A <red> wall"
    pictures = {digest: b"jpeg"} if with_files else {}
    (entry,) = entries(made, pictures)
    (turn,) = entry.details()["turns"]
    known = [{"digest": digest, "alt": "A <red> wall", "width": 8, "height": 6}]
    assert turn["human"].get("images", []) == (known if with_files else [])
    assert turn["human"]["text"].endswith("\n[image: A <red> wall]") is not with_files
    assert "[image: A picture without a description]" in "".join(one["text"] for one in turn["replies"])
    files = dict(viewer_files([entry], title="t", pictures=pictures))
    assert (f"images/{digest}.jpg" in files) is with_files


def test_the_page_knows_the_same_names() -> None:
    """Guards ``src/viewer/entry.ts``, which is written by hand, against fields that only one side has."""
    source = (REPOSITORY / "mephisto_tasks/webapp/src/viewer/entry.ts").read_text(encoding="utf-8")
    interfaces = dict(re.findall(r"export interface (\w+)(?: extends Said)? {\n(.*?)\n}", source, re.DOTALL))
    for name in ("Said", "Reply", "Answer", "Turn", "Line", "Talk", "Check", "Details"):
        fields = set(re.findall(r"^  (\w+)\??:", interfaces[name], re.MULTILINE))
        ours = getattr(viewer, name).__required_keys__ | getattr(viewer, name).__optional_keys__
        inherited = {"text", "markup", "images"} if name in ("Reply", "Line") else set()
        assert fields == ours - inherited, name


@pytest.mark.parametrize("column", ["comment", "reason", "rater_comment", "Your feedback"])
def test_comments_about_comparisons_from_elsewhere_are_shown(column: str) -> None:
    """The viewer searches what it shows as the reason of an answer."""
    vote = {"item_id": "i", "worker_id": "w", "metric": "m", "model_a": "x", "model_b": "y", "winner": "x"}
    comparisons = from_rows("comparisons", [vote]).assign(**{column: "It is kind"})
    (entry,) = entries(replace(tables([]), comparisons=comparisons))
    assert [answer.get("reason") for answer in entry.answers.values()] == ["It is kind"]


@pytest.mark.parametrize(("side", "shown_first"), [(2, "y"), (1, "x"), (None, "x")])
def test_imported_pairs_are_in_the_order_that_raters_saw(side: int | None, shown_first: str) -> None:
    """``model_a`` is the first of the alphabet, but “Dialogue 1” is that on the left."""
    vote = {
        "item_id": "i",
        "worker_id": "w",
        "metric": "m",
        "model_a": "x",
        "model_b": "y",
        "winner": "x",
        "side": side,
    }
    texts = {"response_a": "of x", "response_b": "of y"}
    with_texts = from_rows("comparisons", [vote]).assign(**texts)
    (entry,) = entries(replace(tables([]), comparisons=with_texts))
    talks = entry.details()["talks"]
    assert (talks[0]["title"], talks[0]["lines"][0]["text"]) == (shown_first, f"of {shown_first}")
    named = from_rows("comparisons", [{**vote, "dialogue_a": "dx", "dialogue_b": "dy"}])
    (entry,) = entries(replace(tables([]), comparisons=named))
    assert entry.details()["about"][0] == ("Dialogue", f"{shown_first}: d{shown_first}")


def test_further_columns_from_elsewhere_are_shown_once_with_the_answer() -> None:
    """Guards what a form asked besides (Qualtrics' Q2), which is then searched as well; and the value in the list."""
    rating = {"dialogue_id": "r", "worker_id": "w", "model": "x", "minimum": 1, "maximum": 5}
    rows = [{**rating, "criterion": name, "value": value} for name, value in (("Q1_1", 5), ("Q1_2", 3))]
    further = {"Q2": "<b>I agree</b>", "topic": "food", "response": "Hello.", "comment": "kind"}
    (entry,) = entries(replace(tables([]), ratings=from_rows("ratings", rows).assign(**further)))
    assert said(entry) == [("w", "x: Q1_1", "5 (1–5)"), ("w", "Q2", "<b>I agree</b>"), ("w", "x: Q1_2", "3 (1–5)")]
    assert entry.means == "Q1_1 5, Q1_2 3"
    vote = {"item_id": "i", "worker_id": "w", "metric": "m", "model_a": "x", "model_b": "y", "winner": "x"}
    (pair,) = entries(replace(tables([]), comparisons=from_rows("comparisons", [vote]).assign(Q2="n" * 3000)))
    assert said(pair)[1] == ("w", "Q2", "n" * 2000 + "…")
