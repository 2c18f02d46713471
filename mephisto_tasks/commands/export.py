"""``parlai-humaneval export``: the answers as tidy tables."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mephisto_tasks.commands.options import clear_errors, data_dir_of, data_dir_option, json_option

EPILOG = """\b
Examples:
  parlai-humaneval export --task-name pw-turn-preference --out tables
  parlai-humaneval export --task-name pw-turn-preference --out tables --format jsonl
"""

TABLES = ("turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements")
OUR_FILES = {f"{table}.{ending}" for table in TABLES for ending in ("csv", "jsonl")}


@click.command(epilog=EPILOG)
@click.option("--task-name", required=True, help="Task to export (`parlai-humaneval report` lists them).")
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=str), help="Folder for the tables.")
@click.option("--format", "file_format", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True)
@click.option("--force", is_flag=True, help="Replace tables that stand in the folder already.")
@data_dir_option
@json_option
def export(task_name: str, out: str, file_format: str, force: bool, data_dir: str | None, as_json: bool) -> None:
    """Write all tidy tables (turns, comparisons, ratings, segments …) with a README of columns. Workers are pseudonyms."""
    with clear_errors():
        from mephisto_tasks.results import read_records
        from parlai_humaneval.analysis.frames import tables
        from parlai_humaneval.analysis.table_files import write_tables
        from parlai_humaneval.analysis.wording import counted
        from parlai_humaneval.protocol.judgements import JudgementRecord

        folder = Path(out).expanduser()
        present = sorted(path.name for path in folder.glob("*") if path.name in OUR_FILES)
        if present and not force:
            raise click.ClickException(
                f"{folder} holds {', '.join(present)} already. Name another folder, or replace them with --force."
            )
        records = read_records(data_dir_of(data_dir), task_name)
        judged = sum(isinstance(record, JudgementRecord) for record in records)
        for name in present:
            (folder / name).unlink()
        written = write_tables(tables(records), folder, "jsonl" if file_format == "jsonl" else "csv")
    if as_json:
        click.echo(
            json.dumps(
                {"dialogues": len(records) - judged, "judgements": judged, "files": [str(path) for path in written]}
            )
        )
        return
    what = counted(judged, "judgement") if judged else counted(len(records), "dialogue")
    click.echo(f"{what} → " + ", ".join(str(path) for path in written))
