"""What a rater reads at the end of a unit, and why it ended: title and text.

In braces: ``pay`` as configured, the fields of :class:`UnitWords`, and the names of ``OF_PAY``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

OF_PAY = {
    "and_paid": ", and you are paid for the whole {whole}",
    "and_the_rest_paid": ", and the {whole} that was under way is paid as a whole",
    "too_paid": " and paid",
    "still_paid": "; you are paid for the whole set",
}
"""What is said where work is paid, and left out where it is not."""

THANKS = ("Thank you!", "Your {done} complete and saved. {pay}")
STOPPED = (
    "We have to stop here",
    "Our system had a problem and this {one} cannot go on. Nothing that you did is lost{and_paid}.",
)
AWAY = (
    "You were away for a while",
    "This {one} was closed because we heard nothing from you. What you did is saved. If you want to {again}, "
    "please load this page again, or return the task and take it anew.",
)
AWAY_FOR_GOOD = (
    "You were away for a while",
    "This {one} was closed because we heard nothing from you. What you did is saved. There is nothing else "
    "for you in this study, so please return the task. Thank you for your help!",
)
NOTHING_LEFT = (
    "All {many} have been given out",
    "Other people took the last ones while you were getting ready. There is nothing to do for you right now; please return "
    "the task. Thank you for your interest!",
)
PAUSED = (
    "The study was paused",
    "The researchers paused this study. Everything that you did is saved{and_the_rest_paid}. You may close this page.",
)
RETURNED = (
    "You have returned the task",
    "What you did until then is saved, and your place is free for somebody else. Thank you for your interest!",
)
PRACTICE_PASSED = "Practice passed. {begins}"
AGAIN = (
    "Your earlier conversation was cut off by us, not by you. It is saved{too_paid}. Here is a new one, from the start."
)
AGAIN_OF_SEVERAL = (
    "Your earlier conversations were cut off by us, not by you. What you did is saved. Please begin again{still_paid}."
)
ALL_DONE = (
    "The study is complete",
    "The last {many} of this study have just been finished or stopped. There is nothing to do for you any more; please "
    "return the task. Thank you for your interest!",
)


@dataclass(frozen=True)
class UnitWords:
    """What a unit is called: ``done`` (“conversation is”), ``whole`` (“set of six conversations”), ``again`` (what one can
    do after having been away), ``one`` and ``many`` of what units hold, ``begins``: said when the practice is over,
    ``counted``: what progress counts.
    """

    done: str = "conversation is"
    whole: str = "conversation"
    again: str = "begin another one"
    one: str = "conversation"
    many: str = "conversations"
    begins: str = "Now the real conversation begins."
    counted: str = "conversations"


def conversations(number: int) -> UnitWords:
    """Units of so many conversations."""
    if number == 1:
        return UnitWords()
    return UnitWords(done="conversations are", whole=f"set of {number} conversations", again="go on")


def filled(text: str, words: UnitWords, pay: str = "", *, is_paid: bool = True) -> str:
    """A text above with its braces filled; where work is not paid, nothing is promised."""
    unit = asdict(words)
    of_pay = {name: promise.format(**unit) if is_paid else "" for name, promise in OF_PAY.items()}
    return text.format(pay=pay, **of_pay, **unit)
