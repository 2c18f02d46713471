"""How commands tell what went wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import click


@contextmanager
def told_plainly(expected: Collection[str]) -> Iterator[None]:
    """Errors of these classes, and of the file system, become one message and exit code 1; others keep their traceback.

    ``expected``: names of classes, for to import their modules may load torch.
    """
    try:
        yield
    except Exception as error:
        if isinstance(error, OSError) and error.filename is not None:
            raise click.ClickException(f"{error.filename}: {error.strerror}") from error
        if any(base.__name__ in expected for base in type(error).__mro__):
            raise click.ClickException(str(error)) from error
        raise
