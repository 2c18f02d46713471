"""Masking what gives a model away, and leaving ordinary speech alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from masked import mask_identity

ZOO = ("eliza", "retrieval", "tiny_generator", "blender_3B", "blender_3B-M0", "gpt2")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I am ChatGPT, a large model.", "I am [name], a large model."),
        ("i am chatgpt and you?", "i am [name] and you?"),
        ("As GPT-4, I cannot.", "As [name], I cannot."),
        ("BlenderBot 3 here! Blender bot too.", "[name] here! [name] too."),
        ("I was made by OpenAI in California.", "I was made by [maker] in California."),
        ("Facebook AI Research built me.", "[maker] built me."),
        ("I work at Meta AI.", "I work at [maker]."),
        ("My name is Eliza.", "My name is [name]."),
        ("They call me blender_3B-M0!", "They call me [name]!"),
        ("blender 3b and Blender-3B", "[name] and [name]"),
        ("I am the tiny-generator.", "I am the [name]."),
        ("I'm Retrieval, nice to meet you.", "I'm [name], nice to meet you."),
        ("My name is Claude and I like tea.", "My name is [name] and I like tea."),
        ("This is the Gemini assistant.", "This is the [name] assistant."),
        ("I was trained by the people at Google.", "I was trained by the people at [maker]."),
        ("I’m Llama 2.", "I’m [name]."),
        ("Hi, Eliza here. What is up?", "Hi, [name] here. What is up?"),
        ("Eliza: hello", "[name]: hello"),
        ("You are talking to Eliza.", "You are talking to [name]."),
        ("Claude at your service!", "[name] at your service!"),
        ("This is Bard speaking.", "This is [name] speaking."),
        ("I am EVA2.0.", "I am [name]."),
    ],
)
def test_names_and_makers_are_masked(text: str, shown: str) -> None:
    """Guards blindness: a rater who learns which model speaks no longer rates the reply alone."""
    assert mask_identity(text, ZOO)[0] == shown


@pytest.mark.parametrize(
    "text",
    [
        "Information retrieval was my favourite class.",
        "The retrieval of the parcel took a week.",
        "I saw a llama at the zoo, and a falcon.",
        "My friend Claude lives in Paris.",
        "Gemini is a star sign.",
        "I google everything. Apple pie is great, and so is the Amazon river.",
        "As I said, the bard sang.",
        "Elizabeth and Elizas are other names.",
        "My sister Eliza is here.",
        "The generator is tiny.",
        "I saw a llama here.",
        "Information retrieval here is hard.",
        "Come here, Claude!",
    ],
)
def test_ordinary_speech_is_left_alone(text: str) -> None:
    """Guards replies against holes: a model called `retrieval` must not blank the word in normal speech."""
    assert mask_identity(text, ZOO) == (text, [])


@given(
    st.lists(
        st.sampled_from(
            ["I am", "ChatGPT", "OpenAI", "blender_3B", "retrieval", "hello", ",", "my name is", "Claude", "."]
        ),
        max_size=12,
    ).map(" ".join)
)
def test_masks_say_exactly_what_was_replaced(text: str) -> None:
    """Guards the record: from the raw text and the masks, the shown text can be rebuilt, and nothing overlaps."""
    shown, masks = mask_identity(text, ZOO)
    rebuilt, at = "", 0
    for mask in masks:
        assert at <= mask.start < mask.end
        assert text[mask.start : mask.end] == mask.original
        rebuilt += text[at : mask.start] + mask.replacement
        at = mask.end
    assert rebuilt + text[at:] == shown
    assert "ChatGPT" not in shown
    assert "OpenAI" not in shown


@pytest.mark.parametrize("text", ["I am human.", "I'm human, and you?", "My name is not bot."])
def test_what_anybody_calls_themselves_is_no_name(text: str) -> None:
    """A person among the candidates is called “human” in the zoo; masking their “I am human” would give them away."""
    assert mask_identity(text, ["human", "bot", "eliza"]) == (text, [])
    assert mask_identity("I am Eliza.", ["human", "eliza"])[0] == "I am [name]."
