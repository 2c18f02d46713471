"""Prolific as a whole: researchers on one side, participants on the other, and the rules between them.

:class:`Market` holds what is known, what participants can do, and what time does by itself. What researchers can do is in
:mod:`.studies`, :mod:`.submissions` and :mod:`.others`.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from datetime import datetime, timezone
from fractions import Fraction
from itertools import count
from threading import RLock
from typing import Any
from urllib.parse import quote

from ..mechanics import Clock
from .errors import ApiError
from .filters import lets_in, person_of
from .records import (
    ACTIVE,
    APPROVED,
    AWAITING_REVIEW,
    COMPLETED,
    INSIDE,
    NOTHING,
    PARTIALLY_APPROVED,
    PAUSED,
    PUBLISHING,
    REJECTED,
    RESERVED,
    RETURNED,
    SCREENED_OUT,
    TIMED_OUT,
    UNPUBLISHED,
    Batch,
    Charge,
    Delays,
    Event,
    Group,
    Ids,
    Person,
    Price,
    Project,
    Study,
    Submission,
    Subscription,
    Unknowns,
    User,
    Workspace,
)
from .signing import arrival_token

RESERVED_S = 10 * 60
REVIEW_S = 21 * 24 * 3600
RETURN_LINK = "/submissions/complete?cc={code}"
GIVEN_BACK = (RETURNED, TIMED_OUT, SCREENED_OUT)
PLACEHOLDERS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


class NotAllowed(Exception):
    """What a participant is told who cannot do that."""


class Market:
    """All workspaces, studies and participants. Hold ``lock`` to read or change several things at one time."""

    def __init__(self, seed: int = 0) -> None:
        self.clock = Clock()
        self.lock = RLock()
        self.ids = Ids(seed)
        self.unknowns = Unknowns()
        self.delays = Delays()
        self.pool = 200_000
        """How many people there are, for counts of who is eligible."""
        self.users: dict[str, User] = {}
        self.tokens: dict[str, str] = {}
        """Token → user."""
        self.workspaces: dict[str, Workspace] = {}
        self.projects: dict[str, Project] = {}
        self.studies: dict[str, Study] = {}
        self.people: dict[str, Person] = {}
        self.groups: dict[str, Group] = {}
        self.batches: dict[str, Batch] = {}
        self.secrets: dict[str, dict[str, str]] = {}
        """Workspace → its secret for hooks."""
        self.subscriptions: dict[str, Subscription] = {}
        self.events: list[Event] = []
        self.at: float | None = None
        """The time of what happens by itself just now."""
        self.busy: dict[str, int] = {}
        """Workspace → approvals that are under way there."""
        self.owed: dict[str, Price] = {}
        """Workspace → bonuses that were ordered, and are not paid yet."""
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    # What there is

    def open_workspace(self, token: str, **settings: Any) -> Workspace:
        """Give a researcher a workspace with a project; who has none of that token yet is made."""
        user = self.users.get(self.tokens.get(token, ""))
        if user is None:
            user = User(self.ids.new(), "researcher@example.org", [])
            self.users[user.id] = user
            self.tokens[token] = user.id
        workspace = Workspace(self.ids.new(), **{"title": "The lab", **settings})
        self.workspaces[workspace.id] = workspace
        user.workspaces.append(workspace.id)
        project = Project(self.ids.new(), workspace.id, "Project")
        self.projects[project.id] = project
        return workspace

    def project_of(self, workspace: Workspace) -> Project:
        """Its first."""
        return next(project for project in self.projects.values() if project.workspace == workspace.id)

    def workspace_of(self, study: Study) -> Workspace:
        return self.workspaces[self.projects[study.fields["project"]].workspace]

    def add_person(
        self,
        person_id: str = "",
        country: str = "United Kingdom",
        languages: Sequence[str] = ("English",),
        approval_rate: float = 100,
        approval_numbers: float = 50,
        age: float = 30,
        test: bool = False,
    ) -> Person:
        """A participant, made known to Prolific; an id is made up where none is given."""
        with self.lock:
            ranges = {"approval_rate": approval_rate, "approval_numbers": approval_numbers, "age": age}
            person = person_of(person_id or self.ids.new(), country, languages, **ranges)
            person.test = test
            self.people[person.id] = person
            return person

    def person(self, person_id: str) -> Person:
        """Of that id; who is not known yet signs up by coming."""
        return self.people.get(person_id) or self.add_person(person_id)

    def submissions(self, *statuses: str) -> list[Submission]:
        """Of all studies, in the order in which places were reserved; those of these statuses if any are named."""
        with self.lock:
            self.pass_time()
            every = [submission for study in self.studies.values() for submission in study.submissions]
        every.sort(key=lambda submission: submission.reserved)
        return [submission for submission in every if not statuses or submission.status in statuses]

    def submission(self, submission_id: str) -> Submission | None:
        every = (s for study in self.studies.values() for s in study.submissions)
        return next((submission for submission in every if submission.id == submission_id), None)

    # What time does

    @property
    def now(self) -> float:
        return self.clock.now() if self.at is None else self.at

    def later(self, seconds: float, do: Callable[[], None]) -> None:
        """Do something when so many seconds have passed."""
        heapq.heappush(self._due, (self.now + seconds, next(self._numbers), do))

    def pass_time(self) -> None:
        """Do all that is due, each as of its time."""
        with self.lock:
            if self.at is not None:
                return
            until = self.clock.now()
            try:
                while self._due and self._due[0][0] <= until:
                    self.at, _, do = heapq.heappop(self._due)
                    do()
            finally:
                self.at = None

    # Places

    def occupied(self, study: Study) -> int:
        """Places that nobody else can have."""
        freed = (*GIVEN_BACK, REJECTED) if self.unknowns.rejected_frees_place else GIVEN_BACK
        return sum(submission.status not in freed for submission in study.submissions)

    def places_taken(self, study: Study) -> int:
        """As researchers are told."""
        return self.occupied(study) - (0 if self.unknowns.reserved_is_taken else study.count(RESERVED))

    def set_status(self, study: Study, status: str) -> None:
        if study.status == status:
            return
        study.status = status
        self.notify(
            study, "study.status.change", study.id, {"status": status, "metadata": study.fields.get("metadata")}
        )

    def settle(self, study: Study) -> None:
        """What follows, for a study, from a place that was taken, given back or reviewed."""
        free = study.places - self.occupied(study)
        if study.status == ACTIVE and free <= 0:
            self.set_status(study, AWAITING_REVIEW)
        elif study.status == AWAITING_REVIEW and free > 0 and self.unknowns.reopens:
            self.set_status(study, ACTIVE)
        open_work = study.count(RESERVED, ACTIVE, AWAITING_REVIEW)
        if study.status == AWAITING_REVIEW and not open_work:
            self.set_status(study, COMPLETED)

    # Money

    def held(self, workspace: Workspace) -> Price:
        """Money put aside for places that are open, taken or to be reviewed, for screen-outs, and for ordered bonuses."""
        every = self.owed.get(workspace.id, NOTHING)
        for study in self.studies.values():
            if study.status not in (UNPUBLISHED, "SCHEDULED") and self.workspace_of(study) is workspace:
                every += self._held_for(study, workspace)
        return every

    def _held_for(self, study: Study, workspace: Workspace) -> Price:
        if study.test and not self.unknowns.test_study_costs:
            return NOTHING
        recruits = study.status != COMPLETED
        free = max(study.places - self.occupied(study), 0) if recruits else 0
        held = workspace.price(study.reward).times(free + study.count(*INSIDE, AWAITING_REVIEW))
        if recruits and self.unknowns.holds_screen_outs and (action := study.screen_out()):
            held += workspace.price(action["fixed_screen_out_reward"]).times(action["slots"] - study.screened_out)
        return held

    def available(self, workspace: Workspace) -> int:
        """What may still be spent."""
        return workspace.total - self.held(workspace).total

    def must_afford(self, workspace: Workspace) -> None:
        """Refuse what has just been entered, and is more than there is."""
        if self.available(workspace) < 0:
            raise ApiError(
                self.unknowns.refusal_status,
                "You do not have enough money in your account. Please top up your balance.",
                140002,
            )

    def charge(self, kind: str, submission: Submission, amount: int, batch: str = "") -> None:
        """Pay a participant."""
        if submission.study.test and not self.unknowns.test_study_costs:
            return
        workspace = self.workspace_of(submission.study)
        price = workspace.price(amount)
        workspace.total -= price.total
        charge = Charge(
            kind, submission.study.id, submission.id, submission.person, price, self.now, workspace.total, batch
        )
        workspace.charges.append(charge)
        if kind == "bonus" or (kind == "screen_out" and self.unknowns.screen_out_is_bonus):
            self.later(self.delays.bonus_seen_s, lambda: submission.bonuses.append(amount))

    # Submissions

    def become(self, submission: Submission, status: str) -> None:
        """Give a submission another status."""
        submission.status = status
        submission.history.append((self.now, status))
        body = {"status": status, "participant_id": submission.person}
        self.notify(submission.study, "submission.status.change", submission.id, body)
        self.settle(submission.study)

    def approve(self, submission: Submission) -> None:
        """Pay for the work. Work that was given back takes a place again, one more where there is none."""
        study, workspace = submission.study, self.workspace_of(submission.study)
        if submission.status in GIVEN_BACK:
            if workspace.price(study.reward).total > self.available(workspace):
                self.must_have_money()
            if self.occupied(study) >= study.places:
                study.fields["total_available_places"] += 1
        self.charge("reward", submission, study.reward)
        self.become(submission, APPROVED)

    def must_have_money(self) -> None:
        raise ApiError(self.unknowns.refusal_status, "You do not have enough money in your account.", 140002)

    def finish(self, submission: Submission, code: dict[str, Any], share: int = 0) -> None:
        """A completion code is used: its actions happen. ``share``: of the reward, in per cent, for a partial payment."""
        study = submission.study
        if submission.status == TIMED_OUT and self.occupied(study) >= study.places:
            study.fields["total_available_places"] += 1
        submission.code, submission.completed = code["code"], self.now
        status = AWAITING_REVIEW
        for action in code.get("actions") or []:
            name = action["action"]
            if name == "AUTOMATICALLY_APPROVE":
                slow = (submission.seconds or 0) >= float(study.fields["estimated_completion_time"]) * 30
                status = APPROVED if slow else AWAITING_REVIEW
            elif name.endswith("_PARTICIPANT_GROUP"):
                members = self.groups[action["participant_group"]].members
                members.pop(submission.person, None)
                if name.startswith("ADD"):
                    members[submission.person] = self.now
            elif name == "REQUEST_RETURN":
                submission.return_requested = self.now
            elif name == "FIXED_SCREEN_OUT_PAYMENT" and study.screened_out < action["slots"]:
                self._screen_out(submission, action)
                return
            elif name == "DYNAMIC_PAYMENT":
                self._pay_partly(submission, share)
                return
        if status == APPROVED:
            self.approve(submission)
        else:
            self.become(submission, AWAITING_REVIEW)
            self.later(REVIEW_S, lambda: self._auto_approve(submission))

    def _screen_out(self, submission: Submission, action: dict[str, Any]) -> None:
        study = submission.study
        study.screened_out += 1
        self.charge("screen_out", submission, action["fixed_screen_out_reward"])
        self.become(submission, SCREENED_OUT)
        if study.screened_out >= action["slots"] and study.status in (ACTIVE, AWAITING_REVIEW):
            self.set_status(study, PAUSED)

    def _pay_partly(self, submission: Submission, share: int) -> None:
        self.charge("partial", submission, round(Fraction(submission.study.reward * share, 100)))
        self.become(submission, PARTIALLY_APPROVED)

    def _auto_approve(self, submission: Submission) -> None:
        if submission.status == AWAITING_REVIEW:
            self.approve(submission)

    # Hooks

    def notify(self, study: Study, event_type: str, resource: str, body: dict[str, Any]) -> None:
        """Tell the hooks of a study's workspace; they are called soon."""
        workspace = self.workspace_of(study).id
        for subscription in self.subscriptions.values():
            wanted = subscription.workspace == workspace and subscription.event_type == event_type
            if wanted and subscription.confirmed and subscription.enabled:
                whole = {"resource_id": resource, "event_type": event_type, **body}
                self.events.append(Event(self.ids.opaque(), subscription, whole, self.now, self.now))

    # What participants do

    def offered(self, person_id: str) -> list[Study]:
        """The studies that a participant finds in the list."""
        with self.lock:
            self.pass_time()
            person = self.person(person_id)
            return [study for study in self.studies.values() if self._why_not(study, person) is None]

    def _why_not(self, study: Study, person: Person) -> str | None:
        if study.status != ACTIVE or study.places - self.occupied(study) <= 0:
            return "There are no places left on this study."
        limits = {"max_submissions_per_participant": 1, "max_concurrent_submissions": -1}
        limits.update(study.fields.get("submissions_config") or {})
        most_each, most_inside = limits["max_submissions_per_participant"], limits["max_concurrent_submissions"]
        before = [submission for submission in study.submissions if submission.person == person.id]
        if any(s.status in INSIDE for s in before) or (most_each != -1 and len(before) >= most_each):
            return "You have taken part in this study already."
        if most_inside not in (-1, None) and study.count(*INSIDE) >= most_inside:
            return "Too many people are taking part in this study just now."
        if study.test and not person.test:
            return "This study is for test participants."
        return None if lets_in(self, study, person) else "You are not eligible for this study."

    def reserve(self, person_id: str, study_id: str) -> Submission:
        """Take a place; it lapses if the link is not opened."""
        with self.lock:
            self.pass_time()
            person, study = self.person(person_id), self.studies.get(study_id)
            why = "There is no such study." if study is None else self._why_not(study, person)
            if study is None or why is not None:
                raise NotAllowed(why)
            if any(s.person == person.id and s.status in INSIDE for s in self.submissions(*INSIDE)):
                raise NotAllowed("You are taking part in another study just now.")
            submission = Submission(self.ids.new(), study, person.id, self.now)
            study.submissions.append(submission)
            self.become(submission, RESERVED)
            self.later(RESERVED_S, lambda: self._lapse(submission))
            return submission

    def _lapse(self, submission: Submission) -> None:
        if submission.status == RESERVED:
            submission.study.submissions.remove(submission)
            self.settle(submission.study)

    def open(self, submission_id: str) -> str:
        """Open the study's link, as often as one likes; the address of it, with the ids filled in."""
        with self.lock:
            submission = self._mine(submission_id, *INSIDE)
            if submission.status == RESERVED:
                submission.started = self.now
                self.become(submission, ACTIVE)
                self.later(submission.study.allowed_s, lambda: self._time_out(submission))
            return self.link(submission)

    def link(self, submission: Submission) -> str:
        """The address of the study for somebody."""
        study = submission.study
        ids = dict(zip(PLACEHOLDERS, (submission.person, study.id, submission.id), strict=True))
        url = filled(study, ids)
        if not study.fields.get("is_external_study_url_secure"):
            return url
        token = arrival_token(url, ids, self.workspace_of(study).id, self.now)
        return f"{url}{'&' if '?' in url else '?'}prolific_token={token}"

    def preview(self, study: Study) -> str:
        """The link as a researcher's preview opens it."""
        if self.unknowns.preview_ids == "placeholders":
            return str(study.fields["external_study_url"])
        return filled(study, {name: self.ids.new() for name in PLACEHOLDERS})

    def _time_out(self, submission: Submission) -> None:
        if submission.status == ACTIVE:
            self.become(submission, TIMED_OUT)

    def give_back(self, submission_id: str) -> Submission:
        """Return a submission, so that somebody else may take part."""
        with self.lock:
            submission = self._mine(submission_id, *INSIDE, AWAITING_REVIEW)
            self.become(submission, RETURNED)
            return submission

    def hand_in(self, submission_id: str, code: str | None) -> Submission:
        """Enter a code, right or wrong, or come back by the link that holds it; None: “no code”."""
        with self.lock:
            submission = self._mine(submission_id, ACTIVE)
            known = [each for each in submission.study.codes if each.get("actor", "participant") == "participant"]
            entry = next((each for each in known if code and each["code"] == code), None)
            if self.unknowns.says_processing:
                submission.status = "PROCESSING"
                submission.completed = self.now
                self.later(self.delays.publish_s, lambda: self._handed_in(submission, code, entry))
            else:
                self._handed_in(submission, code, entry)
            return submission

    def _handed_in(self, submission: Submission, code: str | None, entry: dict[str, Any] | None) -> None:
        self.finish(submission, entry or {"code": code or self.unknowns.no_code})

    def write(self, person_id: str, text: str, study: str, category: str) -> None:
        """Send a message to all researchers."""
        for user in self.users.values():
            user.messages.append(
                {
                    "id": self.ids.new(),
                    "sender_id": person_id,
                    "body": text,
                    "sent_at": stamp(self.now),
                    "type": "message",
                    "channel_id": self.ids.new(),
                    "data": {"study_id": study, "category": category},
                }
            )

    def _mine(self, submission_id: str, *statuses: str) -> Submission:
        self.pass_time()
        submission = self.submission(submission_id)
        if submission is None or submission.status not in statuses:
            raise NotAllowed("You are not taking part any more: your place was given back, or the time is over.")
        return submission

    def publish(self, study: Study) -> None:
        """Set the money aside, and recruit in a moment."""
        before = study.status
        study.status = PUBLISHING
        try:
            self.must_afford(self.workspace_of(study))
        except ApiError:
            study.status = before
            raise
        if self.unknowns.says_processing:
            study.status = "PROCESSING"
        self.later(self.delays.publish_s, lambda: self._recruit(study))

    def _recruit(self, study: Study) -> None:
        if study.status in (PUBLISHING, "PROCESSING"):
            study.published = self.now
            self.set_status(study, ACTIVE)


def filled(study: Study, ids: dict[str, str]) -> str:
    """The study's link with these ids in its placeholders."""
    url = str(study.fields["external_study_url"])
    for name, value in ids.items():
        url = url.replace(f"{{{{%{name}%}}}}", quote(value, safe=""))
    return url


def stamp(at: float | None) -> str | None:
    """A time as Prolific writes it."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
