"""What Mephisto keeps of one rater in a live task: the plan, the events, and what the page shows now."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from pydantic import BaseModel


class LiveAgentState(AgentState):
    """Stores ``state.json`` in the layout of Mephisto's live tasks: inputs, outputs.messages, outputs.final_submission.

    ``messages`` are the events of :mod:`parlai_humaneval.protocol.records.events`, appended when they happen. The file is
    replaced as a whole by a rename, so that a crash leaves the one before or the one after, never half of one.
    ``last_page`` beside them is the page's end, for a rater who loads it again after the world has gone.

    A world's thread writes here, and Mephisto's loop when the page hands the unit in.
    """

    def __init__(self, agent: Any) -> None:
        self._lock = threading.RLock()
        super().__init__(agent)

    init_data: dict[str, Any] | None
    messages: list[dict[str, Any]]
    final_submission: dict[str, Any] | None
    current_update: dict[str, Any] | None

    def _set_init_state(self, data: Any) -> None:
        self.init_data = data

    def get_init_state(self) -> dict[str, Any] | None:
        """What a page is sent when it (re)loads: no plan and no event, only the newest state."""
        if self.init_data is None:
            return None
        return {"task_data": {}, "past_live_updates": [self.current_update] if self.current_update else []}

    def _state_file(self) -> Path:
        return Path(self.agent.get_data_dir()) / "state.json"

    def _load_data(self) -> None:
        self.init_data, self.messages = None, []
        self.final_submission = self.current_update = None
        path = self._state_file()
        if path.exists():
            stored = json.loads(path.read_text(encoding="utf-8"))
            self.init_data = stored["inputs"]
            self.messages = stored["outputs"]["messages"]
            self.final_submission = stored["outputs"].get("final_submission")
            self.current_update = stored.get("last_page")

    def get_data(self) -> dict[str, Any]:
        """Plan, events and final submission as stored."""
        return {
            "inputs": self.init_data,
            "outputs": {"messages": self.messages, "final_submission": self.final_submission},
        }

    def _save_data(self) -> None:
        with self._lock:
            stored = self.get_data()
            if _step(self.current_update).get("kind") == "end":
                stored["last_page"] = _without_redirect(self.current_update)
            # dumps, not dump: only the former encodes in C, and this runs at every event of every rater.
            self._replace_file(json.dumps(stored, ensure_ascii=False))

    def _replace_file(self, text: str) -> None:
        path = self._state_file()
        draft = path.with_name(f"state.json.{id(self):x}.new")
        try:
            draft.write_text(text, encoding="utf-8")
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)

    def append(self, event: BaseModel) -> None:
        """Write an event down, now.

        Raises:
            UnicodeEncodeError: a text that UTF-8 cannot hold; nothing has changed.
            OSError: the file could not be written.
        """
        message = event.model_dump(mode="json")
        json.dumps(message, ensure_ascii=False).encode()  # what cannot be written must not stand among what was
        with self._lock:
            self.messages.append(message)
            self._save_data()

    def show(self, update: dict[str, Any]) -> None:
        """What the page is to see now; an end is written down."""
        with self._lock:
            self.current_update = update
            if _step(update).get("kind") == "end":
                self._save_data()

    @property
    def awaits_submit(self) -> bool:
        """True when the page was told to hand the unit in."""
        return _step(self.current_update).get("next") == "submit"

    def update_data(self, live_update: dict[str, Any]) -> None:
        """Nothing: a packet is not an answer until the world has checked it, and then it is an event."""

    def _update_submit(self, submit_data: dict[str, Any]) -> None:
        # What the browser sends at the end is not trusted and not needed: all answers are events.
        self.final_submission = {"submitted": True}

    def get_task_start(self) -> float:
        """Time of the first event, seconds since the epoch (0 when there is none)."""
        return float(self.messages[0]["at"]) if self.messages else 0.0

    def get_task_end(self) -> float:
        """Time of the last event, seconds since the epoch (0 when there is none)."""
        return float(self.messages[-1]["at"]) if self.messages else 0.0


def _without_redirect(update: Any) -> dict[str, Any]:
    """The way back to a panel holds its code, and may hold the rater's id there: neither belongs into a record."""
    state = update["state"]
    return {**update, "state": {**state, "step": {**state["step"], "redirect": None}}}


def _step(update: dict[str, Any] | None) -> dict[str, Any]:
    return {} if update is None else dict(update["state"]["step"])
