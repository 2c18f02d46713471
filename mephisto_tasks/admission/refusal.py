"""What admission rules are asked about, and what they answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from mephisto_tasks.admission.browsers import Shown
from mephisto_tasks.admission.visits import Arrival, Outcome, Visit
from mephisto_tasks.admission.wording import UnitWords
from mephisto_tasks.config.task import TaskConfig
from parlai_humaneval.schema.steps import Redirect

Stage = Literal["arrives", "looks", "registers", "unserved"]
"""The page of somebody asks for work, and the database may not know them yet. They only look at what there is. The database
knows them, and no practice has begun. Mephisto found no unit for them."""


@dataclass(frozen=True)
class Refusal:
    """Why somebody cannot take part now.

    Args:
        kind: the reason in a word, as it is stored and counted.
        why: the truth, for researchers; logged.
        words: what the rater reads, with its ``title``; without one, the page has its own.
        passes: the reason may be over in a minute, so that the rater may come back.
        outcome: what a panel is told; None: nothing, for the rater stays and tries again.
        redirect: where the rater goes, where the crowd has said so already.
        try_again_s: after so many seconds the page asks again by itself.
        turns_away: False: they were asked something, or wait; nobody was sent away.
        more: what else the page is told.
    """

    kind: str
    why: str
    words: str
    title: str | None = None
    passes: bool = False
    outcome: Outcome | None = "screened_out"
    redirect: Redirect | None = None
    try_again_s: float | None = None
    turns_away: bool = True
    more: Mapping[str, Any] = field(default_factory=dict)


class Pages(Protocol):
    """The pages that are open in a launch."""

    @property
    def provider(self) -> object:
        """Mephisto's crowd provider."""

    def is_open(self, registration: str) -> bool:
        """Whether the page of this registration has work to go on with."""

    def release(self, registration: str) -> None:
        """End the work of this registration: its rater gave it back."""

    def has_another(self, worker_name: str) -> bool:
        """Whether the worker registers or practises on another page."""

    def count_inside(self) -> tuple[int, int]:
        """How many workers register, practise or work, and how many of them have no unit yet."""

    def find_workers(self, worker_name: str) -> Sequence[Any]:
        """Mephisto's workers whose page says this name."""


class StudyState(Protocol):
    """What rules ask a launch about its work. Workers go by Mephisto's ids."""

    @property
    def config(self) -> TaskConfig:
        """Its settings."""

    @property
    def unit_words(self) -> UnitWords:
        """What a unit is called."""

    @property
    def remaining(self) -> int:
        """Units that are still to be done."""

    @property
    def paused(self) -> bool:
        """Whether nobody new may begin."""

    @property
    def left(self) -> Mapping[str, object]:
        """Worker → the unit that they were cut off from, and may go on with."""

    def availability(self, worker: str) -> str:
        """Whether the worker can begin: open, busy, done_all, all_taken, or interrupted."""

    def goes_on(self, worker: str) -> bool:
        """Whether the worker's next unit is one that was cut off, and no new one."""

    def keeps_places(self, ahead: int = 0) -> bool:
        """Whether all that is left is kept for now for workers who were cut off, or are ``ahead``."""

    def went_on_without(self, worker: str) -> bool:
        """Whether the worker was away for so long that their answers would come too late."""

    def bar_groups(self, worker: str, groups: Collection[frozenset[str]]) -> None:
        """Keep the worker from rating just these models."""


@dataclass
class Visitor:
    """Somebody who asks to take part. Rules fill in what they find out.

    Args:
        pages: of the launch.
        data: the crowd's part of a registration, as Mephisto gets it in the end.
        shown: what the browser showed of itself.
        agrees_to: the consent text to which the page says yes, if any.
        stage: how far they have come.
        worker: Mephisto's; None as long as nobody knows who they are.
        worker_name: as their page or their address says.
        known_as: by what they are known again while they wait outside.
        arrival: of somebody who came by a link.
        visits: the same person's, those that they claim, or go on with.
        vouched: the address itself is their secret, so that any browser may go on with it.
        at_work: their page has work to go on with.
        agreed: they have just agreed to the consent text.
        pseudonym: of ``worker``.
    """

    pages: Pages
    data: dict[str, Any] = field(default_factory=dict)
    shown: Shown = field(default_factory=lambda: Shown(frozenset()))
    agrees_to: object = None
    stage: Stage = "arrives"
    worker: Any = None
    worker_name: str = ""
    known_as: str = ""
    arrival: Arrival | None = None
    visits: Sequence[Visit] = ()
    vouched: bool = False
    at_work: bool = False
    agreed: bool = False
    pseudonym: str = ""


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
