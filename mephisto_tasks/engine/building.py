"""What making a study of settings has in common for both engines: practice, words, and what earlier launches did."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mephisto_tasks.engine.config import ConfigError, TaskConfig, resolve_file
from mephisto_tasks.engine.study import Study
from mephisto_tasks.running.steering import Steered
from mephisto_tasks.stored.practice_results import failed_tries
from mephisto_tasks.stored.results import past_practices
from mephisto_tasks.workers.practising import resets_by_id
from parlai_humaneval.protocol.materials.files import Instructions, load_instructions
from parlai_humaneval.showing.presentation import Presenter
from parlai_humaneval.showing.reply_settings import ReplyLooks, presenter_of
from parlai_humaneval.showing.response_filter import FilterError
from parlai_humaneval.showing.vocabulary import VocabularyError

UNPAID = "nothing but our thanks"
NUMBERS = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


class NothingToDo(Exception):
    """Everything that the settings ask for is there already."""


def tries_in_words(config: TaskConfig) -> str:
    """“two tries”."""
    tries = config.onboarding_tries
    return "one try" if tries == 1 else f"{NUMBERS.get(tries, tries)} tries"


def is_paid(config: TaskConfig, reward: float) -> bool:
    """Whether raters are promised money; friends who help are promised none."""
    return bool(config.pay or reward)


def pay_in_words(config: TaskConfig, reward: float, unit: str) -> str:
    """As configured, or the reward for a complete ``unit``."""
    if not is_paid(config, reward):
        return UNPAID
    practice = ", practice included" if config.onboarding_qualification else ""
    return config.pay or f"${reward:.2f} for one complete {unit}{practice}"


def study_presenter(
    replies: ReplyLooks, options: Iterable[dict[str, Any]], *, compared: bool, ask_again: int = 0
) -> Presenter:
    """What shows replies by the settings of a study; see :func:`~parlai_humaneval.showing.reply_settings.presenter_of`.

    Raises:
        ConfigError: a words file, a file of disclosures or a classifier cannot be used.
    """
    try:
        return presenter_of(replies, options, compared=compared, ask_again=ask_again)
    except (FilterError, VocabularyError) as error:
        raise ConfigError(f"mephisto.blueprint.replies: {error}") from error


def unfit_practice(path: Path, problem: str) -> ConfigError:
    """What is said of practice items that do not fit a study."""
    return ConfigError(
        f"{path}: {problem}. Name items that fit (mephisto.blueprint.onboarding_file=…), or have no practice "
        "(mephisto.blueprint.onboarding_qualification=null)"
    )


def instructions_of(config: TaskConfig, task_config: Path, values: dict[str, str], flags: set[str]) -> Instructions:
    """The words of the page: a file of one's own, or the task's for the metric, or the task's.

    Raises:
        MaterialError: a file that cannot be used.
    """
    of_metric = task_config / f"instructions_{config.metric}.yaml"
    path = resolve_file(
        config.instructions_file, of_metric if of_metric.is_file() else task_config / "instructions.yaml"
    )
    return load_instructions(path, values, flags | ({"unpaid"} if values["pay"] == UNPAID else set()))


def nothing_to_do(task_name: str, what: str, more: str, steered: Steered) -> NothingToDo:
    """``what`` (all judgements) is there, or by order not given out; ``more``: the settings that ask for more."""
    see = f"See them with `parlai-humaneval report --task-name {task_name}`, or ask for more: {more}"
    if not steered.stopped:
        return NothingToDo(f"{what} of task {task_name!r} are there already. {see}")
    which = "; ".join(f"{label} ({why})" for label, why in steered.stopped.items())
    return NothingToDo(
        f"{what} of task {task_name!r} are there already, or stopped. {see}. Not given out: {which}. "
        f"`parlai-humaneval steer resume-pair MODEL MODEL --task-name {task_name}` gives a pair out again, "
        f"`parlai-humaneval steer restore MODEL --task-name {task_name}` takes a retired model in again."
    )


def restore_practice(study: Study, data_dir: Path, task_name: str) -> None:
    """Failed tries of earlier launches stay failed, but for those from before a worker's practice was reset."""
    if study.practice is None:
        return
    resets = resets_by_id(data_dir, study.config.onboarding_qualification)
    for worker_id, past in past_practices(data_dir, task_name, resets).items():
        study.practice_tries_used[worker_id] = failed_tries(past, len(study.practice.items))
