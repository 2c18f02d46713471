"""What a rater reads at the end of a unit, and why it ended: title and text."""

from parlai_humaneval.protocol.steps import Notice

THANKS = ("Thank you!", "Your conversation is complete and saved. {pay}")
STOPPED = (
    "We have to stop here",
    "Our system had a problem and this conversation cannot go on. Nothing that you did is lost, and you are paid for "
    "the whole conversation.",
)
AWAY = (
    "You were away for a while",
    "This conversation was closed because we heard nothing from you. What you did is saved. If you want to begin another "
    "one, please load this page again, or return the task and take it anew.",
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
    "The researchers paused this study. Everything that you did is saved, and a conversation that was under way is paid as "
    "a whole. You may close this page.",
)
PRACTICE_PASSED = Notice(level="success", text="Practice passed. Now the real conversation begins.")
AGAIN = Notice(
    level="info",
    text="Your earlier conversation was cut off by us, not by you. It is saved and paid. Here is a new one, from the start.",
)
ALL_DONE = (
    "The study is complete",
    "Other people finished the last conversations of this study just now. There is nothing to do for you any more; please "
    "return the task. Thank you for your interest!",
)
