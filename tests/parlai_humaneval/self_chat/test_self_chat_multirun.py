"""Shards as the jobs of a Hydra multirun: run by Hydra's own launcher, and by submitit's in processes of their own."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from make_talkers import contents

from parlai_humaneval.models.zoo.entries import load_zoo, resolve
from parlai_humaneval.self_chat import SelfChatSettings, generate
from parlai_humaneval.self_chat.merge import merge

MODELS = ["dull", "retrieval"]


def multirun(folder: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """What the command says, run in ``folder``."""
    command = [sys.executable, "-m", "parlai_humaneval.cli.self_chat_multirun", *arguments]
    # Ray wants a token, and writes it to the home folder.
    environment = {**os.environ, "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=check, timeout=280
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "launcher",
    [
        ["hydra/launcher=basic"],
        ["hydra/launcher=submitit_local", "hydra.launcher.timeout_min=5"],
        pytest.param(
            ["hydra/launcher=ray", "hydra.launcher.ray.init.address=local", "+hydra.launcher.ray.init.num_cpus=2"],
            marks=pytest.mark.skipif(
                importlib.util.find_spec("hydra_plugins.hydra_ray_launcher") is None,
                reason="hydra-ray-launcher, which asks for an older cloudpickle than ours, is not installed",
            ),
        ),
    ],
    ids=lambda launcher: launcher[0].partition("=")[2],
)
def test_jobs_make_what_one_run_makes(launcher: list[str], tmp_path: Path) -> None:
    """Guards the recipe from the command to the merged files: byte for byte those of one run, whatever runs the jobs."""
    asked = ["models=[dull,retrieval]", "pairs=true", "num_dialogues=5", "exchanges=2", "start=openers", "seed=3"]
    multirun(tmp_path, *asked, "out=chats", "shards=2", *launcher)
    merge([tmp_path / "chats"], tmp_path / "chats")
    settings = SelfChatSettings(num_dialogues=5, exchanges=2, start="openers", seed=3)
    generate(resolve(MODELS, load_zoo()), [("dull", "retrieval")], settings, tmp_path / "whole")
    assert contents(tmp_path / "chats") == contents(tmp_path / "whole") != {}


def test_a_job_that_fails_fails_the_command_with_its_sentence(tmp_path: Path) -> None:
    """Guards people who mistype a model: a status that scripts see, and what to do."""
    failed = multirun(tmp_path, "models=[dul]", "num_dialogues=1", "out=chats", check=False)
    assert failed.returncode != 0
    assert "Did you mean dull" in failed.stderr
    assert not (tmp_path / "chats" / "shard-01-of-01").exists()


def test_without_slurm_a_sentence_says_so(tmp_path: Path) -> None:
    """Guards whoever starts the jobs elsewhere than on the cluster: no traceback of submitit's, and no jobs."""
    if shutil.which("srun"):
        pytest.skip("Slurm is here")
    asked = ["models=[dull]", "num_dialogues=1", "out=chats", "shards=2"]
    failed = multirun(tmp_path, "--config-name", "slurm", *asked, check=False)
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error: this machine has no Slurm")
    assert "Traceback" not in failed.stderr
    assert not (tmp_path / "chats").exists()


def test_slurm_gets_what_the_recipe_and_the_command_say() -> None:
    """Guards the settings for Slurm, which is not here: submitit's own schema takes them, and overrides reach it."""
    command = [
        sys.executable,
        "-m",
        "parlai_humaneval.cli.self_chat_multirun",
        "--config-name",
        "slurm",
        "--cfg",
        "hydra",
    ]
    asked = ["models=[dull]", "num_dialogues=1", "out=chats", "shards=3", "hydra.launcher.partition=gpu"]
    shown = subprocess.run([*command, *asked], capture_output=True, text=True, check=True, timeout=120).stdout
    assert "SlurmLauncher" in shown
    for line in ("partition: gpu", "timeout_min: 240", "max_num_timeout: 5", "gpus_per_node: 1"):
        assert line in shown
