"""`parlai-humaneval models`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from parlai_humaneval.cli.models import models
from parlai_humaneval.models.zoo.entries import ModelSpec, load_zoo


@pytest.fixture
def own_zoo(tmp_path: Path, tiny_specs: list[ModelSpec]) -> str:
    path = tmp_path / "own.yaml"
    path.write_text(json.dumps({"models": {"own": {"options": tiny_specs[0].options}}}), encoding="utf-8")
    return str(path)


def test_list_shows_all_and_own_models(tmp_path: Path) -> None:
    """Guards the table and its JSON, which hold the same models, grouped by how one gets them."""
    path = tmp_path / "own.yaml"
    path.write_text("models: {own: {options: {model: repeat_label}}}", encoding="utf-8")
    table = CliRunner().invoke(models, ["list", "--zoo", str(path)])
    listed = json.loads(CliRunner().invoke(models, ["list", "--zoo", str(path), "--json"]).output)
    assert {entry["name"] for entry in listed} == {*load_zoo(), "own"}
    places = {entry["name"]: table.output.index(f"\n{entry['name']} ") for entry in listed}
    assert places["eliza"] < places["blender_3B"] < places["liu2023_gpt2xl_bst"] < places["local_vllm"] < places["own"]
    assert "2.7 billion" in table.output


def test_check_tells_ready_from_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards the exit status that scripts rely on, and the advice."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    good = CliRunner().invoke(models, ["check", "eliza", "blender_90M"])
    assert good.exit_code == 0
    assert "eliza: ready" in good.output
    assert "blender_90M: to download" in good.output
    assert "the first load downloads it" in good.output
    bad = CliRunner().invoke(models, ["check", "eliza", "tiny_generator", "--json"])
    assert bad.exit_code == 1
    by_name = {result["name"]: result for result in json.loads(bad.stdout)}
    assert by_name["eliza"]["ok"] is True
    assert by_name["tiny_generator"]["state"] == "to train"
    assert "train-tiny" in " ".join(by_name["tiny_generator"]["missing"])


def test_check_all_is_a_table_of_the_whole_zoo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards --all: every model is a line with its state, JSON says the same, and what is missing is no failure."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    table = CliRunner().invoke(models, ["check", "--all"])
    assert table.exit_code == 0, table.exception
    lines = {line.split()[0]: line for line in table.stdout.splitlines() if line.strip()}
    assert set(load_zoo()) <= set(lines)
    assert lines["ji2022_lstm"].rstrip().endswith("to train")
    assert "cannot       The environment variable OPENAI_API_KEY is not set" in lines["hosted_gpt-4o-mini"]
    assert lines["human"].rstrip().endswith("in a launch")
    assert "cannot       agent" not in table.stdout
    assert lines["local_ollama"].rstrip().endswith("to serve     http://localhost:11434/v1")
    listed = CliRunner().invoke(models, ["check", "--all", "--json"])
    for result in json.loads(listed.stdout):
        assert result["state"] in lines[result["name"]]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["check"], "Give the names of models, or --all"),
        (["check", "eliza", "--all"], "Give the names of models, or --all"),
        (["check", "--all", "--load"], "--load needs names"),
    ],
)
def test_check_wants_names_or_all(words: list[str], said: str) -> None:
    """Guards against a check of nothing, and against a download of the whole zoo."""
    result = CliRunner().invoke(models, words)
    assert result.exit_code == 2
    assert said in result.output


def test_the_exit_status_of_a_check(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards scripts: 0 for what a launch may begin with, 1 for what is to be trained, lacks something, or is silent."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def status(*words: str) -> int:
        return CliRunner().invoke(models, ["check", *words]).exit_code

    assert [status(name) for name in ("eliza", "blender_90M", "local_ollama", "human")] == [0, 0, 0, 0]
    assert [status(name) for name in ("tiny_generator", "ji2022_lstm", "hosted_gpt-4o-mini")] == [1, 1, 1]
    assert status("eliza", "tiny_generator") == 1
    assert [status(name, "--load") for name in ("eliza", "human", "tiny_generator")] == [0, 1, 1]
    gone = tmp_path / "gone.yaml"
    options = {"model": "parlai_humaneval/chat_completions", "base_url": "http://127.0.0.1:9/v1", "served_model": "m"}
    entry = {"options": {**options, "request_retries": 0}, "origin": "endpoint", "running": {"retries": 0}}
    gone.write_text(json.dumps({"models": {"gone": entry}}), encoding="utf-8")
    assert [status("gone", "--zoo", str(gone)), status("gone", "--load", "--zoo", str(gone))] == [0, 1]


def test_check_all_fails_for_a_wrong_zoo_file(tmp_path: Path) -> None:
    """Guards the one failure of --all, which names file and key."""
    path = tmp_path / "wrong.yaml"
    path.write_text("models: {a: {options: {model: x}, trainings: {}}}", encoding="utf-8")
    result = CliRunner().invoke(models, ["check", "--all", "--zoo", str(path)])
    assert result.exit_code == 1
    assert f"{path}: models.a.trainings: unknown key. Did you mean training" in result.output


def test_check_load_asks_for_a_reply(own_zoo: str) -> None:
    """Guards --load with a real TorchAgent: it must not only load but speak."""
    result = CliRunner().invoke(models, ["check", "own", "--load", "--zoo", own_zoo, "--json"])
    assert result.exit_code == 0, result.stderr
    (checked,) = json.loads(result.stdout)
    assert checked["state"] == "ready"
    assert checked["reply"]
    assert checked["load_s"] >= 0


def test_chat_answers_line_by_line() -> None:
    """Guards the conversation and its JSON for programs."""
    result = CliRunner().invoke(models, ["chat", "eliza", "--json"], input="Hi!\nI need tea\n\n")
    replies = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert len(replies) == 2
    assert "tea" in replies[1]["text"]


@pytest.mark.parametrize("command", [["check", "elisa"], ["chat", "elisa"]])
def test_a_wrong_name_is_one_clear_line(command: list[str]) -> None:
    """Guards against tracebacks."""
    result = CliRunner().invoke(models, command)
    assert result.exit_code == 1
    assert "Did you mean eliza" in result.output


def test_train_tiny_makes_a_model_that_speaks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Guards the one command: after it the zoo's tiny_generator is found, loads and answers, without its optimiser."""
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    trained = CliRunner().invoke(models, ["train-tiny", "--seconds", "2", "--json"])
    assert trained.exit_code == 0, trained.stderr
    made = Path(json.loads(trained.stdout)["model_file"])
    assert made == tmp_path / "models" / "tiny_generator" / "model"
    assert made.stat().st_size < 10_000_000
    checked = CliRunner().invoke(models, ["check", "tiny_generator", "--load", "--json"])
    assert json.loads(checked.stdout)[0]["reply"]
