"""Groups and commands as ``commands.yaml`` describes them, and what several commands need."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

from parlai_humaneval._util.errors import misspelt
from parlai_humaneval._util.terminal import PlainConsole
from parlai_humaneval.cli.errors import BadValue, WrongUsage, cli_errors
from parlai_humaneval.techniques.registry import UnknownTechnique, technique, typed_technique

if TYPE_CHECKING:
    from parlai_humaneval.models.zoo.entries import Engine, ModelSpec

Decorator = Callable[[Callable[..., Any]], Any]
TYPES: Mapping[str, Any] = {
    "int": click.INT,
    "float": click.FLOAT,
    "text": click.STRING,
    "count": click.IntRange(min=1),
    "port": click.IntRange(0, 65535),
    "share": click.FloatRange(0, 1),
    "not negative": click.FloatRange(min=0),
    "seconds": click.FloatRange(min=1),
    "path": click.Path(path_type=str),
    "file": click.Path(dir_okay=False, path_type=str),
    "existing file": click.Path(exists=True, dir_okay=False, path_type=str),
    "folder": click.Path(file_okay=False, path_type=str),
    "unprocessed": click.UNPROCESSED,
}
PIPE_WIDTH = 200


class Command(click.Command):
    """A command that prints what its user can mend, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        with cli_errors():
            return super().invoke(ctx)


class TechniqueChoice(click.Choice):  # type: ignore[type-arg]  # click before 8.2 gives it no parameter
    """A technique, by its name or a title; the setting that a title is for is in ``meta`` of the command's context."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        name, setting = typed_technique(str(value))
        if ctx is not None and setting:
            ctx.meta["setting"] = setting
        try:
            technique(name)
        except UnknownTechnique as error:
            raise BadValue(error) from error
        return super().convert(name, param, ctx)


class SuggestingGroup(click.Group):
    """A misspelt command is an error with the nearest right one, and no command at all a question for help."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Works as in click, except that running without arguments is not an error, as it is in click 8.2 and later."""
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), color=ctx.color)
            ctx.exit()
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with cli_errors():
            return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise WrongUsage(f"no such command: {args[0]}", misspelt=misspelt(args[0], self.list_commands(ctx)))
        return super().resolve_command(ctx, args)


@cache
def description(name: str, file: Path) -> Any:
    """The part of a ``commands.yaml`` on one command, or what is ``shared``; to parse all the rest would take longer."""
    match = re.search(rf"^{re.escape(name)}:.*\n((?: .*\n|\n)+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert match is not None, f"{file} does not describe {name}"
    return yaml.load(match[1], getattr(yaml, "CSafeLoader", yaml.SafeLoader))


def _type(kind: Any) -> Any:
    if isinstance(kind, list):
        return click.Choice(kind)
    if isinstance(kind, dict):
        return click.IntRange(**kind)
    return TYPES[kind] if isinstance(kind, str) else kind


def described(
    name: str,
    *,
    cls: type[click.Command] = Command,
    words: Mapping[str, object] | None = None,
    **known: Mapping[str, Any],
) -> Decorator:
    """A command with the help and parameters of the ``commands.yaml`` next to its module. ``words``: for the places in its
    texts, in braces; ``known``: what of a parameter the program alone knows, such as its choices."""

    def command(function: Callable[..., Any]) -> Any:
        file = Path(str(sys.modules[function.__module__].__file__)).with_name("commands.yaml")
        entry = description(name, file)
        texts = {key: entry[key].replace("\\b\n", "\b\n") for key in ("help", "epilog") if key in entry}
        for declared, given in reversed(entry.get("parameters", {}).items()):
            names = declared.split()
            attributes = {
                **(description("shared", file)[declared] if given is None else given),
                **known.get(names[-1].lstrip("-").replace("-", "_"), {}),
            }
            attributes["type"] = _type(attributes.get("type"))
            if not declared.startswith("-"):
                function = click.argument(*names, **attributes)(function)
                continue
            shown = attributes.get("default") not in (None, "") or None
            if words:
                attributes["help"] = attributes["help"].format_map(words)
            function = click.option(*names, **{"show_default": shown, **attributes})(function)
        return click.command(name.rpartition(" ")[2], cls=cls, **texts, **entry.get("settings", {}))(function)

    return command


def placed(
    specs: Sequence[ModelSpec], engine: Engine | None, replicas: int | None, address: str | None
) -> list[ModelSpec]:
    """The models as ``--engine``, ``--replicas`` and ``--ray-address`` want them run; the terminal says which stay."""
    if engine is None and replicas is None and address is None:
        return list(specs)
    from parlai_humaneval.models.workers.hosts import with_engine  # ParlAI, which it needs, takes seconds

    there = with_engine(specs, engine, replicas=replicas, address=address)
    stay = [spec.name for spec, new in zip(specs, there, strict=True) if new is spec]
    if stay and engine != "here":
        names = ", ".join(stay)
        click.echo(f"Servers, programs and people are asked from this process, not from {engine}: {names}", err=True)
    return there


def table_console() -> PlainConsole:
    """Where tables go: as wide as the terminal; wide enough for their lines in a file or a pipe."""
    return PlainConsole(width=None if sys.stdout.isatty() else PIPE_WIDTH)
