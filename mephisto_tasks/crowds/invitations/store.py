"""Who is invited to a study, until when, and who has come: a small SQLite file in the study's folder.

SQLite, as two processes write it: the launch notes who comes, the command invites and revokes meanwhile. The names stand
here only; Mephisto's database holds pseudonyms.
"""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from mephisto_tasks.crowds.invitations.invitees import Person, normalised
from mephisto_tasks.storage.sqlite import Database
from parlai_humaneval._util.errors import HumanevalError

FILE = "invitations.db"
CLOCK_SLACK_S = 300.0
"""Clocks are set right by so much now and then."""
LINGERING_S = 2 * 60 * 60.0
"""Who has come in time may reload the page for so long after the link has expired: nobody loses what they have begun."""

State = Literal["open", "used", "full", "expired", "revoked"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS invitations (
    invitation_id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    email TEXT NOT NULL,
    identity TEXT NOT NULL,
    worker TEXT,
    seats INTEGER,
    created REAL NOT NULL,
    expires REAL NOT NULL,
    revoked REAL
);
CREATE TABLE IF NOT EXISTS guests (
    invitation_id TEXT NOT NULL REFERENCES invitations,
    worker TEXT NOT NULL,
    came REAL NOT NULL,
    PRIMARY KEY (invitation_id, worker)
);
"""
_COLUMNS = "invitation_id, name, email, worker, seats, created, expires, revoked"
_WITH_GUESTS = (
    f"SELECT {_COLUMNS}, (SELECT COUNT(*) FROM guests WHERE guests.invitation_id = invitations.invitation_id), "
    "(SELECT MIN(came) FROM guests WHERE guests.invitation_id = invitations.invitation_id) FROM invitations"
)


@dataclass(frozen=True)
class Invitation:
    """One link. ``worker``: whose it is, as Mephisto's database names them; None: a class has it, of ``seats`` people.

    Times are seconds since the epoch. ``guests``: how many have come by it; ``first_came``: when the first of them did.
    """

    invitation_id: str
    name: str
    email: str
    worker: str | None
    seats: int | None
    created: float
    expires: float
    revoked: float | None
    guests: int = 0
    first_came: float | None = None

    def state(self, now: float) -> State:
        """What would be told of it; what makes it useless goes before its having been used. A class's is open while it has
        places."""
        if self.revoked is not None:
            return "revoked"
        if self.expires <= now:
            return "expired"
        if self.seats is not None and self.guests >= self.seats:
            return "full"
        return "used" if self.guests and self.seats is None else "open"


class InvitationError(HumanevalError, ValueError):
    """Invitations cannot be made or withdrawn like that; the message says why, and what to do."""


class InvitationStore:
    """The invitations of a study. Any thread or process may call it at any time.

    Args:
        folder: of the study; made with the first invitation.
        clock: seconds since the epoch.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._database = Database(
            folder / FILE,
            error=InvitationError,
            migrations=(_SCHEMA,),
            if_damaged="put a copy of it back; or remove it, and invite everybody again: without it no link is valid",
        )
        self._clock = clock

    def invite(
        self, people: Sequence[Person], worker_of: Callable[[Person], str], lasting_s: float
    ) -> list[Invitation]:
        """An invitation for each, all or none. Who has one that was not revoked keeps it, and its link, with a new end."""
        with self._database.writing() as connection:
            now = self._now(connection)
            return [
                self._renewed(connection, person, now + lasting_s)
                or self._added(connection, person, worker_of(person), None, now + lasting_s)
                for person in people
            ]

    def invite_class(self, name: str, seats: int, lasting_s: float) -> Invitation:
        """One link for ``seats`` people. Under a name that has one already, it is that one, with new seats and a new end."""
        person = Person(name)
        with self._database.writing() as connection:
            expires = self._now(connection) + lasting_s
            known = self._renewed(connection, person, expires, seats)
            return known or self._added(connection, person, None, seats, expires)

    def find(self, invitation_id: str) -> Invitation | None:
        """The invitation of a link; None where there is none."""
        return next(iter(self._select("WHERE invitation_id = ?", invitation_id)), None)

    def all(self) -> list[Invitation]:
        """Every invitation, oldest first."""
        return self._select("ORDER BY created, rowid")

    def names(self) -> dict[str, str]:
        """Worker → the name of the invitation by which they came: a person's, or a class's."""
        rows = self._database.rows("SELECT guests.worker, name FROM guests JOIN invitations USING (invitation_id)")
        return {str(worker): str(name) for worker, name in rows}

    def why_not(self, invitation_id: str, worker: str | None) -> State | None:
        """Why a worker may not come by a link now; None: they may. ``worker`` None: somebody new."""
        with self._database.reading() as connection:
            return self._standing(connection, invitation_id, worker)[1]

    def come(self, invitation_id: str, worker: str) -> State | None:
        """Note that a worker comes by a link; None: they may, else why not.

        A place is taken by who comes first; who has one keeps it.
        """
        with self._database.writing() as connection:
            is_new, refusal = self._standing(connection, invitation_id, worker)
            if is_new and refusal is None:
                connection.execute("INSERT INTO guests VALUES (?, ?, ?)", (invitation_id, worker, self._clock()))
        return refusal

    def revoke(self, names: Sequence[str]) -> list[Invitation]:
        """Withdraw invitations by the names or addresses that they were made for, all or none.

        Raises:
            InvitationError: a name that has no invitation to withdraw, or that several people have.
        """
        with self._database.writing() as connection:
            withdrawn = {name: self._named(connection, name) for name in names}
            connection.executemany(
                "UPDATE invitations SET revoked = ? WHERE invitation_id = ?",
                [(self._clock(), invitation.invitation_id) for invitation in withdrawn.values()],
            )
        return list(withdrawn.values())

    # -- inside

    def _now(self, connection: sqlite3.Connection) -> float:
        """The time, unless it is before something that has happened already."""
        now = self._clock()
        made, came = connection.execute(
            "SELECT (SELECT MAX(created) FROM invitations), (SELECT MAX(came) FROM guests)"
        ).fetchone()
        latest = max(made or 0.0, came or 0.0)
        if latest > now + CLOCK_SLACK_S:
            raise InvitationError(
                f"the clock of this machine says {_date(now)}, but the newest invitation was made, or used, on "
                f"{_date(latest)}",
                try_="set the clock right: links would be good for the wrong time",
            )
        return now

    def _named(self, connection: sqlite3.Connection, name: str) -> Invitation:
        rows = connection.execute(f"{_WITH_GUESTS} WHERE revoked IS NULL").fetchall()
        wanted = normalised(name)
        meant = [
            invitation
            for invitation in (Invitation(*row) for row in rows)
            if wanted in (normalised(invitation.name), normalised(invitation.email))
        ]
        if not meant:
            raise InvitationError(f"“{name}” has no invitation that could be withdrawn", try_="--list shows all")
        if len(meant) > 1:
            ways = ", ".join(each.email or f"{each.name} (a class)" for each in meant)
            raise InvitationError(
                f"“{name}” is the name of {len(meant)} invitations: {ways}", try_="say which by its address"
            )
        return meant[0]

    def _standing(
        self, connection: sqlite3.Connection, invitation_id: str, worker: str | None
    ) -> tuple[bool, State | None]:
        """Whether a worker would come for the first time, and why they may not."""
        now = self._clock()
        invitation = Invitation(
            *connection.execute(f"{_WITH_GUESTS} WHERE invitation_id = ?", (invitation_id,)).fetchone()
        )
        came = connection.execute(
            "SELECT 1 FROM guests WHERE invitation_id = ? AND worker = ?", (invitation_id, worker)
        ).fetchone()
        state = invitation.state(now)
        if came is None:
            return True, state if state in ("expired", "revoked", "full") else None
        over = state == "revoked" or now >= invitation.expires + LINGERING_S
        return False, state if over else None

    @staticmethod
    def _renewed(
        connection: sqlite3.Connection, person: Person, expires: float, seats: int | None = None
    ) -> Invitation | None:
        row = connection.execute(
            f"{_WITH_GUESTS} WHERE identity = ? AND revoked IS NULL AND (seats IS NULL) = ?",
            (person.identity, seats is None),
        ).fetchone()
        if row is None:
            return None
        renewed = replace(Invitation(*row), expires=expires, seats=seats, name=person.name)
        connection.execute(
            "UPDATE invitations SET expires = ?, seats = ?, name = ? WHERE invitation_id = ?",
            (expires, seats, person.name, renewed.invitation_id),
        )
        return renewed

    def _added(
        self, connection: sqlite3.Connection, person: Person, worker: str | None, seats: int | None, expires: float
    ) -> Invitation:
        made = Invitation(
            secrets.token_urlsafe(9), person.name, person.email, worker, seats, self._clock(), expires, None
        )
        connection.execute(
            "INSERT INTO invitations (invitation_id, name, email, identity, worker, seats, created, expires) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                made.invitation_id,
                made.name,
                made.email,
                person.identity,
                made.worker,
                made.seats,
                made.created,
                made.expires,
            ),
        )
        return made

    def _select(self, condition: str, *values: object) -> list[Invitation]:
        return [Invitation(*row) for row in self._database.rows(f"{_WITH_GUESTS} {condition}", values)]


def _date(at: float) -> str:
    return f"{datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"
