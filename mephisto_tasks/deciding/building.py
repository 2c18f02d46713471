"""Settings → the course of a launch that ends when its answer is reached, with what earlier launches decided."""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from pathlib import Path

from mephisto_tasks.config_error import ConfigError
from mephisto_tasks.deciding.course import Course, course_of
from mephisto_tasks.deciding.outcomes import note_missing, unknown_workers
from mephisto_tasks.deciding.settings import StoppingSettings
from mephisto_tasks.stored.cut_off import last_seen
from mephisto_tasks.stored.deciding_lines import deciding_events, keep_events
from mephisto_tasks.stored.results import PSEUDONYM_KEY, finished_by_worker
from mephisto_tasks.stored.saving import Saving
from parlai_humaneval.protocol.records.pseudonym import Pseudonymizer
from parlai_humaneval.statistics.wording import counted


def build_course(
    config: StoppingSettings,
    data_dir: Path,
    task_name: str,
    *,
    models: Sequence[str],
    groups: Collection[Sequence[str]],
    technique: str,
    setting: str,
    metric: str,
    seed: int,
    closing: threading.Event,
    silence_s: float,
) -> Course:
    """The course of a task; of one that was launched before, where that left it.

    Args:
        config: when it ends.
        data_dir, task_name: where it is stored.
        models: that are compared.
        groups: of them, that a dialogue can be about.
        technique, setting, metric: what is asked.
        seed: of what is drawn, where the task begins.
        closing: is set when the launch ends.
        silence_s: after how long a silence a rater is gone.

    Raises:
        ConfigError: the task did not begin as a study that ends when it is decided, or began with another rule; or
            its log is not that of its answers.
    """
    events = deciding_events(data_dir, task_name)
    finished = finished_by_worker(data_dir, task_name)
    if finished and not events:
        raise ConfigError(
            f"task {task_name!r} has dialogues that were given out without stop=decided: error rates hold only where it is "
            "so from the first one on. Leave stop out, or begin another study: task_name=…"
        )
    pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    course = course_of(
        events,
        config.rule(models, groups),
        lambda more: keep_events(data_dir, task_name, more),
        Saving(closing),
        lambda worker: pseudonyms.worker(f"deciding:{task_name}:{worker}"),
        closing,
        seed=seed,
        technique=technique,
        setting=setting,
        metric=metric,
    )
    if unknown := unknown_workers(course, finished):
        raise ConfigError(
            f"the log of this study's decisions says nothing of {counted(unknown, 'worker')} whose dialogues are finished: "
            f"it was cut, or {PSEUDONYM_KEY} is another one. Put both files back as they were, or begin another study: "
            "task_name=…"
        )
    note_missing(course, finished)  # a launch that was killed may not have counted its last ones
    if course.missing > course.free:
        course.expect(last_seen(data_dir, task_name), silence_s)
    course.look()
    return course
