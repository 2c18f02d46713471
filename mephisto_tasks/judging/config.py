"""The settings of a task on finished dialogues: what is shown, what is asked, and who gets how much of it.

And which of them go together.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal

from pydantic import Field, model_validator

from mephisto_tasks.engine.config import TaskConfig
from parlai_humaneval.protocol.asked.dimensions import dimensions_for
from parlai_humaneval.protocol.asked.judging_questions import feature_question, pair_question
from parlai_humaneval.showing.reply_settings import ReplyLooks

Show = Literal["pair", "segment", "replay", "turn", "whole"]


class StaticConfig(TaskConfig):
    """Settings of engine 2 (a person judges finished dialogues)."""

    setting: str = ""
    """Which kind of dialogues a technique is applied to, such as human_bot or self_chat."""
    question: str = ""
    """Asked of a pair or a turn, or above scales. Empty: the published wording of the metric."""

    show: Show = "pair"
    """pair: two dialogues side by side. segment: the first exchanges of one. replay: a rated dialogue turn by turn. turn: a
    turn of a rated dialogue with all its replies. whole: one dialogue."""
    dialogues: list[Any] = Field(default_factory=list)
    """Where they are: files, folders, {file: …, entities: …}, or {task: NAME} of a live task in this data directory."""
    human_dialogues: list[Any] = Field(default_factory=list)
    """Dialogues between two people, likewise; “packaged” are some of ours."""
    human_share: float = Field(default=0.0, ge=0, lt=1)
    """The part of all segments that is of dialogues between people."""
    judged_speaker: Literal["first", "second", "random"] = "second"
    """Which speaker of a dialogue between two models is judged; with a person it is always the model."""
    segment_lengths: list[int] = Field(default_factory=list)
    """Exchanges (a line of each speaker) of the segments, those of ``seed_exchanges`` not counted."""
    seed_exchanges: int = Field(default=0, ge=0, le=10)
    """Exchanges that stand before every segment, because no model said them: 1 with ``start=first_exchange``."""
    sample: int | None = Field(default=None, ge=1)
    """Of rated dialogues: how many, drawn at random; null: all."""

    features: list[str] = Field(default_factory=list)
    """In which the two speakers of a segment are compared."""
    scales: list[str | dict[str, Any]] = Field(default_factory=list)
    """Rated of a whole dialogue: names, or {name, text, hints} of one's own."""
    ties: bool = True
    """In a ranking: whether replies may share a place."""

    judgements_per_group: int | None = Field(default=None, ge=1)
    """Judgements to collect for each pair of models; null: as many as its items need."""
    judgements_per_item: int = Field(default=1, ge=1, le=100)
    """People who judge the same item."""
    items_per_unit: int = Field(default=5, ge=1, le=100)
    """Items that a rater judges one after another."""
    units_per_worker: int | None = Field(default=None, ge=1)
    """Units that one worker may have; null: as many as there are."""
    items_per_worker_and_group: int | None = Field(default=None, ge=1)
    """Items of the same pair of models that one worker may have; null: no limit."""
    golds_per_unit: int = Field(default=0, ge=0, le=20)
    """Attention checks among the items of a unit, in addition to them."""
    gold_file: str = ""
    """Those attention checks; empty: the task's own for the metric."""

    generate: Literal["", "self_chat", "pairs"] = ""
    """Dialogues that the models hold before the launch: each with itself, or every two with each other."""
    num_dialogues: int = Field(default=20, ge=1)
    """So many of each model, or each pair."""
    exchanges: int = Field(default=6, ge=1, le=200)
    """Lines of each speaker in them."""
    start: Literal["hi", "openers", "first_exchange", "contexts"] = "hi"
    """How they begin: “Hi!”, a line of ``start_file``, the first exchange of a dialogue there, or with its personas."""
    start_file: str = ""
    """Openers, dialogues or contexts; empty: the packaged ones."""
    context_kind: Literal["jsonl", "bst", "convai2"] = "jsonl"
    """Format of ``start_file`` where it holds contexts: ours, or ParlAI's of BlendedSkillTalk or ConvAI2."""
    batch_size: int = Field(default=32, ge=1, le=1024)
    """Dialogues that advance together."""

    replies: ReplyLooks = Field(default_factory=ReplyLooks)
    """How what models said looks."""

    @property
    def hides_ai_talk(self) -> bool:
        """What ``replies.hide_ai_talk`` means where it is not set: whether models are compared, but for humanness."""
        return self.show in ("pair", "turn") and self.metric != "humanness"

    @model_validator(mode="after")
    def _consistent(self) -> StaticConfig:
        """Each rule raises a sentence that says what to do, as ValueError."""
        for rule in (_groups, _sources, _segments, _scales, _golds, _questions, _replies):
            rule(self)
        self.check_blocking()
        return self

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of models as configured, or every two of ``models``."""
        if self.groups:
            return [(first, second) for first, second in self.groups]
        return list(combinations(self.models, 2))

    def model_names(self) -> list[str]:
        """Every model that is named, once, in order of mention."""
        return list(dict.fromkeys([*self.models, *(name for group in self.groups for name in group)]))


def _replies(config: StaticConfig) -> None:
    if config.replies.filter == "block":
        raise ValueError(
            "replies.filter=block has a model asked again, but these dialogues are finished: "
            "say mephisto.blueprint.replies.filter=mask"
        )


def _groups(config: StaticConfig) -> None:
    if len(set(config.models)) < len(config.models):
        raise ValueError(f"a model stands twice in models: {', '.join(config.models)}")
    for group in config.groups:
        if len(group) != 2 or len(set(group)) != 2:
            raise ValueError(f"groups are pairs of two different models, such as [[a,b],[a,c]]; got {group}")
    sets = [frozenset(group) for group in config.groups]
    if len(set(sets)) < len(sets):
        raise ValueError("the same two models stand twice among the groups; each pair is compared once")
    if config.show == "pair" and len(config.models) == 1 and not config.groups:
        raise ValueError("comparing needs two models or more (mephisto.blueprint.models=[a,b]); one named")


def _sources(config: StaticConfig) -> None:
    if config.generate:
        if not config.model_names():
            raise ValueError(
                f"generate={config.generate} needs the models that are to talk: mephisto.blueprint.models=[a,b]"
            )
        if config.generate == "pairs" and len(config.model_names()) < 2:
            raise ValueError("generate=pairs needs two models or more (mephisto.blueprint.models=[a,b])")
        if config.show in ("replay", "turn") or (config.show, config.generate) == ("pair", "pairs"):
            raise ValueError(f"show={config.show} does not go with generate={config.generate}")
    elif not config.dialogues:
        raise ValueError(
            "there is nothing to judge: name the dialogues, such as mephisto.blueprint.dialogues=[chats.jsonl] or "
            "'mephisto.blueprint.dialogues=[{task: NAME}]'"
        )
    if config.show in ("replay", "turn") and any(not _is_task(entry) for entry in config.dialogues):
        raise ValueError(
            f"show={config.show} needs dialogues that were rated: name live tasks, "
            "'mephisto.blueprint.dialogues=[{task: NAME}]'"
        )
    if config.human_share and not config.human_dialogues:
        raise ValueError("human_share needs human_dialogues: files of dialogues between two people, or packaged")
    if (config.human_dialogues or config.human_share) and config.show != "segment":
        raise ValueError("human_dialogues are mixed among segments only (show=segment)")


def _is_task(entry: object) -> bool:
    return isinstance(entry, dict) and "task" in entry


def _segments(config: StaticConfig) -> None:
    lengths = config.segment_lengths
    if config.show != "segment":
        if lengths or config.features:
            raise ValueError("segment_lengths and features go with show=segment")
        return
    if not lengths or min(lengths) < 1 or len(set(lengths)) < len(lengths):
        raise ValueError(f"segment_lengths are different numbers of exchanges from 1, such as [2,3,5]; got {lengths}")
    longest = max(lengths) + config.seed_exchanges
    if config.generate and config.exchanges < longest:
        raise ValueError(
            f"the longest segment has {longest} exchanges (with {config.seed_exchanges} of the seed), but the models hold "
            f"dialogues of {config.exchanges}: raise exchanges"
        )
    for name in config.features:
        feature_question(name)


def _scales(config: StaticConfig) -> None:
    dimensions_for(config.scales)
    if config.show == "whole" and not config.scales:
        raise ValueError("show=whole needs scales to rate a dialogue on, such as [coherence,overall]")
    if config.scales and config.show != "whole":
        raise ValueError("scales go with show=whole")


def _golds(config: StaticConfig) -> None:
    if config.golds_per_unit and config.show not in ("pair", "segment"):
        raise ValueError("attention checks (golds_per_unit) exist for pairs and segments only")
    if config.judgements_per_item > 1 and config.show == "pair":
        raise ValueError("a pair of dialogues is judged once: ask for more with judgements_per_group")
    if config.judgements_per_group and config.show != "pair":
        raise ValueError("judgements_per_group goes with show=pair; elsewhere every item gets judgements_per_item")


def _questions(config: StaticConfig) -> None:
    if config.show == "pair" and not config.question:
        pair_question(config.metric)
