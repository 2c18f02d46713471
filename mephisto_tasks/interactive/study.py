"""What the dialogues of one launch share: settings, models, who gets what, and the words on the page."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

from mephisto_tasks.interactive.config import InteractiveConfig
from parlai_humaneval.agents.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.pool import ModelPool
from parlai_humaneval.models.zoo import ModelSpec
from parlai_humaneval.protocol.allocation import Allocator, Cell, PastDialogue
from parlai_humaneval.protocol.materials import Instructions, Persona
from parlai_humaneval.protocol.practice import Practice
from parlai_humaneval.protocol.records import ContextRecord, ModelRecord


@dataclass(frozen=True)
class Plan:
    """One dialogue before it begins: what will be compared, in which context, from which seed."""

    dialogue_id: str
    cell: Cell
    context: ContextRecord
    seed: int


@dataclass
class Study:
    """One launch. Thread-safe: every rater's world runs in a thread of its own."""

    config: InteractiveConfig
    seed: int
    specs: dict[str, ModelSpec]
    pool: ModelPool
    allocator: Allocator
    personas: list[Persona]
    practice: Practice | None
    instructions: Instructions
    closing: threading.Event = field(default_factory=threading.Event)
    practice_tries_used: dict[str, int] = field(default_factory=dict)
    """Mephisto's worker id → failed attempts at the practice, so that leaving it does not give them back."""
    broken: str | None = None
    """Why nothing is given out any more: dialogues failed in a row. None while all is well."""
    _failures: int = 0
    _models_shown: dict[str, str] = field(default_factory=dict)
    _persona_order: list[Persona] = field(default_factory=list)
    _persona_round: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def plan(self, dialogue_id: str, cell: Cell) -> Plan:
        """Context and seed of a dialogue. The seed depends on the study's seed and the dialogue's id alone."""
        seed = random.Random(f"{self.seed}:{dialogue_id}").getrandbits(31)
        persona = self._next_persona() if self.config.persona else None
        context = ContextRecord(persona=persona.sentences if persona else [])
        return Plan(dialogue_id=dialogue_id, cell=cell, context=context, seed=seed)

    def _next_persona(self) -> Persona:
        """Every persona once before any comes again, in a seeded order."""
        with self._lock:
            if not self._persona_order:
                self._persona_order = list(self.personas)
                random.Random(f"personas:{self.seed}:{self._persona_round}").shuffle(self._persona_order)
                self._persona_round += 1
            return self._persona_order.pop()

    @property
    def paused(self) -> bool:
        """True when nobody new may begin: the launch ends, or its models fail."""
        return self.closing.is_set() or self.broken is not None

    def note_complete(self) -> None:
        """A dialogue came to its end: earlier failures were passing ones."""
        with self._lock:
            self._failures = 0

    def note_failure(self, reason: str) -> None:
        """A dialogue failed on our side. After ``stop_after_failures`` in a row the study is :attr:`broken`."""
        with self._lock:
            self._failures += 1
            if self._failures >= self.config.stop_after_failures:
                self.broken = reason

    def speaker(self, plan: Plan) -> BotSpeakerAgent:
        """The models of a plan as one partner."""
        return self.pool.speaker(list(plan.cell.models), seed=plan.seed)

    def model_records(self, cell: Cell) -> list[ModelRecord]:
        """What a record says of the models of a cell."""
        return [
            ModelRecord(name=spec.name, options=spec.options, description=spec.description, source=spec.source)
            for spec in (self.specs[name] for name in cell.models)
        ]

    def note_candidates(self, shown: Iterable[tuple[str, str]]) -> None:
        """Remember which model is behind a candidate (see :meth:`model_of`)."""
        with self._lock:
            self._models_shown.update(shown)

    def model_of(self, candidate_id: str) -> str | None:
        """The model behind a candidate of a running dialogue. Never sent to a page: simulated raters with a stated
        preference ask here, since nothing that a page receives could tell them."""
        with self._lock:
            return self._models_shown.get(candidate_id)

    def forget_candidates(self, candidate_ids: Iterable[str]) -> None:
        with self._lock:
            for candidate_id in candidate_ids:
                self._models_shown.pop(candidate_id, None)


def restore_allocation(config: InteractiveConfig, past: Iterable[PastDialogue], *, seed: int) -> Allocator:
    """The allocator of a launch, with the counts of earlier launches of the same task."""
    cells = [Cell(models=group, metric=config.metric) for group in config.model_groups()]
    allocator = Allocator(cells, config.dialogues_per_group, seed=seed)
    allocator.restore(past)
    return allocator
