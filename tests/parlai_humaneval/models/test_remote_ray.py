"""Models on a Ray cluster: two nodes on this machine, in a network of the test's own in which there is nothing else."""

from __future__ import annotations

import ctypes
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import psutil
import pytest
from remote_hands import SETTINGS, drawn, run_on, self_chats, self_chats_here

from parlai_humaneval._util.files import HOME_VARIABLE
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.workers import ray_actor
from parlai_humaneval.models.workers.hosts import RemoteAgent
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError

pytestmark = pytest.mark.slow

NEW_NETWORK = 0x40000000
"""CLONE_NEWNET of Linux."""
OBJECT_STORE = 80_000_000
PAIRS = [("tiny_a", "drawn"), ("drawn", "drawn")]


@pytest.fixture(scope="module")
def network() -> Iterator[None]:
    """A network namespace for this thread and all that it starts: a loopback device, and no way out."""
    if shutil.which("ip") is None:
        pytest.skip("no command `ip` to set up a loopback device with")
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    if libc.unshare(NEW_NETWORK) != 0:
        os.close(before)
        pytest.skip(f"this user may not make a network namespace ({os.strerror(ctypes.get_errno())})")
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    yield
    libc.setns(before, NEW_NETWORK)
    os.close(before)


@pytest.fixture(scope="module")
def cluster(network: None) -> Iterator[Any]:
    """A cluster of one node."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'parlai-humaneval[ray]'")
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        # Whether the cluster lets us in is asked in a process of a second; here once, and not at each connection.
        patch.setattr(ray_actor, "_check_token", cache(ray_actor._check_token))
        head = {"node_ip_address": "127.0.0.1", "num_cpus": 4, "object_store_memory": OBJECT_STORE}
        cluster = Cluster(initialize_head=True, head_node_args={**head, "include_dashboard": False})
        yield cluster
        cluster.shutdown()


def second_node(cluster: Any, address: str, **environment: str) -> Any:
    return cluster.add_node(
        node_ip_address=address,
        num_cpus=8,
        object_store_memory=OBJECT_STORE,
        env_vars={**os.environ, **environment},
    )


def kill(cluster: Any, node: Any) -> None:
    """As if its machine went off: all of its processes at once."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    for process in [raylet, *raylet.children(recursive=True)]:
        process.kill()
    cluster.remove_node(node, allow_graceful=False)


def on_ray(cluster: Any, spec: ModelSpec, **running: object) -> ModelSpec:
    return run_on(spec, engine="ray", address=cluster.address, **running)


def load(specs: list[ModelSpec]) -> None:
    """Load them, and let go of them and of the cluster."""
    with ModelPool(specs):
        pass


def nodes_of(pool: ModelPool, model: str) -> set[str]:
    agent = pool.worker(model).agent
    assert isinstance(agent, RemoteAgent)
    return {replica.where for replica in list(agent.hosts.running) if isinstance(replica, ray_actor.RayActor)}


@pytest.fixture(scope="module")
def specs(tiny_specs: list[ModelSpec]) -> list[ModelSpec]:
    """A greedy generator of ParlAI, and a model of Hugging Face that draws its words."""
    return [tiny_specs[0], drawn()]


@pytest.fixture(scope="module")
def here(specs: list[ModelSpec], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The dialogues that one process makes."""
    return self_chats_here(specs, PAIRS, tmp_path_factory.mktemp("here"))


def test_two_nodes_give_the_dialogues_of_one_process_and_go_on_when_one_is_killed(
    cluster: Any, specs: list[ModelSpec], here: dict[str, str], tmp_path: Path
) -> None:
    """Guards replies that hang on where a model is; and dialogues under way on a node that is lost: none is missing, none
    is there twice, none is another."""
    node = second_node(cluster, "127.0.0.2")
    with ModelPool([on_ray(cluster, spec, replicas=2) for spec in specs], max_batch=2) as pool:
        assert {name.rpartition("(")[2] for name in nodes_of(pool, "drawn")} == {"127.0.0.1)", "127.0.0.2)"}
        assert self_chats(pool, PAIRS, tmp_path / "both") == here
        lost: list[Any] = []

        def lose_a_node(file: object) -> None:
            if not lost:
                lost.append(node)
                kill(cluster, node)

        assert self_chats(pool, PAIRS, tmp_path / "lost", on_dialogue=lose_a_node) == here
        assert lost
        assert all(len(text.splitlines()) == SETTINGS.num_dialogues for text in here.values())


def test_a_node_without_the_weights_is_named_and_what_it_lacks(
    cluster: Any, specs: list[ModelSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards weights that are on this machine and not where the model is put."""
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "models").mkdir(parents=True)
    (tmp_path / "here" / "models" / "tiny").symlink_to(Path(specs[0].options["model_file"]).parent)
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path / "here"))
    spec = specs[0].model_copy(update={"options": {**specs[0].options, "model_file": "home:tiny/model"}})
    node = second_node(cluster, "127.0.0.3", **{HOME_VARIABLE: str(tmp_path / "there")})
    try:
        with pytest.raises(ZooError) as refused:
            load([on_ray(cluster, spec, cpus=8)])  # as many as that node has alone
    finally:
        kill(cluster, node)
    assert "(127.0.0.3)" in str(refused.value)
    assert str(tmp_path / "there" / "models" / "tiny" / "model") in str(refused.value)


def test_a_cluster_without_room_says_what_there_is(cluster: Any, specs: list[ModelSpec]) -> None:
    """Guards a launch that would wait for a node that nobody adds; memory is reserved by ``memory_gb``."""
    with pytest.raises(ZooError, match=r"no node of the Ray cluster has 99 CPU\(s\).*127\.0\.0\.1: 4 CPU\(s\)"):
        load([on_ray(cluster, specs[0], cpus=99)])
    large = specs[0].model_copy(update={"memory_gb": 90_000.0})
    with pytest.raises(ZooError, match=r"no node of the Ray cluster has .*90000\.0 GB"):
        load([on_ray(cluster, large)])


def test_models_that_the_cluster_cannot_hold_together_are_told_at_once(cluster: Any, specs: list[ModelSpec]) -> None:
    """Guards a launch that would wait for room that it has filled itself; no GPU is waited for where there is none."""
    began = time.monotonic()
    with pytest.raises(ZooError) as refused:
        load([on_ray(cluster, specs[0], cpus=3), on_ray(cluster, specs[1], cpus=2)])
    said = str(refused.value)
    assert said.startswith("drawn cannot be loaded: the models of this launch use all of the Ray cluster (")
    assert "it asks for 2 CPU(s), 0 GPU(s), this launch holds tiny_a (3 CPU(s), 0 GPU(s))," in said
    assert "the cluster has 4 CPU(s), 0 GPU(s)" in said
    with pytest.raises(ZooError, match=r"no node of the Ray cluster has 1 CPU\(s\), 1 GPU\(s\)"):
        load([on_ray(cluster, specs[0], gpus=1)])
    assert time.monotonic() - began < ray_actor.PLACE_S


def test_a_cluster_that_others_use_is_waited_for_and_what_it_lacks_is_told(
    cluster: Any, specs: list[ModelSpec], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards a launch that says nothing while it waits, or waits longer than a copy may."""
    monkeypatch.setattr(ray_actor, "PLACE_S", 12.0)
    monkeypatch.setattr(ray_actor, "SAY_S", 2.0)
    leave = ray_actor.connect(cluster.address)
    ray = ray_actor.importlib.import_module("ray")
    try:
        somebody = ray.remote(num_cpus=3)(ray_actor.RayHost).remote(1, 1)  # of another launch
        assert ray.get(somebody.node.remote())
        with pytest.raises(ZooError) as refused:
            load([on_ray(cluster, specs[0], cpus=2)])
        ray.kill(somebody)
    finally:
        leave()
    said = "(it asks for 2 CPU(s), 0 GPU(s), the cluster has 4 CPU(s), 0 GPU(s)"
    assert f"had no room for another copy for 12 s {said}" in str(refused.value)
    assert "1 CPU(s), 0 GPU(s)" in str(refused.value).partition("of which")[2]
    assert any(f"waits for room on the Ray cluster {said}" in record.getMessage() for record in caplog.records)


def test_other_versions_on_a_node_are_told(
    cluster: Any, specs: list[ModelSpec], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards nodes that were installed at another time: replies of two versions would be mixed."""
    monkeypatch.setattr(ray_actor, "versions", lambda: {"parlai-humaneval": "9.9", "Python": "3.10"})
    with pytest.raises(ZooError, match=r"\(127\.0\.0\.1\): parlai-humaneval \S+ there, 9\.9 here, .*the same versions"):
        load([on_ray(cluster, specs[0])])


def test_a_cluster_that_wants_another_token_says_so(
    network: None, specs: list[ModelSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards a wrong token, and none at all, against Ray's own minute of warnings, and its abort."""
    monkeypatch.setenv("HOME", str(tmp_path))  # where Ray looks for a file of it
    program = Path(sys.executable).with_name("ray")
    words = ["start", "--head", "--block", "--node-ip-address=127.0.0.4", "--port=6399", "--include-dashboard=false"]
    words += [f"--object-store-memory={OBJECT_STORE}", "--num-cpus=1", f"--temp-dir=/tmp/ray-{os.getpid()}"]
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "the-right-token-of-this-test"}
    with subprocess.Popen([program, *words], env={**os.environ, **token}, stdout=subprocess.DEVNULL) as head:
        try:
            until = time.monotonic() + 60
            while not answers("127.0.0.4", 6399):
                assert time.monotonic() < until, "the cluster did not start"
                time.sleep(0.1)
            for mode, ours, told in (
                ("token", "a-wrong-one", "rejects the token in RAY_AUTH_TOKEN"),
                ("token", "", "got no token"),
                ("disabled", "", "requires a token: set RAY_AUTH_MODE=token"),
            ):
                monkeypatch.setenv("RAY_AUTH_MODE", mode)
                monkeypatch.setenv("RAY_AUTH_TOKEN", ours)
                with pytest.raises(ZooError, match=rf"the Ray cluster at 127\.0\.0\.4:6399 {told}"):
                    ray_actor._check_token("127.0.0.4:6399")
            monkeypatch.setenv("RAY_AUTH_MODE", "token")
            monkeypatch.setenv("RAY_AUTH_TOKEN", token["RAY_AUTH_TOKEN"])
            ray_actor._check_token("127.0.0.4:6399")
        finally:
            head.terminate()
            shutil.rmtree(f"/tmp/ray-{os.getpid()}", ignore_errors=True)


def answers(host: str, port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


def test_a_cluster_that_is_not_there_is_told_within_seconds(network: None, specs: list[ModelSpec]) -> None:
    """Guards the minutes that Ray waits for one: the port is closed, or somebody's who says nothing."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'parlai-humaneval[ray]'")
    began = time.monotonic()
    with pytest.raises(ZooError, match=r"no Ray cluster answers at 127\.0\.0\.1:9 .*ray start --head"):
        load([run_on(specs[0], engine="ray", address="127.0.0.1:9")])
    with pytest.raises(ZooError, match="cluster is not the address of a Ray cluster: expected HOST:PORT"):
        load([run_on(specs[0], engine="ray", address="cluster")])
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(ZooError, match=rf"no Ray cluster answers at {address}"):
            load([run_on(specs[0], engine="ray", address=address)])
    assert time.monotonic() - began < 60  # Ray alone waits for more than three minutes
