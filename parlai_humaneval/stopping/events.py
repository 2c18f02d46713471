"""What happens in a sequential study, as it is logged: enough to reproduce each decision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from parlai_humaneval.stopping.rule import StoppingRule


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Outcome(_Record):
    """What was chosen in one dialogue, or in one comparison of finished ones. ``picks``: turns in which each model was
    chosen, in the order of the dialogue's models; where several may be chosen at a turn, or none, they need not add up
    to the ``turns`` that were answered (1 for one verdict). Of a model that is rated by itself: the points that it was
    given, of as many as the scales have."""

    picks: tuple[int, ...]
    turns: int

    @model_validator(mode="after")
    def _possible(self) -> Outcome:
        if self.turns < 1:
            raise ValueError("an outcome needs an answered turn: a dialogue without one is left, not answered")
        if not self.picks or not all(0 <= picks <= self.turns for picks in self.picks):
            raise ValueError(
                f"picks {self.picks} of {self.turns} turns: give one number per model, each from 0 to the number of turns"
            )
        return self

    def share(self, first: int, second: int) -> float:
        """What the one model won against the other, ties counting half."""
        return (1 + (self.picks[first] - self.picks[second]) / self.turns) / 2

    @property
    def rating(self) -> float:
        """Where a single model stands on its scale: from 0 to 1."""
        return self.picks[0] / self.turns


class Began(_Record):
    """The study began, with this rule; all that is drawn by chance follows from the ``seed``. ``technique``,
    ``setting``, ``metric``: what was asked, where that is known. ``cut_off``: what becomes of dialogues whose workers
    leave in the middle of them: they are ``filled`` (see :class:`.Evidence`), or ``left_out``, as studies did that
    began before there was a choice. ``equality``: pairs are called equal ``together`` (see :class:`.Decisions`), or
    ``one_by_one``, as in studies that began before that."""

    event: Literal["began"] = "began"
    rule: StoppingRule
    seed: int
    technique: str = ""
    setting: str = ""
    metric: str = ""
    cut_off: Literal["left_out", "filled"] = "left_out"
    equality: Literal["one_by_one", "together"] = "one_by_one"


class Extended(_Record):
    """Its cap was raised. That may be done at any time: no error rate rests on the cap."""

    event: Literal["extended"] = "extended"
    at: float
    max_dialogues: int


class Arrived(_Record):
    """A worker came, for ``asked`` dialogues, and was given some: the models of each, and with which chance
    (``propensities``) it was about them. They were drawn of the pairs ``among``; if there are none, of the ``open``
    ones."""

    event: Literal["arrived"] = "arrived"
    at: float
    worker: str
    asked: int
    dialogues: tuple[tuple[str, ...], ...]
    propensities: tuple[float, ...]
    open: tuple[tuple[str, str], ...]
    among: tuple[tuple[str, str], ...] = ()


class Answered(_Record):
    """A worker finished a dialogue; ``late``: after they had left or run out of time, so that it is no evidence."""

    event: Literal["answered"] = "answered"
    at: float
    worker: str
    dialogue: int
    outcome: Outcome
    late: bool = False


class Predicted(_Record):
    """Before a worker saw the item of a dialogue: what a judge had said of it (the ``share`` of the first model), and the
    ``mean`` of what it had said of all items that could have been drawn, each with the same chance."""

    event: Literal["predicted"] = "predicted"
    at: float
    worker: str
    dialogue: int
    share: float = Field(ge=0, le=1)
    mean: float = Field(ge=0, le=1)


class Chose(_Record):
    """A worker answered another turn of a dialogue that they have not finished; it counts as far as it goes if they
    leave. ``outcome``: of all turns so far, of the ``whole`` number of turns that such a dialogue has."""

    event: Literal["chose"] = "chose"
    at: float
    worker: str
    dialogue: int
    outcome: Outcome
    whole: int = Field(ge=1)

    @property
    def done(self) -> float:
        """The part of the dialogue that was answered."""
        return min(1.0, self.outcome.turns / self.whole)


class Left(_Record):
    """A worker left; what they finished before counts."""

    event: Literal["left"] = "left"
    at: float
    worker: str


class Returned(_Record):
    """A worker who had left came back before they were folded in, and goes on."""

    event: Literal["returned"] = "returned"
    at: float
    worker: str


class Looked(_Record):
    """Time passed, so that somebody may have run out of it."""

    event: Literal["looked"] = "looked"
    at: float


class Folded(_Record):
    """A worker became evidence, with so many dialogues."""

    event: Literal["folded"] = "folded"
    worker: str
    dialogues: int
    timed_out: bool = False


class Claimed(_Record):
    """Two models were decided: the first is ``better``, or they are less than the margin apart. ``through``: it follows
    from what was claimed of others; else the ``e_value`` is the evidence. ``dialogues``: that had been folded in."""

    event: Literal["claimed"] = "claimed"
    claim: Literal["better", "equal"]
    first: str
    second: str
    through: bool
    e_value: float | None
    dialogues: int

    def is_again(self, before: object) -> bool:
        """Whether it is the same claim as ``before``: processors and libraries differ in the last digits of evidence."""
        if not isinstance(before, Claimed) or self.e_value is None or before.e_value is None:
            return self == before
        return self.model_copy(update={"e_value": before.e_value}) == before and math.isclose(
            self.e_value, before.e_value, rel_tol=1e-6
        )


class Ended(_Record):
    """Nobody else is needed: every pair is decided, or the cap is reached."""

    event: Literal["ended"] = "ended"
    at: float
    why: Literal["decided", "cap"]


Event = Annotated[
    Union[Began, Extended, Arrived, Predicted, Answered, Chose, Left, Returned, Looked, Folded, Claimed, Ended],  # noqa: UP007  # “|” of twelve is harder to read
    Field(discriminator="event"),
]
_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])


def log_rows(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The events as JSON-safe rows."""
    return [event.model_dump(mode="json") for event in events]


def read_log(rows: Iterable[dict[str, Any]]) -> list[Event]:
    """The events of such rows; raises ValueError where one is none."""
    return _EVENTS.validate_python(list(rows))
