"""Every payment, written down before anything is sent: ``ledger.db`` in the study's folder.

A payment is ``intended`` (nothing may have been sent yet), ``paying`` (it is being sent to a site that cannot tell a second
sending from the first, or was when the run ended: it is not sent again unless a person says that it was not paid), ``sent``
(the crowd's site took it), ``confirmed`` (the site says that it is paid), ``written`` (into a file for a person or a panel:
whether they paid it is not known), ``by_hand`` (a person said that it is paid) or ``failed`` (the site refused, or a person
said that it is unpaid). Its token is made from what is paid, so that the same payment has the same token whoever works it
out, and when.

Version 2 of the file added ``currency`` and ``batch``, version 3 ``before``. A file of an earlier version is changed in one
transaction when it is opened for writing. The way back to a program that knows version 1 or 2 only is
``PRAGMA user_version = 1`` (or 2): it reads no new column.
"""

from __future__ import annotations

import hashlib
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.payments.policy import PayError
from mephisto_tasks.payments.quote import DOLLARS, money
from mephisto_tasks.storage.locks import exclusive_lock, study_folder
from mephisto_tasks.storage.sqlite import Database
from mephisto_tasks.storage.work import CENT

LEDGER = "ledger.db"
LOCK = "ledger.lock"

State = Literal["intended", "paying", "sent", "confirmed", "written", "by_hand", "failed"]
OPEN: tuple[State, ...] = ("intended", "sent")
"""Not known to have ended."""
SETTLED: tuple[State, ...] = ("sent", "confirmed", "written", "by_hand")
"""Not to be paid again."""
PAID: tuple[State, ...] = ("sent", "confirmed", "by_hand")
"""Not only claimed: what is ``written`` may never have been handed on."""

Kind = Literal["approval", "bonus"]

LISTED_LATE_S = 30 * 60.0
"""So long it may take until a site lists what it paid."""

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
_ADDED = {
    "currency": f"TEXT NOT NULL DEFAULT '{DOLLARS}'",
    "batch": "TEXT NOT NULL DEFAULT ''",
    "before": "INTEGER NOT NULL DEFAULT 0",
}
"""Column that version 1 lacks → what it is; rows from before it have the defaults."""
_COLUMNS = (
    "token, account, kind, worker, worker_id, session, agent_id, assignment, cents, why, state, words, file, "
    "intended_at, changed_at, currency, batch, before"
)


def _add_columns(connection: sqlite3.Connection) -> None:
    known = {name for _, name, *_ in connection.execute("PRAGMA table_info(payments)")}
    for name, kind in _ADDED.items():
        if name not in known:  # the file may have gone back to version 1
            connection.execute(f"ALTER TABLE payments ADD COLUMN {name} {kind}")


_MIGRATIONS = (_TABLE, _add_columns, _add_columns)
VERSION = len(_MIGRATIONS)


class Payment(BaseModel):
    """One payment. ``worker`` is a pseudonym, ``worker_id`` and ``agent_id`` are Mephisto's, ``session`` the unit.

    ``account``: who pays (“provider:my_lab”). ``assignment``: the crowd's own id of the work that is approved, or by which a
    bonus is sent. ``words``: what the crowd's site said last. ``file``: the name of the file that it stands in.
    ``batch``: the site's id of the payments that are sent together; empty where each is sent by itself. ``before``: equal
    bonuses that the site listed for this work before this payment was sent, where it tells them apart by nothing else.
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
    currency: str = DOLLARS
    batch: str = ""
    before: int = 0

    @property
    def money(self) -> str:
        """The amount for people."""
        return money(self.amount, self.currency)

    @property
    def is_bonus(self) -> bool:
        """Paid as a bonus, also in place of an approval that the site refused."""
        return self.kind == "bonus" or bool(self.batch)

    @property
    def is_unconfirmed(self) -> bool:
        """An approval that was asked for, and has not come about: the site may pass over one without a word."""
        return self.state == "sent" and not self.is_bonus

    @property
    def listed_by(self) -> float:
        """When the site lists it at the latest, if it was paid; 0: that is over, or it is not left in the middle."""
        until = self.changed_at + LISTED_LATE_S
        return until if self.batch and self.state in ("paying", "sent") and time.time() < until else 0.0

    @property
    def is_resumed(self) -> bool:
        """Begun by an earlier run, and to be sent again; what was sent in a batch is only looked for."""
        return self.state == "intended" or (self.state == "sent" and not self.batch)


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
            f"task {task_name!r} is being paid already (process {holder})",
            try_="wait until that has ended, and look again",
        )

    with exclusive_lock(study_folder(data_dir, task_name) / LOCK, refusal):
        yield


class Ledger:
    """The payments of a task. Writing needs :func:`only_payer`; each call is on the disk when it returns."""

    def __init__(self, data_dir: Path, task_name: str) -> None:
        self.path = study_folder(data_dir, task_name) / LEDGER
        self._database = Database(
            self.path,
            error=PayError,
            migrations=_MIGRATIONS,
            if_busy="see to that (room on the disk, its rights), and run this again: what was sent is not sent twice",
            if_damaged="put back a copy, or move it away: payments that the crowd's site lists are then found there",
            pragmas=("synchronous = FULL",),
        )

    def payments(self) -> list[Payment]:
        """All, oldest first; none where nothing was ever paid.

        Raises:
            PayError: the file is of a newer version, or no ledger.
        """
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM payments ORDER BY rowid")
        return [_payment(dict(zip(_COLUMNS.split(", "), row, strict=True))) for row in rows]

    def intend(self, payments: Iterable[Payment], state: State = "intended", words: str = "") -> None:
        """Write down what will be sent, or what is found to be paid: at once in its state, as what is intended is sent.

        One that failed before is intended anew; any other stays as it is.
        """
        now = {"now": time.time(), "state": state, "words": words}
        rows = [{**payment.model_dump(), "cents": int(payment.amount / CENT), **now} for payment in payments]
        with self._database.writing() as connection:
            connection.executemany(
                f"""INSERT INTO payments ({_COLUMNS})
                    VALUES (:token, :account, :kind, :worker, :worker_id, :session, :agent_id, :assignment, :cents, :why,
                            :state, :words, :file, :now, :now, :currency, '', 0)
                    ON CONFLICT (token) DO UPDATE SET state = excluded.state, words = excluded.words, cents = excluded.cents,
                            why = excluded.why,
                            changed_at = excluded.changed_at, batch = '', before = 0 WHERE state = 'failed'""",
                rows,
            )

    def note(self, token: str, state: State, words: str = "", batch: str | None = None) -> None:
        """How a payment stands now, and what the crowd's site said; ``batch`` None: as it was."""
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE payments SET state = ?, words = ?, changed_at = ?, batch = COALESCE(?, batch) WHERE token = ?",
                (state, words[:2000], time.time(), batch, token),
            )

    def note_batch(self, payments: Sequence[Payment], state: State, words: str = "") -> None:
        """How payments that are sent together stand, all of them or none, with their ``batch`` and ``before``."""
        with self._database.writing() as connection:
            connection.executemany(
                "UPDATE payments SET state = ?, words = ?, changed_at = ?, batch = ?, before = ? WHERE token = ?",
                [(state, words[:2000], time.time(), one.batch, one.before, one.token) for one in payments],
            )


def _payment(row: dict[str, object]) -> Payment:
    amount = int(str(row.pop("cents"))) * CENT
    return Payment.model_validate({**row, "amount": amount})
