"""A study launched as a researcher launches it: a process of its own, with its own home and data directory."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from importlib.resources import files
from pathlib import Path

from forked import Forked

from mephisto_tasks.storage.results import PSEUDONYM_KEY, read_dialogues, read_judgements
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord

LAUNCH_S = 90
STOP_S = 60
ODD_MODELS = ("heron_12B", "osprey_3B")
ABOVE = Path(__file__).resolve().parents[1]
"""Where the launch finds this package, for its agents."""

_ODD_ZOO = """
models:
  heron_12B:
    options: {model: "browser_tests.agents:PeculiarAgent", own_name: heron_12B, flavour: mild}
  osprey_3B:
    options: {model: "browser_tests.agents:PeculiarAgent", own_name: osprey_3B, flavour: brisk}
"""


class Study:
    """A running launch of PW-Turn, or another ``task``; ``settings`` are hydra's, or ``conf=NAME``.

    ``data_dir``: of another study, whose dialogues it is about.
    """

    def __init__(
        self, folder: Path, name: str, settings: list[str], *, task: str = "pw_turn", data_dir: Path | None = None
    ) -> None:
        self.task_name = name
        self.data_dir = data_dir or folder / "data"
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}/"
        self._log = folder / "launch.log"
        self._home = folder / "home"
        self._home.mkdir(parents=True)
        self._command = [
            *(sys.executable, "-m", "mephisto_tasks", task, "--data-dir", str(self.data_dir)),
            f"mephisto.architect.port={self.port}",
            f"mephisto.task.task_name={name}",
            *settings,
        ]
        self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            return Forked(self._command, env=environment(self._home), stdout=log, stderr=subprocess.STDOUT)

    @property
    def log(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")

    def wait_until_up(self) -> None:
        """Returns when the page is served; fails with the launch's own words when it ended or takes too long."""
        deadline = time.monotonic() + LAUNCH_S
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.url}health", timeout=5) as answer:
                    if json.load(answer)["operator_connected"]:
                        return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise AssertionError(f"the launch did not come up:\n{self.log[-3000:]}")

    def stop(self) -> int:
        """Ctrl-C; the exit status."""
        self._process.send_signal(signal.SIGINT)
        try:
            return self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            raise AssertionError(f"the launch was still there {STOP_S} s after Ctrl-C:\n{self.log[-3000:]}") from None

    def kill(self) -> None:
        """kill -9."""
        self._process.kill()
        self._process.wait()

    def start_again(self) -> None:
        """The same command once more, at the same address; returns when the page is served."""
        self._process = self._start()
        self.wait_until_up()

    def wait_until_done(self) -> int:
        """The exit status of a launch that ends by itself because it has all that it asked for."""
        return self._process.wait(STOP_S)

    def records_of(self, worker: str) -> list[DialogueRecord]:
        """All dialogues of a worker."""
        pseudonym = self._pseudonym(worker)
        return [record for record in read_dialogues(self.data_dir, self.task_name) if record.worker == pseudonym]

    def judgements(self) -> list[JudgementRecord]:
        """All judgements of finished dialogues."""
        return read_judgements(self.data_dir, self.task_name)

    def judgements_of(self, worker: str) -> list[JudgementRecord]:
        """Those of a worker, in the order judged."""
        pseudonym = self._pseudonym(worker)
        return sorted((one for one in self.judgements() if one.worker == pseudonym), key=lambda one: one.number)

    def _pseudonym(self, worker: str) -> str:
        stored = f"{worker}_sandbox"  # Mephisto's mock provider stores workers so
        return Pseudonymizer.load_or_create(self.data_dir / PSEUDONYM_KEY).worker(stored)

    def record_of(self, worker: str) -> DialogueRecord:
        """The one dialogue of a worker."""
        records = self.records_of(worker)
        assert len(records) == 1, f"{len(records)} records of {worker}"
        return records[0]

    def finished_records_of(self, worker: str, count: int, *, within_s: float = 5.0) -> list[DialogueRecord]:
        """So many dialogues of a worker in the order held, once none is running any more."""
        deadline = time.monotonic() + within_s
        while any(r.status == "running" for r in self.records_of(worker)) and time.monotonic() < deadline:
            time.sleep(0.1)
        records = sorted(self.records_of(worker), key=lambda record: record.conversation)
        assert len(records) == count, f"{len(records)} records of {worker}"
        return records

    def finished_record_of(self, worker: str) -> DialogueRecord:
        """The one dialogue of a worker, once it is no longer running."""
        return self.finished_records_of(worker, 1)[0]


def environment(home: Path) -> dict[str, str]:
    """Of a command run as by a new user of this machine."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("XDG_", "PARLAI_HUMANEVAL_"))}
    found = [str(ABOVE), *filter(None, [kept.get("PYTHONPATH")])]
    return {**kept, "HOME": str(home), "PYTHONPATH": os.pathsep.join(found)}


def launch_embedded(folder: Path) -> Study:
    """Two packaged models and everything as in a real study, practice included."""
    return Study(folder, "e2e-embedded", ["mephisto.blueprint.dialogues_per_group=20", "mephisto.blueprint.seed=11"])


def launch_odd(folder: Path) -> Study:
    """Two models that obey (``agents.py``), two turns, no practice, a model time-out of one second."""
    settings = [
        f"models=[{','.join(ODD_MODELS)}]",
        f"zoo_files=[{odd_zoo(folder)}]",
        "dialogues_per_group=30",
        "turns=2",
        "onboarding_qualification=null",
        "model_timeout_s=2.0",
        "model_retries=2",
        "seed=5",
    ]
    words = [f"mephisto.blueprint.{setting}" for setting in settings]
    return Study(folder, "e2e-odd", [*words, "task_reward=2.5"])


def launch_drawn(folder: Path) -> Study:
    """The same two models, whose markdown is drawn; replies of any length."""
    settings = [
        f"models=[{','.join(ODD_MODELS)}]",
        f"zoo_files=[{odd_zoo(folder)}]",
        "dialogues_per_group=30",
        "turns=2",
        "onboarding_qualification=null",
        "replies.appearance=markdown",
        "replies.max_chars=null",
        "seed=5",
    ]
    return Study(folder, "e2e-drawn", [f"mephisto.blueprint.{setting}" for setting in settings])


def odd_zoo(folder: Path) -> Path:
    """The zoo file of :data:`ODD_MODELS`."""
    zoo = folder / "odd_zoo.yaml"
    zoo.parent.mkdir(parents=True, exist_ok=True)
    zoo.write_text(_ODD_ZOO, encoding="utf-8")
    return zoo


def good_replies() -> frozenset[str]:
    """Texts of the better practice replies."""
    return frozenset(item["good"] for item in _practice_items())


def practice_explanations() -> list[str]:
    """Why each better practice reply is better: told only after a wrong try."""
    return [item["why"] for item in _practice_items()]


def _practice_items() -> list[dict[str, str]]:
    file = files("mephisto_tasks") / "presets" / "pw_turn" / "task_config" / "onboarding_preference.json"
    items: list[dict[str, str]] = json.loads(file.read_text(encoding="utf-8"))["items"]
    return items


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
