"""Files for their owner's eyes only: keys, and what holds names or secret links."""

from __future__ import annotations

import logging
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

logger = logging.getLogger(__name__)

OWNER_ONLY = 0o600
NO_STRANGERS = 0o660
"""A group that shares its data may share it still, as its umask says."""


def create_once(path: Path, content: bytes) -> bytes:
    """Make the file if it is not there, and give what it holds.

    It appears whole or not at all, and never replaces one that another process has just made: two that make it at once
    read the same.
    """
    if not path.exists():
        draft = _draft(path, content)
        try:
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
    return read_private(path)


def make_private(path: Path, mode: int = OWNER_ONLY) -> None:
    """Make an empty file for what writes its files itself, such as SQLite; one that is there stays as it is."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, mode))


def read_private(path: Path) -> bytes:
    """What the file holds. One that everybody on this machine can read, as a copy may be, is shut to them again."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IRWXO:
        logger.warning("%s is secret, and everybody on this machine could read it", path)
        with suppress(PermissionError):  # it is somebody else's
            path.chmod(mode & ~stat.S_IRWXO)
    return path.read_bytes()


def write_private(path: Path, content: bytes, *, outlasts_power: bool = False) -> None:
    """Write the file, or replace it, in one step: a reader finds what was there before, or all of ``content``.

    ``outlasts_power``: it is on the disk when this returns, whatever happens to the machine then. That takes its time.
    """
    draft = _draft(path, content, outlasts_power)
    try:
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _draft(path: Path, content: bytes, outlasts_power: bool = False) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            if outlasts_power:
                file.flush()
                os.fsync(file.fileno())
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    return draft
