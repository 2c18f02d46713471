"""Conversations with a model for some seconds: through our pool, and in ParlAI's way.

ParlAI's way is its class ``parlai.crowdsourcing.tasks.model_chat.bot_agent.TurkLikeAgent`` as its crowd tasks use it: a
clone of the model for each conversation, with every ``observe`` and ``act`` under one semaphore, so at batch size 1. Each
conversation is a thread, as in Mephisto, and writes its next line as soon as it has a reply.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

from benchmarks.processes import BenchmarkError
from benchmarks.serving_models import MODEL
from parlai_humaneval.models.model_pool import ModelFailed, ModelPool

LINES = (
    "Hi!",
    "I have two dogs, and we go to the beach at the weekend.",
    "What do you do for work?",
    "I like to cook, mostly pasta and soups.",
    "Do you have any brothers or sisters?",
    "It was nice to talk to you.",
)


class Conversation(Protocol):
    """What :func:`talk_for` holds."""

    def turn(self, line: str) -> None:
        """Say a line and wait for the reply."""

    def reset(self) -> None:
        """Begin again."""


class OurConversation:
    """One conversation with the pool."""

    def __init__(self, pool: ModelPool, number: int) -> None:
        self.speaker = pool.speaker([MODEL], seed=number)

    def turn(self, line: str) -> None:
        self.speaker.observe({"id": "human", "text": line, "episode_done": False})
        self.speaker.accept(self.speaker.act()["candidates"][0]["candidate_id"])

    def reset(self) -> None:
        self.speaker.reset()


class ParlaiConversation:
    """One conversation as ParlAI's crowd tasks hold it; all of them share ``semaphore``."""

    def __init__(self, pool: ModelPool, semaphore: threading.Semaphore) -> None:
        from parlai.crowdsourcing.tasks.model_chat.bot_agent import TurkLikeAgent

        model = pool.worker(MODEL).clone()
        self.agent = TurkLikeAgent(model.opt, MODEL, model, num_turns=6, semaphore=semaphore)

    def turn(self, line: str) -> None:
        self.agent.observe({"id": "human", "text": line, "episode_done": False})
        if not self.agent.act()["text"].strip():
            raise BenchmarkError("a model of the benchmark gave ParlAI's task an empty reply")

    def reset(self) -> None:
        self.agent.reset()


def talk_for(conversations: Sequence[Conversation], seconds: float) -> tuple[float, float]:
    """All conversations at once for ``seconds``: replies a second, and seconds of a processor for each reply.

    Raises:
        BenchmarkError: a reply failed: no figure rests on the others.
    """
    stop = time.monotonic() + seconds

    def talk(conversation: Conversation) -> int:
        turn = 0
        while turn == 0 or time.monotonic() < stop:
            if turn % len(LINES) == 0:
                conversation.reset()
            conversation.turn(LINES[turn % len(LINES)])
            turn += 1
        return turn

    started, processor = time.monotonic(), time.process_time()
    replies = sum(at_once(talk, conversations))
    return replies / (time.monotonic() - started), (time.process_time() - processor) / replies


Item = TypeVar("Item")
Kind = TypeVar("Kind")


def at_once(talk: Callable[[Item], Kind], conversations: Sequence[Item]) -> list[Kind]:
    """What ``talk`` gives for each conversation, each in its own thread.

    Raises:
        BenchmarkError: a conversation failed.
    """
    with ThreadPoolExecutor(len(conversations)) as threads:
        talks = [threads.submit(talk, conversation) for conversation in conversations]
    try:
        return [each.result() for each in talks]
    except ModelFailed as error:
        raise BenchmarkError(f"a reply failed, so that there is no figure: {error}") from error
