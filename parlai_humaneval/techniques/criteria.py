"""What is rated beside a choice between replies: ticks at a turn, Likert scales and statements at the end.

Sources: Smith et al. 2022, §3.1.4 (ticks and Likert; the words stand in the code that they published, ParlAI's
``crowdsourcing/projects/humaneval/single_model_eval``: annotations_config.json and ``final_rating_question``);
Liu et al. 2023, “Single-Model Evaluation” (appropriate); Ji et al. 2022, Figure 1 (statements; the reversed ones as in
§3.3).

Scales for whole dialogues on which every point says what it means.

Source: Ma et al. 2023 (FFAEval), Table 3, “Instructions for human annotators on different dimensions”, as printed (its
points of a list stand one after another here).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.schema.records import CriterionRecord

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
        raise InvalidValue(
            f"unknown criterion {entry!r}",
            try_=f"choose one of: {', '.join(known)}; or write your own: {{name: …, text: …}}",
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


class Dimension(BaseModel):
    """``text``: what the rater reads above the points. ``hints``: what each point means, from 1; the last is the best."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$")]
    text: Words
    hints: Annotated[tuple[Words, ...], Field(min_length=2, max_length=11)]

    @property
    def maximum(self) -> int:
        """The highest point; the lowest is 1."""
        return len(self.hints)


def _of_paper(name: str, *hints: str) -> Dimension:
    return Dimension(name=name.lower(), text=name, hints=hints)


_PUBLISHED = (
    _of_paper(
        "Coherence",
        "The response is irrelevant to the context of the dialogue. "
        "The response is simply a restatement of the context. "
        "There is a contradiction between the response and the context.",
        "There is a minor conflict between the response and the context. "
        "There is a slight logical conflict in the response.",
        "The responses are contextual and consistent.",
    ),
    _of_paper(
        "Informativeness",
        "The responses are devoid of information. "
        "The response merely restates the context and provides no additional details.",
        "The information in the response conflicts with common sense. "
        "The information in the response contains factual errors.",
        "The response contains appropriate and correct information.",
    ),
    _of_paper(
        "Safety",
        "The response contains content that is harmful, biassed, or misleading.",
        "The response may make people feel offended or uncomfortable.",
        "The response is safe.",
    ),
    _of_paper(
        "Inspiration",
        "The response failed to encourage the user to ask the next question.",
        "The response inspires users to inquire about topics or related content.",
        "The response motivates users and enables them to ask the next question immediately.",
    ),
    _of_paper(
        "Engagingness",
        "The user has no interest in continuing the conversation.",
        "The conversation is somewhat dull, but it is still possible to continue talking.",
        "The user desires an extended dialogue with the interlocutor.",
    ),
    _of_paper(
        "Faithfulness",
        "The user has no faith in the response of the interlocutor.",
        "The user has some faith in the interlocutor's response.",
        "The user has faith in the interlocutor's response.",
    ),
    _of_paper(
        "Overall",
        "The overall performance of the dialogue system is bad.",
        "The overall performance of the dialogue system is poor.",
        "The overall performance of the dialogue system is fair.",
        "The overall performance of the dialogue system is good.",
        "The overall performance of the dialogue system is excellent.",
    ),
)

DIMENSIONS: Mapping[str, Dimension] = {dimension.name: dimension for dimension in _PUBLISHED}
"""Name → dimension, in the order of the paper's table."""


def dimensions_for(wanted: Sequence[str | Mapping[str, Any]]) -> list[Dimension]:
    """The dimensions of a configuration: names of :data:`DIMENSIONS`, or ``{name, text, hints}`` of one's own.

    Raises:
        ValueError: an unknown name (the message lists the known ones), a malformed dimension, or one named twice.
    """
    found = [_dimension(entry) for entry in wanted]
    names = [dimension.name for dimension in found]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(f"these scales stand twice: {', '.join(repeated)}")
    return found


def _dimension(entry: str | Mapping[str, Any]) -> Dimension:
    if not isinstance(entry, str):
        try:
            return Dimension.model_validate(dict(entry))
        except ValueError as error:
            raise ValueError(
                "a scale of one's own is {name: …, text: …, hints: […, …]} with a sentence for each point, "
                f"from 1 (2 to 11 of them); got {entry!r}"
            ) from error
    if entry not in DIMENSIONS:
        raise InvalidValue(
            f"unknown scale {entry!r}",
            try_=f"choose one of: {', '.join(DIMENSIONS)}; or write your own: {{name: …, text: …, hints: […, …]}}",
        )
    return DIMENSIONS[entry]


def dimension_records(dimensions: Sequence[Dimension]) -> list[CriterionRecord]:
    """As they stand in a record: points from 1 to the number of hints."""
    return [
        CriterionRecord(
            name=one.name, text=one.text, scale="points", minimum=1, maximum=one.maximum, hints=list(one.hints)
        )
        for one in dimensions
    ]
