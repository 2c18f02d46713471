"""A rater in a storm: goes on as a person would who reads what the page says, and remembers what was confirmed."""

from __future__ import annotations

import asyncio
import contextlib
import random
import uuid
from collections.abc import Sequence
from typing import Any

from mephisto_tasks.server.security import Browser
from mephisto_tasks.simulation.page_client import PageClient, PageError
from mephisto_tasks.simulation.raters import Answers, Behaviour, by_kind
from parlai_humaneval.schema.steps import EndStep, PageState, WaitStep
from storm.facts import sent
from storm.line import Line
from storm.notebook import Notebook, Sent
from storm.study import StormStudy

PATIENCE_S = 600.0
"""Longer than any storm: whether somebody hangs is for the storm to say."""
HEARTBEAT_S = 1.0
AGAIN_S = 1.5
"""After how long somebody tries again who was asked to."""
PASSING = ("another page", "have paused", "technical reasons", "are taken right now", "again")
"""Words of refusals that may be over in a minute."""
COME_BACK = ("reload this page",)
"""Words of last pages that invite to come back at once."""
FORGERIES: Sequence[dict[str, Any]] = (
    {"kind": "message", "step_id": "message-99", "text": "forged: to a step that is not there"},
    {"kind": "choose", "step_id": "choose-1", "selected": ["f" * 32], "reason": "forged: of no such card"},
    {"kind": "feedback", "step_id": "feedback", "text": ""},
    {"kind": "win", "step_id": []},
    {"kind": "form", "step_id": "form-1", "values": {"preference": "third"}, "reasons": {}},
    {},
)


class Tab:
    """A window of a rater's browser, or of another one, which nobody knows."""

    def __init__(self, url: str, worker: str, browser: Browser | None = None) -> None:
        self.client = PageClient(
            url, worker_id=worker, assignment_id=f"a-{worker}", heartbeat_s=HEARTBEAT_S, browser=browser or Browser()
        )

    async def __aenter__(self) -> PageClient:
        return await self.client.__aenter__()


class StormRater:
    """One worker of one study. :meth:`run` ends when there is nothing more for them, or when they left.

    The weather calls the other methods: they return at once, and what they do happens to whatever is under way.
    """

    def __init__(self, study: StormStudy, worker: str, behaviour: Behaviour, seed: int) -> None:
        self.study = study
        self.line = Line(study.port)
        self.book = Notebook(worker, study.task_name)
        self._random = random.Random(f"rater:{seed}:{worker}")
        self._make = by_kind(Answers(behaviour, self._random))
        self._think_s = behaviour.think_s
        self._browser = Browser()
        self._tabs: list[PageClient] = []
        self._visit: asyncio.Task[None] | None = None
        self._numbers = 0
        self._answered: set[tuple[int, str]] = set()
        self._conversation: list[str] = []
        self._place: int | None = None
        self._unfinished = False
        self._may_begin_anew = False

    @property
    def client(self) -> PageClient:
        return self._tabs[-1]

    @property
    def has_page(self) -> bool:
        """Whether they have opened a page yet."""
        return bool(self._tabs)

    @property
    def url(self) -> str:
        return self.line.url

    async def run(self) -> Notebook:
        """From arrival to the last page."""
        async with self.line:
            await self._open()
            try:
                while self.book.ended is None:
                    self._visit = asyncio.create_task(self._sit())
                    with contextlib.suppress(asyncio.CancelledError):
                        await self._visit
            finally:
                for tab in self._tabs:
                    await tab.__aexit__(None, None, None)
        return self.book

    # -- the weather

    def reload(self, why: str = "reloads the page") -> None:
        """The page is loaded again, in the middle of whatever it does."""
        self.book.note(why)
        self.book.reloads += 1
        if self._visit is not None:
            self._visit.cancel()

    def leave(self) -> None:
        """The page is closed, for good."""
        if self.book.ended is None:
            self.book.finish("left", "")
        self.line.kill()
        if self._visit is not None:
            self._visit.cancel()

    def find_closed(self) -> None:
        """Nobody answers at the address any more, for the study has all that it asked for."""
        if self.client.reconnects or self.client.agent_id is None:
            self.book.finish("found it closed", "")
            if self._visit is not None:
                self._visit.cancel()

    def give_up(self) -> None:
        """It has lasted too long: this worker hangs."""
        self.book.finish("hangs", "")
        if self._visit is not None:
            self._visit.cancel()

    async def away(self, seconds: float) -> None:
        """The line is dead; then the page is opened again."""
        self.book.note(f"is away for {seconds:.1f} s")
        await self.line.die(seconds)
        self.reload("comes back")

    async def second_tab(self) -> None:
        """The same address once more, in another window, where they go on."""
        self.book.note("opens a second tab")
        await self._open()
        self.reload("goes on in the second tab")

    async def forge(self) -> None:
        """What no page would send, from this page."""
        forged = self._random.choice(FORGERIES)
        self.book.note(f"forges {forged}")
        data = {"update_id": uuid.uuid4().hex, **forged}
        packet = {"packet_type": "mephisto_bound_live_update", "subject_id": self.client.agent_id, "data": data}
        with contextlib.suppress(PageError, OSError, asyncio.TimeoutError, ConnectionError, RuntimeError):
            await self.client.send_raw(packet)

    # -- the rater

    async def _open(self) -> None:
        tab = Tab(self.url, self.book.worker, self._browser)
        self._tabs.append(await tab.__aenter__())

    async def _sit(self) -> None:
        """One load of the page, up to a last word or an error after which a person loads it again."""
        book = self.book
        try:
            book.waits()
            details = await self.client.register()
            book.note(f"has the page of {details.get('agent_id')}" if self.client.refused is None else "is turned away")
            await self._go_on()
        except PageError as error:
            book.note(f"reads: {error}")
            await asyncio.sleep(AGAIN_S)
        except (asyncio.TimeoutError, OSError, ConnectionError) as error:
            book.note(f"nothing works: {error!r}")
            await asyncio.sleep(AGAIN_S)

    async def _go_on(self) -> None:
        client, version, first = self.client, None, True
        while client.refused is None:
            state = await client.next_state(after_version=version, timeout=PATIENCE_S)
            if isinstance(state.step, WaitStep):
                version = state.version
                continue
            self.book.has_it()
            if first and state.phase == "task":
                self._compare(state)
            first = False
            if isinstance(state.step, EndStep):
                if await self._end(state.step):
                    return
                version, first = None, True
                continue
            await self._think()
            await self._answer(state)
            version = state.version
        self._refused(client.refused)
        await asyncio.sleep(AGAIN_S)

    def _refused(self, words: str) -> None:
        self.book.has_it()
        if any(part in words for part in PASSING):
            self.book.note(f"is to try again: {words}")
        else:
            self.book.finish("refused", words)

    async def _end(self, step: EndStep) -> bool:
        """True when this load of the page is over."""
        if step.next == "submit_onboarding":
            self.book.note(f"practice: {step.title}")
            self.book.waits()
            await self.client.submit_onboarding()
            return False
        self._unfinished = False
        if step.next == "submit":
            self.book.note(f"is told: {step.title}")
            await self.client.submit_task()
            self.book.finish("handed in", step.title)
        elif any(part in step.text for part in COME_BACK):
            self._may_begin_anew = self._unfinished = True
            self.book.note(f"is told: {step.title}")
            await asyncio.sleep(AGAIN_S)
        elif "paused" in step.title and self._random.random() < 0.7:
            self._unfinished = True
            self.book.note(f"is told: {step.title}, and will look again")
            await asyncio.sleep(2 * AGAIN_S)
        else:
            self.book.finish("told", step.title)
        return True

    async def _think(self) -> None:
        await asyncio.sleep(self._random.expovariate(1 / self._think_s))

    async def _answer(self, state: PageState) -> None:
        step = state.step
        assert not isinstance(step, (EndStep, WaitStep))
        answer = self._own({"step_id": step.step_id, **self._make[step.kind](step, state)})
        answer["update_id"] = uuid.uuid4().hex
        entry = Sent(sent(answer, state), step.step_id)
        if state.phase == "task":
            self._place = _place(state)
            if (self._place, step.step_id) in self._answered:
                self.book.asked_twice += 1
                self.book.note(f"is asked {step.step_id} once more, which was confirmed")
            self._unfinished = step.kind != "feedback"
            self.book.answers.append(entry)
        self.book.note(f"answers {step.step_id} by {answer['kind']} {answer.get('text', '')}")
        self.book.waits()
        confirmed = await self.client.answer(answer, timeout=PATIENCE_S)
        if answer["update_id"] not in confirmed.confirmed:
            self.book.note("comes to the end without a word on this answer")
        elif confirmed.notice is not None and confirmed.notice.level == "error":
            entry.refused = confirmed.notice.text
            self.book.note(f"is refused: {entry.refused}")
        else:
            entry.confirmed = True
            self._remember(answer, state)

    def _remember(self, answer: dict[str, Any], state: PageState) -> None:
        if state.phase != "task":
            return
        self._answered.add((_place(state), answer["step_id"]))
        if answer["kind"] in ("message", "write"):
            self._conversation.append(answer["text"].strip())
        if answer["kind"] in ("rate", "feedback"):
            self._conversation.clear()

    def _forget(self) -> None:
        self._conversation.clear()
        self._answered.clear()

    def _own(self, answer: dict[str, Any]) -> dict[str, Any]:
        """With a number of its own in whatever text it has."""
        self._numbers += 1
        mark = f" [{self.book.worker}.{self._numbers}]"
        for name in ("text", "reason"):
            if answer.get(name):
                answer[name] += mark
        if answer.get("reasons"):
            answer["reasons"] = {name: text + mark for name, text in answer["reasons"].items()}
        return answer

    def _compare(self, state: PageState) -> None:
        """Whoever comes back finds their conversation, or their place, as it was."""
        if not self._unfinished or self._place is None:
            return
        if _place(state) > self._place:  # the last answer was taken, and that was not heard
            self._conversation.clear()
        lines = {entry.text.strip() for entry in state.transcript}
        lost = [text for text in self._conversation if text not in lines]
        back = _place(state) < self._place
        if not lost and not back:
            self.book.resumed += 1
            self.book.note("finds it as it was")
        elif self._may_begin_anew:
            self.book.note("has something new, after having been away for too long")
            self._forget()
        else:
            self.book.began_anew += 1
            self.book.note(f"has to begin anew: {len(lost)} lines are gone; at {_place(state)}, was at {self._place}")
            self._forget()
        self._may_begin_anew = False


def _place(state: PageState) -> int:
    """How far the unit has come: conversations and items count; turns are seen in the transcript."""
    progress = state.progress
    if progress is None:
        return 10_000
    return 0 if progress.unit == "turn" else progress.current
