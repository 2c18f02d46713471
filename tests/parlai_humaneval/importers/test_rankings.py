"""Rankings of replies in Label Studio, Labelbox and Potato, which become a comparison of every two models."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from tool_exports import PAIR, label, label_studio, lines, potato, ratings_of, result, unknown_fields, votes_of

from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.viewer.entries import entries

ITEMS = [
    {"id": "r1", "model": "otter", "body": "by otter"},
    {"id": "r2", "model": "heron", "body": "by heron"},
    {"id": "r3", "model": "crane", "body": "by crane"},
]
ORDER = ["r2", "r3", "r1"]


def by_order(*models: str, metric: str) -> list[list[str]]:
    """A vote of every two, best first, in the order of the alphabet."""
    return sorted([*sorted(pair), metric, pair[0]] for pair in combinations(models, 2))


@pytest.mark.parametrize("value", [{"rank": ORDER}, ORDER])
def test_a_ranker_of_label_studio(command, tmp_path: Path, value: object):
    """With its list under the name of the tag, or by itself; models and texts are those of the list that was ranked."""
    data = {"prompt": "Hi!", "items": ITEMS}
    path = label_studio(tmp_path / "project.json", data, [result("ranker", "rank", {"ranker": value})])
    done = command(path)
    assert done.exit_code == 0, done.stderr
    assert sorted(votes_of(command)) == by_order("heron", "crane", "otter", metric="rank")
    assert not unknown_fields(done.stdout)
    talks = [talk for entry in entries(read_tables(command.out)) for talk in entry.talks.values()]
    assert {line["text"] for talk in talks for line in talk["lines"]} == {"Hi!", "by otter", "by heron", "by crane"}


def test_a_ranker_whose_list_names_no_models(command, tmp_path: Path):
    """The ids are taken for models, which is a guess; ratings of the same task stay ratings."""
    data = {"model": "otter", "items": [{"id": one["id"], "body": one["body"]} for one in ITEMS]}
    results = [result("ranker", "rank", {"ranker": {"rank": ORDER}}), result("rating", "fluency", {"rating": 4})]
    done = command(label_studio(tmp_path / "project.json", data, results))
    assert done.exit_code == 0, done.stderr
    assert sorted(votes_of(command)) == by_order("r2", "r3", "r1", metric="rank")
    assert ratings_of(command) == [["otter", "fluency", 4]]
    assert "rank ranks the models r1, r2, r3 (--map model:NAME=MODEL)" in done.stderr


def chat_of_labelbox(*annotations: dict[str, Any], user: str = "u1@x.org") -> dict[str, Any]:
    label = {
        "label_details": {"created_by": user},
        "annotations": {"objects": list(annotations), "classifications": []},
    }
    row = {"data_row": {"external_id": "chat 1"}, "metadata_fields": [], "media_attributes": {}}
    return {**row, "projects": {"p": {"name": "n", "labels": [label]}}}


def task(name: str, parent: str, **data: Any) -> dict[str, Any]:
    return {"name": name, "message_evaluation_task": {"format": name, "data": {"parent_message_id": parent, **data}}}


def ranked(*models: str) -> list[dict[str, Any]]:
    places = enumerate(models, start=1)
    return [{"message_id": f"m{n}", "model_config_name": model, "order": n} for n, model in reversed([*places])]


def test_rankings_of_messages_in_labelbox(command, tmp_path: Path):
    """Two turns of a chat are two items; what else is drawn is counted, and rankings spelled as for import are read."""
    first = task("message-ranking", "t1", ranked_messages=ranked("heron", "crane", "otter"))
    second = task("message-ranking", "t2", ranked_messages=ranked("otter", "heron"))
    row = chat_of_labelbox(first, second, {"name": "span"})
    done = command(lines(tmp_path / "export.ndjson", [row]))
    assert done.exit_code == 0, done.stderr
    assert "Read as --from labelbox" in done.stderr
    right = [
        *by_order("heron", "crane", "otter", metric="message-ranking"),
        ["heron", "otter", "message-ranking", "otter"],
    ]
    assert sorted(votes_of(command)) == sorted(right)
    assert {*read_tables(command.out).comparisons["item_id"]} == {"chat 1:t1", "chat 1:t2"}
    assert "rows that hold no answer of labelbox: 1." in done.stdout
    camel = json.dumps(row)
    for name in ("message_evaluation_task", "parent_message_id", "ranked_messages", "model_config_name"):
        head, *tail = name.split("_")
        camel = camel.replace(name, head + "".join(word.capitalize() for word in tail))
    (tmp_path / "export.ndjson").write_text(camel + "\n")
    assert command(tmp_path / "export.ndjson", "--force").exit_code == 0
    assert sorted(votes_of(command)) == sorted(right)


def test_a_message_that_was_selected_in_labelbox(command, tmp_path: Path):
    """A comparison if the metadata name both models; else nothing says what it was compared with."""
    selected = task("message-single-selection", "t1", message_id="m1", model_config_name="heron")
    row = chat_of_labelbox(selected)
    refused = command(lines(tmp_path / "export.ndjson", [row]))
    assert (refused.exit_code, "not the models that it was compared with" in refused.stderr) == (1, True)
    row["metadata_fields"] = [{"schema_name": name, "value": model} for name, model in PAIR.items()]
    done = command(lines(tmp_path / "export.ndjson", [row]))
    assert done.exit_code == 0, done.stderr
    assert votes_of(command) == [["heron", "otter", "message-single-selection", "heron"]]


def test_a_ranking_of_potato(command, tmp_path: Path):
    """Ties share a rank; the item says which model an option is."""
    answers = {
        "ann": {"i1": [label("best", "rank_order", "B,D=A")]},
        "ben": {"i1": [label("best", "rank_order", "A,B,D")]},
    }
    items = [{"id": "i1", "text": "t", "model_A": "otter", "model_B": "heron", "model_D": "crane"}]
    done = command(*potato(tmp_path, answers, items))
    assert done.exit_code == 0, done.stderr
    tied = [["crane", "otter", "best", "tie"], ["heron", "otter", "best", "heron"], ["crane", "heron", "best", "heron"]]
    right = [*tied, *by_order("otter", "heron", "crane", metric="best")]
    assert sorted(votes_of(command)) == sorted(right)
    assert read_tables(command.out).comparisons["worker_id"].nunique() == 2


def test_a_text_that_cannot_be_rated_has_no_rating(command, tmp_path: Path):
    """What Potato's ``bad_text_label`` saves, which is no point of the scale."""
    answers = {user: {"i1": [label("fluent", *one)]} for user, one in (("ann", ("bad_text", "0")), ("ben", ("4", "4")))}
    done = command(*potato(tmp_path, answers, [{"id": "i1", "text": "t", "model": "heron"}]))
    assert done.exit_code == 0, done.stderr
    assert ratings_of(command) == [["heron", "fluent", 4]]
    assert "rows of ratings without an answer (value): 1." in done.stdout


@pytest.mark.parametrize(
    ("given", "winners"),
    [
        ([label("better", "selection", "A"), label("better", "justification", '{"reasons": []}')], {"better": "otter"}),
        ([label("better", "scale_value", "-2")], {"better": "otter"}),
        ([label("by", "warm", "B"), label("by", "safe", "tie")], {"by.warm": "heron", "by.safe": "tie"}),
    ],
)
def test_pairs_of_potato_in_each_of_its_modes(command, tmp_path: Path, given: list[Any], winners: dict[str, str]):
    done = command(*potato(tmp_path, {"ann": {"i1": given}}, [{"id": "i1", "text": "t", **PAIR}]))
    assert done.exit_code == 0, done.stderr
    assert {metric: winner for _, _, metric, winner in votes_of(command)} == winners


def test_keys_of_options_in_potato_are_no_ratings(command, tmp_path: Path):
    """With ``sequential_key_binding`` the value is the number of the option's key, of one option or of several; a scale with
    numbers of its own stays what it is, and a written answer next to the options is a column."""
    said = [(["good"], ["warm", "vague"], "3"), (["bad"], ["vague"], "4"), (["good"], ["warm"], "3")]
    keys = {"good": "1", "bad": "2", "warm": "1", "vague": "2"}
    answers = {
        f"u{n}": {
            "i1": [
                *(
                    label(name, option, keys[option])
                    for name, of in (("mood", mood), ("marks", marks))
                    for option in of
                ),
                label("grid", "clear", point),
                label("grid", "kind", point),
                label("mood", "free_response", f"because {n}"),
            ]
        }
        for n, (mood, marks, point) in enumerate(said)
    }
    done = command(*potato(tmp_path, answers, [{"id": "i1", "text": "t", "model": "heron"}]))
    assert done.exit_code == 0, done.stderr
    values = {"mood": [4, 2, 4], "marks.warm": [1, 0, 1], "marks.vague": [1, 1, 0]}
    values |= {f"grid.{option}": [3, 4, 3] for option in ("clear", "kind")}
    assert sorted(ratings_of(command)) == sorted(["heron", name, n] for name, of in values.items() for n in of)
    assert "mood: numbers are keys of good, bad" in done.stderr
    assert "marks: numbers are keys of warm, vague" in done.stderr
    assert "because 0" in {*read_tables(command.out).ratings["mood.free_response"]}


def test_buckets_of_a_ranker_are_ratings(command, tmp_path: Path):
    """Each bucket is a criterion of every reply, 1 or 0; what stays in the list of the tag (``_``) is in no bucket."""
    buckets = [{"good": ["r1", "r2"], "odd": [], "_": ["r3"]}, {"good": ["r2"], "odd": ["r1"], "_": ["r3"]}]
    results = [[result("ranker", "rank", {"ranker": one})] for one in buckets]
    tasks = [json.loads(label_studio(tmp_path / "p.json", {"items": ITEMS}, one).read_text())[0] for one in results]
    (tmp_path / "p.json").write_text(json.dumps([{**task, "id": n} for n, task in enumerate(tasks)]))
    done = command(tmp_path / "p.json")
    assert done.exit_code == 0, done.stderr
    marks = {"otter": [(1, 0), (0, 1)], "heron": [(1, 0), (1, 0)], "crane": [(0, 0), (0, 0)]}
    names = ("rank.good", "rank.odd")
    right = [[m, name, n] for m, of in marks.items() for both in of for name, n in zip(names, both, strict=True)]
    assert sorted(ratings_of(command)) == sorted(right)
    assert votes_of(command) == []
    assert {*read_tables(command.out).ratings["response"]} == {"by otter", "by heron", "by crane"}
