"""How long a rater waits for an answer while somebody else floods the server.

One launch; a rater who goes on answering, dialogue after dialogue; and beside them each flood in turn, from a process of its
own which is as quick as the server lets it be. What is too much is refused to the flood: the rater must not feel it.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import multiprocessing
import os
import statistics
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.figures import Figure, percentile
from benchmarks.processes import BenchmarkError
from benchmarks.sides import instant_models, our_launch, wait_for_page
from mephisto_tasks.server.packets import MAX_BODY, MAX_REQUEST
from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.simulation.raters import Behaviour, SimulatedRater
from parlai_humaneval.schema.steps import PageState

PACKETS = 5000
LONGEST_S = 12.0
"""A flood lasts for half as long, and on until it has sent :data:`PACKETS`, at most for so long."""
QUIET_S = 10.0
"""How long the rater is alone, before the first flood; after each there is a pause of :data:`PAUSE_S`."""
PAUSE_S = 3.0
THINK_S = 0.03
"""Mean pause of the rater before each answer: the shorter, the more delays are measured."""
TURNS = 60
"""Of a dialogue."""
FIRST = 20
"""Answers that count for nothing."""
AT_ONCE = 50
"""Requests that a flood has under way."""
ENVELOPE = 1024
"""Bytes around a long text, so that the whole is as long as it may be and is read."""
LONG_REQUEST, LONG_ANSWER = "x" * (MAX_REQUEST - ENVELOPE), "x" * (MAX_BODY - ENVELOPE)
ABOUT = (
    f"one launch of pw_turn with two instant models, one rater who pauses {THINK_S:g} s in the mean before each answer; "
    "each flood from a process of its own that shares the processors with the launch"
)


class Bystander(SimulatedRater):
    """Notes how long each answer waits for its confirmation, and when that was."""

    def __init__(self, url: str, worker: str, delays: list[tuple[float, float]]) -> None:
        super().__init__(url, worker, Behaviour(think_s=THINK_S), seed=1)
        self._delays = delays

    async def _answer(self, answer: dict[str, Any]) -> PageState:
        asked = time.monotonic()
        state = await super()._answer(answer)
        self._delays.append((asked, time.monotonic() - asked))
        return state


# -- floods, each in a process of its own


@dataclass
class Sender:
    """Counts what came of the packets of one flood."""

    url: str
    until: float
    at_last: float
    packets: int
    results: Counter[str] = field(default_factory=Counter)

    @property
    def over(self) -> bool:
        return time.monotonic() > self.until and (
            self.results.total() >= self.packets or time.monotonic() > self.at_last
        )


async def registrations(sender: Sender) -> None:
    """New workers, one after the other."""

    def body() -> dict[str, Any]:
        name = uuid.uuid4().hex
        registration = {"worker_name": name, "agent_registration_id": f"a-{name}", "assignment_id": "a"}
        return {"provider_data": {**registration, "provider_type": "mock"}}

    await _posts(sender, "/request_agent", body)


async def long_bodies(sender: Sender) -> None:
    """Requests as long as they may be."""
    await _posts(sender, "/request_agent", lambda: {"provider_data": {"worker_name": 1, "x": LONG_REQUEST}})


async def errors_of_strangers(sender: Sender) -> None:
    """Long reports of errors, without a token."""
    await _posts(sender, "/log_error", lambda: {"error_data": {"error_type": "version-mismatch", "text": LONG_REQUEST}})


async def errors_of_a_rater(sender: Sender) -> None:
    """Long reports of errors of an admitted page."""
    async with PageClient(sender.url, worker_id=f"errs-{uuid.uuid4().hex}", assignment_id="a") as page:
        details = await page.register()
        token = {"USED_AGENT_ID": details["agent_id"], "agent_token": details["agent_token"]}
        await _posts(sender, "/log_error", lambda: {**token, "error_data": {"text": LONG_REQUEST}})


async def _posts(sender: Sender, path: str, body: Callable[[], dict[str, Any]]) -> None:
    async def one(session: aiohttp.ClientSession) -> None:
        while not sender.over:
            try:
                async with session.post(sender.url + path, json=body()) as response:
                    await response.read()
                    sender.results[str(response.status)] += 1
            except (aiohttp.ClientError, OSError):
                sender.results["cut off"] += 1

    timeout = aiohttp.ClientTimeout(total=LONGEST_S)
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.gather(*(one(session) for _ in range(AT_ONCE)))


async def answers_of_a_rater(sender: Sender) -> None:
    """Answers of an admitted page, each a new one."""
    answer = {"kind": "message", "step_id": "no such", "text": "Hi!"}
    await _packets(sender, "mephisto_bound_live_update", lambda: answer)


async def long_answers_of_a_rater(sender: Sender) -> None:
    """The same, as long as a message may be."""
    answer = {"kind": "message", "step_id": "no such", "text": LONG_ANSWER}
    await _packets(sender, "mephisto_bound_live_update", lambda: answer)


async def greetings_of_a_rater(sender: Sender) -> None:
    """“alive”, again and again: each is answered with all that waits."""
    await _packets(sender, "alive", dict)


async def _packets(sender: Sender, kind: str, data: Callable[[], dict[str, Any]]) -> None:
    """Packets of one admitted agent, which comes back whenever it was cut off."""
    async with PageClient(sender.url, worker_id=f"flood-{uuid.uuid4().hex}", assignment_id="a") as page:
        details = await page.register()
    agent_id, token = details["agent_id"], details["agent_token"]
    alive = {"packet_type": "alive", "subject_id": agent_id, "data": {"agent_token": token, "last_seq": 0}}
    async with aiohttp.ClientSession() as session:
        while not sender.over:
            try:
                async with session.ws_connect(sender.url, max_msg_size=0) as socket:
                    await socket.send_json(alive)
                    reading = asyncio.create_task(_read_all(socket))
                    while not sender.over and not socket.closed:
                        told = {"agent_token": token, "last_seq": 0, "update_id": uuid.uuid4().hex, **data()}
                        await socket.send_json({"packet_type": kind, "subject_id": agent_id, "data": told})
                        sender.results["sent"] += 1
                    reading.cancel()
            except (aiohttp.ClientError, OSError):
                sender.results["cut off"] += 1
            await asyncio.sleep(0.01)


async def _read_all(socket: aiohttp.ClientWebSocketResponse[bool]) -> None:
    async for _ in socket:
        pass


FLOODS: Mapping[str, Callable[[Sender], Awaitable[None]]] = {
    "errors, no token": errors_of_strangers,
    "errors, a rater's": errors_of_a_rater,
    f"requests of {MAX_REQUEST // 1024} kB": long_bodies,
    "answers over a websocket": answers_of_a_rater,
    f"answers of {MAX_BODY // 1024} kB": long_answers_of_a_rater,
    "greetings over a websocket": greetings_of_a_rater,
    "registrations": registrations,
}
"""The last one fills the study, so that whoever comes later is told to wait."""


def send(told: Connection, name: str, url: str, packets: int, longest_s: float) -> None:
    """One flood, which ends this process: a server that reads slowly would keep its connections open for minutes."""
    now = time.monotonic()
    sender = Sender(url, now + longest_s / 2, now + longest_s, packets)

    def end() -> None:
        told.send(dict(sender.results))
        os._exit(0)

    threading.Timer(longest_s + 1, end).start()

    async def flood() -> None:
        await FLOODS[name](sender)

    asyncio.run(flood())
    end()


_FORKS = multiprocessing.get_context("forkserver")
"""Imports what floods need once, not for each of them."""


def prepare_floods() -> None:
    """So that no rater waits beside imports."""
    _FORKS.set_forkserver_preload([__name__])
    process = _FORKS.Process(target=time.sleep, args=(0,))
    process.start()
    process.join()


def flood_beside(name: str, url: str, packets: int, longest_s: float) -> dict[str, int]:
    """One flood in a process of its own; what came of how many packets."""
    heard, told = _FORKS.Pipe(duplex=False)
    process = _FORKS.Process(target=send, args=(told, name, url, packets, longest_s))
    process.start()
    told.close()
    try:
        came_of: dict[str, int] = heard.recv()
    except EOFError as error:
        raise BenchmarkError(f"the flood of “{name}” broke off") from error
    finally:
        process.join()
    return came_of


# -- the rater beside them


@dataclass
class Beside:
    """The rater's delays while a flood ran, and what came of the flood. ``name``: None for none."""

    name: str | None
    delays_s: list[float]
    came_of: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0


async def measure(url: str, quick: bool) -> list[Beside]:
    """The rater alone, then beside each flood. Raises BenchmarkError where the rater could not go on."""
    delays: list[tuple[float, float]] = []
    bystander = asyncio.create_task(_go_on(url, delays))
    while len(delays) < FIRST and not bystander.done():  # the first of a launch take longer
        await asyncio.sleep(0.1)
    packets, longest_s, quiet_s, pause_s = (20, 0.2, 0.2, 0.1) if quick else (PACKETS, LONGEST_S, QUIET_S, PAUSE_S)
    found = []
    for name in (None, *FLOODS):
        began = time.monotonic()
        came_of: dict[str, int] = {}
        if name is None:
            await asyncio.sleep(quiet_s)
        else:
            came_of = await asyncio.to_thread(flood_beside, name, url, packets, longest_s)
        ended = time.monotonic()
        within: list[float] = []
        last = ended + LONGEST_S
        while not within and time.monotonic() < last:
            # An answer given at the end is confirmed by then, or in the next pause.
            await asyncio.sleep(pause_s)
            if bystander.done():
                await bystander
            within = [delay for asked, delay in delays if asked <= ended and began <= asked + delay]
        if not within:
            raise BenchmarkError(f"the rater beside {name or 'nobody'} got no answer at all")
        found.append(Beside(name, within, came_of, ended - began))
    bystander.cancel()
    return found


async def _go_on(url: str, delays: list[tuple[float, float]]) -> None:
    """Dialogue after dialogue, each as another worker."""
    for number in itertools.count():
        outcome = await Bystander(url, f"bystander-{number}", delays).run()
        if not outcome.finished:
            raise BenchmarkError(f"the rater could not go on: {outcome.refused or outcome.stopped}")


def run(quick: bool) -> list[Figure]:
    """One launch, and all floods."""
    prepare_floods()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        settings = {"dialogues_per_group": 400, "turns": TURNS, "onboarding_qualification": "null"}
        overrides = [f"mephisto.blueprint.{key}={value}" for key, value in settings.items()]
        with our_launch(root, [*instant_models(root), *overrides]) as (url, program):
            wait_for_page(url, program, "parlai-humaneval launch")
            alone, *floods = asyncio.run(measure(url, quick))
            program.check("parlai-humaneval launch")
    return [*_figures(alone, alone), *(figure for flood in floods for figure in _figures(flood, alone))]


def _figures(beside: Beside, alone: Beside) -> list[Figure]:
    """Median and p99, and by how much a flood has lengthened them."""
    what = f"beside “{beside.name}”" if beside.name else "alone"
    came = ", ".join(f"{count:,} {result}" for result, count in sorted(beside.came_of.items()))
    note = f"{ABOUT}. {came} in {beside.seconds:.1f} s" if came else ABOUT
    values = {
        "median": (statistics.median(beside.delays_s), statistics.median(alone.delays_s)),
        "p99": (percentile(beside.delays_s, 0.99), percentile(alone.delays_s, 0.99)),
    }
    figures = []
    for word, (value, before) in values.items():
        told = note if beside is alone else f"{note}; {1000 * (value - before):+.1f} ms beside a rater alone"
        figures.append(
            Figure(
                name=f"a rater's wait, {what}, {word}",
                unit="ms",
                ours=1000 * value,
                note=told,
                repeats=len(beside.delays_s),
            )
        )
    return figures
