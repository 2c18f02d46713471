"""Units that did not come to their end, and can go on where they were: those of earlier launches, as they are stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mephisto_tasks.storage.results import StateFile, newest_states, task_names
from parlai_humaneval.schema.events import Event, Failed, Finished, JudgingStarted, Started
from parlai_humaneval.schema.rebuild import split_dialogues

IN_TASK = "in task"
"""Mephisto's status of an agent whose page has neither handed in nor left."""


@dataclass(frozen=True)
class CutOff:
    """What somebody left of a unit: Mephisto's ``agent``, its plan, and what happened in it."""

    agent: str
    plan: dict[str, Any]
    events: Sequence[Event]

    @property
    def beginnings(self) -> list[Started | JudgingStarted]:
        """How each of its dialogues or judgements began."""
        return [event for event in self.events if isinstance(event, (Started, JudgingStarted))]

    @property
    def finished(self) -> set[str]:
        """Ids of those of its dialogues or judgements that came to their end."""
        parts = split_dialogues(self.events)
        return {
            part_name(part[0])
            for part in parts
            if isinstance(part[0], (Started, JudgingStarted)) and any(isinstance(event, Finished) for event in part)
        }


def part_name(beginning: Event) -> str:
    """The id of the dialogue or judgement that begins so; empty where none does."""
    return beginning.dialogue_id if isinstance(beginning, Started) else str(getattr(beginning, "judgement_id", ""))


def cut_off_units(data_dir: Path, task_name: str) -> dict[str, CutOff]:
    """Mephisto's worker id → their newest unit in a task, where it did not come to its end.

    One that ended because a model failed is none: its rater handed it in. One of which all is answered is, where its
    launch was killed before its rater was told that it is complete. No database, or no such task, is an empty past.

    Raises:
        ResultsError: stored files that cannot be read.
    """
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return {}
    newest: dict[str, CutOff | None] = {}
    for agent, state in newest_states(data_dir, task_name):
        if agent.worker_id not in newest:
            newest[agent.worker_id] = _cut_off(agent.agent_id, state, at_work=agent.status == IN_TASK)
    return {worker: unit for worker, unit in newest.items() if unit is not None}


def last_seen(data_dir: Path, task_name: str) -> dict[str, float]:
    """Mephisto's worker id → when anything last happened in a unit of theirs in a task, in seconds since the epoch.

    Raises:
        ResultsError: stored files that cannot be read.
    """
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return {}
    seen: dict[str, float] = {}
    for agent, state in newest_states(data_dir, task_name):
        seen[agent.worker_id] = max(seen.get(agent.worker_id, 0.0), *(event.at for event in state.outputs.messages))
    return seen


def _cut_off(agent_id: str, state: StateFile, *, at_work: bool) -> CutOff | None:
    events = state.outputs.messages
    if not state.inputs or any(isinstance(event, Failed) for event in events):
        return None
    unit = CutOff(agent_id, state.inputs, events)
    parts = state.inputs.get("plans") or state.inputs.get("items") or []
    done = len(unit.finished) >= len(parts)
    if not parts or (done and (not at_work or state.last_page is not None)):
        return None
    return unit
