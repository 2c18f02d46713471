"""``parlai-humaneval models check``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Column, Table

from parlai_humaneval.models.hosted.refusals import Mend
from parlai_humaneval.models.options import json_option, named, read_zoo, table_console, zoo_option
from parlai_humaneval.models.zoo.changes import file_of, write_option
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.plain_output import say, say_json

if TYPE_CHECKING:
    from parlai_humaneval.models.checking import Checked


@click.command()
@click.argument("names", nargs=-1, metavar="NAME…")
@click.option("--all", "every", is_flag=True, help="Check every model of the zoo; the result is a table.")
@click.option(
    "--load",
    "load_too",
    is_flag=True,
    help="Also load each model (it may be downloaded, its server is asked) and say “Hi!” to it.",
)
@click.option(
    "--fix/--no-fix",
    default=None,
    help="With --load: write the option that a server's refusal asks for into the file of --zoo, and check again. "
    "Without either, you are asked on a terminal.",
)
@zoo_option
@json_option
@click.pass_context
def check(
    ctx: click.Context,
    names: Sequence[str],
    every: bool,
    load_too: bool,
    fix: bool | None,
    zoo_files: Sequence[str],
    as_json: bool,
) -> None:
    """Say what models lack on this machine. Nothing is downloaded and no server is asked, unless --load is given.

    A model is ready, or is to be downloaded (by its first load), trained (`models train`) or served (by a server that you
    start); or it talks in a launch only (`human`); or it cannot be used, and why.

    Exit status, given names: 0 when each of them is ready, to download, to serve or in a launch, so that a launch may
    begin with it; 1 when one is to be trained or cannot be used. With --load: 0 when each of them has answered, else 1.
    With --all: 0. A wrong zoo file or an unknown name: 1. Wrong options of the command: 2.

    \b
    Examples:
      parlai-humaneval models check eliza tiny_generator
      parlai-humaneval models check blender_90M --load
      parlai-humaneval models check --all --json
      parlai-humaneval models check mine --zoo my_models.yaml
      parlai-humaneval models check my_server --load --fix --zoo my_models.yaml
    """
    if every == bool(names):
        raise click.UsageError("Give the names of models, or --all.")
    if every and load_too:
        raise click.UsageError("--load takes names: --all would load and download every model there is.")
    if fix and not load_too:
        raise click.UsageError("--fix goes with --load: only a server that is asked says what it refuses.")
    if fix is None:
        fix = None if sys.stdin.isatty() and not as_json else False
    zoo = read_zoo(zoo_files)
    found = _check_all(list(zoo.values()) if every else named(names, zoo))
    results = [_loaded(one, zoo_files, fix, quiet=as_json) if load_too else one.as_json() for one in found]
    if as_json:
        say_json(results)
    elif every:
        table_console().print(table_of(found))
    elif not load_too:  # else they were printed as they came
        for result in results:
            _print(result)
    if not every and not all(result["ok"] for result in results):
        ctx.exit(1)


def _check_all(specs: Sequence[ModelSpec]) -> list[Checked]:
    # Imported here: ParlAI takes seconds, and --help needs none of it.
    from parlai_humaneval.models.checking import check as check_one

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as progress:
        return [check_one(spec) for spec in progress.track(specs, description="Checking models")]


def _loaded(checked: Checked, zoo_files: Sequence[str], fix: bool | None, *, quiet: bool) -> dict[str, Any]:
    """What was found of a model that was asked, once its entry has the options that its server wants.

    ``fix``: whether they may be written; None: whoever sits at the terminal says so. ``quiet``: nothing is printed.
    """
    result, fixed = _asked(checked, quiet), list[str]()
    while result.get("mends") and fix is not False:
        mend = Mend(**result["mends"][0])
        if mend.as_yaml in fixed or not _written(checked.spec.name, mend, zoo_files, ask=fix is None):
            break
        fixed.append(mend.as_yaml)
        result = _asked(_check_all(named([checked.spec.name], read_zoo(zoo_files)))[0], quiet)
    return {**result, "fixed": fixed} if fixed else result


def _asked(checked: Checked, quiet: bool) -> dict[str, Any]:
    from parlai_humaneval.models.checking import try_out

    result = try_out(checked)
    if not quiet:
        _print(result)
    return result


def _written(name: str, mend: Mend, zoo_files: Sequence[str], *, ask: bool) -> bool:
    """Write the option into the model's zoo file, if that is wanted; says where."""
    file = file_of(name, zoo_files)
    if file is None:
        entry = f"{name}_here: {{extends: {name}, options: {{{mend.as_yaml}}}}}"
        say(f"{name} is in none of the files of --zoo; add to the models of one of yours: {entry}", err=True)
        return False
    if ask and not click.confirm(f"Write `{mend.as_yaml}` into {file}?", default=False, err=True):
        return False
    try:
        write_option(file, name, mend)
    except ZooError as error:
        raise click.ClickException(str(error)) from error
    say(f"Wrote `{mend.as_yaml}` into the options of {name} in {file}; asking it again.", err=True)
    return True


def table_of(found: Sequence[Checked]) -> Table:
    """A line a model: where it comes from, how large it is, and what is left to do before it can be used."""
    model, origin, gb, state = (Column(name, no_wrap=True) for name in ("model", "origin", "GB", "state"))
    why = Column("why", no_wrap=True, ratio=1, min_width=24)  # what is left of the line, and cut to it
    table = Table(model, origin, "size", gb, state, why, box=None, pad_edge=False, expand=True)
    for one in found:
        spec = one.spec
        memory = "" if spec.memory_gb is None else f"{spec.memory_gb:g}"
        table.add_row(spec.name, spec.origin, spec.size, memory, one.state, escape(one.reason))
    return table


def _print(result: dict[str, Any]) -> None:
    state = result["state"]
    click.echo(f"{result['name']}: {'cannot be used' if state == 'cannot' else state}")
    for sentence in [*result["missing"], *result["downloads"], *result["asks"], *result["notes"]]:
        say(f"  {sentence}")
    if "reply" in result:
        say(f"  loaded in {result['load_s']} s; answers “Hi!” with: {result['reply']}")
