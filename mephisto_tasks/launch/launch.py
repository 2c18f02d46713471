"""Launching a task: settings → checked study → running crowd task → clean end.

``parlai-humaneval launch TASK``, ``python -m mephisto_tasks TASK``, the demo and the tests all go through here.

Where the answers go: made for its owner alone, and gone again where a launch failed before it held anything.

Ending on request: Ctrl-C, SIGTERM, and a terminal that is closed.
"""

from __future__ import annotations

import logging
import shlex
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from omegaconf import DictConfig, OmegaConf

from mephisto_tasks._util import compat
from mephisto_tasks._util.gc import only_new_garbage
from mephisto_tasks.adapter import hosting
from mephisto_tasks.adapter.architect import ARCHITECT_TYPE, HumanevalLocalArchitect
from mephisto_tasks.adapter.blueprint import StudySharedState, webapp_dist
from mephisto_tasks.adapter.operator import StudyOperator
from mephisto_tasks.adapter.registry import blueprint_of, build_study
from mephisto_tasks.adapter.task_runner import one_unit
from mephisto_tasks.admission.admission import study_admission
from mephisto_tasks.admission.browsers import BrowserBook
from mephisto_tasks.admission.consent import ConsentRule
from mephisto_tasks.admission.eligibility import load_eligibility
from mephisto_tasks.chat.wizard import PartnerRoom, partners_door
from mephisto_tasks.config.errors import NothingToDo
from mephisto_tasks.config.task import ConfigError, TaskConfig, read_config
from mephisto_tasks.control.steering import BY
from mephisto_tasks.crowds.base import Agree, Waiting
from mephisto_tasks.crowds.crowd import Crowd, CrowdLaunch
from mephisto_tasks.crowds.registry import crowd_for, done_elsewhere
from mephisto_tasks.launch.controller import LaunchController
from mephisto_tasks.launch.recovery import repair
from mephisto_tasks.server.hosts import openable
from mephisto_tasks.server.side_door import SideDoor
from mephisto_tasks.session.stopping_build import waits_for
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.database import StudyDB
from mephisto_tasks.storage.locks import LOCKS, task_lock
from mephisto_tasks.storage.results import PSEUDONYM_KEY, ResultsError, task_names
from mephisto_tasks.storage.retry import Beginning
from mephisto_tasks.storage.run_settings import RunSettings, Settings, flat, note_settings
from mephisto_tasks.workers.practice import fail_who_was_cut_off
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import make_private, make_private_folder, mode_within, open_to_strangers
from parlai_humaneval._util.terminal import plain_logs
from parlai_humaneval.i18n.languages import Offered
from parlai_humaneval.materials.consent import load_consent
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.backends.human_desk import Desk, offered
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.statistics.core.formatting import counted


@contextmanager
def data_directory(data_dir: Path) -> Iterator[None]:
    """The directory is there, and can be written. Where the block fails, no empty folder stays that was made for it.

    Raises:
        ConfigError: it cannot be made.
    """
    made = [folder for folder in (data_dir / LOCKS, data_dir, *data_dir.parents) if not folder.exists()]
    try:
        make_private_folder(data_dir)
    except OSError as error:
        why = "a file of that name is in the way" if data_dir.is_file() else error.strerror
        raise ConfigError(
            f"the data directory {data_dir} cannot be made ({why})",
            try_="name another one with --data-dir, or in $PARLAI_HUMANEVAL_DATA_DIR",
        ) from error
    try:
        yield
    except BaseException:
        for folder in made:
            with suppress(OSError):  # it holds something: another launch's, say
                folder.rmdir()
        raise


def shut(folder: Path) -> str:
    """What to do where everybody on the machine can read what is in a folder."""
    return f"chmod -R o-rwx {shlex.quote(str(folder))}"


def stop_on_signals() -> threading.Event:
    """An event that Ctrl-C, SIGTERM and SIGHUP set, instead of killing the program in the middle of something.

    SIGHUP comes when a terminal is closed, or a connection to another machine breaks; ``nohup`` has it ignored.
    """
    stop = threading.Event()

    def handler(signum: int, frame: FrameType | None) -> None:
        if stop.is_set() and signum == signal.SIGINT:
            raise KeyboardInterrupt  # a second Ctrl-C means it
        stop.set()

    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGTERM, handler)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, handler)
    return stop


compat.prepare()


__all__ = ["NothingToDo", "RunningStudy", "StoppedBefore", "StudyBroken", "run_launch", "stop_on_signals"]

logger = logging.getLogger(__name__)


class StoppedBefore(HumanevalError, RuntimeError):
    """Somebody ended a launch before anything was offered to raters."""


class StudyBroken(HumanevalError, RuntimeError):
    """Dialogues failed one after another; the message says with what."""


@dataclass
class RunningStudy:
    """A running study."""

    study: Study
    operator: StudyOperator
    url: str
    """Of the page."""
    raters_link: str
    """Where raters begin."""
    link_words: str
    """What that is."""
    data_dir: Path
    task_name: str
    task_run_id: str
    live_run: Any
    room: PartnerRoom | None = None
    partner_url: str | None = None
    """Secret link for the people who write replies, where one of the models is a person."""
    panel_link: str | None = None
    """The link as it is entered at the panel that sends the raters."""
    only_invited: bool = False
    """Nobody comes in without an invitation."""
    unit_word: str = "unit"
    """What the crowd calls an offered unit."""
    orders_told: int = field(init=False)
    """So many orders whoever launched knows of: those of earlier launches are among what is announced."""

    def __post_init__(self) -> None:
        self.orders_told = len(self.study.steered.results)

    def warning(self) -> str | None:
        """What whoever launched should know now; each time once."""
        if self.room is not None and self.room.newly_unattended():
            return (
                f"A rater waits for a reply, and no partner is there to write it. Link for partners: {self.partner_url}"
            )
        if (news := self.study.saving.news(self.data_dir)) is not None:
            return news
        for result in self.study.steered.results[self.orders_told :]:
            self.orders_told += 1
            return f"{result.text} (Ordered {BY[result.by]}.)"
        return None

    def is_done(self) -> bool:
        """True when every dialogue asked for is complete and no rater is on a page any more, or nothing can go on."""
        if self.study.broken is not None:
            return True
        if self.live_run.task_runner.running_units:
            return False
        return self.study.remaining == 0 or self.live_run.task_launcher.is_paid_out

    @property
    def left_on_site(self) -> bool:
        """The launch has ended, and not all that it had offered could be taken off the crowd's site; that was told."""
        return bool(self.live_run.task_launcher.left_on_site)

    def unfinished(self) -> str | None:
        """Why it ended before everything was collected, where it did by itself."""
        if self.study.remaining == 0 or not self.live_run.task_launcher.is_paid_out:
            return None
        return (
            f"{counted(self.study.remaining, 'unit')} of work must still be done, and all {self.unit_word}s that were "
            "agreed to are used up: some were paid whose work was stopped on our side, or held less than others. Launch "
            "again: that tells what the rest costs."
        )

    def wait(self, stop: threading.Event, *, poll_s: float = 0.2) -> None:
        """Block until done or until ``stop`` is set."""
        while not self.is_done() and not stop.wait(poll_s):
            pass


@contextmanager
def run_launch(
    task: str,
    config: DictConfig,
    data_dir: Path,
    waiting_for: Waiting = lambda what: nullcontext(),
    agree: Agree | None = None,
    stop: threading.Event | None = None,
) -> Iterator[RunningStudy]:
    """Launch a task; on leaving the block, end it cleanly (answers are stored as they arrive).

    ``waiting_for`` makes, of words for what is done, what is entered for as long as that takes. ``agree`` is shown what a
    launch can cost before anything is made; without it nothing is launched that costs real money. ``stop``: is set
    when somebody wants it to end, which is looked at once, before anything is offered to raters.

    Raises:
        what :func:`.blueprints.build_study` raises; ConfigError; PortInUse; WebAppMissing; CrowdError; CannotBegin; what
        ``agree`` raises; StoppedBefore; on leaving, StudyBroken.
    """
    webapp_dist()
    blueprint = OmegaConf.to_container(config.mephisto.blueprint, resolve=True, throw_on_missing=False)
    assert isinstance(blueprint, dict)
    blueprint_class = blueprint_of(task)
    settings = read_config(
        blueprint_class.CONFIG, {str(key): (None if value == "???" else value) for key, value in blueprint.items()}
    )
    consent = load_consent(Path(settings.consent_file).expanduser()) if settings.consent_file else None
    asked = settings_of(config)
    task_name = str(config.mephisto.task.task_name)
    reward = float(config.mephisto.task.task_reward)
    with ExitStack() as stack:
        beginning = stack.enter_context(Beginning(data_dir))
        stack.enter_context(plain_logs())
        stack.enter_context(data_directory(data_dir))
        lock = stack.enter_context(task_lock(data_dir, task_name))
        crowd = crowd_for(config, data_dir, task_name, waiting_for)
        if crowd.practice_pay > settings.payment.practice:  # it is promised, and so owed, whatever the site pays of it
            settings.payment.practice = crowd.practice_pay
            OmegaConf.update(config, "mephisto.blueprint.payment.practice", crowd.practice_pay, force_add=True)
        remarks = crowd.crowd.remarks(settings.workers, dict(crowd.provider))
        eligibility = load_eligibility(
            settings.workers,
            data_dir,
            task_name,
            site_has_qualifications=crowd.crowd.checks_rules,
            remarks=remarks,
        )
        if config.mephisto.architect._architect_type == ARCHITECT_TYPE:
            HumanevalLocalArchitect.assert_task_args(config.mephisto, None)  # before models talk or load for minutes
        else:
            _check_server(config)
        with waiting_for("Preparing the study…"):
            study = build_study(settings, task, data_dir, task_name, reward, crowd.currency)
        study.remarks += eligibility.remarks + _statuses_by_records(data_dir, task_name)
        study.remarks += waits_for(study.awaited)
        if consent is not None and consent.has_no_contact_yet:
            study.remarks.append(
                f"The consent text names the example's address: put yours into {settings.consent_file}."
            )
        if settings.is_decided and not config.mephisto.task.get("max_num_concurrent_units"):
            config.mephisto.task.max_num_concurrent_units = _most_open(crowd.crowd, settings)
        # The crowd's site is asked before models load, and refuses words that are too long.
        _announce(config, study, with_people=False)
        units = study.remaining
        crowd.ask(units, settings.workers, agree, study.minutes)
        desk = Desk()
        # ParlAI logs every option of every model between people and the link they wait for.
        with waiting_for("Loading the models…"), quiet_parlai(), offered(desk):
            stack.enter_context(study.resources())
        stack.callback(desk.close)
        side_door = _partners_door(config, data_dir, task_name, study.languages) if desk.used else None
        if stop is not None and stop.is_set():
            raise StoppedBefore("stopped, as you asked, before anything was offered to raters")
        _announce(config, study, with_people=desk.used)
        if open_to_strangers(data_dir):
            study.remarks.append(
                f"Everybody on this machine can read what raters say. To shut them out: {shut(data_dir)}"
            )
        make_private(data_dir / "database.db", mode_within(data_dir))  # it holds what crowds call their workers
        db = StudyDB(str(data_dir / "database.db"), study.saving)
        study.remarks += crowd.prepare(db)
        elsewhere = done_elsewhere(data_dir, task_name, crowd.crowd.provider_type)
        study.remarks += [] if elsewhere is None else [elsewhere]
        failed = [worker for worker, used in study.practice_tries_used.items() if used >= study.config.onboarding_tries]
        fail_who_was_cut_off(db, task_name, study.config.onboarding_qualification, failed)
        most_units = int(config.mephisto.task.get("maximum_units_per_worker", 0) or 0)
        book, signed_ids = BrowserBook(data_dir), crowd.signed_ids
        stack.callback(book.close)
        book.open()
        consent_rule, reception = ConsentRule(consent, data_dir, task_name), crowd.receive(db)
        admission = study_admission(
            study,
            eligibility,
            consent_rule,
            study.presence,
            book,
            crowd.crowd.claims,
            signed_ids,
            reception,
            most_units,
        )
        operator = StudyOperator(db, study, admission, reception)
        shared_state = StudySharedState(
            study=study,
            task_config={**_page_config(study, crowd), **consent_rule.page_words()},
            side_door=side_door,
            languages=study.languages,
            fresh_ids=None if signed_ids is None else signed_ids.fresh,
        )
        setup = crowd.setup(db)
        shared_state.qualifications += setup.qualifications
        shared_state.site_requirements = setup.site_requirements
        shared_state.site, shared_state.guard, shared_state.site_calls = setup.site, setup.guard, setup.site_calls
        # Before any practice: nobody should practise for a study that has nothing for them.
        shared_state.worker_can_do_unit = lambda worker, unit: study.may_begin(worker.db_id)
        config.mephisto.blueprint.seed = study.seed  # what was drawn is stored with the run
        # Mephisto grants and asks for the practice's qualification by what stands here.
        config.mephisto.blueprint.onboarding_qualification = study.config.onboarding_qualification
        live_run = operator.launch(config.mephisto, shared_state)
        # Whatever goes wrong from here on: nothing can be said where a terminal was closed, say.
        stack.callback(operator.close)
        if crowd.crowd.costs_money:
            live_run.task_launcher.pay_for(units)
        url = openable(str(live_run.task_launcher.launch_url))
        raters_link = crowd.raters_link(url, live_run)
        lock.name_run(str(live_run.task_run.db_id), url)
        room = None if side_door is None else PartnerRoom(desk, side_door.router, study.languages)
        controller = LaunchController(
            study=study,
            units=live_run.task_launcher,
            pseudonym=Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY).worker,
            data_dir=data_dir,
            task_name=task_name,
            task_run_id=str(live_run.task_run.db_id),
            url=raters_link,
            costs_money=crowd.crowd.costs_money,
        )
        run_settings = RunSettings(task=task, task_run_id=str(live_run.task_run.db_id), settings=asked)
        if room is not None:
            room.start()
        try:
            note_settings(data_dir, task_name, run_settings)
            controller.start()
            with crowd.running(_Control(study, live_run, url)), only_new_garbage():
                beginning.over()
                yield RunningStudy(
                    study=study,
                    operator=operator,
                    url=url,
                    raters_link=raters_link,
                    link_words=crowd.crowd.words.link,
                    data_dir=data_dir,
                    task_name=task_name,
                    task_run_id=str(live_run.task_run.db_id),
                    live_run=live_run,
                    room=room,
                    partner_url=None if side_door is None else side_door.url(url),
                    panel_link=crowd.panel_link(url),
                    only_invited=crowd.only_invited,
                    unit_word=crowd.crowd.words.unit,
                )
        finally:
            study.closing.set()
            if room is not None:
                room.say_goodbye()
            with waiting_for("Ending the launch…"):
                operator.close()
            controller.stop()
    if study.broken is not None:
        raise StudyBroken(
            f"stopped after {settings.stop_after_failures} failed dialogues in a row, the last with: {study.broken}",
            try_=(
                "pay their raters",
                "mend that (`parlai-humaneval models check … --load` asks a model) and launch again: it goes on",
            ),
        )


def _statuses_by_records(data_dir: Path, task_name: str) -> list[str]:
    """A launch that was killed may have left statuses behind; says where they cannot be set now."""
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return []
    try:
        for one in repair(data_dir, task_name):
            logger.warning("an earlier launch of %s was killed: %s; now it counts as completed", task_name, one)
    except ResultsError as error:
        return [f"{error}. Work that was done may count as unfinished on the crowd's side until then."]
    return []


@dataclass
class _Control:
    """What the crowd's site may do with the launch. It is a :class:`~mephisto_tasks.crowds.base.LaunchControl`."""

    _study: Study
    live_run: Any
    url: str

    @property
    def remaining(self) -> int:
        return self._study.remaining

    @property
    def paused(self) -> bool:
        return self._study.paused

    def keep_open(self, *, besides: str = "") -> None:
        self.live_run.task_launcher.keep_open(self._study.remaining, besides=besides, data=one_unit)

    def note_paid_in_vain(self) -> None:
        self.live_run.task_launcher.note_paid_in_vain()


def settings_of(config: DictConfig) -> Settings:
    """The settings as they are asked for; those that are missing are left out."""
    settings = OmegaConf.to_container(config.mephisto, resolve=True, throw_on_missing=False)
    assert isinstance(settings, dict)
    return {name: value for name, value in flat(settings).items() if value != "???"}


def _most_open(crowd: Crowd, settings: TaskConfig) -> int:
    """Where raters decide when it ends, a site offers no more units than are let in; 0: our pages count who is inside."""
    return settings.most_inside if crowd.market.lists_units else 0


def _partners_door(config: DictConfig, data_dir: Path, task_name: str, languages: Offered) -> SideDoor:
    if config.mephisto.architect._architect_type != ARCHITECT_TYPE:
        raise ConfigError(
            f"a human model needs {ARCHITECT_TYPE}, which serves the partners' page, too",
            where="mephisto.architect",
            try_="leave the human model out, or do not change the architect",
        )
    return partners_door(data_dir, task_name, languages)


def _check_server(config: DictConfig) -> None:
    server = str(config.mephisto.architect._architect_type)
    if server not in hosting.SERVERS:
        return
    settings = OmegaConf.to_container(config.mephisto.architect, throw_on_missing=False)
    assert isinstance(settings, dict)
    if missing := hosting.lacks(server, {str(key): value for key, value in settings.items()}):
        raise ConfigError(f"server={server} is not set up here: {'; '.join(missing)}")


def _announce(config: DictConfig, study: Study, *, with_people: bool) -> None:
    """A crowd's site says what the page says, unless the settings have other words for it.

    ``with_people``: they may write the replies; then other words must not announce chatbots.
    """
    for key, words in (("task_title", study.instructions.title), ("task_description", study.instructions.tagline)):
        said = str(config.mephisto.task[key])
        if not said or (with_people and "chatbot" in said.lower()):
            config.mephisto.task[key] = words


def _page_config(study: Study, crowd: CrowdLaunch) -> dict[str, Any]:
    """The public configuration of the page: words only; no model, no right answer, no code."""
    words = {tag: instructions.model_dump(mode="json") for tag, instructions in study.instructions_in.items()}
    of_languages = {tag: {**told, "words": words[tag]} for tag, told in study.languages.for_page().items()}
    return {
        **study.instructions.model_dump(mode="json"),
        "languages": of_languages,
        "minutes": study.minutes,
        "provider_type": crowd.crowd.page_type,  # for pages of earlier versions
        "entry": crowd.crowd.page_entry,
        "unit": crowd.crowd.words.unit if crowd.crowd.page_entry == "site" else None,
        **crowd.page_words(),
    }
