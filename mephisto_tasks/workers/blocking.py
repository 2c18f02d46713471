"""Soft blocks: workers who hold a study's ``block_qualification`` get no more of it, until the block is lifted.

Mephisto's database says who is blocked. Why stands in ``blocks.jsonl`` beside it: a line per block and per lifting,
only ever appended to, with the worker's pseudonym and never their id.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions.databases.local_database import LocalMephistoDB
from mephisto.data_model.worker import Worker
from pydantic import BaseModel, ConfigDict, ValidationError

from mephisto_tasks.stored.results import PSEUDONYM_KEY, ResultsError, database_file, task_names
from mephisto_tasks.stored.stores import close_connections
from mephisto_tasks.workers.qualifications import grant, holders
from parlai_humaneval.protocol.records.pseudonym import Pseudonymizer

logger = logging.getLogger(__name__)

BLOCKS_FILE = "blocks.jsonl"
NOT_RECORDED = "not recorded here"
"""Reason of a block that was not made by :func:`block`, or whose line is lost."""


class BlockError(ResultsError):
    """A block that cannot be made or lifted; the message says what to do."""


class Block(BaseModel):
    """A block, as written down. ``worker`` is a pseudonym, ``at`` seconds since the epoch (None: not recorded)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    worker: str
    qualification: str
    at: float | None = None
    task_name: str = ""
    check: str = ""
    reason: str = NOT_RECORDED


class Line(Block):
    """A line of the file."""

    event: Literal["blocked", "unblocked"]


class Lifted(BaseModel):
    """A block that was lifted. ``provider_agreed`` False: here, but the crowd provider still holds its copy."""

    block: Block
    provider_agreed: bool


def block(worker: Worker, qualification_name: str, reason: str, *, check: str = "", task_name: str = "") -> bool:
    """Grant a worker the qualification that turns them away, and write down why. Threads may call this at once.

    Args:
        worker: Mephisto's worker.
        qualification_name: ``block_qualification`` of the study; made if need be.
        reason: a sentence, for who decides on lifting the block.
        check: name of the check that failed.
        task_name: of the study.

    Returns:
        True when the worker was not blocked before; the reason is written down either way.

    Raises:
        BlockError: the qualification has no name.
    """
    if not qualification_name:
        raise BlockError("name the qualification that blocks: mephisto.blueprint.block_qualification=…")
    new = worker.get_granted_qualification(qualification_name) is None
    if new and not grant(worker, qualification_name):
        logger.warning("a block by %s holds here, but the crowd provider did not take it", qualification_name)
    data_dir = Path(worker.db.db_root)
    _append(
        data_dir,
        Line(
            event="blocked",
            worker=_pseudonyms(data_dir).worker(worker.worker_name),
            qualification=qualification_name,
            at=time.time(),
            task_name=task_name,
            check=check,
            reason=reason,
        ),
    )
    return new


def blocked(data_dir: Path, task_name: str) -> list[Block]:
    """Workers whom a task turns away now, in order of their pseudonyms, with the newest reason written down.

    Tasks may share a qualification: a block by another of them is listed too, with that task's name.

    Raises:
        ResultsError: there is no database, or no such task.
    """
    with _database(data_dir, task_name) as db:
        return [block for _, block in _blocked(db, data_dir, task_name)]


def unblock(data_dir: Path, task_name: str, workers: Collection[str] | None) -> list[Lifted]:
    """Take the qualifications back, from the ``workers`` of these pseudonyms or (None) from all whom the task blocks.

    A launch that runs lets them in from now on.

    Raises:
        BlockError: one of ``workers`` is not blocked; then none was changed.
        ResultsError: there is no database, or no such task.
    """
    with _database(data_dir, task_name) as db:
        blocks = _blocked(db, data_dir, task_name)
        if workers is not None:
            _assert_blocked(workers, [block.worker for _, block in blocks], task_name)
            blocks = [(worker, block) for worker, block in blocks if block.worker in workers]
        lifted = [
            Lifted(block=block, provider_agreed=worker.revoke_qualification(block.qualification))
            for worker, block in blocks
        ]
    for _, block in blocks:
        now = {"event": "unblocked", "at": time.time(), "task_name": task_name, "reason": "lifted by hand"}
        _append(data_dir, Line.model_validate({**block.model_dump(), **now}))
    return lifted


def _assert_blocked(wanted: Iterable[str], there: Collection[str], task_name: str) -> None:
    unknown = sorted(set(wanted) - set(there))
    if unknown:
        known = ", ".join(sorted(set(there))) or "nobody"
        raise BlockError(f"{', '.join(unknown)}: not blocked in task {task_name!r}. Blocked there: {known}")


@contextmanager
def _database(data_dir: Path, task_name: str) -> Iterator[Any]:
    """Mephisto's database, for reading and writing. Raises ResultsError where it, or the task, does not exist."""
    path = database_file(data_dir)
    names = task_names(data_dir)
    if task_name not in names:
        raise ResultsError(
            f"there is no task {task_name!r} in {data_dir}; tasks there: {', '.join(names) or 'none yet'}"
        )
    db = LocalMephistoDB(str(path))
    try:
        yield db
    finally:
        close_connections(db)


def _blocked(db: Any, data_dir: Path, task_name: str) -> list[tuple[Worker, Block]]:
    lines = _lines(data_dir)
    reasons = {(line.worker, line.qualification): line for line in lines if line.event == "blocked"}
    pseudonyms = _pseudonyms(data_dir)
    blocks = []
    for name in sorted(
        _qualifications(db, task_name) | {line.qualification for line in lines if line.task_name == task_name}
    ):
        for worker in holders(db, name):
            pseudonym = pseudonyms.worker(worker.worker_name)
            line = reasons.get((pseudonym, name))
            kept = (
                Block(worker=pseudonym, qualification=name)
                if line is None
                else Block(**line.model_dump(exclude={"event"}))
            )
            blocks.append((worker, kept))
    return sorted(blocks, key=lambda pair: (pair[1].worker, pair[1].qualification))


def _qualifications(db: Any, task_name: str) -> set[str]:
    """The blocking qualifications that the launches of a task were set to."""
    runs = [run for task in db.find_tasks(task_name=task_name) for run in db.find_task_runs(task_id=task.db_id)]
    names = (run.args.blueprint.get("block_qualification", None) for run in runs if "blueprint" in run.args)
    return {str(name) for name in names if name}


def _pseudonyms(data_dir: Path) -> Pseudonymizer:
    return Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)


def _append(data_dir: Path, line: Line) -> None:
    """One write a line, so that lines of several threads and processes never mix."""
    descriptor = os.open(data_dir / BLOCKS_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, line.model_dump_json().encode("utf-8") + b"\n")
    finally:
        os.close(descriptor)


def _lines(data_dir: Path) -> list[Line]:
    """The file, oldest first. A damaged line is left out: it must not keep anybody blocked."""
    path = data_dir / BLOCKS_FILE
    lines = []
    for number, text in enumerate(path.read_bytes().splitlines() if path.exists() else [], start=1):
        try:
            lines.append(Line.model_validate_json(text))
        except ValidationError:
            logger.warning("line %d of %s is damaged and was left out", number, path)
    return lines
