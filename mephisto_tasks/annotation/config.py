"""The settings of a task on finished dialogues: items, questions, and amounts of work."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal

from pydantic import Field, model_validator

from mephisto_tasks.config.names import NAME_MODELS, ConfigError
from mephisto_tasks.config.task import APART as APART_IN_ALL
from mephisto_tasks.config.task import TaskConfig
from parlai_humaneval.allocation import Pairing
from parlai_humaneval.dialogues import PACKAGED
from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.techniques.questions import dimensions_for, feature_question, pair_question

Pair = tuple[str, str]
Show = Literal["pair", "segment", "replay", "turn", "whole"]

APART = APART_IN_ALL | {
    "dialogues", "human_dialogues", "human_share", "sample", "judgements_per_group", "judgements_per_item", "items_per_unit",
    "units_per_worker", "items_per_worker_and_group", "golds_per_unit", "generate", "num_dialogues", "exchanges", "start",
    "start_file", "context_kind", "batch_size", "pairing", "keep_pairs",
}  # fmt: skip
"""What may change while a unit is cut off: what is judged stands on record, and who judges how much may change."""


class StaticConfig(TaskConfig):
    """Settings of engine 2 (a person judges finished dialogues)."""

    setting: str = ""
    """Kind of dialogues that the technique uses, such as human_bot or self_chat. Models can seem better with themselves
    than with people, so the two are not mixed."""
    question: str = ""
    """Question about a pair or a turn, or above scales; if empty, the published wording for the metric. You can compare
    results with others' only if the wording is the same."""

    show: Show = "pair"
    """What raters see: a pair, segment, replay, turn or whole. pair: two dialogues side by side. segment: the first
    exchanges of one dialogue. replay: a rated dialogue, turn by turn. turn: one turn of a rated dialogue with all its
    replies. whole: one dialogue. A pair reveals small differences. Shorter pieces take less time, but show less."""
    dialogues: list[Any] = Field(default_factory=list)
    """Dialogues to judge: files, folders, {file: …, entities: …}, or {task: NAME} for a live task in this data
    directory. “packaged” are samples to try. Dialogues that were already rated can be rated again, by other people or
    in another way."""
    human_dialogues: list[Any] = Field(default_factory=list)
    """Dialogues between two people, in the same forms; “packaged” are samples. They show what a perfect score would be,
    and keep raters from calling everybody a bot."""
    human_share: float = Field(default=0.0, ge=0, lt=1)
    """Share of segments from dialogues between people. Without any, raters learn that every speaker is a bot."""
    judged_speaker: Literal["first", "second", "random"] = "second"
    """Which speaker of a dialogue between two models is judged. In a dialogue with a person, it is always the model.
    The second speaker answers, as a model does with a person."""
    pairing: Pairing = "auto"
    """Which dialogues raters compare: same_start (answers to the same question), any, or given (a file of pairs). auto:
    given, or same_start if every dialogue has such a partner and there are enough pairings, otherwise any. Answers to
    different questions differ for reasons other than the model, so you need more raters."""
    keep_pairs: bool = False
    """With ``pairing=auto``: whether pairs stay together even if there are fewer of them than ``judgements_per_group``, of
    which the study then collects as many as there are pairs. Only the presets turn it on, for their own number."""
    segment_lengths: list[int] = Field(default_factory=list)
    """Lengths of the segments in exchanges (one line of each speaker), not counting ``seed_exchanges``. Short segments
    show what raters notice immediately. Longer ones show what they discover later."""
    seed_exchanges: int = Field(default=0, ge=0, le=10)
    """Number of exchanges before every segment that were not written by a model: 1 with ``start=first_exchange``.
    They say nothing about the models, but raters need them to understand the rest."""
    sample: int | None = Field(default=None, ge=1)
    """How many of the rated dialogues to draw at random; null: all. A sample is enough to see whether people agree."""

    features: list[str] = Field(default_factory=list)
    """Features on which raters compare the two speakers of a segment. Each adds a question, and shows more of why a
    model passes for a person."""
    scales: list[str | dict[str, Any]] = Field(default_factory=list)
    """Scales for rating a whole dialogue: names, or your own as {name, text, hints}. Each takes raters a few seconds.
    Results on a paper's scales can be compared with the paper's."""
    ties: bool = True
    """In a ranking: whether replies may share a rank. Without ties, people must invent differences."""

    judgements_per_group: int | None = Field(default=None, ge=1)
    """Judgements to collect for each pair of models; null: as many as its items need. `parlai-humaneval plan` says how
    many you need to detect a difference. With ``stop=decided``, the study decides the number instead."""
    judgements_per_item: int = Field(default=1, ge=1, le=100)
    """People who judge the same item. Two or more show how far people agree. One covers more items for the same money.
    A pair of dialogues is judged once."""
    items_per_unit: int = Field(default=5, ge=1, le=100)
    """Items that a rater judges in one assignment. More items save practice and waiting, but many tire people."""
    units_per_worker: int | None = Field(default=None, ge=1)
    """Maximum assignments for one rater; null: no limit. A study should not depend on a few busy raters."""
    items_per_worker_and_group: int | None = Field(default=None, ge=1)
    """Maximum number of items with the same pair of models for one rater; null: no limit. Raters who often see the same
    models begin to recognize them."""
    golds_per_unit: int = Field(default=0, ge=0, le=20)
    """Attention checks added to the items of an assignment. Raters who miss an obvious one have not read the rest."""
    gold_file: str = ""
    """File of attention checks; if empty, the task's own for the metric. Write your own if you change the question."""

    generate: Literal["", "self_chat", "pairs"] = ""
    """Dialogues that models hold before the launch: each model with itself, or every pair of models with each other.
    This needs no people, and gives every model the same chances. Leave empty if the dialogues already exist."""
    num_dialogues: int = Field(default=20, ge=1)
    """With ``generate``: dialogues for each model or pair. More show more of a model, and cost only computing time."""
    exchanges: int = Field(default=6, ge=1, le=200)
    """With ``generate``: lines of each speaker. Models drift in long conversations with themselves. Short ones reveal
    little."""
    start: Literal["hi", "openers", "first_exchange", "contexts"] = "hi"
    """With ``generate``: how dialogues begin: with “Hi!”, a line from ``start_file``, or the first exchange or the
    personas of a dialogue in it. Varied beginnings keep deterministic models from saying the same in all dialogues."""
    start_file: str = ""
    """File of openers, dialogues or contexts for ``start``; if empty, the packaged ones. Use your own if models cover
    one field, or speak another language."""
    context_kind: Literal["jsonl", "bst", "convai2"] = "jsonl"
    """Format of ``start_file`` if it contains contexts: this package's, or that of ParlAI's files of BlendedSkillTalk
    or ConvAI2. You can use these files unchanged."""
    batch_size: int = Field(default=32, ge=1, le=1024)
    """With ``generate``: dialogues that advance together. Larger batches are faster on a GPU, but need more memory."""

    replies: ReplyDisplay = Field(default_factory=ReplyDisplay)
    """How models' replies look."""

    @property
    def hides_ai_talk(self) -> bool:
        """The default of ``replies.hide_ai_talk``: true if models are compared, except for humanness."""
        return self.show in ("pair", "turn") and self.metric != "humanness"

    @model_validator(mode="after")
    def _consistent(self) -> StaticConfig:
        for rule in (_groups, _sources, _segments, _asked, _stopping):
            rule(self)
        self.check_blocking()
        return self

    def pairs(self) -> list[tuple[str, str]]:
        if self.groups:
            return [(first, second) for first, second in self.groups]
        return list(combinations(self.models, 2))

    def model_names(self) -> list[str]:
        return list(dict.fromkeys([*self.models, *(name for group in self.groups for name in group)]))


def _refuse(is_wrong: object, why: str, /, **facts: object) -> None:
    if is_wrong:
        raise ConfigError(worded(__file__, why, **facts, name_models=NAME_MODELS))


def _groups(config: StaticConfig) -> None:
    _refuse(len(set(config.models)) < len(config.models), "twice", models=", ".join(config.models))
    for group in config.groups:
        _refuse(len(group) != 2 or len(set(group)) != 2, "group", group=group)
    different = {frozenset(group) for group in config.groups}
    _refuse(len(different) < len(config.groups), "same")
    _refuse(config.show == "pair" and len(config.models) == 1 and not config.groups, "alone")


def _sources(config: StaticConfig) -> None:
    show, makes, names = config.show, config.generate, config.model_names()
    is_rated = show in ("replay", "turn")
    _refuse(makes and not names, "talkers", makes=makes)
    _refuse(makes == "pairs" and len(names) < 2, "two_talkers")
    _refuse(makes and (is_rated or (show, makes) == ("pair", "pairs")), "apart", show=show, makes=makes)
    _refuse(not makes and not config.dialogues, "nothing")
    files = [one for one in config.dialogues if not (one == PACKAGED or (isinstance(one, dict) and "task" in one))]
    _refuse(is_rated and files, "rated", show=show)
    _refuse(config.human_share and not config.human_dialogues, "people")
    _refuse((config.human_dialogues or config.human_share) and show != "segment", "mixed")


def _segments(config: StaticConfig) -> None:
    lengths = config.segment_lengths
    if config.show != "segment":
        _refuse(lengths or config.features, "segments")
        return
    wrong = not lengths or min(lengths) < 1 or len(set(lengths)) < len(lengths)
    _refuse(wrong, "lengths", lengths=lengths)
    longest = max(lengths) + config.seed_exchanges
    facts = {"longest": longest, "seeded": config.seed_exchanges, "exchanges": config.exchanges}
    _refuse(config.generate and config.exchanges < longest, "longest", **facts)
    for name in config.features:
        feature_question(name)


def _asked(config: StaticConfig) -> None:
    show, pair = config.show, config.show == "pair"
    dimensions_for(config.scales)
    _refuse(show == "whole" and not config.scales, "no_scales")
    _refuse(config.scales and show != "whole", "scales")
    _refuse(config.golds_per_unit and show not in ("pair", "segment"), "golds")
    _refuse(config.judgements_per_item > 1 and pair, "once")
    _refuse(config.judgements_per_group and not pair, "every_item")
    if pair and not config.question:
        pair_question(config.metric, config.technique)
    _refuse(config.replies.filter == "block", "block")


def _stopping(config: StaticConfig) -> None:
    """Check the stopping settings as far as possible before there are dialogues."""
    if not config.is_decided:
        config.check_stopping([], [], [])
        return
    _refuse(config.show not in ("pair", "segment"), "rated_again")
    _refuse(config.units_per_worker not in (None, 1), "one_unit")
    _refuse(config.judgements_per_item > 1, "one_rater")
    _refuse(config.judge and config.show != "pair", "judge")
    if config.model_names():
        config.check_stopping(config.model_names(), config.pairs(), [config.setting])
    if config.generate and not config.dialogues:
        made = config.num_dialogues
        check_cap(config, dict.fromkeys(config.pairs(), (made, 1 if config.show == "segment" else made)))


def check_cap(config: StaticConfig, dialogues: Mapping[Pair, tuple[int, int]]) -> None:
    """Raise InvalidValue where some pair could run out of dialogues (so many of either model; so many, and 1, where they
    are of both) before the cap: all judgements may be of the pair that is decided last."""
    cap, fewest = config.max_dialogues or 0, min(dialogues, key=lambda pair: math.prod(dialogues[pair]))
    possible = math.prod(dialogues[fewest])
    facts = {"cap": cap, "possible": possible}
    if cap > possible and config.show == "segment":
        how = f"num_dialogues={cap}" if config.generate else f"{cap} of every pair of models are enough"
        raise ConfigError(worded(__file__, "cap_of_segments", **facts, both=" and ".join(fewest), how=how))
    if cap > possible:
        each = math.isqrt(cap - 1) + 1
        how = f"num_dialogues={each}" if config.generate else f"{each} for every model are enough"
        of = " with ".join(f"{number} of {model}" for model, number in zip(fewest, dialogues[fewest], strict=True))
        raise ConfigError(worded(__file__, "cap_of_pairs", **facts, both=" vs ".join(fewest), of=of, how=how))
