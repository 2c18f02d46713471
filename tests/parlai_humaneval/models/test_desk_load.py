"""Who at the desk gets a new conversation."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.human import Desk, Errand


@contextmanager
def asked(desk: Desk, seed: int) -> Iterator[Future[str]]:
    """A conversation's first message is at the desk."""
    heard = Heard(dialogue=(("human", "Hi!"),), persona=(), partner_persona=(), seed=seed)
    with ThreadPoolExecutor(1) as thread:
        yield thread.submit(desk.ask, heard, patience_s=10)
        desk.leave(seed)


def taken(desk: Desk, *partners: str) -> tuple[str, Errand]:
    """Who of ``partners`` has something in hand, as soon as one has."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for partner in partners:
            if (errand := desk.in_hand(partner)) is not None:
                return partner, errand
        time.sleep(0.005)
    raise AssertionError("nobody was given the message")


@pytest.mark.parametrize("conversations", [1, 3])
def test_a_new_conversation_goes_to_who_has_the_fewest(conversations: int) -> None:
    """Guards the first to come, who is free again after each message: the conversations are shared out all the same."""
    desk = Desk()
    desk.sit_down("first")
    running = []
    for seed in range(conversations):
        context = asked(desk, seed)
        answer = context.__enter__()
        running.append(context)
        _, errand = taken(desk, "first")
        assert desk.answer("first", errand.errand_id, "Hello!")
        assert answer.result(10) == "Hello!"
    desk.sit_down("second")
    with asked(desk, 100):
        assert taken(desk, "first", "second")[0] == "second"
    for context in running:
        context.__exit__(None, None, None)
