"""A server as a process that can be killed and started again at its address: chat completions, and the JSON contract.

What it says depends on all that it was asked, and on nothing else; what it was asked is in a file that outlives it. Run as
``python killable_server.py PORT FILE SECONDS``, it answers after so many seconds, and not as long as a file ``hold`` is
beside FILE.
"""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

HOLD = "hold"


class _Handler(BaseHTTPRequestHandler):
    log: Path
    seconds: float

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.log.open("a") as file:
            file.write(json.dumps(asked, sort_keys=True) + "\n")
        time.sleep(self.seconds)
        while (self.log.parent / HOLD).exists():
            time.sleep(0.01)
        text = "I say " + hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        body = json.dumps({"text": text, "choices": [choice], "model": "m"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal."""


def free_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class KillableServer:
    """The process. ``asked``: the bodies of all requests so far, whichever of its lives they came in."""

    def __init__(self, folder: Path, port: int, seconds: float = 0.05) -> None:
        self._log = folder / "asked.jsonl"
        self._log.touch()
        self.port = port
        self.url = f"http://127.0.0.1:{port}/"
        self.base_url = f"{self.url}v1"
        self._seconds = seconds
        self.start()

    def start(self) -> None:
        """Come (back); it can be asked when this returns."""
        (self._log.parent / HOLD).unlink(missing_ok=True)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(self.port), str(self._log), str(self._seconds)], stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"ready\n"

    def kill(self) -> None:
        """Be gone at once, in the middle of whatever it does."""
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def hold(self) -> None:
        """Answer nobody until it is killed and started again."""
        (self._log.parent / HOLD).touch()

    @property
    def asked(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines()]


def main(port: str, log: str, seconds: str) -> None:
    _Handler.log, _Handler.seconds = Path(log), float(seconds)
    server = ThreadingHTTPServer(("127.0.0.1", int(port)), _Handler)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
