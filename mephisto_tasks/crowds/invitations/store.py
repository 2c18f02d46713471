"""Invitations to send (a file of names, whose faults are reported by line before anything is made), their ends, and the
people who have come: an SQLite file in the study's folder, the only place with names."""

from __future__ import annotations

import csv
import io
import secrets
import sqlite3
import time
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from mephisto_tasks.crowds.crowd import Invitation, InvitationState, Person
from mephisto_tasks.storage.sqlite import Database
from parlai_humaneval._util.data_files import DataError, read_text
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.text import is_formula, on_one_line

NAME, EMAIL = "name", "email"
EXPECTED = "make the first line a header with the column “name” and, optionally, “email” (name,email)"
_JOINERS = dict.fromkeys(map(ord, "\u200c\u200d"))
"""They show nothing, and belong into Persian and Indian names, and into some emoji."""
_AT_ENDS = " \t\ufeff\u200b\u200e\u200f\u2060"
"""Blanks and marks that show nothing, and come with what is pasted; other invisible characters are an error."""
_DELIMITERS = ",;\t"  # spreadsheets of some countries write “CSV” with semicolons
LONGEST = 200
SHOWN = 40  # as many letters of a cell an error shows
MOST_TOLD = 10  # as many lines an error tells of; the others are counted


def identity(person: Person) -> str:
    """The identity of a person, in any spelling: the address, else the name."""
    return normalised(person.email or person.name)


def normalised(text: str) -> str:
    """The same for spellings that differ in case, in spaces, in joiners, or in how Unicode composes them."""
    return " ".join(unicodedata.normalize("NFKC", text.translate(_JOINERS)).casefold().split())


def read_people(path: Path) -> list[Person]:
    """The people of a CSV file with the columns ``name`` and perhaps ``email``, besides others. Raises DataError."""
    people: dict[str, tuple[int, Person]] = {}
    troubles: list[str] = []
    for line, cells in _rows(path):
        person = Person(cells[NAME], cells.get(EMAIL, ""))
        trouble = trouble_of(person)
        if trouble is None and identity(person) in people:
            first, earlier = people[identity(person)]
            named = f"{_shown(person.email or person.name)} is already in line {first} ({_shown(earlier.name)})"
            trouble = f"{named}; use one line per person"
        if trouble:
            troubles.append(f"line {line}: {trouble}")
        else:
            people[identity(person)] = (line, person)
    if troubles:
        more = f"\n  … and {len(troubles) - MOST_TOLD} more lines" if len(troubles) > MOST_TOLD else ""
        lines = "".join(f"\n  {trouble}" for trouble in troubles[:MOST_TOLD])
        raise DataError(f"nobody is invited until these lines are correct:{lines}{more}", where=path)
    if not people:
        raise DataError("holds no names", where=path, try_="name one person per line below the header")
    return [person for _, person in people.values()]


def _rows(path: Path) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Number and cells of each line below the header; only the wanted columns."""
    text = read_text(path).rstrip()  # lines that are empty at the end of a file mean nothing
    delimiter = max(_DELIMITERS, key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=delimiter)
    try:
        wanted = _columns(path, next(reader, []))
        for row in reader:
            yield reader.line_num, {name: _cell(row[at]) if at < len(row) else "" for name, at in wanted.items()}
    except csv.Error as error:
        raise DataError(f"is not CSV ({error})", where=f"{path}, line {reader.line_num}") from error


def _cell(text: str) -> str:
    plain = "".join(" " if unicodedata.category(letter) == "Zs" else letter for letter in text)
    return " ".join(filter(None, plain.strip(_AT_ENDS).split(" ")))


def _columns(path: Path, header: list[str]) -> dict[str, int]:
    names = [normalised(cell).replace("e-mail", EMAIL) for cell in header]
    if not names:
        raise DataError("is empty", where=path, try_=EXPECTED)
    for name in (NAME, EMAIL):
        if names.count(name) > 1:
            raise DataError(f"{path}, line 1: the column “{name}” appears twice", try_="keep one of them")
    if NAME not in names:
        what = f"has no column “name”, but {_shown(', '.join(header))}"
        raise DataError(what, where=f"{path}, line 1", try_=EXPECTED)
    return {name: names.index(name) for name in (NAME, EMAIL) if name in names}


def trouble_of(person: Person) -> str | None:
    """Why nobody can be invited under such a name, or with such an address."""
    if not normalised(person.name):
        return f"has no name for {_shown(person.email)}" if person.email else "is empty; remove the line"
    for text in (person.name, person.email):
        if is_formula(text):
            return f"{_shown(text)} is not a name: spreadsheets run text that begins with {text[0]!r} as a formula"
        if not text.translate(_JOINERS).isprintable():
            return f"{_shown(text)} contains characters that cannot be printed, such as a line break"
        if len(text) > LONGEST:
            return f"{_shown(text)} is longer than {LONGEST} characters"
    if person.email and ("@" not in person.email.strip("@") or " " in person.email):
        return f"{_shown(person.email)} is not an e-mail address"
    return None


def _shown(text: str) -> str:
    return f"“{on_one_line(text, SHOWN)}”"


FILE = "invitations.db"
CLOCK_SLACK_S = 300.0  # clocks are set right by so much now and then
LINGERING_S = 2 * 60 * 60.0
"""People who came in time may reload the page for this long after the link has expired, so nobody loses work."""

_COLUMNS = "invitation_id, name, email, worker, seats, created, expires, revoked"
_WITH_GUESTS = (
    f"SELECT {_COLUMNS}, (SELECT COUNT(*) FROM guests WHERE guests.invitation_id = invitations.invitation_id), "
    "(SELECT MIN(came) FROM guests WHERE guests.invitation_id = invitations.invitation_id) FROM invitations"
)


class InvitationError(HumanevalError, ValueError):
    """Invitations cannot be made or withdrawn like that; the message says why, and what to do."""


class InvitationStore:
    """The invitations of a study, in its folder. Any thread or process may call it at any time."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._database = Database(
            folder / FILE,
            error=InvitationError,
            migrations=(Path(__file__).with_suffix(".sql").read_text(encoding="utf-8"),),
            if_damaged="restore a copy of it; or remove it and invite everybody again, because no link is valid without it",
        )
        self._clock = clock

    def invite(
        self, people: Sequence[Person], worker_of: Callable[[Person], str], lasting_s: float
    ) -> list[Invitation]:
        """An invitation for each person, all or none. People with a valid one keep it and its link, with a new end."""
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

    def refusal(self, invitation_id: str, worker: str | None) -> InvitationState | None:
        """Why a worker (None: somebody new) may not come by a link now; None: they may."""
        with self._database.reading() as connection:
            return self._standing(connection, invitation_id, worker)[1]

    def come(self, invitation_id: str, worker: str) -> InvitationState | None:
        """Note that a worker comes by a link, and takes a place that they keep; None: they may, else why not."""
        with self._database.writing() as connection:
            is_new, refusal = self._standing(connection, invitation_id, worker)
            if is_new and refusal is None:
                connection.execute("INSERT INTO guests VALUES (?, ?, ?)", (invitation_id, worker, self._clock()))
        return refusal

    def revoke(self, names: Sequence[str]) -> list[Invitation]:
        """Withdraw invitations by the names or addresses of their people, all or none. Raises InvitationError."""
        with self._database.writing() as connection:
            withdrawn = {name: self._named(connection, name) for name in names}
            values = [(self._clock(), invitation.invitation_id) for invitation in withdrawn.values()]
            connection.executemany("UPDATE invitations SET revoked = ? WHERE invitation_id = ?", values)
        return list(withdrawn.values())

    def _now(self, connection: sqlite3.Connection) -> float:
        """The time, unless it is before something that has happened already."""
        now = self._clock()
        sql = "SELECT (SELECT MAX(created) FROM invitations), (SELECT MAX(came) FROM guests)"
        made, came = connection.execute(sql).fetchone()
        latest = max(made or 0.0, came or 0.0)
        if latest > now + CLOCK_SLACK_S:
            newest = f"the newest invitation was created or used on {datetime.fromtimestamp(latest):%Y-%m-%d %H:%M}"
            what = f"the clock of this machine says {datetime.fromtimestamp(now):%Y-%m-%d %H:%M}, but {newest}"
            raise InvitationError(what, try_="set the clock, because links would otherwise expire at the wrong time")
        return now

    def _named(self, connection: sqlite3.Connection, name: str) -> Invitation:
        wanted = normalised(name)
        valid = [Invitation(*row) for row in connection.execute(f"{_WITH_GUESTS} WHERE revoked IS NULL")]
        meant = [one for one in valid if wanted in (normalised(one.name), normalised(one.email))]
        if not meant:
            raise InvitationError(f"“{name}” has no invitation to withdraw", try_="--list shows all")
        if len(meant) > 1:
            ways = ", ".join(each.email or f"{each.name} (a class)" for each in meant)
            what = f"“{name}” is the name of {len(meant)} invitations: {ways}"
            raise InvitationError(what, try_="choose one by its address")
        return meant[0]

    def _standing(
        self, connection: sqlite3.Connection, invitation_id: str, worker: str | None
    ) -> tuple[bool, InvitationState | None]:
        """Whether a worker would come for the first time, and why they may not."""
        now = self._clock()
        row = connection.execute(f"{_WITH_GUESTS} WHERE invitation_id = ?", (invitation_id,)).fetchone()
        invitation = Invitation(*row)
        sql = "SELECT 1 FROM guests WHERE invitation_id = ? AND worker = ?"
        came = connection.execute(sql, (invitation_id, worker)).fetchone()
        state = invitation.state(now)
        if came is None:
            return True, state if state in ("expired", "revoked", "full") else None
        over = state == "revoked" or now >= invitation.expires + LINGERING_S
        return False, state if over else None

    @staticmethod
    def _renewed(
        connection: sqlite3.Connection, person: Person, expires: float, seats: int | None = None
    ) -> Invitation | None:
        sql = f"{_WITH_GUESTS} WHERE identity = ? AND revoked IS NULL AND (seats IS NULL) = ?"
        row = connection.execute(sql, (identity(person), seats is None)).fetchone()
        if row is None:
            return None
        renewed = replace(Invitation(*row), expires=expires, seats=seats, name=person.name)
        sql = "UPDATE invitations SET expires = ?, seats = ?, name = ? WHERE invitation_id = ?"
        connection.execute(sql, (expires, seats, person.name, renewed.invitation_id))
        return renewed

    def _added(
        self, connection: sqlite3.Connection, person: Person, worker: str | None, seats: int | None, expires: float
    ) -> Invitation:
        row = (secrets.token_urlsafe(9), person.name, person.email, worker, seats, self._clock(), expires, None)
        sql = f"INSERT INTO invitations ({_COLUMNS}, identity) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        connection.execute(sql, (*row, identity(person)))
        return Invitation(*row)

    def _select(self, condition: str, *values: object) -> list[Invitation]:
        return [Invitation(*row) for row in self._database.rows(f"{_WITH_GUESTS} {condition}", values)]
