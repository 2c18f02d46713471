"""Plans of a rater's unit, made when the unit is taken: models, contexts, order and seeds."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from mephisto_tasks.chat.config import InteractiveConfig
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.i18n.translate import t
from parlai_humaneval.materials.contexts import Persona, SpeakerContext
from parlai_humaneval.schema.records import ContextRecord, OpeningLine

T = TypeVar("T")


class DialoguePlan(BaseModel, frozen=True):
    """One dialogue before it begins: what will be rated, in which context, from which seed; ``conversation`` of the unit."""

    dialogue_id: str
    models: tuple[str, ...]
    metric: str
    setting: str = ""
    context: ContextRecord
    seed: int
    conversation: int = 1

    @property
    def cell(self) -> Cell:
        return Cell(models=self.models, metric=self.metric, setting=self.setting)


class UnitPlan(BaseModel, frozen=True):
    """The dialogues of a unit of ``conversations``; ``session`` is its name in records. ``held``: what dialogues of
    earlier visits were about, which an earlier version of this program counted apart."""

    session: str
    conversations: int
    plans: tuple[DialoguePlan, ...]
    held: tuple[Cell, ...] = ()

    @property
    def cells(self) -> list[Cell]:
        """The cells of the whole unit, which counts once, however many visits it took."""
        return [*self.held, *(plan.cell for plan in self.plans)]

    def stored(self) -> dict[str, Any]:
        return {**self.model_dump(mode="json"), "planned_at": time.time()}


@dataclass
class Deck(Generic[T]):
    """Draws every item once before any comes again, in a seeded order. Thread-safe."""

    items: Sequence[T]
    seed: str
    _order: list[T] = field(default_factory=list)
    _round: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def draw(self) -> T:
        with self._lock:
            if not self._order:
                self._order = list(self.items)
                random.Random(f"{self.seed}:{self._round}").shuffle(self._order)
                self._round += 1
            return self._order.pop()


class Planner:
    """Makes the plans of a study: a dialogue's seed depends on the study's and the dialogue's id alone. ``personas``:
    of the rater, where no context gives one; ``contexts``, of both, and ``openers`` may be empty."""

    def __init__(
        self,
        config: InteractiveConfig,
        seed: int,
        *,
        personas: Sequence[Persona] = (),
        contexts: Sequence[SpeakerContext] = (),
        openers: Sequence[str] = (),
    ) -> None:
        self._config = config
        self._seed = seed
        self._personas = Deck(personas, f"personas:{seed}") if config.persona and personas else None
        self._contexts = Deck(contexts, f"contexts:{seed}") if contexts else None
        self._openers = Deck(openers, f"openers:{seed}") if openers else None

    @property
    def begun(self) -> bool:
        """Whether lines stand on the page before the rater writes, from a context or an opener."""
        contexts = self._contexts.items if self._contexts else ()
        return self._openers is not None or any(context.opening for context in contexts)

    def plan(self, unit: str, cells: Sequence[Cell]) -> UnitPlan:
        """The unit called ``unit`` with one dialogue for each of ``cells``; the quality-control model's comes among them."""
        name = self._config.quality_control_model
        cells = [*cells, *([Cell(models=(name,), metric=cells[0].metric, setting=cells[0].setting)] if name else [])]
        random.Random(f"unit:{self._seed}:{unit}").shuffle(cells)
        several = len(cells) > 1
        plans = tuple(
            self._plan_one(f"{unit}-{number}" if several else unit, cell, number)
            for number, cell in enumerate(cells, start=1)
        )
        return UnitPlan(session=unit, conversations=len(plans), plans=plans)

    def _plan_one(self, dialogue_id: str, cell: Cell, number: int) -> DialoguePlan:
        seed = random.Random(f"{self._seed}:{dialogue_id}").getrandbits(31)
        context = self._context(cell, random.Random(f"context:{seed}"))
        return DialoguePlan(dialogue_id=dialogue_id, **asdict(cell), context=context, seed=seed, conversation=number)

    def _context(self, cell: Cell, chance: random.Random) -> ContextRecord:
        given = self._contexts.draw() if self._contexts else None
        record = ContextRecord() if given is None else self._of_context(given, cell, chance)
        if self._config.persona and not record.persona and self._personas:
            persona = self._personas.draw()
            record.persona = _said(persona.sentences)
            record.context_id = record.context_id or persona.persona_id
        if not record.opening and self._openers:
            record.opening = [OpeningLine(speaker=self._config.opener_speaker, text=t(self._openers.draw()))]
        return record

    def _of_context(self, given: SpeakerContext, cell: Cell, chance: random.Random) -> ContextRecord:
        playing = [model for model in cell.models if self._config.has_persona(model)]
        record = ContextRecord(
            context_id=given.context_id,
            persona=_said(given.human_persona) if self._config.persona else [],
            bot_personas={model: _said(given.bot_persona) for model in playing if given.bot_persona},
            opening=[OpeningLine(speaker=speaker, text=t(text)) for speaker, text in given.opening],
        )
        if self._config.topic == "icebreaker":
            record.topic, record.topic_source = t(chance.choice(given.bot_persona)), "icebreaker"
        elif given.topic and self._config.topic == "none":
            record.topic, record.topic_source = t(given.topic), "context"
        return record


def _said(sentences: Sequence[str]) -> list[str]:
    return [t(sentence) for sentence in sentences]
