"""The notation of phrases."""

from __future__ import annotations

import pytest

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.display.patterns import PhraseBook, read_phrase, stems_of
from parlai_humaneval.display.text import folded, spaced_words_only, words_in

LISTS = {"kind": ["(bot|robot)", "AI", "talking machine"], "的": ["机器人"]}


def hidden(notation: str, text: str) -> list[str]:
    """What a phrase hides of a text; that its words are looked for first is looked at in passing."""
    phrase = read_phrase(notation, LISTS, variants={"机": "机機", "機": "机機"})
    plain = folded(text)
    seen = plain if phrase.unspaced else spaced_words_only(plain)
    places = [match.span("hidden") for match in phrase.pattern.finditer(seen)]
    asked = PhraseBook([phrase]).that_may_match(stems_of(plain, words_in(plain)))
    assert asked or not places
    return [text[start:end] for start, end in places]


@pytest.mark.parametrize(
    ("notation", "text", "found"),
    [
        ("i am a bot", "Well, I  AM a bot.", ["I  AM a bot"]),
        ("i am a bot", "I am a bottle", []),
        ("i am a {kind}", "i am a robot and i am a talking machine", ["i am a robot", "i am a talking machine"]),
        ("i am AI", "I am AI", ["I am AI"]),
        ("i am AI", "I am ai", []),
        ("i am [just] [only] a bot", "I am only a bot", ["I am only a bot"]),
        ("[just] a bot", "just a bot, a bot", ["just a bot", "a bot"]),
        ("program* me", "they programmed me", ["programmed me"]),
        ("a * bot", "a nice-looking bot", ["a nice-looking bot"]),
        ("i … bot", "I was once a bot. A bot", ["I was once a bot"]),
        ("a bot ,", "a bot , a bot.", ["a bot ,"]),
        ("<i am> a bot <.|and>", "I am a bot. I am a bot and I am a bot here", ["a bot", "a bot"]),
        ("a bot <!fly|flies>", "a bot fly, a bot", ["a bot"]),
        ("<!not|never> a bot", "not a bot, never a bot, maybe a bot", ["a bot"]),
        ("je suis l'{kind}", "Je suis l’AI", ["Je suis l’AI"]),
        ("está aquí", "ESTA AQUI", ["ESTA AQUI"]),
        ("我是 [一个] {的}", "我是一个機器人", ["我是一个機器人"]),
        ("我是 AI", "我是AI，我是AIR", ["我是AI"]),
        ("<!不> 机器人", "不机器人机器人", ["机器人"]),
        ("난_ 봇", "난 봇, 난봇", ["난 봇"]),
        ("봇이야", "로봇이야 봇이야", ["봇이야"]),
    ],
)
def test_what_a_phrase_hides(notation: str, text: str, found: list[str]) -> None:
    assert hidden(notation, text) == found


@pytest.mark.parametrize(
    ("notation", "problem"),
    [
        ("(a|b", "“)” is missing"),
        ("a)", "“)” closes a part that was never opened"),
        ("[a|]", "one part is empty"),
        ("{nobody}", "there is no list {nobody}; there are: {kind}"),
        ("{kind", "“}” is missing"),
        ("a <b> c", "<…> must be closed, and be its first or its last part"),
        ("<a", "<…> must be closed"),
        ("[a]", "every part is optional"),
        ("* *", "it contains none of the required words"),
    ],
)
def test_a_phrase_that_cannot_be_read_says_why(notation: str, problem: str) -> None:
    with pytest.raises(InvalidValue) as raised:
        read_phrase(notation, LISTS)
    assert problem in str(raised.value)
