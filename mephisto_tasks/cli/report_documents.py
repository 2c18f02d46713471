"""What ``report`` makes of tables: JSON, a page with its folder, or a print; with a progress bar where it takes long.

Leaving dialogues and judgements out of a report by quality checks; nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks.cli.options import console
from mephisto_tasks.monitoring.status import BLIND_NAMES, kept_blind_names
from mephisto_tasks.storage.results import read_records, task_names
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError
from parlai_humaneval.quality import exclude, exclude_everywhere, known_checks
from parlai_humaneval.quality.verdicts import CheckError, Scope
from parlai_humaneval.report.build import build_report, default_title, tables_of
from parlai_humaneval.report.document import Excluded, Left
from parlai_humaneval.report.render.terminal import print_document, print_report_summary
from parlai_humaneval.report.section import Options
from parlai_humaneval.schema.records import JudgementRecord, Rated
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from mephisto_tasks.storage.logs import Kind
    from parlai_humaneval.report.document import Document, TaskFacts
    from parlai_humaneval.tables.columns import Repeats, Tables


PARTIAL = "Answered turns of unfinished dialogues count too (--include-partial)."


@dataclass(frozen=True)
class Wanted:
    """``page``: of the report, if one is to be written. ``full``: every section is printed, not only the summary.

    ``title``: None: made of what the tables or the task say. ``leaderboard``: a page of ranks, if one is to be written;
    ``blind_in``: models have blind names in it, which are kept in this folder.
    """

    page: Path | None
    as_json: bool
    seed: int = 0
    draws: int = 1_000
    full: bool = False
    title: str | None = None
    include_partial: bool = False
    onboarding: float = 0.0
    reuse: int | None = None
    leaderboard: Path | None = None
    blind_in: Path | None = None

    def check(self, force: bool, tables: Path | None = None) -> None:
        """Refuse a place that is taken before any work is done.

        Raises:
            CommandError, OutputError: the place is taken.
        """
        if self.leaderboard is not None:
            from parlai_humaneval.report.render.leaderboard import check_leaderboard

            check_leaderboard(self.leaderboard, force=force)
        if self.page is not None:
            from parlai_humaneval.report.render.files import check_output

            parent = self.page.absolute().parent
            if not parent.is_dir():
                raise CommandError("there is no such folder", where=parent, try_="make it first, or name another page")

            check_output(self.page, force=force, tables=tables)

    def report_folder(self, folder: Path, repeats: Repeats | None = None) -> None:
        """All that is to be said of a folder of tables.

        Raises:
            TableError: the tables cannot be used.
        """
        with self._progress("Reading tables"):
            tables = tables_of(folder, repeats)
        self.report(tables, default_title(tables))

    def report(
        self,
        tables: Tables,
        title: str,
        task: TaskFacts | None = None,
        note: Callable[[Kind, list[Path]], None] = lambda kind, files: None,
    ) -> None:
        """All that is to be said of tables: the page, if one is wanted, and the print or JSON.

        ``note`` is told of the files as soon as they are written.
        """
        document = self._document(tables, title, task)
        # First the files: who reads through `head` closes the pipe while all of it is being printed.
        written = self._write(document, tables)
        note("report", written)
        note("aggregate", [] if self.leaderboard is None else [self.leaderboard])
        if not self.as_json:
            (print_document if self.full else print_report_summary)(document, console())
        self._tell(document, written)

    def _document(self, tables: Tables, title: str, task: TaskFacts | None) -> Document:
        options = Options(
            seed=self.seed,
            draws=self.draws,
            include_partial=self.include_partial,
            onboarding_seconds=self.onboarding,
            reuse=self.reuse,
        )
        notes = (PARTIAL,) if self.include_partial else ()
        with self._progress("Estimating"):
            return build_report(tables, options, title=self.title or title, task=task, notes=notes)

    def _write(self, document: Document, tables: Tables) -> list[Path]:
        """Files of the page; none where none is wanted."""
        if self.leaderboard is not None:
            self._write_leaderboard(document, self.leaderboard)
        if self.page is None:
            return []
        # Here, as a print needs nothing that draws pages.
        from parlai_humaneval.report.render.files import write_document
        from parlai_humaneval.report.render.html import figure_count

        with self._progress("Drawing figures", figure_count(document)) as advance:
            return write_document(document, self.page, tables, on_figure=advance)

    def _write_leaderboard(self, document: Document, page: Path) -> None:
        from parlai_humaneval.report.leaderboard import leaderboard_of, ranked_models
        from parlai_humaneval.report.render.leaderboard import write_leaderboard

        blind = None if self.blind_in is None else kept_blind_names(self.blind_in, ranked_models(document))
        write_leaderboard(leaderboard_of(document, title=self.title or "", blind=blind), page)

    def _tell(self, document: Document, written: list[Path]) -> None:
        if self.as_json:
            files = {"files": [str(path) for path in written]} if written else {}
            board = {} if self.leaderboard is None else {"leaderboard": str(self.leaderboard)}
            say_json({**document.to_json(), **files, **board})
            return
        if self.leaderboard is not None:
            click.echo(f"Leaderboard → {self.leaderboard}")
            if self.blind_in is not None:
                click.echo(f"Which model is which stands in {self.blind_in / BLIND_NAMES}: do not publish it.")
        if self.page is not None:
            from parlai_humaneval.report.render.files import folder_of

            click.echo(f"Report → {self.page}")
            tables = counted(len(written) - 1, "file")
            click.echo(f"The same as JSON, CSV and LaTeX, with the answers → {folder_of(self.page)}/ ({tables})")

    @contextmanager
    def _progress(self, what: str, total: int | None = None) -> Iterator[Callable[[], None]]:
        """A bar while it lasts, where somebody sees it; none with ``--json``. Yields what moves it on."""
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
    """“greeting, capitals” → names; ``of_paper`` → None, which means those of each technique's paper.

    Raises:
        CheckError: no name, or an unknown one; the message lists the known ones.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise CheckError("--exclude names no check", try_=f"give names with commas between, or {of_paper!r}")
    return None if names == [of_paper] else known_checks(names)


def leave_out(
    data_dir: Path,
    tasks: Sequence[str],
    records: Sequence[Rated],
    checks: Sequence[str] | None,
    scope: Scope,
    everywhere: bool,
) -> tuple[list[Rated], Excluded]:
    """Those of ``records``, all that was rated in ``tasks``, that are kept; and who was left out, by which check and why.

    With ``everywhere`` all tasks of the data directory are judged, live ones and those on finished dialogues, and who
    fails in any is left out.
    """
    judged: list[str] = []
    if everywhere:
        others = [name for name in task_names(data_dir) if name not in tasks]
        judged = [*tasks, *others]
        everything: dict[str, Sequence[Rated]] = {"": records}
        everything |= {name: read_records(data_dir, name) for name in others}
        kept_by_task, exclusions = exclude_everywhere(everything, checks)
        kept = kept_by_task[""]
    else:
        kept, exclusions = exclude(records, checks, scope)
    return kept, Excluded(**exclusions.model_dump(), tasks=judged, here=_left(records, kept))


def _left(records: Sequence[Rated], kept: Sequence[Rated]) -> Left:
    """What is in ``records`` and not among those ``kept``; a worker counts when nothing of theirs is kept."""
    ids = {_id(record) for record in kept}
    gone = [record for record in records if _id(record) not in ids]
    dialogues = [record for record in gone if not isinstance(record, JudgementRecord)]
    staying = {record.worker for record in kept}
    workers = {record.worker for record in gone} - staying
    return Left(
        dialogues=len(dialogues),
        workers=len(workers),
        simulated=len({record.worker for record in gone if record.simulated} & workers),
        turns=sum(len(record.complete_turns) for record in dialogues),
        judgements=len(gone) - len(dialogues),
    )


def _id(record: Rated) -> tuple[str, str]:
    """Of a dialogue or of a judgement; the two do not meet."""
    if isinstance(record, JudgementRecord):
        return "judgement", record.judgement_id
    return "dialogue", record.dialogue_id
