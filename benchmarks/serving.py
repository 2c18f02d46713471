"""Replies a second of one model at 1 to 32 conversations, by kind of model, beside ParlAI's way and one request at a time.

Three ways, in turn in the same run: our pool; ParlAI's ``TurkLikeAgent`` as its crowd tasks use it (a clone for each
conversation, every ``act`` under one semaphore); and our pool held to one request at a time. Weights are random.

    python -m benchmarks serving
    python -m benchmarks.serving --device cuda:0 --shapes blenderbot_90M blenderbot_400M --json
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.pool import OurConversation, ParlaiConversation, talk_for
from benchmarks.serving_models import LATENCY_S, MODEL, SHAPES, causal_lm, endpoint, generator
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, Running

CONVERSATIONS = (1, 4, 8, 16, 32)
SECONDS = 4.0
ROUNDS = 2
MODELS = Path(tempfile.gettempdir()) / "parlai-humaneval-bench"
KINDS = ("generator", "causal_lm", "endpoint")
PEERS = {
    "parlai": "ParlAI's TurkLikeAgent, a clone for each conversation, all under one semaphore, batch size 1",
    "alone": "our pool held to one request at a time",
}
MODELS_IN_WORDS = {
    "generator": "a ParlAI transformer/generator of 4 + 4 layers and width 256, 24 tokens a reply",
    "causal_lm": "a GPT-2 of 4 layers and width 256 (transformers), 24 tokens a reply",
    "endpoint": f"an OpenAI-compatible server that takes {LATENCY_S:g} s for each reply, 32 requests at once",
}


def run(quick: bool) -> list[Figure]:
    """Every kind; with ``quick`` two conversations for a moment."""
    numbers, seconds, rounds = ((2,), 0.5, 1) if quick else (CONVERSATIONS, SECONDS, ROUNDS)
    figures = []
    for kind in KINDS:
        with _spec(kind) as spec:
            for row in compare(spec, numbers, seconds, rounds):
                figures += _figures(kind, row, rounds)
    return figures


@contextmanager
def _spec(kind: str, device: str | None = None) -> Iterator[ModelSpec]:
    if kind == "endpoint":
        with endpoint(MODELS) as spec:
            yield spec
    elif kind == "causal_lm":
        yield causal_lm(MODELS, device)
    else:
        yield generator(MODELS, "tiny" if kind == "generator" else kind, device)


def compare(spec: ModelSpec, numbers: Sequence[int], seconds: float, rounds: int) -> list[dict[str, Any]]:
    """Replies a second of each way at each number of conversations; the better round of each way counts."""
    alone = spec.model_copy(update={"running": Running(threads=1, max_batch=1)})
    with quiet_parlai(), ExitStack() as stack:
        ours, one = (stack.enter_context(ModelPool([each], retries=0)) for each in (spec, alone))
        talk_for([OurConversation(ours, 0, [MODEL])], 1.0)  # warm up
        rows = []
        for number in numbers:
            best = {"pool": 0.0, "parlai": 0.0, "alone": 0.0}
            ours.worker(MODEL).batch_sizes.clear()
            for _ in range(rounds):
                for way, pool in (("parlai", ours), ("alone", one), ("pool", ours)):
                    said, wall, _ = talk_for(_conversations(way, pool, number), seconds)
                    best[way] = max(best[way], said / wall)
            sizes = ours.worker(MODEL).batch_sizes
            rows.append({"conversations": number, **best, "mean_batch": sum(sizes) / len(sizes)})
        return rows


def _conversations(way: str, pool: ModelPool, number: int) -> list[Any]:
    if way == "parlai":
        semaphore = threading.Semaphore(1)
        return [ParlaiConversation(pool, semaphore, [MODEL]) for _ in range(number)]
    return [OurConversation(pool, seed, [MODEL]) for seed in range(number)]


def _figures(kind: str, row: dict[str, Any], rounds: int) -> list[Figure]:
    words = {"parlai": "", "alone": ", beside one request at a time"}
    return [
        Figure(
            name=f"replies a second, {kind}, {row['conversations']} conversations{words[peer]}",
            unit="1/s",
            ours=row["pool"],
            peer=row[peer],
            better="more",
            peer_source="same run",
            note=f"{MODELS_IN_WORDS[kind]}. Peer: {PEERS[peer]}; the ways take turns, the better round of each counts",
            repeats=rounds,
        )
        for peer in PEERS
    ]


def main() -> None:
    """For one machine with a GPU: models of BlenderBot's shapes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="cpu or cuda:N; by default the first GPU, where there is one")
    parser.add_argument("--shapes", nargs="+", choices=[*SHAPES, *KINDS], default=["blenderbot_90M", "blenderbot_400M"])
    parser.add_argument("--conversations", type=int, nargs="+", default=list(CONVERSATIONS))
    parser.add_argument("--seconds", type=float, default=SECONDS, help="length of each measurement")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    logging.disable(logging.INFO)
    results = {}
    for shape in args.shapes:
        with _spec(shape, None if shape == "endpoint" else args.device) as spec:
            results[shape] = compare(spec, args.conversations, args.seconds, args.rounds)
        if not args.json:
            show(shape, results[shape])
    if args.json:
        print(
            json.dumps({"processors": os.cpu_count(), "device": args.device, "replies_per_second": results}, indent=2)
        )


def show(shape: str, rows: Sequence[dict[str, Any]]) -> None:
    """A table of one model."""
    print(f"{shape}: replies a second\nconversations    pool   ParlAI   ratio   one at a time   ratio   mean batch")
    for row in rows:
        print(
            f"{row['conversations']:13d} {row['pool']:7.1f} {row['parlai']:8.1f} {row['pool'] / row['parlai']:6.1f}x"
            f" {row['alone']:14.1f} {row['pool'] / row['alone']:6.1f}x {row['mean_batch']:12.1f}"
        )


if __name__ == "__main__":
    main()
