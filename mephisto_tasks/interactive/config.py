"""The settings of a live task, checked before anything is launched.

One model serves three readers: hydra (as the blueprint's arguments), the engine, and the record, which keeps
all of it. Every field can be overridden on the command line as ``mephisto.blueprint.<field>=…``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, make_dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

from omegaconf import MISSING
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from mephisto_tasks.interactive.config_rules import check_rules, check_settings
from parlai_humaneval.protocol.criteria import Criterion, criteria_for
from parlai_humaneval.protocol.materials import in_words
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
    setting: str | list[str] = ""
    """The technique's setting, several ([soba,sata_user]: run side by side), or all; those of the task are its variants."""
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Set by the task: setting → what it changes of how a turn is rated."""
    metric: str
    """What is asked for, such as preference, humanness or interestingness."""
    question: str = ""
    """Asked at each turn, or at the end where turns are not rated. Empty: the published wording of the metric."""
    models: list[str] = Field(default_factory=list)
    """Every pair (group of ``group_size``) of these is rated, unless ``groups`` names them."""
    groups: list[list[str]] = Field(default_factory=list)
    """The pairs (groups) to rate, such as [[a,b],[a,c]]; empty: all of ``models``."""
    group_size: int = Field(default=2, ge=1, le=8)
    """Models that speak in a dialogue."""
    history: Literal["shared", "independent"] = "shared"
    """What the models hear: one history, or each its own replies."""
    zoo_files: list[str] = Field(default_factory=list)
    """Model files (YAML) besides the packaged ``zoo_configs``."""
    dialogues_per_group: int = Field(default=10, ge=1)
    """Complete dialogues to collect for each group and setting."""
    dialogues_per_worker: int = Field(default=1, ge=1)
    """Dialogues that one worker may have of the same group and setting."""
    conversations_per_unit: int = Field(default=1, ge=1, le=20)
    """Conversations that a rater holds one after another, each with another group."""
    quality_control_model: str = ""
    """A model known to be bad that takes one of the conversations (Ji et al. 2022); empty: none."""

    turns: int = Field(default=6, ge=1, le=100)
    """Messages of each side in a dialogue; the fewest, where the rater ends it."""
    rater_ends: bool = False
    """Whether the rater may go on after ``turns``, and ends the dialogue when they like."""
    max_turns: int = Field(default=100, ge=1, le=500)
    """Where the rater ends it: the most turns."""
    first_message: str = "Hi!"
    """Sent for the rater as their first message; empty: they write it."""
    openers: str = ""
    """First lines to draw from: “packaged”, or a text file with one a line; in place of ``first_message``."""
    opener_speaker: Literal["human", "bot"] = "human"
    """Who says the opener."""
    persona: bool = True
    """Whether raters play a character."""
    persona_file: str = ""
    """JSONL; empty: the packaged set."""
    bot_persona: bool | list[str] = False
    """Whether models are given a persona; or the names of those that are."""
    context_kind: Literal["jsonl", "bst", "convai2"] = "jsonl"
    """Format of ``context_file``: ours, or ParlAI's files of BlendedSkillTalk or ConvAI2."""
    context_file: str = ""
    """Personas of both sides, and lines said before; empty: the packaged set, where ``bot_persona`` needs one."""
    topic: Literal["none", "free", "icebreaker"] = "none"
    """free: the rater names a topic first; icebreaker: a sentence of the model's persona is the topic."""
    ask_opinion: bool = False
    """With a free topic: whether the rater says what they think of it (liked, ambivalent, disliked)."""
    topic_changes: bool = False
    """Whether the rater notes changes of the topic with a button."""
    offer_topics: bool = False
    """Whether a button offers topics to begin with."""
    topics_file: str = ""
    """Those topics: a text file with one a line; empty: the packaged set."""

    turn_question: Literal["choose", "tick", "none"] = "choose"
    """What is asked at a turn: choose among the replies, tick what is true of the reply, or nothing."""
    min_choices: int = Field(default=1, ge=0)
    """Fewest replies to choose at a turn."""
    max_choices: int | None = Field(default=1, ge=1)
    """Most replies to choose at a turn; null: all."""
    fallback: Literal["random", "write"] = "random"
    """If none is chosen: a random reply continues, or the rater writes a better one."""
    min_written_words: int = Field(default=3, ge=1, le=200)
    """Shortest written reply, in words."""
    turn_criteria: list[str | dict[str, Any]] = Field(default_factory=list)
    """To tick at a turn: names, or {name, text} of one's own."""
    none_label: str = "None of these"
    """The explicit “none” of a choice."""
    reason_required: bool = True
    """Whether raters say why they chose."""
    min_reason_words: int = Field(default=3, ge=0, le=200)
    """Shortest reason, in words."""
    verdict: bool = False
    """Whether the rater says which of two partners is better, and ends the dialogue with it."""
    final_scale: Literal["likert", "slider"] = "slider"
    """How ``final_criteria`` are rated: Likert 1–5, or continuous 0–100."""
    final_criteria: list[str | dict[str, Any]] = Field(default_factory=list)
    """Rated at the end of the dialogue: names, or {name, text, reversed} of one's own."""
    min_message_words: int = Field(default=1, ge=1, le=200)
    """Shortest message of a rater, in words."""
    max_message_chars: int = Field(default=2000, ge=1, le=10_000)
    """Longest message of a rater, in characters."""

    onboarding_file: str = ""
    """Practice items; empty: the task's own for the metric."""
    onboarding_tries: int = Field(default=2, ge=1)
    """Attempts at the practice."""
    onboarding_feedback: Literal["after_try", "each_item"] = "after_try"
    """When raters are told what was wrong: after a whole try, or at once."""
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
    reading_speed_wpm: float = Field(default=600.0, gt=0)
    """Words a minute that nobody reads faster; the check ``too_fast`` goes by it."""
    blocking_checks: list[str] = Field(default_factory=list)
    """Checks on raters; who fails one is given ``block_qualification`` (`parlai-humaneval unblock` takes it back)."""

    @model_validator(mode="before")
    @classmethod
    def _one_setting(cls, data: Any) -> Any:
        """With one setting, its variant becomes the configuration itself; what was set beside it goes before it."""
        if not isinstance(data, dict) or not data.get("variants"):
            return data
        setting = data.get("setting", "")
        names = [setting] if isinstance(setting, str) else setting
        check_settings(names, data["variants"], str(data.get("technique")))
        if len(names) > 1 or names == ["all"]:
            return {**data, "onboarding_qualification": _name_of_several(data, names)}
        variant = {key: value for key, value in data["variants"][names[0]].items() if not _was_set(cls, data, key)}
        return {**data, **variant, "setting": names[0], "variants": {}}

    @model_validator(mode="after")
    def _consistent(self) -> InteractiveConfig:
        if self.variants:
            for setting in self.settings():
                self.of(setting)
        else:
            self.question = self.question or question_for(self.technique, self.metric, self.settings()[0])
            check_rules(self)
        return self

    def settings(self) -> list[str]:
        """The settings of this study, in order; one, maybe without a name, where the technique has none."""
        if self.setting == "all":
            return list(self.variants)
        return [self.setting] if isinstance(self.setting, str) else list(self.setting)

    def of(self, setting: str) -> InteractiveConfig:
        """This configuration as it holds for one setting."""
        if not self.variants and self.settings() == [setting]:
            return self
        return InteractiveConfig.model_validate({**self.model_dump(), "setting": setting})

    def model_groups(self) -> list[tuple[str, ...]]:
        """The groups to rate, as configured or every combination of ``models``."""
        if self.groups:
            return [tuple(group) for group in self.groups]
        return list(combinations(self.models, self.group_size))

    def model_names(self) -> list[str]:
        """Every model that takes part, once, in order of mention; the quality-control model last."""
        named = [name for group in self.model_groups() for name in group]
        extra = [self.quality_control_model] if self.quality_control_model else []
        return list(dict.fromkeys([*named, *extra]))

    def has_persona(self, model: str) -> bool:
        """Whether this model is given a persona."""
        return self.bot_persona if isinstance(self.bot_persona, bool) else model in self.bot_persona

    def ticks(self) -> list[Criterion]:
        """What may be ticked at a turn."""
        return criteria_for("tick", self.turn_criteria)

    def scales(self) -> list[Criterion]:
        """What is rated at the end."""
        return criteria_for(self.final_scale, self.final_criteria)


def _was_set(model: type[BaseModel], data: dict[str, Any], name: str) -> bool:
    """Whether a setting has another value than the engine's default."""
    return name in data and data[name] != model.model_fields[name].get_default(call_default_factory=True)


def _name_of_several(data: dict[str, Any], names: Sequence[str]) -> Any:
    """The practice's qualification, where its name holds a list of settings: the same in whichever order they stand."""
    name = data.get("onboarding_qualification")
    return name.replace(str(list(names)), "-".join(sorted(names))) if isinstance(name, str) else name


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
    message = in_words(problem)
    if not place:
        return message
    got = "" if "got " in message else f" (got {problem['input']!r})"
    return f"mephisto.blueprint.{place}: {message}{got}"


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
    if isinstance(value, (list, dict)):
        return field(default_factory=value.copy)
    return field(default=value)


def resolve_file(configured: str, fallback: Path) -> Path:
    """A configured file (``~`` allowed), or the task's own."""
    return Path(configured).expanduser() if configured else fallback
