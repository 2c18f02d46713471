"""What is rated beside a choice between replies: ticks at a turn, Likert scales and statements at the end.

And scales for whole dialogues on which every point says what it means. The papers' own are in ``data/criteria.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from parlai_humaneval._util.data_files import packaged, read_yaml
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


_PUBLISHED: Mapping[str, Any] = read_yaml(packaged("criteria.yaml"))
CRITERIA: Mapping[Place, Mapping[str, Criterion]] = {
    place: {name: Criterion(name=name, **told) for name, told in _PUBLISHED[place].items()} for place in get_args(Place)
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


DIMENSIONS: Mapping[str, Dimension] = {
    text.lower(): Dimension(name=text.lower(), text=text, hints=hints)
    for text, hints in _PUBLISHED["dimensions"].items()
}
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
