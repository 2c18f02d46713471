"""Mephisto's state of one rater in a live task: the plan, the events, and the current page."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.data_model.exceptions import AgentDisconnectedError, AgentReturnedError, AgentShutdownError
from pydantic import BaseModel

from mephisto_tasks.storage.sqlite import passing
from parlai_humaneval._util.data_files import read_json
from parlai_humaneval._util.files import OWNER_ONLY, mode_within, settle_folders, write_private

logger = logging.getLogger(__name__)

PAGE_KEY = "page_key"  # where the plan of a unit keeps what its page keeps drafts under
LANGUAGE_KEY = "language"  # where it keeps the tag of its language
Patience = Callable[[Callable[[], None]], None]  # does what writes something down, until it could be done


def raise_if_absent(agent: Any) -> None:
    if agent.is_shutdown:
        raise AgentShutdownError(agent.db_id)
    if agent.db_status == "disconnect":
        raise AgentDisconnectedError(agent.db_id)
    if agent.db_status == "returned":
        raise AgentReturnedError(agent.db_id)


def _once(write: Callable[[], None]) -> None:
    write()


class LiveAgentState(AgentState):
    """``state.json`` as Mephisto's live tasks have it, replaced by a rename: events as they happen, and the last page.
    A world's thread writes; Mephisto's loop, which must not wait for a disk, does where no world does any more."""

    def __init__(self, agent: Any) -> None:
        self._lock = threading.RLock()
        self._settled = False
        self._unsaved = False
        self.patience: Patience | None = None
        """How the rater's page waits while nothing can be written; None: no page is held."""
        super().__init__(agent)

    init_data: dict[str, Any] | None
    messages: list[dict[str, Any]]
    final_submission: dict[str, Any] | None
    current_update: dict[str, Any] | None

    def set_init_state(self, data: Any) -> bool:
        """The plan, where there is none yet. Raises OSError, and there is none still."""
        try:
            return bool(super().set_init_state(data))
        except BaseException:
            self.init_data = None
            raise

    def _set_init_state(self, data: Any) -> None:
        self.init_data = data

    def go_on(self, plan: dict[str, Any], messages: Sequence[dict[str, Any]]) -> None:
        """Begin with the plan and the events of an earlier visit, written down together. Raises OSError, and has not."""
        with self._lock:
            self.init_data, self.messages = plan, list(messages)
            try:
                self._save_data()
            except BaseException:
                self.init_data, self.messages = None, []
                raise

    @property
    def page_key(self) -> str:
        """The same for all visits to a unit, and told to its page; empty where there is no plan (in the practice)."""
        return str((self.init_data or {}).get(PAGE_KEY, ""))

    def get_init_state(self) -> dict[str, Any] | None:
        """The message to a page that (re)loads: no plan and no event, only the newest state."""
        if self.init_data is None:
            return None
        return {"task_data": {}, "past_live_updates": [self.current_update] if self.current_update else []}

    @cached_property
    def _state_file(self) -> Path:
        return Path(self.agent.get_data_dir()) / "state.json"

    def _load_data(self) -> None:
        self.init_data, self.messages = None, []
        self.final_submission = self.current_update = None
        path = self._state_file
        if path.exists():
            stored = read_json(path)
            self.init_data = stored["inputs"]
            self.messages = stored["outputs"]["messages"]
            self.final_submission = stored["outputs"].get("final_submission")
            self.current_update = stored.get("last_page")

    def get_data(self) -> dict[str, Any]:
        return {
            "inputs": self.init_data,
            "outputs": {"messages": self.messages, "final_submission": self.final_submission},
        }

    def _save_data(self) -> None:
        with self._lock:
            stored = self.get_data()
            page = self.current_update
            if page and _step(page).get("kind") == "end":
                # The way back to a panel holds its code, and may hold the rater's id there: neither belongs into a record.
                state = page["state"]
                stored["last_page"] = {**page, "state": {**state, "step": {**state["step"], "redirect": None}}}
            # dumps, not dump: only the former encodes in C, and this runs at every event of every rater.
            path = self._state_file
            write_private(path, json.dumps(stored, ensure_ascii=False).encode(), outlasts_power=True, mode=self._mode)
            if not self._settled:
                settle_folders(path.parent.parent)
                self._settled = True
            self._unsaved = False

    @cached_property
    def _mode(self) -> int:
        root = getattr(self.agent.db, "db_root", None)
        return OWNER_ONLY if root is None else mode_within(Path(root))

    def append(self, event: BaseModel) -> None:
        """Write an event down; a held page waits for it. Raises UnicodeEncodeError, OSError, what the page does."""
        message = event.model_dump(mode="json")
        (self.patience or _once)(lambda: self._add(message))

    def note(self, event: BaseModel) -> None:
        """Write down what nobody waits for: where it cannot be, it is left out."""
        try:
            self._add(event.model_dump(mode="json"))
        except (OSError, UnicodeEncodeError):
            logger.warning("an event of agent %s could not be recorded", self.agent.db_id, exc_info=True)

    def _add(self, message: dict[str, Any]) -> None:
        with self._lock:  # what cannot be written must not stand among what was
            self.messages.append(message)
            try:
                self._save_data()
            except BaseException:
                self.messages.pop()
                raise

    def show(self, update: dict[str, Any]) -> None:
        """What the page is to see now; an end is written down, if it can be: it holds no answer."""
        with self._lock:
            self.current_update = update
            if _step(update).get("kind") == "end":
                try:
                    self._save_data()
                except OSError as error:
                    if passing(error) is None:
                        raise
                    self._unsaved = True

    def flush(self) -> None:
        """What could not be written before, or came from elsewhere than the world, is."""
        (self.patience or _once)(self._save_unsaved)

    def _save_unsaved(self) -> None:
        if self._unsaved:
            self.save_data()

    @property
    def awaits_submit(self) -> bool:
        return _step(self.current_update).get("next") == "submit"

    def update_data(self, live_update: dict[str, Any]) -> None:
        """Nothing: a packet is not an answer until the world has checked it, and then it is an event."""

    def _update_submit(self, submit_data: dict[str, Any]) -> None:
        # Mephisto wants it. What the browser sends at the end is not trusted and not needed: all answers are events.
        self.final_submission = {"submitted": True}

    def update_submit(self, submit_data: dict[str, Any]) -> None:
        """The page handed the work in: the world that holds it writes that down, for this runs in the operator's loop."""
        if self.patience is None:
            super().update_submit(submit_data)
            return
        with self._lock:
            self._update_submit(submit_data)
            self._unsaved = True

    def get_task_start(self) -> float:
        return float(self.messages[0]["at"]) if self.messages else 0.0

    def get_task_end(self) -> float:
        return float(self.messages[-1]["at"]) if self.messages else 0.0


def _step(update: dict[str, Any] | None) -> dict[str, Any]:
    return {} if update is None else dict(update["state"]["step"])
