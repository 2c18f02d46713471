"""``parlai-humaneval import``: data from elsewhere as tidy tables."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parlai_humaneval._util.terminal import say, say_json
from parlai_humaneval.cli.errors import CommandError, cli_errors
from parlai_humaneval.cli.options import repeats_option
from parlai_humaneval.models.zoo.files import user_home

if TYPE_CHECKING:
    from parlai_humaneval.importers.readers import Imported, SavedFormat
    from parlai_humaneval.importers.tidy import Pseudonyms, TidyPlan
    from parlai_humaneval.importers.units import LeftOut, Plan, Unit, UnreadableUnit
    from parlai_humaneval.tables.columns import Repeats
    from parlai_humaneval.tables.schema import TableName

    Found = Iterable[tuple[SavedFormat, Unit | LeftOut | UnreadableUnit]]
    Read = tuple[int, Found, list[str]]
    """How many units there are, the units, which are read as you iterate, and remarks."""

FORMATS = ("tables", "model_chat", "pairwise_per_turn_eval", "acute_eval", "mephisto")
TABLES = ("turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements")
_READERS: dict[str, Callable[[Sequence[Path], Sequence[str]], Read]] = {}
KEY = "pseudonym.key"
SHOWN = 20
"""Most skipped units that are listed on the screen; --json lists all."""

EPILOG = """\b
Examples:
  parlai-humaneval import --from tables my_tables --out tables
  parlai-humaneval import --from tables votes.csv --table comparisons \\
      --rename id=item_id --rename rater=worker_id --rename choice=winner --set metric=preference \\
      --set dialogue_a= --set dialogue_b= --set seconds= --out tables
  parlai-humaneval import --list-columns comparisons
  parlai-humaneval import --from model_chat chat_data/2024_05_01 --out tables
  parlai-humaneval import --from mephisto ~/mephisto/data --task-name blender-vs-dodeca --out tables
  parlai-humaneval report --tables tables
"""


def register_reader(source: str, reader: Callable[[Sequence[Path], Sequence[str]], Read]) -> None:
    """Have ``--from SOURCE`` read its paths, and the tasks of ``--task-name`` in them, by ``reader``."""
    _READERS[source] = reader


def _list_columns(context: click.Context, _: click.Parameter, table: str | None) -> None:
    if not table or context.resilient_parsing:
        return
    from parlai_humaneval.tables.schema import TABLES as DECLARED
    from parlai_humaneval.tables.schema import listed_columns

    click.echo("\n\n".join(listed_columns(name) for name in DECLARED if table in (name, "all")))
    context.exit()


@click.command("import", epilog=EPILOG)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=str), metavar="PATH...")
@click.option(
    "--from",
    "source",
    required=True,
    type=click.Choice(FORMATS),
    help="What PATH is: tables (CSV or JSONL, a folder or files); the JSON that ParlAI's model_chat, "
    "pairwise_per_turn_eval or acute_eval saved (folders or files); or a mephisto data directory of such tasks.",
)
@click.option("--out", required=True, type=click.Path(path_type=str), help="Folder for the tables.")
@click.option("--format", "file_format", type=click.Choice(["csv", "jsonl"]), default="csv", show_default=True)
@click.option("--table", type=click.Choice(TABLES), help="Of tables: which one the files are, whatever their names.")
@click.option(
    "--rename",
    "renames",
    multiple=True,
    metavar="OLD=NEW",
    help="Of tables: a column's name here and ours. Twice with the same OLD: the column becomes two.",
)
@click.option(
    "--set",
    "values",
    multiple=True,
    metavar="NAME=VALUE",
    help="Of tables: a column that the files lack. Without VALUE it is empty, where it may be.",
)
@click.option(
    "--list-columns",
    type=click.Choice([*TABLES, "all"]),
    callback=_list_columns,
    is_eager=True,
    expose_value=False,
    help="Tell which columns a table must have, and what is in them; nothing else is done.",
)
@click.option("--task-name", "tasks", multiple=True, help="Of mephisto: a task; by default all of ParlAI's own.")
@click.option("--metric", help="What was asked, e.g. preference. By default named after the question.")
@click.option("--setting", default="", help="Variant of the technique, e.g. self_chat.")
@click.option("--criteria", help="Of model_chat: names of the ratings at the end, with commas between.")
@click.option(
    "--keep-failed-onboarding",
    "keep_failed",
    is_flag=True,
    help="Of acute_eval: also what workers judged who got a pair of the onboarding wrong. ParlAI leaves it out.",
)
@repeats_option
@click.option(
    "--skip-bad", is_flag=True, help="Leave out what cannot be read, and list it. By default nothing is written."
)
@click.option(
    "--key",
    type=click.Path(dir_okay=False, path_type=str),
    help="Key of the pseudonyms, made where there is none. By default that of the data directory (as of `export`).",
)
@click.option("--force", is_flag=True, help="Replace tables that stand in the folder already.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def import_tables(
    paths: tuple[str, ...],
    source: str,
    out: str,
    file_format: str,
    table: TableName | None,
    renames: tuple[str, ...],
    values: tuple[str, ...],
    tasks: tuple[str, ...],
    metric: str | None,
    setting: str,
    criteria: str | None,
    keep_failed: bool,
    repeats: Repeats | None,
    skip_bad: bool,
    key: str | None,
    force: bool,
    as_json: bool,
) -> None:
    """Turn data from elsewhere into tidy tables, checked, with workers as pseudonyms, and a README of columns.

    Every table that is written can be read by `parlai-humaneval report --tables`. Errors name file, row or place, and
    field; unless --skip-bad is given, nothing is written when something is wrong.
    """
    _fitting(source, table, renames, values, tasks, criteria, keep_failed)
    files = [Path(path).expanduser() for path in paths]
    with cli_errors():
        from parlai_humaneval.importers.tidy import Pseudonyms, TidyPlan, without_names
        from parlai_humaneval.importers.units import Plan
        from parlai_humaneval.schema.pseudonyms import Pseudonymizer
        from parlai_humaneval.statistics.core.formatting import counted
        from parlai_humaneval.tables.files import check_free, save_tables

        folder = Path(out).expanduser()
        check_free(folder, force=force)
        pseudonyms = Pseudonyms(Pseudonymizer.load_or_create(_key_file(key, source, files)).worker)
        if source == "tables":
            named = TidyPlan(renamed(renames), values_of(values), repeats)
            found = _tables(files, table, named, pseudonyms, skip_bad)
        else:
            names = tuple(name.strip() for name in (criteria or "").split(",") if name.strip())
            plan = Plan(pseudonyms, metric, setting, names, keep_failed, repeats)
            found = _saved(source, files, tasks, plan, skip_bad)
        found.notes += [one.words for one in found.tables.repeats]
        found.notes += [one.words for one in found.tables.cleaned]
        clean, changed = without_names(found.tables, pseudonyms.given)
        if changed:
            found.notes.append(
                f"Workers' own names stood in {counted(changed, 'text')}; their pseudonyms stand there now."
            )
        written = save_tables(clean, folder, "jsonl" if file_format == "jsonl" else "csv", force=force)
    summary = _summary(found, source, clean, written, pseudonyms)
    if as_json:
        say_json(summary, indent=None)
    else:
        _show(summary, out)


def _fitting(
    source: str,
    table: str | None,
    renames: Sequence[str],
    values: Sequence[str],
    tasks: Sequence[str],
    criteria: str | None,
    keep_failed: bool,
) -> None:
    chats, pairs = ("model_chat", "mephisto"), ("acute_eval", "mephisto")
    uses: list[tuple[str, bool, tuple[str, ...]]] = [
        ("--table", bool(table), ("tables",)),
        ("--rename", bool(renames), ("tables",)),
        ("--set", bool(values), ("tables",)),
        ("--task-name", bool(tasks), ("mephisto",)),
        ("--criteria", bool(criteria), chats),
        ("--keep-failed-onboarding", keep_failed, pairs),
    ]
    for name, given, formats in uses:
        if given and source not in formats:
            raise CommandError(f"{name} goes with --from {' or '.join(formats)}, not with {source}")


def _key_file(named: str | None, source: str, files: Sequence[Path]) -> Path:
    """The key of ``export``, so that a worker has one pseudonym everywhere."""
    if named is not None:
        return Path(named).expanduser()
    own = (files[0].parent if files[0].name == "database.db" else files[0]) / KEY
    if source == "mephisto" and own.is_file():
        return own
    data_dir = os.environ.get("PARLAI_HUMANEVAL_DATA_DIR")
    return (Path(data_dir).expanduser() if data_dir else user_home() / "mephisto") / KEY


def _tables(
    files: Sequence[Path],
    table: TableName | None,
    plan: TidyPlan,
    pseudonyms: Pseudonyms,
    skip_bad: bool,
) -> Imported:
    from parlai_humaneval.importers.tidy import read_tidy, table_paths, with_pseudonyms

    found = table_paths(files, table)
    with _bar("Reading", len(found)) as step:
        result = read_tidy(found, plan, skip_bad=skip_bad, on_file=lambda _: step())
    result.tables = with_pseudonyms(result.tables, pseudonyms)
    return result


def _saved(source: str, files: Sequence[Path], tasks: Sequence[str], plan: Plan, skip_bad: bool) -> Imported:
    from parlai_humaneval.importers.readers import gather

    if source in _READERS and len(files) > 1:
        raise CommandError("Name one Mephisto data directory", try_="import several into folders of their own")
    total, units, notes = _READERS[source](files, tasks) if source in _READERS else _in_files(source, files)
    with _bar("Reading", total) as step:
        result = gather(_stepping(units, step), plan, skip_bad=skip_bad)
    result.notes += notes
    return result


def _in_files(source: str, files: Sequence[Path]) -> Read:
    from parlai_humaneval.importers.saved import json_files, units_of_file

    found = json_files(files)
    units: Any = ((source, unit) for path in found for unit in units_of_file(path))
    return len(found), units, []


def _stepping(units: Found, step: Callable[[], None]) -> Found:
    for unit in units:
        yield unit
        step()


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on the terminal's stderr; none where that is a file."""
    with click.progressbar(length=total, label=what, file=sys.stderr) as bar:
        yield lambda: bar.update(1)


def _summary(
    found: Imported, source: str, tables: Any, written: Sequence[Path], pseudonyms: Pseudonyms
) -> dict[str, Any]:
    rows = {name: len(getattr(tables, name)) for name in TABLES}
    return {
        "format": source,
        "units": found.units,
        "workers": len({worker for name in TABLES for worker in set(getattr(tables, name)["worker_id"].dropna())}),
        "rows": {name: count for name, count in rows.items() if count},
        "left_out": dict(sorted(found.left_out.items())),
        "repeats": [asdict(one) for one in tables.repeats],
        "skipped": found.skipped,
        "notes": found.notes,
        "files": [str(path) for path in written],
    }


def _show(summary: dict[str, Any], out: str) -> None:
    from parlai_humaneval.statistics.core.formatting import counted

    rows = ", ".join(f"{name} {count:,}" for name, count in summary["rows"].items())
    click.echo(f"{counted(summary['workers'], 'worker')} → {out}: rows of {rows}.")
    for reason, count in summary["left_out"].items():
        say(f"Left out: {count:,} × {reason}.")
    for note in summary["notes"]:
        say(note)
    skipped = summary["skipped"]
    if skipped:
        click.echo(f"Skipped, as it is bad: {len(skipped):,}")
        for one in skipped[:SHOWN]:
            say(f"  {one}")
        if len(skipped) > SHOWN:
            click.echo(f"  … and {len(skipped) - SHOWN:,} more (--json lists all).")


def renamed(given: Sequence[str]) -> dict[str, list[str]]:
    """OLD=NEW of ``--rename`` → the new names of each old one: a column may become several.

    Raises:
        click.ClickException: it is not of this form, or stands there twice.
    """
    names: dict[str, list[str]] = {}
    for old, new in _pairs("--rename", "OLD=NEW", given):
        if new in names.setdefault(old, []):
            raise CommandError(f"--rename names {old}={new} twice")
        names[old].append(new)
    return names


def values_of(given: Sequence[str]) -> dict[str, str]:
    """NAME=VALUE of ``--set``.

    Raises:
        click.ClickException: it is not of this form, or a name stands there twice.
    """
    values: dict[str, str] = {}
    for name, value in _pairs("--set", "NAME=VALUE", given):
        if name in values:
            raise CommandError(f"--set names {name} twice")
        values[name] = value
    return values


def _pairs(option: str, form: str, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    for one in given:
        name, equals, value = (part.strip() for part in one.partition("="))
        if not equals or not name:
            raise CommandError(f"{option} {one}: expected {form}")
        yield name, value
