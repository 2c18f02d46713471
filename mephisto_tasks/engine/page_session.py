"""The server's side of one rater's page: what it shows, and answers that have been checked.

The page is never trusted: an answer must name the step that it answers, be of its kind, and pass the world's check.
A refused one comes back with a sentence that says what to do, and changes nothing.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from typing import Any, Literal, TypeVar
from uuid import uuid4

from pydantic import BaseModel

from mephisto_tasks import compat

compat.prepare()

from mephisto.data_model.exceptions import AgentDisconnectedError, AgentReturnedError, AgentShutdownError

from mephisto_tasks.engine import checks
from mephisto_tasks.engine.agent_state import LiveAgentState
from mephisto_tasks.engine.answer_reading import read_answer
from mephisto_tasks.running.floor import Visit
from parlai_humaneval.protocol.page.steps import (
    MAX_TEXT,
    ActionAnswer,
    ChooseAnswer,
    ChooseStep,
    Context,
    EndStep,
    Entry,
    FeedbackAnswer,
    FeedbackStep,
    FormAnswer,
    FormStep,
    MessageAnswer,
    MessageStep,
    Notice,
    PageState,
    Panel,
    Progress,
    RankAnswer,
    RankStep,
    RateAnswer,
    RateStep,
    Redirect,
    Step,
    TickAnswer,
    TickStep,
    TopicAnswer,
    TopicStep,
    WaitStep,
    WriteAnswer,
    WriteStep,
)
from parlai_humaneval.protocol.records.events import REFUSED_EXCERPT, Refused

POLL_S = 0.25
"""How often a waiting world looks whether its rater is still there."""
MAX_REFUSED_STORED = 200
"""Refused answers written down per session; a program that floods a world must not fill the disk."""

_GONE = ("disconnect", "returned", "timeout", "expired")

T = TypeVar("T")
A = TypeVar("A", bound=BaseModel)
S = TypeVar("S", WriteStep, ChooseStep, TickStep, RateStep, FormStep, RankStep, TopicStep, FeedbackStep)

Asked = MessageStep | WriteStep | ChooseStep | TickStep | RateStep | FormStep | RankStep | TopicStep | FeedbackStep
"""Steps that wait for an answer."""


class SubmittedEarly(Exception):
    """The page handed a practice in while its world still expected an answer."""


class PageSession:
    """Shows steps to one rater and returns their checked answers.

    Args:
        agent: Mephisto's agent (or onboarding agent) of the rater, in a live run.
        answer_timeout_s: silence after which the rater is taken to have left.
        closing: set when the launch ends; whoever waits here then stops.
        visit: is told what the page shows and when it answers; says which part this is, and whether the rater is a program.

    Raises (from the ``ask`` methods):
        mephisto.data_model.exceptions.AbsentAgentError: the rater left, timed out, or the run is shutting down.
        SubmittedEarly: see there.
    """

    def __init__(
        self,
        agent: Any,
        *,
        answer_timeout_s: float,
        closing: threading.Event,
        visit: Visit,
    ) -> None:
        self.visit = visit
        self.simulated = visit.simulated
        self._agent = agent
        self._closing = closing
        self._timeout_s = answer_timeout_s
        self._phase: Literal["practice", "task", "ended"] = visit.phase
        self._version = 0
        self._confirmed: deque[str] = deque(maxlen=50)
        self._refused_stored = 0
        self.transcript: list[Entry] = []
        self.context: Context | None = None
        self.progress: Progress | None = None
        self.within: Progress | None = None
        self.topic: str | None = None
        self.columns: list[str] = []
        self.panels: list[Panel] = []
        self.notice: Notice | None = None
        """Said above the next question, once."""
        self.shown_at = 0.0
        """When the current step was first shown, seconds since the epoch."""

    @property
    def state(self) -> LiveAgentState:
        state = self._agent.state
        assert isinstance(state, LiveAgentState)
        return state

    def clear(self) -> None:
        """Another conversation begins: nothing of the last one stays in sight."""
        self.transcript, self.columns, self.panels = [], [], []
        self.context = self.topic = self.within = None

    def say(
        self,
        speaker: Literal["you", "partner"],
        text: str,
        *,
        entry_id: str | None = None,
        note: str | None = None,
        column: int | None = None,
    ) -> None:
        """Add a line to the transcript; shown with the next step."""
        entry_id = entry_id or f"e{len(self.transcript) + 1}"
        self.transcript.append(Entry(entry_id=entry_id, speaker=speaker, text=text, note=note, column=column))

    def show(self, step: Step, notice: Notice | None = None) -> None:
        """Send the page everything that it is to show now."""
        self._version += 1
        self.visit.showed(step.kind, self.progress)
        state = PageState(
            version=self._version,
            phase=self._phase,
            progress=self.progress,
            within=self.within,
            context=self.context,
            topic=self.topic,
            columns=self.columns,
            transcript=self.transcript,
            panels=self.panels,
            step=step,
            notice=notice,
            confirmed=list(self._confirmed),
        )
        update = {"update_id": uuid4().hex, "kind": "state", "state": state.model_dump(mode="json")}
        self.state.show(update)
        if self._agent.agent_in_active_run():
            client_io = self._agent.get_live_run().client_io
            client_io.send_live_update(self._agent.get_agent_id(), update)

    def wait(self, text: str, *, slow: bool = False, idle: bool = False) -> None:
        self.show(WaitStep(text=text, slow=slow, idle=idle))

    def is_here(self) -> bool:
        """Whether the rater's page is connected at this moment; True also where the router cannot tell."""
        run = self._agent.get_live_run() if self._agent.agent_in_active_run() else None
        ask = getattr(getattr(run, "architect", None), "is_here", None)
        return ask is None or bool(ask(self._agent.get_agent_id()))

    def end(
        self,
        title: str,
        text: str,
        next_: Literal["submit", "submit_onboarding", "stay"],
        redirect: Redirect | None = None,
    ) -> None:
        """The last step: nothing is asked any more."""
        if next_ != "submit_onboarding":
            self._phase, self.progress, self.within = "ended", None, None
        self.show(EndStep(title=title, text=text, next=next_, redirect=redirect))

    def ask_message(self, step: MessageStep) -> MessageAnswer | ActionAnswer:
        """A message, or one of the step's actions."""

        def check(answer: MessageAnswer | ActionAnswer) -> str | None:
            if isinstance(answer, ActionAnswer):
                return checks.check_action(step, answer)
            return checks.check_message(step, answer)

        answer = self._ask(step, (MessageAnswer, ActionAnswer), check)
        assert isinstance(answer, (MessageAnswer, ActionAnswer))
        return answer

    def ask_written(self, step: WriteStep) -> WriteAnswer:
        return self._ask_one(step, WriteAnswer, checks.check_write)

    def ask_choice(self, step: ChooseStep) -> ChooseAnswer:
        return self._ask_one(step, ChooseAnswer, checks.check_choice)

    def ask_ticks(self, step: TickStep) -> TickAnswer:
        return self._ask_one(step, TickAnswer, checks.check_ticks)

    def ask_ratings(self, step: RateStep) -> RateAnswer:
        return self._ask_one(step, RateAnswer, checks.check_ratings)

    def ask_form(self, step: FormStep) -> FormAnswer:
        return self._ask_one(step, FormAnswer, checks.check_form)

    def ask_ranking(self, step: RankStep) -> RankAnswer:
        return self._ask_one(step, RankAnswer, checks.check_ranking)

    def ask_topic(self, step: TopicStep) -> TopicAnswer:
        return self._ask_one(step, TopicAnswer, checks.check_topic)

    def ask_feedback(self, step: FeedbackStep) -> FeedbackAnswer:
        return self._ask_one(step, FeedbackAnswer, checks.check_feedback)

    def _ask_one(self, step: S, kind: type[A], check: Callable[[S, A], str | None]) -> A:
        answer = self._ask(step, (kind,), lambda answer: check(step, answer))
        assert isinstance(answer, kind)
        return answer

    def _ask(self, step: Asked, kinds: tuple[type[A], ...], check: Callable[[Any], str | None]) -> A:
        self.shown_at = time.time()
        self.show(step, self.notice)
        self.notice = None
        while True:
            packet = self._next_packet()
            self.visit.answered()
            answer, problem = read_answer(packet, step.step_id, kinds, getattr(step, "max_chars", MAX_TEXT))
            if answer is not None:
                problem = check(answer)
            update_id = packet.get("update_id")
            if isinstance(update_id, str):
                self._confirmed.append(update_id[:100])
            if answer is not None and problem is None:
                return answer
            self._store_refusal(problem or "", packet)
            self.show(step, Notice(level="error", text=problem or ""))

    def _next_packet(self) -> dict[str, Any]:
        """The next packet of the page. Mephisto's own wait would notice neither an early submit nor the end of a launch."""
        deadline = time.monotonic() + self._timeout_s
        agent = self._agent
        while agent.pending_actions.empty():
            if self._closing.is_set():
                agent.shutdown()
            if agent.is_shutdown or agent.db_status in _GONE or time.monotonic() > deadline:
                break
            if self._was_submitted():
                raise SubmittedEarly
            agent.has_live_update.wait(POLL_S)
        packet = agent.get_live_update(timeout=0.001)
        return packet if isinstance(packet, dict) else {}

    def _was_submitted(self) -> bool:
        # Mephisto sets did_submit for a submit, for a disconnect and for a shutdown, and only then says which it was.
        if not self._agent.did_submit.is_set():
            return False
        time.sleep(0.01)
        return self.state.final_submission is not None

    def while_open(self, work: Callable[[], T], meanwhile: Callable[[], None] = lambda: None) -> T:
        """Run what may hang (a model, say) in a thread of its own; neither an ending launch nor a rater's leaving waits.
        Every :data:`POLL_S` seconds ``meanwhile`` is called.

        Raises:
            mephisto.data_model.exceptions.AbsentAgentError: the launch ended meanwhile, or the rater left.
            whatever ``work`` raises.
        """
        future: Future[T] = Future()

        def run() -> None:
            try:
                future.set_result(work())
            except Exception as error:  # noqa: BLE001 - the waiting thread raises it again
                future.set_exception(error)

        threading.Thread(target=run, name="models-of-a-dialogue", daemon=True).start()
        while True:
            try:
                return future.result(timeout=POLL_S)
            except NotYet:
                # On Python 3.11 this is also what a work that timed out raises: then the future is done.
                if future.done():
                    return future.result()
            if self._closing.is_set() or self._agent.is_shutdown:
                self._agent.shutdown()
                raise AgentShutdownError(self._agent.db_id)
            if self._agent.db_status == "disconnect":
                raise AgentDisconnectedError(self._agent.db_id)
            if self._agent.db_status == "returned":
                raise AgentReturnedError(self._agent.db_id)
            meanwhile()

    def _store_refusal(self, reason: str, packet: dict[str, Any]) -> None:
        self._refused_stored += 1
        if self._refused_stored <= MAX_REFUSED_STORED:
            excerpt = json.dumps(packet, ensure_ascii=False, default=str)[:REFUSED_EXCERPT]
            self.state.append(Refused(at=time.time(), reason=reason, excerpt=excerpt))
