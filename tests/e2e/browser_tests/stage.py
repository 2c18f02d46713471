"""The built page in a browser without a launch: a stand-in for the router, in this process, shows it any state at once."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, Route, WebSocketRoute, expect

from parlai_humaneval.schema.steps import PageState, WaitStep

DIST = Path(__file__).resolve().parents[3] / "mephisto_tasks/webapp/dist"
PATIENCE_MS = 10_000
URL = "http://stage.test/"
_CROWD = """
const param = (name) => new URLSearchParams(location.search).get(name);
window.getWorkerName = () => param("worker_id");
window.getAssignmentId = () => param("assignment_id");
window.getAgentRegistration = () => ({ worker_name: param("worker_id"), agent_registration_id: param("worker_id") });
window.handleSubmitToProvider = () => true;
"""


class Stage:
    """One page. What the page answers is in :attr:`answers`; nothing is checked, and nothing else answers it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.answers: list[dict[str, Any]] = []
        self._words: Mapping[str, Any] = {}
        self._shown: list[dict[str, Any]] = []
        self._visits = 0
        self._socket: WebSocketRoute | None = None
        page.route(f"{URL}**", self._answer)
        page.route_web_socket("**", self._connect)

    def open(self, words: Mapping[str, Any], *states: PageState) -> None:
        """A new rater's page of a task with these words; of ``states`` the first is there, and the others come."""
        self._words, self._shown, self._socket = words, [], None
        self.answers.clear()
        self._visits += 1
        self._keep(states[0])
        self.page.goto(f"{URL}?worker_id=rater-{self._visits}&assignment_id=a{self._visits}")
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
        packet = {"packet_type": "client_bound_live_update", "subject_id": "agent", "data": update}
        self._socket.send(json.dumps({**packet, "router_seq": len(self._shown)}))
        if not isinstance(state.step, WaitStep):
            expect(self.page.locator(f"[data-step='{getattr(state.step, 'step_id', '')}']")).to_be_attached()

    def _keep(self, state: PageState) -> dict[str, Any]:
        version = len(self._shown) + 1
        shown = state.model_copy(update={"version": version, "unit": f"unit-{self._visits}"}).model_dump(mode="json")
        update = {"update_id": f"u{version}", "kind": "state", "state": shown}
        self._shown.append(update)
        return update

    def _answer(self, route: Route) -> None:
        path = route.request.url.removeprefix(URL).partition("?")[0]
        if path == "task_config.json":
            route.fulfill(json=dict(self._words))
        elif path == "wrap_crowd_source.js":
            route.fulfill(body=_CROWD, content_type="text/javascript")
        elif route.request.method == "POST":
            past = {"past_live_updates": self._shown}
            route.fulfill(json={"data": {"agent_id": "agent", "agent_token": "t", "init_task_data": past}})
        else:
            file = DIST / (path or "index.html")
            kind = mimetypes.guess_type(file.name)[0] or "text/plain"
            route.fulfill(body=file.read_bytes(), content_type=kind)

    def _connect(self, socket: WebSocketRoute) -> None:
        def take(text: str | bytes) -> None:
            packet = json.loads(text)
            if packet["packet_type"] == "alive":
                self._socket = socket
            elif packet["packet_type"] == "heartbeat":
                socket.send(json.dumps({**packet, "data": {"status": "in task"}}))
            elif packet["packet_type"] == "mephisto_bound_live_update":
                self.answers.append(packet["data"])

        socket.on_message(take)
