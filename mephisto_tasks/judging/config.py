"""The settings of a task on finished dialogues: what is shown, what is asked, and who gets how much of it."""

from __future__ import annotations

from itertools import combinations
from typing import Any, Literal

from pydantic import Field, model_validator

from mephisto_tasks.engine.config import TaskConfig
from mephisto_tasks.judging.config_rules import check_rules
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
        check_rules(self)
        return self

    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of models as configured, or every two of ``models``."""
        if self.groups:
            return [(first, second) for first, second in self.groups]
        return list(combinations(self.models, 2))

    def model_names(self) -> list[str]:
        """Every model that is named, once, in order of mention."""
        return list(dict.fromkeys([*self.models, *(name for group in self.groups for name in group)]))
