"""Checks of a rater's answers: choices (Liu et al. 2023, “Experiments”, filtering), written texts, reading time,
attention checks of finished dialogues, and slider ratings (Ji et al. 2022, §3.2).

Those of judgements and of ratings look at all that a worker gave: one hasty or mistaken item is human.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, NamedTuple

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval._util.text import count_words
from parlai_humaneval.display.filtering import offensive_spans
from parlai_humaneval.schema.records import HUMAN, Candidate, DialogueRecord, JudgementRecord, Rated, Turn

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


MIN_CHOICES = 6
"""Fewest turns in which a fixed choice says anything. Of two replies in random order, an honest rater's choices all
fall on one position with chance 2 · ½ⁿ: 6% in five turns, 3% in six, 0.2% in the ten of Liu et al."""

READING_SPEED_WPM = 600.0
"""Words a minute that nobody exceeds who reads. Silent reading of English has a mean of 238, and few pass 400 (Brysbaert
2019, Journal of Memory and Language 109); looking a text through for one known word, without taking it in, goes at about
600 (Carver 1992, Journal of Reading 36). A study sets its own as ``reading_speed_wpm``."""

SPEED_SETTING = "reading_speed_wpm"  # Where the settings of a record say another speed than :data:`READING_SPEED_WPM`

TOO_FAST_SHARE = 0.5  # Share of turns answered too fast from which on a dialogue fails: one hasty turn is human

MIN_TIMED_TURNS = 3  # Fewest timed turns to judge


class Finding(NamedTuple):
    """What the function of a check returns.

    ``passed`` None: it cannot be judged (too few messages, say). ``reason`` is a sentence. ``value``: the number that
    was compared with a threshold, where there is one.
    """

    passed: bool | None
    reason: str
    value: float | None = None


def _shown(turn: Turn) -> list[Candidate]:
    """The cards that the rater saw: one for equal texts, none for a model that gave nothing."""
    return [candidate for candidate in turn.candidates if candidate.same_as is None and not candidate.failed]


def _pattern(turn: Turn) -> str:
    shown = _shown(turn)
    chosen = sorted(candidate.position for candidate in shown if turn.picks(candidate))
    if not chosen:
        return "none of the replies"
    if len(chosen) == len(shown):
        return "all of the replies"
    places = " and ".join(map(str, chosen))
    return f"the reply at position {places}" if len(chosen) == 1 else f"the replies at positions {places}"


def same_position(record: DialogueRecord) -> Finding:
    """The same position, or the same set of positions, chosen in every turn."""
    asked = [turn for turn in record.complete_turns if len(_shown(turn)) > 1 and (turn.selected or turn.none_said)]
    if len(asked) < MIN_CHOICES:
        return Finding(
            None, f"The rater chose among several replies in {len(asked)} turns; at least {MIN_CHOICES} are needed."
        )
    patterns = {_pattern(turn) for turn in asked}
    if len(patterns) == 1:
        return Finding(False, f"In all {len(asked)} turns, the rater chose {patterns.pop()}.")
    return Finding(True, f"In {len(asked)} turns, the rater chose replies in different positions.")


def reading_speed(record: Rated) -> float:
    """Words a minute that the settings of a record allow, or the default where they say nothing usable."""
    value = record.settings.get(SPEED_SETTING)
    usable = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return float(value) if usable and value is not None else READING_SPEED_WPM


def _timed(record: DialogueRecord) -> Iterator[tuple[int, float]]:
    """(words shown, seconds until the rater answered) of every turn with both."""
    following = {turn.turn: turn for turn in record.turns}
    for turn in record.turns:
        shown = _shown(turn)
        if turn.automatic or not shown:
            continue
        asked = (
            turn.ticks is not None
            or turn.none_said
            or turn.written is not None
            or bool(turn.selected and len(shown) > 1)
        )
        seconds, after = turn.seconds if asked else None, following.get(turn.turn + 1)
        # Where a turn asks nothing, the rater's next message is their answer; what was sent for them is none.
        if not asked and turn.shown_at is not None and after is not None and not after.human_fixed:
            seconds = after.human_at - turn.shown_at - turn.away_s
        if seconds is not None:
            yield sum(count_words(candidate.text) for candidate in shown), seconds


def too_fast(record: DialogueRecord | Sequence[JudgementRecord]) -> Finding:
    """At least :data:`TOO_FAST_SHARE` of the turns were answered before the replies could have been read.

    ``value`` is that share. Of judgements it is :func:`too_fast_items`, which was called so in a module of its own.
    """
    if not isinstance(record, DialogueRecord):
        return too_fast_items(record)
    speed = reading_speed(record)
    timed = list(_timed(record))
    if len(timed) < MIN_TIMED_TURNS:
        return Finding(None, f"{len(timed)} turns have a recorded reading time; at least {MIN_TIMED_TURNS} are needed.")
    hasty = sum(seconds < words * 60 / speed for words, seconds in timed)
    share = hasty / len(timed)
    reason = f"{hasty} of {len(timed)} turns were answered faster than people can read ({speed:g} words per minute)."
    return Finding(share < TOO_FAST_SHARE, reason, share)


# Share of attention checks that may be answered wrong: one slip in three or more, none in fewer
MAX_WRONG_GOLDS = 1 / 3

SIDES = {"first": "left", "second": "right"}


def failed_gold(records: Sequence[JudgementRecord]) -> Finding:
    """More than :data:`MAX_WRONG_GOLDS` of the worker's attention checks answered wrong; ``value`` is the share."""
    outcomes = [record.gold_passed for record in records]
    answered = [passed for passed in outcomes if passed is not None]
    if not answered:
        return Finding(None, "The rater has not answered any attention checks.")
    wrong = answered.count(False)
    share = wrong / len(answered)
    return Finding(share <= MAX_WRONG_GOLDS, f"The rater failed {wrong} of {len(answered)} attention checks.", share)


def too_fast_items(records: Sequence[JudgementRecord]) -> Finding:
    """At least :data:`~.choices.TOO_FAST_SHARE` of the items were answered before they could have been read.

    ``value`` is that share. Of a replayed dialogue the replies that could be chosen count as well.
    """
    timed = [record for record in records if record.status == "complete" and record.answers]
    if len(timed) < MIN_TIMED_TURNS:
        return Finding(None, f"{len(timed)} items have a recorded reading time; at least {MIN_TIMED_TURNS} are needed.")
    hasty = 0
    for record in timed:
        # Sum over all steps; answers of one form share their time.
        seconds = sum(seconds for _, seconds in {(answer.at, answer.seconds) for answer in record.answers})
        words = sum(count_words(line.text) for shown in record.dialogues for line in shown.lines)
        for turn in (turn for shown in record.dialogues if shown.replayed for turn in shown.replayed.turns):
            others = (c for c in turn.candidates if c.candidate_id != turn.continued and c.same_as is None)
            words += sum(count_words(candidate.text) for candidate in others)
        hasty += seconds < words * 60 / reading_speed(record)
    share = hasty / len(timed)
    slowest = max(reading_speed(record) for record in timed)
    reason = f"{hasty} of {len(timed)} items were answered faster than people can read ({slowest:g} words per minute)."
    return Finding(share < TOO_FAST_SHARE, reason, share)


def same_side(records: Sequence[JudgementRecord]) -> Finding:
    """The rater always chose the dialogue on the same side, in all items and for all metrics."""
    pairs = [record for record in records if len(record.dialogues) == 2]
    items = [{answer.option for answer in record.answers if answer.option in SIDES} for record in pairs]
    chosen = [options for options in items if options]
    if len(chosen) < MIN_CHOICES:
        return Finding(
            None, f"The rater chose between two dialogues in {len(chosen)} items; at least {MIN_CHOICES} are needed."
        )
    sides = {side for options in chosen for side in options if side}
    if len(sides) == 1:
        return Finding(False, f"In all {len(chosen)} items, the rater chose the dialogue on the {SIDES[sides.pop()]}.")
    return Finding(True, f"In {len(chosen)} items, the rater chose dialogues on both sides.")


def one_label(records: Sequence[JudgementRecord]) -> Finding:
    """Every speaker got the same label, though people and programs were among them."""
    given: list[str] = []
    entities: list[str] = []
    segments = 0
    for record in records:
        labels = [answer.option for answer in record.answers if answer.question_id.startswith("label_")]
        given += [label for label in labels if label]
        entities += [name for shown in record.dialogues for name in shown.entities] if any(labels) else []
        segments += any(labels)
    if segments < MIN_CHOICES:
        return Finding(
            None, f"The rater labelled the speakers of {segments} segments; at least {MIN_CHOICES} are needed."
        )
    kinds = {name == HUMAN for name in entities}
    if len(set(given)) > 1:
        return Finding(True, f"The rater gave different labels in {segments} segments.")
    if len(kinds) < 2 and given[0] != "unsure":
        return Finding(None, "The rater gave only one label, but was not shown both people and programs.")
    return Finding(False, f"Every speaker of {segments} segments was labelled “{given[0]}”.")


ALPHA = 0.05  # “any worker with p>=0.05 … is filtered out” (Ji et al. 2022, §3.2).

# Ratings of either side up to which the test is exact, as in :mod:`parlai_humaneval.statistics.core.ranks`
MOST_EXACT = 20


class RankSum(NamedTuple):
    """``p``: one-sided; the degraded model's ratings are at least as high. ``passed`` None: one side has no rating."""

    passed: bool | None
    p: float


def degraded_rated_lower(degraded: ArrayLike, others: ArrayLike, *, alpha: float = ALPHA) -> RankSum:
    """Whether a worker rated the degraded model lower than the others."""
    import numpy as np  # here, and scipy below: commands read this module at their start

    low, high = np.asarray(degraded, dtype=float).ravel(), np.asarray(others, dtype=float).ravel()
    if not low.size or not high.size:
        return RankSum(None, 1.0)
    together = np.concatenate([low, high])
    if not np.isfinite(together).all():
        raise InvalidValue("a rating is nan or infinite", try_="leave out unanswered ratings")
    if np.ptp(together) == 0:
        return RankSum(False, 1.0)
    from scipy.stats import mannwhitneyu

    untied = np.unique(together).size == together.size
    method = "exact" if untied and max(low.size, high.size) <= MOST_EXACT else "asymptotic"
    p = float(mannwhitneyu(low, high, alternative="less", method=method).pvalue)
    return RankSum(p < alpha, p)


def _slider_ratings(record: DialogueRecord, *, positive_only: bool = False) -> list[float]:
    """The finite slider ratings of a dialogue, as given (not reversed)."""
    wanted = (
        criterion.name
        for criterion in record.criteria
        if criterion.scale == "slider" and not (positive_only and criterion.reversed)
    )
    found = (record.final_ratings.get(name) for name in wanted)
    return [float(value) for value in found if value is not None and isfinite(value)]


def constant_scores(records: Sequence[DialogueRecord]) -> Finding:
    """All slider ratings of the worker are the same number; ``value`` is their standard deviation."""
    values = [value for record in records for value in _slider_ratings(record)]
    if len(values) < 2:
        return Finding(None, f"The rater gave {len(values)} slider ratings; at least 2 are needed.")
    if min(values) == max(values):
        return Finding(False, f"All {len(values)} slider ratings are {values[0]:g}.", 0.0)
    import numpy as np

    spread = float(np.std(values, ddof=1))
    return Finding(True, f"The {len(values)} slider ratings differ (standard deviation {spread:.3g}).", spread)


def rank_sum(records: Sequence[DialogueRecord]) -> Finding:
    """The degraded model's ratings are not significantly lower than the others'; ``value`` is p."""
    low: list[float] = []
    high: list[float] = []
    for record in records:
        if record.quality_control_model:
            is_degraded = any(model.name == record.quality_control_model for model in record.models)
            (low if is_degraded else high).extend(_slider_ratings(record, positive_only=True))
    result = degraded_rated_lower(low, high)
    if result.passed is None:
        missing = "the degraded model" if not low else "the other models"
        return Finding(None, f"The rater has not rated {missing}.")
    verb = "are" if result.passed else "are not"
    counts = f"{len(low)} against {len(high)}"
    return Finding(
        result.passed, f"The ratings of the degraded model {verb} lower (p = {result.p:.3g}, {counts}).", result.p
    )


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
    return Finding(None, f"The rater typed {_count(len(messages), 'message')}; at least {MIN_MESSAGES} are needed.")


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}" + ("" if number == 1 else "s")


def short_messages(record: DialogueRecord, least: float = MIN_MEAN_WORDS) -> Finding:
    """Under ``least`` words a message on average."""
    messages = typed_messages(record)
    if unjudged := _too_few(messages):
        return unjudged
    mean = mean_words(messages)
    return Finding(
        mean >= least, f"The mean message length in words is {mean:.3g}; at least {least} is expected.", mean
    )


def short_tokens(record: DialogueRecord) -> Finding:
    """Under :data:`MIN_MEAN_TOKENS` words a message on average."""
    return short_messages(record, MIN_MEAN_TOKENS)


def greeting(record: DialogueRecord) -> Finding:
    """The first typed message greets, though the fixed first message has done so already."""
    fixed = [turn.human_text for turn in record.turns if turn.human_fixed]
    if not fixed or not _GREETING.match(fixed[0]):
        return Finding(None, "The chat does not open with an automatic greeting, so the rater may send one.")
    messages = typed_messages(record)
    if not messages:
        return Finding(None, "The rater did not type any message.")
    if _GREETING.match(messages[0]):
        return Finding(False, f"The first typed message is another greeting, after the fixed “{fixed[0]}”.")
    return Finding(True, "The first typed message is not another greeting.")


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
    reason = f"{shouted or 'None'} of {len(messages)} messages {verb} mostly in capitals."
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
    reason = f"{repeats or 'None'} of {_count(len(messages) - 1, 'later message')} {verb} the first message."
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
    more = f", and in {_count(len(found) - 1, 'more place')}" if len(found) > 1 else ""
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
