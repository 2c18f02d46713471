"""A rater's visit: the visitor behind an address, the questions and answers of rules, and the end of the visit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from mephisto_tasks.admission.browsers import Shown
from parlai_humaneval.i18n.translate import phrase, phrases, t
from parlai_humaneval.schema.wire import Redirect

if TYPE_CHECKING:
    from mephisto_tasks.config.task import TaskConfig
    from mephisto_tasks.control.snapshot import Presence

PHRASES = phrases(__file__)
RETURN_THE_TASK = phrase("return the task")
"""Every text that says so has a version for other crowds: see `instead_of_returning`."""
TAKE_ANEW = phrase("return the task and take it again")
OR_TAKE_ANEW = phrase(", or return the task and take it again")

Outcome = Literal["complete", "screened_out", "no_consent", "timed_out", "returned"]
"""Done; may not take part (a failed practice, say); did not want to; left, or was too slow; gave the task back."""

Parameters = Mapping[str, str]  # of one address, each name once

GO_ON_THERE = PHRASES["go_on_there"]


@dataclass(frozen=True)
class ClaimPolicy:
    """How the registrations of a crowd's workers are bound to a browser."""

    provider: str  # begins what a browser holds in the book, so it never changes
    per_assignment: bool = False  # workers may come with another browser for another assignment; only that one is bound
    advice: str = GO_ON_THERE  # what another browser of theirs reads


IsDamaged = Callable[[Mapping[str, Any]], bool]
"""Whether the ids of a registration are ours, or say so, without the signature that belongs to them."""


@dataclass(frozen=True)
class Arrival:
    """Somebody whom a door lets in. ``worker_name`` begins with the door's name and a colon, and is the same everywhere."""

    worker_name: str
    door: str
    study: str = ""  # the panel's id of its study, or the invitation's
    session: str = ""  # one participation as the panel counts it, with one unit; empty where nobody counts
    # The address holds a secret of theirs, so any browser may go on.
    vouched: bool = field(default=False, compare=False)

    @property
    def participant(self) -> str:
        """The panel's own id of the worker."""
        return self.worker_name.removeprefix(f"{self.door}:")


VisitStatus = Literal["here", "moved"] | Outcome
"""``here``: in the practice or at work. ``moved``: their work goes on under another session of theirs."""


@dataclass(frozen=True, kw_only=True)
class Visit(Arrival):
    """One participation. Times are seconds since the epoch."""

    visit_id: int
    registration: str  # what Mephisto knows the visitor's page by
    status: VisitStatus
    began: float
    ended: float | None = None
    agent_id: str | None = None  # None before they had a unit
    panel_status: str | None = None  # the panel's own word in the list read last


class Site:
    """Where raters come from, and go to in the end; here nobody sends them, or the crowd's own page takes them back."""

    def exit(self, worker_name: str, outcome: Outcome) -> Redirect | None:
        """A worker's visit ends so: where they go. None: they may close the page, or the crowd takes them back."""
        return None

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        """Words for a worker who goes that way; they are written for crowds whose tasks one returns."""
        return text

    def work_done(self, agent_id: str) -> None:
        """A worker has done their unit, or as much of it as could be done: they are paid for all of it."""


def instead_of_returning(text: str, what: str) -> str:
    """Words for a rater who is asked to do something else than to return the task, in the language in force."""
    return text.replace(t(TAKE_ANEW), what).replace(t(RETURN_THE_TASK), what)


def only_closing(text: str) -> str:
    """Words for a rater whom no site sent, and who has nothing to return."""
    return instead_of_returning(text.replace(t(OR_TAKE_ANEW), ""), t("close this page"))


Stage = Literal["arrives", "looks", "registers", "unserved"]
"""The page of somebody asks for work, and the database may not know them yet. They only look at what there is. The database
knows them, and no practice has begun. Mephisto found no unit for them."""


@dataclass(frozen=True)
class Refusal:
    """Why somebody cannot take part now."""

    kind: str  # the reason in a word, as it is stored and counted
    why: str  # the truth, for researchers; logged
    words: str  # what the rater reads, with its ``title``; without one, the page has its own
    title: str | None = None
    passes: bool = False  # the reason may be over in a minute, so that the rater may come back
    outcome: Outcome | None = "screened_out"  # for a panel; None: nothing, because the rater tries again
    redirect: Redirect | None = None  # where the rater goes, where the crowd has said so already
    try_again_s: float | None = None  # after so many seconds the page asks again by itself
    turns_away: bool = True  # False: they were asked something, or wait; nobody was sent away
    more: Mapping[str, Any] = field(default_factory=dict)  # further data for the page


class TurnedAway(Exception):
    """A door raises its :class:`Refusal`; ``words``, and the ``title`` of the page, are for the visitor: what to do."""

    def __init__(self, words: str, title: str = "") -> None:
        super().__init__(words)
        title = title or phrase("This link does not work")
        self.refusal = Refusal("wrong_link", "came with an address that is not valid", words, title)


class OnlyLooks(TurnedAway):
    """The visitor cannot take part, and may see what the task is: its preview, with the message next to the button."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        preview = {"preview": True}
        self.refusal = Refusal("preview", "looks at the preview", words, outcome=None, turns_away=False, more=preview)


class Pages(Protocol):
    """The pages that are open in a launch."""

    @property
    def provider(self) -> object: ...  # Mephisto's crowd provider
    def is_open(self, registration: str) -> bool: ...  # whether the page of this registration has work to go on with
    def release(self, registration: str) -> None: ...  # end the work of this registration: its rater gave it back
    def has_another(self, worker_name: str) -> bool: ...  # whether the worker registers or practises on another page

    def count_inside(self) -> tuple[int, int]:
        """How many workers register, practise or work, and how many of them have no unit yet."""

    def find_workers(self, worker_name: str) -> Sequence[Any]: ...  # Mephisto's workers whose page says this name


class StudyState(Protocol):
    """The state of a launch's work, for the rules. Workers go by Mephisto's ids."""

    config: TaskConfig  # its settings
    presence: Presence  # active raters
    left: Mapping[str, object]  # worker → the unit that they were cut off from, and may go on with

    @property
    def remaining(self) -> int: ...  # units that are still to be done
    @property
    def paused(self) -> bool: ...  # whether nobody new may begin

    @abstractmethod
    def in_words(self, text: str) -> str:
        """A text with what units are called, such as ``{many}``, in the language in force."""

    @abstractmethod
    def availability(self, worker: str) -> str:
        """Whether the worker can begin, apart from practice and blocks: open, busy, done_all, all_taken, or interrupted."""

    @abstractmethod
    def can_resume(self, worker: str) -> bool:
        """Whether the worker's next unit is one that was cut off, and no new one."""

    def keeps_places(self, ahead: int = 0) -> bool:
        """Whether all that is left is kept for now for workers who were cut off, or are ``ahead``."""

    def went_on_without(self, worker: str) -> bool:
        """Whether the worker was away for so long that their answers would come too late."""

    @abstractmethod
    def bar_groups(self, worker: str, groups: Collection[frozenset[str]]) -> None:
        """The worker rated just these models in another study, and is not to rate them here."""


@dataclass
class Visitor:
    """Somebody who asks to take part. Rules fill in what they find out."""

    pages: Pages
    data: dict[str, Any] = field(default_factory=dict)  # the crowd's part of a registration, as Mephisto gets it
    shown: Shown = field(default_factory=lambda: Shown(frozenset()))  # what the browser showed of itself
    agrees_to: object = None  # the consent text to which the page says yes, if any
    stage: Stage = "arrives"  # how far they have come
    worker: Any = None  # Mephisto's; None as long as nobody knows who they are
    worker_name: str = ""  # as their page or their address says
    known_as: str = ""  # by what they are known again while they wait outside
    arrival: Arrival | None = None  # of somebody who came by a link
    visits: Sequence[Visit] = ()  # the same person's, those that they claim, or go on with
    vouched: bool = False  # the address itself is their secret, so that any browser may go on with it
    at_work: bool = False  # their page has work to go on with
    agreed: bool = False  # they have just agreed to the consent text
    pseudonym: str = ""  # of ``worker``


class Rule(ABC):
    """One reason, or several of a kind, for which somebody may not take part. Asked by many threads at once."""

    stages: ClassVar[tuple[Stage, ...]] = ("looks", "registers", "unserved")
    """When it is asked; in the stages that stand here, there is a worker."""

    @abstractmethod
    def refusal(self, visitor: Visitor) -> Refusal | None:
        """Why the visitor cannot take part now; None: this rule has nothing against it."""


class PageRule(Rule):
    """A rule that a page is asked before the database knows its worker."""

    stages: ClassVar[tuple[Stage, ...]] = ("arrives",)
