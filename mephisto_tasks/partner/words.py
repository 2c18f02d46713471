"""What partners read on their page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Queue:
    """The messages that nobody has in hand: how many wait, and how many seconds the oldest has waited."""

    waiting: int = 0
    oldest_s: float = 0.0


IDLE = "Nobody needs a reply just now. Stay on this page: the next message appears here by itself."
AFTER_REPLY = "Your reply was sent. The next message appears here by itself."
CHARACTER = "Your character"
NOT_YOURS = "Not in your words"
NO_LONGER = "The message before needs no reply from you any more."
NOT_SHOWN = "Your last reply could not be shown to your partner. Please write another one."
ANOTHER = "This is another conversation, with another person."
BACK = "You are back in conversation {number}."
OFFENSIVE = "Please say that in other words: “{words}” may offend the person who reads it."
TOO_MANY = "So many people are here already that nobody else is needed. Please come back later."
ENDED = (
    "Thank you",
    "The study has stopped, so nobody needs a reply any more. You can close this page. If the study goes on later, the same "
    "link brings you back.",
)


def label(turns: int, queue: Queue) -> str:
    """Above the field: what to write, how many messages wait besides, and for how long the oldest has."""
    what = "Write your reply" if turns else "Write the first message"
    if queue.waiting == 0:
        return what
    if queue.waiting == 1:
        return f"{what} (1 more message waits, for {_minutes(queue.oldest_s)})"
    return f"{what} ({queue.waiting} more messages wait, the oldest for {_minutes(queue.oldest_s)})"


def _minutes(seconds: float) -> str:
    """In whole minutes, lest the page change every second."""
    minutes = int(seconds // 60)
    if minutes == 0:
        return "less than a minute"
    return "1 minute" if minutes == 1 else f"{minutes} minutes"
