"""Every payment, written down before anything is sent: ``ledger.db`` in the study's folder.

A payment is ``intended`` (nothing may have been sent yet), ``sent`` (the crowd's site took it), ``confirmed`` (the site says
that it is paid), ``written`` (into a file for a person or a panel: whether they paid it is not known), ``by_hand`` (somebody
said that it is paid) or ``failed`` (the site refused). Its token is made from what is paid, so that the same payment has the
same token whoever works it out, and when.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.payments.policy import PayError
from mephisto_tasks.storage.locks import exclusive_lock, study_folder
from mephisto_tasks.storage.sqlite import open_to_read
from mephisto_tasks.storage.work import CENT

VERSION = 1
LEDGER = "ledger.db"
LOCK = "ledger.lock"

State = Literal["intended", "sent", "confirmed", "written", "by_hand", "failed"]
OPEN: tuple[State, ...] = ("intended", "sent")
"""Not known to have ended."""
SETTLED: tuple[State, ...] = ("sent", "confirmed", "written", "by_hand")
"""Not to be paid again."""
PAID: tuple[State, ...] = ("sent", "confirmed", "by_hand")
"""Not only claimed: what is ``written`` may never have been handed on."""

Kind = Literal["approval", "bonus"]

_TABLE = """CREATE TABLE IF NOT EXISTS payments (
    token TEXT PRIMARY KEY,
    account TEXT NOT NULL,
    kind TEXT NOT NULL,
    worker TEXT NOT NULL,
    worker_id TEXT NOT NULL,
    session TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    assignment TEXT NOT NULL,
    cents INTEGER NOT NULL CHECK (cents >= 0),
    why TEXT NOT NULL,
    state TEXT NOT NULL,
    words TEXT NOT NULL,
    file TEXT NOT NULL,
    intended_at REAL NOT NULL,
    changed_at REAL NOT NULL
)"""
_COLUMNS = (
    "token, account, kind, worker, worker_id, session, agent_id, assignment, cents, why, state, words, file, "
    "intended_at, changed_at"
)


class Payment(BaseModel):
    """One payment. ``worker`` is a pseudonym, ``worker_id`` and ``agent_id`` are Mephisto's, ``session`` the unit.

    ``account``: who pays (“mturk:my_lab”). ``assignment``: the crowd's own id of the work that is approved, or by which a
    bonus is sent. ``words``: what the crowd's site said last. ``file``: the name of the file that it stands in.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: str
    account: str
    kind: Kind
    worker: str
    worker_id: str
    session: str
    agent_id: str
    assignment: str
    amount: Decimal
    why: str
    state: State = "intended"
    words: str = ""
    file: str = ""
    intended_at: float = 0.0
    changed_at: float = 0.0


def token_of(kind: Kind, account: str, assignment: str, worker_id: str, session: str, round_: int) -> str:
    """The token of a payment, which no other has. ``round_``: payments of this kind for the unit before it."""
    text = "\n".join([kind, account, assignment, worker_id, session, str(round_)])
    return hashlib.sha256(text.encode()).hexdigest()[:32]


@contextmanager
def only_payer(data_dir: Path, task_name: str) -> Iterator[None]:
    """Nobody else pays for the task meanwhile; the lock ends with the process, however that ends.

    Raises:
        PayError: somebody else does already.
    """

    def refusal(holder: str) -> PayError:
        return PayError(
            f"task {task_name!r} is being paid already (process {holder}). Wait until that has ended, and look again"
        )

    with exclusive_lock(study_folder(data_dir, task_name) / LOCK, refusal):
        yield


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Ledger:
    """The payments of a task. Writing needs :func:`only_payer`; each call is on the disk when it returns."""

    def __init__(self, data_dir: Path, task_name: str) -> None:
        self.path = study_folder(data_dir, task_name) / LEDGER

    def payments(self) -> list[Payment]:
        """All, oldest first; none where nothing was ever paid.

        Raises:
            PayError: the file is of a newer version, or no ledger.
        """
        if not self.path.exists():
            return []
        with self._open() if os.access(self.path, os.W_OK) else self._open_to_read() as connection:
            rows = connection.execute(f"SELECT {_COLUMNS} FROM payments ORDER BY rowid").fetchall()
        names = _COLUMNS.split(", ")
        return [_payment(dict(zip(names, row, strict=True))) for row in rows]

    def intend(self, payments: Iterable[Payment]) -> None:
        """Write down what will be sent. One that failed before is intended anew; any other stays as it is."""
        now = time.time()
        rows = [{**payment.model_dump(), "cents": int(payment.amount / CENT), "now": now} for payment in payments]
        with self._open() as connection, connection:
            connection.executemany(
                f"""INSERT INTO payments ({_COLUMNS})
                    VALUES (:token, :account, :kind, :worker, :worker_id, :session, :agent_id, :assignment, :cents, :why,
                            'intended', '', :file, :now, :now)
                    ON CONFLICT (token) DO UPDATE SET state = 'intended', cents = excluded.cents, why = excluded.why,
                            changed_at = excluded.changed_at WHERE state = 'failed'""",
                rows,
            )

    def note(self, token: str, state: State, words: str = "") -> None:
        """How a payment stands now, and what the crowd's site said."""
        with self._open() as connection, connection:
            connection.execute(
                "UPDATE payments SET state = ?, words = ?, changed_at = ? WHERE token = ?",
                (state, words[:2000], time.time(), token),
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        _made(self.path.parent)
        os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        with self._connected(lambda path: sqlite3.connect(path, timeout=30)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            if self._version(connection) < VERSION:
                with connection:
                    connection.execute(_TABLE)
                    connection.execute(f"PRAGMA user_version = {VERSION}")
            yield connection

    @contextmanager
    def _open_to_read(self) -> Iterator[sqlite3.Connection]:
        """On a disk that cannot be written, a backup's say."""
        with self._connected(open_to_read) as connection:
            self._version(connection)
            yield connection

    @contextmanager
    def _connected(self, connect: Callable[[Path], sqlite3.Connection]) -> Iterator[sqlite3.Connection]:
        try:
            with closing(connect(self.path)) as connection:
                yield connection
        except sqlite3.OperationalError as error:  # of the disk, or of another process: the file is whole
            raise PayError(
                f"the ledger {self.path} cannot be read or written now ({error}). See to that (room on the disk, its "
                "rights), and run this again: what was sent until now is not sent twice"
            ) from error
        except sqlite3.DatabaseError as error:
            raise PayError(
                f"the ledger {self.path} cannot be used ({error}). Put back a copy, or move it away: payments that "
                "MTurk has are then found there"
            ) from error

    def _version(self, connection: sqlite3.Connection) -> int:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > VERSION:
            raise PayError(
                f"{self.path} was written by a newer version of this program (its form is {version}, this program "
                f"knows {VERSION}). Update parlai-humaneval; nothing was changed or paid"
            )
        return int(version)


def _payment(row: dict[str, object]) -> Payment:
    amount = int(str(row.pop("cents"))) * CENT
    return Payment.model_validate({**row, "amount": amount})
