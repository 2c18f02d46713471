"""Replies that grow together: each is what it would be alone, leaves when it is over, and holds nobody up."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from typing import Any

import pytest
from own_models import eventually
from parlai.core.agents import Agent
from parlai.core.message import Message
from tiny_hugging_face import CAUSAL, SEQ2SEQ, agent_of, folder_of, heard, spec_of, texts

from parlai_humaneval.models.agent.dialogue_agent import DIALOGUE_FIELD, DialogueAgent
from parlai_humaneval.models.backends.language_models import CausalLmAgent
from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool import worker as worker_module
from parlai_humaneval.models.pool.worker import ModelWorker

DIALOGUES: tuple[tuple[str, ...], ...] = (
    ("Hi!",),
    ("What do you like to eat in the evening? " * 3,),
    ("Hi!", "Hello, how are you?", "I have two dogs and a very old cat at home, what about you?"),
    ("Why?", "I do not know.", "I see."),
    ("Tell me more.",),
)
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "without repetition": {"repetition_penalty": 1.7, "no_repeat_ngram_size": 2, "min_new_tokens": 5},
    "drawn": {"do_sample": True, "temperature": 0.8, "top_p": 0.9, "top_k": 40},
    "plain format": {"prompt_format": "plain", "max_new_tokens": 40, "do_sample": True},
}


def one_after_another(agent: Agent, observations: Sequence[Message], pause: int) -> list[str]:
    """Replies where each dialogue joins ``pause`` words after the one before it."""
    stream = agent.continuous()
    said: dict[int, str] = {}
    for number, observation in enumerate(observations):
        stream.join({number: observation})
        for _ in range(pause):
            said |= {key: message["text"] for key, message in stream.step().items()}
    while len(stream):
        said |= {key: message["text"] for key, message in stream.step().items()}
    return [said[number] for number in range(len(observations))]


@pytest.mark.parametrize(
    ("kind", "search"),
    [*(("gpt2", search) for search in SEARCHES), *((kind, "without repetition") for kind in CAUSAL if kind != "gpt2")],
)
def test_a_reply_is_the_same_whenever_it_joins(kind: str, search: str) -> None:
    """Guards positions and attention, which are a kind's, and penalties and chance, which are a search's, of rows that come
    and go beside each other."""
    agent = agent_of(kind, **SEARCHES[search])
    observations = [heard(agent, *lines, seed=seed) for seed, lines in enumerate(DIALOGUES)]
    alone = [texts(agent, [one])[0] for one in observations]
    assert len(set(alone)) == len(alone), "replies that do not depend on the dialogue would prove nothing"
    for pause in (0, 2):
        assert one_after_another(agent, observations, pause) == alone


def test_a_reply_leaves_as_soon_as_it_is_over() -> None:
    """Guards the wait of whoever got the short one, and the work of all others: nothing is computed for it any more."""
    agent = agent_of("gpt2", do_sample=True, max_new_tokens=60)
    observations = [heard(agent, *lines, seed=seed) for seed, lines in enumerate(DIALOGUES * 2)]
    lengths = [len(agent._tokens(*zip(agent._prompt_key(one)))[0]) for one in observations]
    stream = agent.continuous()
    stream.join(dict(enumerate(observations)))
    steps: dict[int, int] = {}
    for step in range(1, 62):
        steps |= dict.fromkeys(stream.step(), step)
        assert len(stream) == len(observations) - len(steps)
        assert stream._group is None or len(stream._group.rows) == stream._group.mask.shape[0] == len(stream)
    for number, length in enumerate(lengths):
        assert steps[number] - length in (0, 1), "the ending token is a step of its own"
    assert len(set(steps.values())) >= 3


@pytest.mark.parametrize(
    ("kind", "options"), [("gpt2", {"num_beams": 3}), ("rwkv", {}), *((kind, {}) for kind in SEQ2SEQ)]
)
def test_other_models_and_searches_answer_whole_batches(kind: str, options: dict[str, Any]) -> None:
    """Guards beams, models that mind padding, and encoder–decoders: they are answered as before."""
    assert agent_of(kind, **options).continuous() is None


def test_agents_of_ones_own_keep_their_way() -> None:
    """Guards a subclass that does something to replies in ``batch_act``: it would be passed over."""

    class Shouting(CausalLmAgent):
        def batch_act(self, observations: Sequence[Message]) -> list[Message]:
            return [
                Message({**message, "text": message["text"].upper()}) for message in super().batch_act(observations)
            ]

    agent = agent_of("gpt2")
    assert agent.continuous() is not None
    assert Shouting(agent.opt, agent.share()).continuous() is None


def test_a_cache_of_another_shape_is_found_out() -> None:
    """Guards models whose cache cannot be put together by rows (BLOOM's folded rows into heads before transformers 5)."""
    import torch
    import transformers

    from parlai_humaneval.models.agent.names import is_transformers_5
    from parlai_humaneval.models.backends.hugging_face import bears_padding, grows

    config = transformers.BloomConfig(vocab_size=90, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.4)
    with torch.random.fork_rng():
        model = transformers.BloomForCausalLM(config).eval()
    assert bears_padding(model)
    assert grows(model) == is_transformers_5()


def test_conversations_of_a_pool_meet_word_by_word() -> None:
    """Guards the way through the pool, with more conversations than a batch holds: the replies are those asked alone."""
    spec = spec_of(folder_of("llama"), "llama", "drawn", do_sample=True, max_new_tokens=30)
    with ModelPool([spec], max_batch=5) as pool:
        agent, worker = pool.worker("drawn").agent, pool.worker("drawn")
        with ThreadPoolExecutor(12) as threads:
            said = list(threads.map(lambda seed: _one_turn(pool, "drawn", f"I have {seed} dogs.", seed), range(24)))
        assert max(worker.batch_sizes) == 5
        assert len(worker.batch_sizes) > 24 / 5, "whole batches would be fewer"
    assert said == [texts(agent, [heard(agent, f"I have {seed} dogs.", seed=seed)])[0] for seed in range(24)]


def _one_turn(pool: ModelPool, model: str, text: str, seed: int = 0) -> str:
    speaker = pool.speaker([model], seed=seed)
    speaker.observe({"text": text, "episode_done": False})
    return str(speaker.act()["text"])


class CountingStream:
    """Takes as many words for a reply as the person's message says; a message may also ask for trouble."""

    def __init__(self, agent: CountingAgent) -> None:
        self.agent = agent
        self.left: dict[Any, list[Any]] = {}

    def __len__(self) -> int:
        return len(self.left)

    def join(self, asked: Mapping[Any, Any]) -> None:
        lines = {key: observation[DIALOGUE_FIELD][-1][1] for key, observation in asked.items()}
        self.left |= {key: [int(text.split()[0]), text] for key, text in lines.items()}

    def step(self) -> dict[Any, Message]:
        self.agent.most = max(self.agent.most, len(self.left))
        self.agent.words += 1
        self.agent.beat(self.agent.words)
        for row in self.left.values():
            row[0] -= 1
            if row[1].endswith("breaks"):
                raise ValueError("the step failed")
        over = [key for key, (words, _) in self.left.items() if words <= 0]
        return {key: Message({"text": f"grown: {self.left.pop(key)[1]}"}) for key in over}

    def clear(self) -> None:
        self.left = {}


class CountingAgent(DialogueAgent):
    """``beat`` is called at every word."""

    def __init__(self, opt: Any, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.root: CountingAgent = shared["root"] if shared else self
        self.words = self.most = 0
        self.beat: Callable[[int], object] = lambda word: time.sleep(0.002)

    def share(self) -> dict[str, Any]:
        return {**super().share(), "root": self.root}

    def continuous(self) -> CountingStream:
        return CountingStream(self.root)

    def reply(self, dialogue: Any, rng: Any) -> str:
        if dialogue[-1][1].endswith(("breaks", "unread")):
            raise ValueError("alone, too")
        return f"alone: {dialogue[-1][1]}"


@pytest.fixture
def counting(agent_pool: Any) -> Callable[..., tuple[CountingAgent, ModelPool]]:
    """``counting(kind, **pool_arguments)``: an agent that counts words, and its pool."""

    def make(kind: type[CountingAgent] = CountingAgent, **arguments: Any) -> tuple[CountingAgent, ModelPool]:
        agent = kind({})
        return agent, agent_pool({"m": agent}, retries=0, **arguments)

    return make


def test_a_long_reply_holds_no_short_one_up(counting: Any) -> None:
    """Guards the reason of it all: who asks later, for less, is answered earlier."""
    agent, pool = counting()
    order: list[str] = []
    begun = threading.Event()
    agent.beat = lambda word: begun.set() or time.sleep(0.005)

    def ask(text: str) -> None:
        order.append(_one_turn(pool, "m", text))

    with ThreadPoolExecutor(2) as threads:
        long = threads.submit(ask, "100 words")
        assert begun.wait(20)
        threads.submit(ask, "2 words").result()
        assert not long.done()
    assert order == ["grown: 2 words", "grown: 100 words"]


def test_a_place_that_is_free_is_taken_and_none_is_taken_twice(counting: Any) -> None:
    """Guards a GPU's memory, and that it is used."""
    agent, pool = counting(max_batch=3)
    with ThreadPoolExecutor(10) as threads:
        list(threads.map(lambda n: _one_turn(pool, "m", f"{5 + 3 * (n % 4)} words of {n}"), range(20)))
    assert agent.most == 3
    assert max(pool.worker("m").batch_sizes) == 3


class Gate:
    """Holds a model at its first word until it is released."""

    def __init__(self, agent: CountingAgent) -> None:
        self.begun, self.released = threading.Event(), threading.Event()
        agent.beat = self._beat

    def _beat(self, word: int) -> None:
        self.begun.set()
        self.released.wait(20)

    def release(self, worker: ModelWorker, queued: int) -> None:
        """Once so many requests wait."""
        stop = time.monotonic() + 20
        while len(worker._queue) < queued:
            assert time.monotonic() < stop, "the requests never arrived"
            time.sleep(0.005)
        self.released.set()


def behind_a_gate(agent: CountingAgent, pool: ModelPool, first: str, others: Sequence[str]) -> list[Future[str]]:
    """Replies to ``others``, which come while the reply to ``first`` is under way; that is the first of the list."""
    gate = Gate(agent)
    with ThreadPoolExecutor(1 + len(others)) as threads:
        asked = [threads.submit(_one_turn, pool, "m", first)]
        assert gate.begun.wait(20)
        asked += [threads.submit(_one_turn, pool, "m", text) for text in others]
        gate.release(pool.worker("m"), len(others))
    return asked


def test_what_cannot_join_is_asked_for_alone(counting: Any) -> None:
    """Guards the conversations that happened to come at the same moment as a message that cannot be read."""
    others = ("3 a", "2 b", "no number", "number unread")
    *answered, unread = behind_a_gate(*counting(), "1 word", others)
    assert [future.result() for future in answered] == ["grown: 1 word", "grown: 3 a", "grown: 2 b", "alone: no number"]
    with pytest.raises(ModelFailed, match="alone, too"):
        unread.result()


def test_replies_of_a_step_that_failed_are_asked_for_alone(counting: Any) -> None:
    """Guards those beside a reply that breaks the step: they are answered, and only it fails."""
    agent, pool = counting()
    *answered, broken = behind_a_gate(agent, pool, "1 word", ("9 words", "9 breaks"))
    assert [future.result() for future in answered] == ["grown: 1 word", "alone: 9 words"]
    with pytest.raises(ModelFailed, match="alone, too"):
        broken.result()
    assert _one_turn(pool, "m", "2 more") == "grown: 2 more"


def test_closing_gives_replies_under_way_some_time_and_no_more(counting: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards a clean end: no thread is left in the middle of a word, and whoever waits is told."""
    monkeypatch.setattr(worker_module, "CLOSE_S", 0.3)
    agent, pool = counting()
    both = threading.Event()
    agent.beat = lambda word: time.sleep(0.01) or (agent.most == 2 and both.set())
    with ThreadPoolExecutor(2) as threads:
        short, long = (threads.submit(_one_turn, pool, "m", f"{words} words") for words in (20, 100_000))
        assert both.wait(20)
        pool.close()
        assert short.result() == "grown: 20 words"
        with pytest.raises(ModelFailed, match="closed"):
            long.result()
    for thread in threading.enumerate():
        if thread.name == "model-m":
            thread.join(5)
            assert not thread.is_alive()


def test_another_thread_takes_over_from_one_that_hangs(counting: Any) -> None:
    """Guards a hung step: the conversation that waits is asked again elsewhere, and the hanging thread ends later."""
    release = threading.Event()
    agent, pool = counting(timeout_s=0.4)
    pool.retries = 2
    agent.beat = lambda word: word > 1 or release.wait(20)
    assert _one_turn(pool, "m", "2 words") == "grown: 2 words"
    release.set()
    assert _one_turn(pool, "m", "3 words") == "grown: 3 words"
    stop = time.monotonic() + 10
    while len([thread for thread in threading.enumerate() if thread.name == "model-m"]) > 1:
        assert time.monotonic() < stop
        time.sleep(0.01)


class UnlikelyStream(CountingStream):
    """Breaks, falls silent and cannot be read at times, by what the messages say."""

    def join(self, asked: Mapping[Any, Any]) -> None:
        if any(observation[DIALOGUE_FIELD][-1][1].endswith("unreadable") for observation in asked.values()):
            raise ValueError("cannot be read")
        super().join(asked)

    def step(self) -> dict[Any, Message]:
        return {
            key: Message({"text": ""}) if message["text"].endswith("empty") else message
            for key, message in super().step().items()
        }


class UnlikelyAgent(CountingAgent):
    """Of such a stream; asked alone, it is silent or raises at the same messages."""

    def continuous(self) -> CountingStream:
        return UnlikelyStream(self.root)

    def reply(self, dialogue: Any, rng: Any) -> str:
        said = super().reply(dialogue, rng)
        return "" if said.endswith("empty") else said


KINDS = ("fine", "breaks", "unreadable", "empty", "unread")
CONVERSATIONS, STRESS_TURNS = 24, 6


def _stressed(worker: ModelWorker, number: int) -> list[tuple[str, Future[Any]]]:
    """What one conversation asks, for replies of unlike lengths and mostly without trouble, and its futures."""
    chance = random.Random(number)
    futures: list[tuple[str, Future[Any]]] = []
    for _ in range(STRESS_TURNS):
        agent = worker.clone()
        kind = chance.choice(KINDS) if chance.random() < 0.3 else "fine"
        text = f"{chance.choice((1, 2, 3, 40))} words of {number} {kind}"
        observation = agent.observe(Message({"text": text, "episode_done": False}))
        try:
            request = worker.submit(agent, observation)
        except RuntimeError:  # it is closed
            break
        futures.append((text, request.future))
        if chance.random() < 0.2:
            worker.relieve(request, after_s=0.0, max_stuck=2)
        wait_for([request.future], timeout=chance.choice((0.0, 0.01, 5.0)))
    return futures


@pytest.mark.parametrize("closed_early", [False, True])
def test_every_request_is_answered_whatever_happens(
    counting: Any, monkeypatch: pytest.MonkeyPatch, closed_early: bool
) -> None:
    """Guards conversations against a request that nobody answers: many at once, of mixed lengths, among them such as break a
    step, cannot be read or get no text, while threads are replaced, and while the pool closes in the middle."""
    monkeypatch.setattr(worker_module, "CLOSE_S", 0.2)
    agent, pool = counting(UnlikelyAgent, max_batch=5)
    agent.beat = lambda word: time.sleep(0.0005)
    worker = pool.worker("m")
    with ThreadPoolExecutor(CONVERSATIONS) as threads:
        conversations = [threads.submit(_stressed, worker, number) for number in range(CONVERSATIONS)]
        if closed_early:
            stop_after = CONVERSATIONS * STRESS_TURNS // 4
            eventually(lambda: sum(worker.batch_sizes) > stop_after)
            pool.close()
        asked = [pair for conversation in conversations for pair in conversation.result()]
    assert not wait_for([future for _, future in asked], timeout=30).not_done
    errors = [future.exception() for _, future in asked if future.exception() is not None]
    said = [(text, future.result().text) for text, future in asked if future.exception() is None]
    assert all(reply in (f"grown: {text}", f"alone: {text}") for text, reply in said)
    assert {type(error).__name__ for error in errors} <= {"NoReply", "ValueError", "RuntimeError"}
    assert any("closed" in str(error) for error in errors) == closed_early
    if not closed_early:
        assert len(asked) == CONVERSATIONS * STRESS_TURNS
        assert len(said) > len(errors) > 0


def test_who_waits_for_a_thread_that_hangs_is_told_when_the_pool_closes(
    counting: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards the end of a launch beside a model that never answers: nobody waits on for a time-out."""
    monkeypatch.setattr(worker_module, "CLOSE_S", 0.1)
    agent, pool = counting(timeout_s=60)
    gate = Gate(agent)
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(_one_turn, pool, "m", "2 words")
        assert gate.begun.wait(20)
        pool.close()
        with pytest.raises(ModelFailed, match="closed"):
            waiting.result(20)
        gate.released.set()


class MiscountingAgent(DialogueAgent):
    """Somebody's own: loses a reply of each batch, and takes a text for a message."""

    def batch_act(self, observations: Sequence[Any]) -> list[Any]:
        lines = [observation[DIALOGUE_FIELD][-1][1] for observation in observations]
        answers: list[Any] = [Message({"text": line}) if line != "text" else line for line in lines]
        return answers[1:] if len(lines) > 1 or lines == ["lost"] else answers


def test_a_batch_with_too_few_replies_ends_no_thread(agent_pool: Any) -> None:
    """Guards the conversations that come after it: the model goes on, and only what has no reply by itself fails."""
    pool = agent_pool({"m": MiscountingAgent({})}, retries=0)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda n: _one_turn(pool, "m", f"line {n}"), range(8))) == [
            f"line {n}" for n in range(8)
        ]
    for line, told in (("lost", "0 replies where 1"), ("text", "no message, but 'text'")):
        with pytest.raises(ModelFailed, match=told):
            _one_turn(pool, "m", line)
    assert _one_turn(pool, "m", "still here") == "still here"
