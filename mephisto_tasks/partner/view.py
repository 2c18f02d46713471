"""What a partner sees: the dialogue from the bot's side, and a field for the reply."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mephisto_tasks.engine.checks import check_message
from mephisto_tasks.partner import words
from parlai_humaneval.languages.speaking import spoken, t
from parlai_humaneval.models.dialogue_agent import Line
from parlai_humaneval.models.outside.desk import Errand
from parlai_humaneval.protocol.page.steps import (
    Context,
    EndStep,
    Entry,
    MessageAnswer,
    MessageStep,
    PageState,
    Progress,
    WaitStep,
)
from parlai_humaneval.showing.offensive import offensive_spans

FIRST_VERSION = 0
"""Of the states made here; who sends them counts on."""


def to_answer(errand: Errand, number: int, mine: Collection[str], queue: words.Queue) -> PageState:
    """A message that waits for this partner's reply.

    Args:
        number: of the conversation, among this partner's.
        mine: what this partner wrote in it.
        queue: the other messages, which wait.
    """
    heard = errand.heard
    turns = sum(speaker == "human" for speaker, _ in heard.dialogue)
    persona = [*heard.persona, *(t(words.OTHER_PERSON, line=line) for line in heard.partner_persona)]
    return PageState(
        version=FIRST_VERSION,
        language=spoken().tag,
        phase="task",
        progress=Progress(unit="conversation", current=number, total=None),
        within=Progress(unit="turn", current=max(turns, 1), total=None),
        context=Context(title=t(words.CHARACTER), lines=persona) if persona else None,
        transcript=_lines(number, heard.dialogue, mine),
        step=MessageStep(step_id=errand.errand_id, label=words.label(turns, queue)),
    )


def after_reply(answered: PageState, text: str) -> PageState:
    """The same dialogue with the reply, until the next message comes."""
    said = Entry(entry_id=f"{len(answered.transcript)}-sent", speaker="you", text=text)
    wait = WaitStep(text=t(words.AFTER_REPLY), idle=True)
    return answered.model_copy(update={"transcript": [*answered.transcript, said], "step": wait})


def idle() -> PageState:
    """Nothing to do."""
    return PageState(
        version=FIRST_VERSION, language=spoken().tag, phase="task", step=WaitStep(text=t(words.IDLE), idle=True)
    )


def ended() -> PageState:
    """The launch has ended."""
    title, text = map(t, words.ENDED)
    return PageState(
        version=FIRST_VERSION, language=spoken().tag, phase="ended", step=EndStep(title=title, text=text, next="stay")
    )


def problem_with(step: MessageStep, answer: MessageAnswer) -> str | None:
    """Why a reply cannot be sent, or None: as of a rater's message, and it must not offend."""
    problem = check_message(step, answer)
    if problem is not None:
        return problem
    offensive = offensive_spans(answer.text)
    return t(words.OFFENSIVE, words="”, “".join(dict.fromkeys(offensive))) if offensive else None


def _lines(number: int, dialogue: Sequence[Line], mine: Collection[str]) -> list[Entry]:
    return [
        Entry(
            entry_id=f"{number}-{place}",
            speaker="partner" if speaker == "human" else "you",
            text=text,
            note=t(words.NOT_YOURS) if speaker == "bot" and text not in mine else None,
        )
        for place, (speaker, text) in enumerate(dialogue)
    ]
