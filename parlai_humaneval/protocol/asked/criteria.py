"""What is rated beside a choice between replies: ticks at a turn, Likert scales and statements at the end.

Sources: Smith et al. 2022, §3.1.4 (ticks and Likert; the words stand in the code that they published, ParlAI's
``crowdsourcing/projects/humaneval/single_model_eval``: annotations_config.json and ``final_rating_question``);
Liu et al. 2023, “Single-Model Evaluation” (appropriate); Ji et al. 2022, Figure 1 (statements; the reversed ones as in
§3.3).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, StringConstraints

from parlai_humaneval.protocol.records.dialogue import CriterionRecord

Place = Literal["tick", "likert", "slider"]
Words = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class Criterion(BaseModel):
    """``text``: what the rater reads. ``reversed``: agreeing is bad."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
    text: Words
    reversed: bool = False

    def ends(self, minimum: float, maximum: float) -> tuple[str, str]:
        """What its scale's ends are called: as the text says in brackets, “(1: Very boring, 5: …)”; else their numbers."""
        low, high = f"{minimum:g}", f"{maximum:g}"
        told = re.search(rf"\({low}: (.+), {high}: (.+)\)", self.text)
        return (told[1], told[2]) if told else (low, high)


def _named(*criteria: Criterion) -> dict[str, Criterion]:
    return {criterion.name: criterion for criterion in criteria}


CRITERIA: Mapping[Place, Mapping[str, Criterion]] = {
    "tick": _named(
        Criterion(
            name="engaging",
            text="Does this response make you want to talk to your partner for a long conversation?",
        ),
        Criterion(name="human-like", text="Does this response sound human?"),
        Criterion(
            name="interesting",
            text=(
                "If you had to say that this response is either interesting or boring, "
                "would you say that it is interesting?"
            ),
        ),
        Criterion(name="appropriate", text="Yes, it is appropriate"),
    ),
    "likert": _named(
        Criterion(
            name="preference",
            text=(
                "Please rate how much you'd prefer to talk to your partner for a long conversation. "
                "(1: Would not at all prefer, 5: Would very much prefer)"
            ),
        ),
        Criterion(
            name="humanness",
            text="Please rate how human your partner sounds. (1: Very inhuman, 5: Very human)",
        ),
        Criterion(
            name="interestingness",
            text="Please rate how interesting your partner is. (1: Very boring, 5: Very interesting)",
        ),
    ),
    "slider": _named(
        Criterion(
            name="robotic",
            text="It was obvious that I was talking to a chatbot as opposed to another human user.",
            reversed=True,
        ),
        Criterion(name="interesting", text="The conversation with the chatbot was interesting."),
        Criterion(name="fun", text="The conversation with the chatbot was fun/enjoyable."),
        Criterion(name="consistent", text="The chatbot was consistent throughout the conversation."),
        Criterion(name="fluent", text="The chatbot’s English was fluent and natural throughout the conversation."),
        Criterion(
            name="repetitive",
            text="I felt that the chatbot kept being repetitive during the conversation.",
            reversed=True,
        ),
        Criterion(name="topic", text="The chatbot stays on topic."),
    ),
}
"""Where it is rated → name → criterion. A study names those it asks for, or writes its own out."""

RANGES: Mapping[Place, tuple[float, float]] = {"tick": (0, 1), "likert": (1, 5), "slider": (0, 100)}


def criteria_for(place: Place, wanted: Sequence[str | Mapping[str, Any]]) -> list[Criterion]:
    """The criteria of a configuration: names of :data:`CRITERIA`, or ``{name, text, reversed}`` of one's own.

    Raises:
        ValueError: an unknown name (the message lists the known ones), a malformed criterion, or one named twice.
    """
    found = [_criterion(place, entry) for entry in wanted]
    names = [criterion.name for criterion in found]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"these criteria stand twice: {', '.join(repeated)}")
    return found


def _criterion(place: Place, entry: str | Mapping[str, Any]) -> Criterion:
    known = CRITERIA[place]
    if not isinstance(entry, str):
        try:
            return Criterion.model_validate(dict(entry))
        except ValueError as error:
            raise ValueError(
                f"a criterion of one's own is {{name: …, text: …, reversed: false}}; got {entry!r}"
            ) from error
    if entry not in known:
        raise ValueError(
            f"unknown criterion {entry!r}; known here: {', '.join(known)}. "
            "One of your own is written out: {name: …, text: …}"
        )
    return known[entry]


def criterion_records(place: Place, criteria: Sequence[Criterion]) -> list[CriterionRecord]:
    """As they stand in a record."""
    minimum, maximum = RANGES[place]
    return [
        CriterionRecord(
            name=criterion.name,
            text=criterion.text,
            reversed=criterion.reversed,
            scale=place,
            minimum=minimum,
            maximum=maximum,
        )
        for criterion in criteria
    ]
