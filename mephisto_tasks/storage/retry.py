"""Writing again what a full disk or another program prevented; only the writing thread waits."""

from __future__ import annotations

import errno
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, TypeVar

from parlai_humaneval._util.errors import HumanevalError

T = TypeVar("T")

Kind = Literal["full", "held", "failing"]
"""The disk is full; another program holds the database; the disk fails, or may only be read."""

AT_ONCE_S = 0.005  # How long SQLite itself waits for a database that is held, where many threads wait meanwhile
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 1.0  # Between two tries
LAST_TRIES_S = 4.0
"""How long a launch that begins or ends waits for what cannot be written. The next launch repairs what is missing."""
SAID_AFTER_S = 2.0  # How long a problem lasts before it is reported: a database is held for a moment now and then

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # EFBIG: a limit on the size of files
_FAILING = {errno.EIO, errno.EROFS}
_OF_SQLITE: dict[str, Kind] = {
    "is locked": "held",
    "disk is full": "full",
    "disk i/o error": "failing",
    "readonly database": "failing",
    "unable to open database file": "failing",
}
"""Words in SQLite's errors; Python 3.10 gives no codes."""

WORDS: dict[Kind, str] = {
    "full": "The disk is full, so answers cannot be saved. Raters see this and wait, and no saved answer is lost. Make "
    "room on the disk with {data_dir}. Then the study continues by itself.",
    "held": "Another program holds the study's database ({data_dir}/database.db), so no new rater can come in. Raters at "
    "work continue. End that program. Then the study continues by itself.",
    "failing": "The disk cannot be written, so answers cannot be saved. Raters see this and wait, and no saved answer is "
    "lost. Check the disk with {data_dir}. As soon as it can be written, the study continues by itself.",
}
OVER = "Everything can be saved again. The study continues."
BEFORE: dict[Kind, tuple[str, str]] = {
    "full": (
        "the disk is full, and nothing can be saved: nobody was let in",
        "free space on the disk of {data_dir}, and launch again",
    ),
    "held": (
        "another program holds the study's database ({data_dir}/database.db): nobody was let in",
        "end that program, and launch again",
    ),
    "failing": (
        "the disk cannot be written: nobody was let in",
        "look at the disk that holds {data_dir}, and launch again",
    ),
}
"""The same, of a launch that has not begun, and what to do."""


def passing(error: BaseException | None) -> Kind | None:
    """What is wrong, where it may be over in a minute; None for any other error."""
    while error is not None:
        if isinstance(error, OSError):
            if error.errno in _FULL:
                return "full"
            if error.errno in _FAILING:
                return "failing"
        if isinstance(error, sqlite3.Error):
            said = str(error).lower()
            for words, kind in _OF_SQLITE.items():
                if words in said:
                    return kind
        error = error.__cause__
    return None


@dataclass(eq=False)
class Trouble:
    kind: Kind
    since: float


_here = threading.local()


def hurry() -> None:
    """Have the current thread never wait for a database from now on: other threads wait for it."""
    _here.hurries = True


def hurries() -> bool:
    return getattr(_here, "hurries", False)


def _begins() -> bool:
    return getattr(_here, "begins", False)


def waits_at_most(seconds: float) -> float:
    """How long the current thread may wait for a database that is held; ``seconds``: an ordinary thread."""
    if hurries():
        return AT_ONCE_S
    return LAST_TRIES_S if _begins() else seconds


class CannotBegin(HumanevalError, RuntimeError):
    """A launch cannot write what it must; the message says why, and what to do."""


class Beginning:
    """A block in which the current thread begins a launch: until :meth:`over` it waits for :data:`LAST_TRIES_S` at
    most, for whoever launches must read what is wrong. Raises CannotBegin on leaving."""

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._over = False

    def __enter__(self) -> Beginning:
        _here.begins = True
        return self

    def over(self) -> None:
        """Raters may come: from now on, threads wait for as long as it takes."""
        _here.begins, self._over = False, True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        trouble = None if self._over else passing(error)
        self.over()
        if trouble is not None:
            what, advice = (text.format(data_dir=self._data_dir) for text in BEFORE[trouble])
            raise CannotBegin(what, try_=advice) from error


class Saving:
    """Tries again, in the threads of a launch, until something can be written, or it is ``closing``. Thread-safe."""

    def __init__(self, closing: threading.Event) -> None:
        self._closing = closing
        self._lock = threading.Lock()
        self._troubles: dict[Trouble, None] = {}
        self._telling: dict[int, Callable[[], None]] = {}
        self._said: Kind | None = None
        self._closed_at: float | None = None

    @contextmanager
    def telling(self, tell: Callable[[], None]) -> Iterator[None]:
        """While the current thread waits in the block, ``tell`` is called again and again."""
        thread = threading.get_ident()
        self._telling[thread] = tell
        try:
            yield
        finally:
            del self._telling[thread]

    def until_done(
        self, work: Callable[[], T], check: Callable[[], None] = lambda: None, *, even_in_a_hurry: bool = False
    ) -> T:
        """Do ``work``, which changes nothing where it fails, again while a passing problem is in the way. ``check``
        before each further try may end that. Raises what ``work`` does, at the end, or where no try would help."""
        try:
            return work()
        except Exception as error:
            kind = passing(error)
            if kind is None or (hurries() and not even_in_a_hurry) or self.is_ending():
                raise
        with self.noted(kind):
            began, pause = time.monotonic(), FIRST_PAUSE_S
            tell = self._telling.get(threading.get_ident(), lambda: None)
            while True:
                check()
                tell()
                time.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_S)
                try:
                    return work()
                except Exception as error:
                    if (
                        passing(error) is None
                        or self.is_ending()
                        or (_begins() and time.monotonic() - began > LAST_TRIES_S)
                    ):
                        raise

    @contextmanager
    def noted(self, kind: Kind) -> Iterator[None]:
        trouble = Trouble(kind, time.monotonic())
        with self._lock:
            self._troubles[trouble] = None
        try:
            yield
        finally:
            with self._lock:
                del self._troubles[trouble]

    def is_ending(self) -> bool:
        """Whether the launch has been ending for longer than anybody waits."""
        if not self._closing.is_set():
            return False
        self._closed_at = self._closed_at or time.monotonic()
        return time.monotonic() - self._closed_at > LAST_TRIES_S

    def trouble(self) -> Kind | None:
        with self._lock:
            return min(self._troubles, key=lambda trouble: trouble.since).kind if self._troubles else None

    def lasting(self) -> Kind | None:
        """The problem of the longest wait that has lasted for :data:`SAID_AFTER_S`."""
        now = time.monotonic()
        with self._lock:
            lasting = [trouble for trouble in self._troubles if now - trouble.since >= SAID_AFTER_S]
            return min(lasting, key=lambda trouble: trouble.since).kind if lasting else None

    def words(self, data_dir: object) -> str | None:
        kind = self.lasting()
        return None if kind is None else WORDS[kind].format(data_dir=data_dir)

    def news(self, data_dir: object) -> str | None:
        """What an onlooker reads: once when a problem begins, and once when it is over."""
        kind = self.lasting()
        if kind == self._said:
            return None
        if kind is None and self.trouble() is not None:
            return None  # another wait of the same trouble has just begun
        self._said = kind
        return OVER if kind is None else WORDS[kind].format(data_dir=data_dir)
