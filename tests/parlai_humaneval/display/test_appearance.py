"""Replies that look the same whichever model wrote them, and lose no word by it."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parlai_humaneval.display.appearance import CHANGES, looked_over, shortened
from parlai_humaneval.display.text import without_control

LONG = "This is one. This is two! And three is longer (with brackets). Four."


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("**Hi** there, I _like_ `code`.", "Hi there, I like code."),
        ("# Title\n\n- one\n* two\n\n1. first\n2. second", "Title\none\ntwo\n1. first\n2. second"),
        ("a | b\n--|--\n1 | 2\n3 | 4", "a, b\n1, 2\n3, 4"),
        ("See [here](http://x.y), <http://z.w> and ![a cat](cat.png).", "See here, http://z.w and a cat."),
        ("Look:\n```python\nprint(1)\n```\nDone.", "Look:\nprint(1)\nDone."),
        ("<b>Hi</b> <script>alert(1)</script>", "Hi alert(1)"),
        ("Hello &amp; bye", "Hello & bye"),
        ("> quoted\n\nyes ~~no~~", "quoted\nyes no"),
        ("Yes.<br>No.", "Yes.\nNo."),
        ("I'm fine.</s><|im_end|>", "I'm fine."),
        ("<think>The user says hi.\nSo I …</think>\n\nHi!", "Hi!"),
        ("one\n\n\n\ntwo   three\r\n", "one\ntwo three"),
    ],
)
def test_markdown_and_marks_of_models_are_gone(text: str, plain: str) -> None:
    """Guards blindness: bullets and bold words tell which model wrote them."""
    shown, changes = looked_over(text, appearance="plain")
    assert shown == plain
    assert set(changes) <= set(CHANGES)
    assert changes


@pytest.mark.parametrize(
    "text",
    [
        "I am fine, thanks.",
        "2 * 3 * 4 = 24, and 4 < 5 > 3 <3",
        "snake_case_name is a name",
        "1986. What a year",
        "We're #1 [sic] & happy",
        "It costs ~5 dollars - or so",
        "Line one.\nLine two.",
    ],
)
def test_plain_words_stay_as_they_are(text: str) -> None:
    """Guards what people write in the same signs."""
    assert looked_over(text, appearance="plain", emoji="strip", max_chars=100) == (text, [])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[1;38;5;196mred\x1b[K and \x9b31mblue", "red and blue"),
        ("\x1b]0;a title\x07red \x1b]8;;http://x.y\x1b\\link\x1b]8;;\x1b\\", "red link"),
        ("\x1b(Bred\x1b7\x1bPq#0\x1b\\", "red"),
        ("\x1bHello", "Hello"),
        ("a\x1b]no end of it", "a]no end of it"),
    ],
)
def test_escape_sequences_of_terminals_go_whole(text: str, words: str) -> None:
    """“[31mred[0m” would be left, which no person writes; what is no sequence loses its control character alone."""
    assert looked_over(text) == (words, ["control_characters"])


def test_brackets_without_an_escape_stay() -> None:
    assert looked_over("[31m is a colour, [0m is none") == ("[31m is a colour, [0m is none", [])


@pytest.mark.parametrize("text", ["**Hi** <b>you</b> 😀\n\n- a  b", "<s>old</s> new", "- I think so"])
def test_as_said_changes_nothing_that_can_be_seen(text: str) -> None:
    """Guards the papers' protocols: looks change only where that was asked for."""
    assert looked_over(text) == (text, [])


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("Hi 😀 there 👨‍👩‍👧!", "Hi there!"),
        ("😀 Hi 😀😀 😀.", "Hi."),
        ("❤️ you", "you"),
        ("No emoji :)", "No emoji :)"),
        ("4 #1", "4 #1"),
    ],
)
def test_emoji_go_with_their_space(text: str, without: str) -> None:
    assert looked_over(text, emoji="strip")[0] == without


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("a\u200bb\u2060c\ufeff", "abc"),
        ("\u202eabc\u202c \u2066d\u2069", "abc d"),
        ("a\r\nb\u2028c\x0bd", "a\nb\nc\nd"),
        ("\x00\x07z\x1b", "z"),
        ("x\u200dy \u200c", "xy "),
        ("tab\tstays", "tab\tstays"),
        ("👨‍👩‍👧 🏳️‍🌈", "👨‍👩‍👧 🏳️‍🌈"),
        ("می‌خواهم क्‍ष", "می‌خواهم क्‍ष"),
    ],
)
def test_characters_that_nobody_sees(text: str, clean: str) -> None:
    """Guards pages against text that is turned around; and emoji, Persian and Hindi, which need their joiners."""
    assert without_control(text) == clean


def test_every_control_and_format_character_of_unicode_is_seen_to() -> None:
    """Guards the list of ranges against Unicode itself: nothing invisible stays but what shapes its neighbours."""
    visible = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    stays = {
        code
        for code in range(sys.maxunicode + 1)
        if unicodedata.category(chr(code)) in ("Cc", "Cf") and without_control(f"x{chr(code)}x") != "xx"
    }
    newlines = {0x0A, 0x0B, 0x0C, 0x0D, 0x85}
    assert stays - visible == newlines | {0x09}


@pytest.mark.parametrize(
    ("most", "cut"),
    [
        (20, "This is one. …"),
        (30, "This is one. This is two! …"),
        (10, "This is…"),
        (60, "This is one. This is two! And three is longer (with…"),
    ],
)
def test_a_cut_is_after_a_sentence_or_a_word(most: int, cut: str) -> None:
    assert shortened(LONG, most) == cut
    assert looked_over(LONG, max_chars=most)[1] == ["length"]


@given(st.text(max_size=300), st.integers(20, 200))
def test_no_reply_is_longer_than_the_most(text: str, most: int) -> None:
    """Guards the page against 10,000 tokens; a text that fits is left alone."""
    found = shortened(text, most)
    assert len(found) <= most
    assert (found == text) == (len(text) <= most)


@given(st.text(alphabet="ab *_`#>-[]()|~<&\\\n1.😀\u200b\u200d", max_size=60))
def test_what_is_plain_has_nothing_more_that_nobody_sees(text: str) -> None:
    """Guards against any mix of signs: no crash, no unseen character, no empty line, no emoji."""
    shown, changes = looked_over(text, appearance="plain", emoji="strip")
    assert "\u200b" not in shown
    assert "😀" not in shown
    assert shown == shown.strip()
    assert "\n\n" not in shown
    assert (shown != text) <= bool(changes)
