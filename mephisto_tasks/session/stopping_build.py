"""What a study says that ends when its answer is reached: why it cannot be launched so, and what it gives out no more."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from mephisto_tasks.config.names import ConfigError, NothingToDo
from mephisto_tasks.storage.logs import DECISIONS
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.stopping.events import Began
from parlai_humaneval.stopping.status import StoppingStatus


def refuse_to_go_on_without(data_dir: Path, task_name: str) -> None:
    """Raise where a task that ends when it is decided is launched as another one. Raises ConfigError."""
    if DECISIONS.exists(data_dir, task_name):
        techniques = [event.technique for event in DECISIONS.read(data_dir, task_name) if isinstance(event, Began)]
        of_what = f" ({techniques[0]})" if techniques and techniques[0] else ""
        raise ConfigError(
            f"task {task_name!r}{of_what} began with stop=decided, which drew every dialogue of it",
            try_="set stop=decided, with the same technique, margin and alpha, or begin another study: task_name=…",
        )


def already_over(task_name: str, standing: StoppingStatus) -> NothingToDo:
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
    if len(models) == 1:
        return None if still_open.issuperset(models) else "decided"
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
    of_a_pair = standing.fixed_of_a_pair
    little = (
        f", which most likely leaves pairs open (a fixed plan takes about {of_a_pair:,.0f} for each pair)"
        if standing.cap < LITTLE * of_a_pair
        else ""
    )
    return f"{what.capitalize()} are collected until every pair of models is decided, {standing.cap:,} at most{little}:"
