"""Replies a second of the model pool, as figures: the measurement itself is :mod:`benchmarks.pool`."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.pool import OurConversation, compare, specs, talk_for
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool

CONVERSATIONS = (1, 4, 8, 16)
SECONDS = 4.0
ROUNDS = 3
MODELS = Path(tempfile.gettempdir()) / "parlai-humaneval-bench"
"""Where the two generators are kept once they are made."""
NOTE = (
    "two tiny generators on this machine, every turn asks both. Peer: ParlAI's TurkLikeAgent, each conversation with its "
    "own clones, all under one semaphore, batch size 1; the two sides take turns, and the best round of each counts"
)


def run(quick: bool) -> list[Figure]:
    """Each number of conversations for some seconds; with ``quick`` two conversations for a moment."""
    numbers, seconds, rounds = ((2,), 0.5, 1) if quick else (CONVERSATIONS, SECONDS, ROUNDS)
    with quiet_parlai(), ModelPool(specs(MODELS), retries=0) as pool:
        talk_for([OurConversation(pool, 0)], 1.0)  # warm up
        return [figure for number in numbers for figure in _figures(compare(pool, number, seconds, rounds), rounds)]


def _figures(row: dict[str, float], rounds: int) -> list[Figure]:
    conversations = f"{row['conversations']:.0f} conversations"
    shared: dict[str, Any] = {"peer_source": "same run", "note": NOTE, "repeats": rounds}
    return [
        Figure(
            name=f"replies a second, {conversations}",
            unit="1/s",
            ours=row["pool"],
            peer=row["parlai"],
            better="more",
            **shared,
        ),
        Figure(
            name=f"processor time of a reply, {conversations}",
            unit="ms",
            ours=row["pool_processor_ms"],
            peer=row["parlai_processor_ms"],
            **shared,
        ),
    ]
