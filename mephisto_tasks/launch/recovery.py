"""Mephisto's statuses follow the records: a launch that is killed between the two leaves them behind. What was rated to
its end is completed; what was cut off stays as it is, which tells that the launch went, and not the rater."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.storage.locks import AlreadyRunning, running_task_run, task_lock
from mephisto_tasks.storage.results import ResultsError, database_file, query, task_names
from mephisto_tasks.storage.sqlite import Database
from mephisto_tasks.storage.work import completed_work

PATIENCE_S = 5.0  # how long a repair waits for who holds the database

COMPLETED = "completed"
_AGENT_DONE = {COMPLETED, "approved", "rejected", "soft_rejected"}
_UNIT_DONE = {COMPLETED, "accepted", "rejected", "soft_rejected"}

_STATUSES = """
    SELECT agents.agent_id, agents.status, units.unit_id, units.status, COALESCE(units.agent_id, agents.agent_id)
      FROM agents
      JOIN tasks ON tasks.task_id = agents.task_id
      JOIN units ON units.unit_id = agents.unit_id
     WHERE tasks.task_name = ?
"""


class Behind(BaseModel):
    """A unit that was rated to its end, and whose status does not say so; ``worker`` is a pseudonym."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    task_name: str
    worker: str
    agent_id: str
    agent_status: str
    unit_id: str
    unit_status: str
    has_unit: bool  # the unit was not given to somebody else since then

    def __str__(self) -> str:
        unit = f", unit {self.unit_id}: {self.unit_status}" if self.has_unit else ""
        return f"agent {self.agent_id}: {self.agent_status}{unit}, and its work is complete"


def behind(data_dir: Path, task_name: str) -> list[Behind]:
    """What of a task is complete by its records, and not by Mephisto's statuses. Raises ResultsError."""
    stored = {str(row[0]): [str(value) for value in row[1:]] for row in query(data_dir, _STATUSES, [task_name])}
    left = []
    for work in completed_work(data_dir, task_name):
        if work.outcome != "complete" or work.agent_id not in stored:
            continue
        agent_status, unit_id, unit_status, unit_agent = stored[work.agent_id]
        has_unit = unit_agent == work.agent_id
        if agent_status not in _AGENT_DONE or (has_unit and unit_status not in _UNIT_DONE):
            left.append(
                Behind(
                    task_name=task_name,
                    worker=work.worker,
                    agent_id=work.agent_id,
                    agent_status=agent_status,
                    unit_id=unit_id,
                    unit_status=unit_status,
                    has_unit=has_unit,
                )
            )
    return left


def repair(data_dir: Path, task_name: str) -> list[Behind]:
    """Set a task's statuses by its records, holding its lock; what was behind. Raises ResultsError."""
    left = behind(data_dir, task_name)
    if not left:
        return left
    hint = "nothing was changed: end the program that uses it, or try again later"
    database = Database(
        database_file(data_dir), error=ResultsError, if_busy=hint, if_damaged=hint, patience_s=PATIENCE_S
    )
    with database.writing() as connection:
        for one in left:
            if one.agent_status not in _AGENT_DONE:
                connection.execute(
                    "UPDATE agents SET status = ?1 WHERE agent_id = ?2 AND status = ?3",
                    (COMPLETED, one.agent_id, one.agent_status),
                )
            if one.has_unit and one.unit_status not in _UNIT_DONE:
                connection.execute(
                    "UPDATE units SET status = ?1, agent_id = ?2 WHERE unit_id = ?3 AND status = ?4",
                    (COMPLETED, one.agent_id, one.unit_id, one.unit_status),
                )
    return left


class Statuses(BaseModel):
    """The statuses of all tasks: what is ``behind`` was set if ``repaired``; nobody else touches ``running`` ones."""

    behind: list[Behind]
    repaired: bool
    running: list[str]


def all_statuses(data_dir: Path, *, set_them: bool) -> Statuses:
    """Look at every task of a data directory, or set what is behind. Raises ResultsError: as :func:`repair`."""
    left: list[Behind] = []
    running: list[str] = []
    for task_name in task_names(data_dir) if (data_dir / "database.db").is_file() else []:
        if running_task_run(data_dir, task_name) is not None:
            running.append(task_name)
            continue
        here = behind(data_dir, task_name)
        if here and set_them:
            try:
                with task_lock(data_dir, task_name):
                    here = repair(data_dir, task_name)
            except AlreadyRunning:
                running.append(task_name)
                continue
        left += here
    return Statuses(behind=left, repaired=set_them, running=running)
