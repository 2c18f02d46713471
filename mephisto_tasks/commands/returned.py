"""``parlai-humaneval returned``: submissions that were returned at a panel free their places here."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from mephisto_tasks.commands.options import clear_errors, data_dir_of, data_dir_option, json_option
from parlai_humaneval.plain_output import say_json
from parlai_humaneval.statistics.wording import counted

EPILOG = """\b
Example:
  parlai-humaneval returned --task-name pw-turn-preference --file prolific_export.csv
"""


@click.command(epilog=EPILOG)
@click.option("--task-name", required=True, help="Task whose raters came from the panel.")
@click.option("--file", required=True, type=click.Path(dir_okay=False, path_type=str), help="The panel's export (CSV).")
@data_dir_option
@json_option
def returned(task_name: str, file: str, data_dir: str | None, as_json: bool) -> None:
    """Free what returned and timed-out submissions hold, as the panel's export lists them (Prolific: RETURNED, TIMED-OUT).

    A running launch gives their places to other people within seconds. Reading the same file again changes nothing. All
    statuses are noted: `pay` approves nothing that was returned or timed out.
    """
    with clear_errors():
        from mephisto_tasks.crowds.link.submissions import free_returned, read_submissions

        result = free_returned(data_dir_of(data_dir), task_name, read_submissions(Path(file)))
    if as_json:
        say_json(asdict(result))
        return
    click.echo(f"{counted(len(result.freed), 'place')} freed.")
    if result.done:
        click.echo(
            f"{counted(len(result.done), 'submission')} returned at the panel had completed their work here; it stays: "
            + ", ".join(result.done)
        )
    if result.unknown:
        click.echo(f"{counted(len(result.unknown), 'submission')} never began here.")
