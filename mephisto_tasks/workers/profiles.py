"""Data on the workers of a data directory: a line for each, or a full profile. Only pseudonyms, and read only."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from mephisto_tasks.storage.logs import CONSENTS, NOTES, REFUSALS, Agreement, Block, Note, RefusalLine
from mephisto_tasks.storage.results import currencies_of, past_practices, task_names, worker_records
from mephisto_tasks.storage.work import Work, completed_work
from mephisto_tasks.workers.qualifications import blocks_of, list_blocks, practice_of_task, resets_by_id
from mephisto_tasks.workers.roster import KnownWorker, known_workers
from parlai_humaneval.quality.registry import checked

PracticeState = Literal["passed", "failed", "begun", "reset", ""]
Ticking = Callable[[Iterable[str]], Iterable[str]]  # goes through tasks, and may show how far it has come


class WorkerLine(BaseModel, extra="forbid", frozen=True):
    """A worker in the tasks that were looked at; outcomes count units, ``seconds`` is time at work in all of them."""

    worker: str
    provider: str
    simulated: bool
    tasks: list[str]
    complete: int
    partial: int
    stopped: int
    running: int
    seconds: float
    practice: PracticeState
    blocked: list[str]  # in these tasks, or “all studies”
    notes: int
    last_seen: float  # seconds since the epoch


class WorkerTask(BaseModel, extra="forbid", frozen=True):
    """A worker's work in one task."""

    task_name: str
    practice: PracticeState
    practice_tries: int
    work: list[Work]
    currencies: dict[str, str] = Field(default_factory=dict)  # of launches, where not dollars
    failed_checks: dict[str, str]  # name of a check → its reason
    turned_away: list[RefusalLine]
    agreed_to: list[Agreement] = Field(default_factory=list)  # consent texts, oldest first


class WorkerProfile(BaseModel, extra="forbid", frozen=True):
    worker: str
    provider: str
    simulated: bool
    since: float
    blocks: list[Block]
    notes: list[Note]
    tasks: list[WorkerTask]


EVERYWHERE = "all studies"


def list_workers(data_dir: Path, task_name: str | None, ticking: Ticking = iter) -> list[WorkerLine]:
    """A line for every worker of a task, or of all tasks, the last seen first. Raises ResultsError."""
    workers = known_workers(data_dir)
    tasks = task_names(data_dir) if task_name is None else [task_name]
    of_worker: dict[str, list[tuple[str, Work]]] = defaultdict(list)
    practice: dict[str, PracticeState] = {}
    blocks: dict[str, list[str]] = defaultdict(list)
    for task in ticking(tasks):
        for work in completed_work(data_dir, task):
            of_worker[work.worker_id].append((task, work))
        practice |= _practices(data_dir, task)
        for block in list_blocks(data_dir, task):  # those in all studies are named with each task
            blocks[block.worker].append(EVERYWHERE if block.everywhere else task)
    noted = [note.worker for note in NOTES.read(data_dir)]
    lines = [
        _line(known, of_worker[known.worker_id], practice.get(known.worker_id, ""), blocks[known.pseudonym], noted)
        for known in workers.values()
        if task_name is None or of_worker[known.worker_id] or known.worker_id in practice
    ]
    return sorted(lines, key=lambda line: -line.last_seen)


def _line(
    known: KnownWorker, done: list[tuple[str, Work]], practice: PracticeState, blocks: list[str], noted: list[str]
) -> WorkerLine:
    work = [unit for _, unit in done]
    counts = Counter(unit.outcome for unit in work)
    return WorkerLine(
        worker=known.pseudonym,
        provider=known.provider,
        simulated=known.simulated or any(unit.simulated for unit in work),
        tasks=list(dict.fromkeys(task for task, _ in done)),
        **{outcome: counts[outcome] for outcome in ("complete", "partial", "stopped", "running")},
        seconds=sum(unit.seconds for unit in work),
        practice=practice,
        blocked=sorted(set(blocks)),
        notes=noted.count(known.pseudonym),
        last_seen=max([known.since, *(unit.ended for unit in work)]),
    )


def _practices(data_dir: Path, task: str) -> dict[str, PracticeState]:
    resets = resets_by_id(data_dir, practice_of_task(data_dir, task))
    states: dict[str, PracticeState] = dict.fromkeys(resets, "reset")
    for worker_id, past in past_practices(data_dir, task, resets).items():
        states[worker_id] = "begun" if past.passed is None else "passed" if past.passed else "failed"
    return states


def profile_of(data_dir: Path, known: KnownWorker, ticking: Ticking = iter) -> WorkerProfile:
    """The full profile of one worker. Raises ResultsError: no database, or a file that cannot be read."""
    tasks = [_task(data_dir, task, known) for task in ticking(task_names(data_dir))]
    return WorkerProfile(
        worker=known.pseudonym,
        provider=known.provider,
        simulated=known.simulated,
        since=known.since,
        blocks=blocks_of(data_dir, [known.pseudonym]),
        notes=[note for note in NOTES.read(data_dir) if note.worker == known.pseudonym],
        tasks=[task for task in tasks if task.work or task.practice or task.turned_away or task.agreed_to],
    )


def _task(data_dir: Path, task: str, known: KnownWorker) -> WorkerTask:
    records = worker_records(data_dir, task, known.worker_id)
    for record in records:
        record.worker = known.pseudonym
    checked(records)
    verdicts = [verdict for record in records for verdict in record.checks.values() if isinstance(verdict, dict)]
    past = past_practices(data_dir, task).get(known.worker_id)
    return WorkerTask(
        task_name=task,
        practice=_practices(data_dir, task).get(known.worker_id, ""),
        practice_tries=0 if past is None else past.tries,
        work=completed_work(data_dir, task, known.worker_id),
        currencies=currencies_of(data_dir, task),
        failed_checks={str(one["check"]): str(one["reason"]) for one in verdicts if one.get("passed") is False},
        turned_away=[one for one in REFUSALS.read(data_dir, task) if one.worker == known.pseudonym],
        agreed_to=[one for one in CONSENTS.read(data_dir, task) if one.worker == known.pseudonym],
    )
