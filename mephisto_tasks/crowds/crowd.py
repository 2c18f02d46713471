"""The interface of crowds, the sources of raters. Each is one folder and one registration; no other code names it.

:class:`Crowd` is what it is and can do apart from any launch (None, empty or False: it cannot), :class:`CrowdLaunch` the
crowd during one. Both are light: a site's library is imported where it is used."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from omegaconf import DictConfig
from pydantic import BaseModel, Field

from mephisto_tasks.admission.visits import GO_ON_THERE, ClaimPolicy, Site
from mephisto_tasks.config.task import ConfigError, WorkerRules
from mephisto_tasks.payments.policy import DOLLARS, Quote, sign_of
from mephisto_tasks.server.hosts import ONLY_HERE, PagePolicy
from mephisto_tasks.storage.provider_names import CrowdError as CrowdError
from mephisto_tasks.storage.provider_names import Finding

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler

    from mephisto_tasks.admission.identity import Reception
    from mephisto_tasks.crowds.signing import SignedIds
    from mephisto_tasks.payments.ledger import Payer as Payer
    from mephisto_tasks.server.app import Guard
    from mephisto_tasks.workers.roster import SiteBlocks as SiteBlocks

Agree = Callable[[Quote], None]  # shows what a launch can cost; raises where nobody agrees
Waiting = Callable[[str], AbstractContextManager[None]]  # words for what is done → what is entered for as long as that


@dataclass(frozen=True)
class CrowdWords:
    """A crowd in sentences."""

    where: str  # in “49 units done …”: “on this machine”
    summary: str  # for the list of places in help, after its name
    unit: str = "assignment"  # what its site calls an offered unit
    link: str = "Link for raters:"  # what :meth:`.CrowdLaunch.raters_link` is


@dataclass(frozen=True)
class Market:
    """The operations of a crowd's site on the units of a launch."""

    lists_units: bool = False  # its site shows open units to workers, who take one before they see our page
    opens_at_once: bool = False  # there is nobody to ask: all units open, and close, at once
    lists_study: bool = False  # its site shows one study with places, which follow the open units

    @property
    def has_price(self) -> bool:
        """Whether its site is asked what a launch costs."""
        return self.lists_units or self.lists_study


@dataclass
class CrowdSetup:
    """A crowd's additions to the shared parts of a launch."""

    qualifications: list[dict[str, Any]] = field(default_factory=list)  # Mephisto's, which workers must have or lack
    site_requirements: list[dict[str, Any]] = field(default_factory=list)  # that its site checks, in the site's terms
    site: Site = field(default_factory=Site)  # where raters go in the end
    guard: Guard | None = None  # decides on access to the pages
    # Path → what answers the site's own calls (POST) there.
    site_calls: dict[str, Handler] = field(default_factory=dict)


class LaunchControl(Protocol):
    """A running launch, as a crowd's site steers it."""

    live_run: Any  # Mephisto's
    url: str  # of the raters' page

    @property
    def remaining(self) -> int: ...  # units of work still to be done
    @property
    def paused(self) -> bool: ...  # nobody new comes in

    def keep_open(self, *, besides: str = "") -> None:
        """Offer units until as many are open or under way as remain, without the one whose id is ``besides``."""


class SiteState(BaseModel, extra="forbid", frozen=True):
    """The state of a task at a crowd's site, as of the last request."""

    title: str
    status: str  # of what is offered there, in the site's word
    places: int
    taken: int
    at_work: int
    returned: int
    timed_out: int
    screened_out: int
    rejected: int
    approved: int
    waiting: int
    approved_by_itself_at: float | None = None  # when the site approves the first of those that are ``waiting``
    unread: int | None = None  # messages of its workers to the account; None: the site does not say


@dataclass(frozen=True)
class AccountCheck:
    """A site's answer about an account; ``wrong``: the answer was not as expected."""

    name: str
    provider: str
    endpoint: str = ""
    balance: Decimal | None = None
    wrong: str | None = None
    currency: str = DOLLARS
    workspace: str = ""  # whose balance it is, where the account's site has several: its name and its id

    def __str__(self) -> str:
        if self.wrong is not None:
            return f"{self.name} ({self.provider}): {self.wrong}"
        where = f"workspace {self.workspace}, " if self.workspace else ""
        balance = "" if self.balance is None else f"balance {sign_of(self.currency)}{self.balance:,.2f}"
        return f"{self.name} ({self.provider}): {where}{balance}, at {self.endpoint}"


class Accounts(Protocol):
    """Accounts at a crowd's site in whose name it is asked."""

    @property
    def words(self) -> Mapping[str, Any]:
        """Texts from its ``words.yaml``. ``key_words``: what each key is called, as they are asked for; the last one is
        a secret. ``needs``: for help, where they come from and what they must be allowed. ``no_keys``: that there are
        none, with ``{name}``; ``keys_advice``: what to do then. ``only_here``: a remark where they are the
        environment's."""

    def has_keys(self, name: str) -> bool: ...  # whether keys are kept under that name
    def needs_keys(self, name: str) -> bool: ...  # whether keys must be given: none are kept or in the environment

    def add(self, data_dir: Path, name: str, keys: tuple[str, ...] | None) -> str:
        """Register an account, or renew its keys; returns the name to launch with."""

    def check(self, name: str) -> list[AccountCheck]: ...  # ask the site, once for each balance that the account has

    def forget(self, name: str) -> str:
        """Delete the keys that are kept under that name; returns what was done, or why not, as a sentence."""

    def take_off(self, data_dir: Path, task_name: str) -> int:
        """Take off the market what launches of a task left there; returns how many units."""


InvitationState = Literal["open", "used", "full", "expired", "revoked"]


@dataclass(frozen=True)
class Person:
    """Somebody to invite; without an address, perhaps a class."""

    name: str
    email: str = ""


@dataclass(frozen=True)
class Invitation:
    """One link, good until ``expires``; ``worker`` None: a class has it, of ``seats`` people, of whom ``guests`` came."""

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

    def state(self, now: float) -> InvitationState:
        """The state to show. Reasons that make it useless come first. A class is open while it has places."""
        if self.revoked is not None:
            return "revoked"
        if self.expires <= now:
            return "expired"
        if self.seats is not None and self.guests >= self.seats:
            return "full"
        return "used" if self.guests and self.seats is None else "open"


class Invitations(Protocol):
    """The signed links of a study. What cannot be done raises a HumanevalError."""

    @property
    def lost_key(self) -> Path | None: ...  # the file of a key that is lost, without which no earlier link is valid
    def read_people(self, names: Path) -> list[Person]: ...  # those of a CSV file
    def trouble_of(self, person: Person) -> str | None: ...  # why nobody can be invited so, as a clause

    def invite_people(self, people: Sequence[Person], lasting_s: float) -> list[Invitation]:
        """A link for each person, all or none. A person whose link was not revoked keeps it, with a new end."""

    def invite_class(self, name: str, seats: int, lasting_s: float) -> Invitation:
        """One link for ``seats`` people. Under a name that has one already, it is that one, with new seats and a new end."""

    def all(self) -> list[Invitation]: ...  # oldest first
    def revoke(self, names: Sequence[str]) -> list[Invitation]: ...  # by names or addresses of people, all or none
    def link(self, invitation: Invitation, base: str) -> str: ...  # to a study whose pages are at ``base``


@dataclass(frozen=True)
class Freed:
    """Submissions that a site says are over."""

    freed: list[str]  # their place is for somebody else now
    done: list[str]
    """Returned at the panel, though their work was complete here: it stays, and is for you to leave out or to pay."""
    unknown: list[str]  # returned before they came here, or of another study


class Submissions(Protocol):
    """A site's export of a task's submissions, as a CSV file. Raises CrowdError."""

    def note(self, export: Path) -> None: ...  # what the site says of them, for ``pay`` to go by
    def free_returned(self, export: Path) -> Freed: ...  # free the work of those that are over, to be given out again


@dataclass(frozen=True)
class Trace:
    """Statements (SQL with its values) by which one store forgets a worker."""

    store: Path
    statements: Sequence[tuple[str, Sequence[Any]]]


@dataclass(frozen=True)
class Forgotten:
    """A worker whom a crowd's stores have to forget: altogether, or (``everywhere`` False) what they did in ``tasks``."""

    worker_id: str
    name: str
    tasks: list[str]
    agents: list[str]  # Mephisto's ids of their parts in units
    everywhere: bool = False


@runtime_checkable
class ExpiresRuns(Protocol):
    """A provider that takes all that a run offers off its market at once, instead of unit by unit."""

    def expire_run(self, task_run: Any) -> None:
        """Nobody new can take a unit of the run afterwards. Raises CrowdError naming what could not be taken off."""


class NoSettings(BaseModel):
    """A crowd without any settings below ``mephisto.provider``."""


class AccountSettings(BaseModel, use_attribute_docstrings=True):
    """Settings of crowds whose site is asked in an account's name, and paid."""

    requester_name: str = Field(default="", examples=["my_lab"])
    """Account that launches on the crowd's site, and pays. `parlai-humaneval requester add` registers it."""
    bonus_budget: float = Field(default=0, ge=0)
    """Budget for bonuses, included in the total of a launch. You agree to it before anything is spent, so bonuses come
    as no surprise."""


def cents_of(name: str, value: object, site: str) -> int:
    """An amount of the settings in hundredths. Raises ConfigError: the site cannot pay it."""
    try:
        hundredths = Decimal(str(value)) * 100
    except InvalidOperation:
        hundredths = Decimal("NaN")
    if not hundredths.is_finite() or hundredths < 0 or hundredths != int(hundredths):
        advice = "use at most two decimals, such as 1.50"
        raise ConfigError(f"{name}={value} is not an amount that {site} can pay", try_=advice)
    return int(hundredths)


@dataclass
class CrowdLaunch:
    """A crowd during one launch. Its methods are in the order in which a launch calls them."""

    crowd: Crowd
    config: DictConfig
    data_dir: Path
    task_name: str
    waiting_for: Waiting

    only_invited: ClassVar[bool] = False  # nobody comes in without an invitation

    @property
    def provider(self) -> DictConfig:
        """The settings of the crowd provider."""
        provider: DictConfig = self.config.mephisto.provider
        return provider

    @property
    def currency(self) -> str:
        """In which raters are promised their reward."""
        return DOLLARS

    @property
    def practice_pay(self) -> float:
        """The site's pay for raters who fail the practice; 0: nothing."""
        return 0.0

    def ask(self, units: int, rules: WorkerRules, agree: Agree | None, minutes: float | None = None) -> None:
        """Whether the crowd takes so many units; nothing is made. Raises CrowdError, ConfigError, what ``agree`` raises."""

    def agreed_to(self, quoted: Quote, agree: Agree | None) -> None:
        """Let whoever launches see the total, and agree where it is real money. Raises what ``agree`` does, CrowdError."""
        if agree is not None:
            agree(quoted)
        elif quoted.is_real:
            what = f"place={self.crowd.place} spends real money, but nobody has agreed to spend it"
            raise CrowdError(what, try_="launch with `parlai-humaneval launch`")
        if quoted.refusal is not None:
            raise CrowdError(quoted.refusal, try_=quoted.advice)

    def prepare(self, db: Any) -> list[str]:
        """Make the database ready for the crowd, and its site for the launch; what was done there, in sentences."""
        return []

    @cached_property
    def signed_ids(self) -> SignedIds | None:
        """Makes up raters' names where nobody else does."""
        return None

    def receive(self, db: Any) -> Reception | None:
        """Says who a visitor is, where the address of the page does."""
        return None

    def setup(self, db: Any) -> CrowdSetup:
        """The crowd's additions to the shared parts of a launch. Workers blocked by hand are turned away."""
        from mephisto.data_model.qualification import QUAL_NOT_EXIST
        from mephisto.utils.qualifications import make_qualification_dict

        made = [block for block in self.blocks if db.find_qualifications(block)]  # somebody was blocked at least once
        return CrowdSetup(qualifications=[make_qualification_dict(block, QUAL_NOT_EXIST, None) for block in made])

    @property
    def blocks(self) -> tuple[str, str]:
        """The qualifications of those who were blocked by hand: everywhere, and in this study."""
        from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE, blocked_here

        return BLOCKED_EVERYWHERE, blocked_here(self.task_name)

    def page_words(self) -> dict[str, Any]:
        """The crowd's data for the page."""
        return {}

    def raters_link(self, url: str, live_run: Any) -> str:
        """Where raters begin, given the address of the page."""
        return url

    def panel_link(self, url: str) -> str | None:
        """The link as it is entered at the site that sends the raters."""
        return None

    def running(self, control: LaunchControl) -> AbstractContextManager[Any]:
        """A context that lasts as long as raters are at work."""
        return nullcontext()


class Crowd:
    """A crowd, apart from any launch."""

    place: str  # the word of ``place=WORD``; a file of this name is in ``confs/place`` of the crowd's folder
    provider_type: str  # Mephisto's name, as databases have it
    title: str  # for people
    words: CrowdWords
    example: str = ""  # settings of a launch there, as they are typed
    Settings: type[BaseModel] = NoSettings  # what it reads below ``mephisto.provider``, with its documentation
    Launch: type[CrowdLaunch] = CrowdLaunch  # what it is during a launch
    literal_settings: tuple[str, ...] = ()
    """Settings that are taken letter by letter, though they may look like numbers; with a dot at its end, those below it."""
    page: PagePolicy = ONLY_HERE
    page_entry: Literal["address", "start", "site"] = "site"
    """How raters get from the page into the task: its address says who they are, they press Start, or they take a unit at
    the crowd's site first."""
    page_script: Path | None = None  # by which the page says who its rater is; None: that of Mephisto's provider
    market: Market = Market()
    is_practice: bool = False  # packaged config files promise no pay there, and nothing has to be paid
    is_trial: bool = False  # its site pays no real money
    costs_money: bool = False  # a launch spends real money at the crowd's site: somebody must agree first
    checks_rules: bool = False  # its site checks rules on who may take part, and has qualifications of its own
    claims_per_assignment: bool = False  # its workers may have another browser for each
    claim_advice: str = GO_ON_THERE  # for raters who come with another browser than before
    private_ids: tuple[str, ...] = ()  # regular expressions of its workers' ids, which no release may hold

    @property
    def confs(self) -> Path:
        """The folder of its ``place/WORD.yaml``."""
        return Path(inspect.getfile(type(self))).parent / "confs"

    @property
    def page_type(self) -> str:
        """The type by which pages of earlier versions know how raters come."""
        return self.provider_type

    @property
    def claims(self) -> ClaimPolicy:
        """The policy that binds workers to a browser."""
        return ClaimPolicy(self.provider_type, per_assignment=self.claims_per_assignment, advice=self.claim_advice)

    def register_provider(self) -> None:
        """Make Mephisto know its provider."""

    def takes(self, settings: Mapping[str, Any]) -> bool:
        """Whether a launch with these settings below ``mephisto.provider`` is of this crowd, of several of one type."""
        return True

    def status(self) -> str | None:
        """Why nobody should launch there any more, in a sentence; None: it is open."""
        return None

    def check(self, settings: Mapping[str, Any]) -> None:
        """Raises ConfigError where its settings cannot be."""

    def is_near(self, settings: Mapping[str, Any]) -> bool:
        """Whether raters may be in the same room, so that pages need no https address."""
        return False

    def stand_in(self) -> str | None:
        """The address of a program on this machine that answers in place of its site; None: the site itself does."""
        return None

    def remarks(self, rules: WorkerRules, settings: Mapping[str, Any]) -> list[str]:
        """Remarks on rules that the crowd's site checks differently, or that nobody checks."""
        from mephisto_tasks.admission.admission import PREFIX

        unchecked, advice = rules.checked_by_site().items(), self.who_checks(settings)
        return [f"A launch does not check that raters {words} ({PREFIX}{name}): {advice}." for name, words in unchecked]

    def who_checks(self, settings: Mapping[str, Any]) -> str:
        """Advice on such rules, as a clause."""
        return "invite only people who meet this rule"

    def quote_more(self, units: int, settings: Mapping[str, Any]) -> Quote | None:
        """What ``units`` more of a running launch can cost, by its flat settings; None: nothing real."""
        return None

    def launch(self, config: DictConfig, data_dir: Path, task_name: str, waiting_for: Waiting) -> CrowdLaunch:
        """The crowd during a launch."""
        return self.Launch(self, config, data_dir, task_name, waiting_for)

    def blocks(self) -> SiteBlocks | None:
        """Its own list of blocked workers."""
        return None

    def accounts(self) -> Accounts | None:
        """In whose name its site is asked."""
        return None

    def invitations(self, data_dir: Path, task_name: str) -> Invitations | None:
        """The links of a study by which its raters may come."""
        return None

    def submissions(self, data_dir: Path, task_name: str) -> Submissions | None:
        """Reads what its site exports."""
        return None

    def payer(self, data_dir: Path, task_name: str, requester: str, runs: Sequence[str]) -> Payer:
        """Pays for what was done in these runs of a task: by default with a list for whoever pays by hand."""
        from mephisto_tasks.crowds.by_file import FilePayer

        return FilePayer(data_dir, task_name, self.provider_type, requester, self.title)

    def site_states(self, data_dir: Path, task_name: str) -> list[SiteState]:
        """The state of a task at its site, for ``watch``; empty if it is unknown. Raises CrowdError."""
        return []

    def traces(self, data_dir: Path, person: Forgotten) -> list[Trace]:
        """Where its own stores name a worker who is forgotten."""
        return []

    def forget_there(self, data_dir: Path, person: Forgotten, *, stays_blocked: bool) -> list[str]:
        """Take a worker who is forgotten out of lists that we made at its site; what went wrong, in sentences."""
        return []

    def outside_ids(self, data_dir: Path, person: Forgotten) -> list[str]:
        """The site's ids of the worker's participations."""
        return []

    def people(self, data_dir: Path, tasks: Sequence[str], worker_name: str | None = None) -> list[str]:
        """Names and addresses of people that its own stores have: of one worker, or of all."""
        return []

    def health(self, data_dir: Path) -> list[Finding]:
        """For ``doctor``: what the site says of each account that is registered for it."""
        from mephisto_tasks.storage.results import requesters

        accounts, known, what = self.accounts(), requesters(data_dir), f"Provider {self.provider_type}"
        if accounts is None:
            return []
        if not known and self.costs_money:
            how = f"for {self.title}: parlai-humaneval requester add NAME --provider {self.place}"
            return [Finding(what, "ok", self.status() or how)]
        return [
            Finding(what, "ok", f"requester {seen}")
            if seen.wrong is None
            else Finding(what, "warning", f"requester {seen.name}", seen.wrong)
            for name, kind in known
            if kind == self.provider_type
            for seen in accounts.check(name)
        ]
