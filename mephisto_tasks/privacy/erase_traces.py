"""Places with traces of a worker, a function for each. Each can be repeated after an interruption.

Rows go from SQLite files so that nothing of them is left in the files' bytes; files that commands wrote outside of the
data directory are rewritten without the worker, or deleted."""

from __future__ import annotations

import csv
import io
import json
import re
import secrets
import shutil
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field

from mephisto_tasks.admission.browsers import FILE as BROWSERS
from mephisto_tasks.admission.browsers import names_of
from mephisto_tasks.crowds.crowd import Forgotten
from mephisto_tasks.crowds.registry import crowds
from mephisto_tasks.payments.ledger import LEDGER
from mephisto_tasks.storage import logs, results
from mephisto_tasks.storage.locks import FOLDER, IMAGES, study_folder
from mephisto_tasks.storage.sqlite import Database
from mephisto_tasks.workers.roster import KnownWorker, known_workers, seconds
from mephisto_tasks.workers.roster import names_of as names_of_worker
from parlai_humaneval._util.data_files import read_json, read_yaml
from parlai_humaneval._util.files import write_private
from parlai_humaneval._util.text import csv_text, unguarded
from parlai_humaneval.statistics.core.formatting import counted

RUNS = Path("data") / "runs" / "NO_PROJECT"  # of a data directory
SHORTEST = 4  # letters of a name that is looked for in files: a shorter one, such as “w1”, may mean anything


class WorkerPart(BaseModel, extra="forbid", frozen=True):
    """A worker's part in a unit, or (``unit_id`` empty) in a practice; ``folder``: of its files, in the data directory."""

    agent_id: str
    unit_id: str
    task_name: str
    folder: str


class ErasurePlan(BaseModel, extra="forbid", frozen=True):
    """A worker who is forgotten: altogether, or (``everywhere`` False) what they did in ``tasks``."""

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
        """The worker's possible names in files, without those too short to be meaningful."""
        forms = {form for form in (*names_of_worker(self.name), self.pseudonym) if len(form) >= SHORTEST}
        return sorted(forms, key=len, reverse=True)


class Places:
    """A data directory's traces of workers, read once for all of them."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir, tasks = data_dir, results.task_names(data_dir)
        self._files = {
            task: [
                file.read_bytes()
                for file in study_folder(data_dir, task).rglob("*")
                if file.is_file() and file.parent.name != IMAGES
            ]
            for task in tasks
        }
        named = {results.newest_settings(data_dir, task, "blueprint").get("block_qualification") for task in tasks}
        self._blocking = {str(name) for name in named if name}

    def going(self, known: KnownWorker, task_name: str | None) -> ErasurePlan | None:
        """A worker's work, as it would be forgotten; None: nothing in this task."""
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
        paid = [row for ledger in ledgers for row in results.rows_of(ledger, "payments", sql, [known.pseudonym])]
        granted = results.query(self.data_dir, "granted", [known.worker_id]) if everywhere else []
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
            blocks=sorted(name for name in held if name in self._blocking or name.startswith(logs.BLOCKED_EVERYWHERE)),
            outside_ids=list(dict.fromkeys(one for one in ids if one)),
            # The database may be younger than what it holds, where it was imported.
            last_seen=max(times or [at for _, at in here] or [known.since]),
            asked=task_name,
        )

    def _parts(self, known: KnownWorker) -> Iterator[tuple[WorkerPart, float]]:
        for agent, unit, task, run, assignment, at in results.query(
            self.data_dir, "parts_of_worker", [known.worker_id]
        ):
            folder = str(RUNS / str(run) / str(assignment) / str(agent))
            yield (
                WorkerPart(agent_id=str(agent), unit_id=str(unit), task_name=str(task), folder=folder),
                seconds(str(at)),
            )
        for agent, task, run, at in results.query(self.data_dir, "practices_of_worker", [known.worker_id]):
            folder = str(RUNS / str(run) / "onboarding" / f"onboarding_{agent}")
            yield WorkerPart(agent_id=str(agent), unit_id="", task_name=str(task), folder=folder), seconds(str(at))


def _events(folder: Path) -> list[dict[str, Any]]:
    """What a state file tells; a damaged one tells nothing, and is deleted all the same."""
    try:
        messages = read_json(folder / "state.json")["outputs"]["messages"]
        return [event for event in messages if isinstance(event, dict) and "event" in event]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def all_going(data_dir: Path, workers: Collection[KnownWorker], task_name: str | None) -> list[ErasurePlan]:
    """The ``workers`` with something to forget. Raises ResultsError."""
    if task_name is not None:
        results.check_task(data_dir, task_name)
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


Statement = tuple[str, Sequence[object]]


def erase(path: Path, statements: Sequence[Statement]) -> None:
    """Do all statements, or none, and rewrite the file without what they took out, where there are file and table."""
    if not path.is_file():
        return
    database = Database(
        path,
        error=results.ResultsError,
        if_busy="run `parlai-humaneval forget --finish` after that, to finish the deletion",
        patience_s=results.PATIENCE_S,
        pragmas=["secure_delete = ON"],
    )
    with closing(database.connect()) as connection, database.checked():
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            for sql, values in statements:
                first, second, third, *_ = sql.split()  # UPDATE table …, or DELETE FROM table …
                if (second if first == "UPDATE" else third) in tables:
                    connection.execute(sql, values)
        # Also where nothing changed: somebody may have been stopped between the rows and this.
        connection.execute("VACUUM")
        held, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if held:  # deleted rows are still in the file, or in its log
            raise sqlite3.OperationalError("the file is locked by a reader")


DELETED = "[deleted]"  # replaces deleted words within other people's work


def database(data_dir: Path, person: ErasurePlan) -> None:
    """Mephisto's own: the worker's parts, what they were granted, and their name last."""
    units, practices = (
        (person.worker_id, json.dumps([int(part.agent_id) for part in parts]))
        for parts in (person.units, person.practices)
    )
    theirs = "agents WHERE worker_id = ? AND agent_id IN (SELECT value FROM json_each(?))"
    freed = "UPDATE units SET agent_id = NULL, worker_id = NULL, status = 'expired' WHERE agent_id IN"
    statements: list[Statement] = [
        (f"{freed} (SELECT agent_id FROM {theirs})", units),
        (f"DELETE FROM {theirs}", units),
        (f"DELETE FROM onboarding_{theirs.replace('agent_id', 'onboarding_agent_id')}", practices),
    ]
    if person.everywhere:
        mine = (person.worker_id,)
        statements += [
            ("UPDATE units SET agent_id = NULL, worker_id = NULL WHERE worker_id = ?", mine),
            ("DELETE FROM granted_qualifications WHERE worker_id = ?", mine),
            # Ids count up for ever: this one is never anybody else's.
            ("DELETE FROM workers WHERE worker_id = ? AND worker_name = ?", (person.worker_id, person.name)),
        ]
    erase(data_dir / "database.db", statements)


def providers(data_dir: Path, person: ErasurePlan) -> None:
    if person.everywhere:
        erase(data_dir / BROWSERS, [("DELETE FROM held WHERE worker IN (?, ?)", names_of(person.name))])
    for crowd in crowds():
        for trace in crowd.traces(data_dir, person.forgotten):
            erase(trace.store, trace.statements)


def images(data_dir: Path, person: ErasurePlan) -> None:
    """Pictures that the worker sent or was shown, unless somebody else's dialogue has the same; before their own go."""
    mine = {data_dir / part.folder / "state.json" for part in person.parts}
    theirs = {path: path.read_bytes() for path in mine if path.is_file()}
    digests = {digest for content in theirs.values() for digest in _DIGEST.findall(content)}
    for path in sorted((data_dir / RUNS).rglob("state.json")) if digests else ():
        if path not in mine:
            digests -= set(_DIGEST.findall(path.read_bytes()))
    for digest in digests:
        for path in (data_dir / FOLDER).glob(f"*/{IMAGES}/{digest.decode()}.*"):
            path.unlink()


def files(data_dir: Path, person: ErasurePlan) -> None:
    """Dialogues, judgements and practices, with all files next to them."""
    for part in person.parts:
        if (folder := data_dir / part.folder).is_dir():
            shutil.rmtree(folder)


def judged_by_others(data_dir: Path, person: ErasurePlan) -> None:
    """The worker's dialogues in what others were given to judge: their judgements stay, the words go."""
    for path, clean in list(judging_files(data_dir, person)):
        write_private(path, json.dumps(clean, ensure_ascii=False).encode(), outlasts_power=True)


def judging_files(data_dir: Path, person: ErasurePlan) -> Iterator[tuple[Path, Any]]:
    """State files of others that hold words of the worker's dialogues, and their new content."""
    mine = {data_dir / part.folder for part in person.parts}
    for path in sorted((data_dir / RUNS).rglob("state.json")) if person.dialogues else ():
        content = path.read_bytes()
        if path.parent not in mine and b"judging_started" in content:
            state = json.loads(content)
            clean = _blanked(state, person)
            if clean != state:
                yield path, clean


_IMAGES = frozenset({"images", "human_images"})
_DIGEST = re.compile(rb'"digest": ?"([0-9a-f]{64})"')
_WORDS = frozenset({"reason", "written", "message", "feedback", "note", "withdrawn", "topic", "opinion"})
"""Keys of texts by people and models, in addition to those that end with “text”."""


def _blanked(data: Any, person: ErasurePlan, inside: bool = False) -> Any:
    if isinstance(data, list):
        return [_blanked(item, person, inside) for item in data]
    if not isinstance(data, dict):
        return data
    # If several models chat side by side, each of their dialogues has the id, a colon, and more.
    own_id = str(data.get("dialogue_id", "")).partition(":")[0]
    inside = inside or (own_id in person.dialogues and data.get("source", "") in ("", *person.tasks))
    blank = {key: [] if inside and key in _IMAGES else _blanked(item, person, inside) for key, item in data.items()}
    said = {key for key, item in data.items() if inside and isinstance(item, str) and item}
    said = {key for key in said if key.endswith("text") or key in _WORDS}
    return {**blank, **dict.fromkeys(said, DELETED), **({"worker": ""} if inside and "worker" in data else {})}


def lines(data_dir: Path, person: ErasurePlan) -> None:
    """The worker's lines in all logs, with what judges read and said of their dialogues."""
    logs.erase_lines(data_dir, person.pseudonym, person.dialogues, person.tasks, everywhere=person.everywhere)


def snapshots(data_dir: Path, person: ErasurePlan) -> None:
    for task in person.tasks:
        path = study_folder(data_dir, task) / "snapshot.json"
        if path.is_file() and person.pseudonym.encode() in path.read_bytes():
            path.unlink()


def invited_as(data_dir: Path, person: ErasurePlan) -> list[str]:
    """Names and addresses by which crowds know a worker, which the list of debts may contain."""
    return [name for crowd in crowds() for name in crowd.people(data_dir, person.tasks, person.name)]


def payments(data_dir: Path, person: ErasurePlan, called: Sequence[str]) -> None:
    """The ledger and files of payments keep amounts and dates alone; ``called``: names of the worker's invitations."""
    names = {person.pseudonym, *names_of_worker(person.name), *called, *person.outside_ids}
    for task in person.tasks:
        folder = study_folder(data_dir, task)
        # The files first: only the ledger, and what was noted as this began, knows the ids that are in them.
        sql = "SELECT session FROM payments WHERE worker = ?"
        found = results.rows_of(folder / LEDGER, "payments", sql, [person.pseudonym])
        units = {str(session) for (session,) in found}
        for path in sorted([*(folder / "payments").glob("*.csv"), *(folder / "payments").glob("*.txt")]):
            rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))
            clean = []
            for row in rows:
                named = [person.stands_for if cell.removeprefix("'") in names else cell for cell in row]
                clean.append(named if named == row else ["" if cell in units else cell for cell in named])
            if clean != rows:
                text = io.StringIO(newline="")
                csv.writer(text, lineterminator="\n").writerows(clean)
                write_private(path, text.getvalue().encode(), outlasts_power=True)
        # What a site said of a payment may name its submission; where the file is may stay.
        sql = (
            "UPDATE payments SET worker = ?, worker_id = '', agent_id = '', session = '', assignment = '', "
            "words = CASE state WHEN 'written' THEN words ELSE '' END WHERE worker = ?"
        )
        erase(folder / LEDGER, [(sql, (person.stands_for, person.pseudonym))])


def left_over(data_dir: Path, person: ErasurePlan, called: Sequence[str], others: Sequence[str]) -> list[str]:
    """Files that name the worker still; ``others``: names of other workers, of which theirs may be a part."""
    marks = [form.encode() for form in (*person.forms, *called, *person.outside_ids) if len(form) >= SHORTEST]
    longer = [other.encode() for other in others if any(mark.decode() in other for mark in marks)]
    found = []
    for path in sorted(data_dir.rglob("*")):
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        for other in longer:
            content = content.replace(other, b"")
        if any(mark in content for mark in marks):
            found.append(str(path.relative_to(data_dir)))
    return found


_SAID = "text raw_text human_text written_text withdrawn thoughts shown prompt reply images human_images"
WORDS = tuple(_SAID.split())
"""Columns that hold what was said in a dialogue, which others than its own rater, or models, may have judged."""
FORGOTTEN = "forgotten"

_DONE = read_yaml(Path(__file__).with_name("words.yaml"))["outside"]
Done = Literal["rewritten", "deleted", "nothing of theirs", "changed since", "not there", "stays"]


class Outside(BaseModel, extra="forbid", frozen=True):
    """What becomes of a file; ``rows``: so many went."""

    path: str
    done: Done
    rows: int = 0

    @property
    def words(self) -> str:
        rows = counted(self.rows, "row") if self.rows else "their words"
        return str(_DONE[self.done].format(rows=rows))


def outside(data_dir: Path, person: ErasurePlan, called: Sequence[str], *, dry: bool) -> list[Outside]:
    """Every file that was written of the worker's tasks, and what became of it; ``dry``: what would."""
    concerned = [file for file in logs.written_files(data_dir) if set(file.tasks) & set(person.tasks)]
    return [_outside(data_dir, file, person, called, dry) for file in concerned]


def _outside(data_dir: Path, file: logs.WrittenFile, person: ErasurePlan, called: Sequence[str], dry: bool) -> Outside:
    path, stays = Path(file.path), file.kind in ("release", "aggregate")
    if stays or not path.is_file() or not file.is_unchanged:
        return Outside(path=file.path, done="stays" if stays else "changed since" if path.is_file() else "not there")
    is_code, plain = file.kind == "links" and path.suffix != ".csv", _plain(path.stem)
    if file.kind == "report" or (is_code and any(_plain(name) in plain for name in called)):
        if not dry:
            path.unlink()
            if file.kind == "report" and not any(path.parent.iterdir()):
                path.parent.rmdir()
            logs.note_deleted(data_dir, file)
        return Outside(path=file.path, done="deleted")
    new, rows = _without(path, person, called)
    if new is None:
        return Outside(path=file.path, done="nothing of theirs")
    if not dry:
        write_private(path, new.encode(), outlasts_power=True)
        logs.note_written(data_dir, file.tasks, file.kind, [path])
    return Outside(path=file.path, done="rewritten", rows=rows)


def _plain(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _without(path: Path, person: ErasurePlan, called: Sequence[str]) -> tuple[str | None, int]:
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
    elif path.suffix == ".csv":
        reader = csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline=""))
        rows = [{name: unguarded(cell) for name, cell in row.items()} for row in reader]
    else:
        return None, 0
    mine = {person.pseudonym, person.name, *called}
    naming = ("worker_id", "worker", "name", "email")
    staying = [row for row in rows if not mine & {row[name] for name in naming if isinstance(row.get(name), str)}]
    clean = [_cleaned(row, person) for row in staying]
    if clean == rows:
        return None, 0
    if path.suffix == ".jsonl":
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in clean)
    else:
        text = csv_text(reader.fieldnames or [], (row.values() for row in clean))
    return text, len(rows) - len(staying)


def _cleaned(row: Mapping[str, Any], person: ErasurePlan) -> dict[str, Any]:
    ids = {name for name in person.dialogues if name}
    told = " ".join(str(row.get(column) or "") for column in ("dialogue_id", "dialogues", "dialogue_a", "dialogue_b"))
    judged = any(name in told for name in ids)
    named = {name: cell for name, cell in row.items() if isinstance(cell, str)}
    clean = {name: cell.replace(person.pseudonym, FORGOTTEN) for name, cell in named.items()}
    return {**row, **clean, **{name: "" for name in row if judged and name in WORDS}}
