"""SQLite files of this project, opened, migrated, read and written in one way (Mephisto's: ``storage.database``); what a
full disk or another program prevented is written again, and only the writing thread waits."""

from __future__ import annotations

import errno
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import OWNER_ONLY, make_private

Migration = str | Callable[[sqlite3.Connection], object]
"""From one version of a file to the next: statements with a semicolon after each, or a function."""


@dataclass(frozen=True)
class Database:
    """A file that threads and processes share; the first connection that writes makes it. ``error`` is raised, with
    ``if_busy`` or ``if_damaged`` as advice. ``migrations``: one a version (``user_version``); None: not ours."""

    path: Path
    error: type[HumanevalError]
    migrations: Sequence[Migration] | None = None
    if_busy: str = "try again later"
    if_damaged: str = "restore a copy of it"
    patience_s: float = 30.0
    pragmas: Sequence[str] = ()
    mode: int = OWNER_ONLY

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        if not self.path.is_file():
            return []
        with self.reading() as connection:
            return connection.execute(sql, values).fetchall()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that only reads, on a read-only disk too; an old version's file is migrated in memory."""
        with self.checked(), closing(open_to_read(self.path, self.patience_s)) as connection:
            if self.migrations is None or self._version(connection) == len(self.migrations):
                yield connection
                return
            with closing(sqlite3.connect(":memory:", isolation_level=None)) as copy:
                connection.backup(copy)
                self._migrate(copy)
                yield copy

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction: all of the block reaches the disk, or nothing. Other writers wait meanwhile."""
        with closing(self.connect()) as connection, self.checked():
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection

    def connect(self, *, shared: bool = False) -> sqlite3.Connection:
        """A connection that commits each statement outside of a transaction; ``shared`` by threads, one at a time."""
        with self.checked():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            make_private(self.path, self.mode)  # SQLite's journals get the mode of the file
            connection = sqlite3.connect(
                self.path, timeout=self.patience_s, isolation_level=None, check_same_thread=not shared
            )
            try:
                for pragma in self.pragmas:
                    connection.execute(f"PRAGMA {pragma}")
                self._migrate(connection)
            except BaseException:
                connection.close()
                raise
            return connection

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Raise :attr:`error` for what goes wrong with the file in the block, with what to do about it."""
        try:
            yield
        except (sqlite3.IntegrityError, sqlite3.ProgrammingError):  # the statement is to blame
            raise
        except (sqlite3.DatabaseError, OSError) as error:
            match passing(error):
                case "held":
                    what, hint = f"another program has locked it for {self.patience_s:g} s", self.if_busy
                case "full" | "failing":
                    what, hint = f"it cannot be read or written now ({error})", self.if_busy
                case None:
                    what, hint = f"it cannot be used ({error})", self.if_damaged
            raise self.error(what, where=self.path, try_=hint) from error

    def _version(self, connection: sqlite3.Connection) -> int:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        known = len(self.migrations or ())
        if version > known:
            what = f"a newer version of this program wrote it (format {version}; this program reads up to {known})"
            raise self.error(what, where=self.path, try_="update parlai-humaneval; nothing was changed")
        return int(version)

    def _migrate(self, connection: sqlite3.Connection) -> None:
        if self.migrations is None or self._version(connection) == len(self.migrations):
            return
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            for migration in self.migrations[self._version(connection) :]:  # another process may have been first
                if callable(migration):
                    migration(connection)
                else:
                    for statement in migration.split(";"):
                        connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {len(self.migrations)}")


def open_to_read(path: Path, patience_s: float = 30.0) -> sqlite3.Connection:
    """A connection that only reads; what a killed process left half written is taken back first. Raises DatabaseError."""
    address = path.resolve().as_uri()

    def opened(mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(f"{address}?mode={mode}", uri=True, timeout=patience_s, isolation_level=None)
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall()
        except BaseException:
            connection.close()
            raise
        return connection

    try:
        return opened("ro")
    except sqlite3.OperationalError as error:
        if "readonly" not in str(error):  # Python 3.10 has no code of it
            raise
        opened("rw").close()
        return opened("ro")


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

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))


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


class _Thread(threading.local):
    hurries = begins = False


_here = _Thread()


def hurry() -> None:
    """Have the current thread never wait for a database from now on: other threads wait for it."""
    _here.hurries = True


def waits_at_most(seconds: float) -> float:
    """How long the current thread may wait for a database that is held; ``seconds``: an ordinary thread."""
    if _here.hurries:
        return AT_ONCE_S
    return LAST_TRIES_S if _here.begins else seconds


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

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        trouble = None if self._over else passing(error)
        self.over()
        if trouble is not None:
            what, advice = (text.format(data_dir=self._data_dir) for text in WORDS["at_launch"][trouble])
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
            if kind is None or (_here.hurries and not even_in_a_hurry) or self.is_ending():
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
                    is_late = _here.begins and time.monotonic() - began > LAST_TRIES_S
                    if passing(error) is None or self.is_ending() or is_late:
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

    def lasting(self, for_s: float = SAID_AFTER_S) -> Kind | None:
        """The problem of the longest wait that has lasted for so long."""
        now = time.monotonic()
        with self._lock:
            lasting = [trouble for trouble in self._troubles if now - trouble.since >= for_s]
            return min(lasting, key=lambda trouble: trouble.since).kind if lasting else None

    def words(self, data_dir: object) -> str | None:
        kind = self.lasting()
        return None if kind is None else str(WORDS["lasting"][kind]).format(data_dir=data_dir)

    def news(self, data_dir: object) -> str | None:
        """What an onlooker reads: once when a problem begins, and once when it is over."""
        kind = self.lasting()
        if kind == self._said:
            return None
        if kind is None and self.lasting(0) is not None:
            return None  # another wait of the same trouble has just begun
        self._said = kind
        return str(WORDS["over"]) if kind is None else self.words(data_dir)
