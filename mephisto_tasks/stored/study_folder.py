"""A study's own files beside Mephisto's database: what Mephisto has no place for."""

from __future__ import annotations

import hashlib
from pathlib import Path

FOLDER = "studies"
"""In the data directory."""


def study_folder(data_dir: Path, task_name: str) -> Path:
    """The folder of a task, which this does not make. Task names are free text; a digest of one is a safe name."""
    return data_dir / FOLDER / hashlib.sha256(task_name.encode()).hexdigest()[:16]
