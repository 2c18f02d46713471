"""Checks on what a rater wrote: Smith et al. 2022, App. B.4, and Liu et al. 2023 (“Experiments”, filtering).

The papers give words, not thresholds, for most; what is added here stands beside each constant. Messages that the
rater did not type are never counted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from parlai_humaneval._util.text import count_words
from parlai_humaneval.display.filtering import offensive_spans
from parlai_humaneval.quality.verdicts import Finding
from parlai_humaneval.schema.records import DialogueRecord, Turn

MIN_MEAN_WORDS = 3  # “The messages consist of less than three words on average” (Smith et al. 2022, App. B.4).

MIN_MEAN_TOKENS = 2
"""“where the average length of their utterances is less than 2 tokens” (Liu et al. 2023). Tokens are words here."""

MIN_MESSAGES = 2
"""Fewer typed messages have no average or habit worth judging: a rater cut off after one “Yes” did nothing wrong."""

MIN_CAPITAL_LETTERS = 6
CAPITAL_SHARE = 0.7
SEVERAL = 2
"""“Several of the messages are written using all capital letters” (App. B.4). Several is two or more, as in ParlAI's
checker. A message counts with six cased letters or more, 70% of them capitals: “OK”, “USA!” and “LOL” do not count,
and one small letter does not excuse the rest."""

SHORT_REPEAT_WORDS = 3
# One later copy of the first message is enough; of a first message under three words (“Yes.”), two are
SHORT_REPEATS = 2

_GREETING = re.compile(
    r"""\W*                                          # quotes, emoji
    (?: hi+ | hi+ya | hey+a? | hai+ | h[ea]llo+w? | howdy | greetings | salutations | yo
      | good \s+ (?:morning|afternoon|evening|day) (?= \W* $ | \s* [,.!?;:] | \s+ (?:to|there|how|my|i|i['’]m|what)\b )
    ) (?! [\w’'-] )""",
    re.IGNORECASE | re.VERBOSE,
)
"""A greeting at the beginning, as a whole word. “Good morning” is one unless it goes on as a topic (“Good morning
routines …”); “Hi-fi” is none."""


def _too_few(messages: list[str]) -> Finding | None:
    if len(messages) >= MIN_MESSAGES:
        return None
    return Finding(
        None, f"The rater typed {_count(len(messages), 'message')}; at least {MIN_MESSAGES} are needed to judge."
    )


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}" + ("" if number == 1 else "s")


def short_messages(record: DialogueRecord, least: float = MIN_MEAN_WORDS) -> Finding:
    """Under ``least`` words a message on average."""
    messages = typed_messages(record)
    if unjudged := _too_few(messages):
        return unjudged
    mean = mean_words(messages)
    return Finding(
        mean >= least, f"The mean length of the messages is {mean:.3g} (words); {least} or more is expected.", mean
    )


def short_tokens(record: DialogueRecord) -> Finding:
    """Under :data:`MIN_MEAN_TOKENS` words a message on average."""
    return short_messages(record, MIN_MEAN_TOKENS)


def greeting(record: DialogueRecord) -> Finding:
    """The first typed message greets, though the fixed first message has done so already."""
    fixed = [turn.human_text for turn in record.turns if turn.human_fixed]
    if not fixed or not _GREETING.match(fixed[0]):
        return Finding(None, "No greeting was sent for the rater, so raters may send their own.")
    messages = typed_messages(record)
    if not messages:
        return Finding(None, "The rater typed no message.")
    if _GREETING.match(messages[0]):
        return Finding(False, f"The first typed message greets again, after the fixed “{fixed[0]}”.")
    return Finding(True, "The first typed message goes on from the fixed greeting.")


def in_capitals(text: str) -> bool:
    """Whether a message is mostly capitals (:data:`CAPITAL_SHARE`). Scripts without case never are."""
    upper, lower = sum(map(str.isupper, text)), sum(map(str.islower, text))
    cased = upper + lower
    return cased >= MIN_CAPITAL_LETTERS and upper >= CAPITAL_SHARE * cased


def capitals(record: DialogueRecord) -> Finding:
    """:data:`SEVERAL` messages or more are mostly capitals."""
    messages = typed_messages(record)
    if unjudged := _too_few(messages):
        return unjudged
    shouted = sum(map(in_capitals, messages))
    verb = "is" if shouted == 1 else "are"
    reason = f"{_count(shouted, 'message').capitalize()} of {len(messages)} {verb} written mostly in capitals."
    return Finding(shouted < SEVERAL, reason, shouted)


def repeats_first(record: DialogueRecord) -> Finding:
    """Later messages are the first one again, whatever their case, punctuation and spacing."""
    messages = typed_messages(record)
    if unjudged := _too_few(messages):
        return unjudged
    first = plain(messages[0])
    repeats = sum(plain(message) == first for message in messages[1:])
    allowed = SHORT_REPEATS - 1 if count_words(messages[0]) < SHORT_REPEAT_WORDS else 0
    verb = "repeats" if repeats == 1 else "repeat"
    reason = f"{_count(repeats, 'later message').capitalize()} of {len(messages) - 1} {verb} the first."
    return Finding(repeats <= allowed, reason, repeats)


def offensive(record: DialogueRecord) -> Finding:
    """A typed message, or a reply written in the partner's place, holds an offensive word."""
    written = [(turn.turn, turn.human_text) for turn in typed_turns(record)]
    written += [(turn.turn, turn.written) for turn in record.turns if turn.written]
    if not written:
        return Finding(None, "The rater wrote nothing.")
    found = [(number, span) for number, text in written for span in offensive_spans(text)]
    if not found:
        return Finding(True, "No offensive word was found.", 0)
    number, span = found[0]
    more = f", and {_count(len(found) - 1, 'more place')}" if len(found) > 1 else ""
    return Finding(False, f"Offensive language in turn {number} (“{span}”){more}.", len(found))


def typed_turns(record: DialogueRecord) -> list[Turn]:
    """Turns whose message the rater typed: neither sent for them nor taken from the openings that were offered."""
    return [turn for turn in record.turns if not (turn.human_fixed or turn.human_suggested)]


def typed_messages(record: DialogueRecord) -> list[str]:
    """The messages that the rater typed, in order."""
    return [turn.human_text for turn in typed_turns(record)]


def mean_words(texts: Sequence[str]) -> float:
    """Mean number of words; 0 of no text."""
    return sum(map(count_words, texts)) / len(texts) if texts else 0.0


def plain(text: str) -> str:
    """A text with case, punctuation and spacing levelled, for comparing. Of nothing but punctuation, the text itself."""
    levelled = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(" " if unicodedata.category(character)[0] == "P" else character for character in levelled)
    return " ".join(kept.split()) or " ".join(levelled.split())
