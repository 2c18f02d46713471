"""Whose a registration is: it belongs to a provider, a worker, and the browser that came with it first."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mephisto_tasks.admission.browsers import BrowserBook, Shown
from mephisto_tasks.admission.eligibility import Refusal
from mephisto_tasks.admission.visits import Visit
from mephisto_tasks.crowds.local.signed_ids import DAMAGED, SignedIds
from mephisto_tasks.storage.provider_names import LINK
from mephisto_tasks.storage.provider_names import PROVIDERS as ON_MTURK
from parlai_humaneval.i18n.translate import phrase

KNOWN_BROWSER = "known_browser"
"""Key in the provider's data as Mephisto gets them: whether this is the worker's own browser, or their invitation.

From MTurk and panels one may come with another browser for another HIT or session: with what was begun in the first, only
that one goes on.
"""

OTHER_BROWSER = phrase("This task is open in another browser")
GO_ON_THERE = phrase(
    "Please go on in the browser, and on the device, in which you began: everything that you did there is kept. If you "
    "have not begun anything, open the link of the study once more as it was given to you, and press Start."
)
GO_ON_THERE_ON_MTURK = phrase(
    "Please go on in the browser, and on the device, in which you began: everything that you did there is kept. If you "
    "cannot, return the HIT and accept it anew here: that does not count against you."
)
GO_ON_THERE_BY_LINK = phrase(
    "Please go on in the browser, and on the device, in which you began: everything that you did there is kept. If you "
    "cannot, please return the task on the site that sent you here, or write to the researchers from there."
)
WRONG_ADDRESS = phrase("This address does not work")
NOTHING_SHOWN = phrase(
    "So we could not know you again after a reload, and what you do might be lost. Please allow this site to store data, or "
    "use another browser, and reload the page."
)
KEEPS_NOTHING = phrase("Your browser keeps nothing for this page")


@dataclass(frozen=True)
class Claim:
    """What a page says that it is: ``things`` must be its browser's, or nobody's.

    ``also``: what its browser gets where nobody has it, and need not have. ``vouched``: the address itself was the secret,
    as that of an invitation: any browser may go on with it.
    """

    worker: str
    things: tuple[str, ...]
    also: tuple[str, ...]
    advice: str = GO_ON_THERE
    vouched: bool = False


class Identity:
    """Compares, and remembers for later launches. What reads or writes the book raises BookUnusable where it cannot.

    Args:
        book: of the data directory.
        signed: ids that this server made up; None where a crowd's site names its workers.
    """

    def __init__(self, book: BrowserBook, signed: SignedIds | None = None) -> None:
        self._book = book
        self._signed = signed

    def claim(self, provider: str, data: Mapping[str, Any]) -> Claim:
        """What the page of a registration says that it is, by a provider whose page says it itself."""
        name, registration = str(data["worker_name"]), str(data["agent_registration_id"])
        worker, page = _thing(provider, "worker", name), _thing(provider, "registration", registration)
        if provider in ON_MTURK:  # its workers may come with another browser, for another HIT
            hit = _thing(provider, "assignment", name, str(data.get("assignment_id")))
            return Claim(name, (page, hit), (worker,), GO_ON_THERE_ON_MTURK)
        return Claim(name, (worker, page), ())

    def claim_of_visits(self, worker: str, visits: Iterable[Visit], *, vouched: bool) -> Claim:
        """The same of somebody who came by a link."""
        things = () if vouched else tuple(_thing(LINK, "visit", str(visit.visit_id)) for visit in visits)
        return Claim(worker, things, (_thing(LINK, "worker", worker),), GO_ON_THERE_BY_LINK, vouched)

    def stranger(self, claim: Claim, shown: Shown) -> Refusal | None:
        """Why this is not who it says; None where it is, or where nobody else has said so. Tells nothing of the state."""
        if self._book.held_by_another(claim.things, shown):
            return Refusal("other_browser", "came with another browser", claim.advice, title=OTHER_BROWSER)
        if not shown.digests and not claim.vouched:
            return Refusal("other_browser", "showed no secret", NOTHING_SHOWN, title=KEEPS_NOTHING)
        return None

    def damaged(self, claim: Claim, data: Mapping[str, Any], shown: Shown) -> Refusal | None:
        """Why ids of ours do not count: their signature is missing or wrong, and the browser is another one."""
        if self._signed is None or not self._signed.is_damaged(data):
            return None
        if self._book.holds_any(claim.things, shown):
            return None
        return Refusal("wrong_link", "ids of ours without their signature", DAMAGED, title=WRONG_ADDRESS)

    def hold(self, claim: Claim, data: dict[str, Any], shown: Shown) -> Refusal | None:
        """Remember whose this is from now on, and note in ``data`` whether it is the worker's first browser."""
        if not self._book.hold(claim.worker, claim.things, shown, also=claim.also):
            return Refusal("other_browser", "came with another browser", claim.advice, title=OTHER_BROWSER)
        data[KNOWN_BROWSER] = claim.vouched or not self._book.held_by_another(claim.also, shown)
        return None


def _thing(*parts: str) -> str:
    return json.dumps(parts)
