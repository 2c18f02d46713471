"""Every payment, written down before anything is sent: ``ledger.db`` in the study's folder.

A payment is ``intended`` (nothing may have been sent yet), ``paying`` (it is being sent to a site that cannot tell a
second sending from the first, or was when the run ended: it is not sent again unless a person says that it was not paid),
``sent`` (the crowd's site took it), ``confirmed`` (the site says that it is paid), ``written`` (into a file for a person
or a panel: whether they paid it is not known), ``by_hand`` (a person said that it is paid) or ``failed`` (the site
refused, or a person said that it is unpaid). Its token is made from what is paid, so that the same payment has the same
token whoever works it out, and when.

Version 2 of the file added ``currency`` and ``batch``, version 3 ``before``. A file of an earlier version is changed in
one transaction when it is opened for writing. The way back to a program that knows version 1 or 2 only is ``PRAGMA
user_version = 1`` (or 2): it reads no new column."""

from __future__ import annotations

import csv
import hashlib
import io
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from pydantic import BaseModel

from mephisto_tasks.payments.policy import DOLLARS, PayError, money
from mephisto_tasks.storage.locks import exclusive_lock, study_folder
from mephisto_tasks.storage.sqlite import Database
from mephisto_tasks.storage.work import CENT, Work
from parlai_humaneval._util.data_files import read_text

LEDGER = "ledger.db"
LOCK = "ledger.lock"

State = Literal["intended", "paying", "sent", "confirmed", "written", "by_hand", "failed"]
OPEN: tuple[State, ...] = ("intended", "sent")  # not known to have ended
SETTLED: tuple[State, ...] = ("sent", "confirmed", "written", "by_hand")  # not to be paid again
PAID: tuple[State, ...] = ("sent", "confirmed", "by_hand")
"""Not only claimed: what is ``written`` may never have been handed on."""

Kind = Literal["approval", "bonus"]

LISTED_LATE_S = 30 * 60.0  # so long it may take until a site lists what it paid

_ADDED = {
    "currency": f"TEXT NOT NULL DEFAULT '{DOLLARS}'",
    "batch": "TEXT NOT NULL DEFAULT ''",
    "before": "INTEGER NOT NULL DEFAULT 0",
}  # column that version 1 lacks → what it is; rows from before it have the defaults
_COLUMNS = (
    "token, account, kind, worker, worker_id, session, agent_id, assignment, cents, why, state, words, file, "
    "intended_at, changed_at, currency, batch, before"
)


class Due(BaseModel, extra="forbid", frozen=True):
    """What is owed in all for one unit of one worker, in ``currency``; ``why`` is a phrase."""

    work: Work
    amount: Decimal
    why: str
    currency: str = DOLLARS

    @property
    def key(self) -> tuple[str, str]:
        return self.work.worker_id, self.work.session


def _add_columns(connection: sqlite3.Connection) -> None:
    known = {name for _, name, *_ in connection.execute("PRAGMA table_info(payments)")}
    for name, kind in _ADDED.items():
        if name not in known:  # the file may have gone back to version 1
            connection.execute(f"ALTER TABLE payments ADD COLUMN {name} {kind}")


_MIGRATIONS = (Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"), _add_columns, _add_columns)
VERSION = len(_MIGRATIONS)


class Payment(BaseModel, extra="forbid", frozen=True):
    """One payment. ``worker`` is a pseudonym, ``worker_id`` and ``agent_id`` are Mephisto's, ``session`` the unit."""

    token: str
    account: str  # the paying account: “provider:my_lab”
    kind: Kind
    worker: str
    worker_id: str
    session: str
    agent_id: str
    assignment: str  # the crowd's id of the work that is approved, or by which a bonus is sent
    amount: Decimal
    why: str
    state: State = "intended"
    words: str = ""  # what the crowd's site said last
    file: str = ""  # the name of the file that lists it
    intended_at: float = 0.0
    changed_at: float = 0.0
    currency: str = DOLLARS
    batch: str = ""  # the site's id of the payments that are sent together; empty: each is sent by itself
    before: int = 0  # equal bonuses that the site listed before, where it tells them apart by nothing else

    @property
    def money(self) -> str:
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
    """Nobody else pays for the task meanwhile; the lock ends with the process, however that ends. Raises PayError."""

    def refusal(holder: str) -> PayError:
        what = f"task {task_name!r} is already being paid (process {holder})"
        return PayError(what, try_="wait until that has ended, and check again")

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
            if_busy="fix that (disk space, permissions), and run this again: nothing is sent twice",
            if_damaged="restore a copy, or move it away: payments are then read from the crowd's site",
            pragmas=("synchronous = FULL",),
        )

    def payments(self) -> list[Payment]:
        """All, oldest first; none where nothing was ever paid. Raises PayError."""
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM payments ORDER BY rowid")
        found = (dict(zip(_COLUMNS.split(", "), row, strict=True)) for row in rows)
        return [Payment.model_validate({"amount": int(str(one.pop("cents"))) * CENT, **one}) for one in found]

    def intend(self, payments: Iterable[Payment], state: State = "intended", words: str = "") -> None:
        """Write down payments to send (again if they failed), or payments made, at once in their ``state``."""
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
            sql = "UPDATE payments SET state = ?, words = ?, changed_at = ?, batch = COALESCE(?, batch) WHERE token = ?"
            connection.execute(sql, (state, words[:2000], time.time(), batch, token))

    def note_batch(self, payments: Sequence[Payment], state: State, words: str = "") -> None:
        """How payments that are sent together stand, all of them or none, with their ``batch`` and ``before``."""
        with self._database.writing() as connection:
            sql = "UPDATE payments SET state = ?, words = ?, changed_at = ?, batch = ?, before = ? WHERE token = ?"
            now = time.time()
            values = [(state, words[:2000], now, one.batch, one.before, one.token) for one in payments]
            connection.executemany(sql, values)


@dataclass(frozen=True)
class Note:
    """Writes into the ledger the state of a payment, and the answer of the crowd's site; ``done`` is called with it."""

    ledger: Ledger
    done: Callable[[Payment, State], None]

    def __call__(self, payment: Payment, state: State, words: str, batch: str | None = None) -> None:
        """``batch``: the site's id of the payments that are sent together; None: as it was."""
        self.ledger.note(payment.token, state, words, batch)
        self.done(payment, state)

    def batch(self, payments: Sequence[Payment], state: State, words: str = "") -> None:
        """Do the same for payments that are sent together, all of them or none, with their ``batch`` and ``before``."""
        self.ledger.note_batch(payments, state, words)
        for payment in payments:
            self.done(payment, state)


@dataclass(frozen=True)
class Owed:
    """The unpaid part of a due. ``paid``: how many payments of each kind there were for it."""

    due: Due
    left: Decimal
    paid: dict[Kind, int]

    def payment(self, account: str, kind: Kind, assignment: str, amount: Decimal, file: str = "") -> Payment:
        work = self.due.work
        round_ = self.paid.get(kind, 0)
        return Payment(
            token=token_of(kind, account, assignment, work.worker_id, work.session, round_),
            account=account,
            kind=kind,
            worker=work.worker,
            worker_id=work.worker_id,
            session=work.session,
            agent_id=work.agent_id,
            assignment=assignment,
            amount=amount,
            why=self.due.why,
            file=file,
            currency=self.due.currency,
        )


@dataclass(frozen=True)
class Remaining:
    """Amounts owed that cannot be sent, and why; ``refused`` by the site; ``written``: whose file did not pay it."""

    owed: Owed
    amount: Decimal
    why: str
    refused: bool = False
    written: Payment | None = None

    @property
    def worker(self) -> str:
        return self.owed.due.work.worker

    @property
    def money(self) -> str:
        return money(self.amount, self.owed.due.currency)


@dataclass
class Proposal:
    """``payments`` to send, those ``found`` made elsewhere or ``confirmed`` by now, and what remains."""

    payments: list[Payment] = field(default_factory=list)
    found: list[Payment] = field(default_factory=list)
    confirmed: list[Payment] = field(default_factory=list)
    remaining: list[Remaining] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Payer(Protocol):
    """A way of paying; what it cannot do raises PayError or a CrowdError. A site that cannot tell a second sending from
    the first is asked in one order: payments are noted as ``paying``, it is asked, they are noted as ``sent``. Left in
    the middle, they are never proposed again: the site or a person settles them."""

    account: str
    title: str  # for people: the site and the account
    witness: str  # what :meth:`audit` compares the ledger with, for people

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        """The payments that can be sent now. Asks the crowd's site, and changes nothing."""

    def cost(self, payments: Sequence[Payment]) -> Decimal:
        """The fees of the crowd's site on top of these payments, which are in one currency."""

    def check(self, payments: Sequence[Payment]) -> None:
        """Raises where the payments cannot all be sent (not enough money, say); nothing was sent then."""

    def send(self, payments: Sequence[Payment], note: Note) -> None:
        """Send what the ledger holds already. Raises when the rest has to wait; what was sent is noted."""

    def audit(self, payments: Sequence[Payment]) -> list[str]:
        """Differences between the ledger's payments and what the crowd's site says, as sentences."""


class Rejection(BaseModel, extra="forbid", frozen=True):
    """One line of ``pay --reject FILE``: the site's id of the work, its category there, and what the worker reads."""

    id: str
    category: str
    message: str


def read_rejections(path: Path) -> list[Rejection]:
    """The lines of a CSV file with the columns id, category and message. Raises PayError."""
    columns = list(Rejection.model_fields)
    text = read_text(path, f"name a CSV file with the columns {', '.join(columns)}", PayError)
    rows = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        if lacking := [name for name in columns if name not in (rows.fieldnames or [])]:
            raise PayError(f"there is no column {lacking[0]!r}", where=path, try_=f"name them {', '.join(columns)}")
        lines = list(rows)
    except csv.Error as error:
        raise PayError(f"it is not a CSV file: {error}", where=path) from error
    if any(None in line for line in lines):  # a comma in a message would cut it there
        raise PayError("a line has more cells than the first line", where=path, try_="put messages in quotes")
    return [Rejection(**{name: (line[name] or "").strip() for name in columns}) for line in lines]


@runtime_checkable
class Rejects(Protocol):
    """A payer whose site can reject work that a person judged to be poor. Nothing is ever rejected by itself."""

    def problems(self, rejections: Sequence[Rejection]) -> list[str]:
        """Why these cannot all be rejected, as sentences; none where they can."""

    def reject(self, rejection: Rejection) -> None:
        """Raises CrowdError where the site refuses."""
