"""Replies a second of self-chats with a model in one process and in two, and on one Ray node and two, in the same run.

The nodes are of a cluster in a network of its own, with a loopback device alone, for which one has to be root (Ray listens
on all interfaces). Every copy computes on one processor, so that two have to be twice as fast
where nothing else takes the time.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.self_chat import EXCHANGES, large
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import Engine, ModelSpec, Running
from parlai_humaneval.self_chat.dialogue import talk_in
from parlai_humaneval.self_chat.files import DialogueFile, locked
from parlai_humaneval.self_chat.settings import SelfChatSettings, load_starts

BATCH = 8
DIALOGUES = 8 * BATCH
ROUNDS = 3
OBJECT_STORE = 80_000_000
NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of Linux."""
NOTE = (
    "a generator of 4 + 4 layers and width 256 talks to itself, six exchanges a dialogue, 24 tokens a reply, greedy search, "
    "batches of 8, one processor thread a copy. Peer: {peer}; the two take turns, and the median round of each counts. "
    "Loading is not counted"
)


def run(quick: bool) -> list[Figure]:
    """Both engines; with ``quick`` a round of two dialogues in processes alone."""
    spec = large()
    if quick:
        return [*compare(spec, "processes", None, dialogues=2, rounds=1)]
    with _cluster() as address:
        return [*compare(spec, "processes", None), *compare(spec, "ray", address)]


def compare(
    spec: ModelSpec, engine: Engine, address: str | None, *, dialogues: int = DIALOGUES, rounds: int = ROUNDS
) -> Iterator[Figure]:
    """Two copies beside one, and one beside none: the model in this process."""
    one, two = (Running(engine=engine, replicas=copies, cpus=1, address=address) for copies in (1, 2))
    alone = Running(engine="here")
    rates: dict[Running, list[float]] = {alone: [], one: [], two: []} if engine == "processes" else {one: [], two: []}
    with contextlib.ExitStack() as stack, quiet_parlai():
        pools = {running: stack.enter_context(_pool(spec, running)) for running in rates}
        for seed in range(rounds):
            for running, pool in pools.items():
                rates[running].append(_rate(pool, spec.name, dialogues, seed))
    where = {"processes": ("process", "processes"), "ray": ("Ray node", "Ray nodes")}
    singular, plural = where[engine]
    yield _figure(f"2 {plural}", rates[two], rates[one], f"1 {singular}", rounds)
    if alone in rates:
        yield _figure(f"1 {singular}", rates[one], rates[alone], "the model in the process that asks it", rounds)


def _pool(spec: ModelSpec, running: Running) -> ModelPool:
    return ModelPool([spec.model_copy(update={"running": running})], max_batch=BATCH, timeout_s=600.0, torch_threads=1)


def _rate(pool: ModelPool, name: str, dialogues: int, seed: int) -> float:
    settings = SelfChatSettings(num_dialogues=dialogues, exchanges=EXCHANGES, start="openers", seed=seed)
    with tempfile.TemporaryDirectory() as folder, locked(Path(folder)):
        file = DialogueFile(Path(folder), (name, name), settings, pool.specs, "")
        file.begin(force=False)
        starts = load_starts(settings)
        began = time.perf_counter()
        failed = talk_in(pool, [file], starts, settings, lambda _: None)
        seconds = time.perf_counter() - began
    if failed:
        raise RuntimeError(f"no figure: {'; '.join(map(str, failed.values()))}")
    return dialogues * (2 * EXCHANGES - 1) / seconds


def _figure(name: str, ours: list[float], peer: list[float], of_peer: str, rounds: int) -> Figure:
    return Figure(
        name=f"self-chat replies a second, {name}",
        unit="1/s",
        ours=median(ours),
        peer=median(peer),
        better="more",
        peer_source="same run",
        note=NOTE.format(peer=of_peer),
        repeats=rounds,
    )


@contextlib.contextmanager
def _cluster() -> Iterator[str]:
    """Two nodes, with room for the one copy beside the two; copies are spread over them."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    from ray.cluster_utils import Cluster

    node = {"node_ip_address": "127.0.0.1", "num_cpus": 2, "object_store_memory": OBJECT_STORE}
    with _own_network():
        cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
        try:
            cluster.add_node(**node)
            yield str(cluster.address)
        finally:
            cluster.shutdown()


@contextlib.contextmanager
def _own_network() -> Iterator[None]:
    """This thread, and all that it starts, in a network namespace with a loopback device alone."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if libc.unshare(NEW_NETWORK) != 0:
            raise OSError(ctypes.get_errno(), "a network namespace cannot be made: be root")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        yield
        libc.setns(before, NEW_NETWORK)
    finally:
        os.close(before)
