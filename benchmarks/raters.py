"""Many raters at once on one SATA task of four models: is all of it stored, how long do they wait, what does it weigh.

The task runs as a process of its own; the raters are programs that speak the page's protocol, all in this process.
"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchmarks.figures import Figure, median, percentile
from benchmarks.processes import resident_kb
from benchmarks.sides import our_launch, wait_for_page
from benchmarks.stored_turns import compare, slowest, stored_of, without_models
from mephisto_tasks.simulation.raters import Behaviour, Outcome, SimulatedRater
from parlai_humaneval.schema.records import DialogueRecord
from parlai_humaneval.schema.steps import MessageStep, PageState

MODELS = ("eliza", "retrieval", "degraded", "retrieval_b")
"""Three packaged models, and one of :data:`ZOO`."""
ZOO = {"models": {"retrieval_b": {"options": {"model": "parlai_humaneval.agents.retrieval:RetrievalAgent"}}}}
TURNS = 10
WAVES = (1, 10, 20, 20, 20)
"""Raters at once, one wave after another. The last number more than once, for the spread."""
RUSHED = 6
"""Waves without pauses after them; at their end the process has all the memory that it goes on with."""
LATE = 3
"""Of them, the waves over which what an ended conversation leaves is measured."""
THINK_S = 0.5
"""Mean pause before each answer: people take some twenty times as long."""
SETTLE_S = 2.0
"""After a wave has come or gone, before memory is read."""

ALL_HERE = "four embedded models, MM-SATA, {turns} turns; all raters in one process that shares the processors"


@dataclass
class Wave:
    """``raters`` raters at once; resident kB of the server while all of them were in their last turn, and after."""

    raters: int
    think_s: float
    outcomes: list[Outcome] = field(default_factory=list)
    records: list[DialogueRecord] = field(default_factory=list)
    held_kb: int = 0
    after_kb: int = 0

    def own_waits(self) -> list[float]:
        """Seconds from message to candidates without the models' time."""
        pairs = zip(self.outcomes, self.records, strict=True)
        return [wait for outcome, record in pairs for wait in without_models(outcome.waits_s, record)]


class Gate:
    """Lets raters through once all have come and the server's memory was read."""

    def __init__(self, expected: int) -> None:
        self._missing = expected
        self.all_here = asyncio.Event()
        self._open = asyncio.Event()

    async def pass_through(self) -> None:
        """Wait for the others."""
        self._missing -= 1
        if self._missing == 0:
            self.all_here.set()
        await self._open.wait()

    def open(self) -> None:
        """Let all of them go on."""
        self._open.set()


class GatedRater(SimulatedRater):
    """Stops once when the dialogue could be ended: its history is at its longest, and its model is still held."""

    def __init__(self, url: str, worker: str, think_s: float, gate: Gate, turns: int) -> None:
        super().__init__(url, worker, Behaviour(think_s=think_s), seed=1)
        self._gate, self._turns = gate, turns

    async def _step(self, state: PageState) -> PageState:
        turn = state.progress.current if state.progress else 0
        if isinstance(state.step, MessageStep) and turn > self._turns:
            await self._gate.pass_through()
        return await super()._step(state)


async def hold(url: str, pid: int, name: str, wave: Wave, turns: int) -> None:
    """One wave; fills in what it measured."""
    gate = Gate(wave.raters)
    raters = [GatedRater(url, f"{name}-{n}", wave.think_s, gate, turns) for n in range(wave.raters)]
    talks = asyncio.gather(*(rater.run() for rater in raters))
    here = asyncio.ensure_future(gate.all_here.wait())
    either: set[asyncio.Future[Any]] = {talks, here}
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    here.cancel()
    if not talks.done():
        await asyncio.sleep(SETTLE_S)
        wave.held_kb = resident_kb(pid)
        gate.open()
    wave.outcomes = await talks
    await asyncio.sleep(SETTLE_S)
    wave.after_kb = resident_kb(pid)


def measure(waves: Sequence[Wave], turns: int, root: Path) -> int:
    """All waves in one launch, after one rater who warms it up; the server's kB between that rater and the first wave.

    Raises:
        TurnsDiffer: a turn was lost, doubled or changed.
    """
    root.mkdir(parents=True, exist_ok=True)
    zoo = root / "zoo.yaml"
    zoo.write_text(yaml.safe_dump(ZOO), encoding="utf-8")
    warm = Wave(1, 0.0)
    total = sum(wave.raters for wave in waves)
    blueprint = {
        "models": f"[{','.join(MODELS)}]",
        "zoo_files": f"[{zoo}]",
        "group_size": len(MODELS),
        "setting": "sata_random",
        "turns": turns,
        "dialogues_per_group": total + 2,  # one more than there are: the launch goes on until it is ended
        "onboarding_qualification": "null",
        "seed": 1,
    }
    settings = [f"mephisto.blueprint.{key}={value}" for key, value in blueprint.items()]
    with our_launch(root, settings, task="sata") as (url, program):
        wait_for_page(url, program, "parlai-humaneval launch")
        for number, wave in enumerate([warm, *waves]):
            asyncio.run(hold(url, program.process.pid, f"wave{number}", wave, turns))
    outcomes = [outcome for wave in [warm, *waves] for outcome in wave.outcomes]
    records = stored_of(root / "data", "sata", outcomes)
    compare(outcomes, records)
    rest = iter(records[1:])
    for wave in waves:
        wave.records = [next(rest) for _ in wave.outcomes]
    return warm.after_kb


def run(quick: bool) -> list[Figure]:
    """One launch; waves of raters with pauses, and more of the most raters without."""
    turns = 2 if quick else TURNS
    paced = [Wave(raters, 0.05 if quick else THINK_S) for raters in ((1, 3) if quick else WAVES)]
    rushed = [Wave(paced[-1].raters, 0.0) for _ in range(1 if quick else RUSHED)]
    with tempfile.TemporaryDirectory() as name:
        idle_kb = measure([*paced, *rushed], turns, Path(name))
    about = ALL_HERE.format(turns=turns)
    turns_kept = sum(len(outcome.turns) for wave in [*paced, *rushed] for outcome in wave.outcomes)
    kept = Figure(
        name="turns sent, all stored once and alike", unit="turns", ours=turns_kept, better="more", note=about
    )
    numbers = list(dict.fromkeys(wave.raters for wave in paced))
    waits = [_waits([wave for wave in paced if wave.raters == number], about) for number in numbers]
    return [
        kept,
        *(figure for found in [*waits, _waits(rushed, about)] for figure in found),
        *_memory(paced, rushed, idle_kb),
    ]


def _waits(waves: Sequence[Wave], about: str) -> list[Figure]:
    """Of waves of the same kind."""
    waits = [wait for wave in waves for wait in wave.own_waits()]
    models = [slowest(turn) for wave in waves for record in wave.records for turn in record.turns]
    raters = "1 rater" if waves[0].raters == 1 else f"{waves[0].raters} raters"
    pause = f"pause {waves[0].think_s:g} s" if waves[0].think_s else "no pause"
    medians = ", ".join(f"{1000 * statistics.median(wave.own_waits()):.1f}" for wave in waves)
    note = (
        f"{about}; message → candidates less the slowest model's time of that turn (with its queue), whose median was "
        f"{1000 * median(models):.1f} ms; medians of the waves: {medians} ms"
    )
    return [
        Figure(
            name=f"round trip without models, {raters}, {pause}, {name}",
            unit="ms",
            ours=1000 * value,
            note=note,
            repeats=len(waits),
        )
        for name, value in (("median", median(waits)), ("p95", percentile(waits, 0.95)))
    ]


def _memory(paced: Sequence[Wave], rushed: Sequence[Wave], idle_kb: int) -> list[Figure]:
    """The server's memory with few and many conversations open, and after they ended."""
    waves = [*paced, *rushed]
    few, many = paced[0], next(wave for wave in paced if wave.raters == paced[-1].raters)
    mb = {"idle": idle_kb} | {f"{wave.raters} open": wave.held_kb for wave in paced[: paced.index(many) + 1]}
    mb[f"after {sum(wave.raters for wave in waves)} ended"] = waves[-1].after_kb
    note = "resident memory of the server's process, all conversations in their last turn; idle: after one dialogue"
    figures = [Figure(name=f"server's memory, {name}", unit="MB", ours=kb / 1024, note=note) for name, kb in mb.items()]
    late = waves[-1 - LATE :]
    ended = sum(wave.raters for wave in late[1:])
    each = {
        "open": ((many.held_kb - few.held_kb) / (many.raters - few.raters), f"between {few.raters} and {many.raters}"),
        "ended": ((late[-1].after_kb - late[0].after_kb) / ended, f"over the last {ended}: what the process keeps"),
    }
    return figures + [
        Figure(name=f"server's memory per conversation, {name}", unit="kB", ours=kb, note=f"{note}; growth {how}")
        for name, (kb, how) in each.items()
    ]
