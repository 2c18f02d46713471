"""A stand-in of Prolific, and requests to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from servers.prolific import (
    StandIn,
)

from .hands import Api


@pytest.fixture
def prolific() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


@pytest.fixture
def api(prolific: StandIn) -> Api:
    return Api(prolific)
