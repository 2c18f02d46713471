"""Blank replies: asked for again, then recorded and left out; and equal replies, heard by all."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent, UnknownCandidate
from parlai_humaneval.models.model_pool import ModelFailed
from parlai_humaneval.models.pool.asking import DELAY_SENTENCE


def human(text: str) -> dict[str, Any]:
    return {"id": "human", "text": text, "episode_done": False}


def one_by_one(*steps: Any) -> Callable[[str], str]:
    """Replies in turn, the last one again and again; an exception is raised, a number is slept."""
    left = list(steps)

    def answer(_: str) -> str:
        step = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(step, Exception):
            raise step
        if isinstance(step, float):
            time.sleep(step)
            return "late"
        return str(step)

    return answer


def by_model(message: Any) -> dict[str, Any]:
    return {candidate["model"]: candidate for candidate in message["candidates"]}


def heard(speaker: BotSpeakerAgent) -> list[Any]:
    return [child.agent.dialogue for child in speaker._children]


def test_a_blank_reply_is_asked_for_again(scripted_pool: Any) -> None:
    """Guards a passing blank: two tries more, each with a word to the person, then the reply counts."""
    pool = scripted_pool({"late": one_by_one("", " ", "Here."), "good": str.upper}, retries=2)
    speaker = pool.speaker(["late", "good"], seed=0)
    speaker.observe(human("Hi"))
    told: list[str] = []
    candidate = by_model(speaker.act(on_delay=told.append))["late"]
    assert (candidate["text"], candidate["failed"]) == ("Here.", False)
    assert told == [DELAY_SENTENCE] * 2


def test_one_that_stays_blank_is_recorded_and_the_turn_goes_on(scripted_pool: Any) -> None:
    """Guards “never a blank card”: it is asked retries + 1 times, is not shown, and takes part in the next turn."""
    pool = scripted_pool({"a": str.upper, "dumb": one_by_one("", "", "", "Back again."), "b": str.lower}, retries=2)
    speaker = pool.speaker(["a", "dumb", "b"], seed=3)
    speaker.observe(human("Hi"))
    told: list[str] = []
    message = speaker.act(on_delay=told.append)
    failed = by_model(message)["dumb"]
    assert (failed["failed"], failed["text"], failed["position"], failed["same_as"]) == (True, "", 0, None)
    assert failed["latency_s"] >= 0
    assert sorted(message["text_candidates"]) == ["HI", "hi"]
    assert sorted(candidate["position"] for candidate in message["candidates"]) == [0, 1, 2]
    assert told == [DELAY_SENTENCE] * 2
    with pytest.raises(UnknownCandidate, match="blank"):
        speaker.accept(failed["candidate_id"])
    speaker.accept(by_model(message)["a"]["candidate_id"])
    assert heard(speaker) == [[("human", "Hi"), ("bot", "HI")]] * 3
    speaker.observe(human("Go on"))
    assert by_model(speaker.act())["dumb"]["text"] == "Back again."


def test_text_that_nobody_can_see_is_blank(scripted_pool: Any) -> None:
    """Guards a model that answers with a zero-width space."""
    pool = scripted_pool({"a": str.upper, "b": str.lower, "unseen": lambda _: "\u200b\n"}, retries=0)
    speaker = pool.speaker(["a", "b", "unseen"], seed=0)
    speaker.observe(human("Hi"))
    assert by_model(speaker.act())["unseen"]["failed"] is True


@pytest.mark.parametrize("models", [["dumb"], ["dumb", "good"], ["dumb", "good", "deaf"]])
def test_fewer_than_two_to_compare_is_a_failure(scripted_pool: Any, models: list[str]) -> None:
    """Guards a choice of one, and names those who were silent; what was said is kept and act() may be called again."""
    left = [2]

    def at_last(text: str) -> str:
        left[0] -= 1
        return text if left[0] < 0 else ""

    behaviours = {"dumb": at_last, "good": str.upper, "deaf": lambda text: "" if left[0] >= 0 else text[::-1]}
    speaker = scripted_pool(behaviours, retries=1).speaker(models, seed=0)
    speaker.observe(human("Hi"))
    with pytest.raises(ModelFailed, match="no text") as failure:
        speaker.act()
    assert failure.value.models == [model for model in models if model != "good"]
    assert speaker.dialogue == [("human", "Hi")]
    assert len(speaker.act()["candidates"]) == len(models)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [(("", RuntimeError("out of memory")), "out of memory"), (("", 1.0), r"silent for 0\.2 s")],
)
def test_blank_does_not_excuse_what_comes_after_it(scripted_pool: Any, steps: Any, reason: str) -> None:
    """Guards that only blank replies are left out: a crash or a silence at the last try is a failure."""
    behaviours = {"a": str.upper, "b": str.lower, "bad": one_by_one(*steps)}
    speaker = scripted_pool(behaviours, retries=1, timeout_s=0.2).speaker(["a", "b", "bad"], seed=0)
    speaker.observe(human("Hi"))
    with pytest.raises(ModelFailed, match=reason) as failure:
        speaker.act()
    assert failure.value.models == ["bad"]


def test_an_equal_reply_is_heard_as_it_was_shown(scripted_pool: Any) -> None:
    """Guards the dialogue against spacing that only one of two equal replies had, whichever id is accepted."""
    pool = scripted_pool({"a": lambda _: "I  do.", "b": lambda _: "I do.", "c": lambda _: "No."})
    for seed in range(6):
        speaker = pool.speaker(["a", "b", "c"], seed=seed)
        speaker.observe(human("Do you?"))
        message = speaker.act()
        assert len(message["text_candidates"]) == 2
        merged = next(candidate for candidate in message["candidates"] if candidate["same_as"])
        card = next(c for c in message["candidates"] if c["candidate_id"] == merged["same_as"])
        assert speaker.accept(merged["candidate_id"]) == card["text"]
        assert heard(speaker) == [[("human", "Do you?"), ("bot", card["text"])]] * 3
