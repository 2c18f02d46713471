"""Where the answers go: made for its owner alone, and gone again where a launch failed before it held anything."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mephisto_tasks.engine.config import ConfigError
from mephisto_tasks.stored.task_lock import LOCKS
from parlai_humaneval.private_files import make_private_folder


@contextmanager
def data_directory(data_dir: Path) -> Iterator[None]:
    """The directory is there, and can be written. Where the block fails, no empty folder stays that was made for it.

    Raises:
        ConfigError: it cannot be made.
    """
    made = [folder for folder in (data_dir / LOCKS, data_dir, *data_dir.parents) if not folder.exists()]
    try:
        make_private_folder(data_dir)
    except OSError as error:
        why = "a file of that name is in the way" if data_dir.is_file() else error.strerror
        raise ConfigError(
            f"the data directory {data_dir} cannot be made ({why}): name another one with --data-dir, or in "
            "$PARLAI_HUMANEVAL_DATA_DIR"
        ) from error
    try:
        yield
    except BaseException:
        for folder in made:
            with suppress(OSError):  # it holds something: another launch's, say
                folder.rmdir()
        raise


def shut(folder: Path) -> str:
    """What to do where everybody on the machine can read what is in a folder."""
    return f"chmod -R o-rwx {shlex.quote(str(folder))}"
