"""Exports of annotation tools as tests write them, and what an import made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parlai_humaneval.tables.files import read_tables

PAIR = {"model_a": "otter", "model_b": "heron"}


def lines(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def potato(folder: Path, answers: dict[str, dict[str, list[Any]]], items: Sequence[dict[str, Any]]) -> list[Path]:
    """A project of Potato 2: user → item → pairs of a label and its value."""
    for user, given in answers.items():
        (folder / "out" / user).mkdir(parents=True)
        state = {"user_id": user, "instance_id_to_label_to_value": given, "instance_id_to_span_to_value": {}}
        (folder / "out" / user / "user_state.json").write_text(json.dumps(state))
    return [folder / "out", lines(folder / "items.jsonl", items)]


def label(schema: str, name: str, value: Any) -> list[Any]:
    return [{"schema": schema, "name": name}, value]


def unknown_fields(stdout: str) -> list[str]:
    """The fields that no table has and the format does not know, as the command lists them."""
    listed = re.search(r"Unknown fields of .*? are (?:kept|left out): (.*?)\.(?: |$)", " ".join(stdout.split()))
    return listed[1].split(", ") if listed else []


def votes_of(command: Any) -> list[list[Any]]:
    return read_tables(command.out).comparisons[["model_a", "model_b", "metric", "winner"]].values.tolist()


def ratings_of(command: Any) -> list[list[Any]]:
    return read_tables(command.out).ratings[["model", "criterion", "value"]].values.tolist()


def result(kind: str, name: str, value: Any) -> dict[str, Any]:
    return {"id": "r", "type": kind, "from_name": name, "to_name": "chat", "value": value}


def label_studio(path: Path, data: dict[str, Any], results: Sequence[dict[str, Any]], **more: Any) -> Path:
    annotation = {"id": 1, "completed_by": 7, "was_cancelled": False, "result": results, **more}
    path.write_text(json.dumps([{"id": 1, "data": data, "annotations": [annotation]}]))
    return path


def argilla(path: Path, records: Sequence[dict[str, Any]]) -> Path:
    path.write_text(json.dumps(list(records)))
    return path


MODELS = {"reply-1": "otter", "reply-2": "heron", "reply-3": "crane"}


def given(value: Any, status: str = "submitted") -> dict[str, Any]:
    return {"user_id": "u1", "value": value, "status": status}
