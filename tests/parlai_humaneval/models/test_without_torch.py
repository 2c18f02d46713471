"""Studies of functions, programs and servers need no PyTorch: nothing imports it, and a local model says how to get it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HIDING = """
import sys
from importlib.machinery import PathFinder

HIDDEN = {"torch", "transformers", "accelerate", "tokenizers", "safetensors", "huggingface_hub"}


class Others:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else PathFinder.find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Others
from parlai_humaneval.cli import main

main(sys.argv[1:])
"""
"""A Python without the packages, and our command in it."""
ZOO = """
models:
  function: {options: {model: parlai_humaneval/callable, function: "mine.py:reply"}}
  weights: {options: {model: parlai_humaneval/causal_lm, hf_model: .}}
  trained: {options: {model: parlai_humaneval/lstm, model_file: mine.py}}
  generator: {options: {model: transformer/generator, model_file: mine.py}}
  gpt2: {options: {model: hugging_face/gpt2}}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text("def reply(history):\n    return f'{len(history)} lines'\n", encoding="utf-8")
    (tmp_path / "zoo.yaml").write_text(ZOO, encoding="utf-8")
    return tmp_path


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", HIDING, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=240, check=False)


def test_functions_and_packaged_models_answer(folder: Path) -> None:
    """Guards a small installation: a PyTorch that is imported somewhere on the way would end it."""
    done = run(folder, "models", "check", "function", "eliza", "retrieval", "--load", "--zoo", "zoo.yaml")
    assert done.returncode == 0, done.stderr
    assert "1 lines" in done.stdout


@pytest.mark.parametrize("model", ["weights", "trained", "generator", "gpt2"])
def test_models_that_compute_here_say_which_command_installs_what_they_need(folder: Path, model: str) -> None:
    """Guards each way in to PyTorch: our agents, ParlAI's, and those of Hugging Face."""
    done = run(folder, "models", "check", model, "--load", "--zoo", "zoo.yaml")
    assert f"{model} needs PyTorch and transformers, which are not both installed" in " ".join(done.stdout.split())
    assert "parlai-humaneval setup --local" in " ".join(done.stdout.split())
    assert "Traceback" not in done.stderr


def test_training_says_so_too(folder: Path) -> None:
    """Guards the commands that make models."""
    done = run(folder, "models", "train-tiny", "--out", "tiny")
    assert done.returncode != 0
    assert "models on this machine need torch, which is not installed" in " ".join(done.stderr.split())
