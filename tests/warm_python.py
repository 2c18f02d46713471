"""A Python that has imported the libraries that take seconds, and forks a process for each command line that it is given.

Each is a process of its own, with the environment, folder, streams and exit status that a shell would give it; only that
PyTorch and what else is named is there already. Nothing of this project, of ParlAI or of Mephisto may be named: they find
the process as they find a new one. It ends as others do, but for what it leaves in memory (:func:`to_its_end`).
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType

TORCH = (
    *("torch", "torch._dynamo", "scipy.stats", "sklearn.pipeline", "sklearn.feature_extraction.text", "nltk.stem"),
    *("pkg_resources", "pydantic", "requests", "PIL.Image"),
)
"""What ParlAI's commands import, beside ParlAI."""


class WarmPython:
    """``with WarmPython() as warm: warm.run("/bin/parlai", "interactive", …)``, one command after the other."""

    def __init__(self, python: str | Path = sys.executable, imports: tuple[str, ...] = TORCH) -> None:
        self._process = subprocess.Popen(
            [str(python), __file__, *imports],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def __enter__(self) -> WarmPython:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate()

    def run(
        self, *command: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """A script of Python's with its arguments, run to its end; ``env``: its whole environment, else this one's."""
        with tempfile.TemporaryDirectory() as folder:
            given, out, err = (Path(folder) / name for name in ("in", "out", "err"))
            given.write_text(text, encoding="utf-8")
            status = self.wait(self.start(*command, streams=(given, out, err), cwd=cwd, env=env))
            said = [path.read_text(encoding="utf-8", errors="replace") for path in (out, err)]
        return subprocess.CompletedProcess(command, status, *said)

    def start(
        self,
        *command: str,
        streams: tuple[str | Path, str | Path, str | Path],
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> int:
        """The number of a process that runs such a script; ``streams``: files, or terminals, that it reads and writes.

        :meth:`wait` has to be called of each.
        """
        asked = {"command": command, "cwd": str(cwd or Path.cwd()), "env": dict(env or os.environ)}
        return self._ask({**asked, "streams": [*map(str, streams)]})

    def wait(self, pid: int) -> int:
        """The exit status of a process that was started; of one that a signal ended, its negative number."""
        return self._ask(pid)

    def _ask(self, what: object) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(what), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())


def serve(imports: list[str]) -> None:
    """Answer each line of the standard input, with the number of a process that it starts or the status of one that has
    ended; returns in each of the processes that it forks."""
    gc.disable()  # nothing that is imported here is ever garbage
    for name in imports:
        importlib.import_module(name)
    gc.freeze()
    gc.set_threshold(50_000)  # for all commands, as for the tests themselves
    gc.enable()
    for line in iter(sys.stdin.readline, ""):
        asked = json.loads(line)
        if isinstance(asked, int):
            print(os.waitstatus_to_exitcode(os.waitpid(asked, 0)[1]), flush=True)
            continue
        child = os.fork()
        if child == 0:
            become(**asked)
            return
        print(child, flush=True)
    raise SystemExit


def become(command: list[str], cwd: str, env: dict[str, str], streams: list[str]) -> None:
    """Stand where a new process would."""
    written = os.O_WRONLY | os.O_CREAT | os.O_APPEND  # one file may be both
    flags = (os.O_RDONLY, written, written)
    for number, (path, flag) in enumerate(zip(streams, flags, strict=True)):
        os.dup2(os.open(path, flag, 0o600), number)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, mode, encoding="utf-8") for number, mode in enumerate("rww"))
    ours = {str(Path(__file__).parent), *entries(os.environ)}
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.argv = command
    sys.path[:] = [str(Path(command[0]).parent), *entries(env), *(entry for entry in sys.path if entry not in ours)]


def to_its_end(program: Callable[[], object]) -> None:
    """Run a program, and end this process with its status; an error ends it as ever.

    What was imported before is the kernel's to clear away: Python takes half a second to take it apart, and has the kernel
    copy all of it first.
    """
    status = 0
    try:
        program()
    except SystemExit as ended:
        if ended.code is not None and not isinstance(ended.code, int):
            raise  # it is a message
        status = ended.code or 0
    end(status)


def end(status: int) -> None:
    """End this process, but for what it leaves in memory."""
    threading._shutdown()  # type: ignore[attr-defined]  # which waits for threads, as ever
    atexit._run_exitfuncs()
    try:
        for stream in filter(None, (sys.stdout, sys.stderr)):
            stream.flush()
    except (OSError, ValueError):
        raise SystemExit(status) from None  # Python tries again, and says so
    os._exit(status & 0xFF)


def entries(env: Mapping[str, str]) -> list[str]:
    """What ``PYTHONPATH`` adds to where modules are looked for."""
    return [entry for entry in env.get("PYTHONPATH", "").split(os.pathsep) if entry]


if __name__ == "__main__":
    serve(sys.argv[1:])
    to_its_end(partial(runpy.run_path, sys.argv[0], run_name="__main__"))
