"""Replies a second of self-chats in one process and two, on one Ray node and two.

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
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure, median
from benchmarks.processes import BenchmarkError, NothingToMeasure
from benchmarks.self_chat import EXCHANGES, large
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import Engine, ModelSpec, Running, load_zoo, resolve
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
    "a generator of 4 + 4 layers and width 256 talks to itself, six exchanges a dialogue, 24 tokens per reply, "
    "greedy search, "
    "batches of 8, one processor thread a copy. Peer: {peer}; the two take turns, and the median round of each counts. "
    "Loading is not counted"
)


def run(quick: bool) -> list[Figure]:
    """Both engines; with ``quick`` a round of two dialogues of a packaged model in one process and in this one."""
    if quick:
        (packaged,) = resolve(["eliza"], load_zoo())
        return [*compare(packaged, "processes", None, copies=(1,), dialogues=2, rounds=1)]
    spec = large()
    with _cluster() as address:
        return [*compare(spec, "processes", None), *compare(spec, "ray", address)]


def compare(
    spec: ModelSpec,
    engine: Engine,
    address: str | None,
    *,
    copies: Sequence[int] = (1, 2),
    dialogues: int = DIALOGUES,
    rounds: int = ROUNDS,
) -> Iterator[Figure]:
    """Two copies next to one, and one process next to none: the model in this process."""
    kinds = {number: Running(engine=engine, replicas=number, cpus=1, address=address) for number in copies}
    if engine == "processes":
        kinds[0] = Running(engine="here")
    rates: dict[int, list[float]] = {number: [] for number in kinds}
    with contextlib.ExitStack() as stack, quiet_parlai():
        pools = {number: stack.enter_context(_pool(spec, running)) for number, running in kinds.items()}
        for seed in range(rounds):
            for number, pool in pools.items():
                rates[number].append(_rate(pool, spec.name, dialogues, seed))
    words = {"processes": ("the model in the process that asks it", "1 process", "2 processes")}
    named = words.get(engine, ("", "1 Ray node", "2 Ray nodes"))
    for number in kinds:
        if number - 1 in kinds:
            yield _figure(named[number], rates[number], rates[number - 1], named[number - 1], rounds)


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
        raise BenchmarkError(f"no figure: {'; '.join(map(str, failed.values()))}")
    return dialogues * (2 * EXCHANGES - 1) / seconds


def _figure(name: str, ours: list[float], peer: list[float], of_peer: str, rounds: int) -> Figure:
    return Figure(
        name=f"self-chat replies per second, {name}",
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
            raise NothingToMeasure("root", "only root can make the network of the Ray cluster")
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        yield
        libc.setns(before, NEW_NETWORK)
    finally:
        os.close(before)
