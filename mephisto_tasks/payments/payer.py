"""What every way of paying has in common: from what is still owed to payments, and from payments to money."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.payments.ledger import Kind, Payment, State, token_of
from mephisto_tasks.payments.policy import Due, PayError
from mephisto_tasks.payments.quote import money


class Note(Protocol):
    """Writes into the ledger how a payment stands, and what the crowd's site said."""

    def __call__(self, payment: Payment, state: State, words: str, batch: str | None = None) -> None:
        """``batch``: the site's id of the payments that are sent together; None: as it was."""

    def batch(self, payments: Sequence[Payment], state: State, words: str = "") -> None:
        """The same of payments that are sent together, all of them or none, with their ``batch`` and ``before``."""


@dataclass(frozen=True)
class Owed:
    """What is left to pay of a due. ``paid``: how many payments of each kind there were for it."""

    due: Due
    left: Decimal
    paid: dict[Kind, int]

    def payment(self, account: str, kind: Kind, assignment: str, amount: Decimal, file: str = "") -> Payment:
        """The next payment of this kind for it."""
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
    """What is owed and cannot be sent now, and why: a sentence that says what to do.

    ``refused``: the crowd's site refused to say, or to do, what is needed. ``written``: the payment of the ledger that is
    meant, whose file did not pay it.
    """

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
        """The amount for people."""
        return money(self.amount, self.owed.due.currency)


@dataclass
class Proposal:
    """What a payer would do: ``payments`` to send, those ``found`` that were made elsewhere, and what remains.

    ``confirmed``: written into files before, or left in the middle of paying, and paid by now, as the site says.
    """

    payments: list[Payment] = field(default_factory=list)
    found: list[Payment] = field(default_factory=list)
    confirmed: list[Payment] = field(default_factory=list)
    remaining: list[Remaining] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class Payer(Protocol):
    """A way of paying. Everything that it cannot do raises PayError or a CrowdError, in sentences.

    A site that cannot tell a second sending from the first is asked in one order only: its payments are noted as ``paying``,
    then it is asked, then they are noted as ``sent``. Left in the middle, they are never proposed again: :meth:`propose` may
    give them as ``confirmed``, or a person settles them.
    """

    account: str
    title: str
    """For people: the site and the account."""
    witness: str
    """What :meth:`audit` compares the ledger with, for people."""

    def propose(self, owed: Sequence[Owed]) -> Proposal:
        """What can be sent now. Asks the crowd's site, and changes nothing."""

    def cost(self, payments: Sequence[Payment]) -> Decimal:
        """What the crowd's site takes beside the payments themselves, which are in one currency."""

    def check(self, payments: Sequence[Payment]) -> None:
        """Raises where the payments cannot all be sent (not enough money, say); nothing was sent then."""

    def send(self, payments: Sequence[Payment], note: Note) -> None:
        """Send what the ledger holds already. Raises when the rest has to wait; what was sent is noted."""

    def audit(self, payments: Sequence[Payment]) -> list[str]:
        """Differences between the ledger's payments and what the crowd's site says, as sentences."""


class Rejection(BaseModel):
    """One line of ``pay --reject FILE``: the site's id of the work, its category there, and what the worker reads."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    category: str
    message: str


def read_rejections(path: Path) -> list[Rejection]:
    """The lines of a CSV file with the columns id, category and message. Raises PayError."""
    columns = list(Rejection.model_fields)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.DictReader(file, strict=True)
            if lacking := [name for name in columns if name not in (rows.fieldnames or [])]:
                raise PayError(f"there is no column {lacking[0]!r}", where=path, try_=f"name them {', '.join(columns)}")
            lines = list(rows)
            if any(None in line for line in lines):  # a comma in a message would cut it there
                raise PayError("a line has more cells than the first one", where=path, try_="put messages in quotes")
            return [Rejection(**{name: (line[name] or "").strip() for name in columns}) for line in lines]
    except OSError as error:
        raise PayError(
            f"it cannot be read: {error.strerror}",
            where=path,
            try_="name a CSV file with the columns " + ", ".join(columns),
        ) from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise PayError(f"it is no CSV file: {error}", where=path) from error


@runtime_checkable
class Rejects(Protocol):
    """A payer whose site can reject work that a person judged to be poor. Nothing is ever rejected by itself."""

    def problems(self, rejections: Sequence[Rejection]) -> list[str]:
        """Why these cannot all be rejected, as sentences; none where they can."""

    def reject(self, rejection: Rejection) -> None:
        """Raises CrowdError where the site refuses."""
