"""Characters without a shape go, but for those that shape their neighbours; and what is seen as one is not cut in two."""

from __future__ import annotations

import sys

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.display.appearance import looked_over, shortened, whole_up_to
from parlai_humaneval.display.presenter import Presenter
from parlai_humaneval.display.text import without_control, without_unseen

ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
FAMILY = "👨\u200d👩\u200d👧"
CLUSTERS = [ENGLAND, FAMILY, "🇩🇪", "👍🏽", "❤\ufe0f", "1\ufe0f\u20e3", "e\u0301", "क्षि", "각", "a", "b", " "]


@pytest.mark.parametrize(
    "text", [ENGLAND, FAMILY, "❤\ufe0f ☎\ufe0e ©\ufe0f ‼\ufe0f", "1\ufe0f\u20e3", "葛\U000e0100", "∩\ufe00", "ᠠ\u180b"]
)
def test_what_shapes_its_neighbours_stays(text: str) -> None:
    """Guards flags of regions, emoji, keycaps, and variants of Chinese, mathematical and Mongolian signs."""
    assert looked_over(text) == (text, [])


@pytest.mark.parametrize(
    "hidden",
    [
        *"\u115f\u1160\u3164\uffa0\ufe0f\ufe0e\U000e0100\u180b\u17b4\u2065\U000e0067\U000e007f\u2800\u034f",
        "\u200d\ufe0f",
    ],
)
def test_nothing_without_a_shape_saves_a_name(hidden: str) -> None:
    """Guards masks: fillers, variation selectors and tags inside a word are gone before names are looked for."""
    shown = Presenter().present(f"I am Chat{hidden}GPT.", ["tiny"])
    assert shown.text == "I am [name]."
    assert shown.changes == ["control_characters"]


@pytest.mark.parametrize("space", " \xa0\u202f\u2007\u2009")
def test_no_kind_of_space_saves_a_name(space: str) -> None:
    """Guards masks: a no-break space is seen, and stays where it stands; it counts as a space within a name."""
    shown = Presenter().present(f"I am Chat{space}GPT.\xa0Oui\u202f!", ["tiny"])
    assert (shown.text, shown.changes) == ("I am [name].\xa0Oui\u202f!", [])


def test_nothing_of_unicode_that_is_to_be_ignored_stays_in_a_word() -> None:
    """Guards the rules against Unicode itself."""
    ignored = regex.compile(r"\p{Default_Ignorable_Code_Point}")
    codes = [code for code in range(sys.maxunicode + 1) if ignored.match(chr(code))]
    assert len(codes) > 4000
    assert [hex(code) for code in codes if without_unseen(f"x{chr(code)}x") != "xx"] == []


def test_tags_without_a_flag_go() -> None:
    """Guards against text that is written in tags, which a page does not show: more than a region's code is no flag."""
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "iamchatgpt")
    assert without_control(f"Hi{hidden} \U0001f3f4{hidden}\U000e007f") == "Hi \U0001f3f4"


def test_flags_go_as_a_whole_where_emoji_are_stripped() -> None:
    assert looked_over(f"Hi {ENGLAND} {FAMILY} there ❤\ufe0f", emoji="strip")[0] == "Hi there"


@given(st.lists(st.sampled_from(CLUSTERS), min_size=1, max_size=60).map("".join), st.integers(1, 80))
def test_no_cut_splits_what_is_seen_as_one(text: str, most: int) -> None:
    """Guards emoji, flags and letters with accents at the end of what is shown."""
    cut = shortened(text, most)
    assert len(cut) <= most
    if cut != text:
        kept = cut.removesuffix("…").rstrip()
        places = {0, *(match.end() for match in regex.finditer(r"\X", text))}
        assert text.startswith(kept)
        assert len(kept) in places


def test_a_cut_keeps_as_much_as_fits() -> None:
    assert [whole_up_to(f"a{FAMILY}b", end) for end in range(8)] == [0, 1, 1, 1, 1, 1, 6, 7]
    assert shortened("🇩🇪" * 20, 20) == "🇩🇪" * 9 + "…"
