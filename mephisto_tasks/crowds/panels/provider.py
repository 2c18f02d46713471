"""The crowd provider `link` in Mephisto's terms. Importing this module registers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, cast

from mephisto_tasks._util import compat

compat.prepare()

from mephisto.abstractions.blueprint import AgentState
from mephisto.abstractions.crowd_provider import CrowdProvider, ProviderArgs
from mephisto.data_model.agent import Agent
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.requester import Requester
from mephisto.data_model.unit import Unit
from mephisto.data_model.worker import Worker
from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.admission.exits import Outcome
from mephisto_tasks.crowds.panels.datastore import PROVIDER_TYPE, LinkDatastore
from mephisto_tasks.crowds.panels.panel import NO_PANEL
from mephisto_tasks.server.static import STATIC

REQUESTER = "link"
"""Nobody's account: the panel bills, and its site is where the study is entered."""
VISIT = "visit_id"
"""What the provider's data of a registration name the visit by."""

_ENDS: Mapping[str, Outcome] = {
    AgentState.STATUS_RETURNED: "returned",
    AgentState.STATUS_TIMEOUT: "timed_out",
    AgentState.STATUS_DISCONNECT: "timed_out",
}


@dataclass
class LinkProviderArgs(ProviderArgs):
    """Options below ``mephisto.provider``."""

    _provider_type: str = PROVIDER_TYPE
    requester_name: str = REQUESTER
    panel: str = field(default=NO_PANEL, metadata={"help": "Who sends the raters; none: only invitations."})
    completion_code: str = field(default="", metadata={"help": "The panel's code for who has done the task."})
    screen_out_code: str = field(default="", metadata={"help": "Its code for who may not take part."})
    no_consent_code: str = field(default="", metadata={"help": "Its code for who does not want to take part."})
    time_out_code: str = field(default="", metadata={"help": "Its code for who was away for too long."})
    values: dict[str, Any] = field(default_factory=dict, metadata={"help": "What else the panel's addresses need."})


def _store(db: Any) -> LinkDatastore:
    return cast("LinkDatastore", db.get_datastore_for_provider(PROVIDER_TYPE))


class LinkRequester(Requester):
    """Who launches; there is nothing to register, and nothing to spend here."""

    def register(self, args: Any = None) -> None:
        """Nothing to do."""

    def is_registered(self) -> bool:
        return True

    def get_available_budget(self) -> float:
        return 0.0

    @classmethod
    def is_sandbox(cls) -> bool:
        return False

    @staticmethod
    def new(db: Any, requester_name: str) -> Requester:
        return LinkRequester._register_requester(db, requester_name, PROVIDER_TYPE)


class LinkWorker(Worker):
    """Somebody who came by a link; their name says by which door."""

    def bonus_worker(self, amount: float, reason: str, unit: Any = None) -> tuple[bool, str]:
        return False, "workers who came by a link are paid at the panel that sent them"

    def block_worker(self, reason: str, unit: Any = None, requester: Any = None) -> tuple[bool, str]:
        _store(self.db).set_blocked(self.db_id, True)
        return True, ""

    def unblock_worker(self, reason: str, requester: Any) -> bool:
        _store(self.db).set_blocked(self.db_id, False)
        return True

    def is_blocked(self, requester: Any) -> bool:
        return _store(self.db).is_blocked(self.db_id)

    def is_eligible(self, task_run: Any) -> bool:
        return True

    @staticmethod
    def new(db: Any, worker_id: str) -> Worker:
        return LinkWorker._register_worker(db, worker_id, PROVIDER_TYPE)


class LinkUnit(Unit):
    """A unit is open as soon as it is made: there is nobody else who must be told."""

    def launch(self, task_url: str) -> None:
        self.set_db_status(AssignmentState.LAUNCHED)

    def expire(self) -> float:
        if self.db_status not in (AssignmentState.EXPIRED, AssignmentState.COMPLETED):
            self.set_db_status(AssignmentState.EXPIRED)
        return 0.0

    def is_expired(self) -> bool:
        return bool(self.get_db_status() == AssignmentState.EXPIRED)

    @staticmethod
    def new(db: Any, assignment: Any, index: int, pay_amount: float) -> Unit:
        return LinkUnit._register_unit(db, assignment, index, pay_amount, PROVIDER_TYPE)


class LinkAgent(Agent):
    """A visitor at work; how that ends is written to their visit."""

    @classmethod
    def new_from_provider_data(cls, db: Any, worker: Any, unit: Any, provider_data: dict[str, Any]) -> Agent:
        agent = super().new_from_provider_data(db, worker, unit, provider_data)
        _store(db).give_agent(provider_data[VISIT], agent.db_id)
        return agent

    def update_status(self, new_status: str) -> None:
        super().update_status(new_status)
        outcome = _ENDS.get(new_status)
        if outcome is not None:
            _store(self.db).end_of_agent(self.db_id, outcome)

    def approve_work(self) -> None:
        self.update_status(AgentState.STATUS_APPROVED)

    def reject_work(self, reason: str) -> None:
        self.update_status(AgentState.STATUS_REJECTED)

    def mark_done(self) -> None:
        _store(self.db).end_of_agent(self.db_id, "complete")

    @staticmethod
    def new(db: Any, worker: Any, unit: Any) -> Agent:
        return LinkAgent._register_agent(db, worker, unit, PROVIDER_TYPE)


@register_mephisto_abstraction()
class LinkProvider(CrowdProvider):
    """Raters come by an address; nothing has to be set up anywhere else."""

    PROVIDER_TYPE = PROVIDER_TYPE
    UnitClass: ClassVar[type[Unit]] = LinkUnit
    RequesterClass: ClassVar[type[Requester]] = LinkRequester
    WorkerClass: ClassVar[type[Worker]] = LinkWorker
    AgentClass: ClassVar[type[Agent]] = LinkAgent
    ArgsClass = LinkProviderArgs

    def initialize_provider_datastore(self, storage_path: str) -> LinkDatastore:
        return LinkDatastore(Path(storage_path))

    def setup_resources_for_task_run(self, task_run: Any, args: Any, shared_state: Any, server_url: str) -> None:
        """Nothing to do."""

    def cleanup_resources_from_task_run(self, task_run: Any, server_url: str) -> None:
        """Nothing to do."""

    @classmethod
    def get_wrapper_js_path(cls) -> str:
        return str(STATIC / "link_crowd_source.js")
