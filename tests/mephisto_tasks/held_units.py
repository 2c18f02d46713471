"""Units held without a launch: the real study, worlds, page session and state file, and a page that answers at once."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import scripted_models

from mephisto_tasks.control.snapshot import Visit
from mephisto_tasks.session.agent_state import LiveAgentState
from mephisto_tasks.session.page import PageSession, Recorded
from mephisto_tasks.session.study import Study
from mephisto_tasks.simulation.raters import Answers, Behaviour, by_kind
from parlai_humaneval.schema.events import (
    Answered,
    CandidatesShown,
    EndChosen,
    Event,
    FinalRated,
    HumanMessage,
    Judged,
    NoneChosen,
    Resumed,
    TopicChanged,
    TopicChosen,
    VerdictGiven,
    parse_events,
)
from parlai_humaneval.schema.rebuild import build_rated, split_dialogues
from parlai_humaneval.schema.steps import EndStep, MessageStep, PageState, WaitStep

TIMES = {
    "at", "started_at", "finished_at", "human_at", "shown_at", "answered_at", "seconds", "final_seconds", "latency_s",
    "away_s",
}  # fmt: skip
"""What two visits and one need not have alike."""


@dataclass
class Held:
    """What came of a unit, or of the rest of one: its events, the steps that were asked, and what models were asked."""

    plan: dict[str, Any]
    messages: list[dict[str, Any]]
    asked: list[str]
    heard: Counter[str]

    @property
    def events(self) -> list[Event]:
        return parse_events(self.messages)

    def records(self) -> list[Any]:
        """All records, without times; candidates by model and turn, for their ids are drawn."""
        return [_plain(build_rated(part).model_dump(mode="json")) for part in split_dialogues(self.events)]


class AnsweringAgent:
    """An agent whose page answers each step at once, by a chance of ``seed`` and the step alone."""

    db_id = "1"
    worker_id = "worker"
    db_status = "in task"
    is_shutdown = False
    db = SimpleNamespace(key_exists=lambda _: False)

    def __init__(self, folder: Path, seed: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._seed = folder, seed
        self.pending_actions: Queue[dict[str, Any]] = Queue()
        self.has_live_update, self.did_submit = threading.Event(), threading.Event()
        self.asked: list[str] = []
        self.state = LiveAgentState(self)

    def get_data_dir(self) -> str:
        return str(self._folder)

    def agent_in_active_run(self) -> bool:
        return True

    def get_agent_id(self) -> str:
        return "1"

    def get_live_run(self) -> Any:
        return SimpleNamespace(client_io=SimpleNamespace(send_live_update=self._answer))

    def get_live_update(self, timeout: float) -> dict[str, Any]:
        return self.pending_actions.get(timeout=timeout)

    def _answer(self, _: str, update: dict[str, Any]) -> None:
        state = PageState.model_validate(update["state"])
        if isinstance(state.step, (WaitStep, EndStep)):
            return
        assert state.notice is None or state.notice.level != "error", state.notice
        part = state.progress.current if state.progress and state.progress.unit == "conversation" else 1
        self.asked.append(f"{part}:{state.step.step_id}")
        key = f"{self._seed}:{self.asked[-1]}:{state.topic}"
        answer = self._topic_noted(state) or self._made(state, key)
        packet = {"update_id": str(len(self.asked)), "step_id": state.step.step_id, **answer}
        self.pending_actions.put(json.loads(json.dumps(packet)))

    def _made(self, state: PageState, key: str) -> dict[str, Any]:
        make = by_kind(Answers(Behaviour(more_turns=self._seed % 2), random.Random(key)))
        return make[state.step.kind](state.step, state)

    def _topic_noted(self, state: PageState) -> dict[str, Any] | None:
        """Every second message begins with another topic, where that can be noted."""
        step = state.step
        if not isinstance(step, MessageStep) or not any(action.action_id == "topic" for action in step.actions):
            return None
        text = f"on to {step.step_id}"
        if state.topic == text or step.step_id.endswith(("1", "3")):
            return None
        return {"kind": "action", "action_id": "topic", "text": text}


@dataclass
class Units:
    """Holds units of a study, whole and from where they were cut off."""

    study: Study
    folder: Path
    answers: int = 0
    """The chance of the answers."""
    _number: int = field(default=0)

    def whole(self, name: str = "unit") -> Held:
        """A new unit from its beginning to its comment box."""
        plan = self.study.begin_unit("worker", "1", name)
        assert plan is not None
        self.study.drop_unit("1", None)
        return self.held(plan)

    def rest(self, of: Held, length: int) -> Held:
        """The same unit, whose launch was killed when so many events were written down."""
        resumed = Resumed(at=of.messages[length - 1]["at"] + 1000, earlier="1").model_dump(mode="json")
        return self.held(of.plan, [*of.messages[:length], resumed])

    def held(self, plan: dict[str, Any], messages: Sequence[dict[str, Any]] = ()) -> Held:
        """A planned unit to its end, from behind what happened in it already."""
        self._number += 1
        agent = AnsweringAgent(self.folder / str(self._number), self.answers)
        agent.state.go_on(json.loads(json.dumps(plan)), messages)
        visit = Visit("worker", "task", simulated=False)
        page = PageSession(agent, answer_timeout_s=5, closing=threading.Event(), visit=visit)
        page.recorded = Recorded(parse_events(agent.state.messages))
        before = len(scripted_models.HEARD)
        held = self.study.hold_unit(plan, "1", page)
        held.run()
        held.ask_feedback()
        heard = Counter(repr(asked) for asked in scripted_models.HEARD[before:])
        return Held(plan, agent.state.messages, agent.asked, heard)


def answers_in(events: Sequence[Event]) -> int:
    """How many answers of a rater stand in a log."""
    return sum(map(_is_answer, events))


def _is_answer(event: Event) -> bool:
    match event:
        case HumanMessage():
            return not event.fixed
        case Answered():
            asked = event.ticks is not None or event.written is not None or bool(event.selected) or event.none_said
            return asked and not event.automatic
        case _:
            kinds = (TopicChosen, TopicChanged, NoneChosen, FinalRated, VerdictGiven, EndChosen, Judged)
            return isinstance(event, kinds)


def replies_in(events: Sequence[Event]) -> int:
    """How many replies of models stand in a log."""
    return sum(len(event.candidates) for event in events if isinstance(event, CandidatesShown))


def _plain(record: dict[str, Any]) -> Any:
    text = json.dumps(_without_times(record))
    for turn in record.get("turns", []):
        for candidate in turn["candidates"]:
            text = text.replace(candidate["candidate_id"], f"{turn['turn']}-{candidate['model']}")
    return json.loads(text)


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(inner) for name, inner in value.items() if name not in TIMES}
    return [_without_times(inner) for inner in value] if isinstance(value, list) else value
