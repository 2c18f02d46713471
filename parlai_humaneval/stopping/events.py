"""The logged events of a sequential study, which suffice to reproduce each decision."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.statistics.core.formatting import counted, percent
from parlai_humaneval.stopping.rule import StoppingRule


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Outcome(_Record):
    """The choices in a dialogue, or in a comparison of finished dialogues. ``picks``: turns in which each model was
    chosen, in the order of the dialogue's models; where several may be chosen at a turn, or none, they need not add up
    to the ``turns`` that were answered (1 for one verdict). Of a model that is rated by itself: the points that it was
    given, of as many as the scales have."""

    picks: tuple[int, ...]
    turns: int

    @model_validator(mode="after")
    def _possible(self) -> Outcome:
        if self.turns < 1:
            what = "an outcome needs an answered turn: a dialogue without one is left, not answered"
            raise InvalidValue(what, try_="use Left instead")
        if not self.picks or not all(0 <= picks <= self.turns for picks in self.picks):
            what = f"picks {self.picks} of {self.turns} turns are not possible"
            raise InvalidValue(what, try_="give one number per model, each from 0 to the number of turns")
        return self

    def share(self, first: int, second: int) -> float:
        """The share of turns that one model won against the other, ties counting half."""
        return (1 + (self.picks[first] - self.picks[second]) / self.turns) / 2

    @property
    def rating(self) -> float:
        """The rating of a single model, as a share of its scale."""
        return self.picks[0] / self.turns


class Began(_Record):
    """The study began, with this rule; all that is drawn by chance follows from the ``seed``. ``technique``,
    ``setting``, ``metric``: what was asked, where that is known. ``cut_off``: what becomes of dialogues whose workers
    leave in the middle of them: they are ``filled`` (see :class:`.Evidence`), or ``left_out``, as studies did that
    began before there was a choice. ``equality``: pairs are called equal ``together`` (see :class:`.Decisions`), or
    ``one_by_one``, as in studies that began before that; ``even``: together, and both models of a pair tell as much
    through a third, however often either is left. ``order``: the better model is decided over all orders, along
    ``paths``, or ``pair_by_pair``, as in studies that began before that."""

    event: Literal["began"] = "began"
    rule: StoppingRule
    seed: int
    technique: str = ""
    setting: str = ""
    metric: str = ""
    cut_off: Literal["left_out", "filled"] = "left_out"
    equality: Literal["one_by_one", "together", "even"] = "one_by_one"
    order: Literal["pair_by_pair", "paths"] = "pair_by_pair"


class Extended(_Record):
    """The cap was raised. This is allowed at any time: no error rate depends on the cap."""

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
    """A worker finished a dialogue; ``late``: they had left or run out of time, so it does not count as evidence."""

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
    """A worker who had left came back before they were folded in, and continues."""

    event: Literal["returned"] = "returned"
    at: float
    worker: str


class Looked(_Record):
    """Time passed, so workers may have run out of it."""

    event: Literal["looked"] = "looked"
    at: float


class Folded(_Record):
    """A worker's dialogues became evidence."""

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
        """Whether the claim equals ``before``: the last digits of evidence depend on processors and libraries."""
        if not isinstance(before, Claimed) or self.e_value is None or before.e_value is None:
            return self == before
        return self.model_copy(update={"e_value": before.e_value}) == before and math.isclose(
            self.e_value, before.e_value, rel_tol=1e-6
        )


class Ended(_Record):
    """The study ended: every pair is decided, or the cap is reached."""

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
    """The events of such rows; raises ValueError for a row that is not an event."""
    return _EVENTS.validate_python(list(rows))


MOST_LIKELY = 0.9
"""Where so many of the simulated studies end at the cap, that is what is foreseen: four in five end nowhere else."""

WIDEST = 0.25
"""Up to this width of a share's interval (50 points of a gap) its centre is the better estimate, as simulated."""


def estimated_share(mean: float, low: float, high: float) -> float:
    """A share after stopping: the centre of the interval that holds at all times, which stopping pulls less than the mean.
    Of few dialogues the interval is cut off at 0 or 1, which pulls more: the wider it is, the nearer to the mean is the
    estimate."""
    return mean + (WIDEST / max(high - low, WIDEST)) ** 2 * ((low + high) / 2 - mean)


class PairStatus(BaseModel, frozen=True):
    """Two models: what is decided, and what dialogues of the two alone say. ``decided``: ``first`` or ``second``: that
    one is better; ``equal`` within the margin; None: open. ``through``: it follows from what was decided of others.
    ``share``: mean share of turns that the first won, workers counting by their dialogues. After stopping it is too far
    from one half. ``low``, ``high``: ends of the interval for that share, which may be looked at whenever one likes."""

    first: str
    second: str
    decided: Literal["first", "second", "equal"] | None
    through: bool
    workers: int
    dialogues: int
    share: float | None
    low: float
    high: float

    @property
    def estimate(self) -> float | None:
        """The share to report after stopping: see :func:`estimated_share`."""
        return None if self.share is None else estimated_share(self.share, self.low, self.high)

    @property
    def claim(self) -> str:
        """The decision about the two, such as “A > B” or “A ≈ B”; empty while they are open."""
        if self.decided is None:
            return ""
        if self.decided == "equal":
            return f"{self.first} ≈ {self.second}"
        return f"{self.first} > {self.second}" if self.decided == "first" else f"{self.second} > {self.first}"


class JudgeHelp(BaseModel, frozen=True):
    """A judge whose predictions are taken off what people say. ``weight``: how much of them, from 0 to 1, as far as they
    proved right. ``worth``: so many dialogues without it one with it has been worth."""

    name: str
    weight: float
    worth: float

    @property
    def plain_name(self) -> str:
        """Its name without its version."""
        return self.name.rpartition("@")[0] or self.name

    @property
    def said(self) -> str:
        """The judge's contribution, in words."""
        name = self.plain_name
        if not self.weight:
            return f"no help from {name} so far"
        return f"with {name}, a dialogue counts as {self.worth:.2f} dialogues without it (weight {self.weight:.2f})"


class StoppingStatus(BaseModel, frozen=True):
    """Where a study stands. ``pairs``: all of them, and what is known of each. ``answer``: what is decided, in words;
    empty before anything is. ``level``: coverage of each pair's interval at all times together. ``dialogues``: folded
    in; ``answered`` and ``in_flight``: finished, and begun and not finished; ``cap``: at most. ``fixed``: dialogues of
    a fixed plan, each pair a study of its own, with 95 % power for the margin in any of them, at the variance that was
    seen; ``fixed_pooled``: of one plan for all models together (Bradley–Terry). Both are the same where one dialogue, or
    one worker, compares all models. ``timed_out``: workers who ran out of
    time. ``cut_off``: dialogues that their workers left in the middle, and that count as far as they went.
    ``warnings``: what speaks against trusting the answer. ``ended``: why nobody else is needed; None while the study
    goes on. ``judge``: what a judge adds; None: there is none. ``unit``: what is called a dialogue here, in words."""

    pairs: tuple[PairStatus, ...]
    answer: str
    level: float
    workers: int
    dialogues: int
    answered: int
    in_flight: int
    cap: int
    fixed: float
    fixed_pooled: float
    timed_out: int
    cut_off: int = 0
    warnings: tuple[str, ...]
    ended: Literal["decided", "cap"] | None
    judge: JudgeHelp | None = None
    unit: str = "dialogue"

    @property
    def open(self) -> list[tuple[str, str]]:
        """Pairs that are not decided."""
        return [(pair.first, pair.second) for pair in self.pairs if pair.decided is None]

    @property
    def fixed_of_a_pair(self) -> float:
        """Dialogues of a fixed plan for a single pair."""
        compares_all = self.fixed == self.fixed_pooled
        return self.fixed if compares_all else self.fixed / len(self.pairs)

    @property
    def open_words(self) -> str:
        """“4 of 6 pairs open”."""
        return f"{len(self.open)} of {len(self.pairs)} pairs open"

    @property
    def next_step(self) -> str:
        """The next step if the study ended with pairs open; otherwise empty."""
        again = "To continue where it stopped, launch the study again with a higher max_dialogues"
        return f"{again}. A higher cap does not change any error rate." if self.ended == "cap" else ""

    def __str__(self) -> str:
        if self.ended == "decided":
            share = percent(self.answered / self.fixed)
            return f"answer reached: {self.answer}; {share} of the {self.unit}s of a fixed plan"
        start = f"the cap of {self.cap} {self.unit}s is reached: " if self.ended else ""
        return f"{start}{self.open_words}{f'; decided: {self.answer}' if self.answer else ''}"


class PairForecast(BaseModel, frozen=True):
    """Dialogues of two models that begin until there is a decision about them, or the cap is reached; see
    :class:`Forecast`."""

    first: str
    second: str
    expected: float
    low: int
    high: int

    def __str__(self) -> str:
        return f"{self.low:,}–{self.high:,}" if self.low < self.high else f"{self.low:,}"


class Forecast(BaseModel, frozen=True):
    """Dialogues to go until the answer or the cap. ``begun``: dialogues that were finished or under way when this was
    foreseen, which are not to go. ``expected``: on average. ``low``, ``high``: between which four in five of the
    simulated studies end. ``pairs``: the same of each pair that was open. ``capped``: share of them that end at the cap,
    with pairs open. ``unit``: what is called a dialogue here, in words."""

    expected: float
    low: int
    high: int
    pairs: tuple[PairForecast, ...] = ()
    capped: float
    simulations: int
    seed: int
    begun: int = 0
    unit: str = "dialogue"

    def after(self, begun: int, cap: int) -> Forecast:
        """What is to go by the same forecast once so many dialogues have begun: never more than the cap leaves."""
        left, since = max(0, cap - begun), begun - self.begun
        low, expected, high = (min(max(0, given - since), left) for given in (self.low, self.expected, self.high))
        return self.model_copy(update={"begun": begun, "low": low, "expected": expected, "high": high})

    def __str__(self) -> str:
        if self.capped >= MOST_LIKELY:
            return f"will most likely end at the cap, after {counted(self.high, f'more {self.unit}')}"
        cap = f"; {percent(self.capped)} would end at the cap" if self.capped else ""
        return f"about {counted(round(self.expected), f'more {self.unit}')} (80 %: {self.low}–{self.high}{cap})"
