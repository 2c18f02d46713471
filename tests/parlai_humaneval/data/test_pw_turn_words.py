"""The words of the PW-Turn task: practice items of each metric, and the instructions."""

from __future__ import annotations

import re
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
import yaml

from parlai_humaneval.protocol.materials import Instructions, load_instructions
from parlai_humaneval.protocol.practice import Practice, load_practice
from parlai_humaneval.protocol.questions import PW_TURN_QUESTIONS

CONFIG = Path(__file__).parents[3] / "mephisto_tasks" / "pw_turn" / "task_config"
VALUES = {
    "question": "Which one, do you think?",
    "turns": "17",
    "min_reason_words": "23",
    "pay": "three dollars",
}


@pytest.fixture(params=sorted(PW_TURN_QUESTIONS))
def practice(request: pytest.FixtureRequest) -> Practice:
    metric: str = request.param
    return load_practice(CONFIG / f"onboarding_{metric}.json", metric)


@pytest.fixture(scope="module")
def raw() -> Any:
    return yaml.safe_load((CONFIG / "instructions.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def words() -> Instructions:
    return load_instructions(CONFIG / "instructions.yaml", VALUES)


def texts(node: Any) -> list[str]:
    """Every string of a nested document."""
    if isinstance(node, str):
        return [node]
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return [text for child in children for text in texts(child)]


def test_practice_has_four_items_and_no_line_twice(practice: Practice) -> None:
    assert len(practice.items) == 4
    lines = [line for item in practice.items for line in (item.human, *item.replies, item.why)]
    assert len({line.casefold() for line in lines}) == 16


def test_practice_cannot_be_passed_by_length(practice: Practice) -> None:
    """Someone who always takes the shorter reply, or always the longer, must fail."""
    shorter = sum(len(item.replies[0]) < len(item.replies[1]) for item in practice.items)
    assert 1 <= shorter <= 3


def test_practice_cannot_be_passed_by_always_choosing_the_question(practice: Practice) -> None:
    asks = [(item.replies[0].endswith("?"), item.replies[1].endswith("?")) for item in practice.items]
    assert any(good <= bad for good, bad in asks)


def test_feedback_is_one_sentence(practice: Practice) -> None:
    for item in practice.items:
        assert re.fullmatch(r"[A-Z][^.!?]*\.", item.why), item.why


def test_practice_is_not_offensive(practice: Practice, unfit: re.Pattern[str]) -> None:
    assert [line for item in practice.items for line in texts(item.model_dump()) if unfit.search(line)] == []


def test_instructions_use_every_placeholder_and_no_other(raw: Any) -> None:
    used = {name for text in texts(raw) for _, name, _, _ in Formatter().parse(text) if name is not None}
    assert used == set(VALUES)


@pytest.mark.parametrize("part", ["preview", "instructions"])
def test_preview_and_instructions_each_tell_the_essentials(part: str, words: Instructions) -> None:
    """Whoever reads only one of the two knows the work, its length, the practice, and what the partner is."""
    told = " ".join(texts(getattr(words, part).model_dump()))
    for essential in (
        "17 turns",
        "23 words",
        VALUES["question"],
        "“Hi!”",
        "two sentences",
        "two tries",
        "chatbot",
        "not paid",
    ):
        assert essential.casefold() in told.casefold(), essential
    for essential in (
        "personal details",
        "offensive language",
        "stop at any time",
        "breaks on our side",
        "without any penalty",
    ):
        assert essential in told, essential


def test_consent_says_what_is_kept_and_published(words: Instructions) -> None:
    for essential in (
        "messages",
        "choices",
        "reasons",
        "timing",
        "made-up code",
        "without names",
        "stop at any time",
    ):
        assert essential in words.consent, essential


def test_pay_line_names_the_pay(words: Instructions) -> None:
    assert "three dollars" in words.pay


def test_lines_are_short_enough_to_read(words: Instructions) -> None:
    """An eighth grader can read it: short sentences (the published wording of the question excepted)."""
    lines = [line.replace(VALUES["question"], "") for line in texts(words.model_dump())]
    sentences = [s for line in lines for s in re.split(r"(?<=[.!?:])\s+", line)]
    assert [s for s in sentences if len(s.split()) > 28] == []
    assert sum(len(s.split()) for s in sentences) / len(sentences) < 15
