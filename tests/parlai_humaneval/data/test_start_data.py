"""The packaged contexts, openers and topics: enough, unrepeated, and fit to be shown to anyone."""

from __future__ import annotations

import re

import pytest

from parlai_humaneval._util.data_files import packaged
from parlai_humaneval.materials.contexts import load_contexts, load_openers, load_topics


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return [line for context in load_contexts("jsonl") for line in [*context.human_persona, *context.bot_persona]]


def test_enough_contexts_of_the_promised_size() -> None:
    """Guards the human's two sentences (Smith et al. 2022) and the bot's four or five (ConvAI2)."""
    contexts = load_contexts("jsonl")
    assert len(contexts) >= 24
    assert {len(context.human_persona) for context in contexts} == {2}
    assert {len(context.bot_persona) for context in contexts} == {4, 5}


def test_sentences_are_short_unrepeated_and_in_the_first_person(sentences: list[str]) -> None:
    """Guards what models trained on ConvAI2 know, and what a rater can play."""
    assert len({sentence.casefold() for sentence in sentences}) == len(sentences)
    first_person = re.compile(r"\b(I|my|me|we|us|our)\b", re.IGNORECASE)
    about_them = [s for s in sentences if not first_person.search(s)]
    assert len(about_them) < len(sentences) / 10, about_them
    assert [s for s in sentences if not re.fullmatch(r"[A-Z][^.!?]*\.", s)] == []
    assert [s for s in sentences if len(s.split()) > 13] == []


def test_openers_and_topics_are_enough_and_varied() -> None:
    """Guards that raters do not all start alike: many lines, few with the same beginning."""
    openers, topics = load_openers(), load_topics()
    assert len(openers) >= 40
    assert len(topics) >= 60
    assert [line for line in [*openers, *topics] if line[-1] not in ".!?" or not line[0].isupper()] == []
    assert [line for line in openers if len(line.split()) < 3] == []
    begins = [" ".join(line.split()[:2]) for line in openers]
    assert max(begins.count(begin) for begin in begins) <= 5


def test_nothing_shown_to_raters_is_offensive(sentences: list[str], unfit: re.Pattern[str]) -> None:
    shown = [*sentences, *load_openers(), *load_topics()]
    assert [text for text in shown if unfit.search(text)] == []


def test_the_licence_names_these_files_too() -> None:
    text = (packaged("LICENSE-corpus.txt")).read_text(encoding="utf-8")
    assert all(name in text for name in ("contexts.jsonl", "openers.txt", "topics.txt"))
