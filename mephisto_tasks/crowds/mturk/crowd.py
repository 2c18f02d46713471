"""Amazon's Mechanical Turk and its sandbox: sites that list HITs, with a check of the balance before a launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from omegaconf import DictConfig, OmegaConf

from mephisto_tasks.config.task import WorkerRules
from mephisto_tasks.crowds import crowd
from mephisto_tasks.crowds.crowd import CrowdLaunch
from mephisto_tasks.crowds.mturk.settings import CLOSED, MTURK, SANDBOX, MTurkSettings, asks_amazon
from mephisto_tasks.crowds.registry import opened, register_crowd
from mephisto_tasks.payments.policy import Quote
from mephisto_tasks.server.hosts import PagePolicy
from mephisto_tasks.storage.provider_names import plain_name
from parlai_humaneval._util.data_files import read_yaml
from parlai_humaneval._util.files import make_private_folder
from parlai_humaneval.i18n.translate import phrases

WORDS: dict[str, Any] = read_yaml(Path(__file__).with_name("words.yaml"))
STORE = "mturk.db"
PHRASES = phrases(__file__)


class MTurkCrowd(crowd.Crowd):
    Settings = MTurkSettings
    page = PagePolicy(
        frame_ancestors=("https://*.mturk.com", "https://*.mturkcontent.com", "https://*.amazon.com"),
        form_targets=("https://www.mturk.com", "https://*.mturk.com"),
        referrer="strict-origin-when-cross-origin",
    )
    market = crowd.Market(lists_units=True)
    checks_rules = claims_per_assignment = True
    claim_advice = PHRASES["go_on_there_on_mturk"]
    private_ids = (r"\bA[0-9A-Z]{12,14}\b",)

    def __init__(self, provider_type: str, title: str, words: crowd.CrowdWords, *, costs_money: bool) -> None:
        self.place = self.provider_type = provider_type
        self.title, self.words = title, words
        self.costs_money, self.is_trial = costs_money, not costs_money

    def register_provider(self) -> None:
        import mephisto_tasks.crowds.mturk.provider  # noqa: F401  (it registers both)

    def status(self) -> str | None:
        return CLOSED if asks_amazon() else None

    def stand_in(self) -> str | None:
        from mephisto_tasks.crowds.mturk.client import stand_in

        return stand_in(self.provider_type)

    def remarks(self, rules: WorkerRules, settings: Mapping[str, Any]) -> list[str]:
        from mephisto_tasks.admission.admission import PREFIX
        from mephisto_tasks.crowds.mturk.launch import MEPHISTOS_LOCALES

        if not self.costs_money or rules.locales:
            return []
        places = ", ".join(MEPHISTOS_LOCALES)
        return [f"Only workers in {places} will see the task (Mephisto's default). Set {PREFIX}locales to change this."]

    def quote_more(self, units: int, settings: Mapping[str, Any]) -> Quote | None:
        from mephisto_tasks.crowds.mturk.launch import fee_share, quote

        if not self.costs_money:
            return None
        return quote(
            self.provider_type,
            str(settings.get("provider.requester_name")),
            units=units,
            reward=Decimal(str(settings.get("task.task_reward"))),
            share=fee_share(bool(settings.get("blueprint.workers.masters"))),
        )

    def launch(self, config: DictConfig, data_dir: Path, task_name: str, waiting_for: crowd.Waiting) -> CrowdLaunch:
        from mephisto_tasks.crowds.mturk.launch import MTurkLaunch

        return MTurkLaunch(self, config, data_dir, task_name, waiting_for)

    def blocks(self) -> crowd.SiteBlocks | None:
        return MTurkBlocks()

    def accounts(self) -> crowd.Accounts | None:
        return MTurkAccounts(self.provider_type)

    def payer(self, data_dir: Path, task_name: str, requester: str, runs: Sequence[str]) -> crowd.Payer:
        from mephisto_tasks.crowds.mturk.payer import MTurkPayer
        from mephisto_tasks.storage.results import read_settings

        launched = read_settings(data_dir, task_name)
        masters_only = launched is not None and bool(launched.settings.get("blueprint.workers.masters"))
        return MTurkPayer(data_dir, self.provider_type, requester, runs, masters_only=masters_only)

    def traces(self, data_dir: Path, person: crowd.Forgotten) -> list[crowd.Trace]:
        if not person.agents:
            return []
        marks, agents = ", ".join("?" * len(person.agents)), tuple(person.agents)
        of_person = f"FROM agent_assignments WHERE agent_id IN ({marks})"
        theirs = f"assignment_id IN (SELECT assignment_id {of_person})"
        freed = f"UPDATE hits SET assignment_id = NULL, unit_id = NULL WHERE {theirs}"
        return [crowd.Trace(data_dir / self.provider_type / STORE, [(freed, agents), (f"DELETE {of_person}", agents)])]

    def outside_ids(self, data_dir: Path, person: crowd.Forgotten) -> list[str]:
        from mephisto_tasks.storage.results import rows_of

        marks = ", ".join("?" * len(person.agents))
        sql = f"SELECT assignment_id FROM agent_assignments WHERE agent_id IN ({marks})"
        rows = rows_of(data_dir / self.provider_type / STORE, "agent_assignments", sql, person.agents)
        return [str(assignment) for (assignment,) in rows]


@dataclass
class MTurkAccounts:
    """The accounts of one marketplace. It is an :class:`~mephisto_tasks.crowds.crowd.Accounts`."""

    provider: str
    words = WORDS

    def has_keys(self, name: str) -> bool:
        import boto3

        return plain_name(name) in boto3.Session().available_profiles

    def needs_keys(self, name: str) -> bool:
        from mephisto_tasks.crowds.mturk.client import keys_in_environment

        return not (self.has_keys(name) or keys_in_environment())

    def add(self, data_dir: Path, name: str, keys: tuple[str, ...] | None) -> str:
        """``name`` is also that of the AWS profile; Mephisto stores those of the sandbox with a suffix."""
        from mephisto_tasks.crowds.mturk.launch import stored_requester

        make_private_folder(data_dir)
        with opened(data_dir / "database.db") as db:
            stored = stored_requester(db, name, self.provider)
            if keys is not None:
                requester = db.find_requesters(requester_name=stored)[0]
                given = {"name": name, "access_key_id": keys[0], "secret_access_key": keys[1]}
                requester.register(OmegaConf.create(given))
                Path("~/.aws/credentials").expanduser().chmod(0o600)  # Mephisto leaves it readable for everybody
        return stored

    def check(self, name: str) -> list[crowd.AccountCheck]:
        from mephisto_tasks.crowds.mturk.client import BRIEF, MTurkError, balance, client_for, endpoint

        try:
            where = endpoint(self.provider)
            client = client_for(name, self.provider, BRIEF)
            return [crowd.AccountCheck(name=name, provider=self.provider, endpoint=where, balance=balance(client))]
        except MTurkError as error:
            return [crowd.AccountCheck(name=name, provider=self.provider, wrong=str(error))]

    def forget(self, name: str) -> str:
        kept = f"The keys of {name} belong to AWS, and other programs may use them"
        return f"{kept}. Delete the profile {plain_name(name)} from ~/.aws/credentials yourself."

    def take_off(self, data_dir: Path, task_name: str) -> int:
        """Raises ResultsError: there is no such task; MTurkError: HITs are still there."""
        from mephisto_tasks.crowds.mturk.launch import expire_left_over
        from mephisto_tasks.storage.results import stored_agents

        stored_agents(data_dir, task_name)
        with opened(data_dir / "database.db") as db:
            return expire_left_over(db, task_name, self.provider)


class MTurkBlocks:
    """Every account's list of workers who see none of its HITs any more."""

    title = "MTurk"

    def block(self, worker: Any, reason: str) -> list[str]:
        return list(self._ask(worker, lambda requester: worker.block_worker(reason, requester=requester)))

    def unblock(self, worker: Any) -> list[str]:
        return list(self._ask(worker, lambda requester: worker.unblock_worker("lifted by hand", requester)))

    def _ask(self, worker: Any, ask: Callable[[Any], object]) -> Iterator[str]:
        """Ask in the name of every requester; yields what went wrong, and asks the others as well."""
        from mephisto_tasks.crowds.mturk.client import asking

        requesters = worker.db.find_requesters(provider_type=worker.provider_type)
        if not requesters:
            yield "no MTurk account is registered (parlai-humaneval requester add)"
        for requester in requesters:
            try:
                with asking(f"change the account's blocks in the name of {requester.requester_name}"):
                    ask(requester)
            except crowd.CrowdError as error:
                yield str(error)


_LINK = "Workers find the HITs at:"
_MONEY = "spends real money on MTurk, after showing the total and asking you"
_NOTHING = "shows the same pages and spends nothing"
register_crowd(
    MTurkCrowd(MTURK, "MTurk", crowd.CrowdWords("on MTurk", _MONEY, "HIT", _LINK), costs_money=True),
    MTurkCrowd(
        SANDBOX, "MTurk's sandbox", crowd.CrowdWords("in MTurk's sandbox", _NOTHING, "HIT", _LINK), costs_money=False
    ),
)
