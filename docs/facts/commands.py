"""Every command's own help."""

from __future__ import annotations

from collections.abc import Iterator

import click

from docs.facts.markdown import block
from parlai_humaneval.cli import main

PROGRAM = "parlai-humaneval"
WIDTH = 100


def facts() -> dict[str, str]:
    """The help of the program and of each of its commands, below a heading each."""
    return {"commands.md": "\n\n".join(_sections(main, PROGRAM, None))}


def _sections(command: click.Command, name: str, parent: click.Context | None) -> Iterator[str]:
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH)
    heading = "##" if parent is None or parent.parent is None else "###"
    yield f"{heading} {context.command_path}\n\n{block(command.get_help(context))}"
    if isinstance(command, click.Group):
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            assert found is not None
            yield from _sections(found, sub, context)
