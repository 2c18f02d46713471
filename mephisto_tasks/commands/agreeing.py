"""Asking whoever is at the terminal before money is spent, or something is changed that others are at work on."""

from __future__ import annotations

import signal
import sys
from typing import Any

import click

UNCHANGED = "Nothing was changed."


def must_agree(yes: bool, *, why: str = "", otherwise: str = UNCHANGED) -> None:
    """Go on only where somebody agrees.

    Args:
        yes: they did beforehand.
        why: begins the sentence for who is not at a terminal, “this costs $2, and ”.
        otherwise: what is true when nobody agrees.

    Raises:
        click.ClickException: nobody did.
    """
    if yes:
        return
    if not at_a_terminal():
        raise click.ClickException(f"{why}there is no terminal to ask at: add --yes to agree. {otherwise}")
    before: Any = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C is an answer, too
    try:
        agreed = click.confirm("Go on?", default=False)
    finally:
        signal.signal(signal.SIGINT, before)
    if not agreed:
        raise click.ClickException(otherwise)


def at_a_terminal() -> bool:
    """Whether somebody can answer."""
    return sys.stdin.isatty()
