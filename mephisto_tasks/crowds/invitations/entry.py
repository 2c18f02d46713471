"""Visitors with an invitation: their door of a launch, and the checks before any page is shown."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode

from mephisto_tasks.admission.visits import Arrival, Outcome, Parameters, TurnedAway
from mephisto_tasks.crowds.crowd import Invitation, InvitationState, Person
from mephisto_tasks.crowds.invitations.store import InvitationError, InvitationStore, identity, read_people, trouble_of
from mephisto_tasks.crowds.signing import DamagedKey, LinkSigner
from mephisto_tasks.storage.locks import study_folder
from parlai_humaneval.i18n.translate import in_words, phrase, phrases, t
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.wire import Redirect

logger = logging.getLogger(__name__)
NAME = "invitation"
INVITATION, VISITOR = "invitation", "visitor"
"""Parameters of the address: the signed link, and, of a class's link, which of its visitors this is."""
LINK_KEY = "invitations.key"  # in the study's folder: links of one study are good for no other
VISITOR_KEY = "visitors.key"
"""In the data directory: a browser that came by a class's link is the same visitor in every study there."""
INVITE_ANEW = "invite everybody again: earlier links are not valid without it"
PHRASES = phrases(__file__)
WRONG = (phrase("Wrong link"), PHRASES["wrong"])
EXPIRED = (phrase("This link has expired"), PHRASES["expired"])
REVOKED = (phrase("This link is no longer valid"), PHRASES["revoked"])
FULL = (phrase("This link has been used up"), PHRASES["full"])
BROKEN = (phrase("We cannot check your link right now"), PHRASES["broken"])
MAILED = " .,;:!?)]}>'\"*»”’…"
"""What writers and mail programs put behind a link, and take for a part of it; no token ends so."""
AGAIN = phrase("Please open the whole link that you were given: this address is only part of it.")


class BadLink(TurnedAway):
    """An invitation that lets nobody in. ``status``: of the page that says so."""

    def __init__(self, words: tuple[str, str], status: int = HTTPStatus.FORBIDDEN, **values: str) -> None:
        super().__init__(t(words[1], **values), words[0])
        self.status = int(status)


@dataclass(frozen=True)
class Entry:
    """What a browser needs before its page: the whole address for it, and what it is to remember who it is by."""

    parameters: dict[str, str]
    visitor: str


class InvitationDoor:
    name = NAME
    takes_back = False

    def __init__(self, data_dir: Path, task_name: str, book: InvitationStore | None = None) -> None:
        """``book``: that of the study, with a clock of its own."""
        self._book = book or InvitationStore(study_folder(data_dir, task_name))
        self._links = link_signer(data_dir, task_name)
        self._visitors = LinkSigner(data_dir / VISITOR_KEY, "visitor", INVITE_ANEW)

    def arrival(self, parameters: Parameters) -> Arrival | None:
        """The visitor, if they may take part; its ``study`` is the invitation. Raises BadLink."""
        if INVITATION not in parameters:
            return None
        with _no_fault_of_the_link():
            invitation, worker = self._invited(parameters)
            if worker is None:
                raise BadLink((WRONG[0], AGAIN))
            _let_in(invitation, self._book.refusal(invitation.invitation_id, worker))
        return Arrival(worker_name=worker, door=NAME, study=invitation.invitation_id, vouched=True)

    def begins(self, arrival: Arrival) -> None:
        """A visitor who begins uses up the link, or takes a place of a class's link. Raises BadLink."""
        with _no_fault_of_the_link():
            invitation = self._book.find(arrival.study)
            if invitation is not None:
                _let_in(invitation, self._book.come(invitation.invitation_id, arrival.worker_name))

    def look(self, parameters: Parameters, remembered: str | None) -> Entry | None:
        """What a browser that opens a link needs first; None: nothing, or not for this door. Raises BadLink."""
        if INVITATION not in parameters:
            return None
        with _no_fault_of_the_link():
            invitation, worker = self._invited(parameters)
            token = None
            if worker is None:
                worker, token = self._visitor(remembered), remembered
            if worker is None:
                token = self._visitors.signed(secrets.token_hex(8))
            _let_in(invitation, self._book.refusal(invitation.invitation_id, worker))
        seen = parameters[INVITATION].rstrip(MAILED)
        return None if token is None else Entry({INVITATION: seen, VISITOR: token}, token)

    def exit(self, arrival: Arrival, outcome: Outcome) -> Redirect | None:
        return None

    def _invited(self, parameters: Parameters) -> tuple[Invitation, str | None]:
        """The invitation of an address, and the worker whom it names, if any yet. Raises BadLink."""
        invitation_id = self._links.opened(parameters[INVITATION].rstrip(MAILED))
        invitation = None if invitation_id is None else self._book.find(invitation_id)
        if invitation is None:
            raise BadLink(WRONG)
        return invitation, invitation.worker or self._visitor(parameters.get(VISITOR))

    def _visitor(self, token: str | None) -> str | None:
        """The worker whom a visitor's token names; None where it is none of ours."""
        visitor = None if token is None else self._visitors.opened(token.rstrip(MAILED))
        return None if visitor is None else f"{NAME}:{visitor}"


@contextmanager
def _no_fault_of_the_link() -> Iterator[None]:
    """What is broken here, its owner reads in the log; the visitor, that their link may well be a good one."""
    try:
        yield
    except (InvitationError, DamagedKey, OSError) as error:
        logger.error("%s", error)
        raise BadLink(BROKEN, HTTPStatus.SERVICE_UNAVAILABLE) from error


def _let_in(invitation: Invitation, refusal: InvitationState | None) -> None:
    if refusal == "expired":
        raise BadLink(EXPIRED, HTTPStatus.GONE, until=in_words(invitation.expires))
    if refusal is not None:
        raise BadLink(FULL if refusal == "full" else REVOKED, HTTPStatus.GONE)


def worker_namer(data_dir: Path) -> Callable[[Person], str]:
    """Names for people in Mephisto's database: a person has one pseudonym in all studies of a data directory."""
    from mephisto_tasks.storage.results import PSEUDONYM_KEY

    pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
    return lambda person: f"{NAME}:{pseudonyms.worker(f'{NAME}:{identity(person)}')}"


def link_signer(data_dir: Path, task_name: str) -> LinkSigner:
    return LinkSigner(study_folder(data_dir, task_name) / LINK_KEY, "invitation", INVITE_ANEW)


class StudyInvitations(InvitationStore):
    """The invitations of a study with their links. It is a :class:`~mephisto_tasks.crowds.crowd.Invitations`."""

    read_people, trouble_of = staticmethod(read_people), staticmethod(trouble_of)

    def __init__(self, data_dir: Path, task_name: str) -> None:
        super().__init__(study_folder(data_dir, task_name))
        self._data_dir, self._links = data_dir, link_signer(data_dir, task_name)

    @property
    def lost_key(self) -> Path | None:
        return self._links.key_file if not self._links.has_key and self.all() else None

    def invite_people(self, people: Sequence[Person], lasting_s: float) -> list[Invitation]:
        return self.invite(people, worker_namer(self._data_dir), lasting_s)

    def link(self, invitation: Invitation, base: str) -> str:
        token = self._links.signed(invitation.invitation_id)
        return f"{base.rstrip('/')}/?{urlencode({INVITATION: token})}"
