"""The crowd provider of people who come by an address, in Mephisto's terms: one for each type of such a crowd."""

from __future__ import annotations

from mephisto_tasks._util import compat

compat.prepare()

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

from mephisto.abstractions.blueprint import AgentState
from mephisto.abstractions.crowd_provider import CrowdProvider, ProviderArgs
from mephisto.data_model.agent import Agent
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.requester import Requester
from mephisto.data_model.unit import Unit
from mephisto.data_model.worker import Worker
from mephisto.operations.registry import register_mephisto_abstraction
from pydantic import BaseModel

from mephisto_tasks.admission.visits import Outcome
from mephisto_tasks.config.task import hydra_arguments
from mephisto_tasks.crowds.link.datastore import VISIT, LinkDatastore

_ENDS: Mapping[str, Outcome] = {
    AgentState.STATUS_RETURNED: "returned",
    AgentState.STATUS_TIMEOUT: "timed_out",
    AgentState.STATUS_DISCONNECT: "timed_out",
}
_made: dict[str, type[CrowdProvider]] = {}


def link_provider(provider_type: str, settings: type[BaseModel]) -> type[CrowdProvider]:
    """The provider of a type, known to Mephisto from now on; ``settings`` are those of the first who asks."""
    if provider_type not in _made:
        named, fields = f"{provider_type}_arguments", settings.model_fields
        arguments = hydra_arguments(settings, named, (ProviderArgs,), typed=fields, _provider_type=provider_type)
        of_type = {"PROVIDER_TYPE": provider_type}
        parts = {
            f"{part.__name__.removeprefix('Link')}Class": type(part.__name__, (part,), of_type)
            for part in (LinkUnit, LinkRequester, LinkWorker, LinkAgent)
        }
        made = type("LinkProvider", (LinkProvider,), {**of_type, **parts, "ArgsClass": arguments})
        _made[provider_type] = register_mephisto_abstraction()(made)
    return _made[provider_type]


class _OfType:
    PROVIDER_TYPE: ClassVar[str]
    db: Any

    @property
    def _visits(self) -> LinkDatastore:
        return cast("LinkDatastore", self.db.get_datastore_for_provider(self.PROVIDER_TYPE))


class LinkRequester(_OfType, Requester):
    """The researcher who launches; there is nothing to register, and nothing to spend here."""

    def register(self, args: Any = None) -> None: ...

    def is_registered(self) -> bool:
        return True

    def get_available_budget(self) -> float:
        return 0.0

    @classmethod
    def is_sandbox(cls) -> bool:
        return False

    @classmethod
    def new(cls, db: Any, requester_name: str) -> Requester:
        return cls._register_requester(db, requester_name, cls.PROVIDER_TYPE)


class LinkWorker(_OfType, Worker):
    def bonus_worker(self, amount: float, reason: str, unit: Any = None) -> tuple[bool, str]:
        return False, "raters who came by a link are paid on the panel that sent them"

    def block_worker(self, reason: str, unit: Any = None, requester: Any = None) -> tuple[bool, str]:
        self._visits.set_blocked(self.db_id, True)
        return True, ""

    def unblock_worker(self, reason: str, requester: Any) -> bool:
        self._visits.set_blocked(self.db_id, False)
        return True

    def is_blocked(self, requester: Any) -> bool:
        return self._visits.is_blocked(self.db_id)

    def is_eligible(self, task_run: Any) -> bool:
        return True

    @classmethod
    def new(cls, db: Any, worker_id: str) -> Worker:
        return cls._register_worker(db, worker_id, cls.PROVIDER_TYPE)


class LinkUnit(_OfType, Unit):
    """A unit is open as soon as it is made, because no site has to be informed."""

    def launch(self, task_url: str) -> None:
        self.set_db_status(AssignmentState.LAUNCHED)

    def expire(self) -> float:
        if self.db_status not in (AssignmentState.EXPIRED, AssignmentState.COMPLETED):
            self.set_db_status(AssignmentState.EXPIRED)
        return 0.0

    def is_expired(self) -> bool:
        return bool(self.get_db_status() == AssignmentState.EXPIRED)

    @classmethod
    def new(cls, db: Any, assignment: Any, index: int, pay_amount: float) -> Unit:
        return cls._register_unit(db, assignment, index, pay_amount, cls.PROVIDER_TYPE)


class LinkAgent(_OfType, Agent):
    @classmethod
    def new_from_provider_data(cls, db: Any, worker: Any, unit: Any, provider_data: dict[str, Any]) -> Agent:
        agent = super().new_from_provider_data(db, worker, unit, provider_data)
        agent._visits.give_agent(provider_data[VISIT], agent.db_id)
        return agent

    def update_status(self, new_status: str) -> None:
        super().update_status(new_status)
        outcome = _ENDS.get(new_status)
        if outcome is not None:
            self._visits.end_of_agent(self.db_id, outcome)

    def approve_work(self) -> None:
        self.update_status(AgentState.STATUS_APPROVED)

    def reject_work(self, reason: str) -> None:
        self.update_status(AgentState.STATUS_REJECTED)

    def mark_done(self) -> None:
        self._visits.end_of_agent(self.db_id, "complete")

    @classmethod
    def new(cls, db: Any, worker: Any, unit: Any) -> Agent:
        return cls._register_agent(db, worker, unit, cls.PROVIDER_TYPE)


class LinkProvider(CrowdProvider):
    """Raters come by an address; nothing has to be set up anywhere else."""

    def initialize_provider_datastore(self, storage_path: str) -> LinkDatastore:
        return LinkDatastore(Path(storage_path))

    def setup_resources_for_task_run(self, task_run: Any, args: Any, shared_state: Any, server_url: str) -> None: ...
    def cleanup_resources_from_task_run(self, task_run: Any, server_url: str) -> None: ...

    @classmethod
    def get_wrapper_js_path(cls) -> str:
        return str(Path(__file__).parent / "link_crowd_source.js")
