"""``parlai-humaneval report``: who won, and how sure that is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks.commands.options import clear_errors, console, data_dir_of, data_dir_option, json_option

if TYPE_CHECKING:
    from parlai_humaneval.analysis.pairwise_report import PairwiseReport

EPILOG = """\b
Examples:
  parlai-humaneval report --task-name pw-turn-preference
  parlai-humaneval report --task-name pw-turn-preference --json | jq .headline
"""


@click.command(epilog=EPILOG)
@click.option("--task-name", help="Task to report on. Without it, the tasks of the data directory are listed.")
@data_dir_option
@json_option
@click.option("--include-partial", is_flag=True, help="Count the complete turns of unfinished dialogues too.")
@click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap intervals.")
def report(task_name: str | None, data_dir: str | None, as_json: bool, include_partial: bool, seed: int) -> None:
    """Win rates with honest intervals, the papers' tests, and how many dialogues and turns they rest on."""
    with clear_errors():
        directory = data_dir_of(data_dir)
        if task_name is None:
            list_tasks(directory, as_json)
            return
        result = report_of(directory, task_name, include_partial=include_partial, seed=seed)
        if as_json:
            click.echo(json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False))
            return
        from parlai_humaneval.analysis.pairwise_report import render

        render(result, console())


def report_of(data_dir: Path, task_name: str, *, include_partial: bool = False, seed: int = 0) -> PairwiseReport:
    """The report of a task. Raises ResultsError."""
    from mephisto_tasks.results import past_practices, read_records
    from parlai_humaneval.analysis.frames import tables
    from parlai_humaneval.analysis.pairwise_report import pairwise_report
    from parlai_humaneval.analysis.pairwise_types import PracticeCount

    result = pairwise_report(tables(read_records(data_dir, task_name)), include_partial=include_partial, seed=seed)
    verdicts = [practice.passed for practice in past_practices(data_dir, task_name).values()]
    if not verdicts:
        return result
    practice = PracticeCount(passed=verdicts.count(True), failed=verdicts.count(False), not_ended=verdicts.count(None))
    return result.model_copy(update={"practice": practice})


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
