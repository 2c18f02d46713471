"""Agents that say what they heard, in a pool."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from chat_pool import AGENT, KEY, MakePool
from faulty_server import FaultyServer
from parlai.core.agents import Agent
from recalling import RecallingAgent

from parlai_humaneval.models.backends.human import Desk
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, Running


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds the modules of a folder that another has made importable."""
    monkeypatch.setattr(sys, "path", list(sys.path))


AgentPool = Callable[..., ModelPool]


@pytest.fixture
def agent_pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentPool]:
    """``agent_pool({"name": agent, …}, **pool_arguments)``: a loaded pool of agents that a test has made."""
    pools = []

    def make(agents: Mapping[str, Agent], **arguments: Any) -> ModelPool:
        monkeypatch.setattr("parlai_humaneval.models.pool.loading.load_agent", lambda spec: agents[spec.name])
        pool = ModelPool(
            [ModelSpec(name=name, options={"model": "made", "script": name}) for name in agents], **arguments
        )
        pools.append(pool)
        return pool.load()

    yield make
    for pool in pools:
        pool.close()


@pytest.fixture
def recalling_pool(agent_pool: AgentPool) -> ModelPool:
    """Models a, b and c that say what they heard."""
    return agent_pool({name: RecallingAgent({"name": name}) for name in "abc"})


@pytest.fixture
def desk() -> Iterator[Desk]:
    made = Desk()
    yield made
    made.close()


@pytest.fixture
def asking(desk: Desk) -> Iterator[Callable[..., Future[str]]]:
    """``asking(heard(…), patience_s=…)``: a model asks, in a thread of its own."""
    with ThreadPoolExecutor(8) as threads:
        yield lambda what, patience_s=5.0, **more: threads.submit(desk.ask, what, patience_s=patience_s, **more)
        desk.close()


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    server = FaultyServer().start()
    yield server
    server.end()


@pytest.fixture
def chat(server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakePool]:
    """``chat(timeout_s=…, **options)``: a pool of the one model ``m``; its client asks twice, the pool too.

    It does not wait for a server that is gone, but for ``outage_s``.
    """
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    pools = []

    def make(
        timeout_s: float = 20.0, running: Running | None = None, outage_s: float = 0.0, **options: Any
    ) -> ModelPool:
        given = {"base_url": server.base_url, "served_model": "asked", "request_retries": 1, "request_timeout_s": 5}
        spec = ModelSpec(name="m", options={"model": AGENT, **given, **options}, running=running or Running())
        pool = ModelPool([spec], timeout_s=timeout_s, retries=1, outage_s=outage_s)
        pools.append(pool)
        return pool.load()

    yield make
    for pool in pools:
        pool.close()
