"""The common clock: nobody can tell by how replies grow which model is fast, and nothing is shown twice."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parlai_humaneval.display.masking import ECHO_WORDS
from parlai_humaneval.display.presenter import FINISH_S, HELD_BACK, CommonClock, settled_end, word_ends

WORDS = st.lists(st.sampled_from(["one", "two,", "three.", "я", "茶", "\n\nfour", "**five**"]), max_size=30)
TICKS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 9), st.floats(0, 3)), max_size=60)


def shown_words(text: str) -> int:
    return len(word_ends(text))


@dataclass
class Arrivals:
    """Three replies that come by any number of words, in any order, with any pauses."""

    texts: list[list[str]]
    clock: CommonClock = field(default_factory=lambda: CommonClock(3, words_per_s=4.0))
    had: list[int] = field(default_factory=lambda: [0, 0, 0])
    now: float = 0.0

    def come(self, place: int, words: int, after_s: float) -> list[str]:
        self.had[place] = min(self.had[place] + words, len(self.texts[place]))
        self.clock.heard(place, " ".join(self.texts[place][: self.had[place]]), complete=self.over(place))
        self.now += after_s
        return self.clock.shown(self.now)

    def over(self, place: int) -> bool:
        return self.had[place] == len(self.texts[place])


@given(st.tuples(WORDS, WORDS, WORDS), TICKS)
@settings(max_examples=150, deadline=None)
def test_unfinished_replies_show_the_same_number_of_words(texts: tuple[list[str], ...], ticks: list[tuple]) -> None:
    """At each instant: as many words of each, or all of one that is complete; each a beginning of its text, and never
    less than before."""
    arrivals = Arrivals([list(text) for text in texts])
    before = ["", "", ""]
    for tick in ticks:
        shown = arrivals.come(*tick)
        counts = [shown_words(text) for text in shown]
        growing = {counts[place] for place in range(3) if not arrivals.over(place)}
        assert len(growing) <= 1
        for place, text in enumerate(shown):
            whole = " ".join(texts[place])
            assert whole.startswith(text)
            assert text.startswith(before[place])
            assert counts[place] in growing or arrivals.over(place)
            if growing and arrivals.over(place):
                assert counts[place] == min(shown_words(whole), *growing)
        before = shown
    assert arrivals.clock.replaced == set()


@given(st.tuples(WORDS, WORDS, WORDS), TICKS)
@settings(max_examples=50, deadline=None)
def test_complete_replies_are_out_soon(texts: tuple[list[str], ...], ticks: list[tuple]) -> None:
    """A rater who waits for the choice waits no longer than that after the last model."""
    arrivals = Arrivals([list(text) for text in texts])
    for tick in ticks:
        arrivals.come(*tick)
    for place in range(3):
        arrivals.come(place, 99, 0.0)
    assert arrivals.clock.shown(arrivals.now + FINISH_S + 0.01) == [" ".join(text).rstrip() for text in texts]
    assert arrivals.clock.is_over


def test_order_and_rhythm_of_arrival_are_not_seen() -> None:
    """Guards the blinding: the same texts at the same pace of the slowest, whichever of the two models that is."""

    def seen(fast: int) -> list[list[int]]:
        clock, frames = CommonClock(2, words_per_s=4.0), []
        for second in range(8):
            clock.heard(fast, "w " * 14, complete=True)
            clock.heard(1 - fast, "w " * (2 * second))
            frames.append([shown_words(text) for text in clock.shown(float(second))])
        return frames

    assert seen(0) == seen(1)
    assert all(first == second for first, second in seen(0))


def test_fewer_words_are_shown_than_an_echo_has() -> None:
    """Guards the instructions: the beginning of an echo is held back until that can be told."""
    assert HELD_BACK >= ECHO_WORDS - 1


def test_a_reply_that_begins_again_stays_until_it_has_as_many_words() -> None:
    """Guards raters against a reply that vanishes and comes a second time: all wait, and the text goes on."""
    clock = CommonClock(2, words_per_s=100.0)
    clock.heard(0, "a b c d")
    clock.heard(1, "one two three")
    clock.shown(0.0)
    assert clock.shown(1.0) == ["a b c", "one two three"]
    for text in ("", "one", "one two"):
        clock.heard(1, text)
        assert clock.shown(2.0) == ["a b c", "one two three"]
    clock.heard(1, "one two three four")
    assert clock.shown(3.0) == ["a b c d", "one two three four"]
    assert clock.replaced == set()


def test_another_reply_is_put_in_the_place_once_and_noted() -> None:
    """Guards the record: what a rater had seen of the first try is not how the reply that is rated begins."""
    clock = CommonClock(2, words_per_s=100.0)
    clock.heard(0, "a b c d")
    clock.heard(1, "one two three")
    clock.shown(0.0)
    clock.shown(1.0)
    clock.heard(1, "eins")
    assert (clock.shown(2.0)[1], clock.replaced) == ("one two three", set())
    clock.heard(1, "eins zwei drei", complete=True)
    clock.heard(0, "a b c d", complete=True)
    assert (clock.shown(3.0), clock.replaced) == (["a b c d", "eins zwei drei"], {1})


@pytest.mark.parametrize(
    ("text", "settled"),
    [
        ("", ""),
        ("word " * HELD_BACK, ""),
        ("I like green tea. " + "word " * HELD_BACK, "I like green tea."),
        ("I like green tea." + "茶" * 3 * HELD_BACK, "I like green tea."),
    ],
)
def test_the_last_words_of_an_unfinished_text_are_held_back(text: str, settled: str) -> None:
    """A phrase that is hidden may begin there. A phrase has more Chinese characters than English words."""
    assert text[: settled_end(text)].rstrip() == settled
