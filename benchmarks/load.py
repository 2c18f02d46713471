"""50 to 500 raters at once: what is stored, how long they wait, what the launch needs.

All of them ask for a task in the same second, which is the worst that a link in a mail or a batch of a panel can do, and
then think before each answer as people do. ParlAI's own task meets raters with the same pauses in the same run.

``python -m benchmarks.load --before CHECKOUT`` measures another version of this repository beside this one.
"""

from __future__ import annotations

import asyncio
import json
import math
import multiprocessing
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import click

from benchmarks.figures import Figure, median, percentile
from benchmarks.peer.copy import copy_mephisto, place_pages
from benchmarks.peer.rater import PeerRater, TurnedAway
from benchmarks.processes import REPOSITORY, processor_s, resident_kb, threads
from benchmarks.sides import PEER_READY, instant_models, our_launch, peer_launch, wait_for_page
from benchmarks.stored_turns import StoredByWorker
from mephisto_tasks.simulation.page_client import Details, PageClient
from mephisto_tasks.simulation.raters import Behaviour, Outcome, SimulatedRater, browser_of_simulated
from parlai_humaneval.schema.steps import PageState

RATERS = (50, 100, 200, 500)
BESIDE_PEER = (1, 8, 32)
"""Raters at once of whom both sides are asked."""
TURNS = 3
THINK_S = 3.0
"""Mean pause before each answer, of ours and of the peer's raters."""
SPREAD = 0.6
"""Of the logarithm of a pause: most are short, and some several times as long as the mean."""
A_PROCESS = 125
"""Most raters that one process plays: its own lag is measured, and must be small beside what raters wait."""
LAG_LOOK_S = 0.05
SAMPLE_S = 0.25
"""How often the server's memory and threads are looked at."""
SETTLE_S = 3.0
"""After raters have gone, before memory is read; no longer than they think."""
GATHER_S = 1.0
"""Until the first rater comes, once all processes of raters are there; no longer than they think."""
SERVED_S = 1.0
"""A launch serves so many raters when 99 of 100 of their messages have their cards within this time."""
ATTEMPTS = 5
"""How often a rater tries to get a task of the peer."""
TASK = "pw_turn"

ABOUT = (
    f"one `launch {TASK}` for each number of raters, who all come in the same second; two instant models, {TURNS} turns, "
    f"pauses of {{think:g}} s in the mean before each answer (log-normal, σ {SPREAD:g}); raters are programs in processes "
    f"of at most {A_PROCESS}, which share the processors with the launch"
)
PEER_IS = (
    "Peer: ParlAI's per-turn task through Mephisto's node router, the same models, turns and pauses; its raters ask for a "
    "task one after another, for it loses units otherwise"
)


def pause_s(chance: random.Random, mean_s: float) -> float:
    """How long a person thinks: log-normal, as people's times are."""
    return chance.lognormvariate(math.log(mean_s) - SPREAD**2 / 2, SPREAD)


class TimedPage(PageClient):
    """Notes when it asked for a task, and whether it was told that the study is full: then it asks again, as a page does."""

    asked_at = 0.0
    told_full = False

    async def register(self, here_to: str | None = None) -> Details:
        self.asked_at = time.perf_counter()
        details = await super().register(here_to)
        self.told_full = self.told_full or details.get("try_again_s") is not None
        return details


class LoadRater(SimulatedRater):
    """Notes when the first page came, and thinks as :func:`pause_s` says."""

    first_page_s: float | None = None

    def __init__(self, url: str, worker: str, think_s: float) -> None:
        self.page = TimedPage(url, worker_id=worker, assignment_id=f"a-{worker}", browser=browser_of_simulated(worker))
        super().__init__(url, worker, Behaviour(think_s=think_s), seed=1, page=self.page)

    async def _step(self, state: PageState) -> PageState:
        if self.first_page_s is None:
            self.first_page_s = time.perf_counter() - self.page.asked_at
        return await super()._step(state)

    def _pause_s(self, mean_s: float) -> float:
        return pause_s(self._random, mean_s)


class PacedPeerRater(PeerRater):
    """Thinks as :func:`pause_s` says."""

    def _pause_s(self, mean_s: float) -> float:
        return pause_s(self._random, mean_s)


@dataclass
class Rated:
    """How one rater fared.

    ``first_page_s``: from the request that let them in. ``told_full``: one before had been too early, as the study was full.
    ``error``: what ended them before they had finished.
    """

    outcome: Outcome
    first_page_s: float | None = None
    told_full: bool = False
    error: str | None = None


@dataclass
class Wave:
    """So many raters at once: how they fared, how late their own processes were, and what the server needed."""

    raters: int
    rated: list[Rated] = field(default_factory=list)
    lags_s: list[float] = field(default_factory=list)
    idle_kb: int = 0
    most_kb: int = 0
    after_kb: int = 0
    idle_threads: int = 0
    most_threads: int = 0
    processor_s: float = 0.0
    astray: int = 0

    @property
    def finished(self) -> list[Rated]:
        """Who came to the end."""
        return [each for each in self.rated if each.outcome.finished]

    @property
    def waits_s(self) -> list[float]:
        """From message to cards, of everybody."""
        return [wait for each in self.rated for wait in each.outcome.waits_s]

    @property
    def registrations_s(self) -> list[float]:
        """From the first request to the first page, of everybody who got one."""
        return [each.first_page_s for each in self.rated if each.first_page_s is not None]

    @property
    def refusals(self) -> Counter[str]:
        """The sentences with which raters were turned away for good."""
        return Counter(each.outcome.refused for each in self.rated if each.outcome.refused)


# -- the raters, in processes of their own


def play(url: str, names: Sequence[str], think_s: float, begin_at: float) -> tuple[list[Rated], list[float]]:
    """Rate at once under all these names from a moment on; how they fared, and by how much this process was late."""
    return asyncio.run(_play(url, names, think_s, begin_at))


async def _play(url: str, names: Sequence[str], think_s: float, begin_at: float) -> tuple[list[Rated], list[float]]:
    await asyncio.sleep(max(0.0, begin_at - time.time()))
    lags: list[float] = []
    watch = asyncio.create_task(_watch_lag(lags))
    rated = await asyncio.gather(*(_rate(url, name, think_s) for name in names))
    watch.cancel()
    return list(rated), lags


async def _rate(url: str, name: str, think_s: float) -> Rated:
    rater = LoadRater(url, name, think_s)
    error = None
    try:
        await rater.run()
    except Exception as failure:  # noqa: BLE001 - whatever it was, it is told in the figures, and the others go on
        error = f"{type(failure).__name__}: {failure}"
    return Rated(rater.outcome, rater.first_page_s, rater.page.told_full, error)


async def _watch_lag(lags: list[float]) -> None:
    """How late the loop of these raters is, again and again."""
    while True:
        due = time.perf_counter() + LAG_LOOK_S
        await asyncio.sleep(LAG_LOOK_S)
        lags.append(time.perf_counter() - due)


@contextmanager
def players(raters: int) -> Iterator[ProcessPoolExecutor]:
    """Processes for so many raters, which have imported all they need."""
    number = math.ceil(raters / A_PROCESS)
    with ProcessPoolExecutor(number, mp_context=multiprocessing.get_context("spawn")) as pool:
        for ready in [pool.submit(play, "", (), 0.0, 0.0) for _ in range(number)]:
            ready.result()
        yield pool


# -- one wave


def hold(url: str, pid: int, name: str, raters: int, think_s: float) -> Wave:
    """Raters at once on a launch, to their end; what the server needed meanwhile."""
    wave = Wave(raters, idle_kb=resident_kb(pid), idle_threads=threads(pid))
    names = [f"{name}-{number}" for number in range(raters)]
    with players(raters) as pool:
        used = processor_s(pid)
        begin_at = time.time() + min(GATHER_S, think_s)
        parts = [names[first : first + A_PROCESS] for first in range(0, raters, A_PROCESS)]
        plays = [pool.submit(play, url, part, think_s, begin_at) for part in parts]
        _sample(pid, wave, plays)
        for part in plays:
            rated, lags = part.result()
            wave.rated += rated
            wave.lags_s += lags
        wave.processor_s = processor_s(pid) - used
    time.sleep(min(SETTLE_S, think_s))
    wave.after_kb = resident_kb(pid)
    return wave


def _sample(pid: int, wave: Wave, plays: Sequence[Future[tuple[list[Rated], list[float]]]]) -> None:
    while not all(part.done() for part in plays):
        wave.most_kb = max(wave.most_kb, resident_kb(pid))
        wave.most_threads = max(wave.most_threads, threads(pid))
        time.sleep(SAMPLE_S)


def our_waves(root: Path, numbers: Sequence[int], think_s: float, checkout: Path = REPOSITORY) -> list[Wave]:
    """Waves on one launch of ``checkout``, after one rater who warms it up; with what is stored compared."""
    overrides = [
        *instant_models(root),
        f"mephisto.blueprint.dialogues_per_group={sum(numbers) + 2}",
        f"mephisto.blueprint.turns={TURNS}",
        "mephisto.blueprint.onboarding_qualification=null",
        "mephisto.blueprint.seed=1",
        f"mephisto.task.task_name={TASK}",
    ]
    with our_launch(root, overrides, task=TASK, checkout=checkout) as (url, program):
        wait_for_page(url, program, "parlai-humaneval launch", ready="Link for raters")
        pid = program.process.pid
        asyncio.run(_rate(url, "warm", 0.0))
        waves = [hold(url, pid, f"wave{place}", number, think_s) for place, number in enumerate(numbers)]
    stored = StoredByWorker(root / "data", TASK)
    for wave in waves:
        wave.astray = sum(stored.turns_astray(each.outcome) for each in wave.finished)
    return waves


# -- the peer


async def peer_waits(url: str, name: str, raters: int, think_s: float) -> list[float]:
    """Waits of the peer's raters, who begin at once but for its registration; who is turned away comes back."""
    arriving = asyncio.Lock()

    async def rate(number: int) -> list[float]:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await PacedPeerRater(url, f"{name}-{number}-{attempt}", TURNS, think_s, arriving).run()
            except TurnedAway:
                if attempt == ATTEMPTS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    return [wait for waits in await asyncio.gather(*(rate(number) for number in range(raters))) for wait in waits]


def beside_peer(root: Path, numbers: Sequence[int], think_s: float) -> list[Figure]:
    """Both sides with the same raters, taking turns."""
    copy = copy_mephisto(root / "copy")
    place_pages(copy, root / "peer" / "task")
    peer: list[list[float]] = []
    with peer_launch(root / "peer", copy, ATTEMPTS * (sum(numbers) + 1)) as (url, program):
        wait_for_page(url, program, "ParlAI's task", ready=PEER_READY)
        asyncio.run(peer_waits(url, "warm", 1, 0.0))
        for place, number in enumerate(numbers):
            peer.append(asyncio.run(peer_waits(url, f"wave{place}", number, think_s)))
    ours = our_waves(root / "ours", numbers, think_s)
    note = f"{ABOUT.format(think=think_s)}. {PEER_IS}"
    return [
        Figure(
            name=f"message → cards, {wave.raters} raters, {what}",
            unit="ms",
            ours=1000 * of(wave.waits_s),
            peer=1000 * of(waits),
            peer_source="same run",
            note=note,
            repeats=len(wave.waits_s),
        )
        for wave, waits in zip(ours, peer, strict=True)
        for what, of in (("median", median), ("p99", _p99))
    ]


# -- figures


def _p99(values: Sequence[float]) -> float:
    return percentile(values, 0.99)


def _values(wave: Wave) -> dict[tuple[str, str], float]:
    """What is shown of a wave: (name, unit) → value."""
    waits, registrations = wave.waits_s or [math.nan], wave.registrations_s or [math.nan]
    return {
        ("message → cards, median", "ms"): 1000 * median(waits),
        ("message → cards, p99", "ms"): 1000 * _p99(waits),
        ("first request → first page, median", "s"): median(registrations),
        ("first request → first page, p99", "s"): _p99(registrations),
        ("turns lost, changed or doubled", "turns"): wave.astray,
        ("told to wait, for the study is full", "raters"): sum(each.told_full for each in wave.rated),
        ("came to no end", "raters"): len(wave.rated) - len(wave.finished),
        ("server's memory per open conversation", "kB"): (wave.most_kb - wave.idle_kb) / wave.raters,
        ("server's memory per ended conversation", "kB"): (wave.after_kb - wave.idle_kb) / wave.raters,
        ("server's most threads", "threads"): wave.most_threads,
        ("server's processor time per rater", "ms"): 1000 * wave.processor_s / wave.raters,
        ("lag of the raters' own processes, p99", "ms"): 1000 * _p99(wave.lags_s or [math.nan]),
    }


def figures_of(wave: Wave, think_s: float, before: Wave | None = None) -> list[Figure]:
    """The figures of a wave; beside those of another version, where there is one."""
    note = ABOUT.format(think=think_s)
    if before is not None:
        note += ". In place of a peer stands the other checkout"
    others = None if before is None else _values(before)
    return [
        Figure(
            name=f"{wave.raters} raters: {name}",
            unit=unit,
            ours=value,
            peer=None if others is None else others[name, unit],
            peer_source="none" if others is None else "same run",
            note=note,
            repeats=len(wave.waits_s) if name.startswith("message") else max(1, len(wave.finished)),
        )
        for (name, unit), value in _values(wave).items()
    ]


def served(waves: Sequence[Wave], think_s: float) -> Figure:
    """The most raters at once of whom all finish and 99 of 100 messages are answered in time."""
    prompt = [wave.raters for wave in waves if len(wave.finished) == wave.raters and _p99(wave.waits_s) <= SERVED_S]
    return Figure(
        name=f"raters served by one launch, p99 within {SERVED_S:g} s (of {waves[-1].raters} tried)",
        unit="raters",
        ours=max(prompt, default=0),
        better="more",
        note=ABOUT.format(think=think_s),
    )


def run(quick: bool) -> list[Figure]:
    """Waves of ours, next to the peer; with ``quick`` three raters of ours who hardly think, and no peer."""
    numbers, think_s = ((3,), 0.05) if quick else (RATERS, THINK_S)
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        peer = [] if quick else beside_peer(root, BESIDE_PEER, think_s)
        waves = [our_waves(root / str(number), [number], think_s)[0] for number in numbers]
    return [*peer, *(figure for wave in waves for figure in figures_of(wave, think_s)), served(waves, think_s)]


@click.command()
@click.option("--raters", multiple=True, type=int, default=RATERS, help="Raters at once; again for more waves.")
@click.option("--before", type=click.Path(exists=True, file_okay=False), help="Another checkout.")
@click.option("--think", default=THINK_S, show_default=True, help="Mean pause before each answer, in seconds.")
@click.option("--rounds", default=1, show_default=True, help="How often each side is measured, in turns.")
@click.option("--peer", is_flag=True, help="ParlAI's task beside ours, with 1, 8 and 32 raters, and nothing else.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs instead of a table.")
def main(raters: Sequence[int], before: str | None, think: float, rounds: int, peer: bool, as_json: bool) -> None:
    """Measure this version, or two of them in turns, with raters who all come at once.

    \b
    Examples:
      python -m benchmarks.load --raters 200
      python -m benchmarks.load --raters 50 --raters 200 --before ../before
      python -m benchmarks.load --peer
    """
    from rich.console import Console

    from benchmarks.__main__ import errors_alone, show

    figures: list[Figure] = []
    with errors_alone(), tempfile.TemporaryDirectory() as name:
        if peer:
            figures = beside_peer(Path(name), BESIDE_PEER, think)
        for turn in range(0 if peer else rounds):
            for number in raters:
                root = Path(name) / f"{turn}-{number}"
                other = None
                if before is not None:
                    other = our_waves(root / "before", [number], think, Path(before).resolve())[0]
                    _tell(other, "before")
                wave = our_waves(root / "ours", [number], think)[0]
                _tell(wave, "ours")
                figures += figures_of(wave, think, other)
    if as_json:
        click.echo(json.dumps([figure.model_dump() for figure in figures], indent=2, ensure_ascii=False))
    else:
        show(figures, Console())


def _tell(wave: Wave, side: str) -> None:
    """What ended raters early, and with what words they were turned away."""
    words = wave.refusals + Counter(each.error for each in wave.rated if each.error)
    for sentence, count in words.most_common():
        click.echo(f"{side}, {wave.raters} raters: {count} × {sentence}", err=True)


if __name__ == "__main__":
    main()
