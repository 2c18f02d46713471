"""Raters that are programs: they speak the page's protocol over real HTTP and websockets, and bypass nothing.

A simulated rater sees what the page would show. Two things it is told beside the page, because they stand for a person's
judgement: what is right in the practice (a person can tell), and, for a stated preference between models, which
model is behind a reply (``model_of``).
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mephisto_tasks.server.security import Browser
from mephisto_tasks.simulation.answers import Answers, Behaviour, by_kind
from mephisto_tasks.simulation.page_client import PageClient
from parlai_humaneval.schema.steps import EndStep, PageState, WaitStep

__all__ = ["Behaviour", "Outcome", "SentTurn", "SimulatedRater", "run_raters"]

STATE_TIMEOUT_S = 600.0
"""Longer than a study waits for a model's server."""


@dataclass
class SentTurn:
    """What a rater sent in one turn: to be compared with what was stored. ``message`` None: it was sent for them."""

    message: str | None
    selected: list[str] = field(default_factory=list)
    ticks: list[str] | None = None
    written: str | None = None
    reason: str = ""


@dataclass
class Outcome:
    """How one simulated rater fared. ``refused``: the sentence with which they were turned away.

    ``answers``: every answer of the task as it was sent, in order. ``turns``: those that rated a turn.
    """

    worker: str
    finished: bool = False
    refused: str | None = None
    stopped: str | None = None
    answers: list[dict[str, Any]] = field(default_factory=list)
    turns: list[SentTurn] = field(default_factory=list)
    feedback: str | None = None
    waits_s: list[float] = field(default_factory=list)
    """Seconds from sending a message to seeing what it leads to, a value a turn."""


class SimulatedRater:
    """One worker who takes one unit: practice if asked, the conversations, the comment box, the submit.

    ``page``: theirs, where they come from a crowd that tells more of them than a name.
    """

    def __init__(
        self, base_url: str, worker: str, behaviour: Behaviour, *, seed: int, page: PageClient | None = None
    ) -> None:
        self._client = page or PageClient(
            base_url, worker_id=worker, assignment_id=f"a-{worker}", browser=browser_of_simulated(worker)
        )
        self._behaviour = behaviour
        self._random = random.Random(f"rater:{seed}:{worker}")
        self._make = by_kind(Answers(behaviour, self._random))
        self._message: str | None = None
        self._sent_at: float | None = None
        self.outcome = Outcome(worker=worker)

    async def run(self) -> Outcome:
        """Until submitted, refused or stopped."""
        async with self._client as client:
            await client.enter()
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
        assert not isinstance(step, EndStep)
        if self._sent_at is not None:
            self.outcome.waits_s.append(asyncio.get_running_loop().time() - self._sent_at)
            self._sent_at = None
        if self._behaviour.think_s:
            await asyncio.sleep(self._random.expovariate(1 / self._behaviour.think_s))
        answer = {"step_id": step.step_id, **self._make[step.kind](step, state)}
        if state.phase == "task":
            self._note(answer)
        if answer["kind"] == "message":
            self._sent_at = asyncio.get_running_loop().time()
        return await self._answer(answer)

    def _note(self, answer: dict[str, Any]) -> None:
        self.outcome.answers.append(answer)
        turns, kind = self.outcome.turns, answer["kind"]
        if kind == "message":
            self._message = answer["text"]
        elif kind == "choose":
            turns.append(SentTurn(self._message, selected=answer["selected"], reason=answer["reason"]))
        elif kind == "tick" and answer["step_id"].startswith("rate-"):
            turns.append(SentTurn(self._message, ticks=answer["selected"]))
        elif kind == "write":
            turns[-1].written = answer["text"]
        elif kind == "feedback":
            self.outcome.feedback = answer["text"]

    async def _answer(self, answer: dict[str, Any]) -> PageState:
        state = await self._client.answer(answer)
        if state.notice is not None and state.notice.level == "error":
            raise RuntimeError(f"an answer of {self.outcome.worker} was refused: {state.notice.text}")
        return state


def browser_of_simulated(worker: str) -> Browser:
    """The same in every launch, so that a simulated rater may come back. It is no secret: anybody can work it out."""
    return Browser(hashlib.sha256(f"simulated:{worker}".encode()).hexdigest())


async def run_raters(
    base_url: str,
    behaviour: Behaviour,
    *,
    announce: Callable[[str], None],
    raters: int,
    dialogues: int,
    seed: int,
    name: str = "sim",
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """``dialogues`` workers, ``raters`` of them at a time.

    ``announce`` is told each worker's name before they come: a launch's ``expect_simulated``, so that its records say
    that no person rated.

    Raises:
        RuntimeError: an answer was refused; the others are cancelled.
    """
    places = asyncio.Semaphore(raters)

    async def rate(number: int) -> Outcome:
        async with places:
            worker = f"{name}-{number}"
            announce(worker)
            outcome = await SimulatedRater(base_url, worker, behaviour, seed=seed).run()
            on_outcome(outcome)
            return outcome

    return list(await asyncio.gather(*(rate(number) for number in range(1, dialogues + 1))))
