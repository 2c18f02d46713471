"""One rater's unit of work: a batch of items, one after another."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mephisto_tasks.engine.page_session import PageSession
from mephisto_tasks.engine.study import HeldUnit
from mephisto_tasks.judging.plans import BatchPlan, PlannedItem
from mephisto_tasks.judging.world import JudgingWorld
from parlai_humaneval.protocol.page.steps import FeedbackStep, Notice, Progress
from parlai_humaneval.protocol.records.events import FeedbackGiven

if TYPE_CHECKING:
    from mephisto_tasks.judging.study import Study

GO_ON = Notice(level="info", text="Welcome back! Your earlier answers are saved. Please go on here.")


class HeldBatch(HeldUnit):
    """Runs the items of a plan in order.

    Args:
        study: the launch that it belongs to.
        plan: the items that are still to be judged.
        agent: the key under which the unit is counted.
        page: the rater's page.
    """

    def __init__(self, study: Study, plan: BatchPlan, agent: str, page: PageSession) -> None:
        self.study = study
        self.plan = plan
        self.page = page
        self._agent = agent
        self._world: JudgingWorld | None = None

    @property
    def name(self) -> str:
        """The item that runs, or ran last."""
        return f"unit {self.plan.name}" if self._world is None else f"judgement {self._world.item.judgement_id}"

    @property
    def greeting(self) -> Notice | None:
        return None

    def run(self) -> None:
        """Every item to its end; raises what :meth:`JudgingWorld.run` raises."""
        if self.plan.number > 1:
            self.page.notice = GO_ON
        for number, planned in enumerate(self.plan.items, start=self.plan.number):
            self._judge(number, planned)

    def _judge(self, number: int, planned: PlannedItem) -> None:
        item = self.study.item_to_judge(self.plan, planned, number)
        self._world = JudgingWorld(self.study, item, self.page)
        unit = "pair" if self.study.config.show == "pair" else "conversation"
        self.page.progress = Progress(unit=unit, current=number, total=self.plan.numbers)
        self.study.note_shown_item(self._agent, self.plan, planned)
        self._world.run()
        self.study.note_judged_item(self._agent, self.plan, planned)

    def leave(self, worker: str, agent: str) -> None:
        """The rater went away: what they answered counts, the rest is given out again."""
        self.study.allocator.abandon(agent)

    def ask_feedback(self) -> None:
        """The comment box after the last item."""
        self.page.clear()
        self.page.progress = None
        step = FeedbackStep(
            step_id="feedback",
            label="That was the last one, thank you! Is there anything you would like to tell us? (optional)",
        )
        text = self.page.ask_feedback(step).text
        if text.strip():
            self.page.state.append(FeedbackGiven(at=time.time(), text=text))

    def fail(self, reason: str) -> None:
        """Write down that the item could not go on through no fault of the rater."""
        if self._world is not None:
            self._world.fail(reason)
