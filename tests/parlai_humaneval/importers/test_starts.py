"""Answers about the same question are a cluster, whichever form it is in: the same text or id is the same ``start``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.report.section import Options
from parlai_humaneval.report.sections.comparisons import build
from parlai_humaneval.tables.files import read_tables

QUESTIONS = ["Is it raining?", "is it raining? ", "Who wrote Emma?"]


def chat(question: str, reply: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": question}, {"role": "assistant", "content": reply}]


def acute(question: str) -> dict[str, Any]:
    lines = ({"speaker": who, "text": f"{question}" if who == "user" else who} for who in ("user", "alpha", "beta"))
    user, alpha, beta = lines
    return {"dialogue_dicts": [{"dialogue": [user, alpha]}, {"dialogue": [user, beta]}]}


SIDES = {"model_a": "alpha", "model_b": "beta", "winner": "model_a"}
PAIR = {"chosen_model": "alpha", "rejected_model": "beta"}
GIVEN = {"from_name": "better", "type": "choices", "value": {"choices": ["A"]}}
FORMS: dict[str, Any] = {
    "arena": lambda q: {
        **SIDES,
        "judge": "ann",
        "tstamp": 1,
        "conversation_a": chat(q, "Yes."),
        "conversation_b": chat(q, "No."),
    },
    "arena without conversations": lambda q: {**SIDES, "judge": "ann", "tstamp": 1, "prompt": q},
    "hh_rlhf": lambda q: {
        **PAIR,
        "chosen": f"\n\nHuman: {q}\n\nAssistant: Yes.",
        "rejected": f"\n\nHuman: {q}\n\nAssistant: No.",
    },
    "hh_rlhf with messages": lambda q: {**PAIR, "chosen": chat(q, "Yes."), "rejected": chat(q, "No.")},
    "hh_rlhf with a prompt": lambda q: {**PAIR, "prompt": q, "chosen": "Yes.", "rejected": "No."},
    "acute_pairs": lambda q: {
        **acute(q),
        "speakers_to_eval": ["alpha", "beta"],
        "choice": "alpha",
        "question": "Better?",
    },
    "label_studio": lambda q: {
        "data": {"model_a": "alpha", "model_b": "beta", "prompt": q},
        "annotations": [{"completed_by": 1, "result": [GIVEN]}],
    },
    "mturk": lambda q: {
        "HITId": q,
        "WorkerId": "ann",
        "Answer.better": "A",
        **{f"Input.{name}": cell for name, cell in {**SIDES, "prompt": q}.items() if name != "winner"},
    },
    "argilla": lambda q: {
        "metadata": {"model_a": "alpha", "model_b": "beta"},
        "fields": {"prompt": q},
        "responses": [{"user_id": "ann", "status": "submitted", "values": {"better": {"value": "A"}}}],
    },
    "tables": lambda q: {**SIDES, "worker_id": "ann", "question": q.strip().lower()},
    "tables with a number": lambda q: {**SIDES, "worker_id": "ann", "question_id": len(q.strip())},
}


@pytest.mark.parametrize("form", FORMS)
def test_the_same_question_is_the_same_start(command, tmp_path: Path, form: str):
    path = tmp_path / "votes.json"
    rows = [{"id": number, **FORMS[form](question)} for number, question in enumerate(QUESTIONS, start=1)]
    if form.startswith("tables"):  # who answers a question twice gives a second answer
        rows = [{**row, "id": None, "worker_id": f"rater {number}"} for number, row in enumerate(rows)]
        rows = [{name: cell for name, cell in row.items() if name != "id"} for row in rows]
    path.write_text(json.dumps(rows), encoding="utf-8")
    result = command(path, "--from", form.split()[0], "--yes", "--repeats", "keep")
    assert result.exit_code == 0, result.output
    first, again, other = read_tables(command.out).comparisons["start"]
    assert first == again != other


def test_conversations_that_begin_differently_have_no_start(command, tmp_path: Path):
    path = tmp_path / "votes.json"
    row = {**FORMS["arena"]("Hi."), "conversation_b": chat("Hello.", "No.")}
    path.write_text(json.dumps([row]), encoding="utf-8")
    assert command(path, "--from", "arena").exit_code == 0
    assert read_tables(command.out).comparisons["start"].isna().all()


def test_a_report_on_votes_of_the_arena_is_by_question(command, tmp_path: Path):
    path = tmp_path / "votes.json"
    votes = [{**FORMS["arena"](f"Question {n // 3}?"), "winner": f"model_{'ab'[n % 2]}"} for n in range(30)]
    path.write_text(json.dumps(votes), encoding="utf-8")
    assert command(path, "--from", "arena").exit_code == 0
    assert "by question" in str(build(read_tables(command.out), Options()))
