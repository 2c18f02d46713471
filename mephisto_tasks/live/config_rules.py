"""Which settings of a live task go together. Each rule raises a sentence that names the setting and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mephisto_tasks.live.config import InteractiveConfig

VARIABLE = frozenset(
    {
        "question",
        "turn_question",
        "min_choices",
        "max_choices",
        "fallback",
        "min_written_words",
        "turn_criteria",
        "none_label",
        "reason_required",
        "min_reason_words",
        "final_scale",
        "final_criteria",
        "history",
    }
)
"""What the variants of a technique may differ in."""


def check_settings(names: Sequence[str], variants: Mapping[str, Mapping[str, Any]], technique: str) -> None:
    """Every named setting must be one of the technique's, once.

    Raises:
        ValueError: naming those that there are.
    """
    for name in names:
        if name not in {*variants, "all"}:
            raise ValueError(
                f"{technique} has no setting {name!r}; choose of: {', '.join(variants)}, several of them as a list, or all"
            )
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"setting must name each setting once, and at least one; got {list(names)}")
    if len(names) > 1 and "all" in names:
        raise ValueError("setting: “all” stands alone, it already means every setting")
    for name, changes in variants.items():
        unknown = sorted(set(changes) - VARIABLE)
        if unknown:
            raise ValueError(
                f"variants.{name}: cannot change {', '.join(unknown)}; it can change {', '.join(sorted(VARIABLE))}"
            )


def check_rules(config: InteractiveConfig) -> None:
    """All rules, of a configuration with one setting.

    Raises:
        ValueError: the first rule that is broken.
    """
    for rule in (_groups, _choices, _asked, _side_by_side, _units, _topics, _turns):
        rule(config)
    config.check_blocking()


def _groups(config: InteractiveConfig) -> None:
    groups = config.model_groups()
    for group in groups:
        if len(group) != config.group_size:
            raise ValueError(
                f"{config.technique} compares {config.group_size} models at a time, but got {list(group)}: "
                "change the group, or group_size"
            )
        if len(set(group)) != len(group):
            raise ValueError(f"a model cannot be compared with itself: {list(group)}")
    sets = [frozenset(group) for group in groups]
    if len(set(sets)) != len(sets):
        raise ValueError("the same models stand twice among the groups; each group is compared once")
    if not sets:
        needed = f"{config.group_size} models" if config.group_size > 1 else "one model"
        raise ValueError(f"name at least {needed} (models=[a,b]); {len(config.models)} named")


def _choices(config: InteractiveConfig) -> None:
    if config.turn_question != "choose":
        return
    if config.group_size < 2:
        raise ValueError(f"{config.technique} needs at least two replies to choose from: group_size must be 2 or more")
    most = config.group_size if config.max_choices is None else config.max_choices
    if config.technique == "pw_turn" and (config.min_choices, most) != (1, 1):
        raise ValueError("pw_turn asks for exactly one reply: leave min_choices and max_choices at 1")
    if most < config.min_choices:
        raise ValueError("max_choices is smaller than min_choices")
    if most > config.group_size:
        raise ValueError(f"max_choices is {most}, but only {config.group_size} replies are shown")


def _asked(config: InteractiveConfig) -> None:
    ticks = config.ticks()
    if ticks and config.turn_question != "tick":
        raise ValueError(
            f"turn_criteria are ticked with turn_question=tick only; this study has {config.turn_question}"
        )
    if config.turn_question == "tick":
        if config.group_size != 1:
            raise ValueError("ticking is about one reply: group_size must be 1")
        if not ticks:
            raise ValueError("turn_question=tick needs turn_criteria, such as [engaging,human-like,interesting]")
    config.scales()
    if config.turn_question == "none" and not config.final_criteria and not config.verdict:
        raise ValueError("nothing would be rated: turns are not, so name final_criteria or set verdict=true")
    if config.final_criteria and config.group_size != 1:
        raise ValueError("final_criteria are about one partner: group_size must be 1")


def _side_by_side(config: InteractiveConfig) -> None:
    if not config.verdict:
        return
    if config.group_size != 2:
        raise ValueError(
            f"a verdict is between two partners side by side: group_size must be 2, not {config.group_size}"
        )
    if config.history != "independent" or config.turn_question != "none":
        raise ValueError("a verdict goes with history=independent and turn_question=none")


def _units(config: InteractiveConfig) -> None:
    if config.quality_control_model and config.conversations_per_unit < 2:
        raise ValueError(
            "quality_control_model takes one conversation of several: conversations_per_unit must be 2 or more"
        )
    regular = config.conversations_per_unit - bool(config.quality_control_model)
    cells = len(config.model_groups())
    if regular > cells:
        raise ValueError(
            f"a unit of {config.conversations_per_unit} conversations needs {regular} different groups of models, but "
            f"there are {cells}"
        )
    if config.quality_control_model in {name for group in config.model_groups() for name in group}:
        raise ValueError(f"{config.quality_control_model!r} is the quality-control model and cannot be rated as well")


def _topics(config: InteractiveConfig) -> None:
    if config.context_kind != "jsonl" and not config.context_file:
        raise ValueError(f"context_kind={config.context_kind} needs the context_file of that kind")
    if config.ask_opinion and config.topic != "free":
        raise ValueError("ask_opinion goes with topic=free: it is about the topic that the rater named")
    if isinstance(config.bot_persona, list):
        unknown = [name for name in config.bot_persona if name not in config.model_names()]
        if unknown:
            raise ValueError(f"bot_persona names {', '.join(unknown)}, which takes no part in this study")


def _turns(config: InteractiveConfig) -> None:
    if config.rater_ends and config.max_turns < config.turns:
        raise ValueError("max_turns is smaller than turns")
