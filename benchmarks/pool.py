"""Replies a second of the model pool, beside ParlAI's way, in the same run.

ParlAI's way is its own class, ``parlai.crowdsourcing.tasks.model_chat.bot_agent.TurkLikeAgent``, as its crowd tasks use
it: a clone of the model for each conversation, and every ``observe`` and ``act`` under one semaphore, so at
batch size 1. Both speak with the same two tiny generators about the same lines; a turn asks both models.
Each conversation is a thread, as in Mephisto, and writes its next line as soon as it has both replies.

    python benchmarks/pool.py --seconds 5 --json
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.processes import BenchmarkError
from benchmarks.serving_models import generator
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool.loaded import processors
from parlai_humaneval.models.zoo.entries import ModelSpec

LINES = (
    "Hi!",
    "I have two dogs, and we go to the beach at the weekend.",
    "What do you do for work?",
    "I like to cook, mostly pasta and soups.",
    "Do you have any brothers or sisters?",
    "It was nice to talk to you.",
)
CORES = processors()
PAIR = ("a", "b")


def specs(folder: Path) -> list[ModelSpec]:
    """Two generators of 4 + 4 layers and width 256, made in a moment if they are not there."""
    return [generator(folder, name=name, seed=seed) for seed, name in enumerate(PAIR, start=1)]


class OurConversation:
    """One conversation with the pool."""

    def __init__(self, pool: ModelPool, number: int, models: Sequence[str] = PAIR) -> None:
        self.speaker = pool.speaker(models, seed=number)
        self.replies = len(models)

    def turn(self, line: str) -> None:
        self.speaker.observe({"id": "human", "text": line, "episode_done": False})
        self.speaker.accept(self.speaker.act()["candidates"][0]["candidate_id"])

    def reset(self) -> None:
        self.speaker.reset()


class ParlaiConversation:
    """One conversation as ParlAI's crowd tasks hold it: a TurkLikeAgent for each model, one semaphore for all."""

    def __init__(self, pool: ModelPool, semaphore: threading.Semaphore, models: Sequence[str] = PAIR) -> None:
        from parlai.crowdsourcing.tasks.model_chat.bot_agent import TurkLikeAgent

        self.agents = []
        self.replies = len(models)
        for name in models:
            model = pool.worker(name).clone()
            self.agents.append(TurkLikeAgent(model.opt, name, model, num_turns=6, semaphore=semaphore))

    def turn(self, line: str) -> None:
        for agent in self.agents:
            agent.observe({"id": "human", "text": line, "episode_done": False})
        for agent in self.agents:
            if not agent.act()["text"].strip():
                raise BenchmarkError("a model of the benchmark gave ParlAI's task an empty reply")

    def reset(self) -> None:
        for agent in self.agents:
            agent.reset()


def talk_for(conversations: Sequence[Any], seconds: float) -> tuple[int, float, float]:
    """All conversations at once for ``seconds``: replies given, seconds by the clock, and of processor.

    Raises:
        BenchmarkError: when a reply failed: no figure rests on what is left.
    """
    stop = time.monotonic() + seconds

    def talk(conversation: Any) -> int:
        turn = 0
        while time.monotonic() < stop:
            if turn % len(LINES) == 0:
                conversation.reset()
            conversation.turn(LINES[turn % len(LINES)])
            turn += 1
        return turn * int(conversation.replies)

    started, processor = time.monotonic(), time.process_time()
    replies = sum(at_once(talk, conversations))
    return replies, time.monotonic() - started, time.process_time() - processor


Kind = TypeVar("Kind")


def at_once(talk: Callable[[Any], Kind], conversations: Sequence[Any]) -> list[Kind]:
    """What ``talk`` gives for each conversation, each in a thread of its own.

    Raises:
        BenchmarkError: when one of them failed.
    """
    with ThreadPoolExecutor(len(conversations)) as threads:
        talks = [threads.submit(talk, conversation) for conversation in conversations]
    try:
        return [each.result() for each in talks]
    except ModelFailed as error:
        raise BenchmarkError(f"a reply failed, so that there is no figure: {error}") from error


def compare(pool: ModelPool, number: int, seconds: float, rounds: int) -> dict[str, float]:
    """``number`` conversations; the two ways take turns, so that both meet the same machine. The better round counts."""
    import torch

    semaphore = threading.Semaphore(1)
    theirs: list[tuple[int, float, float]] = []
    ours: list[tuple[int, float, float]] = []
    for _ in range(rounds):
        # ParlAI leaves torch alone: all processors for the one operation that runs.
        torch.set_num_threads(CORES)
        theirs.append(talk_for([ParlaiConversation(pool, semaphore) for _ in range(number)], seconds))
        torch.set_num_threads(pool.torch_threads)  # as it was: MKL's part of the setting is the process's
        pool.worker("a").batch_sizes.clear()
        ours.append(talk_for([OurConversation(pool, i) for i in range(number)], seconds))
    sizes = pool.worker("a").batch_sizes
    rate = {way: max(n / wall for n, wall, _ in runs) for way, runs in (("parlai", theirs), ("pool", ours))}
    cost = {way: min(cpu / n for n, _, cpu in runs) for way, runs in (("parlai", theirs), ("pool", ours))}
    return {
        "conversations": number,
        "parlai": rate["parlai"],
        "pool": rate["pool"],
        "ratio": rate["pool"] / rate["parlai"],
        "parlai_processor_ms": 1000 * cost["parlai"],
        "pool_processor_ms": 1000 * cost["pool"],
        "processor_ratio": cost["parlai"] / cost["pool"],
        "mean_batch": sum(sizes) / len(sizes),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conversations", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--seconds", type=float, default=5.0, help="length of each measurement")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each way; the best counts")
    parser.add_argument("--models", type=Path, default=Path(tempfile.gettempdir()) / "parlai-humaneval-bench")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.INFO)
    with quiet_parlai(), ModelPool(specs(args.models), retries=0) as pool:
        talk_for([OurConversation(pool, 0)], 1.0)  # warm up
        rows = [compare(pool, number, args.seconds, args.rounds) for number in args.conversations]
    if args.json:
        result = {"benchmark": "pool", "unit": "replies per second", "processors": CORES, "rows": rows}
        print(json.dumps(result, indent=2))
        return
    print("replies a second, two models; processor time is a reply's, in ms")
    print("conversations   ParlAI   pool   ratio   batch   processor: ParlAI   pool   ratio")
    for row in rows:
        print(
            f"{row['conversations']:13.0f} {row['parlai']:8.1f} {row['pool']:6.1f} {row['ratio']:6.2f}x"
            f" {row['mean_batch']:7.1f}"
            f" {row['parlai_processor_ms']:19.1f} {row['pool_processor_ms']:6.1f} {row['processor_ratio']:6.2f}x"
        )


if __name__ == "__main__":
    main()
