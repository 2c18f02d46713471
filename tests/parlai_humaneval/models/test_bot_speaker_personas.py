"""Personas of models, in ParlAI's convention, and many conversations with one pool."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from parlai_humaneval.models.zoo.entries import ZooError

SKIER = ["I ski.", "I have two cats."]
SKIER_LINES = "your persona: I ski.\nyour persona: I have two cats."


def human(text: str) -> dict[str, Any]:
    return {"id": "human", "text": text, "episode_done": False}


def raw(child: Any) -> list[str]:
    return list(child.agent.history.history_raw_strings)


def test_a_torch_agent_hears_its_persona_at_the_start_of_the_first_message(tiny_pool: Any) -> None:
    """Guards the form that such models were trained on; the other model and the dialogue have nothing of it."""
    speaker = tiny_pool.speaker(["tiny_a", "tiny_b"], seed=1, personas={"tiny_b": SKIER})
    speaker.observe(human("Hi!"))
    line = speaker.accept(speaker.act()["candidates"][0]["candidate_id"])
    speaker.observe(human("And you?"))
    plain, given = speaker._children
    assert raw(given) == [f"{SKIER_LINES}\nHi!", line, "And you?"]
    assert given.agent.history.get_history_str().startswith("__p1__ your persona: I ski.")
    assert raw(plain) == ["Hi!", line, "And you?"]
    assert speaker.dialogue == speaker.dialogue_of("tiny_b") == [("human", "Hi!"), ("bot", line), ("human", "And you?")]


def test_a_torch_agent_hears_its_persona_before_its_own_opening(tiny_pool: Any) -> None:
    """Guards conversations that the Bot Speaker opens: persona lines alone, then the opening as its own words."""
    speaker = tiny_pool.speaker(["tiny_a", "tiny_b"], seed=1, personas={"tiny_b": SKIER})
    speaker.accept(text="Hello, who are you?")
    speaker.observe(human("I am Ann."))
    speaker.act()
    plain, given = speaker._children
    assert raw(given) == [SKIER_LINES, "Hello, who are you?", "I am Ann."]
    assert given.agent.history.history_strings[1] == "__p2__ Hello, who are you?"
    assert raw(plain) == ["Hello, who are you?", "I am Ann."]
    assert speaker.dialogue == [("bot", "Hello, who are you?"), ("human", "I am Ann.")]


def test_a_model_that_opens_and_goes_on_itself_knows_its_persona(tiny_pool: Any) -> None:
    """Guards act() right after an opening, with nothing of the person to carry the persona."""
    speaker = tiny_pool.speaker(["tiny_a"], seed=1, personas={"tiny_a": SKIER})
    speaker.accept(text="Hello.")
    assert speaker.act()["text"]
    assert raw(speaker._children[0]) == [SKIER_LINES, "Hello."]


@pytest.mark.parametrize("opening", [False, True])
def test_a_renewed_child_hears_its_persona_again(tiny_pool: Any, opening: bool) -> None:
    """Guards the retry after a failure: the fresh clone has the same history, persona first, once."""
    speaker = tiny_pool.speaker(["tiny_a"], seed=1, personas={"tiny_a": SKIER})
    if opening:
        speaker.accept(text="Hello.")
    speaker.observe(human("Hi!"))
    speaker.act()
    speaker.observe(human("Go on."))
    child = speaker._children[0]
    before = raw(child)
    child.renew()
    speaker.act()
    assert raw(child) == before
    assert "\n".join(before).count("your persona: I ski.") == 1


def test_a_new_dialogue_and_a_clone_begin_with_the_persona(tiny_pool: Any) -> None:
    """Guards ParlAI's worlds, which reset an agent between episodes and clone it for batches."""
    speaker = tiny_pool.speaker(["tiny_a"], seed=1, personas={"tiny_a": SKIER})
    speaker.observe(human("Hi!"))
    speaker.reset()
    for one in (speaker, speaker.clone()):
        one.observe(human("Again."))
        assert raw(one._children[0]) == [f"{SKIER_LINES}\nAgain."]


def test_our_own_agents_take_it_for_a_persona(recalling_pool: Any) -> None:
    """Guards the embedded models: known as a persona, by its own model alone, not as words of the person."""
    speaker = recalling_pool.speaker(["a", "b"], seed=1, personas={"a": SKIER})
    speaker.observe(human("Hi!"))
    texts = {candidate["model"]: candidate["text"] for candidate in speaker.act()["candidates"]}
    assert texts["a"].startswith("a as I ski., I have two cats.:")
    assert texts["b"].startswith("b as nobody:")
    assert [child.agent.dialogue for child in speaker._children] == [[("human", "Hi!")]] * 2


@pytest.mark.parametrize(
    ("personas", "error", "said"),
    [
        ({"c": SKIER}, ZooError, "a persona is given for c, but only a, b speak"),
        ({"a": "I ski."}, ValueError, "list of sentences"),
        ({"a": ["I ski.", "  "]}, ValueError, "one line that is not empty"),
        ({"a": ["I ski.\nIgnore that."]}, ValueError, "one line that is not empty"),
    ],
)
def test_a_persona_that_cannot_be_played_is_refused(recalling_pool: Any, personas: Any, error: Any, said: str) -> None:
    """Guards against sentences that would be heard as words of the person, or by nobody."""
    with pytest.raises(error, match=said):
        recalling_pool.speaker(["a", "b"], seed=1, personas=personas)


def converse(pool: Any, number: int) -> list[Any]:
    """Six turns of conversation ``number``, of all kinds; what was shown, and what each model has in the end."""
    history = "independent" if number % 2 else "shared"
    personas = {"a": [f"I am number {number}."], "c": [f"I live in town {number}."]} if number % 3 else {}
    speaker = pool.speaker(
        ["a", "b", "c"], seed=number, history=history, order="fixed" if number % 4 else "balanced", personas=personas
    )
    if number % 5 == 0:
        speaker.accept(text=f"Opening of {number}.")
    shown = []
    for turn in range(6):
        speaker.observe(human(f"conversation {number}, line {turn}"))
        message = speaker.act()
        shown.append([(candidate["model"], candidate["text"]) for candidate in message["candidates"]])
        if turn == 3:
            speaker.accept(text=f"Written in {number}.")
        elif history == "independent" and turn % 2:
            speaker.accept_all()
        else:
            speaker.accept(message["candidates"][turn % 3]["candidate_id"])
    return [shown, speaker.dialogue, *(speaker.dialogue_of(model) for model in "abc")]


def test_conversations_at_once_say_what_they_say_alone(recalling_pool: Any) -> None:
    """Guards conversations of all kinds against each other: each reply tells all that its model heard."""
    alone = [converse(recalling_pool, number) for number in range(24)]
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(lambda number: converse(recalling_pool, number), range(24)))
    assert together == alone
    assert max(recalling_pool.worker("a").batch_sizes) > 1, "they never met in a batch"
    assert len({str(one[0]) for one in alone}) == 24
