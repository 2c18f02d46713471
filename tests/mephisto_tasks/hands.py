"""Raters led by hand through the steps of every technique, and what their studies have stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import scripted_models
from live import Rater, records, same_but_for_the_notice

from mephisto_tasks.launch.launch import RunningStudy
from parlai_humaneval.models.agent.dialogue_agent import Line
from parlai_humaneval.schema.records import Candidate, DialogueRecord, Turn
from parlai_humaneval.schema.steps import (
    ChooseStep,
    EndStep,
    FeedbackStep,
    MessageStep,
    PageState,
    RateStep,
    Step,
)

NOT_SHOWN, NOT_BOTH = "You were not shown that", "cannot choose both"
"""Why an answer is refused: it was not offered, or “none of them” stands with others."""


class Hands(Rater):
    """A :class:`Rater` with an answer for each kind of step. Methods return the next state that asks for something."""

    async def answer(self, **answer: Any) -> PageState:
        """Answer the step that is shown, which must be of the answer's kind (an action is one of a message)."""
        step = (await self.state()).step
        kind = "message" if answer["kind"] == "action" else answer["kind"]
        assert step.kind == kind, step
        confirmed = await self.send(**{"step_id": step_id_of(step), **answer})
        assert confirmed.notice is None or confirmed.notice.level != "error", confirmed.notice
        return await self.state()

    async def refused(self, **answer: Any) -> str:
        """The sentence with which an answer to the step that is shown is refused; nothing else may change."""
        before = await self.state()
        step_id = step_id_of(before.step)
        after = await self.send(**{"kind": before.step.kind, "step_id": step_id, **answer})
        assert after.notice is not None, f"{answer} was taken"
        assert after.notice.level == "error"
        assert same_but_for_the_notice(before, after)
        return after.notice.text

    async def say(self, text: str = "Tell me more about that.") -> PageState:
        return await self.answer(kind="message", text=text)

    async def do(self, action: str, text: str = "") -> PageState:
        return await self.answer(kind="action", action_id=action, text=text)

    async def pick(self, *positions: int) -> PageState:
        """Choose cards by their places from 0; without any: say that none fits."""
        step = (await self.state()).step
        assert isinstance(step, ChooseStep), step
        selected = [step.cards[position].candidate_id for position in positions]
        return await self.answer(kind="choose", selected=selected, none=not selected)

    async def tick(self, *options: str) -> PageState:
        return await self.answer(kind="tick", selected=list(options), none=not options)

    async def rate(self, *values: float) -> PageState:
        """Every scale in order; one value: the same everywhere."""
        step = (await self.state()).step
        assert isinstance(step, RateStep), step
        each = values if len(values) > 1 else values * len(step.scales)
        ratings = {scale.scale_id: value for scale, value in zip(step.scales, each, strict=True)}
        return await self.answer(kind="rate", values=ratings)

    async def hand_in(self, feedback: str = "") -> None:
        """The comment box and the submit."""
        state = await self.state()
        assert isinstance(state.step, FeedbackStep), state.step
        state = await self.answer(kind="feedback", text=feedback)
        assert isinstance(state.step, EndStep), state.step
        await self.client.submit_task()

    def record(self, run: RunningStudy, conversation: int = 1) -> DialogueRecord:
        """What is stored of this page's dialogue; of several, of the one with that number in the unit."""
        agent = f"{run.task_run_id}-{self.client.agent_id}"
        mine = [r for r in records(run) if r.dialogue_id in (agent, f"{agent}-{conversation}")]
        (record,) = mine
        return record


def step_id_of(step: Step) -> str:
    step_id = getattr(step, "step_id", None)
    assert isinstance(step_id, str), f"nothing is asked: {step}"
    return step_id


def texts(state: PageState) -> list[str]:
    """The lines of the transcript."""
    return [entry.text for entry in state.transcript]


def cards(state: PageState) -> list[str]:
    """The texts of the cards to choose from."""
    assert isinstance(state.step, ChooseStep), state.step
    return [card.text for card in state.step.cards]


def actions(state: PageState) -> dict[str, bool]:
    """What may be done beside writing, and whether it is to be had now."""
    assert isinstance(state.step, MessageStep), state.step
    return {action.action_id: action.enabled for action in state.step.actions}


def by_model(turn: Turn) -> dict[str, Candidate]:
    return {candidate.model: candidate for candidate in turn.candidates}


def picked_models(turn: Turn) -> list[str]:
    return sorted(candidate.model for candidate in turn.candidates if candidate.candidate_id in turn.selected)


def place_of(run: RunningStudy, state: PageState, model: str) -> int:
    """Where the card of a model stands, from 0. The page does not know; the study does."""
    assert isinstance(state.step, ChooseStep), state.step
    return [run.study.shown.get(card.candidate_id) for card in state.step.cards].index(model)


def heard_by(model: str, length: int) -> list[Line]:
    """The dialogue of so many lines that a model was asked to continue, as it heard it; the newest such."""
    return next(d for name, d in reversed(scripted_models.HEARD) if name == model and len(d) == length)


def always(replies: Mapping[str, str]) -> None:
    """Models that say the same at every turn."""
    for name, reply in replies.items():
        scripted_models.SCRIPTS[name] = _constant(reply)


def _constant(reply: str) -> scripted_models.Script:
    def answer(dialogue: Sequence[Line]) -> str:
        return reply

    return answer
