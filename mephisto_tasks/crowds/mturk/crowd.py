"""Amazon's Mechanical Turk and its sandbox: sites that list HITs, and that are asked for money before anything is made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mephisto_tasks.admission.visits import ClaimPolicy
from mephisto_tasks.config.worker_rules import WorkerRules
from mephisto_tasks.crowds.base import (
    Accounts,
    CrowdError,
    CrowdWords,
    Forgotten,
    Health,
    Market,
    SiteBlocks,
    Trace,
    Waiting,
)
from mephisto_tasks.crowds.crowd import Crowd
from mephisto_tasks.crowds.mturk.settings import CLOSED, MTurkSettings, asks_amazon
from mephisto_tasks.crowds.registry import register_crowd
from mephisto_tasks.server.page_policy import PagePolicy
from mephisto_tasks.storage.provider_names import MTURK, SANDBOX
from parlai_humaneval.i18n.translate import phrase

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mephisto_tasks.crowds.crowd import CrowdLaunch
    from mephisto_tasks.payments.payer import Payer
    from mephisto_tasks.payments.quote import Quote

STORE = "mturk.db"
GO_ON_THERE_ON_MTURK = phrase(
    "Please go on in the browser, and on the device, in which you began: everything that you did there is kept. If you "
    "cannot, return the HIT and accept it anew here: that does not count against you."
)


class MTurkCrowd(Crowd):
    """One of the two marketplaces."""

    Settings = MTurkSettings
    page = PagePolicy(
        frame_ancestors=("https://*.mturk.com", "https://*.mturkcontent.com", "https://*.amazon.com"),
        form_targets=("https://www.mturk.com", "https://*.mturk.com"),
        referrer="strict-origin-when-cross-origin",
    )
    market = Market(lists_units=True)
    checks_rules = True
    private_ids = (r"\bA[0-9A-Z]{12,14}\b",)

    def __init__(self, provider_type: str, title: str, words: CrowdWords, *, costs_money: bool) -> None:
        self.place = self.provider_type = provider_type
        self.title, self.words = title, words
        self.costs_money, self.is_trial = costs_money, not costs_money

    @property
    def claims(self) -> ClaimPolicy:
        return ClaimPolicy(self.provider_type, per_assignment=True, advice=GO_ON_THERE_ON_MTURK)

    def register_provider(self) -> None:
        import mephisto_tasks.crowds.mturk.provider  # noqa: F401  (it registers both)

    def status(self) -> str | None:
        return CLOSED if asks_amazon() else None

    def stand_in(self) -> str | None:
        from mephisto_tasks.crowds.mturk.client import stand_in

        return stand_in(self.provider_type)

    def remarks(self, rules: WorkerRules, settings: Mapping[str, Any]) -> list[str]:
        from mephisto_tasks.admission.eligibility import PREFIX
        from mephisto_tasks.crowds.mturk.requirements import MEPHISTOS_LOCALES

        if not self.costs_money or rules.locales:
            return []
        places = ", ".join(MEPHISTOS_LOCALES)
        return [f"Only workers in {places} will see the task (Mephisto's choice); others: {PREFIX}locales=[…]."]

    def quote_more(self, units: int, settings: Mapping[str, Any]) -> Quote | None:
        from mephisto_tasks.crowds.mturk.cost import fee_share, quote

        if not self.costs_money:
            return None
        return quote(
            self.provider_type,
            str(settings.get("provider.requester_name")),
            units=units,
            reward=Decimal(str(settings.get("task.task_reward"))),
            share=fee_share(bool(settings.get("blueprint.workers.masters"))),
        )

    def launch(self, config: DictConfig, data_dir: Path, task_name: str, waiting_for: Waiting) -> CrowdLaunch:
        from mephisto_tasks.crowds.mturk.launch import MTurkLaunch

        return MTurkLaunch(self, config, data_dir, task_name, waiting_for)

    def blocks(self) -> SiteBlocks | None:
        return MTurkBlocks()

    def accounts(self) -> Accounts | None:
        from mephisto_tasks.crowds.mturk.requesters import MTurkAccounts

        return MTurkAccounts(self.provider_type)

    def payer(self, data_dir: Path, task_name: str, requester: str, runs: Sequence[str]) -> Payer:
        from mephisto_tasks.crowds.mturk.payer import MTurkPayer
        from mephisto_tasks.storage.run_settings import read_settings

        launched = read_settings(data_dir, task_name)
        masters_only = launched is not None and bool(launched.settings.get("blueprint.workers.masters"))
        return MTurkPayer(data_dir, self.provider_type, requester, runs, masters_only=masters_only)

    def traces(self, data_dir: Path, person: Forgotten) -> list[Trace]:
        if not person.agents:
            return []
        marks, agents = ", ".join("?" * len(person.agents)), tuple(person.agents)
        of_person = f"FROM agent_assignments WHERE agent_id IN ({marks})"
        return [
            Trace(
                data_dir / self.provider_type / STORE,
                [
                    (
                        "UPDATE hits SET assignment_id = NULL, unit_id = NULL WHERE assignment_id IN "
                        f"(SELECT assignment_id {of_person})",
                        agents,
                    ),
                    (f"DELETE {of_person}", agents),
                ],
            )
        ]

    def outside_ids(self, data_dir: Path, person: Forgotten) -> list[str]:
        from mephisto_tasks.storage.results import rows_of

        marks = ", ".join("?" * len(person.agents))
        sql = f"SELECT assignment_id FROM agent_assignments WHERE agent_id IN ({marks})"
        rows = rows_of(data_dir / self.provider_type / STORE, "agent_assignments", sql, person.agents)
        return [str(assignment) for (assignment,) in rows]

    def health(self, data_dir: Path) -> list[Health]:
        from mephisto_tasks.storage.results import requesters

        what, accounts = f"Provider {self.provider_type}", self.accounts()
        assert accounts is not None
        known = requesters(data_dir) if (data_dir / "database.db").exists() else []
        names = [name for name, kind in known if kind == self.provider_type]
        if not known and self.costs_money:
            return [Health(what, "ok", self.status() or "for MTurk: parlai-humaneval requester add")]
        found = []
        for seen in (one for name in names for one in accounts.check(name)):
            if seen.wrong is not None:
                found.append(Health(what, "warning", f"requester {seen.name}", seen.wrong))
            else:
                balance = f"balance ${seen.balance:,.2f}, at {seen.endpoint}"
                found.append(Health(what, "ok", f"requester {seen.name}: {balance}"))
        return found


class MTurkBlocks:
    """Every account's list of workers who see none of its HITs any more."""

    title = "MTurk"

    def block(self, worker: Any, reason: str) -> list[str]:
        return list(self._ask(worker, lambda requester: worker.block_worker(reason, requester=requester)))

    def unblock(self, worker: Any) -> list[str]:
        return list(self._ask(worker, lambda requester: worker.unblock_worker("lifted by hand", requester)))

    def _ask(self, worker: Any, ask: Callable[[Any], object]) -> Iterator[str]:
        """Ask in the name of every requester; yields what went wrong, and asks the others as well."""
        from mephisto_tasks.crowds.mturk.errors import asking

        requesters = worker.db.find_requesters(provider_type=worker.provider_type)
        if not requesters:
            yield "no MTurk account is registered (parlai-humaneval requester add)"
        for requester in requesters:
            try:
                with asking(f"change the account's blocks in the name of {requester.requester_name}"):
                    ask(requester)
            except CrowdError as error:
                yield str(error)


register_crowd(
    MTurkCrowd(
        MTURK,
        "MTurk",
        CrowdWords(
            where="on MTurk",
            summary="spends real money: the total is shown first, and asked about",
            unit="HIT",
            link="Workers find the HITs at:",
        ),
        costs_money=True,
    ),
    MTurkCrowd(
        SANDBOX,
        "MTurk's sandbox",
        CrowdWords(
            where="in MTurk's sandbox",
            summary="shows the same pages and spends nothing",
            unit="HIT",
            link="Workers find the HITs at:",
        ),
        costs_money=False,
    ),
)
