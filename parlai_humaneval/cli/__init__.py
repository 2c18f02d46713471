"""The ``parlai-humaneval`` command. Subcommands are loaded only when they are used, so that ``--help`` is fast."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from parlai_humaneval._util import __version__
from parlai_humaneval._util.installing import PackageError, lacking
from parlai_humaneval._util.terminal import end_quickly
from parlai_humaneval.cli.errors import CommandError, command_error
from parlai_humaneval.cli.options import SuggestingGroup, description

TOPICS: Mapping[str, Mapping[str, tuple[str, str]]] = description("topics", Path(__file__).with_name("commands.yaml"))
COMMANDS = {name: where for commands in TOPICS.values() for name, (where, _) in commands.items()}
TYPED = "parlai_humaneval.typed"


class LazyGroup(SuggestingGroup):
    """A group whose commands are imported on use, and whose errors have one form."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module_name, _, attribute = COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module_name), attribute)
        assert isinstance(command, click.Command)
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        typed = list(args)
        try:
            context: click.Context = super().make_context(info_name, args, parent, **extra)
        except click.ClickException as error:
            raise _called(command_error(error), info_name or "", typed) from error
        context.meta[TYPED] = typed
        return context

    def invoke(self, ctx: click.Context) -> Any:
        """Every error is printed in the same form; a misspelt option of any command with the nearest right one."""
        typed = ctx.meta[TYPED]
        try:
            return super().invoke(ctx)
        except click.ClickException as error:
            words: list[str] = [ctx.command_path]
            group: click.Group = self
            for word in typed:
                command = group.get_command(ctx, word)
                if command is None:
                    break
                words.append(word)
                if not isinstance(command, click.Group):
                    break
                group = command
            raise _called(command_error(error), " ".join(words), typed) from error
        except ImportError as error:
            package = error if isinstance(error, PackageError) else lacking(error)
            if package is None:
                raise
            raise _called(command_error(package), ctx.command_path, typed) from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, commands in TOPICS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, line) for name, (_, line) in commands.items()])


def _called(error: CommandError, command: str, typed: list[str]) -> CommandError:
    error.command, error.typed = command, typed
    return error


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="parlai-humaneval")
def main() -> None:
    """Find out, with real people, which of your chatbots is better, and how sure you can be.

    \b
    Example:
      parlai-humaneval demo
    """
    end_quickly()
