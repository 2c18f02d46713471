"""Models of a pool where their entries say: in this process, in others of this machine, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property

from parlai.core.agents import Agent
from parlai.core.loader import load_agent_module
from pydantic import ValidationError

from parlai_humaneval._util.errors import value_problem
from parlai_humaneval.models.backends.base import OutsideAgent
from parlai_humaneval.models.backends.callable import CallableAgent
from parlai_humaneval.models.backends.human import is_person
from parlai_humaneval.models.pool.loading import LoadedModels
from parlai_humaneval.models.workers.hosts import Hosts, RemoteAgent, Replica, remote_agent
from parlai_humaneval.models.workers.process import HostProcess, device_environment
from parlai_humaneval.models.workers.ray_actor import RayActor, Room, connect
from parlai_humaneval.models.zoo.entries import ENGINE_KEYS, Engine, ModelSpec, Running, ZooError
from parlai_humaneval.models.zoo.files import make_importable


class ModelPlacement(LoadedModels):
    """Models may be in other processes, or on a cluster: each batch goes to one that is free."""

    def _start(self, spec: ModelSpec) -> Agent:
        return self._start_elsewhere(spec) if spec.running.elsewhere else super()._start(spec)

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

    def _start_elsewhere(self, spec: ModelSpec) -> RemoteAgent:
        if is_person(spec):
            raise ZooError(
                "a person answers at the launch's own page, not elsewhere", where=f"{spec.name}: running.engine"
            )
        for other, hosts in self._placed:
            if _place_of(other) == _place_of(spec) and (told := hosts.take(spec)) is not None:
                return remote_agent(spec.name, hosts, told)
        starts = {"processes": self._processes, "ray": self._actors}
        alone = spec.run_with(engine="here", outage_s=0)
        hosts = starts[spec.running.engine or ""](spec, alone)
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
                raise ZooError(
                    f"a launch uses one Ray cluster, and this launch has the one at {next(iter(self._leaving))}",
                    where=f"{spec.name}: running.address",
                )
            self._leaving[address] = connect(address)
        if spec.device is not None:  # Ray shows it the GPU that it gives it, and none where it gives none
            alone = alone.model_copy(update={"device": None})
        return Hosts(alone, lambda index: RayActor(spec, self.max_batch, self._room, index), spec.running.copies)


def _place_of(spec: ModelSpec) -> tuple[object, ...]:
    running = spec.running
    return (spec.device, running.engine, running.copies, running.devices, running.cpus, running.gpus, running.address)


def _devices(spec: ModelSpec) -> list[str]:
    """Of the processes of a model, in turn; empty: what it takes by itself. By default several share out the GPUs."""
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
    try:
        Running.model_validate(given)
    except ValidationError as error:
        raise ZooError(value_problem(error.errors()[0])) from error
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
