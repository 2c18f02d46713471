"""A rater of our per-turn task, as quick as the peer's: the first card, the same sentences, the same pauses."""

from __future__ import annotations

import asyncio
import random
import time

from benchmarks.peer.rater import MESSAGE, REASON
from mephisto_tasks.simulation.page_client import PageClient
from parlai_humaneval.schema.steps import ChooseStep, EndStep, FeedbackStep, MessageStep, PageState

TIMEOUT_S = 120.0


class OurRater:
    """One worker who rates one dialogue. ``think_s``: mean pause before an answer, in seconds."""

    def __init__(self, url: str, worker: str, think_s: float) -> None:
        self._client = PageClient(url, worker_id=worker, assignment_id=f"a-{worker}")
        self._think_s, self._random = think_s, random.Random(worker)
        self._sent: float | None = None
        self.waits_s: list[float] = []
        """Seconds from sending a message to receiving both replies."""

    async def run(self) -> list[float]:
        """The whole dialogue; returns :attr:`waits_s`. Raises RuntimeError when the rater cannot finish."""
        async with self._client as client:
            await client.enter()
            if client.refused is not None:
                raise RuntimeError(f"a rater was turned away: {client.refused}")
            state = await client.next_state(timeout=TIMEOUT_S)
            while not isinstance(state.step, EndStep):
                state = await self._step(state)
            if state.step.next != "submit":
                raise RuntimeError(f"a rater was stopped: {state.step.title}")
            await client.submit_task()
        return self.waits_s

    async def _step(self, state: PageState) -> PageState:
        """Answer what is asked, if anything, and wait for what comes after."""
        step = state.step
        if isinstance(step, ChooseStep):
            if self._sent is not None:
                self.waits_s.append(time.perf_counter() - self._sent)
                self._sent = None
            await self._think()
            chosen = [step.cards[0].candidate_id]
            return await self._answer({"kind": "choose", "selected": chosen, "reason": REASON}, step.step_id)
        if isinstance(step, MessageStep):
            await self._think()
            self._sent = time.perf_counter()
            return await self._answer({"kind": "message", "text": MESSAGE}, step.step_id)
        if isinstance(step, FeedbackStep):
            return await self._answer({"kind": "feedback", "text": ""}, step.step_id)
        return await self._client.next_state(after_version=state.version, timeout=TIMEOUT_S)

    async def _answer(self, answer: dict[str, object], step_id: str) -> PageState:
        state = await self._client.answer({**answer, "step_id": step_id})
        if state.notice is not None and state.notice.level == "error":
            raise RuntimeError(f"an answer was refused: {state.notice.text}")
        newest = self._client.state
        return state if newest is None or newest.version < state.version else newest

    async def _think(self) -> None:
        if self._think_s:
            await asyncio.sleep(self._random.expovariate(1 / self._think_s))
