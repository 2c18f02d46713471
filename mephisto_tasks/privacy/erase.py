"""Forgetting workers: a plan that changes nothing, and its execution, which can be restarted after any interruption. It
first writes the names to a file, and deletes that file last. If the file exists (`unfinished`), all is repeated."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.payments.ledger import OPEN, PAID, Ledger, Payment, only_payer
from mephisto_tasks.payments.policy import DOLLARS
from mephisto_tasks.payments.statement import sums
from mephisto_tasks.privacy import erase_traces as traces
from mephisto_tasks.privacy.erase_traces import ErasurePlan, Outside, as_they_are_now, outside
from mephisto_tasks.storage.locks import AlreadyRunning, JudgingElsewhere, only_judging, study_folder, task_lock
from mephisto_tasks.storage.logs import ERASED_BUT_BLOCKED, JUDGE_ANSWERS, keep_blocked
from mephisto_tasks.storage.results import ResultsError, currencies_of, newest_settings, query, task_names
from mephisto_tasks.storage.work import completed_work
from parlai_humaneval._util.files import write_private

BEGUN_FILE = "forgetting.json"  # in the data directory while somebody is being forgotten

_PEOPLE = TypeAdapter(list[ErasurePlan])


class Planned(BaseModel, extra="forbid", frozen=True):
    """The planned deletions for one worker."""

    worker: str
    everywhere: bool
    tasks: list[str]
    units: int
    practices: int
    judged_by_others: int  # units of others in which dialogues of theirs lose their words
    kept_paid: int  # payments that stay in the ledger, without the pseudonym
    unpaid: Decimal  # in the only currency; 0 where there are several
    unpaid_in: dict[str, Decimal]  # currency → what the ledger does not have as paid
    blocks: list[str]
    last_seen: float
    files: list[Outside]


class Forgotten(BaseModel, extra="forbid", frozen=True):
    """The deletions for one worker; ``left_over``: files that name them still; ``problems``: what sites did not do."""

    worker: str
    left_over: list[str]
    files: list[Outside]
    problems: list[str] = []


def planned(data_dir: Path, person: ErasurePlan) -> Planned:
    """The planned deletions; nothing is changed. Raises ResultsError."""
    theirs = _check_not_being_paid(data_dir, person)
    unpaid = _unpaid(data_dir, person, sums(one for one in theirs if one.state in PAID))
    return Planned(
        worker=person.pseudonym,
        everywhere=person.everywhere,
        tasks=person.tasks,
        units=len(person.units),
        practices=len(person.practices),
        judged_by_others=sum(1 for _ in traces.judging_files(data_dir, person)),
        kept_paid=len(theirs),
        unpaid=next(iter(unpaid.values())) if len(unpaid) == 1 else Decimal("0.00"),
        unpaid_in=unpaid,
        blocks=person.blocks,
        last_seen=person.last_seen,
        files=outside(data_dir, person, traces.invited_as(data_dir, person), dry=True),
    )


def _check_not_being_paid(data_dir: Path, person: ErasurePlan) -> list[Payment]:
    payments = [one for task in person.tasks for one in Ledger(data_dir, task).payments()]
    theirs = [one for one in payments if one.worker == person.pseudonym]
    if any(one.state in OPEN for one in theirs):
        advice = "end it first (`parlai-humaneval pay --send`), then forget"
        raise ResultsError("a payment to this rater is in progress", where=person.pseudonym, try_=advice)
    return theirs


def _unpaid(data_dir: Path, person: ErasurePlan, paid: Mapping[str, Decimal]) -> dict[str, Decimal]:
    """What the rewards of work that was begun come to, over what was paid: what they are owed, or more than that."""
    rewards: dict[str, dict[str, Decimal]] = defaultdict(dict)
    try:
        for task in sorted({part.task_name for part in person.units}):
            currencies = currencies_of(data_dir, task)
            for work in completed_work(data_dir, task, person.worker_id):
                if work.done and not work.simulated:
                    rewards[currencies.get(work.task_run_id, DOLLARS)][work.session] = work.reward
    except ResultsError:  # a damaged file must not keep anybody from being forgotten
        rewards.clear()
    left = {
        currency: sum(of_units.values(), Decimal("0.00")) - paid.get(currency, Decimal("0.00"))
        for currency, of_units in rewards.items()
    }
    return {currency: amount for currency, amount in left.items() if amount > 0}


def unfinished(data_dir: Path) -> list[ErasurePlan]:
    path = data_dir / BEGUN_FILE
    try:
        return _PEOPLE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return []
    except ValidationError as error:
        advice = "move that file away, and name the raters again"
        raise ResultsError(f"{path} is damaged", try_=advice) from error


Ticking = Callable[[str], None]


def forget(
    data_dir: Path, people: Sequence[ErasurePlan], *, lift_blocks: bool = False, ticking: Ticking = lambda _: None
) -> list[Forgotten]:
    """Delete all that is known of these workers, and of those whose forgetting was cut off before. ``lift_blocks``: blocked
    workers may come again; else a pseudonym keeps them out. ``ticking`` is called with each pseudonym. Raises
    ResultsError: a launch of theirs is alive, a payment is under way, or they took part since; nothing was deleted.
    ResultsError: another program holds a file; calling this again ends what was begun."""
    again = as_they_are_now(data_dir, unfinished(data_dir))
    known = {(person.worker_id, person.asked) for person in again}
    people = [person for person in people if (person.worker_id, person.asked) not in known]
    tasks = {task for person in [*again, *people] for task in person.tasks}
    # Tasks whose newest launch has others judge dialogues of these tasks: it holds their words, and writes them down.
    judging = {
        task
        for task in task_names(data_dir)
        for blueprint in [newest_settings(data_dir, task, "blueprint")]
        for entry in (*(blueprint.get("dialogues") or ()), *(blueprint.get("human_dialogues") or ()))
        if isinstance(entry, dict) and entry.get("task") in tasks
    }
    with _alone(data_dir, sorted(tasks | judging)):
        # Somebody may have taken long to agree, and what was cut off may be long ago.
        for before, after in zip(people, as_they_are_now(data_dir, people), strict=True):
            if (before.tasks, before.parts) != (after.tasks, after.parts):
                what = f"{before.pseudonym} took part in the meantime, so nothing was deleted"
                raise ResultsError(what, try_="run it again to see what would be deleted now")
        everybody = [*as_they_are_now(data_dir, again), *people]
        for person in everybody:
            _check_not_being_paid(data_dir, person)
            # Nobody looked whether a launch is alive of a task that they have just begun.
            if others := sorted({*person.tasks} - tasks):
                what = f"{person.pseudonym} has just begun task {others[0]!r}: nothing was deleted"
                raise ResultsError(what, try_="run it once more")
        everybody = [person.model_copy(update={"blocks": [] if lift_blocks else person.blocks}) for person in everybody]
        write_private(data_dir / BEGUN_FILE, _PEOPLE.dump_json(everybody), outlasts_power=True)
        forgotten = []
        for person in everybody:
            ticking(person.pseudonym)
            forgotten.append(_forget(data_dir, person))
        (data_dir / BEGUN_FILE).unlink()
    return forgotten


def _forget(data_dir: Path, person: ErasurePlan) -> Forgotten:
    called = traces.invited_as(data_dir, person)
    if person.blocks:
        keep_blocked(data_dir, person.pseudonym, person.blocks)
    files = outside(data_dir, person, called, dry=False)
    problems = [
        problem
        for crowd in crowds()
        for problem in crowd.forget_there(data_dir, person.forgotten, stays_blocked=bool(person.blocks))
    ]
    traces.payments(data_dir, person, called)
    traces.snapshots(data_dir, person)
    traces.judged_by_others(data_dir, person)
    traces.images(data_dir, person)
    traces.files(data_dir, person)
    traces.providers(data_dir, person)
    traces.lines(data_dir, person)
    traces.database(data_dir, person)
    others = [str(row[1]) for row in query(data_dir, "workers")]
    kept = [BEGUN_FILE, *([ERASED_BUT_BLOCKED.name] if person.blocks else [])]
    found = traces.left_over(data_dir, person, called, others) if person.everywhere else []
    left = [name for name in found if name not in kept]
    return Forgotten(worker=person.pseudonym, left_over=left, files=files, problems=problems)


@contextmanager
def _alone(data_dir: Path, tasks: Sequence[str]) -> Iterator[None]:
    with ExitStack() as stack:
        for task in tasks:
            try:
                stack.enter_context(task_lock(data_dir, task))
            except AlreadyRunning as error:
                what = f"a launch of task {task!r} is running, in which they took part or others judge their dialogues"
                advice = "stop it (Ctrl-C where it runs), forget, and launch again to continue"
                raise ResultsError(f"{what}: nothing was deleted", try_=advice) from error
            if (study_folder(data_dir, task) / "ledger.db").is_file():
                stack.enter_context(only_payer(data_dir, task))
            if JUDGE_ANSWERS.exists(data_dir, task):
                try:
                    stack.enter_context(only_judging(data_dir, task))
                except JudgingElsewhere as error:
                    raise ResultsError(error, try_="run forget again after that: nothing was deleted") from error
        yield
