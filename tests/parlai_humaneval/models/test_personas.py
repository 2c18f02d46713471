"""Persona lines of ParlAI's convention are heard as a persona, not as words of the person."""

from __future__ import annotations

import pytest

from parlai_humaneval.dialogues.dialogue import persona_line, split_persona, with_persona
from parlai_humaneval.models.agent.dialogue_agent import PARTNER_PERSONA_FIELD, PERSONA_FIELD
from parlai_humaneval.models.baselines.eliza import ElizaAgent
from parlai_humaneval.models.baselines.retrieval import RetrievalAgent

FIRST = "your persona: I need coffee.\nyour persona: I ski.\npartner's persona: I have a dog.\nHi!"


def test_split_and_join_are_each_others_inverse() -> None:
    """Guards the one convention for both directions."""
    heard = split_persona(with_persona(["I ski.", "I bake."], "Hi!\nHow are you?"))
    assert (heard.own, heard.partner, heard.said) == (("I ski.", "I bake."), (), "Hi!\nHow are you?")
    assert with_persona([], "Hi!") == "Hi!"
    assert with_persona(["I ski."], "") == "your persona: I ski."
    assert split_persona(" Hi!\n").said == " Hi!\n", "without persona lines nothing is touched"


def test_only_lines_at_the_start_are_persona_lines() -> None:
    """Guards what a person says about personas later in a message."""
    assert split_persona("Hi!\nyour persona: a spy").said == "Hi!\nyour persona: a spy"
    assert persona_line("What is your persona: tea or coffee?") is None


def test_eliza_does_not_answer_the_persona() -> None:
    """Guards the embedded models in studies with personas: “I need coffee” was not said."""
    agent = ElizaAgent({})
    observation = agent.observe({"text": FIRST, "episode_done": False})
    assert agent.dialogue == [("human", "Hi!")]
    assert agent.persona == ("I need coffee.", "I ski.")
    assert agent.partner_persona == ("I have a dog.",)
    assert observation[PERSONA_FIELD] == agent.persona
    assert observation[PARTNER_PERSONA_FIELD] == agent.partner_persona
    assert "coffee" not in agent.act()["text"]


@pytest.mark.parametrize("agent_class", [ElizaAgent, RetrievalAgent])
def test_a_persona_changes_no_answer(agent_class: type[ElizaAgent | RetrievalAgent]) -> None:
    """Guards comparisons with and without personas: these models cannot use one, so the answers are equal."""
    plain, given = agent_class({"seed": 4}), agent_class({"seed": 4})
    plain.observe({"text": "Hi!", "episode_done": False})
    given.observe({"text": FIRST, "episode_done": False})
    assert plain.act()["text"] == given.act()["text"]


def test_a_persona_may_come_alone_and_after_the_bots_opening() -> None:
    """Guards ParlAI's self-chat, which sends the context first, and openings that the bot has said."""
    agent = ElizaAgent({})
    agent.self_observe({"text": "Hello, who are you?"})
    agent.observe({"text": "your persona: I ski.", "episode_done": False})
    assert agent.dialogue == [("bot", "Hello, who are you?")]
    agent.observe({"text": "I am Ann.", "episode_done": False})
    assert agent.dialogue[1:] == [("human", "I am Ann.")]
    assert agent.persona == ("I ski.",)


def test_later_such_a_line_is_the_persons_own() -> None:
    """Guards against a person's words that vanish, and against changing a persona in mid-conversation."""
    agent = ElizaAgent({})
    for text in (FIRST, "your persona: a liar"):
        agent.observe({"text": text, "episode_done": False})
    assert agent.dialogue[-1] == ("human", "your persona: a liar")
    assert agent.persona == ("I need coffee.", "I ski.")


def test_clones_and_resets_begin_without_a_persona() -> None:
    """Guards conversations against each other's personas."""
    agent = ElizaAgent({})
    agent.observe({"text": FIRST, "episode_done": False})
    assert agent.clone().persona == ()
    agent.reset()
    assert (agent.persona, agent.partner_persona, agent.dialogue) == ((), (), [])
