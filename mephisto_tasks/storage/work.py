"""Each worker's work in a task, by records (statuses may lag), for pay and ``watch``; and interrupted work."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.storage import results
from mephisto_tasks.storage.locks import running_task_run
from parlai_humaneval.schema.events import Event, Failed, Finished, Interrupted, JudgingStarted, Resumed, Started
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.rebuild import EventLogError, build_rated, split_dialogues
from parlai_humaneval.schema.records import JudgementRecord, Rated

CENT = Decimal("0.01")

Outcome = Literal["running", "complete", "partial", "stopped", "continued", "practice_only"]
"""running: its launch is alive. partial: the worker left. stopped: we ended it (a model failed, the launch was paused or
killed). continued: a later visit of the same worker resumed the unit, which is paid there. practice_only: there is only the
practice."""

Counted = Literal["turns", "items", ""]


class Work(BaseModel, extra="forbid", frozen=True):
    """One worker's part in one unit: ``done`` of ``whole`` parts, earlier visits included, between two times in seconds
    since the epoch. ``session``: the unit's name in records. ``resumable``: in a live launch."""

    worker: str
    worker_id: str
    unit_id: str = ""
    agent_id: str = ""
    assignment_id: str = ""
    task_run_id: str = ""
    provider: str = ""
    session: str = ""
    outcome: Outcome
    begun: float
    ended: float
    seconds: float
    practice_seconds: float = 0.0
    done: int = 0
    whole: int = 0
    counted: Counted = ""
    reward: Decimal = Decimal("0.00")
    resumable: bool = False
    simulated: bool = False


def cents(dollars: str | Decimal) -> Decimal:
    """Dollars in whole cents, rounded up in the worker's favour."""
    return Decimal(dollars).quantize(CENT, rounding=ROUND_UP)


def unit_of(record: Rated) -> str:
    return record.session or (record.judgement_id if isinstance(record, JudgementRecord) else record.dialogue_id)


def completed_work(
    data_dir: Path, task_name: str, worker_id: str = "", *, files: results.StateFiles | None = None
) -> list[Work]:
    """The work of a task's workers (or of one, by Mephisto's id), oldest first; mere practice last. Raises
    ResultsError."""
    with collector_off():
        alive = running_task_run(data_dir, task_name)
        states = results.stored_states(data_dir, task_name, worker_id, files=files)
        visits = [_Visit.read(agent, state, alive, task_name) for agent, state in states]
        onboardings = results.query(data_dir, "practices", [task_name, worker_id])
        practice = results.practice_logs(data_dir, onboardings, files)
    pseudonyms = Pseudonymizer.load_or_create(data_dir / results.PSEUDONYM_KEY)
    sessions: dict[tuple[str, str], list[_Visit]] = defaultdict(list)
    for visit in visits:
        sessions[visit.agent.worker_id, visit.session].append(visit)
    work = [
        _work(number, session, pseudonyms.worker(visit.agent.worker_name), alive)
        for session in sessions.values()
        for number, visit in enumerate(session)
    ]
    work.sort(key=lambda one: int(one.agent_id))
    return list(_with_practice(work, practice, data_dir, task_name, pseudonyms))


@dataclass(frozen=True)
class _Visit:
    """One agent's work. ``done``: number of a conversation or item → parts done; ``complete`` of ``numbers``."""

    agent: results.StoredAgent
    session: str
    begun: float
    ended: float
    done: dict[int, int]
    complete: frozenset[int]
    numbers: int
    whole: int
    counted: Counted
    running: bool
    stopped: bool
    simulated: bool

    @classmethod
    def read(cls, agent: results.StoredAgent, state: results.StateFile, alive: str | None, task_name: str) -> _Visit:
        events = state.outputs.messages
        at_work = agent.status in results.AT_WORK
        try:
            records = [build_rated(part) for part in split_dialogues(events)]
        except EventLogError as error:
            raise results.ResultsError(f"what agent {agent.agent_id} left cannot be read: {error}") from error
        last = records[-1]
        parts = _parts(last)
        judging = isinstance(last, JudgementRecord)
        numbers = last.numbers if isinstance(last, JudgementRecord) else last.conversations
        return cls(
            agent=agent,
            session=unit_of(last),
            begun=next((event.at for event in reversed(events) if isinstance(event, Resumed)), events[0].at),
            ended=events[-1].at,
            done={_number(record): _done(record, parts) for record in records},
            complete=frozenset(_number(record) for record in records if record.status == "complete"),
            numbers=numbers,
            whole=numbers * parts,
            counted="items" if judging and parts == 1 else "turns",
            running=at_work and agent.task_run_id == alive,
            # A launch that was killed wrote no such event: to Mephisto its agents are still at work, or were approved later,
            # all at once.
            stopped=at_work
            or agent.status == "approved"
            or any(isinstance(event, (Failed, Interrupted)) for event in events),
            simulated=results.was_simulated(events[0], last, agent.worker_name, task_name),
        )


def _number(record: Rated) -> int:
    return record.number if isinstance(record, JudgementRecord) else record.conversation


def _done(record: Rated, parts: int) -> int:
    if record.status == "complete":
        return parts
    if isinstance(record, JudgementRecord):
        rated = len({answer.turn for answer in record.answers if answer.turn is not None})
    else:
        rated = len(record.complete_turns)
    return min(rated * parts // _parts(record), parts)


def _parts(record: Rated) -> int:
    """The parts of a conversation are its turns and the final questions; those of an item are its replayed turns."""
    if isinstance(record, JudgementRecord):
        return max(1, sum(len(shown.replayed.turns) for shown in record.dialogues if shown.replayed is not None))
    turns = record.settings.get("turns") or len(record.turns) or 1
    return int(turns) + bool(record.criteria or record.settings.get("verdict"))


def _work(number: int, session: Sequence[_Visit], worker: str, alive: str | None) -> Work:
    """Visit ``number`` (from 0) of a unit's visits. ``alive``: the run of a launch that is alive."""
    visit, earlier = session[number], session[: number + 1]
    best: dict[int, int] = {}
    for past in earlier:
        for part, done in past.done.items():
            best[part] = max(best.get(part, 0), done)
    outcome = _outcome(earlier, later=number + 1 < len(session))
    of_agent = ("worker_id", "unit_id", "agent_id", "assignment_id", "task_run_id", "provider")
    of_visit = ("session", "begun", "ended", "whole", "counted", "simulated")
    return Work(
        worker=worker,
        **{name: getattr(visit.agent, name) for name in of_agent},
        **{name: getattr(visit, name) for name in of_visit},
        outcome=outcome,
        seconds=visit.ended - visit.begun,
        done=min(sum(best.values()), visit.whole),
        reward=cents(visit.agent.reward),
        resumable=outcome == "partial" and alive is not None,
    )


def _outcome(visits: Sequence[_Visit], *, later: bool) -> Outcome:
    visit = visits[-1]
    if later:
        return "continued"
    if len(frozenset[int]().union(*(past.complete for past in visits))) >= visit.numbers:
        return "complete"
    if visit.running:
        return "running"
    # Once we stopped a visit, the worker read that the whole unit is paid, even if they came back and left.
    return "stopped" if any(past.stopped for past in visits) else "partial"


def _with_practice(
    work: Iterable[Work], practice: dict[str, list[Event]], data_dir: Path, task_name: str, pseudonyms: Pseudonymizer
) -> Iterator[Work]:
    left = {worker: (events[0].at, events[-1].at) for worker, events in practice.items()}
    for one in work:
        begun, ended = left.pop(one.worker_id, (0.0, 0.0))
        yield one.model_copy(update={"practice_seconds": ended - begun})
    rows = results.query(data_dir, "practised", [task_name]) if left else []
    for worker_id, name, run_id, provider in ([str(value) for value in row] for row in rows):
        if worker_id not in left:
            continue
        begun, ended = left.pop(worker_id)
        yield Work(
            worker=pseudonyms.worker(name),
            worker_id=worker_id,
            task_run_id=run_id,
            provider=provider,
            outcome="practice_only",
            begun=begun,
            ended=ended,
            seconds=0.0,
            practice_seconds=ended - begun,
        )


IN_TASK = "in task"  # Mephisto's status of an agent that has neither submitted nor left


@dataclass(frozen=True)
class CutOff:
    """An unfinished unit: Mephisto's ``agent``, the unit's plan, and what happened in it."""

    agent: str
    plan: dict[str, Any]
    events: Sequence[Event]

    @property
    def beginnings(self) -> list[Started | JudgingStarted]:
        return [event for event in self.events if isinstance(event, (Started, JudgingStarted))]

    @property
    def finished(self) -> set[str]:
        parts = split_dialogues(self.events)
        return {
            part_name(part[0])
            for part in parts
            if isinstance(part[0], (Started, JudgingStarted)) and any(isinstance(event, Finished) for event in part)
        }


def part_name(beginning: Event) -> str:
    """The id of the dialogue or judgement that begins with this event; empty for any other event."""
    return beginning.dialogue_id if isinstance(beginning, Started) else str(getattr(beginning, "judgement_id", ""))


def cut_off_units(data_dir: Path, task_name: str) -> dict[str, CutOff]:
    """Mephisto's worker id → their newest unit, where it is unfinished (one with every answer is, where its rater was
    not told, and one whose model failed is not). Raises ResultsError."""
    if not (data_dir / "database.db").is_file() or task_name not in results.task_names(data_dir):
        return {}
    newest: dict[str, CutOff | None] = {}
    for agent, state in results.newest_states(data_dir, task_name):
        if agent.worker_id not in newest:
            newest[agent.worker_id] = _cut_off(agent.agent_id, state, at_work=agent.status == IN_TASK)
    return {worker: unit for worker, unit in newest.items() if unit is not None}


def last_seen(data_dir: Path, task_name: str) -> dict[str, float]:
    """Mephisto's worker id → time of their last event in a task, in seconds since the epoch. Raises ResultsError."""
    if not (data_dir / "database.db").is_file() or task_name not in results.task_names(data_dir):
        return {}
    seen: dict[str, float] = {}
    for agent, state in results.newest_states(data_dir, task_name):
        seen[agent.worker_id] = max(seen.get(agent.worker_id, 0.0), *(event.at for event in state.outputs.messages))
    return seen


def _cut_off(agent_id: str, state: results.StateFile, *, at_work: bool) -> CutOff | None:
    events = state.outputs.messages
    if not state.inputs or any(isinstance(event, Failed) for event in events):
        return None
    unit = CutOff(agent_id, state.inputs, events)
    parts = state.inputs.get("plans") or state.inputs.get("items") or []
    done = len(unit.finished) >= len(parts)
    if not parts or (done and (not at_work or state.last_page is not None)):
        return None
    return unit
