"""Checks on what raters wrote: each with what it is meant to catch, and with what it must let pass."""

from __future__ import annotations

import subprocess
import sys

import pytest
from rated import answered, of_turns, said

from parlai_humaneval._util.text import count_words
from parlai_humaneval.display.filtering import MILD, offensive_spans
from parlai_humaneval.quality import answers as messages
from parlai_humaneval.quality.answers import plain

GOOD = ("I have two dogs and a cat.", "They sleep all day long.", "Do you have a pet as well?")


@pytest.mark.parametrize(
    "check", ["short_messages", "short_tokens", "greeting", "capitals", "repeats_first", "offensive"]
)
def test_an_ordinary_rater_passes(check: str) -> None:
    finding = getattr(messages, check)(said(*GOOD, fixed="Hi!"))
    assert finding.passed is True, finding.reason


@pytest.mark.parametrize(
    ("texts", "short_messages", "short_tokens"),
    [
        (("Yes I do", "Me too friend"), True, True),
        (("Yes", "I really do like it"), True, True),
        (("Yes I", "I do like it"), True, True),
        (("Yes I do", "Me too"), False, True),
        (("Yes.", "No, no."), False, False),
        (("Yes . . .", "No ! ! !"), False, False),
        (("ok", "😀 😀 😀 😀"), False, False),
    ],
)
def test_short_messages_by_the_papers_thresholds(
    texts: tuple[str, ...], short_messages: bool, short_tokens: bool
) -> None:
    """Under three words a message (Smith) or under two (Liu), on average; the threshold itself is long enough."""
    record = said(*texts, fixed="Hi!")
    assert messages.short_messages(record).passed is short_messages
    assert messages.short_tokens(record).passed is short_tokens


def test_the_mean_is_the_value_and_stands_in_the_reason() -> None:
    finding = messages.short_messages(said("one two", "three", fixed="a b c d e f g"))
    assert finding.value == 1.5
    assert "is 1.5; at least 3 is expected" in finding.reason


@pytest.mark.parametrize("check", ["short_messages", "short_tokens", "capitals", "repeats_first"])
@pytest.mark.parametrize("record", [said(), said(fixed="Hi!"), said("Yes", fixed="Hi!")])
def test_one_message_is_too_few_to_judge(check: str, record: object) -> None:
    """A rater who was cut off after one word is neither good nor bad."""
    finding = getattr(messages, check)(record)
    assert finding.passed is None
    assert "at least 2 are needed" in finding.reason


def test_messages_that_were_not_typed_never_count() -> None:
    """The fixed greeting and an opening that the page offered: neither short, nor in capitals, nor offensive of theirs."""
    turns = [
        answered(1, "HELLO YOU STUPID SHIT", human_fixed=True),
        answered(2, "TELL ME ABOUT YOUR JOB YOU SHIT", human_suggested=True),
        answered(3, "SO WHAT DO YOU DO?"),
        answered(4, "That is a nice job."),
    ]
    record = of_turns(turns)
    assert messages.capitals(record).passed is True
    assert messages.offensive(record).passed is True
    assert messages.short_messages(record).value == 5


@pytest.mark.parametrize(
    ("first", "greets"),
    [
        ("Hi, how are you?", True),
        ("hiiii", True),
        ("Hey there", True),
        ("heyyy!!", True),
        ("HELLO", True),
        ("“Hello”", True),
        ("👋 hello", True),
        ("Howdy partner", True),
        ("Good morning!", True),
        ("good evening, how are you", True),
        ("Good morning to you", True),
        ("Good morning routines are hard.", False),
        ("Good day for a walk, isn't it?", False),
        ("Hi-fi systems are my hobby", False),
        ("His dog is nice", False),
        ("History is my subject", False),
        ("I said hello to my neighbour", False),
        ("Yoga is what I do", False),
        ("Heyday of rock", False),
        ("I am fine, and you?", False),
        ("", False),
    ],
)
def test_greetings_after_a_fixed_greeting(first: str, greets: bool) -> None:
    assert messages.greeting(said(first, "more words here", fixed="Hi!")).passed is not greets


def test_only_the_first_typed_message_can_greet_too_much() -> None:
    assert messages.greeting(said("I have a dog.", "Hi again!", fixed="Hi!")).passed is True


@pytest.mark.parametrize("fixed", [None, "", "Tell me about your job."])
def test_without_a_fixed_greeting_one_may_greet(fixed: str | None) -> None:
    assert messages.greeting(said("Hello!", "I am fine, thanks.", fixed=fixed)).passed is None


@pytest.mark.parametrize(
    ("texts", "passed"),
    [
        (("I LOVE DOGS", "AND CATS TOO", "really"), False),
        (("I LOVE DOGs so MUCH", "no", "AND CATS TOO"), False),
        (("I LOVE DOGS", "really do"), True),
        (("OK", "LOL", "USA!", "12 34 56", "???"), True),
        (("I work for NASA and the FBI", "IBM is OK"), True),
        (("你好吗 你好吗 你好吗", "我喜欢狗 我喜欢狗 我喜欢狗"), True),
        (("ГДЕ ТЫ ЖИВЁШЬ", "Я НЕ ЗНАЮ ЭТОГО"), False),
    ],
)
def test_several_messages_in_capitals(texts: tuple[str, ...], passed: bool) -> None:
    """Two or more count as several; numbers, short cries and scripts without case are no shouting."""
    assert messages.capitals(said(*texts)).passed is passed


@pytest.mark.parametrize(
    ("texts", "passed", "repeats"),
    [
        (("I like dogs a lot.", "What else?", "i like dogs  a lot"), False, 1),
        (("I like dogs a lot.", "I like dogs a lot too."), True, 0),
        (("Yes.", "I do", "yes"), True, 1),
        (("Yes.", "yes!", "YES"), False, 2),
        (("What is new", "Nothing", "Nothing", "Nothing"), True, 0),
        (("😀", "👍", "🎉"), True, 0),
        (("???", "!!!", "..."), True, 0),
    ],
)
def test_later_messages_that_repeat_the_first(texts: tuple[str, ...], passed: bool, repeats: int) -> None:
    finding = messages.repeats_first(said(*texts, fixed="Hi!"))
    assert (finding.passed, finding.value) == (passed, repeats)


@pytest.mark.parametrize(
    "text",
    [
        "you are a piece of shit",
        "What the FUCK",
        "stupid b1tch",
        "sh1t",
        "motherfuckers",
        "ass-hole, asshole",
        "ｆｕｃｋ you",
    ],
)
def test_offensive_words_are_found_in_disguise_too(text: str) -> None:
    assert messages.offensive(said("I am fine today", text)).passed is False


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "I live in Scunthorpe, near Penistone",
        "My bass guitar class is a classic",
        "a cocktail, a shuttlecock and shiitake mushrooms",
        "Uranus, Oceanus and the Titanic",
        "The analyst at the Dickens museum assessed the assets",
        "an assassin in Sussex or Essex",
        "a grape, a therapist, a scrape",
        "the 455th of 80085 and 12345",
        "Philip K. Dick and Dick Van Dyke",
        "My hobby is kung fu, hell yes",
        "the cumquat and the accumulated cucumber",
        "God kills gay vodka lovers in that movie",
        "the pen is mightier, push it, as she said",
        "Damn, that is good news",
        "what sex is your cat?",
        "😀😀",
    ],
)
def test_ordinary_talk_is_not_offensive(text: str) -> None:
    assert offensive_spans(text) == ()


def test_written_replies_are_the_raters_words_too() -> None:
    record = of_turns([answered(1, "I am fine", (), written="fuck off", continued=None)])
    finding = messages.offensive(record)
    assert finding.passed is False
    assert "turn 1 (“fuck”)" in finding.reason


def test_words_of_the_models_are_not_the_raters() -> None:
    turns = [answered(n, "I am fine", replies=("you shit", "fuck you"), reason="it is shit") for n in (1, 2)]
    assert messages.offensive(of_turns(turns)).passed is True


def test_what_is_left_out_of_the_list_stands_in_it() -> None:
    """Guards a new version of the package: a name that is gone would leave nothing out, silently."""
    import pyobscenity

    assert {phrase.metadata["originalWord"] for phrase in pyobscenity.english_dataset.containers} >= MILD


def test_the_list_is_loaded_at_first_use_and_asks_no_network() -> None:
    code = (
        "import socket, sys\n"
        "def refuse(*args): raise AssertionError('network')\n"
        "import parlai_humaneval.quality as q\n"
        "assert not {'pyobscenity', 'scipy.stats', 'pandas', 'torch'} & set(sys.modules), 'imported too early'\n"
        "socket.socket.connect = socket.getaddrinfo = refuse\n"
        "from parlai_humaneval.display.filtering import offensive_spans\n"
        "print(offensive_spans('shit'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "('shit',)", done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("  ", 0),
        ("one", 1),
        ("it's well-known", 2),
        ("... !", 0),
        ("我喜欢狗", 3),
        ("私は犬が好きです。", 6),
        ("я люблю собак", 3),
    ],
)
def test_words_are_counted_as_raters_count_them(text: str, words: int) -> None:
    assert count_words(text) == words


def test_plain_levels_case_width_punctuation_and_spacing() -> None:
    assert plain("  Ｈello,   WORLD!") == "hello world"
    assert plain("?!") == "?!"
