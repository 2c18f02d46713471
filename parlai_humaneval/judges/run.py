"""Ask a judge all its questions, as many at once as its model allows, and hand over each answer immediately."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from parlai_humaneval.display.images import IMAGES_FIELD, ImageStore
from parlai_humaneval.display.text import without_thoughts
from parlai_humaneval.judges import questions as asking
from parlai_humaneval.judges.config import Budget, JudgeSpec, tokens_of
from parlai_humaneval.models.agent.dialogue_agent import Speaker
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.asking import Answer, Asking, ModelFailed
from parlai_humaneval.models.pool.loading import Child, Utterance
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.schema.judge_answers import JudgeAnswer, Outcome
from parlai_humaneval.schema.records import GivenAnswer, ImageRecord, ReplyInfo

MOST_FAILURES = 5
"""Stop after this many questions in a row without a reply: the model is gone, or its key is wrong."""
OUTAGE_S = 30.0
"""So long it is waited for a server, unless its entry says otherwise: the next run goes on."""
STOPPED = Literal["budget", "failed"]


@dataclass
class Ran:
    """What came of it. ``left``: questions without an answer; ``needed``: what the next question may cost, where that
    was too much; ``overspent``: by longer replies than ``max_reply_tokens``."""

    outcomes: dict[Outcome, int] = field(default_factory=dict)
    reminded: int = 0
    failed: int = 0
    failures: list[str] = field(default_factory=list)
    left: int = 0
    spent: float = 0.0
    needed: float | None = None
    overspent: bool = False
    stopped: STOPPED | None = None

    @property
    def kept(self) -> int:
        return sum(self.outcomes.values())


def once(model: ModelSpec) -> ModelSpec:
    """The same model, which the pool asks once for each reply: what a judge says twice is paid twice."""
    return model.run_with(retries=0)


def check_format(questions: Sequence[asking.JudgeQuestion], spec: JudgeSpec) -> None:
    others = (one for one in questions if one.single is None or len(one.replies or one.conversations) < 2)
    if spec.answer_format == "score" and (other := next(others, None)):
        raise asking.CannotJudge(
            "score gives each candidate a number, and the highest is chosen, but raters were asked "
            f"“{other.text}”, which is not a choice of one",
            where="answer_format",
            try_="use answer_format: json",
        )


def ask_judge(
    pool: ModelPool,
    spec: JudgeSpec,
    questions: Sequence[asking.JudgeQuestion],
    *,
    keep: Callable[[JudgeAnswer], None],
    budget: Budget,
    on_done: Callable[[int], None] = lambda done: None,
    images: ImageStore | None = None,
) -> Ran:
    """Ask until all is answered, the budget is used up, or the model is gone; ``keep`` gets each answer at once.
    ``images``: of the dialogues, for a judge that sees; any other reads their descriptions."""
    seen = images if spec.sees else None
    return _Run(pool, spec, keep, budget, deque(questions), seen).to_its_end(on_done)


@dataclass
class _Run:
    pool: ModelPool
    spec: JudgeSpec
    keep: Callable[[JudgeAnswer], None]
    budget: Budget
    waiting: deque[asking.JudgeQuestion]
    images: ImageStore | None
    asked: dict[Child, _Talk] = field(default_factory=dict)
    failed_in_a_row: int = 0
    ran: Ran = field(default_factory=Ran)

    def __post_init__(self) -> None:
        self.asking = Asking(timeout_s=self.pool.timeout_s, retries=0)

    def to_its_end(self, on_done: Callable[[int], None]) -> Ran:
        ran, number = self.ran, len(self.waiting)
        worker = self.pool.worker(self.spec.model.name)
        while ran.stopped is None:
            at_once = worker.max_batch * worker.threads
            while self.waiting and len(self.asked) < at_once:
                reserved = self.budget.reserve(self.waiting[0])
                if reserved is None:
                    break
                self._ask(_Talk(self.pool, self.spec, self.waiting.popleft(), reserved, self.images))
            if not self.asked:
                if self.waiting:
                    ran.stopped, ran.needed = "budget", self.budget.most_of(self.waiting[0])
                break
            for child, reply in self.asking.answered():
                self._take(self.asked.pop(child), reply)
            on_done(ran.kept + ran.failed)
            if self.failed_in_a_row >= MOST_FAILURES:
                self.asking.forget(list(self.asked))
                ran.stopped = "failed"
        ran.left, ran.spent = number - ran.kept, self.budget.spent
        ran.overspent = self.budget.is_overspent
        return ran

    def _ask(self, talk: _Talk) -> None:
        child, dialogue = talk.next()
        self.asked[child] = talk
        self.asking.ask(child, dialogue)

    def _take(self, talk: _Talk, reply: Answer | ModelFailed) -> None:
        ran = self.ran
        if isinstance(reply, ModelFailed):
            self.budget.settle(talk.reserved, talk.cost)
            self.failed_in_a_row += 1
            ran.failed += 1
            ran.failures = list(dict.fromkeys([*ran.failures, str(reply.reason)]))
            return
        if not talk.take(reply):
            self._ask(talk)
            return
        answer = talk.answer()
        self.budget.settle(talk.reserved, answer.cost or 0.0)
        self.keep(answer)
        self.failed_in_a_row = 0
        ran.reminded += answer.reminded
        ran.outcomes[answer.outcome] = ran.outcomes.get(answer.outcome, 0) + 1


class _Talk:
    """One question on its way to an answer: asked again where it could not be read, or once for each score."""

    def __init__(
        self,
        pool: ModelPool,
        spec: JudgeSpec,
        question: asking.JudgeQuestion,
        reserved: float,
        images: ImageStore | None,
    ) -> None:
        self.question, self.reserved, self._images = question, reserved, images
        self._pool, self._spec = pool, spec
        self._seed = random.Random(f"{spec.seed}|{question.unit}|{question.order}").getrandbits(31)
        self._child: Child | None = None
        self._dialogue: list[Utterance] = []
        self._prompts: list[str] = []
        self._replies: list[str] = []
        self._said = ""  # the last of them without the judge's thoughts
        self._infos: list[ReplyInfo] = []
        self._seconds = 0.0
        self._read: list[GivenAnswer] = []
        self._scores: list[float] = []
        self._reminded = False
        self._estimated = False
        self._tokens = [0, 0]

    def next(self) -> tuple[Child, list[Utterance]]:
        if self._spec.answer_format == "score":
            place, replies = len(self._replies), self.question.replies
            lines = self.question.conversations[0 if replies else place].lines
            reply = [asking.Said("", "bot", replies[place].text, replies[place].images)] if replies else []
            self._dialogue = [self._line(said.side, said.text, said.images) for said in (*lines, *reply)]
            self._child = self._new_child()
        elif self._child is None:
            prompt = asking.prompt_of(self.question, self._spec.template, self._spec.answer_format)
            self._dialogue, self._child = [self._line("human", prompt, self.question.images)], self._new_child()
        else:
            reminder = asking.reminder_of(self.question, self._spec.answer_format)
            self._dialogue = [*self._dialogue, Utterance("bot", self._said), Utterance("human", reminder)]
        scored = self._spec.answer_format == "score"
        sent = "\n".join(line.text for line in self._dialogue) if scored else self._dialogue[-1].text
        self._prompts.append(sent)
        return self._child, self._dialogue

    def _line(self, side: Speaker, text: str, images: Sequence[ImageRecord]) -> Utterance:
        seen = () if self._images is None else self._images.seen(images)
        return Utterance(side, text, {IMAGES_FIELD: seen} if seen else {})

    def _new_child(self) -> Child:
        (child,) = self._pool.children([self._spec.model.name], self._seed)
        return child

    def take(self, reply: Answer) -> bool:
        self._replies.append(reply.text)
        self._said = without_thoughts(reply.text)
        self._seconds += reply.latency_s
        info = reply.info or ReplyInfo()
        told = (info.prompt_tokens, info.completion_tokens)
        said = (sum(tokens_of(line.text) for line in self._dialogue), tokens_of(reply.text))
        self._estimated |= None in told
        for place, (known, guessed) in enumerate(zip(told, said, strict=True)):
            self._tokens[place] += guessed if known is None else known
        self._infos.append(info)
        if self._spec.answer_format == "score":
            try:
                self._scores.append(asking.read_score(self._said))
            except asking.Unreadable:
                return True
            if len(self._scores) < len(self.question.replies or self.question.conversations):
                return False
            if (chosen := _best(self.question, self._scores)) is not None:
                chosen.seconds, chosen.at = round(self._seconds, 3), time.time()
                self._read = [chosen]
            return True
        try:
            self._read = asking.read_answer(self._said, self.question, seconds=round(self._seconds, 3), at=time.time())
        except asking.Unreadable:
            if self._reminded or not self._said.strip():  # an empty reply cannot be reminded
                return True
            self._reminded = True
            return False
        return True

    @property
    def cost(self) -> float:
        return 0.0 if self._spec.price is None else self._spec.price.cost(*self._tokens)

    def answer(self) -> JudgeAnswer:
        question, info = self.question, self._infos[-1]
        said = self._said or self._replies[-1] or info.thoughts or ""  # one that only thought has not refused
        return JudgeAnswer(
            judge=self._spec.name,
            version=self._spec.version,
            **{name: getattr(question, name) for name in _OF_QUESTION},
            dialogues=list(question.dialogues),
            shown=list(question.shown),
            question=question.text,
            prompts=self._prompts,
            replies=self._replies,
            thoughts=[told.thoughts for told in self._infos if told.thoughts],
            outcome="answered" if self._read else asking.outcome_of(said, info.finish_reason),
            answers=self._read,
            reminded=self._reminded,
            images_described=sum(
                self._images is None or self._images.read(image.digest) is None for image in question.images
            ),
            seed=self._seed,
            served_model=info.served_model,
            finish_reason=info.finish_reason,
            prompt_tokens=self._tokens[0],
            completion_tokens=self._tokens[1],
            estimated=self._estimated,
            **({} if self._spec.price is None else {"cost": self.cost, "currency": self._spec.price.currency}),
            seconds=round(self._seconds, 3),
            at=time.time(),
        )


_OF_QUESTION = ("thing", "unit", "technique", "setting", "metric", "order")


def _best(question: asking.JudgeQuestion, scores: Sequence[float]) -> GivenAnswer | None:
    """The choice of the highest score; None where two are equal and raters had no tie to choose."""
    best = max(scores)
    places = [place for place, score in enumerate(scores) if score == best]
    (asked,) = question.asked
    if question.replies:
        if len(places) > 1:
            return None
        chosen = question.replies[places[0]].candidate_id
        return GivenAnswer(question_id=asked.question_id, turn=question.turn, selected=[chosen], seconds=0, at=0)
    sides = ("a", "b") if asked.question_id == asking.VERDICT else ("first", "second")
    option = sides[places[0]] if len(places) == 1 else "tie"
    if option not in asked.options:
        return None
    return GivenAnswer(question_id=asked.question_id, option=option, seconds=0, at=0)
