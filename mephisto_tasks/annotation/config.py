"""The settings of a task on finished dialogues: what is shown, what is asked, and who gets how much of it.

And which of them go together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations
from typing import Any, Literal

from pydantic import Field, model_validator

from mephisto_tasks.config.task import APART as APART_IN_ALL
from mephisto_tasks.config.task import TaskConfig
from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.dialogues.sources import PACKAGED
from parlai_humaneval.display.settings import ReplyLooks
from parlai_humaneval.techniques.criteria import dimensions_for
from parlai_humaneval.techniques.questions import feature_question, pair_question

Pair = tuple[str, str]
Show = Literal["pair", "segment", "replay", "turn", "whole"]


APART = APART_IN_ALL | {
    "dialogues", "human_dialogues", "human_share", "sample", "judgements_per_group", "judgements_per_item", "items_per_unit",
    "units_per_worker", "items_per_worker_and_group", "golds_per_unit", "generate", "num_dialogues", "exchanges", "start",
    "start_file", "context_kind", "batch_size",
}  # fmt: skip
"""What may change while a unit is cut off: what is judged stands on record, and who judges how much may change."""


class StaticConfig(TaskConfig):
    """Settings of engine 2 (a person judges finished dialogues)."""

    setting: str = ""
    """Which kind of dialogues a technique is applied to, such as human_bot or self_chat. Models can seem better with
    themselves than with people, so the two are not mixed."""
    question: str = ""
    """Asked of a pair or a turn, or above scales. Empty: the published wording of the metric. Results can be compared
    with others' only where the wording is the same."""

    show: Show = "pair"
    """pair: two dialogues side by side. segment: the first exchanges of one. replay: a rated dialogue turn by turn.
    turn: a turn of a rated dialogue with all its replies. whole: one dialogue. A pair tells small differences; shorter
    pieces cost less time each, and show less."""
    dialogues: list[Any] = Field(default_factory=list)
    """Where the dialogues are that are judged: files, folders, {file: …, entities: …}, or {task: NAME} of a live task
    in this data directory; “packaged” are samples of ours, to try it out. What is rated once can be rated again, by
    other people or in another way."""
    human_dialogues: list[Any] = Field(default_factory=list)
    """Dialogues between two people, likewise; “packaged” are some of ours. They show what a perfect score would be, and
    keep raters from calling everybody a bot."""
    human_share: float = Field(default=0.0, ge=0, lt=1)
    """The part of all segments that is of dialogues between people. With none, raters learn that every speaker is a
    bot."""
    judged_speaker: Literal["first", "second", "random"] = "second"
    """Which speaker of a dialogue between two models is judged; with a person it is always the model. The second
    answers, as a model does with a person."""
    segment_lengths: list[int] = Field(default_factory=list)
    """Exchanges (a line of each speaker) of the segments, those of ``seed_exchanges`` not counted. Short ones show what
    is seen at once; longer ones what is found out later."""
    seed_exchanges: int = Field(default=0, ge=0, le=10)
    """Exchanges that stand before every segment, because no model said them: 1 with ``start=first_exchange``. What no
    model said tells nothing of them, but is needed to understand the rest."""
    sample: int | None = Field(default=None, ge=1)
    """Of rated dialogues: how many, drawn at random; null: all. A part is enough to see whether people agree."""

    features: list[str] = Field(default_factory=list)
    """Features in which the two speakers of a segment are compared. Each is a question more, and tells more of why a
    model is taken for a person."""
    scales: list[str | dict[str, Any]] = Field(default_factory=list)
    """What is rated of a whole dialogue: names, or {name, text, hints} of one's own. Each takes raters some seconds;
    those of a paper can be compared with it."""
    ties: bool = True
    """In a ranking: whether replies may share a place. Without them people must find a difference where they see
    none."""

    judgements_per_group: int | None = Field(default=None, ge=1)
    """Judgements to collect for each pair of models; null: as many as its items need. `parlai-humaneval plan` says how
    many a difference takes. With ``stop=decided`` nobody asks for a number."""
    judgements_per_item: int = Field(default=1, ge=1, le=100)
    """People who judge the same item. Two or more show how far people agree; with one, more items are seen for the same
    money."""
    items_per_unit: int = Field(default=5, ge=1, le=100)
    """Items that a rater judges one after another. More save practice and waiting; people tire of many."""
    units_per_worker: int | None = Field(default=None, ge=1)
    """Units that one worker may have; null: as many as there are. It keeps a study from resting on a few busy
    workers."""
    items_per_worker_and_group: int | None = Field(default=None, ge=1)
    """Items of the same pair of models that one worker may have; null: no limit. Who sees the same models often begins
    to recognize them."""
    golds_per_unit: int = Field(default=0, ge=0, le=20)
    """Attention checks among the items of a unit, in addition to them. Who misses one that is obvious has not read the
    others either."""
    gold_file: str = ""
    """A file of attention checks; empty: the task's own for the metric. Write your own where you changed the
    question."""

    generate: Literal["", "self_chat", "pairs"] = ""
    """Dialogues that the models hold before the launch: each with itself, or every two with each other. It needs no
    people, and every model has the same chances. Empty: dialogues are there already."""
    num_dialogues: int = Field(default=20, ge=1)
    """With ``generate``: dialogues of each model, or each pair. More of them show more of a model, and cost computing
    time alone."""
    exchanges: int = Field(default=6, ge=1, le=200)
    """With ``generate``: lines of each speaker in a dialogue. Models get lost in long talks with themselves; short ones
    say little."""
    start: Literal["hi", "openers", "first_exchange", "contexts"] = "hi"
    """With ``generate``: how dialogues begin: “Hi!”, a line of ``start_file``, the first exchange of a dialogue there,
    or with its personas. Various beginnings keep models that are always the same from saying the same in all
    dialogues."""
    start_file: str = ""
    """What ``start`` names: openers, dialogues or contexts; empty: the packaged ones. Give your own where models are
    for one field, or speak another language."""
    context_kind: Literal["jsonl", "bst", "convai2"] = "jsonl"
    """Format of ``start_file`` where it holds contexts: ours, or ParlAI's of BlendedSkillTalk or ConvAI2. Files of
    those data sets can then be used as they are."""
    batch_size: int = Field(default=32, ge=1, le=1024)
    """With ``generate``: dialogues that advance together. More are quicker on a GPU, and need more of its memory."""

    replies: ReplyLooks = Field(default_factory=ReplyLooks)
    """How what models said looks."""

    @property
    def hides_ai_talk(self) -> bool:
        """What ``replies.hide_ai_talk`` means where it is not set: whether models are compared, but for humanness."""
        return self.show in ("pair", "turn") and self.metric != "humanness"

    @model_validator(mode="after")
    def _consistent(self) -> StaticConfig:
        """Each rule raises a sentence that says what to do, as ValueError."""
        for rule in (_groups, _sources, _segments, _scales, _golds, _questions, _replies, _stopping):
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
        raise InvalidValue(
            "replies.filter=block has a model asked again, but these dialogues are finished",
            try_="say replies.filter=mask",
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
        raise ValueError("comparing needs two models or more ('models=[a,b]'); one named")


def _sources(config: StaticConfig) -> None:
    if config.generate:
        if not config.model_names():
            raise ValueError(f"generate={config.generate} needs the models that are to talk: 'models=[a,b]'")
        if config.generate == "pairs" and len(config.model_names()) < 2:
            raise ValueError("generate=pairs needs two models or more ('models=[a,b]')")
        if config.show in ("replay", "turn") or (config.show, config.generate) == ("pair", "pairs"):
            raise ValueError(f"show={config.show} does not go with generate={config.generate}")
    elif not config.dialogues:
        raise InvalidValue(
            "there is nothing to judge",
            try_="name the dialogues, such as 'dialogues=[chats.jsonl]' or 'dialogues=[{task: NAME}]'; to try it "
            "out, 'dialogues=[packaged]' are samples",
        )
    if config.show in ("replay", "turn") and any(not _is_rated(entry) for entry in config.dialogues):
        raise InvalidValue(
            f"show={config.show} needs dialogues that were rated", try_="name live tasks, 'dialogues=[{task: NAME}]'"
        )
    if config.human_share and not config.human_dialogues:
        raise ValueError("human_share needs human_dialogues: files of dialogues between two people, or packaged")
    if (config.human_dialogues or config.human_share) and config.show != "segment":
        raise ValueError("human_dialogues are mixed among segments only (show=segment)")


def _is_rated(entry: object) -> bool:
    return entry == PACKAGED or (isinstance(entry, dict) and "task" in entry)


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
        raise InvalidValue(
            f"the longest segment has {longest} exchanges (with {config.seed_exchanges} of the seed), but the "
            f"models hold dialogues of {config.exchanges}",
            try_="raise exchanges",
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
        raise InvalidValue("a pair of dialogues is judged once", try_="ask for more with judgements_per_group")
    if config.judgements_per_group and config.show != "pair":
        raise ValueError("judgements_per_group goes with show=pair; elsewhere every item gets judgements_per_item")


def _questions(config: StaticConfig) -> None:
    if config.show == "pair" and not config.question:
        pair_question(config.metric)


def _stopping(config: StaticConfig) -> None:
    """As far as it can be told before there are dialogues."""
    if not config.is_decided:
        config.check_stopping([], [], [])
        return
    if config.show != "pair":
        raise InvalidValue(
            f"stop=decided decides which of two models is better, and show={config.show} shows no two "
            "dialogues side by side",
            try_="launch pw_dialog or self_chat, or leave stop out",
        )
    if config.units_per_worker not in (None, 1):
        raise InvalidValue(
            "stop=decided draws all that a worker judges when they come, so that each has one unit",
            try_="leave units_per_worker out, and say how much is in it with items_per_unit",
        )
    if config.model_names():
        config.check_stopping(config.model_names(), config.pairs(), [config.setting])
    if config.generate and not config.dialogues:
        check_cap(config, dict.fromkeys(config.pairs(), (config.num_dialogues, config.num_dialogues)))


def check_cap(config: StaticConfig, dialogues: Mapping[Pair, tuple[int, int]]) -> None:
    """Raise where some pair could run out of dialogues before the cap.

    All judgements may be of the pair that is decided last. ``dialogues``: how many there are of either model of each pair.

    Raises:
        ValueError: says how many judgements can be had.
    """
    cap, fewest = config.max_dialogues or 0, min(dialogues, key=lambda pair: math.prod(dialogues[pair]))
    possible = math.prod(dialogues[fewest])
    if cap > possible:
        each = math.isqrt(cap - 1) + 1
        how = f"num_dialogues={each}" if config.generate else f"{each} of each model are enough"
        of = " with ".join(f"{number} of {model}" for model, number in zip(fewest, dialogues[fewest], strict=True))
        raise ValueError(
            f"max_dialogues is {cap}, and {' vs '.join(fewest)} can be judged {possible} times: each pairing of the "
            f"dialogues ({of}) once. All judgements may be needed for the pair that is decided last, so say "
            f"max_dialogues={possible} or less, or have more dialogues: {how}"
        )
