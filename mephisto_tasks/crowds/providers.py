"""Mephisto's database, opened with our crowd providers in the place of Mephisto's.

Its workers, units and agents are of the classes that are registered when they are read: whoever opens it elsewhere would
talk to MTurk by Mephisto's own clients.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mephisto_tasks import compat

compat.prepare()

from mephisto.abstractions.databases.local_database import LocalMephistoDB

import mephisto_tasks.crowds.link.provider
import mephisto_tasks.crowds.mturk.provider  # noqa: F401  (both register themselves)


def open_database(path: Path) -> Any:
    """Mephisto's database in a file, for one program after the other; a launch has one that keeps what it has read."""
    return LocalMephistoDB(str(path))
