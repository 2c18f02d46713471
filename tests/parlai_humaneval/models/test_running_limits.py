"""What a zoo entry's ``running`` and the pool's own limits do to threads, time and text."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from parlai_humaneval.models.backends.base import Heard, OutsideAgent, Said
from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool.asking import DELAY_SENTENCE
from parlai_humaneval.models.pool.loading import twin_of
from parlai_humaneval.models.zoo.entries import ModelSpec, Running

RELEASE = threading.Event()


class Hanging(OutsideAgent):
    """Answers when it is released."""

    def ask(self, heard: Heard) -> Said:
        RELEASE.wait(20)
        return Said("late")


@pytest.fixture(autouse=True)
def _released() -> Any:
    RELEASE.clear()
    yield
    RELEASE.set()


def spec(name: str = "m", **running: Any) -> ModelSpec:
    return ModelSpec(name=name, options={"model": f"{__name__}:Hanging"}, running=Running(**running))


def say(pool: ModelPool) -> str:
    (name,) = pool.specs
    speaker = pool.speaker([name], seed=0)
    speaker.observe({"text": "Hi!", "episode_done": False})
    return str(speaker.act()["text"])


def threads_of(name: str) -> int:
    return sum(thread.name == f"model-{name}" for thread in threading.enumerate())


def test_threads_of_the_entry_go_before_the_agents_and_the_pools() -> None:
    """Guards a server that takes few requests at once, and one that takes many."""
    with ModelPool([spec("three", threads=3)], threads=2):
        assert threads_of("three") == 3


def test_an_agents_own_limit_follows_the_threads_of_the_entry(caplog: pytest.LogCaptureFixture) -> None:
    """Guards ``running: {threads: 32}`` against a limit of 16 that nobody set, and tells of one that somebody did."""
    with ModelPool([spec(threads=32)]) as pool:
        assert pool.worker("m").agent.concurrency == 32
    assert not caplog.messages
    limited = spec(threads=32)
    with ModelPool([limited.model_copy(update={"options": {**limited.options, "concurrency": 4}})]) as pool:
        assert pool.worker("m").agent.concurrency == 4
    assert "running.threads is 32 and options.concurrency is 4. The lower" in caplog.text


def test_time_and_tries_of_the_entry_go_before_the_pools() -> None:
    """Guards a slow model among quick ones, and the other way round."""
    with ModelPool([spec(timeout_s=0.1, retries=0)], timeout_s=30, retries=5) as pool:
        with pytest.raises(ModelFailed, match=r"silent for 0\.1 s, 1 time"):
            say(pool)
        RELEASE.set()


def test_conversations_that_hang_together_get_no_thread_for_each_try(scripted_pool: Any) -> None:
    """Guards the process: of a model that hangs for good, no more threads are replaced than there are tries."""
    behaviour = {"dead": lambda text: RELEASE.wait(20) and text}
    pool = scripted_pool(behaviour, timeout_s=0.1, retries=2, threads=4, max_batch=1)

    def fails(seed: int) -> None:
        speaker = pool.speaker(["dead"], seed=seed)
        speaker.observe({"text": "Hi!", "episode_done": False})
        with pytest.raises(ModelFailed):
            speaker.act()

    with ThreadPoolExecutor(4) as conversations:
        list(conversations.map(fails, range(4)))
    assert threads_of("dead") == 4 + 2


def test_half_of_a_surrogate_pair_can_be_stored_and_sent(scripted_pool: Any) -> None:
    """Guards records and pages against a reply that no encoding knows."""
    pool = scripted_pool({"m": lambda _: "Oh \ud83d no"})
    assert say(pool) == "Oh ? no"


def test_agents_that_ask_elsewhere_keep_their_own_connections() -> None:
    """Guards two names for one server: each its own agent, with limits of its own, though their options are the same."""
    first, second = spec("a"), spec("b")
    with ModelPool([first, second]) as pool:
        there = {"a": (first, pool.worker("a").agent)}
        assert twin_of(second, there) is None
        assert pool.worker("a").agent is not pool.worker("b").agent


def test_a_model_that_may_take_longer_is_worth_one_word_at_the_usual_time() -> None:
    """Guards a rater who waits for a patient server: told once, when other models would be late; then the reply."""
    told: list[str] = []

    def on_delay(sentence: str) -> None:
        told.append(sentence)
        RELEASE.set()

    with ModelPool([spec(timeout_s=30)], timeout_s=0.1) as pool:
        speaker = pool.speaker(["m"], seed=0)
        speaker.observe({"text": "Hi!", "episode_done": False})
        assert speaker.act(on_delay=on_delay)["text"] == "late"
    assert told == [DELAY_SENTENCE]


def test_a_model_that_is_quicker_than_that_is_worth_none() -> None:
    """Guards against a notice for every reply of a model with a time-out of its own."""
    told: list[str] = []
    RELEASE.set()
    with ModelPool([spec(timeout_s=30)], timeout_s=20) as pool:
        speaker = pool.speaker(["m"], seed=0)
        speaker.observe({"text": "Hi!", "episode_done": False})
        assert speaker.act(on_delay=told.append)["text"] == "late"
    assert told == []
