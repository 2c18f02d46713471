"""The rule that ends a study: fixed before the first answer, and not to be changed in mid-study."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ValidationError, field_validator, model_validator

from parlai_humaneval._util.errors import HumanevalError, InvalidValue, Problem, value_problem

FLOOR = 4  # Dialogues of each model before anything is decided about it
IN_FLIGHT = 8  # Raters at a time
MOST_RISK = 0.5  # The highest rate of false claims that a rule may have
WIDEST_POOLED = 0.4
"""The widest margin at which dialogues with a third model tell of equality. Win rates end at 0 and 1, so strengths that are
further apart do not add up: of six models in steps of .5, two were called equal in .10 of studies, in steps of .4 in .04."""


def checked_margin(margin: float) -> float:
    """Return a valid margin. Raises ValueError."""
    if 0 < margin < 1:
        return margin
    what = f"{margin:g} is not a valid margin for counting two models as equal"
    if margin <= 0:
        raise InvalidValue(
            f"{what}: with a margin of 0, the study would never decide between two equal models",
            try_="give a share above 0 and below 1, such as 0.1 for win rates that are less than 10 points apart",
        )
    points = margin if 1 <= margin < 100 else 10.0
    raise InvalidValue(what, try_=f"give a share above 0 and below 1, such as {points / 100:g} for {points:g} points")


def checked_risk(risk: float) -> float:
    """Return a valid rate of false claims. Raises ValueError."""
    if 0 < risk <= MOST_RISK:
        return risk
    raise InvalidValue(
        f"{risk:g} is not a rate of false claims", try_=f"give a rate above 0 and at most {MOST_RISK:g}, such as 0.05"
    )


class StoppingRule(BaseModel, extra="forbid", frozen=True):
    """A study of several models stops once it reaches a decision about every pair of them, or at its cap.

    Attributes:
        models: names, two or more.
        margin: two models are equal where their win rates are less than this apart: 0.1 means 10 points.
        alpha: chance of any false claim that one model is better than another, however often one looks.
        beta: the same of claims that two models are equal; without it, as ``alpha``.
        floor: dialogues of each model before anything is decided about it.
        max_dialogues: the cap, after which nobody else is sent, whatever is open.
        timeout: seconds for each of their dialogues for which a worker is waited for after their arrival; what they answer
            later is kept, and does not count as evidence.
        shown: models of a dialogue: ``pairs``, two of them; ``panel``, all of which some pair is open.
        rated: whether models are rated ``together``, in one dialogue, or ``apart``, each in a dialogue of its own. Then two
            ratings are compared, of one worker or two (``pairs``), or all of a worker (``panel``).
        transitive: takes for granted that who is better than another also does at least as well against any third (strong
            stochastic transitivity), so that A > B and B > C decide A > C.
        evidence: ``pooled`` counts two models' dialogues with a common third one, too, where ``transitive``; ``direct`` only
            counts dialogues of the two. Without it, ``direct`` where the margin is wider than :data:`WIDEST_POOLED`.
        equality: whether two models may be called equal; False where answers have no win rate, such as scores.
        judge: name and version of a judge whose predictions are taken off what people say; empty: none.
    """

    models: tuple[str, ...]
    margin: Annotated[float, AfterValidator(checked_margin)]
    alpha: Annotated[float, AfterValidator(checked_risk)] = 0.05
    beta: Annotated[float, AfterValidator(checked_risk)] = 0.05
    floor: int = FLOOR
    max_dialogues: int
    timeout: float = 3600.0
    shown: Literal["pairs", "panel"] = "pairs"
    rated: Literal["together", "apart"] = "together"
    transitive: bool = True
    evidence: Literal["pooled", "direct"] = "pooled"
    equality: bool = True
    judge: str = ""

    @model_validator(mode="before")
    @classmethod
    def _beta_as_alpha(cls, given: object) -> object:
        if isinstance(given, dict) and given.get("beta") is None and "alpha" in given:
            return {**given, "beta": given["alpha"]}
        return given

    @model_validator(mode="before")
    @classmethod
    def _evidence_by_margin(cls, given: object) -> object:
        if isinstance(given, dict) and given.get("evidence") is None:
            return {**given, "evidence": _usual_evidence(given.get("margin"))}
        return given

    @field_validator("models")
    @classmethod
    def _several(cls, models: tuple[str, ...]) -> tuple[str, ...]:
        if len(models) < 2:
            what = "a study needs two models or more: with one model, there is nothing to decide"
            raise InvalidValue(what, try_="name another model")
        twice = sorted({name for name in models if models.count(name) > 1})
        if twice:
            raise InvalidValue(f"{', '.join(twice)} is named twice", try_="give each model once")
        if not all(name.strip() for name in models):
            raise InvalidValue("a model has no name", try_="give each one a name")
        return models

    @field_validator("timeout")
    @classmethod
    def _some_time(cls, timeout: float) -> float:
        if not 0 < timeout < math.inf:
            what = f"the time-out is {timeout:g} seconds: it must be above 0, and not infinite"
            raise InvalidValue(what, try_="choose a number such as 3600")
        return timeout

    @field_validator("floor")
    @classmethod
    def _some_floor(cls, floor: int) -> int:
        if floor < 1:
            raise InvalidValue(f"the floor is {floor} dialogues per model", try_="choose 1 or more")
        return floor

    @model_validator(mode="after")
    def _cap_above_floor(self) -> StoppingRule:
        if self.max_dialogues < self.fewest:
            raise InvalidValue(
                f"max_dialogues is {self.max_dialogues}, but {len(self.models)} models with a floor of "
                f"{self.floor} dialogues each need {self.fewest} at least, because each counts for all its models",
                try_=f"raise max_dialogues to {self.fewest} or more",
            )
        return self

    @property
    def fewest(self) -> int:
        """Dialogues with which every model can reach the floor."""
        size = 1 if self.is_apart else len(self.models) if self.shown == "panel" else 2
        return math.ceil(self.floor * len(self.models) / size)

    @property
    def is_apart(self) -> bool:
        """Is each model rated in a dialogue of its own?"""
        return self.rated == "apart"

    @property
    def is_pooled(self) -> bool:
        """Do dialogues with a third model count? Of two models there is none, and a panel shows all at once."""
        return self.evidence == "pooled" and self.transitive and self.shown == "pairs" and len(self.models) > 2

    def refuse_change(self, other: StoppingRule) -> None:
        """Refuse another rule in mid-study. A higher cap is allowed: no error rate depends on the cap. Raises
        RuleChanged."""
        cap = other.max_dialogues < self.max_dialogues
        names = [name for name in type(self).model_fields if cap or name != "max_dialogues"]
        if all(rule.beta == rule.alpha for rule in (self, other)):
            names.remove("beta")  # nobody gave it
        if other.evidence == _usual_evidence(other.margin) == "direct":
            names.remove("evidence")  # earlier versions pooled at any margin: a study goes on with what it began with
        changes = [Change(name, getattr(self, name), getattr(other, name)) for name in names]
        changed = tuple(change for change in changes if change.before != change.now)
        if changed:
            raise RuleChanged(changed)


def stopping_rule(**given: Any) -> StoppingRule:
    """Make the rule from these values. Raises ValueError, with the fault in words."""
    try:
        return StoppingRule(**given)
    except ValidationError as error:
        problems: dict[Problem, None] = {}  # alpha's and beta's are one where only one was given
        for one in error.errors():  # our sentences name what they are about; pydantic's do not
            problem, where = value_problem(one), ".".join(map(str, one["loc"]))
            problems[problem if one["type"] == "value_error" else problem.within(where)] = None
        raise InvalidValue(problems) from error


def _usual_evidence(margin: object) -> Literal["pooled", "direct"]:
    return "direct" if isinstance(margin, float) and margin > WIDEST_POOLED else "pooled"


@dataclass(frozen=True)
class Change:
    """A difference between the rule with which a study began and another one."""

    name: str
    before: Any
    now: Any

    def __str__(self) -> str:
        return f"{self.name} was {_as_typed(self.before)} and is now {_as_typed(self.now)}"


def _as_typed(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ", ".join(value)
    return f"{value:g}" if isinstance(value, float) else str(value) or "none"


def why_refused(changes: Sequence[Change]) -> str:
    """The reason why a study cannot continue with such changes, and the changes."""
    said = ", ".join(map(str, changes))
    if all(change.name == "max_dialogues" for change in changes):
        return f"the cap of a study can only be raised: {said}"
    return f"the rule of a study cannot change once it has begun, because its error rates would no longer hold: {said}"


class RuleChanged(HumanevalError, ValueError):
    """A study cannot continue with a rule other than its first; ``changes`` lists the differences."""

    def __init__(self, changes: tuple[Change, ...]) -> None:
        super().__init__(why_refused(changes), try_="keep the old value, or begin a new study under another task name")
        self.changes = changes
