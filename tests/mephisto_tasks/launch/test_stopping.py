"""What ends a launch, and ends it cleanly."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from mephisto_tasks.launch.launch import stop_on_signals

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def _handlers_as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("_handlers_as_before")
@pytest.mark.parametrize("number", SIGNALS)
def test_each_of_these_asks_it_to_stop(number: signal.Signals) -> None:
    """SIGHUP is a terminal that was closed: what is offered at a crowd's site must not outlive the launch."""
    signal.signal(number, signal.SIG_DFL)
    stop = stop_on_signals()
    os.kill(os.getpid(), number)
    assert stop.wait(5)


@pytest.mark.usefixtures("_handlers_as_before")
def test_nohup_is_respected() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    stop = stop_on_signals()
    os.kill(os.getpid(), signal.SIGHUP)
    assert not stop.is_set()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


@pytest.mark.usefixtures("_handlers_as_before")
def test_a_second_interrupt_means_it() -> None:
    stop_on_signals()
    os.kill(os.getpid(), signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
