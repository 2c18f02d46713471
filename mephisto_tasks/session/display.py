"""How the replies of a study look, where its settings leave that open: settled at the launch, and recorded as settled.

What models said, as a page draws it: their markdown beside their text.

Which model is behind what stands on raters' pages: known to the launch, and never sent to a page.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from mephisto_tasks.storage.results import newest_states, task_names
from parlai_humaneval.display.markdown_tree import markup_of
from parlai_humaneval.display.settings import ReplyLooks
from parlai_humaneval.models.zoo.entries import ModelSpec, is_chat_llm
from parlai_humaneval.schema.events import JudgingStarted, Started
from parlai_humaneval.schema.steps import PageState
from parlai_humaneval.schema.wire import Said

Looks = TypeVar("Looks", bound=ReplyLooks)


def settled(replies: Looks, specs: Iterable[ModelSpec], data_dir: Path, task_name: str) -> Looks:
    """The settings with what ``replies.appearance=auto`` comes to: a study that has begun keeps its look, and a new one
    draws markdown where one of ``specs`` is a chat LLM."""
    if replies.appearance != "auto":
        return replies
    appearance = recorded_appearance(data_dir, task_name)
    if appearance in (None, "auto"):
        appearance = "markdown" if any(map(is_chat_llm, specs)) else "as_said"
    return replies.model_copy(update={"appearance": appearance})


def recorded_appearance(data_dir: Path, task_name: str) -> str | None:
    """How replies looked in the newest unit of a task; None: nobody has begun one."""
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return None
    for _, state in newest_states(data_dir, task_name):
        for event in reversed(state.outputs.messages):
            if isinstance(event, (Started, JudgingStarted)):
                replies = event.settings.get("replies") or {}
                return str(replies.get("appearance", "as_said"))
    return None


S = TypeVar("S", bound=Said)


def marked_up(state: PageState) -> PageState:
    """The state with the markup of every reply: of the partner in the transcript, on cards, and in finished dialogues.

    There everybody's lines are drawn alike, for the look must not tell a person from a program. What the rater writes
    stands as it was typed.
    """
    transcript = [entry if entry.speaker == "you" else _drawn(entry) for entry in state.transcript]
    panels = [panel.model_copy(update={"lines": _all_drawn(panel.lines)}) for panel in state.panels]
    step: Any = state.step
    replies: dict[str, Any] = {}
    if getattr(step, "cards", None):
        replies["cards"] = _all_drawn(step.cards)
    if getattr(step, "reply", None) is not None:
        replies["reply"] = _drawn(step.reply)
    if replies:
        step = step.model_copy(update=replies)
    return state.model_copy(update={"transcript": transcript, "panels": panels, "step": step})


def _all_drawn(said: Sequence[S]) -> list[S]:
    return [_drawn(one) for one in said]


def _drawn(said: S) -> S:
    markup = markup_of(said.text)
    return said if markup is None else said.model_copy(update={"markup": markup})


@dataclass
class ShownModels:
    """Remembers the model of every reply or line while it is on a page. Thread-safe."""

    models: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, shown: Iterable[tuple[str, str]]) -> None:
        """A page is sent these ids; beside each stands who said it."""
        with self._lock:
            self.models.update(shown)

    def model_of(self, shown_id: str) -> str | None:
        """The model behind an id that is on a page now."""
        with self._lock:
            return self.models.get(shown_id)

    def forget(self, shown_ids: Iterable[str]) -> None:
        """They are on no page any more."""
        with self._lock:
            for shown_id in shown_ids:
                self.models.pop(shown_id, None)
