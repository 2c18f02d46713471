"""Hosts in processes of this machine.

A process ends with the one that started it, however that ended: it reads a pipe that nobody writes to, and the pipe ends
with its writer. What goes between the two is pickled by :mod:`multiprocessing.connection`. The process is not forked, for
torch and its threads do not survive that, nor is it one of :mod:`multiprocessing`, which would run the user's own script
anew in each.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import IO, Any

from parlai_humaneval.models.workers.host import Host, HostGone
from parlai_humaneval.models.zoo.entries import ZooError

logger = logging.getLogger(__name__)

END_S = 2.0
"""Seconds that a process has to end by itself."""
LAST_LINES = 2
SHOWN = 300
"""Characters of its last lines that an error shows."""
# The path is set before anything is imported, lest a file in the current folder take a library's place.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from parlai_humaneval.models.workers.process import serve; serve(*map(int, sys.argv[2:]))"
)


class HostProcess:
    """A host in a process of its own.

    Args:
        max_batch: as of :class:`~parlai_humaneval.models.workers.host.Host`.
        torch_threads: likewise.
        environment: variables for it beside those of this process.

    Raises:
        HostGone: when it cannot be started.
    """

    def __init__(self, max_batch: int, torch_threads: int, environment: Mapping[str, str]) -> None:
        ours, theirs = socket.socketpair()
        numbers = (theirs.fileno(), max_batch, torch_threads)
        try:
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-c", _PROGRAM, json.dumps(sys.path), *map(str, numbers)],
                    env={**os.environ, "OMP_NUM_THREADS": str(torch_threads), "PYTHONUNBUFFERED": "1", **environment},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is for us, who end it
                )
        except OSError as error:
            ours.close()
            raise HostGone(f"a process for it cannot be started: {error}") from error
        self.pid = self._process.pid
        self._connection = Connection(ours.detach())
        self._ending = threading.Lock()
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._listener = threading.Thread(target=self._listen, name=f"output-of-{self.pid}", daemon=True)
        self._listener.start()

    def call(self, method: str, *arguments: Any) -> Any:
        """What the host's method returns, or raises.

        Raises:
            HostGone: when the process has ended.
        """
        try:
            self._connection.send((method, arguments))
            went_well, result = self._connection.recv()
        except (EOFError, OSError) as error:
            raise HostGone(self._exit_reason()) from error
        if went_well:
            return result
        raise result

    def end(self) -> None:
        """Let it end by itself, and kill it where that takes long; whoever waits for it gets :class:`HostGone`."""
        with self._ending:
            with suppress(OSError):
                _stream(self._process.stdin).close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
            self._process.kill()
            self._process.wait()
            self._listener.join(END_S)

    def _exit_reason(self) -> str:
        try:
            status = self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            return f"process {self.pid} no longer answers"
        self._listener.join(END_S)
        last = " / ".join(self._last)[-SHOWN:]
        return f"process {self.pid} {_ended(status)}" + (f"; it last wrote: {last}" if last else "")

    def _listen(self) -> None:
        with _stream(self._process.stdout) as lines:
            for line in lines:
                text = line.decode("utf-8", "replace").rstrip()
                if text:
                    self._last.append(text)
                    logger.info("process %d: %s", self.pid, text)


def _ended(status: int) -> str:
    if status == -signal.SIGKILL:
        return "was killed (signal 9; so ends who takes more memory than there is)"
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream


def device_environment(device: str) -> dict[str, str]:
    """The variable by which a process sees one GPU alone (of those that this one sees), or none for ``cpu``.

    Raises:
        ZooError: for a GPU that this process may not see.
    """
    if device == "cpu":
        return {"CUDA_VISIBLE_DEVICES": ""}
    number = int(device.partition(":")[2])
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return {"CUDA_VISIBLE_DEVICES": str(number)}
    seen = [part for part in visible.split(",") if part]
    if number >= len(seen):
        raise ZooError(f"{device} is not to be seen here: CUDA_VISIBLE_DEVICES names {len(seen)} GPU(s)")
    return {"CUDA_VISIBLE_DEVICES": seen[number]}


def serve(descriptor: int, max_batch: int, torch_threads: int) -> None:
    """Be a host, until the process at the other end of the socket is gone."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    host = Host(max_batch, torch_threads)
    with Connection(descriptor) as connection:
        while True:
            try:
                method, arguments = connection.recv()
                connection.send(host.call(method, arguments))
            except (EOFError, OSError):
                return


def _end_with_parent() -> None:
    """Wait for the end of the standard input, and end the process whatever it does just then."""
    sys.stdin.buffer.read()
    os._exit(0)
