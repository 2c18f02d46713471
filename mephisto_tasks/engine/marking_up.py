"""What models said, as a page draws it: their markdown beside their text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from parlai_humaneval.protocol.page.steps import PageState
from parlai_humaneval.protocol.page.wire import Said
from parlai_humaneval.showing.marked_up import markup_of

S = TypeVar("S", bound=Said)


def marked_up(state: PageState) -> PageState:
    """The state with the markup of every reply: of the partner in the transcript, on cards, and in finished dialogues.

    There everybody's lines are drawn alike, for the look must not tell a person from a program. What the rater writes
    stands as it was typed.
    """
    transcript = [entry if entry.speaker == "you" else _drawn(entry) for entry in state.transcript]
    panels = [panel.model_copy(update={"lines": _all_drawn(panel.lines)}) for panel in state.panels]
    step: Any = state.step
    replies: dict[str, Any] = {}
    if getattr(step, "cards", None):
        replies["cards"] = _all_drawn(step.cards)
    if getattr(step, "reply", None) is not None:
        replies["reply"] = _drawn(step.reply)
    if replies:
        step = step.model_copy(update=replies)
    return state.model_copy(update={"transcript": transcript, "panels": panels, "step": step})


def _all_drawn(said: Sequence[S]) -> list[S]:
    return [_drawn(one) for one in said]


def _drawn(said: S) -> S:
    markup = markup_of(said.text)
    return said if markup is None else said.model_copy(update={"markup": markup})
