"""The packaged dialogues and personas: complete, unrepeated, and fit to be shown to anyone."""

from __future__ import annotations

import json
import re
from collections import Counter
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.dialogues.files import load_dialogues
from parlai_humaneval.materials.contexts import load_personas

DATA = Path(str(files("parlai_humaneval"))) / "data"
GREETINGS = {"Hi!", "Hi there"}
TOPICS = [
    "work",
    "dog",
    "cook",
    "travel",
    "music",
    "movie",
    "book",
    "soccer",
    "knit",
    "sister",
    "rain",
    "teach",
    "garden",
    "games",
    "doctor",
    "car",
    "house",
    "weekend",
    "childhood",
    "dream",
    "phone",
    "language",
    "paint",
    "money",
    "holiday",
]


def read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def corpus() -> list[dict[str, Any]]:
    return read_lines("corpus.jsonl")


@pytest.fixture(scope="module")
def turns(corpus: list[dict[str, Any]]) -> list[str]:
    return list(chain.from_iterable(dialogue["turns"] for dialogue in corpus))


def test_corpus_has_enough_dialogues_under_ids_of_their_own(corpus: list[dict[str, Any]]) -> None:
    assert len(corpus) >= 170
    assert len({dialogue["dialogue_id"] for dialogue in corpus}) == len(corpus)


def test_every_dialogue_has_exactly_an_id_and_8_to_12_clean_turns(corpus: list[dict[str, Any]]) -> None:
    for dialogue in corpus:
        assert set(dialogue) == {"dialogue_id", "turns"}
        assert 8 <= len(dialogue["turns"]) <= 12, dialogue["dialogue_id"]
        for turn in dialogue["turns"]:
            assert turn, dialogue["dialogue_id"]
            assert turn == " ".join(turn.split()), f"stray blanks: {turn!r}"


def test_no_line_stands_twice_except_the_greetings_that_open_a_dialogue(turns: list[str]) -> None:
    """A retrieval bot that finds one line in two places would answer at random."""
    counts = Counter(turn.casefold() for turn in turns if turn not in GREETINGS)
    assert [turn for turn, count in counts.items() if count > 1] == []


def test_about_a_third_open_with_a_greeting_and_the_answers_go_on_with_a_question(
    corpus: list[dict[str, Any]],
) -> None:
    """Every rated dialogue starts with “Hi!”: the bots need many ways to answer it."""
    answers = [dialogue["turns"][1] for dialogue in corpus if dialogue["turns"][0] in GREETINGS]
    assert 0.28 <= len(answers) / len(corpus) <= 0.40
    assert [answer for answer in answers if not answer.endswith("?")] == []
    assert all(turn not in GREETINGS for dialogue in corpus for turn in dialogue["turns"][1:])


def test_lines_are_sentences_and_most_partners_keep_the_talk_going(corpus: list[dict[str, Any]]) -> None:
    replies = [turn for dialogue in corpus for turn in dialogue["turns"][1::2]]
    assert [reply for reply in replies if reply[-1] not in ".!?"] == []
    assert [reply for reply in replies if not 3 <= len(reply.split()) <= 40] == []
    assert sum(reply.endswith("?") for reply in replies) > len(replies) / 2


def test_vocabulary_is_broad_enough_to_retrieve_from(turns: list[str]) -> None:
    words = re.findall(r"[a-z']+", " ".join(turns).casefold())
    assert len(set(words)) > 2500


@pytest.mark.parametrize(
    "topic",
    TOPICS,
)
def test_topic_is_talked_about(topic: str, turns: list[str]) -> None:
    pattern = re.compile(rf"\b{topic}", re.IGNORECASE)
    assert any(pattern.search(turn) for turn in turns)


def test_personas_load_and_are_enough_pairs_of_two_sentences() -> None:
    personas = load_personas()
    assert len(personas) >= 60
    assert {len(persona.sentences) for persona in personas} == {2}


def test_persona_sentences_are_distinct_and_in_the_first_person() -> None:
    sentences = [sentence for persona in load_personas() for sentence in persona.sentences]
    assert len({sentence.casefold() for sentence in sentences}) == len(sentences)
    first_person = re.compile(r"\b(I|my|me|we|us|our)\b", re.IGNORECASE)
    assert [s for s in sentences if not first_person.search(s)] == []
    assert [s for s in sentences if not re.fullmatch(r"[A-Z][^.!?]*\.", s)] == []


def test_nothing_shown_to_raters_is_offensive(turns: list[str], unfit: re.Pattern[str]) -> None:
    sentences = [sentence for persona in load_personas() for sentence in persona.sentences]
    assert [text for text in [*turns, *sentences] if unfit.search(text)] == []


@pytest.fixture(scope="module")
def people() -> list[Dialogue]:
    return load_dialogues(DATA / "human_dialogues.jsonl")


def test_dialogues_of_people_are_enough_and_hold_seven_or_eight_exchanges(people: list[Dialogue]) -> None:
    """Spot The Bot mixes them in, in segments of five exchanges after the seed at most (Deriu et al. 2020, §4)."""
    assert len(people) >= 30
    assert {dialogue.exchanges for dialogue in people} == {7, 8}
    assert all(len(dialogue.lines) % 2 == 0 for dialogue in people)
    assert {dialogue.kind for dialogue in people} == {"human_human"}


def test_dialogues_of_people_are_clean_and_have_nothing_in_common_with_the_corpus(
    people: list[Dialogue], turns: list[str], unfit: re.Pattern[str]
) -> None:
    """The retrieval bot speaks the corpus: its lines would give people away, or the bot."""
    lines = [line.text for dialogue in people for line in dialogue.lines]
    assert len({line.casefold() for line in lines}) == len(lines)
    assert {line.casefold() for line in lines} & {turn.casefold() for turn in turns} == set()
    assert [line for line in lines if line != " ".join(line.split()) or unfit.search(line)] == []


def test_license_of_the_dialogues_is_packaged_with_them() -> None:
    text = (DATA / "LICENSE-corpus.txt").read_text(encoding="utf-8")
    assert "MIT" in text
    assert "corpus.jsonl" in text
    assert "human_dialogues.jsonl" in text
    assert "personas.jsonl" in text
