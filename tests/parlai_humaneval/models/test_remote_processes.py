"""Models in processes of their own on this machine: the same dialogues, and nothing lost or left behind when one ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner
from remote_hands import SETTINGS, drawn, run_on, self_chats, self_chats_here

from parlai_humaneval.cli.self_chat import self_chat
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.workers.hosts import Hosts, RemoteAgent
from parlai_humaneval.models.workers.process import HostProcess, device_environment
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo, resolve

PAIRS = [("tiny_a", "tiny_a"), ("tiny_a_nucleus", "drawn"), ("drawn", "retrieval")]


@pytest.fixture(scope="module")
def specs(tiny_specs: list[ModelSpec]) -> list[ModelSpec]:
    """A greedy generator of ParlAI in two processes, the same weights that draw words, another model that does in one more
    process, and an embedded one here."""
    greedy = tiny_specs[0]
    search = {"inference": "nucleus", "topp": 0.9, "temperature": 3.0}
    nucleus = greedy.model_copy(update={"name": "tiny_a_nucleus", "options": {**greedy.options, **search}})
    two = {"engine": "processes", "replicas": 2}
    retrieval = resolve(["retrieval"], load_zoo())
    return [run_on(greedy, **two), run_on(nucleus, **two), run_on(drawn(), engine="processes"), *retrieval]


@pytest.fixture(scope="module")
def pool(specs: list[ModelSpec]) -> Iterator[ModelPool]:
    with ModelPool(specs, max_batch=2) as pool:  # so that some dialogues are over before others begin
        yield pool


@pytest.fixture(scope="module")
def here(specs: list[ModelSpec], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The dialogues that one process makes."""
    return self_chats_here(specs, PAIRS, tmp_path_factory.mktemp("here"))


def hosts_of(pool: ModelPool, model: str) -> Hosts:
    agent = pool.worker(model).agent
    assert isinstance(agent, RemoteAgent)
    return agent.hosts


def pids(hosts: Hosts) -> set[int]:
    return {replica.process.pid for replica in list(hosts.running) if isinstance(replica, HostProcess)}


def wait_until(what: Callable[[], Any], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not come to pass"
        time.sleep(0.05)


def own_model(folder: Path, code: str, **running: Any) -> ModelSpec:
    """A function of the user's, in processes."""
    (folder / "own_remote.py").write_text(code)
    options = {"model": "parlai_humaneval/callable", "function": "own_remote.py:reply"}
    return run_on(ModelSpec(name="own", options=options, folder=folder), engine="processes", **running)


def ask(pool: ModelPool, model: str, text: str, seed: int = 0) -> str:
    speaker = pool.speaker([model], seed=seed)
    speaker.observe({"text": text, "episode_done": False})
    return str(speaker.act()["text"])


@pytest.mark.slow
def test_dialogues_are_those_of_one_process(pool: ModelPool, here: dict[str, str], tmp_path: Path) -> None:
    """Guards personas, seeds, draws and who has heard what, on their way to another process."""
    assert self_chats(pool, PAIRS, tmp_path) == here
    assert len(set("".join(here.values()).split('"text": "'))) > 50, "models that always say the same show no mix-up"


@pytest.mark.slow
def test_models_that_share_weights_share_processes(pool: ModelPool) -> None:
    """Guards memory: a second setting of the search is no second copy."""
    assert hosts_of(pool, "tiny_a") is hosts_of(pool, "tiny_a_nucleus")
    assert len(pids(hosts_of(pool, "tiny_a")) | pids(hosts_of(pool, "drawn"))) == 3


@pytest.mark.slow
def test_a_killed_process_loses_no_dialogue_and_doubles_none(
    pool: ModelPool, here: dict[str, str], tmp_path: Path
) -> None:
    """Guards dialogues under way, whose model has to hear them anew elsewhere; and that another takes its place."""
    hosts, drawing = hosts_of(pool, "tiny_a"), hosts_of(pool, "drawn")
    before = pids(hosts) | pids(drawing)
    killed: set[int] = set()

    def kill_one_each(file: object) -> None:
        if not killed:
            killed.update({min(pids(hosts)), *pids(drawing)})
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    assert self_chats(pool, PAIRS, tmp_path, on_dialogue=kill_one_each) == here
    assert len(killed) == 2
    assert all(len(text.splitlines()) == SETTINGS.num_dialogues for text in here.values())
    wait_until(lambda: len(pids(hosts)) == 2 and len(pids(drawing)) == 1)
    assert len((pids(hosts) | pids(drawing)) - before) == 2
    assert pids(hosts) & before, "the one that lived is not started anew"


@pytest.mark.slow
def test_a_process_that_ends_while_it_loads_says_why(tmp_path: Path) -> None:
    """Guards the sentence for a model that takes the process with it: how that ended, and its last words."""
    code = "import os, sys\nprint('no more of this', file=sys.stderr)\nos._exit(3)\n"
    with pytest.raises(
        ZooError, match=r"own cannot be loaded: process \d+ ended with status 3; it last wrote: .*no more of this"
    ):
        ModelPool([own_model(tmp_path, code)]).load()


@pytest.mark.slow
def test_what_cannot_be_loaded_is_said_as_in_one_process(tmp_path: Path) -> None:
    """Guards the way of a ZooError from the other process; and that no process stays behind."""
    before = {child.pid for child in psutil.Process().children()}
    (tmp_path / "own_remote.py").write_text("def other(history): ...\n")
    spec = own_model(tmp_path, "def other(history): ...\n")
    with pytest.raises(ZooError) as elsewhere:
        ModelPool([spec]).load()
    with pytest.raises(ZooError) as in_here:
        ModelPool([run_on(spec)]).load()
    assert str(elsewhere.value) == str(in_here.value)
    assert {child.pid for child in psutil.Process().children()} <= before


LAUNCH = """
import sys, threading, time
from pathlib import Path
from test_remote_processes import ask, hosts_of, own_model, pids
from parlai_humaneval.models.model_pool import ModelPool
code = "import time\\n\\ndef reply(history):\\n    time.sleep(300)\\n"
pool = ModelPool([own_model(Path(sys.argv[1]), code, devices=["cpu", "cpu"])]).load()
threading.Thread(target=ask, args=[pool, "own", "Hi!"], daemon=True).start()
time.sleep(0.5)
print(*pids(hosts_of(pool, "own")), flush=True)
time.sleep(300)
"""


@pytest.mark.slow
def test_no_process_outlives_a_launch_that_is_killed(tmp_path: Path) -> None:
    """Guards against orphans that hold a GPU, busy ones, too: nobody tells them to end."""
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    launch = subprocess.Popen(
        [sys.executable, "-c", LAUNCH, str(tmp_path)], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": path}
    )
    assert launch.stdout is not None
    with launch.stdout:
        of_models = [int(pid) for pid in launch.stdout.readline().split()]
        assert len(of_models) == 2
        assert all(psutil.pid_exists(pid) for pid in of_models)
        launch.kill()
        launch.wait()
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in of_models), seconds=10)


@pytest.mark.slow
def test_a_command_goes_on_under_another_engine(tmp_path: Path) -> None:
    """Guards the options of self-chat, and that the engine is no part of how dialogues were made."""
    words = ["--models", "eliza", "--start", "openers", "--out", str(tmp_path), "--json", "--num-dialogues"]
    begun = CliRunner().invoke(self_chat, [*words, "2"])
    assert begun.exit_code == 0, begun.output
    first = (tmp_path / "eliza.jsonl").read_text()
    gone_on = CliRunner().invoke(self_chat, [*words, "5", "--engine", "processes"])
    assert gone_on.exit_code == 0, gone_on.output
    now = (tmp_path / "eliza.jsonl").read_text()
    assert now.startswith(first)
    assert len(now.splitlines()) == 5


def test_a_process_sees_the_gpu_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a launch that may use some GPUs of a machine only: the numbers count among those."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert device_environment("cuda:1") == {"CUDA_VISIBLE_DEVICES": "1"}
    assert device_environment("cpu") == {"CUDA_VISIBLE_DEVICES": ""}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-8932f937")
    assert device_environment("cuda:1") == {"CUDA_VISIBLE_DEVICES": "GPU-8932f937"}
    with pytest.raises(ZooError, match="cuda:2 is not visible here: CUDA_VISIBLE_DEVICES names 2"):
        device_environment("cuda:2")
