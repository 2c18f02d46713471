"""Replies a second of the model pool, as figures: the measurement itself is :mod:`benchmarks.pool`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.pool import OurConversation, compare, replies_per_second, specs
from parlai_humaneval.models.pool import ModelPool
from parlai_humaneval.models.quiet import quiet_parlai

CONVERSATIONS = (1, 4, 8, 16)
SECONDS = 4.0
REPEATS = 3
MODELS = Path(tempfile.gettempdir()) / "parlai-humaneval-bench"
"""Where the two generators are kept once they are trained (some 15 seconds each)."""
NOTE = (
    "two tiny generators on this machine, every turn asks both. Peer: ParlAI's TurkLikeAgent, each conversation with its "
    "own clones, all under one semaphore, batch size 1; the two sides take turns"
)


def run(quick: bool) -> list[Figure]:
    """Each number of conversations for some seconds; with ``quick`` two conversations for a moment."""
    numbers, seconds, repeats = ((2,), 0.5, 1) if quick else (CONVERSATIONS, SECONDS, REPEATS)
    with quiet_parlai(), ModelPool(specs(MODELS)) as pool:
        replies_per_second([OurConversation(pool, 0)], 1.0)  # warm up
        rounds = [compare(pool, numbers, seconds) for _ in range(repeats)]
    return [_figure([rows[i] for rows in rounds]) for i in range(len(numbers))]


def _figure(rows: list[dict[str, float]]) -> Figure:
    return Figure(
        name=f"replies a second, {rows[0]['conversations']:.0f} conversations",
        unit="1/s",
        ours=median(row["pool"] for row in rows),
        peer=median(row["parlai"] for row in rows),
        better="more",
        peer_source="same run",
        note=NOTE,
        repeats=len(rows),
    )
