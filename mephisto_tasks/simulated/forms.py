"""What a simulated rater answers about finished dialogues: as a person with a stated taste would."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from parlai_humaneval.protocol.dialogues.dialogue import HUMAN
from parlai_humaneval.protocol.page.panels import FormQuestion, FormStep, Panel, PanelLine, RankStep
from parlai_humaneval.protocol.page.practice import ChooseItem, PairItem, PracticeItem, SegmentItem

if TYPE_CHECKING:
    from mephisto_tasks.simulated.answers import Behaviour

REASONS = [
    "This one keeps to the subject and asks good questions.",
    "It sounds more natural and friendly to me.",
    "The other speaker repeats itself quite often.",
]
TAKEN_FOR_HUMAN = 0.8
"""How often a simulated rater takes a person for one."""


def form_answer(
    step: FormStep, panels: list[Panel], behaviour: Behaviour, chance: random.Random, practised: PracticeItem | None
) -> dict[str, Any]:
    """Every question of a form; in practice the right ones."""
    values = {question.question_id: _value(question, panels, behaviour, chance) for question in step.questions}
    if isinstance(practised, PairItem):
        values = dict.fromkeys(values, "first" if practised.better == 1 else "second")
    elif isinstance(practised, SegmentItem):
        values |= {f"label_{index}": sorted(right)[0] for index, right in enumerate(practised.right)}
    reasons = {question.question_id: chance.choice(REASONS) for question in step.questions if question.reason}
    return {"kind": "form", "values": values, "reasons": reasons}


def rank_answer(
    step: RankStep, behaviour: Behaviour, chance: random.Random, practised: PracticeItem | None
) -> dict[str, Any]:
    """The replies that are liked first; who likes two alike tosses a coin. In practice the right ones stand first."""
    if isinstance(practised, ChooseItem):
        right = {practised.replies[number - 1] for number in practised.right}
        noisy = {card.candidate_id: float(card.text in right) for card in step.cards}
    else:
        liking = {card.candidate_id: behaviour.liking(card.candidate_id, card.text) for card in step.cards}
        noisy = {name: chance.gauss(how_much, 0.3) for name, how_much in liking.items()}
    order = sorted(noisy, key=lambda name: -noisy[name])
    return {"kind": "rank", "ranks": {name: place for place, name in enumerate(order, start=1)}}


def _value(question: FormQuestion, panels: list[Panel], behaviour: Behaviour, chance: random.Random) -> str:
    options = [option.option_id for option in question.options]
    if options == ["first", "second"]:
        likes = [behaviour.liking_of(_judged(panel)) for panel in panels]
        return _which(likes, chance)
    if question.question_id.startswith("label_"):
        return _label(_said_by(panels[0], int(question.question_id[-1])), behaviour, chance)
    if options == ["first", "same", "second"]:
        if chance.random() < 0.4:
            return "same"
        return _which([behaviour.liking_of(_said_by(panels[0], index)) for index in range(2)], chance)
    return chance.choice(options)


def _which(likes: list[float], chance: random.Random) -> str:
    """The first or the second, as often as its share of the liking says."""
    first, second = likes
    return "first" if chance.random() * (first + second or 1) < (first if first + second else 0.5) else "second"


def _label(lines: list[PanelLine], behaviour: Behaviour, chance: random.Random) -> str:
    """Human, unsure or bot; the longer the dialogue, the more often a bot is found out."""
    human = behaviour.model_of(lines[0].line_id) == HUMAN
    passes = TAKEN_FOR_HUMAN if human else behaviour.liking_of(lines) * 0.9 ** len(lines)
    drawn = chance.random()
    if drawn < passes:
        return "human"
    return "unsure" if drawn < passes + 0.15 else "bot"


def _judged(panel: Panel) -> list[PanelLine]:
    return [line for line in panel.lines if line.judged]


def _said_by(panel: Panel, speaker: int) -> list[PanelLine]:
    """Lines of the first or second speaker, by who speaks first."""
    names = list(dict.fromkeys(line.speaker for line in panel.lines))
    return [line for line in panel.lines if line.speaker == names[speaker]]
