"""``parlai-humaneval import``, extended to units in Mephisto's database."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from parlai_humaneval.cli.import_data import import_tables, register_reader

if TYPE_CHECKING:
    from parlai_humaneval.cli.import_data import Read

__all__ = ["import_tables"]


def read_mephisto(paths: Sequence[Path], tasks: Sequence[str]) -> Read:
    from mephisto_tasks.storage.mephisto_import import stored_units

    path = paths[0]
    stored = stored_units(path.parent if path.name == "database.db" else path, tasks)
    return stored.count, stored.units, list(stored.others)


register_reader("mephisto", read_mephisto)
