"""How the replies of a study look, where its settings leave that open: settled at the launch, and recorded as settled."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from mephisto_tasks.stored.results import newest_states, task_names
from parlai_humaneval.models.zoo.chat_llms import is_chat_llm
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.protocol.records.events import JudgingStarted, Started
from parlai_humaneval.showing.reply_settings import ReplyLooks

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
