"""What the raters of one launch of engine 2 share: dialogues, items, who gets what, and the words on the page."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from mephisto_tasks.annotation import steps
from mephisto_tasks.annotation.config import StaticConfig
from mephisto_tasks.annotation.items import BatchPlan, PlannedItem, plan_batch
from mephisto_tasks.annotation.world import JudgingWorld
from mephisto_tasks.control.orders import Field
from mephisto_tasks.session import study as engine
from mephisto_tasks.session.page import PageSession
from mephisto_tasks.session.study import HeldUnit, UnitWords
from mephisto_tasks.storage.work import CutOff
from parlai_humaneval.allocation.groups import Cell, Item
from parlai_humaneval.allocation.items import ItemAllocator
from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.display.presenter import AS_SAID, Presenter
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.materials.instructions import PairItem, SegmentItem
from parlai_humaneval.schema.records import JudgementItem, ModelHealth
from parlai_humaneval.schema.steps import Notice, Progress

GO_ON = Notice(level="info", text=phrase("Welcome back! Your earlier answers are saved. Please continue here."))
JUDGING = UnitWords(
    complete=phrase("Your answers are complete and saved."),
    whole=phrase("task"),
    one=phrase("task"),
    begins=phrase("Now the real conversations begin."),
    counted="judgements",
)
JUDGING_PAIRS = replace(JUDGING, many=phrase("pairs"), begins=phrase("Now the real pairs of conversations begin."))


@dataclass(kw_only=True)
class AnnotationStudy(engine.Study):
    config: StaticConfig
    dialogues: Mapping[str, Dialogue]
    items: Mapping[str, Item]
    allocator: ItemAllocator
    golds: steps.GoldDeck
    presenter: Presenter = AS_SAID  # how what models said is shown

    @property
    def unit_words(self) -> UnitWords:
        return JUDGING_PAIRS if self.config.show == "pair" else JUDGING

    @cached_property
    def recorded_settings(self) -> dict[str, Any]:
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
        others = {was: claimed[was].item_id if was in claimed else None for was in ordinary}
        lost = {was: now for was, now in others.items() if was != now}
        lost |= {item.item_id: None for item in open_ if item.gold is not None and item.gold > len(self.golds.items)}
        return plan.without(lost, name).model_dump(mode="json")

    def hold_unit(self, stored: dict[str, Any], agent: str, page: PageSession) -> HeldBatch:
        return HeldBatch(self, BatchPlan.model_validate(stored), agent, page)

    def drop_unit(self, agent: str, held: HeldUnit[Any] | None) -> None:
        self.allocator.abandon(agent)

    def take_cut_off(self, worker: str) -> bool:
        return False  # a batch says itself that it is gone on with

    def availability(self, worker: str) -> engine.Availability:
        if self.allocator.is_busy(worker):
            return "busy"
        if self._can_go_on(worker) or self.allocator.available(worker):
            return "open"
        return "done_all" if self.allocator.has_done_all(worker) else "all_taken"

    def can_resume(self, worker: str) -> bool:
        return self._can_go_on(worker) or self.allocator.can_resume(worker)

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
    ) -> steps.JudgingPractice:
        assert self.practice is not None, "onboarding runs only where practice items are configured"
        return steps.JudgingPractice(
            self.practice, self.config, page, begins=self.unit_words.begins, used=used, on_verdict=on_verdict
        )

    def item_to_judge(self, plan: BatchPlan, index: int) -> JudgementItem:
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
            gold = self.golds.items[planned.gold - 1]
            if isinstance(gold, PairItem):
                shown = steps.shown_pair(gold, planned.item_id, planned.swapped)
                expected = {self.config.metric: steps.right_side(gold, planned.swapped)}
            else:
                assert isinstance(gold, SegmentItem)
                shown = steps.shown_segment(gold, planned.item_id)
                expected = {f"label_{index}": next(iter(right)) for index, right in enumerate(gold.right)}
            return JudgementItem(**common, setting=self.config.setting, group=[], dialogues=shown, expected=expected)
        item = self.items[planned.item_id]
        shown = [
            steps.masked(dialogue, self.rated_models, self.presenter)
            for dialogue in steps.shown_item(item, self.dialogues, self.config.seed_exchanges, swapped=planned.swapped)
        ]
        setting = item.cell.setting if self.config.show == "pair" else self.config.setting
        return JudgementItem(**common, setting=setting, group=list(item.cell.models), dialogues=shown)


class HeldBatch(HeldUnit[PlannedItem]):
    """The items of one rater's unit that are still to be judged, counted under ``agent``."""

    def __init__(self, study: AnnotationStudy, plan: BatchPlan, agent: str, page: PageSession) -> None:
        super().__init__(
            page,
            plan.items,
            unit=f"unit {plan.name}",
            over=phrase("That was the last one. Thank you! Is there anything you would like to tell us? (optional)"),
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
        turn = None if part.gold is not None else study.items[part.item_id].turn
        self.world = JudgingWorld(study.config, item, turn, self.page, study.shown, study.recorded_settings)
        self.page.progress = self.progress_at(part)
        if part.gold is None:
            study.allocator.note_shown(self._agent, part.item_id)
        else:
            study.golds.note_shown(self.page.worker_id, part.item_id)
        self.world.run()
        if part.gold is None:
            study.allocator.note_done(self._agent, part.item_id)
        else:
            study.golds.note_judged(self._plan.session)
        study.note_answers(self.page, item.judgement_id)

    def progress_at(self, part: PlannedItem) -> Progress:
        unit = "pair" if self._study.config.show == "pair" else "conversation"
        return Progress(unit=unit, current=self._plan.number + len(self.done), total=self._plan.numbers)

    def leave(self, worker: str, agent: str) -> None:
        self._study.allocator.abandon(agent)

    def ask_feedback(self) -> None:
        self.page.clear()
        super().ask_feedback()


def open_items(left: CutOff) -> list[PlannedItem]:
    plan, finished = BatchPlan.model_validate(left.plan), left.finished
    return [item for index, item in enumerate(plan.items) if plan.judgement_id(index) not in finished]
