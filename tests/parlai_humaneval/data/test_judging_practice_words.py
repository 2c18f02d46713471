"""Practice and attention checks on finished chats: one clear answer each, which nobody finds without reading."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

from parlai_humaneval.display.vocabulary import ANYBODYS
from parlai_humaneval.materials.instructions import PairItem, Practice, SegmentItem, load_practice
from parlai_humaneval.models.zoo.entries import load_zoo
from parlai_humaneval.techniques.registry import techniques

TASKS = Path(__file__).parents[3] / "mephisto_tasks" / "presets"


def first_item(path: Path) -> Collection[str]:
    """The keys of an item; none where a technique has no such file."""
    return json.loads(path.read_text(encoding="utf-8"))["items"][0] if path.is_file() else ()


PAIRS = [
    TASKS / name / "task_config" / f"{kind}_{metric}.json"
    for name, entry in techniques("judging").items()
    for metric in entry.questions
    for kind in ("onboarding", "golds")
    if "conversations" in first_item(TASKS / name / "task_config" / f"{kind}_{metric}.json")
]
SEGMENTS = [TASKS / "spot_the_bot" / "task_config" / f"{kind}_spot.json" for kind in ("onboarding", "golds")]


def load(path: Path) -> Practice:
    return load_practice(path, path.stem.partition("_")[2])


def pairs_of(path: Path) -> list[PairItem]:
    items = load(path).items
    found = [item for item in items if isinstance(item, PairItem)]
    assert len(found) == len(items)
    return found


def segments_of(path: Path) -> list[SegmentItem]:
    items = load(path).items
    found = [item for item in items if isinstance(item, SegmentItem)]
    assert len(found) == len(items)
    return found


def dialogues_of(path: Path) -> list[list[str]]:
    return [
        dialogue
        for item in load(path).items
        for dialogue in (item.conversations if isinstance(item, PairItem) else [item.lines])  # type: ignore[union-attr]  # its file holds these kinds only
    ]


pairs = pytest.mark.parametrize("path", PAIRS, ids=lambda path: path.stem)
segments = pytest.mark.parametrize("path", SEGMENTS, ids=lambda path: path.stem)
every = pytest.mark.parametrize("path", [*PAIRS, *SEGMENTS], ids=lambda path: f"{path.parts[-3]}-{path.stem}")


@pairs
def test_pairs_are_enough_and_show_six_to_eight_lines_of_which_every_second_is_judged(path: Path) -> None:
    items = pairs_of(path)
    assert len(items) >= (5 if path.stem.startswith("golds") else 3)
    for item in items:
        assert item.judged == 2
        assert {len(dialogue) for dialogue in item.conversations} <= {6, 8}


@pairs
def test_each_side_is_right_as_often_as_the_other(path: Path) -> None:
    sides = Counter(item.better for item in pairs_of(path))
    assert abs(sides[1] - sides[2]) <= 1


def judged(item: PairItem) -> list[str]:
    """What the two judged speakers say, each in one string."""
    return [" ".join(dialogue[item.judged - 1 :: 2]) for dialogue in item.conversations]


BLIND: dict[str, Callable[[str], float]] = {
    "longest": len,
    "shortest": lambda said: -len(said),
    "most questions": lambda said: said.count("?"),
    "fewest questions": lambda said: -said.count("?"),
    "most exclamation marks": lambda said: said.count("!"),
}
"""Ways to choose a side without reading."""


@pytest.mark.parametrize("blind", BLIND)
@pytest.mark.parametrize(
    "path", [path for path in PAIRS if path.stem.startswith("onboarding")], ids=lambda path: path.stem
)
def test_no_side_can_be_told_without_reading(path: Path, blind: str) -> None:
    """A way to choose that is right in every pair of a practice would pass it."""
    items = pairs_of(path)
    score = BLIND[blind]
    wins = [score(judged(item)[item.better - 1]) > score(judged(item)[2 - item.better]) for item in items]
    assert not all(wins)


@segments
def test_segments_have_whole_exchanges_of_one_to_five(path: Path) -> None:
    items = segments_of(path)
    assert len(items) >= (4 if path.stem.startswith("golds") else 5)
    for item in items:
        assert len(item.lines) % 2 == 0
        assert 1 <= len(item.lines) // 2 <= 5


def test_practice_shows_people_bots_and_one_of_each_both_ways_and_when_unsure_is_right() -> None:
    rights = [tuple(frozenset(right) for right in item.right) for item in segments_of(SEGMENTS[0])]
    human, bot = frozenset({"human"}), frozenset({"bot"})
    assert {(human, human), (bot, bot), (human, bot), (bot, human)} <= set(rights)
    assert any(all("unsure" in right and len(right) > 1 for right in both) for both in rights)


@segments
def test_no_label_said_of_everybody_is_right(path: Path) -> None:
    for label in ("human", "unsure", "bot"):
        assert not all(label in right for item in segments_of(path) for right in item.right)


def test_attention_checks_have_one_right_label_and_people_as_often_as_bots() -> None:
    labels = [right for item in segments_of(SEGMENTS[1]) for right in item.right]
    assert {len(right) for right in labels} == {1}
    counts = Counter(name for right in labels for name in right)
    assert counts["human"] == counts["bot"]
    for place in (0, 1):
        assert {name for item in segments_of(SEGMENTS[1]) for name in item.right[place]} == {"human", "bot"}


@every
def test_feedback_is_one_sentence(path: Path) -> None:
    for item in load(path).items:
        assert re.fullmatch(r"[A-Z“][^.!?]*\.", item.why), item.why


def test_no_dialogue_shares_lines_with_another_one() -> None:
    """Who met a chat in the practice must not know an attention check by it, in any of the metrics."""
    seen: dict[str, tuple[str, int]] = {}
    repeated = []
    for path in (*PAIRS, *SEGMENTS):
        for number, dialogue in enumerate(dialogues_of(path)):
            for line in {line.casefold() for line in dialogue}:
                here = (f"{path.parts[-3]}/{path.stem}", number)
                if seen.setdefault(line, here) != here:
                    repeated.append((line, seen[line], here))
    assert repeated == []


def texts(node: Any) -> list[str]:
    """Every string of a nested document."""
    if isinstance(node, str):
        return [node]
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else []
    return [text for child in children for text in texts(child)]


@every
def test_nothing_is_offensive_and_no_model_is_named(path: Path, unfit: re.Pattern[str]) -> None:
    said = texts(json.loads(path.read_text(encoding="utf-8"))["items"])
    assert [text for text in said if unfit.search(text)] == []
    names = re.compile(
        "|".join(rf"\b{re.escape(name)}\b" for name in {*load_zoo(), "GPT", "BlenderBot"} - ANYBODYS), re.IGNORECASE
    )
    assert [text for text in said if names.search(text)] == []
