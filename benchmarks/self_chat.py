"""Replies a second of batched self-chats, next to ``parlai self_chat``.

The peer is ParlAI's own script, run in this process with the same generator. Timed are its episodes, one after the
other; of ours, the dialogues until the last of them is on the disk. Neither side's loading of the model is counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure
from benchmarks.processes import BenchmarkError
from benchmarks.serving_models import MODELS, endpoint, generator
from parlai_humaneval.models.agent.isolation import quiet_parlai, silent_parlai
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, Running
from parlai_humaneval.self_chat.dialogue import talk_in
from parlai_humaneval.self_chat.files import DialogueFile, locked
from parlai_humaneval.self_chat.settings import SelfChatSettings, load_starts

BATCHES = (1, 8, 32)
EXCHANGES = 6
PEER_DIALOGUES = 3
ROUNDS = 3
ONE_THREAD = 1
"""Of both sides, for the figures that are about batching alone. With more, ParlAI's batches of one lose much of their time
to threads that wait for each other, the more so on a machine with other work."""
AS_INSTALLED = None
"""As many threads as torch takes of its own: what somebody gets who types the two commands."""
NOTE = (
    "a generator talks to itself on this machine, with six exchanges per dialogue, 24 tokens per reply, greedy search, and "
    "the same number of processor threads for both sides. Peer: `parlai self_chat`, which supports only batch size 1. "
    "Loading does not count, but ours includes writing the file. The two sides take turns, and the best round of each counts"
)


SERVER_S = 0.7
"""That a server takes for a reply."""
QUICK_S = 0.05
SERVER_THREADS = (1, 4, 16, 32)
"""Requests that a server is sent at once."""
SERVER_ROUNDS = 2
"""Dialogues for each of them."""
SERVER_NOTE = (
    "a server that takes {:g} s for any reply, however many requests it gets at once, talks to itself. Instead of a "
    "peer, the table shows the limit, threads ÷ latency"
)


def run(quick: bool) -> list[Figure]:
    """Each batch size for two full batches; with ``quick`` one small batch of two, of one generator."""
    if quick:
        small = compare("1+1 layers", generator(MODELS, "quick"), (2,), rounds=1, peer_dialogues=1)
        return [*small, *servers((2,), QUICK_S)]
    return [
        *servers(SERVER_THREADS, SERVER_S),
        *compare("2+2 layers", tiny(), BATCHES, ROUNDS, PEER_DIALOGUES),
        *compare("4+4 layers", large(), BATCHES[-1:], ROUNDS, PEER_DIALOGUES),
        *compare("2+2 layers", tiny(), BATCHES[-1:], ROUNDS, PEER_DIALOGUES, threads=AS_INSTALLED),
    ]


def servers(threads: Sequence[int], latency_s: float) -> list[Figure]:
    """A figure for each number of requests at once, beside what a client can get that is never late."""
    figures = []
    with tempfile.TemporaryDirectory() as folder, endpoint(Path(folder), latency_s) as spec:
        for number in threads:
            allowed = spec.model_copy(update={"running": Running(threads=number)})
            rate = our_rate(allowed, 1, SERVER_ROUNDS * number, seed=0)
            figures.append(
                Figure(
                    name=f"self-chat replies per second from a server, {number} at once",
                    unit="1/s",
                    ours=rate,
                    peer=number / latency_s,
                    better="more",
                    peer_source="same run",
                    note=SERVER_NOTE.format(latency_s),
                )
            )
    return figures


def tiny() -> ModelSpec:
    """The size of the zoo's ``tiny_generator``: 2 + 2 layers, width 128."""
    return generator(MODELS, "small", name="tiny")


def large() -> ModelSpec:
    """The generator of the pool's benchmark: 4 + 4 layers, width 256."""
    return generator(MODELS, name="large")


def compare(
    size: str,
    spec: ModelSpec,
    batches: Sequence[int],
    rounds: int,
    peer_dialogues: int,
    *,
    threads: int | None = ONE_THREAD,
) -> list[Figure]:
    """A figure for each batch size. The two sides take turns, so that both meet the same machine."""
    peers: list[float] = []
    ours: dict[int, list[float]] = {batch: [] for batch in batches}
    for seed in range(rounds):
        peers.append(peer_rate(spec, peer_dialogues, threads))
        for batch in batches:
            ours[batch].append(our_rate(spec, batch, max(2 * batch, peer_dialogues), seed, threads))
    return [
        Figure(
            name=f"self-chat replies per second, {size}, batch {batch}, {_threads(threads)}",
            unit="1/s",
            ours=max(ours[batch]),
            peer=max(peers),
            better="more",
            peer_source="same run",
            note=NOTE,
            repeats=rounds,
        )
        for batch in batches
    ]


def _threads(number: int | None) -> str:
    return "torch's own threads" if number is None else f"{number} thread{'s'[: number > 1]}"


def our_rate(spec: ModelSpec, batch: int, dialogues: int, seed: int, threads: int | None = ONE_THREAD) -> float:
    """Replies a second of ``dialogues`` self-chats, ``batch`` at once.

    Raises:
        BenchmarkError: when one of their replies failed.
    """
    settings = SelfChatSettings(num_dialogues=dialogues, exchanges=EXCHANGES, start="openers", seed=seed)
    pool = ModelPool([spec], max_batch=batch, timeout_s=600.0, retries=0, torch_threads=threads)
    with tempfile.TemporaryDirectory() as folder, locked(Path(folder)), quiet_parlai(), pool:
        file = DialogueFile(Path(folder), (spec.name, spec.name), settings, {spec.name: spec}, "")
        file.begin(force=False)
        starts = load_starts(settings)
        started = time.perf_counter()
        failed = talk_in(pool, [file], starts, settings, lambda _: None)
        seconds = time.perf_counter() - started
        must_have_spoken(file.path.read_text(encoding="utf-8"), failed)
    return dialogues * (2 * EXCHANGES - 1) / seconds


def must_have_spoken(lines: str, failed: Mapping[str, object] | None = None) -> None:
    """Refuse dialogues (in ParlAI's conversations format) in which somebody said nothing.

    Raises:
        BenchmarkError: when a model ``failed``, or when an act holds no text.
    """
    if failed:
        raise BenchmarkError(f"a reply failed, so that there is no figure: {'; '.join(map(str, failed.values()))}")
    dialogues = [json.loads(line)["dialog"] for line in lines.splitlines()]
    acts = [act for dialogue in dialogues for exchange in dialogue for act in exchange]
    silent = sum(not act["text"].strip() or bool(act.get("empty")) for act in acts)
    if silent or not acts:
        raise BenchmarkError(
            f"{silent} of {len(acts)} replies of the self-chats were empty, so that there is no figure"
        )


def peer_rate(spec: ModelSpec, dialogues: int, threads: int | None = ONE_THREAD) -> float:
    """Replies a second of ``parlai self_chat``; its first turn holds “Hi!” and no reply."""
    import torch
    from parlai.scripts.self_chat import SelfChat

    torch.set_num_threads(threads or len(os.sched_getaffinity(0)))
    with tempfile.TemporaryDirectory() as folder, _episodes() as seconds, silent_parlai():
        SelfChat.main(
            **spec.options,
            num_self_chats=dialogues,
            selfchat_max_turns=EXCHANGES,
            display_examples=False,
            outfile=str(Path(folder) / "chats"),
        )
        must_have_spoken("".join(file.read_text(encoding="utf-8") for file in Path(folder).glob("*.jsonl")))
    return 2 * (EXCHANGES - 1) * dialogues / sum(seconds)


@contextlib.contextmanager
def _episodes() -> Iterator[list[float]]:
    """Seconds of each episode that ParlAI's script runs within."""
    from parlai.scripts import self_chat

    seconds: list[float] = []
    original = self_chat._run_self_chat_episode

    def timed(*args: Any) -> None:
        started = time.perf_counter()
        original(*args)
        seconds.append(time.perf_counter() - started)

    self_chat._run_self_chat_episode = timed
    try:
        yield seconds
    finally:
        self_chat._run_self_chat_episode = original
