"""A filter of replies: offensive words are masked, or the reply is not shown at all and the model is asked again.

The list is that of the package ``pyobscenity``, a port of *obscenity*. It was chosen for its few false alarms: lists
such as LDNOOBW's also hold “god”, “kill”, “gay” or “hell”, and one wrong verdict can shut a worker out of a whole
study.
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

from parlai_humaneval._util.data_files import DataError, read_text

MILD = frozenset({"damn", "sex"})

HARMLESS = (
    "penistone", "dickson", "dickie", "chappaquiddick", "philip k. dick", "dick van", "uncle dick", "dick tracy",
    "gondwana", "oceanus", "eridanus", "pissaro", "cumquat", "bastardiz", "bastardis", "asst", "assn", "fu manchu",
    "tai fu", "negros", "vaginal birth",
)  # fmt: skip
"""Names and ordinary words that the list would flag: found by running it over an English dictionary of 104,000 words."""

_EDGES = ".,:;?\"'“”‘’…()"
"""Punctuation around a word that never represents a letter (as “$” and “!” may)."""

_lock = threading.Lock()


@lru_cache(maxsize=1)
def _matcher() -> Any:
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
    return tuple(text[start:end] for start, end in offensive_places(text))


def offensive_places(text: str) -> tuple[tuple[int, int], ...]:
    """Where ``text`` is offensive, in order; case, “sh1t” and look-alike letters do not hide it. It is looked at as a
    whole (“Moby Dick”) once one of its words is suspicious."""
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


class TextJudge:
    """A classifier, which looks for ``of``, and the score from which on it objects to a text. A text is scored once."""

    def __init__(self, classifier: Classifier, threshold: float = 0.5, of: str = "the classifier") -> None:
        self._score = lru_cache(maxsize=REMEMBERED)(classifier)
        self._threshold = threshold
        self._of = of

    def objection(self, text: str) -> str | None:
        """What the classifier has against ``text``; one that breaks objects: what nobody could check is not shown."""
        if failure := self.failure(text):
            return failure
        score = float(self._score(text))
        return f"{self._of} gave {score:.3g}" if score >= self._threshold else None

    def failure(self, text: str) -> str | None:
        try:
            score = float(self._score(text))
        except Exception as error:
            logger.error("%s failed", self._of, exc_info=error)
            return f"{self._of} failed: {type(error).__name__}"
        return f"{self._of} failed: it returned no number" if math.isnan(score) else None


class ResponseFilter:
    """Finds what no person should read, by the list, more ``words`` (``*``: any ending) and a classifier. Thread-safe."""

    def __init__(self, words: Sequence[str] = (), classifier: Classifier | None = None, threshold: float = 0.5) -> None:
        parts = (
            r"\s+".join(map(re.escape, word.removesuffix("*").split())) + (r"\w*" if word.endswith("*") else "")
            for word in sorted(words, key=len, reverse=True)
        )
        added = re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?!\w)", re.IGNORECASE)
        self._added_words = added if words else None
        self._judge = None if classifier is None else TextJudge(classifier, threshold)

    def places(self, text: str) -> list[tuple[int, int]]:
        places = [*offensive_places(text)]
        if self._added_words is not None:
            places += [match.span() for match in self._added_words.finditer(text)]
        return sorted(places)

    def reason(self, text: str) -> str | None:
        places = self.places(text)
        if places:
            return "offensive: " + ", ".join(dict.fromkeys(text[start:end] for start, end in places))
        return None if self._judge is None else self._judge.objection(text)


def read_words(path: Path) -> list[str]:
    lines = read_text(path, "expected a text file with one word per line").splitlines()
    words = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
    bare = next((word for word in words if not any(character.isalnum() for character in word)), None)
    if bare is not None:
        raise DataError(f"{bare!r} is not a word", where=path)
    if not words:
        raise DataError("holds no words", where=path, try_="expected one per line")
    return words


def load_classifier(name: str, setting: str = "filter_classifier") -> Classifier:
    """The function that ``module:function`` names; a DataError, which begins with ``setting``, where it is none."""
    module, _, function = name.partition(":")
    if not module or not function:
        raise DataError(f"expected module:function, got {name!r}", where=setting)
    try:
        classifier = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise DataError(f"{name} cannot be imported ({error})", where=setting) from error
    if not callable(classifier):
        raise DataError(f"{name} is not a function", where=setting)
    return classifier  # type: ignore[no-any-return]  # its signature cannot be known
