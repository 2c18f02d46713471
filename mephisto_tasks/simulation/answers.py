"""What a simulated rater answers to each kind of step: as a person with a stated taste would."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parlai_humaneval.dialogues.dialogue import HUMAN
from parlai_humaneval.materials.practice import (
    ChooseItem,
    PairItem,
    Practice,
    PracticeItem,
    RateItem,
    SegmentItem,
    TickItem,
    VerdictItem,
)
from parlai_humaneval.schema.panels import FormQuestion, FormStep, Panel, PanelLine, RankStep
from parlai_humaneval.schema.steps import (
    ChooseStep,
    FeedbackStep,
    MessageStep,
    PageState,
    RateStep,
    Scale,
    TickStep,
    TopicStep,
    WriteStep,
)
from parlai_humaneval.techniques.criteria import CRITERIA

OPENERS = [
    "I have had quite a busy week so far, how about you?",
    "Lately I spend most evenings reading. What do you like to do?",
    "Do you have any plans for the weekend?",
    "I just came back from a long walk with my dog.",
    "What kind of food do you like best?",
    "I am thinking about learning a new language this year.",
    "Have you seen any good movies recently?",
    "My garden keeps me busy at this time of the year.",
    "That sounds nice! Can you tell me a bit more about it?",
    "I see what you mean. What made you start with that?",
    "Music helps me a lot after work. Do you play an instrument?",
    "I would love to travel more, maybe somewhere near the sea.",
]
REASONS = [
    "It fits what I said before much better.",
    "It sounds friendly and keeps the conversation going.",
    "It answers my question and asks me something back.",
    "The other one does not really react to my message.",
]
WRITTEN = [
    "I understand what you mean, please tell me more about your day.",
    "That sounds lovely, and how long have you been doing it?",
    "Oh, I had not thought of that before, thanks for telling me!",
]
FORM_REASONS = [
    "This one keeps to the subject and asks good questions.",
    "It sounds more natural and friendly to me.",
    "The other speaker repeats itself quite often.",
]
TOPICS = ["cooking at home", "my two dogs", "weekend trips", "old movies", "learning to swim"]
LIKING_OF_WORST = 0.05
TAKEN_FOR_HUMAN = 0.8
"""How often a simulated rater takes a person for one."""
COMMENT = "A simulated rater's comment."


@dataclass
class Behaviour:
    """How a simulated rater judges.

    Args:
        model_of: candidate id → model, or None where the rater has no preference between models.
        prefer: the model that is liked better; with ``model_of``.
        strength: probability of choosing it where it is shown, and of liking a reply of it; the others' is the rest.
        practice: the practice with its right answers (a person can tell).
        position_bias: probability of choosing the first card without looking.
        more_turns: turns that the rater goes on for after the fewest, where they may end the dialogue.
        taste: of a text, 0–1: for raters who know no more than their page; in place of ``model_of`` and ``prefer``.
        worst: the model that is bad on purpose, to check raters: who pays attention rates it very low.
        careless: probability that a rater does not notice how bad ``worst`` is, in any of its dialogues.
        think_s: mean pause before an answer, in seconds (exponential); 0: at once.
    """

    model_of: Callable[[str], str | None] = field(default=lambda _: None)
    prefer: str | None = None
    strength: float = 0.7
    practice: Practice | None = None
    position_bias: float = 0.0
    more_turns: int = 0
    taste: Callable[[str], float] | None = None
    worst: str | None = None
    careless: float = 0.1
    think_s: float = 0.0

    def liking(self, candidate_id: str, text: str = "") -> float:
        """How probable it is that the rater likes a reply, 0–1."""
        if self.taste is not None:
            return self.taste(text)
        model = self.model_of(candidate_id)
        if self.prefer is None or model is None:
            return 0.5
        return self.strength if model == self.prefer else 1 - self.strength

    def liking_of(self, lines: Sequence[PanelLine]) -> float:
        """How much the rater likes what a speaker said in a finished dialogue, 0–1."""
        if self.taste is not None:
            return sum(self.taste(line.text) for line in lines) / len(lines)
        return self.liking(lines[0].line_id)


class Answers:
    """Makes the answers of one rater; every method gives the fields of an answer besides its ids."""

    def __init__(self, behaviour: Behaviour, chance: random.Random) -> None:
        self.behaviour = behaviour
        self._chance = chance
        self._notices = behaviour.worst is not None and chance.random() >= behaviour.careless

    def message(self, step: MessageStep, state: PageState) -> dict[str, Any]:
        """The next message, or the action that ends the conversation once that is possible."""
        end = self._way_out(step, state)
        if end is not None:
            return {"kind": "action", "action_id": end}
        lines = OPENERS + (state.context.lines if state.context else [])
        return {"kind": "message", "text": self._chance.choice(lines)}

    def _way_out(self, step: MessageStep, state: PageState) -> str | None:
        turns = state.within or state.progress
        minimum = (turns.minimum or 1) if turns else 1
        if turns is None or turns.current <= minimum + self.behaviour.more_turns:
            return None
        open_ = {action.action_id for action in step.actions if action.enabled}
        if "end" in open_:
            return "end"
        return self._verdict(state) if "tie" in open_ else None

    def _verdict(self, state: PageState) -> str:
        newest = {entry.column: entry.entry_id for entry in state.transcript if entry.column is not None}
        likes_a, likes_b = (self._chance.random() < self.behaviour.liking(newest[column]) for column in (0, 1))
        if likes_a == likes_b:
            return "tie" if likes_a else "both_bad"
        return "a" if likes_a else "b"

    def choose(self, step: ChooseStep, state: PageState) -> dict[str, Any]:
        """One card, or all that are liked, or none."""
        item = self._practised(state)
        if isinstance(item, ChooseItem):
            right = {item.replies[number - 1] for number in item.right}
            selected = [card.candidate_id for card in step.cards if card.text in right]
        elif step.min_choices == step.max_choices == 1:
            selected = [self._one(step)]
        else:
            selected = self._several(step)
        reason = self._chance.choice(REASONS) if step.reason else ""
        return {"kind": "choose", "selected": selected, "none": not selected, "reason": reason}

    def _one(self, step: ChooseStep) -> str:
        ids = [card.candidate_id for card in step.cards]
        if self._chance.random() < self.behaviour.position_bias:
            return ids[0]
        liked = [i for i in ids if self.behaviour.prefer and self.behaviour.model_of(i) == self.behaviour.prefer]
        others = [i for i in ids if i not in liked]
        if liked and (not others or self._chance.random() < self.behaviour.strength):
            return self._chance.choice(liked)
        return self._chance.choice(others or ids)

    def _several(self, step: ChooseStep) -> list[str]:
        liked = [
            card.candidate_id for card in step.cards if self._chance.random() < self.behaviour.liking(card.candidate_id)
        ]
        if len(liked) < step.min_choices:
            return [self._one(step)]
        return liked[: step.max_choices]

    def tick(self, step: TickStep, state: PageState) -> dict[str, Any]:
        """What is true of the reply; or, of two partners, which is better."""
        item = self._practised(state)
        if isinstance(item, TickItem):
            selected = list(item.must)
        elif isinstance(item, VerdictItem):
            selected = [item.better]
        elif step.reply is None:
            selected = [self._verdict(state)]
        else:
            liking = self.behaviour.liking(step.reply.candidate_id)
            selected = [option.option_id for option in step.options if self._chance.random() < liking]
        return {"kind": "tick", "selected": selected, "none": not selected}

    def rate(self, step: RateStep, state: PageState) -> dict[str, Any]:
        """Every scale: high where the partner is liked."""
        item = self._practised(state)
        if isinstance(item, RateItem):
            ends = {"low": 0.05, "high": 0.95}
            return {"kind": "rate", "values": {s.scale_id: _at(s, ends[item.sides[s.scale_id]]) for s in step.scales}}
        partner = [entry.entry_id for entry in state.transcript if entry.speaker == "partner"]
        judged = [line for panel in state.panels for line in panel.lines if line.judged]
        if partner and self._notices and self.behaviour.model_of(partner[-1]) == self.behaviour.worst:
            liking = LIKING_OF_WORST
        elif partner:
            liking = self.behaviour.liking(partner[-1])
        else:
            liking = self.behaviour.liking_of(judged) if judged else 0.5
        return {"kind": "rate", "values": {s.scale_id: _at(s, self._agreement(s, liking)) for s in step.scales}}

    def _agreement(self, scale: Scale, liking: float) -> float:
        known = CRITERIA["slider"].get(scale.scale_id)
        bad = scale.style == "slider" and known is not None and known.reversed
        return self._shaken(1 - liking if bad else liking)

    def _shaken(self, share: float) -> float:
        return min(1.0, max(0.0, self._chance.gauss(share, 0.12)))

    def form(self, step: FormStep, state: PageState) -> dict[str, Any]:
        """All questions about one or two finished dialogues."""
        return form_answer(step, state.panels, self.behaviour, self._chance, self._practised(state))

    def rank(self, step: RankStep, state: PageState) -> dict[str, Any]:
        """A place for every reply."""
        return rank_answer(step, self.behaviour, self._chance, self._practised(state))

    def write(self, step: WriteStep, state: PageState) -> dict[str, Any]:
        """A better reply."""
        return {"kind": "write", "text": self._chance.choice(WRITTEN)}

    def topic(self, step: TopicStep, state: PageState) -> dict[str, Any]:
        """A topic, and what one thinks of it."""
        opinion = self._chance.choice(step.opinions).option_id if step.opinions else ""
        return {"kind": "topic", "text": self._chance.choice(TOPICS), "opinion": opinion}

    def feedback(self, step: FeedbackStep, state: PageState) -> dict[str, Any]:
        """The comment at the end."""
        return {"kind": "feedback", "text": COMMENT}

    def _practised(self, state: PageState) -> PracticeItem | None:
        """The practice item in view; None in the task."""
        if state.phase != "practice" or self.behaviour.practice is None or state.progress is None:
            return None
        return self.behaviour.practice.items[state.progress.current - 1]


def form_answer(
    step: FormStep, panels: list[Panel], behaviour: Behaviour, chance: random.Random, practised: PracticeItem | None
) -> dict[str, Any]:
    """Every question of a form; in practice the right ones."""
    values = {question.question_id: _value(question, panels, behaviour, chance) for question in step.questions}
    if isinstance(practised, PairItem):
        values = dict.fromkeys(values, "first" if practised.better == 1 else "second")
    elif isinstance(practised, SegmentItem):
        values |= {f"label_{index}": sorted(right)[0] for index, right in enumerate(practised.right)}
    reasons = {question.question_id: chance.choice(FORM_REASONS) for question in step.questions if question.reason}
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
    names = list(dict.fromkeys(line.speaker for line in panel.lines))
    return [line for line in panel.lines if line.speaker == names[speaker]]


def _at(scale: Scale, share: float) -> float:
    value = scale.minimum + share * (scale.maximum - scale.minimum)
    return float(round(value)) if scale.style == "points" else round(value, 1)


MakeAnswer = Mapping[str, Callable[[Any, PageState], dict[str, Any]]]


def by_kind(answers: Answers) -> MakeAnswer:
    """Kind of step → what makes its answer."""
    kinds = ("message", "choose", "tick", "rate", "form", "rank", "write", "topic", "feedback")
    return {kind: getattr(answers, kind) for kind in kinds}
