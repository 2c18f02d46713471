"""Replies of a batch are those that each conversation would get alone, whatever the architecture and the search."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from parlai.core.agents import Agent
from tiny_hugging_face import CAUSAL, SEQ2SEQ, agent_of, folder_of, heard, spec_of, texts

from parlai_humaneval.models.backends.continuous import _Drawn, _Unpadded, generate
from parlai_humaneval.models.model_pool import ModelPool

DIALOGUES: tuple[tuple[str, ...], ...] = (
    ("Hi!",),
    ("Hi!", "Hello, how are you?", "I have two dogs and a very old cat at home, what about you?"),
    ("Why?", "I do not know.", "I see."),
    ("What do you like to eat in the evening? " * 3,),
)
SEARCHES: dict[str, dict[str, Any]] = {
    "greedy": {"do_sample": False},
    "without repetition": {"repetition_penalty": 1.7, "no_repeat_ngram_size": 2},
    "beams": {"num_beams": 3},
    "drawn": {"do_sample": True, "temperature": 0.8, "top_p": 0.9, "top_k": 40},
}


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("kind", [*CAUSAL, *SEQ2SEQ])
def test_a_batch_gives_what_each_would_get_alone(kind: str, search: str) -> None:
    """Guards padding: in positions, attention, penalties, lengths of beams, and chance."""
    assert _batch_equals_single(kind, search).pretrained.pads_left


@pytest.mark.parametrize("search", ["greedy", "drawn"])
def test_models_that_mind_padding_are_batched_by_length(search: str) -> None:
    """Guards architectures that read padding as they read words: it is found out when they are loaded."""
    assert not _batch_equals_single("rwkv", search).pretrained.pads_left


def _batch_equals_single(kind: str, search: str) -> Agent:
    agent = agent_of(kind, **SEARCHES[search])
    observations = [heard(agent, *lines, seed=seed) for seed, lines in enumerate(DIALOGUES)]
    together = texts(agent, observations)
    assert together == [texts(agent, [one])[0] for one in observations]
    assert len(set(together)) > len(together) / 2, "replies that do not depend on the dialogue would prove nothing"
    return agent


@pytest.mark.parametrize("kind", CAUSAL)
def test_greedy_replies_are_the_likeliest_words(kind: str) -> None:
    """Guards the cache and the positions against a plain forward pass over the whole text for every word."""
    agent = agent_of(kind, max_new_tokens=6, prompt_format="plain")
    prompts = [agent._prompt(heard(agent, *lines)) for lines in DIALOGUES]
    expected = []
    for prompt in prompts:
        ids = torch.tensor([prompt])
        for _ in range(6):
            scores = agent.model(ids).logits[0, -1]
            if ids.shape[1] == len(prompt):
                scores[[0, 1, 2, 4, 5]] = float("-inf")  # a reply begins with a word
            ids = torch.cat([ids, scores.argmax().view(1, 1)], dim=1)
        expected.append(agent._spoken(_until(ids[0, len(prompt) :].tolist(), 2)))
    assert texts(agent, [heard(agent, *lines) for lines in DIALOGUES]) == expected
    assert any(expected)


def _until(tokens: list[int], end: int) -> list[int]:
    return tokens[: tokens.index(end)] if end in tokens else tokens


def test_a_drawn_reply_depends_on_dialogue_and_seed_alone() -> None:
    """Guards reproducibility: a conversation can be repeated, and two that begin alike need not go on alike."""
    agent = agent_of("gpt2", do_sample=True)
    mine = heard(agent, "Hi!", seed=7)
    (alone,) = texts(agent, [mine])
    others = [heard(agent, *lines, seed=seed) for seed, lines in enumerate(DIALOGUES)]
    assert texts(agent, [*others, mine])[-1] == alone
    assert texts(agent_of("gpt2", do_sample=True), [mine]) == [alone], "another process would load the model anew, too"
    assert len({texts(agent, [heard(agent, "Hi!", seed=seed)])[0] for seed in range(6)}) > 3


def test_beams_of_unequal_ends_do_not_depend_on_the_batch() -> None:
    """Guards the comparison of beams by length, in which transformers 4.35 counts the padding of the prompt."""
    agent = agent_of("gpt2", num_beams=4)
    agent._config.update(eos_token_id=[2, *range(300, 600)], length_penalty=3.0)
    observations = [heard(agent, *lines) for lines in DIALOGUES]
    together = texts(agent, observations)
    assert together == [texts(agent, [one])[0] for one in observations]


def test_padding_is_no_word_that_was_said() -> None:
    """Guards penalties where the padding is a word that the model may want, as in GPT-2, which has no token for it."""
    from transformers.generation.logits_process import RepetitionPenaltyLogitsProcessor

    penalty = _Unpadded(RepetitionPenaltyLogitsProcessor(2.0), [2, 0])
    scores = penalty(torch.tensor([[1, 1, 3, 4], [1, 2, 3, 4]]), torch.ones(2, 6))
    assert scores.tolist() == [[1, 1, 1, 0.5, 0.5, 1], [1, 0.5, 0.5, 0.5, 0.5, 1]]


def test_generation_stops_when_every_reply_is_over() -> None:
    """Guards the time of models that know no end: they would write the person's next turns up to the limit."""
    agent = agent_of("gpt2", max_new_tokens=100)
    prompts = [agent._prompt(heard(agent, *lines)) for lines in DIALOGUES]
    chances = [random.Random(row) for row in range(len(prompts))]
    new = generate(agent.pretrained, agent._config, prompts, chances, lambda text: len(text) > 9)
    assert max(len(tokens) for tokens in new) < 20
    assert all(len(agent.pretrained.tokenizer.decode(tokens)) > 9 for tokens in new)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.floats(-4, 4), min_size=2, max_size=6), st.integers(0, 5))
def test_draws_follow_the_probabilities(scores: list[float], impossible: int) -> None:
    """Guards the draw: frequencies are those of the softmax, and a word that a filter removed is never taken."""
    row = torch.tensor(scores)
    row[impossible % len(scores)] = float("-inf")
    many = row.repeat(2000, 1)
    drawn = _Drawn([random.Random(seed) for seed in range(2000)])(None, many)
    assert bool(((drawn == 0).sum(dim=1) == 1).all())
    frequencies = (drawn == 0).double().mean(dim=0)
    assert bool(((frequencies - row.double().softmax(dim=0)).abs() < 0.07).all())
    assert frequencies[impossible % len(scores)] == 0


def test_sixteen_conversations_of_two_names_over_one_copy_of_the_weights() -> None:
    """Guards memory and batching in the pool: two settings of one model, and conversations that meet in batches."""
    folder = folder_of("llama")
    specs = [spec_of(folder, "llama", "short", max_new_tokens=5), spec_of(folder, "llama", "drawn", do_sample=True)]
    with ModelPool(specs) as pool:
        agents = {name: pool.worker(name).agent for name in ("short", "drawn")}
        assert agents["short"].model is agents["drawn"].model
        with ThreadPoolExecutor(16) as threads:
            said = list(threads.map(lambda seed: _one_turn(pool, seed), range(16)))
        assert max(pool.worker("short").batch_sizes) > 1
        assert max(pool.worker("drawn").batch_sizes) > 1
        assert said == [_one_turn(pool, seed) for seed in range(16)]
    assert len({one["drawn"] for one in said}) > 8
    for seed in (0, 5):
        assert said[seed]["short"] == texts(agents["short"], [heard(agents["short"], f"I have {seed} dogs.")])[0]


def _one_turn(pool: ModelPool, seed: int) -> dict[str, str]:
    speaker = pool.speaker(["short", "drawn"], seed=seed)
    speaker.observe({"text": f"I have {seed} dogs.", "episode_done": False})
    speaker.act()
    return {candidate.model: candidate.text for candidate in speaker._candidates}
