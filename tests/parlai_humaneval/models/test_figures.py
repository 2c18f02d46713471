"""How each model answers, as whoever watches a launch is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from parlai.core.message import Message

from parlai_humaneval.models.model_pool import ModelFailed
from parlai_humaneval.models.pool.worker import KEPT, Figures


def human(text: str) -> Message:
    return Message({"id": "human", "text": text, "episode_done": False})


def in_turn(*replies: str) -> Callable[[str], str]:
    """Each once; “!” breaks."""
    left = list(replies)

    def answer(heard: str) -> str:
        reply = left.pop(0)
        if reply == "!":
            raise RuntimeError("it broke")
        return reply

    return answer


def test_replies_retries_and_errors_are_counted_for_their_own_model(scripted_pool: Any) -> None:
    pool = scripted_pool({"shaky": in_turn("!", "Here.", "!", "!"), "good": str.upper}, retries=1)
    speaker = pool.speaker(["shaky", "good"], seed=0)
    speaker.observe(human("Hi"))
    message = speaker.act()
    speaker.accept(message["candidates"][0]["candidate_id"])
    speaker.observe(human("More"))
    with pytest.raises(ModelFailed):
        speaker.act()
    shaky, good = pool.figures()
    assert (shaky.replies, shaky.retries, shaky.errors, shaky.outage_since) == (1, 2, 1, None)
    assert (good.retries, good.errors) == (0, 0)
    assert good.replies >= 1
    assert shaky.median_s is not None
    assert shaky.median_s > 0


def test_times_are_of_the_last_replies() -> None:
    figures = Figures()
    assert figures.now("m", None).median_s is None
    for _ in range(KEPT):
        figures.answered(100.0, fit=True)
    for number in range(KEPT):
        figures.answered(number / KEPT, fit=number % 2 == 0)
    now = figures.now("m", 7.0)
    assert (now.replies, now.errors, now.outage_since) == (KEPT + KEPT // 2, KEPT // 2, 7.0)
    assert now.median_s == pytest.approx(0.4995)
    assert now.p95_s == pytest.approx(0.949, abs=1e-3)
