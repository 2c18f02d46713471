"""How commands tell what went wrong."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterator
from contextlib import contextmanager

import click

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def is_one_of(error: Exception, classes: Collection[str]) -> bool:
    """Whether the error is of one of these classes, which are named, for to import their modules may load torch."""
    return any(base.__name__ in classes for base in type(error).__mro__)


@contextmanager
def told_plainly(expected: Collection[str]) -> Iterator[None]:
    """Errors of these classes, and of the file system, become one message and exit code 1; others keep their traceback.

    ``expected``: names of classes, as :func:`is_one_of` takes them.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise click.ClickException(f"{error.filename}: {error.strerror}") from error
        if isinstance(error, OSError) and error.errno in NO_ROOM:  # it names no file
            raise click.ClickException(f"{error.strerror}: make room, and run this again") from error
        if is_one_of(error, expected):
            raise click.ClickException(str(error)) from error
        raise
