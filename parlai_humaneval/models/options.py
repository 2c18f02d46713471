"""Options that the commands of ``parlai-humaneval models`` share, and how they read the zoo."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

import click
from rich.console import Console

from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError, load_zoo, resolve

zoo_option = click.option(
    "--zoo",
    "--zoo-file",
    "zoo_files",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=str),
    help="A zoo file of your own, besides those packaged; may be given more than once.",
)
PIPE_WIDTH = 200
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


def table_console() -> Console:
    """Where tables go: as wide as the terminal; wide enough for their lines in a file or a pipe."""
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def read_zoo(files: Sequence[str]) -> dict[str, ModelSpec]:
    """The packaged zoo and the files of ``--zoo``.

    Raises:
        click.ClickException: for a wrong file.
    """
    try:
        return load_zoo(more=files)
    except ZooError as error:
        raise click.ClickException(str(error)) from error


def named(names: Sequence[str], zoo: Mapping[str, ModelSpec]) -> list[ModelSpec]:
    """The models called so.

    Raises:
        click.ClickException: for a name that the zoo does not have.
    """
    try:
        return resolve(names, zoo)
    except ZooError as error:
        raise click.ClickException(str(error)) from error
