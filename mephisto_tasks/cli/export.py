"""``parlai-humaneval export``: the answers as tidy tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mephisto_tasks.cli.options import clear_errors, data_dir_of, data_dir_option, json_option, waiting_for
from parlai_humaneval._util.terminal import say_json
from parlai_humaneval.cli.errors import WrongUsage

if TYPE_CHECKING:
    from parlai_humaneval.schema.records import Rated
    from parlai_humaneval.tables.columns import Repeats, Tables

EPILOG = """\b
Examples:
  parlai-humaneval export --task-name pw-turn-preference --out tables
  parlai-humaneval export --task-name pw-turn-preference --out tables --format jsonl
  parlai-humaneval export --task-name sata-soba --task-name sata-random --out tables
  parlai-humaneval export --task-name pw-turn-preference --release --out pw-turn-release
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
@click.option(
    "--release",
    "for_release",
    is_flag=True,
    help="What may be published: names drawn by lot, coarse times, texts cleaned, a data card.",
)
@click.option("--review", metavar="FILE", help="With --release: what was found in texts. Default: OUT-to-review.csv.")
@click.option(
    "--dates",
    type=click.Choice(["day", "week"]),
    default="day",
    show_default=True,
    help="With --release: how exactly it is said when something was done, from the first day of the study.",
)
@click.option("--only-who-agreed", is_flag=True, help="With --release: leave out who did not agree to a release.")
@click.option(
    "--without-consent-text",
    metavar="REASON",
    default="",
    help="With --release: how people agreed, where no consent text is stored here. It stands in the data card.",
)
@click.option("--license", "licence", default="", metavar="TEXT", help="With --release: such as “CC BY 4.0”.")
@click.option(
    "--phone-region",
    "regions",
    type=str,
    metavar="CODE",
    multiple=True,
    default=("US", "GB"),
    show_default=True,
    help="With --release: a country whose telephone numbers are found without +. May be repeated.",
)
@data_dir_option
@json_option
def export(
    tasks: tuple[str, ...],
    out: str,
    file_format: str,
    force: bool,
    for_release: bool,
    review: str | None,
    dates: str,
    only_who_agreed: bool,
    without_consent_text: str,
    licence: str,
    regions: tuple[str, ...],
    data_dir: str | None,
    as_json: bool,
) -> None:
    """Write all tidy tables (turns, comparisons, ratings, segments …) with a README of columns.

    Workers are pseudonyms, the same in every export of a data directory, also where they wrote their own id into a
    text. The key of the pseudonyms stays in the data directory: do not publish it.

    With --release the folder may be published, once somebody has read its texts: pseudonyms are of no key, and nothing
    leads back to the data directory. It is refused while somebody did not agree to it.
    """
    if for_release:
        from mephisto_tasks.cli.privacy import release

        folder = Path(out).expanduser()
        release(
            data_dir_of(data_dir),
            as_json,
            tasks=tuple(dict.fromkeys(tasks)),
            folder=folder,
            review=Path(review).expanduser() if review else folder.with_name(f"{folder.name}-to-review.csv"),
            file_format="jsonl" if file_format == "jsonl" else "csv",
            coarse="week" if dates == "week" else "day",
            only_who_agreed=only_who_agreed,
            without_text=without_consent_text,
            regions=tuple(code.upper() for code in regions),
            licence=licence,
            force=force,
        )
        return
    if review or only_who_agreed or without_consent_text or licence:
        raise WrongUsage("--review, --only-who-agreed, --without-consent-text and --license go with --release")
    with clear_errors(), waiting_for("Reading the answers, and writing the tables…", on_screens_only=True):
        from mephisto_tasks.storage.logs import note_written
        from mephisto_tasks.storage.results import read_records
        from parlai_humaneval.schema.records import JudgementRecord
        from parlai_humaneval.statistics.core.formatting import counted
        from parlai_humaneval.tables.files import check_free, save_tables

        folder = Path(out).expanduser()
        check_free(folder, force=force)
        directory = data_dir_of(data_dir)
        chosen = list(dict.fromkeys(tasks))
        records = [record for task in chosen for record in read_records(directory, task)]
        judged = sum(isinstance(record, JudgementRecord) for record in records)
        clean, changed = pseudonymous(records, directory, chosen)
        written = save_tables(clean, folder, "jsonl" if file_format == "jsonl" else "csv", force=force)
        note_written(directory, chosen, "table", written)
    live = len(records) - judged
    workers = len({record.worker for record in records})
    if as_json:
        files = [str(path) for path in written]
        facts = {"tasks": chosen, "dialogues": live, "judgements": judged, "workers": workers}
        say_json({**facts, "texts_with_names": changed, "files": files}, indent=None)
        return
    parts = [counted(judged, "judgement")] * bool(judged) + [counted(live, "dialogue")] * bool(live or not judged)
    click.echo(f"{', '.join(parts)} → " + ", ".join(str(path) for path in written))
    if changed:
        click.echo(f"Workers' own names stood in {counted(changed, 'text')}; their pseudonyms stand there now.")


def pseudonymous(
    records: Sequence[Rated], data_dir: Path, tasks: Sequence[str], repeats: Repeats | None = None
) -> tuple[Tables, int]:
    """The tidy tables of ``records``, all of ``tasks``, without workers' names; and in how many texts names stood.

    What judges answered about them stands in tables of their own, and the logs of those tasks that end when they are
    decided beside them.
    """
    from dataclasses import replace

    from mephisto_tasks.storage.logs import JUDGE_ANSWERS, stopping_logs
    from parlai_humaneval.importers.tidy import without_names
    from parlai_humaneval.tables.build import tables
    from parlai_humaneval.tables.build_judgements import judge_tables

    judges = judge_tables(records, [line for task in tasks for line in JUDGE_ANSWERS.read(data_dir, task)])
    whole = replace(tables(records, repeats=repeats), judges=judges, stopping=stopping_logs(data_dir, tasks))
    return without_names(whole, _pseudonyms(data_dir, tasks))


def _pseudonyms(data_dir: Path, tasks: Sequence[str]) -> dict[str, str]:
    from mephisto_tasks.storage.results import PSEUDONYM_KEY, stored_agents
    from parlai_humaneval.schema.pseudonyms import Pseudonymizer

    names = {agent.worker_name for task in tasks for agent in stored_agents(data_dir, task)}
    made = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    return {name: made.worker(name) for name in names}
