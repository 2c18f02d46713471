"""Checks on who judges finished dialogues: attention checks, reading time, and answers that do not depend on the item.

All look at everything that a worker judged: one hasty or mistaken item is human.
"""

from __future__ import annotations

from collections.abc import Sequence

from parlai_humaneval.quality.choices import MIN_CHOICES, MIN_TIMED_TURNS, TOO_FAST_SHARE, reading_speed
from parlai_humaneval.quality.text import count_words
from parlai_humaneval.quality.verdicts import Finding
from parlai_humaneval.schema.records import HUMAN, JudgementRecord

MAX_WRONG_GOLDS = 1 / 3
"""Share of attention checks that may be answered wrong: one slip in three or more, none in fewer."""

SIDES = {"first": "left", "second": "right"}


def failed_gold(records: Sequence[JudgementRecord]) -> Finding:
    """More than :data:`MAX_WRONG_GOLDS` of the worker's attention checks answered wrong; ``value`` is the share."""
    outcomes = [record.gold_passed for record in records]
    answered = [passed for passed in outcomes if passed is not None]
    if not answered:
        return Finding(None, "The worker has answered no attention check.")
    wrong = answered.count(False)
    share = wrong / len(answered)
    return Finding(share <= MAX_WRONG_GOLDS, f"{wrong} of {len(answered)} attention checks answered wrong.", share)


def too_fast(records: Sequence[JudgementRecord]) -> Finding:
    """At least :data:`~.choices.TOO_FAST_SHARE` of the items were answered before they could have been read.

    ``value`` is that share. Of a replayed dialogue the replies that could be chosen count as well.
    """
    timed = [record for record in records if record.status == "complete" and record.answers]
    if len(timed) < MIN_TIMED_TURNS:
        return Finding(None, f"{len(timed)} items have a reading time; at least {MIN_TIMED_TURNS} are needed to judge.")
    hasty = sum(_seconds(record) < _words(record) * 60 / reading_speed(record) for record in timed)
    share = hasty / len(timed)
    slowest = max(reading_speed(record) for record in timed)
    reason = f"{hasty} of {len(timed)} items were answered faster than {slowest:g} words a minute can be read."
    return Finding(share < TOO_FAST_SHARE, reason, share)


def _seconds(record: JudgementRecord) -> float:
    """Of all steps; answers of one form share their time."""
    return sum(seconds for _, seconds in {(answer.at, answer.seconds) for answer in record.answers})


def _words(record: JudgementRecord) -> int:
    """Of the lines, and of the candidates that the dialogue did not go on with."""
    said = sum(count_words(line.text) for shown in record.dialogues for line in shown.lines)
    turns = [turn for shown in record.dialogues if shown.replayed for turn in shown.replayed.turns]
    others = (c for turn in turns for c in turn.candidates if c.candidate_id != turn.continued and c.same_as is None)
    return said + sum(count_words(candidate.text) for candidate in others)


def same_side(records: Sequence[JudgementRecord]) -> Finding:
    """Of two dialogues always the one on the same side was chosen, in all items and for all metrics."""
    pairs = [record for record in records if len(record.dialogues) == 2]
    items = [{answer.option for answer in record.answers if answer.option in SIDES} for record in pairs]
    chosen = [options for options in items if options]
    if len(chosen) < MIN_CHOICES:
        return Finding(
            None, f"The worker chose between two dialogues in {len(chosen)} items; at least {MIN_CHOICES} are needed."
        )
    sides = {side for options in chosen for side in options if side}
    if len(sides) == 1:
        return Finding(False, f"In all {len(chosen)} items the worker chose the dialogue on the {SIDES[sides.pop()]}.")
    return Finding(True, f"The choices fell on both sides in {len(chosen)} items.")


def one_label(records: Sequence[JudgementRecord]) -> Finding:
    """Every speaker got the same label, though people and programs were among them.

    Where no person was shown, “bot” for all is right; “unsure” for all is a failure in any case. Not among the default
    checks: a rater whom good bots take in calls everybody human.
    """
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
            None, f"The worker labelled the speakers of {segments} segments; at least {MIN_CHOICES} are needed."
        )
    kinds = {name == HUMAN for name in entities}
    if len(set(given)) > 1:
        return Finding(True, f"The worker gave different labels in {segments} segments.")
    if len(kinds) < 2 and given[0] != "unsure":
        return Finding(None, "The worker gave one label only, but was not shown both people and programs.")
    return Finding(False, f"Every speaker of {segments} segments was called “{given[0]}”.")
