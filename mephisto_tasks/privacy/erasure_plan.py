"""Who is to be forgotten, and what Mephisto's database knows of them. Read only; Mephisto itself is not imported."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.crowds.base import Forgotten
from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.payments.ledger import LEDGER
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE
from mephisto_tasks.storage.results import check_task, query, rows_of, task_names
from mephisto_tasks.storage.run_settings import blueprint_of_newest
from mephisto_tasks.workers.roster import KnownWorker, known_workers, names_of, seconds

RUNS = Path("data") / "runs" / "NO_PROJECT"
"""Of a data directory."""
SHORTEST = 4
"""Letters of a name that is looked for in files: a shorter one, such as “w1”, may mean anything."""


class Part(BaseModel):
    """A worker's part in a unit, or (``unit_id`` empty) in a practice; ``folder``: of its files, in the data directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent_id: str
    unit_id: str
    task_name: str
    folder: str


class Going(BaseModel):
    """A worker who is forgotten: altogether, or (``everywhere`` False) what they did in ``tasks``.

    ``stands_for``: what stands in the ledger in place of the pseudonym; drawn by lot, so that no key leads back from it.
    ``dialogues``: ids of those that the worker held, which others may have judged. ``blocks``: qualifications that keep
    the worker out. ``outside_ids``: of their participations at the crowd's site (submissions, assignments), by which it
    finds the person. ``last_seen``: seconds since the epoch. ``asked``: the one task that was asked for; None: all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker_id: str
    name: str
    pseudonym: str
    provider: str
    everywhere: bool
    tasks: list[str]
    parts: list[Part]
    dialogues: list[str]
    blocks: list[str]
    outside_ids: list[str] = []
    last_seen: float
    asked: str | None = None
    stands_for: str = Field(default_factory=lambda: f"forgotten-{secrets.token_hex(6)}")

    @property
    def units(self) -> list[Part]:
        return [part for part in self.parts if part.unit_id]

    @property
    def forgotten(self) -> Forgotten:
        """For crowds' own stores."""
        agents = [part.agent_id for part in self.units]
        return Forgotten(self.worker_id, self.name, self.tasks, agents, self.everywhere)

    @property
    def practices(self) -> list[Part]:
        return [part for part in self.parts if not part.unit_id]

    def and_since(self, newer: Going) -> Going:
        """This, and what is found now: of what was deleted already only this knows."""
        return newer.model_copy(
            update={
                "tasks": list(dict.fromkeys([*self.tasks, *newer.tasks])),
                "parts": list(dict.fromkeys([*self.parts, *newer.parts])),
                "dialogues": list(dict.fromkeys([*self.dialogues, *newer.dialogues])),
                "outside_ids": list(dict.fromkeys([*self.outside_ids, *newer.outside_ids])),
                "blocks": self.blocks,
                "stands_for": self.stands_for,
            }
        )

    @property
    def forms(self) -> list[str]:
        """What the worker may be called by in files; those that are too short to mean anything are left out."""
        forms = {form for form in (*names_of(self.name), self.pseudonym) if len(form) >= SHORTEST}
        return sorted(forms, key=len, reverse=True)


_UNITS = """
    SELECT agents.agent_id, agents.unit_id, tasks.task_name, agents.task_run_id, agents.assignment_id, agents.creation_date
      FROM agents JOIN tasks ON tasks.task_id = agents.task_id WHERE agents.worker_id = ?
  ORDER BY CAST(agents.agent_id AS INTEGER)
"""
_PRACTICES = """
    SELECT onboarding_agents.onboarding_agent_id, tasks.task_name, onboarding_agents.task_run_id,
           onboarding_agents.creation_date
      FROM onboarding_agents JOIN tasks ON tasks.task_id = onboarding_agents.task_id
     WHERE onboarding_agents.worker_id = ? ORDER BY onboarding_agents.onboarding_agent_id
"""
_GRANTED = """
    SELECT qualification_name FROM qualifications JOIN granted_qualifications USING (qualification_id) WHERE worker_id = ?
"""


class Places:
    """What a data directory holds of workers, read once for all of them."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir
        self.tasks = task_names(data_dir)
        self._files = {
            task: [file.read_bytes() for file in study_folder(data_dir, task).rglob("*") if file.is_file()]
            for task in self.tasks
        }
        named = {blueprint_of_newest(data_dir, task).get("block_qualification") for task in self.tasks}
        self._blocking = {str(name) for name in named if name}

    def going(self, known: KnownWorker, task_name: str | None) -> Going | None:
        """What a worker did, as it would be forgotten; None: nothing in this task."""
        parts = list(self._parts(known))
        tasks = list(dict.fromkeys([*(part.task_name for part, _ in parts), *self._naming(known)]))
        if task_name is not None and task_name not in tasks:
            return None
        everywhere = task_name is None or tasks == [task_name]
        wanted = tasks if task_name is None else [task_name]
        here = [(part, at) for part, at in parts if part.task_name in wanted]
        events = {part: _events(self.data_dir / part.folder) for part, _ in here}
        times = [float(event["at"]) for of_part in events.values() for event in of_part if "at" in event]
        return Going(
            worker_id=known.worker_id,
            name=known.name,
            pseudonym=known.pseudonym,
            provider=known.provider,
            everywhere=everywhere,
            tasks=wanted,
            parts=[part for part, _ in here],
            dialogues=[
                str(event.get("dialogue_id"))
                for part in events.values()
                for event in part
                if event["event"] == "started"
            ],
            blocks=self._blocks(known) if everywhere else [],
            outside_ids=self._outside_ids(known, wanted, [part.agent_id for part, _ in here if part.unit_id]),
            # The database may be younger than what it holds, where it was imported.
            last_seen=max(times or [at for _, at in here] or [known.since]),
            asked=task_name,
        )

    def _parts(self, known: KnownWorker) -> Iterator[tuple[Part, float]]:
        for agent, unit, task, run, assignment, at in query(self.data_dir, _UNITS, [known.worker_id]):
            folder = str(RUNS / str(run) / str(assignment) / str(agent))
            yield Part(agent_id=str(agent), unit_id=str(unit), task_name=str(task), folder=folder), seconds(str(at))
        for agent, task, run, at in query(self.data_dir, _PRACTICES, [known.worker_id]):
            folder = str(RUNS / str(run) / "onboarding" / f"onboarding_{agent}")
            yield Part(agent_id=str(agent), unit_id="", task_name=str(task), folder=folder), seconds(str(at))

    def _naming(self, known: KnownWorker) -> list[str]:
        """Tasks whose own files name a worker who may never have begun: who agreed, was turned away, or invited."""
        marks = [form.encode() for form in (known.pseudonym, known.name) if len(form) >= SHORTEST]
        return [task for task, files in self._files.items() if any(mark in file for file in files for mark in marks)]

    def _outside_ids(self, known: KnownWorker, tasks: Collection[str], agents: Collection[str]) -> list[str]:
        person = Forgotten(known.worker_id, known.name, list(tasks), list(agents))
        of_crowds = [name for crowd in crowds() for name in crowd.outside_ids(self.data_dir, person)]
        paid = [
            row
            for task in tasks
            for row in rows_of(
                study_folder(self.data_dir, task) / LEDGER,
                "payments",
                "SELECT assignment FROM payments WHERE worker = ? AND assignment != agent_id",
                [known.pseudonym],
            )
        ]
        ids = [*of_crowds, *(str(value) for row in paid for value in row)]
        return list(dict.fromkeys(one for one in ids if one))

    def _blocks(self, known: KnownWorker) -> list[str]:
        held = {str(row[0]) for row in query(self.data_dir, _GRANTED, [known.worker_id])}
        return sorted(name for name in held if name in self._blocking or name.startswith(BLOCKED_EVERYWHERE))


def _events(folder: Path) -> list[dict[str, Any]]:
    """What a state file tells; a damaged one tells nothing, and is deleted all the same."""
    try:
        messages = json.loads((folder / "state.json").read_text(encoding="utf-8"))["outputs"]["messages"]
        return [event for event in messages if isinstance(event, dict) and "event" in event]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def all_going(data_dir: Path, workers: Collection[KnownWorker], task_name: str | None) -> list[Going]:
    """Those of ``workers`` of whom there is something to forget.

    Raises:
        ResultsError: there is no database, or no such task.
    """
    if task_name is not None:
        check_task(data_dir, task_name)
    places = Places(data_dir)
    everybody = (places.going(worker, task_name) for worker in workers)
    return [person for person in everybody if person is not None]


def as_they_are_now(data_dir: Path, people: Collection[Going]) -> list[Going]:
    """The same people, with what they did since they were looked at: a launch may have come, and gone, meanwhile."""
    if not people:
        return []
    everybody, places = known_workers(data_dir), Places(data_dir)
    found = []
    for person in people:
        known = everybody.get(person.pseudonym)
        is_there = known is not None and known.worker_id == person.worker_id
        newer = places.going(known, person.asked) if known is not None and is_there else None
        found.append(person if newer is None else person.and_since(newer))
    return found
