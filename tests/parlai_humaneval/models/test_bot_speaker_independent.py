"""Independent histories: the person is heard by all, a reply by who gave it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from parlai.core.message import Message

from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent
from parlai_humaneval.models.bot_speaker.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.zoo.entries import ZooError

LINES = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=30)
WAYS = st.sampled_from(["tiny_a", "tiny_b", "all", "default", "written"])
TURNS = st.lists(st.tuples(LINES, WAYS), min_size=1, max_size=5)


def human(text: str) -> dict[str, Any]:
    return {"id": "human", "text": text, "episode_done": False}


def replies(message: Any) -> dict[str, Any]:
    return {candidate["model"]: candidate for candidate in message["candidates"]}


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(turns=TURNS, seed=st.integers(0, 1000), opening=st.booleans())
def test_each_torch_agent_hears_the_person_and_itself(tiny_pool: Any, turns: Any, seed: int, opening: bool) -> None:
    """Guards real models after any way to go on: own replies as its own, a written line and an opening by all."""
    speaker = tiny_pool.speaker(["tiny_a", "tiny_b"], seed=seed, history="independent", order="fixed")
    visible: list[tuple[str, str]] = []
    own: dict[str, list[tuple[str, str]]] = {"tiny_a": [], "tiny_b": []}

    def all_hear(who: str, text: str) -> None:
        for lines in (visible, *own.values()):
            lines.append((who, text))

    if opening:
        speaker.accept(text="Hello, who are you?")
        all_hear("bot", "Hello, who are you?")
    for text, way in turns:
        speaker.observe(human(text))
        all_hear("human", text)
        message = speaker.act()
        said = replies(message)
        if way == "written":
            speaker.accept(text="A better one.")
            all_hear("bot", "A better one.")
            continue
        for model, lines in own.items():
            lines.append(("bot", said[model]["text"]))
        if way == "all":
            speaker.accept_all()
        elif way == "default":  # ParlAI's worlds: the next message accepts
            visible.append(("bot", message["text"]))
        else:
            visible.append(("bot", speaker.accept(said[way]["candidate_id"])))
    speaker.observe(human("Last one."))
    all_hear("human", "Last one.")

    assert speaker.dialogue == visible
    for child in speaker._children:
        assert speaker.dialogue_of(child.model) == own[child.model]
        assert child.agent.history.history_raw_strings == [text for _, text in own[child.model]]


def test_with_a_shared_history_all_dialogues_are_one(recalling_pool: Any) -> None:
    """Guards dialogue_of() in the usual case, and the refusals of what cannot be."""
    speaker = recalling_pool.speaker(["a", "b"], seed=0)
    speaker.observe(human("Hi"))
    speaker.act()
    with pytest.raises(ValueError, match="independent histories"):
        speaker.accept_all()
    speaker.accept(speaker.act()["candidates"][1]["candidate_id"])
    assert speaker.dialogue_of("a") == speaker.dialogue_of("b") == speaker.dialogue
    with pytest.raises(ZooError, match="“c” does not speak"):
        speaker.dialogue_of("c")


def test_accept_all_needs_replies_and_leaves_no_visible_line(recalling_pool: Any) -> None:
    """Guards side-by-side conversations: both go on, none is chosen, a second call has nothing to accept."""
    speaker = recalling_pool.speaker(["a", "b"], seed=0, history="independent")
    speaker.observe(human("Hi"))
    with pytest.raises(ValueError, match=r"call act\(\) first"):
        speaker.accept_all()
    said = replies(speaker.act())
    speaker.accept_all()
    with pytest.raises(ValueError, match=r"call act\(\) first"):
        speaker.accept_all()
    assert speaker.dialogue == [("human", "Hi")]
    assert [speaker.dialogue_of(model)[-1] for model in "ab"] == [("bot", said[model]["text"]) for model in "ab"]


def test_equal_replies_stay_two_side_by_side(scripted_pool: Any) -> None:
    """Guards that a partner never vanishes from its column because it said the same."""
    pool = scripted_pool({"a": str.upper, "b": str.upper})
    speaker = pool.speaker(["a", "b"], seed=0, history="independent", order="fixed")
    speaker.observe(human("Hi"))
    message = speaker.act()
    assert message["text_candidates"] == ["HI", "HI"]
    assert [candidate["position"] for candidate in message["candidates"]] == [1, 2]


def test_equal_replies_to_choose_from_are_one_card(scripted_pool: Any) -> None:
    """Whoever chooses among replies sees one of two that are the same, whatever the models hear."""
    speaker = scripted_pool({"a": str.upper, "b": str.upper}).speaker(["a", "b"], seed=0, history="independent")
    speaker.observe(human("Hi"))
    message = speaker.act()
    assert message["text_candidates"] == ["HI"]
    speaker.accept(message["candidates"][0]["candidate_id"])
    assert speaker.dialogue_of("a") == speaker.dialogue_of("b") == [("human", "Hi"), ("bot", "HI")]


def test_a_blank_turn_is_missing_in_one_history_only(scripted_pool: Any) -> None:
    """Guards the history of a model that said nothing: two messages of the person in a row."""
    behaviours = {"a": str.upper, "dumb": lambda text: "" if text == "One" else "Well.", "b": str.lower}
    speaker = scripted_pool(behaviours, retries=0).speaker(["a", "dumb", "b"], seed=0, history="independent")
    speaker.observe(human("One"))
    speaker.accept(replies(speaker.act())["a"]["candidate_id"])
    speaker.observe(human("Two"))
    speaker.act()
    speaker.accept_all()
    assert speaker.dialogue_of("dumb") == [("human", "One"), ("human", "Two"), ("bot", "Well.")]
    assert speaker.dialogue_of("b") == [("human", "One"), ("bot", "one"), ("human", "Two"), ("bot", "two")]
    assert [child.agent.dialogue for child in speaker._children] == [speaker.dialogue_of(m) for m in ("a", "dumb", "b")]


def test_self_observe_of_the_default_reply_accepts_it(recalling_pool: Any) -> None:
    """Guards ParlAI's batches, which tell an agent its own act: the others keep their own replies."""
    speaker = recalling_pool.speaker(["a", "b"], seed=1, history="independent")
    speaker.observe(human("Hi"))
    message = speaker.act()
    speaker.self_observe(message)
    said = replies(message)
    assert speaker.dialogue[-1] == ("bot", message["text"])
    assert [speaker.dialogue_of(model)[-1] for model in "ab"] == [("bot", said[model]["text"]) for model in "ab"]


class SigningAgent(DialogueAgent):
    """Each clone signs its replies with a name of its own."""

    def observe(self, observation: Message) -> Message:
        return Message({**super().observe(observation), "signature": f"clone {id(self)}"})

    def batch_act(self, observations: Any) -> list[Message]:
        return [Message({"id": self.id, "text": observation["signature"]}) for observation in observations]


def test_a_model_against_itself_keeps_its_replies_apart(agent_pool: Any) -> None:
    """Guards the A/A comparison: each copy goes on with what it said itself, however the two were shown."""
    pool = agent_pool({"one": SigningAgent({})})
    for seed in range(8):
        speaker: BotSpeakerAgent = pool.speaker(["one", "one"], seed=seed, history="independent")
        for line in ("Hi", "And you?"):
            speaker.observe(human(line))
            speaker.act()
            speaker.accept_all()
        for child in speaker._children:
            own = [text for who, text in child.agent.dialogue if who == "bot"]
            assert own == [f"clone {id(child.agent)}"] * 2


def test_a_fixed_order_holds_for_the_whole_dialogue(recalling_pool: Any) -> None:
    """Guards the columns of a side-by-side comparison, and that either model stands left as often as not."""
    left = []
    for seed in range(40):
        speaker = recalling_pool.speaker(["a", "b"], seed=seed, history="independent", order="fixed")
        shown = []
        for turn in range(4):
            speaker.observe(human(f"line {turn}"))
            shown.append([candidate["model"] for candidate in speaker.act()["candidates"]])
            speaker.accept_all()
        assert shown == shown[:1] * 4
        left.append(shown[0][0])
    assert 10 <= left.count("a") <= 30


def test_an_unknown_way_is_refused(recalling_pool: Any) -> None:
    """Guards a typing mistake in a configuration, which would run a study with the wrong histories."""
    with pytest.raises(ValueError, match="history must be shared or independent, not “own”"):
        recalling_pool.speaker(["a"], history="own")
    with pytest.raises(ValueError, match="order must be balanced or fixed, not “random”"):
        recalling_pool.speaker(["a"], order="random")
