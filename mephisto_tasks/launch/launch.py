"""Launching a task, phase by phase: settings → checked study → running crowd task → clean end, for all launches."""

from __future__ import annotations

from mephisto_tasks._util import compat

compat.prepare()

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from mephisto_tasks._util.gc import only_new_garbage
from mephisto_tasks.adapter.architect import check_server
from mephisto_tasks.adapter.blueprint import StudySharedState, build_study, webapp_dist
from mephisto_tasks.adapter.operator import StudyOperator
from mephisto_tasks.admission.admission import load_eligibility, study_admission
from mephisto_tasks.crowds.crowd import Agree, Waiting
from mephisto_tasks.crowds.registry import crowd_in
from mephisto_tasks.launch import preparation
from mephisto_tasks.launch.running import LaunchController, RunningStudy, StoppedBefore, stop_on_signals
from mephisto_tasks.server.app import Serving
from mephisto_tasks.storage.locks import task_lock
from mephisto_tasks.storage.sqlite import Beginning

__all__ = ["RunningStudy", "StoppedBefore", "run_launch", "stop_on_signals"]


@contextmanager
def run_launch(
    task: str,
    config: DictConfig,
    data_dir: Path,
    waiting_for: Waiting = lambda what: nullcontext(),
    agree: Agree | None = None,
    stop: threading.Event | None = None,
) -> Iterator[RunningStudy]:
    """Launch a task; on leaving the block, end it cleanly. ``agree`` is shown what it can cost: without it nothing is
    launched that does. ``stop`` is looked at before anything is offered. Raises StoppedBefore, StudyBroken …"""
    with ExitStack() as stack:
        launch = _Launch(task, config, data_dir, waiting_for, stack)
        launch.reserve()
        launch.check()
        launch.build()
        launch.ask(agree)
        launch.load()
        if stop is not None and stop.is_set():
            raise StoppedBefore("stopped, as you asked, before anything was offered to raters")
        launch.admit()
        launch.offer()
        with launch.running() as run:
            yield run
    run.raise_if_broken()


class _Launch:
    """A launch; each phase makes what the next ones need."""

    def __init__(self, task: str, config: DictConfig, data_dir: Path, waiting_for: Waiting, stack: ExitStack) -> None:
        webapp_dist()
        self.task, self.config, self.data_dir = task, config, data_dir
        self.waiting_for, self.stack = waiting_for, stack
        self.settings = preparation.checked_settings(task, config)
        self.consent = preparation.consent_of(self.settings)
        self.asked = preparation.settings_of(config)
        self.task_name = str(config.mephisto.task.task_name)

    def reserve(self) -> None:
        """Nobody else launches this task in this data directory."""
        self.beginning = self.stack.enter_context(Beginning(self.data_dir))
        self.stack.enter_context(preparation.data_directory(self.data_dir))
        self.lock = self.stack.enter_context(task_lock(self.data_dir, self.task_name))

    def check(self) -> None:
        """Check the crowd, its rules and the server, before models talk or load for minutes."""
        settings = self.settings
        crowd = crowd_in(self.config).launch(self.config, self.data_dir, self.task_name, self.waiting_for)
        self.crowd = crowd
        if crowd.practice_pay > settings.payment.practice:  # it is promised, and so owed, whatever the site pays of it
            settings.payment.practice = crowd.practice_pay
            OmegaConf.update(self.config, "mephisto.blueprint.payment.practice", crowd.practice_pay, force_add=True)
        self.eligibility = load_eligibility(
            settings.workers,
            self.data_dir,
            self.task_name,
            site_has_qualifications=crowd.crowd.checks_rules,
            remarks=crowd.crowd.remarks(settings.workers, dict(crowd.provider)),
        )
        check_server(self.config.mephisto)

    def build(self) -> None:
        """The study that the settings describe, with what earlier launches did."""
        settings, mephisto = self.settings, self.config.mephisto
        with self.waiting_for("Preparing the study…"), preparation.mending(self.data_dir, self.task_name):
            self.study = build_study(
                settings,
                self.task,
                self.data_dir,
                self.task_name,
                float(mephisto.task.task_reward),
                self.crowd.currency,
            )
        self.study.remarks += self.eligibility.remarks
        self.study.remarks += preparation.remarks(self.study, self.consent, self.data_dir, self.task_name)
        if settings.is_decided and not mephisto.task.get("max_num_concurrent_units"):
            mephisto.task.max_num_concurrent_units = preparation.most_open(self.crowd.crowd, settings)

    def ask(self, agree: Agree | None) -> None:
        """The crowd's site, before models load: it refuses words that are too long, and says what all of it costs."""
        preparation.announce(self.config, self.study, with_people=False)
        self.units = self.study.remaining
        self.crowd.ask(self.units, self.settings.workers, agree, self.study.minutes)

    def load(self) -> None:
        """The models, and the way in for people among them."""
        with self.waiting_for("Loading the models…"):
            self.desk = self.stack.enter_context(preparation.loaded_models(self.study))
        self.side_door = preparation.partners_way_in(self.config, self.desk, self.data_dir, self.task_name, self.study)
        preparation.announce(self.config, self.study, with_people=self.desk.used)

    def admit(self) -> None:
        """The database, and who may come in."""
        crowd, study = self.crowd, self.study
        self.db = preparation.open_database(study, crowd, self.data_dir, self.task_name)
        self.reception = crowd.receive(self.db)
        self.admission = study_admission(
            study,
            self.eligibility,
            self.consent,
            crowd.crowd.claims,
            None if crowd.signed_ids is None else crowd.signed_ids.is_damaged,
            self.reception,
            int(self.config.mephisto.task.get("maximum_units_per_worker", 0) or 0),
            crowd.crowd.is_practice,
        )
        self.stack.callback(self.admission.close)

    def offer(self) -> None:
        """Units to raters, on a page that is served from now on."""
        study, mephisto = self.study, self.config.mephisto
        mephisto.blueprint.seed = study.seed  # what was drawn is stored with the run
        # Mephisto grants and asks for the practice's qualification by what stands here.
        mephisto.blueprint.onboarding_qualification = study.config.onboarding_qualification or None
        self.operator = StudyOperator(self.db, study, self.admission, self.reception)
        self.live_run = self.operator.launch(mephisto, self._shared_state())
        # Whatever goes wrong from here on: nothing can be said where a terminal was closed, say.
        self.stack.callback(self.operator.close)
        if self.crowd.crowd.costs_money:
            self.live_run.task_launcher.pay_for(self.units)

    def _shared_state(self) -> StudySharedState:
        crowd, study, signed_ids = self.crowd, self.study, self.crowd.signed_ids
        setup, page = crowd.setup(self.db), {**preparation.page_config(study, crowd), **self.admission.page_words}
        shared = StudySharedState(
            study=study,
            task_config=page,
            serving=Serving(
                side_door=self.side_door,
                languages=study.languages,
                fresh_ids=None if signed_ids is None else lambda: preparation.of_study(signed_ids.fresh(), page),
                guard=setup.guard,
                site_calls=setup.site_calls,
                images=study.images,
            ),
            site=setup.site,
            site_requirements=setup.site_requirements,
        )
        shared.qualifications += setup.qualifications
        # Before any practice: nobody should practise for a study that has nothing for them.
        shared.worker_can_do_unit = lambda worker, unit: study.may_begin(worker.db_id)
        return shared

    @contextmanager
    def running(self) -> Iterator[RunningStudy]:
        """Run the study and follow orders. At the end, raters get a message, and the study is taken off the site."""
        run = RunningStudy(
            self.study, self.operator, self.crowd, self.live_run, self.data_dir, self.side_door, self.desk
        )
        self.lock.name_run(run.task_run_id, run.url)
        controller = LaunchController(run, self.task, self.asked, costs_money=self.crowd.crowd.costs_money)
        if run.room is not None:
            run.room.start()
        try:
            controller.start()
            self.study.once_open()
            with self.crowd.running(run), only_new_garbage():
                self.beginning.over()
                yield run
        finally:
            self.study.closing.set()
            if run.room is not None:
                run.room.say_goodbye()
            with self.waiting_for("Ending the launch…"):
                self.operator.close()
            controller.stop()
