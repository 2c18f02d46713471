"""MTurk's stand-in in a real browser: a worker on its site with our page in its frame, and launches that ask it."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import boto3
from forked import Forked, run
from playwright.sync_api import BrowserContext, Frame, expect
from servers.mturk import KEY, SECRET, StandIn

from .rater import Rater
from .study import environment
from .watch import Watch

Told = TypeVar("Told")

REQUESTER = "my_lab"
KEYS = {"aws_access_key_id": KEY, "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
COMMAND = (
    "import sys; from mephisto_tasks.crowds.mturk import following; following.POLL_S = 0.5;"
    "from parlai_humaneval.cli import main; sys.exit(main())"
)
"""The console command, which asks MTurk oftener who has left."""
FRAME_WARNING = "both allow-scripts and allow-same-origin"
"""What Chromium says of MTurk's frame."""
LAUNCH_S = 90
STOP_S = 30
READY = re.compile(r"http://127\.0\.0\.1:\d+")


class Turker:
    """A worker on MTurk's site, in a browser of their own; at the end their console must have been clean."""

    def __init__(self, context: BrowserContext, mturk: StandIn, worker: str) -> None:
        self._context = context
        self._mturk = mturk
        self._worker = worker
        self._watch = Watch(context)
        self._watch.excuse(FRAME_WARNING)
        self.page = context.new_page()

    def __enter__(self) -> Turker:
        self.page.goto(self._mturk.url)
        self.page.get_by_label("Worker ID").fill(self._worker)
        self.page.get_by_role("button", name="Sign in").click()
        expect(self.page.get_by_role("heading", name="HITs")).to_be_visible()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._context.close()
        if kind is None:
            assert self._watch.problems() == []

    def preview(self) -> Frame:
        """Look at the first HIT of the list; the requester's page in its frame."""
        self.page.get_by_role("link", name="Preview").first.click()
        return self._frame()

    def accept(self) -> Rater:
        """Accept the HIT that is previewed; the task, in its frame."""
        self.page.get_by_role("button", name="Accept").click()
        return self._at_task()

    def reload(self) -> Rater:
        """Load MTurk's page again; the task, in its new frame."""
        self.page.reload()
        return self._at_task()

    def _at_task(self) -> Rater:
        expect(self.page.get_by_role("button", name="Return")).to_be_visible()
        return Rater(self.page, self._mturk.url, self._watch, screen=self._frame())

    def give_back(self) -> None:
        """Return the HIT."""
        self.page.get_by_role("button", name="Return").click()
        expect(self.page.get_by_text("The HIT was returned.")).to_be_visible()

    def _frame(self) -> Frame:
        element = self.page.get_by_title("The task").element_handle()
        frame = element.content_frame()
        assert frame is not None
        frame.wait_for_load_state()
        return frame


class Lab:
    """A researcher's machine: its home, its data, and commands run on it as processes that take the stand-in for MTurk."""

    command = COMMAND

    def __init__(self, folder: Path, mturk: StandIn) -> None:
        self.data_dir = folder / "data"
        self._home = folder / "home"
        self._home.mkdir(parents=True)
        self.mturk = mturk
        self.client: Any = boto3.client("mturk", endpoint_url=mturk.url, **KEYS)

    @property
    def environment(self) -> dict[str, str]:
        address = {"AWS_ENDPOINT_URL_MTURK": self.mturk.url}
        return {**environment(self._home), **address, "COLUMNS": "200", "PYTHONUNBUFFERED": "1"}

    def balance(self) -> tuple[str, str]:
        """Dollars that may be spent, and those put aside."""
        money = self.client.get_account_balance()
        return money["AvailableBalance"], money["OnHoldBalance"]

    def run(self, *arguments: str, said: str = "") -> subprocess.CompletedProcess[str]:
        """A command to its end, without a terminal; ``said``: what is written on its standard input."""
        return run(
            [sys.executable, "-c", self.command, *arguments, "--data-dir", str(self.data_dir)],
            env=self.environment,
            said=said,
            timeout=LAUNCH_S,
        )

    @contextmanager
    def launched(self, *settings: str) -> Iterator[RunningLaunch]:
        """``parlai-humaneval launch``, up; whatever happens it is gone after the block."""
        command = [sys.executable, "-c", self.command, "launch", *settings, "--data-dir", str(self.data_dir)]
        launch = RunningLaunch(command, self)
        try:
            launch.wait_until_up()
            yield launch
        finally:
            launch.kill()


class RunningLaunch:
    """A launch as a process, that is read while it runs."""

    def __init__(self, command: list[str], lab: Lab) -> None:
        self._process = Forked(
            command,
            env=lab.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._lines: list[str] = []
        self._up = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.append(line)
            if READY.search(line):
                self._up.set()
        self._up.set()

    @property
    def said(self) -> str:
        return "".join(self._lines)

    def wait_until_up(self) -> None:
        """Returns when it has said where it is; fails with its own words when it ended before."""
        assert self._up.wait(LAUNCH_S), f"the launch takes too long:\n{self.said}"
        assert self._process.poll() is None, f"the launch ended:\n{self.said}"

    def end(self, how: signal.Signals) -> int:
        """Send the signal; the exit status."""
        self._process.send_signal(how)
        try:
            status = self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the launch was still there {STOP_S} s after {how.name}:\n{self.said}") from None
        self._reader.join()
        return status

    def ends_by_itself(self) -> int:
        """Wait until it has all that it asked for; the exit status."""
        status = self._process.wait(LAUNCH_S)
        self._reader.join()
        return status

    def kill(self) -> None:
        """End it if it is still there."""
        self._process.kill()
        self._process.wait()
        self._reader.join()


def finished(story: Coroutine[Any, Any, Told]) -> Told:
    """What a coroutine returns; in a thread of its own, as a browser has the loop of this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, story).result()


def eventually(condition: Callable[[], bool], what: str, timeout_s: float = 60.0) -> None:
    """Wait until it holds."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in {timeout_s:g} s: {what}"
        time.sleep(0.1)
