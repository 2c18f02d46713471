"""Replies a second of the pool, next to the bare call of the model, which is the limit.

The limit reads the same dialogues of so many conversations, turn by turn, in batches of as many, with nobody to wait for.
For a ParlAI model it is ``batch_act``; for a model of Hugging Face, transformers' ``generate`` of prompts that are tokens
already. One conversation is also measured next to ParlAI's way.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.conversations import LINES, OurConversation, ParlaiConversation, talk_for
from benchmarks.figures import Figure
from benchmarks.serving_models import MODEL, MODELS, TOKENS, causal_lm, generator, in_words
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec

CONVERSATIONS = (8, 32)
SECONDS = 2.5
ROUNDS = 3
KINDS: dict[str, Callable[[Path, str], ModelSpec]] = {"generator": generator, "causal_lm": causal_lm}
LIMIT = "bare calls of the model for the same dialogues, in batches of the same size and with nothing in between"
ALONE = "ParlAI's TurkLikeAgent, which its crowd tasks use for one conversation"


def run(quick: bool) -> list[Figure]:
    """Both kinds of models against their limits, and one conversation beside ParlAI's way; with ``quick`` of one layer."""
    numbers, seconds, rounds = ((2,), 0.1, 1) if quick else (CONVERSATIONS, SECONDS, ROUNDS)
    figures = []
    shape = "quick" if quick else "tiny"
    for kind, make in KINDS.items():
        words = in_words(make, shape)
        with quiet_parlai(), ModelPool([make(MODELS, shape)], retries=0) as pool:
            talk_for([OurConversation(pool, 0)], seconds / 3)  # warm up
            figures += [beside_limit(pool, kind, words, number, seconds, rounds) for number in numbers]
            figures.append(alone(pool, kind, words, seconds, rounds))
    return figures


def beside_limit(pool: ModelPool, kind: str, words: str, number: int, seconds: float, rounds: int) -> Figure:
    """``number`` conversations. The two sides take turns; the better round of each counts."""
    bare = bare_calls(pool, number)
    ours, limit = [], []
    for _ in range(rounds):
        limit.append(calls_for(bare, number, seconds))
        ours.append(talk_for([OurConversation(pool, seed) for seed in range(number)], seconds)[0])
    return _figure(f"{number} conversations compared with the limit", kind, words, max(ours), max(limit), LIMIT, rounds)


def alone(pool: ModelPool, kind: str, words: str, seconds: float, rounds: int) -> Figure:
    """One conversation, as many processor threads on both sides."""
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        theirs.append(talk_for([ParlaiConversation(pool, threading.Semaphore(1))], seconds)[0])
        ours.append(talk_for([OurConversation(pool, 0)], seconds)[0])
    return _figure("1 conversation compared with ParlAI", kind, words, max(ours), max(theirs), ALONE, rounds)


def _figure(what: str, kind: str, words: str, ours: float, peer: float, peer_words: str, rounds: int) -> Figure:
    return Figure(
        name=f"replies per second, {kind}, {what}",
        unit="1/s",
        ours=ours,
        peer=peer,
        better="more",
        peer_source="same run",
        note=f"{words}, {TOKENS} tokens per reply. Peer: {peer_words}. "
        "The two sides take turns, and the best round of each counts",
        repeats=rounds,
    )


def calls_for(calls: Sequence[Callable[[], object]], batch: int, seconds: float) -> float:
    """Replies a second of the calls, one after the other and again from the first."""
    started, done = time.monotonic(), 0
    while time.monotonic() - started < seconds or done % len(calls):
        calls[done % len(calls)]()
        done += 1
    return done * batch / (time.monotonic() - started)


def bare_calls(pool: ModelPool, number: int) -> list[Callable[[], object]]:
    """A call for each turn of ``number`` conversations that hold the dialogue of :class:`OurConversation`."""
    return [_bare_call(pool, batch) for batch in _turns(pool, number)]


def _turns(pool: ModelPool, number: int) -> list[list[Any]]:
    """What the agents of all conversations have observed when their turns come."""
    agents = [pool.worker(MODEL).clone() for _ in range(number)]
    turns = []
    for line in LINES:
        turns.append([agent.observe({"id": "human", "text": line, "episode_done": False}) for agent in agents])
        replies = pool.worker(MODEL).agent.batch_act(turns[-1])
        for agent, reply in zip(agents, replies, strict=True):
            agent.self_observe(reply)
    return turns


def _bare_call(pool: ModelPool, batch: Sequence[Any]) -> Callable[[], object]:
    agent = pool.worker(MODEL).agent
    if not hasattr(agent, "pretrained"):
        return lambda: agent.batch_act(batch)
    import torch

    prompts = [agent._prompt(observation) for observation in batch]
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    ids, mask = ids.to(agent.pretrained.device), mask.to(agent.pretrained.device)
    lengths = {"min_new_tokens": TOKENS, "max_new_tokens": TOKENS, "do_sample": False, "pad_token_id": 0}
    return lambda: agent.model.generate(ids, attention_mask=mask, **lengths)
