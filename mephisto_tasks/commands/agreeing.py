"""Asking whoever is at the terminal before something is changed that costs money, or that others are at work on."""

from __future__ import annotations

import signal
import sys
from typing import Any

import click


def must_agree(yes: bool) -> None:
    """Go on only where somebody agrees; ``yes``: they did beforehand. Raises click.ClickException."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.ClickException("there is no terminal to ask at: add --yes to agree. Nothing was changed.")
    before: Any = signal.signal(signal.SIGINT, signal.default_int_handler)  # Ctrl-C is an answer, too
    try:
        agreed = click.confirm("Go on?", default=False)
    finally:
        signal.signal(signal.SIGINT, before)
    if not agreed:
        raise click.ClickException("Nothing was changed.")
