"""Mephisto's qualifications, which record workers who failed a practice, and programs of this project.

Only a launch marks programs, whose names it announced before they came; nothing that a page sends can do or undo that."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from mephisto_tasks._util import compat
from mephisto_tasks.storage import logs, results
from mephisto_tasks.storage.provider_names import plain_name
from mephisto_tasks.workers.roster import SIMULATED, KnownWorker, SiteBlocks, known_workers
from parlai_humaneval.quality import check_dialogue, check_workers, needs_all_records
from parlai_humaneval.schema.events import parse_events
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.rebuild import build_rated, split_dialogues

if TYPE_CHECKING:
    from mephisto.data_model.worker import Worker


logger = logging.getLogger(__name__)


def grant(worker: Worker, name: str, value: int = 1) -> bool:
    """Give a worker the qualification ``name``. Thread-safe. False: the crowd provider did not take it; here it holds."""
    compat.prepare()
    from mephisto.abstractions.database import EntryAlreadyExistsException
    from mephisto.utils.qualifications import find_or_create_qualification

    for _ in range(2):  # another thread may be first with the qualification, or with the worker: then it is there now
        try:
            find_or_create_qualification(worker.db, name)
            worker.grant_qualification(name, value, skip_crowd=True)
            break
        except EntryAlreadyExistsException:
            continue
    return _ask_crowd(worker.grant_crowd_qualification, name, value)


def revoke(worker: Worker, name: str) -> bool:
    """Take a qualification back. False: the crowd provider did not take it back; here it is gone all the same."""
    granted = worker.get_granted_qualification(name)
    if granted is None:
        return True
    worker.db.revoke_qualification(granted.qualification_id, worker.db_id)
    return _ask_crowd(worker.revoke_crowd_qualification, name)


def _ask_crowd(ask: Callable[..., object], name: str, *value: int) -> bool:
    """Whether the crowd provider did it. Mephisto's own methods print a traceback with the worker's id where not."""
    try:
        ask(name, *value)
    except Exception as error:  # noqa: BLE001 (each provider has errors of its own; the caller says what holds)
        logger.warning("the crowd provider refused a change to %s (%s)", name, type(error).__name__)
        return False
    return True


def worker_of(db: Any, worker_id: str) -> Any:
    """Mephisto's worker of an id of Mephisto's."""
    compat.prepare()
    from mephisto.data_model.worker import Worker

    return Worker.get(db, worker_id)


def failed_qualification(practice: str) -> str:
    """The qualification of workers who failed the practice for this qualification."""
    compat.prepare()
    from mephisto.abstractions.blueprints.mixins.onboarding_required import OnboardingRequired

    return str(OnboardingRequired.get_failed_qual(practice))


def is_simulated(worker: Any, announced: Callable[[str], bool]) -> bool:
    """Whether a worker is a program; one whose name is ``announced`` is marked by this."""
    if worker.get_granted_qualification(SIMULATED) is not None:
        return True
    if not announced(plain_name(str(worker.worker_name))):
        return False
    grant(worker, SIMULATED)
    return True


class PracticeError(results.ResultsError):
    """A practice that cannot be reset; the message says why."""


def practice_of_task(data_dir: Path, task_name: str) -> str | None:
    """The qualification that a task's practice grants, by its newest launch; None: no practice. Raises ResultsError."""
    name = results.newest_settings(data_dir, task_name, "blueprint").get("onboarding_qualification")
    return str(name) if name else None


def fail_practice(worker: Any, qualification: str) -> None:
    """The worker has failed the practice that grants this qualification, and takes no further part."""
    grant(worker, qualification, 0)
    grant(worker, failed_qualification(qualification), 0)


def fail_who_was_cut_off(db: Any, task_name: str, qualification: str | None, failed: Collection[str]) -> None:
    """Write down the verdict of practices that were ``failed`` just when a launch was killed, unless it was lifted
    since."""
    if qualification is None or not failed:
        return
    for (worker_id,) in results.query(Path(db.db_root), "cut_off", [task_name]):
        worker = worker_of(db, str(worker_id))
        if str(worker_id) in failed and worker.get_granted_qualification(qualification) is None:
            logger.info("a rater failed the practice just as an earlier launch was killed; this counts now")
            fail_practice(worker, qualification)


def resets_by_id(data_dir: Path, qualification: str | None) -> dict[str, float]:
    """Mephisto's worker id → when they were last allowed to begin the practice of this qualification again."""
    notes = logs.NOTES.read(data_dir) if qualification else []
    mine = (one for one in notes if (one.event, one.qualification) == ("practice_reset", qualification))
    resets = {one.worker: one.at for one in mine}
    workers = known_workers(data_dir) if resets else {}
    return {workers[name].worker_id: at for name, at in resets.items() if name in workers}


def reset_practice(db: Any, task_name: str, workers: Collection[KnownWorker], why: str = "") -> list[str]:
    """Let workers who failed the practice of a task try again; returns those whom the crowd provider still holds
    disqualified. Raises PracticeError: there is no practice, or somebody has not failed it; ResultsError; then nothing was
    changed."""
    data_dir = Path(db.db_root)
    qualification = practice_of_task(data_dir, task_name)
    if qualification is None:
        raise PracticeError(f"task {task_name!r} has no practice")
    failed_name = failed_qualification(qualification)
    found = [(known, worker_of(db, known.worker_id)) for known in workers]
    passed = [
        known.pseudonym
        for known, worker in found
        if not worker.is_disqualified(qualification) and worker.get_granted_qualification(failed_name) is None
    ]
    if passed:
        raise PracticeError(f"did not fail the practice round of task {task_name!r}", where=f"{', '.join(passed)}")
    left = []
    for known, worker in found:
        # Written first: what comes before it does not count, even if this ends here.
        text = why or task_name
        note = logs.Note(event="practice_reset", worker=known.pseudonym, text=text, qualification=qualification)
        logs.NOTES.append(data_dir, note)
        agreed = [revoke(worker, name) for name in (qualification, failed_name)]
        left += [] if all(agreed) else [known.pseudonym]
    return left


SiteOf = Callable[[str], SiteBlocks | None]  # Mephisto's provider type → the list of its site, if it has one


class BlockError(results.ResultsError):
    """A block that cannot be made or lifted; the message says what to do."""


class Lifted(BaseModel):
    """A block that was lifted. ``provider_agreed`` False: the crowd provider still holds its copy."""

    block: logs.Block
    provider_agreed: bool


def block(worker: Any, qualification_name: str, reason: str, *, check: str = "", task_name: str = "") -> bool:
    """Grant a worker (Mephisto's) the qualification that turns them away, and write down why. Thread-safe. Whether they
    were not blocked before. Raises BlockError."""
    if not qualification_name:
        raise BlockError("name the qualification that blocks: block_qualification=…")
    new = worker.get_granted_qualification(qualification_name) is None
    if new and not grant(worker, qualification_name):
        logger.warning("a block by %s applies here, but the crowd provider did not accept it", qualification_name)
    data_dir = Path(worker.db.db_root)
    pseudonym, now = _pseudonyms(data_dir).worker(worker.worker_name), time.time()
    line = {"worker": pseudonym, "qualification": qualification_name, "at": now, "task_name": task_name}
    logs.BLOCKS.append(
        data_dir, logs.BlockLine.model_validate({"event": "blocked", **line, "check": check, "reason": reason})
    )
    return new


def block_by_hand(
    db: Any, workers: Collection[KnownWorker], reason: str, task_name: str | None, site_of: SiteOf | None = None
) -> list[str]:
    """Block workers in a study, or (None) everywhere, and on the lists of their sites (``site_of``); returns what sites did
    not do. Raises ResultsError, BlockError: then nobody was blocked."""
    if task_name is not None:
        results.check_task(Path(db.db_root), task_name)
    sites = {} if site_of is None else {known.provider: site_of(known.provider) for known in workers}
    without = [known.pseudonym for known in workers if site_of is not None and sites[known.provider] is None]
    if without:
        what = "their crowd's site cannot block them"
        raise BlockError(what, where=", ".join(without), try_="leave --everywhere out")
    name = logs.BLOCKED_EVERYWHERE if task_name is None else logs.blocked_here(task_name)
    problems = []
    for known in workers:
        worker = worker_of(db, known.worker_id)
        block(worker, name, reason, task_name=task_name or "")
        if (site := sites.get(known.provider)) is not None:
            problems += [f"{known.pseudonym}: {problem}" for problem in site.block(worker, reason)]
    return problems


def unblock_on_sites(db: Any, workers: Collection[KnownWorker], site_of: SiteOf) -> list[str]:
    """Ask crowds' sites to let these workers come again; what could not be done, in sentences."""
    sites = ((known, site) for known in workers if (site := site_of(known.provider)) is not None)
    found = ((known, site.unblock(worker_of(db, known.worker_id))) for known, site in sites)
    return [f"{known.pseudonym}: {problem}" for known, problems in found for problem in problems]


def list_blocks(data_dir: Path, task_name: str | None) -> list[logs.Block]:
    """The blocks by which a task turns workers away now, those in all studies too (None: these alone), with the newest
    reason; tasks may share a qualification. Raises ResultsError."""
    return [block for _, block in _find(data_dir, [] if task_name is None else [task_name])]


def blocks_of(data_dir: Path, workers: Collection[str]) -> list[logs.Block]:
    """All blocks of the workers of these pseudonyms, in whatever study. Raises ResultsError: there is no database."""
    return [block for _, block in _find(data_dir, results.task_names(data_dir)) if block.worker in workers]


def unblock(db: Any, task_name: str | None, workers: Collection[str] | None) -> list[Lifted]:
    """Take the qualifications back from the ``workers`` of these pseudonyms, or (None) from all whom the task blocks, or
    (no ``task_name``) all studies do. Raises BlockError, ResultsError: then none was changed."""
    data_dir = Path(db.db_root)
    blocks = _find(data_dir, [] if task_name is None else [task_name], everywhere=task_name is None)
    if workers is not None:
        unknown = sorted(set(workers) - {block.worker for _, block in blocks})
        if unknown:
            raise _not_blocked(unknown, [block for _, block in blocks], task_name, data_dir)
        blocks = [(worker_id, block) for worker_id, block in blocks if block.worker in workers]
    agreed = [revoke(worker_of(db, worker_id), block.qualification) for worker_id, block in blocks]
    for _, block in blocks:
        now = {"event": "unblocked", "at": time.time(), "task_name": task_name or "", "reason": "lifted by hand"}
        logs.BLOCKS.append(data_dir, logs.BlockLine.model_validate({**block.model_dump(), **now}))
    return [Lifted(block=block, provider_agreed=did) for (_, block), did in zip(blocks, agreed, strict=True)]


def _not_blocked(
    unknown: Sequence[str], blocks: Sequence[logs.Block], task_name: str | None, data_dir: Path
) -> BlockError:
    """Says where else the first of these workers is blocked, or who is blocked there."""
    where = "in all studies" if task_name is None else f"in task {task_name!r}"
    other = next(iter(blocks_of(data_dir, unknown[:1])), None)
    if other is not None:
        what = f"not blocked {where}, but {other.place}"
        return BlockError(what, where=unknown[0], try_=f"lift that: parlai-humaneval {other.lifted_by}")
    known = ", ".join(sorted({block.worker for block in blocks})) or "nobody"
    return BlockError(f"not blocked {where}, where {known} is blocked", where=", ".join(unknown))


def _find(data_dir: Path, tasks: Collection[str], *, everywhere: bool = True) -> list[tuple[str, logs.Block]]:
    """Mephisto's worker id and the block, of all blocks in these tasks, and of those in all studies."""
    for task in tasks:
        results.check_task(data_dir, task)
    lines = logs.BLOCKS.read(data_dir)
    reasons = {(line.worker, line.qualification): line for line in lines if line.event == "blocked"}
    pseudonyms = _pseudonyms(data_dir)
    launches = (blueprint for task in tasks for blueprint in results.blueprints(data_dir, task).values())
    names = {str(name) for launch in launches if (name := launch.get("block_qualification"))}
    names |= {logs.blocked_here(task) for task in tasks}
    names |= {line.qualification for line in lines if line.task_name in tasks} - {logs.BLOCKED_EVERYWHERE}
    blocks = []
    for name in sorted({*names, logs.BLOCKED_EVERYWHERE} if everywhere else names):
        for worker_id, worker_name in results.query(data_dir, "holders", [name]):
            pseudonym = pseudonyms.worker(str(worker_name))
            line = reasons.get((pseudonym, name))
            why = {} if line is None else line.model_dump(exclude={"event"})
            blocks.append((str(worker_id), logs.Block(**{"worker": pseudonym, "qualification": name, **why})))
    return sorted(blocks, key=lambda found: (found[1].worker, found[1].qualification))


def _pseudonyms(data_dir: Path) -> Pseudonymizer:
    return Pseudonymizer.load_or_create(data_dir / results.PSEUDONYM_KEY)


def block_if_failed(
    names: Sequence[str], qualification: str | None, worker: Any, messages: Sequence[dict[str, Any]], task_name: str
) -> None:
    """The first check that fails on a complete unit blocks its worker; some read all their units (Ji et al. 2022)."""
    if not names or not qualification:
        return
    try:
        records = [build_rated(events) for events in split_dialogues(parse_events(messages))]
        verdicts = [verdict for record in records for verdict in check_dialogue(record, names)]
        if needs_all_records(names):
            all_of_theirs = results.worker_records(Path(worker.db.db_root), task_name, worker.db_id)
            verdicts += [verdict for of_worker in check_workers(all_of_theirs, names).values() for verdict in of_worker]
        failed = next((verdict for verdict in verdicts if verdict.passed is False), None)
        if failed is not None:
            block(worker, qualification, failed.reason, check=failed.check, task_name=task_name)
            logger.info("a worker is blocked by %s: %s", failed.check, failed.reason)
    except Exception:  # somebody else's damaged file, say: this rater has done the work and must be thanked
        logger.exception("a unit of task %r could not be judged by %s; nobody is blocked", task_name, ", ".join(names))
