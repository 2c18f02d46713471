"""``parlai-humaneval report``: who is better, and how sure that is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from mephisto_tasks.commands.options import clear_errors, console, data_dir_of, data_dir_option, json_option

if TYPE_CHECKING:
    from parlai_humaneval.analysis.reports.types import PracticeCount, Report
    from parlai_humaneval.protocol.rated import Rated

EPILOG = """\b
Examples:
  parlai-humaneval report --task-name pw-turn-preference
  parlai-humaneval report --task-name pw-turn-preference --json | jq .headline
  parlai-humaneval report --task-name sata-mm --exclude paper --exclude-scope dialogue
  parlai-humaneval report --task-name sata-mm --exclude greeting,same_position --everywhere
  parlai-humaneval report --task-name pw-dialog-preference --exclude failed_gold
"""

OF_PAPER = "paper"
"""Value of ``--exclude`` for the checks that the technique's own paper uses."""

Scope = Literal["worker", "dialogue"]


@click.command(epilog=EPILOG)
@click.option(
    "--task-name",
    "tasks",
    multiple=True,
    help="Task to report on; several, of one technique, are reported together. Without it, the tasks are listed.",
)
@data_dir_option
@json_option
@click.option("--include-partial", is_flag=True, help="Count the complete turns of unfinished live dialogues too.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap intervals.")
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
@click.option("--everywhere", is_flag=True, help="Leave out workers who failed in any task of the data directory, too.")
def report(
    tasks: tuple[str, ...],
    data_dir: str | None,
    as_json: bool,
    include_partial: bool,
    seed: int,
    exclude: str | None,
    exclude_scope: Scope,
    everywhere: bool,
) -> None:
    """What the technique's paper prints, with honest intervals, and how many answers it rests on."""
    with clear_errors():
        directory = data_dir_of(data_dir)
        if not tasks:
            list_tasks(directory, as_json)
            return
        if everywhere and exclude_scope == "dialogue":
            raise click.ClickException("--everywhere leaves out workers: it cannot go with --exclude-scope dialogue.")
        result = report_of(
            directory,
            tasks,
            include_partial=include_partial,
            seed=seed,
            exclude=exclude if exclude is not None or not everywhere else OF_PAPER,
            scope=exclude_scope,
            everywhere=everywhere,
        )
        if as_json:
            click.echo(json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False))
            return
        from parlai_humaneval.analysis.reports.study import render

        render(result, console())


def report_of(
    data_dir: Path,
    task_name: str | Sequence[str],
    *,
    include_partial: bool = False,
    seed: int = 0,
    exclude: str | None = None,
    scope: Scope = "worker",
    everywhere: bool = False,
) -> Report:
    """The report of a task, or of several of one technique.

    Args:
        data_dir: of Mephisto's database and the answers.
        task_name: the task or tasks.
        include_partial: count the answered turns of unfinished live dialogues too.
        seed: of bootstrap intervals.
        exclude: names of quality checks with commas between, or ``paper``; None leaves nobody out.
        scope: whether a failure leaves out all that the worker did, or the failing dialogue.
        everywhere: workers who fail in any task of the data directory are left out as well.

    Raises:
        ResultsError, TableError, CheckError: no such task, tasks of several techniques, no such check.
    """
    from mephisto_tasks.commands.excluding import leave_out, wanted_checks
    from mephisto_tasks.results import read_records, technique_of
    from parlai_humaneval.analysis.frames import tables
    from parlai_humaneval.analysis.reports.study import study_report

    names = [task_name] if isinstance(task_name, str) else list(dict.fromkeys(task_name))
    checks = None if exclude is None else wanted_checks(exclude, OF_PAPER)
    records: list[Rated] = [record for name in names for record in read_records(data_dir, name)]
    found = records[0].technique if records else technique_of(data_dir, names[0])
    technique = {"technique": found} if found else {}
    known: dict[str, object] = {"practice": _practice(data_dir, names)}
    if not records:
        known["tasks"] = names
    if exclude is not None:
        records, excluded = leave_out(data_dir, names, records, checks, scope, everywhere)
        known["excluded"] = excluded
        if not records and (excluded.here.dialogues or excluded.here.judgements):
            what = "judgement" if excluded.here.judgements else "dialogue"
            known |= {"tasks": names, "headline": f"Every {what} was left out by the checks: none remains."}
    result = study_report(tables(records), include_partial=include_partial, seed=seed, **technique)
    return result.model_copy(update=known)


def _practice(data_dir: Path, tasks: Sequence[str]) -> PracticeCount | None:
    from mephisto_tasks.results import past_practices
    from parlai_humaneval.analysis.reports.types import PracticeCount

    verdicts = [practice.passed for name in tasks for practice in past_practices(data_dir, name).values()]
    if not verdicts:
        return None
    return PracticeCount(passed=verdicts.count(True), failed=verdicts.count(False), not_ended=verdicts.count(None))


def list_tasks(data_dir: Path, as_json: bool) -> None:
    """The tasks of a data directory, newest first."""
    from mephisto_tasks.results import task_names

    names = task_names(data_dir)
    if as_json:
        click.echo(json.dumps({"tasks": names}, ensure_ascii=False))
        return
    click.echo("Name one of these with --task-name:" if names else f"There is no task in {data_dir} yet.")
    for name in names:
        click.echo(f"  {name}")
