"""`parlai-humaneval models train`: from a zoo entry to a model that is ready, and everything that may go wrong."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from parlai.scripts.train_model import TrainLoop
from taught import KV_MEMNN, spec_of, write_world
from warm_python import WarmPython

from parlai_humaneval.cli.models import models
from parlai_humaneval.models.baselines.training import _count_step_in_hand

ONE_EPOCH = {"num_epochs": 1, "validation_every_n_epochs": 1}
AGENTS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "kv_memnn": ("kv_memnn", {**KV_MEMNN, **ONE_EPOCH}),
    "lstm": (
        "lstm",
        {"hiddensize": 16, "embeddingsize": 16, "skip_generation": True, "validation_metric": "ppl", **ONE_EPOCH},
    ),
    "seq2seq": (
        "seq2seq",
        {"hiddensize": 16, "embeddingsize": 16, "numlayers": 1, "rnn_class": "lstm", "validation_metric": "ppl", **ONE_EPOCH,
         "skip_generation": True},
    ),
    "generator": (
        "transformer/generator",
        {"n_layers": 1, "embedding_size": 16, "ffn_size": 16, "n_heads": 2, "n_positions": 64, "skip_generation": True,
         "validation_metric": "ppl", **ONE_EPOCH},
    ),
}  # fmt: skip


class Shop:
    """A zoo file of one entry, and the command over it."""

    def __init__(self, folder: Path, agent: str, training: Mapping[str, Any], **more: Any) -> None:
        self.folder, self.data, self.zoo = folder, write_world(folder), folder / "zoo.yaml"
        spec = spec_of(agent, folder, training).model_dump(include={"options", "device", "training"})
        spec["options"]["model_file"] = "home:mine/model"
        spec["training"] |= more
        self.zoo.write_text(json.dumps({"models": {"mine": spec}}), encoding="utf-8")
        self.model_file = folder / "models" / "mine" / "model"

    def args(self, *args: str, data: bool = True) -> list[str]:
        return ["train", "mine", "--zoo", str(self.zoo), *(["--data", self.data] if data else []), *args]

    def train(self, *args: str, data: bool = True) -> Result:
        return CliRunner().invoke(models, self.args(*args, data=data))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARLAI_HUMANEVAL_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", AGENTS)
def test_an_entry_is_trained_and_ready(name: str, home: Path) -> None:
    """Guards the whole way for each agent: trained without a word of ParlAI's, checked, loaded, and it answers."""
    agent, training = AGENTS[name]
    shop = Shop(home, agent, training, takes="a second")
    done = shop.train("--json")
    assert done.exit_code == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["model_file"] == str(shop.model_file)
    assert told["valid"]["exs"] == 40
    assert not told["resumed"]
    checked = CliRunner().invoke(models, ["check", "mine", "--load", "--zoo", str(shop.zoo), "--json"])
    (result,) = json.loads(checked.output)
    assert result["ok"], result
    assert not list(shop.model_file.parent.glob("*unfinished*"))
    again = shop.train()
    assert again.exit_code == 1
    assert "mine has already been trained" in again.stderr


def test_an_interrupted_training_is_gone_on_with(home: Path, warm: WarmPython) -> None:
    """Guards resumption: Ctrl-C leaves a checkpoint and no model that looks ready; the next run goes on from its step.

    It does so with the scheduler that it was begun with, whichever is the default by now.
    """
    shop = Shop(
        home, "kv_memnn", {**KV_MEMNN, "num_epochs": 100_000, "save_every_n_secs": 1, "validation_every_n_epochs": -1}
    )
    work = shop.model_file.with_name("model.unfinished")
    program, said, told = str(Path(sys.executable).parent / "parlai-humaneval"), home / "said", home / "told"
    command = [program, "models", *shop.args("--set", "lr_scheduler=fixed")]
    process = warm.start(*command, streams=(os.devnull, said, told))
    patience = time.monotonic() + 120
    while not (work / "model.checkpoint.trainstats").exists() and time.monotonic() < patience:
        time.sleep(0.1)
    os.kill(process, signal.SIGINT)
    assert warm.wait(process) == 1
    errors = told.read_text(encoding="utf-8")
    assert "interrupted: the last checkpoint (step " in errors
    advice = errors.partition("try: ")[2]
    assert advice.startswith(f"parlai-humaneval models train mine --zoo {shop.zoo} ")
    assert advice.endswith(" --set lr_scheduler=fixed (continues from there)\n")
    assert not shop.model_file.exists()
    steps = json.loads((work / "model.checkpoint.trainstats").read_text(encoding="utf-8"))["train_steps"]

    other = shop.train("--set", "learningrate=0.5")
    assert "an interrupted training of mine with other options" in other.stderr
    done = shop.train("--set", f"max_train_steps={steps + 5}", "--json")
    assert done.exit_code == 0, done.stderr
    of_json = json.loads(done.stdout)
    assert of_json["resumed"]
    assert f"Continuing an interrupted training of mine from its checkpoint: step {steps}, epoch " in done.stderr
    assert of_json["valid"]["total_train_updates"] == steps + 5
    assert json.loads(Path(f"{shop.model_file}.opt").read_text(encoding="utf-8"))["lr_scheduler"] == "fixed"
    assert "checkpoint" not in Path(f"{shop.model_file}.opt").read_text(encoding="utf-8").replace(
        "load_from_checkpoint", ""
    )
    checked = CliRunner().invoke(models, ["check", "mine", "--load", "--zoo", str(shop.zoo)])
    assert checked.exit_code == 0, checked.output


def test_ctrl_c_while_a_checkpoint_is_written_counts(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards the interruption that ParlAI drops: the training went on, and whoever waited for its end waited forever."""
    shop = Shop(home, "kv_memnn", {**KV_MEMNN, "num_epochs": 20, "save_every_n_secs": 1e-6})
    save_stats, saved = TrainLoop._save_train_stats, list[str | None]()

    def pressed_meanwhile(loop: TrainLoop, suffix: str | None = None) -> None:
        save_stats(loop, suffix)
        saved.append(suffix)
        if len(saved) == 1:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(TrainLoop, "_save_train_stats", pressed_meanwhile)
    ended = shop.train()
    assert ended.exit_code == 1
    assert "interrupted: the last checkpoint (step 1" in ended.stderr
    assert len(saved) == 2, "it is saved once more at the end"


@pytest.mark.parametrize(("updates", "steps"), [(8, 8), (7, 7), (20, 7)])
def test_the_step_in_hand_is_counted(updates: int, steps: int) -> None:
    """Ctrl-C after an update and before its count: one step more; an agent with a count of its own changes nothing."""
    loop = SimpleNamespace(
        agent=SimpleNamespace(_number_training_updates=updates), _train_steps=7, parleys=14, update_freq=2
    )
    _count_step_in_hand(loop)
    assert (loop._train_steps, loop.parleys) == (steps, 2 * steps)


def test_an_interruption_before_the_first_checkpoint(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards Ctrl-C in the seconds in which ParlAI is imported or data are read: that nothing is kept is said."""

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    shop = Shop(home, *AGENTS["kv_memnn"])
    monkeypatch.setattr("parlai_humaneval.models.baselines.training.parsed", interrupt)
    done = shop.train("--set", "batchsize=4", "--seconds", "9")
    assert done.exit_code == 1
    assert "interrupted before the first checkpoint, so nothing was saved\n" in done.stderr
    assert done.stderr.strip().endswith(f"--zoo {shop.zoo} --data {shop.data} --set batchsize=4 --seconds 9.0")
    monkeypatch.setattr("parlai_humaneval.models.baselines.training.plan_training", interrupt)
    assert "interrupted before the training began" in shop.train().stderr


@pytest.mark.parametrize("args", [[], ["--print-command"]])
def test_nothing_to_learn_from_is_said(args: list[str], home: Path) -> None:
    """Guards an entry without a task: what to give is said before anything heavy is done."""
    shop = Shop(home, "lstm", {"num_epochs": 1})
    path = json.loads(shop.zoo.read_text(encoding="utf-8"))
    path["models"]["mine"]["training"]["options"].pop("task", None)
    shop.zoo.write_text(json.dumps(path), encoding="utf-8")
    done = shop.train(*args, data=False)
    assert done.exit_code == 1
    assert "pass your own dialogues with --data, or set training.options.task" in done.stderr


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"task": "no_such_task"}, "ParlAI finds no task “no_such_task”"),
        ({"batchsize": "many"}, "invalid int value: 'many'"),
        ({"batchsise": 3}, "has an option called batchsise"),
    ],
)
def test_a_check_finds_wrong_options_of_a_training(wrong: dict[str, Any], words: str, home: Path) -> None:
    """Guards a training that would end with a word of complaint after it was waited for."""
    shop = Shop(home, "lstm", wrong)
    result = CliRunner().invoke(models, ["check", "mine", "--zoo", str(shop.zoo), "--json"])
    (checked,) = json.loads(result.output)
    assert (result.exit_code, checked["state"], checked["why"]) == (1, "cannot", "options")
    assert words in checked["missing"][0]
    assert words in shop.train(data=False).stderr


def test_an_agent_by_its_short_name(home: Path, warm: WarmPython) -> None:
    """Guards zoo files that call an agent of this package as ParlAI's commands do; checked in a fresh process."""
    zoo = home / "short.yaml"
    entry = {"options": {"model": "parlai_humaneval/callable", "function": "bot.py:reply"}}
    zoo.write_text(json.dumps({"models": {"mine": entry}}), encoding="utf-8")
    (home / "bot.py").write_text("def reply(history):\n    return 'Hello!'\n", encoding="utf-8")
    program = str(Path(sys.executable).parent / "parlai-humaneval")
    done = warm.run(program, "models", "check", "mine", "--load", "--zoo", str(zoo))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "answers “Hi!” with: Hello!" in done.stdout


def test_ctrl_c_is_as_before_afterwards(home: Path) -> None:
    """Guards the process: ParlAI's loop sets its own handler of Ctrl-C and leaves it behind."""
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        assert Shop(home, *AGENTS["kv_memnn"]).train("--seconds", "1").exit_code == 0
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_printed_command_does_the_same(home: Path) -> None:
    """Guards --print-command: it trains nothing, and ParlAI's own parser takes it."""
    shop = Shop(home, *AGENTS["kv_memnn"])
    done = shop.train("--print-command", "--set", "embeddingsize=7")
    assert done.exit_code == 0, done.stderr
    assert not shop.model_file.exists()
    program, parlai, command, *args = shlex.split(done.stdout)
    assert (program, parlai, command) == ("parlai-humaneval", "parlai", "train_model")
    from parlai_humaneval.models.baselines.training import parser

    opt = parser().parse_args(args)
    assert (opt["embeddingsize"], opt["model_file"]) == (7, str(shop.model_file))
    assert Path(f"{opt['fromfile_datapath']}_train.txt").exists()


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--set", "embedingsize=3"], "neither ParlAI's training nor the agent has an option called embedingsize"),
        (["--set", "batchsize=many"], "invalid int value"),
        (["--set", "batchsize"], "is not KEY=VALUE"),
        (["--set", "model_file=/x"], "name the model's folder with --out"),
        (["--data", "/nowhere/mine"], "/nowhere/mine_train.*: there is no such file"),
        (["--set", "validation_metric=beauty", "--set", "num_epochs=2"], "KeyError: 'beauty'"),
    ],
)
def test_mistakes_are_one_clear_line(args: list[str], words: str, home: Path) -> None:
    """Guards against tracebacks, and against a wrong key that would be passed over."""
    done = Shop(home, *AGENTS["kv_memnn"]).train(*args)
    assert done.exit_code != 0
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_model_that_is_not_trained_here(home: Path) -> None:
    """Guards the way out for entries that are downloaded or packaged."""
    done = CliRunner().invoke(models, ["train", "eliza"])
    assert done.exit_code == 1
    assert "eliza has no `training` in its zoo file" in done.stderr
    assert "models check eliza" in done.stderr


def test_a_folder_that_cannot_be_written(home: Path) -> None:
    """Guards the message for a disc that refuses; a file stands where the folder would be."""
    (home / "file").write_text("", encoding="utf-8")
    done = Shop(home, *AGENTS["kv_memnn"]).train("--out", str(home / "file" / "folder"))
    assert done.exit_code == 1
    assert "folder/model.unfinished: Not a directory" in done.stderr


def test_what_has_to_be_there_first_is_said(home: Path) -> None:
    """Guards `before`: data that somebody has to bring is asked for, before any time is spent."""
    shop = Shop(home, "lstm", {"fromfile_datapath": "home:their/data"}, before=["their data, as DATA_train.txt"])
    done = shop.train(data=False)
    assert done.exit_code == 1
    assert "cannot be trained yet" in done.stderr
    assert "Needed first: their data, as DATA_train.txt" in done.stderr


def test_a_download_that_fails_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards ParlAI's tasks without the internet: what failed, and that one's own dialogues will do."""
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setattr("parlai.core.build_data.time.sleep", lambda seconds: None)
    shop = Shop(home, "lstm", {"task": "dailydialog"}, before=["a download of the data by ParlAI"])
    done = shop.train("--set", f"datapath={home / 'parlai'}", data=False)
    assert done.exit_code == 1
    assert "the data of its task dailydialog is not on this machine" in done.stderr
    assert "--data" in done.stderr
