"""Data that models are trained on: ranks and ratings of models are imported, and data without models refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tool_exports import unknown_fields

from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.viewer.entries import entries

RANKED = [{"model": model, "answer": f"by {model}", "rank": rank} for model, rank in (("otter", 2.0), ("heron", 1.0))]
NECTAR = {"prompt": "\n\nHuman: Hi\n\nAssistant: ", "answers": RANKED, "turns": 1, "num_responses": 2, "source": ["x"]}
ATTACK = {"transcript": "\n\nHuman: Hi\n\nAssistant: No", "num_params": "13B", "model_type": "rlhf", "rating": 1.0}
HELPSTEER = {"prompt": "p", "response": "r", "helpfulness": 3, "correctness": 4, "coherence": 4, "complexity": 1}
TREE = {"message_tree_id": "t", "prompt": {"text": "Hi", "role": "prompter", "replies": []}}


def file_of(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_ranks_of_nectar_are_comparisons_with_their_texts(command, tmp_path: Path):
    done = command(file_of(tmp_path / "nectar.jsonl", {**NECTAR, "good_natured": True}))
    assert done.exit_code == 0, done.stderr
    tables = read_tables(command.out)
    assert tables.comparisons[["model_a", "model_b", "winner", "rank_a"]].values.tolist() == [
        ["heron", "otter", "heron", 1]
    ]
    said = [line["text"] for entry in entries(tables) for talk in entry.details()["talks"] for line in talk["lines"]]
    assert sorted(said) == ["Hi", "Hi", "by heron", "by otter"]
    assert not unknown_fields(done.stdout)


def test_attacks_of_red_teams_are_ratings(command, tmp_path: Path):
    done = command(
        file_of(tmp_path / "red.jsonl", {**ATTACK, "red_team_member_id": 5, "task_description": "t", "tags": None})
    )
    assert done.exit_code == 0, done.stderr
    assert read_tables(command.out).ratings[["model", "value", "maximum"]].values.tolist() == [["rlhf 13B", 1, 4]]
    assert "low values are good" in done.stdout


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({**HELPSTEER, "verbosity": 2}, "does not say which models answered"),
        ({"prompt": "p", "response_1": "a", "response_2": "b", "preference_strength": -2}, "does not say which models"),
        ({"history": "Q", "human_ref_A": "a", "human_ref_B": "b", "labels": 1, "score_A": 3}, "are by people"),
        (TREE, "are by people"),
        ({"message_tree_id": "t", "parent_id": "m", "text": "A", "role": "assistant", "rank": 0}, "are by people"),
    ],
)
def test_data_without_models_are_refused_in_words(command, tmp_path: Path, row: dict[str, Any], why: str):
    refused = command(file_of(tmp_path / "rows.jsonl", row))
    assert (refused.exit_code, why in refused.stderr) == (1, True)


def test_preferences_with_models_are_read(command, tmp_path: Path):
    row = {
        "prompt": "p",
        "response_1": "a",
        "response_2": "b",
        "preference_strength": -2,
        "model_a": "otter",
        "model_b": "x",
    }
    path = file_of(tmp_path / "rows.jsonl", row)
    done = command(path, "--table", "comparisons", "--rename", "preference_strength=winner", "--set", "worker_id=")
    assert done.exit_code == 0, done.stderr
    columns = ["item_id", "prompt", "winner", "response_a"]
    assert read_tables(command.out).comparisons[columns].values.tolist() == [["p", "p", "otter", "a"]]


@pytest.mark.parametrize("ticked", [["warm"], []])
def test_crowd_elements_of_mechanical_turk(command, tmp_path: Path, ticked: list[str]):
    """All answers are in one cell of JSON: radio buttons, ticks (also none) and texts."""
    given = [["warm", "vague"], ticked]
    cells = [
        json.dumps(
            [
                {"marks": {one: one in ticks for one in ("warm", "vague")}, "fluent": {"1": False, "2": True}}
                | {"useful": {"label": "agree"}, "comment": "x"}
            ]
        ).replace('"', '""')
        for ticks in given
    ]
    rows = [f'h{n},w{n},Approved,10,heron,"{cell}"' for n, cell in enumerate(cells)]
    header = "HITId,WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.model,Answer.taskAnswers"
    (tmp_path / "batch.csv").write_text("\n".join([header, *rows]) + "\n")
    done = command(tmp_path / "batch.csv")
    assert done.exit_code == 0, done.stderr
    ratings = read_tables(command.out).ratings
    values = {name: of["value"].tolist() for name, of in ratings.groupby("criterion")}
    warm = int(bool(ticked))
    assert values == {"marks.warm": [1, warm], "marks.vague": [1, 0], "fluent": [2, 2], "useful": [4, 4]}
    assert ratings["comment"].tolist() == ["x"] * len(ratings)
