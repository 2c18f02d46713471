"""The processes that hold copies of one model: the free ones, what happens when one ends, and its replacement."""

from __future__ import annotations

import logging
import threading
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from parlai.core.agents import Agent
from parlai.core.loader import load_agent_module
from parlai.core.message import Message
from parlai.core.opt import Opt

from parlai_humaneval._util.data_files import validated
from parlai_humaneval.display.images import IMAGES_FIELD
from parlai_humaneval.models.backends import base
from parlai_humaneval.models.backends.base import OutsideAgent
from parlai_humaneval.models.backends.callable import CallableAgent
from parlai_humaneval.models.backends.human import is_person
from parlai_humaneval.models.pool.loading import LoadedModels, Utterance
from parlai_humaneval.models.pool.worker import CLOSED
from parlai_humaneval.models.workers.process import HostGone, HostProcess, Question, device_environment
from parlai_humaneval.models.workers.ray_actor import RayActor, Room, connect
from parlai_humaneval.models.zoo.entries import ENGINE_KEYS, Engine, ModelSpec, Running, ZooError
from parlai_humaneval.models.zoo.files import make_importable

logger = logging.getLogger(__name__)

DEADLY = 3
"""Processes that may end at the same question, or while they load, before that is held to be the reason."""
RESTARTS = 5
"""How often a process is restarted; a process that answered in between is not counted."""
LONGEST_PAUSE_S = 30.0
END_S = 10.0


class Replica(Protocol):
    """A running :class:`~parlai_humaneval.models.workers.process.Host`, asked by one thread at a time."""

    def call(self, method: str, *arguments: Any) -> Any:
        """What the host's method returns, or raises; :class:`HostGone` when the process has ended."""

    def end(self) -> None:
        """End the process if it still runs; callers that wait for it get `HostGone`."""


@dataclass(eq=False)
class _Place:
    """Where a replica runs. ``ended``: how often one did there since it last answered."""

    index: int
    replica: Replica
    ended: int = 0


class Hosts:
    """Copies of a model in processes of their own. One that ends is replaced, and what it was asked is asked of
    another: no reply is lost, and none differs."""

    def __init__(self, spec: ModelSpec, start: Callable[[int], Replica], number: int) -> None:
        self.number = number
        self._specs = [spec]
        self._start = start
        self._changed = threading.Condition()
        self._closed = threading.Event()
        self._free: deque[_Place] = deque()
        self.running: set[Replica] = set()
        self._starting: list[threading.Thread] = []
        self._places = number
        self._serving = 0
        """Slots whose process is running, and free or at work; the others are being restarted."""
        self._trouble = ""
        self._blamed: dict[str, int] = {}

    def load(self) -> Mapping[str, Any]:
        """Start the processes and load the model in each. The first goes ahead: a download is made, and a ZooError
        raised, once."""
        try:
            told = self._settle(0)
            with ThreadPoolExecutor(self.number) as others:
                list(others.map(self._settle, range(1, self.number)))
        except HostGone as error:
            self.close()
            raise ZooError(f"{self._specs[0].name} cannot be loaded: {error}") from error
        except BaseException:
            self.close()
            raise
        return told

    def take(self, spec: ModelSpec) -> Mapping[str, Any] | None:
        """Have ``spec`` answered here, too, if it shares the weights; None if it does not. Nobody may be asking yet."""
        places = [self._take() for _ in range(self._places)]
        try:
            told = [place.replica.call("take", spec) for place in places]
        except HostGone as error:
            raise ZooError(f"{spec.name} cannot be loaded: {error}") from error
        finally:
            for place in places:
                self._give_back(place)
        if told[0] is None:
            return None
        self._specs.append(spec)
        return dict(told[0])

    def ask(self, model: str, questions: Sequence[Question]) -> list[base.Said | base.OutsideError]:
        """An answer to each question; an OutsideError when process after process ended at it, or none is left."""
        trouble = ""
        for _ in range(DEADLY):
            place = self._take()
            try:
                answers: list[base.Said | base.OutsideError] = place.replica.call("answer", model, questions)
            except HostGone as error:
                trouble = str(error)
                self._replace(place, trouble)
                if len(questions) == 1:  # asked by itself when process after process ended, it is asked no more
                    key = questions[0].conversation
                    self._blamed[key] = self._blamed.get(key, 0) + 1
                    if self._blamed[key] >= DEADLY:
                        del self._blamed[key]
                        died = f"{DEADLY} processes ended while they answered this question"
                        raise base.OutsideError(died, final=True, where=trouble) from error
                continue
            except BaseException:
                self._give_back(place)
                raise
            place.ended = 0
            self._give_back(place)
            for question in questions:
                self._blamed.pop(question.conversation, None)
            return answers
        raise base.OutsideError(trouble)

    def close(self) -> None:
        self._closed.set()
        with self._changed:
            running = list(self.running)
            self.running.clear()
            self._changed.notify_all()
        for replica in running:
            replica.end()
        for thread in self._starting:  # none may begin a process after this
            thread.join(END_S)

    def _settle(self, index: int) -> Mapping[str, Any]:
        for left in reversed(range(DEADLY)):
            try:
                replica, told = self._begin(index)
                break
            except HostGone as error:
                if self._closed.is_set() or not left:
                    raise
                logger.error("%s: %s while it was loaded; another is started in its place", self._specs[0].name, error)
        self._open(_Place(index, replica))
        return told

    def _begin(self, index: int) -> tuple[Replica, Mapping[str, Any]]:
        replica = self._start(index)
        with self._changed:
            self.running.add(replica)
        try:
            if self._closed.is_set():
                raise HostGone(CLOSED)
            told: list[Mapping[str, Any]] = [replica.call("load", spec) for spec in self._specs]
        except BaseException:
            self._end(replica)
            raise
        return replica, told[0]

    def _end(self, replica: Replica) -> None:
        with self._changed:
            self.running.discard(replica)
        replica.end()

    def _take(self) -> _Place:
        with self._changed:
            while not self._free:
                if self._closed.is_set():
                    raise RuntimeError(CLOSED)
                if not self._places:
                    raise base.OutsideError(f"all its processes have ended: {self._trouble}", final=True)
                if not self._serving:
                    raise base.OutsideError(f"its process is being restarted: {self._trouble}", absence=base.Absence())
                self._changed.wait()
            return self._free.popleft()

    def _open(self, place: _Place) -> None:
        with self._changed:
            self._serving += 1
            self._give_back(place)

    def _give_back(self, place: _Place) -> None:
        with self._changed:
            self._free.append(place)
            self._changed.notify()

    def _replace(self, place: _Place, why: str) -> None:
        self._end(place.replica)
        with self._changed:
            self._serving -= 1
            self._trouble = why
            self._changed.notify_all()
        if self._closed.is_set():
            return
        logger.error("%s: %s; another is started in its place", self._specs[0].name, why)
        place.ended += 1
        thread = threading.Thread(target=self._start_again, args=[place, why], daemon=True)
        self._starting = [other for other in self._starting if other.is_alive()] + [thread]
        thread.start()

    def _start_again(self, place: _Place, trouble: str) -> None:
        while place.ended <= RESTARTS and not self._closed.is_set():
            try:
                place.replica, _ = self._begin(place.index)
            except (ZooError, HostGone) as error:
                trouble = str(error)
                logger.error("%s: no other process could be started: %s", self._specs[0].name, trouble)
                place.ended += 1
                self._closed.wait(min(2.0**place.ended, LONGEST_PAUSE_S))
            else:
                if self._closed.is_set():
                    self._end(place.replica)
                else:
                    self._open(place)
                return
        with self._changed:
            self._places -= 1
            self._trouble = trouble
            self._changed.notify_all()


QUESTION_FIELD = "question"


class RemoteAgent(base.OutsideAgent):
    """Writes down what it hears, for a copy of the model elsewhere (``shared``: the hosts, and its name there) to hear."""

    SHARED = ("hosts", "model")

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        assert shared is not None, "a remote agent is made by remote_agent, or cloned"
        self.hosts: Hosts = shared["hosts"]
        self.model: str = shared["model"]
        self._key = uuid.uuid4().hex
        self._heard: list[Utterance] = []

    def at_once(self, most: int, threads: int | None) -> tuple[int, int]:
        """A function is called as often at once as it allows: what waits there is nothing for a process that is free."""
        return int(self.opt.get("concurrency") or most), self.hosts.number

    def observe(self, observation: Message) -> Message:
        text = observation.get("text")
        if text is not None:
            extra = {name: value for name, value in observation.items() if name not in ("text", "episode_done")}
            self._heard.append(Utterance("human", str(text), extra))
        question = Question(self._key, self.dialogue_seed, tuple(self._heard))
        self.observation = Message({QUESTION_FIELD: question})
        return self.observation

    def self_observe(self, message: Message) -> None:
        images = {IMAGES_FIELD: message[IMAGES_FIELD]} if message.get(IMAGES_FIELD) else {}
        self._heard.append(Utterance("bot", str(message["text"]), images))

    def reset(self) -> None:
        super().reset()
        self._key, self._heard = uuid.uuid4().hex, []

    def batch_act(self, observations: Sequence[Message]) -> list[Message]:
        answers = self.hosts.ask(self.model, [observation[QUESTION_FIELD] for observation in observations])
        said = {"id": self.id, "text": "", "episode_done": False}
        return [
            Message({**said, base.ERROR_FIELD: answer})
            if isinstance(answer, base.OutsideError)
            else Message({**said, "text": answer.text, base.INFO_FIELD: answer.info, IMAGES_FIELD: answer.images})
            for answer in answers
        ]

    def ask(self, heard: base.Heard) -> base.Said:
        """Ask for one reply. The first question shows at once whether somebody answers."""
        lines = tuple(Utterance(speaker, text) for speaker, text in heard.dialogue)
        answer = self.hosts.ask(self.model, [Question(uuid.uuid4().hex, heard.seed, lines)])[0]
        if isinstance(answer, base.OutsideError):
            raise answer
        return answer

    def shutdown(self) -> None:
        self.hosts.close()


def remote_agent(model: str, hosts: Hosts, options: Mapping[str, Any]) -> RemoteAgent:
    return RemoteAgent(Opt(options), {"hosts": hosts, "model": model})


class ModelPlacement(LoadedModels):
    """Models may be in other processes, or on a cluster: each batch goes to one that is free."""

    def close(self) -> None:
        super().close()
        for _, hosts in self._placed:
            hosts.close()
        self._placed.clear()
        for leave in self._leaving.values():
            leave()
        self._leaving.clear()

    @cached_property
    def _placed(self) -> list[tuple[ModelSpec, Hosts]]:
        return []

    @cached_property
    def _leaving(self) -> dict[str | None, Callable[[], None]]:
        return {}

    @cached_property
    def _room(self) -> Room:
        return Room()

    def _start(self, spec: ModelSpec) -> Agent:
        if not spec.running.elsewhere:
            return super()._start(spec)
        if is_person(spec):
            what = "a person answers at the launch's own page, not elsewhere"
            raise ZooError(what, where=f"{spec.name}: running.engine")
        for other, hosts in self._placed:
            if _place_of(other) == _place_of(spec) and (told := hosts.take(spec)) is not None:
                return remote_agent(spec.name, hosts, told)
        alone = spec.run_with(engine="here", outage_s=0)
        hosts = self._actors(spec, alone) if spec.running.engine == "ray" else self._processes(spec, alone)
        loaded = hosts.load()
        self._placed.append((spec, hosts))
        return remote_agent(spec.name, hosts, loaded)

    def _processes(self, spec: ModelSpec, alone: ModelSpec) -> Hosts:
        devices = _devices(spec)
        threads = int(spec.running.cpus or 0) or self.torch_threads
        if devices:  # each process sees its own alone
            alone = alone.model_copy(update={"device": None})

        def start(index: int) -> Replica:
            environment = device_environment(devices[index % len(devices)]) if devices else {}
            return HostProcess(self.max_batch, threads, environment)

        return Hosts(alone, start, spec.running.copies)

    def _actors(self, spec: ModelSpec, alone: ModelSpec) -> Hosts:
        address = spec.running.address
        if address not in self._leaving:
            if self._leaving:
                what = f"a launch uses one Ray cluster, and this launch has the one at {next(iter(self._leaving))}"
                raise ZooError(what, where=f"{spec.name}: running.address")
            self._leaving[address] = connect(address)
        if spec.device is not None:  # Ray shows it the GPU that it gives it, and none where it gives none
            alone = alone.model_copy(update={"device": None})
        return Hosts(alone, lambda index: RayActor(spec, self.max_batch, self._room, index), spec.running.copies)


def _place_of(spec: ModelSpec) -> tuple[object, ...]:
    running = spec.running
    return (spec.device, running.engine, running.copies, running.devices, running.cpus, running.gpus, running.address)


def _devices(spec: ModelSpec) -> list[str]:
    """Options for each process of a model, in turn; empty: none. By default several share out the GPUs."""
    if spec.running.devices or spec.device:
        return list(spec.running.devices or [str(spec.device)])
    if spec.running.copies == 1 or spec.options.get("no_cuda"):
        return []
    import torch

    return [f"cuda:{number}" for number in range(torch.cuda.device_count())]


def with_engine(
    specs: Sequence[ModelSpec], engine: Engine | None, *, replicas: int | None = None, address: str | None = None
) -> list[ModelSpec]:
    """The models on another engine, but for those that compute nothing here; a ZooError where that changes nothing."""
    if engine is None:
        if replicas is not None or address is not None:
            raise ZooError("replicas and the address of a Ray cluster need an engine: processes or ray")
        return list(specs)
    asked = {"engine": engine, "replicas": replicas, "address": address}
    given = {name: value for name, value in asked.items() if value is not None}
    validated(Running, given, error=ZooError)
    strange = {name: None for keys in ENGINE_KEYS.values() for name in keys - ENGINE_KEYS[engine]}
    there = [spec if _asks_elsewhere(spec) else spec.run_with(**{**strange, **given}) for spec in specs]
    if engine != "here" and specs and all(new is spec for new, spec in zip(there, specs, strict=True)):
        raise ZooError(
            f"engine {engine}: it runs none of these models ({', '.join(spec.name for spec in specs)}): "
            "servers, programs and people are asked from this process",
            try_="leave the engine out",
        )
    return there


def _asks_elsewhere(spec: ModelSpec) -> bool:
    """An agent that is not on this machine, or cannot be imported, is none of ours, and for its loading to complain of."""
    model = str(spec.options.get("model"))
    with suppress(Exception):  # a module may raise anything when it is imported
        make_importable(spec.folder)
        agent = load_agent_module(model)
        return issubclass(agent, OutsideAgent) and not issubclass(agent, CallableAgent)
    return False
