"""Seconds from the launch command to a page that answers and a first worker with a task."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from pathlib import Path

import aiohttp

from benchmarks.figures import Figure, median
from benchmarks.peer.copy import copy_mephisto
from benchmarks.peer.rater import register
from benchmarks.processes import BenchmarkError
from benchmarks.sides import PEER_READY, our_launch, peer_launch, wait_for_page
from mephisto_tasks.simulation.page_client import PageClient

REPEATS = 3
CONTENT = (
    "process start → GET / and /task_config.json answer, and a first worker is given a task, two models loaded. Peer: "
    "ParlAI's pairwise per-turn blueprint through Mephisto's LocalArchitect and node router, with two instant models"
)
CLEAN_NOTE = (
    f"{CONTENT}; empty home, data folder and npm cache, so its time holds npm install of the router, and twice npm install "
    "and webpack of Mephisto's chat page (ParlAI's own page sources are missing from its wheel). Ours: eliza and retrieval"
)
AGAIN_NOTE = f"{CONTENT}; same home and data as the launch before, so npm finds all installed and the pages are built"


async def _enter(url: str, worker: str) -> None:
    """A first worker of ours. Like the page, the client asks again while the launch still prepares its first unit."""
    async with PageClient(url, worker_id=worker) as page:
        await page.enter()
    if page.refused is not None:
        raise BenchmarkError(f"the launch turned its first rater away: {page.refused}")


async def _enter_peer(url: str, worker: str) -> None:
    async with aiohttp.ClientSession() as session:
        await register(session, url, worker)


def our_seconds(work: Path, worker: str) -> float:
    """One launch of ours, with the machine's state in ``work``."""
    with our_launch(work, ["mephisto.blueprint.onboarding_qualification=null"]) as (url, program):
        wait_for_page(url, program, "parlai-humaneval launch")
        asyncio.run(_enter(url, worker))
        return time.perf_counter() - program.started


def peer_seconds(work: Path, copy: Path, worker: str) -> float:
    """One launch of the peer's."""
    with peer_launch(work, copy, 10) as (url, program):
        wait_for_page(url, program, "ParlAI's task", ready=PEER_READY)
        asyncio.run(_enter_peer(url, worker))
        return time.perf_counter() - program.started


def run(quick: bool) -> list[Figure]:
    """Clean and repeated launches; with ``quick`` a clean one of ours, and no peer (it downloads from npm for a minute)."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        if quick:
            note = (
                "process start → a page that answers and a first worker with a task; without --quick next to the peer"
            )
            return [_figure("clean", [our_seconds(root, "w1")], [], note)]
        return _compare(root)


def _compare(root: Path) -> list[Figure]:
    """The two sides take turns, so that both meet the same machine."""
    work, copy = root / "peer", copy_mephisto(root / "copy")
    ours_clean, ours_again, peer_again = [], [], []
    peer_clean = [peer_seconds(work, copy, "w0")]
    for number in range(REPEATS):
        state = root / f"ours{number}"
        ours_clean.append(our_seconds(state, "w1"))
        peer_again.append(peer_seconds(work, copy, f"w{number + 1}"))
        ours_again.append(our_seconds(state, "w2"))
        shutil.rmtree(state)
    return [
        _figure("clean", ours_clean, peer_clean, CLEAN_NOTE),
        _figure("again", ours_again, peer_again, AGAIN_NOTE),
    ]


def _figure(state: str, ours: list[float], peer: list[float], note: str) -> Figure:
    return Figure(
        name=f"launch to answering page, {state}",
        unit="s",
        ours=median(ours),
        peer=median(peer) if peer else None,
        peer_source="same run" if peer else "none",
        note=note,
        repeats=len(ours),
    )
