"""Studies of functions, programs and servers need no PyTorch: nothing imports it, and a local model says how to get it. Who
needs it waits for those parts of it alone that they need."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from warm_python import WarmPython

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


@pytest.fixture(scope="module")
def torch_alone() -> Iterator[WarmPython]:
    """Processes that have PyTorch, and none of what it imports on use."""
    with WarmPython(imports=("torch",)) as started:
        yield started


@pytest.mark.parametrize(("speaks", "shards"), [("parlai_without_torch()", False), ("pass", True)])
def test_only_processes_that_train_import_what_trains(
    speaks: str, shards: bool, torch_alone: WarmPython, tmp_path: Path
) -> None:
    """Guards three seconds of each start with a generator; training on several GPUs, which ParlAI's own commands do; and
    the area under a classifier's curve, which is computed all the same."""
    program = (
        f"import sys\nfrom parlai_humaneval.parlai_plugin.setup import parlai_without_torch\n{speaks}\n"
        "import parlai.core.torch_generator_agent as agents\n"
        "import parlai.core.torch_classifier_agent as classifiers\n"
        "print(agents.fsdp_utils.FSDP_AVAILABLE, 'torch.distributed.fsdp' in sys.modules, 'sklearn' in sys.modules)\n"
        "import torch.distributed.fsdp\n"
        "print(classifiers.auc([0, 1], [0, 1]), 'sklearn.metrics' in sys.modules)\n"
    )
    script = tmp_path / "imports.py"
    script.write_text(program, encoding="utf-8")
    done = torch_alone.run(str(script))
    assert done.stdout.split() == [*[str(shards)] * 3, "0.5", "True"], done.stderr
