"""Mephisto's two MTurk providers, fixed. They replace Mephisto's own when this module is imported.

What differs, and why:

* every client is ours (:mod:`~mephisto_tasks.crowds.mturk.provider`): throttling is waited out, the sandbox follows
  ``AWS_ENDPOINT_URL_MTURK``, and nothing asks for keys by ``input()``;
* what Mephisto says of work that was approved or rejected is what AWS has confirmed;
* how a unit stands is asked of our database; :mod:`~mephisto_tasks.crowds.mturk.hits` asks MTurk. Mephisto's units
  ask AWS, and write, whenever somebody looks at them;
* a HIT is made once however often a lost answer makes us ask, says what study it is of, and is not printed;
* HITs of a run are taken off the market side by side;
* qualifications that were deleted on MTurk are made again, before workers are required to have them or not.
"""

from __future__ import annotations

from mephisto_tasks._util import compat

compat.prepare()

import logging
import shlex
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mephisto.abstractions.providers.mturk.mturk_agent import MTurkAgent
from mephisto.abstractions.providers.mturk.mturk_datastore import MTurkDatastore
from mephisto.abstractions.providers.mturk.mturk_provider import MTurkProvider, MTurkProviderArgs
from mephisto.abstractions.providers.mturk.mturk_requester import MTurkRequester
from mephisto.abstractions.providers.mturk.mturk_unit import MTurkUnit
from mephisto.abstractions.providers.mturk.mturk_utils import create_hit_type
from mephisto.abstractions.providers.mturk_sandbox.sandbox_mturk_agent import SandboxMTurkAgent
from mephisto.abstractions.providers.mturk_sandbox.sandbox_mturk_provider import SandboxMTurkProvider
from mephisto.abstractions.providers.mturk_sandbox.sandbox_mturk_requester import SandboxMTurkRequester
from mephisto.abstractions.providers.mturk_sandbox.sandbox_mturk_unit import SandboxMTurkUnit
from mephisto.data_model.constants.assignment_state import AssignmentState
from mephisto.data_model.unit import Unit
from mephisto.operations.registry import register_mephisto_abstraction

from mephisto_tasks.config.task import hydra_arguments
from mephisto_tasks.crowds.mturk.client import MTurkError, asking, client_for, session_for
from mephisto_tasks.crowds.mturk.hits import expire, hits_left, make_hit, study_mark
from mephisto_tasks.crowds.mturk.settings import MTURK, SANDBOX, WEEK_S, MTurkSettings
from mephisto_tasks.storage.provider_names import SANDBOX_SUFFIX, NotYetKnown
from parlai_humaneval.i18n.translate import phrases

_AGENTS_TABLE = """CREATE TABLE IF NOT EXISTS agent_assignments (
    agent_id TEXT PRIMARY KEY,
    hit_id TEXT NOT NULL,
    assignment_id TEXT NOT NULL
);"""
_HITS_OF_RUNS = "SELECT hit_id, unit_id FROM hits INNER JOIN run_mappings USING (hit_id) WHERE run_id IN ({})"


class HitStore(MTurkDatastore):
    """Mephisto's, but:

    * clients are ours (:mod:`~mephisto_tasks.crowds.mturk.client`), one for all threads;
    * which assignment an agent had is kept. Mephisto keeps that of a unit only while its worker is there, so that
      nobody could be paid who had left.
    """

    def __init__(self, datastore_root: str) -> None:
        super().__init__(datastore_root)
        self._clients: dict[tuple[str, str], Any] = {}
        self._making = threading.Lock()
        self.hits_made_now = 0
        self._run(_AGENTS_TABLE)

    def get_session_for_requester(self, requester_name: str) -> Any:
        return session_for(requester_name)

    def get_client_for_requester(self, requester_name: str) -> Any:
        return self._client(requester_name, MTURK)

    def get_sandbox_client_for_requester(self, requester_name: str) -> Any:
        return self._client(requester_name, SANDBOX)

    def _client(self, requester_name: str, provider: str) -> Any:
        with self._making:
            if (requester_name, provider) not in self._clients:
                self._clients[requester_name, provider] = client_for(requester_name, provider)
            return self._clients[requester_name, provider]

    def note_assignment(self, agent_id: str, hit_id: str, assignment_id: str) -> None:
        self._run("INSERT OR REPLACE INTO agent_assignments VALUES (?, ?, ?)", agent_id, hit_id, assignment_id)

    def assignment_of(self, agent_id: str) -> tuple[str, str] | None:
        """HIT and assignment of an agent; None for one of a launch before these were kept."""
        rows = self._run("SELECT hit_id, assignment_id FROM agent_assignments WHERE agent_id = ?", agent_id)
        return (str(rows[0]["hit_id"]), str(rows[0]["assignment_id"])) if rows else None

    @contextmanager
    def making_a_hit(self) -> Iterator[None]:
        """In the block MTurk makes a HIT: workers find it there a moment before it is known here."""
        with self._making:
            self.hits_made_now += 1
        try:
            yield
        finally:
            with self._making:
                self.hits_made_now -= 1

    def knows_hit(self, hit_id: str) -> bool:
        return bool(self._run("SELECT 1 FROM hits WHERE hit_id = ?", hit_id))

    def hits_of_runs(self, run_ids: list[str]) -> dict[str, str | None]:
        """Every HIT that these runs made, with the unit that its worker was given."""
        rows = self._run(_HITS_OF_RUNS.format(", ".join("?" * len(run_ids))), *run_ids)
        return {str(row["hit_id"]): row["unit_id"] for row in rows}

    def forget_qualification(self, name: str) -> None:
        self._run("DELETE FROM qualifications WHERE qualification_name = ?", name)

    def _run(self, sql: str, *values: str) -> list[Any]:
        with self.table_access_condition, self._get_connection() as connection:
            return list(connection.execute(sql, values).fetchall())


logger = logging.getLogger(__name__)

SCRIPT = Path(__file__).parent / "mturk_crowd_source.js"
PHRASES = phrases(__file__)
UNKNOWN_HIT = PHRASES["unknown_hit"]
NOT_ACCEPTED = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk calls the assignment of a worker who only looks
NO_QUALIFICATION = "AWS.MechanicalTurk.QualificationTypeDoesNotExist"
DONE = (AssignmentState.COMPLETED, AssignmentState.ACCEPTED, AssignmentState.REJECTED, AssignmentState.SOFT_REJECTED)


class StudyUnit(MTurkUnit):
    """A unit whose HIT is made and ended by us, and which never asks AWS how it stands."""

    datastore: HitStore
    made_hit: str | None = None
    """The HIT that was made when this unit was launched; its worker may be given another unit."""

    def launch(self, task_url: str) -> None:
        """Offer one more HIT for the run; which unit its worker is given is decided when they come."""
        run = self.get_task_run()
        task, stored = run.get_task_args(), self.datastore.get_run(run.db_id)
        mark = study_mark(str(self.db.db_root), run.get_task().task_name)
        with self.datastore.making_a_hit():
            hit_id = make_hit(
                self._client(),
                stored["hit_type_id"],
                task_url if "://" in task_url else f"https://{task_url}",  # Mephisto's own architects may leave it out
                height=stored["frame_height"],
                lifetime_s=int(task.task_lifetime_in_seconds or 31 * 24 * 3600),
                annotation=f"{mark} run {run.db_id} of {run.start_time} unit {self.db_id}",
            )
            self.made_hit = hit_id
            self.datastore.new_hit(hit_id, "", task.assignment_duration_in_seconds, run.db_id)
        self.set_db_status(AssignmentState.LAUNCHED)

    def get_status(self) -> str:
        return str(Unit.get_status(self))

    def set_db_status(self, status: str) -> None:
        Unit.set_db_status(self, status)

    def expire(self) -> float:
        """Withdraw this unit's HIT; if nobody has accepted it, withdraw any free HIT of the run."""
        hit_id = self.get_mturk_hit_id()
        free = self.datastore.get_unassigned_hit_ids(self.task_run_id)
        if hit_id is None and free:
            hit_id = self.made_hit if self.made_hit in free else free[0]
            self.datastore.register_assignment_to_hit(hit_id, self.db_id)
        problems = [] if hit_id is None else expire(self._client(), [hit_id])
        if problems:
            raise MTurkError(problems[0])
        if self.db_status not in DONE:
            self.set_db_status(AssignmentState.EXPIRED)
        return 0.0

    def _client(self) -> Any:
        return self._get_client(self.get_requester()._requester_name)


class StudySandboxUnit(StudyUnit, SandboxMTurkUnit):
    """A unit in the sandbox."""


class StudyAgent(MTurkAgent):
    """An agent whose assignment is kept, and whose status follows what AWS confirmed."""

    datastore: HitStore

    @classmethod
    def new_from_provider_data(cls, db: Any, worker: Any, unit: Any, provider_data: dict[str, Any]) -> Any:
        agent = super().new_from_provider_data(db, worker, unit, provider_data)
        agent.datastore.note_assignment(agent.db_id, provider_data["hit_id"], provider_data["assignment_id"])
        return agent

    def approve_work(self) -> None:
        """Approve the assignment on MTurk. Raises MTurkError, and then nothing has changed here."""
        self._settle("approve", "Approved", OverrideRejection=True)

    def reject_work(self, reason: str) -> None:
        """Reject the assignment on MTurk. Raises MTurkError, and then nothing has changed here."""
        if self.get_status() == "approved":
            logger.warning("%s is already approved, and cannot be rejected", self)
            return
        self._settle("reject", "Rejected", RequesterFeedback=reason)

    def _settle(self, what: str, wanted: str, **how: Any) -> None:
        if self.get_status() == wanted.lower():
            return
        kept = self.datastore.assignment_of(self.db_id)
        assignment = str((kept[1] if kept is not None else self.get_unit().get_mturk_assignment_id()) or "")
        if not assignment:
            raise MTurkError(f"agent {self.db_id} has no assignment on MTurk: its worker returned the HIT, or left it")
        client = self._get_client()
        if self._status_on_mturk(client, assignment) != wanted:
            try:
                with asking(f"{what} the assignment {assignment}"):
                    ask = client.approve_assignment if what == "approve" else client.reject_assignment
                    ask(AssignmentId=assignment, **how)
            except MTurkError:
                if self._status_on_mturk(client, assignment) != wanted:
                    raise
        self.update_status(wanted.lower())  # Mephisto's words for both are MTurk's in lower case

    def _status_on_mturk(self, client: Any, assignment: str) -> str:
        """The status of the assignment, if it is this worker's: MTurk gives returned ids to the next worker."""
        with asking(f"look at the assignment {assignment}"):
            stored = client.get_assignment(AssignmentId=assignment)["Assignment"]
        if stored["WorkerId"] != self.get_worker().get_mturk_worker_id():
            raise MTurkError(f"the assignment {assignment} belongs to another worker now: this one returned the HIT")
        return str(stored["AssignmentStatus"])


class StudySandboxAgent(StudyAgent, SandboxMTurkAgent):
    """A worker's part in a unit in the sandbox."""


class StudyRequester(MTurkRequester):
    """A requester that is never asked for by ``input()``."""

    def register(self, args: Any = None) -> None:
        if args is None:
            session_for(self._requester_name)
        else:
            super().register(args)


class StudySandboxRequester(StudyRequester, SandboxMTurkRequester):
    """An account in the sandbox."""


def _arguments(provider_type: str) -> type[MTurkProviderArgs]:
    """The settings as the dataclass that hydra composes: unknown ones are refused."""
    named, fields = f"{provider_type}_arguments", MTurkSettings.model_fields
    return hydra_arguments(MTurkSettings, named, (MTurkProviderArgs,), typed=fields, _provider_type=provider_type)


@register_mephisto_abstraction()
class StudyMTurkProvider(MTurkProvider):
    PROVIDER_TYPE = MTURK
    UnitClass, RequesterClass, AgentClass = StudyUnit, StudyRequester, StudyAgent
    ArgsClass = _arguments(MTURK)
    datastore: HitStore

    def initialize_provider_datastore(self, storage_path: str) -> HitStore:
        return HitStore(storage_path)

    @classmethod
    def get_wrapper_js_path(cls) -> str:
        """Our script: Mephisto's fails, because it uses an undefined name."""
        return str(SCRIPT)

    def setup_resources_for_task_run(self, task_run: Any, args: Any, shared_state: Any, server_url: str) -> None:
        """Make the HIT type that the run's HITs are of. Raises MTurkError."""
        requester = task_run.get_requester()
        client = self._get_client(requester._requester_name)
        requirements = [self._requirement(one, client, requester) for one in shared_state.qualifications]
        with asking("register the study with MTurk"):
            hit_type_id = create_hit_type(
                client,
                args.task,
                [one for one in requirements if one is not None] + list(shared_state.site_requirements),
                auto_approve_delay=int(args.provider.get("auto_approval_delay_in_seconds", WEEK_S)),
                skip_locale_qual=self.is_sandbox(),
            )
        frame_height = task_run.get_blueprint().get_frontend_args().get("frame_height", 0)
        self.datastore.register_run(task_run.db_id, hit_type_id, "", frame_height)

    def refusal(self, provider_data: dict[str, Any]) -> str | None:
        """Nobody takes part who has not accepted a HIT that a launch of ours made: their work could not be paid."""
        hit_id, assignment_id = provider_data.get("hit_id"), provider_data.get("assignment_id")
        accepted = isinstance(assignment_id, str) and assignment_id not in ("", NOT_ACCEPTED)
        if not accepted or not isinstance(hit_id, str):
            return UNKNOWN_HIT
        being_made = self.datastore.hits_made_now > 0  # to be looked at first: it may be known a moment later
        if self.datastore.knows_hit(hit_id):
            return None
        if being_made:
            raise NotYetKnown
        return UNKNOWN_HIT

    def _requirement(self, qualification: dict[str, Any], client: Any, requester: Any) -> dict[str, Any] | None:
        """A qualification of Mephisto's as MTurk's; None where it is for other crowds only."""
        crowds = qualification["applicable_providers"]
        if crowds is not None and self.PROVIDER_TYPE not in crowds:
            return None
        name = qualification["qualification_name"] + (SANDBOX_SUFFIX if self.is_sandbox() else "")
        mapping = self.datastore.get_qualification_mapping(name)
        if mapping is not None and qualification_exists(client, mapping["mturk_qualification_id"]):
            return {**qualification, "QualificationTypeId": mapping["mturk_qualification_id"]}
        if mapping is not None:
            self.datastore.forget_qualification(name)
        with asking(f"make the qualification {name!r}"):
            return {**qualification, "QualificationTypeId": requester._create_new_mturk_qualification(name)}

    def expire_run(self, task_run: Any) -> None:
        """Take every HIT of the run off the market that was not handed in. Raises MTurkError. Our word for that is not
        enough: where a worker was done with us and MTurk never heard of it, their HIT is offered again when its time is
        over."""
        client = self._get_client(task_run.get_requester()._requester_name)
        done = {unit.db_id for unit in task_run.get_units() if unit.db_status in DONE}
        made = self.datastore.hits_of_runs([task_run.db_id])
        open_ones = [hit_id for hit_id, unit_id in made.items() if unit_id not in done]
        problems = expire(client, open_ones)
        if len(open_ones) < len(made):
            mark = study_mark(str(self.db.db_root), task_run.get_task().task_name)
            problems += expire(client, [str(hit["HITId"]) for hit in hits_left(client, made, mark)])
        if problems:
            where = shlex.join(["--task-name", task_run.get_task().task_name, "--data-dir", str(self.db.db_root)])
            what = f"{len(problems)} of {len(made)} HITs are still on MTurk ({problems[0]})"
            raise MTurkError(what, try_=f"try again: parlai-humaneval requester expire {where}")


def qualification_exists(client: Any, qualification_id: str) -> bool:
    """Whether MTurk has it. Raises MTurkError where that cannot be known."""
    try:
        with asking(f"look at the qualification {qualification_id}"):
            status = client.get_qualification_type(QualificationTypeId=qualification_id)["QualificationType"]
    except MTurkError as error:
        if error.code == NO_QUALIFICATION:
            return False
        raise
    return bool(status["QualificationTypeStatus"] == "Active")


@register_mephisto_abstraction()
class StudySandboxProvider(StudyMTurkProvider, SandboxMTurkProvider):
    PROVIDER_TYPE = SANDBOX
    UnitClass, RequesterClass, AgentClass = StudySandboxUnit, StudySandboxRequester, StudySandboxAgent
    ArgsClass = _arguments(SANDBOX)
