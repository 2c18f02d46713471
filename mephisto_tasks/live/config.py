"""The settings of a live task: a person talks to models and rates."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

from pydantic import BaseModel, Field, model_validator

from mephisto_tasks.engine.config import TaskConfig
from mephisto_tasks.live.config_rules import check_rules, check_settings
from parlai_humaneval.protocol.asked.criteria import Criterion, criteria_for
from parlai_humaneval.protocol.asked.questions import question_for
from parlai_humaneval.showing.reply_settings import ReplySettings


class InteractiveConfig(TaskConfig):
    """Settings of engine 1 (a person talks to models and rates)."""

    setting: str | list[str] = ""
    """The technique's setting, several ([soba,sata_user]: run side by side), or all; those of the task are its variants."""
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Set by the task: setting → what it changes of how a turn is rated."""
    question: str = ""
    """Asked at each turn, or at the end where turns are not rated. Empty: the published wording of the metric."""
    group_size: int = Field(default=2, ge=1, le=8)
    """Models that speak in a dialogue."""
    history: Literal["shared", "independent"] = "shared"
    """What the models hear: one history, or each its own replies."""
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

    model_timeout_s: float = Field(default=60.0, gt=0)
    """Seconds after which a model is late, and asked again."""
    model_retries: int = Field(default=2, ge=0)
    """How often a late or failing model is asked again."""

    replies: ReplySettings = Field(default_factory=ReplySettings)
    """How replies look and when they appear."""

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

    @property
    def hides_ai_talk(self) -> bool:
        """What ``replies.hide_ai_talk`` means where it is not set.

        Where replies are compared, such talk tells whose they are. Where they are rated for humanness, or one partner
        is rated alone, it is part of what is rated.
        """
        return self.group_size > 1 and self.metric != "humanness"

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
