"""Blocks: workers who hold a study's ``block_qualification`` get no more of it, until the block is lifted.

A check that failed blocks so (soft blocks); by hand anybody can be blocked, in one study, for which each has a qualification
of its own, or in all of a data directory.

Mephisto's database says who is blocked. Why stands in ``blocks.jsonl`` beside it: a line per block and per lifting,
only ever appended to, with the worker's pseudonym and never their id.

Soft blocks while a study runs: a worker who fails a blocking check gets no more of it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mephisto.data_model.worker import Worker
from pydantic import BaseModel

from mephisto_tasks._util import compat
from mephisto_tasks.crowds.database import opened
from mephisto_tasks.crowds.mturk.errors import MTurkError, asking
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE, BLOCKS, Block, BlockLine, blocked_here
from mephisto_tasks.storage.results import (
    PSEUDONYM_KEY,
    ResultsError,
    check_task,
    database_file,
    task_names,
    worker_records,
)
from mephisto_tasks.workers.qualifications import grant, holders, revoke
from mephisto_tasks.workers.roster import KnownWorker
from parlai_humaneval.quality import check_dialogue, check_workers, needs_all_records
from parlai_humaneval.quality.verdicts import Verdict
from parlai_humaneval.schema.events import parse_events
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.rebuild import build_rated, split_dialogues

compat.prepare()


logger = logging.getLogger(__name__)


class BlockError(ResultsError):
    """A block that cannot be made or lifted; the message says what to do."""


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
        raise BlockError("name the qualification that blocks: block_qualification=…")
    new = worker.get_granted_qualification(qualification_name) is None
    if new and not grant(worker, qualification_name):
        logger.warning("a block by %s holds here, but the crowd provider did not take it", qualification_name)
    data_dir = Path(worker.db.db_root)
    BLOCKS.append(
        data_dir,
        BlockLine(
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


def block_by_hand(
    data_dir: Path, workers: Collection[KnownWorker], reason: str, task_name: str | None, *, on_mturk: bool = False
) -> list[str]:
    """Block workers in a study, or (None) in all of the data directory; a launch that runs turns them away from now on.

    Args:
        data_dir: of Mephisto.
        workers: whom.
        reason: a sentence, for who decides on lifting the block.
        task_name: where.
        on_mturk: whether MTurk is asked, too, to let them see no HIT of the account any more.

    Returns:
        What could not be done, in sentences; here the blocks hold all the same.

    Raises:
        ResultsError: there is no database, or no such task.
        BlockError: ``on_mturk`` for somebody who is not of MTurk; then nobody was blocked.
    """
    elsewhere = [worker.pseudonym for worker in workers if not worker.provider.startswith("mturk")]
    if on_mturk and elsewhere:
        raise BlockError(
            f"{', '.join(elsewhere)}: not of MTurk, so that MTurk cannot block them; leave --everywhere out"
        )
    problems = []
    with _database(data_dir, task_name) as db:
        name = BLOCKED_EVERYWHERE if task_name is None else blocked_here(task_name)
        for known in workers:
            worker = Worker.get(db, known.worker_id)
            block(worker, name, reason, task_name=task_name or "")
            if on_mturk:
                problems += [
                    f"{known.pseudonym}: {problem}" for problem in _asked_of_mturk(worker, _block_on_mturk(reason))
                ]
    return problems


def unblock_on_mturk(data_dir: Path, workers: Collection[KnownWorker]) -> list[str]:
    """Ask MTurk to let these workers see the account's HITs again; what could not be done, in sentences."""
    with _database(data_dir, None) as db:
        return [
            f"{known.pseudonym}: {problem}"
            for known in workers
            if known.provider.startswith("mturk")
            for problem in _asked_of_mturk(Worker.get(db, known.worker_id), _unblock_on_mturk)
        ]


def _block_on_mturk(reason: str) -> Callable[[Any, Any], object]:
    return lambda worker, requester: worker.block_worker(reason, requester=requester)


def _unblock_on_mturk(worker: Any, requester: Any) -> object:
    return worker.unblock_worker("lifted by hand", requester)


def _asked_of_mturk(worker: Any, ask: Callable[[Any, Any], object]) -> Iterator[str]:
    """Ask in the name of every requester of the worker's provider; yields what went wrong, and asks the others too."""
    requesters = worker.db.find_requesters(provider_type=worker.provider_type)
    if not requesters:
        yield "no MTurk account is registered (parlai-humaneval requester add)"
    for requester in requesters:
        try:
            with asking(f"change the account's blocks in the name of {requester.requester_name}"):
                ask(worker, requester)
        except MTurkError as error:
            yield str(error)


def blocked(data_dir: Path, task_name: str | None) -> list[Block]:
    """Workers whom a task turns away now, in order of their pseudonyms, with the newest reason written down.

    Tasks may share a qualification: a block by another of them is listed too, with that task's name. Those who are
    blocked in all studies are among them; None: nobody but these.

    Raises:
        ResultsError: there is no database, or no such task.
    """
    with _database(data_dir, task_name) as db:
        names = {BLOCKED_EVERYWHERE} | (_qualifications(db, data_dir, task_name) if task_name is not None else set())
        return [block for _, block in _blocked(db, data_dir, names)]


def blocks_of(data_dir: Path, workers: Collection[str]) -> list[Block]:
    """All blocks that hold for the workers of these pseudonyms, in whatever study.

    Raises:
        ResultsError: there is no database.
    """
    with _database(data_dir, None) as db:
        return [block for block in _all_blocks(db, data_dir) if block.worker in workers]


def _all_blocks(db: Any, data_dir: Path) -> list[Block]:
    names = {BLOCKED_EVERYWHERE}.union(*(_qualifications(db, data_dir, name) for name in task_names(data_dir)))
    return [block for _, block in _blocked(db, data_dir, names)]


def unblock(data_dir: Path, task_name: str | None, workers: Collection[str] | None) -> list[Lifted]:
    """Take the qualifications back, from the ``workers`` of these pseudonyms or (None) from all whom the task blocks.

    ``task_name`` None: those with which workers are blocked in all studies; a task's own leave these alone. A launch that
    runs lets them in from now on.

    Raises:
        BlockError: one of ``workers`` is not blocked; then none was changed.
        ResultsError: there is no database, or no such task.
    """
    with _database(data_dir, task_name) as db:
        names = {BLOCKED_EVERYWHERE} if task_name is None else _qualifications(db, data_dir, task_name)
        blocks = _blocked(db, data_dir, names)
        if workers is not None:
            unknown = sorted(set(workers) - {block.worker for _, block in blocks})
            if unknown:
                raise BlockError(_not_blocked(unknown, blocks, task_name, _all_blocks(db, data_dir)))
            blocks = [(worker, block) for worker, block in blocks if block.worker in workers]
        lifted = [Lifted(block=block, provider_agreed=revoke(worker, block.qualification)) for worker, block in blocks]
    for _, block in blocks:
        now = {"event": "unblocked", "at": time.time(), "task_name": task_name or "", "reason": "lifted by hand"}
        BLOCKS.append(data_dir, BlockLine.model_validate({**block.model_dump(), **now}))
    return lifted


def _not_blocked(
    unknown: Sequence[str], blocks: Sequence[tuple[Worker, Block]], task_name: str | None, everywhere: Sequence[Block]
) -> str:
    """Says where else the first of these workers is blocked, or who is blocked there."""
    where = "in all studies" if task_name is None else f"in task {task_name!r}"
    other = next((block for block in everywhere if block.worker == unknown[0]), None)
    if other is not None:
        return f"{unknown[0]}: not blocked {where}, but {other.place}. Lift that: parlai-humaneval {other.lifted_by}"
    known = ", ".join(sorted({block.worker for _, block in blocks})) or "nobody"
    return f"{', '.join(unknown)}: not blocked {where}. Blocked there: {known}"


@contextmanager
def _database(data_dir: Path, task_name: str | None) -> Iterator[Any]:
    """Mephisto's database, for reading and writing. Raises ResultsError where it, or the task, does not exist."""
    if task_name is not None:
        check_task(data_dir, task_name)
    with opened(database_file(data_dir)) as db:
        yield db


def _blocked(db: Any, data_dir: Path, names: Iterable[str]) -> list[tuple[Worker, Block]]:
    """Who holds one of these qualifications, with the newest reason."""
    reasons = {(line.worker, line.qualification): line for line in BLOCKS.read(data_dir) if line.event == "blocked"}
    pseudonyms = _pseudonyms(data_dir)
    blocks = []
    for name in sorted(names):
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


def _qualifications(db: Any, data_dir: Path, task_name: str) -> set[str]:
    """The qualifications that block in a task alone: of its launches' settings, of blocks by hand, and of what was noted."""
    runs = [run for task in db.find_tasks(task_name=task_name) for run in db.find_task_runs(task_id=task.db_id)]
    names = (run.args.blueprint.get("block_qualification", None) for run in runs if "blueprint" in run.args)
    noted = {line.qualification for line in BLOCKS.read(data_dir) if line.task_name == task_name}
    return {str(name) for name in names if name} | {blocked_here(task_name)} | noted - {BLOCKED_EVERYWHERE}


def _pseudonyms(data_dir: Path) -> Pseudonymizer:
    return Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)


def block_if_failed(
    names: Sequence[str], qualification: str | None, worker: Any, messages: Sequence[dict[str, Any]], task_name: str
) -> None:
    """Judge a unit that is complete by checks; the first that fails blocks its worker.

    Checks on workers look at all that the worker has done in the task (Ji et al. 2022: all units pooled).

    Args:
        names: of the checks.
        qualification: with which the study blocks; without one nobody is judged.
        worker: Mephisto's worker.
        messages: the unit's stored events.
        task_name: of the study.
    """
    if not names or not qualification:
        return
    try:
        failed = _first_failure(names, worker, messages, task_name)
        if failed is not None:
            block(worker, qualification, failed.reason, check=failed.check, task_name=task_name)
            logger.info("a worker is blocked by %s: %s", failed.check, failed.reason)
    except Exception:  # a damaged file of somebody else's, say: this rater has done the work and must get their thanks
        logger.exception("a unit of task %r could not be judged by %s; nobody is blocked", task_name, ", ".join(names))


def _first_failure(
    names: Sequence[str], worker: Any, messages: Sequence[dict[str, Any]], task_name: str
) -> Verdict | None:
    records = [build_rated(events) for events in split_dialogues(parse_events(messages))]
    verdicts = [verdict for record in records for verdict in check_dialogue(record, names)]
    if needs_all_records(names):
        all_of_theirs = worker_records(Path(worker.db.db_root), task_name, worker.db_id)
        verdicts += [verdict for of_worker in check_workers(all_of_theirs, names).values() for verdict in of_worker]
    return next((verdict for verdict in verdicts if verdict.passed is False), None)
