"""Ask several models for one reply each, at once, with time-outs and retries."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from parlai_humaneval._util.errors import HumanevalError, Problem
from parlai_humaneval.display.images import SeenImage
from parlai_humaneval.display.text import only_thoughts
from parlai_humaneval.models.backends.base import OutsideError
from parlai_humaneval.models.backends.server_refusals import Mend
from parlai_humaneval.models.pool.breaker import ModelOut, Reply, Request
from parlai_humaneval.models.pool.loading import Child, Utterance
from parlai_humaneval.models.pool.worker import NoReply
from parlai_humaneval.schema.records import ReplyInfo, Withdrawn, in_all

logger = logging.getLogger(__name__)

DELAY_SENTENCE = "Your partner's reply is taking longer than usual. Please wait; nothing you wrote is lost."
OUTAGE_SENTENCE = (
    "One moment, please. The connection to your partner was interrupted. You can continue once the connection is "
    "restored. Nothing you wrote is lost."
)
TOGETHER_S = 0.001


class ModelFailed(HumanevalError, RuntimeError):
    """After all retries, ``models`` gave no reply. ``out_since``: when their servers went, where that is all;
    ``mends``: changes of their zoo entries."""

    def __init__(
        self, models: Sequence[str], reason: str | Problem, out_since: float | None = None, mends: Sequence[Mend] = ()
    ) -> None:
        self.reason = reason if isinstance(reason, Problem) else Problem(reason)
        super().__init__([self.reason], where=f"no reply from {', '.join(models)}")
        self.models = list(models)
        self.out_since = out_since
        self.mends = list(mends)


class Refused(RuntimeError):
    """The response filter let no person see a reply."""


@dataclass(frozen=True)
class Objections:
    """``refuse``: why nobody may see a reply. ``doubt``: why a better wording is wanted: the model is asked ``again``
    up to this many times, on top of the retries, and the last reply is taken."""

    refuse: Callable[[str], str | None]
    doubt: Callable[[str], str | None]
    again: int = 0


NONE = Objections(refuse=only_thoughts, doubt=lambda _: None)


@dataclass(frozen=True)
class Answer:
    """A model's reply and the seconds of all tries. ``failed``: all were blank, or ``blocked``. ``withdrawn``: what it
    said before in this turn, and why it was asked again. ``first_token_s``: seconds until the first of this reply was
    there; None: nobody listened, or it came as a whole."""

    text: str
    latency_s: float
    failed: bool = False
    blocked: str | None = None
    info: ReplyInfo | None = None
    withdrawn: tuple[Withdrawn, ...] = ()
    first_token_s: float | None = None
    images: tuple[SeenImage, ...] = ()


class Listener(Protocol):
    """Hears replies while they are written; called by the models' threads. ``place``: of the model among those asked."""

    def heard(self, place: int, text: str) -> None:
        """All of a reply so far. It may begin again, where its model is asked again."""

    def answered(self, place: int, answer: Answer) -> None:
        """The reply that is taken."""


def ask_all(
    children: Sequence[Child],
    dialogues: Sequence[Sequence[Utterance]],
    *,
    timeout_s: float,
    retries: int,
    on_delay: Callable[[str], None] | None = None,
    objections: Objections = NONE,
    listener: Listener | None = None,
) -> list[Answer]:
    """The next line by each of ``children`` of its own of ``dialogues``; all are asked at once. A model that fails, or
    is silent for ``timeout_s`` seconds, is asked again up to ``retries`` times (its own settings go before these), and
    ``on_delay`` gets a sentence for the person. While a server is out, tries are not counted. ModelFailed when nothing
    came."""
    questions = [
        _Question(child, dialogue, timeout_s, retries, objections, listener, place)
        for place, (child, dialogue) in enumerate(zip(children, dialogues, strict=True))
    ]
    while waiting := [question for question in questions if question.answer is None]:
        _wait_for_any(waiting)
        if broken := _advance(waiting, on_delay):
            raise _failure(broken)
    return [question.answer for question in questions if question.answer]


class Asking:
    """Questions under way, each answered as soon as its own reply is there; arguments as of :func:`ask_all`."""

    def __init__(self, *, timeout_s: float, retries: int) -> None:
        self._timeout_s = timeout_s
        self._retries = retries
        self._questions: list[_Question] = []

    def ask(self, child: Child, dialogue: Sequence[Utterance]) -> None:
        self._questions.append(_Question(child, dialogue, self._timeout_s, self._retries, NONE))

    def forget(self, children: Collection[Child]) -> None:
        for child in children:
            child.leave()
        self._questions = [question for question in self._questions if question.child not in children]

    def answered(self) -> list[tuple[Child, Answer | ModelFailed]]:
        """Take the replies that are there, waiting for the first; those that come together are taken together."""
        taken: list[tuple[Child, Answer | ModelFailed]] = []
        while self._questions:
            before = len(taken)
            _wait_for_any(self._questions, at_most_s=TOGETHER_S if taken else math.inf)
            while broken := _advance(self._questions, None):
                taken += [(question.child, _failure([question])) for question in broken]
                self._questions = [question for question in self._questions if question not in broken]
            taken += [(question.child, question.answer) for question in self._questions if question.answer]
            self._questions = [question for question in self._questions if question.answer is None]
            if taken and len(taken) == before:
                break
        return taken


def _advance(waiting: Sequence[_Question], on_delay: Callable[[str], None] | None) -> list[_Question]:
    """Take answers, and ask again what failed or is late, unless some are given up, which are returned."""
    news = [question.news() for question in waiting if question.answer is None]
    for sentence in dict.fromkeys(filter(None, news)):
        if on_delay:
            on_delay(sentence)
    troubled = [question for question in waiting if question.answer is None and question.look()]
    beyond = [question for question in troubled if question.tries > question.retries]
    for question in beyond:
        if not question.requests and question.unfit is not None:  # nothing else is under way
            question.take(question.unfit)
    broken = [question for question in beyond if question.answer is None]
    if broken:
        for question in broken:
            question.child.worker.figures.count("errors")
        return broken
    for question in (question for question in troubled if question.answer is None):
        if on_delay and not question.is_doubt:
            on_delay(DELAY_SENTENCE)
        question.ask_again()
    return []


def _failure(broken: Sequence[_Question]) -> ModelFailed:
    since = [question.out_since for question in broken if question.out_since is not None]
    reasons = "; ".join(dict.fromkeys(question.trouble for question in broken))
    advice = dict.fromkeys(advice for question in broken for advice in question.advice)
    mends = [question.mend for question in broken if question.mend is not None]
    return ModelFailed(
        [q.child.model for q in broken],
        Problem(reasons, try_=tuple(advice)),
        min(since) if len(since) == len(broken) else None,
        mends,
    )


def _wait_for_any(questions: Sequence[_Question], at_most_s: float = math.inf) -> None:
    deadline = min(min(question.deadline, question.notice) for question in questions)
    requests = [request for question in questions for request in question.requests]
    futures: list[Future[Any]] = [request.future for request in requests]
    futures += [request.wait.began for request in requests if not request.wait.began.done()]
    if futures:
        patience_s = min(at_most_s, max(0.0, deadline - time.monotonic()))
        wait(futures, timeout=patience_s, return_when=FIRST_COMPLETED)


@dataclass(eq=False)
class _Question:
    child: Child
    _dialogue: Sequence[Utterance]
    _timeout_s: float
    retries: int
    _objections: Objections
    _listener: Listener | None = None
    _place: int = 0

    def __post_init__(self) -> None:
        worker, timeout_s = self.child.worker, self._timeout_s
        self._asked = 0  # requests; only the last one is heard while it is written
        self._first_at: float | None = None
        self.retries = self.retries if worker.retries is None else worker.retries
        self.answer: Answer | None = None
        self.trouble = ""
        self.advice: tuple[str, ...] = ()
        self.mend: Mend | None = None
        self.out_since: float | None = None
        self._told_of_outage = False
        self._traced = ""  # the trouble that was last written down with its traceback
        self.tries = 0
        self.unfit: Answer | None = None
        self._doubtful: Answer | None = None
        self._doubts = 0
        self.is_doubt = False  # whether this try ended with words that had better be said otherwise
        self._attempt = 0  # which chance the model has: another one after words that could not be shown
        self._info: ReplyInfo | None = None  # of all tries: those that came to nothing were paid for, too
        self._withdrawn: tuple[Withdrawn, ...] = ()
        self.requests: list[Request] = []
        self._timeout_s = worker.timeout_s or timeout_s
        self._started = time.monotonic()
        self.notice = self._started + timeout_s if self._timeout_s > timeout_s else math.inf
        self._ask()

    def _ask(self) -> None:
        self._try()
        self._asked += 1
        self._first_at = None
        hears = None if self._listener is None else partial(self._hear, self._asked)
        try:
            self.requests.append(self.child.ask(self._dialogue, hears))
        except Exception as error:  # noqa: BLE001 - an agent may raise anything at hearing a message
            self._note(error)

    def _hear(self, request: int, text: str) -> None:
        if request == self._asked and self.answer is None and self._listener is not None:
            if self._first_at is None:
                self._first_at = time.monotonic()
            self._listener.heard(self._place, text)

    def _try(self) -> None:
        self.tries += 1
        self.trouble, self.is_doubt = "", False
        self.deadline = time.monotonic() + self._timeout_s

    def news(self) -> str | None:
        if not self._told_of_outage and any(request.wait.began.done() for request in self.requests):
            self._told_of_outage = True
            return OUTAGE_SENTENCE
        if time.monotonic() >= self.notice:
            self.notice = math.inf
            return DELAY_SENTENCE
        return None

    def ask_again(self) -> None:
        """Start the next try: a request that is queued or was just taken up is waited for; else a fresh clone is asked."""
        self.child.worker.figures.count("retries")
        worker, after_s = self.child.worker, self._timeout_s / 2
        stuck = [worker.relieve(request, after_s=after_s, max_stuck=self.retries) for request in self.requests]
        if stuck and not all(stuck):
            self._try()
            return
        # After words that could not be shown, the same chance would choose the same again; after a late try it may. That of
        # an earlier line may be the clone's already.
        self.child.renew(attempt=self._attempt, line=len(self._dialogue))
        self._ask()

    def look(self) -> bool:
        for request in [request for request in self.requests if request.future.done()]:
            error = request.future.exception()
            if error is None:
                self._weigh(request.future.result())
                if self.answer is not None:
                    return False
            else:
                self._note(error)
            self.requests.remove(request)
        for request in self.requests:  # it is not late while its server is out
            back_at = request.wait.over_at if request.wait.since is None else time.monotonic()
            self.deadline = max(self.deadline, back_at + self._timeout_s)
            if request.wait.since is not None and self._doubtful is not None:
                self.trouble = f"{self.child.model} is out"
                self.child.worker.breaker.withdraw(request)
        if not self.trouble and time.monotonic() >= self.deadline:
            self.trouble = f"{self.child.model} was silent for {self._timeout_s:g} s, {self.tries} time(s)"
        if self.trouble and not self.is_doubt and self._doubtful is not None:
            # Nobody waits for better words where there are some.
            others = tuple(said for said in self._withdrawn if said.text != self._doubtful.text)
            self.take(replace(self._doubtful, info=self._info, withdrawn=others))
        return self.answer is None and bool(self.trouble)

    def take(self, answer: Answer) -> None:
        if self._first_at is not None:
            answer = replace(answer, first_token_s=self._first_at - self._started)
        self.answer = answer
        if self._listener is not None:
            self._listener.answered(self._place, answer)
        self.child.worker.figures.answered(answer.latency_s, fit=not answer.failed)

    def _weigh(self, reply: Reply) -> None:
        self._info = in_all(self._info, reply.info)
        answer = Answer(
            reply.text, reply.ready_at - self._started, info=self._info, withdrawn=self._withdrawn, images=reply.images
        )
        if blocked := self._objections.refuse(reply.text):
            unfit = replace(answer, failed=True, blocked=blocked)
            self._withdraw(reply.text, blocked)
            self._note(Refused(blocked), unfit)
            return
        # Asking again is of no use where the model says the same whatever its chance, or was asked enough.
        repeats = any(reply.text == earlier.text for earlier in self._withdrawn)
        asks_again = self._doubts < self._objections.again and not repeats
        if asks_again and (doubt := self._objections.doubt(reply.text)):
            self._withdraw(reply.text, doubt)
            self._doubtful, self.is_doubt = answer, True
            self._doubts += 1
            self.retries += 1  # the tries of failures are not for this
            self.trouble = f"{self.child.model} {doubt}"
            logger.info("%s is asked again: %s", self.child.model, doubt)
        else:
            self.take(answer)

    def _withdraw(self, text: str, reason: str) -> None:
        self._withdrawn += (Withdrawn(text=text, reason=reason),)
        self._attempt = self.tries

    def _note(self, error: BaseException, unfit: Answer | None = None) -> None:
        self.is_doubt = False
        if isinstance(error, NoReply):
            self._info = in_all(self._info, error.info)
            cut = str(error) if self._info is not None and self._info.thoughts else None
            unfit = Answer("", time.monotonic() - self._started, True, cut, self._info, self._withdrawn)
            self._attempt = self.tries
        self.unfit = unfit
        fact, self.advice = (error.what, error.try_) if isinstance(error, OutsideError) else (str(error), ())
        trouble = f"{self.child.model} failed: {_one_line(error, fact)}"
        # One traceback is enough, however often it is tried; what stands outside has none to show.
        trace = None if isinstance(error, OutsideError) or trouble == self._traced else error
        self._traced = trouble
        tries = self.retries + 1
        if isinstance(error, ModelOut):  # the breaker has said so, once for all
            self.out_since = error.since
        else:
            logger.error(
                "%s: try %d of %d failed: %s",
                self.child.model,
                self.tries,
                tries,
                _one_line(error, str(error)),
                exc_info=trace,
            )
        self.mend = error.mend if isinstance(error, OutsideError) else None
        if isinstance(error, OutsideError) and error.final:
            self.tries = max(self.tries, self.retries + 1)
        self.trouble = trouble


def _one_line(error: BaseException, text: str) -> str:
    return " ".join((text if isinstance(error, OutsideError) else f"{type(error).__name__}: {text}").split())
