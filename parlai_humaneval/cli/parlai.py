"""``parlai-humaneval parlai …``: ParlAI's own command, with this package loaded and errors in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from parlai_humaneval._util.installing import ENGINES, LOCAL, NAMES, install_engines, install_local, installed
from parlai_humaneval.cli.errors import WrongUsage, cli_errors
from parlai_humaneval.cli.options import described
from parlai_humaneval.parlai_plugin.setup import parser_problem


@described("parlai")
@click.pass_context
def parlai(ctx: click.Context, args: tuple[str, ...]) -> None:
    if not args:
        click.echo(ctx.get_help())
        return
    # Imported here: ParlAI takes seconds, and `parlai-humaneval --help` needs none of it.
    from parlai.core.script import superscript_main

    with cli_errors(), _parser_errors_without_usage():
        superscript_main(list(args))


@contextmanager
def _parser_errors_without_usage() -> Iterator[None]:
    """What ParlAI's parser refuses ends with status 2, without the hundreds of lines of its usage."""
    from parlai.core.params import ParlaiParser

    def refuse(self: Any, message: str) -> NoReturn:
        raise WrongUsage(parser_problem(self, message))

    before, ParlaiParser.error = ParlaiParser.error, refuse
    try:
        yield
    finally:
        ParlaiParser.error = before


@described("setup")
def setup(local: bool) -> None:
    install_engines()
    if local:
        install_local()
    for name in (*ENGINES, *(LOCAL if local else ())):
        click.echo(f"{NAMES.get(name, name)} {installed(name)}")
