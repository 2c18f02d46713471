"""A server that serves the page and then, from a given point on, takes requests and never answers."""

from __future__ import annotations

import json
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from types import TracebackType

CONFIG = {
    "title": "A task",
    "tagline": "",
    "preview": {"sections": []},
    "instructions": {"sections": []},
    "consent": "",
    "pay": "",
    "start_label": "Start",
    "entry": "start",
}
AGENT = {
    "packet_type": "agent_details",
    "data": {"request_id": "r", "worker_id": "1", "agent_id": "1", "failure_reason": None, "agent_token": "t"},
}
CROWD = """
function getWorkerName() { return 'w'; }
function getAssignmentId() { return 'a'; }
function getAgentRegistration() { return {worker_name: 'w', assignment_id: 'a', provider_type: 'mock'}; }
function handleSubmitToProvider() {}
"""


class SilentServer:
    """Use as a context manager. ``silent_on``: the path whose requests hang (``/ws``: only the websocket does)."""

    def __init__(self, silent_on: str) -> None:
        self._released = threading.Event()
        handler = partial(_Handler, silent_on=silent_on, released=self._released)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/"

    def __enter__(self) -> SilentServer:
        threading.Thread(target=self._server.serve_forever, name="silent", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._released.set()
        self._server.shutdown()
        self._server.server_close()


class _Handler(SimpleHTTPRequestHandler):
    def __init__(self, *args: object, silent_on: str, released: threading.Event) -> None:
        self._silent_on, self._released = silent_on, released
        super().__init__(*args, directory=str(files("mephisto_tasks") / "webapp" / "dist"))  # type: ignore[arg-type]

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        # The websocket's handshake is never answered, wherever else the server falls silent.
        if path == self._silent_on or self.headers.get("Upgrade", "").lower() == "websocket":
            self._released.wait()
        elif path == "/task_config.json":
            self._say(json.dumps(CONFIG), "application/json")
        elif path == "/wrap_crowd_source.js":
            self._say(CROWD, "text/javascript")
        else:
            super().do_GET()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == self._silent_on:
            self._released.wait()
        else:
            self._say(json.dumps(AGENT), "application/json")

    def _say(self, text: str, kind: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""
