from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from chaos import ChaosProxy
from fake_operator import Served

from mephisto_tasks.simulation.page_client import PageClient


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts routers with a fake operator; all end with the test."""
    with ExitStack() as stack:
        yield lambda **options: stack.enter_context(Served(tmp_path / "static", **options))


@pytest.fixture
def served(serve: Callable[..., Served]) -> Served:
    return serve()


@pytest.fixture
def chaos_proxy() -> Callable[..., ChaosProxy]:
    """``async with chaos_proxy(port, seed=1) as proxy``: everything through ``proxy.url`` is cut at random."""
    return ChaosProxy


@pytest.fixture
def open_page() -> Callable[..., PageClient]:
    """``async with open_page(url, "w1") as client``: a rater's page with quick heartbeats."""

    def make(url: str, worker: str = "w1", **options: Any) -> PageClient:
        options = {"heartbeat_s": 0.3, "request_timeout_s": 20.0, **options}
        return PageClient(url, worker_id=worker, assignment_id="a1", **options)

    return make
