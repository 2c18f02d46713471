"""What a crowd says of itself and gives to a launch: small types, without any site's name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from mephisto_tasks.admission.visits import NoSite, Site
from mephisto_tasks.payments.quote import DOLLARS, Quote, sign_of
from mephisto_tasks.storage.crowd_errors import CrowdError, NotYetKnown
from mephisto_tasks.workers.lists import SiteBlocks

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler

    from mephisto_tasks.server.app import Guard

__all__ = ["CrowdError", "NotYetKnown", "SiteBlocks"]

Agree = Callable[[Quote], None]
"""Shows what a launch can cost. Raises where nobody agrees."""
Waiting = Callable[[str], AbstractContextManager[None]]
"""Makes, of words for what is done, what is entered for as long as that takes."""


@dataclass(frozen=True)
class CrowdWords:
    """A crowd in sentences.

    Args:
        where: in “49 units done …”: “on this machine”.
        summary: for the list of places in help, after its name.
        unit: what its site calls an offered unit.
        link: what :meth:`.CrowdLaunch.raters_link` is.
    """

    where: str
    summary: str
    unit: str = "unit"
    link: str = "Link for raters:"


@dataclass(frozen=True)
class Market:
    """What a crowd's site can do with the units of a launch.

    Args:
        lists_units: its site shows open units to workers, who take one before they see our page.
        opens_at_once: there is nobody to ask: all units open, and close, at once.
        lists_study: its site shows one study with places, which follow the open units.
    """

    lists_units: bool = False
    opens_at_once: bool = False
    lists_study: bool = False

    @property
    def has_price(self) -> bool:
        """Whether its site is asked what a launch costs."""
        return self.lists_units or self.lists_study


@dataclass
class CrowdSetup:
    """What a crowd adds to what the parts of a launch share.

    Args:
        qualifications: Mephisto's, which workers must have or lack.
        site_requirements: those that its site checks, in the site's terms.
        site: where raters go in the end.
        guard: who may see the pages.
        site_calls: path → what answers the calls (POST) that the site itself makes to us there.
    """

    qualifications: list[dict[str, Any]] = field(default_factory=list)
    site_requirements: list[dict[str, Any]] = field(default_factory=list)
    site: Site = field(default_factory=NoSite)
    guard: Guard | None = None
    site_calls: dict[str, Handler] = field(default_factory=dict)


class LaunchControl(Protocol):
    """A running launch, as a crowd's site steers it."""

    live_run: Any
    """Mephisto's."""
    url: str
    """Of the raters' page."""

    @property
    def remaining(self) -> int:
        """Units of work still to be done."""

    @property
    def paused(self) -> bool:
        """Nobody new comes in."""

    def keep_open(self, *, besides: str = "") -> None:
        """Offer units until as many are open or under way as remain, without the one whose id is ``besides``."""

    def note_paid_in_vain(self) -> None:
        """A unit was paid on the site, and still has to be done."""


class SiteState(BaseModel):
    """How a task stands at a crowd's site, as it was asked last. ``status``: of what is offered there, in the site's word.

    ``approved_by_itself_at``: when the site approves the first of those that are ``waiting``, in seconds since the epoch.
    ``unread``: messages of its workers to the account; None: the site does not say.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str
    status: str
    places: int
    taken: int
    at_work: int
    returned: int
    timed_out: int
    screened_out: int
    rejected: int
    approved: int
    waiting: int
    approved_by_itself_at: float | None = None
    unread: int | None = None


@dataclass(frozen=True)
class AccountCheck:
    """What a site said when it was asked in an account's name; ``wrong`` where it did not answer as it should.

    ``workspace``: whose balance it is, where the account's site has several; its name and its id.
    """

    name: str
    provider: str
    endpoint: str = ""
    balance: Decimal | None = None
    wrong: str | None = None
    currency: str = DOLLARS
    workspace: str = ""

    def __str__(self) -> str:
        if self.wrong is not None:
            return f"{self.name} ({self.provider}): {self.wrong}"
        where = f"workspace {self.workspace}, " if self.workspace else ""
        balance = "" if self.balance is None else f"balance {sign_of(self.currency)}{self.balance:,.2f}"
        return f"{self.name} ({self.provider}): {where}{balance}, at {self.endpoint}"


class Accounts(Protocol):
    """Accounts at a crowd's site in whose name it is asked.

    ``key_words``: what each key is called, in the order in which they are asked for; the last one is a secret.
    ``needs``: for help, where the keys come from and what they must be allowed. ``no_keys``: that there are none, with
    ``{name}``, and ``keys_advice`` what to do. ``only_here``: a remark where the keys are the environment's.
    """

    key_words: tuple[str, ...]
    needs: str
    no_keys: str
    keys_advice: str
    only_here: str

    def has_keys(self, name: str) -> bool:
        """Whether keys are kept under that name."""

    def needs_keys(self, name: str) -> bool:
        """Whether keys must be given: none are kept or in the environment."""

    def add(self, data_dir: Path, name: str, keys: tuple[str, ...] | None) -> str:
        """Register an account, or renew its keys; returns the name to launch with."""

    def check(self, name: str) -> list[AccountCheck]:
        """Ask the site in an account's name, once for each balance that it has."""

    def forget(self, name: str) -> str:
        """Delete the keys that are kept under that name; returns what was done, or why not, as a sentence."""

    def take_off(self, data_dir: Path, task_name: str) -> int:
        """Take off the market what launches of a task left there; returns how many units."""


@dataclass(frozen=True)
class Health:
    """One line of ``doctor``."""

    what: str
    status: Literal["ok", "warning", "error"]
    text: str
    advice: str = ""


@dataclass(frozen=True)
class Trace:
    """Statements by which one store forgets a worker. ``statements``: SQL with its values."""

    store: Path
    statements: Sequence[tuple[str, Sequence[Any]]]


@dataclass(frozen=True)
class Forgotten:
    """A worker whom a crowd's stores have to forget: altogether, or (``everywhere`` False) what they did in ``tasks``.

    ``agents``: Mephisto's ids of their parts in units.
    """

    worker_id: str
    name: str
    tasks: list[str]
    agents: list[str]
    everywhere: bool = False


@runtime_checkable
class ExpiresRuns(Protocol):
    """A provider that takes all that a run offers off its market at once, instead of unit by unit."""

    def expire_run(self, task_run: Any) -> None:
        """Nobody new can take a unit of the run afterwards. Raises CrowdError naming what could not be taken off."""
