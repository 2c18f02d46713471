"""``parlai-humaneval report``: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import DATA_DIR_GIVEN, READING, described, waiting_for
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.logs import note_written
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError

if TYPE_CHECKING:
    from parlai_humaneval.report.document import TaskFacts
    from parlai_humaneval.schema.records import Rated
    from parlai_humaneval.tables.columns import Repeats, Tables


OF_PAPER = "paper"  # Value of ``--exclude`` for the checks that the technique's own paper uses

Scope = Literal["worker", "dialogue"]


@described("report")
def report(
    tasks: tuple[str, ...],
    tables_dir: str | None,
    out: str | None,
    leaderboard: str | None,
    blind_names: bool,
    title: str | None,
    full: bool,
    force: bool,
    data_dir: Path,
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
    judge: str | None,
    by: tuple[str, ...],
) -> None:
    folder = None if tables_dir is None else Path(tables_dir).expanduser()
    page = None if out is None else Path(out).expanduser()
    if blind_names and leaderboard is None:
        raise CommandError("--blind-names is for a leaderboard", try_="add its page: --leaderboard FILE")
    board = None if leaderboard is None else Path(leaderboard).expanduser()
    if page is not None and board is not None and page.absolute() == board.absolute():
        raise CommandError(f"--out and --leaderboard both name {page}", try_="name another page for one of them")
    if folder is None and not tasks:
        for option, value in (("--out", out), ("--leaderboard", leaderboard)):
            if value is not None:
                raise CommandError(f"{option} needs answers", try_="name a task (--task-name) or tables (--tables)")
        list_tasks(data_dir, as_json)
        return
    if folder is not None:
        _only_tables(folder, tasks, exclude, exclude_scope, everywhere)
    with waiting_for("Loading the statistics…", on_screens_only=True), collector_off():
        from mephisto_tasks.cli.report_documents import Wanted
        from parlai_humaneval.report.build import default_title, tables_of
        from parlai_humaneval.report.section import Options
    wanted = Wanted(
        page=page,
        leaderboard=board,
        blind_in=(folder or study_folder(data_dir, "\n".join(tasks))) if blind_names else None,
        as_json=as_json,
        options=Options(
            seed=seed,
            draws=draws,
            include_partial=include_partial,
            onboarding_seconds=onboarding,
            reuse=reuse,
            judge=judge or "",
            by=by,
        ),
        full=full,
        title=title,
    )
    if folder is not None:
        wanted.check(force, folder)
        with wanted.progress("Reading tables"):
            tables = tables_of(folder, repeats)
        wanted.report(tables, default_title(tables))
        return
    wanted.check(force)
    if everywhere and exclude_scope == "dialogue":
        raise CommandError("--everywhere excludes raters, so it cannot be combined with --exclude-scope dialogue")
    with waiting_for(READING, on_screens_only=True):
        tables, known = answers_of(
            data_dir,
            tasks,
            exclude=exclude if exclude is not None or not everywhere else OF_PAPER,
            scope=exclude_scope,
            everywhere=everywhere,
            repeats=repeats,
        )
    note = partial(note_written, data_dir, known.tasks)
    wanted.report(tables, ", ".join(known.tasks), known, note)


def _only_tables(
    folder: Path, tasks: tuple[str, ...], exclude: str | None, exclude_scope: Scope, everywhere: bool
) -> None:
    """Refuse, before the statistics load, options that tables do not go with, and a folder that cannot be read."""
    given = {
        "--task-name": bool(tasks),
        "--data-dir": click.get_current_context().meta[DATA_DIR_GIVEN],
        "--exclude": exclude is not None,
        "--exclude-scope": exclude_scope != "worker",
        "--everywhere": everywhere,
    }
    names = [name for name, is_given in given.items() if is_given]
    if names:
        raise CommandError(
            f"--tables cannot be combined with {', '.join(names)}, which needs the answers of a task",
            try_="leave it out, or name a task (--task-name) instead of tables",
        )
    if not folder.is_dir():
        what = "is a file, not a folder of tables" if folder.exists() else "does not exist"
        raise CommandError(
            f"{folder} {what}", try_="name the folder that holds turns.csv, comparisons.csv, ratings.csv …"
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
    """The tidy tables of tasks, without what quality checks leave out (None: nobody), and what only the database knows
    of them. Raises ResultsError, TableError, CheckError."""
    from mephisto_tasks.cli.export import pseudonymous
    from mephisto_tasks.cli.report_documents import leave_out, wanted_checks
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
    from mephisto_tasks.storage.results import task_names

    names = task_names(data_dir)
    if as_json:
        say_json({"tasks": names}, indent=None)
        return
    click.echo("Name one of these with --task-name:" if names else f"There is no task in {data_dir} yet.")
    for name in names:
        click.echo(f"  {name}")
