"""Writing a file whole or not at all, readable by its owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """A reader finds what was there before, or all of ``text``. The folder is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(file, "w", encoding="utf-8") as out:
            out.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
