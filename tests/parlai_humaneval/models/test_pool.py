"""The pool: one copy of each model, batches over conversations, models in parallel, late and failing models."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool import worker as worker_module
from parlai_humaneval.models.pool.asking import DELAY_SENTENCE
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError


def one_turn(pool: ModelPool, models: list[str], text: str = "Hi", **arguments: Any) -> Any:
    speaker = pool.speaker(models, seed=0)
    speaker.observe({"text": text, "episode_done": False})
    return speaker.act(**arguments)


def slowly(seconds: float) -> Callable[[str], str]:
    def answer(text: str) -> str:
        time.sleep(seconds)
        return f"after a while: {text}"

    return answer


class Gate:
    """A model that works until it is released."""

    def __init__(self) -> None:
        self.at_work = threading.Event()
        self.release = threading.Event()

    def __call__(self, text: str) -> str:
        self.at_work.set()
        self.release.wait(20)
        return f"released: {text}"


def wait_for_queue(pool: ModelPool, model: str, length: int) -> None:
    stop = time.monotonic() + 20
    while len(pool.worker(model)._queue) < length:
        assert time.monotonic() < stop, "the requests never arrived"
        time.sleep(0.005)


def test_fifty_conversations_share_one_copy_of_the_weights(tiny_pool: ModelPool) -> None:
    """Guards memory: ParlAI users report a model loaded per chat until memory is gone (ParlAI #1678)."""
    speakers = [tiny_pool.speaker(["tiny_a", "tiny_b"], seed=seed) for seed in range(50)]
    models = {id(child.agent.model) for speaker in speakers for child in speaker._children}
    assert models == {id(tiny_pool.worker(name).agent.model) for name in ("tiny_a", "tiny_b")}


def test_a_model_is_loaded_once(monkeypatch: pytest.MonkeyPatch, tiny_specs: list[ModelSpec]) -> None:
    """Guards load() called again, or by two callers in turn."""
    loaded = []
    real = worker_module.ModelWorker
    monkeypatch.setattr(
        "parlai_humaneval.models.pool.loading.ModelWorker",
        lambda name, *a, **k: loaded.append(name) or real(name, *a, **k),
    )
    with ModelPool(tiny_specs[:1]) as pool:
        pool.load()
    assert loaded == ["tiny_a"]


def test_requests_of_concurrent_conversations_are_answered_in_one_batch(scripted_pool: Any) -> None:
    """Guards batching: while the first request is computed, seven more arrive; they become one batch."""
    gate = Gate()
    pool = scripted_pool({"model": gate})
    with ThreadPoolExecutor(8) as threads:
        first = threads.submit(one_turn, pool, ["model"], "line 0")
        gate.at_work.wait(20)
        rest = [threads.submit(one_turn, pool, ["model"], f"line {i}") for i in range(1, 8)]
        wait_for_queue(pool, "model", 7)
        gate.release.set()
        texts = [future.result()["text"] for future in (first, *rest)]
    assert texts == [f"released: line {i}" for i in range(8)]
    assert list(pool.worker("model").batch_sizes) == [1, 7]
    assert pool.worker("model").agent.batches == [1, 7]


def test_a_batch_is_never_larger_than_allowed(scripted_pool: Any) -> None:
    """Guards a GPU's memory."""
    pool = scripted_pool({"model": slowly(0.02)}, max_batch=3)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda i: one_turn(pool, ["model"], str(i)), range(8)))
    assert max(pool.worker("model").batch_sizes) <= 3
    assert sum(pool.worker("model").batch_sizes) == 8


def test_batched_torch_replies_equal_those_asked_alone(tiny_pool: ModelPool) -> None:
    """Guards that each conversation gets the answer to its own history, not to its neighbour's in the batch."""
    lines = ["Hi!", "I have two dogs and a very old cat at home.", "Why?", "What do you like to eat in the evening?"]
    alone = [one_turn(tiny_pool, ["tiny_a"], line)["text"] for line in lines]
    before = len(tiny_pool.worker("tiny_a").batch_sizes)
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda line: one_turn(tiny_pool, ["tiny_a"], line)["text"], lines * 4))
    assert together == alone * 4
    assert max(list(tiny_pool.worker("tiny_a").batch_sizes)[before:]) > 1


def test_models_answer_in_parallel(scripted_pool: Any) -> None:
    """Guards the wait of the person: both models must be at work at once, else the barrier breaks."""
    both = threading.Barrier(2, timeout=5)

    def meet(text: str) -> str:
        both.wait()
        return text

    pool = scripted_pool({"a": meet, "b": meet}, retries=0)
    assert [candidate["text"] for candidate in one_turn(pool, ["a", "b"])["candidates"]] == ["Hi", "Hi"]


def test_an_agent_without_batch_act_is_asked_conversation_by_conversation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards ParlAI's plain agents, whose act() answers from their own observation."""
    spec = ModelSpec(name="echo", options={"model": "repeat_query"})
    with ModelPool([spec]) as pool, ThreadPoolExecutor(4) as threads:
        texts = [m["text"] for m in threads.map(lambda i: one_turn(pool, ["echo"], f"line {i}"), range(8))]
    assert texts == [f"line {i}" for i in range(8)]


def test_a_late_model_is_asked_again_and_the_person_is_told(scripted_pool: Any) -> None:
    """Guards a hung call: a fresh thread takes over, and the sentence shown names no model."""
    release = threading.Event()
    calls = []

    def hangs_once(text: str) -> str:
        calls.append(text)
        if len(calls) == 1:
            release.wait(10)
        return f"reply {len(calls)}"

    pool = scripted_pool({"prompt": str.upper, "hanging": hangs_once}, timeout_s=0.5)
    told: list[str] = []
    message = one_turn(pool, ["prompt", "hanging"], on_delay=told.append)
    release.set()
    assert set(message["text_candidates"]) == {"HI", "reply 2"}
    assert told == [DELAY_SENTENCE]
    latency = {candidate["model"]: candidate["latency_s"] for candidate in message["candidates"]}
    assert latency["hanging"] >= 0.5 > latency["prompt"]


def test_an_answer_that_is_late_but_first_is_taken(scripted_pool: Any) -> None:
    """Guards a slow model under a short time-out: what it computed in the end is not thrown away."""
    calls = []

    def slow(text: str) -> str:
        calls.append(text)
        mine = len(calls)
        time.sleep(0.5 if mine == 1 else 5)
        return f"call {mine}"

    pool = scripted_pool({"slow": slow}, timeout_s=0.3, retries=9)
    assert one_turn(pool, ["slow"])["text"] == "call 1"
    assert len(calls) > 1


def test_waiting_in_the_queue_is_no_reason_for_more_threads(scripted_pool: Any) -> None:
    """Guards an overloaded model: queued requests wait on, and are computed once."""
    pool = scripted_pool({"slow": slowly(0.5)}, timeout_s=0.8, max_batch=1, retries=2)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(one_turn, pool, ["slow"])
        time.sleep(0.05)
        second = threads.submit(one_turn, pool, ["slow"])
        assert first.result()["text"] == second.result()["text"] == "after a while: Hi"
    assert list(pool.worker("slow").batch_sizes) == [1, 1]


def test_a_model_that_fails_once_is_retried(scripted_pool: Any) -> None:
    """Guards a passing failure, without a word on the page but the delay."""
    attempts = []

    def stumbles(text: str) -> str:
        attempts.append(text)
        if len(attempts) == 1:
            raise OSError("connection reset")
        return "Hello!"

    told: list[str] = []
    pool = scripted_pool({"model": stumbles})
    assert one_turn(pool, ["model"], on_delay=told.append)["text"] == "Hello!"
    assert told == [DELAY_SENTENCE]


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (lambda _: "", "no text"),
        (lambda _: "   ", "no text"),
        (lambda _: 1 / 0, "ZeroDivisionError"),
        (slowly(1.5), r"silent for 0\.1 s"),
    ],
)
def test_a_model_that_never_answers_fails_with_its_name_and_reason(
    scripted_pool: Any, behaviour: Any, reason: str
) -> None:
    """Guards “never a blank, never a crash”: after the retries the engine gets one named error."""
    pool = scripted_pool({"good": str.upper, "bad": behaviour}, timeout_s=0.1, retries=1)
    with pytest.raises(ModelFailed, match=reason) as failure:
        one_turn(pool, ["good", "bad"])
    assert failure.value.models == ["bad"]


def test_one_bad_conversation_does_not_fail_its_neighbours_in_the_batch(scripted_pool: Any) -> None:
    """Guards that a batch that raises is answered one by one."""

    def chokes(text: str) -> str:
        time.sleep(0.05)
        if text == "poison":
            raise ValueError("cannot encode")
        return text

    pool = scripted_pool({"model": chokes}, retries=0)
    with ThreadPoolExecutor(4) as threads:
        futures = {text: threads.submit(one_turn, pool, ["model"], text) for text in ("a", "poison", "b", "c")}
        assert [futures[text].result()["text"] for text in "abc"] == ["a", "b", "c"]
        with pytest.raises(ModelFailed, match="cannot encode"):
            futures["poison"].result()


def test_hanging_threads_are_bounded(scripted_pool: Any) -> None:
    """Guards a process whose model hangs for good: no thread per try of each conversation."""
    release = threading.Event()
    pool = scripted_pool({"dead": lambda text: release.wait(20) and text}, timeout_s=0.05, retries=2)
    for _ in range(4):
        with pytest.raises(ModelFailed):
            one_turn(pool, ["dead"])
    alive = [thread for thread in threading.enumerate() if thread.name == "model-dead"]
    release.set()
    assert len(alive) <= 3


def test_closing_ends_threads_and_says_so_to_who_waits(scripted_pool: Any) -> None:
    """Guards a clean shutdown with conversations under way: one is at work, one is queued."""
    gate = Gate()
    pool = scripted_pool({"model": gate}, max_batch=1, retries=0)
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(one_turn, pool, ["model"])
        gate.at_work.wait(20)
        second = threads.submit(one_turn, pool, ["model"])
        wait_for_queue(pool, "model", 1)
        threading.Timer(0.2, gate.release.set).start()
        pool.close()
        assert first.result()["text"] == "released: Hi"
        with pytest.raises(ModelFailed, match="closed"):
            second.result()
    assert not [thread for thread in threading.enumerate() if thread.name == "model-model"]


def test_wrong_use_is_told_apart(scripted_pool: Any) -> None:
    """Guards the messages: a name twice, an unknown name, a pool that was not loaded."""
    spec = ModelSpec(name="a", options={"model": "repeat_query"})
    with pytest.raises(ZooError, match="twice"):
        ModelPool([spec, spec])
    with pytest.raises(RuntimeError, match=r"ModelPool\.load"):
        ModelPool([spec]).speaker(["a"], seed=0)
    with pytest.raises(ZooError, match="has no model called “b”"):
        ModelPool([spec]).worker("b")


@pytest.mark.parametrize(
    ("bound", "wanted", "threads"),
    [({0, 1, 2, 3, 4, 5}, "", 6), ({0, 5}, "", 2), ({0, 5}, "1", 1), ({0, 5}, "16,4", 2), ({0, 5}, "many", 2)],
)
def test_torch_gets_the_processors_that_the_process_may_use(
    monkeypatch: pytest.MonkeyPatch, bound: set[int], wanted: str, threads: int
) -> None:
    """Guards containers and batch jobs: threads for all of the machine's processors would wait for each other."""
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: bound, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", wanted)
    specs = [ModelSpec(name=name, options={"model": "repeat_label"}) for name in ("a", "b")]
    assert ModelPool(specs[:1]).torch_threads == threads
    assert ModelPool(specs).torch_threads == max(1, threads // 2)
