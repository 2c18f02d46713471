"""Whether a task that was launched before can be launched as it is asked for now."""

from __future__ import annotations

from pathlib import Path

from mephisto_tasks.config_error import ConfigError
from mephisto_tasks.stored.deciding_lines import deciding_events, is_deciding
from parlai_humaneval.sequential.events import Began
from parlai_humaneval.sequential.standing import Standing


def refuse_to_go_on_without(data_dir: Path, task_name: str) -> None:
    """Raise where a task that ends when it is decided is launched as another one.

    Raises:
        ConfigError: says what to do.
    """
    if is_deciding(data_dir, task_name):
        techniques = [event.technique for event in deciding_events(data_dir, task_name) if isinstance(event, Began)]
        of_what = f", a study by {techniques[0]}," if techniques and techniques[0] else ""
        raise ConfigError(
            f"task {task_name!r}{of_what} began with stop=decided, and every dialogue of it was drawn by that: say so "
            "again, with the same technique, margin and alpha, or begin another study: task_name=…"
        )


def already_over(task_name: str, standing: Standing) -> str:
    """What is said where nobody else is needed in a task."""
    see = f"See it with `parlai-humaneval report --task-name {task_name}`"
    more = ", or begin another study: task_name=…" if standing.ended == "decided" else "; to go on, raise max_dialogues"
    return f"task {task_name!r}: {standing}. {see}{more}"
