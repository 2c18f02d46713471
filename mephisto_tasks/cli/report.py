"""``parlai-humaneval report``: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from mephisto_tasks._util.gc import collector_off
from mephisto_tasks.cli.options import (
    READING,
    clear_errors,
    data_dir_of,
    data_dir_option,
    json_option,
    waiting_for,
)
from mephisto_tasks.storage.locks import study_folder
from mephisto_tasks.storage.logs import note_written
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import CommandError
from parlai_humaneval.cli.options import repeats_option

if TYPE_CHECKING:
    from parlai_humaneval.report.document import TaskFacts
    from parlai_humaneval.schema.records import Rated
    from parlai_humaneval.tables.columns import Repeats, Tables

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

Scope = Literal["worker", "dialogue"]


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
            from mephisto_tasks.cli.report_documents import Wanted
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
    """The tasks of a data directory, newest first."""
    from mephisto_tasks.storage.results import task_names

    names = task_names(data_dir)
    if as_json:
        say_json({"tasks": names}, indent=None)
        return
    click.echo("Name one of these with --task-name:" if names else f"There is no task in {data_dir} yet.")
    for name in names:
        click.echo(f"  {name}")
