"""Processes of Python that begin as forks of one that has imported what takes seconds.

``Forked([sys.executable, "-m", "mephisto_tasks", …], env=…, stdout=…)`` is a :class:`subprocess.Popen`, a process of its own
with the environment, folder and streams that it is given, that is signalled, killed and waited for like any other. What a
launch needs was imported before, in an empty home: where a test is about how a process begins, it is no fork. Where it is
about how one ends, it is ``fully`` taken apart, and else not.
"""

from __future__ import annotations

import atexit
import faulthandler
import gc
import importlib
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy
from unsynced import wait_for_no_disk
from warm_python import entries, to_its_end

REPOSITORY = Path(__file__).parents[1]
LAUNCH = (
    *(
        "nltk.chat.eliza",
        "sklearn.pipeline",
        "sklearn.feature_extraction.text",
        "rich.markdown",
        "multiprocessing.popen_spawn_posix",
    ),
    *("mephisto_tasks.cli.launch", "mephisto_tasks.launch.launch", "mephisto_tasks.chat.build"),
    "parlai_humaneval.report.registry",
)


class WarmServer:
    """The process that forks. ``environment``: what it begins with, which ``/proc`` says of its forks as well."""

    def __init__(self, imports: Sequence[str] = LAUNCH, environment: Mapping[str, str] | None = None) -> None:
        self._home = tempfile.TemporaryDirectory(prefix="home-of-forks-")
        settings = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        # Beside this file lie folders of tests with the packages' names, which hide packages that are installed editable.
        settings["PYTHONPATH"] = os.pathsep.join([str(REPOSITORY), *entries(environment or os.environ)])
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._asking = threading.Lock()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), *imports],
                env={**(environment or os.environ), **settings, "HOME": self._home.name},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
            )
        atexit.register(self.close)

    def close(self) -> None:
        """No more forks; those that run go on."""
        self._channel.close()
        self._process.wait()
        self._home.cleanup()

    def ask(self, question: dict[str, Any], files: Sequence[int] = ()) -> int:
        """The number that it answers with."""
        with self._asking:
            socket.send_fds(self._channel, [json.dumps(question).encode()], files)
            return int(self._channel.recv(64))


@cache
def warm_server() -> WarmServer:
    """That of this process."""
    return WarmServer()


class Forked(subprocess.Popen[Any]):
    """A command that begins with ``sys.executable`` and ``-m MODULE`` or ``-c CODE``, or with a script of Python's.

    Of Popen's settings, those of streams, text, ``cwd``, ``env`` and ``start_new_session`` are heeded.
    """

    def __init__(
        self, command: Sequence[str | Path], *, server: WarmServer | None = None, fully: bool = False, **settings: Any
    ) -> None:
        self._server, self._fully = server or warm_server(), fully
        super().__init__(command, **settings)

    def _execute_child(self, args: Sequence[str | Path], *settings: Any) -> None:
        (cwd, env), pipes, session = settings[4:6], settings[9:15], settings[20]
        streams = [theirs if theirs != -1 else ours for ours, theirs in enumerate((pipes[0], pipes[3], pipes[5]))]
        asked = {
            "command": list(map(str, args)),
            "cwd": str(cwd or Path.cwd()),
            "env": dict(os.environ if env is None else env),
            "session": session,
            "fully": self._fully,
        }
        self.pid = self._server.ask(asked, streams)
        self._pidfd = os.pidfd_open(self.pid)
        vars(self)["_child_created"] = True
        _standard("_close_pipe_fds")(self, *pipes)

    def _internal_poll(self, *_: Any, **__: Any) -> int | None:
        return self._ended(0)

    def _wait(self, timeout: float | None) -> int:
        status = self._ended(timeout)
        if status is None:
            assert timeout is not None
            raise subprocess.TimeoutExpired(self.args, timeout)
        return status

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None and select.select([self._pidfd], [], [], timeout)[0]:
            with vars(self)["_waitpid_lock"]:
                if self.returncode is None:
                    self.returncode = self._server.ask({"reap": self.pid})
        return self.returncode


def run(
    command: Sequence[str | Path],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    said: str = "",
    server: WarmServer | None = None,
) -> subprocess.CompletedProcess[str]:
    """The command to its end, without a terminal; ``said``: on its standard input."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with Forked(command, env=env, text=True, server=server, **pipes) as process:
        try:
            out, err = process.communicate(said, timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _standard(name: str) -> Any:
    """A method of Popen's that is there for its own subclasses."""
    return getattr(subprocess.Popen, name)


def serve(channel: socket.socket, imports: Sequence[str]) -> tuple[list[str], bool]:
    """Answer each question; returns in each of the processes that it forks, with its command, and whether it is taken apart
    fully at its end."""
    gc.disable()  # nothing that is imported here is ever garbage
    for name in imports:
        importlib.import_module(name)
    if "mephisto_tasks.chat.build" in imports:
        from parlai_humaneval.display.presenter import Presenter

        # Each launch would read the phrases of all languages by which a model gives itself away: half a second.
        Presenter(ai_talk=True).prepare(()).join()
    wait_for_no_disk()
    gc.freeze()
    gc.set_threshold(50_000)  # for all forks, as for the tests themselves
    gc.enable()
    while True:
        message, files, _, _ = socket.recv_fds(channel, 1 << 20, 3)
        if not message:
            os._exit(0)
        asked = json.loads(message)
        if "reap" in asked:
            channel.send(str(os.waitstatus_to_exitcode(os.waitpid(asked["reap"], 0)[1])).encode())
            continue
        child = os.fork()
        if child == 0:
            channel.close()
            fully = asked.pop("fully")
            return become(files=files, **asked), fully
        for file in files:
            os.close(file)
        channel.send(str(child).encode())


def become(command: list[str], cwd: str, env: dict[str, str], session: bool, files: list[int]) -> list[str]:
    """Stand where a new process would."""
    if session:
        os.setsid()
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.closerange(3, max(files) + 1)
    sys.stdin = os.fdopen(0, encoding="utf-8")
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", errors=sys.stdout.errors)
    sys.stdout.reconfigure(line_buffering=os.isatty(1), write_through="PYTHONUNBUFFERED" in env)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace")
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = sys.stdin, sys.stdout, sys.stderr
    ours = {str(Path(__file__).parent), *entries(os.environ)}
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    faulthandler.enable()  # a crash says where, whatever the log is of
    numpy.random.seed()  # the standard library's reseeds itself
    first, *rest = command[1:] if command[0] == sys.executable else command
    folder = cwd if first in ("-m", "-c") else str(Path(first).parent)
    sys.path[:] = [folder, *entries(env), *(entry for entry in sys.path if entry not in ours)]
    sys.argv = ["-c", *rest[1:]] if first == "-c" else rest if first == "-m" else [first, *rest]
    return [first, *rest]


def execute(first: str, rest: list[str]) -> None:
    """As the interpreter does."""
    if first == "-m":
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif first == "-c":
        main = sys.modules["__main__"] = ModuleType("__main__")
        exec(compile(rest[0], "<string>", "exec"), vars(main))
    else:
        runpy.run_path(first, run_name="__main__")


if __name__ == "__main__":
    what, fully = serve(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
    running = partial(execute, what[0], what[1:])
    if fully:
        running()
    else:
        to_its_end(running)
