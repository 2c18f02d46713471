"""The page's side of a form and a ranking: asked again until an answer is right, each refusal in words and written down."""

from __future__ import annotations

import threading
from collections import deque
from pathlib import Path
from queue import Queue
from types import SimpleNamespace
from typing import Any

import pytest

from mephisto_tasks.control.snapshot import Visit
from mephisto_tasks.session.agent_state import LiveAgentState
from mephisto_tasks.session.page import PageSession
from parlai_humaneval.schema.steps import FormAnswer, FormQuestion, FormStep, Panel, PanelLine, RankAnswer, RankStep
from parlai_humaneval.schema.wire import Card, Option, ReasonField

OPTIONS = [Option(option_id=name, label=name) for name in ("first", "second")]
FORM = FormStep(
    step_id="form-1",
    questions=[
        FormQuestion(question_id="preference", text="?", options=OPTIONS, reason=ReasonField(label="Why?", min_words=3))
    ],
)
RANK = RankStep(step_id="rank-1", question="?", cards=[Card(candidate_id=name, text=name) for name in ("x", "y")])
GOOD_FORM = {"kind": "form", "values": {"preference": "second"}, "reasons": {"preference": "it asks me back"}}
GOOD_RANK = {"kind": "rank", "ranks": {"x": 2, "y": 1}}


class Agent:
    """As much of Mephisto's agent as a page needs: a queue of packets, a data folder, and where updates go."""

    db_status, is_shutdown, did_submit = "in task", False, threading.Event()
    db = SimpleNamespace(key_exists=lambda _: False)

    def __init__(self, folder: Path, packets: list[dict[str, Any]]) -> None:
        self._folder = folder
        self.pending_actions: Queue[dict[str, Any]] = Queue()
        self.has_live_update = threading.Event()
        self.sent: deque[dict[str, Any]] = deque()
        for packet in packets:
            self.pending_actions.put(packet)
        self.state = LiveAgentState(self)
        self.state.init_data = {"a": "plan"}

    def get_data_dir(self) -> str:
        return str(self._folder)

    def agent_in_active_run(self) -> bool:
        return True

    def get_agent_id(self) -> str:
        return "1"

    def get_live_run(self) -> Any:
        return SimpleNamespace(client_io=SimpleNamespace(send_live_update=lambda _, update: self.sent.append(update)))

    def get_live_update(self, timeout: float) -> dict[str, Any]:
        return self.pending_actions.get(timeout=timeout)


def asked(folder: Path, step: FormStep | RankStep, *packets: dict[str, Any]) -> tuple[Any, list[str], Agent]:
    """The answer that was taken, the sentences of the refusals before it, and the agent."""
    whole = [{"update_id": f"u{n}", "step_id": step.step_id, **packet} for n, packet in enumerate(packets)]
    agent = Agent(folder, whole)
    page = PageSession(agent, answer_timeout_s=5, closing=threading.Event(), visit=Visit("w", "task", simulated=False))
    answer = page.ask(FormAnswer, step) if isinstance(step, FormStep) else page.ask(RankAnswer, step)
    assert agent.pending_actions.empty()
    refusals = [message["reason"] for message in agent.state.messages if message["event"] == "refused"]
    shown = [update["state"]["notice"] for update in agent.sent]
    assert [notice["text"] for notice in shown if notice] == refusals, "told as it was written down"
    return answer, refusals, agent


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"kind": "rank", "ranks": {"x": 1}}, "different kind of answer"),
        ({**GOOD_FORM, "step_id": "form-0"}, "belongs to an earlier step"),
        ({**GOOD_FORM, "values": {"preference": "third"}}, "You were not shown that"),
        ({**GOOD_FORM, "values": {"humanness": "first"}}, "You were not shown that question"),
        ({**GOOD_FORM, "values": {"preference": ["first"]}}, "could not be read"),
        ({**GOOD_FORM, "values": "first"}, "could not be read"),
        ({**GOOD_FORM, "extra": 1}, "could not be read"),
        ({**GOOD_FORM, "reasons": {"preference": "two words"}}, "at least 3 words"),
        ({**GOOD_FORM, "reasons": {"preference": "x" * 20_001}}, "too long"),
    ],
)
def test_a_forged_form_changes_nothing(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    answer, refusals, agent = asked(tmp_path, FORM, wrong, GOOD_FORM)
    assert (answer.values, answer.reasons) == ({"preference": "second"}, {"preference": "it asks me back"})
    (reason,) = refusals
    assert said in reason
    assert agent.sent[-1]["state"]["step"] == FORM.model_dump(mode="json"), "the same question stands there"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({**GOOD_FORM, "step_id": "rank-1"}, "different kind of answer"),
        ({"kind": "rank", "ranks": {"x": 1, "y": 1}}, "have the same rank"),
        ({"kind": "rank", "ranks": {"x": 1, "y": 3}}, "from 1 to 2"),
        ({"kind": "rank", "ranks": {"x": 1, "y": "2"}}, "could not be read"),
        ({"kind": "rank", "ranks": {"x": 0, "y": 1}}, "could not be read"),
        ({"kind": "rank", "ranks": {"forged": 1, "y": 2}}, "You were not shown that"),
    ],
)
def test_a_forged_ranking_changes_nothing(tmp_path: Path, wrong: dict[str, Any], said: str) -> None:
    answer, (reason,), _ = asked(tmp_path, RANK, wrong, GOOD_RANK)
    assert answer.ranks == {"x": 2, "y": 1}
    assert said in reason


def test_panels_stand_in_every_state_until_the_page_is_cleared(tmp_path: Path) -> None:
    """A reload gets the newest state only: dialogues must be in it, whatever was refused before."""
    agent = Agent(tmp_path, [{"update_id": "u", "step_id": "form-1", **GOOD_FORM, "values": {}}])
    page = PageSession(agent, answer_timeout_s=5, closing=threading.Event(), visit=Visit("w", "task", simulated=False))
    page.panels = [Panel(title="One", lines=[PanelLine(line_id="l", speaker="A", judged=True, text="Hi!")])]
    agent.pending_actions.put({"update_id": "v", "step_id": "form-1", **GOOD_FORM})
    page.ask(FormAnswer, FORM)
    assert [update["state"]["panels"][0]["title"] for update in agent.sent] == ["One", "One"]
    assert agent.state.get_init_state() == {"task_data": {}, "past_live_updates": [agent.sent[-1]]}
    page.clear()
    page.wait("…")
    assert agent.sent[-1]["state"]["panels"] == []
