"""What a rater reads at the end of a unit, and why it ended: title and text.

In braces: ``pay`` as configured; ``done`` (“conversation is”, “conversations are”), ``whole`` (“conversation”, “set of six
conversations”) and ``again`` (begin another, or go on) follow from how many conversations a unit holds.
"""

from parlai_humaneval.protocol.steps import Notice

THANKS = ("Thank you!", "Your {done} complete and saved. {pay}")
STOPPED = (
    "We have to stop here",
    "Our system had a problem and this conversation cannot go on. Nothing that you did is lost, and you are paid for "
    "the whole {whole}.",
)
AWAY = (
    "You were away for a while",
    "This conversation was closed because we heard nothing from you. What you did is saved. If you want to {again}, "
    "please load this page again, or return the task and take it anew.",
)
AWAY_FOR_GOOD = (
    "You were away for a while",
    "This conversation was closed because we heard nothing from you. What you did is saved. There is no other conversation "
    "for you in this study, so please return the task. Thank you for your help!",
)
NOTHING_LEFT = (
    "All conversations have been given out",
    "Other people took the last ones while you were getting ready. There is nothing to do for you right now; please return "
    "the task. Thank you for your interest!",
)
PAUSED = (
    "The study was paused",
    "The researchers paused this study. Everything that you did is saved, and the {whole} that was under way is paid "
    "as a whole. You may close this page.",
)
PRACTICE_PASSED = Notice(level="success", text="Practice passed. Now the real conversation begins.")
AGAIN = Notice(
    level="info",
    text="Your earlier conversation was cut off by us, not by you. It is saved and paid. Here is a new one, from the start.",
)
AGAIN_OF_SEVERAL = Notice(
    level="info",
    text="Your earlier conversations were cut off by us, not by you. What you did is saved. Please begin again; you are "
    "paid for the whole set.",
)
ALL_DONE = (
    "The study is complete",
    "Other people finished the last conversations of this study just now. There is nothing to do for you any more; please "
    "return the task. Thank you for your interest!",
)


def filled(text: str, *, conversations: int, pay: str) -> str:
    """A text above with its braces filled, for units of so many ``conversations``."""
    several = conversations > 1
    return text.format(
        pay=pay,
        done="conversations are" if several else "conversation is",
        whole=f"set of {conversations} conversations" if several else "conversation",
        again="go on" if several else "begin another one",
    )
