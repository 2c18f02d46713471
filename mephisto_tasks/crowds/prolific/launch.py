"""A launch on Prolific: confirmed first, created as a draft, published once our link answers, followed to its end."""

from __future__ import annotations

import html
import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import httpx

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.config.task import WorkerRules
from mephisto_tasks.crowds.crowd import Agree, CrowdError, CrowdSetup, LaunchControl, cents_of
from mephisto_tasks.crowds.link.crowd import LinkLaunch
from mephisto_tasks.crowds.panels.panel import read_panel
from mephisto_tasks.crowds.prolific import arrivals, quote, statuses, store
from mephisto_tasks.crowds.prolific.accounts import check_name
from mephisto_tasks.crowds.prolific.client import BRIEF, Prolific, ProlificError, asking, read_token, which_token
from mephisto_tasks.crowds.prolific.groups import Lists
from mephisto_tasks.crowds.prolific.market import StudyFollower, find_places, pause_left_over, study_places, transition
from mephisto_tasks.crowds.registry import done_elsewhere
from mephisto_tasks.storage.results import query

logger = logging.getLogger(__name__)

MARGIN_S = 5 * 60  # Prolific's clock begins at the link, and ours with the unit
LINK_S = 20.0  # how long our own link may take to answer


@dataclass
class ProlificLaunch(LinkLaunch):
    _asked: quote.Asked = field(init=False, repr=False)  # once it was asked about, as its workspace
    _rules: WorkerRules = field(default_factory=WorkerRules)
    _workspace: quote.Workspace = field(init=False, repr=False)
    _study: store.OurStudy = field(init=False, repr=False)  # once it is made
    _was_paused: bool = False

    def __post_init__(self) -> None:
        self._store = store.ProlificStore(self.data_dir)

    @cached_property
    def _client(self) -> Prolific:
        return Prolific(read_token(str(self.provider.requester_name)))

    @cached_property
    def _brief(self) -> Prolific:
        return Prolific(read_token(str(self.provider.requester_name)), patience=BRIEF)

    @cached_property
    def _endings(self) -> arrivals.Endings:
        return arrivals.Endings(self._brief, self._store, self.task_name)

    @property
    def currency(self) -> str:
        return str(self.provider.currency)

    @property
    def practice_pay(self) -> float:
        return float(self.provider.screen_out_pay)

    # -- before models load ----------------------------------------------------------------------

    def ask(self, units: int, rules: WorkerRules, agree: Agree | None, minutes: float | None = None) -> None:
        if minutes is None:
            raise ConfigError("Prolific needs the duration of the study", where="minutes", try_="set minutes=…")
        settings, self._rules = self.settings, rules
        name = str(self.provider.requester_name)
        check_name(self.data_dir, name)
        with self.waiting_for("Asking Prolific…"):
            self._workspace = quote.find_workspace(
                self._client, str(settings["workspace"]), str(settings["project"]), str(settings["currency"])
            )
            screen_out = (
                cents_of("screen_out_pay", settings["screen_out_pay"], "Prolific"),
                int(settings["screen_out_slots"]),
            )
            lacks = self._store.lacks(self._workspace.id, store.SCREEN_OUT_FEATURE)
            self._asked = quote.Asked(
                units=units,
                reward=cents_of("task_reward", self.config.mephisto.task.task_reward, "Prolific"),
                minutes=max(1, round(minutes)),
                screen_out=screen_out if screen_out[1] and not lacks else None,
                bonus_budget=cents_of("bonus_budget", settings["bonus_budget"], "Prolific"),
                open_first=min(units, self._most_open or units),
                draft=bool(settings["draft_only"]),
            )
            if self._asked.reward == 0:
                what = "Prolific requires that people are paid"
                raise ConfigError(what, where="task_reward", try_="set task_reward=…")
            wanted, said = self._filters()
            # What Prolific holds for places of an earlier launch, in cents: they are used up, or given back.
            held = 0
            for study in self._earlier():
                there = find_places(self._client, study.study_id)
                if there is not None and there.status in (statuses.ACTIVE, statuses.PAUSED):
                    # without its fee: rather too little
                    held += (there.total - there.taken) * int(study.body["reward"])
            self._asked = replace(self._asked, set_aside=held)
            quoted = quote.quote_of(self._client, self._workspace, name, self._asked, wanted, self._fee())
        if lacks and screen_out[1]:
            owed = "raters who fail the practice round are asked to return their submission and are owed a bonus"
            said.append(f"The workspace has no {store.SCREEN_OUT_FEATURE}, so {owed}.")
        elsewhere = done_elsewhere(self.data_dir, self.task_name, store.PROVIDER)
        remarks = [*said, *filter(None, (which_token(name), elsewhere, quoted.remark))]
        self.agreed_to(quoted.model_copy(update={"remark": " ".join(remarks) or None}), agree)

    @property
    def _most_inside(self) -> int:
        blueprint = self.config.mephisto.blueprint
        most = int(blueprint.max_concurrent)
        return min(most, int(blueprint.raters_at_a_time)) if blueprint.get("stop") == "decided" else most

    @property
    def _most_open(self) -> int:
        """Places that nobody has taken, at most: never all at once where answers decide when it ends."""
        is_decided = self.config.mephisto.blueprint.get("stop") == "decided"
        return int(self.provider.start_places) or (self._most_inside if is_decided else 0)

    def _filters(self) -> tuple[list[quote.Filter], list[str]]:
        rules, fluent = self._rules, list(self.settings["fluent"])
        needed = rules.locales or fluent or (rules.min_approval_rate, rules.min_approved) != (None, None)
        return quote.filters(rules, fluent, list(self._client.pages("filters/")) if needed else [])

    def _earlier(self, *, published: bool = True) -> list[store.OurStudy]:
        """Studies of the task that this account has in Prolific; newest last."""
        studies, name = self._store.studies(self.task_name), str(self.provider.requester_name)
        return [one for one in studies if one.account == name and bool(one.study_id) == published]

    def _fee(self) -> Decimal | None:
        for study in reversed(self._store.studies()):
            if study.workspace == self._workspace.id and study.study_id:
                try:
                    said = self._client.get(f"studies/{study.study_id}/").get("fees_percentage")
                except ProlificError:
                    return None
                return None if said is None else Decimal(str(said))
        return None

    # -- after they are loaded -------------------------------------------------------------------

    def prepare(self, db: Any) -> list[str]:
        """Pause what is left of earlier launches, and make the study as a draft, or go on with one that is the same."""
        super().prepare(db)
        with self.waiting_for("Creating the study on Prolific…"):
            remarks = pause_left_over(self._client, self._store, self.task_name)
            # A launch that was killed may have made a study, and not heard of it
            for study in self._earlier(published=False):
                known = store.find_marked(self._client, study)
                if known:
                    self._store.made(study.mark, known)
                else:
                    self._store.forget(study.mark)
            architect = self.config.mephisto.architect
            local = f"http://127.0.0.1:{architect.get('port') or 3000}"
            remarks += self._have_study(str(architect.get("public_url") or local))
        if self.provider.draft_only:
            remarks.append("Nothing is published until you set draft_only=false. Open the draft to see its preview.")
        return remarks

    def _body(self, url: str) -> dict[str, Any]:
        """What Prolific is sent to make the study."""
        task = self.config.mephisto.task
        made, _ = self._filters()
        groups = [
            (quote.BLOCKED, self._lists.everywhere),
            (quote.BLOCKED, self._lists.blocked),
            (quote.ALLOWED, self._lists.allowed),
        ]
        for kind in (quote.BLOCKED, quote.ALLOWED):
            ids = [group.id for its, group in groups if its == kind and group is not None]
            made += [{"filter_id": kind, "selected_values": ids}] if ids else []
        excluded = (study for task in self._rules.exclude_tasks for study in self._store.studies(task))
        studies = [study.study_id for study in excluded if study.study_id]
        made += [{"filter_id": quote.EARLIER, "selected_values": studies}] if studies else []
        minutes, longest_s = self._asked.minutes, float(task.assignment_duration_in_seconds)
        least = 2 + 2 * minutes + 2 * math.sqrt(minutes)
        body = {
            "name": task.task_title,
            "description": html.escape(str(task.task_description), quote=False),
            "external_study_url": store.link(url, read_panel(store.PROVIDER)),
            "prolific_id_option": "url_parameters",
            "total_available_places": max(1, self._asked.open_first),
            "estimated_completion_time": minutes,
            "maximum_allowed_time": math.ceil(max((longest_s + MARGIN_S) / 60, least)),
            "reward": self._asked.reward,
            "device_compatibility": list(self.settings["devices"]),
            "completion_codes": store.new_codes(self._asked.screen_out),
            "filters": made,
            "project": self._workspace.project,
            "submissions_config": {
                "max_submissions_per_participant": 1,
                "max_concurrent_submissions": self._most_inside,
            },
            "study_labels": list(self.settings["labels"]),
            "content_warnings": list(self.settings["content_warnings"]),
        }
        is_signed = self.provider.secure_link and not self._store.lacks(self._workspace.id, store.SIGNED_FEATURE)
        return {**body, "is_external_study_url_secure": True} if is_signed else body

    @cached_property
    def _lists(self) -> Lists:
        block = self.config.mephisto.blueprint.get("block_qualification")
        return Lists(self._client, self._workspace.id, self.data_dir, self.task_name, self._rules, block)

    def _have_study(self, url: str) -> list[str]:
        """Go on with the newest study where it is the same; else stop it, and make another."""
        self._lists.follow(at_once=True)
        body = self._body(url)
        for study in reversed(self._earlier()):
            there = find_places(self._client, study.study_id)
            if there is None:
                self._store.forget(study.mark)
                continue
            goes_on = (statuses.PAUSED, statuses.AWAITING_REVIEW, statuses.UNPUBLISHED)
            if there.status in goes_on and store.is_same(body, study.body):
                if there.reward != body["reward"]:
                    what = f"it now pays {there.reward} cents on Prolific, but task_reward is {body['reward']}"
                    advice = "change it back there, or delete the draft, and launch again"
                    raise CrowdError(what, where=study.mark, try_=advice)
                self._study, self._was_paused = study, there.status == statuses.PAUSED
                return []
            if there.status == statuses.UNPUBLISHED:
                self._client.delete(f"studies/{study.study_id}/")
                self._store.forget(study.mark)
            elif there.status == statuses.PAUSED:
                transition(self._client, study.study_id, "STOP", (statuses.COMPLETED,))
        account, workspace = str(self.provider.requester_name), self._workspace
        new = store.OurStudy(
            store.new_mark(self.task_name),
            self.task_name,
            account,
            workspace.id,
            workspace.project,
            "",
            body,
            time.time(),
        )
        self._study, remarks = store.make_draft(self._client, self._store, new)
        return remarks

    def receive(self, db: Any) -> arrivals.ProlificReception:
        visits = self.crowd.mephisto_provider()(db).datastore
        signed = arrivals.SignedLinks(self._brief) if "is_external_study_url_secure" in self._study.body else None

        def studies() -> list[str]:
            return [study.study_id for study in self._store.studies(self.task_name)]

        def practised(worker_name: str) -> bool:
            visit = visits.newest_of(self.task_name, worker_name)
            if visit is None:
                return False
            values = (self.task_name, worker_name)
            ((practices, units),) = query(self.data_dir, "tries", [*values, visit.began, *values])
            return bool(practices) and not units

        self._arrivals = arrivals.Arrivals(self._brief, studies, visits, self.task_name, signed)
        door = arrivals.ProlificDoor(
            read_panel(store.PROVIDER), arrivals=self._arrivals, endings=self._endings, practised=practised
        )
        self._visits, self._reception = visits, arrivals.ProlificReception(visits, door, self.task_name)
        return self._reception

    @cached_property
    def _hooks(self) -> arrivals.Hooks | None:
        whose = f"{self.data_dir.resolve()}\n{self.task_name}"
        return arrivals.Hooks(self._client, self._workspace.id, whose) if self.provider.webhooks else None

    def setup(self, db: Any) -> CrowdSetup:
        setup = super().setup(db)
        setup.site_calls = {} if self._hooks is None else {self._hooks.path: self._hooks.handle}
        return setup

    def page_words(self) -> dict[str, Any]:
        return {"panel": {"title": read_panel(store.PROVIDER).title, "may_decline": True}}

    def raters_link(self, url: str, live_run: Any) -> str:
        return self._researchers_page()

    def _researchers_page(self) -> str:
        return arrivals.app_address(f"researcher/workspaces/studies/{self._study.study_id}")

    # -- while raters are at work ----------------------------------------------------------------

    @contextmanager
    def running(self, control: LaunchControl) -> Iterator[None]:
        self._serve_at(control.url)
        if self.provider.draft_only:
            yield
            return
        if why := _no_answer(control.url):
            raise CrowdError(
                f"nobody would see the page at {control.url} ({why}), so nothing was published",
                try_="check that public_url leads to this machine (its tunnel, proxy, certificate), and launch again",
            )
        follower = StudyFollower(
            self._client,
            self._study,
            control,
            self._visits,
            self._endings,
            self._lists,
            no_answer=lambda: _no_answer(control.url),
            most_inside=self._most_inside,
            most_open=self._most_open,
            was_paused=self._was_paused,
        )
        self._arrivals.has_room = follower.has_room
        try:
            follower.start()
            if self._hooks is not None:
                self._hooks.nudge = follower.nudge
                self._hooks.subscribe(control.url)
            yield
        finally:
            follower.stop()
            if self._hooks is not None:
                self._hooks.unsubscribe()
            try:
                follower.close()
            except CrowdError as error:
                control.live_run.task_launcher.left_on_site = True
                pause = f"Pause it at {self._researchers_page()}, or launch again: that pauses it first"
                logger.error("the study may still be open on Prolific: %s. %s", error, pause)

    def _serve_at(self, url: str) -> None:
        wanted = store.link(url, read_panel(store.PROVIDER))
        if self._study.body["external_study_url"] == wanted:
            return
        if study_places(self._client, self._study.study_id).status != statuses.UNPUBLISHED:
            self._have_study(url)  # a link cannot be changed once people have it
            return
        with asking("change the link of the draft"):
            self._client.patch(f"studies/{self._study.study_id}/", {"external_study_url": wanted})
        self._study = replace(self._study, body={**self._study.body, "external_study_url": wanted})
        self._store.changed(self._study.mark, self._study.body)


def _no_answer(url: str) -> str:
    """Why our own link does not answer, asked once as participants will; empty: it does."""
    try:
        answer = httpx.get(url, timeout=LINK_S, follow_redirects=True)
    except httpx.HTTPError as error:
        return str(error) or type(error).__name__
    return "" if answer.is_success else f"it answers with status {answer.status_code}"
