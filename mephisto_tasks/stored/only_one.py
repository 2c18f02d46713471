"""One process at a time does something: a lock that ends with the process, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def only_one(path: Path, refusal: Callable[[str], Exception]) -> Iterator[None]:
    """Nobody else holds the file meanwhile.

    Args:
        path: of the lock file, which is made.
        refusal: from the id of the process that holds it to what is raised.

    Raises:
        Exception: somebody else holds it: what ``refusal`` makes of it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode() or "unknown"
            raise refusal(holder) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(descriptor)
