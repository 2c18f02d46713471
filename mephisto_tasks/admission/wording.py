"""What a rater reads at the end of a unit, and why it ended: title and text.

In braces: ``pay`` as configured, the fields of :class:`UnitWords`, and the names of ``OF_PAY``. Every text, and all that
stands in a place of one, is in the catalogues of :mod:`parlai_humaneval.i18n`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal

from parlai_humaneval.i18n.translate import phrase, t

Partial = Literal["pro_rata", "full", "none"]

OF_PAY = {
    "and_paid": phrase(", and you are paid for the whole {whole}"),
    "and_the_rest_paid": phrase(", and you are paid in full for the {whole} in progress"),
    "too_paid": phrase(" and paid"),
    "still_paid": phrase("; you are paid for the whole set"),
}  # what is said where work is paid, and left out where it is not
OF_PART: dict[Partial, str] = {
    "pro_rata": phrase(", and you are paid for the part that you completed"),
    "full": phrase(", and you are paid for the whole {whole} if you rated any of it"),
    "none": "",
}  # what is said of work that its rater left, in the place of ``part_paid``

THANKS = (phrase("Thank you!"), phrase("{complete} {pay}"))
STOPPED = (
    phrase("We have to stop here"),
    phrase("Our system had a problem, and this {one} cannot continue. None of your work is lost{and_paid}."),
)
AWAY = (
    phrase("You were away for a while"),
    phrase(
        "This {one} was closed because we did not hear from you. Your work is saved{part_paid}. To continue where you "
        "left off, please reload this page, or return the task and take it again."
    ),
)
AWAY_FOR_GOOD = (
    AWAY[0],
    phrase(
        "This {one} was closed because we did not hear from you. Your work is saved{part_paid}. There is nothing else "
        "for you to do in this study, so please return the task. Thank you for your help!"
    ),
)
NOTHING_LEFT = (
    phrase("All {many} have been given out"),
    phrase(
        "Other people took the last ones while you were getting ready. There is nothing for you to do right now. "
        "Please return the task. Thank you for your interest!"
    ),
)
PAUSED = (
    phrase("The study was paused"),
    phrase(
        "The researchers paused this study. All your work is saved{and_the_rest_paid}. You can close this page. If "
        "the study continues later, reload this page to pick up where you left off."
    ),
)
RETURNED = (
    phrase("You have returned the task"),
    phrase(
        "Your work up to that point is saved{part_paid}. Somebody else can now take your place. Thank you for your "
        "interest!"
    ),
)
PRACTICE_PASSED = phrase("Practice passed. {begins}")
AGAIN = phrase(
    "Your earlier conversation was interrupted by a problem on our side. It is saved{too_paid}. Here is a new "
    "conversation, which starts from the beginning."
)
AGAIN_OF_SEVERAL = phrase(
    "Your earlier conversations were interrupted by a problem on our side. Your work is saved. Please start "
    "again{still_paid}."
)
ALL_DONE = (
    phrase("The study is complete"),
    phrase(
        "The last {many} in this study have just been completed or stopped. There is nothing left for you to do. "
        "Please return the task. Thank you for your interest!"
    ),
)

RETURN_THE_TASK = phrase("return the task")
"""Each text that says so can be told to somebody else, too: see :func:`.visits.instead_of_returning`."""
TAKE_ANEW = phrase("return the task and take it again")


@dataclass(frozen=True)
class UnitWords:
    """What a unit is called."""

    complete: str = phrase("Your conversation is complete and saved.")  # a sentence
    whole: str = phrase("conversation")  # “set of six conversations”
    one: str = phrase("conversation")  # of what units hold
    many: str = phrase("conversations")
    begins: str = phrase("Now the real conversation begins.")  # said when the practice is over
    counted: str = "conversations"  # what progress counts; read by researchers alone
    number: int = 1  # of what a unit holds

    @property
    def whole_in_words(self) -> str:
        return t(self.whole, number=self.number)


def conversations(number: int) -> UnitWords:
    """Units of so many conversations."""
    if number == 1:
        return UnitWords()
    return UnitWords(
        complete=phrase("Your conversations are complete and saved."),
        whole=phrase("set of {number} conversations"),
        number=number,
    )


def filled(text: str, words: UnitWords, pay: str = "", *, is_paid: bool = True, partial: Partial = "pro_rata") -> str:
    """A text above in the language in force, with its braces filled; where work is not paid, nothing is promised."""
    unit = {name: t(str(said)) for name, said in asdict(words).items()} | {"whole": words.whole_in_words}
    of_pay = {name: t(promise, **unit) if is_paid else "" for name, promise in OF_PAY.items()}
    of_pay["part_paid"] = t(OF_PART[partial], **unit) if is_paid else ""
    return t(text, pay=pay, **of_pay, **unit)
