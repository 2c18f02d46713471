"""A study whose work was done on the stand-in of Prolific: real submissions there, real visits and records here."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path

from servers.prolific import TOKEN, StandIn, Workspace
from stored_study import StoredStudy
from turk_study import TASK, part, stopped, whole

from mephisto_tasks.admission.visits import Arrival
from mephisto_tasks.crowds.link.datastore import LinkDatastore
from mephisto_tasks.crowds.prolific.client import Prolific
from mephisto_tasks.crowds.prolific.store import OurStudy, ProlificStore
from mephisto_tasks.storage.results import stored_agents
from parlai_humaneval.schema.events import Event

REWARD = Decimal("2.50")
PRACTICE = Decimal("0.50")
SCREEN_OUT = Decimal("0.25")
DONE, BY_HAND, SCREENED_OUT, TURNED_AWAY = "CO-DONE", "BY-HAND", "SC-OUT", "TU-AWAY"

Money = dict[tuple[str, str], Decimal]
"""Currency and participant → an amount."""


def _code(code: str, actor: str, **action: object) -> dict[str, object]:
    return {"code": code, "code_type": "COMPLETED", "actor": actor, "actions": [action]}


class ProlificStudy:
    """Writes a study into ``data_dir``, and has its workers do on Prolific what they did."""

    def __init__(
        self,
        data_dir: Path,
        site: StandIn,
        requester: str = "lab",
        workspace: Workspace | None = None,
        places: int = 10,
    ) -> None:
        self.data_dir, self.site = data_dir, site
        self.workspace = workspace or site.workspace
        self.currency = self.workspace.currency
        self._stored = StoredStudy(data_dir, provider="prolific", requester=requester, reward=float(REWARD))
        folder = data_dir / "prolific"
        folder.mkdir(exist_ok=True)
        self._visits = LinkDatastore(folder)
        self._store, self._requester = ProlificStore(data_dir), requester
        self.client = Prolific(TOKEN, site.base)
        project = site.market.project_of(self.workspace).id
        body = {
            "name": "Talk",
            "description": "Talk to bots",
            "external_study_url": "https://study.example.org/?PROLIFIC_PID={{%PROLIFIC_PID%}}",
            "prolific_id_option": "url_parameters",
            "total_available_places": places,
            "estimated_completion_time": 10,
            "reward": int(REWARD * 100),
            "device_compatibility": ["desktop"],
            "project": project,
            "completion_codes": [
                _code(DONE, "researcher", action="MANUALLY_REVIEW"),
                _code(BY_HAND, "participant", action="MANUALLY_REVIEW"),
                _code(TURNED_AWAY, "researcher", action="REQUEST_RETURN", return_reason="Nothing to do."),
                _code(
                    SCREENED_OUT,
                    "researcher",
                    action="FIXED_SCREEN_OUT_PAYMENT",
                    fixed_screen_out_reward=int(SCREEN_OUT * 100),
                    slots=5,
                ),
            ],
        }
        self.id = str(self.client.post("studies/", body)["id"])
        self._store.add(OurStudy(self.id, TASK, requester, self.workspace.id, project, self.id, body, time.time()))
        self._store.made(self.id, self.id)
        site.market.delays.publish_s = 0.0
        self.client.post(f"studies/{self.id}/transition/", {"action": "PUBLISH"})

    def does(self, events: Sequence[Event] | None, ends: str = DONE, practised: bool = False) -> str:
        """Somebody takes a place, and does something (None: a practice alone); their id.

        ``ends``: with a code; ``returned``, also ``done and returned``; ``timed out``; ``at work``.
        """
        person = self.site.participant()
        person.take(self.id)
        self.site.market.pass_time()
        worker = f"prolific:{person.id}"
        visit = self._visits.add(TASK, Arrival(worker, "prolific", self.id, person.submission_id))
        if events is None:
            self._stored.practise(TASK, worker, 60)
        else:
            self._stored.add(TASK, worker, events)
            (agent,) = (one for one in stored_agents(self.data_dir, TASK) if one.worker_name == worker)
            self._visits.give_agent(visit.visit_id, agent.agent_id)
            with closing(sqlite3.connect(self.data_dir / "database.db")) as connection, connection:
                connection.execute("UPDATE agents SET status = 'disconnect' WHERE agent_id = ?", (agent.agent_id,))
        if ends in (DONE, SCREENED_OUT, TURNED_AWAY):
            self._complete(person.submission_id, ends)
        elif ends == "done and returned":
            self._complete(person.submission_id, DONE)
            person.give_back()
        elif ends == "returned":
            person.give_back()
        elif ends == "timed out":
            submission = self.site.market.submission(person.submission_id)
            assert submission is not None
            self.site.market.become(submission, "TIMED-OUT")
        return person.id

    def _complete(self, submission: str, code: str) -> None:
        self.client.post(f"submissions/{submission}/transition/", {"action": "COMPLETE", "completion_code": code})

    def submission_of(self, person: str) -> str:
        (found,) = (one.id for one in self.site.market.submissions() if one.person == person)
        return str(found)

    def approve_by_hand(self, person: str) -> None:
        """On Prolific's site, by somebody."""
        self.client.post(f"submissions/{self.submission_of(person)}/transition/", {"action": "APPROVE"})

    def set_terms(self, **provider: object) -> None:
        """The settings of the launches, as Mephisto keeps them."""
        settings = {"provider": {"currency": self.currency, **provider}, "blueprint": {"payment": {"practice": "0.50"}}}
        sql = "SELECT task_run_id FROM task_runs JOIN requesters USING (requester_id) WHERE requester_name = ?"
        with closing(sqlite3.connect(self.data_dir / "database.db")) as connection, connection:
            for (run,) in connection.execute(sql, [self._requester]).fetchall():
                values = (json.dumps(json.dumps(settings)), run)
                connection.execute("UPDATE task_runs SET init_params = ? WHERE task_run_id = ?", values)


def everybody(data_dir: Path, site: StandIn) -> Money:
    """Every kind of work, in two workspaces with a currency each; who is to get what by machine.

    One more is still at work, and cannot be paid yet; one was approved by hand; one was screened out with pay.
    """
    pounds = ProlificStudy(data_dir, site)
    owed: Money = {}

    def does(study: ProlificStudy, amount: Decimal, *did: object) -> str:
        person = study.does(*did)  # type: ignore[arg-type]  # as does() takes it
        owed[study.currency, person] = amount
        return person

    does(pounds, REWARD, whole("a"))
    does(pounds, REWARD, whole("b"), "done and returned")
    does(pounds, REWARD, stopped("c"))
    does(pounds, Decimal("1.67"), part("d", 2), "timed out")
    does(pounds, PRACTICE, None, SCREENED_OUT)
    does(pounds, PRACTICE, None, "returned")
    approved = does(pounds, REWARD, whole("g"))
    pounds.does(part("h", 1), "at work")
    does(pounds, REWARD, whole("i"), "timed out")
    pounds.set_terms()
    dollars = ProlificStudy(
        data_dir, site, "lab2", site.market.open_workspace(TOKEN, title="Abroad", currency="USD", total=100_00)
    )
    does(dollars, REWARD, whole("j"))
    does(dollars, Decimal("0.84"), part("k", 1), "returned")
    dollars.set_terms()
    pounds.approve_by_hand(approved)
    return owed


def got(site: StandIn) -> Money:
    """What everybody was paid, as the server says."""
    money: Money = {}
    for workspace in site.market.workspaces.values():
        for charge in workspace.charges:
            key = workspace.currency, charge.participant
            money[key] = money.get(key, Decimal(0)) + Decimal(charge.price.amount).scaleb(-2)
    return money


class Remembered:
    """The server as it is now, to be had again."""

    def __init__(self, site: StandIn) -> None:
        self._site = site
        self._submissions = [(one, one.status, list(one.bonuses)) for one in site.market.submissions()]
        self._money = [(one, one.total, list(one.charges)) for one in site.market.workspaces.values()]
        self._places = [(one, one.status, one.places) for one in site.market.studies.values()]

    def again(self) -> None:
        market = self._site.market
        with market.lock:
            for submission, status, bonuses in self._submissions:
                submission.status, submission.bonuses = status, list(bonuses)
            for workspace, total, charges in self._money:
                workspace.total, workspace.charges = total, list(charges)
            for study, status, places in self._places:
                study.status, study.fields["total_available_places"] = status, places
            market.batches.clear()
            market.owed.clear()
            market.busy.clear()
            market._due.clear()
            self._site.faults.clear()
            self._site.journal.calls.clear()
