"""What a reader sees of a reply in which talk of being a program was hidden: whole sentences, and few marks."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from masked import mask_identity, unmask

from parlai_humaneval.display.filtering import ResponseFilter
from parlai_humaneval.display.masking import giveaways, masked_text
from parlai_humaneval.display.presenter import Presenter

DATA = Path(__file__).parents[1] / "data"
ZOO = ("eliza", "blender_3B", "human", "bot")
MARKED = re.compile(r"⟦\w\|(.*?)⟧")
LINES = [
    MARKED.sub(r"\1", line)
    for name in ("giveaways.txt", "innocent.txt")
    for line in (DATA / name).read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def shown(text: str) -> str:
    """What is left of ``text``; that it can be had back is looked at in passing."""
    found, masks = mask_identity(text, ZOO, ai_talk=True)
    assert unmask(found, masks) == text
    return found


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("As ChatGPT, a language model developed by OpenAI, I think so.", "I think so."),
        ("As GPT-4, OpenAI's model, I know.", "I know."),
        ("I, ChatGPT, think so.", "I think so."),
        ("I, Claude, like it.", "I like it."),
        ("I, as ChatGPT, think so.", "I think so."),
        ("I'm Claude, made by Anthropic.", "I'm [name]."),
        ("I'm Claude, an AI assistant created by Anthropic.", "I'm [name]."),
        ("I am ChatGPT, a language model trained by OpenAI.", "I am [name]."),
        ("I am ChatGPT, a language model trained by OpenAI. What about you?", "What about you?"),
        ("Hi, I'm ChatGPT. How are you?", "Hi. How are you?"),
        ("OpenAI made me. I like tea.", "I like tea."),
        ("I'm Gemini, an AI model by Google.", "I'm [name]."),
        ("I'm Max, an assistant from OpenAI.", "I'm Max."),
        ("I'm Copilot, your everyday AI companion from Microsoft, and I like tea.", "I like tea."),
        ("I'm ChatGPT and I like tea.", "I like tea."),
        ("I am Gemini from Google.", "I am [name]."),
        ("I am ChatGPT, how can I help?", "How can I help?"),
        ("I'm ChatGPT, a model made by OpenAI. Do you like tea?", "Do you like tea?"),
    ],
)
def test_a_clause_that_names_the_speaker_goes_whole(text: str, left: str) -> None:
    """“As [name] I, developed by [maker], think” says that a program with a name and a maker speaks."""
    assert shown(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("As an AI language model, I cannot feel.", "I cannot feel."),
        ("Yes. As an AI, tea is unknown to me.", "Yes. Tea is unknown to me."),
        ("as an ai, tea is unknown to me", "tea is unknown to me"),
        ("“As an AI, my job is fun.”", "“My job is fun.”"),
        ("I'm sorry, but as an AI, I can't help.", "I'm sorry, but I can't help."),
        ("Sorry, as an AI, I can't help.", "Sorry, I can't help."),
        ("I think, as an AI, that it is good.", "I think that it is good."),
        ("I can't love as an AI.", "I can't love."),
        ("I'm just a program, so tea is not for me.", "Tea is not for me."),
        ("Even though I'm an AI, I know jokes.", "I know jokes."),
        ("Well, I'm an AI, so I don't have weekends.", "Well, I don't have weekends."),
        ("Because I'm an AI, I don't sleep.", "I don't sleep."),
        ("I never sleep, because I'm an AI.", "I never sleep."),
        ("I'm Max, an AI assistant, and I like tea.", "I'm Max, and I like tea."),
        ("Up to my last update, he was the mayor.", "He was the mayor."),
        ("I was trained on text, so I like books.", "I like books."),
        ("I don't have personal opinions, but many people like it.", "Many people like it."),
        ("Based on my training data, that is true.", "That is true."),
        ("Nice tea. I'm just a computer program. Do you like it?", "Nice tea. Do you like it?"),
        ("Do you like it?\nI'm an AI.", "Do you like it?"),
        ("I like it. I'm an AI. I'm ChatGPT.", "I like it."),
        (
            "Well, as an AI, I don't have personal opinions. However, many people like tea!",
            "However, many people like tea!",
        ),
        ("Sorry, as an assistant I can't do that.", "Sorry, I can't do that."),
        ("I'm sorry, but I can't assist with that request.", "I'm sorry."),
        ("I don't have eyes, I'm software.", "I don't have eyes."),
        ("I don't sleep because I'm not real.", "I don't sleep."),
        (
            "Unlike humans, tea is new to me. Unlike humans, I never drink.",
            "Unlike humans, tea is new to me. I never drink.",
        ),
        ("I exist only as code on a server. Do you like tea?", "Do you like tea?"),
        ("You can call me Assistant. Do you like tea?", "Do you like tea?"),
        ("Unfortunately, I can't access real-time information. Is it warm?", "Is it warm?"),
        ("Thanks! I'm just a program, so I don't have feelings, but I'm here to help.", "Thanks! I'm here to help."),
    ],
)
def test_nothing_tells_that_something_was_hidden(text: str, left: str) -> None:
    """A mark in the place of “as an AI” says it as well; sentences are whole, and begin as they should."""
    assert shown(text) == left


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("I'm just a program and cannot love.", "I'm just […] and cannot love."),
        ("As an AI, I don't have feelings.", "I don't have […]."),
        ("I'm Replika, your friend.", "I'm [name], your friend."),
        ("I'm an AI.", "I'm […]."),
        ("I'm ChatGPT, am I not? I like tea.", "I'm [name], am I not? I like tea."),
        ("Remember, I'm an AI!", "Remember, I'm […]!"),
        ("I'm an AI. I'm ChatGPT.", "I'm […]. I'm [name]."),
        ("I'm a conversational agent that likes sports.", "I'm […] that likes sports."),
        ("My knowledge cutoff is September 2021.", "[…]."),
        ("Unfortunately, I can't access real-time information.", "Unfortunately, […]."),
        ("I'm just software, haha", "I'm just […], haha"),
        ("Nice. Do you know ChatGPT?", "Nice. Do you know [name]?"),
    ],
)
def test_a_mark_stays_where_a_cut_would_leave_no_sentence(text: str, left: str) -> None:
    """Never an empty reply, half a sentence, or a word lost that said something else."""
    assert shown(text) == left


@pytest.mark.parametrize("text", ["As a human, I like tea.", "As bot, I like tea.", "I, human, like tea. I am human."])
def test_words_that_anybody_calls_themselves_are_cut_nowhere(text: str) -> None:
    """The zoo's “human” and “bot” are no names."""
    assert shown(text) == text


@pytest.mark.parametrize("text", ["You and I, Claude, should go.", "It is the same as Claude I think."])
def test_who_is_spoken_to_or_of_is_not_the_speaker(text: str) -> None:
    """Guards the wider patterns for “I, NAME,” and “as NAME I”."""
    assert shown(text) == text


def test_names_alone_keep_their_marks_where_talk_of_being_a_program_is_shown() -> None:
    """Studies of humanness rate that talk: nothing but the names is touched."""
    found, _ = mask_identity("As ChatGPT, an AI made by OpenAI, I like tea.", ZOO)
    assert found == "As [name], an AI made by [maker], I like tea."


def test_masks_say_what_was_cut_and_the_letter_that_stands_for_it() -> None:
    """The record: a cut has the kind of what it hides, and its replacement is nothing, or the capital."""
    _, masks = mask_identity("As an AI, tea is new to me. I am Claude.", ZOO, ai_talk=True)
    assert [(mask.original, mask.replacement, mask.kind) for mask in masks] == [
        ("As an AI, t", "T", "ai_disclosure"),
        (" I am Claude.", "", "name"),
    ]


def test_an_offensive_word_keeps_its_mark_and_its_sentence() -> None:
    """Only what tells who speaks is cut out whole."""
    presenter = Presenter(ai_talk=True, response_filter=ResponseFilter(["pineapple"]))
    found = presenter.present("As an AI, pineapple is new to me. I'm an AI.", ZOO)
    assert found.text == "[…] is new to me."
    assert [mask.kind for mask in found.masks] == ["ai_disclosure", "offensive", "ai_disclosure"]
    assert presenter.present("I'm ChatGPT and pineapple. I like tea.", ZOO).text == "I'm [name] and […]. I like tea."


def test_a_reply_of_spaces_takes_no_longer_than_one_of_words() -> None:
    """Patterns look at gaps of a few spaces only: else this takes half a minute."""
    assert shown("I'm an AI. Hi" + " " * 60_000 + "you") == "Hi" + " " * 60_000 + "you"


@given(
    st.lists(
        st.tuples(st.sampled_from(LINES), st.sampled_from([" ", "\n", "  ", ", ", ""])), min_size=1, max_size=7
    ).map(lambda pairs: "".join(line + gap for line, gap in pairs))
)
@example("Remember, I'm an AI model! i'm a bot lol As an AI language model, I cannot taste food. ")
def test_any_mixture_can_be_had_back_and_is_never_empty(text: str) -> None:
    """Masks are in order and apart, the text before is kept, words remain, and what stays was said so."""
    found, masks = mask_identity(text, ZOO, ai_talk=True)
    assert unmask(found, masks) == text
    assert all(one.end <= two.start for one, two in pairwise(masks))
    assert all(text[mask.start : mask.end] == mask.original for mask in masks)
    assert re.search(r"\w", found) or "…" in found
    assert all(len(mask.replacement) <= 1 or mask.replacement in ("[…]", "[name]", "[maker]") for mask in masks)
    assert found.count("[") <= masked_text(text, giveaways(text, ZOO)).count("[")
