"""Settings → the course of a launch that ends when its answer is reached, with what earlier launches decided.

And what such a study says: why it cannot be launched so, and what it gives out no more.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mephisto_tasks.config.errors import ConfigError, NothingToDo
from mephisto_tasks.config.task import TaskConfig
from mephisto_tasks.storage.logs import DECISIONS
from mephisto_tasks.storage.results import PSEUDONYM_KEY, finished_by_worker
from mephisto_tasks.storage.retry import Saving
from mephisto_tasks.storage.unfinished import last_seen
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.stopping.events import Began
from parlai_humaneval.stopping.status import StoppingStatus

if TYPE_CHECKING:
    from mephisto_tasks.session.stopping import Course


def build_course(
    config: TaskConfig,
    data_dir: Path,
    task_name: str,
    *,
    models: Sequence[str],
    groups: Collection[Sequence[str]],
    setting: str,
    seed: int,
    closing: threading.Event,
) -> Course:
    """The course of a task; of one that was launched before, where that left it.

    Args:
        config: when it ends, and what is asked.
        data_dir, task_name: where it is stored.
        models: that are compared.
        groups: of them, that a dialogue can be about.
        setting: of the technique.
        seed: of what is drawn, where the task begins.
        closing: is set when the launch ends.

    Raises:
        ConfigError: the task did not begin as a study that ends when it is decided, or began with another rule; or
            its log is not that of its answers.
    """
    from mephisto_tasks.session import stopping  # its statistics take a while to load

    events = DECISIONS.read(data_dir, task_name)
    finished = finished_by_worker(data_dir, task_name)
    if finished and not events:
        raise ConfigError(
            f"task {task_name!r} has dialogues that were given out without stop=decided: error rates hold "
            "only where it is so from the first one on",
            try_="leave stop out, or begin another study: task_name=…",
        )
    pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    course = stopping.course_of(
        events,
        config.rule(models, groups),
        lambda more: DECISIONS.append(data_dir, *more, task=task_name),
        Saving(closing),
        lambda worker: pseudonyms.worker(f"deciding:{task_name}:{worker}"),
        closing,
        seed=seed,
        technique=config.technique,
        setting=setting,
        metric=config.metric,
    )
    if unknown := stopping.unknown_workers(course, finished):
        raise ConfigError(
            f"the log of this study's decisions says nothing of {counted(unknown, 'worker')} whose dialogues "
            f"are finished: it was cut, or {PSEUDONYM_KEY} is another one",
            try_="put both files back as they were, or begin another study: task_name=…",
        )
    stopping.note_missing(course, finished)  # a launch that was killed may not have counted its last ones
    if course.missing > course.free:
        course.expect(last_seen(data_dir, task_name), config.answer_timeout_s)
    course.look()
    return course


def refuse_to_go_on_without(data_dir: Path, task_name: str) -> None:
    """Raise where a task that ends when it is decided is launched as another one.

    Raises:
        ConfigError: says what to do.
    """
    if DECISIONS.exists(data_dir, task_name):
        techniques = [event.technique for event in DECISIONS.read(data_dir, task_name) if isinstance(event, Began)]
        of_what = f", a study by {techniques[0]}," if techniques and techniques[0] else ""
        raise ConfigError(
            f"task {task_name!r}{of_what} began with stop=decided, and every dialogue of it was drawn by that",
            try_="say so again, with the same technique, margin and alpha, or begin another study: task_name=…",
        )


def already_over(task_name: str, standing: StoppingStatus) -> NothingToDo:
    """What is said where nobody else is needed in a task."""
    more = "begin another study: task_name=…" if standing.ended == "decided" else "raise max_dialogues to go on"
    return NothingToDo(
        str(standing),
        where=f"task {task_name!r}",
        try_=(f"see it with `parlai-humaneval report --task-name {task_name}`", more),
    )


LITTLE = 0.2
"""Of a fixed plan for one pair; two models that are twice the margin apart take about as much, as simulated."""


def why_decided(models: Collection[str], standing: StoppingStatus) -> str | None:
    """Why no dialogues are given out any more that are about just these models; None: they are."""
    if len(models) == 2:
        pair = next(pair for pair in standing.pairs if {pair.first, pair.second} == set(models))
        return f"decided: {pair.claim}{', through others' if pair.through else ''}" if pair.claim else None
    still_open = {model for pair in standing.open for model in pair}
    return None if set(models) == still_open else "decided in part"


def waits_for(raters: int) -> list[str]:
    """What whoever launches should know of raters whom an earlier launch cut off, where there are any."""
    if not raters:
        return []
    from mephisto_tasks.session.stopping import PATIENCE_S

    return [
        f"An earlier launch cut off {counted(raters, 'rater')}. The study waits up to {PATIENCE_S:.0f} seconds for anyone "
        "who comes back, and then goes on without the others."
    ]


def until_decided(standing: StoppingStatus, what: str) -> str:
    """What is collected, and how long; ``what``: conversations, judgements."""
    of_a_pair = standing.fixed / len(standing.pairs)
    little = (
        f", which most likely leaves pairs open (a fixed plan takes about {of_a_pair:,.0f} for each pair)"
        if standing.cap < LITTLE * of_a_pair
        else ""
    )
    return f"{what.capitalize()} are collected until every two models are decided, {standing.cap:,} at most{little}:"
