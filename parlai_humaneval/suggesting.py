"""Groups of commands that say which command was meant."""

from __future__ import annotations

import difflib

import click


class SuggestingGroup(click.Group):
    """A misspelt command is an error with the nearest right one."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[str, click.Command, list[str]]:
        """As click does."""
        names = self.list_commands(ctx)
        near = difflib.get_close_matches(args[0], names, n=1)
        if args[0] not in names and near:
            ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)
