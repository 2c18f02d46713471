"""The server's side of one rater's page: what it shows, and answers that have been checked.

The page is never trusted: an answer must name the step that it answers, be of its kind, and pass the world's check.
A refused one comes back with a sentence that says what to do, and changes nothing.
"""

from __future__ import annotations

import json
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Literal, TypeVar
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from mephisto_tasks.interactive.agent_state import LiveAgentState
from parlai_humaneval.protocol.events import REFUSED_EXCERPT, Refused
from parlai_humaneval.protocol.steps import (
    Answer,
    ChooseAnswer,
    ChooseStep,
    Context,
    EndStep,
    Entry,
    FeedbackAnswer,
    FeedbackStep,
    MessageAnswer,
    MessageStep,
    Notice,
    PageState,
    Progress,
    Step,
    WaitStep,
)

POLL_S = 0.25
"""How often a waiting world looks whether its rater is still there."""

MAX_REFUSED_STORED = 200
"""Refused answers written down per session; a program that floods a world must not fill the disk."""

_ANSWER: TypeAdapter[Answer] = TypeAdapter(Answer)
A = TypeVar("A", MessageAnswer, ChooseAnswer, FeedbackAnswer)


class SubmittedEarly(Exception):
    """The page sent the unit in while the world still expected an answer."""


class PageSession:
    """Shows steps to one rater and returns their checked answers.

    Args:
        agent: Mephisto's agent (or onboarding agent) of the rater, in a live run.
        phase: what the page calls this part.
        answer_timeout_s: silence after which the rater is taken to have left.

    Raises (from the ``ask`` methods):
        mephisto.data_model.exceptions.AbsentAgentError: the rater left, timed out, or the run is shutting down.
        SubmittedEarly: see there.
    """

    def __init__(self, agent: Any, *, phase: Literal["practice", "task"], answer_timeout_s: float) -> None:
        self._agent = agent
        self._timeout_s = answer_timeout_s
        self._phase: Literal["practice", "task", "ended"] = phase
        self._version = 0
        self._confirmed: deque[str] = deque(maxlen=50)
        self._refused_stored = 0
        self.transcript: list[Entry] = []
        self.context: Context | None = None
        self.progress: Progress | None = None
        self.shown_at = 0.0
        """When the current step was first shown, seconds since the epoch."""

    @property
    def state(self) -> LiveAgentState:
        state = self._agent.state
        assert isinstance(state, LiveAgentState)
        return state

    def say(self, speaker: Literal["you", "partner"], text: str, note: str | None = None) -> None:
        """Add a line to the transcript; shown with the next step."""
        entry_id = f"e{len(self.transcript) + 1}"
        self.transcript.append(Entry(entry_id=entry_id, speaker=speaker, text=text, note=note))

    def show(self, step: Step, notice: Notice | None = None) -> None:
        """Send the page everything that it is to show now."""
        self._version += 1
        state = PageState(
            version=self._version,
            phase=self._phase,
            progress=self.progress,
            context=self.context,
            transcript=self.transcript,
            step=step,
            notice=notice,
            confirmed=list(self._confirmed),
        )
        update = {"update_id": uuid4().hex, "kind": "state", "state": state.model_dump(mode="json")}
        self.state.current_update = update
        if self._agent.agent_in_active_run():
            client_io = self._agent.get_live_run().client_io
            client_io.send_live_update(self._agent.get_agent_id(), update)

    def wait(self, text: str, *, slow: bool = False) -> None:
        self.show(WaitStep(text=text, slow=slow))

    def end(self, title: str, text: str, next_: Literal["submit", "submit_onboarding", "stay"]) -> None:
        """The last step: nothing is asked any more."""
        if next_ != "submit_onboarding":
            self._phase, self.progress = "ended", None
        self.show(EndStep(title=title, text=text, next=next_))

    def ask_message(self, step: MessageStep) -> MessageAnswer:
        return self._ask(step, MessageAnswer, lambda answer: check_message(step, answer))

    def ask_choice(self, step: ChooseStep, notice: Notice | None = None) -> ChooseAnswer:
        return self._ask(step, ChooseAnswer, lambda answer: check_choice(step, answer), notice)

    def ask_feedback(self, step: FeedbackStep) -> FeedbackAnswer:
        def check(answer: FeedbackAnswer) -> str | None:
            if len(answer.text) > step.max_chars:
                return f"Please shorten your comment to {step.max_chars} characters."
            return None

        return self._ask(step, FeedbackAnswer, check)

    def _ask(
        self,
        step: MessageStep | ChooseStep | FeedbackStep,
        kind: type[A],
        check: Callable[[A], str | None],
        notice: Notice | None = None,
    ) -> A:
        self.shown_at = time.time()
        self.show(step, notice)
        while True:
            packet = self._next_packet()
            answer, problem = self._read(packet, step.step_id, kind)
            if answer is not None:
                problem = check(answer)
            update_id = packet.get("update_id")
            if isinstance(update_id, str):
                self._confirmed.append(update_id[:100])
            if answer is not None and problem is None:
                return answer
            self._store_refusal(problem or "", packet)
            self.show(step, Notice(level="error", text=problem or ""))

    def _read(self, packet: dict[str, Any], step_id: str, kind: type[A]) -> tuple[A | None, str | None]:
        try:
            answer = _ANSWER.validate_python(packet)
        except ValidationError as error:
            return None, f"That answer could not be read ({_where(error)}). Please answer the question below again."
        if answer.step_id != step_id:
            return None, "That answer belongs to an earlier step, which is already finished. Nothing has changed."
        if not isinstance(answer, kind):
            return None, "That is not the kind of answer that this step asks for. Please answer the question below."
        return answer, None

    def _next_packet(self) -> dict[str, Any]:
        """The next packet of the page. Mephisto's own wait would not notice an early submit."""
        deadline = time.monotonic() + self._timeout_s
        agent = self._agent
        while agent.pending_actions.empty():
            if agent.is_shutdown or agent.get_status() in ("disconnect", "returned", "timeout", "expired"):
                break
            if agent.did_submit.is_set():
                raise SubmittedEarly
            if time.monotonic() > deadline:
                break
            agent.has_live_update.wait(POLL_S)
        packet = agent.get_live_update(timeout=0.001)
        return packet if isinstance(packet, dict) else {}

    def _store_refusal(self, reason: str, packet: dict[str, Any]) -> None:
        self._refused_stored += 1
        if self._refused_stored <= MAX_REFUSED_STORED:
            excerpt = json.dumps(packet, ensure_ascii=False, default=str)[:REFUSED_EXCERPT]
            self.state.append(Refused(at=time.time(), reason=reason, excerpt=excerpt))


def _where(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def count_words(text: str) -> int:
    """Words, as a rater counts them: runs of characters between white space that hold a letter or digit."""
    return sum(any(character.isalnum() for character in word) for word in text.split())


def check_message(step: MessageStep, answer: MessageAnswer) -> str | None:
    """Why a message cannot be sent, or None."""
    if not answer.text.strip():
        return "Please write a message first."
    if len(answer.text) > step.max_chars:
        return f"Please shorten your message to {step.max_chars} characters (it has {len(answer.text)})."
    if count_words(answer.text) < step.min_words:
        return f"Please write at least {_words(step.min_words)}."
    return None


def check_choice(step: ChooseStep, answer: ChooseAnswer) -> str | None:
    """Why a choice is refused, or None: unknown or repeated cards, a wrong number of them, a missing reason."""
    shown = {card.candidate_id for card in step.cards}
    if not set(answer.selected) <= shown:
        return "That reply is not among the ones that you were shown. Please choose one of the replies below."
    if len(set(answer.selected)) != len(answer.selected):
        return "The same reply was chosen twice. Please choose again."
    if not step.min_choices <= len(answer.selected) <= step.max_choices:
        return _how_many(step)
    if step.reason is not None and step.reason.required:
        if count_words(answer.reason) < max(1, step.reason.min_words):
            return f"Please give your reason in at least {_words(max(1, step.reason.min_words))}."
    return None


def _how_many(step: ChooseStep) -> str:
    if step.min_choices == step.max_choices:
        return f"Please choose {'one reply' if step.min_choices == 1 else f'{step.min_choices} replies'}."
    return f"Please choose between {step.min_choices} and {step.max_choices} replies."


def _words(number: int) -> str:
    return "one word" if number == 1 else f"{number} words"
