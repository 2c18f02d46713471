"""Tables → document."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import get_args

from parlai_humaneval.report.document import Document, TaskFacts, with_labels
from parlai_humaneval.report.examples import examples_of
from parlai_humaneval.report.facts import designs_of, facts_of, models_in
from parlai_humaneval.report.registry import sections
from parlai_humaneval.report.section import Options
from parlai_humaneval.report.summary import with_what_leads
from parlai_humaneval.statistics.core.formatting import counted, listed
from parlai_humaneval.statistics.judges.answers import people_and_judge
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import Repeats, TableError
from parlai_humaneval.tables.files import read_tables
from parlai_humaneval.tables.filters import is_set
from parlai_humaneval.tables.schema import TableName
from parlai_humaneval.techniques.registry import techniques

NAMED = 4
"""Of more models only the number is told."""


def build_report(
    tables: Tables,
    options: Options | None = None,
    *,
    title: str = "",
    task: TaskFacts | None = None,
    notes: tuple[str, ...] = (),
    now: datetime | None = None,
) -> Document:
    """All that a report says of ``tables``, which are of one technique or several.

    ``options``: seed and number of bootstrap draws. ``title``: names the study; empty: what the tables hold. ``task``:
    what the database of tasks knows of the same answers, if they come from there. ``notes``: what a reader must know of
    how the document was made. ``now``: its date; None: the present.

    Raises:
        TableError: a table cannot be used, or there is no such judge; the message says why.
    """
    chosen = options or Options()
    if chosen.judge:
        tables, judged = people_and_judge(tables, chosen.judge)
        chosen = replace(chosen, judged=judged)
    found = with_labels(with_what_leads(sections(tables, chosen)))
    facts = facts_of(tables, chosen, title=title or default_title(tables), task=task, notes=notes, now=now)
    return Document(
        facts=facts.model_copy(
            update={"left_out": [left for section in found.values() if (left := section.left_out())]}
        ),
        sections=found,
        examples=examples_of(tables, seed=chosen.seed),
    )


def tables_of(folder: Path, repeats: Repeats | None = None) -> Tables:
    """The tidy tables of a folder, from anywhere; ``repeats``: which answers count that a worker gave again.

    Raises:
        TableError: no table, a table that cannot be read, or no row in any of them.
    """
    found = read_tables(folder, repeats=repeats)
    if not any(len(getattr(found, name)) for name in get_args(TableName)):
        raise TableError(f"The tables in {folder} have no rows: there is nothing to report")
    return found


def default_title(tables: Tables) -> str:
    """“alpha and beta, rated with SATA”; the technique only where the tables say it; the degraded model is not evaluated."""
    degraded = set(map(str, tables.ratings.loc[is_set(tables.ratings, "degraded"), "model"].dropna().unique()))
    models = sorted(models_in(tables) - degraded)
    known = techniques()
    names = sorted({design.technique for design in designs_of(tables)} - {""})
    titles = [known[name].title if name in known else name for name in names]
    if not models:
        who = "Rated dialogues"
    elif len(models) > NAMED:
        who = counted(len(models), "model")
    else:
        who = listed(models)
    return f"{who}, rated with {' and '.join(titles)}" if titles else who
