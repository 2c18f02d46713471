"""The instructions of every task: true of the study, complete, and short enough to read."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from string import Formatter
from typing import Any

import pytest
import yaml

from parlai_humaneval.materials.instructions import FLAGS, Instructions, load_instructions, shared_parts, with_shared
from parlai_humaneval.techniques.registry import techniques

TASKS = Path(__file__).parents[3] / "mephisto_tasks" / "presets"
FILES = sorted(path for path in TASKS.glob("*/task_config/instructions*.yaml") if path.parts[-3] != "partner")
"""Of what raters read; partners are no raters."""
JUDGING = tuple(techniques("judging"))
"""Tasks in which raters judge finished chats (self_chat has the words of pw_dialog); in the others they chat."""
LIVE_FILES = [path for path in FILES if path.parts[-3] not in JUDGING]
JUDGING_FILES = [path for path in FILES if path.parts[-3] in JUDGING]
VALUES = {
    "practice_pay": "$0.20",
    "question": "Which one, do you think?",
    "turns": "17",
    "max_turns": "71",
    "models": "seven",
    "conversations": "13",
    "min_reason_words": "23",
    "min_written_words": "29",
    "settings": "5",
    "tries": "thirty tries",
    "pay": "three dollars",
    "items": "nineteen",
    "judgements": "4321",
    "units": "six times",
}
NONE: frozenset[str] = frozenset()
ALONE = [frozenset({flag}) for flag in FLAGS]


@pytest.fixture(params=FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(params=LIVE_FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def live(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(params=JUDGING_FILES, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def judging(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


def texts(node: Any) -> list[str]:
    """Every string of a nested document."""
    if isinstance(node, str):
        return [node]
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return [text for child in children for text in texts(child)]


def told(words: Instructions, part: str = "") -> str:
    return "\n".join(texts((getattr(words, part) if part else words).model_dump()))


def read(path: Path, flags: Collection[str]) -> Instructions:
    return _read(path, frozenset(flags))


@cache
def _read(path: Path, flags: frozenset[str]) -> Instructions:
    return load_instructions(path, VALUES, flags)


@pytest.mark.parametrize("flags", [NONE, *ALONE, frozenset(FLAGS)], ids=lambda flags: "+".join(sorted(flags))[:40])
def test_nothing_is_left_of_placeholders_and_conditions(path: Path, flags: frozenset[str]) -> None:
    words = told(read(path, flags))
    assert not re.search(r"[{}]|\b(when|unless|shared):", words)
    for section in [*read(path, flags).preview.sections, *read(path, flags).instructions.sections]:
        assert len(set(section.lines)) == len(section.lines), "a line stands twice in one section"


def test_placeholders_are_those_that_a_study_fills(path: Path) -> None:
    raw = with_shared(yaml.safe_load(path.read_text(encoding="utf-8")), shared_parts())
    used = {name for text in texts(raw) for _, name, _, _ in Formatter().parse(text) if name is not None}
    assert used <= set(VALUES)
    assert {"items" if path in JUDGING_FILES else "turns", "pay"} <= used


@pytest.mark.parametrize("part", ["preview", "instructions"])
def test_preview_and_instructions_each_tell_the_essentials(part: str, live: Path) -> None:
    """Whoever reads only one of the two knows the practice, what the partner is, and what happens when it breaks off."""
    words = told(read(live, {"practice"}), part)
    for essential in (
        VALUES["tries"],
        "chatbot",
        "not be paid",
        "personal details",
        "offensive language",
        "stop at any time",
        "breaks on our side",
        "without any penalty",
        "17",
    ):
        assert essential in words, essential


def test_who_leaves_early_knows_before_consenting_that_there_is_no_pay(live: Path) -> None:
    assert "leave a chat before the end, you will not be paid for it" in told(read(live, NONE), "preview")
    assert "before you have rated the last chat, you will not be paid" in told(
        read(live, {"several_conversations"}), "preview"
    )


@pytest.mark.parametrize("several", [NONE, {"several_conversations", "several_items"}], ids=["one", "several"])
def test_who_leaves_early_reads_what_the_setting_pays(path: Path, several: Collection[str]) -> None:
    """Guards the words against `mephisto.blueprint.payment.partial`: they say one of none, a part and all."""
    said = {
        flag: told(read(path, {*several, flag} if flag else several), "preview")
        for flag in ("", "part_paid", "left_paid")
    }
    of_part, of_all = r"paid for the part you completed", r"paid for the whole \w+, even if|still be paid in full"
    of_none = r"you will not be paid"
    found = {
        flag: [bool(re.search(each, words)) for each in (of_none, of_part, of_all)] for flag, words in said.items()
    }
    assert found == {"": [True, False, False], "part_paid": [False, True, False], "left_paid": [False, False, True]}


@pytest.mark.parametrize("others", [NONE, frozenset(FLAGS)], ids=["alone", "with all"])
def test_who_is_promised_no_pay_reads_of_none(path: Path, others: frozenset[str]) -> None:
    """Friends who help are not told that they are paid if something breaks, nor that they are not if they leave."""
    words = told(read(path, others | {"unpaid"})).replace(read(path, NONE).pay, "").replace("three dollars", "")
    lines = [line for line in words.split("\n") if re.search(r"\bpaid\b|\bpay\b", line)]
    assert [
        line
        for line in lines
        if line not in ("You will be paid .", "Do not talk about this task or the pay in the chat.")
    ] == []
    assert "breaks on our side" in words


def test_who_is_promised_no_pay_has_no_task_to_return(path: Path) -> None:
    """Friends who help opened a link: they only close the page."""
    words = told(read(path, {"unpaid", "practice"}))
    assert "return the task" not in words.lower()
    assert "Just close the page" in words


@pytest.mark.parametrize("part", ["preview", "instructions"])
def test_who_talks_to_several_chatbots_is_told_of_several(part: str, live: Path) -> None:
    several = live.parts[-3] in ("arena", "free_for_all", "direct_assessment")
    words = told(read(live, NONE), part)
    assert ("Your partner is a chatbot" in words) != several
    assert bool(re.search("Your partners are chatbots|Both partners are chatbots", words)) == several


def test_pay_and_consent(path: Path) -> None:
    words = read(path, NONE)
    assert "three dollars" in words.pay
    for essential in ("answers", "timing", "made-up code", "without names", "stop at any time"):
        assert essential in words.consent, essential
    assert ("messages" in words.consent) == (path in LIVE_FILES)


def test_beside_a_consent_text_of_ones_own_nothing_else_is_said_of_consent_and_publishing(path: Path) -> None:
    """Guards against two texts that disagree: only the researchers' own says what is kept and published."""
    said = read(path, {"own_consent"})
    assert not re.search("By starting|publish|made-up code", f"{said.consent} {told(said)}")
    assert "You can then decide whether you want to take part" in said.consent


@pytest.mark.parametrize(
    ("flag", "said", "unsaid"),
    [
        ("persona", "character", ""),
        ("first_message", "The first message is already written", "You begin."),
        ("practice", "practice", ""),
        ("several_conversations", "paid for all of your chats", "paid for the whole chat"),
    ],
)
def test_what_every_task_can_be_switched_to(live: Path, flag: str, said: str, unsaid: str) -> None:
    """With and without a character, and so on: in preview and instructions, the words are there or are not."""
    for part in ("preview", "instructions"):
        on, off = told(read(live, {flag}), part), told(read(live, NONE), part)
        assert said in on
        assert said not in off
        if unsaid:
            assert unsaid in off
            assert unsaid not in on


def task(name: str, flags: Collection[str], file: str = "instructions") -> str:
    return told(read(TASKS / name / "task_config" / f"{file}.yaml", flags), "instructions")


@pytest.mark.parametrize("name", ["pw_turn", "sata", "free_for_all"])
def test_reasons_are_asked_for_only_where_the_page_asks(name: str) -> None:
    assert "23 words" in task(name, {"reasons"})
    assert "23" not in task(name, NONE)


@pytest.mark.parametrize(
    ("flags", "said", "unsaid"),
    [
        (
            NONE,
            ["select the one that seems better to you, even if only slightly"],
            ["drawn at random", "29", "or that none of them is"],
        ),
        (
            {"none_allowed", "several_choices"},
            ["If you select none, the chat still continues with one of the replies", "or that none of them is"],
            ["29", "even if only slightly"],
        ),
        (
            {"none_allowed", "several_choices", "written_fallback"},
            ["at least 29 words", "Do not copy"],
            ["If you select none, the chat still continues with one of the replies"],
        ),
        (
            {"none_allowed", "several_choices", "written_fallback", "several_settings"},
            ["different kinds of chats", "sometimes asked to write", "29 words"],
            [VALUES["question"]],
        ),
    ],
)
def test_sata_says_what_its_setting_does(flags: Collection[str], said: list[str], unsaid: list[str]) -> None:
    words = task("sata", flags)
    assert [text for text in said if text not in words] == []
    assert [text for text in unsaid if text in words] == []


def test_direct_assessment_says_all_that_its_paper_tells_workers() -> None:
    """Ji et al. 2022, Figure 5, point by point."""
    flags = {"topic_free", "opinion", "topic_changes", "rater_ends", "several_conversations"}
    words = task("direct_assessment", flags)
    for essential in (
        "13 chats, each with a different chatbot",
        "think of a topic",
        "stays on the page during the chat",
        "press “Change the topic”",
        "Whenever you or",
        "After each chat",
        "at least 17 messages",
        "your side of the chat has to be realistic",
        "Do not repeat yourself",
        "Respond to what the chatbot has just said",
        "may be rejected",
        "take a few seconds",
        "field for comments",
    ):
        assert essential in words, essential
    assert "given a topic" not in words
    icebreaker = task("direct_assessment", {"topic_icebreaker", "topic_changes"})
    assert "think of a topic" not in icebreaker
    assert "Each chat has a topic to talk about. The topic is a sentence" in icebreaker


def test_instructions_are_not_offensive(path: Path, unfit: re.Pattern[str]) -> None:
    assert [line for line in told(read(path, FLAGS)).split("\n") if unfit.search(line)] == []


@pytest.mark.parametrize("flags", [NONE, frozenset(FLAGS)], ids=["none", "all"])
def test_lines_are_short_enough_to_read(path: Path, flags: frozenset[str]) -> None:
    """An eighth grader can read it: short sentences (the published wording of a question excepted)."""
    lines = told(read(path, flags)).replace(VALUES["question"], "").split("\n")
    sentences = [s for line in lines for s in re.split(r"(?<=[.!?:])\s+", line)]
    assert [s for s in sentences if len(s.split()) > 28] == []
    assert sum(len(s.split()) for s in sentences) / len(sentences) < 15


@pytest.mark.parametrize("flags", [frozenset({"human_partner"}), frozenset(FLAGS)], ids=["alone", "with all"])
@pytest.mark.parametrize("part", ["preview", "instructions"])
def test_with_a_person_among_the_models_nobody_is_told_of_chatbots_only(
    part: str, flags: frozenset[str], live: Path
) -> None:
    """Whoever reads only one of the two knows that a person may write; no word, the title's included, says otherwise."""
    words = read(live, flags)
    assert re.search("(a computer program or (from )?a person)", told(words, part))
    assert not re.search("chatbot|not a person|not people|No person", told(words))


def test_without_one_no_person_is_spoken_of(live: Path) -> None:
    """In a study of chatbots the words are those of before."""
    assert "or a person" not in told(read(live, NONE))
    assert "or from a person" not in told(read(live, NONE))
