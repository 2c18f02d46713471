"""Groups of commands that say which command was meant by a misspelt one.

Options that several commands have, each worded once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

from parlai_humaneval._util.errors import misspelt
from parlai_humaneval.cli.errors import WrongUsage, cli_errors


class SuggestingGroup(click.Group):
    """A misspelt command is an error with the nearest right one, and no command at all a question for help."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does; without arguments the help is no error, which it is for click 8.2 and later."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As click does; what users can mend is printed without a traceback."""
        with cli_errors():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise WrongUsage(f"no such command: {args[0]}", misspelt=misspelt(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


F = TypeVar("F", bound=Callable[..., Any])


def repeats_option(function: F) -> F:
    """``--repeats``: of tables, and of records that become tables."""
    return click.option(
        "--repeats",
        type=click.Choice(["keep", "first", "last"]),
        help="What counts where a worker gave an answer again: all, numbered; the first; or the last. By default such "
        "answers are refused.",
    )(function)
