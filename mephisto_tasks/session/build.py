"""The common part of building a study in both engines: practice, texts, and the results of earlier launches."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mephisto_tasks.config.files import task_dir
from mephisto_tasks.config.names import ConfigError, NothingToDo
from mephisto_tasks.config.task import TaskConfig, resolve_file
from mephisto_tasks.control.orders import ORDERS, Order, Steered
from mephisto_tasks.payments.policy import DOLLARS, money
from mephisto_tasks.session import stopping
from mephisto_tasks.session.page import Difference, going_on
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.logs import DECISIONS
from mephisto_tasks.storage.results import PSEUDONYM_KEY, blueprints, finished_by_worker, past_practices
from mephisto_tasks.storage.sqlite import Saving
from mephisto_tasks.storage.work import CutOff, cut_off_units, last_seen
from mephisto_tasks.workers.qualifications import resets_by_id
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval.display import ReplyDisplay
from parlai_humaneval.display.presenter import Presenter, presenter_of
from parlai_humaneval.display.vocabulary import packaged, unprotected
from parlai_humaneval.i18n.translate import phrase, phrases, speaking, t, tn, worded
from parlai_humaneval.materials.instructions import Instructions, load_instructions
from parlai_humaneval.planning.inputs import ONBOARDING_MINUTES
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.stopping.events import Began
from parlai_humaneval.techniques.registry import techniques

if TYPE_CHECKING:
    from mephisto_tasks.session.stopping import StoppingMonitor

UNPAID = phrase("nothing but our thanks")
VOLUNTEERS = phrase("This study is unpaid. Thank you for taking part!")
PHRASES = phrases(__file__)
EXACTLY_UP_TO = 20  # minutes; longer times are rounded to steps of five

C = TypeVar("C", bound=TaskConfig)
S = TypeVar("S", bound=Study)


def number_in_words(number: int) -> str:
    return t(PHRASES.get(str(number), str(number)))


class Setup(Generic[C]):
    """A launch that is being built: settings, and where answers go. ``reward`` is for a complete unit."""

    def __init__(
        self, config: C, task: str, data_dir: Path, task_name: str, reward: float, currency: str = DOLLARS
    ) -> None:
        self.config, self.data_dir, self.task_name = config, data_dir, task_name
        self.task_config = task_dir(task) / "task_config"
        self.registered_judge = ""  # its name and version
        self._keep_to_registered()
        self.seed = config.seed if config.seed is not None else secrets.randbelow(2**31)
        self.closing = threading.Event()
        self._reward, self._currency = reward, currency

    def _keep_to_registered(self) -> None:
        """A study goes as it was registered, in each of its launches; only the cap of one that began may be raised. Raises
        ConfigError, PreregistrationError."""
        config, task_name = self.config, self.task_name
        is_there = (self.data_dir / "database.db").is_file()
        runs = blueprints(self.data_dir, task_name).values() if is_there else ()
        before = next((str(run["prereg"]) for run in runs if run.get("prereg")), "")
        if not (config.prereg or before):
            return
        from parlai_humaneval.planning.preregistration import parse_preregistration  # plans take a while to load

        begun = len(finished_by_worker(self.data_dir, task_name))
        if begun and config.prereg not in ("", before):
            known = f"as {parse_preregistration(before, 'prereg').name}" if before else "without a preregistration"
            raise _refused("begun", where="prereg", task=task_name, known=known, answers=counted(begun, "answer"))
        config.prereg = config.prereg or before
        facts = parse_preregistration(config.prereg, "prereg")
        # A later launch need not name it.
        if config.seed is None and isinstance(seed := facts.settings.get("seed"), int):
            config.seed = seed
        now = config.model_dump(mode="json")
        self.registered_judge = facts.judge
        if begun and (now["max_dialogues"] or 0) > int(str(facts.settings.get("max_dialogues") or 0)):
            now["max_dialogues"] = facts.settings.get("max_dialogues")  # no error rate rests on it; the report says so
        if changed := facts.changes(now):
            raise _refused("changed", where="prereg", name=facts.name, changed=", ".join(map(str, changed)))

    @cached_property
    def orders(self) -> Sequence[Order]:
        """The orders when they are first requested: models may talk for hours before that."""
        return ORDERS.read(self.data_dir, self.task_name)

    @property
    def is_paid(self) -> bool:
        return bool(self.config.pay or self._reward)

    def monitor(
        self, asked: Callable[[], tuple[Sequence[str], Collection[Sequence[str]], str]], *, judge: str = ""
    ) -> StoppingMonitor | None:
        """The monitor, if the study stops once it reaches a decision; ``asked``: models, groups, setting.
        ``judge``: name, version of one whose predictions are taken off what raters say."""
        config, data_dir, task_name = self.config, self.data_dir, self.task_name
        events = DECISIONS.read(data_dir, task_name)
        if not config.is_decided:
            if DECISIONS.exists(data_dir, task_name):
                began = next((event.technique for event in events if isinstance(event, Began)), "")
                raise _refused("decided", task=task_name, technique=f" ({began})" if began else "")
            return None
        if self.registered_judge not in ("", judge):
            raise _refused("judge", registered=self.registered_judge, name=self.config.judge, judge=judge)

        models, groups, setting = asked()
        finished = finished_by_worker(data_dir, task_name)
        if finished and not events:
            raise _refused("undecided", task=task_name)
        pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
        monitor = stopping.monitor_of(
            events,
            config.rule(models, groups, judge),
            lambda more: DECISIONS.append(data_dir, *more, task=task_name),
            Saving(self.closing),
            lambda worker: pseudonyms.worker(f"deciding:{task_name}:{worker}"),
            self.closing,
            seed=self.seed,
            technique=config.technique,
            setting=setting,
            metric=config.metric,
        )
        if unknown := stopping.unknown_workers(monitor, finished):
            raise _refused("unknown", workers=counted(unknown, "rater"), key=PSEUDONYM_KEY)
        stopping.note_missing(monitor, finished)  # a launch that was killed may not have counted its last ones
        if monitor.missing > monitor.free:
            monitor.expect(last_seen(data_dir, task_name), config.answer_timeout_s)
        monitor.look()
        return monitor

    def minutes(self, times: int, seconds: float | None = None) -> int | None:
        """About how many minutes a unit takes: as configured, or by what it holds so many ``times``; or None."""
        config, entry = self.config, techniques().get(self.config.technique)
        if entry is not None and entry.habits is not None:
            seconds = entry.habits.seconds
        if config.minutes is not None or seconds is None:
            return config.minutes
        minutes = times * seconds / 60 + (0 if config.onboarding_qualification is None else ONBOARDING_MINUTES)
        return max(1, round(minutes)) if minutes <= EXACTLY_UP_TO else 5 * round(minutes / 5)

    def words(
        self, values: Callable[[], dict[str, str]], unit: Callable[[], str], flags: Mapping[str, bool]
    ) -> dict[str, Instructions]:
        """Language → the words of the page, the main one first; ``unit``: what is paid. Raises DataError."""
        said = {}
        for tag, language in self.config.languages().languages.items():
            with speaking(language):
                said[tag] = self._instructions({**values(), **self._values(unit())}, flags)
        return said

    def _values(self, unit: str) -> dict[str, str]:
        config, tries = self.config, self.config.onboarding_tries
        if config.pay or not self._reward:
            pay = t(config.pay or UNPAID)
        else:
            amount = money(Decimal(f"{self._reward:.2f}"), self._currency)
            if config.onboarding_qualification is not None:
                pay = t("{amount} for one complete {unit}, practice included", amount=amount, unit=unit)
            else:
                pay = t("{amount} for one complete {unit}", amount=amount, unit=unit)
        return {
            "min_reason_words": str(config.min_reason_words),
            "tries": tn("one try", "{number} tries", tries, number=number_in_words(tries)),
            "practice_pay": money(Decimal(f"{config.payment.practice:.2f}"), self._currency),
            "pay": pay,
        }

    def _instructions(self, values: dict[str, str], flags: Mapping[str, bool]) -> Instructions:
        """Instructions from your file, or the task's file for the metric, or the task's file."""
        config, partial, unpaid = self.config, self.config.payment.partial, values["pay"] == t(UNPAID)
        of_metric = self.task_config / f"instructions_{config.metric}.yaml"
        of_task = of_metric if of_metric.is_file() else self.task_config / "instructions.yaml"
        all_flags = {
            **flags,
            "practice": config.onboarding_qualification is not None,
            "told_at_once": config.onboarding_feedback == "each_item",
            "own_consent": bool(config.consent_file),
            "practice_paid": config.payment.practice > 0,
            "unpaid": unpaid,
            "part_paid": partial == "pro_rata" and not unpaid,
            "left_paid": partial == "full" and not unpaid,
        }
        true = {name for name, is_true in all_flags.items() if is_true}
        words = load_instructions(resolve_file(config.instructions_file, of_task), values, true)
        if unpaid and not config.instructions_file:
            words = words.model_copy(update={"pay": t(VOLUNTEERS)})
        if words.guide is None and config.instructions_file and of_task.is_file():
            return words.model_copy(update={"guide": load_instructions(of_task, values, true).guide})
        return words

    def finish(
        self,
        study: S,
        can_go_on: Callable[[str, CutOff], bool],
        differences: Callable[[CutOff], Iterator[Difference]],
        what: str,
        more: str,
    ) -> S:
        """The study with what orders and earlier launches made of it; of those, ``differences`` forbid to go on.
        ``what`` is collected, and ``more`` settings ask for more. Raises NothingToDo, ConfigError."""
        steered = study.steer(self.orders)
        cut_off = cut_off_units(self.data_dir, self.task_name)
        units = {worker: left for worker, left in cut_off.items() if can_go_on(worker, left)}
        for worker, left in going_on(units, differences, anew=self.config.cut_off == "anew").items():
            study.note_left(worker, left)
        if study.practice is not None:
            # Failed tries of earlier launches stay failed, but for those from before a worker's practice was reset.
            resets = resets_by_id(self.data_dir, study.config.onboarding_qualification)
            for worker, past in past_practices(self.data_dir, self.task_name, resets).items():
                tries = (len(choices) == len(study.practice.items) and "bad" in choices for choices in past.choices)
                study.practice_tries_used[worker] = sum(tries)
        if study.monitor is not None and study.monitor.is_over:
            standing, task_name = study.monitor.standing(), self.task_name
            how = "begin another study: task_name=…" if standing.ended == "decided" else "raise max_dialogues"
            see = f"see it with `parlai-humaneval report --task-name {task_name}`"
            raise NothingToDo(str(standing), where=f"task {task_name!r}", try_=(see, how))
        if study.allocator.remaining == 0:
            raise _nothing_to_do(self.task_name, what, more, steered)
        return study


def study_presenter(
    replies: ReplyDisplay, options: Iterable[dict[str, Any]], *, compared: bool, ask_again: int = 0
) -> Presenter:
    """What shows replies by the settings. Raises ConfigError: words, disclosures or a classifier cannot be used."""
    try:
        return presenter_of(replies, options, compared=compared, ask_again=ask_again)
    except DataError as error:
        raise ConfigError(error, where="replies") from error


def unprotected_languages(config: TaskConfig, presenter: Presenter) -> list[str]:
    """A remark where raters may read a language in which nothing is known of how programs give themselves away."""
    remark = unprotected(config.languages().languages, presenter.vocabulary or packaged())
    return [] if remark is None else [remark]


def unfit_practice(path: Path, problem: str) -> ConfigError:
    return _refused("practice", where=path, problem=problem)


def _nothing_to_do(task_name: str, what: str, more: str, steered: Steered) -> NothingToDo:
    which = "; ".join(f"{label} ({why})" for label, why in steered.stopped.items())
    why = "stopped" if which else "collected"
    return NothingToDo(worded(__file__, why, task=task_name, what=what, more=more, which=which))


def _refused(why: str, *, where: object = "", **facts: object) -> ConfigError:
    return ConfigError(worded(__file__, why, **facts), where=where)
