"""Exports of Argilla, in every form in which its versions and the Hub write them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tool_exports import MODELS, PAIR, argilla, given, ratings_of, unknown_fields, votes_of

from parlai_humaneval.tables.files import read_tables

RANKED = [{"rank": 1, "value": "reply-2"}, {"rank": 2, "value": "reply-1"}, {"rank": 2, "value": "reply-3"}]
BY_RANK = [["crane", "heron", "best", "heron"], ["crane", "otter", "best", "tie"], ["heron", "otter", "best", "heron"]]
FORMS = {
    "hub, version 1": {
        "prompt": "p",
        "reply-1": "r",
        "fluency": [given(4)],
        "best": [given(RANKED)],
        "fluency-suggestion": 2,
        "fluency-suggestion-metadata": {"score": None},
        "external_id": "x",
        "metadata": json.dumps({**MODELS, "model": "heron"}),
    },
    "records, version 1": {
        "fields": {"prompt": "p"},
        "metadata": {**MODELS, "model": "heron"},
        "responses": [
            {"user_id": "u1", "status": "submitted", "values": {"fluency": {"value": 4}, "best": {"value": RANKED}}}
        ],
    },
    "hub, version 2": {
        "id": "x",
        "status": "completed",
        "_server_id": "s",
        "prompt": "p",
        "fluency.responses": [4],
        "fluency.responses.users": ["u1"],
        "fluency.responses.status": ["submitted"],
        "best.responses": [RANKED],
        "best.responses.users": ["u1"],
        "best.responses.status": ["submitted"],
        "fluency.suggestion": 2,
        "model": "heron",
        **{f"model_{option}": model for option, model in MODELS.items()},
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_argilla(command, tmp_path: Path, form: str):
    """Ratings are ratings, and a ranking a comparison of every two of its models."""
    done = command(argilla(tmp_path / "records.json", [FORMS[form]]))
    assert done.exit_code == 0, done.stderr
    assert "Read as --from argilla" in done.stderr
    assert ratings_of(command) == [["heron", "fluency", 4]]
    assert sorted(votes_of(command)) == BY_RANK
    assert not unknown_fields(done.stdout)
    ranks = read_tables(command.out).comparisons
    assert set(zip(ranks["model_a"], ranks["rank_a"], strict=True)) == {("crane", 2), ("heron", 1)}
    assert ranks["worker_id"].nunique() == 1


def test_the_same_ticks_of_all_raters_are_no_ranking(command, tmp_path: Path):
    """Unless models of the options are known."""
    marks = {
        "id": "x",
        "fields": {"prompt": "p"},
        "metadata": {"model": "heron"},
        "responses": {"marks": [given(["warm", "vague"])]},
    }
    done = command(argilla(tmp_path / "records.json", [marks]))
    assert done.exit_code == 0, done.stderr
    assert ratings_of(command) == [["heron", "marks.warm", 1], ["heron", "marks.vague", 1]]
    best = {**marks, "metadata": MODELS, "responses": {"best": [given(["reply-2", "reply-1"])]}}
    assert command(argilla(tmp_path / "records.json", [best]), "--force").exit_code == 0
    assert votes_of(command) == [["heron", "otter", "best", "heron"]]


def test_rankings_by_order_and_without_models(command, tmp_path: Path):
    """Version 2 gives a list in order; options of which no field says the model are models, which is a guess."""
    record = {"id": "x", "status": "completed", "_server_id": "s", "model": "heron", "prompt": "p"}
    ranked = {"best.responses": [["heron", "otter"], ["otter", "heron"]], "best.responses.users": ["u1", "u2"]}
    done = command(argilla(tmp_path / "records.json", [{**record, **ranked}]))
    assert done.exit_code == 0, done.stderr
    assert votes_of(command) == [["heron", "otter", "best", "heron"], ["heron", "otter", "best", "otter"]]
    assert "best ranks the models heron, otter" in done.stderr


def test_discarded_answers_of_argilla_are_none(command, tmp_path: Path):
    answers = [given(4), {**given(1, "discarded"), "user_id": "u2"}, {**given(2, "draft"), "user_id": "u3"}]
    record = {"prompt": "p", "fluency": answers, "metadata": {"model": "heron"}}
    done = command(argilla(tmp_path / "records.json", [record, record]))
    assert done.exit_code == 0, done.stderr
    assert [value for *_, value in ratings_of(command)] == [4, 4]
    assert "Left out: rows that hold no answer of argilla: 4." in done.stdout


@pytest.mark.parametrize(("annotation", "metadata"), [("B", PAIR), ("heron", PAIR), ("2", {"model": "heron"})])
def test_annotated_records_of_argilla(command, tmp_path: Path, annotation: str, metadata: dict[str, str]):
    """Of datasets for text classification: a choice where two models are known, else a rating."""
    record = {
        "text": None,
        "inputs": {"prompt": "p", "reply": "r"},
        "prediction": [["A", 0.7], ["B", 0.3]],
        "prediction_agent": "a judge",
        "annotation": annotation,
        "annotation_agent": "ann",
        "multi_label": False,
        "id": "x",
        "metadata": metadata,
        "status": "Validated",
        "event_timestamp": None,
        "metrics": {},
    }
    done = command(argilla(tmp_path / "records.json", [record, {**record, "id": "y", "annotation": None}]))
    assert done.exit_code == 0, done.stderr
    assert "Read as --from argilla" in done.stderr
    if "model" in metadata:
        assert ratings_of(command) == [["heron", "annotation", 2]]
    else:
        assert votes_of(command) == [["heron", "otter", "annotation", "heron"]]


def test_a_choice_of_argilla_between_two_models(command, tmp_path: Path):
    record = {
        "fields": {"prompt": "p"},
        "metadata": PAIR,
        "responses": {"better": [given("A")], "why": [given("warm")]},
    }
    done = command(argilla(tmp_path / "records.json", [{**record, "id": "x"}]))
    assert done.exit_code == 0, done.stderr
    assert votes_of(command) == [["heron", "otter", "better", "otter"]]
    assert read_tables(command.out).comparisons["why"].tolist() == ["warm"]


def test_records_that_pandas_wrote_as_csv(command, tmp_path: Path):
    """Lists are in Python's own words there."""
    import pandas as pd

    pd.DataFrame([FORMS["hub, version 1"]]).to_csv(tmp_path / "records.csv", index=False)
    done = command(tmp_path / "records.csv")
    assert done.exit_code == 0, done.stderr
    assert ratings_of(command) == [["heron", "fluency", 4]]
    assert sorted(votes_of(command)) == BY_RANK
