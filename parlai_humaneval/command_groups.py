"""Groups of commands that say which command was meant by a misspelt one."""

from __future__ import annotations

import click

from parlai_humaneval.suggesting import suggestion


class SuggestingGroup(click.Group):
    """A misspelt command is an error with the nearest right one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"no such command: {args[0]}{suggestion(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)
