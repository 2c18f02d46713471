"""Outputs of ``report``: JSON, a page with its folder, or a print; and exclusions by quality checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks.cli.options import console
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError
from parlai_humaneval.quality import exclude, exclude_everywhere, known_checks
from parlai_humaneval.quality.registry import CheckError, Scope
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.document import Document, Excluded, Left, TaskFacts
from parlai_humaneval.report.render.terminal import print_document, print_report_summary
from parlai_humaneval.report.section import Options
from parlai_humaneval.schema.records import JudgementRecord, Rated
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.columns import Tables

if TYPE_CHECKING:
    from mephisto_tasks.storage.logs import Kind


PARTIAL = "With --include-partial, answered turns of unfinished dialogues also count."


@dataclass(frozen=True)
class Wanted:
    """The wanted outputs; ``title`` None: by what they say; ``blind_in``: folder of the blind names."""

    page: Path | None
    as_json: bool
    options: Options = field(default_factory=Options)
    full: bool = False
    title: str | None = None
    leaderboard: Path | None = None
    blind_in: Path | None = None

    def check(self, force: bool, tables: Path | None = None) -> None:
        """Refuse a place that is taken before any work is done. Raises CommandError, InvalidValue."""
        if self.leaderboard is not None:
            from parlai_humaneval.report.render.leaderboard import check_leaderboard

            check_leaderboard(self.leaderboard, force=force)
        if self.page is not None:
            from parlai_humaneval.report.render.files import check_output

            parent = self.page.absolute().parent
            if not parent.is_dir():
                raise CommandError("there is no such folder", where=parent, try_="create it, or choose another page")

            check_output(self.page, force=force, tables=tables)

    def report(
        self,
        tables: Tables,
        title: str,
        task: TaskFacts | None = None,
        note: Callable[[Kind, list[Path]], None] = lambda kind, files: None,
    ) -> None:
        """Write the page, if requested, and print the report or JSON; ``note`` is called for each file written."""
        notes = (PARTIAL,) if self.options.include_partial else ()
        with self.progress("Estimating"):
            document = build_report(tables, self.options, title=self.title or title, task=task, notes=notes)
        # Write the files first: a reader such as `head` closes the pipe while all of it is being printed.
        written = self._write(document, tables)
        note("report", written)
        note("aggregate", [] if self.leaderboard is None else [self.leaderboard])
        if not self.as_json:
            summary = partial(print_report_summary, has_page=self.page is not None)
            (print_document if self.full else summary)(document, console())
        self._tell(document, written)

    def _write(self, document: Document, tables: Tables) -> list[Path]:
        if self.leaderboard is not None:
            from mephisto_tasks.monitoring.status import kept_blind_names
            from parlai_humaneval.report.render.leaderboard import leaderboard_of, ranked_models, write_leaderboard

            blind = None if self.blind_in is None else kept_blind_names(self.blind_in, ranked_models(document))
            write_leaderboard(leaderboard_of(document, title=self.title or "", blind=blind), self.leaderboard)
        if self.page is None:
            return []
        # Here, as a print needs nothing that draws pages.
        from parlai_humaneval.report.render.files import write_document
        from parlai_humaneval.report.render.html import figure_count
        from parlai_humaneval.viewer.write import is_built

        with self.progress("Drawing figures", figure_count(document)) as advance:
            return write_document(document, self.page, tables, with_viewer=is_built(), on_figure=advance)

    def _tell(self, document: Document, written: list[Path]) -> None:
        if self.as_json:
            files = {"files": [str(path) for path in written]} if written else {}
            board = {} if self.leaderboard is None else {"leaderboard": str(self.leaderboard)}
            say_json({**document.to_json(), **files, **board})
            return
        if self.leaderboard is not None:
            click.echo(f"Leaderboard → {self.leaderboard}")
            if self.blind_in is not None:
                from mephisto_tasks.monitoring.status import BLIND_NAMES

                click.echo(f"The models' names are in {self.blind_in / BLIND_NAMES}. Do not publish that file.")
        if self.page is not None:
            from parlai_humaneval.report.render.files import VIEWER, folder_of
            from parlai_humaneval.viewer.write import PAGE

            click.echo(f"Report → {self.page}")
            tables = counted(len(written) - 1, "file")
            click.echo(f"The same as JSON, CSV and LaTeX, with the answers → {folder_of(self.page)}/ ({tables})")
            viewer = folder_of(self.page) / VIEWER / PAGE
            if viewer in written:
                click.echo(f"All dialogues, to search and filter → {viewer}")
            else:
                click.echo(
                    "The dialogue viewer has not been built. To build it, run `make install` in a clone of the repository."
                )

    @contextmanager
    def progress(self, what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        screen = console(stderr=True)
        if self.as_json or not screen.is_terminal:
            yield lambda: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=screen, transient=True) as bar:
            task = bar.add_task(what, total=total)
            yield lambda: bar.advance(task)


def wanted_checks(text: str, of_paper: str) -> tuple[str, ...] | None:
    """“greeting, capitals” → names; ``of_paper`` → None: those of each technique's paper. Raises CheckError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise CheckError("--exclude lists no check", try_=f"give names separated by commas, or {of_paper!r}")
    return None if names == [of_paper] else known_checks(names)


def leave_out(
    data_dir: Path,
    tasks: Sequence[str],
    records: Sequence[Rated],
    checks: Sequence[str] | None,
    scope: Scope,
    everywhere: bool,
) -> tuple[list[Rated], Excluded]:
    """The records that are kept, and who was left out and why; ``everywhere``: for what they did in any task."""
    judged: list[str] = []
    if everywhere:
        from mephisto_tasks.storage.results import read_records, task_names

        others = [name for name in task_names(data_dir) if name not in tasks]
        judged = [*tasks, *others]
        everything: dict[str, Sequence[Rated]] = {"": records}
        everything |= {name: read_records(data_dir, name) for name in others}
        kept_by_task, exclusions = exclude_everywhere(everything, checks)
        kept = kept_by_task[""]
    else:
        kept, exclusions = exclude(records, checks, scope)
    ids = {_id(record) for record in kept}
    gone = [record for record in records if _id(record) not in ids]
    dialogues = [record for record in gone if not isinstance(record, JudgementRecord)]
    staying = {record.worker for record in kept}
    workers = {record.worker for record in gone} - staying
    return kept, Excluded(
        **exclusions.model_dump(),
        tasks=judged,
        here=Left(
            dialogues=len(dialogues),
            workers=len(workers),
            simulated=len({record.worker for record in gone if record.simulated} & workers),
            turns=sum(len(record.complete_turns) for record in dialogues),
            judgements=len(gone) - len(dialogues),
        ),
    )


def _id(record: Rated) -> tuple[str, str]:
    if isinstance(record, JudgementRecord):
        return "judgement", record.judgement_id
    return "dialogue", record.dialogue_id
