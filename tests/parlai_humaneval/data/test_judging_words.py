"""What raters of finished chats are told: true of the study, whole in each part, and silent on who is which model."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.display.vocabulary import ANYBODYS
from parlai_humaneval.materials.instructions import FLAGS, load_instructions
from parlai_humaneval.models.zoo.entries import load_zoo
from parlai_humaneval.techniques.questions import PAIR_SPEAKERS, SPOT_SPEAKERS
from parlai_humaneval.techniques.registry import techniques

TASKS = Path(__file__).parents[3] / "mephisto_tasks" / "presets"
NAMES = [name for name in techniques("judging") if (TASKS / name / "task_config" / "instructions.yaml").is_file()]
"""All but self_chat, which has the words of pw_dialog."""
VALUES = {
    "practice_pay": "$0.20",
    "question": "Which one, do you think?",
    "items": "nineteen",
    "min_reason_words": "23",
    "tries": "thirty tries",
    "pay": "three dollars",
}
"""All that these instructions may ask for."""
NONE: frozenset[str] = frozenset()
PARTS = ("preview", "instructions")


def texts(node: Any) -> list[str]:
    """Every string of a nested document."""
    if isinstance(node, str):
        return [node]
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return [text for child in children for text in texts(child)]


def told(task: str, flags: Collection[str] = NONE, part: str = "instructions") -> str:
    words = load_instructions(TASKS / task / "task_config" / "instructions.yaml", VALUES, flags)
    return "\n".join(texts(getattr(words, part).model_dump()))


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("task", NAMES)
def test_preview_and_instructions_each_tell_the_essentials(task: str, part: str) -> None:
    words = told(task, {"practice"}, part)
    for essential in (
        "thirty tries",
        "without any penalty",
        "not paid",
        "stop at any time",
        "breaks on our side",
        "paid for the whole task",
        "personal details",
        "offensive language",
        "chat",
    ):
        assert essential in words, essential
    assert "practice" not in told(task, NONE, part)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("task", NAMES)
def test_several_things_to_judge_are_counted(task: str, part: str) -> None:
    assert "up to nineteen" in told(task, {"several_items"}, part)
    assert "If you leave before your last answer" in told(task, {"several_items"}, part)
    assert "nineteen" not in told(task, NONE, part)


@pytest.mark.parametrize("task", ["pw_dialog", "third_party"])
def test_reasons_are_asked_for_only_where_the_page_asks(task: str) -> None:
    assert "23 words" in told(task, {"reasons"})
    assert "23" not in told(task)


@pytest.mark.parametrize("part", PARTS)
def test_pairs_say_what_the_speakers_are_and_ask_the_question(part: str) -> None:
    assert "a person talks with a chatbot" in told("pw_dialog", {"human_bot"}, part)
    assert "Both speakers in each chat are chatbots" in told("pw_dialog", {"self_chat"}, part)
    assert VALUES["question"] in told("pw_dialog", NONE, part)


def test_pairs_call_the_speakers_as_the_answers_do() -> None:
    assert all(name in told("pw_dialog") for name in PAIR_SPEAKERS)


def test_a_tie_is_spoken_of_only_where_it_can_be_said() -> None:
    """Of two speakers one is chosen, always (Smith et al. 2022, §3.1.3)."""
    assert told("pw_dialog", {"ties"}) == told("pw_dialog")
    assert "even if only slightly" in told("pw_dialog")
    strict, free = told("third_party", {"ranking"}), told("third_party", {"ranking", "ties"})
    assert "even if only slightly" in strict
    assert "even if only slightly" not in free
    assert "may share a rank" in free
    assert "share a rank" not in strict


@pytest.mark.parametrize("part", PARTS)
def test_speakers_may_be_people_or_bots(part: str) -> None:
    """Deriu et al. 2020, §3.1: raters assume that people are among them; not that both speakers are of one kind."""
    flags = {"labels", "features", "human_dialogues"}
    assert "A speaker can be a human or a bot." in told("spot_the_bot", NONE, part)
    assert "Some of the speakers are people" in told("spot_the_bot", flags, part)
    assert "Some of the speakers are people" not in told("spot_the_bot", {"labels", "features"}, part)
    assert all(name in told("spot_the_bot", NONE, "preview") for name in SPOT_SPEAKERS)


def test_labels_and_features_are_explained_only_where_they_are_asked() -> None:
    labels, features = told("spot_the_bot", {"labels"}), told("spot_the_bot", {"features"})
    assert "“Unsure”" in labels
    assert "“Unsure”" not in features
    for word in ("Fluent means", "Specific means", "Sensible means"):
        assert word in features
        assert word not in labels


@pytest.mark.parametrize("part", PARTS)
def test_a_third_party_is_told_what_it_sees_and_not_the_rest(part: str) -> None:
    seen = {"replay": "turn by turn", "ranking": "in order", "scales": "to the end"}
    for flag in seen:
        words = told("third_party", {flag}, part)
        # “Read to the end before you answer” holds for all of them
        assert [name for name, text in seen.items() if text in words.replace("Read to the end", "")] == [flag]
    assert "You do not see the person's answers" in told("third_party", {"replay"})
    assert VALUES["question"] not in told("third_party", {"replay"})


@pytest.mark.parametrize("task", NAMES)
def test_no_model_is_named(task: str) -> None:
    words = (told(task, FLAGS) + told(task, FLAGS, "preview")).casefold()
    makers = ("blender", "gpt", "bert", "reddit", "eliza", "retrieval", "plato")
    assert [name for name in {*load_zoo(), *makers} - ANYBODYS if name.casefold() in words] == []
