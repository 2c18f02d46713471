"""The settings of a live task, checked before anything is launched.

One model serves three readers: hydra (as the blueprint's arguments), the engine, and the record, which keeps
all of it. Every field can be overridden on the command line as ``mephisto.blueprint.<field>=…``.
"""

from __future__ import annotations

from dataclasses import field, make_dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from omegaconf import MISSING
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from parlai_humaneval.protocol.questions import question_for

MEPHISTOS_OWN = {"_blueprint_type", "tips_location"}
"""What Mephisto keeps in the same place."""


class ConfigError(ValueError):
    """Settings that cannot be run; the message names the setting and what was expected."""


class InteractiveConfig(BaseModel):
    """Settings of engine 1 (a person talks to models and rates)."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    technique: str
    """Set by the task."""
    setting: str = ""
    """The technique's variant, where it has some."""
    metric: str
    """What is asked for: preference, humanness or interestingness."""
    question: str = ""
    """Empty: the published wording of the metric."""
    models: list[str] = Field(default_factory=list)
    """Every pair (group of ``group_size``) of these is compared, unless ``groups`` names them."""
    groups: list[list[str]] = Field(default_factory=list)
    """The pairs (groups) to compare, such as [[a,b],[a,c]]; empty: all of ``models``."""
    group_size: int = Field(default=2, ge=1, le=8)
    """Models shown at a turn."""
    zoo_files: list[str] = Field(default_factory=list)
    """Model files (YAML) besides the packaged ``zoo_configs``."""
    dialogues_per_group: int = Field(default=10, ge=1)
    """Complete dialogues to collect for each group."""
    turns: int = Field(default=6, ge=1, le=100)
    """Messages of each side in a dialogue."""
    first_message: str = "Hi!"
    """Sent for the rater as their first message; empty: they write it."""
    persona: bool = True
    """Whether raters play a character."""
    persona_file: str = ""
    """JSONL; empty: the packaged set."""
    min_choices: int = Field(default=1, ge=0)
    """Fewest replies to choose at a turn."""
    max_choices: int = Field(default=1, ge=1)
    """Most replies to choose at a turn."""
    reason_required: bool = True
    """Whether raters say why they chose."""
    min_reason_words: int = Field(default=3, ge=0, le=200)
    """Shortest reason, in words."""
    min_message_words: int = Field(default=1, ge=1, le=200)
    """Shortest message of a rater, in words."""
    max_message_chars: int = Field(default=2000, ge=1, le=10_000)
    """Longest message of a rater, in characters."""
    onboarding_file: str = ""
    """Practice items; empty: the task's own for the metric."""
    onboarding_tries: int = Field(default=2, ge=1)
    """Attempts at the practice."""
    onboarding_qualification: str | None = None
    """Name of the qualification that the practice grants; null: no practice."""
    instructions_file: str = ""
    """YAML with the words of the page; empty: the task's own."""
    pay: str = ""
    """What is paid, in words (“$2.50 for one conversation”); empty: from ``task.task_reward``."""
    seed: int | None = None
    """None: drawn at launch, and recorded."""
    answer_timeout_s: int = Field(default=900, ge=5)
    """A rater silent for this long is taken to have left."""
    model_timeout_s: float = Field(default=60.0, gt=0)
    """Seconds after which a model is late, and asked again."""
    model_retries: int = Field(default=2, ge=0)
    """How often a late or failing model is asked again."""
    stop_after_failures: int = Field(default=5, ge=1)
    """So many dialogues in a row that failed on our side end the launch: each one is paid for."""
    block_qualification: str | None = None
    """Workers who hold this qualification are turned away."""

    @model_validator(mode="after")
    def _consistent(self) -> InteractiveConfig:
        published = question_for(self.technique, self.metric)
        self.question = self.question or published
        if self.technique == "pw_turn" and (self.min_choices, self.max_choices) != (1, 1):
            raise ValueError("pw_turn asks for exactly one reply: leave min_choices and max_choices at 1")
        if self.technique == "pw_turn" and self.group_size < 2:
            raise ValueError("pw_turn needs at least two replies to choose from: group_size must be 2 or more")
        if self.max_choices < self.min_choices:
            raise ValueError("max_choices is smaller than min_choices")
        for group in self.model_groups():
            if len(group) != self.group_size:
                raise ValueError(f"{self.technique} compares {self.group_size} models at a time, but got {list(group)}")
            if len(set(group)) != len(group):
                raise ValueError(f"a model cannot be compared with itself: {list(group)}")
        sets = [frozenset(group) for group in self.model_groups()]
        if len(set(sets)) != len(sets):
            raise ValueError("the same models stand twice among the groups; each group is compared once")
        if not sets:
            raise ValueError(f"name at least {self.group_size} models (models=[a,b])")
        return self

    def model_groups(self) -> list[tuple[str, ...]]:
        """The groups to compare, as configured or every combination of ``models``."""
        if self.groups:
            return [tuple(group) for group in self.groups]
        return list(combinations(self.models, self.group_size))

    def model_names(self) -> list[str]:
        """Every model that takes part, once, in order of mention."""
        return list(dict.fromkeys(name for group in self.model_groups() for name in group))


def read_config(data: dict[str, Any]) -> InteractiveConfig:
    """Settings as composed by hydra → checked.

    Raises:
        ConfigError: naming each wrong setting.
    """
    settings = {key: value for key, value in data.items() if key not in MEPHISTOS_OWN}
    try:
        return InteractiveConfig.model_validate(settings)
    except ValidationError as error:
        lines = [_explain(problem) for problem in error.errors()]
        raise ConfigError("\n".join(lines)) from error


def _explain(problem: Any) -> str:
    place = ".".join(str(part) for part in problem["loc"])
    message = str(problem["msg"]).removeprefix("Value error, ")
    if not place:
        return message
    return f"mephisto.blueprint.{place}: {message} (got {problem['input']!r})"


def hydra_arguments(name: str, blueprint_type: str, bases: tuple[type, ...]) -> type:
    """A dataclass with the config's fields, for hydra: unknown settings are refused when composing."""
    fields: list[tuple[str, Any, Any]] = [("_blueprint_type", str, field(default=blueprint_type))]
    for key, info in InteractiveConfig.model_fields.items():
        default = info.get_default(call_default_factory=True)
        if info.is_required():
            default = ""
        if key == "block_qualification":
            default = MISSING  # Mephisto declares it as text that may be missing, not as None
        fields.append((key, Any, _default(default)))
    return make_dataclass(name, fields, bases=bases)


def _default(value: Any) -> Any:
    if isinstance(value, list):
        return field(default_factory=lambda: list(value))
    return field(default=value)


def resolve_file(configured: str, fallback: Path) -> Path:
    """A configured file (``~`` allowed), or the task's own."""
    return Path(configured).expanduser() if configured else fallback
