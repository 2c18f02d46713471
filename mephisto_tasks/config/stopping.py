"""When a study ends, as its settings say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, field_validator

from mephisto_tasks.config.errors import ConfigError
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.stopping.rule import (
    MOST_RISK,
    Change,
    RuleChanged,
    StoppingRule,
    checked_margin,
    checked_risk,
    stopping_rule,
    why_refused,
)

_WITH_IT = "stop=decided margin=0.1 max_dialogues=400"
"""What goes together: in an example no part of it, and nothing else, stands by itself."""
_OF_RULE: dict[str, str] = {"timeout": "time_out_minutes", "shown": "group_size"}
"""What a rule calls otherwise than a launch does → its setting."""


class StoppingSettings(BaseModel):
    """Settings of every task; what is set beside ``stop`` goes with ``stop=decided``."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    stop: Literal["collected", "decided"] = Field(default="collected", examples=[_WITH_IT])
    """collected: when all dialogues (judgements) that are asked for are there. decided: as soon as every two models are
    told apart, or found equal within ``margin``; raters go where that is open. That often takes a fraction of the
    dialogues, and one may look at any time."""
    margin: float | None = Field(default=None, gt=0, lt=1, examples=["margin=0.1 stop=decided max_dialogues=400"])
    """With ``stop=decided``: two models are equal where their win rates are less than this apart; 0.1 means 10 points. Half
    the margin takes about four times the dialogues where models are alike."""
    alpha: float = Field(default=0.05, gt=0, le=MOST_RISK, examples=[f"alpha=0.01 {_WITH_IT}"])
    """With ``stop=decided``: the chance of any false claim in the whole study, however often one looks. It is fixed when
    the study begins."""
    max_dialogues: int | None = Field(default=None, ge=1, examples=["max_dialogues=400 stop=decided margin=0.1"])
    """With ``stop=decided``: dialogues (judgements) at most, whatever is open then. Models that are nearly the margin
    apart can take twice the dialogues of a fixed plan; `parlai-humaneval plan --technique pw_turn --stop decided --gap 0.1`
    says how many to expect."""
    raters_at_a_time: int = Field(default=8, ge=1, examples=[f"raters_at_a_time=4 {_WITH_IT}"])
    """With ``stop=decided``: so many workers may be inside at once; who comes then waits. What is under way when the answer
    is reached was not needed, so that many at a time cost dialogues; few cost hours."""
    time_out_minutes: float = Field(default=60.0, gt=0, le=10_000, examples=[f"time_out_minutes=30 {_WITH_IT}"])
    """With ``stop=decided``: minutes for each dialogue, from their arrival, after which a worker's answers are waited for
    no longer. What comes later is kept, and no evidence; too short a time makes the answer one of the quick."""
    transitive: bool = Field(default=True, examples=[f"transitive=false {_WITH_IT}"])
    """With ``stop=decided``: whether A better than B, and B better than C, decides that A is better than C. It saves
    dialogues; say false where models may beat each other in a circle: then only dialogues of the two decide."""

    @field_validator("margin", "alpha", mode="before")
    @classmethod
    def _as_of_the_rule(cls, given: object, info: ValidationInfo) -> object:
        """Whatever is out of bounds is told as the rule tells it: that says what the bounds are for."""
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            check = checked_margin if info.field_name == "margin" else checked_risk
            check(given)
        return given

    @property
    def is_decided(self) -> bool:
        """Whether the study ends when its answer is reached."""
        return self.stop == "decided"

    def check_stopping(self, models: Sequence[str], groups: Collection[Sequence[str]], settings: Sequence[str]) -> None:
        """Raise where the settings do not go together.

        Args:
            models: of the study.
            groups: what a dialogue can be about.
            settings: of the technique, in which they are rated.

        Raises:
            ValueError: says what to do.
        """
        if not self.is_decided:
            fields = StoppingSettings.model_fields
            stray = [name for name in fields if name != "stop" and getattr(self, name) != fields[name].default]
            if stray:
                them = "it" if len(stray) == 1 else "them"
                raise InvalidValue(
                    f"only a study has {them} that ends when it is decided",
                    where=f"{' and '.join(stray)}",
                    try_=f"add stop=decided, or leave {them} out",
                )
            return
        if min(map(len, groups), default=0) < 2:
            raise InvalidValue(
                "stop=decided decides which of two models is better, and here each is rated alone",
                try_="choose a technique that compares them (such as pw_turn or pw_dialog), or leave stop out",
            )
        if len(settings) > 1:
            raise InvalidValue(
                f"stop=decided answers one question, and {', '.join(settings)} are {len(settings)}",
                try_="name one setting",
            )
        pairs = {frozenset(pair) for pair in combinations(models, 2)}
        if {frozenset(group) for group in groups} not in (pairs, {frozenset(models)}):
            raise InvalidValue(
                "stop=decided compares every two of the models, or all of them at once",
                try_="leave groups out, and name the models, with group_size 2 or as many as there are models",
            )
        self.rule(models, groups)

    def rule(self, models: Sequence[str], groups: Collection[Sequence[str]]) -> StoppingRule:
        """The rule of a study of these models, whose dialogues are about these groups of them.

        Raises:
            ValueError: there can be no such rule; it says what to do.
        """
        if self.margin is None:
            raise ValueError(
                "stop=decided needs a margin: margin=0.1 calls two models equal when their win rates are less than 10 "
                "points apart"
            )
        if self.max_dialogues is None:
            raise ValueError(
                "stop=decided needs max_dialogues, at which the study ends whatever is open: "
                f"{self._how_many(len(models))}"
            )
        return stopping_rule(
            models=tuple(models),
            margin=self.margin,
            alpha=self.alpha,
            max_dialogues=self.max_dialogues,
            timeout=60 * self.time_out_minutes,
            shown="panel" if max(map(len, groups)) > 2 else "pairs",
            transitive=self.transitive,
        )

    def _how_many(self, models: int) -> str:
        """A plan that says it, where there is one for such a study."""
        from parlai_humaneval.planning.stopping import can_plan_until_decided  # it takes a while to load

        technique = str(getattr(self, "technique", ""))  # of the task whose settings these are
        if not can_plan_until_decided(technique, models, self.margin or 0.0):
            return "give as many as you can pay for, such as max_dialogues=400"
        asked = f"--technique {technique} --stop decided --models {models} --gap {self.margin:g}"
        return f"take as many as `parlai-humaneval plan {asked}` says"


def refused_change(changed: RuleChanged, models: Collection[str]) -> ConfigError:
    """A launch cannot go on with other settings than those with which its study began.

    ``models``: of the launch.
    """
    settings = [_as_setting(change, len(models)) for change in changed.changes]
    return ConfigError(why_refused(settings), try_="leave that as it was, or begin another study: task_name=…")


def _as_setting(change: Change, models: int) -> Change:
    name = _OF_RULE.get(change.name, change.name)
    if change.name == "timeout":
        return Change(name, change.before / 60, change.now / 60)
    if change.name == "shown":
        sizes = {"pairs": 2, "panel": models}
        return Change(name, sizes[change.before], sizes[change.now])
    return Change(name, change.before, change.now)
