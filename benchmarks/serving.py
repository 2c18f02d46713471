"""Replies a second by kind of model at 1 to 32 conversations, next to ParlAI's way.

The three ways take turns in the same run: our pool; ParlAI's ``TurkLikeAgent`` as its crowd tasks use it; and our pool held
to one request at a time. Weights are random.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmarks.conversations import Conversation, OurConversation, ParlaiConversation, talk_for
from benchmarks.figures import Figure
from benchmarks.serving_models import LATENCY_S, MODELS, TOKENS, causal_lm, endpoint, generator, in_words
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, Running

CONVERSATIONS = (1, 4, 8, 16, 32)
SECONDS = 4.0
ROUNDS = 2
PEERS = {
    "parlai": "ParlAI's TurkLikeAgent, a clone for each conversation, all under one semaphore, batch size 1",
    "alone": "our pool held to one request at a time",
}
LOCAL: dict[str, Callable[[Path, str], ModelSpec]] = {"generator": generator, "causal_lm": causal_lm}
SERVERS = {
    "endpoint": f"an OpenAI-compatible server that takes {LATENCY_S:g} s for each reply, 32 requests at once",
}


@dataclass(frozen=True)
class Row:
    """Replies a second of each way with so many conversations at once, and seconds of a processor for each reply."""

    conversations: int
    rates: dict[str, float]
    processor_s: dict[str, float]


def run(quick: bool) -> list[Figure]:
    """Every kind; with ``quick`` two conversations for a moment, with models of one layer."""
    numbers, seconds, rounds = ((2,), 0.3, 1) if quick else (CONVERSATIONS, SECONDS, ROUNDS)
    figures: list[Figure] = []
    shape = "quick" if quick else "tiny"
    words = {kind: f"{in_words(make, shape)}, {TOKENS} tokens a reply" for kind, make in LOCAL.items()} | SERVERS
    for kind in words:
        with nullcontext(LOCAL[kind](MODELS, shape)) if kind in LOCAL else endpoint(MODELS) as spec:
            for row in compare(spec, numbers, seconds, rounds):
                figures += _figures(kind, words[kind], row, rounds)
    return figures


def compare(spec: ModelSpec, numbers: Sequence[int], seconds: float, rounds: int) -> list[Row]:
    """Each way at each number of conversations; the better round of each way counts."""
    alone = spec.model_copy(update={"running": Running(threads=1, max_batch=1)})
    with quiet_parlai(), ExitStack() as stack:
        ours, one = (stack.enter_context(ModelPool([each], retries=0)) for each in (spec, alone))
        pools = {"parlai": ours, "alone": one, "pool": ours}
        talk_for([OurConversation(ours, 0)], min(1.0, seconds))  # warm up
        rows = []
        for number in numbers:
            best = Row(number, dict.fromkeys(pools, 0.0), dict.fromkeys(pools, math.inf))
            for _ in range(rounds):
                for way, pool in pools.items():
                    rate, processor_s = talk_for(_conversations(way, pool, number), seconds)
                    best.rates[way] = max(best.rates[way], rate)
                    best.processor_s[way] = min(best.processor_s[way], processor_s)
            rows.append(best)
        return rows


def _conversations(way: str, pool: ModelPool, number: int) -> list[Conversation]:
    if way == "parlai":
        semaphore = threading.Semaphore(1)
        return [ParlaiConversation(pool, semaphore) for _ in range(number)]
    return [OurConversation(pool, seed) for seed in range(number)]


def _figures(kind: str, kind_in_words: str, row: Row, rounds: int) -> Iterator[Figure]:
    at = f"{kind}, {row.conversations} conversations"
    for peer, words in (("parlai", ""), ("alone", ", beside one request at a time")):
        note = f"{kind_in_words}. Peer: {PEERS[peer]}; the ways take turns, the better round of each counts"
        yield Figure(
            name=f"replies a second, {at}{words}",
            unit="1/s",
            ours=row.rates["pool"],
            peer=row.rates[peer],
            better="more",
            peer_source="same run",
            note=note,
            repeats=rounds,
        )
        yield Figure(
            name=f"processor time of a reply, {at}{words}",
            unit="ms",
            ours=1000 * row.processor_s["pool"],
            peer=1000 * row.processor_s[peer],
            peer_source="same run",
            note=note,
            repeats=rounds,
        )
