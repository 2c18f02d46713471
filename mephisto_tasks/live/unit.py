"""One rater's unit of work: one dialogue, or several one after another (Ji et al. 2022, §3.2: six)."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mephisto_tasks.engine.page_session import PageSession
from mephisto_tasks.engine.study import HeldUnit
from mephisto_tasks.engine.words import AGAIN, AGAIN_OF_SEVERAL
from mephisto_tasks.live.plans import Plan, UnitPlan
from mephisto_tasks.live.world import ConversationWorld
from parlai_humaneval.protocol.allocation.groups import Cell
from parlai_humaneval.protocol.page.steps import FeedbackStep, Notice
from parlai_humaneval.protocol.records.events import FeedbackGiven

if TYPE_CHECKING:
    from mephisto_tasks.live.study import Study

NEXT = Notice(level="success", text="That conversation is saved. Here comes the next one, with another partner.")
GO_ON = Notice(level="info", text="Welcome back! Your earlier conversations are saved. Here is the next one.")


class HeldConversations(HeldUnit):
    """Runs the dialogues of a plan in order.

    Args:
        study: the launch that it belongs to.
        plan: the dialogues that are still to be held.
        page: the rater's page.
    """

    def __init__(self, study: Study, plan: UnitPlan, page: PageSession) -> None:
        self.study = study
        self.plan = plan
        self.page = page
        self.done: list[int] = []
        self.begun: list[Cell] = []
        """What the rater has rated anything of."""
        self._world: ConversationWorld | None = None

    @property
    def name(self) -> str:
        """The dialogue that runs, or ran last."""
        plan = self.plan.plans[0] if self._world is None else self._world.plan
        return f"dialogue {plan.dialogue_id}"

    @property
    def greeting(self) -> Notice | None:
        return AGAIN if self.plan.conversations == 1 else AGAIN_OF_SEVERAL

    def run(self) -> None:
        """Every dialogue to its end; raises what :meth:`ConversationWorld.run` raises."""
        if len(self.plan.plans) < self.plan.conversations:
            self.page.notice = GO_ON
        for plan in self.plan.plans:
            if self.done:
                self.page.notice = NEXT
            self._hold(plan)
            self.done.append(plan.conversation)

    def _hold(self, plan: Plan) -> None:
        world = self._world = ConversationWorld(
            self.study, plan, self.page, session=self.plan.session, conversations=self.plan.conversations
        )
        try:
            world.run()
        finally:
            if world.rated_turns:
                self.begun.append(plan.cell)

    def leave(self, worker: str, agent: str) -> None:
        """The rater went away."""
        self.study.leave_unit(worker, agent, self.plan, self.done, self.begun)

    def ask_feedback(self) -> None:
        """The comment box after the last dialogue; the unit is complete whatever happens here."""
        self.page.progress = self.page.within = None
        over = "That was the conversation" if self.plan.conversations == 1 else "Those were all conversations"
        step = FeedbackStep(
            step_id="feedback",
            label=f"{over}, thank you! Is there anything you would like to tell us? (optional)",
        )
        text = self.page.ask_feedback(step).text
        if text.strip():
            self.page.state.append(FeedbackGiven(at=time.time(), text=text))

    def fail(self, reason: str) -> None:
        """Write down that the dialogue could not go on through no fault of the rater."""
        if self._world is not None:
            self._world.fail(reason)
