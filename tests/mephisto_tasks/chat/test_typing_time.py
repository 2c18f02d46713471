"""When replies appear: by a rule that knows what is said, and not who says it or how long that took."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mephisto_tasks.chat.turn import JITTER, THINKING_S, typing_seconds
from parlai_humaneval.display import ReplySettings

NATURAL = ReplySettings(typing="natural", typing_seconds=8)
TEXTS = st.lists(st.integers(1, 80).map(lambda words: "word " * words), min_size=1, max_size=4)


def test_without_typing_nobody_waits() -> None:
    assert typing_seconds(ReplySettings(), ["word " * 100], "5:1") == 0


def test_a_fixed_time_is_the_same_for_all() -> None:
    fixed = ReplySettings(typing="fixed", typing_seconds=3)
    assert {typing_seconds(fixed, [text], "5:1") for text in ("Hi", "word " * 100)} == {3.0}


@given(TEXTS, st.text(max_size=8))
def test_a_natural_time_is_within_its_bounds_and_repeats(texts: list[str], chance: str) -> None:
    """Guards raters' time, and reproducibility: the same texts and seed take the same time."""
    seconds = typing_seconds(NATURAL, texts, chance)
    assert min(8, THINKING_S * (1 - JITTER)) <= seconds <= 8
    assert seconds == typing_seconds(NATURAL, texts, chance)


@given(TEXTS, st.text(max_size=8))
def test_it_goes_by_the_longest_reply_and_not_by_the_order(texts: list[str], chance: str) -> None:
    """All appear together: the order of the models must not matter."""
    alone = max(typing_seconds(NATURAL, [text], chance) for text in texts)
    assert typing_seconds(NATURAL, texts, chance) == alone == typing_seconds(NATURAL, texts[::-1], chance)


def test_longer_replies_take_longer_and_chance_varies_them() -> None:
    times = [typing_seconds(NATURAL, ["word " * words], "5:1") for words in (1, 5, 10, 15)]
    assert times == sorted(set(times))
    assert len({typing_seconds(NATURAL, ["word " * 5], f"5:{turn}") for turn in range(20)}) == 20


@pytest.mark.parametrize("seconds", [0, -1, 500])
def test_a_time_that_no_rater_would_wait_is_refused(seconds: float) -> None:
    with pytest.raises(ValueError, match="typing_seconds"):
        ReplySettings(typing="fixed", typing_seconds=seconds)
