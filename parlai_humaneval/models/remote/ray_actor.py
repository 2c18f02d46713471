"""Hosts as actors of a Ray cluster that runs already."""

from __future__ import annotations

import importlib
import os
import platform
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from parlai_humaneval.models.remote.host import Host
from parlai_humaneval.models.remote.questions import HostGone
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError

REACH_S = 3.0
"""Seconds until a cluster that does not answer is taken for one that is not there; Ray itself takes minutes."""
PLACE_S = 120.0
"""Seconds until a copy that the cluster has no room for is given up."""
PACKAGE = "parlai-humaneval"


class RayHost(Host):
    """A host that can say where it is."""

    def node(self) -> tuple[str, dict[str, str]]:
        """The node in words, and the versions there that must be those of the launch."""
        import ray

        return f"{socket.gethostname()} ({ray.util.get_node_ip_address()})", versions()


def versions() -> dict[str, str]:
    """What has to be the same on all nodes."""
    try:
        ours = version(PACKAGE)
    except PackageNotFoundError:  # run from a checkout that is not installed
        ours = "not installed"
    return {PACKAGE: ours, "Python": ".".join(platform.python_version_tuple()[:2])}


def connect(address: str | None) -> Callable[[], None]:
    """Join the cluster at ``address``; what is returned leaves it. A connection that there is already is used and kept.

    Raises:
        ZooError: when Ray is not installed, the cluster is not there, or it does not want us.
    """
    # Ray reads them when it is imported: nothing is sent to its makers, and its C++ half says errors only.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "error")
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise ZooError(f"Ray is not installed here: pip install '{PACKAGE}[ray]'") from error
    if ray.is_initialized():
        return lambda: None
    wanted = address or os.environ.get("RAY_ADDRESS") or "auto"
    _check_reachable(wanted)
    try:
        with _own_signals():
            ray.init(address=wanted, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    except Exception as error:  # it raises what it likes; the commonest are told apart by its own words
        raise ZooError(_refused(wanted, error)) from error
    return lambda: ray.shutdown()


def _check_reachable(address: str) -> None:
    """Whether anybody listens there; ``auto`` is looked up by Ray, which knows at once."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise ZooError(f"{address} is no address of a Ray cluster: expected HOST:PORT, such as 127.0.0.1:6379")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S).close()
    except OSError as error:
        raise ZooError(
            f"no Ray cluster answers at {address} ({error.strerror or error}). Start one with `ray start --head "
            "--node-ip-address=127.0.0.1 --port=6379`, or name the address of one that runs (`ray status` shows it)"
        ) from error


def _refused(address: str, error: Exception) -> str:
    said = " ".join(str(error).split())
    if isinstance(error, ConnectionError) and address == "auto":
        return (
            "no Ray cluster runs on this machine. Start one with `ray start --head --node-ip-address=127.0.0.1`, join one "
            "with `ray start --address=HOST:PORT --num-cpus=0`, or say where it is (--ray-address, or running.address)"
        )
    if "version mismatch" in said.lower():
        return f"the Ray cluster at {address} has another version of Ray or Python, and has to have the same: {said}"
    return (
        f"the Ray cluster at {address} cannot be joined: {said}. This machine has to be a node of it: `ray start "
        f"--address={address} --num-cpus=0` makes it one that models are not put on"
    )


@contextmanager
def _own_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself; within, whoever had it before gets it back."""
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    try:
        yield
    finally:
        if main and before is not None:  # None: not set from Python
            signal.signal(signal.SIGTERM, before)


class RayActor:
    """A host as an actor, on whichever node has room; as far as that goes, each on another.

    Args:
        spec: the model: what it takes of a node is reserved there.
        max_batch: as of :class:`~parlai_humaneval.models.remote.host.Host`.

    Raises:
        ZooError: when no node has room, or a node lacks this package.
        HostGone: when it ended at once.
    """

    def __init__(self, spec: ModelSpec, max_batch: int) -> None:
        import ray

        self._ray = ray
        running = spec.running
        gpus = float((spec.device or "").startswith("cuda")) if running.gpus is None else running.gpus
        takes = {"CPU": running.cpus or 1.0, "GPU": gpus, "memory": (spec.memory_gb or 0) * 1e9}
        self._check_room(spec.name, takes)
        self._actor = (
            ray.remote(RayHost)
            .options(
                num_cpus=takes["CPU"],
                num_gpus=takes["GPU"],
                memory=int(takes["memory"]) or None,
                scheduling_strategy="SPREAD",
            )
            .remote(max_batch, max(1, int(takes["CPU"])))
        )
        self.where = "a node of the Ray cluster"
        try:
            self._settle(spec.name, takes)
        except BaseException:
            self.end()
            raise

    def call(self, method: str, *arguments: Any) -> Any:
        """What the host's method returns, or raises; a ZooError says on which node.

        Raises:
            HostGone: when the actor is no more, or its node.
        """
        try:
            went_well, result = self._ray.get(self._actor.call.remote(method, arguments))
        except self._ray.exceptions.RayError as error:
            raise self._gone(error) from error
        if went_well:
            return result
        raise ZooError(f"{result} That is so on {self.where}.") if isinstance(result, ZooError) else result

    def end(self) -> None:
        """End the actor."""
        with suppress(Exception):  # it may have ended, the cluster with it
            self._ray.kill(self._actor)

    def _settle(self, model: str, takes: dict[str, float]) -> None:
        try:
            self.where, there = self._ray.get(self._actor.node.remote(), timeout=PLACE_S)
        except self._ray.exceptions.GetTimeoutError as error:
            raise ZooError(
                f"{model} cannot be loaded: the Ray cluster has had no room for another copy for {PLACE_S:g} s "
                f"({_in_words(takes)}); free are {_in_words(self._ray.available_resources())}. Ask for fewer replicas or "
                "less for each, or add a node"
            ) from error
        except self._ray.exceptions.RayError as error:
            if "No module named" in str(error):
                raise ZooError(
                    f"{model} cannot be loaded: a node of the Ray cluster lacks this package ({_last_line(error)}). Install "
                    f"{PACKAGE}[ray] {versions()[PACKAGE]} in the Python of every node"
                ) from error
            raise self._gone(error) from error
        if differing := [
            f"{name} {there[name]} there, {here} here" for name, here in versions().items() if there[name] != here
        ]:
            raise ZooError(
                f"{model} cannot be loaded on {self.where}: {', '.join(differing)}; all nodes need the same versions"
            )

    def _check_room(self, model: str, takes: dict[str, float]) -> None:
        """Whether any node could ever hold a copy: Ray would wait for one to join."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        if not any(all(node["Resources"].get(name, 0) >= much for name, much in takes.items()) for node in nodes):
            have = "; ".join(f"{node['NodeManagerAddress']}: {_in_words(node['Resources'])}" for node in nodes)
            raise ZooError(
                f"{model} cannot be loaded: no node of the Ray cluster has {_in_words(takes)} (there are {have}). Change "
                "running.cpus, running.gpus or memory_gb, or add a node"
            )

    def _gone(self, error: Exception) -> HostGone:
        return HostGone(f"its Ray actor on {self.where} is gone ({_last_line(error)})")


def _in_words(resources: dict[str, float]) -> str:
    cpus, gpus, memory = (resources.get(name, 0) for name in ("CPU", "GPU", "memory"))
    return f"{cpus:g} CPU(s), {gpus:g} GPU(s)" + (f", {memory / 1e9:.1f} GB" if memory else "")


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
