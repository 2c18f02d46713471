"""Replies a second by kind of model at 1 to 32 conversations, next to ParlAI's way.

The three ways take turns in the same run: our pool; ParlAI's ``TurkLikeAgent`` as its crowd tasks use it; and our pool held
to one request at a time. Weights are random.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchmarks.conversations import Conversation, OurConversation, ParlaiConversation, talk_for
from benchmarks.figures import Figure
from benchmarks.serving_models import LATENCY_S, MODELS, causal_lm, endpoint, generator
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
MODELS_IN_WORDS = {
    "generator": "a ParlAI transformer/generator of 4 + 4 layers and width 256, 24 tokens a reply",
    "causal_lm": "a GPT-2 of 4 layers and width 256 (transformers), 24 tokens a reply",
    "endpoint": f"an OpenAI-compatible server that takes {LATENCY_S:g} s for each reply, 32 requests at once",
}


@dataclass(frozen=True)
class Row:
    """Replies a second of each way with so many conversations at once, and seconds of a processor for each reply."""

    conversations: int
    rates: dict[str, float]
    processor_s: dict[str, float]


def run(quick: bool) -> list[Figure]:
    """Every kind; with ``quick`` two conversations for a moment."""
    numbers, seconds, rounds = ((2,), 0.3, 1) if quick else (CONVERSATIONS, SECONDS, ROUNDS)
    figures: list[Figure] = []
    for kind in MODELS_IN_WORDS:
        with _spec(kind) as spec:
            for row in compare(spec, numbers, seconds, rounds):
                figures += _figures(kind, row, rounds)
    return figures


@contextmanager
def _spec(kind: str) -> Iterator[ModelSpec]:
    if kind == "endpoint":
        with endpoint(MODELS) as spec:
            yield spec
    else:
        yield causal_lm(MODELS) if kind == "causal_lm" else generator(MODELS)


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


def _figures(kind: str, row: Row, rounds: int) -> Iterator[Figure]:
    at = f"{kind}, {row.conversations} conversations"
    for peer, words in (("parlai", ""), ("alone", ", beside one request at a time")):
        note = f"{MODELS_IN_WORDS[kind]}. Peer: {PEERS[peer]}; the ways take turns, the better round of each counts"
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
