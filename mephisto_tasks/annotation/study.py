"""What the raters of one launch of engine 2 share: dialogues, items, who gets what, and the words on the page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from mephisto_tasks.admission.wording import UnitWords
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.display import masked, shown_item
from mephisto_tasks.annotation.items import BatchPlan, ItemToJudge, PlannedItem, plan_batch
from mephisto_tasks.annotation.practice import GoldDeck, JudgingPractice, right_side, shown_pair, shown_segment
from mephisto_tasks.annotation.world import JudgingWorld
from mephisto_tasks.control.steering import Field
from mephisto_tasks.session import study as engine
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.study import HeldUnit
from mephisto_tasks.storage.unfinished import CutOff
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.allocation.item import Item
from parlai_humaneval.allocation.items import ItemAllocator
from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.display.presenter import AS_SAID, Presenter
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.materials.practice import PairItem, SegmentItem
from parlai_humaneval.schema.records import ModelHealth
from parlai_humaneval.schema.steps import Notice, Progress

GO_ON = Notice(level="info", text=phrase("Welcome back! Your earlier answers are saved. Please go on here."))
JUDGING = UnitWords(
    complete=phrase("Your answers are complete and saved."),
    whole=phrase("task"),
    one=phrase("task"),
    begins=phrase("Now the real conversations begin."),
    counted="judgements",
)
JUDGING_PAIRS = replace(JUDGING, many=phrase("pairs"), begins=phrase("Now the real pairs of conversations begin."))


@dataclass(kw_only=True)
class Study(engine.Study):
    """One launch. Thread-safe: every rater's unit runs in a thread of its own."""

    config: StaticConfig
    dialogues: Mapping[str, Dialogue]
    items: Mapping[str, Item]
    allocator: ItemAllocator
    golds: GoldDeck
    presenter: Presenter = AS_SAID
    """How what models said is shown."""
    _worker_of: dict[str, str] = field(default_factory=dict)
    """Agent → worker, of the units of this launch."""

    @property
    def unit_words(self) -> UnitWords:
        return JUDGING_PAIRS if self.config.show == "pair" else JUDGING

    @cached_property
    def recorded_settings(self) -> dict[str, Any]:
        """The settings as they stand with every judgement."""
        return {**self.config.model_dump(mode="json"), "study_seed": self.seed}

    @cached_property
    def rated_models(self) -> list[str]:
        return sorted({name for item in self.items.values() for name in item.cell.models})

    def resources(self) -> AbstractContextManager[Any]:
        """Nothing: the models have spoken."""
        return nullcontext()

    def begin_unit(self, worker: str, agent: str, name: str) -> dict[str, Any] | None:
        batch = self.allocator.claim(worker, agent, name)
        if batch is None:
            return None
        self._worker_of[agent] = worker
        plan = plan_batch(
            session=batch.session,
            name=name,
            item_ids=[item.item_id for item in batch.items],
            golds=self.golds.draw(worker, batch.session, name),
            golds_done=self.golds.judged(batch.session),
            done=batch.done,
            wanted=batch.numbers,
            swap=self.config.show == "pair",
            seed=self.seed,
        )
        return plan.model_dump(mode="json")

    def claim_left(self, worker: str, agent: str, name: str, left: CutOff) -> dict[str, Any] | None:
        plan, open_ = BatchPlan.model_validate(left.plan), open_items(left)
        ordinary = [item.item_id for item in open_ if item.gold is None]
        claimed = self.allocator.claim_again(worker, agent, plan.session, ordinary)
        if ordinary and not claimed:
            return None
        self._worker_of[agent] = worker
        others = {was: claimed[was].item_id if was in claimed else None for was in ordinary}
        lost = {was: now for was, now in others.items() if was != now}
        lost |= {item.item_id: None for item in open_ if item.gold is not None and not self.golds.has(item.gold)}
        return plan.without(lost, name).model_dump(mode="json")

    def hold_unit(self, stored: dict[str, Any], agent: str, page: PageSession) -> HeldBatch:
        return HeldBatch(self, BatchPlan.model_validate(stored), agent, page)

    def drop_unit(self, agent: str, held: HeldUnit[Any] | None) -> None:
        self.allocator.abandon(agent)

    def finish_unit(self, agent: str) -> None:
        self.allocator.complete(agent)

    def take_cut_off(self, worker: str) -> bool:
        return False  # a batch says itself that it is gone on with

    def availability(self, worker: str) -> engine.Availability:
        if self.allocator.is_busy(worker):
            return "busy"
        if self._can_go_on(worker):
            return "open"
        if self.allocator.available(worker):
            return "open"
        return "done_all" if self.allocator.has_done_all(worker) else "all_taken"

    def goes_on(self, worker: str) -> bool:
        return self._can_go_on(worker) or self.allocator.goes_on(worker)

    def _can_go_on(self, worker: str) -> bool:
        left = self.left.get(worker)
        return left is not None and self.can_go_on(worker, left)

    def can_go_on(self, worker: str, left: CutOff) -> bool:
        """Whether others have left anything of a worker's unit that was cut off."""
        return self.allocator.can_go_on(worker, [item.item_id for item in open_items(left) if item.gold is None])

    def bar_groups(self, worker: str, groups: Collection[frozenset[str]]) -> None:
        self.allocator.bar_groups(worker, groups)

    @cached_property
    def _most(self) -> Mapping[Cell, int]:
        """Judgements that can be had: a pair of dialogues is judged once, everything else as often as is asked for."""
        return self.allocator.most() if self.config.show == "pair" else {}

    def steered_by(self) -> Field:
        groups = engine.groups_of(self.asked, self._most)
        return Field(groups, counted=JUDGING.counted, drawn=self.config.is_decided)

    def models_now(self) -> list[ModelHealth]:
        return []

    def practice_loop(
        self, page: PageSession, *, seed: int, used: int, on_verdict: Callable[[bool], None]
    ) -> JudgingPractice:
        assert self.practice is not None, "onboarding runs only where practice items are configured"
        return JudgingPractice(
            self.practice, self.config, page, begins=self.unit_words.begins, used=used, on_verdict=on_verdict
        )

    def note_shown_item(self, agent: str, planned: PlannedItem) -> None:
        """The rater of a unit sees an item."""
        if planned.gold is None:
            self.allocator.note_shown(agent, planned.item_id)
        else:
            self.golds.note_shown(self._worker_of[agent], planned.item_id)

    def note_judged_item(self, agent: str, plan: BatchPlan, planned: PlannedItem) -> None:
        """They have answered all that is asked about it."""
        if planned.gold is None:
            self.allocator.note_done(agent, planned.item_id)
        else:
            self.golds.note_judged(plan.session)

    def item_to_judge(self, plan: BatchPlan, index: int) -> ItemToJudge:
        """What a rater is shown and asked at an index of their unit."""
        planned, number = plan.items[index], plan.number + index
        common: dict[str, Any] = {
            "judgement_id": plan.judgement_id(index),
            "item_id": planned.item_id,
            "seed": planned.seed,
            "session": plan.session,
            "number": number,
            "numbers": plan.numbers,
        }
        if planned.gold is not None:
            return self._gold(planned, planned.gold, common)
        item = self.items[planned.item_id]
        shown = [
            masked(dialogue, self.rated_models, self.presenter)
            for dialogue in shown_item(item, self.dialogues, self.config.seed_exchanges, swapped=planned.swapped)
        ]
        setting = item.cell.setting if self.config.show == "pair" else self.config.setting
        return ItemToJudge(**common, setting=setting, group=item.cell.models, dialogues=shown, turn=item.turn)

    def _gold(self, planned: PlannedItem, number: int, common: Mapping[str, Any]) -> ItemToJudge:
        gold = self.golds.item(number)
        if isinstance(gold, PairItem):
            shown = shown_pair(gold, planned.item_id, planned.swapped)
            expected = {self.config.metric: right_side(gold, planned.swapped)}
        else:
            assert isinstance(gold, SegmentItem)
            shown = shown_segment(gold, planned.item_id)
            expected = {f"label_{index}": next(iter(right)) for index, right in enumerate(gold.right)}
        return ItemToJudge(**common, setting=self.config.setting, group=(), dialogues=shown, expected=expected)


class HeldBatch(HeldUnit[PlannedItem]):
    """The items of one rater's unit.

    Args:
        study: the launch that it belongs to.
        plan: the items that are still to be judged.
        agent: the key under which the unit is counted.
        page: the rater's page.
    """

    def __init__(self, study: Study, plan: BatchPlan, agent: str, page: PageSession) -> None:
        super().__init__(
            page,
            plan.items,
            name=f"unit {plan.name}",
            over=phrase("That was the last one, thank you! Is there anything you would like to tell us? (optional)"),
            go_on=GO_ON if plan.number > 1 or page.recorded.finished(plan.judgement_id(0)) else None,
        )
        self._study = study
        self._plan = plan
        self._agent = agent

    def part_id(self, part: PlannedItem) -> str:
        return self._plan.judgement_id(len(self.done))

    def hold(self, part: PlannedItem) -> None:
        study = self._study
        item = study.item_to_judge(self._plan, len(self.done))
        self.world = JudgingWorld(study.config, item, self.page, study.shown, study.recorded_settings)
        self.page.progress = self.progress_at(part)
        study.note_shown_item(self._agent, part)
        self.world.run()
        study.note_judged_item(self._agent, self._plan, part)
        study.note_answers(self.page, item.judgement_id)

    def progress_at(self, part: PlannedItem) -> Progress:
        unit = "pair" if self._study.config.show == "pair" else "conversation"
        return Progress(unit=unit, current=self._plan.number + len(self.done), total=self._plan.numbers)

    def leave(self, worker: str, agent: str) -> None:
        """The rater went away: what they answered counts, the rest is given out again."""
        self._study.allocator.abandon(agent)

    def ask_feedback(self) -> None:
        self.page.clear()
        super().ask_feedback()


def open_items(left: CutOff) -> list[PlannedItem]:
    """What is still to be judged of a unit that was cut off."""
    plan, finished = BatchPlan.model_validate(left.plan), left.finished
    return [item for index, item in enumerate(plan.items) if plan.judgement_id(index) not in finished]
