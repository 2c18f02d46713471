"""The disk that a study writes to: it can be full for a while."""

from __future__ import annotations

import contextlib
import os
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

_SIZE_MB = 64
_GROWTH_MB_S = 1.5
"""More than studies write: a disk that is full of their files stays full."""
_BLOCK = bytes(65_536)


class Disk:
    """A small file system of its own where this user may mount one; else the launchers' files may not grow.

    ``writers``: the processes whose files shall not grow, where nothing may be mounted. ``seconds``: how long they write.
    ``how``: which of the two it is.
    """

    def __init__(self, folder: Path, writers: Callable[[], Iterable[int]], seconds: float = 0) -> None:
        self.folder = folder
        self._size_mb = round(_SIZE_MB + _GROWTH_MB_S * seconds)
        self._writers = writers
        self._full = False
        self.how = "a small file system"

    def __enter__(self) -> Disk:
        self.folder.mkdir(parents=True, exist_ok=True)
        mount = shutil.which("mount")
        command = [mount or "mount", "-t", "tmpfs", "-o", f"size={self._size_mb}m", "tmpfs", str(self.folder)]
        self._mounted = mount is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0
        if not self._mounted:
            self.how = "a limit on the size of the launchers' files (nothing may be mounted here)"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._mounted:
            subprocess.run(["umount", "-l", str(self.folder)], capture_output=True, check=False)

    def fill(self) -> None:
        """Not a byte more can be written."""
        self._full = True
        if not self._mounted:
            self.limit_writers()
            return
        with self._filler.open("ab", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(_BLOCK)

    def free(self) -> None:
        """There is space again."""
        self._full = False
        if self._mounted:
            self._filler.unlink(missing_ok=True)
        else:
            self.limit_writers()

    def limit_writers(self) -> None:
        """For processes that began after the disk was full."""
        if self._mounted:
            return
        for pid in self._writers():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (0 if self._full else most, most))

    @property
    def _filler(self) -> Path:
        return self.folder / f"filler-{os.getpid()}"
