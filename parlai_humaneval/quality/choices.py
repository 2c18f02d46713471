"""Checks on how a rater chose and how long they took: Liu et al. 2023 (“Experiments”, filtering), and reading time."""

from __future__ import annotations

from collections.abc import Iterator

from parlai_humaneval.quality.text import count_words
from parlai_humaneval.quality.verdicts import Finding
from parlai_humaneval.schema.records import Candidate, DialogueRecord, Rated, Turn

MIN_CHOICES = 6
"""Fewest turns in which a fixed choice says anything. Of two replies in random order, an honest rater's choices all
fall on one position with chance 2 · ½ⁿ: 6% in five turns, 3% in six, 0.2% in the ten of Liu et al."""

READING_SPEED_WPM = 600.0
"""Words a minute that nobody exceeds who reads. Silent reading of English has a mean of 238, and few pass 400 (Brysbaert
2019, Journal of Memory and Language 109); looking a text through for one known word, without taking it in, goes at about
600 (Carver 1992, Journal of Reading 36). A study sets its own as ``reading_speed_wpm``."""

SPEED_SETTING = "reading_speed_wpm"
"""Where the settings of a record say another speed than :data:`READING_SPEED_WPM`."""

TOO_FAST_SHARE = 0.5
"""Share of turns answered too fast from which on a dialogue fails: one hasty turn is human."""

MIN_TIMED_TURNS = 3
"""Fewest timed turns to judge."""


def _shown(turn: Turn) -> list[Candidate]:
    """The cards that the rater saw: one for equal texts, none for a model that gave nothing."""
    return [candidate for candidate in turn.candidates if candidate.same_as is None and not candidate.failed]


def _pattern(turn: Turn) -> str:
    shown = _shown(turn)
    chosen = sorted(candidate.position for candidate in shown if candidate.candidate_id in turn.selected)
    if not chosen:
        return "none of the replies"
    if len(chosen) == len(shown):
        return "all of the replies"
    places = " and ".join(map(str, chosen))
    return f"the reply at position {places}" if len(chosen) == 1 else f"the replies at positions {places}"


def same_position(record: DialogueRecord) -> Finding:
    """The same position, or the same set of positions, chosen in every turn.

    Turns with one reply, and those where nothing was asked, do not count. That positions take turns (1, 2, 1, 2) is no
    sign of a fixed pattern: the order of the replies is balanced, so a rater who always prefers one model chooses so.
    """
    asked = [turn for turn in record.complete_turns if len(_shown(turn)) > 1 and (turn.selected or turn.none_said)]
    if len(asked) < MIN_CHOICES:
        return Finding(
            None,
            f"The rater chose among several replies in {len(asked)} turns; at least {MIN_CHOICES} are needed to judge.",
        )
    patterns = {_pattern(turn) for turn in asked}
    if len(patterns) == 1:
        return Finding(False, f"In all {len(asked)} turns the rater chose {patterns.pop()}.")
    return Finding(True, f"The choices fell on different positions in {len(asked)} turns.")


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
        seconds = turn.seconds if asked else _until_next(turn, following.get(turn.turn + 1))
        if seconds is not None:
            yield sum(count_words(candidate.text) for candidate in shown), seconds


def _until_next(turn: Turn, following: Turn | None) -> float | None:
    """Where a turn asks nothing, the rater's next message is their answer; what was sent for them is none."""
    if turn.shown_at is None or following is None or following.human_fixed:
        return None
    return following.human_at - turn.shown_at - turn.away_s


def too_fast(record: DialogueRecord) -> Finding:
    """At least :data:`TOO_FAST_SHARE` of the turns were answered before the replies could have been read.

    ``value`` is that share.
    """
    speed = reading_speed(record)
    timed = list(_timed(record))
    if len(timed) < MIN_TIMED_TURNS:
        return Finding(None, f"{len(timed)} turns have a reading time; at least {MIN_TIMED_TURNS} are needed to judge.")
    hasty = sum(seconds < words * 60 / speed for words, seconds in timed)
    share = hasty / len(timed)
    reason = f"{hasty} of {len(timed)} turns were answered faster than {speed:g} words a minute can be read."
    return Finding(share < TOO_FAST_SHARE, reason, share)
