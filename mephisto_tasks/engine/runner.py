"""Mephisto's task runner of both engines: gives a rater a unit, runs it, and says how it ended."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.abstractions._subcomponents.task_runner import TaskRunner
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.exceptions import (
    AbsentAgentError,
    AgentReturnedError,
    AgentShutdownError,
)

from mephisto_tasks.engine.page_session import PageSession, SubmittedEarly
from mephisto_tasks.engine.study import Study
from mephisto_tasks.engine.unit import HeldUnit
from mephisto_tasks.engine.way_out import Outcome, Site
from mephisto_tasks.engine.words import (
    ALL_DONE,
    AWAY,
    AWAY_FOR_GOOD,
    NOTHING_LEFT,
    PAUSED,
    PRACTICE_PASSED,
    RETURNED,
    STOPPED,
    THANKS,
    filled,
)
from mephisto_tasks.running.floor import Ending, Visit
from mephisto_tasks.running.snapshot import Phase
from mephisto_tasks.workers.blocked_workers import block_if_failed
from mephisto_tasks.workers.practising import fail_practice
from mephisto_tasks.workers.qualifications import grant
from mephisto_tasks.workers.simulated_workers import is_simulated
from parlai_humaneval.models.pool.pool import ModelFailed
from parlai_humaneval.protocol.page.steps import Notice
from parlai_humaneval.protocol.records.events import Interrupted

if TYPE_CHECKING:
    from mephisto.data_model.agent import Agent, OnboardingAgent
    from mephisto.data_model.unit import Unit

logger = logging.getLogger(__name__)

SUBMIT_TIMEOUT_S = 60
"""How long a finished dialogue waits for the page to hand the unit in; every answer is stored by then."""


class StudyTaskRunner(TaskRunner):
    """One thread a rater (Mephisto's way); what they share is the :class:`Study`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._passed_just_now: set[str] = set()
        """Workers who are still to be told so, above their first question."""

    @property
    def study(self) -> Study:
        study = self.shared_state.study
        assert isinstance(study, Study)
        return study

    @property
    def site(self) -> Site:
        site: Site = self.shared_state.site
        return site

    def get_init_data_for_agent(self, agent: Agent) -> dict[str, Any]:
        """The plan is made once, at the first call; the page gets nothing of it but the newest state."""
        if agent.state.init_data is None:
            stored = self.study.begin_unit(agent.worker_id, agent.db_id, f"{agent.task_run_id}-{agent.db_id}")
            try:
                agent.state.set_init_state({"nothing_left": True} if stored is None else stored)
            except BaseException:  # nobody would ever end a unit that did not begin
                self.study.drop_unit(agent.db_id, None)
                raise
        page_data = agent.state.get_init_state()
        assert isinstance(page_data, dict)
        return page_data

    def run_unit(self, unit: Unit, agent: Agent) -> None:
        """A unit. An exception that leaves here is the rater's absence: the unit is given out again."""
        page = self._page(agent, "task")
        stored = agent.state.init_data
        assert stored is not None, "a unit must be planned before it runs"
        if stored.get("nothing_left"):
            self._leave(page, "nothing")
            self._goodbye(agent, page, NOTHING_LEFT, "stay", "screened_out")
            raise AgentReturnedError(agent.db_id)
        try:
            self._hold(agent, page, stored)
        finally:
            self._leave(page, "failed")

    def _hold(self, agent: Agent, page: PageSession, stored: dict[str, Any]) -> None:
        held = self.study.hold_unit(stored, agent.db_id, page)
        if self.study.take_cut_off(agent.worker_id) and held.greeting is not None:
            page.notice = held.greeting
        elif agent.worker_id in self._passed_just_now:
            page.notice = Notice(level="success", text=filled(PRACTICE_PASSED, self.study.unit_words))
        self._passed_just_now.discard(agent.worker_id)
        self.study.practising.discard(agent.worker_id)
        try:
            held.run()
            self.study.finish_unit(agent.db_id)
            self.study.note_complete()
        except AbsentAgentError as absence:
            self._leave(page, _ending(absence))
            held.leave(agent.worker_id, agent.db_id)
            if isinstance(absence, AgentShutdownError):
                page.state.append(Interrupted(at=time.time()))
            self._say_why(agent, page, absence)
            raise
        except ModelFailed as error:
            self._stop(agent, held, f"models failed: {error}", error.out_since)
            return
        except Exception as error:  # whatever it was: the rater is told, paid, and the answers are kept
            logger.exception("%s failed", held.name)
            self._stop(agent, held, f"{type(error).__name__}: {error}")
            return
        self._finish(agent, held)

    def _page(self, agent: Any, phase: Phase) -> PageSession:
        worker = agent.get_worker()
        visit = Visit(worker.worker_name, phase, is_simulated(worker, self.study.expects_simulated))
        page = PageSession(
            agent, answer_timeout_s=self.study.config.answer_timeout_s, closing=self.study.closing, visit=visit
        )
        visit.is_here = page.is_here
        self.study.floor.enter(visit)
        return page

    def _leave(self, page: PageSession, ending: Ending) -> None:
        """The rater is not inside any more, if they still were; before the page says good-bye, for that is another step."""
        self.study.floor.leave(page.visit, ending)

    def _say_why(self, agent: Any, page: PageSession, absence: AbsentAgentError) -> None:
        """The last page of a rater who did not come to the end."""
        words: tuple[str, str]
        outcome: Outcome
        if isinstance(absence, AgentShutdownError):
            words, outcome = (PAUSED, "complete") if self.study.remaining else (ALL_DONE, "screened_out")
        elif isinstance(absence, AgentReturnedError):
            words, outcome = RETURNED, "returned"
        elif self.study.standing(agent.worker_id) in ("open", "interrupted"):
            words, outcome = AWAY, "timed_out"
        else:
            words, outcome = AWAY_FOR_GOOD, "timed_out"
        self._goodbye(agent, page, words, "stay", outcome)

    def _finish(self, agent: Agent, held: HeldUnit[Any]) -> None:
        """Comment box, thanks, submit. The unit is complete already: a rater who leaves now has done the work."""
        page = held.page
        self.site.work_done(agent.db_id)
        launcher, unit = agent.get_live_run().task_launcher, agent.get_unit()
        launcher.note_done(unit.db_id)
        if not self.study.paused:
            launcher.keep_open(self.study.remaining, besides=unit.db_id, data=one_unit)
        task_name = agent.get_task_run().get_task().task_name
        checks, block = self.study.config.blocking_checks, self.study.config.block_qualification
        block_if_failed(checks, block, agent.get_worker(), page.state.messages, task_name)
        try:
            held.ask_feedback()
            self._leave(page, "done")
            self._goodbye(agent, page, THANKS, "submit", "complete")
            agent.await_submit(SUBMIT_TIMEOUT_S)
        except AbsentAgentError:
            logger.info("%s is complete; its rater left before the end page", held.name)
            self._leave(page, "done")
            self._goodbye(agent, page, THANKS, "submit", "complete")
        self._mark_completed(agent)

    def _stop(self, agent: Agent, held: HeldUnit[Any], reason: str, out_since: float | None = None) -> None:
        """End a unit that cannot go on: keep everything, tell the rater, and give the work out again.

        ``out_since``: when its models' server went, where that is the reason.
        """
        logger.error("%s stopped: %s", held.name, reason)
        self._leave(held.page, "failed")
        self.study.drop_unit(agent.db_id, held)
        self.study.note_failure(reason, out_since)
        try:
            held.fail(reason)
        except Exception:  # the rater must be told and paid, whatever cannot be written
            logger.exception("the end of %s could not be written down", held.name)
        self.site.work_done(agent.db_id)
        self._goodbye(agent, held.page, STOPPED, "submit", "complete")
        try:
            agent.await_submit(SUBMIT_TIMEOUT_S)
        except AbsentAgentError:
            logger.info("the rater of %s, which was stopped, had left", held.name)
        self._mark_completed(agent)
        if not self.study.paused:
            agent.get_live_run().task_launcher.add([one_unit()])

    def _mark_completed(self, agent: Agent) -> None:
        # Mephisto would wait for a submit once more, outside of its own error handling. And it would leave the unit as
        # assigned until the end of the launch, so that its worker could take no other one.
        agent.update_status(AgentState.STATUS_COMPLETED)
        agent.get_unit().set_db_status(AssignmentState.COMPLETED)
        agent.mark_done()

    def _goodbye(
        self, agent: Any, page: PageSession, title_and_text: tuple[str, str], next_: Any, outcome: Outcome
    ) -> None:
        title, text = title_and_text
        words = self.study.unit_words
        text = filled(text, words, self.study.instructions.pay, is_paid=self.study.is_paid)
        redirect = self.site.way_out(agent.get_worker().worker_name, outcome)
        text = self.site.for_them(agent.get_worker().worker_name, text, redirect)
        page.end(filled(title, words), text, next_, redirect)

    def cleanup_unit(self, unit: Unit) -> None:
        """The unit is free for everybody: Mephisto would keep it from the worker who left it."""
        unit.worker_id = None

    def run_onboarding(self, agent: OnboardingAgent) -> None:
        """The practice conversation, then the page's submit, which asks for the verdict."""
        used = self.study.practice_tries_used
        if used.get(agent.worker_id, 0) >= self.study.config.onboarding_tries:
            del used[agent.worker_id]  # who had failed got in again: somebody has reset their practice meanwhile
        page = self._page(agent, "practice")
        blueprint = agent.get_live_run().blueprint
        blueprint.remember_onboarding(agent)
        self.study.practising.add(agent.worker_id)
        world = self.study.practice_loop(
            page,
            seed=int(agent.db_id),
            used=used.get(agent.worker_id, 0),
            on_verdict=lambda passed: self._grant(agent, passed),
        )
        try:
            world.run()
            self._leave(page, "done")
            agent.await_submit(SUBMIT_TIMEOUT_S)
        except SubmittedEarly:
            logger.warning("onboarding %s was handed in before its end: not passed", agent.db_id)
            self._grant(agent, passed=False)
        except AbsentAgentError as absence:
            self._leave(page, _ending(absence))
            self._say_why(agent, page, absence)
            raise
        finally:
            self._leave(page, "left")
            used[agent.worker_id] = world.used
            blueprint.forget_onboarding(agent)
            if not world.passed:
                self.study.practising.discard(agent.worker_id)

    def _grant(self, agent: OnboardingAgent, passed: bool) -> None:
        """The verdict counts at once, here and at the crowd's site: a page that never hands a failed practice in must not
        get new tries.
        """
        name = self.study.config.onboarding_qualification
        assert name is not None
        worker = agent.get_worker()
        self.study.floor.verdict(worker.worker_name, passed)
        if passed:
            grant(worker, name)
            self._passed_just_now.add(agent.worker_id)
        else:
            fail_practice(worker, name)

    def cleanup_onboarding(self, agent: OnboardingAgent) -> None:
        """Nothing to do."""


def _ending(absence: AbsentAgentError) -> Ending:
    return "closed" if isinstance(absence, AgentShutdownError) else "left"


def one_unit() -> Any:
    """Initialization data of an assignment with one unit; what the unit holds is decided when a rater takes it."""
    from mephisto.data_model.assignment import InitializationData

    return InitializationData(shared={}, unit_data=[{}])
