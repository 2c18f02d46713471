"""``parlai-humaneval report``: who is better, and how sure that is.

What ``report`` makes of tables: JSON, a page with its folder, or a print; with a progress bar where it takes long.

Leaving dialogues and judgements out of a report by quality checks; nothing is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import (
    READING,
    clear_errors,
    console,
    data_dir_of,
    data_dir_option,
    json_option,
    waiting_for,
)
from mephisto_tasks.monitoring.status import BLIND_NAMES, kept_blind_names
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.logs import note_written
from mephisto_tasks.storage.results import read_records, task_names
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError
from parlai_humaneval.cli.options import repeats_option
from parlai_humaneval.quality import exclude, exclude_everywhere, known_checks
from parlai_humaneval.quality.verdicts import CheckError, Scope
from parlai_humaneval.report.build import default_title, make_document, tables_of
from parlai_humaneval.report.document import Excluded, Left
from parlai_humaneval.report.render.terminal import print_document, print_summary
from parlai_humaneval.report.section import Options
from parlai_humaneval.schema.records import JudgementRecord, Rated
from parlai_humaneval.statistics.core.formatting import counted

if TYPE_CHECKING:
    from mephisto_tasks.storage.logs import Kind
    from parlai_humaneval.report.document import Document, TaskFacts
    from parlai_humaneval.schema.records import Rated
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
            (print_document if self.full else print_summary)(document, console())
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
            return make_document(tables, options, title=self.title or title, task=task, notes=notes)

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


EPILOG = """\b
Examples:
  parlai-humaneval report --task-name pw-turn-preference
  parlai-humaneval report --task-name pw-turn-preference --full
  parlai-humaneval report --task-name pw-turn-preference --out report.html
  parlai-humaneval report --task-name pw-turn-preference --leaderboard ranks.html --blind-names
  parlai-humaneval report --tables tables --out report.html --title "Release candidate 2"
  parlai-humaneval report --tables tables --json | jq .turns.models
  parlai-humaneval report --tables spot_the_bot --repeats first
  parlai-humaneval report --task-name sata-mm --exclude paper --exclude-scope dialogue
  parlai-humaneval report --task-name sata-mm --exclude greeting,same_position --everywhere
  parlai-humaneval report --task-name pw-dialog-preference --exclude failed_gold

\b
--out report.html writes one page that needs no network, and beside it a folder report/ with
the same as JSON (report.json), CSV and LaTeX, a file for each table.
"""

OF_PAPER = "paper"
"""Value of ``--exclude`` for the checks that the technique's own paper uses."""


@click.command(epilog=EPILOG)
@click.option(
    "--task-name",
    "tasks",
    multiple=True,
    help="Task to report on; several are reported together. Without it, the tasks are listed.",
)
@click.option(
    "--tables",
    "tables_dir",
    metavar="DIR",
    help="Report on a folder of tidy tables instead (turns.csv, comparisons.csv, ratings.csv, segments.csv, "
    "dialogues.csv; or .jsonl), from `export` or from anywhere.",
)
@click.option(
    "--out", metavar="FILE", help="Write one self-contained HTML page, and its tables into a folder beside it."
)
@click.option(
    "--leaderboard",
    metavar="FILE",
    help="Write one HTML page that one may show: ranks with intervals, nothing of single raters.",
)
@click.option(
    "--blind-names",
    is_flag=True,
    help="On the leaderboard models are Model A, B, …; which is which stays on this machine.",
)
@click.option(
    "--title",
    metavar="TEXT",
    help="Of the page, and of how it is cited. Default: the models and the technique, or the task.",
)
@click.option("--full", is_flag=True, help="Print every section, not only the summary.")
@click.option("--force", is_flag=True, help="Replace a report that stands at --out already.")
@data_dir_option
@json_option
@repeats_option
@click.option("--include-partial", is_flag=True, help="Count the complete turns of unfinished live dialogues too.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap intervals.")
@click.option("--draws", type=click.IntRange(min=100), default=1000, show_default=True, help="Of each bootstrap.")
@click.option(
    "--exclude",
    metavar="CHECKS",
    help="Leave out who fails these quality checks: names with commas between, or `paper` for those of the "
    "technique's paper. Nothing is deleted. An unknown name lists them all.",
)
@click.option(
    "--exclude-scope",
    type=click.Choice(["worker", "dialogue"]),
    default="worker",
    show_default=True,
    help="Leave out all that a failing worker did, or the dialogues that failed.",
)
@click.option(
    "--onboarding",
    metavar="SECONDS",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Time that each worker spent on practice before the first answer; it counts in rater time. Default: 0, not known.",
)
@click.option(
    "--reuse",
    metavar="TIMES",
    type=click.IntRange(min=1),
    help="Most judgements of each collected dialogue, for the rater time of collecting them. Default: as many as there "
    "are partners.",
)
@click.option("--everywhere", is_flag=True, help="Leave out workers who failed in any task of the data directory, too.")
def report(
    tasks: tuple[str, ...],
    tables_dir: str | None,
    out: str | None,
    leaderboard: str | None,
    blind_names: bool,
    title: str | None,
    full: bool,
    force: bool,
    data_dir: str | None,
    as_json: bool,
    repeats: Repeats | None,
    include_partial: bool,
    seed: int,
    draws: int,
    exclude: str | None,
    exclude_scope: Scope,
    onboarding: float,
    reuse: int | None,
    everywhere: bool,
) -> None:
    """Who is better, how sure that is, and how many answers it rests on.

    Prints a summary of one screen: the answer, the models, the pairs, what was left out. --full prints every section.
    """
    with clear_errors():
        with waiting_for("Loading the statistics…", on_screens_only=True), collector_off():
            from parlai_humaneval.report.registry import load_sections

            load_sections()
        folder = None if tables_dir is None else Path(tables_dir).expanduser()
        page = None if out is None else Path(out).expanduser()
        if blind_names and leaderboard is None:
            raise CommandError("--blind-names is of a leaderboard", try_="name its page, too (--leaderboard FILE)")
        board = None if leaderboard is None else Path(leaderboard).expanduser()
        if page is not None and board is not None and page.absolute() == board.absolute():
            raise CommandError(f"--out and --leaderboard both name {page}", try_="name another page for one of them")
        wanted = Wanted(
            page=page,
            leaderboard=board,
            blind_in=_blind_in(folder, data_dir, tasks) if blind_names else None,
            as_json=as_json,
            seed=seed,
            draws=draws,
            full=full,
            title=title,
            include_partial=include_partial,
            onboarding=onboarding,
            reuse=reuse,
        )
        if folder is not None:
            _only_tables(tasks, data_dir, exclude, exclude_scope, everywhere)
            wanted.check(force, folder)
            wanted.report_folder(folder, repeats)
            return
        if not tasks:
            for option, value in (("--out", out), ("--leaderboard", leaderboard)):
                if value is not None:
                    raise CommandError(f"{option} needs answers", try_="name a task (--task-name) or tables (--tables)")
            list_tasks(data_dir_of(data_dir), as_json)
            return
        wanted.check(force)
        if everywhere and exclude_scope == "dialogue":
            raise CommandError("--everywhere leaves out workers: it cannot go with --exclude-scope dialogue")
        with waiting_for(READING, on_screens_only=True):
            tables, known = answers_of(
                data_dir_of(data_dir),
                tasks,
                exclude=exclude if exclude is not None or not everywhere else OF_PAPER,
                scope=exclude_scope,
                everywhere=everywhere,
                repeats=repeats,
            )
        note = partial(note_written, data_dir_of(data_dir), known.tasks)
        wanted.report(tables, ", ".join(known.tasks), known, note)


def _blind_in(folder: Path | None, data_dir: str | None, tasks: tuple[str, ...]) -> Path:
    """Where blind names are kept: beside the tables, or in the folder of the study; of several together."""
    return folder or study_folder(data_dir_of(data_dir), "\n".join(tasks))


def _only_tables(
    tasks: tuple[str, ...],
    data_dir: str | None,
    exclude: str | None,
    exclude_scope: Scope,
    everywhere: bool,
) -> None:
    """Refuse, beside ``--tables``, what needs the database of a task.

    Raises:
        ClickException: one of them was given.
    """
    given = {
        "--task-name": bool(tasks),
        "--data-dir": data_dir is not None,
        "--exclude": exclude is not None,
        "--exclude-scope": exclude_scope != "worker",
        "--everywhere": everywhere,
    }
    names = [name for name, is_given in given.items() if is_given]
    if names:
        raise CommandError(
            f"--tables cannot go with {', '.join(names)}, which needs the answers of a task",
            try_="leave it out, or name a task (--task-name) instead of tables",
        )


def answers_of(
    data_dir: Path,
    task_name: str | Sequence[str],
    *,
    exclude: str | None = None,
    scope: Scope = "worker",
    everywhere: bool = False,
    repeats: Repeats | None = None,
) -> tuple[Tables, TaskFacts]:
    """The tidy tables of a task, or of several, without what is left out; and what only the database knows of them.

    Args:
        data_dir: of Mephisto's database and the answers.
        task_name: the task or tasks.
        exclude: names of quality checks with commas between, or ``paper``; None leaves nobody out.
        scope: whether a failure leaves out all that the worker did, or the failing dialogue.
        everywhere: workers who fail in any task of the data directory are left out as well.
        repeats: which of the answers count that a worker gave again; None: they are refused.

    Raises:
        ResultsError, TableError, CheckError: no such task, no such check.
    """
    from mephisto_tasks.cli.export import pseudonymous
    from mephisto_tasks.storage.results import practice_count, read_records, technique_of
    from parlai_humaneval.report.document import TaskFacts

    names = [task_name] if isinstance(task_name, str) else list(dict.fromkeys(task_name))
    checks = None if exclude is None else wanted_checks(exclude, OF_PAPER)
    records: list[Rated] = [record for name in names for record in read_records(data_dir, name)]
    technique = records[0].technique if records else technique_of(data_dir, names[0])
    excluded = None
    if exclude is not None:
        records, excluded = leave_out(data_dir, names, records, checks, scope, everywhere)
    known = TaskFacts(tasks=names, technique=technique, practice=practice_count(data_dir, names), excluded=excluded)
    return pseudonymous(records, data_dir, names, repeats)[0], known


def list_tasks(data_dir: Path, as_json: bool) -> None:
    """The tasks of a data directory, newest first."""
    from mephisto_tasks.storage.results import task_names

    names = task_names(data_dir)
    if as_json:
        say_json({"tasks": names}, indent=None)
        return
    click.echo("Name one of these with --task-name:" if names else f"There is no task in {data_dir} yet.")
    for name in names:
        click.echo(f"  {name}")
