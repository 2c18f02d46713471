"""What the dialogues of one launch share: settings, models, who gets what, and the words on the page."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from mephisto_tasks.interactive.config import InteractiveConfig
from mephisto_tasks.interactive.plans import Plan, Planner, UnitPlan
from mephisto_tasks.interactive.practice_rules import check_practice
from parlai_humaneval.agents.bot_speaker import BotSpeakerAgent
from parlai_humaneval.models.pool import ModelPool
from parlai_humaneval.models.zoo import ModelSpec
from parlai_humaneval.protocol.allocation import Allocator, Cell, PastDialogue
from parlai_humaneval.protocol.materials import Instructions
from parlai_humaneval.protocol.practice import Practice
from parlai_humaneval.protocol.records import ModelRecord


@dataclass
class Study:
    """One launch. Thread-safe: every rater's world runs in a thread of its own."""

    config: InteractiveConfig
    seed: int
    specs: dict[str, ModelSpec]
    pool: ModelPool
    allocator: Allocator
    planner: Planner
    practice: Practice | None
    instructions: Instructions
    topics: list[str] = field(default_factory=list)
    """Openings that the page offers; empty where it offers none."""
    unfinished: dict[str, UnitPlan] = field(default_factory=dict)
    """Mephisto's worker id → what is left of a unit of several conversations that was cut off."""
    closing: threading.Event = field(default_factory=threading.Event)
    practice_tries_used: dict[str, int] = field(default_factory=dict)
    """Mephisto's worker id → failed attempts at the practice, so that leaving it does not give them back."""
    broken: str | None = None
    """Why nothing is given out any more: dialogues failed in a row. None while all is well."""
    _failures: int = 0
    _models_shown: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take_unit(self, worker: str, agent: str, name: str) -> UnitPlan | None:
        """The dialogues of a worker's new unit, or those that an earlier one of theirs still lacks; None: there are none.

        Args:
            worker: Mephisto's id of the worker.
            agent: the key under which the unit is counted.
            name: of a new unit, in records.
        """
        with self._lock:
            left = self.unfinished.pop(worker, None)
        if left is not None:
            self.allocator.claim_again(worker, agent, left.cells)
            return left.renamed(name)
        cells = self.allocator.claim(worker, agent)
        if cells is None:
            return None
        try:
            return self.planner.plan(name, cells)
        except BaseException:  # nobody would ever end a unit that did not begin
            self.allocator.abandon(agent, rated=[])
            raise

    def leave_unit(self, worker: str, agent: str, unit: UnitPlan, done: Sequence[int], begun: Sequence[Cell]) -> None:
        """The worker went away. ``done``: conversations that are complete; ``begun``: what they have rated anything of.

        Of several conversations those that are left wait for the worker; the unit is given out anew all the same.
        """
        self.allocator.abandon(agent, rated=[*unit.held, *begun])
        if unit.conversations > 1 and (done or len(unit.plans) < unit.conversations):
            with self._lock:
                self.unfinished[worker] = unit.without(done)

    def practice_config(self) -> InteractiveConfig:
        """The settings that the practice asks by: of several, the first that its items fit."""
        assert self.practice is not None
        each = [self.config.of(setting) for setting in self.config.settings()]
        return next((one for one in each if check_practice(self.practice, one) is None), each[0])

    def may_begin(self, worker: str) -> bool:
        """Whether there is something for this worker now."""
        return worker in self.unfinished or bool(self.allocator.available(worker))

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

    def speaker(self, plan: Plan, config: InteractiveConfig) -> BotSpeakerAgent:
        """The models of a plan as one partner; two that stand side by side keep their places."""
        return self.pool.speaker(
            list(plan.cell.models),
            seed=plan.seed,
            history=config.history,
            order="fixed" if config.verdict else "balanced",
            personas=plan.context.bot_personas,
        )

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
    cells = [
        Cell(models=group, metric=config.metric, setting=setting)
        for setting in config.settings()
        for group in config.model_groups()
    ]
    per_unit = config.conversations_per_unit - bool(config.quality_control_model)
    allocator = Allocator(
        cells, config.dialogues_per_group, seed=seed, per_unit=per_unit, per_worker=config.dialogues_per_worker
    )
    allocator.restore(past)
    return allocator
