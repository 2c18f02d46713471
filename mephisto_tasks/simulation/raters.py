"""Raters that are programs: they speak the page's protocol over real HTTP and websockets. In addition to the page, they
know the right answers of the practice, and, for a stated preference, the model behind a reply (``model_of``)."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mephisto_tasks.server.security import Browser
from mephisto_tasks.simulation.page_client import PageClient
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval.dialogues.dialogue import HUMAN
from parlai_humaneval.materials import instructions as items
from parlai_humaneval.schema import steps
from parlai_humaneval.schema.steps import EndStep, FormQuestion, PageState, Panel, PanelLine, WaitStep
from parlai_humaneval.techniques.questions import CRITERIA

SENTENCES: Mapping[str, list[str]] = read_yaml(Path(__file__).with_name("sentences.yaml"))
LIKING_OF_WORST = 0.05
TAKEN_FOR_HUMAN = 0.8  # how often a simulated rater takes a person for one
COMMENT = "A simulated rater's comment."


@dataclass
class Behaviour:
    """How a simulated rater judges; ``strength``: how often a reply of the preferred model is chosen or liked;
    ``taste`` of a text is in place of ``model_of`` and ``prefer``."""

    model_of: Callable[[str], str | None] = field(default=lambda _: None)
    prefer: str | None = None  # the model that is liked better; with ``model_of``
    strength: float = 0.7
    practice: items.Practice | None = None  # the practice with its right answers (a person can tell)
    position_bias: float = 0.0  # probability of choosing the first card without looking
    more_turns: int = 0  # turns that the rater goes on for after the fewest, where they may end the dialogue
    taste: Callable[[str], float] | None = None
    worst: str | None = None  # the degraded model, to check raters: attentive raters rate it very low
    careless: float = 0.1  # probability that a rater does not notice how bad ``worst`` is, in any of its dialogues
    think_s: float = 0.0  # mean pause before an answer, in seconds (exponential); 0: at once

    def liking(self, candidate_id: str, text: str = "") -> float:
        if self.taste is not None:
            return self.taste(text)
        model = self.model_of(candidate_id)
        if self.prefer is None or model is None:
            return 0.5
        return self.strength if model == self.prefer else 1 - self.strength

    def liking_of(self, lines: Sequence[PanelLine]) -> float:
        if self.taste is not None:
            return sum(self.taste(line.text) for line in lines) / len(lines)
        return self.liking(lines[0].line_id)


class Answers:
    """Makes the answers of one rater; every method gives the fields of an answer besides its ids."""

    def __init__(self, behaviour: Behaviour, chance: random.Random) -> None:
        self.behaviour = behaviour
        self._chance = chance
        self._notices = behaviour.worst is not None and chance.random() >= behaviour.careless

    def message(self, step: steps.MessageStep, state: steps.PageState) -> dict[str, Any]:
        """The next message, or the action that ends the conversation once that is possible."""
        end = self._way_out(step, state)
        if end is not None:
            return {"kind": "action", "action_id": end}
        lines = SENTENCES["openers"] + (state.context.lines if state.context else [])
        return {"kind": "message", "text": self._chance.choice(lines)}

    def _way_out(self, step: steps.MessageStep, state: steps.PageState) -> str | None:
        turns = state.within or state.progress
        minimum = (turns.minimum or 1) if turns else 1
        if turns is None or turns.current <= minimum + self.behaviour.more_turns:
            return None
        open_ = {action.action_id for action in step.actions if action.enabled}
        if "end" in open_:
            return "end"
        return self._verdict(state) if "tie" in open_ else None

    def _verdict(self, state: steps.PageState) -> str:
        newest = {entry.column: entry.entry_id for entry in state.transcript if entry.column is not None}
        likes_a, likes_b = (self._chance.random() < self.behaviour.liking(newest[column]) for column in (0, 1))
        if likes_a == likes_b:
            return "tie" if likes_a else "both_bad"
        return "a" if likes_a else "b"

    def choose(self, step: steps.ChooseStep, state: steps.PageState) -> dict[str, Any]:
        item = self._practised(state)
        if isinstance(item, items.ChooseItem):
            right = {item.replies[number - 1] for number in item.right}
            selected = [card.candidate_id for card in step.cards if card.text in right]
        else:
            is_one = step.min_choices == step.max_choices == 1
            selected = [self._one(step)] if is_one else self._several(step)
        reason = self._chance.choice(SENTENCES["reasons"]) if step.reason else ""
        return {"kind": "choose", "selected": selected, "none": not selected, "reason": reason}

    def _one(self, step: steps.ChooseStep) -> str:
        ids = [card.candidate_id for card in step.cards]
        if self._chance.random() < self.behaviour.position_bias:
            return ids[0]
        liked = [i for i in ids if self.behaviour.prefer and self.behaviour.model_of(i) == self.behaviour.prefer]
        others = [i for i in ids if i not in liked]
        if liked and (not others or self._chance.random() < self.behaviour.strength):
            return self._chance.choice(liked)
        return self._chance.choice(others or ids)

    def _several(self, step: steps.ChooseStep) -> list[str]:
        liked = [
            card.candidate_id for card in step.cards if self._chance.random() < self.behaviour.liking(card.candidate_id)
        ]
        if len(liked) < step.min_choices:
            return [self._one(step)]
        return liked[: step.max_choices]

    def tick(self, step: steps.TickStep, state: steps.PageState) -> dict[str, Any]:
        """What is true of the reply; or, of two partners, which is better."""
        item = self._practised(state)
        if isinstance(item, items.TickItem):
            selected = list(item.must)
        elif isinstance(item, items.VerdictItem):
            selected = [item.better]
        elif step.reply is None:
            selected = [self._verdict(state)]
        else:
            liking = self.behaviour.liking(step.reply.candidate_id)
            selected = [option.option_id for option in step.options if self._chance.random() < liking]
        return {"kind": "tick", "selected": selected, "none": not selected}

    def rate(self, step: steps.RateStep, state: steps.PageState) -> dict[str, Any]:
        item = self._practised(state)
        if isinstance(item, items.RateItem):
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

    def _agreement(self, scale: steps.Scale, liking: float) -> float:
        known = CRITERIA["slider"].get(scale.scale_id)
        bad = scale.style == "slider" and known is not None and known.reversed
        return min(1.0, max(0.0, self._chance.gauss(1 - liking if bad else liking, 0.12)))

    def form(self, step: steps.FormStep, state: steps.PageState) -> dict[str, Any]:
        practised, chance = self._practised(state), self._chance
        values = {question.question_id: self._option(question, state.panels) for question in step.questions}
        if isinstance(practised, items.PairItem):
            values = dict.fromkeys(values, "first" if practised.better == 1 else "second")
        elif isinstance(practised, items.SegmentItem):
            values |= {f"label_{index}": sorted(right)[0] for index, right in enumerate(practised.right)}
        asked = [question.question_id for question in step.questions if question.reason]
        reasons = {name: chance.choice(SENTENCES["form_reasons"]) for name in asked}
        return {"kind": "form", "values": values, "reasons": reasons}

    def _option(self, question: FormQuestion, panels: list[steps.Panel]) -> str:
        options = [option.option_id for option in question.options]
        if options == ["first", "second"]:
            return self._which([[line for line in panel.lines if line.judged] for panel in panels])
        if question.question_id.startswith("label_"):
            return self._label(_said_by(panels[0], int(question.question_id[-1])))
        if options == ["first", "same", "second"]:
            if self._chance.random() < 0.4:
                return "same"
            return self._which([_said_by(panels[0], index) for index in range(2)])
        return self._chance.choice(options)

    def _which(self, said: Sequence[Sequence[PanelLine]]) -> str:
        first, second = map(self.behaviour.liking_of, said)
        drawn = self._chance.random() * (first + second or 1)
        return "first" if drawn < (first if first + second else 0.5) else "second"

    def _label(self, lines: list[PanelLine]) -> str:
        """Human, unsure or bot; the longer the dialogue, the more often a bot is found out."""
        human = self.behaviour.model_of(lines[0].line_id) == HUMAN
        passes = TAKEN_FOR_HUMAN if human else self.behaviour.liking_of(lines) * 0.9 ** len(lines)
        drawn = self._chance.random()
        return "human" if drawn < passes else "unsure" if drawn < passes + 0.15 else "bot"

    def rank(self, step: steps.RankStep, state: steps.PageState) -> dict[str, Any]:
        """The preferred replies first, with a coin toss between equals. In practice the right ones stand first."""
        practised = self._practised(state)
        if isinstance(practised, items.ChooseItem):
            right = {practised.replies[number - 1] for number in practised.right}
            noisy = {card.candidate_id: float(card.text in right) for card in step.cards}
        else:
            liking = {card.candidate_id: self.behaviour.liking(card.candidate_id, card.text) for card in step.cards}
            noisy = {name: self._chance.gauss(how_much, 0.3) for name, how_much in liking.items()}
        order = sorted(noisy, key=lambda name: -noisy[name])
        return {"kind": "rank", "ranks": {name: place for place, name in enumerate(order, start=1)}}

    def write(self, step: steps.WriteStep, state: steps.PageState) -> dict[str, Any]:
        return {"kind": "write", "text": self._chance.choice(SENTENCES["written"])}

    def topic(self, step: steps.TopicStep, state: steps.PageState) -> dict[str, Any]:
        opinion = self._chance.choice(step.opinions).option_id if step.opinions else ""
        return {"kind": "topic", "text": self._chance.choice(SENTENCES["topics"]), "opinion": opinion}

    def feedback(self, step: steps.FeedbackStep, state: steps.PageState) -> dict[str, Any]:
        return {"kind": "feedback", "text": COMMENT}

    def _practised(self, state: steps.PageState) -> items.PracticeItem | None:
        if state.phase != "practice" or self.behaviour.practice is None or state.progress is None:
            return None
        return self.behaviour.practice.items[state.progress.current - 1]


def _said_by(panel: Panel, speaker: int) -> list[PanelLine]:
    names = list(dict.fromkeys(line.speaker for line in panel.lines))
    return [line for line in panel.lines if line.speaker == names[speaker]]


def _at(scale: steps.Scale, share: float) -> float:
    value = scale.minimum + share * (scale.maximum - scale.minimum)
    return float(round(value)) if scale.style == "points" else round(value, 1)


MakeAnswer = Mapping[str, Callable[[Any, steps.PageState], dict[str, Any]]]


def by_kind(answers: Answers) -> MakeAnswer:
    kinds = ("message", "choose", "tick", "rate", "form", "rank", "write", "topic", "feedback")
    return {kind: getattr(answers, kind) for kind in kinds}


__all__ = ["Behaviour", "Outcome", "SentTurn", "SimulatedRater", "run_raters"]

STATE_TIMEOUT_S = 600.0  # longer than a study waits for a model's server


@dataclass
class SentTurn:
    """A rater's messages in one turn, for comparison with the stored data. ``message`` None: it was sent for them."""

    message: str | None
    selected: list[str] = field(default_factory=list)
    ticks: list[str] | None = None
    written: str | None = None
    reason: str = ""


@dataclass
class Outcome:
    """How one simulated rater fared: ``refused`` with a sentence, or every answer as it was sent, in order."""

    worker: str
    finished: bool = False
    refused: str | None = None
    stopped: str | None = None
    answers: list[dict[str, Any]] = field(default_factory=list)
    turns: list[SentTurn] = field(default_factory=list)
    feedback: str | None = None
    waits_s: list[float] = field(default_factory=list)
    """Seconds from sending a message to seeing what it leads to, a value a turn."""


class SimulatedRater:
    """One worker who takes one unit: practice if asked, the conversations, the comment box, the submit."""

    def __init__(
        self, base_url: str, worker: str, behaviour: Behaviour, *, seed: int, page: PageClient | None = None
    ) -> None:
        self._client = page or PageClient(
            base_url, worker_id=worker, assignment_id=f"a-{worker}", browser=browser_of_simulated(worker)
        )
        self._behaviour = behaviour
        self._random = random.Random(f"rater:{seed}:{worker}")
        self._make = by_kind(Answers(behaviour, self._random))
        self._message: str | None = None
        self._sent_at: float | None = None
        self.outcome = Outcome(worker=worker)

    async def run(self) -> Outcome:
        async with self._client as client:
            await client.enter()
            version = 0
            while client.refused is None:
                state = await client.next_state(after_version=version, timeout=STATE_TIMEOUT_S)
                version = state.version
                if isinstance(state.step, EndStep):
                    if await self._end(state.step):
                        break
                    version = 0  # a new agent restarts its count of states
                else:
                    version = (await self._step(state)).version - 1
            self.outcome.refused = client.refused
        return self.outcome

    async def _end(self, step: EndStep) -> bool:
        if step.next == "submit_onboarding":
            await self._client.submit_onboarding()
            return False
        if step.next == "submit":
            await self._client.submit_task()
            self.outcome.finished = True
        else:
            self.outcome.stopped = step.title
        return True

    async def _step(self, state: PageState) -> PageState:
        step = state.step
        if isinstance(step, WaitStep):
            return await self._client.next_state(after_version=state.version, timeout=STATE_TIMEOUT_S)
        assert not isinstance(step, EndStep)
        if self._sent_at is not None:
            self.outcome.waits_s.append(asyncio.get_running_loop().time() - self._sent_at)
            self._sent_at = None
        if self._behaviour.think_s:
            await asyncio.sleep(self._random.expovariate(1 / self._behaviour.think_s))
        answer = {"step_id": step.step_id, **self._make[step.kind](step, state)}
        if state.phase == "task":
            self._note(answer)
        if answer["kind"] == "message":
            self._sent_at = asyncio.get_running_loop().time()
        return await self._answer(answer)

    def _note(self, answer: dict[str, Any]) -> None:
        self.outcome.answers.append(answer)
        turns, kind = self.outcome.turns, answer["kind"]
        if kind == "message":
            self._message = answer["text"]
        elif kind == "choose":
            turns.append(SentTurn(self._message, selected=answer["selected"], reason=answer["reason"]))
        elif kind == "tick" and answer["step_id"].startswith("rate-"):
            turns.append(SentTurn(self._message, ticks=answer["selected"]))
        elif kind == "write":
            turns[-1].written = answer["text"]
        elif kind == "feedback":
            self.outcome.feedback = answer["text"]

    async def _answer(self, answer: dict[str, Any]) -> PageState:
        state = await self._client.answer(answer)
        if state.notice is not None and state.notice.level == "error":
            raise RuntimeError(f"an answer of {self.outcome.worker} was refused: {state.notice.text}")
        return state


def browser_of_simulated(worker: str) -> Browser:
    """The same in every launch, so that a simulated rater may come back. It is not a secret: anybody can work it out."""
    return Browser(hashlib.sha256(f"simulated:{worker}".encode()).hexdigest())


async def run_raters(
    base_url: str,
    behaviour: Behaviour,
    *,
    announce: Callable[[str], None],
    raters: int,
    dialogues: int,
    seed: int,
    name: str = "sim",
    on_outcome: Callable[[Outcome], None] = lambda outcome: None,
) -> list[Outcome]:
    """``dialogues`` workers, ``raters`` at a time; ``announce`` is called with each worker's name before they come (a
    launch's ``simulated.add``). Raises RuntimeError: an answer was refused; the others are cancelled."""
    places = asyncio.Semaphore(raters)

    async def rate(number: int) -> Outcome:
        async with places:
            worker = f"{name}-{number}"
            announce(worker)
            outcome = await SimulatedRater(base_url, worker, behaviour, seed=seed).run()
            on_outcome(outcome)
            return outcome

    return list(await asyncio.gather(*(rate(number) for number in range(1, dialogues + 1))))
