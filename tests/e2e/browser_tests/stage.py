"""The built page in a browser without a launch: a stand-in for the router, in this process, shows it any state at once."""

from __future__ import annotations

import json
import mimetypes
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

from playwright.sync_api import Page, WebSocketRoute, expect

from parlai_humaneval.schema.steps import PageState, WaitStep

DIST = Path(__file__).resolve().parents[3] / "mephisto_tasks/webapp/dist"
PATIENCE_MS = 10_000
CROWD = """
const param = (name) => new URLSearchParams(location.search).get(name);
window.getWorkerName = () => param("worker_id");
window.getAssignmentId = () => param("assignment_id");
window.getAgentRegistration = () => ({ worker_name: param("worker_id"), agent_registration_id: param("worker_id") });
window.handleSubmitToProvider = () => true;
"""


class Stage:
    """One page. What the page answers is in :attr:`answers`; nothing is checked, and nothing else answers it.

    Its files come over HTTP from a thread, so that the browser keeps them; only the websocket is routed.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self._address = address
        self.answers: list[dict[str, Any]] = []
        self._words: Mapping[str, Any] = {}
        self._shown: list[dict[str, Any]] = []
        self._visits = 0
        self._socket: WebSocketRoute | None = None
        page.route_web_socket("**", self._connect)

    def open(self, words: Mapping[str, Any], *states: PageState) -> None:
        """A new rater's page of a task with these words; of ``states`` the first is there, and the others come."""
        self._words, self._shown, self._socket = words, [], None
        self.answers.clear()
        self._visits += 1
        self._keep(states[0])
        self.page.goto(f"{self._address}?worker_id=rater-{self._visits}&assignment_id=a{self._visits}")
        expect(self.page.locator("main")).to_be_visible()
        for state in states[1:]:
            self.show(state)

    def show(self, state: PageState) -> None:
        """The server's next state; returns when it is on the page."""
        update = self._keep(state)
        for _ in range(PATIENCE_MS // 20):
            if self._socket is not None:
                break
            self.page.wait_for_timeout(20)
        assert self._socket is not None, "the page did not connect"
        packet = {"packet_type": "client_bound_live_update", "subject_id": self._agent, "data": update}
        self._socket.send(json.dumps({**packet, "router_seq": len(self._shown)}))
        if not isinstance(state.step, WaitStep):
            expect(self.page.locator(f"[data-step='{getattr(state.step, 'step_id', '')}']")).to_be_attached()

    def _keep(self, state: PageState) -> dict[str, Any]:
        update = as_update(state, len(self._shown) + 1, f"unit-{self._visits}")
        self._shown.append(update)
        return update

    @property
    def _agent(self) -> str:
        return f"agent-{self._visits}"

    def body_of(self, path: str) -> tuple[str, bytes]:
        """Type and content of what the page gets from an address."""
        if path == "task_config.json":
            return "application/json", json.dumps(dict(self._words)).encode()
        if path == "wrap_crowd_source.js":
            return "text/javascript", CROWD.encode()
        file = DIST / (path or "index.html")
        return mimetypes.guess_type(file.name)[0] or "text/plain", file.read_bytes()

    def agent(self) -> tuple[str, bytes]:
        """What a page is told that registers: whose it is, and the state that is there."""
        init = {"past_live_updates": self._shown}
        answer = {"data": {"agent_id": self._agent, "agent_token": "t", "init_task_data": init}}
        return "application/json", json.dumps(answer).encode()

    def _connect(self, socket: WebSocketRoute) -> None:
        def take(text: str | bytes) -> None:
            packet = json.loads(text)
            # The page before may be heard late, when the next is opened already.
            is_current = packet["subject_id"] == self._agent
            if packet["packet_type"] == "alive":
                self._socket = socket if is_current else self._socket
            elif reply := answer_to_packet(packet):
                socket.send(json.dumps(reply))
            elif packet["packet_type"] == "mephisto_bound_live_update" and is_current:
                self.answers.append(packet["data"])

        socket.on_message(take)


def as_update(state: PageState, version: int, unit: str) -> dict[str, Any]:
    """A state as the server sends it."""
    shown = state.model_copy(update={"version": version, "unit": unit}).model_dump(mode="json")
    return {"update_id": f"u{version}", "kind": "state", "state": shown}


def answer_to_packet(packet: dict[str, Any]) -> dict[str, Any] | None:
    """What a router says to a packet of the page by itself; None: nothing."""
    return {**packet, "data": {"status": "in task"}} if packet["packet_type"] == "heartbeat" else None


@contextmanager
def stage_of(page: Page) -> Iterator[Stage]:
    """A stage for this page, while its files are served."""

    class Files(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        stage: ClassVar[Stage]

        def do_GET(self) -> None:
            path = self.path.lstrip("/").partition("?")[0]
            self._answer(*self.stage.body_of(path), keep=path.startswith("assets/"))

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self._answer(*self.stage.agent())

        def _answer(self, kind: str, body: bytes, *, keep: bool = False) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Cache-Control", "max-age=3600" if keep else "no-store")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Files) as server:
        Files.stage = Stage(page, f"http://127.0.0.1:{server.server_port}/")
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Files.stage
        finally:
            server.shutdown()
