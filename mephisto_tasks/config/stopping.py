"""Settings for the end of a study."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Literal

from pydantic import BaseModel, Field, ValidationInfo, field_validator

from mephisto_tasks.config.names import ConfigError, refuse
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
_OF_RULE: dict[str, str] = {"timeout": "time_out_minutes", "shown": "group_size", "rated": "group_size"}
"""What a rule calls otherwise than a launch does → its setting."""


class StoppingSettings(BaseModel, extra="forbid", use_attribute_docstrings=True):
    """Settings of every task; settings other than ``stop`` belong to ``stop=decided``."""

    stop: Literal["collected", "decided"] = Field(default="collected", examples=[_WITH_IT])
    """When the study ends: once all requested dialogues (judgements) are collected, or as soon as every pair of
    models is decided. decided: one model is better, or both are equal within ``margin``; raters get the undecided
    pairs. This often takes a fraction of the dialogues, and you may check results at any time."""
    margin: float | None = Field(default=None, gt=0, lt=1, examples=["margin=0.1 stop=decided max_dialogues=400"])
    """With ``stop=decided``: two models are equal if their win rates differ by less than this; 0.1 means 10 points. If
    each model is rated alone, half the scale counts as a whole win, so 0.1 means 5 points of 100, or 0.2 on a scale
    from 1 to 5. Half the margin takes about four times the dialogues if models are alike."""
    alpha: float = Field(default=0.05, gt=0, le=MOST_RISK, examples=[f"alpha=0.01 {_WITH_IT}"])
    """With ``stop=decided``: the chance that the whole study ever claims falsely that one model is better, and the same
    chance for false claims that two are equal, however often you check. It is fixed when the study begins."""
    max_dialogues: int | None = Field(default=None, ge=1, examples=["max_dialogues=400 stop=decided margin=0.1"])
    """With ``stop=decided``: the cap on dialogues (judgements), at which the study ends even if pairs are undecided.
    Models that differ by nearly the margin can need twice the dialogues of a fixed plan. `parlai-humaneval plan
    --technique pw_turn --stop decided --gap 0.1` says how many to expect."""
    raters_at_a_time: int = Field(default=8, ge=1, examples=[f"raters_at_a_time=4 {_WITH_IT}"])
    """With ``stop=decided``: number of raters who can be active at once. Others wait. Work that is still in progress
    when the study is decided was not needed. More raters at a time waste more of it, and fewer take more hours."""
    time_out_minutes: float = Field(default=60.0, gt=0, le=10_000, examples=[f"time_out_minutes=30 {_WITH_IT}"])
    """With ``stop=decided``: minutes per dialogue, from a rater's arrival, for which the study waits for their answers.
    Later answers are stored but do not count. If this is too short, only quick raters' answers count."""
    transitive: bool = Field(default=True, examples=[f"transitive=false {_WITH_IT}"])
    """With ``stop=decided``: whether A is decided to be better than C if A beats B, and B beats C. This saves dialogues.
    Use false if models may beat each other in a circle: then only dialogues of the two models decide."""

    judge: str = Field(default="", examples=[f"judge=my_judge.yaml {_WITH_IT}"])
    """With ``stop=decided`` for finished dialogues: YAML file of a judge, which judges all pairings before the first
    rater comes. The more accurate it proves, the fewer human judgements are needed. Error rates are the same whatever
    the judge's quality."""
    judge_max_cost: float | None = Field(
        default=None, ge=0, examples=[f"judge_max_cost=5 judge=my_judge.yaml {_WITH_IT}"]
    )
    """Most that the judge may cost in one launch, in the currency of its prices. Pairings that it does not judge
    count by raters' answers alone."""

    @field_validator("margin", "alpha", mode="before")
    @classmethod
    def _as_of_the_rule(cls, given: object, info: ValidationInfo) -> object:
        """Values out of bounds are refused with the rule's message, which explains the bounds."""
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            check = checked_margin if info.field_name == "margin" else checked_risk
            check(given)
        return given

    @property
    def is_decided(self) -> bool:
        return self.stop == "decided"

    @property
    def rated_by_each(self) -> int:
        """Models that a worker rates, where each is rated on its own."""
        return 1

    def check_stopping(self, models: Sequence[str], groups: Collection[Sequence[str]], settings: Sequence[str]) -> None:
        """Raise ConfigError where the settings do not go together; ``groups``: what a dialogue can be about."""
        if not self.is_decided:
            fields = StoppingSettings.model_fields
            stray = [name for name in fields if name != "stop" and getattr(self, name) != fields[name].default]
            if stray:
                them = "it" if len(stray) == 1 else "them"
                what = f"only studies with stop=decided use {them}"
                raise ConfigError(what, where=f"{' and '.join(stray)}", try_=f"add stop=decided, or leave {them} out")
            return
        unused = "judge_max_cost limits the cost of a judge, but no judge is set"
        refuse(self.judge_max_cost is not None and not self.judge, unused, "set its file: judge=my_judge.yaml")
        one = f"stop=decided needs one setting, but there are {len(settings)}: {', '.join(settings)}"
        refuse(len(settings) > 1, one, "name one setting")
        alone, pairs = ({frozenset(group) for group in combinations(models, size)} for size in (1, 2))
        refuse(
            {frozenset(group) for group in groups} not in (alone, pairs, {frozenset(models)}),
            "stop=decided compares every pair of models, or all models at once",
            "leave groups out, name the models, and set group_size to 2 or to the number of models",
        )
        self.rule(models, groups)

    def rule(self, models: Sequence[str], groups: Collection[Sequence[str]], judge: str = "") -> StoppingRule:
        """The rule of a study of these models and groups; ``judge``: name and version of the one it has. Raises ConfigError:
        there can be none; it says what to do."""
        if self.margin is None:
            advice = "write margin=0.1 to call two models equal when their win rates are less than 10 points apart"
            raise ConfigError("stop=decided needs a margin", try_=advice)
        if self.max_dialogues is None:
            what = "stop=decided needs max_dialogues, the cap at which the study ends even if pairs are undecided"
            raise ConfigError(what, try_=self._how_many(len(models)))
        is_apart = max(map(len, groups)) == 1
        together = self.rated_by_each if is_apart else max(map(len, groups))
        return stopping_rule(
            models=tuple(models),
            margin=self.margin,
            alpha=self.alpha,
            max_dialogues=self.max_dialogues,
            timeout=60 * self.time_out_minutes,
            shown="panel" if together > 2 else "pairs",
            rated="apart" if is_apart else "together",
            transitive=self.transitive,
            judge=judge,
        )

    def _how_many(self, models: int) -> str:
        from parlai_humaneval.planning.stopping import can_plan_until_decided  # it takes a while to load

        technique = str(getattr(self, "technique", ""))  # of the task whose settings these are
        if not can_plan_until_decided(technique, models, self.margin or 0.0):
            return "choose as many as you can pay for, such as max_dialogues=400"
        asked = f"--technique {technique} --stop decided --models {models} --gap {self.margin:g}"
        return f"`parlai-humaneval plan {asked}` recommends a number"


def refused_change(changed: RuleChanged, rule: StoppingRule) -> ConfigError:
    """A launch cannot go on with other settings than those with which its study began. ``rule``: of the launch."""
    settings = [_as_setting(change, rule) for change in changed.changes]
    return ConfigError(why_refused(settings), try_="leave it unchanged, or begin another study: task_name=…")


def _as_setting(change: Change, rule: StoppingRule) -> Change:
    name = _OF_RULE.get(change.name, change.name)
    if change.name == "shown" and rule.is_apart:
        numbers = {"pairs": "1 or 2", "panel": "3 or more"}
        return Change("conversations_per_unit", numbers[change.before], numbers[change.now])
    if change.name == "timeout":
        return Change(name, change.before / 60, change.now / 60)
    if change.name == "rated":
        alone = {"apart": 1, "together": 2}
        return Change(name, alone[change.before], alone[change.now])
    if change.name == "shown":
        sizes = {"pairs": 2, "panel": len(rule.models)}
        return Change(name, sizes[change.before], sizes[change.now])
    return Change(name, change.before, change.now)
