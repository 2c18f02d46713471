"""Exports of annotation tools, which ask several kinds of questions at once: each answer becomes what it is."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from tool_exports import (
    MODELS,
    PAIR,
    argilla,
    given,
    label,
    label_studio,
    lines,
    potato,
    ratings_of,
    result,
    unknown_fields,
    votes_of,
)

from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.viewer.entries import entries

SAMPLES = Path(__file__).parent / "samples" / "releases"


def test_potato_writes_labels_as_pairs(command, tmp_path: Path):
    """Likert scales, sliders and radio buttons, whichever way Potato 2 writes their values."""
    answers = {
        "ann": {"i1": [label("fluent", "scale_3", "3"), label("warm", "slider", "2"), label("useful", "agree", True)]},
        "ben": {
            "i1": [label("fluent", "5", "5"), label("warm", "slider", "0"), label("useful", "disagree", "disagree")]
        },
    }
    done = command(*potato(tmp_path, answers, [{"id": "i1", "text": "t", "model": "heron"}]))
    assert done.exit_code == 0, done.stderr
    assert "Read as --from potato" in done.stderr
    values = {"fluent": (3, 5), "warm": (2, 0), "useful": (4, 2)}
    assert sorted(ratings_of(command)) == sorted(
        ["heron", criterion, value] for criterion, pair in values.items() for value in pair
    )


def test_a_choice_and_ratings_become_what_they_are(command, tmp_path: Path):
    """Of a pair: the choice is a comparison, ratings of one side are that model's, and what concerns both stands next to
    the choice."""
    given = [
        label("better", "A", "A"),
        label("fluency_a", "scale_4", "4"),
        label("fluency_b", "scale_2", "2"),
        label("confidence", "scale_5", "5"),
        label("comments", "text_box", "good"),
    ]
    paths = potato(tmp_path, {"ann": {"i1": given}}, [{"id": "i1", "text": "t", **PAIR}])
    done = command(*paths)
    assert done.exit_code == 0, done.stderr
    assert votes_of(command) == [["heron", "otter", "better", "otter"]]
    assert sorted(ratings_of(command)) == [["heron", "fluency", 2], ["otter", "fluency", 4]]
    beside = read_tables(command.out).comparisons[["confidence", "comments"]].values.tolist()
    assert beside == [["5", "good"]]
    assert "without a choice become columns: confidence, comments" in done.stdout
    assert [table for table in ("comparisons", "ratings") if f"→ {table}" in done.stderr] == ["comparisons", "ratings"]


def test_ratings_of_both_sides_without_a_choice(command, tmp_path: Path):
    given = [label("A: fluency", "scale_4", "4"), label("B: fluency", "scale_2", "2")]
    done = command(*potato(tmp_path, {"ann": {"i1": given}}, [{"id": "i1", "text": "t", **PAIR}]))
    assert done.exit_code == 0, done.stderr
    assert sorted(ratings_of(command)) == [["heron", "fluency", 2], ["otter", "fluency", 4]]
    assert votes_of(command) == []


def test_a_choice_next_to_ratings_of_one_model(command, tmp_path: Path):
    answers = {
        user: {"i1": [label("fluent", f"scale_{value}", str(value)), label("kind", kind, True)]}
        for user, value, kind in (("ann", 3, "chat"), ("ben", 4, "task"))
    }
    done = command(*potato(tmp_path, answers, [{"id": "i1", "text": "t", "model": "heron"}]))
    assert done.exit_code == 0, done.stderr
    assert ratings_of(command) == [["heron", "fluent", 3], ["heron", "fluent", 4]]
    assert read_tables(command.out).ratings["kind"].tolist() == ["chat", "task"]


def test_an_answer_with_nothing_to_stand_next_to_is_counted(command, tmp_path: Path):
    answers = {"ann": {"i1": [label("fluent", "scale_3", "3")]}, "ben": {"i1": [label("thoughts", "text_box", "meh")]}}
    done = command(*potato(tmp_path, answers, [{"id": "i1", "text": "t", "model": "heron"}]))
    assert done.exit_code == 0, done.stderr
    assert "Left out: answers without another answer that fits the table: 1." in done.stdout


def test_label_studio_asks_for_a_choice_and_ratings_at_once(command, tmp_path: Path):
    results = [
        result("pairwise", "better", {"selected": "left"}),
        result("rating", "fluency_a", {"rating": 4}),
        result("rating", "fluency_b", {"rating": 2}),
        result("textarea", "why", {"text": ["warmer"]}),
    ]
    done = command(label_studio(tmp_path / "project.json", PAIR, results))
    assert done.exit_code == 0, done.stderr
    assert votes_of(command) == [["heron", "otter", "better", "otter"]]
    assert sorted(ratings_of(command)) == [["heron", "fluency", 2], ["otter", "fluency", 4]]
    assert read_tables(command.out).comparisons["why"].tolist() == ["warmer"]


def test_a_batch_of_mechanical_turk_with_a_choice_and_more(command, tmp_path: Path):
    """The one choice keeps the name that it had: preference."""
    (tmp_path / "batch.csv").write_text(
        "HITId,WorkerId,AssignmentStatus,Input.model_a,Input.model_b,Answer.choice,Answer.sure,Answer.comment\n"
        "h1,w1,Approved,otter,heron,left,4,good\nh2,w1,Approved,otter,heron,right,2,\n"
    )
    done = command(tmp_path / "batch.csv")
    assert done.exit_code == 0, done.stderr
    assert votes_of(command) == [["heron", "otter", "preference", "otter"], ["heron", "otter", "preference", "heron"]]
    assert read_tables(command.out).comparisons["sure"].tolist() == ["4", "2"]


@pytest.mark.parametrize("question", ["comment", "thoughts"])
def test_a_comment_that_is_a_word_of_a_scale_is_no_rating(command, tmp_path: Path, question: str):
    """By what the tool says of the question, whatever its name is."""
    results = [result("rating", "fluency", {"rating": 4}), result("textarea", question, {"text": ["good"]})]
    done = command(label_studio(tmp_path / "project.json", {"model": "heron"}, results))
    assert done.exit_code == 0, done.stderr
    assert ratings_of(command) == [["heron", "fluency", 4]]
    assert read_tables(command.out).ratings[question].tolist() == ["good"]


COMMENTS = ["", "good", ""], ["good", "I liked that it asked me back", "poor at times"]


@pytest.mark.parametrize("comments", COMMENTS)
@pytest.mark.parametrize("name", ["comment", "impression"])
def test_a_column_of_comments_is_no_criterion(command, tmp_path: Path, name: str, comments: list[str]):
    rows = [f"d{n},w{n},heron,{3 + n},{comment}" for n, comment in enumerate(comments)]
    (tmp_path / "form.csv").write_text("\n".join([f"dialogue_id,rater,model,fluency,{name}", *rows]))
    done = command(tmp_path / "form.csv", "--table", "ratings")
    assert done.exit_code == 0, done.stderr
    assert ratings_of(command) == [["heron", "fluency", value] for value in (3, 4, 5)]
    assert read_tables(command.out).ratings[name].fillna("").tolist() == comments


def test_a_scale_in_words_with_a_slip_stays_one(command, tmp_path: Path):
    """The slip is refused, and not the words that are right."""
    words = ["agree", "disagree", "strongly agree", "agree", "neutral", "agree", "as above"]
    rows = [f"d{n},w{n},heron,useful,{word}" for n, word in enumerate(words)]
    (tmp_path / "ratings.csv").write_text("\n".join(["dialogue_id,worker_id,model,criterion,value", *rows]))
    done = command(tmp_path / "ratings.csv")
    assert (done.exit_code, "'as above'" in done.stderr) == (1, True)
    assert command(tmp_path / "ratings.csv", "--skip-bad").exit_code == 0
    assert [value for *_, value in ratings_of(command)] == [4, 2, 5, 4, 3, 4]


def test_a_comment_in_a_table_of_one_answer_a_row(command, tmp_path: Path):
    (tmp_path / "ratings.csv").write_text(
        "dialogue_id,worker_id,model,criterion,value\nd1,w1,heron,fluent,4\nd1,w1,heron,comment,good\nd2,w1,heron,fluent,5\n"
    )
    done = command(tmp_path / "ratings.csv")
    assert done.exit_code == 0, done.stderr
    assert ratings_of(command) == [["heron", "fluent", 4], ["heron", "fluent", 5]]
    assert read_tables(command.out).ratings["comment"].fillna("").tolist() == ["good", ""]
    assert "become columns: comment" in done.stdout


def test_what_no_table_holds_is_named(command, tmp_path: Path):
    """Marks in a text, and what Potato asked before and after its items."""
    given = {"ann": {"i1": [label("fluent", "scale_3", "3")]}}
    paths = potato(tmp_path, given, [{"id": "i1", "text": "t", "model": "heron"}])
    path = tmp_path / "out" / "ann" / "user_state.json"
    mark = [{"schema": "errors", "name": "odd", "start": 0, "end": 4}, "true"]
    state = {**json.loads(path.read_text()), "instance_id_to_span_to_value": {"i1": [mark]}, "shoe_size": 43}
    path.write_text(json.dumps({**state, "phase_to_page_to_label_to_value": {"poststudy": {}}}))
    done = command(*paths)
    assert done.exit_code == 0, done.stderr
    assert "do not fit in any table are left out: instance_id_to_span_to_value." in done.stdout
    assert "are left out: shoe_size." in done.stdout


def test_several_ticks_are_a_criterion_for_each_option(command, tmp_path: Path):
    """Of every tool alike: 1 for who ticked it, 0 for who did not, also where one alone or nothing was ticked."""
    ticks = {"u1": ["warm", "vague"], "u2": ["warm"], "u3": ["vague", "warm", "long"]}
    answers = [{**given(ticked), "user_id": user} for user, ticked in [*ticks.items(), ("u4", [])]]
    record = {"fields": {"prompt": "p"}, "metadata": {"model": "heron"}, "responses": {"marks": answers}}
    right = sorted(["heron", f"marks.{option}", n] for option, of in EXPECTED.items() for n in of)
    done = command(argilla(tmp_path / "records.json", [{**record, "id": "x"}]))
    assert done.exit_code == 0, done.stderr
    assert sorted(ratings_of(command)) == sorted([*right, *(["heron", f"marks.{option}", 0] for option in EXPECTED)])
    assert (
        "Each option that any rater ticked becomes a 0/1 criterion: marks.warm, marks.vague, marks.long." in done.stdout
    )
    pairs = {user: {"i1": [label("marks", one, True) for one in ticked]} for user, ticked in ticks.items()}
    (tmp_path / "potato").mkdir()
    done = command(*potato(tmp_path / "potato", pairs, [{"id": "i1", "text": "t", "model": "heron"}]), "--force")
    assert done.exit_code == 0, done.stderr
    assert sorted(ratings_of(command)) == right
    results = [[result("choices", "marks", {"choices": ticked})] for ticked in ticks.values()]
    tasks = [json.loads(label_studio(tmp_path / "one.json", {"model": "heron"}, one).read_text())[0] for one in results]
    (tmp_path / "all.json").write_text(json.dumps([{**task, "id": n} for n, task in enumerate(tasks)]))
    done = command(tmp_path / "all.json", "--force")
    assert done.exit_code == 0, done.stderr
    assert sorted(ratings_of(command)) == right
    assert "only questions that have no ticks" not in done.stdout
    ratings = read_tables(command.out).ratings
    assert {*ratings["minimum"], *ratings["maximum"]} == {0, 1}


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_ticks_in_the_short_exports_of_label_studio(command, tmp_path: Path, ending: str):
    """One tick is a text, several are an object or a list. Numbers of what was rated are no criteria."""
    import pandas as pd

    chat = [{"author": "user", "text": "hi"}, {"author": "bot", "text": "hello"}]
    ticks = [{"choices": ["warm", "vague"]}, "warm", ["vague", "warm", "long"]]
    rows = [
        {
            "id": n,
            "chat": chat,
            "turn": 7,
            "model": "heron",
            "marks": ticked,
            "fluent": [{"rating": n + 2}],
            "annotator": n,
        }
        | {"annotation_id": n, "lead_time": 1.5}
        for n, ticked in enumerate(ticks)
    ]
    short = tmp_path / f"short.{ending}"
    if ending == "json":
        short.write_text(json.dumps(rows))
    else:
        cells = [{k: v if isinstance(v, str) else json.dumps(v) for k, v in row.items()} for row in rows]
        pd.DataFrame(cells).to_csv(short, index=False)
    done = command(short)
    assert done.exit_code == 0, done.stderr
    expected = [["heron", f"marks.{option}", value] for option, of in EXPECTED.items() for value in of]
    assert sorted(ratings_of(command)) == sorted([*expected, *(["heron", "fluent", n] for n in (2, 3, 4))])
    beside = read_tables(command.out).ratings
    assert (set(beside["turn"]), set(map(json.dumps, map(json.loads, beside["chat"])))) == ({"7"}, {json.dumps(chat)})


def test_pairs_in_the_short_export_of_label_studio(command, tmp_path: Path):
    row = {
        "id": 1,
        "annotator": 1,
        "annotation_id": 1,
        "lead_time": 2,
        "answer1": "Hi!",
        "better": [{"selected": "left"}],
    }
    (tmp_path / "short.json").write_text(json.dumps([{**row, **PAIR}]))
    done = command(tmp_path / "short.json")
    assert done.exit_code == 0, done.stderr
    assert votes_of(command) == [["heron", "otter", "better", "otter"]]


EXPECTED = {"warm": [1, 1, 1], "vague": [1, 0, 1], "long": [0, 0, 1]}


@pytest.mark.parametrize("new", ["in the annotation", "in the result", "nowhere"])
def test_unknown_fields_inside_annotations_of_label_studio(command, tmp_path: Path, new: str):
    rating = {**result("rating", "fluency", {"rating": 4}), **({"mood": 1} if new == "in the result" else {})}
    more: dict[str, Any] = {"weather": "wet"} if new == "in the annotation" else {}
    done = command(label_studio(tmp_path / "project.json", {"model": "heron"}, [rating], lead_time=3, **more))
    assert done.exit_code == 0, done.stderr
    added = {"in the annotation": ["annotations.weather"], "in the result": ["annotations.result.mood"]}
    assert unknown_fields(done.stdout) == added.get(new, [])


@pytest.mark.parametrize(
    "output", [{"completion": "4", "choices": []}, {"choices": [{"message": {"role": "assistant", "content": "4"}}]}]
)
def test_the_texts_of_inspect(command, tmp_path: Path, output: dict[str, Any]):
    """What was asked, and the answer and the target next to the score, of logs with and without a completion."""
    log = json.loads((SAMPLES / "inspect_log.json").read_text())
    log["samples"] = [{**log["samples"][0], "input": "2+2?", "target": "four", "output": output}]
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert command(tmp_path / "log.json").exit_code == 0
    assert shown(command)[0] == {("human", "2+2?"), ("lab/heron", "4")}
    assert {*read_tables(command.out).ratings["target"]} == {"four"}


def test_a_sample_of_inspect_with_several_turns(command, tmp_path: Path):
    """The whole conversation, without the system message and with the first question once."""
    said = [("system", "Be brief."), ("user", "2+2?"), ("assistant", "4"), ("user", "Sure?"), ("assistant", "Yes.")]
    messages = [{"id": f"m{n}", "role": role, "content": text} for n, (role, text) in enumerate(said)]
    log = json.loads((SAMPLES / "inspect_log.json").read_text())
    answer = {"messages": messages, "output": {"completion": "Yes."}}
    log["samples"] = [{**log["samples"][0], "input": "2+2?", **answer}]
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert command(tmp_path / "log.json").exit_code == 0
    (entry,) = entries(read_tables(command.out))
    (talk,) = entry.talks.values()
    names = {"user": "user", "assistant": "lab/heron"}
    told = [(line["who"].replace("human", "user"), line["text"]) for line in talk["lines"]]
    assert told == [(names[role], text) for role, text in said[1:]]


@pytest.mark.parametrize("added", [False, True])
def test_unknown_fields_inside_samples_of_inspect(command, tmp_path: Path, added: bool):
    log = json.loads((SAMPLES / "inspect_log.json").read_text())
    log["samples"][0] |= {"model_usage": {}, "working_time": 1, "uuid": "u", **({"moon": "full"} if added else {})}
    (tmp_path / "log.json").write_text(json.dumps(log))
    done = command(tmp_path / "log.json")
    assert done.exit_code == 0, done.stderr
    assert unknown_fields(done.stdout) == ["samples.moon"] * added


def shown(command: Any) -> tuple[set[tuple[str, str]], set[str | None]]:
    """Who said what in the viewer, and the reasons of answers."""
    details = [entry.details() for entry in entries(read_tables(command.out))]
    lines = (line for one in details for talk in one["talks"] for line in talk["lines"])
    reasons = {answer.get("reason") for one in details for answer in one["answers"]}
    return {(line["who"], line["text"]) for line in lines}, reasons


PRODIGY = {"id": 0, "text": "Hi!", "answer": "accept", "_annotator_id": "ann"}
OPTIONS = [{"id": "B", "text": "by heron"}, {"id": "A", "text": "by otter"}]
BOTH = {("human", "Hi!"), ("otter", "by otter"), ("heron", "by heron")}
TEXTS = {"prompt": "Hi!", "reply-1": "by otter", "reply-2": "by heron"}
TWO = [{"rank": 1, "value": "reply-2"}, {"rank": 2, "value": "reply-1"}]
TOLD = {
    "prodigy, a pair": ({**PRODIGY, "meta": PAIR, "options": OPTIONS, "accept": ["A"]}, BOTH, None),
    "prodigy, one": (
        {**PRODIGY, "meta": {"model": "otter"}, "options": [{"id": 1, "text": "bad"}], "accept": [1]},
        {("otter", "Hi!")},
        None,
    ),
    "argilla, a ranking": ({"fields": TEXTS, "metadata": MODELS, "responses": {"best": [given(TWO)]}}, BOTH, None),
    "argilla, a pair": ({"fields": TEXTS, "metadata": PAIR, "responses": {"best": [given("A")]}}, BOTH, None),
    "mt-bench, pairs": (
        {"question_id": 1, "model_1": "otter", "model_2": "heron", "judge": "j", "turn": 1}
        | {"g1_winner": "model_1", "g2_winner": "model_1", "g1_judgment": "Otter.", "g2_judgment": "Otter!"},
        set(),
        "With otter as A:\nOtter.\n\nWith heron as A:\nOtter!",
    ),
    "mt-bench, scores": (
        {"question_id": 1, "model": "otter", "judge": "j", "turn": 1, "score": 5, "judgment": "Fine. [[5]]"},
        set(),
        "Fine. [[5]]",
    ),
    "arena-hard": (
        {"question_id": 1, "model": "otter", "judge": "j", "games": [{"score": "A>B", "judgment": "A is better."}]},
        set(),
        "A is better.",
    ),
}


@pytest.mark.parametrize("form", TOLD)
def test_texts_and_reasons_of_tools_are_in_the_viewer(command, tmp_path: Path, form: str):
    row, said, reason = TOLD[form]
    done = command(lines(tmp_path / "rows.jsonl", [row]))
    assert done.exit_code == 0, done.stderr
    assert shown(command) == (said, {reason})
    assert not unknown_fields(done.stdout)


def test_raters_who_ticked_nothing_are_counted_where_the_file_cannot_show_them(command, tmp_path: Path):
    answers = [("marks", "choices", {"choices": ["warm", "vague"]}), ("fluency", "rating", {"rating": 4})]
    results = [[result(kind, name, value) for name, kind, value in answers[start:]] for start in (0, 1, 1)]
    tasks = [json.loads(label_studio(tmp_path / "one.json", {"model": "heron"}, one).read_text())[0] for one in results]
    (tmp_path / "all.json").write_text(json.dumps([{**task, "id": n} for n, task in enumerate(tasks)]))
    done = command(tmp_path / "all.json")
    assert done.exit_code == 0, done.stderr
    assert "an empty answer from them. 2 raters answered only questions that have no ticks." in done.stdout


def test_nothing_ticked_in_prodigy_is_an_answer(command, tmp_path: Path):
    options = [{"id": one, "text": one} for one in ("warm", "vague")]
    row = {**PRODIGY, "meta": {"model": "otter"}, "options": options, "accept": ["warm", "vague"]}
    done = command(lines(tmp_path / "rows.jsonl", [row, {**row, "id": 1, "accept": []}]))
    assert done.exit_code == 0, done.stderr
    assert [value for *_, value in ratings_of(command)] == [1, 1, 0, 0]


def test_answers_that_are_no_ratings_have_a_ready_command(command, tmp_path: Path):
    """As FED's lists have them; words of a scale next to them stay ratings."""
    sheet = {"context": "User: Hi!", "response": "System: Hello!", "system": "otter"}
    words = ["agree", "disagree", "agree", "neutral", "agree", "none, as it seems"]
    given = {"Correct": [2, "N/A (no err)", 1, "2"], "Useful": words}
    path = lines(tmp_path / "sheet.jsonl", [{**sheet, "annotations": given}])
    refused = command(path)
    typed = re.search(r"leave such answers out with (--map .*), or write", " ".join(refused.stderr.split()))
    assert typed is not None
    assert "N/A (no err)=" in typed[1]
    done = command(path, *shlex.split(typed[1]))
    assert done.exit_code == 0, done.stderr
    assert sorted(value for *_, value in ratings_of(command)) == [1, 2, 2, 2, 3, 4, 4, 4]
    assert "agree → 4" in done.stderr


def labelbox(item: str, user: str, *answers: dict[str, Any]) -> dict[str, Any]:
    label = {"label_details": {"created_by": user}, "annotations": {"objects": [], "classifications": list(answers)}}
    about = {"data_row": {"external_id": item}, "metadata_fields": [{"schema_name": "model", "value": "heron"}]}
    return {**about, "media_attributes": {}, "projects": {"p": {"name": "n", "labels": [label]}}}


def test_exports_of_labelbox(command, tmp_path: Path):
    """Radio buttons, check lists and texts are what they are, each of its rater."""
    ticks = [
        {"name": "marks", "checklist_answers": [{"name": one} for one in of]} for of in (["warm", "vague"], ["warm"])
    ]
    scores = [{"name": "fluency", "radio_answer": {"name": score}} for score in ("4", "2")]
    why = {"name": "why", "text_answer": {"content": "ok"}}
    rows = [
        labelbox(f"d{n}", f"u{n}@x.org", *answers, why) for n, answers in enumerate(zip(ticks, scores, strict=True))
    ]
    done = command(lines(tmp_path / "export.ndjson", rows))
    assert done.exit_code == 0, done.stderr
    marks = [["heron", "marks.vague", 0], ["heron", "marks.vague", 1], *2 * [["heron", "marks.warm", 1]]]
    assert sorted(ratings_of(command)) == [["heron", "fluency", 2], ["heron", "fluency", 4], *marks]
    assert {*read_tables(command.out).ratings["why"]} == {"ok"}
    assert not unknown_fields(done.stdout)


def test_pairs_of_labelbox_are_comparisons(command, tmp_path: Path):
    """Where an item's metadata names two models; what is drawn on it is counted."""
    answers = [{"name": "better", "radio_answer": {"name": side}} for side in "AB"]
    rows = [labelbox(f"d{n}", "u@x.org", answer) for n, answer in enumerate(answers)]
    for row in rows:
        models = {"model_a": "heron", "model_b": "otter"}
        row["metadata_fields"] = [{"schema_name": name, "value": model} for name, model in models.items()]
        row["projects"]["p"]["labels"][0]["annotations"]["objects"] = [{"name": "span"}]
    done = command(lines(tmp_path / "export.ndjson", rows))
    assert done.exit_code == 0, done.stderr
    got = read_tables(command.out).comparisons
    assert got[["item_id", "metric", "winner"]].values.tolist() == [
        ["d0", "better", "heron"],
        ["d1", "better", "otter"],
    ]
    assert "rows that hold no answer of labelbox: 2." in done.stdout


def test_labels_of_doccano(command, tmp_path: Path):
    row = {"id": 1, "text": "Hi!", "label": ["warm", "vague"], "Comments": [], "model": "heron"}
    done = command(lines(tmp_path / "all.jsonl", [row, {**row, "id": 2, "label": []}]))
    assert done.exit_code == 0, done.stderr
    assert [value for *_, value in ratings_of(command)] == [1, 1, 0, 0]
    assert shown(command)[0] == {("heron", "Hi!")}
