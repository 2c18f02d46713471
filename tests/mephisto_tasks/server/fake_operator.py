"""An operator of a few lines, and a running router to go with it: what router-level tests need of Mephisto."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from mephisto_tasks.server.app import Serving, create_app
from mephisto_tasks.server.hosts import ONLY_HERE, PagePolicy
from mephisto_tasks.server.packets import Packet
from mephisto_tasks.server.router import Router
from mephisto_tasks.server.security import Visitors
from mephisto_tasks.server.thread import RouterThread
from parlai_humaneval.display.images import ImageStore

PAGE = "<!doctype html><title>Task</title>" + "<p>Rate two models.</p>" * 100


class FakeOperator:
    """Answers as Mephisto's operator and a world would: one state for each new answer, repeats dropped.

    ``mute`` True makes it say nothing. ``heard`` holds every packet in the order in which it came.
    """

    def __init__(self, router: Router) -> None:
        self.mute = False
        self.statuses: list[dict[str, str]] = []
        self.heard: list[Packet] = []
        self.answers: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self.repeats: Counter[str] = Counter()
        self.reported = threading.Event()
        self._router = router
        self._agents: dict[str, str] = {}
        self._versions: Counter[str] = Counter()
        self._last_update: dict[str, Packet] = {}
        self._seen: set[str] = set()

    def to_operator(self, packet: Packet) -> None:
        self.heard.append(packet)
        handler = getattr(self, f"_{packet['packet_type']}", None)
        if handler is not None and not self.mute:
            handler(packet)

    def count(self, packet_type: str) -> int:
        return sum(packet["packet_type"] == packet_type for packet in self.heard)

    def ask_statuses(self) -> dict[str, str]:
        """Asks as Mephisto does every four seconds, and waits for the answer."""
        self.reported.clear()
        self._send("request_statuses", "mephisto", {})
        assert self.reported.wait(5)
        return self.statuses[-1]

    def set_status(self, agent_id: str, status: str) -> None:
        self._send("update_status", agent_id, {"status": status})

    def update(self, agent_id: str, data: dict[str, Any]) -> None:
        self._send("client_bound_live_update", agent_id, data)

    def show(self, agent_id: str, confirmed: str | None = None) -> None:
        """Sends the agent's next state: a message step named by its version."""
        self._versions[agent_id] += 1
        version = self._versions[agent_id]
        state = {
            "version": version,
            "phase": "task",
            "step": {"kind": "message", "step_id": f"m{version}", "label": "Your message"},
            "transcript": [{"entry_id": "e", "speaker": "partner", "text": f"{version} " * 150}],
            "confirmed": [] if confirmed is None else [confirmed],
        }
        update = {"update_id": f"{agent_id}-{version}", "kind": "state", "state": state}
        self._last_update[agent_id] = update
        self.update(agent_id, update)

    def _send(self, kind: str, subject_id: str, data: dict[str, Any]) -> None:
        self._router.from_operator({"packet_type": kind, "subject_id": subject_id, "data": data})

    def _details(self, request_id: str, agent_id: str) -> None:
        past = [self._last_update[agent_id]] if agent_id in self._last_update else []
        data = {
            "request_id": request_id,
            "worker_id": "1",
            "agent_id": agent_id,
            "failure_reason": None,
            "init_task_data": {"task_data": {}, "past_live_updates": past},
        }
        self._send("agent_details", "channel", data)

    def _register_agent(self, packet: Packet) -> None:
        data = packet["data"]
        registration = data["provider_data"]["agent_registration_id"]
        known = registration in self._agents
        agent_id = self._agents.setdefault(registration, f"practice-{len(self._agents) + 1}")
        self._details(data["request_id"], agent_id)
        if not known:
            self.set_status(agent_id, "onboarding")
            self.show(agent_id)

    def _submit_onboarding(self, packet: Packet) -> None:
        data = packet["data"]
        agent_id = packet["subject_id"].replace("practice", "task")
        self._agents[data["agent_registration_id"]] = agent_id
        self.show(agent_id)
        self._details(data["request_id"], agent_id)
        self.set_status(agent_id, "in task")

    def _mephisto_bound_live_update(self, packet: Packet) -> None:
        agent_id, data = packet["subject_id"], packet["data"]
        if data["update_id"] in self._seen:
            self.repeats[agent_id] += 1
            return
        self._seen.add(data["update_id"])
        self.answers[agent_id].append(data)
        self.show(agent_id, confirmed=data["update_id"])

    def _return_statuses(self, packet: Packet) -> None:
        self.statuses.append(packet["data"])
        self.reported.set()


class Served:
    """A router on a port of its own with a fake operator behind it."""

    def __init__(
        self,
        folder: Path,
        *,
        page: PagePolicy = ONLY_HERE,
        visitors: Visitors | None = None,
        images: ImageStore | None = None,
        **options: float,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "index.html").write_text(PAGE, encoding="utf-8")
        (folder / "task_config.json").write_text('{"title": "T"}', encoding="utf-8")
        (folder / "assets").mkdir(exist_ok=True)
        (folder / "assets" / "index-B4x9Zk2Q.js").write_text("let a = 1;\n" * 500, encoding="utf-8")
        self.router = Router(**options)
        self.operator = FakeOperator(self.router)
        app = create_app(self.router, folder, Serving(page=page, visitors=visitors or Visitors(), images=images))
        self._thread = RouterThread(app, "127.0.0.1", 0)

    def __enter__(self) -> Served:
        self._thread.start()
        self.router.connect_operator(self.operator)
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.stop()

    @property
    def port(self) -> int:
        return self._thread.port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"
