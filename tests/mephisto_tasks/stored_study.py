"""Finished dialogues in a real Mephisto database, without a launch: for tests of what reads them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from parlai_humaneval._util.files import create_once
from parlai_humaneval.schema.events import (
    Answered,
    CandidatesShown,
    Event,
    FinalRated,
    Finished,
    HumanMessage,
    PracticeAnswered,
    Started,
)
from parlai_humaneval.schema.records import Candidate, ContextRecord, CriterionRecord, ModelRecord

START = 1_700_000_000.0
MESSAGE = "I would like to hear more about that"


KEY = bytes(range(32))
"""Pseudonyms are the same in each test, and so is what is computed of the same answers."""


class StoredStudy:
    """Writes tasks, workers and their dialogues into ``data_dir`` as a launch does."""

    def __init__(
        self, data_dir: Path, *, provider: str = "mock", requester: str = "researcher", reward: float = 0.0
    ) -> None:
        """``reward``: dollars for a unit."""
        from mephisto_tasks.crowds.registry import register_providers

        register_providers()
        from mephisto.abstractions.databases.local_database import LocalMephistoDB

        data_dir.mkdir(parents=True, exist_ok=True)
        create_once(data_dir / "pseudonym.key", KEY)
        self.data_dir = data_dir
        self._db = LocalMephistoDB(str(data_dir / "database.db"))
        self._provider, self._reward = provider, reward
        self._requester = self._db.new_requester(requester, provider)
        self._runs: dict[str, tuple[str, str]] = {}
        self._workers: dict[str, str] = {}

    def add(self, task: str, worker: str, events: Sequence[Event], plan: dict[str, Any] | None = None) -> str:
        """A unit of ``task``, done by ``worker``, as it was planned; returns Mephisto's id of the worker."""
        provider = self._provider
        if task not in self._runs:
            known = self._db.find_tasks(task_name=task)  # launched in another place before
            task_id = known[0].db_id if known else self._db.new_task(task, "engine")
            self._runs[task] = task_id, self._db.new_task_run(task_id, self._requester, "{}", provider, "engine")
        if worker not in self._workers:
            self._workers[worker] = self._db.new_worker(worker, provider)
        task_id, run = self._runs[task]
        assignment = self._db.new_assignment(task_id, run, self._requester, "engine", provider)
        unit = self._db.new_unit(task_id, run, self._requester, assignment, 0, self._reward, provider, "engine")
        agent = self._db.new_agent(self._workers[worker], unit, task_id, run, assignment, "engine", provider)
        folder = self.data_dir / "data" / "runs" / "NO_PROJECT" / run / assignment / agent
        folder.mkdir(parents=True)
        messages = [event.model_dump(mode="json") for event in events]
        (folder / "state.json").write_text(json.dumps({"inputs": plan or {}, "outputs": {"messages": messages}}))
        return self._workers[worker]

    def practise(self, task: str, worker: str, seconds: float) -> None:
        """A practice of ``task`` that its worker left after so long; the task has a unit already."""
        task_id, run = self._runs[task]
        agent = self._db.new_onboarding_agent(self._db.new_worker(worker, self._provider), task_id, run, "engine")
        folder = self.data_dir / "data" / "runs" / "NO_PROJECT" / run / "onboarding" / f"onboarding_{agent}"
        folder.mkdir(parents=True)
        answers = [
            PracticeAnswered(at=START + at, attempt=1, item=item, choice="good").model_dump(mode="json")
            for item, at in ((1, 0.0), (2, seconds))
        ]
        (folder / "state.json").write_text(json.dumps({"inputs": {}, "outputs": {"messages": answers}}))


def choices(dialogue_id: str, places: Sequence[Sequence[int]], *, setting: str = "sata_random") -> Iterator[Event]:
    """A SATA dialogue of models alpha and beta, which change places; ``places`` were picked, turn by turn."""
    yield _started(dialogue_id, "sata", ["alpha", "beta"], setting=setting)
    for number, picked in enumerate(places, start=1):
        names = ["alpha", "beta"] if number % 2 else ["beta", "alpha"]
        yield from _turn(number, names, [f"{number}-{place}" for place in picked])
    yield Finished(at=START + 1000, by_rater=True)


def rated(dialogue_id: str, model: str, ratings: dict[str, float], **of_unit: Any) -> Iterator[Event]:
    """A conversation of a direct assessment; the model “degraded” is the one to check raters with.

    ``of_unit``: session, conversation and conversations, where the unit is put to the test.
    """
    criteria = [
        CriterionRecord(name=name, text=f"It was {name}.", scale="slider", maximum=100, reversed=name == "robotic")
        for name in ratings
    ]
    yield _started(
        dialogue_id, "direct_assessment", [model], quality_control_model="degraded", criteria=criteria, **of_unit
    )
    yield from _turn(1, [model], [])
    yield FinalRated(at=START + 900, ratings=ratings, seconds=20)
    yield Finished(at=START + 1000)


def _started(dialogue_id: str, technique: str, models: Sequence[str], setting: str = "", **more: Any) -> Started:
    return Started(
        at=START,
        schema_version=2,
        dialogue_id=dialogue_id,
        technique=technique,
        setting=setting,
        settings={},
        metric="preference",
        question="Which would you rather talk to?",
        models=[ModelRecord(name=name) for name in models],
        context=ContextRecord(),
        seed=1,
        **more,
    )


def _turn(number: int, models: Sequence[str], selected: list[str]) -> Iterator[Event]:
    at = START + 60 * number
    shown = [
        Candidate(
            candidate_id=f"{number}-{place}", model=model, text=f"reply of {model}", position=place, latency_s=0.1
        )
        for place, model in enumerate(models, start=1)
    ]
    yield HumanMessage(at=at, turn=number, text=f"{MESSAGE} {number}", fixed=False)
    yield CandidatesShown(at=at + 1, turn=number, candidates=shown)
    went_on = selected[0] if selected else shown[0].candidate_id
    yield Answered(at=at + 31, turn=number, selected=selected, continued=went_on, reason=None, seconds=30)
