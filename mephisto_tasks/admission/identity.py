"""Whose a registration is: it belongs to a crowd, a worker, and the browser that came with it first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from mephisto_tasks.admission.browsers import BrowserBook
from mephisto_tasks.admission.capacity import CapacityRule
from mephisto_tasks.admission.consent import AGREED
from mephisto_tasks.admission.refusal import PageRule, Refusal, Visitor
from mephisto_tasks.admission.visits import ClaimPolicy, Signer
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.schema.steps import Redirect

KNOWN_BROWSER = "known_browser"
"""Key in the provider's data as Mephisto gets them: whether this is the worker's own browser, or their invitation.

A worker may come with another browser for another assignment or session. With what was begun in the first browser, only
that one goes on.
"""

OTHER_BROWSER = phrase("This task is open in another browser")
WRONG_ADDRESS = phrase("This address does not work")
DAMAGED = phrase(
    "The address of this page is damaged: a part of it was changed, or is missing. Please open the link of the study "
    "once more, as it was given to you, and press Start."
)
NOTHING_SHOWN = phrase(
    "So we could not know you again after a reload, and what you do might be lost. Please allow this site to store data, or "
    "use another browser, and reload the page."
)
KEEPS_NOTHING = phrase("Your browser keeps nothing for this page")


class Reception(Protocol):
    """Receives the visitors of a crowd whose addresses say who they are."""

    def identify(self, visitor: Visitor) -> Refusal | None:
        """Fill in who the visitor says to be, and which visits they claim. Nothing is told of these, or changed.

        A refusal says why the address names nobody.
        """

    def refusal(self, visitor: Visitor) -> Refusal | None:
        """Why the crowd has nothing for the visitor any more; whether they are at work or only look is filled in."""

    def begin(self, visitor: Visitor) -> Refusal | None:
        """Their visit begins, unless others were quicker; ``data`` is filled in as Mephisto gets it."""

    def screened_out(self, worker_name: str) -> Redirect | None:
        """Where a worker goes who may not take part, or not any more."""

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        """The text of a refusal in words that fit how this worker came and where they go."""

    def given_back(self, agent_ids: list[str]) -> set[str]:
        """The agents whose places were given back at the crowd's site."""


@runtime_checkable
class ChecksArrivals(Protocol):
    """A crowd provider that knows who cannot come from its site."""

    def refusal(self, provider_data: Mapping[str, Any]) -> str | None:
        """What somebody reads who cannot have come from there, by what their page registers with.

        Raises NotYetKnown.
        """


class IdentityRule(PageRule):
    """Compares a visitor with those who came before.

    Asked first: nobody else may learn how a worker fares, or change that. Raises BookUnusable.

    Args:
        book: of the data directory.
        claims: what of a registration is bound to a browser.
        signer: knows the ids that this server made up; None where the crowd names its workers.
        reception: of a crowd whose addresses say who comes; None where the page says so itself.
    """

    def __init__(
        self, book: BrowserBook, claims: ClaimPolicy, signer: Signer | None = None, reception: Reception | None = None
    ) -> None:
        self._book, self._claims, self._signer, self._reception = book, claims, signer, reception

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if self._reception is None:
            visitor.worker_name = str(visitor.data["worker_name"])
            visitor.known_as = str(visitor.data["agent_registration_id"])
        elif (refusal := self._reception.identify(visitor)) is not None:
            return refusal
        things, _ = self._things(visitor)
        if self._book.held_by_another(things, visitor.shown):
            return self._other_browser()
        if not visitor.shown.digests and not visitor.vouched:
            return Refusal("other_browser", "showed no secret", NOTHING_SHOWN, title=KEEPS_NOTHING)
        if self._signer is None or not self._signer.is_damaged(visitor.data):
            return None
        if self._book.holds_any(things, visitor.shown):
            return None
        return Refusal("wrong_link", "ids of ours without their signature", DAMAGED, title=WRONG_ADDRESS)

    def hold(self, visitor: Visitor) -> Refusal | None:
        """Remember whose this is from now on, and note in ``data`` whether it is the worker's first browser."""
        things, also = self._things(visitor)
        if not self._book.hold(visitor.worker_name, things, visitor.shown, also=also):
            return self._other_browser()
        visitor.data[KNOWN_BROWSER] = visitor.vouched or not self._book.held_by_another(also, visitor.shown)
        return None

    def _things(self, visitor: Visitor) -> tuple[Sequence[str], Sequence[str]]:
        """What must be the browser's, or nobody's; and what it gets where nobody has it, and need not have."""
        worker = self._thing("worker", visitor.worker_name)
        if visitor.vouched:
            return (), (worker,)
        if self._reception is not None:
            return [self._thing("visit", str(visit.visit_id)) for visit in visitor.visits], (worker,)
        page = self._thing("registration", visitor.known_as)
        if self._claims.per_assignment:
            assignment = str(visitor.data.get("assignment_id"))
            return (page, self._thing("assignment", visitor.worker_name, assignment)), (worker,)
        return (worker, page), ()

    def _thing(self, *parts: str) -> str:
        return json.dumps([self._claims.provider, *parts])

    def _other_browser(self) -> Refusal:
        return Refusal("other_browser", "came with another browser", self._claims.advice, title=OTHER_BROWSER)


class CrowdRule(PageRule):
    """Turns away whoever cannot have come from the crowd's site, or has nothing more to do by its count."""

    def __init__(self, reception: Reception | None = None) -> None:
        self._reception = reception

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if self._reception is not None:
            return self._reception.refusal(visitor)
        provider = visitor.pages.provider
        if isinstance(provider, ChecksArrivals) and (words := provider.refusal(visitor.data)) is not None:
            return Refusal("not_from_the_crowd", "cannot have come from the crowd's site", words)
        visitor.at_work = visitor.pages.is_open(visitor.known_as)
        return None


class EntryRule(PageRule):
    """Binds the visitor's browser to what they begin. Asked last of a page: from here on, Mephisto knows them."""

    def __init__(self, identity: IdentityRule, capacity: CapacityRule, reception: Reception | None = None) -> None:
        self._identity, self._capacity, self._reception = identity, capacity, reception

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if self._reception is not None and (refusal := self._reception.begin(visitor)) is not None:
            return refusal
        visitor.data[AGREED] = visitor.agreed
        if (refusal := self._identity.hold(visitor)) is None:
            self._capacity.enter(visitor)
        return refusal
