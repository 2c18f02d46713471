"""Units of earlier launches that are not finished, and can be resumed where they were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mephisto_tasks.storage.results import StateFile, newest_states, task_names
from parlai_humaneval.schema.events import Event, Failed, Finished, JudgingStarted, Started
from parlai_humaneval.schema.rebuild import split_dialogues

IN_TASK = "in task"
"""Mephisto's status of an agent that has neither submitted nor left."""


@dataclass(frozen=True)
class CutOff:
    """An unfinished unit: Mephisto's ``agent``, the unit's plan, and what happened in it."""

    agent: str
    plan: dict[str, Any]
    events: Sequence[Event]

    @property
    def beginnings(self) -> list[Started | JudgingStarted]:
        """The first event of each of its dialogues or judgements."""
        return [event for event in self.events if isinstance(event, (Started, JudgingStarted))]

    @property
    def finished(self) -> set[str]:
        """Ids of its dialogues or judgements that are finished."""
        parts = split_dialogues(self.events)
        return {
            part_name(part[0])
            for part in parts
            if isinstance(part[0], (Started, JudgingStarted)) and any(isinstance(event, Finished) for event in part)
        }


def part_name(beginning: Event) -> str:
    """The id of the dialogue or judgement that begins with this event; empty for any other event."""
    return beginning.dialogue_id if isinstance(beginning, Started) else str(getattr(beginning, "judgement_id", ""))


def cut_off_units(data_dir: Path, task_name: str) -> dict[str, CutOff]:
    """Mephisto's worker id → the worker's newest unit in a task, where it is unfinished.

    A unit that ended because a model failed is finished: its rater submitted it. A unit with every answer is unfinished
    where its launch was killed before the rater was told that it is complete. Without a database or task there is none.

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
    """Mephisto's worker id → time of the last event in any of the worker's units of a task, in seconds since the epoch.

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
