"""A study whose work was done on the stand-in of MTurk: real HITs and assignments there, real records here."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

import boto3
from servers.mturk import KEY, SECRET, StandIn
from stored_study import StoredStudy, choices

from mephisto_tasks.crowds.mturk.hits import make_hit
from mephisto_tasks.crowds.mturk.provider import HitStore
from parlai_humaneval.schema.events import Event, Failed, Finished

TASK = "talk"
REWARD = Decimal("2.50")
PROVIDER, REQUESTER = "mturk", "lab"
DURATION_S = 3600


def whole(name: str, turns: int = 3) -> list[Event]:
    """A complete dialogue."""
    return list(choices(name, [[1]] * turns))


def part(name: str, done: int, turns: int = 3) -> list[Event]:
    """A dialogue of which ``done`` turns were rated, and one more was begun."""
    return [*_with_turns(whole(name, turns)[: 1 + 3 * done + 1], turns)]


def _with_turns(events: Sequence[Event], turns: int) -> Iterator[Event]:
    for event in events:
        if event.event == "started":
            event.settings = {"turns": turns}
        if not isinstance(event, Finished):
            yield event


def stopped(name: str) -> list[Event]:
    """A dialogue that a model's failure ended after its first turn."""
    events = part(name, 1)
    return [*events, Failed(at=events[-1].at, reason="the models are out")]


class TurkStudy:
    """Writes a study into ``data_dir``, and has its workers do on MTurk what they did."""

    def __init__(self, data_dir: Path, mturk: StandIn) -> None:
        self.data_dir, self.mturk = data_dir, mturk
        provider = f"{PROVIDER}{self._suffix}"
        self._stored = StoredStudy(
            data_dir, provider=provider, requester=f"{REQUESTER}{self._suffix}", reward=float(REWARD)
        )
        folder = data_dir / provider
        folder.mkdir()
        self._hits = HitStore(str(folder))
        self.client = client_of(mturk)
        self._type = self.client.create_hit_type(
            AssignmentDurationInSeconds=DURATION_S,
            AutoApprovalDelayInSeconds=7 * 24 * 3600,
            Reward=str(REWARD),
            Title="Talk",
            Description="Talk to bots",
        )["HITTypeId"]

    @property
    def _suffix(self) -> str:
        """What Mephisto adds to names of its sandbox."""
        return "_sandbox" if self.mturk.crowd.sandbox else ""

    def does(
        self, worker: str, events: Sequence[Event], *, hands_in: bool, status: str = "completed", noted: bool = True
    ) -> str:
        """A worker accepts a HIT, does something, and hands it in or returns it; the assignment.

        ``status``: Mephisto's, which may be behind. ``noted``: the launch wrote down which assignment the agent had.
        """
        worker_id = self._stored.add(TASK, f"{worker}{self._suffix}", events)
        agent, unit, run = self._newest(worker_id)
        hit = make_hit(
            self.client, self._type, "https://study.example/", height=650, lifetime_s=3600, annotation=f"{agent}"
        )
        assignment = self.mturk.crowd.accept(worker, hit).id
        self._hits.new_hit(hit, "https://link.example", DURATION_S, run)
        if noted:
            self._hits.register_assignment_to_hit(hit, unit, assignment)
            self._hits.note_assignment(agent, hit, assignment)
        if hands_in:
            self.mturk.crowd.submit(assignment, {"done": "yes"})
        else:
            self.mturk.crowd.give_back(assignment)
            self._hits.clear_hit_from_unit(unit)
        with closing(sqlite3.connect(self.data_dir / "database.db")) as connection, connection:
            connection.execute("UPDATE agents SET status = ? WHERE agent_id = ?", (status, agent))
        return str(assignment)

    def takes_over(self, worker: str, events: Sequence[Event], assignment: str) -> None:
        """A worker accepts a HIT that somebody has returned, and hands it in: its assignment keeps its id."""
        worker_id = self._stored.add(TASK, f"{worker}{self._suffix}", events)
        agent, unit, _ = self._newest(worker_id)
        (hit,) = [hit for hit in self.mturk.crowd.hits() if assignment in hit.free_ids]
        assert self.mturk.crowd.accept(worker, hit.id).id == assignment
        self._hits.register_assignment_to_hit(hit.id, unit, assignment)
        self._hits.note_assignment(agent, hit.id, assignment)
        self.mturk.crowd.submit(assignment, {"done": "yes"})

    def _newest(self, worker_id: str) -> tuple[str, str, str]:
        with closing(sqlite3.connect(self.data_dir / "database.db")) as connection:
            row = connection.execute(
                "SELECT agent_id, unit_id, task_run_id FROM agents WHERE worker_id = ? ORDER BY agent_id DESC",
                (worker_id,),
            ).fetchone()
        return str(row[0]), str(row[1]), str(row[2])


def client_of(mturk: StandIn) -> Any:
    return client_at(mturk.url)


def client_at(url: str) -> Any:
    return boto3.client(
        "mturk",
        endpoint_url=url,
        aws_access_key_id=KEY,
        aws_secret_access_key=SECRET,
        region_name="us-east-1",
    )


def everybody(data_dir: Path, mturk: StandIn) -> dict[str, Decimal]:
    """A study with every kind of work; worker on MTurk → dollars that they are to get by machine.

    ``AGUS`` left without ever handing anything in, and cannot be paid by machine.
    """
    study = TurkStudy(data_dir, mturk)
    study.does("AANN", whole("a"), hands_in=True)
    study.does("ABOB", whole("b1"), hands_in=True, status="in task")
    study.does("ABOB", part("b2", 2), hands_in=False, status="disconnect")
    study.does("ACYD", stopped("c"), hands_in=True)
    study.does("ADAN", whole("d1"), hands_in=False, status="disconnect")
    study.does("ADAN", whole("d2"), hands_in=True)
    study.does("ADAN", part("d3", 1), hands_in=False, status="timeout")
    study.does("AEVE", part("e1", 1), hands_in=False, status="returned")
    study.does("AEVE", whole("e2"), hands_in=True, noted=False)
    study.does("AGUS", part("g", 2), hands_in=False, status="disconnect")
    return {
        "AANN": REWARD,
        "ABOB": REWARD + Decimal("1.67"),  # two of three turns, rounded up
        "ACYD": REWARD,
        "ADAN": REWARD * 2 + Decimal("0.84"),
        "AEVE": REWARD + Decimal("0.84"),
    }


def got(mturk: StandIn) -> dict[str, Decimal]:
    """Worker → dollars that the server says they got."""
    money: dict[str, Decimal] = {}
    for assignment in mturk.crowd.assignments("Approved"):
        money[assignment.worker] = money.get(assignment.worker, Decimal(0)) + assignment.hit.type.reward
    for bonus in mturk.account.bonuses:
        money[bonus.worker] = money.get(bonus.worker, Decimal(0)) + bonus.amount
    return money


def take_back(mturk: StandIn) -> None:
    """Nobody has been paid any more."""
    for assignment in mturk.crowd.assignments("Approved"):
        assignment.status, assignment.reviewed = "Submitted", None
    mturk.account.bonuses.clear()
    mturk.account.tokens.clear()
    mturk.account.rewards = mturk.account.bonus_total = mturk.account.fees = Decimal(0)
    mturk.faults.clear()
