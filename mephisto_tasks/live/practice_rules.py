"""Whether practice items fit the study that they are for."""

from __future__ import annotations

from mephisto_tasks.live.config import InteractiveConfig
from parlai_humaneval.protocol.page.practice import (
    ChooseItem,
    PairItem,
    Practice,
    PracticeItem,
    RateItem,
    SegmentItem,
    TickItem,
    VerdictItem,
)


def check_practice(practice: Practice, config: InteractiveConfig) -> str | None:
    """What makes a practice unfit for a study, or None: it asks what the study does not, or what nobody can pass."""
    for number, item in enumerate(practice.items, start=1):
        problem = _unfit(item, config)
        if problem is not None:
            return f"item {number} {problem}"
    return None


def _unfit(item: PracticeItem, config: InteractiveConfig) -> str | None:
    match item:
        case ChooseItem():
            most = len(item.replies) if config.max_choices is None else config.max_choices
            if config.turn_question != "choose":
                return "chooses among replies, which this study does not"
            if not config.min_choices <= len(item.right) <= most:
                return f"has {len(item.right)} right replies, but raters choose {config.min_choices} to {most}"
            return None
        case TickItem():
            return _unknown([*item.must, *item.must_not], [criterion.name for criterion in config.ticks()])
        case RateItem():
            return _unknown(list(item.sides), [criterion.name for criterion in config.scales()])
        case VerdictItem():
            return None if config.verdict else "compares two partners, which this study does not"
        case PairItem() | SegmentItem():
            return "judges finished chats, which this study does not"


def _unknown(named: list[str], known: list[str]) -> str | None:
    wrong = [name for name in named if name not in known]
    return f"names {', '.join(wrong)}, but this study asks for {', '.join(known) or 'none'}" if wrong else None
