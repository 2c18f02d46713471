"""``launch … --list-settings``: the settings of a task by topic, or some of them with all that is known."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

import click
from rich.text import Text

from mephisto_tasks.commands.options import PROGRAM, console
from parlai_humaneval.one_line import on_one_line
from parlai_humaneval.plain_output import say_json

if TYPE_CHECKING:
    from mephisto_tasks.study.setting_list import Setting

_MOST = 24
"""Letters of a default in the list; all of it stands where a setting is shown alone."""


def show_settings(task: str, chosen: Sequence[str], as_json: bool) -> None:
    """Print all settings of a task, or those that are named; ``conf=NAME`` says whose defaults.

    Raises:
        ConfigError: there is no such task, conf or setting.
    """
    from mephisto_tasks.study.setting_list import list_settings, one_setting

    confs = [word.partition("=")[2] for word in chosen if word.startswith("conf=")]
    names = [word.partition("=")[0] for word in chosen if not word.startswith("conf=")]
    listed = list_settings(task, confs[-1] if confs else "local")
    shown = [setting for name in names for setting in one_setting(task, listed, name)] if names else listed
    if as_json:
        say_json([setting.model_dump() for setting in shown])
    elif names:
        click.echo("\n\n".join(_all_of(setting, task) for setting in shown))
    else:
        _print_list(shown, task)


def _print_list(listed: Sequence[Setting], task: str) -> None:
    """A line a setting, under headings; on a terminal cut where its edge is."""
    out = console()
    for topic, group in groupby(listed, key=lambda setting: setting.topic):
        settings = [(setting, on_one_line(setting.default, _MOST)) for setting in group]
        names, defaults = (
            max(map(len, column)) for column in zip(*((each.name, text) for each, text in settings), strict=True)
        )
        out.print(f"\n[bold]{topic}[/bold]")
        for setting, default in settings:
            line = Text.assemble(
                (setting.name.ljust(names), "bold"),
                "  ",
                (default.ljust(defaults), "cyan"),
                "  ",
                setting.in_a_sentence,
            )
            if out.is_terminal:
                line.truncate(out.width, overflow="ellipsis")
            out.print(line, soft_wrap=True)
    click.echo(f"\nMore of one:  {PROGRAM} launch {task} --list-settings NAME")
    click.echo(
        "Values with brackets or blanks need quotes in most shells (zsh looks for files otherwise): 'models=[a,b]'"
    )


def _all_of(setting: Setting, task: str) -> str:
    rows = {
        "default": setting.default or "(nothing)",
        "allowed": setting.allowed,
        "example": f"{PROGRAM} launch {task} {setting.example}",
        "stored as": setting.full_name,
    }
    lines = [f"  {name:<10}{value}" for name, value in rows.items() if value != setting.name]
    return "\n".join([click.style(setting.name, bold=True), f"  {' '.join(setting.description.split())}", *lines])
