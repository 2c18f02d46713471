"""Mephisto's task runner of both engines: gives a rater a unit, runs it, and says how it ended."""

from __future__ import annotations

import logging
import secrets
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions._subcomponents.agent_state import AgentState
from mephisto.abstractions._subcomponents.task_runner import TaskRunner
from mephisto.data_model.agent import Agent, OnboardingAgent
from mephisto.data_model.assignment import InitializationData
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.exceptions import AbsentAgentError, AgentReturnedError, AgentShutdownError
from mephisto.data_model.unit import Unit

from mephisto_tasks.admission.visits import Outcome, Site
from mephisto_tasks.control.snapshot import Ending, Phase, Visit
from mephisto_tasks.session import study as ends
from mephisto_tasks.session.agent_state import LANGUAGE_KEY, PAGE_KEY
from mephisto_tasks.session.page import PageSession, Recorded, SubmittedEarly
from mephisto_tasks.session.study import HeldUnit, Study
from mephisto_tasks.storage.work import CutOff
from mephisto_tasks.workers.qualifications import block_if_failed, fail_practice, grant, is_simulated
from parlai_humaneval.i18n.translate import ENGLISH, Language, speaking, spoken
from parlai_humaneval.models.agent.isolation import isolate_model_code
from parlai_humaneval.models.model_pool import ModelFailed
from parlai_humaneval.schema.events import Interrupted, Resumed, parse_events
from parlai_humaneval.schema.steps import Notice

logger = logging.getLogger(__name__)

SUBMIT_TIMEOUT_S = 60
"""How long a finished dialogue waits for the page to hand the unit in; every answer is stored by then."""


class StudyTaskRunner(TaskRunner):
    """One thread a rater (Mephisto's way); what they share is the :class:`Study`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._passed_just_now: set[str] = set()  # workers who still need this message, above their first question

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
            try:
                with speaking(self.study.languages.of(agent.get_worker().worker_name)):
                    self._begin(agent, f"{agent.task_run_id}-{agent.db_id}")
            except BaseException:  # nobody would ever end a unit that did not begin
                self.study.drop_unit(agent.db_id, None)
                raise
        page_data = agent.state.get_init_state()
        assert isinstance(page_data, dict)
        return page_data

    def _begin(self, agent: Agent, name: str) -> None:
        """A new unit, or the worker's own where it was cut off, written down however long that takes."""
        study, state = self.study, agent.state
        left = study.take_up(agent.worker_id, agent.db_id, name)
        if left is None:
            stored = study.begin_unit(agent.worker_id, agent.db_id, name)
            plan = _with_key({"nothing_left": True} if stored is None else stored)
            study.saving.until_done(lambda: state.set_init_state(plan), even_in_a_hurry=True)
            return
        resumed = Resumed(at=time.time(), earlier=left.agent)
        plan = _with_key({**left.plan, LANGUAGE_KEY: left.plan.get(LANGUAGE_KEY) or ENGLISH.tag})
        events = [e.model_dump(mode="json") for e in (*left.events, resumed)]
        try:
            study.saving.until_done(lambda: state.go_on(plan, events), even_in_a_hurry=True)
        except BaseException:
            study.note_left(agent.worker_id, left)
            raise

    def run_unit(self, unit: Unit, agent: Agent) -> None:
        """A unit. An exception that leaves here is the rater's absence: the unit is given out again."""
        stored = agent.state.init_data
        assert stored is not None, "a unit must be planned before it runs"
        page = self._page(agent, "task", self.study.languages.that_began(stored[LANGUAGE_KEY]))
        with speaking(page.language):
            self._run(agent, page, stored)

    def _run(self, agent: Agent, page: PageSession, stored: dict[str, Any]) -> None:
        if stored.get("nothing_left"):
            self._leave(page, "nothing")
            self._goodbye(agent, page, ends.NOTHING_LEFT, "stay", "screened_out")
            raise AgentReturnedError(agent.db_id)
        try:
            with self.study.saving.telling(page.tell_of_trouble):
                self._hold(agent, page, stored)
        finally:
            if page.state.messages:
                self.study.acquainted.add(agent.worker_id)
            self._leave(page, "failed")

    def _hold(self, agent: Agent, page: PageSession, stored: dict[str, Any]) -> None:
        page.recorded = Recorded(parse_events(page.state.messages))
        goes_on = bool(page.state.messages)
        page.guided = not goes_on and agent.worker_id not in self.study.acquainted
        held = self.study.hold_unit(stored, agent.db_id, page)
        if self.study.take_cut_off(agent.worker_id) and held.greeting is not None and not goes_on:
            page.notice = held.greeting
        elif agent.worker_id in self._passed_just_now:
            page.notice = Notice(level="success", text=ends.filled(ends.PRACTICE_PASSED, self.study.unit_words))
        self._passed_just_now.discard(agent.worker_id)
        self.study.practising.discard(agent.worker_id)
        try:
            with isolate_model_code():
                held.run()
            self.study.allocator.complete(agent.db_id)
            self.study.note_complete()
        except AbsentAgentError as absence:
            self._leave(page, _ending(absence))
            held.leave(agent.worker_id, agent.db_id)
            if isinstance(absence, AgentShutdownError):
                page.state.note(Interrupted(at=time.time()))
            elif page.state.messages:
                left = CutOff(agent.db_id, stored, parse_events(page.state.messages))
                self.study.note_left(agent.worker_id, left)
            self._say_why(agent, page, absence)
            raise
        except ModelFailed as error:
            self._stop(agent, held, f"models failed: {error}", error.out_since)
            return
        except Exception as error:  # whatever happened: the rater gets a message and pay, and the answers are kept
            logger.exception("%s failed", held.name)
            self._stop(agent, held, f"{type(error).__name__}: {error}")
            return
        self._finish(agent, held)

    def _page(self, agent: Any, phase: Phase, language: Language) -> PageSession:
        worker = agent.get_worker()
        visit = Visit(worker.worker_name, phase, is_simulated(worker, self.study.simulated.__contains__))
        page = PageSession(
            agent,
            answer_timeout_s=self.study.config.answer_timeout_s,
            closing=self.study.closing,
            visit=visit,
            saving=self.study.saving,
            draws_markdown=self.study.draws_markdown,
            images=self.study.images,
            language=language,
        )
        visit.is_here = page.is_here
        self.study.presence.enter(visit)
        return page

    def _leave(self, page: PageSession, ending: Ending) -> None:
        """The rater is not inside any more, if they still were; before the page says good-bye, for that is another step."""
        self.study.presence.leave(page.visit, ending)

    def _say_why(self, agent: Any, page: PageSession, absence: AbsentAgentError) -> None:
        words: tuple[str, str]
        outcome: Outcome
        if isinstance(absence, AgentShutdownError):
            words, outcome = (ends.PAUSED, "complete") if self.study.remaining else (ends.ALL_DONE, "screened_out")
        elif isinstance(absence, AgentReturnedError):
            words, outcome = ends.RETURNED, "returned"
        elif self.study.availability(agent.worker_id) in ("open", "interrupted"):
            words, outcome = ends.AWAY, "timed_out"
        else:
            words, outcome = ends.AWAY_FOR_GOOD, "timed_out"
        self._goodbye(agent, page, words, "stay", outcome)

    def _finish(self, agent: Agent, held: HeldUnit[Any]) -> None:
        """Comment box, thanks, submit. The unit is complete already: a rater who leaves now has done the work."""
        page = held.page
        self._see_to(held, lambda: self.site.work_done(agent.db_id))
        launcher, unit = agent.get_live_run().task_launcher, agent.get_unit()
        launcher.note_done(unit.db_id)
        if not self.study.paused:
            self._see_to(held, lambda: launcher.keep_open(self.study.remaining, besides=unit.db_id, data=one_unit))
        task_name = agent.get_task_run().get_task().task_name
        checks, block = self.study.config.blocking_checks, self.study.config.block_qualification
        block_if_failed(checks, block, agent.get_worker(), page.state.messages, task_name)
        try:
            held.ask_feedback()
            self._leave(page, "done")
            self._goodbye(agent, page, ends.THANKS, "submit", "complete")
            self._await_submit(agent)
        except AbsentAgentError:
            logger.info("%s is complete; its rater left before the end page", held.name)
            self._leave(page, "done")
            self._goodbye(agent, page, ends.THANKS, "submit", "complete")
        self._mark_completed(agent, held)

    def _stop(self, agent: Agent, held: HeldUnit[Any], reason: str, out_since: float | None = None) -> None:
        """End a unit that cannot go on: keep all, tell the rater, give the work out again."""
        logger.error("%s stopped: %s", held.name, reason)
        self._leave(held.page, "failed")
        self.study.drop_unit(agent.db_id, held)
        self.study.note_failure(reason, out_since)
        try:
            held.fail(reason)
        except Exception:  # the rater must get a message and pay, even if nothing can be written
            logger.exception("the end of %s could not be recorded", held.name)
        self._see_to(held, lambda: self.site.work_done(agent.db_id))
        self._goodbye(agent, held.page, ends.STOPPED, "submit", "complete")
        try:
            self._await_submit(agent)
        except AbsentAgentError:
            logger.info("the rater of the stopped %s had left", held.name)
        self._mark_completed(agent, held)
        if not self.study.paused:
            self._see_to(held, lambda: agent.get_live_run().task_launcher.add([one_unit()]))

    def _see_to(self, held: HeldUnit[Any], work: Callable[[], object]) -> None:
        """What is written down besides a unit that is over, as often as it takes; its rater's thanks do not depend on it."""
        try:
            self.study.saving.until_done(work)
        except Exception:
            logger.exception("some events after %s could not be recorded", held.name)

    def _await_submit(self, agent: Any) -> None:
        try:
            agent.await_submit(SUBMIT_TIMEOUT_S)
        except sqlite3.Error:  # the launch ends, and its database is held still: the work is done all the same
            logger.warning("could not check whether the rater of agent %s is there", agent.db_id, exc_info=True)

    def _mark_completed(self, agent: Agent, held: HeldUnit[Any]) -> None:
        self._see_to(held, held.page.state.flush)
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
        # A practice alone is not paid, so that there is no part of it to be paid for.
        partial = self.study.config.payment.partial if page.visit.phase == "task" else "none"
        text = ends.filled(text, words, self.study.pay, is_paid=self.study.is_paid, partial=partial)
        redirect = None
        try:
            redirect = self.site.exit(agent.get_worker().worker_name, outcome)
            text = self.site.for_them(agent.get_worker().worker_name, text, redirect)
        except Exception:  # the last words are said whatever the site's files say
            logger.exception("could not determine where to send the rater of agent %s", agent.db_id)
        resumes = title_and_text in (ends.PAUSED, ends.AWAY) and redirect is None
        page.end(ends.filled(title, words), text, next_, redirect, resumes=resumes)

    def cleanup_unit(self, unit: Unit) -> None:
        """The unit is free for everybody: Mephisto would keep it from the worker who left it."""
        unit.worker_id = None

    def run_onboarding(self, agent: OnboardingAgent) -> None:
        language = self.study.languages.of(agent.get_worker().worker_name)
        with speaking(language):
            self._practise(agent, self._page(agent, "practice", language))

    def _practise(self, agent: OnboardingAgent, page: PageSession) -> None:
        used = self.study.practice_tries_used
        if used.get(agent.worker_id, 0) >= self.study.config.onboarding_tries:
            del used[agent.worker_id]  # a worker who had failed got in again: their practice was reset
        blueprint = agent.get_live_run().blueprint
        blueprint.onboarding_agents[agent.worker_id] = agent
        self.study.practising.add(agent.worker_id)
        world = self.study.practice_loop(
            page,
            seed=int(agent.db_id),
            used=used.get(agent.worker_id, 0),
            on_verdict=lambda passed: self._grant(agent, passed),
        )
        try:
            with self.study.saving.telling(page.tell_of_trouble):
                world.run()
                self._leave(page, "done")
                self._await_submit(agent)
                agent.state.flush()
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
            blueprint.onboarding_agents.pop(agent.worker_id, None)
            if not world.passed:
                self.study.practising.discard(agent.worker_id)

    def _grant(self, agent: OnboardingAgent, passed: bool) -> None:
        """The verdict counts at once: a page that never hands it in must not get new tries."""
        name = self.study.config.onboarding_qualification
        assert name is not None
        worker = agent.get_worker()
        self.study.presence.verdict(worker.worker_name, passed)
        if passed:
            grant(worker, name)
            self._passed_just_now.add(agent.worker_id)
        else:
            fail_practice(worker, name)

    def cleanup_onboarding(self, agent: OnboardingAgent) -> None:
        """Nothing to do."""


def _with_key(plan: dict[str, Any]) -> dict[str, Any]:
    """A plan with its language, and what its page keeps drafts under; those of earlier versions have neither yet."""
    added = {PAGE_KEY: secrets.token_urlsafe(12), LANGUAGE_KEY: spoken().tag}
    return {**plan, **{name: plan.get(name) or value for name, value in added.items()}}


def _ending(absence: AbsentAgentError) -> Ending:
    return "closed" if isinstance(absence, AgentShutdownError) else "left"


def one_unit() -> Any:
    """Initialization data of an assignment with one unit; what the unit holds is decided when a rater takes it."""
    return InitializationData(shared={}, unit_data=[{}])
