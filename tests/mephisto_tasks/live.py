"""Launching studies, and raters led by the hand through their pages, over real HTTP and websockets."""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import socket
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Any

from scripted_models import zoo_file
from typing_extensions import Self

from mephisto_tasks.launch import launch as launching
from mephisto_tasks.launch.config import compose_config
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.server.security import Browser
from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.storage.results import read_dialogues
from parlai_humaneval.materials.instructions import ChooseItem
from parlai_humaneval.schema.records import DialogueRecord
from parlai_humaneval.schema.steps import ChooseStep, EndStep, MessageStep, PageState, WaitStep

Launch = Callable[..., AbstractAsyncContextManager[RunningStudy]]
"""What the fixture ``start`` is."""

TASK = "test-task"
EMBEDDED = ("eliza", "retrieval", "degraded")
REASON = "because it is so much better"


@contextmanager
def launch(data_dir: Path, *, task: str = "pw_turn", **settings: Any) -> Iterator[RunningStudy]:
    """A launch of PW-Turn, or another ``task``, with two scripted models ``alpha`` and ``beta``.

    Settings of the blueprint go by name.

    ``conf``, ``task_name``, ``reward``, ``disconnect_after_s`` and ``port`` are the conf, and settings of task and server;
    ``overrides`` are any others, as on the command line.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    with launching.run_launch(task, config_of(data_dir, task, **settings), data_dir) as run:
        yield run


@asynccontextmanager
async def launch_beside(data_dir: Path, **settings: Any) -> AsyncIterator[RunningStudy]:
    """:func:`launch` from a coroutine: pages live on while it starts and, more so, while it ends."""
    manager = launch(data_dir, **settings)
    run = await asyncio.to_thread(manager.__enter__)
    try:
        yield run
    finally:
        await asyncio.to_thread(manager.__exit__, None, None, None)


def config_of(data_dir: Path, task: str = "pw_turn", **settings: Any) -> Any:
    models = settings.pop("models", ["alpha", "beta"])
    return composed(
        task,
        {
            "models": models,
            "zoo_files": [str(zoo_file(data_dir, [name for name in models if name not in EMBEDDED]))],
            "turns": 2,
            "dialogues_per_group": 1,
            **settings,
        },
    )


def composed(task: str, settings: dict[str, Any]) -> Any:
    """Settings by name, as for :func:`launch`; paid, no practice and the seed 5 unless they say otherwise."""
    blueprint = {"onboarding_qualification": None, "seed": 5, **settings}
    conf, task_name = blueprint.pop("conf", "local"), blueprint.pop("task_name", TASK)
    port, disconnect = blueprint.pop("port", 0), blueprint.pop("disconnect_after_s", 60)
    others, reward = blueprint.pop("overrides", []), blueprint.pop("reward", 2.5)
    overrides = [f"mephisto.blueprint.{key}={_hydra(value)}" for key, value in blueprint.items()]
    overrides += [
        f"mephisto.architect.port={port}",
        f"mephisto.architect.disconnect_after_s={disconnect}",
        f"mephisto.task.task_name={task_name}",
        f"mephisto.task.task_reward={reward}",
        *others,
    ]
    return compose_config(task, conf, overrides)


def _hydra(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return "[" + ",".join(_hydra(item) for item in value) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_hydra(item)}" for key, item in value.items()) + "}"
    return json.dumps(value) if isinstance(value, str) else str(value)


def good_replies(run: RunningStudy) -> frozenset[str]:
    """The right replies of the practice."""
    assert run.study.practice is not None
    items = [item for item in run.study.practice.items if isinstance(item, ChooseItem)]
    return frozenset(item.replies[number - 1] for item in items for number in item.right)


def records(run: RunningStudy) -> list[DialogueRecord]:
    return read_dialogues(run.data_dir, run.task_name)


def rows(data_dir: Path, sql: str, *values: Any) -> list[tuple[Any, ...]]:
    """What Mephisto's database holds."""
    with closing(sqlite3.connect(f"file:{data_dir / 'database.db'}?mode=ro", uri=True)) as connection:
        return connection.execute(sql, values).fetchall()


def same_but_for_the_notice(before: PageState, after: PageState) -> bool:
    """Whether a refused answer has changed nothing that the rater sees."""
    ignored = {"version", "notice", "confirmed"}
    return before.model_dump(exclude=ignored) == after.model_dump(exclude=ignored)


async def eventually(condition: Callable[[], Any], timeout: float = 10.0) -> None:
    """Wait until ``condition`` holds."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        await asyncio.sleep(0.02)


def lasting_port() -> int:
    """A free port that the system gives to nobody who asks for any: it stays free between a launch and the next."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def browser_of(person: str) -> Browser:
    """The one browser that a person of the tests has, in whichever test and process."""
    return Browser(hashlib.sha256(f"person:{person}".encode()).hexdigest())


class Visitor:
    """Somebody's page: ``async with`` registers. A subclass knows whose it is, and how to lead them."""

    def __init__(self, client: PageClient) -> None:
        self.client = client

    async def __aenter__(self) -> Self:
        await self.client.__aenter__()
        await self.client.register()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.client.__aexit__(kind, error, trace)

    @property
    def newest(self) -> PageState:
        assert self.client.state is not None
        return self.client.state


class Rater(Visitor):
    """One page of one worker, led step by step.

    ``async with Rater(run, "w1") as rater`` registers. Methods return the newest state that asks for something.
    ``browser``: by default that of the person of this name, so that they come back as a reload or a second tab does.
    """

    def __init__(
        self,
        where: RunningStudy | str,
        worker: str = "w1",
        assignment: str | None = None,
        *,
        browser: Browser | None = None,
    ) -> None:
        self.url = where if isinstance(where, str) else where.url
        self.worker = worker
        assignment = assignment or f"a-{worker}"
        super().__init__(
            PageClient(
                self.url,
                worker_id=worker,
                assignment_id=assignment,
                heartbeat_s=0.5,
                browser=browser or browser_of(worker),
            )
        )

    async def state(self, timeout: float = 15.0) -> PageState:
        """The newest state that is not a wait."""
        assert self.client.refused is None, self.client.refused
        state = await self.client.next_state(timeout=timeout)
        while isinstance(state.step, WaitStep):
            state = await self.client.next_state(after_version=state.version, timeout=timeout)
        return self.newest if not isinstance(self.newest.step, WaitStep) else state

    async def send(self, **answer: Any) -> PageState:
        """Answer, and the state that confirmed it."""
        return await self.client.answer(answer)

    async def write(self, text: str) -> PageState:
        step = (await self.state()).step
        assert isinstance(step, MessageStep)
        await self.send(kind="message", step_id=step.step_id, text=text)
        return await self.state()

    async def choose(self, position: int = 0, reason: str = REASON) -> PageState:
        step = (await self.state()).step
        assert isinstance(step, ChooseStep)
        selected = [step.cards[position].candidate_id]
        await self.send(kind="choose", step_id=step.step_id, selected=selected, reason=reason)
        return await self.state()

    async def choose_after(self, text: str) -> PageState:
        """Write, and choose among the replies."""
        await self.write(text)
        return await self.choose()

    async def practise(self, answers: Sequence[str], good: frozenset[str]) -> PageState:
        """Practice items answered ``good`` or ``bad`` in turn."""
        state = await self.state()
        for answer in answers:
            assert isinstance(state.step, ChooseStep)
            card = next(card for card in state.step.cards if (card.text in good) == (answer == "good"))
            await self.send(kind="choose", step_id=state.step.step_id, selected=[card.candidate_id])
            state = await self.state()
        return state

    async def prefer(self, model: str, run: RunningStudy) -> PageState:
        """To the end, the model's reply taken every time, unit handed in."""
        state = await self.state()
        while isinstance(state.step, ChooseStep | MessageStep):
            if isinstance(state.step, MessageStep):
                state = await self.write("And what else?")
            else:
                shown = [run.study.shown.get(card.candidate_id) for card in state.step.cards]
                state = await self.choose(shown.index(model))
        return await self.finish()

    async def talk_until(self, kind: str, turn: int = 99) -> PageState:
        """Go on, first card every time, until a step of ``kind`` in ``turn`` (or the feedback) is there."""
        state = await self.state()
        while not isinstance(state.step, EndStep) and state.step.kind != "feedback":
            assert state.progress is not None
            if state.step.kind == kind and state.progress.current >= turn:
                return state
            if isinstance(state.step, MessageStep):
                state = await self.write(f"{self.worker} in turn {state.progress.current}")
            else:
                state = await self.choose()
        return state

    async def finish(self, feedback: str = "") -> PageState:
        """To the end, unit handed in."""
        state = await self.talk_until("feedback")
        if state.step.kind == "feedback":
            await self.send(kind="feedback", step_id="feedback", text=feedback)
            state = await self.state()
        assert isinstance(state.step, EndStep)
        assert state.step.next == "submit", state.step
        await self.client.submit_task()
        return state


async def whole_dialogue(run: RunningStudy, worker: str, browser: Browser | None = None) -> None:
    """One rater from arrival to submit; refused is a failure."""
    async with Rater(run, worker, browser=browser) as rater:
        assert rater.client.refused is None, rater.client.refused
        await rater.finish()


OTHERS: set[threading.Thread] = set()
"""Threads that other files of the same process have left: pools of ParlAI's own commands are closed at its end only."""


def threads_of_launches() -> list[str]:
    """Threads that a launch must not leave behind."""
    mine = (
        "router",
        "operator-loop",
        "Unit-thread",
        "Onboard-thread",
        "model-",
        "models-of",
        "unit-generator",
        "asyncio_",
        "registering",
    )
    shared = "model-tiny_"  # of the tests' own pool, which lives as long as its process
    names = [thread.name for thread in threading.enumerate() if thread not in OTHERS]
    return [name for name in names if name.startswith(mine) and not name.startswith(shared)]
