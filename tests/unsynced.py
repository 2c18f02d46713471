"""A disk that nobody waits for. What a process wrote that is killed the next moment is the kernel's: only where the power
goes is more needed, and tests of that (``test_live_power_cut``, ``test_private_files``) see what is asked of the disk, and
when. A launch asks a hundred times, and each answer takes a disk that others use a tenth of a second.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from functools import wraps
from typing import Any

_connect = sqlite3.connect


def wait_for_no_disk() -> None:
    """From now on in this process: neither for files nor for Mephisto's database."""
    os.fsync = os.fdatasync = lambda descriptor: None
    sqlite3.connect = _connect_unsynced


@wraps(_connect)
def _connect_unsynced(database: Any, timeout: float = 5.0, **settings: Any) -> sqlite3.Connection:
    connection: sqlite3.Connection = _connect(database, timeout=timeout, **settings)
    if os.fspath(database).endswith("database.db"):
        with suppress(
            sqlite3.Error
        ):  # it is held by another, or is none: whoever asks it for something shall hear that
            connection.execute("PRAGMA busy_timeout = 0")
            connection.execute("PRAGMA synchronous = OFF")
        connection.execute(f"PRAGMA busy_timeout = {round(1000 * timeout)}")
    return connection
