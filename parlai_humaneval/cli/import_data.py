"""``parlai-humaneval import``: data from other sources as tidy tables."""

from __future__ import annotations

import csv
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parlai_humaneval._util.files import user_home
from parlai_humaneval._util.terminal import say, say_json
from parlai_humaneval._util.text import on_one_line, unescaped, visible
from parlai_humaneval.cli.errors import CommandError
from parlai_humaneval.cli.options import described

if TYPE_CHECKING:
    from parlai_humaneval.importers.readers import Imported, Pseudonyms, SavedFormat
    from parlai_humaneval.importers.tidy import TidyPlan
    from parlai_humaneval.importers.units import LeftOut, Unit, UnreadableUnit
    from parlai_humaneval.importers.vocabulary import Understood
    from parlai_humaneval.tables.columns import Repeats
    from parlai_humaneval.tables.schema import TableName

    Found = Iterable[tuple[SavedFormat, Unit | LeftOut | UnreadableUnit]]
    Read = tuple[int, Found, list[str]]
    """How many units there are, the units, which are read as you iterate, and remarks."""

SAVED = ("model_chat", "pairwise_per_turn_eval", "acute_eval")
"""What ParlAI's tasks saved as JSON; of the tables that its analyses write there are releases of these names."""
ALIASES = {"acute": "acute_eval", "per_turn": "pairwise_per_turn_eval", "dstc": "fed"}
RELEASES = (
    *("arena", "alpaca_eval", "pandalm", "convai2", "controllable_dialogue", "hh_rlhf", "acute_pairs"),
    *("usr", "fed", "summeval", "ultrafeedback", "prism"),
    *("mturk", "argilla", "prodigy", "label_studio", "labelbox", "doccano", "potato", "inspect", "lm_eval"),
)
FORMATS = ("tables", *SAVED, "mephisto", *RELEASES, *ALIASES)
TABLES = ("turns", "dialogues", "comparisons", "ratings", "points", "segments", "judgements")
_READERS: dict[str, Callable[[Sequence[Path], Sequence[str]], Read]] = {}
KEY = "pseudonym.key"
SHOWN = 20
SHOWN_CELL = 40  # Letters of a cell


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


@described(
    "import",
    source={"type": click.Choice(FORMATS)},
    table={"type": click.Choice(TABLES)},
    list_columns={"type": click.Choice([*TABLES, "all"]), "callback": _list_columns},
)
def import_tables(
    paths: tuple[str, ...],
    source: str | None,
    out: str,
    file_format: str,
    table: TableName | None,
    renames: tuple[str, ...],
    values: tuple[str, ...],
    maps: tuple[str, ...],
    wide: str | None,
    drop: tuple[str, ...],
    tasks: tuple[str, ...],
    metric: str | None,
    setting: str,
    criteria: str | None,
    keep_failed: bool,
    repeats: Repeats | None,
    skip_bad: bool,
    key: str | None,
    force: bool,
    yes: bool,
    as_json: bool,
) -> None:
    files = [Path(path).expanduser() for path in paths]
    source = ALIASES.get(source, source) if source else _recognised(files, plain=bool(table or wide))
    of_tables = {"--table": table, "--rename": renames, "--set": values, "--map": maps, "--wide": wide, "--drop": drop}
    are_tables = all(path.suffix.lower() in (".csv", ".tsv", ".gz") for path in files)  # of an analysis of ParlAI
    listed = are_tables if source in SAVED else source != "mephisto"
    chats, of_pairs = ("model_chat", "mephisto"), ("acute_eval", "mephisto")
    if listed and source != "tables" and of_tables["--table"]:
        raise CommandError(f"--table goes with --from tables, not with {source}, which defines its own table")
    uses: list[tuple[str, bool, tuple[str, ...]]] = [
        *((option, bool(given) and not listed, ("tables",)) for option, given in of_tables.items()),
        ("--task-name", bool(tasks), ("mephisto",)),
        ("--criteria", bool(criteria), chats),
        ("--keep-failed-onboarding", keep_failed, of_pairs),
    ]
    for option, given, formats in uses:
        if given and source not in formats:
            raise CommandError(f"{option} is for --from {' or '.join(formats)}, not for {source}")
    from parlai_humaneval.importers.readers import Pseudonyms, without_names
    from parlai_humaneval.importers.tidy import TidyPlan
    from parlai_humaneval.importers.units import ImportPlan, json_files, units_of_file
    from parlai_humaneval.schema.pseudonyms import Pseudonymizer
    from parlai_humaneval.statistics.core.formatting import counted
    from parlai_humaneval.tables.files import check_free, save_tables

    folder = Path(out).expanduser()
    check_free(folder, force=force)
    pseudonyms = Pseudonyms(Pseudonymizer.load_or_create(_key_file(key, source, files)).worker)
    if listed:
        columns = tuple(name.strip() for name in (wide or "").split(",") if name.strip())
        named = TidyPlan(renamed(renames), values_of(values), repeats, mapped(maps), columns, drop)
        found = _tables(source, files, table, named, pseudonyms, skip_bad)
        if not as_json:
            _show_understood(found.understood)
        if any(seen.guesses for seen in found.understood) and not yes and not as_json and sys.stdin.isatty():
            click.confirm("Is this right?", abort=True, err=True)
    else:
        names = tuple(name.strip() for name in (criteria or "").split(",") if name.strip())
        plan = ImportPlan(pseudonyms, metric, setting, names, keep_failed, repeats)
        from parlai_humaneval.importers.readers import gather

        if source in _READERS and len(files) > 1:
            raise CommandError("Name one Mephisto data directory", try_="import several into separate folders")
        if source in _READERS:
            total, units, notes = _READERS[source](files, tasks)
        else:
            inside = json_files(files)
            every: Any = ((source, one) for path in inside for one in units_of_file(path))
            total, units, notes = len(inside), every, []
        with click.progressbar(units, length=total, label=_reading(files), file=sys.stderr) as read:
            result = gather(read, plan, skip_bad=skip_bad)
        result.notes += notes
        found = result
    found.notes += [one.words for one in found.tables.repeats] + [one.words for one in found.tables.cleaned]
    clean, changed = without_names(found.tables, pseudonyms.given)
    if changed:
        found.notes.append(f"Raters' IDs were replaced with pseudonyms in {counted(changed, 'text')}.")
    written = save_tables(clean, folder, "jsonl" if file_format == "jsonl" else "csv", force=force)
    rows = {name: len(getattr(clean, name)) for name in TABLES}
    summary = {
        "format": source,
        "units": found.units,
        "workers": len({worker for name in TABLES for worker in set(getattr(clean, name)["worker_id"].dropna())}),
        "rows": {name: count for name, count in rows.items() if count},
        "left_out": dict(sorted(found.left_out.items())),
        "repeats": [asdict(one) for one in clean.repeats],
        "skipped": found.skipped,
        "notes": found.notes,
        "understood": [
            {"file": seen.source, **{name: getattr(seen, name) for name in ("table", "columns", "values", "guesses")}}
            for seen in found.understood
        ],
        "files": [str(path) for path in written],
    }
    if as_json:
        say_json(summary, indent=None)
    else:
        _show(summary, out)


def _recognised(files: Sequence[Path], *, plain: bool) -> str:
    """What these files are, where nobody says it; ``plain``: an option says that they are tables. Tells what it took them
    for."""
    from parlai_humaneval._util.table_files import in_folder, stem
    from parlai_humaneval.importers.readers import saved_by
    from parlai_humaneval.importers.releases import recognised
    from parlai_humaneval.importers.units import LeftOut, json_files, units_of_file
    from parlai_humaneval.tables.columns import TableError

    first = files[0]
    named = any(in_folder(first, name) for name in TABLES) if first.is_dir() else stem(first) in TABLES
    if plain or named or not first.exists():
        return "tables"
    if first.name == "database.db" or (first / "database.db").is_file():
        return _taken("mephisto", "a data directory of Mephisto")
    try:
        for path in json_files([first])[:1] if first.is_dir() or first.suffix in (".json", ".jsonl") else ():
            units = (unit for unit in units_of_file(path) if not isinstance(unit, (LeftOut, Exception)))
            if (unit := next(units, None)) is not None and (saved := saved_by(unit.data)) is not None:
                return _taken(saved, "saved by ParlAI's task")
        if (release := recognised(files)) is not None:
            return _taken(release.name, release.title)
    except TableError:
        return "tables"  # which says what is wrong
    return "tables"


def _taken(source: str, title: str) -> str:
    say(f"Read as --from {source}: {title}. If the file is a plain table, add --from tables.", err=True)
    return source


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
    source: str, files: Sequence[Path], table: TableName | None, plan: TidyPlan, pseudonyms: Pseudonyms, skip_bad: bool
) -> Imported:
    from parlai_humaneval.importers.readers import with_pseudonyms
    from parlai_humaneval.importers.releases import read_release
    from parlai_humaneval.importers.tidy import read_tidy, table_paths
    from parlai_humaneval.tables.files import with_besides

    found = table_paths(files, table, plan) if source == "tables" else read_release(source, files)
    with click.progressbar(length=len(found), label=_reading(files), file=sys.stderr) as bar:
        result = read_tidy(found, plan, skip_bad=skip_bad, on_file=lambda _: bar.update(1))
    result.tables = with_pseudonyms(result.tables, pseudonyms)
    folders = [path for path in files if path.is_dir()] if source == "tables" else []
    if len(folders) == 1 and not pseudonyms.given:  # an export of ours: raters have a pseudonym everywhere
        result.tables = with_besides(result.tables, folders[0])
    return result


def _reading(files: Sequence[Path]) -> str:
    others = f" and {len(files) - 1} more" if len(files) > 1 else ""
    return f"Reading {visible(str(files[0]))}{others}"


def _show_understood(found: Sequence[Understood]) -> None:
    """What was made of each file, on standard error, so that a wrong reading is seen before anything is written."""
    from parlai_humaneval.statistics.core.formatting import counted

    for seen in found:
        say(f"{seen.source}: {counted(seen.rows, 'row')} → {seen.table}", err=True)
        values = {f"{name} (values)": said for name, said in seen.values.items()}
        for column, origin in {**seen.columns, **values}.items() if seen.rows else ():
            say(f"  {column} ← {origin}", err=True)
        if seen.passed:
            say(f"  passed through: {', '.join(map(visible, seen.passed))}", err=True)
        for title, row in (("first row", seen.before), ("becomes", seen.after)) if seen.rows else ():
            cells = (f"{visible(name)} {on_one_line(visible(str(cell)), SHOWN_CELL)}" for name, cell in row.items())
            say(f"  {title}: {', '.join(cells)}", err=True)
        for guess in seen.guesses:
            say(f"  guessed: {guess}", err=True)


def _show(summary: dict[str, Any], out: str) -> None:
    from parlai_humaneval.statistics.core.formatting import counted

    rows = ", ".join(f"{name} {count:,}" for name, count in summary["rows"].items())
    click.echo(f"{counted(summary['workers'], 'rater')} → {out}: rows of {rows}.")
    for reason, count in summary["left_out"].items():
        say(f"Left out: {reason}: {count:,}.")
    for note in summary["notes"]:
        say(note)
    skipped = summary["skipped"]
    if skipped:
        click.echo(f"Skipped because of errors: {len(skipped):,}")
        for one in skipped[:SHOWN]:
            say(f"  {one}")
        if len(skipped) > SHOWN:
            click.echo(f"  … and {len(skipped) - SHOWN:,} more (--json lists them all).")


def renamed(given: Sequence[str]) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for old, new in _pairs("--rename", "OLD=NEW", given):
        if new in names.setdefault(old, []):
            raise CommandError(f"--rename names {old}={new} twice")
        names[old].append(new)
    return names


def values_of(given: Sequence[str]) -> dict[str, str]:
    values: dict[str, str] = {}
    for name, value in _pairs("--set", "NAME=VALUE", given):
        if name in values:
            raise CommandError(f"--set names {name} twice")
        values[name] = value
    return values


def mapped(given: Sequence[str]) -> dict[str, dict[str, str]]:
    """``winner:1=model_a,2=model_b`` → ``{"winner": {"1": "model_a", "2": "model_b"}}``; quotation marks keep a comma."""
    found: dict[str, dict[str, str]] = {}
    for one in given:
        column, colon, words = one.partition(":")
        if not colon or not column.strip():
            raise CommandError(f"--map {one}: expected COLUMN:FROM=TO,FROM=TO")
        for old, new in _pairs("--map", "COLUMN:FROM=TO", next(csv.reader([words], skipinitialspace=True), [])):
            found.setdefault(column.strip(), {})[unescaped(old)] = unescaped(new)
    return found


def _pairs(option: str, form: str, given: Sequence[str]) -> Iterator[tuple[str, str]]:
    for one in given:
        name, equals, value = (part.strip() for part in one.partition("="))
        if not equals or not name:
            raise CommandError(f"{option} {one}: expected {form}")
        yield name, value
