"""A filter of replies: offensive words are masked, or the reply is not shown at all and the model is asked again.

What is offensive is said by the word list of :mod:`~parlai_humaneval.display.filtering`, a words file of one's own,
and, if one is named, a classifier: any function ``text -> score`` in an importable module.

Offensive words of a message, by the word list of the package ``pyobscenity`` (nothing is downloaded).

The list is a port of *obscenity* (English; slurs and obscenities, with the harmless words that hold one of them). It
was chosen for its few false alarms: lists such as LDNOOBW's also hold “god”, “kill”, “gay”, “vodka” or “hell”, which
raters may well chat about, and one wrong verdict can shut a worker out of a whole study.
"""

from __future__ import annotations

import importlib
import logging
import math
import re
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from parlai_humaneval._util.errors import HumanevalError

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


logger = logging.getLogger(__name__)

Classifier = Callable[[str], float]
"""A text → how unfit it is; from which score on it is refused is a setting. Called by several threads at once."""

REMEMBERED = 1024
"""Texts of which a classifier's score is kept: a reply is looked at more than once on its way to the page."""


class FilterError(HumanevalError, ValueError):
    """A words file or a classifier cannot be used; the message says what was expected."""


class TextJudge:
    """A classifier and the score from which on it objects to a text. Thread-safe; a text is scored once.

    Args:
        classifier: scores a text.
        threshold: from this score on there is an objection.
        of: what it looks for, in the words of its objection and of the log.
    """

    def __init__(self, classifier: Classifier, threshold: float = 0.5, of: str = "the classifier") -> None:
        self._score = lru_cache(maxsize=REMEMBERED)(classifier)
        self._threshold = threshold
        self._of = of

    def objection(self, text: str) -> str | None:
        """What the classifier has against ``text``, in words for the record; None: nothing.

        One that breaks, or gives no number, objects: what nobody could check is not shown.
        """
        if failure := self.failure(text):
            return failure
        score = float(self._score(text))
        return f"{self._of} gave {score:.3g}" if score >= self._threshold else None

    def failure(self, text: str) -> str | None:
        """How the classifier fails at ``text``; None: it does not."""
        try:
            score = float(self._score(text))
        except Exception as error:
            logger.error("%s failed", self._of, exc_info=error)
            return f"{self._of} failed: {type(error).__name__}"
        return f"{self._of} failed: it gave no number" if math.isnan(score) else None


class ResponseFilter:
    """Finds what no person should read in a reply. Thread-safe.

    Args:
        words: in addition to the packaged list; whole words or phrases, a ``*`` at the end stands for any ending.
        classifier: scores a whole reply.
        threshold: from this score on a reply is refused.
    """

    def __init__(self, words: Sequence[str] = (), classifier: Classifier | None = None, threshold: float = 0.5) -> None:
        self._added_words = _pattern(words)
        self._judge = None if classifier is None else TextJudge(classifier, threshold)

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where words of the lists stand in ``text``, as (start, end), in order."""
        places = [*offensive_places(text)]
        if self._added_words is not None:
            places += [match.span() for match in self._added_words.finditer(text)]
        return sorted(places)

    def reason(self, text: str) -> str | None:
        """Why ``text`` must not be shown, in words for the record; None: it may be."""
        places = self.places(text)
        if places:
            return "offensive: " + ", ".join(dict.fromkeys(text[start:end] for start, end in places))
        return None if self._judge is None else self._judge.objection(text)


def read_words(path: Path) -> list[str]:
    """A words file: one word or phrase a line; empty lines and those with ``#`` do not count.

    Raises:
        FilterError: it cannot be read, or holds no word.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FilterError(
            f"cannot be read ({error})", where=path, try_="expected a text file with one word a line"
        ) from error
    words = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    bare = next((word for word in words if not any(character.isalnum() for character in word)), None)
    if bare is not None:
        raise FilterError(f"{bare!r} is no word", where=path)
    if not words:
        raise FilterError("holds no words", where=path, try_="expected one a line")
    return words


def load_classifier(name: str, setting: str = "filter_classifier") -> Classifier:
    """The function that ``module:function`` names.

    Raises:
        FilterError: there is none of that name, or it is no function; the message begins with ``setting``.
    """
    module, _, function = name.partition(":")
    if not module or not function:
        raise FilterError(f"expected module:function, got {name!r}", where=setting)
    try:
        classifier = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise FilterError(f"{name} cannot be imported ({error})", where=setting) from error
    if not callable(classifier):
        raise FilterError(f"{name} is no function", where=setting)
    return classifier  # type: ignore[no-any-return]  # its signature cannot be known


def _pattern(words: Sequence[str]) -> re.Pattern[str] | None:
    if not words:
        return None
    parts = (
        r"\s+".join(map(re.escape, word.removesuffix("*").split())) + (r"\w*" if word.endswith("*") else "")
        for word in sorted(words, key=len, reverse=True)
    )
    return re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)", re.IGNORECASE)
