"""Offensive words of a message, by the word list of the package ``pyobscenity`` (nothing is downloaded).

The list is a port of *obscenity* (English; slurs and obscenities, with the harmless words that hold one of them). It
was chosen for its few false alarms: lists such as LDNOOBW's also hold “god”, “kill”, “gay”, “vodka” or “hell”, which
raters may well chat about, and one wrong verdict can shut a worker out of a whole study.
"""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

MILD = frozenset({"damn", "sex"})
"""Entries of the list that are left out: common in talk that offends nobody."""

HARMLESS = (
    "penistone", "dickson", "dickie", "chappaquiddick", "philip k. dick", "dick van", "uncle dick", "dick tracy",
    "gondwana", "oceanus", "eridanus", "pissaro", "cumquat", "bastardiz", "bastardis", "asst", "assn", "fu manchu",
    "tai fu", "negros", "vaginal birth",
)  # fmt: skip
"""Names and ordinary words that the list would flag: found by running it over an English dictionary of 104,000 words."""

_EDGES = ".,:;?\"'“”‘’…()"
"""Punctuation around a word that never stands for a letter (as “$” and “!” may)."""

_lock = threading.Lock()


@lru_cache(maxsize=1)
def _matcher() -> Any:
    """Made at first use: most programs never need it."""
    import pyobscenity as obscenity

    # A copy: the package's own list is shared by everybody in this process.
    words = obscenity.Dataset().add_all(obscenity.english_dataset)
    words.remove_phrases_if(lambda phrase: phrase.metadata["originalWord"] in MILD)
    for term in HARMLESS:
        words.add_phrase(lambda phrase, term=term: phrase.add_whitelisted_term(term))
    built = words.build()
    return obscenity.RegexMatcher(
        built["blacklisted_terms"],
        built["whitelisted_terms"],
        obscenity.english_recommended_blacklist_transformers,
        obscenity.english_recommended_whitelist_transformers,
    )


def offensive_spans(text: str) -> tuple[str, ...]:
    """What of ``text`` is offensive, as it stands there, in order; see :func:`offensive_places`."""
    return tuple(text[start:end] for start, end in offensive_places(text))


def offensive_places(text: str) -> tuple[tuple[int, int], ...]:
    """Where ``text`` is offensive, as (start, end), in order; case, “sh1t” and look-alike letters do not hide it.

    Digits alone are never offensive, though “455” could be read as a word. A text is looked at as a whole, where the
    words around make it harmless (“Moby Dick”), once one of its words is suspicious; the only entry of the list that is
    made of harmless words is missed by that (“double …”).
    """
    return _places(text) if any(_suspicious(word.strip(_EDGES).casefold()) for word in text.split()) else ()


@lru_cache(maxsize=50_000)
def _suspicious(word: str) -> bool:
    """Kept, because people use few different words: a whole text takes the list's 300 patterns half a millisecond."""
    return bool(_places(word))


def _places(text: str) -> tuple[tuple[int, int], ...]:
    if not text:
        return ()
    with _lock:  # the package's transformers keep state while they work
        matches = _matcher().get_all_matches(text, sorted=True)
    places = dict.fromkeys((match.startIndex, match.endIndex) for match in matches)
    return tuple(place for place in places if any(character.isalpha() for character in text[slice(*place)]))
