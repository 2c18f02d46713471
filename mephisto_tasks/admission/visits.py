"""A rater's visit: who comes by an address, what binds them to a browser, how the visit ends, and where they go then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from mephisto_tasks.admission.wording import RETURN_THE_TASK, TAKE_ANEW
from parlai_humaneval.i18n.translate import phrase, t
from parlai_humaneval.schema.steps import Redirect

Outcome = Literal["complete", "screened_out", "no_consent", "timed_out", "returned"]
"""Done; may not take part (a failed practice, say); did not want to; left, or was too slow; gave the task back."""

Parameters = Mapping[str, str]
"""Of one address, each name once."""

GO_ON_THERE = phrase(
    "Please go on in the browser, and on the device, in which you began: everything that you did there is kept. If you "
    "have not begun anything, open the link of the study once more as it was given to you, and press Start."
)


@dataclass(frozen=True)
class ClaimPolicy:
    """How the registrations of a crowd's workers are bound to a browser.

    Args:
        provider: begins what a browser holds in the book, so it never changes.
        per_assignment: workers may come with another browser for another assignment; only that one is bound.
        advice: what another browser of theirs reads.
    """

    provider: str
    per_assignment: bool = False
    advice: str = GO_ON_THERE


class Signer(Protocol):
    """Knows the ids that this server made up."""

    def is_damaged(self, provider_data: Mapping[str, Any]) -> bool:
        """Whether the ids are ours, or say so, without the signature that belongs to them."""


class TurnedAway(Exception):
    """The visitor cannot come in; the message is a kind sentence for them that says what to do.

    ``title``: of the page that says so; empty: that of links which do not work.
    """

    def __init__(self, words: str, title: str = "") -> None:
        super().__init__(words)
        self.title = title


class OnlyLooks(TurnedAway):
    """The visitor cannot take part, and may see what the task is: its preview, with the message beside the button."""


@dataclass(frozen=True)
class Arrival:
    """Somebody whom a door lets in.

    ``worker_name`` is their name in Mephisto's database: the same person has the same over links, studies of the panel
    and launches. It begins with the door's name and a colon, so that ids of two panels never mean one person.

    ``session`` is one participation as the panel counts it: there is one unit for each. Empty where nobody counts them:
    then the person may do another unit as soon as one is done, up to the study's limits.
    ``study`` is the panel's id of its study, or that of the invitation.
    ``vouched``: only they have this address, as it holds a secret of theirs; so they may go on in any browser.
    """

    worker_name: str
    door: str
    study: str = ""
    session: str = ""
    vouched: bool = field(default=False, compare=False)


VisitStatus = Literal["here", "moved"] | Outcome
"""``here``: in the practice or at work. ``moved``: their work goes on under another session of theirs."""


@dataclass(frozen=True)
class Visit:
    """One participation: a session of a panel, or one unit of somebody whom no panel counts.

    ``registration`` is what Mephisto knows the visitor's page by; ``agent_id`` is of their unit, None before they had one.
    ``began`` and ``ended`` are seconds since the epoch. ``panel_status``: the panel's own word, as its list had it when
    that was read last; None: no list had the session.
    """

    visit_id: int
    arrival: Arrival
    registration: str
    status: VisitStatus
    began: float
    ended: float | None = None
    agent_id: str | None = None
    panel_status: str | None = None

    @property
    def worker_name(self) -> str:
        return self.arrival.worker_name

    @property
    def participant(self) -> str:
        """The panel's own id of the worker."""
        return self.arrival.worker_name.removeprefix(f"{self.arrival.door}:")

    @property
    def session(self) -> str:
        return self.arrival.session

    @property
    def study(self) -> str:
        return self.arrival.study


class Site(Protocol):
    """Where raters come from, and go to in the end."""

    def exit(self, worker_name: str, outcome: Outcome) -> Redirect | None:
        """A worker's visit ends so: where they go. None: they may close the page, or the crowd takes them back."""

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        """Words for a worker who goes that way; they are written for crowds whose tasks one returns."""

    def work_done(self, agent_id: str) -> None:
        """A worker has done their unit, or as much of it as could be done: they are paid for all of it."""


class NoSite:
    """Raters come by themselves, or the crowd's own page takes them back."""

    def exit(self, worker_name: str, outcome: Outcome) -> Redirect | None:
        return None

    def for_them(self, worker_name: str, text: str, redirect: Redirect | None) -> str:
        return text

    def work_done(self, agent_id: str) -> None:
        """Nobody waits to hear it."""


def instead_of_returning(text: str, what: str) -> str:
    """Words for a rater who is asked to do something else than to return the task, in the language in force."""
    return text.replace(t(TAKE_ANEW), what).replace(t(RETURN_THE_TASK), what)
