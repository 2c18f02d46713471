"""Which settings of a task on finished dialogues go together. Each rule raises a sentence that says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from parlai_humaneval.protocol.asked.dimensions import dimensions_for
from parlai_humaneval.protocol.asked.judging_questions import feature_question, pair_question

if TYPE_CHECKING:
    from mephisto_tasks.judging.config import StaticConfig


def check_rules(config: StaticConfig) -> None:
    """All rules.

    Raises:
        ValueError: the first rule that is broken.
    """
    for rule in (_groups, _sources, _segments, _scales, _golds, _questions, _replies):
        rule(config)
    config.check_blocking()


def _replies(config: StaticConfig) -> None:
    if config.replies.filter == "block":
        raise ValueError(
            "replies.filter=block has a model asked again, but these dialogues are finished: say filter=mask"
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
        raise ValueError("comparing needs two models or more (models=[a,b]); one named")


def _sources(config: StaticConfig) -> None:
    if config.generate:
        if not config.model_names():
            raise ValueError(f"generate={config.generate} needs the models that are to talk: models=[a,b]")
        if config.generate == "pairs" and len(config.model_names()) < 2:
            raise ValueError("generate=pairs needs two models or more (models=[a,b])")
        if config.show in ("replay", "turn") or (config.show, config.generate) == ("pair", "pairs"):
            raise ValueError(f"show={config.show} does not go with generate={config.generate}")
    elif not config.dialogues:
        raise ValueError(
            "there is nothing to judge: name the dialogues, such as dialogues=[chats.jsonl] or dialogues=[{task: NAME}]"
        )
    if config.show in ("replay", "turn") and any(not _is_task(entry) for entry in config.dialogues):
        raise ValueError(
            f"show={config.show} needs dialogues that were rated: name live tasks, dialogues=[{{task: NAME}}]"
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
