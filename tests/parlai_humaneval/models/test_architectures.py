"""Models of today's architectures answer as transformers' own ``generate`` does: alone, padded in a batch, word by word."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import pytest
import torch
import transformers
from parlai.core.agents import Agent
from tiny_architectures import CAUSAL_OF_TODAY, GEMMA, SEQ2SEQ_OF_TODAY, THINKING, home_of, known
from tiny_hugging_face import heard, spec_of, texts

from parlai_humaneval.models.backends.continuous import wordless
from parlai_humaneval.models.backends.prompting import ChatFormat, Played
from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.pool.loading import load_agent

READ_IN_ONE_STATE = ("mamba", "qwen3_next", "lfm2")
"""Their layers keep a state in place of the words: their replies are not joined between two words."""
TOKENS = 12
DIALOGUES: tuple[tuple[str, ...], ...] = (
    ("Hi!",),
    ("What do you like to eat in the evening? " * 3,),
    ("Hi!", "Hello, how are you?", "I have two dogs and a very old cat at home, what about you?"),
    ("Why?", "I do not know.", "I see."),
)


@cache
def agent_for(kind: str) -> Agent:
    if not known(kind):
        pytest.skip(f"transformers {transformers.__version__} does not know {kind}")
    kind_of_agent = "bart" if kind in SEQ2SEQ_OF_TODAY else "llama"
    return load_agent(spec_of(home_of(kind), kind_of_agent, do_sample=False, max_new_tokens=TOKENS))


def by_generate(model: Any, agent: Agent, kind: str, prompt: list[int]) -> list[int]:
    """The new tokens of a plain call of the library."""
    ends = agent._config.eos_token_id
    is_causal = kind not in SEQ2SEQ_OF_TODAY
    begins = {"begin_suppress_tokens": sorted(wordless(agent.pretrained.tokenizer))} if is_causal else {}
    search = {"do_sample": False, "max_new_tokens": TOKENS, "min_new_tokens": 1, "eos_token_id": ends, **begins}
    out = model.generate(torch.tensor([prompt]), **search)[0].tolist()[len(prompt) if is_causal else 1 :]
    return out[: next((place for place, token in enumerate(out) if token in ends), len(out))]


@pytest.mark.parametrize("kind", [*CAUSAL_OF_TODAY, *SEQ2SEQ_OF_TODAY])
def test_replies_are_those_of_generate_alone_in_a_batch_and_word_by_word(kind: str) -> None:
    """Guards caches, positions, windows and padding of each architecture, whatever the library does with them next."""
    agent = agent_for(kind)
    observations = [heard(agent, *lines) for lines in DIALOGUES]
    auto = transformers.AutoModelForSeq2SeqLM if kind in SEQ2SEQ_OF_TODAY else transformers.AutoModelForCausalLM
    model = auto.from_pretrained(home_of(kind)).eval()  # loaded by the library itself
    expected = [agent._spoken(by_generate(model, agent, kind, agent._prompt(one))) for one in observations]
    assert len(set(expected)) > 1, "replies that do not depend on the dialogue would prove nothing"
    assert [texts(agent, [one])[0] for one in observations] == expected
    assert texts(agent, observations) == expected
    grows = kind not in READ_IN_ONE_STATE and kind not in SEQ2SEQ_OF_TODAY
    assert (agent.continuous() is not None) == grows
    if grows:
        assert joining_in_turn(agent, observations) == expected


def joining_in_turn(agent: Agent, observations: list[Any]) -> list[str]:
    """Replies where each dialogue joins two words after the one before it."""
    stream, said = agent.continuous(), {}
    for number, observation in enumerate(observations):
        stream.join({number: observation})
        for _ in range(2):
            said |= {key: message["text"] for key, message in stream.step().items()}
    while len(stream):
        said |= {key: message["text"] for key, message in stream.step().items()}
    return [said[number] for number in range(len(observations))]


@pytest.mark.parametrize("kind", [kind for kind, (_, template) in CAUSAL_OF_TODAY.items() if template])
def test_a_dialogue_is_written_in_the_models_own_template(kind: str) -> None:
    """Guards each maker's format, with a system prompt: the tokens are those of ``apply_chat_template``."""
    agent = agent_for(kind)
    form, tokenizer = agent._form, agent.pretrained.tokenizer
    assert isinstance(form, ChatFormat)
    form = ChatFormat(tokenizer, "Be kind.", template=form.template)
    said = [("user", "Hi!"), ("assistant", "Hello."), ("user", "Why?")]
    messages = [{"role": role, "content": text} for role, text in said]
    if form.template == GEMMA:
        messages[0]["content"] = "Be kind.\n\nHi!"
    else:
        messages.insert(0, {"role": "system", "content": "Be kind."})
    wanted = tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
    lines = [("human" if role == "user" else "bot", text) for role, text in said]
    assert form.render(Played(), lines) == wanted
    assert form.turn_ends, "a mark between two turns ends a reply"


def test_thinking_is_switched_off_by_the_templates_own_switch() -> None:
    """Guards ``chat_template_kwargs``: models that think, and do not where a study wants short replies."""
    if not known("qwen3"):
        pytest.skip("this transformers has no model whose template thinks")
    home = home_of("qwen3")
    for given, empty_thoughts in (
        (None, False),
        ({"enable_thinking": False}, True),
        ('{"enable_thinking": true}', False),
    ):
        agent = load_agent(spec_of(home, "llama", chat_template_kwargs=given))
        read = agent.pretrained.tokenizer.decode(agent._prompt(heard(agent, "Hi!")))
        assert read.endswith("assistant\n<think>\n\n</think>\n\n") == empty_thoughts
        assert agent._form.template == THINKING


def test_models_with_a_state_answer_many_conversations_at_once() -> None:
    """Guards hybrids in the pool: whole batches, and each reply as if it had been asked for alone."""
    agent = agent_for("mamba")
    with ModelPool([spec_of(home_of("mamba"), "llama", "state", do_sample=False)]) as pool:
        with ThreadPoolExecutor(8) as threads:
            said = list(threads.map(lambda number: _one_turn(pool, f"I have {number} dogs."), range(8)))
        assert max(pool.worker("state").batch_sizes) > 1
    assert said == [texts(agent, [heard(agent, f"I have {number} dogs.")])[0] for number in range(8)]


def _one_turn(pool: ModelPool, text: str) -> str:
    speaker = pool.speaker(["state"], seed=1)
    speaker.observe({"text": text, "episode_done": False})
    return str(speaker.act()["text"])
