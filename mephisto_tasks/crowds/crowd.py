"""The seam: a crowd is where raters come from. One folder and one registration each; nobody else asks which it is.

A :class:`Crowd` says what a crowd is and can do, apart from any launch: what it cannot do is None, empty or False in it.
Its :class:`CrowdLaunch` is the crowd during one launch. Both are light: a site's library is imported where it is used.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from mephisto_tasks.admission.visits import ClaimPolicy
from mephisto_tasks.config.worker_rules import WorkerRules
from mephisto_tasks.crowds.base import (
    Accounts,
    Agree,
    CrowdError,
    CrowdSetup,
    CrowdWords,
    Forgotten,
    Health,
    LaunchControl,
    Market,
    SiteBlocks,
    SiteState,
    Trace,
    Waiting,
)
from mephisto_tasks.payments.quote import DOLLARS
from mephisto_tasks.server.page_policy import ONLY_HERE, PagePolicy
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE, blocked_here

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mephisto_tasks.admission.identity import Reception
    from mephisto_tasks.crowds.signing import SignedIds
    from mephisto_tasks.payments.payer import Payer
    from mephisto_tasks.payments.quote import Quote


class NoSettings(BaseModel):
    """A crowd without any settings below ``mephisto.provider``."""


class AccountSettings(BaseModel):
    """Settings of crowds whose site is asked in an account's name, and paid."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    requester_name: str = Field(default="", examples=["my_lab"])
    """The account that launches, where the crowd's site is asked in its name. It is the one that pays;
    `parlai-humaneval requester add` registers it."""
    bonus_budget: float = Field(default=0, ge=0)
    """Set aside for bonuses, and shown in the total of a launch. It is asked about before anything is spent, so that
    bonuses surprise nobody."""


class Crowd:
    """A crowd, apart from any launch."""

    place: str
    """The word of ``place=WORD``; a file of this name is in ``confs/place`` of the crowd's folder."""
    provider_type: str
    """Mephisto's name, as databases have it."""
    title: str
    """For people."""
    words: CrowdWords
    example: str = ""
    """Settings of a launch there, as they are typed."""
    Settings: type[BaseModel] = NoSettings
    """What it reads below ``mephisto.provider``, with its documentation."""
    literal_settings: tuple[str, ...] = ()
    """Settings that are taken letter by letter, though they may look like numbers; with a dot at its end, those below it."""
    page: PagePolicy = ONLY_HERE
    page_entry: Literal["address", "start", "site"] = "site"
    """How raters get from the page into the task: its address says who they are, they press Start, or they take a unit at
    the crowd's site first."""
    market: Market = Market()
    takes_invitations: bool = False
    """Raters may come with invitations."""
    is_practice: bool = False
    """Raters only try the study out: nobody is told to pay them."""
    is_trial: bool = False
    """Its site pays no real money."""
    costs_money: bool = False
    """A launch spends real money at the crowd's site: somebody must agree first."""
    checks_rules: bool = False
    """Its site checks rules on who may take part, and has qualifications of its own."""
    private_ids: tuple[str, ...] = ()
    """Regular expressions of its workers' ids, which no release may hold."""

    @property
    def confs(self) -> Path:
        """The folder of its ``place/WORD.yaml``."""
        return Path(inspect.getfile(type(self))).parent / "confs"

    @property
    def page_script(self) -> Path | None:
        """By which the page says who its rater is; None: that of Mephisto's provider."""
        return None

    @property
    def page_type(self) -> str:
        """By which pages of earlier versions know how raters come."""
        return self.provider_type

    @property
    def claims(self) -> ClaimPolicy:
        """What binds its workers to a browser."""
        return ClaimPolicy(self.provider_type)

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
        """What one should know of rules that the crowd's site checks otherwise, or that nobody checks."""
        from mephisto_tasks.admission.eligibility import PREFIX

        return [
            f"Nobody checks here that workers {words} ({PREFIX}{name}): {self.who_checks(settings)}."
            for name, words in rules.checked_by_site().items()
        ]

    def who_checks(self, settings: Mapping[str, Any]) -> str:
        """What to do about such rules, as a clause."""
        return "invite only people of whom you know it"

    def quote_more(self, units: int, settings: Mapping[str, Any]) -> Quote | None:
        """What ``units`` more of a running launch can cost, by its flat settings; None: nothing real."""
        return None

    def launch(self, config: DictConfig, data_dir: Path, task_name: str, waiting_for: Waiting) -> CrowdLaunch:
        """The crowd during a launch."""
        return CrowdLaunch(self, config, data_dir, task_name, waiting_for)

    def blocks(self) -> SiteBlocks | None:
        """Its own list of blocked workers."""
        return None

    def accounts(self) -> Accounts | None:
        """In whose name its site is asked."""
        return None

    def payer(self, data_dir: Path, task_name: str, requester: str, runs: Sequence[str]) -> Payer:
        """Pays for what was done in these runs of a task: by default with a list for whoever pays by hand."""
        from mephisto_tasks.crowds.by_file import FilePayer

        return FilePayer(data_dir, task_name, self.provider_type, requester, self.title)

    def site_states(self, data_dir: Path, task_name: str) -> list[SiteState]:
        """How a task stands at its site, for ``watch``, which asks once a minute; empty where nobody can say.

        Raises:
            CrowdError: the site could not be asked.
        """
        return []

    def traces(self, data_dir: Path, person: Forgotten) -> list[Trace]:
        """Where its own stores name a worker who is forgotten."""
        return []

    def forget_there(self, data_dir: Path, person: Forgotten, *, stays_blocked: bool) -> list[str]:
        """Take a worker who is forgotten out of lists that we made at its site; what went wrong, in sentences."""
        return []

    def outside_ids(self, data_dir: Path, person: Forgotten) -> list[str]:
        """What its site calls the worker's participations."""
        return []

    def people(self, data_dir: Path, tasks: Sequence[str], worker_name: str | None = None) -> list[str]:
        """Names and addresses of people that its own stores have: of one worker, or of all."""
        return []

    def health(self, data_dir: Path) -> list[Health]:
        """For ``doctor``."""
        return []


@dataclass
class CrowdLaunch:
    """A crowd during one launch. Its methods stand in the order in which a launch calls them.

    Args:
        crowd: which.
        config: of the launch, ``mephisto`` and all.
        data_dir: of the launch.
        task_name: of the launch.
        waiting_for: says what takes its time.
    """

    crowd: Crowd
    config: DictConfig
    data_dir: Path
    task_name: str
    waiting_for: Waiting

    only_invited: ClassVar[bool] = False
    """Nobody comes in without an invitation."""

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
        """What the crowd's site pays to raters who fail the practice; 0: nothing."""
        return 0.0

    def ask(self, units: int, rules: WorkerRules, agree: Agree | None, minutes: float | None = None) -> None:
        """Whether the crowd takes so many units, before models take minutes to load. Nothing is made there.

        Raises:
            CrowdError, ConfigError: it does not, and why; or what ``agree`` raises.
        """

    def agreed_to(self, quoted: Quote, agree: Agree | None) -> None:
        """Let whoever launches see the total, and agree where it is real money.

        Raises:
            what ``agree`` does; CrowdError: nobody agreed, or something stands against it.
        """
        if agree is not None:
            agree(quoted)
        elif quoted.is_real:
            raise CrowdError(
                f"place={self.crowd.place} spends real money, and nobody has agreed to it",
                try_="launch with `parlai-humaneval launch`",
            )
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
        """What the crowd adds to what a launch's parts share; whoever was blocked by hand is turned away everywhere."""
        from mephisto.data_model.qualification import QUAL_NOT_EXIST
        from mephisto.utils.qualifications import make_qualification_dict

        made = [block for block in self.blocks if db.find_qualifications(block)]  # somebody was blocked at least once
        return CrowdSetup(qualifications=[make_qualification_dict(block, QUAL_NOT_EXIST, None) for block in made])

    @property
    def blocks(self) -> tuple[str, str]:
        """The qualifications of those who were blocked by hand: everywhere, and in this study."""
        return BLOCKED_EVERYWHERE, blocked_here(self.task_name)

    def page_words(self) -> dict[str, Any]:
        """What the page is told of the crowd."""
        return {}

    def raters_link(self, url: str, live_run: Any) -> str:
        """Where raters begin, given the address of the page."""
        return url

    def panel_link(self, url: str) -> str | None:
        """The link as it is entered at the site that sends the raters."""
        return None

    def running(self, control: LaunchControl) -> AbstractContextManager[Any]:
        """What has to be done for as long as raters are at work."""
        return nullcontext()
