"""What making a study of settings has in common for both engines: practice, words, and what earlier launches did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from mephisto_tasks.config.errors import ConfigError, NothingToDo
from mephisto_tasks.config.task import TaskConfig, resolve_file
from mephisto_tasks.control.steering import Steered
from mephisto_tasks.payments.quote import money
from mephisto_tasks.session.study import Study
from mephisto_tasks.storage.results import failed_tries, past_practices
from mephisto_tasks.workers.practice import resets_by_id
from parlai_humaneval.display.filtering import FilterError
from parlai_humaneval.display.presenter import SettledPresenter
from parlai_humaneval.display.settings import ReplyLooks, presenter_of
from parlai_humaneval.display.vocabulary import VocabularyError, unprotected
from parlai_humaneval.i18n.translate import phrase, speaking, t, tn
from parlai_humaneval.materials.instructions import Instructions, load_instructions
from parlai_humaneval.planning.inputs import ONBOARDING_MINUTES
from parlai_humaneval.techniques.registry import techniques

UNPAID = phrase("nothing but our thanks")
NUMBERS = {
    1: phrase("one"),
    2: phrase("two"),
    3: phrase("three"),
    4: phrase("four"),
    5: phrase("five"),
    6: phrase("six"),
    7: phrase("seven"),
    8: phrase("eight"),
}


def tries_in_words(config: TaskConfig) -> str:
    """“two tries”."""
    tries = config.onboarding_tries
    return tn("one try", "{number} tries", tries, number=number_in_words(tries))


def number_in_words(number: int) -> str:
    """“two”, in the language in force; “12”."""
    return t(NUMBERS[number]) if number in NUMBERS else str(number)


def is_paid(config: TaskConfig, reward: float) -> bool:
    """Whether raters are promised money; friends who help are promised none."""
    return bool(config.pay or reward)


def pay_in_words(config: TaskConfig, reward: float, currency: str, unit: str) -> str:
    """As configured, or the reward for a complete ``unit``."""
    if not is_paid(config, reward):
        return t(UNPAID)
    if config.pay:
        return t(config.pay)
    amount = money(Decimal(f"{reward:.2f}"), currency)
    if config.onboarding_qualification:
        return t("{amount} for one complete {unit}, practice included", amount=amount, unit=unit)
    return t("{amount} for one complete {unit}", amount=amount, unit=unit)


def practice_pay(config: TaskConfig, currency: str) -> str:
    """What those are paid who do not pass the practice."""
    return money(Decimal(f"{config.payment.practice:.2f}"), currency)


def seconds_of(config: TaskConfig) -> float | None:
    """What a turn that is held takes, or a judgement, as plans count; None where they do not count with the technique."""
    entry = techniques().get(config.technique)
    return None if entry is None or entry.habits is None else entry.habits.seconds


EXACTLY_UP_TO = 20
"""Minutes; what takes longer is told in steps of five."""


def minutes_of(config: TaskConfig, seconds: float | None, times: int) -> int | None:
    """About how many minutes a unit takes: as configured, or by the ``seconds`` of what it holds so many ``times``, as plans
    count. None where neither tells it."""
    if config.minutes is not None or seconds is None:
        return config.minutes
    minutes = times * seconds / 60 + (ONBOARDING_MINUTES if config.onboarding_qualification else 0)
    return max(1, round(minutes)) if minutes <= EXACTLY_UP_TO else 5 * round(minutes / 5)


def study_presenter(
    replies: ReplyLooks,
    options: Iterable[dict[str, Any]],
    *,
    compared: bool,
    ask_again: int = 0,
    names: Iterable[str] = (),
) -> SettledPresenter:
    """What shows replies by the settings of a study; see :func:`~parlai_humaneval.display.settings.presenter_of`.

    Raises:
        ConfigError: a words file, a file of disclosures or a classifier cannot be used.
    """
    try:
        return presenter_of(replies, options, compared=compared, ask_again=ask_again, names=names)
    except (FilterError, VocabularyError) as error:
        raise ConfigError(error, where="replies") from error


def unprotected_languages(config: TaskConfig, presenter: SettledPresenter) -> list[str]:
    """A remark where raters may read a language in which nothing is known of how programs give themselves away."""
    remark = unprotected(config.languages().languages, presenter.vocabulary)
    return [] if remark is None else [remark]


def unfit_practice(path: Path, problem: str) -> ConfigError:
    """What is said of practice items that do not fit a study."""
    return ConfigError(
        problem,
        where=path,
        try_="name items that fit (onboarding_file=…), or have no practice (onboarding_qualification=null)",
    )


def in_each_language(config: TaskConfig, make: Callable[[], Instructions]) -> Mapping[str, Instructions]:
    """Tag → what ``make`` says in this language; the study's main one first."""
    instructions = {}
    for tag, language in config.languages().languages.items():
        with speaking(language):
            instructions[tag] = make()
    return instructions


def instructions_of(config: TaskConfig, task_config: Path, values: dict[str, str], flags: set[str]) -> Instructions:
    """The words of the page: a file of one's own, or the task's for the metric, or the task's.

    Raises:
        DataError: a file that cannot be used.
    """
    of_metric = task_config / f"instructions_{config.metric}.yaml"
    of_task = of_metric if of_metric.is_file() else task_config / "instructions.yaml"
    of_part = {"pro_rata": {"part_paid"}, "full": {"left_paid"}, "none": set[str]()}
    of_pay = {"unpaid"} if values["pay"] == t(UNPAID) else of_part[config.payment.partial]
    all_flags = flags | _of_all_tasks(config) | of_pay
    words = load_instructions(resolve_file(config.instructions_file, of_task), values, all_flags)
    if words.guide is None and config.instructions_file and of_task.is_file():
        return words.model_copy(update={"guide": load_instructions(of_task, values, all_flags).guide})
    return words


def _of_all_tasks(config: TaskConfig) -> set[str]:
    flags = {
        "practice": bool(config.onboarding_qualification),
        "told_at_once": config.onboarding_feedback == "each_item",
        "own_consent": bool(config.consent_file),
        "practice_paid": config.payment.practice > 0,
    }
    return {name for name, true in flags.items() if true}


def nothing_to_do(task_name: str, what: str, more: str, steered: Steered) -> NothingToDo:
    """``what`` (all judgements) is there, or by order not given out; ``more``: the settings that ask for more."""
    see = f"see them with `parlai-humaneval report --task-name {task_name}`, or ask for more: {more}"
    if not steered.stopped:
        return NothingToDo(f"{what} of task {task_name!r} are there already", try_=see)
    which = "; ".join(f"{label} ({why})" for label, why in steered.stopped.items())
    return NothingToDo(
        f"{what} of task {task_name!r} are there already, or stopped (not given out: {which})",
        try_=(
            see,
            f"`parlai-humaneval steer resume-pair MODEL MODEL --task-name {task_name}` gives a pair out again",
            f"`parlai-humaneval steer restore MODEL --task-name {task_name}` takes a retired model in again",
        ),
    )


def restore_practice(study: Study, data_dir: Path, task_name: str) -> None:
    """Failed tries of earlier launches stay failed, but for those from before a worker's practice was reset."""
    if study.practice is None:
        return
    resets = resets_by_id(data_dir, study.config.onboarding_qualification)
    for worker_id, past in past_practices(data_dir, task_name, resets).items():
        study.practice_tries_used[worker_id] = failed_tries(past, len(study.practice.items))
