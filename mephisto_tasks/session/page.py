"""The server's side of one rater's page, which is never trusted: an answer must name its step, be of its kind, and pass
the check; a refused one changes nothing, and comes back with what to do.

Units that were cut off go on under the settings that they began with, or not at all. A world asks what is on record
first, at every step, and the rater only for what is missing: one flow, whether a dialogue is new or goes on."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar
from uuid import uuid4

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.control.snapshot import Visit
from mephisto_tasks.session.answers import CHECKS, read_answer
from mephisto_tasks.storage.results import newest_states, task_names
from mephisto_tasks.storage.sqlite import Saving
from mephisto_tasks.storage.work import CutOff
from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.display.images import ImageStore, pictures
from parlai_humaneval.display.markdown import is_formatted, markup_of
from parlai_humaneval.i18n.translate import ENGLISH, Language, phrases, speaking, t
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.zoo.entries import ModelSpec, is_chat_llm, may_be_chat_llm
from parlai_humaneval.schema import events as log
from parlai_humaneval.schema import steps
from parlai_humaneval.schema.events import REFUSED_EXCERPT, JudgingStarted, Refused, Started
from parlai_humaneval.schema.rebuild import split_dialogues
from parlai_humaneval.schema.records import ImageRecord
from parlai_humaneval.schema.steps import PageState
from parlai_humaneval.schema.wire import MAX_TEXT, Said, WireAnswer
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from mephisto_tasks.session.agent_state import LiveAgentState

Difference = tuple[str, object, object]  # A setting's name, what it was, and what it is now

MOST_SHOWN = 160  # characters of a value in the refusal


def going_on(
    units: Mapping[str, CutOff], differences: Callable[[CutOff], Iterable[Difference]], *, anew: bool
) -> dict[str, CutOff]:
    """Units that go on in a launch; none for a fresh start, nor simulated ones of other settings. Raises ConfigError."""
    if anew:
        return {}
    told: dict[str, Difference] = {}
    fit, cut_off = {}, 0
    for worker, unit in units.items():
        found = list(differences(unit))
        if not found:
            fit[worker] = unit
        elif not all(beginning.simulated for beginning in unit.beginnings):
            cut_off += 1
            told |= {name: (name, then, now) for name, then, now in found}
    if not told:
        return fit
    lines = "\n".join(f"  {name}: {in_brief(then)} then, {in_brief(now)} now" for name, then, now in told.values())
    raise ConfigError(
        f"{counted(cut_off, 'unit')} of this task {'was' if cut_off == 1 else 'were'} interrupted and can continue, but "
        f"only with the settings that they began with:\n{lines}",
        try_=(
            "launch with the old settings to continue them",
            "or add cut_off=anew: their raters then start again, and their earlier work stays partial",
            "or start another study: task_name=…",
        ),
    )


def in_brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def settings_that_differ(
    then: Mapping[str, Any], now: Mapping[str, Any], apart: Collection[str], within: str = "mephisto.blueprint"
) -> Iterator[Difference]:
    """Settings that are others now, but for those ``apart``; one that did not exist then changes nothing."""
    for name, value in now.items():
        if name not in then or name in apart or then[name] == value:
            continue
        if isinstance(value, Mapping) and isinstance(then[name], Mapping):
            yield from settings_that_differ(then[name], value, (), f"{within}.{name}")
        else:
            yield f"{within}.{name}", then[name], value


E = TypeVar("E")

# Events that no step of a world waits for.
_BESIDE = (log.Refused, log.Delayed, log.Interrupted, log.Failed, log.Resumed, log.FeedbackGiven)


class DoesNotFit(RuntimeError):
    """The record of a part does not fit the questions of its world, and must not be mixed with others."""


class Recorded:
    """The events of earlier visits, by the dialogue or judgement that they are of."""

    def __init__(self, events: Sequence[log.Event] = ()) -> None:
        self.has_feedback = any(isinstance(event, log.FeedbackGiven) for event in events)
        self._parts = {name: part for part in split_dialogues(events) if (name := part_id(part[0])) is not None}
        self._next: deque[log.Event] = deque()

    def begun(self, part: str) -> bool:
        return any(not isinstance(event, _BESIDE) for event in self._parts.get(part, ())[1:])

    def finished(self, part: str) -> bool:
        return any(isinstance(event, log.Finished) for event in self._parts.get(part, ()))

    def open(self, part: str) -> None:
        """From now on :meth:`take` reads in the dialogue or judgement of this id; there may be nothing to be read."""
        self._next = deque(event for event in self._parts.get(part, ()) if not isinstance(event, _BESIDE))

    def next(self, kind: type[E]) -> E | None:
        """The next event if it is of this kind, without removing it."""
        event = self._next[0] if self._next else None
        return event if isinstance(event, kind) else None

    def take(self, kind: type[E]) -> E | None:
        """Remove and return the next event if it is of this kind."""
        event = self.next(kind)
        if event is not None:
            self._next.popleft()
        return event

    def must_be_over(self) -> None:
        """Something new is about to happen. Raises DoesNotFit: more is on record than the world asked for."""
        if self._next:
            what = f"the record continues with {self._next[0].event!r}, which is not what this dialogue would ask now"
            raise DoesNotFit(what)


def part_id(beginning: log.Event) -> str | None:
    """The id of the dialogue or judgement that begins with an event; None: the event does not begin one."""
    if isinstance(beginning, log.Started):
        return beginning.dialogue_id
    return beginning.judgement_id if isinstance(beginning, log.JudgingStarted) else None


Looks = TypeVar("Looks", bound=ReplyDisplay)


def settled(
    replies: Looks, specs: Collection[ModelSpec], data_dir: Path, task_name: str, said: Iterable[str] | None = None
) -> Looks:
    """What ``replies.appearance=auto`` comes to: a study keeps its look; a new one draws markdown if a chat LLM takes part
    or one of the replies (``said``) has some. It stays auto as long as only replies not yet given can tell."""
    if replies.appearance != "auto":
        return replies
    recorded = recorded_settings(data_dir, task_name)
    appearance = "auto" if recorded is None else str((recorded.get("replies") or {}).get("appearance", "as_said"))
    if appearance == "auto":
        if any(map(is_chat_llm, specs)) or any(map(is_formatted, said or ())):
            appearance = "markdown"
        elif said is not None or not any(map(may_be_chat_llm, specs)):
            appearance = "as_said"
    return replies.model_copy(update={"appearance": appearance})


def recorded_settings(data_dir: Path, task_name: str) -> dict[str, Any] | None:
    """Settings of the newest unit of a task; None: nobody has begun one."""
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return None
    for _, state in newest_states(data_dir, task_name):
        for event in reversed(state.outputs.messages):
            if isinstance(event, (Started, JudgingStarted)):
                return event.settings
    return None


S = TypeVar("S", bound=Said)


def marked_up(state: PageState) -> PageState:
    """The state with the markup of every reply. In finished dialogues everybody's lines are drawn alike, for the look
    must not tell a person from a program; what the rater writes stands as it was typed, and so does an unfinished reply."""
    own = (entry.speaker == "you" or entry.growing for entry in state.transcript)
    transcript = [entry if as_typed else _drawn(entry) for entry, as_typed in zip(state.transcript, own, strict=True)]
    panels = [panel.model_copy(update={"lines": list(map(_drawn, panel.lines))}) for panel in state.panels]
    step: Any = state.step
    replies: dict[str, Any] = {}
    if getattr(step, "cards", None):
        replies["cards"] = list(map(_drawn, step.cards))
    if getattr(step, "reply", None) is not None:
        replies["reply"] = _drawn(step.reply)
    if replies:
        step = step.model_copy(update=replies)
    return state.model_copy(update={"transcript": transcript, "panels": panels, "step": step})


def _drawn(said: S) -> S:
    markup = markup_of(said.text)
    return said if markup is None else said.model_copy(update={"markup": markup})


POLL_S = 0.25  # how often a world that waits for models looks whether its rater is still there
LOOK_S = 2.0  # how often a world that waits for an answer looks by itself. What happens to its rater wakes it at once.
PHRASES = phrases(__file__)
CANNOT_SAVE = PHRASES["cannot_save"]
EARLY_ANSWER = "The replies were not complete yet."
MAX_REFUSED_STORED = 200
"""Refused answers written down per session; a program that floods a world must not fill the disk."""

_GONE = ("disconnect", "returned", "timeout", "expired")

T = TypeVar("T")
A = TypeVar("A", bound=WireAnswer)

Asked = (
    steps.MessageStep
    | steps.WriteStep
    | steps.ChooseStep
    | steps.TickStep
    | steps.RateStep
    | steps.FormStep
    | steps.RankStep
    | steps.TopicStep
    | steps.FeedbackStep
)
"""Steps that wait for an answer."""


class SubmittedEarly(Exception):
    """The page handed a practice in while its world still expected an answer."""


@dataclass(eq=False, repr=False)
class PageSession:
    """Shows steps to one rater and returns their checked answers; ``visit`` learns of both. Raises AbsentAgentError
    (the rater left or was silent for ``answer_timeout_s``, or the launch is ``closing``), SubmittedEarly."""

    agent: Any
    _: KW_ONLY
    answer_timeout_s: float
    closing: threading.Event
    visit: Visit
    saving: Saving | None = None
    draws_markdown: bool = False
    language: Language = ENGLISH
    images: ImageStore | None = None

    def __post_init__(self) -> None:
        self._saving = self.saving or Saving(self.closing)
        self.simulated = self.visit.simulated
        self._phase: Literal["practice", "task", "ended"] = self.visit.phase
        self._version = 0
        self._confirmed: deque[str] = deque(maxlen=50)
        self._taken: list[str] = []
        """Update ids of answers that are not confirmed before what comes of them is written down."""
        self._told_of_trouble = False
        self._refused_stored = 0
        self.transcript: list[steps.Entry] = []
        self.growing: list[steps.Entry] = []  # lines at the end of the transcript that are not complete yet
        self.context: steps.Context | None = None
        self.progress: steps.Progress | None = None
        self.within: steps.Progress | None = None
        self.topic: str | None = None
        self.columns: list[str] = []
        self.panels: list[steps.Panel] = []
        self.guided = False  # whether sentences lead through what the rater does for the first time
        self.recorded = Recorded()  # what happened in earlier visits of a unit that goes on
        self.notice: steps.Notice | None = None  # said above the next question, once
        self.shown_at = 0.0  # when the current step was first shown, seconds since the epoch

    @property
    def worker_id(self) -> str:
        return str(self.agent.worker_id)

    @property
    def state(self) -> LiveAgentState:
        from mephisto_tasks.session.agent_state import LiveAgentState  # it loads Mephisto, which settings need not

        state = self.agent.state
        assert isinstance(state, LiveAgentState)
        state.patience = self.patiently
        return state

    def patiently(self, work: Callable[[], T]) -> T:
        """Save something, retrying as needed; the rater sees a message. Raises AbsentAgentError, what it does."""
        try:
            return self._saving.until_done(work, self._raise_if_absent)
        except BaseException:
            self._taken.clear()  # what was answered is not there: it must not be confirmed
            raise

    def tell_of_trouble(self) -> None:
        """If something cannot be saved, the rater sees one message, and waits for the next step."""
        if not self._told_of_trouble and self._phase != "ended":
            self._told_of_trouble = True
            self._send(steps.WaitStep(text=CANNOT_SAVE, idle=True))

    def clear(self) -> None:
        """Another conversation begins: nothing of the last one stays in sight."""
        self.transcript, self.growing, self.columns, self.panels = [], [], [], []
        self.context = self.topic = self.within = None

    def say(
        self,
        speaker: Literal["you", "partner"],
        text: str,
        *,
        entry_id: str | None = None,
        note: str | None = None,
        column: int | None = None,
        images: Sequence[ImageRecord] = (),
    ) -> None:
        entry = steps.Entry(
            entry_id=entry_id or f"e{len(self.transcript) + 1}",
            speaker=speaker,
            text=text,
            note=note,
            column=column,
            images=pictures(images),
        )
        self.transcript.append(entry)

    def show(self, step: steps.Step, notice: steps.Notice | None = None) -> None:
        """Send the page everything that it is to show now; what it answered before is confirmed with it."""
        self._confirmed.extend(self._taken)
        self._taken.clear()
        self._told_of_trouble = False
        self._send(step, notice)

    def _send(self, step: steps.Step, notice: steps.Notice | None = None) -> None:
        self._version += 1
        self.visit.showed(step.kind, self.progress)
        state = steps.PageState(
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
            transcript=[*self.transcript, *self.growing],
            panels=self.panels,
            step=step,
            notice=notice,
            confirmed=list(self._confirmed),
        )
        state = marked_up(state) if self.draws_markdown else state
        with speaking(self.language):
            shown = state.model_dump(mode="json")
        update = {"update_id": uuid4().hex, "kind": "state", "state": shown}
        self.state.show(update)
        if self.agent.agent_in_active_run():
            client_io = self.agent.get_live_run().client_io
            client_io.send_live_update(self.agent.get_agent_id(), update)

    def wait(
        self,
        text: str,
        *,
        slow: bool = False,
        idle: bool = False,
        coming: steps.ChooseStep | steps.TickStep | None = None,
    ) -> None:
        self.show(steps.WaitStep(text=text, slow=slow, idle=idle, coming=coming))

    def is_here(self) -> bool:
        """Whether the rater's page is connected at this moment; True also where the router cannot tell."""
        run = self.agent.get_live_run() if self.agent.agent_in_active_run() else None
        ask = getattr(getattr(run, "architect", None), "is_here", None)
        return ask is None or bool(ask(self.agent.get_agent_id()))

    def end(
        self,
        title: str,
        text: str,
        next_: Literal["submit", "submit_onboarding", "stay"],
        redirect: steps.Redirect | None = None,
        *,
        resumes: bool = False,
    ) -> None:
        """The last step: nothing is asked any more. How far the rater came stays in sight."""
        if next_ != "submit_onboarding":
            self._phase, self.within = "ended", None
        self.show(steps.EndStep(title=title, text=text, next=next_, redirect=redirect, resumes=resumes))

    def ask_message(self, step: steps.MessageStep) -> steps.MessageAnswer | steps.ActionAnswer:
        kinds: tuple[type[steps.MessageAnswer | steps.ActionAnswer], ...] = (steps.MessageAnswer, steps.ActionAnswer)
        return self._ask(step, kinds)

    def ask(self, kind: type[A], step: Asked) -> A:
        return self._ask(step, (kind,))

    def _ask(self, step: Asked, kinds: tuple[type[A], ...]) -> A:
        self.recorded.must_be_over()
        self.shown_at = time.time()
        self.show(step, self.notice)
        self.notice = None
        while True:
            packet = self._next_packet()
            self.visit.answered()
            answer, problem = read_answer(packet, step.step_id, kinds, getattr(step, "max_chars", MAX_TEXT))
            if answer is not None:
                problem = CHECKS[type(answer)](step, answer) or self._lost_image(answer)
            update_id = packet.get("update_id")
            if isinstance(update_id, str):
                self._taken.append(update_id[:100])
            if answer is not None and problem is None:
                return answer
            self._note_refused(packet, problem or "")
            self.show(step, steps.Notice(level="error", text=problem or ""))

    def _lost_image(self, answer: WireAnswer) -> str | None:
        """Why the pictures of a message cannot be taken; the launch in which they were uploaded may be over."""
        sent = answer.images if isinstance(answer, steps.MessageAnswer) else []
        there = self.images is not None and all(self.images.read(image.digest) is not None for image in sent)
        return t("That picture is no longer available. Please attach it again.") if sent and not there else None

    def refuse_early(self) -> None:
        """Answers to a step that is only coming are taken off the queue: they must not count once it is there."""
        while not self.agent.pending_actions.empty():
            packet = self.agent.get_live_update(timeout=0.001)
            if isinstance(packet, dict):
                self._taken.append(str(packet.get("update_id"))[:100])
                self._note_refused(packet, EARLY_ANSWER)

    def _note_refused(self, packet: dict[str, Any], problem: str) -> None:
        self._refused_stored += 1
        if self._refused_stored <= MAX_REFUSED_STORED:
            excerpt = json.dumps(packet, ensure_ascii=False, default=str)[:REFUSED_EXCERPT]
            self.state.note(Refused(at=time.time(), reason=problem, excerpt=excerpt))

    def _next_packet(self) -> dict[str, Any]:
        """The next packet of the page. Mephisto's own wait would notice neither an early submit nor the end of a launch."""
        deadline = time.monotonic() + self.answer_timeout_s
        agent = self.agent
        while True:
            agent.has_live_update.clear()
            if not agent.pending_actions.empty():
                break
            if self.closing.is_set():
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
        if not self.agent.did_submit.is_set():
            return False
        time.sleep(0.01)
        return self.state.final_submission is not None

    def while_open(
        self, work: Callable[[], T], meanwhile: Callable[[], None] = lambda: None, every_s: float = POLL_S
    ) -> T:
        """Run what may hang in a thread, calling ``meanwhile`` every so often. Raises AbsentAgentError, what it does."""
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
                return future.result(timeout=every_s)
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
        if self.closing.is_set() or self.agent.is_shutdown:
            self.agent.shutdown()
        from mephisto_tasks.session.agent_state import raise_if_absent

        raise_if_absent(self.agent)
