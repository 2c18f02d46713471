"""What a judge's answers cost: what they may come to at most, before they are asked for, and what they did cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from parlai_humaneval.judges.config import JudgeSpec, Price
from parlai_humaneval.judges.prompts import prompt_of, reminder_of
from parlai_humaneval.judges.questions import JudgeQuestion

AROUND = 64
"""Tokens that a server may put around what it is sent: roles, marks of its template."""
LETTERS_OF_A_TOKEN = 4
"""In English, about; no token is less than one byte."""
SHORT_REPLY = 12
"""Tokens of an answer as it is asked for."""


@dataclass(frozen=True)
class Usage:
    """Tokens of one question: its requests, and what they may hold."""

    requests: int
    prompt_tokens: int
    completion_tokens: int

    def cost(self, price: Price | None) -> float | None:
        """None where there is no price."""
        return None if price is None else price.cost(self.prompt_tokens, self.completion_tokens)


def texts_of(question: JudgeQuestion, spec: JudgeSpec) -> list[str]:
    """What is sent first, of each request; of scores the conversation with each candidate."""
    if spec.answer_format != "score":
        return [prompt_of(question, spec.template, spec.answer_format)]
    said = ["\n".join(line.text for line in one.lines) for one in question.conversations]
    return [f"{said[0]}\n{reply.text}" for reply in question.replies] or said


def about(question: JudgeQuestion, spec: JudgeSpec, reply_tokens: float = SHORT_REPLY) -> Usage:
    """What a question takes where it is answered at once."""
    texts = [f"{_system(spec)}{text}" for text in texts_of(question, spec)]
    tokens = sum(tokens_of(text) for text in texts)
    return Usage(len(texts), tokens, round(len(texts) * min(reply_tokens, spec.max_reply_tokens)))


def at_most(question: JudgeQuestion, spec: JudgeSpec) -> Usage:
    """What it takes where every letter is a token, every reply as long as may be, and the judge is asked twice."""
    texts = texts_of(question, spec)
    first = sum(_bytes(text) for text in texts) + len(texts) * (AROUND + _bytes(_system(spec)))
    replies = len(texts) * spec.max_reply_tokens
    if spec.answer_format == "score":
        return Usage(len(texts), first, replies)
    again = first + spec.max_reply_tokens + _bytes(reminder_of(question, spec.answer_format)) + AROUND
    return Usage(2, first + again, 2 * replies)


def tokens_of(text: str) -> int:
    """About as many as a server would count."""
    return -(-len(text) // LETTERS_OF_A_TOKEN)


def _bytes(text: str) -> int:
    return len(text.encode())


def _system(spec: JudgeSpec) -> str:
    return str(spec.model.options.get("system_prompt") or "")


class Budget:
    """What may be spent, what is, and what those under way may still come to. ``most`` None: as much as it takes."""

    def __init__(self, most: float | None, spec: JudgeSpec) -> None:
        self.most, self.spent = most, 0.0
        self._spec, self._reserved = spec, 0.0

    def most_of(self, question: JudgeQuestion) -> float:
        """What a question may cost at the very most."""
        return at_most(question, self._spec).cost(self._spec.price) or 0.0

    def reserve(self, question: JudgeQuestion) -> float | None:
        """Set aside what a question may cost; None where that would be too much."""
        cost = self.most_of(question)
        if self.most is not None and self.spent + self._reserved + cost > self.most:
            return None
        self._reserved += cost
        return cost

    @property
    def is_overspent(self) -> bool:
        """Whether replies were longer than they may be, so that more was spent than was allowed."""
        return self.most is not None and self.spent > self.most

    def settle(self, reserved: float, cost: float) -> None:
        """A question that was set aside for is over, and cost so much."""
        self._reserved -= reserved
        self.spent += cost


@dataclass(frozen=True)
class Estimate:
    """What questions will take, before they are asked. Costs are None where the judge has no price."""

    questions: int
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cost_at_most: float | None
    currency: str | None


def estimate(questions: Sequence[JudgeQuestion], spec: JudgeSpec, reply_tokens: float = SHORT_REPLY) -> Estimate:
    """Of all these questions; ``reply_tokens``: of the answers so far, in the mean."""
    likely = [about(question, spec, reply_tokens) for question in questions]
    prompt, completion = sum(one.prompt_tokens for one in likely), sum(one.completion_tokens for one in likely)
    price = spec.price
    return Estimate(
        questions=len(questions),
        requests=sum(one.requests for one in likely),
        prompt_tokens=prompt,
        completion_tokens=completion,
        cost=None if price is None else price.cost(prompt, completion),
        cost_at_most=None if price is None else sum(at_most(one, spec).cost(price) or 0.0 for one in questions),
        currency=None if price is None else price.currency,
    )
