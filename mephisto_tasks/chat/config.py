"""The settings of a live task, in which a person talks to models and rates, and rules for combining them."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from mephisto_tasks.config.names import NAME_MODELS, ConfigError
from mephisto_tasks.config.task import APART as APART_IN_ALL
from mephisto_tasks.config.task import RatingConfig
from parlai_humaneval._util.text import clean_label
from parlai_humaneval.allocation.groups import History
from parlai_humaneval.display import ReplySettings
from parlai_humaneval.i18n.translate import phrase, worded
from parlai_humaneval.techniques.registry import picking, technique

VARIABLE = frozenset(
    {
        "question", "turn_question", "min_choices", "max_choices", "fallback", "min_written_words", "turn_criteria",
        "none_label", "reason_required", "min_reason_words", "final_scale", "final_criteria", "history",
    }
)  # fmt: skip
"""What the variants of a technique may differ in."""

APART = APART_IN_ALL | {
    "variants", "dialogues_per_group", "dialogues_per_worker", "model_timeout_s", "model_retries", "model_outage_s",
}  # fmt: skip
"""What may change while a dialogue is cut off."""


class InteractiveConfig(RatingConfig):
    """Settings of engine 1 (a person talks to models and rates)."""

    setting: str | list[str] = ""
    """Setting of the technique, a list of several to run side by side ([soba,sata_user]), or all. Each task defines its
    own as ``variants``. Two settings are comparable if the same models are rated in both."""
    variants: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Set by the task: setting → how it changes the rating of a turn. Change individual settings instead of this."""
    group_size: int = Field(default=2, ge=1, le=8)
    """Number of models in a dialogue. Larger groups compare more models in one chat, but take more reading."""
    history: History = "shared"
    """What models see of the dialogue: a shared history, or only their own replies. If replies are compared at every
    turn, all models must see the same history. Partners that are judged as a whole each keep their own history."""
    dialogues_per_group: int = Field(default=10, ge=1)
    """Complete dialogues to collect for each group and setting. With ``stop=decided``, the study decides the number
    instead. `parlai-humaneval plan` says how many you need to detect a difference."""
    dialogues_per_worker: int = Field(default=1, ge=1)
    """Dialogues that one rater may have with the same group and setting. A limit of one keeps a study from depending on
    a few busy raters. A higher limit needs fewer raters."""
    conversations_per_unit: int = Field(default=1, ge=1, le=20)
    """Conversations that a rater holds in one assignment, each with another group. Several conversations need fewer
    raters to practice, and let each rater compare models."""
    quality_control_model: str = ""
    """Model known to be bad that takes one of the conversations (Ji et al. 2022); if empty, none. Raters who do not
    rate it below the others were not attentive."""

    turns: int = Field(default=6, ge=1, le=100)
    """Messages of each side in a dialogue, or the minimum if the rater ends it. Longer chats show more of a model and
    take more of each rater's time. Smith et al. 2022 use 6. Ji et al. 2022 use 10, after which the rater may end the
    dialogue."""
    rater_ends: bool = False
    """Whether raters may continue after the number of ``turns`` and end the dialogue when they like. Chats then have
    their natural length. Bored people stop early, which shows in the lengths."""
    max_turns: int = Field(default=100, ge=1, le=500)
    """Maximum number of turns if the rater ends the dialogue. It limits the time and the replies of one chat."""
    first_message: str = phrase("Hi!")
    """First message, sent for the rater; if empty, raters write it. All dialogues then begin alike (Smith et al.
    2022)."""
    openers: str = ""
    """First lines to draw from, instead of ``first_message``: “packaged”, or a text file with one per line. Varied
    first lines show more of a model's abilities than a single greeting."""
    opener_speaker: Literal["human", "bot"] = "human"
    """Who says the opener. With bot, the rater answers a line, which is easier than starting a chat."""
    persona: bool = True
    """Whether raters play a character. This gives them something to talk about, and keeps their lives out of the
    chat."""
    persona_file: str = ""
    """JSONL file of characters for raters; if empty, the packaged set. Use your own if models were trained on the
    packaged characters."""
    bot_persona: bool | list[str] = False
    """Whether models get a persona, or a list of the models that do. Models that were trained to play a character talk
    better with one."""
    context_kind: Literal["jsonl", "bst", "convai2"] = "jsonl"
    """Format of ``context_file``: this package's, or that of ParlAI's files of BlendedSkillTalk or ConvAI2. You can use
    these files unchanged."""
    context_file: str = ""
    """File of personas for both sides, and earlier lines; if empty, the packaged set, when ``bot_persona`` needs one.
    Models that were trained with personas or earlier lines then get input like their training data."""
    topic: Literal["none", "free", "icebreaker"] = "none"
    """Topic of the chat: free (the rater first names one), icebreaker (a sentence from the model's persona), or none
    (people talk about anything). A topic keeps chats from being mere greetings, and makes them comparable."""
    ask_opinion: bool = False
    """With a free topic: whether raters say what they think of it (liked, ambivalent, disliked). Their opinion of the
    topic may influence their opinion of the chat."""
    topic_changes: bool = False
    """Whether raters mark changes of topic with a button. This shows when models lose the thread."""
    offer_topics: bool = False
    """Whether a button suggests topics to begin with. This helps people who do not know what to say."""
    topics_file: str = ""
    """Text file of topics for ``offer_topics``, one per line; if empty, the packaged set. Use your own if the models
    cover one field, or speak another language."""

    fallback: Literal["random", "write"] = "random"
    """What happens if the rater chooses no reply: the chat continues with a random reply, or the rater writes a better
    one. A random reply costs raters no effort. A written one is training data for models."""
    min_written_words: int = Field(default=3, ge=1, le=200)
    """Minimum length of a written reply, in words. This rules out “ok”, which is useless for training."""
    min_message_words: int = Field(default=1, ge=1, le=200)
    """Minimum words in a rater's message. Longer messages give models more to respond to. Short ones are natural."""
    max_message_chars: int = Field(default=2000, ge=1, le=10_000)
    """Maximum characters in a rater's message. This rules out pasted texts, which small models cannot read."""

    images: Literal["none", "people", "models", "both"] = "none"
    """Senders of pictures: none, people (raters), models, or both. Every model that gets pictures of people, and at least
    one that may send some, needs ``images: true`` in its zoo entry."""

    model_timeout_s: float = Field(default=60.0, gt=0)
    """Seconds to wait for a reply before asking the model again. People leave a chat that does not move, but large
    models on slow machines need longer."""
    model_retries: int = Field(default=2, ge=0)
    """How many times to ask a late or failing model again. A brief failure then does not lose a dialogue, but each retry
    makes the rater wait longer."""
    model_outage_s: float = Field(default=300.0, ge=0, allow_inf_nan=False)
    """Seconds that dialogues wait for a model's server when it is down, before they end; 0: do not wait. Raters can
    then continue after the server restarts."""

    replies: ReplySettings = Field(default_factory=ReplySettings)
    """How replies look and when they appear."""

    @field_validator("quality_control_model")
    @classmethod
    def _typed_model(cls, name: str) -> str:
        return clean_label(name)

    @model_validator(mode="before")
    @classmethod
    def _one_setting(cls, data: Any) -> Any:
        """With one setting, its variant becomes the configuration itself; explicit settings take precedence."""
        if not isinstance(data, dict) or not data.get("variants"):
            return data
        setting = data.get("setting", "")
        names = [setting] if isinstance(setting, str) else setting
        variants = data["variants"]
        _refuse("all" in variants, "all", "variants")
        facts = {"technique": data.get("technique"), "known": ", ".join(variants)}
        for name in names:
            _refuse(name not in {*variants, "all"}, "unknown", name=name, **facts)
        _refuse(len(set(names)) < len(names) or not names, "each_once", "setting", names=list(names))
        _refuse(len(names) > 1 and "all" in names, "all_alone", "setting")
        for name, changes in variants.items():
            unknown = ", ".join(sorted(set(changes) - VARIABLE))
            _refuse(unknown, "fixed", f"variants.{name}", unknown=unknown, known=", ".join(sorted(VARIABLE)))
        if len(names) > 1 or names == ["all"]:
            # The practice's qualification, whose name holds the list, is the same in whichever order settings stand.
            name = data.get("onboarding_qualification")
            same = name.replace(str(list(names)), "-".join(sorted(names))) if isinstance(name, str) else name
            return {**data, "onboarding_qualification": same}
        variant = {
            key: value
            for key, value in variants[names[0]].items()
            if not (key in data and data[key] != cls.model_fields[key].get_default(call_default_factory=True))
        }
        return {**data, **variant, "setting": names[0], "variants": {}}

    @model_validator(mode="after")
    def _consistent(self) -> InteractiveConfig:
        if self.variants:
            for setting in self.settings():
                self.of(setting)
            self.check_stopping(self.model_names(), self.model_groups(), self.settings())
            return self
        self.question = self.question or technique(self.technique).question(self.metric, self.settings()[0])
        for rule in (_groups, _choices, _asked, _units, _context, _stopping):
            rule(self)
        self.check_blocking()
        return self

    def settings(self) -> list[str]:
        """The settings of this study, in order; one, maybe without a name, where the technique has none."""
        if self.setting == "all":
            return list(self.variants)
        return [self.setting] if isinstance(self.setting, str) else list(self.setting)

    def of(self, setting: str) -> InteractiveConfig:
        if not self.variants and self.settings() == [setting]:
            return self
        return InteractiveConfig.model_validate({**self.model_dump(), "setting": setting})

    def model_groups(self) -> list[tuple[str, ...]]:
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
        """What ``replies.hide_ai_talk`` means where it is not set: such talk tells whose a reply is, where replies are
        compared; where humanness, or one partner alone, is rated, it is part of what is rated."""
        return self.group_size > 1 and self.metric != "humanness"

    @property
    def rated_by_each(self) -> int:
        return self.conversations_per_unit

    def has_persona(self, model: str) -> bool:
        return self.bot_persona if isinstance(self.bot_persona, bool) else model in self.bot_persona


def _refuse(is_wrong: object, why: str, where: str = "", /, **facts: object) -> None:
    if is_wrong:
        raise ConfigError(worded(__file__, why, **facts), where=where)


def _groups(config: InteractiveConfig) -> None:
    groups, size = config.model_groups(), config.group_size
    for group in groups:
        _refuse(len(group) != size, "size", technique=config.technique, size=size, group=list(group))
        _refuse(len(set(group)) != len(group), "itself", group=list(group))
    _refuse(len({frozenset(group) for group in groups}) != len(groups), "same")
    needed = f"{size} models" if size > 1 else "one model"
    _refuse(not groups, "nothing", needed=needed, named=len(config.models), name_models=NAME_MODELS)


def _choices(config: InteractiveConfig) -> None:
    if config.turn_question != "choose":
        return
    size, fewest, name = config.group_size, config.min_choices, config.technique
    most = size if config.max_choices is None else config.max_choices
    _refuse(size < 2, "one_reply", technique=name)
    _refuse(name in picking("one") and (fewest, most) != (1, 1), "exactly_one", technique=name)
    _refuse(most < fewest, "smaller")
    _refuse(most > size, "too_many", most=most, size=size)


def _asked(config: InteractiveConfig) -> None:
    ticks, asked, size = config.ticks(), config.turn_question, config.group_size
    _refuse(ticks and asked != "tick", "only_ticks", asked=asked)
    _refuse(asked == "tick" and size != 1, "ticks", size=size)
    _refuse(asked == "tick" and not ticks, "no_ticks")
    _refuse(asked == "none" and not config.final_criteria and not config.verdict, "not_rated")
    _refuse(config.final_criteria and size != 1, "final", size=size)
    _refuse(config.verdict and size != 2, "verdict", size=size)
    _refuse(config.verdict and not (config.history == "independent" and asked == "none"), "verdict_alone")


def _units(config: InteractiveConfig) -> None:
    control, held, groups = config.quality_control_model, config.conversations_per_unit, config.model_groups()
    _refuse(control and held < 2, "control", held=held)
    needed = held - bool(control)
    _refuse(needed > len(groups), "different", held=held, needed=needed, groups=len(groups))
    _refuse(control in {name for group in groups for name in group}, "rated_as_well", control=control)


def _stopping(config: InteractiveConfig) -> None:
    _refuse(config.is_decided and config.quality_control_model, "decided_control")
    _refuse(config.is_decided and config.judge, "decided_judge")
    config.check_stopping(config.model_names(), config.model_groups(), config.settings())
    _refuse(config.is_decided and config.dialogues_per_worker > 1, "decided_at_once")


def _context(config: InteractiveConfig) -> None:
    kind, personas = config.context_kind, config.bot_persona if isinstance(config.bot_persona, list) else []
    _refuse(kind != "jsonl" and not config.context_file, "context", kind=kind)
    _refuse(config.ask_opinion and config.topic != "free", "opinion")
    unknown = ", ".join(name for name in personas if name not in config.model_names())
    _refuse(unknown, "personas", unknown=unknown)
    _refuse(config.rater_ends and config.max_turns < config.turns, "turns")
