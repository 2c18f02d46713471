"""Mephisto's database opened by a command that launches nothing, with our crowd providers in it.

Whoever changes a worker asks the crowd that they are from: through Mephisto's own providers that would be another address
than a launch asks, and some crowds they do not know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.databases.local_database import LocalMephistoDB

from mephisto_tasks.crowds.registry import register_providers
from mephisto_tasks.storage.database import close_connections
from parlai_humaneval._util.files import make_private, mode_within


@contextmanager
def opened(database: Path) -> Iterator[Any]:
    """The database of this file, for reading and writing; closed after the block."""
    register_providers()
    make_private(database, mode_within(database.parent))
    db = LocalMephistoDB(str(database))
    try:
        yield db
    finally:
        close_connections(db)
