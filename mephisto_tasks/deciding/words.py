"""What a study that ends when it is decided says of what it gives out no more."""

from __future__ import annotations

from collections.abc import Collection

from mephisto_tasks.deciding.absent import PATIENCE_S
from parlai_humaneval.sequential.standing import Standing
from parlai_humaneval.statistics.wording import counted

LITTLE = 0.2
"""Of a fixed plan for one pair; two models that are twice the margin apart take about as much, as simulated."""


def why_decided(models: Collection[str], standing: Standing) -> str | None:
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
    return [
        f"An earlier launch cut off {counted(raters, 'rater')}. The study waits up to {PATIENCE_S:.0f} seconds for anyone "
        "who comes back, and then goes on without the others."
    ]


def until_decided(standing: Standing, what: str) -> str:
    """What is collected, and how long; ``what``: conversations, judgements."""
    of_a_pair = standing.fixed / len(standing.pairs)
    little = (
        f", which most likely leaves pairs open (a fixed plan takes about {of_a_pair:,.0f} for each pair)"
        if standing.cap < LITTLE * of_a_pair
        else ""
    )
    return f"{what.capitalize()} are collected until every two models are decided, {standing.cap:,} at most{little}:"
