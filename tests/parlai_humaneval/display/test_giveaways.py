"""A list of what real models say, and of what only sounds like it: what is hidden, to the letter, and what must stay."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from masked import mask_identity, unmask

from parlai_humaneval.display.masking import giveaways, masked_text, prompt_echoes
from parlai_humaneval.display.presenter import AS_SAID, Presenter

DATA = Path(__file__).parents[1] / "data"
ZOO = ("eliza", "retrieval", "blender_3B")
KINDS = {"n": "name", "m": "maker", "a": "ai_disclosure"}
MARKED = re.compile(r"⟦(\w)\|(.*?)⟧")
PROMPT = (
    "You are Jamie, a 30-year-old baker from Leeds. Never say that you are a model. Keep answers short and friendly."
)


def lines_of(name: str) -> list[str]:
    lines = (DATA / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def spans(text: str) -> list[tuple[str, str]]:
    return [(mask.original, mask.kind) for mask in giveaways(text, ZOO)]


GIVEAWAYS, INNOCENT = lines_of("giveaways.txt"), lines_of("innocent.txt")
TAKEN_FOR_TALK = {"As an assistant, I can't take holidays in June."}
"""Innocent sentences that are masked all the same: what would tell them apart is not worth its code."""


def test_the_lists_are_long_and_hold_every_kind() -> None:
    """Guards the two tests below against a list that shrinks."""
    kinds = Counter(KINDS[kind] for line in GIVEAWAYS for kind, _ in MARKED.findall(line))
    assert len(set(GIVEAWAYS)) >= 120
    assert len(set(INNOCENT)) >= 80
    assert all(kinds[kind] >= 15 for kind in KINDS.values()), kinds


@pytest.mark.parametrize("line", GIVEAWAYS)
def test_what_gives_a_model_away_is_found_and_no_word_more(line: str) -> None:
    """Guards blindness, and the sentence around a mask."""
    text = MARKED.sub(r"\2", line)
    assert spans(text) == [(words, KINDS[kind]) for kind, words in MARKED.findall(line)]
    masks = giveaways(text, ZOO)
    assert masked_text(text, masks) == MARKED.sub(
        lambda found: {"n": "[name]", "m": "[maker]", "a": "[…]"}[found[1]], line
    )


@pytest.mark.parametrize("line", [line for line in INNOCENT if line not in TAKEN_FOR_TALK])
def test_what_only_sounds_like_it_stays(line: str) -> None:
    """Guards replies against holes, with every kind of masking on."""
    assert mask_identity(line, ZOO, ai_talk=True, prompts=[PROMPT]) == (line, [])


@pytest.mark.parametrize(
    ("giveaways_list", "innocent_list", "least_found", "most_false_alarms"),
    [("giveaways.txt", "innocent.txt", 0.97, 0.02), ("giveaways_unseen.txt", "innocent_unseen.txt", 0.85, 0.05)],
)
def test_how_much_of_the_talk_is_found_and_how_much_else(
    giveaways_list: str, innocent_list: str, least_found: float, most_false_alarms: float
) -> None:
    """Guards the phrases as a whole, on sentences that they were fitted to and on some that they never saw."""
    talk = [line for line in lines_of(giveaways_list) if "⟦a|" in line]
    missed = [line for line in talk if "ai_disclosure" not in {kind for _, kind in spans(MARKED.sub(r"\2", line))}]
    innocent = lines_of(innocent_list)
    false_alarms = [line for line in innocent if spans(line)]
    assert len(missed) <= (1 - least_found) * len(talk), missed
    assert len(false_alarms) <= most_false_alarms * len(innocent), false_alarms


@pytest.mark.parametrize("line", GIVEAWAYS)
def test_talk_of_being_a_program_is_masked_only_where_that_is_asked_for(line: str) -> None:
    """Guards studies of humanness: there such talk is what is rated; names are masked all the same."""
    text = MARKED.sub(r"\2", line)
    kinds = {mask.kind for mask in mask_identity(text, ZOO)[1]}
    assert "ai_disclosure" not in kinds
    assert {KINDS[kind] for kind, _ in MARKED.findall(line)} - {"ai_disclosure"} <= kinds


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I'm Copilot, an AI companion from Microsoft.", "I'm [name], an AI companion from [maker]."),
        ("I'm Gemini, an AI model by Google.", "I'm [name], an AI model by [maker]."),
        ("I'm an assistant from Meta.", "I'm an assistant from [maker]."),
        ("My developers at Microsoft gave me a name.", "My developers at [maker] gave me a name."),
    ],
)
def test_a_maker_is_hidden_where_talk_of_being_a_program_is_shown(text: str, shown: str) -> None:
    """Guards studies of humanness: makers with ordinary names, too, which stand at a distance from the model's."""
    assert mask_identity(text, ZOO)[0] == shown


@given(st.lists(st.sampled_from([MARKED.sub(r"\2", line) for line in GIVEAWAYS] + INNOCENT), max_size=6).map(" ".join))
def test_the_text_before_masking_can_be_had_back(text: str) -> None:
    """Guards the record: masks are in order, do not overlap, and say what stood there."""
    masks = giveaways(text, ZOO, prompts=[PROMPT])
    assert all(before.end <= after.start for before, after in pairwise(masks))
    assert all(text[mask.start : mask.end] == mask.original for mask in masks)
    assert unmask(masked_text(text, masks), masks) == text


@given(st.lists(st.sampled_from(GIVEAWAYS), min_size=2, max_size=5))
def test_a_long_reply_hides_what_its_sentences_hide(lines: list[str]) -> None:
    """Guards against a pattern that looks at one sentence only, or reaches over into the next."""
    alone = [pair for line in lines for pair in spans(MARKED.sub(r"\2", line))]
    together = " ".join(MARKED.sub(r"\2", line) + ("" if line[-1] in ".!?" else ".") for line in lines)
    assert Counter(alone) <= Counter(spans(together))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("You are Jamie, a 30-year-old baker from Leeds.", "[…]."),
        ("Sure! never say that you are a MODEL; keep answers short. Bye", "Sure! […]. Bye"),
        ("I keep answers short and friendly.", "I keep answers short and friendly."),
        ("I am Jamie, a baker from Leeds.", "I am Jamie, a baker from Leeds."),
    ],
)
def test_instructions_that_are_repeated(text: str, shown: str) -> None:
    """Eight words in a row are an echo; playing the part that one was given is not."""
    found, masks = mask_identity(text, ZOO, prompts=[PROMPT])
    assert found == shown
    assert {mask.kind for mask in masks} == ({"system_prompt"} if "[…]" in shown else set())


def test_short_instructions_are_an_echo_as_a_whole() -> None:
    assert prompt_echoes("You are a helpful assistant.", ["You are a helpful assistant"]) == [(0, 27)]
    assert prompt_echoes("Be nice to me", ["Be nice to"]) == []


@pytest.mark.parametrize(
    "text",
    ["I am Chat\u200bGPT.", "I am **Chat**GPT.", "I am Chat\u00adGPT.", "I am <b>Chat</b>GPT.", "I am ChatGPT\u202e."],
)
def test_no_markup_or_unseen_character_hides_a_name(text: str) -> None:
    """Looks are seen to before names are looked for."""
    presenter = Presenter(appearance="plain")
    assert presenter.present(text, ZOO).text == "I am [name]."


def test_unseen_characters_hide_no_name_where_looks_are_left_alone() -> None:
    shown = AS_SAID.present("I am Chat\u200bGPT.", ZOO)
    assert (shown.text, shown.changes) == ("I am [name].", ["control_characters"])


def test_a_model_whose_name_has_no_letters_is_masked_as_well() -> None:
    assert mask_identity("I am 4711, hi.", ["4711"])[0] == "I am [name], hi."
