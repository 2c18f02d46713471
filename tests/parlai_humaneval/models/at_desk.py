"""What partners and models do at a desk, in tests."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from parlai_humaneval.models.backends.base import Heard
from parlai_humaneval.models.backends.human import Desk, errand_id_of


def heard(seed: int = 1, text: str = "Hi!") -> Heard:
    return Heard(dialogue=(("human", text),), persona=(), partner_persona=(), seed=seed)


def eventually(condition: Callable[[], Any], timeout: float = 5.0) -> None:
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.005)


def in_hand(desk: Desk, partner: str) -> Heard:
    eventually(lambda: desk.in_hand(partner))
    errand = desk.in_hand(partner)
    assert errand is not None
    return errand.heard


def reply(desk: Desk, partner: str, text: str) -> None:
    assert desk.answer(partner, errand_id_of(in_hand(desk, partner)), text)
