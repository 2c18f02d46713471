"""A page led by a test that is not a coroutine, and answers that no page would send: for machines of random steps."""

from __future__ import annotations

import asyncio
import random
import threading
import uuid
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, TypeVar

from storm.facts import Fact, sent

from mephisto_tasks.server.security import Browser
from mephisto_tasks.simulation.page_client import PageClient, PageError
from mephisto_tasks.simulation.raters import Answers, Behaviour, by_kind
from parlai_humaneval.schema.steps import EndStep, PageState, WaitStep

Found = TypeVar("Found")
WAIT_S = 20.0
LONGEST_TEXT = "word " * 4000
LONGEST_PACKET = "x" * 300_000


class Loop:
    """An event loop in a thread, which pages live in while a test thinks."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="pages", daemon=True)

    def __enter__(self) -> Loop:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(WAIT_S)
        self._loop.close()

    def __call__(self, work: Coroutine[Any, Any, Found]) -> Found:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WAIT_S)


class Page:
    """A worker's page. ``closed``: the sentence with which it ended before its work was done; None while it goes on.

    ``taken``: what must be stored of it. ``last``: the last answer that was taken, as it was sent.
    """

    def __init__(self, loop: Loop, url: str, worker: str, behaviour: Behaviour) -> None:
        self.worker = worker
        self.closed: str | None = None
        self.done = False
        self.taken: list[Fact] = []
        self.last: dict[str, Any] | None = None
        self.refused = 0
        self._loop = loop
        self._url = url
        self._make = by_kind(Answers(behaviour, random.Random(worker)))
        self._browser = Browser()
        self._versions: dict[str, int] = {}
        self._numbers = 0
        self._browser = Browser()
        self.client = self.another()
        self.register()

    def another(self) -> PageClient:
        """One more window of this worker's."""
        client = PageClient(
            self._url,
            worker_id=self.worker,
            assignment_id=f"a-{self.worker}",
            heartbeat_s=0.3,
            request_timeout_s=15,
            browser=self._browser,
        )
        return self._loop(client.__aenter__())

    def register(self) -> None:
        """Load, or load again."""
        self._loop(self.client.register())
        if self.client.refused is not None:
            self.closed = self.client.refused

    def close(self) -> None:
        self._loop(self.client.__aexit__(None, None, None))

    @property
    def agent(self) -> str:
        assert self.client.agent_id is not None
        return self.client.agent_id

    @property
    def practises(self) -> bool:
        return self.agent.startswith("onboarding")

    def state(self) -> PageState:
        """The newest state that is no wait; versions of one agent never go back."""
        return self._loop(self._state())

    async def _state(self) -> PageState:
        state = await self.client.next_state(timeout=WAIT_S)
        while isinstance(state.step, WaitStep):
            state = await self.client.next_state(after_version=state.version, timeout=WAIT_S)
        assert state.version >= self._versions.get(self.agent, 0), "the page's state went back"
        self._versions[self.agent] = state.version
        return state

    def right_answer(self) -> tuple[dict[str, Any], PageState]:
        """An answer to what is asked now, with what asked for it."""
        state = self.state()
        step = state.step
        assert not isinstance(step, (EndStep, WaitStep)), step
        self._numbers += 1
        answer = {"step_id": step.step_id, **self._make[step.kind](step, state)}
        mark = f" [{self.worker}.{self._numbers}]"
        for name in ("text", "reason"):
            if answer.get(name):
                answer[name] += mark
        if answer.get("reasons"):
            answer["reasons"] = {name: text + mark for name, text in answer["reasons"].items()}
        return answer, state

    def go_on(self) -> None:
        """One step further: an answer that must be taken, or what a last step asks for."""
        if self.closed is not None or self.done:
            return
        if isinstance(self.state().step, EndStep):
            self._hand_in()
            return
        answer, state = self.right_answer()
        answer["update_id"] = uuid.uuid4().hex
        notice = self.answer(answer).notice
        assert notice is None or notice.level != "error", f"{answer} was refused: {notice}"
        self.last = answer
        if state.phase == "task":
            self.taken += sent(answer, state)

    def _hand_in(self) -> None:
        step = self.state().step
        assert isinstance(step, EndStep)
        if step.next == "submit_onboarding":
            self._loop(self.client.submit_onboarding())
            self.closed = self.client.refused
        elif step.next == "submit":
            self._loop(self.client.submit_task())
            self.done = True
        else:
            self.closed = step.text

    def answer(self, answer: Mapping[str, Any]) -> PageState:
        """The state that confirms it."""
        return self._loop(self.client.answer(dict(answer), timeout=WAIT_S))

    def refuses(self, answer: Mapping[str, Any]) -> str:
        """The sentence with which an answer is refused, which it must be; what is asked stays as it was."""
        before = self.state().step
        state = self.answer(answer)
        assert state.notice is not None, f"{answer} was taken"
        assert state.notice.level == "error", f"{answer} was taken"
        assert self.state().step == before
        self.refused += 1
        return state.notice.text

    def send(self, packet: Mapping[str, Any] | str) -> None:
        """Anything at all, on the connection of the moment."""
        self._loop(self.client.send_raw(packet if isinstance(packet, str) else dict(packet)))

    def error_after(self, packet: Mapping[str, Any] | str) -> str:
        """The router's sentence on a packet, which it must not take."""
        before = len(self.client.errors)
        self.send(packet)
        return self._loop(self.client.next_error(after=before, timeout=WAIT_S))

    def refusal_of(self, work: Callable[[PageClient], Coroutine[Any, Any, Any]]) -> str:
        """The sentence of a request that must be refused."""
        try:
            self._loop(work(self.client))
        except PageError as error:
            return str(error)
        raise AssertionError("it was not refused")


Wrong = Callable[[dict[str, Any]], dict[str, Any]]


def _instead(**fields: Any) -> Wrong:
    return lambda answer: {**answer, **fields}


def _body_of(value: Any) -> Wrong:
    """What stands in the answer beside its kind and step is something else."""
    return lambda answer: {name: given if name in ("kind", "step_id") else value for name, given in answer.items()}


WRONG: dict[str, Wrong] = {
    "another step": lambda answer: {**answer, "step_id": answer["step_id"] + "-9"},
    "no step": lambda answer: {name: value for name, value in answer.items() if name != "step_id"},
    "a list for a step": _instead(step_id=[]),
    "an unknown kind": _instead(kind="win"),
    "no kind": lambda answer: {name: value for name, value in answer.items() if name != "kind"},
    "a field too much": _instead(model="alpha"),
    "numbers for all": _body_of(7),
    "nothing for all": _body_of(None),
    "objects for all": _body_of({"a": {"b": [None]}}),
    "an early submit": lambda answer: {"kind": "submit", "step_id": answer["step_id"]},
    "nothing": lambda answer: {},
    "a text without end": lambda answer: {"kind": "message", "step_id": answer["step_id"], "text": LONGEST_TEXT},
    "cards that were not shown": lambda answer: {
        "kind": "choose",
        "step_id": answer["step_id"],
        "selected": ["f" * 32],
        "reason": "they are not there",
    },
    "ratings of the moon": lambda answer: {"kind": "rate", "step_id": answer["step_id"], "values": {"moon": 1e300}},
}
"""Name → a right answer made wrong, whatever step it answers."""
