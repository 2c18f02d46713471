"""Private files: keys, and files with names or secret links; and the folder that holds them."""

from __future__ import annotations

import errno
import json
import logging
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Any

logger = logging.getLogger(__name__)

OWNER_ONLY = 0o600
NO_STRANGERS = 0o660
"""A group that shares its data may share it still, as its umask says."""


def make_private_folder(folder: Path) -> None:
    """Make a folder that its owner alone can enter, whatever the umask; an existing one stays as it is."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(0o700)


def mode_within(folder: Path) -> int:
    return NO_STRANGERS if folder.stat().st_mode & stat.S_IWGRP else OWNER_ONLY


def open_to_strangers(folder: Path) -> bool:
    return all(each.stat().st_mode & stat.S_IXOTH for each in (folder, *folder.resolve().parents))


def create_once(path: Path, content: bytes) -> bytes:
    """Make the file whole, to outlast a loss of power, if it is not there; give what it, or another process's, holds."""
    if not path.exists():
        draft = _draft(path, content, outlasts_power=True)
        try:
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink()
        settle_folders(path.parent)
    return read_private(path)


def make_private(path: Path, mode: int = OWNER_ONLY) -> None:
    """Make an empty file for what writes its files itself, such as SQLite; an existing one stays as it is."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, mode))


def read_private(path: Path) -> bytes:
    """What the file holds. One that everybody on this machine can read, as a copy may be, is shut to them again."""
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & stat.S_IRWXO:
        logger.warning("%s is secret, and everybody on this machine could read it", path)
        with suppress(PermissionError):  # it is somebody else's
            path.chmod(mode & ~stat.S_IRWXO)
    return path.read_bytes()


def write_private(path: Path, content: bytes, *, outlasts_power: bool = False, mode: int = OWNER_ONLY) -> None:
    """Write or replace the file in one step; ``outlasts_power``: it is on the disk when this returns (its folder:
    once)."""
    draft = _draft(path, content, outlasts_power, mode)
    try:
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    if outlasts_power:
        _settle(path.parent)


def settle_folders(folder: Path) -> None:
    """Have the names of a folder and those above outlast a loss of power, each once a process, as raters wait."""
    new: list[_Folder] = []
    for each in (folder, *folder.parents):
        try:
            settled = _settle(each)
        except PermissionError:  # somebody else's, and so not new
            break
        if settled in _with_settled_names:
            break
        new.append(settled)
    _with_settled_names.update(new)


_Folder = tuple[Path, int, int]
"""Path, device and inode: another folder of that name is another."""
_with_settled_names: set[_Folder] = set()


def _settle(folder: Path) -> _Folder:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:  # some file systems, of a network say, know no such thing
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        found = os.fstat(descriptor)
        os.close(descriptor)
    return folder, found.st_dev, found.st_ino


def _draft(path: Path, content: bytes, outlasts_power: bool = False, mode: int = OWNER_ONLY) -> Path:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        handle = os.open(draft, new, mode)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(draft, new, mode)
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


def file_stamp(path: Path) -> tuple[int, int] | None:
    """A value that changes whenever a file is written again; None: there is no such file."""
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size


def json_object_in(path: Path) -> dict[str, Any]:
    """The object of a JSON file; an empty one where there is none that can be read."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


HOME_VARIABLE = "PARLAI_HUMANEVAL_HOME"


def user_home() -> Path:
    """``$PARLAI_HUMANEVAL_HOME``, else ``parlai-humaneval`` in ``$XDG_DATA_HOME`` or ``~/.local/share``."""
    own = os.environ.get(HOME_VARIABLE)
    if own:
        return Path(own).expanduser()
    xdg = os.environ.get("XDG_DATA_HOME")
    base = Path(xdg).expanduser() if xdg else Path.home() / ".local" / "share"
    return base / "parlai-humaneval"
