"""Mephisto's database and the files of its runs → records, without Mephisto, of whose data nothing is written. Units
cleared after a disconnect have lost their agent, so queries start at agents; screening and gold units (index < 0) are left
out. Besides, the settings of a task's newest launch, as they were typed and as Mephisto keeps them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, JsonValue, ValidationError

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.storage.locks import running_task_run, study_folder
from mephisto_tasks.storage.provider_names import SANDBOX_SUFFIX
from mephisto_tasks.storage.provider_names import ResultsError as ResultsError
from mephisto_tasks.storage.sqlite import Database, waits_at_most
from parlai_humaneval._util.data_files import FASTEST
from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.files import write_private
from parlai_humaneval.allocation.groups import Cell, PastDialogue, PastJudgement
from parlai_humaneval.quality.registry import checked
from parlai_humaneval.schema.events import Event, JudgingStarted, PracticeAnswered, PracticeEnded, Resumed, Started
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.rebuild import EventLogError, build_rated, split_dialogues
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord, OnboardingRecord, Rated, Status
from parlai_humaneval.techniques.registry import recorded_as

if TYPE_CHECKING:
    from parlai_humaneval.report.document import PracticeCount


class _Outputs(BaseModel, extra="ignore"):
    messages: list[Event]


class StateFile(BaseModel, extra="ignore"):
    """The parts of the file that records are made of: the plan of the unit, and the events, in order."""

    inputs: dict[str, Any] | None = None
    outputs: _Outputs
    last_page: dict[str, Any] | None = None  # The last page, where the rater reached it.


class StateFiles:
    """Reads state files, and reads one again only when it has changed, as ``watch`` does."""

    def __init__(self) -> None:
        self._read: dict[Path, tuple[tuple[int, int, int], StateFile]] = {}
        self.changes = 0
        """How many files were new, or had changed."""

    def read(self, path: Path) -> StateFile:
        """The content of the file. Do not change it. Raises FileNotFoundError, ValidationError."""
        status = path.stat()
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)  # a file that is replaced is another one
        known = self._read.get(path)
        if known is None or known[0] != stamp:
            known = self._read[path] = (stamp, StateFile.model_validate_json(path.read_bytes()))
            self.changes += 1
        return known[1]


def practice_of(events: Iterable[Event]) -> OnboardingRecord:
    """One worker's practice over all visits: choices by attempt, and whether they passed (None: not finished)."""
    choices: dict[int, list[str]] = defaultdict(list)
    passed: bool | None = None
    for event in events:
        if isinstance(event, PracticeAnswered):
            if event.item == 1:
                choices[event.attempt] = []  # an attempt that was left starts over
            choices[event.attempt].append(event.choice)
        elif isinstance(event, PracticeEnded):
            passed = event.passed
    return OnboardingRecord(passed=passed, tries=len(choices), choices=[choices[number] for number in sorted(choices)])


def read_practices(
    data_dir: Path,
    onboardings: Iterable[tuple[object, ...]],
    since: Mapping[str, float],
    files: StateFiles | None = None,
) -> dict[str, OnboardingRecord]:
    """Mephisto's worker id → practice, of the query ``practices``; ``since``: worker id → time before which none counts."""
    logs = practice_logs(data_dir, onboardings, files)
    counted = {worker: [event for event in log if event.at >= since.get(worker, 0.0)] for worker, log in logs.items()}
    return {worker: practice_of(log) for worker, log in counted.items() if log}


def practice_logs(
    data_dir: Path, onboardings: Iterable[tuple[object, ...]], files: StateFiles | None = None
) -> dict[str, list[Event]]:
    """Mephisto's worker id → events of their practice over all visits, without logs of another schema."""
    files = files or StateFiles()
    events: dict[str, list[Event]] = defaultdict(list)
    for agent_id, worker_id, run_id in onboardings:
        folder = data_dir / "data" / "runs" / "NO_PROJECT" / str(run_id) / "onboarding" / f"onboarding_{agent_id}"
        try:
            state = files.read(folder / "state.json")
        except (FileNotFoundError, ValidationError):
            continue
        if state.outputs.messages:
            events[str(worker_id)] += state.outputs.messages
    return dict(events)


QUERIES: dict[str, str] = dict(
    re.findall(r"^-- (\w+).*\n((?:.+\n)+)", Path(__file__).with_name("queries.sql").read_text(encoding="utf-8"), re.M)
)
PATIENCE_S = 30.0  # How long a reader waits while another program writes
PSEUDONYM_KEY = "pseudonym.key"
"""File in the data directory; only with it can pseudonyms be computed from worker names."""


@dataclass(frozen=True)
class StoredAgent:
    """One rater's part in one unit, as the database knows it; ``reward``: for the whole unit, in dollars."""

    agent_id: str
    assignment_id: str
    unit_id: str
    worker_id: str
    task_run_id: str
    worker_name: str
    status: str
    reward: str
    provider: str


AT_WORK = {"none", "accepted", "waiting", "in task"}
"""Mephisto's statuses of an agent at work. Agents of a launch that was killed keep theirs."""


def database_file(data_dir: Path) -> Path:
    """Mephisto's database in a data directory. Raises ResultsError."""
    path = data_dir / "database.db"
    if not path.is_file():
        what = f"there is no Mephisto database in {data_dir}"
        raise ResultsError(what, try_="name the directory that the task was launched with (--data-dir)")
    return path


def query(data_dir: Path, name: str, values: Sequence[str] = ()) -> list[tuple[object, ...]]:
    """The rows of Mephisto's database that a query of ``queries.sql`` selects. Raises ResultsError."""
    return query_file(database_file(data_dir), QUERIES[name], values)


def query_file(path: Path, sql: str, values: Sequence[str] = ()) -> list[tuple[object, ...]]:
    """The rows that a query on a file of Mephisto or a provider selects; none: there is no file. Raises ResultsError."""
    return _mephisto_file(path).rows(sql, values)


def dict_rows(data_dir: Path, name: str) -> list[dict[str, object]]:
    with _mephisto_file(database_file(data_dir)).reading() as connection:
        rows = connection.execute(QUERIES[name])
        names = [column[0] for column in rows.description]
        return [dict(zip(names, row, strict=True)) for row in rows]


def _mephisto_file(path: Path) -> Database:
    return Database(
        path,
        error=ResultsError,
        if_damaged="name a directory with a Mephisto 1.x database, or put a copy of this one back",
        patience_s=waits_at_most(PATIENCE_S),
    )


def rows_of(path: Path, table: str, sql: str, values: Sequence[str]) -> list[tuple[object, ...]]:
    has_table = query_file(path, "SELECT 1 FROM sqlite_master WHERE name = ?", [table])
    return query_file(path, sql, values) if has_table else []


def task_names(data_dir: Path) -> list[str]:
    return [str(row[0]) for row in query(data_dir, "tasks")]


class StoredRun(NamedTuple):
    run_id: str
    technique: str
    provider: str
    settings: str


def stored_runs(data_dir: Path, task_name: str) -> list[StoredRun]:
    """The launches of a task, the newest first. Raises ResultsError."""
    return [StoredRun(*map(str, row)) for row in query(data_dir, "runs", [task_name])]


def technique_of(data_dir: Path, task_name: str) -> str | None:
    """The technique of a task, whether anything was rated or not; None: it was never launched."""
    runs = stored_runs(data_dir, task_name)
    return recorded_as(runs[0].technique) if runs else None


def requesters(data_dir: Path) -> list[tuple[str, str]]:
    """Registered requesters, name and provider type; none where there is no database. Raises ResultsError."""
    sql = "SELECT requester_name, provider_type FROM requesters ORDER BY requester_name"
    rows = query_file(data_dir / "database.db", sql)
    return [(str(name), str(kind)) for name, kind in rows]


def check_task(data_dir: Path, task_name: str) -> None:
    """Raises ResultsError where there is no database, or no such task; the message lists the tasks that exist."""
    names = task_names(data_dir)
    if task_name not in names:
        raise no_such_task(data_dir, task_name, names)


def no_such_task(data_dir: Path, task_name: str, names: Sequence[str]) -> ResultsError:
    known = f"choose one of its tasks: {', '.join(names)}" if names else "it has no task yet"
    what = f"there is no task {task_name!r} in {data_dir}"
    return ResultsError(what, try_=known, misspelt=misspelt(task_name, names))


def stored_agents(data_dir: Path, task_name: str, worker_id: str = "") -> list[StoredAgent]:
    """Every rater's part in a task, oldest first; or those of one worker, by Mephisto's id. Raises ResultsError."""
    rows = query(data_dir, "parts", [task_name, worker_id])
    if not rows:
        check_task(data_dir, task_name)
    return [StoredAgent(*(str(value) for value in row)) for row in rows]


def _state_file(data_dir: Path, agent: StoredAgent) -> Path:
    runs = data_dir / "data" / "runs" / "NO_PROJECT"
    return runs / agent.task_run_id / agent.assignment_id / agent.agent_id / "state.json"


def stored_states(
    data_dir: Path, task_name: str, worker_id: str = "", *, files: StateFiles | None = None
) -> Iterator[tuple[StoredAgent, StateFile]]:
    """State files with events of all raters of a task, or of one worker, oldest first. Raises ResultsError."""
    files = files or StateFiles()
    for agent in stored_agents(data_dir, task_name, worker_id):
        if (state := _state_of(data_dir, agent, files)) is not None:
            yield agent, state


def newest_states(
    data_dir: Path, task_name: str, worker_id: str = "", *, files: StateFiles | None = None
) -> Iterator[tuple[StoredAgent, StateFile]]:
    """:func:`stored_states`, newest first, without visits that a later one resumed. Raises ResultsError."""
    files = files or StateFiles()
    gone_on: set[str] = set()
    for agent in reversed(stored_agents(data_dir, task_name, worker_id)):
        if agent.agent_id in gone_on or (state := _state_of(data_dir, agent, files)) is None:
            continue
        gone_on.update(event.earlier for event in state.outputs.messages if isinstance(event, Resumed))
        yield agent, state


def _state_of(data_dir: Path, agent: StoredAgent, files: StateFiles) -> StateFile | None:
    path = _state_file(data_dir, agent)
    try:
        state = files.read(path)
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise ResultsError(f"{path} cannot be read: {_first_line(error)}") from error
    return state if state.outputs.messages else None


def _records(
    data_dir: Path, task_name: str, worker_id: str = "", *, files: StateFiles | None = None
) -> Iterator[tuple[StoredAgent, Rated]]:
    alive = running_task_run(data_dir, task_name)
    of_agents: list[list[tuple[StoredAgent, Rated]]] = []
    for agent, state in newest_states(data_dir, task_name, worker_id, files=files):
        at_work = agent.task_run_id == alive and agent.status in AT_WORK
        unfinished: Status = "running" if at_work else "partial"
        records: list[tuple[StoredAgent, Rated]] = []
        try:
            for events in split_dialogues(state.outputs.messages):
                record = build_rated(events, unfinished=unfinished)
                record.simulated = was_simulated(events[0], record, agent.worker_name, task_name)
                records.append((agent, record))
        except EventLogError as error:
            raise ResultsError(f"{_state_file(data_dir, agent)} cannot be read: {_first_line(error)}") from error
        of_agents.append(records)
    for records in reversed(of_agents):
        yield from records


_DEMO_TASK = re.compile(r"demo-.+-\d{8}-\d{6}-[0-9a-f]{4}")
_DEMO_RATER = re.compile(rf"sim\d+-\d+({SANDBOX_SUFFIX})?")  # Names that a demo gives, and nobody else


def was_simulated(begun: Event, record: Rated, worker_name: str, task_name: str) -> bool:
    """Whether a program rated, as the launch noted; in records without a note, a demo's raters are known by their names."""
    if isinstance(begun, (Started, JudgingStarted)) and begun.simulated is not None:
        return begun.simulated
    names = (task_name, str(record.settings.get("onboarding_qualification")))  # a demo's task may have another name
    return _DEMO_RATER.fullmatch(worker_name) is not None and any(map(_DEMO_TASK.fullmatch, names))


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def read_records(data_dir: Path, task_name: str, files: StateFiles | None = None) -> list[Rated]:
    """All dialogues or judgements of a task, partial ones too, oldest first, with pseudonyms. Raises ResultsError."""
    with collector_off():
        stored = list(_records(data_dir, task_name, files=files))
        practised = past_practices(data_dir, task_name, files=files)
    pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)  # not in a directory that was named by mistake
    records = []
    for agent, record in stored:
        record.task_name = task_name
        record.task_run_id = agent.task_run_id
        record.assignment_id = agent.assignment_id
        record.unit_id = agent.unit_id
        record.worker = pseudonyms.worker(agent.worker_name)
        if agent.worker_id in practised:
            record.checks["practice"] = practised[agent.worker_id].model_dump()
        records.append(record)
    checked(records)
    return records


def read_dialogues(data_dir: Path, task_name: str) -> list[DialogueRecord]:
    return [record for record in read_records(data_dir, task_name) if isinstance(record, DialogueRecord)]


def read_judgements(data_dir: Path, task_name: str) -> list[JudgementRecord]:
    return [record for record in read_records(data_dir, task_name) if isinstance(record, JudgementRecord)]


def worker_records(data_dir: Path, task_name: str, worker_id: str) -> list[Rated]:
    """All dialogues or judgements of one worker (Mephisto's id) in a task, without pseudonyms. Raises ResultsError."""
    return [record for _, record in _records(data_dir, task_name, worker_id)]


def past_practices(
    data_dir: Path,
    task_name: str,
    since: Mapping[str, float] = MappingProxyType({}),
    *,
    files: StateFiles | None = None,
) -> dict[str, OnboardingRecord]:
    """Mephisto's worker id → their practice in a task; ``since``: as in :func:`read_practices`. Empty: no database."""
    if not (data_dir / "database.db").is_file():
        return {}
    return read_practices(data_dir, query(data_dir, "practices", [task_name, ""]), since, files)


def practice_count(data_dir: Path, tasks: Sequence[str], files: StateFiles | None = None) -> PracticeCount | None:
    from parlai_humaneval.report.document import PracticeCount  # a launch reads results as well, and needs no report

    verdicts = [practice.passed for name in tasks for practice in past_practices(data_dir, name, files=files).values()]
    if not verdicts:
        return None
    return PracticeCount(passed=verdicts.count(True), failed=verdicts.count(False), not_ended=verdicts.count(None))


def past_dialogues(data_dir: Path, task_name: str) -> list[PastDialogue]:
    """Dialogues of a task's earlier launches, for the next allocation; workers by Mephisto's id. Empty: none."""
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return []
    dialogues = [
        (agent, record) for agent, record in _records(data_dir, task_name) if isinstance(record, DialogueRecord)
    ]
    held: dict[str, set[int]] = {}
    for _, record in dialogues:
        if record.status == "complete":
            held.setdefault(record.session or record.dialogue_id, set()).add(record.conversation)
    return [
        PastDialogue(
            cell=Cell(
                models=tuple(model.name for model in record.models), metric=record.metric, setting=record.setting
            ),
            worker=agent.worker_id,
            # A dialogue counts when its unit is complete: a part of it is too little to check its rater by.
            complete=len(held.get(record.session or record.dialogue_id, ())) >= record.conversations,
            rated_turns=len(record.complete_turns),
            cut_off=record.interrupted or (record.status == "partial" and agent.status in AT_WORK),
            models=record.models,
        )
        for agent, record in dialogues
    ]


def finished_by_worker(data_dir: Path, task_name: str) -> list[tuple[str, Rated]]:
    """Each finished dialogue or judgement of a task with Mephisto's id of its worker, oldest first."""
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return []
    records = _records(data_dir, task_name)
    return [(agent.worker_id, record) for agent, record in records if record.status == "complete"]


def raters_of_dialogues(data_dir: Path, task_name: str) -> dict[str, str]:
    """Dialogue id → Mephisto's id of the worker who took part in it. Raises ResultsError."""
    records = _records(data_dir, task_name)
    return {record.dialogue_id: agent.worker_id for agent, record in records if isinstance(record, DialogueRecord)}


@dataclass(frozen=True)
class PastGold:
    """An attention check that a worker was shown in the unit ``session``; ``judged``: they answered it."""

    worker: str
    item_id: str
    session: str
    judged: bool


def past_judgements(data_dir: Path, task_name: str) -> tuple[list[PastJudgement], list[PastGold]]:
    """Judgements of earlier launches, and the attention checks that workers (Mephisto's ids) were shown."""
    judgements: list[PastJudgement] = []
    golds: list[PastGold] = []
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return judgements, golds
    for agent, state in reversed(list(newest_states(data_dir, task_name))):
        wanted = int((state.inputs or {}).get("wanted", 0))
        for events in split_dialogues(state.outputs.messages):
            record = build_rated(events)
            if not isinstance(record, JudgementRecord):
                continue
            if record.expected is not None:
                done = record.status == "complete"
                golds.append(PastGold(agent.worker_id, record.item_id, record.session, done))
                continue
            judgements.append(
                PastJudgement(
                    item_id=record.item_id,
                    cell=Cell(models=tuple(record.group), metric=record.metric, setting=record.setting),
                    dialogues=tuple(shown.dialogue_id for shown in record.dialogues),
                    worker=agent.worker_id,
                    session=record.session,
                    complete=record.status == "complete",
                    numbers=wanted,
                )
            )
    return judgements, golds


SETTINGS_FILE = "settings.json"

Settings = dict[str, JsonValue]  # Name with its dots → value; a list is one value.


class RunSettings(BaseModel, extra="ignore", frozen=True):
    """``task``: the name of the technique as it was launched; ``settings``: all below ``mephisto``."""

    task: str
    task_run_id: str
    settings: Settings


def flat(settings: Mapping[str, JsonValue], prefix: str = "") -> Settings:
    names: Settings = {}
    for name, value in settings.items():
        if isinstance(value, Mapping) and value:
            names |= flat(value, f"{prefix}{name}.")
        else:
            names[f"{prefix}{name}"] = value
    return names


def note_settings(data_dir: Path, task_name: str, settings: RunSettings) -> None:
    write_private(study_folder(data_dir, task_name) / SETTINGS_FILE, settings.model_dump_json().encode())


def read_settings(data_dir: Path, task_name: str) -> RunSettings | None:
    try:
        return RunSettings.model_validate_json((study_folder(data_dir, task_name) / SETTINGS_FILE).read_bytes())
    except (FileNotFoundError, ValidationError):
        return None


def newest_settings(data_dir: Path, task_name: str, part: Literal["blueprint", "provider"]) -> dict[str, Any]:
    """``mephisto`` settings of a task's newest launch; empty: none, or of an older version. Raises ResultsError."""
    runs = stored_runs(data_dir, task_name)
    if not runs:
        check_task(data_dir, task_name)
    return _part(runs[0], part) if runs else {}


def blueprints(data_dir: Path, task_name: str) -> dict[str, dict[str, Any]]:
    """Mephisto's id of each launch of a task, the newest first → its ``mephisto.blueprint``, as for the newest."""
    return {run.run_id: _part(run, "blueprint") for run in stored_runs(data_dir, task_name)}


def currencies_of(data_dir: Path, task_name: str) -> dict[str, str]:
    """Mephisto's id of a launch of a task → the currency of its rewards, where its crowd has a choice."""
    runs = {run.run_id: _part(run, "provider") for run in stored_runs(data_dir, task_name)}
    return {run: str(settings["currency"]) for run, settings in runs.items() if settings.get("currency")}


def _part(run: StoredRun, part: str) -> dict[str, Any]:
    settings = yaml.load(run.settings, FASTEST)
    if isinstance(settings, str):  # Mephisto writes YAML as a string of JSON
        settings = yaml.load(settings, FASTEST)
    values = settings.get(part) if isinstance(settings, dict) else None
    return values if isinstance(values, dict) else {}
