"""Options that several commands have, each worded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def repeats_option(function: F) -> F:
    """``--repeats``: of tables, and of records that become tables."""
    return click.option(
        "--repeats",
        type=click.Choice(["keep", "first", "last"]),
        help="What counts where a worker gave an answer again: all, numbered; the first; or the last. By default such "
        "answers are refused.",
    )(function)
