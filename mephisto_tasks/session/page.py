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

from mephisto_tasks.control.presence import Visit
from mephisto_tasks.session import answers as checks
from mephisto_tasks.session.agent_state import LiveAgentState, raise_if_absent
from mephisto_tasks.session.answers import read_answer
from mephisto_tasks.session.display import marked_up
from mephisto_tasks.session.resume import Recorded
from mephisto_tasks.storage.retry import Saving
from parlai_humaneval.i18n.translate import ENGLISH, Language, phrase, speaking
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.schema.events import REFUSED_EXCERPT, Refused
from parlai_humaneval.schema.steps import (
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

POLL_S = 0.25
"""How often a world that waits for models looks whether its rater is still there."""
LOOK_S = 2.0
"""How often a world that waits for an answer looks by itself. What happens to its rater wakes it at once."""
CANNOT_SAVE = phrase(
    "We cannot save at this moment. Your answer is kept on your page, and nothing that you did is lost. It goes on by "
    "itself as soon as we can: please stay on this page."
)
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
        saving: who waits in the launch until something can be written down.
        draws_markdown: whether replies are drawn by their markdown.
        language: in which the rater reads.

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
        saving: Saving | None = None,
        draws_markdown: bool = False,
        language: Language = ENGLISH,
    ) -> None:
        self.language = language
        self.visit = visit
        self._saving = saving or Saving(closing)
        self._draws_markdown = draws_markdown
        self.simulated = visit.simulated
        self._agent = agent
        self._closing = closing
        self._timeout_s = answer_timeout_s
        self._phase: Literal["practice", "task", "ended"] = visit.phase
        self._version = 0
        self._confirmed: deque[str] = deque(maxlen=50)
        self._taken: list[str] = []
        """Update ids of answers that are not confirmed before what comes of them is written down."""
        self._told_of_trouble = False
        self._refused_stored = 0
        self.transcript: list[Entry] = []
        self.context: Context | None = None
        self.progress: Progress | None = None
        self.within: Progress | None = None
        self.topic: str | None = None
        self.columns: list[str] = []
        self.panels: list[Panel] = []
        self.guided = False
        """Whether sentences lead through what the rater does for the first time."""
        self.recorded = Recorded()
        """What happened in earlier visits of a unit that goes on."""
        self.notice: Notice | None = None
        """Said above the next question, once."""
        self.shown_at = 0.0
        """When the current step was first shown, seconds since the epoch."""

    @property
    def worker_id(self) -> str:
        """Mephisto's, of the rater."""
        return str(self._agent.worker_id)

    @property
    def state(self) -> LiveAgentState:
        state = self._agent.state
        assert isinstance(state, LiveAgentState)
        state.patience = self.patiently
        return state

    def patiently(self, work: Callable[[], T]) -> T:
        """Do what writes something down, as often as it takes; the rater is told, and waits.

        Raises:
            mephisto.data_model.exceptions.AbsentAgentError: the launch ended meanwhile, or the rater left.
            what ``work`` raises for good, and at the end of a launch.
        """
        try:
            return self._saving.until_done(work, self._raise_if_absent)
        except BaseException:
            self._taken.clear()  # what was answered is not there: it must not be confirmed
            raise

    def tell_of_trouble(self) -> None:
        """Something cannot be saved: the rater is told, once, and waits for the next step."""
        if not self._told_of_trouble and self._phase != "ended":
            self._told_of_trouble = True
            self._send(WaitStep(text=CANNOT_SAVE, idle=True))

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
        """Send the page everything that it is to show now; what it answered before is confirmed with it."""
        self._confirmed.extend(self._taken)
        self._taken.clear()
        self._told_of_trouble = False
        self._send(step, notice)

    def _send(self, step: Step, notice: Notice | None = None) -> None:
        self._version += 1
        self.visit.showed(step.kind, self.progress)
        state = PageState(
            version=self._version,
            unit=self.state.page_key,
            language=self.language.tag,
            phase=self._phase,
            guided=self.guided and self._phase != "ended",
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
        state = marked_up(state) if self._draws_markdown else state
        with speaking(self.language):
            shown = state.model_dump(mode="json")
        update = {"update_id": uuid4().hex, "kind": "state", "state": shown}
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
        *,
        resumes: bool = False,
    ) -> None:
        """The last step: nothing is asked any more. How far the rater came stays in sight."""
        if next_ != "submit_onboarding":
            self._phase, self.within = "ended", None
        self.show(EndStep(title=title, text=text, next=next_, redirect=redirect, resumes=resumes))

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
        self.recorded.must_be_over()
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
                self._taken.append(update_id[:100])
            if answer is not None and problem is None:
                return answer
            self._refused_stored += 1
            if self._refused_stored <= MAX_REFUSED_STORED:
                excerpt = json.dumps(packet, ensure_ascii=False, default=str)[:REFUSED_EXCERPT]
                self.state.note(Refused(at=time.time(), reason=problem or "", excerpt=excerpt))
            self.show(step, Notice(level="error", text=problem or ""))

    def _next_packet(self) -> dict[str, Any]:
        """The next packet of the page. Mephisto's own wait would notice neither an early submit nor the end of a launch."""
        deadline = time.monotonic() + self._timeout_s
        agent = self._agent
        while True:
            agent.has_live_update.clear()
            if not agent.pending_actions.empty():
                break
            if self._closing.is_set():
                agent.shutdown()
            left_s = deadline - time.monotonic()
            if agent.is_shutdown or agent.db_status in _GONE or left_s < 0:
                break
            if self._was_submitted():
                raise SubmittedEarly
            agent.has_live_update.wait(min(LOOK_S, left_s))
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
                with isolate_model_code():
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
            self._raise_if_absent()
            meanwhile()

    def _raise_if_absent(self) -> None:
        """Raises AbsentAgentError where the launch ends, or the rater has left, before the last words."""
        if self._phase == "ended":
            return
        if self._closing.is_set() or self._agent.is_shutdown:
            self._agent.shutdown()
        raise_if_absent(self._agent)
