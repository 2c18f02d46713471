"""``parlai-humaneval export``: the answers as tidy tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks.commands.options import (
    clear_errors,
    data_dir_of,
    data_dir_option,
    json_option,
    waiting_for,
)

if TYPE_CHECKING:
    from parlai_humaneval.protocol.records.judgement import Rated
    from parlai_humaneval.tables.columns import Repeats, Tables

EPILOG = """\b
Examples:
  parlai-humaneval export --task-name pw-turn-preference --out tables
  parlai-humaneval export --task-name pw-turn-preference --out tables --format jsonl
  parlai-humaneval export --task-name sata-soba --task-name sata-random --out tables
"""


@click.command(epilog=EPILOG)
@click.option(
    "--task-name",
    "tasks",
    required=True,
    multiple=True,
    help="Task to export (`parlai-humaneval report` lists them); several are put into the same tables.",
)
@click.option("--out", required=True, type=click.Path(path_type=str), help="Folder for the tables.")
@click.option("--format", "file_format", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True)
@click.option("--force", is_flag=True, help="Replace tables that stand in the folder already.")
@data_dir_option
@json_option
def export(
    tasks: tuple[str, ...], out: str, file_format: str, force: bool, data_dir: str | None, as_json: bool
) -> None:
    """Write all tidy tables (turns, comparisons, ratings, segments …) with a README of columns.

    Workers are pseudonyms, the same in every export of a data directory, also where they wrote their own id into a
    text. The key of the pseudonyms stays in the data directory: do not publish it.
    """
    with clear_errors(), waiting_for("Reading the answers, and writing the tables…", on_screens_only=True):
        from mephisto_tasks.stored.results import read_records
        from parlai_humaneval.protocol.records.judgement import JudgementRecord
        from parlai_humaneval.statistics.wording import counted
        from parlai_humaneval.tables.files import check_free, save_tables

        folder = Path(out).expanduser()
        check_free(folder, force=force)
        directory = data_dir_of(data_dir)
        chosen = list(dict.fromkeys(tasks))
        records = [record for task in chosen for record in read_records(directory, task)]
        judged = sum(isinstance(record, JudgementRecord) for record in records)
        clean, changed = pseudonymous(records, directory, chosen)
        written = save_tables(clean, folder, "jsonl" if file_format == "jsonl" else "csv", force=force)
    live = len(records) - judged
    workers = len({record.worker for record in records})
    if as_json:
        files = [str(path) for path in written]
        facts = {"tasks": chosen, "dialogues": live, "judgements": judged, "workers": workers}
        click.echo(json.dumps({**facts, "texts_with_names": changed, "files": files}))
        return
    parts = [counted(judged, "judgement")] * bool(judged) + [counted(live, "dialogue")] * bool(live or not judged)
    click.echo(f"{', '.join(parts)} → " + ", ".join(str(path) for path in written))
    if changed:
        click.echo(f"Workers' own names stood in {counted(changed, 'text')}; their pseudonyms stand there now.")


def pseudonymous(
    records: Sequence[Rated], data_dir: Path, tasks: Sequence[str], repeats: Repeats | None = None
) -> tuple[Tables, int]:
    """The tidy tables of ``records``, all of ``tasks``, without workers' names; and in how many texts names stood."""
    from parlai_humaneval.importing.names import without_names
    from parlai_humaneval.tables.from_records import tables

    return without_names(tables(records, repeats=repeats), _pseudonyms(data_dir, tasks))


def _pseudonyms(data_dir: Path, tasks: Sequence[str]) -> dict[str, str]:
    """Every worker of the tasks by name → pseudonym."""
    from mephisto_tasks.stored.results import PSEUDONYM_KEY, stored_agents
    from parlai_humaneval.protocol.records.pseudonym import Pseudonymizer

    names = {agent.worker_name for task in tasks for agent in stored_agents(data_dir, task)}
    made = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    return {name: made.worker(name) for name in names}
