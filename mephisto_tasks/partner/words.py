"""What partners read on their page."""

from __future__ import annotations

from dataclasses import dataclass

from parlai_humaneval.languages.speaking import phrase, t, tn


@dataclass(frozen=True)
class Queue:
    """The messages that nobody has in hand: how many wait, and how many seconds the oldest has waited."""

    waiting: int = 0
    oldest_s: float = 0.0


IDLE = phrase("Nobody needs a reply just now. Stay on this page: the next message appears here by itself.")
AFTER_REPLY = phrase("Your reply was sent. The next message appears here by itself.")
CHARACTER = phrase("Your character")
NOT_YOURS = phrase("Not in your words")
NO_LONGER = phrase("The message before needs no reply from you any more.")
NOT_SHOWN = phrase("Your last reply could not be shown to your partner. Please write another one.")
ANOTHER = phrase("This is another conversation, with another person.")
BACK = phrase("You are back in conversation {number}.")
OFFENSIVE = phrase("Please say that in other words: “{words}” may offend the person who reads it.")
TOO_MANY = phrase("So many people are here already that nobody else is needed. Please come back later.")
ENDED = (
    phrase("Thank you"),
    phrase(
        "The study has stopped, so nobody needs a reply any more. You can close this page. If the study goes on later, the "
        "same link brings you back."
    ),
)
OTHER_PERSON = phrase("The other person: {line}")


def label(turns: int, queue: Queue) -> str:
    """Above the field: what to write, how many messages wait besides, and for how long the oldest has."""
    what = t("Write your reply") if turns else t("Write the first message")
    if queue.waiting == 0:
        return what
    return tn(
        "{what} (1 more message waits, for {time})",
        "{what} ({n} more messages wait, the oldest for {time})",
        queue.waiting,
        what=what,
        time=_minutes(queue.oldest_s),
    )


def _minutes(seconds: float) -> str:
    """In whole minutes, lest the page change every second."""
    minutes = int(seconds // 60)
    return t("less than a minute") if minutes == 0 else tn("1 minute", "{n} minutes", minutes)
