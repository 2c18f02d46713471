"""What happens in a sequential study, as it is logged: enough to reproduce each decision."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from parlai_humaneval.stopping.rule import StoppingRule


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Outcome(_Record):
    """What was chosen in one dialogue, or in one comparison of finished ones.

    Attributes:
        picks: turns in which each model was chosen, in the order of the dialogue's models; where several may be chosen at
            a turn, or none, the picks need not add up to the turns.
        turns: that were answered; 1 for one verdict.
    """

    picks: tuple[int, ...]
    turns: int

    @model_validator(mode="after")
    def _possible(self) -> Outcome:
        if self.turns < 1:
            raise ValueError("an outcome needs an answered turn: a dialogue without one is left, not answered")
        if len(self.picks) < 2 or not all(0 <= picks <= self.turns for picks in self.picks):
            raise ValueError(
                f"picks {self.picks} of {self.turns} turns: give one number a model, each from 0 to the number of turns"
            )
        return self

    def share(self, first: int, second: int) -> float:
        """What the one model won against the other, ties counting half."""
        return (1 + (self.picks[first] - self.picks[second]) / self.turns) / 2


class Began(_Record):
    """The study began, with this rule; all that is drawn by chance follows from the ``seed``.

    ``technique``, ``setting``, ``metric``: what was asked, where that is known. ``cut_off``: what becomes of dialogues whose
    workers leave in the middle of them: they are ``filled`` (see :class:`.Evidence`), or ``left_out``, as studies did that
    began before there was a choice.
    """

    event: Literal["began"] = "began"
    rule: StoppingRule
    seed: int
    technique: str = ""
    setting: str = ""
    metric: str = ""
    cut_off: Literal["left_out", "filled"] = "left_out"


class Extended(_Record):
    """Its cap was raised. That may be done at any time: no error rate rests on the cap."""

    event: Literal["extended"] = "extended"
    at: float
    max_dialogues: int


class Arrived(_Record):
    """A worker came, for ``asked`` dialogues, and was given some.

    Attributes:
        dialogues: the models of each.
        propensities: with which chance each dialogue was about its models.
        open: pairs that were open, of which the dialogues were drawn.
    """

    event: Literal["arrived"] = "arrived"
    at: float
    worker: str
    asked: int
    dialogues: tuple[tuple[str, ...], ...]
    propensities: tuple[float, ...]
    open: tuple[tuple[str, str], ...]


class Answered(_Record):
    """A worker finished a dialogue; ``late``: after they had left or run out of time, so that it is no evidence."""

    event: Literal["answered"] = "answered"
    at: float
    worker: str
    dialogue: int
    outcome: Outcome
    late: bool = False


class Chose(_Record):
    """A worker answered another turn of a dialogue that they have not finished; it counts as far as it goes if they leave.

    ``outcome``: of all turns so far, of the ``whole`` number of turns that such a dialogue has.
    """

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
    """Two models were decided.

    Attributes:
        claim: ``better``: the first is better than the second; ``equal``: they are less than the margin apart.
        through: it follows from what was claimed of others.
        e_value: the evidence, where it does not.
        dialogues: that had been folded in.
    """

    event: Literal["claimed"] = "claimed"
    claim: Literal["better", "equal"]
    first: str
    second: str
    through: bool
    e_value: float | None
    dialogues: int


class Ended(_Record):
    """Nobody else is needed: every pair is decided, or the cap is reached."""

    event: Literal["ended"] = "ended"
    at: float
    why: Literal["decided", "cap"]


Event = Annotated[
    Union[Began, Extended, Arrived, Answered, Chose, Left, Returned, Looked, Folded, Claimed, Ended],  # noqa: UP007  # “|” of eleven is harder to read
    Field(discriminator="event"),
]
_EVENTS: TypeAdapter[list[Event]] = TypeAdapter(list[Event])


def log_rows(events: Sequence[Event]) -> list[dict[str, Any]]:
    """The events as JSON-safe rows."""
    return [event.model_dump(mode="json") for event in events]


def read_log(rows: Iterable[dict[str, Any]]) -> list[Event]:
    """The events of such rows; raises ValueError where one is none."""
    return _EVENTS.validate_python(list(rows))
