"""Hosts as actors of a running Ray cluster."""

from __future__ import annotations

import importlib
import json
import logging
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval.models.workers.process import Host, HostGone
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError

logger = logging.getLogger(__name__)

REACH_S = 3.0
"""Seconds until a cluster that does not answer is taken for one that is not there; Ray itself takes minutes."""
HTTP2_SETTINGS = b"\x04"
HTTP2_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0" + HTTP2_SETTINGS + b"\0" * 5
"""What a client says first, and the kind of frame that a server answers at once (RFC 9113, 3.4)."""
PLACE_S = 120.0
"""Seconds until a copy that the cluster has no room for is given up, actors that ended meanwhile included."""
SAY_S = 10.0
PAUSE_S = 2.0
"""Seconds after which an actor whose node has ended is put on another."""
PACKAGE = "parlai-humaneval"
TOKEN_S = 20.0
NO_TOKEN = ("InvalidAuthToken", "AuthenticationError", "AuthenticationTokenLoader", "RAY_AUTH_TOKEN")
"""What Ray says, as an exception or as it aborts, where the token is missing or wrong."""
_GREET_CLUSTER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from ray._private.services import canonicalize_bootstrap_address; from ray._raylet import GcsClient; "
    "GcsClient(address=canonicalize_bootstrap_address(sys.argv[2]))"
)


class RayHost(Host):
    """A host that can say where it is: the node in words, and the versions there that must be those of the launch."""

    def node(self) -> tuple[str, dict[str, str]]:
        import ray

        return f"{socket.gethostname()} ({ray.util.get_node_ip_address()})", versions()


def versions() -> dict[str, str]:
    try:
        ours = version(PACKAGE)
    except PackageNotFoundError:  # run from a checkout that is not installed
        ours = "not installed"
    return {PACKAGE: ours, "Python": ".".join(platform.python_version_tuple()[:2])}


def connect(address: str | None) -> Callable[[], None]:
    """Join the cluster at ``address``; the result leaves it. An existing connection is used and kept."""
    # Ray reads them when it is imported: it tells its makers nothing, and starts no cluster that nobody asked for.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise _refusal("not_installed", package=PACKAGE) from error
    wanted = address or os.environ.get("RAY_ADDRESS") or "auto"
    if ray.is_initialized():
        joined = ray.get_runtime_context().gcs_address
        if wanted not in ("auto", joined):
            raise _refusal("another_cluster", joined=joined, wanted=wanted)
        return lambda: None
    _check_reachable(wanted)
    _check_token(wanted)
    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM) if main else None
    try:
        ray.init(address=wanted, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    except Exception as error:  # any exception is possible; the words tell the commonest ones apart
        said = " ".join(str(error).split())
        if isinstance(error, ConnectionError) and wanted == "auto":
            raise _refusal("none_here") from error
        kind = "another_version" if "version mismatch" in said.lower() else "not_joined"
        raise _refusal(kind, wanted=wanted, said=said) from error
    finally:
        if main and before is not None:  # Ray takes SIGTERM for itself; None: it was not set from Python
            signal.signal(signal.SIGTERM, before)
    return lambda: ray.shutdown()


def _check_reachable(address: str) -> None:
    """Whether somebody who speaks Ray's protocol (gRPC) listens there; ``auto`` is looked up by Ray, which knows at once."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise _refusal("no_address", address=address)
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S) as connection:
            connection.sendall(HTTP2_GREETING)
            greeted = connection.recv(9)[3:4] == HTTP2_SETTINGS
        trouble = "another program listens there"
    except OSError as error:
        greeted, trouble = False, error.strerror or str(error)
    if not greeted:
        raise _refusal("no_answer", address=address, trouble=trouble)


def _check_token(address: str) -> None:
    """Whether the cluster lets us in; Ray itself ends the process where there is no token, so another process asks."""
    if address.startswith("ray://"):  # another protocol, which says so at once
        return
    try:
        asked = subprocess.run(
            [sys.executable, "-c", _GREET_CLUSTER, json.dumps(sys.path), address],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TOKEN_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return  # it is for Ray to say what is wrong
    if asked.returncode == 0 or not any(word in asked.stderr for word in NO_TOKEN):
        return
    cluster = "this machine's Ray cluster" if address == "auto" else f"the Ray cluster at {address}"
    given = "token_refused" if os.environ.get("RAY_AUTH_TOKEN") else "token_missing"
    raise _refusal(given if os.environ.get("RAY_AUTH_MODE") == "token" else "token_needed", cluster=cluster)


def _refusal(kind: str, **values: object) -> ZooError:
    said = read_yaml(packaged("ray_words.yaml"))[kind]
    return ZooError(said["what"].format(**values), try_=said.get("try", "").format(**values))


class Room:
    """What a launch holds of a cluster, and how long its copies have waited: Ray waits for ever. One that had a place
    stays."""

    def __init__(self) -> None:
        self.held: dict[RayActor, dict[str, float]] = {}
        self.waited: defaultdict[tuple[str, int], float] = defaultdict(float)
        self.placed: set[tuple[str, int]] = set()

    def patience(self, copy: tuple[str, int]) -> float:
        """Seconds that a copy may still wait: a restarted copy continues where the previous copy ended."""
        return max(0.0, PLACE_S - self.waited[copy])

    def on(self, address: str) -> dict[str, float]:
        held = [takes for actor, takes in list(self.held.items()) if actor.address == address]
        return {name: sum(takes[name] for takes in held) for name in ("CPU", "GPU", "memory")}

    def in_words(self) -> str:
        models: dict[str, list[dict[str, float]]] = {}
        for actor, takes in list(self.held.items()):
            models.setdefault(actor.copy[0], []).append(takes)
        return ", ".join(
            f"{model} ({f'{len(copies)} × ' if len(copies) > 1 else ''}{_in_words(copies[0])})"
            for model, copies in models.items()
        )


class RayActor:
    """A host as an actor, with what the model takes reserved; a ZooError where no node can hold it."""

    def __init__(self, spec: ModelSpec, max_batch: int, room: Room, index: int) -> None:
        import ray

        self._ray = ray
        self._room = room
        running = spec.running
        gpus = float((spec.device or "").startswith("cuda")) if running.gpus is None else running.gpus
        self._model = spec.name
        self.copy = (spec.name, index)
        self._takes = {"CPU": running.cpus or 1.0, "GPU": gpus, "memory": (spec.memory_gb or 0) * 1e9}
        self._max_batch = max_batch
        self._ended = threading.Event()
        self.where = ""
        self.address = ""
        self._check_room()
        self._actor = self._actor_somewhere()

    def _actor_somewhere(self) -> Any:
        takes = self._takes
        options = {"num_cpus": takes["CPU"], "num_gpus": takes["GPU"], "memory": int(takes["memory"]) or None}
        actor = self._ray.remote(RayHost).options(**options, scheduling_strategy="SPREAD")
        return actor.remote(self._max_batch, max(1, int(takes["CPU"])))

    def call(self, method: str, *arguments: Any) -> Any:
        """What the host's method returns, or raises; a ZooError without a place, HostGone when the actor or its node is
        no more."""
        if not self.where:
            self._settle()
        try:
            went_well, result = self._ray.get(self._actor.call.remote(method, arguments))
        except self._ray.exceptions.RayError as error:
            raise self._gone(error) from error
        if went_well:
            return result
        if isinstance(result, ZooError):
            raise ZooError(result, where=f"on {self.where}, a node of the Ray cluster")
        raise result

    def end(self) -> None:
        self._ended.set()
        self._room.held.pop(self, None)
        with suppress(Exception):  # it may have ended, the cluster with it
            self._ray.kill(self._actor)

    def _settle(self) -> None:
        began = time.monotonic()
        until = began + self._room.patience(self.copy)
        said = False
        try:
            while not self.where:
                left = max(0.0, until - time.monotonic())
                try:
                    asked = self._actor.node.remote()
                    where, there = self._ray.get(asked, timeout=min(SAY_S, left))
                except self._ray.exceptions.GetTimeoutError as error:
                    if time.monotonic() >= until:
                        what = f"the Ray cluster has had no room for another copy for {PLACE_S:g} s"
                        raise self._no_room(what) from error
                    if not said:
                        more = read_yaml(packaged("ray_words.yaml"))["no_room"]["try"]
                        logger.warning(
                            "%s waits for room on the Ray cluster (%s); %s", self._model, self._shortage(), more
                        )
                    said = True
                    self._check_room()  # the cluster notices late that a node has ended
                except self._ray.exceptions.RayError as error:
                    if "No module named" in str(error):
                        ours = {"package": PACKAGE, "version": versions()[PACKAGE]}
                        raise _refusal("lacks_package", model=self._model, said=_last_line(error), **ours) from error
                    # A node that has ended is given actors as long as the cluster does not know.
                    if "creation task" in str(error) or self._ended.wait(PAUSE_S):
                        raise self._gone(error) from error
                    self._actor = self._actor_somewhere()
                else:
                    if differing := [
                        f"{name} {there[name]} there, {here} here"
                        for name, here in versions().items()
                        if there[name] != here
                    ]:
                        named = ", ".join(differing)
                        raise _refusal("versions_differ", model=self._model, where=where, differing=named)
                    self.where, self.address = where, where.rpartition("(")[2].rstrip(")")
        except HostGone:
            self._room.waited[self.copy] += time.monotonic() - began
            raise
        self._room.held[self] = self._takes
        self._room.waited.pop(self.copy, None)
        self._room.placed.add(self.copy)

    def _check_room(self) -> None:
        """Whether any node could ever hold a copy: Ray would wait for one to join."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        if not any(all(node["Resources"].get(name, 0) >= much for name, much in self._takes.items()) for node in nodes):
            have = "; ".join(f"{node['NodeManagerAddress']}: {_in_words(node['Resources'])}" for node in nodes)
            raise _refusal("no_node", model=self._model, takes=_in_words(self._takes), have=have)
        if self.copy in self._room.placed:
            return
        for address in {node["NodeManagerAddress"] for node in nodes}:
            there = [node["Resources"] for node in nodes if node["NodeManagerAddress"] == address]
            held = self._room.on(address)
            if all(  # it could hold it, were there nobody else than this launch
                any(one.get(name, 0) >= much for one in there)
                and sum(one.get(name, 0) for one in there) - held[name] >= much
                for name, much in self._takes.items()
            ):
                return
        raise self._no_room("the models of this launch use all of the Ray cluster")

    def _no_room(self, why: str) -> ZooError:
        return _refusal("no_room", model=self._model, why=why, shortage=self._shortage())

    def _shortage(self) -> str:
        held = self._room.in_words()
        return (
            f"it asks for {_in_words(self._takes)}, {f'this launch holds {held}, ' if held else ''}the cluster has "
            f"{_in_words(self._ray.cluster_resources())}, of which {_in_words(self._ray.available_resources())} are free"
        )

    def _gone(self, error: Exception) -> HostGone:
        return HostGone(f"its Ray actor on {self.where or 'a node'} is gone ({_last_line(error)})")


def _in_words(resources: dict[str, float]) -> str:
    cpus, gpus, memory = (resources.get(name, 0) for name in ("CPU", "GPU", "memory"))
    return f"{cpus:g} CPU(s), {gpus:g} GPU(s)" + (f", {memory / 1e9:.1f} GB" if memory else "")


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
