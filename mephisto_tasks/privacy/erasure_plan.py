"""Who is to be forgotten, and what Mephisto's database knows of them. Read only; Mephisto itself is not imported."""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.crowds.crowd import Forgotten
from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.payments.ledger import LEDGER
from mephisto_tasks.storage.locks import IMAGES, study_folder
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE
from mephisto_tasks.storage.results import check_task, query, rows_of, task_names
from mephisto_tasks.storage.run_settings import blueprint_of_newest
from mephisto_tasks.workers.roster import KnownWorker, known_workers, names_of, seconds

RUNS = Path("data") / "runs" / "NO_PROJECT"  # of a data directory
SHORTEST = 4  # letters of a name that is looked for in files: a shorter one, such as “w1”, may mean anything


class WorkerPart(BaseModel):
    """A worker's part in a unit, or (``unit_id`` empty) in a practice; ``folder``: of its files, in the data directory."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    agent_id: str
    unit_id: str
    task_name: str
    folder: str


class ErasurePlan(BaseModel):
    """A worker who is forgotten: altogether, or (``everywhere`` False) what they did in ``tasks``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker_id: str
    name: str
    pseudonym: str
    provider: str
    everywhere: bool
    tasks: list[str]
    parts: list[WorkerPart]
    dialogues: list[str]  # ids of those that the worker held, which others may have judged
    blocks: list[str]  # qualifications that keep the worker out
    outside_ids: list[str] = []  # of their participations at the crowd's site, by which it finds the person
    last_seen: float  # seconds since the epoch
    asked: str | None = None  # the one task that was asked for; None: all
    stands_for: str = Field(default_factory=lambda: f"forgotten-{secrets.token_hex(6)}")

    @property
    def units(self) -> list[WorkerPart]:
        return [part for part in self.parts if part.unit_id]

    @property
    def forgotten(self) -> Forgotten:
        agents = [part.agent_id for part in self.units]
        return Forgotten(self.worker_id, self.name, self.tasks, agents, self.everywhere)

    @property
    def practices(self) -> list[WorkerPart]:
        return [part for part in self.parts if not part.unit_id]

    def and_since(self, newer: ErasurePlan) -> ErasurePlan:
        """This, and what is found now: of what was deleted already only this knows."""
        lists = ("tasks", "parts", "dialogues", "outside_ids")
        both = {name: list(dict.fromkeys([*getattr(self, name), *getattr(newer, name)])) for name in lists}
        return newer.model_copy(update={**both, "blocks": self.blocks, "stands_for": self.stands_for})

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
        self.data_dir, tasks = data_dir, task_names(data_dir)
        self._files = {
            task: [
                file.read_bytes()
                for file in study_folder(data_dir, task).rglob("*")
                if file.is_file() and file.parent.name != IMAGES
            ]
            for task in tasks
        }
        named = {blueprint_of_newest(data_dir, task).get("block_qualification") for task in tasks}
        self._blocking = {str(name) for name in named if name}

    def going(self, known: KnownWorker, task_name: str | None) -> ErasurePlan | None:
        """What a worker did, as it would be forgotten; None: nothing in this task."""
        parts = list(self._parts(known))
        marks = [form.encode() for form in (known.pseudonym, known.name) if len(form) >= SHORTEST]
        naming = [task for task, held in self._files.items() if any(mark in file for file in held for mark in marks)]
        tasks = list(dict.fromkeys([*(part.task_name for part, _ in parts), *naming]))
        if task_name is not None and task_name not in tasks:
            return None
        everywhere = task_name is None or tasks == [task_name]
        wanted = tasks if task_name is None else [task_name]
        here = [(part, at) for part, at in parts if part.task_name in wanted]
        events = [event for part, _ in here for event in _events(self.data_dir / part.folder)]
        times = [float(event["at"]) for event in events if "at" in event]
        agents = [part.agent_id for part, _ in here if part.unit_id]
        person = Forgotten(known.worker_id, known.name, wanted, agents)
        of_crowds = [name for crowd in crowds() for name in crowd.outside_ids(self.data_dir, person)]
        sql = "SELECT assignment FROM payments WHERE worker = ? AND assignment != agent_id"
        ledgers = [study_folder(self.data_dir, task) / LEDGER for task in wanted]
        paid = [row for ledger in ledgers for row in rows_of(ledger, "payments", sql, [known.pseudonym])]
        granted = query(self.data_dir, _GRANTED, [known.worker_id]) if everywhere else []
        held = {str(row[0]) for row in granted}
        ids = [*of_crowds, *(str(value) for row in paid for value in row)]
        return ErasurePlan(
            worker_id=known.worker_id,
            name=known.name,
            pseudonym=known.pseudonym,
            provider=known.provider,
            everywhere=everywhere,
            tasks=wanted,
            parts=[part for part, _ in here],
            dialogues=[str(event.get("dialogue_id")) for event in events if event["event"] == "started"],
            blocks=sorted(name for name in held if name in self._blocking or name.startswith(BLOCKED_EVERYWHERE)),
            outside_ids=list(dict.fromkeys(one for one in ids if one)),
            # The database may be younger than what it holds, where it was imported.
            last_seen=max(times or [at for _, at in here] or [known.since]),
            asked=task_name,
        )

    def _parts(self, known: KnownWorker) -> Iterator[tuple[WorkerPart, float]]:
        for agent, unit, task, run, assignment, at in query(self.data_dir, _UNITS, [known.worker_id]):
            folder = str(RUNS / str(run) / str(assignment) / str(agent))
            yield (
                WorkerPart(agent_id=str(agent), unit_id=str(unit), task_name=str(task), folder=folder),
                seconds(str(at)),
            )
        for agent, task, run, at in query(self.data_dir, _PRACTICES, [known.worker_id]):
            folder = str(RUNS / str(run) / "onboarding" / f"onboarding_{agent}")
            yield WorkerPart(agent_id=str(agent), unit_id="", task_name=str(task), folder=folder), seconds(str(at))


def _events(folder: Path) -> list[dict[str, Any]]:
    """What a state file tells; a damaged one tells nothing, and is deleted all the same."""
    try:
        messages = json.loads((folder / "state.json").read_text(encoding="utf-8"))["outputs"]["messages"]
        return [event for event in messages if isinstance(event, dict) and "event" in event]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def all_going(data_dir: Path, workers: Collection[KnownWorker], task_name: str | None) -> list[ErasurePlan]:
    """Those of ``workers`` of whom there is something to forget. Raises ResultsError."""
    if task_name is not None:
        check_task(data_dir, task_name)
    places = Places(data_dir)
    everybody = (places.going(worker, task_name) for worker in workers)
    return [person for person in everybody if person is not None]


def as_they_are_now(data_dir: Path, people: Collection[ErasurePlan]) -> list[ErasurePlan]:
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
