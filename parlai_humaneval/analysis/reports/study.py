"""One way to the report of any study, and one to its print: both go by the technique."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType

from rich.console import Console, RenderableType

from parlai_humaneval.analysis.reports.printing import print_report
from parlai_humaneval.analysis.reports.types import Report
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.counting import unique
from parlai_humaneval.tables.from_records import Tables

TECHNIQUES = (
    "pw_turn",
    "sata",
    "single_model",
    "free_for_all",
    "arena",
    "direct_assessment",
    "pw_dialog",
    "spot_the_bot",
    "third_party",
)
"""Those that have a report: each is a package beside this module."""


def study_report(
    tables: Tables, *, include_partial: bool = False, seed: int = 0, technique: str = TECHNIQUES[0]
) -> Report:
    """The report of the technique of ``tables``: what its paper prints, with intervals clustered by worker.

    Args:
        tables: answers of one technique; several settings of it, and several tasks, are reported apart and together.
        include_partial: count the answered turns of unfinished dialogues too; of judgements only whole ones count.
        seed: of bootstrap intervals.
        technique: of an empty report, where the tables hold no dialogue.

    Raises:
        TableError: the tables hold several techniques, or one that has no report yet.
    """
    frames = (tables.dialogues, tables.turns, tables.ratings, tables.comparisons, tables.segments, tables.judgements)
    techniques = sorted({name for frame in frames for name in unique(frame["technique"])})
    if len(techniques) > 1:
        raise TableError(f"the tables hold {', '.join(techniques)}: report one technique at a time.")
    technique = techniques[0] if techniques else technique
    if technique not in TECHNIQUES:
        raise TableError(f"{technique!r} has no report; techniques that have one: {', '.join(TECHNIQUES)}.")
    build: Callable[..., Report] = _part(technique, "build").build_report
    return build(tables, include_partial=include_partial, seed=seed).model_copy(update={"technique": technique})


def render(report: Report, console: Console) -> None:
    """Print any report on 80 columns; nothing is printed that the report does not hold."""
    parts: Callable[[Report], Iterator[RenderableType]] = _part(report.technique or TECHNIQUES[0], "render").parts
    print_report(report, console, parts(report))


def _part(technique: str, name: str) -> ModuleType:
    """A module of the technique's package, loaded when it is wanted."""
    return import_module(f"parlai_humaneval.analysis.reports.{technique}.{name}")
