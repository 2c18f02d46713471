"""What partners read on their page."""

from __future__ import annotations

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


def label(turns: int, waiting: int) -> str:
    """Above the field: what to write, and how many messages wait besides."""
    what = "Write your reply" if turns else "Write the first message"
    if waiting == 0:
        return what
    return f"{what} ({waiting} more {'message waits' if waiting == 1 else 'messages wait'})"
