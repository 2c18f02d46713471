"""Seconds from a rater's message to both replies, over the real router, with 1 to 16 raters at once."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.figures import Figure, percentile
from benchmarks.models import PAIRS
from benchmarks.our_rater import OurRater
from benchmarks.peer.copy import copy_mephisto, place_pages
from benchmarks.peer.rater import PeerRater, TurnedAway
from benchmarks.sides import PEER_READY, our_launch, peer_launch, wait_for_page, zoo_file

TURNS = 6
RATERS = (1, 4, 8, 16)
ROUNDS = 3
"""How often each number of raters is measured, the two sides taking turns."""
ATTEMPTS = 5
"""How often a rater tries to get a task of the peer."""
THINK_S = 0.5
"""Mean pause before each answer: people take some twenty times as long. Equal pauses ask both sides equally often."""
NOTE = (
    "all raters in one process that shares the processors with what it measures; six turns each. Without a pause, the "
    "side that answers sooner is asked more often. Peer: "
    "ParlAI's PerTurnEvalWorld and bots (its list of offensive words not downloaded) through Mephisto's node router"
)
STATISTICS: dict[str, Callable[[list[float]], float]] = {
    "median": statistics.median,
    "mean": statistics.fmean,
    "p95": lambda values: percentile(values, 0.95),
}


def _our_settings(pair: str, dialogues: int, zoo: Path) -> list[str]:
    return [
        f"mephisto.blueprint.models=[{','.join(PAIRS[pair])}]",
        f"mephisto.blueprint.zoo_files=[{zoo}]",
        f"mephisto.blueprint.dialogues_per_group={dialogues}",
        f"mephisto.blueprint.turns={TURNS}",
        "mephisto.blueprint.onboarding_qualification=null",
    ]


async def our_waits(url: str, name: str, raters: int, think_s: float) -> list[float]:
    """Seconds of waiting of ``raters`` raters at once, one dialogue each."""
    found = await asyncio.gather(*(OurRater(url, f"{name}-{number}", think_s).run() for number in range(raters)))
    return [wait for waits in found for wait in waits]


async def peer_waits(url: str, name: str, raters: int, think_s: float) -> list[float]:
    """The same of the peer, which turns a rater away now and then: that one comes back under another name."""
    arriving = asyncio.Lock()

    async def one(number: int, attempt: int = 1) -> list[float]:
        try:
            return await PeerRater(url, f"{name}-{number}-{attempt}", TURNS, think_s, arriving).run()
        except TurnedAway:
            if attempt == ATTEMPTS:
                raise
            return await one(number, attempt + 1)

    found = await asyncio.gather(*(one(number) for number in range(raters)))
    return [wait for waits in found for wait in waits]


def compare(pair: str, raters: Sequence[int], rounds: int, think_s: float, root: Path) -> list[Figure]:
    """Both sides run; rounds alternate between them. ``think_s``: mean pause of a rater before each answer."""
    dialogues = rounds * sum(raters) + 1
    copy = copy_mephisto(root / "copy")
    peer_work = root / "peer"
    place_pages(copy, peer_work / "task")
    settings = _our_settings(pair, dialogues + max(raters), zoo_file(root, pair))
    ours: dict[int, list[float]] = {number: [] for number in raters}
    peer: dict[int, list[float]] = {number: [] for number in raters}
    with (
        our_launch(root / "ours", settings) as (our_url, our_program),
        peer_launch(peer_work, copy, pair, 2 * dialogues) as (peer_url, peer_program),
    ):
        wait_for_page(our_url, our_program, "parlai-humaneval launch")
        wait_for_page(peer_url, peer_program, "ParlAI's task", ready=PEER_READY)
        asyncio.run(our_waits(our_url, "warm", 1, 0.0))
        asyncio.run(peer_waits(peer_url, "warm", 1, 0.0))
        for turn in range(rounds):
            for number in raters:
                ours[number] += asyncio.run(our_waits(our_url, f"r{turn}n{number}", number, think_s))
                peer[number] += asyncio.run(peer_waits(peer_url, f"r{turn}n{number}", number, think_s))
    return [
        figure for number in raters for figure in _figures(_label(pair, number, think_s), ours[number], peer[number])
    ]


def _label(pair: str, raters: int, think_s: float) -> str:
    pace = f"pause {think_s:g} s" if think_s else "no pause"
    return f"message → both replies, {pair} models, {raters} raters, {pace}"


def _figures(label: str, ours: list[float], peer: list[float]) -> list[Figure]:
    return [
        Figure(
            name=f"{label}, {name}",
            unit="ms",
            ours=1000 * statistic(ours),
            peer=1000 * statistic(peer) if peer else None,
            peer_source="same run" if peer else "none",
            note=NOTE,
            repeats=len(ours),
        )
        for name, statistic in STATISTICS.items()
    ]


def our_side_alone(raters: int, root: Path) -> list[Figure]:
    """Our side only, one round: for a quick look."""
    with our_launch(root, _our_settings("instant", raters, zoo_file(root, "instant"))) as (url, program):
        wait_for_page(url, program, "parlai-humaneval launch")
        return _figures(_label("instant", raters, 0.0), asyncio.run(our_waits(url, "r", raters, 0.0)), [])


def run(quick: bool) -> list[Figure]:
    """Instant and embedded models, and instant ones without pauses; with ``quick`` our side with two raters."""
    with tempfile.TemporaryDirectory() as name:
        if quick:
            return our_side_alone(2, Path(name))
        return [
            *compare("instant", RATERS, ROUNDS, THINK_S, Path(name) / "instant"),
            *compare("embedded", RATERS, ROUNDS, THINK_S, Path(name) / "embedded"),
            *compare("instant", RATERS, ROUNDS, 0.0, Path(name) / "no_pause"),
        ]
