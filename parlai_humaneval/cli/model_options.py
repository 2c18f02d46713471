"""Options that the commands of ``parlai-humaneval models`` share, and how they read the zoo."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, get_args

import click

from parlai_humaneval._util.terminal import PlainConsole
from parlai_humaneval.models.zoo.entries import Engine, ModelSpec, load_zoo, resolve

F = TypeVar("F", bound=Callable[..., Any])
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


def engine_options(command: F) -> F:
    """``--engine``, ``--replicas`` and ``--ray-address``, for commands whose models may run in other processes."""
    for option in (
        click.option("--ray-address", help="Of the Ray cluster, HOST:PORT; else $RAY_ADDRESS, or this machine's."),
        click.option("--replicas", type=click.IntRange(min=1), help="Copies of each model, in a process each."),
        click.option(
            "--engine",
            type=click.Choice(get_args(Engine)),
            help="Where models compute: in this process, in processes of their own (on a GPU each, where there are some), "
            "or on a Ray cluster; else as their zoo entries say. Python functions go along; "
            "servers and programs are asked from here.",
        ),
    ):
        command = option(command)
    return command


def placed(
    specs: Sequence[ModelSpec], engine: Engine | None, replicas: int | None, address: str | None
) -> list[ModelSpec]:
    """The models as :func:`engine_options` want them run; the terminal is told which of them stay here.

    Raises:
        ZooError: for options that do not go together.
    """
    if engine is None and replicas is None and address is None:
        return list(specs)
    from parlai_humaneval.models.workers.placement import with_engine  # ParlAI, which it needs, takes seconds

    there = with_engine(specs, engine, replicas=replicas, address=address)
    stay = [spec.name for spec, new in zip(specs, there, strict=True) if new is spec]
    if stay and engine != "here":
        names = ", ".join(stay)
        click.echo(
            f"Asked from this process, as servers, programs and people are, not put on {engine}: {names}", err=True
        )
    return there


def table_console() -> PlainConsole:
    """Where tables go: as wide as the terminal; wide enough for their lines in a file or a pipe."""
    return PlainConsole(width=None if sys.stdout.isatty() else PIPE_WIDTH)


def read_zoo(files: Sequence[str]) -> dict[str, ModelSpec]:
    """The packaged zoo and the files of ``--zoo``.

    Raises:
        ZooError: for a wrong file.
    """
    return load_zoo(more=files)


def named(names: Sequence[str], zoo: Mapping[str, ModelSpec]) -> list[ModelSpec]:
    """The models called so.

    Raises:
        ZooError: for a name that the zoo does not have.
    """
    return resolve(names, zoo)
