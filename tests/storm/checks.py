"""What must hold after a storm. Each check returns a sentence a violation; none: it holds."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from mephisto_tasks.payments.policy import Terms
from mephisto_tasks.payments.statement import due
from mephisto_tasks.storage.locks import running_task_run
from mephisto_tasks.storage.logs import DECISIONS
from mephisto_tasks.storage.results import PSEUDONYM_KEY, finished_by_worker
from mephisto_tasks.storage.work import completed_work, unit_of
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.records import JudgementRecord, Rated
from parlai_humaneval.stopping.events import Answered, Arrived, Ended, Folded
from parlai_humaneval.stopping.study import replay
from storm.facts import Fact, stored
from storm.notebook import Notebook

CALM_S = 20.0
"""Longer than any answer takes while nothing is wrong, on however slow a machine."""
DONE = {"completed", "approved", "soft_rejected", "rejected"}
AT_WORK = {"none", "accepted", "onboarding", "waiting", "in task"}
OPEN_UNITS = {"created", "launched", "assigned"}
THANKED = "Thank you!"
KNOWN_REFUSALS = (
    "already taken part",
    "All ",
    "The practice ends here",
    "Thank you for trying the practice",
    "went on without you",
)
"""Words of refusals that may be the last thing that a worker of a storm reads."""
TEMPORARY = re.compile(r"\.(new|tmp|part)$|-journal$")

ALLOWED = (
    r"OSError: \[Errno (28|27)\]",  # no space, or a limit on the size of files
    r"sqlite3\.OperationalError: (database or disk is full|database is locked|disk I/O error)",
)
"""Last lines of tracebacks that a full disk and a locked database explain."""
OF_PYTHON = "Exception ignored in: <function _SelectorTransport.__del__"
"""What asyncio of Python 3.13.0 says of a connection that is still open when its program has ended: it wakes those who wait
for the server's end a second time."""


def by_worker(records: Sequence[Rated]) -> dict[str, list[Rated]]:
    """Pseudonym → records."""
    found: dict[str, list[Rated]] = defaultdict(list)
    for record in records:
        found[record.worker].append(record)
    return found


class Names:
    """Workers of a storm as records call them; Mephisto's mock provider adds to their names."""

    def __init__(self, data_dir: Path) -> None:
        self._names = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)

    def of(self, worker: str) -> str:
        return self._names.worker(f"{worker}_sandbox")


def answers_stored_once(books: Sequence[Notebook], records: Mapping[str, list[Rated]], names: Names) -> list[str]:
    """Every confirmed answer is stored once and unchanged, and no answer at all twice, or where nobody gave it."""
    problems = []
    for book in books:
        mine = stored(records.get(names.of(book.worker), []))
        known = Counter((fact.kind, fact.key) for fact in mine)
        values: dict[tuple[str, str], set[str]] = defaultdict(set)
        for fact in mine:
            values[fact.kind, fact.key].add(fact.value)
        problems += [f"{book.worker}: lost: {fact}" for fact in book.confirmed if not known[fact.kind, fact.key]]
        problems += [
            f"{book.worker}: changed: {fact}, stored as {values[fact.kind, fact.key]}"
            for fact in book.confirmed
            if known[fact.kind, fact.key] and values[fact.kind, fact.key] != {fact.value}
        ]
        problems += [f"{book.worker}: stored {number} times: {key}" for key, number in known.items() if number > 1]
        sent = {(fact.kind, fact.key) for fact in book.sent}
        problems += [
            f"{book.worker}: stored, but never sent: {fact}" for fact in mine if (fact.kind, fact.key) not in sent
        ]
    return problems


def tallies(books: Sequence[Notebook], records: Mapping[str, list[Rated]], names: Names) -> Counter[str]:
    """Answers ``confirmed``, ``stored``, ``lost`` and ``doubled``, for the report."""
    count: Counter[str] = Counter()
    for book in books:
        mine: Counter[tuple[str, str]] = Counter(
            (fact.kind, fact.key) for fact in stored(records.get(names.of(book.worker), []))
        )
        count["sent"] += len(book.sent)
        count["confirmed"] += len(book.confirmed)
        count["stored"] += sum(mine.values())
        count["lost"] += sum(not mine[fact.kind, fact.key] for fact in book.confirmed)
        count["doubled"] += sum(number - 1 for number in mine.values())
    return count


def is_complete(records: Sequence[Rated]) -> bool:
    """Whether these records of one unit are all of it, each to its end."""
    if not records:
        return False
    whole = max(one.numbers if isinstance(one, JudgementRecord) else one.conversations for one in records)
    return sum(record.status == "complete" for record in records) >= whole


def units_of(records: Sequence[Rated]) -> dict[str, list[Rated]]:
    """Name of a unit → its records."""
    units: dict[str, list[Rated]] = defaultdict(list)
    for record in records:
        units[unit_of(record)].append(record)
    return units


def told_the_truth(books: Sequence[Notebook], records: Mapping[str, list[Rated]], names: Names) -> list[str]:
    """Whoever read that their work is complete has a complete record; whoever read otherwise has none in the making."""
    problems = []
    for book in books:
        mine = records.get(names.of(book.worker), [])
        complete = [name for name, unit in units_of(mine).items() if is_complete(unit)]
        if book.told == THANKED and not complete:
            problems.append(f"{book.worker} was thanked for complete work, and {_standing(mine)}")
        if book.ended == "told" and complete:
            problems.append(f"{book.worker} was told {book.told!r}, but all of {complete[0]} is there")
        if book.ended == "refused":
            if not any(words in book.told for words in KNOWN_REFUSALS):
                problems.append(f"{book.worker} was refused for no reason of a storm's: {book.told}")
            elif "already taken part" in book.told and not mine:
                problems.append(f"{book.worker} has taken part already, they were told; nothing of theirs is there")
        if any(record.status == "running" for record in mine):
            problems.append(f"{book.worker}: a record is still running, and no launch is")
    return problems


def _standing(records: Sequence[Rated]) -> str:
    return ", ".join(f"{record.status} stands there" for record in records) or "nothing is there"


def nobody_hangs(books: Sequence[Notebook]) -> list[str]:
    """Each worker's page came to a last word, and none of them waited for long while nothing was wrong."""
    waited = [
        f"{book.worker} waited {book.longest_calm_s:.0f} s while nothing was wrong"
        for book in books
        if book.longest_calm_s > CALM_S
    ]
    return [f"{book.worker} hangs" for book in books if book.ended in (None, "hangs")] + waited


def found_as_it_was(books: Sequence[Notebook]) -> list[str]:
    """Whoever came back in time went on in the middle, and nobody was asked again what they had answered."""
    anew = [f"{book.worker} had to begin anew {book.began_anew} times" for book in books if book.began_anew]
    return anew + [f"{book.worker} was asked {book.asked_twice} things twice" for book in books if book.asked_twice]


def left_at_work(data_dir: Path, task_name: str, ended: Collection[str]) -> list[str]:
    """Nobody is at work in a run that had time to end."""
    with closing(sqlite3.connect(f"file:{data_dir / 'database.db'}?mode=ro", uri=True)) as connection:
        agents = [tuple(map(str, row)) for row in connection.execute(_AGENTS, [task_name])]
        practising = [tuple(map(str, row)) for row in connection.execute(_ONBOARDING, [task_name])]
    return [
        f"{what} {name} of run {run}, which ended, is still {status!r}"
        for what, found in (("agent", [(a, s, r) for a, _, s, r in agents]), ("practice", practising))
        for name, status, run in found
        if status in AT_WORK and run in ended
    ]


def units_are_possible(
    data_dir: Path, task_name: str, records: Sequence[Rated], wanted: int, ended: Collection[str]
) -> list[str]:
    """Units and agents agree with the records, and no group has more than was asked for.

    ``ended``: runs that had time to end. In others, which were killed, what was under way stays so: that it was not its
    rater who left is read off that.
    """
    with closing(sqlite3.connect(f"file:{data_dir / 'database.db'}?mode=ro", uri=True)) as connection:
        agents = [tuple(map(str, row)) for row in connection.execute(_AGENTS, [task_name])]
        units = [tuple(map(str, row)) for row in connection.execute(_UNITS, [task_name])]
    by_unit: dict[str, list[Rated]] = defaultdict(list)
    for record in records:
        by_unit[record.unit_id].append(record)
    done_of_unit = Counter(unit for _, unit, status, _ in agents if status in DONE)
    problems = left_at_work(data_dir, task_name, ended)
    still = Counter((status, run) for _, status, run in units if status in OPEN_UNITS and run in ended)
    problems += [
        f"{number} units of run {run}, which ended, are still {status!r}" for (status, run), number in still.items()
    ]
    visits = units_of(records)  # a unit of work may have been gone on with as another unit of Mephisto's
    whole = {name for name, found in visits.items() if is_complete(found)}
    for name in whole:
        if not any(done_of_unit[record.unit_id] for record in visits[name]):
            its = {record.unit_id for record in visits[name]}
            problems.append(f"{name} is complete, and its agents are {_statuses(agents, its)}")
    # Complete but for its comment when the launch was killed: completed at the next start, and gone on with as another.
    gone_on = {
        one.unit_id
        for one in completed_work(data_dir, task_name)
        if one.outcome == "continued" and one.session in whole
    }
    for unit, status, _ in units:
        mine = by_unit.get(unit, [])
        ours = unit in gone_on or any(
            unit_of(record) in whole or record.status == "failed" or record.interrupted for record in mine
        )
        if done_of_unit[unit] and not ours:
            problems.append(f"unit {unit} has {done_of_unit[unit]} agents that are done, and {_standing(mine)}")
        if done_of_unit[unit] > 1 or (status == "completed" and not done_of_unit[unit]):
            problems.append(f"unit {unit} is {status!r} with {done_of_unit[unit]} agents that are done")
    groups = Counter(_group(record) for record in records if record.status == "complete" and _counts(record))
    problems += [
        f"{group} has {number}, asked for were {wanted}" for group, number in groups.items() if number > wanted
    ]
    return problems


_AGENTS = "SELECT agent_id, unit_id, status, task_run_id FROM agents JOIN tasks USING (task_id) WHERE task_name = ?"
_UNITS = "SELECT unit_id, status, task_run_id FROM units JOIN tasks USING (task_id) WHERE task_name = ?"
_ONBOARDING = """SELECT onboarding_agent_id, status, task_run_id FROM onboarding_agents JOIN tasks USING (task_id)
                 WHERE task_name = ?"""


def _statuses(agents: Sequence[tuple[str, ...]], units: set[str]) -> str:
    return ", ".join(status for _, unit, status, _ in agents if unit in units) or "gone"


def _counts(record: Rated) -> bool:
    return not isinstance(record, JudgementRecord) or record.expected is None


def _group(record: Rated) -> str:
    models = record.group if isinstance(record, JudgementRecord) else [model.name for model in record.models]
    return f"{'+'.join(models)} ({record.metric})"


def has_ended(task_name: str, ended: bool) -> list[str]:
    """Whether raters who go on coming bring a study that stops once it reaches a decision to its end."""
    return [] if ended else [f"{task_name} has not ended, though raters go on coming"]


def every_dialogue_counts(data_dir: Path, task_name: str) -> list[str]:
    """In a study that stops once it reaches a decision, the log leads to the decisions, everybody who came was folded in up
    to the end, and every complete dialogue (judgement) is evidence, once."""
    log = DECISIONS.read(data_dir, task_name)
    study = replay(log)
    folded = {event.worker for event in log if isinstance(event, Folded)}
    arrived = [event.worker for event in log if isinstance(event, Arrived)]
    problems = [f"{worker} waits to be folded in" for worker in arrived if worker not in folded and not study.ended]
    names = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    complete = Counter(
        names.worker(f"deciding:{task_name}:{worker}")
        for worker, record in finished_by_worker(data_dir, task_name)
        if _counts(record)
    )
    counted = Counter(event.worker for event in log if isinstance(event, Answered))
    problems += [
        f"{worker} has {complete[worker]} complete dialogues, and {counted[worker]} count"
        for worker in complete | counted
        if complete[worker] != counted[worker]
    ]
    ends = next((place for place, event in enumerate(log) if isinstance(event, Ended)), len(log))
    late = [event for event in log[:ends] if isinstance(event, Answered) and event.late]
    return problems + [f"{event.worker} finished a dialogue that is no evidence" for event in late]


def books_agree(data_dir: Path, task_name: str, records: Sequence[Rated]) -> list[str]:
    """Pay knows each unit once, as complete where it is, and never as under way."""
    problems = []
    work = completed_work(data_dir, task_name)
    paid = Counter((one.worker, one.session) for one in work if one.session and one.outcome != "continued")
    problems += [f"{key} stands {number} times in the books" for key, number in paid.items() if number > 1]
    units = units_of(records)
    for one in work:
        complete = is_complete(units.get(one.session, []))
        if one.session and one.outcome != "continued" and complete != (one.outcome == "complete"):
            problems.append(f"{one.session} is {one.outcome} in the books, and {_standing(units.get(one.session, []))}")
        if one.outcome == "running":
            problems.append(f"{one.session} is running in the books, and no launch is")
        if due(one, Terms(), {}).amount > one.reward and one.session:
            problems.append(f"{one.session} costs more than its reward")
    missing = {(record.worker, unit_of(record)) for record in records} - {(one.worker, one.session) for one in work}
    return problems + [f"{key} is in no book" for key in missing]


def nothing_left_behind(data_dir: Path, task_names: Sequence[str], mark: str) -> list[str]:
    """No process, no lock that is held, no half-written file."""
    problems = [f"process {pid} is still there: {command}" for pid, command in marked(mark)]
    problems += [f"{name} is locked" for name in task_names if running_task_run(data_dir, name) is not None]
    files = [path for path in data_dir.rglob("*") if path.is_file() and TEMPORARY.search(path.name)]
    return problems + [f"{path.relative_to(data_dir)} is left" for path in files]


def marked(mark: str) -> list[tuple[int, str]]:
    """Processes that were started with this mark in their environment, with their commands."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"STORM_MARK={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()[:120]))
        except OSError:  # it has ended meanwhile, or is another user's
            continue
    return [(pid, command) for pid, command in found if pid != os.getpid() and command]


def tracebacks(log: Sequence[str]) -> list[str]:
    """The last lines of all tracebacks in a launch's log."""
    found, inside = [], False
    for before, line in pairwise(["", *log]):
        if line.startswith("Traceback (most recent call last)"):
            inside = not before.startswith(OF_PYTHON)
        elif inside and line.strip() and not line.startswith((" ", "\t")):
            found.append(line.strip())
            inside = False
    return found


def unexplained(log: Sequence[str]) -> list[str]:
    """Tracebacks that no fault of a storm explains, each once with its number."""
    others = Counter(line for line in tracebacks(log) if not any(re.match(allowed, line) for allowed in ALLOWED))
    return [f"{number} × {line[:200]}" for line, number in others.items()]


def facts_of(records: Sequence[Rated]) -> list[Fact]:
    """For tests: what the checks read."""
    return stored(records)
