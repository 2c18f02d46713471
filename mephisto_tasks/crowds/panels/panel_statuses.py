"""What panels call the states of a submission, and what each state means for pay and for places."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import Self

Meaning = Literal["finished", "paid", "at_work", "over", "rejected", "unknown"]
"""finished: waits for approval. over: returned, or out of time. unknown: the panel's file does not have the word."""

Words = list[Annotated[str, Field(min_length=1)]]


class PanelStatuses(BaseModel):
    """A panel's words for the states of a submission; upper and lower case, blanks, ``-`` and ``_`` are alike.

    The default has Prolific's words. A word that is in no list needs a person's decision before anybody is paid.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    finished: Words = ["AWAITING REVIEW"]
    paid: Words = ["APPROVED"]
    at_work: Words = ["ACTIVE", "RESERVED"]
    over: Words = ["RETURNED", "TIMED-OUT", "EXPIRED"]
    rejected: Words = ["REJECTED"]

    @model_validator(mode="after")
    def _each_once(self) -> Self:
        words = [plain_status(word) for of_meaning in self.model_dump().values() for word in of_meaning]
        twice = [word for word in words if words.count(word) > 1]
        if twice:
            raise ValueError(f"statuses: {twice[0]!r} stands in more than one list")
        return self

    def meaning(self, status: str) -> Meaning:
        """Of one of the panel's words."""
        lists: dict[Meaning, Words] = {
            "finished": self.finished,
            "paid": self.paid,
            "at_work": self.at_work,
            "over": self.over,
            "rejected": self.rejected,
        }
        wanted = plain_status(status)
        return next((name for name, words in lists.items() if wanted in map(plain_status, words)), "unknown")


def plain_status(status: str) -> str:
    """A status as it is compared: “timed out”, “Timed_Out” and “TIMED-OUT” are one word."""
    return "-".join(re.split(r"[\s_-]+", status.strip().upper()))
