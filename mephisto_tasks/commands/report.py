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
            raise click.UsageError(_which_task(directory))
        result = report_of(directory, task_name, include_partial=include_partial, seed=seed)
        if as_json:
            click.echo(json.dumps(result.model_dump(mode="json"), indent=2, ensure_ascii=False))
            return
        from parlai_humaneval.analysis.pairwise_report import render

        render(result, console())


def report_of(data_dir: Path, task_name: str, *, include_partial: bool = False, seed: int = 0) -> PairwiseReport:
    """The report of a task. Raises ResultsError."""
    from parlai_humaneval.analysis.pairwise_report import pairwise_report

    from mephisto_tasks.results import read_records
    from parlai_humaneval.analysis.frames import tables

    return pairwise_report(tables(read_records(data_dir, task_name)), include_partial=include_partial, seed=seed)


def _which_task(data_dir: Path) -> str:
    from mephisto_tasks.results import task_names

    names = task_names(data_dir)
    if not names:
        return f"there is no task in {data_dir} yet; run `parlai-humaneval demo` first"
    return "name the task with --task-name; in this data directory: " + ", ".join(names)
