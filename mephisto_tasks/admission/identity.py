"""Checks before the database knows a page's worker: identity, one page per worker, consent, and free places."""

from __future__ import annotations

import hashlib
import json
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

from mephisto_tasks.admission.browsers import BrowserBook
from mephisto_tasks.admission.visits import ClaimPolicy, IsDamaged, PageRule, Refusal, Rule, Stage, StudyState, Visitor
from mephisto_tasks.storage.logs import CONSENTS, Agreement, keep_text
from mephisto_tasks.storage.provider_names import stored_names
from mephisto_tasks.storage.results import PSEUDONYM_KEY
from parlai_humaneval.i18n.translate import phrase, phrases
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.steps import Redirect

CONSENT = "consent"
"""In a registration: the version and digest that somebody agrees to. In its answer: the text that they are asked to read."""
AGREED = "agreed_to_consent"  # in what Mephisto passes on of a registration, where somebody has just agreed
WORDS = phrase("Please read this and decide whether you agree. Nothing about you is stored until you agree.")


class ConsentRule(Rule):
    """The consent text of a launch, and who agreed to it: asked before anything is kept of a visitor."""

    stages: ClassVar[tuple[Stage, ...]] = ("arrives", "registers")

    def __init__(self, consent: Consent | None, data_dir: Path, task_name: str) -> None:
        self._consent = consent
        self._data_dir, self._task_name = data_dir, task_name
        self._lock = threading.Lock()
        self._versions: dict[str, str] = {}  # pseudonym → the version that they agreed to last
        self._agreed: set[str] = set()
        if consent is None:
            return
        self._pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
        keep_text(data_dir, task_name, consent)
        for line in CONSENTS.read(data_dir, task_name):
            self._versions[line.worker] = line.version
            if line.digest == consent.digest:
                self._agreed.add(line.worker)

    def page_words(self) -> dict[str, Any]:
        return {} if self._consent is None else {"consent_form": self._consent.for_page()}

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if self._consent is None or visitor.at_work:
            return None
        if visitor.stage == "registers":
            if visitor.data.get(AGREED):
                self._note(visitor.pseudonym, self._consent)
            return None
        visitor.agreed = visitor.agrees_to == {"version": self._consent.version, "digest": self._consent.digest}
        return None if visitor.agreed else self._ask(visitor.worker_name, self._consent)

    def _ask(self, worker_name: str, consent: Consent) -> Refusal | None:
        """What somebody must agree to first; None: they did before."""
        names = [self._pseudonyms.worker(name) for name in stored_names(worker_name)]
        with self._lock:
            if not self._agreed.isdisjoint(names):
                return None
            before = next((self._versions[name] for name in names if name in self._versions), None)
        form = {**consent.for_page(), "agreed_before": before}
        return Refusal(CONSENT, "is asked to agree", WORDS, title=consent.title, turns_away=False, more={CONSENT: form})

    def _note(self, pseudonym: str, consent: Consent) -> None:
        with self._lock:
            if pseudonym in self._agreed:
                return
            agreement = Agreement(worker=pseudonym, version=consent.version, digest=consent.digest)
            CONSENTS.append(self._data_dir, agreement, task=self._task_name)
            self._agreed.add(pseudonym)
            self._versions[pseudonym] = agreement.version


SOONEST_AGAIN_S = 5.0
LATEST_AGAIN_S = 20.0
A_SECOND = 10  # so many pages that wait may ask again in one second, all together
MOST_REMEMBERED = 10_000  # so many of those who wait are known again; of more, some are counted twice
KEPT_S = 30.0
"""A place is kept so long for a worker who resumes a unit: their page asks again sooner, if it is still open."""

FULL_TITLE = phrase("The study is full right now")
PHRASES = phrases(__file__)
FULL = PHRASES["full"]
BUSY = PHRASES["busy"]


class OnePageRule(PageRule):
    """One page of a worker at a time may register or practise: a second one would be a second set of tries."""

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if visitor.at_work or not visitor.pages.has_another(visitor.worker_name):
            return None
        return Refusal("busy", "has another page of the study open", BUSY, passes=True, outcome=None)


class CapacityRule(PageRule):
    """Only so many are inside at once. The first free places are for workers who resume what was cut off."""

    def __init__(self, study: StudyState) -> None:
        self.study = study
        self._since: OrderedDict[str, float] = OrderedDict()  # when those who wait last asked
        self._resuming: dict[str, float] = {}  # the same of those among them who resume a unit

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if visitor.at_work:
            return None
        inside, ahead = visitor.pages.count_inside()
        most, are_kept = self.study.config.most_inside, self.study.keeps_places(ahead)
        who, now = visitor.known_as, time.monotonic()
        # For workers who resume a unit and asked not long ago
        kept = sum(other != who and at > now - KEPT_S for other, at in list(self._resuming.items()))
        if inside + kept < most and not are_kept:
            return None
        if self._resumes(visitor):
            if inside < most:
                return None
            self._resuming[who] = now
        if who not in self._since:
            self.study.presence.came()
            self.study.presence.waits()
        self._since[who] = now
        self._since.move_to_end(who)
        if len(self._since) > MOST_REMEMBERED:
            self._since.popitem(last=False)
        # They ask again not all at once, and the less often the more wait.
        waiting = sum(at > now - LATEST_AGAIN_S for at in list(self._since.values()))
        again = min(LATEST_AGAIN_S, max(SOONEST_AGAIN_S, waiting / A_SECOND)) * random.uniform(0.8, 1.2)
        why, again = f"{inside} are inside", round(again, 1)
        return Refusal("full", why, FULL, FULL_TITLE, passes=True, try_again_s=again, turns_away=False)

    def enter(self, visitor: Visitor) -> None:
        """The visitor waits no more: no rule has anything against them."""
        self._resuming.pop(visitor.known_as, None)
        has_waited = self._since.pop(visitor.known_as, None) is not None
        if not visitor.at_work and not has_waited:
            self.study.presence.came()

    def _resumes(self, visitor: Visitor) -> bool:
        study = self.study
        return any(
            (worker.db_id in study.left and study.can_resume(worker.db_id))
            or (study.keeps_places() and study.availability(worker.db_id) == "open")
            for worker in visitor.pages.find_workers(visitor.worker_name)
        )


KNOWN_BROWSER = "known_browser"
"""Key in the provider's data as Mephisto gets them: whether this is the worker's own browser, or their invitation.

A worker may come with another browser for another assignment or session. With what was begun in the first browser, only
that one goes on.
"""

STUDY = "study"
"""Key in a registration's data, in the page's configuration and in its address: which study the page is of."""
STUDY_OVER_TITLE = phrase("This study has ended")
STUDY_OVER = phrase("Your work is saved. Another study is open at this address now.")
OTHER_BROWSER = phrase("This task is open in another browser")
WRONG_ADDRESS = phrase("This address does not work")
KEEPS_NOTHING = phrase("Your browser does not store anything for this page")


class Reception(Protocol):
    """Receives the visitors of a crowd whose addresses say who they are."""

    def identify(self, visitor: Visitor) -> Refusal | None:
        """Fill in who the visitor says to be, and which visits they claim; a refusal says why the address names nobody."""

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
        """What somebody reads who cannot have come from there, by what their page registers with. Raises NotYetKnown."""


class IdentityRule(PageRule):
    """Compares a visitor with those who came before. Asked first: nobody else may learn how a worker fares, or change that.
    Raises BookUnusable."""

    def __init__(
        self,
        book: BrowserBook,
        claims: ClaimPolicy,
        damaged: IsDamaged | None = None,
        reception: Reception | None = None,
    ) -> None:
        self._book, self._claims, self._damaged, self._reception = book, claims, damaged, reception

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
            return Refusal("other_browser", "showed no secret", PHRASES["nothing_shown"], title=KEEPS_NOTHING)
        is_damaged = self._damaged is not None and self._damaged(visitor.data)
        if not is_damaged or self._book.holds_any(things, visitor.shown):
            return None
        return Refusal("wrong_link", "our ids without their signature", PHRASES["damaged"], title=WRONG_ADDRESS)

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


class StudyRule(PageRule):
    """Turns away pages that stayed open from another study, which was served at the same address."""

    def __init__(self, task_name: str) -> None:
        self.study = hashlib.sha256(task_name.encode()).hexdigest()[:16]

    def refusal(self, visitor: Visitor) -> Refusal | None:
        if visitor.data.get(STUDY, self.study) == self.study:
            return None
        why = "has a page of another study open"
        return Refusal("other_study", why, STUDY_OVER, STUDY_OVER_TITLE, outcome=None, turns_away=False)


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
