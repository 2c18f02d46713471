"""Mephisto's task runner of engine 1: gives a rater a dialogue, runs it, and says how it ended."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Literal

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.abstractions._subcomponents.task_runner import TaskRunner
from mephisto.abstractions.blueprints.mixins.onboarding_required import OnboardingRequired
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.exceptions import (
    AbsentAgentError,
    AgentReturnedError,
    AgentShutdownError,
)

from mephisto_tasks.interactive.page_session import PageSession, SubmittedEarly
from mephisto_tasks.interactive.practice import PracticeWorld
from mephisto_tasks.interactive.study import Plan, Study
from mephisto_tasks.interactive.world import ConversationWorld
from parlai_humaneval.models.pool import ModelFailed
from parlai_humaneval.protocol.allocation import Cell
from parlai_humaneval.protocol.events import Interrupted
from parlai_humaneval.protocol.records import ContextRecord
from parlai_humaneval.protocol.steps import Notice

if TYPE_CHECKING:
    from mephisto.data_model.agent import Agent, OnboardingAgent
    from mephisto.data_model.unit import Unit

logger = logging.getLogger(__name__)

SUBMIT_TIMEOUT_S = 60
"""How long a finished dialogue waits for the page to hand the unit in; every answer is stored by then."""

THANKS = ("Thank you!", "Your conversation is complete and saved. {pay}")
STOPPED = (
    "We have to stop here",
    "Our system had a problem and this conversation cannot go on. Nothing that you did is lost, and you are paid for "
    "the whole conversation.",
)
AWAY = (
    "You were away for a while",
    "This conversation was closed because we heard nothing from you. What you did is saved. If you want to begin another "
    "one, please load this page again, or return the task and take it anew.",
)
AWAY_FOR_GOOD = (
    "You were away for a while",
    "This conversation was closed because we heard nothing from you. What you did is saved. There is no other conversation "
    "for you in this study, so please return the task. Thank you for your help!",
)
NOTHING_LEFT = (
    "All conversations have been given out",
    "Other people took the last ones while you were getting ready. There is nothing to do for you right now; please return "
    "the task. Thank you for your interest!",
)
PAUSED = (
    "The study was paused",
    "The researchers paused this study. Everything that you did is saved, and a conversation that was under way is paid as "
    "a whole. You may close this page.",
)
AGAIN = Notice(
    level="info",
    text="Your earlier conversation was cut off by us, not by you. It is saved and paid. Here is a new one, from the start.",
)
ALL_DONE = (
    "The study is complete",
    "Other people finished the last conversations of this study just now. There is nothing to do for you any more; please "
    "return the task. Thank you for your interest!",
)


class InteractiveTaskRunner(TaskRunner):
    """One thread a rater (Mephisto's way); what they share is the :class:`Study`."""

    @property
    def study(self) -> Study:
        study = self.shared_state.study
        assert isinstance(study, Study)
        return study

    def get_init_data_for_agent(self, agent: Agent) -> dict[str, Any]:
        """The plan is made once, at the first call; the page gets nothing of it but the newest state."""
        if agent.state.init_data is None:
            cell = self.study.allocator.claim(agent.worker_id, agent.db_id)
            try:
                plan = None if cell is None else self.study.plan(f"{agent.task_run_id}-{agent.db_id}", cell)
                agent.state.set_init_state(_stored(plan))
            except BaseException:  # nobody would ever end a dialogue that did not begin
                self.study.allocator.abandon(agent.db_id, rated_turns=0)
                raise
        page_data = agent.state.get_init_state()
        assert isinstance(page_data, dict)
        return page_data

    def run_unit(self, unit: Unit, agent: Agent) -> None:
        """One dialogue. An exception that leaves here is the rater's absence: Mephisto then gives the unit out again."""
        plan = _restored(agent.state.init_data)
        page = self._page(agent, "task")
        if plan is None:
            self._goodbye(page, NOTHING_LEFT, "stay")
            raise AgentReturnedError(agent.db_id)
        again = self.study.allocator.take_cut_off(agent.worker_id)
        world = ConversationWorld(self.study, plan, page, greeting=AGAIN if again else None)
        try:
            world.run()
            self.study.allocator.complete(agent.db_id)
            self.study.note_complete()
        except AbsentAgentError as absence:
            self._abandon(world, agent)
            if isinstance(absence, AgentShutdownError):
                page.state.append(Interrupted(at=time.time()))
            self._goodbye(page, self._words_for(absence, agent.worker_id), "stay")
            raise
        except ModelFailed as error:
            self._stop(agent, world, f"models failed: {error}")
            return
        except Exception as error:  # whatever it was: the rater is told, paid, and the answers are kept
            logger.exception("dialogue %s failed", plan.dialogue_id)
            self._stop(agent, world, f"{type(error).__name__}: {error}")
            return
        self._finish(agent, world, page)

    def _page(self, agent: Any, phase: Literal["practice", "task"]) -> PageSession:
        timeout_s = self.study.config.answer_timeout_s
        return PageSession(agent, phase=phase, answer_timeout_s=timeout_s, closing=self.study.closing)

    def _abandon(self, world: ConversationWorld, agent: Agent) -> None:
        self.study.allocator.abandon(agent.db_id, rated_turns=world.rated_turns)

    def _words_for(self, absence: AbsentAgentError, worker_id: str) -> tuple[str, str]:
        if isinstance(absence, AgentShutdownError):
            return PAUSED if self.study.allocator.remaining else ALL_DONE
        return AWAY if self.study.allocator.available(worker_id) else AWAY_FOR_GOOD

    def _finish(self, agent: Agent, world: ConversationWorld, page: PageSession) -> None:
        """Comment box, thanks, submit. The dialogue is complete already: a rater who leaves now has done the work."""
        try:
            world.ask_feedback()
            self._goodbye(page, THANKS, "submit")
            agent.await_submit(SUBMIT_TIMEOUT_S)
        except AbsentAgentError:
            logger.info("dialogue %s is complete; its rater left before the end page", world.plan.dialogue_id)
            self._goodbye(page, THANKS, "submit")
        self._mark_completed(agent)

    def _stop(self, agent: Agent, world: ConversationWorld, reason: str) -> None:
        """End a dialogue that cannot go on: keep everything, tell the rater, and give the work out again."""
        logger.error("dialogue %s stopped: %s", world.plan.dialogue_id, reason)
        self._abandon(world, agent)
        self.study.note_failure(reason)
        try:
            world.fail(reason)
        except OSError:
            logger.exception("the end of dialogue %s could not be written down", world.plan.dialogue_id)
        self._goodbye(world.page, STOPPED, "submit")
        try:
            agent.await_submit(SUBMIT_TIMEOUT_S)
        except AbsentAgentError:
            logger.info("the rater of the stopped dialogue %s had left", world.plan.dialogue_id)
        self._mark_completed(agent)
        if not self.study.paused:
            agent.get_live_run().task_launcher.add_one(one_dialogue())

    def _mark_completed(self, agent: Agent) -> None:
        # Mephisto would wait for a submit once more, outside of its own error handling. And it would leave the unit as
        # assigned until the end of the launch, so that its worker could take no other one.
        agent.update_status(AgentState.STATUS_COMPLETED)
        agent.get_unit().set_db_status(AssignmentState.COMPLETED)
        agent.mark_done()

    def _goodbye(self, page: PageSession, words: tuple[str, str], next_: Any) -> None:
        title, text = words
        page.end(title, text.format(pay=self.study.instructions.pay), next_)

    def cleanup_unit(self, unit: Unit) -> None:
        """The unit is free for everybody: Mephisto would keep it from the worker who left it."""
        unit.worker_id = None

    def run_onboarding(self, agent: OnboardingAgent) -> None:
        """The practice conversation, then the page's submit, which asks for the verdict."""
        practice = self.study.practice
        assert practice is not None, "onboarding runs only where practice items are configured"
        config, used = self.study.config, self.study.practice_tries_used
        page = self._page(agent, "practice")
        blueprint = agent.get_live_run().blueprint
        blueprint.remember_onboarding(agent)
        world = PracticeWorld(
            practice,
            config.question,
            config.onboarding_tries,
            page,
            seed=int(agent.db_id),
            used=used.get(agent.worker_id, 0),
            on_verdict=lambda passed: self._grant(agent, passed),
        )
        try:
            world.run()
            agent.await_submit(SUBMIT_TIMEOUT_S)
        except SubmittedEarly:
            logger.warning("onboarding %s was handed in before its end: not passed", agent.db_id)
        except AbsentAgentError as absence:
            self._goodbye(page, self._words_for(absence, agent.worker_id), "stay")
            raise
        finally:
            used[agent.worker_id] = world.used
            blueprint.forget_onboarding(agent)

    def _grant(self, agent: OnboardingAgent, passed: bool) -> None:
        """The verdict counts at once: a page that never hands a failed practice in must not get new tries."""
        name = self.study.config.onboarding_qualification
        assert name is not None
        worker = agent.get_worker()
        worker.grant_qualification(name, int(passed))
        if not passed:
            worker.grant_qualification(OnboardingRequired.get_failed_qual(name), 0)

    def cleanup_onboarding(self, agent: OnboardingAgent) -> None:
        """Nothing to do."""


def one_dialogue() -> Any:
    """Initialization data of an assignment: one unit; which models it compares is decided when a rater takes it."""
    from mephisto.data_model.assignment import InitializationData

    return InitializationData(shared={}, unit_data=[{}])


def _stored(plan: Plan | None) -> dict[str, Any]:
    if plan is None:
        return {"nothing_left": True}
    return {
        "dialogue_id": plan.dialogue_id,
        "models": list(plan.cell.models),
        "metric": plan.cell.metric,
        "context": plan.context.model_dump(mode="json"),
        "seed": plan.seed,
        "planned_at": time.time(),
    }


def _restored(stored: dict[str, Any] | None) -> Plan | None:
    assert stored is not None, "a dialogue must be planned before it runs"
    if stored.get("nothing_left"):
        return None
    return Plan(
        dialogue_id=stored["dialogue_id"],
        cell=Cell(models=tuple(stored["models"]), metric=stored["metric"]),
        context=ContextRecord.model_validate(stored["context"]),
        seed=stored["seed"],
    )
