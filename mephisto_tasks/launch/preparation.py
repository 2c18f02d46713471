"""Phases of a launch: read the settings, create the data directory, load the models, fill in the page's texts."""

from __future__ import annotations

import logging
import math
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omegaconf import DictConfig, OmegaConf
from pydantic import BaseModel

from mephisto_tasks.adapter import settings_model
from mephisto_tasks.admission.identity import STUDY
from mephisto_tasks.annotation.config import StaticConfig, check_cap
from mephisto_tasks.annotation.items import pairings
from mephisto_tasks.chat.wizard import partners_door
from mephisto_tasks.config.files import as_typed
from mephisto_tasks.config.names import PLAIN_CONF, NothingToDo
from mephisto_tasks.config.task import ARCHITECT_TYPE, ConfigError, TaskConfig, read_config
from mephisto_tasks.crowds.crowd import Crowd, CrowdLaunch
from mephisto_tasks.crowds.registry import done_elsewhere
from mephisto_tasks.server.static import SideDoor
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.database import StudyDB
from mephisto_tasks.storage.locks import LOCKS, AlreadyRunning, running_task_run, task_lock
from mephisto_tasks.storage.results import ResultsError, Settings, database_file, flat, query, task_names
from mephisto_tasks.storage.sqlite import Database
from mephisto_tasks.storage.work import completed_work
from mephisto_tasks.workers.qualifications import fail_who_was_cut_off
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import make_private, make_private_folder, mode_within, open_to_strangers
from parlai_humaneval._util.terminal import plain_logs
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.materials.consent import Consent, load_consent
from parlai_humaneval.models.agent.isolation import quiet_parlai
from parlai_humaneval.models.backends.human import Desk, offered
from parlai_humaneval.models.zoo.entries import load_zoo
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from parlai_humaneval.planning.preregistration import Preregistration


PATIENCE_S = 5.0  # how long a repair waits for another user of the database

COMPLETED = "completed"
_AGENT_DONE = {COMPLETED, "approved", "rejected", "soft_rejected"}
_UNIT_DONE = {COMPLETED, "accepted", "rejected", "soft_rejected"}


class Behind(BaseModel, extra="forbid", frozen=True):
    """A unit that was completed, although its status differs; ``worker`` is a pseudonym."""

    task_name: str
    worker: str
    agent_id: str
    agent_status: str
    unit_id: str
    unit_status: str
    has_unit: bool  # the unit was not given to somebody else since then

    def __str__(self) -> str:
        unit = f", unit {self.unit_id}: {self.unit_status}" if self.has_unit else ""
        return f"agent {self.agent_id}: {self.agent_status}{unit}, and its work is complete"


def behind(data_dir: Path, task_name: str) -> list[Behind]:
    """Units that are complete by their records, but not by Mephisto's statuses. Raises ResultsError."""
    stored = {
        str(row[0]): [str(value) for value in row[1:]] for row in query(data_dir, "statuses_of_task", [task_name])
    }
    left = []
    for work in completed_work(data_dir, task_name):
        if work.outcome != "complete" or work.agent_id not in stored:
            continue
        agent_status, unit_id, unit_status, unit_agent = stored[work.agent_id]
        has_unit = unit_agent == work.agent_id
        if agent_status not in _AGENT_DONE or (has_unit and unit_status not in _UNIT_DONE):
            left.append(
                Behind(
                    task_name=task_name,
                    worker=work.worker,
                    agent_id=work.agent_id,
                    agent_status=agent_status,
                    unit_id=unit_id,
                    unit_status=unit_status,
                    has_unit=has_unit,
                )
            )
    return left


def repair(data_dir: Path, task_name: str) -> list[Behind]:
    """Set a task's statuses by its records, holding its lock; what was behind. Raises ResultsError."""
    left = behind(data_dir, task_name)
    if not left:
        return left
    hint = "nothing was changed: end the program that uses it, or try again later"
    database = Database(
        database_file(data_dir), error=ResultsError, if_busy=hint, if_damaged=hint, patience_s=PATIENCE_S
    )
    with database.writing() as connection:
        for one in left:
            if one.agent_status not in _AGENT_DONE:
                connection.execute(
                    "UPDATE agents SET status = ?1 WHERE agent_id = ?2 AND status = ?3",
                    (COMPLETED, one.agent_id, one.agent_status),
                )
            if one.has_unit and one.unit_status not in _UNIT_DONE:
                connection.execute(
                    "UPDATE units SET status = ?1, agent_id = ?2 WHERE unit_id = ?3 AND status = ?4",
                    (COMPLETED, one.agent_id, one.unit_id, one.unit_status),
                )
    return left


class Statuses(BaseModel):
    """The statuses of all tasks: what is ``behind`` was set if ``repaired``; nobody else touches ``running`` ones."""

    behind: list[Behind]
    repaired: bool
    running: list[str]


def all_statuses(data_dir: Path, *, set_them: bool) -> Statuses:
    """Look at every task of a data directory, or set what is behind. Raises ResultsError: as :func:`repair`."""
    left: list[Behind] = []
    running: list[str] = []
    for task_name in task_names(data_dir) if (data_dir / "database.db").is_file() else []:
        if running_task_run(data_dir, task_name) is not None:
            running.append(task_name)
            continue
        here = behind(data_dir, task_name)
        if here and set_them:
            try:
                with task_lock(data_dir, task_name):
                    here = repair(data_dir, task_name)
            except AlreadyRunning:
                running.append(task_name)
                continue
        left += here
    return Statuses(behind=left, repaired=set_them, running=running)


logger = logging.getLogger(__name__)


def _plain(section: DictConfig) -> dict[str, Any]:
    settings = OmegaConf.to_container(section, resolve=True, throw_on_missing=False)
    assert isinstance(settings, dict)
    return {str(name): value for name, value in settings.items()}


def checked_settings(task: str, config: DictConfig) -> TaskConfig:
    blueprint = _plain(config.mephisto.blueprint)
    return read_config(
        settings_model(task), {key: (None if value == "???" else value) for key, value in blueprint.items()}
    )


def launchable(
    facts: Preregistration, data_dir: Path, conf: str = PLAIN_CONF, chosen: Sequence[str] = ()
) -> Preregistration:
    """The facts, with the version of their judge, where a launch with ``chosen`` settings takes them. Raises
    HumanevalError: what the launch would refuse."""
    from mephisto_tasks.annotation.build import judge_of
    from mephisto_tasks.launch.config import compose_config
    from parlai_humaneval.planning.preregistration import write_preregistration  # plans take a while to load

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "study.md"
        write_preregistration(file, facts, expected="", version="")
        settings = checked_settings(
            facts.technique, compose_config(facts.technique, conf, [*chosen, f"prereg={as_typed(str(file))}"])
        )
    if changed := facts.changes(settings.model_dump(mode="json")):
        what = f"the study would not be launched as it is registered: {', '.join(map(str, changed))}"
        raise ConfigError(what, try_="give each of these settings once, with its name from `--list-settings`")
    check_dialogues(settings, data_dir)
    judge = judge_of(settings) if isinstance(settings, StaticConfig) else None
    return facts if judge is None else facts.model_copy(update={"judge": f"{judge.name}@{judge.version}"})


def check_dialogues(settings: TaskConfig, data_dir: Path) -> int | None:
    """How many judgements the dialogues serve whichever pair needs them; None: that shows only when they are there. Raises
    ConfigError where they serve fewer than the study may take."""
    there = pairings(settings, data_dir) if isinstance(settings, StaticConfig) else None
    if not there or not isinstance(settings, StaticConfig):
        return None
    possible = min(map(math.prod, there.values()))
    if settings.is_decided:
        check_cap(settings, there)
    elif (settings.judgements_per_group or 0) > possible:
        facts = {"wanted": settings.judgements_per_group, "possible": possible}
        raise ConfigError(worded(__file__, "few_pairings", **facts))
    return possible


def unknown_models(models: Sequence[str], zoo_files: Sequence[str]) -> list[str]:
    """Models that speak, and that no zoo file has which the launch reads."""
    try:
        zoo = load_zoo(more=zoo_files)
    except HumanevalError:
        return []  # the launch names what is wrong with the file
    return [model for model in models if model not in zoo]


def settings_of(config: DictConfig) -> Settings:
    """The settings as they are asked for; those that are missing are left out."""
    return {name: value for name, value in flat(_plain(config.mephisto)).items() if value != "???"}


@contextmanager
def data_directory(data_dir: Path) -> Iterator[None]:
    """The directory is there, for its owner alone; where the block fails, no new folder stays. Raises ConfigError."""
    made = [folder for folder in (data_dir / LOCKS, data_dir, *data_dir.parents) if not folder.exists()]
    try:
        make_private_folder(data_dir)
    except OSError as error:
        why = "a file of that name is in the way" if data_dir.is_file() else error.strerror
        what = f"the data directory {data_dir} cannot be made ({why})"
        raise ConfigError(what, try_="name another one with --data-dir, or in $PARLAI_HUMANEVAL_DATA_DIR") from error
    try:
        with plain_logs():
            yield
    except BaseException:
        for folder in made:
            with suppress(OSError):  # it holds something: another launch's, say
                folder.rmdir()
        raise


def shut(folder: Path) -> str:
    return f"chmod -R o-rwx {shlex.quote(str(folder))}"


def consent_of(settings: TaskConfig) -> Consent | None:
    return load_consent(Path(settings.consent_file).expanduser()) if settings.consent_file else None


def remarks(study: Study, consent: Consent | None, data_dir: Path, task_name: str) -> Iterator[str]:
    """What whoever launches should know of the consent text and earlier launches, whose statuses are set here."""
    yield from mended_statuses(data_dir, task_name)
    if study.awaited:
        from mephisto_tasks.session import stopping

        rest = f"The study waits up to {stopping.PATIENCE_S:.0f} seconds for interrupted raters to return"
        yield f"An earlier launch interrupted {counted(study.awaited, 'rater')}. {rest}, and then continues."
    if consent is not None and consent.has_no_contact_yet:
        yield f"The consent text still has the example's address. Put yours into {study.config.consent_file}."


def mended_statuses(data_dir: Path, task_name: str) -> list[str]:
    """Set the statuses that a killed launch left behind, once the study knows whose work was cut off; what to know of it."""
    if not (data_dir / "database.db").is_file() or task_name not in task_names(data_dir):
        return []
    try:
        for one in repair(data_dir, task_name):
            logger.warning("an earlier launch of %s was killed: %s; now it counts as completed", task_name, one)
    except ResultsError as error:
        return [f"{error}. Until the statuses are repaired, the crowd provider may count completed work as unfinished."]
    return []


@contextmanager
def mending(data_dir: Path, task_name: str) -> Iterator[None]:
    """Where nothing is left to do, no other launch will come by and set the statuses that a killed one left behind."""
    try:
        yield
    except NothingToDo:
        mended_statuses(data_dir, task_name)
        raise


def most_open(crowd: Crowd, settings: TaskConfig) -> int:
    """Where raters decide when it ends, a site offers no more units than are let in; 0: our pages count who is inside."""
    return settings.most_inside if crowd.market.lists_units else 0


@contextmanager
def loaded_models(study: Study) -> Iterator[Desk]:
    desk = Desk()
    with ExitStack() as stack:
        # ParlAI logs every option of every model between people and the link they wait for.
        with quiet_parlai(), offered(desk):
            stack.enter_context(study.resources())
        stack.callback(desk.close)
        yield desk


def partners_way_in(config: DictConfig, desk: Desk, data_dir: Path, task_name: str, study: Study) -> SideDoor | None:
    """For the people among the models, where there are any. Raises ConfigError: another server cannot have one."""
    if not desk.used:
        return None
    if config.mephisto.architect._architect_type != ARCHITECT_TYPE:
        raise ConfigError(worded(__file__, "no_partners", architect=ARCHITECT_TYPE), where="mephisto.architect")
    return partners_door(data_dir, task_name, study.languages)


def announce(config: DictConfig, study: Study, *, with_people: bool) -> None:
    """A crowd's site says what the page says, or the settings; ``with_people``: no word of chatbots."""
    for key, words in (("task_title", study.instructions.title), ("task_description", study.instructions.tagline)):
        said = str(config.mephisto.task[key])
        if not said or (with_people and "chatbot" in said.lower()):
            config.mephisto.task[key] = words


def open_database(study: Study, crowd: CrowdLaunch, data_dir: Path, task_name: str) -> StudyDB:
    if open_to_strangers(data_dir):
        study.remarks.append(f"Anyone on this machine can read what raters say. To prevent this: {shut(data_dir)}")
    make_private(data_dir / "database.db", mode_within(data_dir))  # it holds what crowds call their workers
    db = StudyDB(str(data_dir / "database.db"), study.saving)
    study.remarks += crowd.prepare(db)
    elsewhere = done_elsewhere(data_dir, task_name, crowd.crowd.provider_type)
    study.remarks += [] if elsewhere is None else [elsewhere]
    failed = [worker for worker, used in study.practice_tries_used.items() if used >= study.config.onboarding_tries]
    fail_who_was_cut_off(db, task_name, study.config.onboarding_qualification, failed)
    return db


def of_study(ids: Mapping[str, str], page: Mapping[str, Any]) -> dict[str, str]:
    """A new visitor's ``ids``, with the study that their page is of."""
    return {**ids, STUDY: page[STUDY]}


def page_config(study: Study, crowd: CrowdLaunch) -> dict[str, Any]:
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
