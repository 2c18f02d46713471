"""Attention checks: never one twice for a worker, sides swapped with the right answer, files that can be asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.steps import GoldDeck, load_golds, right_side, shown_pair, shown_segment, unfit
from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.task import read_config
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.materials.instructions import PairItem, Practice, SegmentItem, load_practice
from parlai_humaneval.techniques.questions import PW_DIALOG_QUESTIONS

GOOD, BAD = ["Hi!", "Hello, how are you?"], ["Hi!", "ERROR 7"]
SPOT: dict[str, Any] = {
    "technique": "spot_the_bot",
    "metric": "spot",
    "show": "segment",
    "segment_lengths": [2],
    "dialogues": ["x.jsonl"],
}


def pair(better: int = 1, judged: int = 2) -> PairItem:
    return PairItem.model_validate({"conversations": [GOOD, BAD], "judged": judged, "better": better, "why": "w"})


def deck(items: int, per_unit: int, seed: int = 1) -> GoldDeck:
    return GoldDeck(Practice(metric="preference", items=[pair()] * items) if items else None, per_unit, seed)


@given(st.integers(0, 6), st.integers(0, 3), st.integers(1, 6), st.integers(0, 999))
def test_no_worker_meets_a_check_twice(items: int, per_unit: int, units: int, seed: int) -> None:
    """As many a unit as set, as long as there are new ones; another worker's draws change nothing."""
    checks = deck(items, per_unit, seed)
    drawn = []
    for number in range(units):
        drawn.append(checks.draw("w", f"u{number}", f"u{number}"))
        for gold in drawn[-1]:
            checks.note_shown("w", f"gold:{gold}")
            checks.note_judged(f"u{number}")
        checks.draw("somebody", f"v{number}", f"v{number}")
    flat = [number for unit in drawn for number in unit]
    assert len(flat) == len(set(flat)) == min(items, units * per_unit)
    assert set(flat) <= set(range(1, items + 1))
    left = items
    for unit in drawn:
        assert len(unit) == min(per_unit, left)
        left -= len(unit)


def test_checks_of_earlier_launches_are_known() -> None:
    checks = deck(3, 3)
    checks.note_shown("w", "gold:2")
    assert sorted(checks.draw("w", "u", "u")) == [1, 3]
    assert sorted(checks.draw("new", "u2", "u2")) == [1, 2, 3]


def test_a_unit_that_is_gone_on_with_gets_the_checks_that_it_lacks() -> None:
    """What was answered counts for its unit; what was only seen does not come again, and another takes its place."""
    checks = deck(5, 2)
    first, _ = checks.draw("w", "unit", "visit 1")
    checks.note_shown("w", f"gold:{first}")
    assert checks.judged("unit") == 0
    second, third = checks.draw("w", "unit", "visit 2")
    assert first not in (second, third), "leaving does not get round a check"
    checks.note_shown("w", f"gold:{second}")
    checks.note_judged("unit")
    assert checks.judged("unit") == 1
    assert len(checks.draw("w", "unit", "visit 3")) == 1
    checks.note_judged("unit")
    assert checks.draw("w", "unit", "visit 4") == []
    assert len(checks.draw("w", "another unit", "visit 5")) == 2


@pytest.mark.parametrize(
    ("better", "swapped", "right"),
    [(1, False, "first"), (2, False, "second"), (1, True, "second"), (2, True, "first")],
)
def test_the_right_side_goes_with_the_dialogue(better: int, swapped: bool, right: str) -> None:
    item = pair(better)
    left, on_right = shown_pair(item, "gold:1", swapped)
    named = left if right == "first" else on_right
    assert [line.text for line in named.lines] == item.conversations[better - 1]
    assert right_side(item, swapped) == right
    assert (left.position, on_right.position) == (1, 2)
    assert left.dialogue_id == f"gold:1:{2 if swapped else 1}"


@pytest.mark.parametrize("judged", [1, 2])
def test_the_judged_speaker_of_a_check(judged: int) -> None:
    assert [shown.judged for shown in shown_pair(pair(judged=judged), "gold:1")] == [judged - 1] * 2


def test_a_segment_check_has_one_right_label_for_each(tmp_path: Path) -> None:
    config = read_config(StaticConfig, SPOT)
    item = {"lines": GOOD, "labels": ["human", "bot"], "why": "w"}
    path = tmp_path / "golds.json"
    path.write_text(json.dumps({"metric": "spot", "items": [item]}))
    (found,) = load_golds(path, config).items
    assert isinstance(found, SegmentItem)
    (shown,) = shown_segment(found, "gold:1")
    assert (shown.judged, [line.speaker for line in shown.lines]) == (None, [0, 1])
    path.write_text(json.dumps({"metric": "spot", "items": [item, {**item, "labels": [["human", "unsure"], "bot"]}]}))
    with pytest.raises(DataError, match="item 2: an attention check has one right label for each speaker"):
        load_golds(path, config)
    path.write_text(json.dumps({"metric": "preference", "items": [pair().model_dump()]}))
    with pytest.raises(DataError, match="is for the metric 'preference', but this study asks for 'spot'"):
        load_golds(path, config)


@pytest.mark.parametrize("metric", PW_DIALOG_QUESTIONS)
def test_packaged_checks_and_practice_of_pairs(metric: str) -> None:
    """Enough for several units, both sides right about equally often, none that the practice has shown already."""
    config = read_config(StaticConfig, {"technique": "pw_dialog", "metric": metric, "dialogues": ["x.jsonl"]})
    own = task_dir("pw_dialog") / "task_config"
    golds, practice = (
        load_golds(own / f"golds_{metric}.json", config),
        load_practice(own / f"onboarding_{metric}.json", metric),
    )
    for one in (golds, practice):
        assert unfit(one, config) is None
        sides = [item.better for item in one.items if isinstance(item, PairItem)]
        assert min(sides.count(1), sides.count(2)) >= len(sides) // 3
    assert len(golds.items) >= 4
    texts = [{" ".join(lines) for item in one.items for lines in item.conversations} for one in (golds, practice)]  # type: ignore[union-attr]  # all are pairs, as seen above
    assert not texts[0] & texts[1]


def test_packaged_checks_of_segments() -> None:
    """Both labels are right somewhere, so that always saying “bot” fails."""
    config = read_config(StaticConfig, SPOT)
    own = task_dir("spot_the_bot") / "task_config"
    golds = load_golds(own / "golds_spot.json", config)
    assert unfit(golds, config) is None
    right = {
        label for item in golds.items if isinstance(item, SegmentItem) for labels in item.right for label in labels
    }
    assert right == {"human", "bot"}
