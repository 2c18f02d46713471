"""Hosts as actors of a Ray cluster that runs already."""

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
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from parlai_humaneval.models.workers.host import Host, HostGone
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
"""Seconds after which a copy that still waits for room is told of."""
PAUSE_S = 2.0
"""Seconds after which an actor whose node has ended is put on another."""
PACKAGE = "parlai-humaneval"
TOKEN_S = 20.0
"""Seconds that a process may take to import Ray and greet the cluster."""
NO_TOKEN = ("InvalidAuthToken", "AuthenticationError", "AuthenticationTokenLoader", "RAY_AUTH_TOKEN")
"""What Ray says, as an exception or as it aborts, where the token is missing or wrong."""
_GREET_CLUSTER = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from ray._private.services import canonicalize_bootstrap_address; from ray._raylet import GcsClient; "
    "GcsClient(address=canonicalize_bootstrap_address(sys.argv[2]))"
)


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
    # Ray reads them when it is imported: it tells its makers nothing, and starts no cluster that nobody asked for.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ENABLE_AUTO_CONNECT", "0")
    try:
        ray = importlib.import_module("ray")
    except ImportError as error:
        raise ZooError(f"Ray is not installed here: pip install '{PACKAGE}[ray]'") from error
    wanted = address or os.environ.get("RAY_ADDRESS") or "auto"
    if ray.is_initialized():
        joined = ray.get_runtime_context().gcs_address
        if wanted not in ("auto", joined):
            raise ZooError(f"this process uses the Ray cluster at {joined} already, and can use no other: not {wanted}")
        return lambda: None
    _check_reachable(wanted)
    _check_token(wanted)
    try:
        with _own_signals():
            ray.init(address=wanted, log_to_driver=False, logging_level="ERROR", configure_logging=False)
    except Exception as error:  # it raises what it likes; the commonest are told apart by its own words
        raise _refused(wanted, error) from error
    return lambda: ray.shutdown()


def _check_reachable(address: str) -> None:
    """Whether somebody who speaks Ray's protocol (gRPC) listens there; ``auto`` is looked up by Ray, which knows at once."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdigit():
        raise ZooError(f"{address} is no address of a Ray cluster: expected HOST:PORT, such as 127.0.0.1:6379")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=REACH_S) as connection:
            connection.sendall(HTTP2_GREETING)
            greeted = connection.recv(9)[3:4] == HTTP2_SETTINGS
        trouble = "what listens there is something else"
    except OSError as error:
        greeted, trouble = False, error.strerror or str(error)
    if not greeted:
        raise ZooError(
            f"no Ray cluster answers at {address} ({trouble})",
            try_="start one with `ray start --head --port=6379`, or name the address of one that runs (`ray "
            "status` shows it)",
        )


def _check_token(address: str) -> None:
    """Whether the cluster lets us in. Ray itself tries for most of a minute, and ends the process where there is no token:
    so another process asks."""
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
    if os.environ.get("RAY_AUTH_MODE") != "token":
        trouble = "wants a token: set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token that its nodes have"
    elif os.environ.get("RAY_AUTH_TOKEN"):
        trouble = "refuses the token in RAY_AUTH_TOKEN: set it to the one that its nodes have"
    else:
        trouble = (
            "has got no token, or a wrong one: set RAY_AUTH_TOKEN (or a file, RAY_AUTH_TOKEN_PATH) to that of its nodes"
        )
    raise ZooError(f"{cluster} {trouble}")


def _refused(address: str, error: Exception) -> ZooError:
    said = " ".join(str(error).split())
    if isinstance(error, ConnectionError) and address == "auto":
        return ZooError(
            "no Ray cluster runs on this machine",
            try_="start one with `ray start --head`, join one with `ray start --address=HOST:PORT --num-cpus=0`, "
            "or say where it is (--ray-address, or running.address)",
        )
    if "version mismatch" in said.lower():
        return ZooError(
            f"the Ray cluster at {address} has another version of Ray or Python, and has to have the same: {said}"
        )
    return ZooError(
        f"the Ray cluster at {address} cannot be joined: {said}",
        try_=f"make this machine a node of it: `ray start --address={address} --num-cpus=0` makes it one that models "
        "are not put on",
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


class Room:
    """What a launch holds of a cluster, and how long its copies have waited there. Any thread may ask.

    Ray waits for ever for room that nobody makes: what the launch itself has filled cannot become free, so that is told at
    once.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: dict[RayActor, tuple[str, dict[str, float]]] = {}
        self._waited: dict[tuple[str, int], float] = {}
        self._placed: set[tuple[str, int]] = set()

    def patience(self, model: str, index: int) -> float:
        """Seconds that a copy may still wait: one that is started anew goes on where the one before it ended."""
        with self._lock:
            return max(0.0, PLACE_S - self._waited.get((model, index), 0.0))

    def waited(self, model: str, index: int, seconds: float) -> None:
        """A copy has waited in vain for so long."""
        with self._lock:
            self._waited[model, index] = self._waited.get((model, index), 0.0) + seconds

    def hold(self, actor: RayActor, model: str, index: int, takes: dict[str, float]) -> None:
        """A copy has its place."""
        with self._lock:
            self._held[actor] = model, takes
            self._waited.pop((model, index), None)
            self._placed.add((model, index))

    def was_placed(self, model: str, index: int) -> bool:
        """Whether a copy had a place before: a node that is lost may come back, and is waited for."""
        with self._lock:
            return (model, index) in self._placed

    def release(self, actor: RayActor) -> None:
        """A copy has ended."""
        with self._lock:
            self._held.pop(actor, None)

    def on(self, address: str) -> dict[str, float]:
        """What the launch holds of the node, or nodes, at an address."""
        with self._lock:
            held = [takes for actor, (_, takes) in self._held.items() if actor.address == address]
        return {name: sum(takes[name] for takes in held) for name in ("CPU", "GPU", "memory")}

    def in_words(self) -> str:
        """What each model holds, for people; empty where none does yet."""
        with self._lock:
            held = list(self._held.values())
        models = {model: [takes for other, takes in held if other == model] for model, _ in held}
        return ", ".join(
            f"{model} ({f'{len(copies)} × ' if len(copies) > 1 else ''}{_in_words(copies[0])})"
            for model, copies in models.items()
        )


class RayActor:
    """A host as an actor, on whichever node has room; as far as that goes, each on another.

    Args:
        spec: the model: what it takes of a node is reserved there.
        max_batch: as of :class:`~parlai_humaneval.models.workers.host.Host`.
        room: of the launch.
        index: of the copy, among those of the model.

    Raises:
        ZooError: when no node could ever hold it, or none can beside what the launch holds already.
    """

    def __init__(self, spec: ModelSpec, max_batch: int, room: Room, index: int) -> None:
        import ray

        self._ray = ray
        self._room = room
        self._index = index
        running = spec.running
        gpus = float((spec.device or "").startswith("cuda")) if running.gpus is None else running.gpus
        self._model = spec.name
        self._takes = {"CPU": running.cpus or 1.0, "GPU": gpus, "memory": (spec.memory_gb or 0) * 1e9}
        self._max_batch = max_batch
        self._ended = threading.Event()
        self.where = ""
        """The node, once it is there."""
        self.address = ""
        """Of the node, as the cluster has it."""
        self._check_room()
        self._actor = self._actor_somewhere()

    def _actor_somewhere(self) -> Any:
        takes = self._takes
        options = {"num_cpus": takes["CPU"], "num_gpus": takes["GPU"], "memory": int(takes["memory"]) or None}
        actor = self._ray.remote(RayHost).options(**options, scheduling_strategy="SPREAD")
        return actor.remote(self._max_batch, max(1, int(takes["CPU"])))

    def call(self, method: str, *arguments: Any) -> Any:
        """What the host's method returns, or raises; a ZooError says on which node. The first call waits for a place.

        Raises:
            ZooError: also when it gets no place in time, or its node lacks this package.
            HostGone: when the actor is no more, or its node.
        """
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
        """End the actor."""
        self._ended.set()
        self._room.release(self)
        with suppress(Exception):  # it may have ended, the cluster with it
            self._ray.kill(self._actor)

    def _settle(self) -> None:
        began = time.monotonic()
        until = began + self._room.patience(self._model, self._index)
        said = False
        try:
            while not self.where:
                left = max(0.0, until - time.monotonic())
                try:
                    asked = self._actor.node.remote()
                    where, there = self._ray.get(asked, timeout=min(SAY_S, left))
                except self._ray.exceptions.GetTimeoutError as error:
                    if time.monotonic() >= until:
                        raise self._no_room(
                            f"the Ray cluster has had no room for another copy for {PLACE_S:g} s"
                        ) from error
                    if not said:
                        logger.warning(
                            "%s waits for room on the Ray cluster (%s); %s", self._model, self._shortage(), _MORE_ROOM
                        )
                    said = True
                    self._check_room()  # the cluster notices late that a node has ended
                except self._ray.exceptions.RayError as error:
                    self._place_anew(error)
                else:
                    self._check_versions(where, there)
                    self.where, self.address = where, where.rpartition("(")[2].rstrip(")")
        except HostGone:
            self._room.waited(self._model, self._index, time.monotonic() - began)
            raise
        self._room.hold(self, self._model, self._index, self._takes)

    def _place_anew(self, error: Exception) -> None:
        """For a node that has ended is given actors as long as the cluster does not know; what fails by itself is told."""
        said = str(error)
        if "No module named" in said:
            raise ZooError(
                f"{self._model} cannot be loaded: a node of the Ray cluster lacks this package ({_last_line(error)})",
                try_=f"install {PACKAGE}[ray] {versions()[PACKAGE]} in the Python of every node",
            ) from error
        if "creation task" in said or self._ended.wait(PAUSE_S):
            raise self._gone(error) from error
        self._actor = self._actor_somewhere()

    def _check_versions(self, where: str, there: dict[str, str]) -> None:
        if differing := [
            f"{name} {there[name]} there, {here} here" for name, here in versions().items() if there[name] != here
        ]:
            raise ZooError(
                f"{self._model} cannot be loaded on {where}: {', '.join(differing)}",
                try_="give all nodes the same versions",
            )

    def _check_room(self) -> None:
        """Whether any node could ever hold a copy: Ray would wait for one to join."""
        nodes = [node for node in self._ray.nodes() if node["Alive"]]
        if not any(all(node["Resources"].get(name, 0) >= much for name, much in self._takes.items()) for node in nodes):
            have = "; ".join(f"{node['NodeManagerAddress']}: {_in_words(node['Resources'])}" for node in nodes)
            raise ZooError(
                f"{self._model} cannot be loaded: no node of the Ray cluster has {_in_words(self._takes)} (there "
                f"are {have})",
                try_="change running.cpus, running.gpus or memory_gb, or add a node",
            )
        if not self._room.was_placed(self._model, self._index) and not any(
            self._fits(address, [one["Resources"] for one in nodes if one["NodeManagerAddress"] == address])
            for address in {node["NodeManagerAddress"] for node in nodes}
        ):
            raise self._no_room("the models of this launch have taken all that the Ray cluster has")

    def _fits(self, address: str, there: Sequence[dict[str, float]]) -> bool:
        """Whether the nodes at an address could hold it, were there nobody else than this launch."""
        held = self._room.on(address)
        return all(
            any(one.get(name, 0) >= much for one in there)
            and sum(one.get(name, 0) for one in there) - held[name] >= much
            for name, much in self._takes.items()
        )

    def _no_room(self, why: str) -> ZooError:
        return ZooError(f"{self._model} cannot be loaded: {why} ({self._shortage()})", try_=_MORE_ROOM)

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


_MORE_ROOM = "ask for fewer replicas or less for each, end what else runs there, or add a node"


def _last_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
