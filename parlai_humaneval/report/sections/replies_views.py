"""Tables and methods of the section ``replies``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from parlai_humaneval.report.rows import Columns, part_table
from parlai_humaneval.report.views import DataTable, Method
from parlai_humaneval.statistics.wording import money_words

if TYPE_CHECKING:
    from parlai_humaneval.report.sections.replies import ModelReplies

TELLING_GAP_S = 2.0
"""Seconds between two models' median latencies that people notice."""

_SHOWN: Columns = (
    ("model", "Model", "text"),
    ("n", "Replies", "count"),
    ("n_shown", "Shown", "count"),
    ("n_failed", "Blank", "count"),
    ("n_blocked", "Refused", "count"),
    ("n_masked", "Words hidden", "count"),
    ("n_changed", "Looks changed", "count"),
    ("n_told", "Give-aways shown", "count"),
    ("n_named", "Dialogues where raters named a model", "count"),
)
_SERVED: Columns = (
    ("model", "Model", "text"),
    ("latency_median", "Median s", "seconds"),
    ("latency_p95", "95 % s", "seconds"),
    ("n_cut", "Cut off by its length limit", "count"),
    ("prompt_tokens", "Tokens read", "count"),
    ("completion_tokens", "Tokens written", "count"),
    ("cost", "Cost", "money"),
    ("currency", "Currency", "text"),
    ("cost_per_dialogue", "A dialogue", "money"),
)


def data_tables(models: Sequence[ModelReplies]) -> list[DataTable]:
    """What raters saw, and what the models took; the second only where something of it is known."""
    tables = [part_table("replies_shown", "What did raters see of the models?", _SHOWN, models)]
    known = [one for one in models if one.latency_median is not None or one.completion_tokens is not None]
    if known:
        tables.append(part_table("replies_served", "What did the models take?", _SERVED, known))
    return tables


def in_short(models: Sequence[ModelReplies]) -> list[str]:
    """What each model took, a line each: “my_server: 2,100 tokens read, 42 written, 0.00034 USD”; often nothing."""
    return [f"{one.model}: {', '.join(parts)}" for one in models if (parts := list(_taken(one)))]


def _taken(one: ModelReplies) -> Iterator[str]:
    if one.prompt_tokens is not None:
        yield f"{one.prompt_tokens:,} tokens read"
    if one.completion_tokens is not None:
        yield (
            f"{one.completion_tokens:,} written"
            if one.prompt_tokens is not None
            else f"{one.completion_tokens:,} tokens written"
        )
    if one.cost is not None:
        yield f"{money_words(one.cost)} {one.currency or ''}".rstrip()


def methods() -> list[Method]:
    """How give-aways and costs are counted."""
    return [
        Method(
            name="Give-aways",
            text="Names of models and makers, and talk of being an AI, found in replies as they were shown, in raters' "
            "messages and in their reasons, by the same patterns that hide them. Replies in which they were "
            "hidden are not counted as give-aways.",
            source="own",
        ),
        Method(
            name="Tokens and cost",
            text="As each server reported them for every reply that was asked for, chosen or not; requests that failed are "
            "not in it. Cost is tokens times the prices in the zoo file.",
            source="own",
        ),
    ]
