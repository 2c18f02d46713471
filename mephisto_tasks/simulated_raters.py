"""Raters that are programs: they speak the page's protocol over real HTTP and websockets, and bypass nothing.

A simulated rater sees what the page would show. Two things it is told beside the page, because they stand for a person's
judgement: which practice reply is the better one (a person can tell), and, for a stated preference between models, which
model is behind a card (``model_of``).
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from mephisto_tasks.router.page_client import PageClient
from parlai_humaneval.protocol.steps import (
    ChooseStep,
    EndStep,
    FeedbackStep,
    MessageStep,
    PageState,
    WaitStep,
)

STATE_TIMEOUT_S = 120.0

OPENERS = [
    "I have had quite a busy week so far, how about you?",
    "Lately I spend most evenings reading. What do you like to do?",
    "Do you have any plans for the weekend?",
    "I just came back from a long walk with my dog.",
    "What kind of food do you like best?",
    "I am thinking about learning a new language this year.",
    "Have you seen any good movies recently?",
    "My garden keeps me busy at this time of the year.",
    "That sounds nice! Can you tell me a bit more about it?",
    "I see what you mean. What made you start with that?",
    "Music helps me a lot after work. Do you play an instrument?",
    "I would love to travel more, maybe somewhere near the sea.",
]
REASONS = [
    "It fits what I said before much better.",
    "It sounds friendly and keeps the conversation going.",
    "It answers my question and asks me something back.",
    "The other one does not really react to my message.",
]


@dataclass
class Behaviour:
    """How a simulated rater judges.

    Args:
        model_of: candidate id → model, or None where the rater has no preference between models.
        prefer: the model that is liked better; with ``model_of``.
        strength: probability of choosing it where it is shown.
        good_replies: texts of the better practice replies.
        position_bias: probability of choosing the first card without looking.
        think_s: mean pause before an answer, in seconds (exponential); 0: at once.
    """

    model_of: Callable[[str], str | None] = field(default=lambda _: None)
    prefer: str | None = None
    strength: float = 0.7
    good_replies: frozenset[str] = frozenset()
    position_bias: float = 0.0
    think_s: float = 0.0


@dataclass
class SentTurn:
    """What a rater sent in one turn: to be compared with what was stored."""

    message: str | None
    selected: list[str]
    reason: str


@dataclass
class Outcome:
    """How one simulated rater fared. ``refused``: the sentence with which they were turned away."""

    worker: str
    finished: bool = False
    refused: str | None = None
    stopped: str | None = None
    turns: list[SentTurn] = field(default_factory=list)
    feedback: str | None = None
    waits_s: list[float] = field(default_factory=list)
    """Seconds from sending a message to seeing its candidates, a value a turn."""


class SimulatedRater:
    """One worker who takes one unit: practice if asked, the conversation, the comment box, the submit."""

    def __init__(self, base_url: str, worker: str, behaviour: Behaviour, *, seed: int) -> None:
        self._client = PageClient(base_url, worker_id=worker, assignment_id=f"a-{worker}")
        self._behaviour = behaviour
        self._random = random.Random(f"rater:{seed}:{worker}")
        self._message: str | None = None
        self._sent_at: float | None = None
        self.outcome = Outcome(worker=worker)

    async def run(self) -> Outcome:
        """Until submitted, refused or stopped."""
        async with self._client as client:
            await client.register()
            version = 0
            while client.refused is None:
                state = await client.next_state(after_version=version, timeout=STATE_TIMEOUT_S)
                version = state.version
                if isinstance(state.step, EndStep):
                    if await self._end(state.step):
                        break
                    version = 0  # a new agent counts its states anew
                else:
                    version = (await self._step(state)).version - 1
            self.outcome.refused = client.refused
        return self.outcome

    async def _end(self, step: EndStep) -> bool:
        if step.next == "submit_onboarding":
            await self._client.submit_onboarding()
            return False
        if step.next == "submit":
            await self._client.submit_task()
            self.outcome.finished = True
        else:
            self.outcome.stopped = step.title
        return True

    async def _step(self, state: PageState) -> PageState:
        step = state.step
        if isinstance(step, WaitStep):
            return await self._client.next_state(after_version=state.version, timeout=STATE_TIMEOUT_S)
        if isinstance(step, ChooseStep) and self._sent_at is not None:
            self.outcome.waits_s.append(asyncio.get_running_loop().time() - self._sent_at)
            self._sent_at = None
        if self._behaviour.think_s:
            await asyncio.sleep(self._random.expovariate(1 / self._behaviour.think_s))
        if isinstance(step, MessageStep):
            return await self._write(step, state)
        if isinstance(step, ChooseStep):
            return await self._choose(step, state)
        assert isinstance(step, FeedbackStep)
        self.outcome.feedback = "A simulated rater's comment."
        return await self._answer({"kind": "feedback", "step_id": step.step_id, "text": self.outcome.feedback})

    async def _write(self, step: MessageStep, state: PageState) -> PageState:
        lines = OPENERS + (state.context.lines if state.context else [])
        self._message = self._random.choice(lines)
        self._sent_at = asyncio.get_running_loop().time()
        return await self._answer({"kind": "message", "step_id": step.step_id, "text": self._message})

    async def _choose(self, step: ChooseStep, state: PageState) -> PageState:
        chosen = self._pick(step)
        reason = self._random.choice(REASONS) if step.reason else ""
        if state.phase == "task":
            self.outcome.turns.append(SentTurn(message=self._message, selected=[chosen], reason=reason))
        return await self._answer({"kind": "choose", "step_id": step.step_id, "selected": [chosen], "reason": reason})

    def _pick(self, step: ChooseStep) -> str:
        behaviour, ids = self._behaviour, [card.candidate_id for card in step.cards]
        for card in step.cards:
            if card.text in behaviour.good_replies:
                return card.candidate_id
        if self._random.random() < behaviour.position_bias:
            return ids[0]
        liked = [i for i in ids if behaviour.prefer is not None and behaviour.model_of(i) == behaviour.prefer]
        others = [i for i in ids if i not in liked]
        if liked and (not others or self._random.random() < behaviour.strength):
            return self._random.choice(liked)
        return self._random.choice(others or ids)

    async def _answer(self, answer: dict[str, object]) -> PageState:
        state = await self._client.answer(answer)
        if state.notice is not None and state.notice.level == "error":
            raise RuntimeError(f"an answer of {self.outcome.worker} was refused: {state.notice.text}")
        return state


async def run_raters(
    base_url: str,
    behaviour: Behaviour,
    *,
    raters: int,
    dialogues: int,
    seed: int,
    name: str = "sim",
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """``dialogues`` workers, ``raters`` of them at a time.

    Raises:
        RuntimeError: an answer was refused; the others are cancelled.
    """
    places = asyncio.Semaphore(raters)

    async def one(number: int) -> Outcome:
        async with places:
            outcome = await SimulatedRater(base_url, f"{name}-{number}", behaviour, seed=seed).run()
            on_outcome(outcome)
            return outcome

    return list(await asyncio.gather(*(one(number) for number in range(1, dialogues + 1))))
