"""Block and allow lists as participant groups: studies follow them at once, so nobody clicks in vain."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from mephisto_tasks.admission.admission import load_eligibility
from mephisto_tasks.config.task import WorkerRules
from mephisto_tasks.crowds.crowd import CrowdError, Forgotten
from mephisto_tasks.crowds.prolific.client import PARTICIPANT_UNKNOWN, Prolific, ProlificError, asking, read_token
from mephisto_tasks.crowds.prolific.store import PROVIDER, ProlificStore
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE, blocked_here
from mephisto_tasks.storage.results import query, task_names
from mephisto_tasks.storage.work import completed_work
from mephisto_tasks.workers.roster import known_workers

logger = logging.getLogger(__name__)

EVERYWHERE = "humaneval blocked"
PARTICIPANT = re.compile(r"[0-9a-f]{24}")
ONCE = 100  # participants in one request
AGAIN_S = 60.0  # how often a running launch looks whether its lists have changed


def participant(worker_name: str) -> str | None:
    """Prolific's id of a worker; None: they are not of Prolific."""
    plain = worker_name.rpartition(":")[2]
    known = worker_name.partition(":")[0] in (PROVIDER, plain)
    return plain if known and PARTICIPANT.fullmatch(plain) else None


class Group:
    """A participant group of a workspace, by its name; made where it is not there. Raises ProlificError."""

    def __init__(self, client: Prolific, workspace: str, name: str) -> None:
        self._client, self.name = client, name
        with asking(f"look for the participant group {name!r}"):
            there = list(client.pages("participant-groups/", workspace_id=workspace))
        mine = (str(one["id"]) for one in there if not one.get("is_deleted") and one.get("name") == name)
        self.id = next(mine, "")
        if not self.id:
            with asking(f"create the participant group {name!r}"):
                body = {"workspace_id": workspace, "name": name, "description": "Maintained by parlai-humaneval"}
                self.id = str(client.post("participant-groups/", {**body, "participant_ids": []})["id"])
        self._path = f"participant-groups/{self.id}/participants/"

    def members(self) -> set[str]:
        with asking(f"read the participant group {self.name!r}"):
            return {str(one["participant_id"]) for one in self._client.pages(self._path)}

    def add(self, people: Collection[str]) -> set[str]:
        """Add participants, and return those accepted; Prolific refuses a whole request that names an unknown one."""
        ids, at = sorted(people), ONCE
        if len(ids) <= ONCE:
            try:
                with asking(f"add to the participant group {self.name!r}"):
                    if ids:
                        self._client.post(self._path, {"participant_ids": ids}, repeat=True)
                return set(ids)
            except ProlificError as error:
                at = len(ids) // 2
                if error.code != PARTICIPANT_UNKNOWN:
                    raise
        return self.add(ids[:at]) | self.add(ids[at:]) if at else set()

    def remove(self, people: Collection[str]) -> None:
        if people:
            with asking(f"remove people from the participant group {self.name!r}"):
                self._client.delete(self._path, {"participant_ids": sorted(people)})


class Lists:
    """The groups of one study, as our own lists have it. Our own gate judges in any case."""

    def __init__(
        self,
        client: Prolific,
        workspace: str,
        data_dir: Path,
        task_name: str,
        rules: WorkerRules,
        block_qualification: str | None,
    ) -> None:
        self._data_dir, self._task_name, self._rules = data_dir, task_name, rules
        self._holding = [name for name in (blocked_here(task_name), block_qualification) if name]
        self._looked_at = float("-inf")
        self._eligibility = load_eligibility(rules, data_dir, task_name)
        self.everywhere = Group(client, workspace, EVERYWHERE)
        self.blocked = Group(client, workspace, f"{EVERYWHERE}: {task_name}")
        self.allowed = Group(client, workspace, f"humaneval allowed: {task_name}") if rules.allow_list else None
        self._groups = [group for group in (self.everywhere, self.blocked, self.allowed) if group is not None]
        self._members = {group.id: group.members() for group in self._groups}

    def follow(self, *, at_once: bool = False) -> None:
        """Bring the groups to what our lists say. Raises ProlificError, ResultsError."""
        if not at_once and time.monotonic() - self._looked_at < AGAIN_S:
            return
        self._looked_at = time.monotonic()
        self._bring(self.everywhere, self._holders([BLOCKED_EVERYWHERE]), keep=True)
        excluded = (name for task in self._rules.exclude_tasks for name in self._workers_of(task))
        self._bring(self.blocked, {*self._holders(self._holding), *self._listed(self._eligibility.barred), *excluded})
        if self.allowed is not None:
            self._bring(self.allowed, self._listed(self._eligibility.allowed))

    def _bring(self, group: Group, names: Iterable[str], *, keep: bool = False) -> None:
        """``keep``: the group may also hold another data directory's blocks."""
        wanted = {found for name in names if (found := participant(name)) is not None}
        there = self._members[group.id]
        if new := wanted - there:
            unknown = new - group.add(new)
            if unknown:
                logger.warning("Prolific does not know %d of the people in %r", len(unknown), group.name)
            there |= new
        if not keep and (gone := there - wanted):
            group.remove(gone)
            there -= gone

    def _listed(self, listed: Any) -> set[str]:
        if listed is None:
            return set()
        listed.has("", "")  # reads it again, where it was saved
        known = known_workers(self._data_dir)
        return {known[name].name if name in known else name for name in listed.listed.names}

    def _holders(self, qualifications: Iterable[str]) -> set[str]:
        return {str(row[1]) for name in qualifications for row in query(self._data_dir, "holders", [name])}

    def _workers_of(self, task: str) -> set[str]:
        if task not in task_names(self._data_dir):
            return set()
        names = {worker.worker_id: worker.name for worker in known_workers(self._data_dir).values()}
        return {names[work.worker_id] for work in completed_work(self._data_dir, task) if work.done > 0}


class ProlificBlocks:
    """The group of people who see no study of ours any more, in every workspace in which we had one."""

    title = "Prolific"

    def block(self, worker: Any, reason: str) -> list[str]:
        return self._change(worker, Group.add)

    def unblock(self, worker: Any) -> list[str]:
        return self._change(worker, Group.remove)

    def _change(self, worker: Any, change: Any) -> list[str]:
        whom, store = participant(str(worker.worker_name)), ProlificStore(Path(worker.db.db_root))
        if whom is None:
            return [f"{worker.worker_name} is not a participant on Prolific"]
        problems = []
        for account, workspace in sorted({(study.account, study.workspace) for study in store.studies()}):
            try:
                with Prolific(read_token(account)) as client:
                    change(Group(client, workspace, EVERYWHERE), [whom])
            except CrowdError as error:
                problems.append(str(error))
        return problems


def take_out(data_dir: Path, person: Forgotten, *, stays_blocked: bool) -> list[str]:
    """Take somebody who is forgotten out of our groups; what went wrong, in sentences. Blocked people stay in those."""
    whom = participant(person.name)
    names = {f"humaneval allowed: {task}" for task in person.tasks}
    if not stays_blocked:
        names |= {f"{EVERYWHERE}: {task}" for task in person.tasks} | ({EVERYWHERE} if person.everywhere else set())
    problems = []
    studies = ProlificStore(data_dir).studies() if whom is not None else []
    for account, workspace in sorted({(study.account, study.workspace) for study in studies}):
        try:
            with Prolific(read_token(account)) as client, asking("remove the participant from their groups"):
                for group in client.pages("participant-groups/", workspace_id=workspace):
                    if group.get("name") in names and not group.get("is_deleted"):
                        client.delete(f"participant-groups/{group['id']}/participants/", {"participant_ids": [whom]})
        except ProlificError as error:
            problems.append(f"{error}. Do it in Prolific's web app: {', '.join(sorted(names))}")
    return problems
