"""Ask a judge all its questions, as many at once as its model takes, and hand over each answer as it is there."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from parlai_humaneval.display.thoughts import without_thoughts
from parlai_humaneval.judges.budget import Budget, tokens_of
from parlai_humaneval.judges.config import JudgeSpec
from parlai_humaneval.judges.parse import Unreadable, outcome_of, read_answer, read_score
from parlai_humaneval.judges.prompts import prompt_of, reminder_of
from parlai_humaneval.judges.questions import VERDICT, CannotJudge, JudgeQuestion, Said
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.asking import Answer, Asking, ModelFailed
from parlai_humaneval.models.pool.child import Child, Utterance
from parlai_humaneval.models.zoo.entries import ModelSpec
from parlai_humaneval.schema.judge_answers import JudgeAnswer, Outcome
from parlai_humaneval.schema.records import AskedQuestion, GivenAnswer, ReplyInfo

MOST_FAILURES = 5
"""So many questions in a row without a reply, and no more are asked: the model is gone, or its key is wrong."""
OUTAGE_S = 30.0
"""So long it is waited for a server that is not there, unless its entry says otherwise: nobody loses anything by a run that
ends, as the next one goes on."""
STOPPED = Literal["budget", "failed"]


@dataclass
class Ran:
    """What came of it. ``left``: questions without an answer; ``failures``: why some got no reply, each reason once.
    ``needed``: what the next question may cost, where that was too much. ``overspent``: replies were longer than the judge's
    ``max_reply_tokens``, and more was spent than was allowed.
    """

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
        """Answers that were handed over, read or not."""
        return sum(self.outcomes.values())


def once(model: ModelSpec) -> ModelSpec:
    """The same model, which the pool asks once for each reply: what a judge says twice is paid twice."""
    return model.model_copy(update={"running": model.running.model_copy(update={"retries": 0})})


def check_format(questions: Sequence[JudgeQuestion], spec: JudgeSpec) -> None:
    """Refuse scores for what is no choice of one.

    Raises:
        CannotJudge: the message says what was asked.
    """
    if spec.answer_format == "score" and (other := next((one for one in questions if not _scored(one)), None)):
        raise CannotJudge(
            "score gives each candidate a number, of which the highest is chosen, but raters were asked "
            f"“{other.text}”, which is no choice of one",
            where="answer_format",
            try_="use answer_format: json",
        )


def _scored(question: JudgeQuestion) -> bool:
    return question.single is not None and len(question.replies or question.conversations) > 1


def ask_judge(
    pool: ModelPool,
    spec: JudgeSpec,
    questions: Sequence[JudgeQuestion],
    *,
    keep: Callable[[JudgeAnswer], None],
    budget: Budget,
    on_done: Callable[[int], None] = lambda done: None,
) -> Ran:
    """Ask until all is answered, the budget is used up, or the model answers no more.

    Args:
        pool: holds the judge's model.
        spec: the judge.
        questions: those that it is to answer.
        keep: is handed each answer at once.
        budget: what may be spent.
        on_done: is told how many questions are over.
    """
    return _Run(pool, spec, questions, keep, budget).to_its_end(on_done)


class _Run:
    def __init__(
        self,
        pool: ModelPool,
        spec: JudgeSpec,
        questions: Sequence[JudgeQuestion],
        keep: Callable[[JudgeAnswer], None],
        budget: Budget,
    ) -> None:
        self._pool, self._spec, self._keep, self._budget = pool, spec, keep, budget
        self._waiting = deque(questions)
        self._asking = Asking(timeout_s=pool.timeout_s, retries=0)
        self._asked: dict[Child, _Talk] = {}
        self._failed_in_a_row = 0
        self._ran = Ran()

    def to_its_end(self, on_done: Callable[[int], None]) -> Ran:
        ran, number = self._ran, len(self._waiting)
        worker = self._pool.worker(self._spec.model.name)
        while ran.stopped is None:
            self._fill(worker.max_batch * worker.threads)
            if not self._asked:
                if self._waiting:
                    ran.stopped, ran.needed = "budget", self._budget.most_of(self._waiting[0])
                break
            for child, reply in self._asking.answered():
                self._take(self._asked.pop(child), reply)
            on_done(ran.kept + ran.failed)
            if self._failed_in_a_row >= MOST_FAILURES:
                self._asking.forget(list(self._asked))
                ran.stopped = "failed"
        ran.left, ran.spent = number - ran.kept, self._budget.spent
        ran.overspent = self._budget.is_overspent
        return ran

    def _fill(self, at_once: int) -> None:
        while self._waiting and len(self._asked) < at_once:
            reserved = self._budget.reserve(self._waiting[0])
            if reserved is None:
                return
            self._ask(_Talk(self._pool, self._spec, self._waiting.popleft(), reserved))

    def _ask(self, talk: _Talk) -> None:
        child, dialogue = talk.next()
        self._asked[child] = talk
        self._asking.ask(child, dialogue)

    def _take(self, talk: _Talk, reply: Answer | ModelFailed) -> None:
        ran = self._ran
        if isinstance(reply, ModelFailed):
            self._budget.settle(talk.reserved, talk.cost)
            self._failed_in_a_row += 1
            ran.failed += 1
            ran.failures = list(dict.fromkeys([*ran.failures, str(reply.reason)]))
            return
        if not talk.take(reply):
            self._ask(talk)
            return
        answer = talk.answer()
        self._budget.settle(talk.reserved, answer.cost or 0.0)
        self._keep(answer)
        self._failed_in_a_row = 0
        ran.reminded += answer.reminded
        ran.outcomes[answer.outcome] = ran.outcomes.get(answer.outcome, 0) + 1


class _Talk:
    """One question on its way to an answer: asked once, and once more where the answer could not be read; or, for scores,
    once for each candidate."""

    def __init__(self, pool: ModelPool, spec: JudgeSpec, question: JudgeQuestion, reserved: float) -> None:
        self.question, self.reserved = question, reserved
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
            self._dialogue = _to_be_scored(self.question, len(self._replies))
            self._child = self._new_child()
        elif self._child is None:
            prompt = prompt_of(self.question, self._spec.template, self._spec.answer_format)
            self._dialogue, self._child = [Utterance("human", prompt)], self._new_child()
        else:
            reminder = reminder_of(self.question, self._spec.answer_format)
            self._dialogue = [*self._dialogue, Utterance("bot", self._said), Utterance("human", reminder)]
        scored = self._spec.answer_format == "score"
        sent = "\n".join(line.text for line in self._dialogue) if scored else self._dialogue[-1].text
        self._prompts.append(sent)
        return self._child, self._dialogue

    def _new_child(self) -> Child:
        (child,) = self._pool.children([self._spec.model.name], self._seed)
        return child

    def take(self, reply: Answer) -> bool:
        self._replies.append(reply.text)
        self._said = without_thoughts(reply.text)
        self._seconds += reply.latency_s
        self._count(reply)
        if self._spec.answer_format == "score":
            try:
                self._scores.append(read_score(self._said))
            except Unreadable:
                return True
            if len(self._scores) < len(self.question.replies or self.question.conversations):
                return False
            if (chosen := _best(self.question, self._scores)) is not None:
                chosen.seconds, chosen.at = round(self._seconds, 3), time.time()
                self._read = [chosen]
            return True
        try:
            self._read = read_answer(self._said, self.question, seconds=round(self._seconds, 3), at=time.time())
        except Unreadable:
            if self._reminded or not self._said.strip():  # who says nothing cannot be answered
                return True
            self._reminded = True
            return False
        return True

    def _count(self, reply: Answer) -> None:
        info = reply.info or ReplyInfo()
        told = (info.prompt_tokens, info.completion_tokens)
        said = (sum(tokens_of(line.text) for line in self._dialogue), tokens_of(reply.text))
        self._estimated |= None in told
        for place, (known, guessed) in enumerate(zip(told, said, strict=True)):
            self._tokens[place] += guessed if known is None else known
        self._infos.append(info)

    @property
    def cost(self) -> float:
        """Of what was answered so far; 0 where there is no price."""
        return 0.0 if self._spec.price is None else self._spec.price.cost(*self._tokens)

    def answer(self) -> JudgeAnswer:
        question, info = self.question, self._infos[-1]
        said = self._said or self._replies[-1] or info.thoughts or ""  # one that only thought has not refused
        return JudgeAnswer(
            judge=self._spec.name,
            version=self._spec.version,
            thing=question.thing,
            unit=question.unit,
            technique=question.technique,
            setting=question.setting,
            metric=question.metric,
            order=question.order,
            dialogues=list(question.dialogues),
            shown=list(question.shown),
            question=question.text,
            prompts=self._prompts,
            replies=self._replies,
            thoughts=[told.thoughts for told in self._infos if told.thoughts],
            outcome="answered" if self._read else outcome_of(said, info.finish_reason),
            answers=self._read,
            reminded=self._reminded,
            seed=self._seed,
            served_model=info.served_model,
            finish_reason=info.finish_reason,
            prompt_tokens=self._tokens[0],
            completion_tokens=self._tokens[1],
            estimated=self._estimated,
            cost=None if self._spec.price is None else self.cost,
            currency=None if self._spec.price is None else self._spec.price.currency,
            seconds=round(self._seconds, 3),
            at=time.time(),
        )


def _to_be_scored(question: JudgeQuestion, place: int) -> list[Utterance]:
    lines = question.conversations[0 if question.replies else place].lines
    reply = [Said("", "bot", question.replies[place].text)] if question.replies else []
    return [Utterance(said.side, said.text) for said in (*lines, *reply)]


def _best(question: JudgeQuestion, scores: Sequence[float]) -> GivenAnswer | None:
    """The choice of the highest score; None where two are equal and raters had no tie to choose."""
    best = max(scores)
    places = [place for place, score in enumerate(scores) if score == best]
    (asked,) = question.asked
    if question.replies:
        if len(places) > 1:
            return None
        chosen = question.replies[places[0]].candidate_id
        return GivenAnswer(question_id=asked.question_id, turn=question.turn, selected=[chosen], seconds=0, at=0)
    option = _side(asked, places)
    return None if option is None else GivenAnswer(question_id=asked.question_id, option=option, seconds=0, at=0)


def _side(asked: AskedQuestion, places: Sequence[int]) -> str | None:
    sides = ("a", "b") if asked.question_id == VERDICT else ("first", "second")
    option = sides[places[0]] if len(places) == 1 else "tie"
    return option if option in asked.options else None
