"""The stand-in of Prolific answers as its description says: state, money, time, refusals and faults."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from servers.prolific import (
    BAD_GATEWAY,
    BUSY_FOR_A_SECOND,
    CUT_AFTER,
    CUT_BEFORE,
    EMPTY_GATEWAY,
    ERROR_AFTER,
    WRONG_TOKEN,
    ApiError,
    Fault,
    NotAllowed,
    Participant,
    StandIn,
    Unknowns,
)
from servers.prolific.signing import EXPONENT, MODULUS, hook_signature

LINK = "https://study.example/?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"
REVIEW = {"code": "C-DONE", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}
OURS = {"code": "R-DONE", "code_type": "COMPLETED", "actor": "researcher", "actions": [{"action": "MANUALLY_REVIEW"}]}
DAY_S = 24 * 3600


def screen_out(slots: int, amount: int = 20) -> dict[str, Any]:
    action = {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": amount, "slots": slots}
    return {"code": "R-OUT", "code_type": "FIXED_SCREENOUT", "actor": "researcher", "actions": [action]}


class Api:
    """Requests without a client of ours."""

    def __init__(self, prolific: StandIn, token: str | None = None) -> None:
        self.prolific = prolific
        signature = {"Authorization": f"Token {token or prolific.token}"}
        self.http = httpx.Client(base_url=prolific.base, headers=signature, timeout=10, verify=False)

    def __call__(self, method: str, path: str, body: Any = None, status: int = 200, **params: Any) -> Any:
        answer = self.http.request(method, path, json=body, params=params or None)
        assert answer.status_code == status, answer.text
        if not answer.content:
            return None
        return answer.json() if "json" in answer.headers["Content-Type"] else answer.text

    def draft(self, **changes: Any) -> str:
        """A new study: three places of 1.00."""
        given = {
            "name": "Talk",
            "description": "Talk to a bot",
            "external_study_url": LINK,
            "prolific_id_option": "url_parameters",
            "total_available_places": 3,
            "estimated_completion_time": 5,
            "reward": 100,
            "completion_codes": [REVIEW, OURS],
            "project": self.prolific.project.id,
            **changes,
        }
        return str(self("POST", "studies/", given, 201)["id"])

    def move(self, study: str, action: str, status: int = 200) -> Any:
        return self("POST", f"studies/{study}/transition/", {"action": action}, status)

    def live(self, **changes: Any) -> str:
        """A study that recruits."""
        study = self.draft(**changes)
        self.move(study, "PUBLISH")
        self.prolific.clock.move(1)
        return study

    def inside(self, **changes: Any) -> tuple[str, Participant]:
        """A study that recruits, and somebody who takes part in it."""
        study, someone = self.live(**changes), self.prolific.participant()
        someone.take(study)
        return study, someone

    def study(self, study: str) -> dict[str, Any]:
        return dict(self("GET", f"studies/{study}/"))

    def act(self, someone: Participant, action: str, status: int = 200, **more: Any) -> Any:
        return self("POST", f"submissions/{someone.submission_id}/transition/", {"action": action, **more}, status)

    def balance(self) -> tuple[int, int]:
        """Total and available."""
        told = self("GET", f"workspaces/{self.prolific.workspace.id}/balance/")
        return told["total_balance"], told["available_balance"]

    def detail(self, method: str, path: str, body: Any = None, status: int = 400) -> Any:
        return self(method, path, body, status)["error"]["detail"]


@pytest.fixture
def prolific() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


@pytest.fixture
def api(prolific: StandIn) -> Api:
    return Api(prolific)


def test_a_study_from_draft_to_paid(prolific: StandIn, api: Api) -> None:
    """States and money follow participants and researcher step by step; a reward of 1.00 costs 1.40 with fee and tax."""
    study = api.draft()
    assert api.study(study)["status"] == "UNPUBLISHED"
    assert api("POST", "study-cost-calculator/", {"reward": 100, "total_available_places": 3})["total_cost"] == 420
    assert api.move(study, "PUBLISH")["status"] == "PUBLISHING"
    assert api.balance() == (10000, 9580)
    prolific.clock.move(1)
    assert api.study(study)["status"] == "ACTIVE"
    people = [prolific.participant() for _ in range(3)]
    for person in people:
        person.reserve(study)
    assert api.study(study)["status"] == "AWAITING REVIEW", "a full house"
    for person in people:
        link = person.open()
        assert link == (
            f"https://study.example/?PROLIFIC_PID={person.id}&STUDY_ID={study}&SESSION_ID={person.submission_id}"
        )
        person.follow("https://app.prolific.com/submissions/complete?cc=C-DONE")
    assert api("GET", f"studies/{study}/submissions/counts/")["AWAITING REVIEW"] == 3
    first = people[0].submission_id
    (row, *_) = api("GET", f"studies/{study}/submissions/")["results"]
    assert (row["participant_id"], row["study_code"]) == (people[0].id, "C-DONE")
    single = api("GET", f"submissions/{first}/")
    assert (single["participant"], single["entered_code"], single["study_id"]) == (people[0].id, "C-DONE", study)
    assert api.act(people[0], "APPROVE")["status"] == "APPROVED"
    assert api.act(people[0], "APPROVE")["status"] == "APPROVED", "repeating it is ignored"
    assert api.balance() == (9860, 9580)
    ids = [person.submission_id for person in people]
    assert "successfully" in api("POST", "submissions/bulk-approve/", {"submission_ids": ids})["message"]
    assert people[1].status == "AWAITING REVIEW", "it has not happened yet"
    prolific.clock.move(1)
    assert {person.status for person in people} == {"APPROVED"}
    assert api.study(study)["status"] == "COMPLETED"
    assert [(c.kind, c.participant, c.price.amount, c.price.total, c.balance) for c in prolific.charges] == [
        ("reward", people[0].id, 100, 140, 9860),
        ("reward", people[1].id, 100, 140, 9720),
        ("reward", people[2].id, 100, 140, 9580),
    ]
    assert api.balance() == (9580, 9580)


def test_bonuses_are_paid_as_often_as_they_are_asked_for(prolific: StandIn, api: Api) -> None:
    """A set-up costs nothing; each ``pay/`` charges all of it; what was paid is seen only later."""
    study, someone = api.inside()
    rows = f"{someone.id},1.50\n{someone.submission_id},0.30\n"
    batch = api("POST", "submissions/bonus-payments/", {"study_id": study, "csv_bonuses": rows}, 201)
    assert (batch["amount"], batch["fees"], batch["vat"], batch["total_amount"]) == (180, 60, 12, 252)
    prolific.clock.move(60)
    assert prolific.charges == []
    pay = f"bulk-bonus-payments/{batch['id']}/pay/"
    assert isinstance(api("POST", pay, status=202), str)
    assert prolific.charges == []
    prolific.clock.move(prolific.market.delays.pay_s)
    assert [charge.price.amount for charge in prolific.charges] == [150, 30]
    assert api("GET", f"submissions/{someone.submission_id}/")["bonus_payments"] == [], "they lag"
    prolific.clock.move(prolific.market.delays.bonus_seen_s)
    assert api("GET", f"submissions/{someone.submission_id}/")["bonus_payments"] == [150, 30]
    api("POST", pay, status=202)
    prolific.clock.move(60)
    assert someone.earned == 360
    assert api.balance()[0] == 10000 - 2 * 252


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ("aaaaaaaaaaaaaaaaaaaaaaaa,1.00\n{who},1.00", "aaaaaaaaaaaaaaaaaaaaaaaa"),
        ("{who},1.005", "not a valid amount"),
        ("{who},-1", "not a valid amount"),
        ("", "between 1 and 200"),
        ("{who},0.01\n" * 201, "between 1 and 200"),
    ],
)
def test_bonuses_that_cannot_be_set_up(prolific: StandIn, api: Api, rows: str, words: str) -> None:
    study, someone = api.inside()
    body = {"study_id": study, "csv_bonuses": rows.format(who=someone.id)}
    assert words in str(api.detail("POST", "submissions/bonus-payments/", body))
    assert prolific.market.batches == {}


def test_money_is_checked_where_it_is_promised(prolific: StandIn, api: Api) -> None:
    """At publishing, at more places, and when bonuses are paid: a refusal leaves everything as it was."""
    prolific.workspace.total = 420
    rich, poor = api.draft(), api.draft(total_available_places=1)
    api.move(rich, "PUBLISH")
    assert "enough money" in api.detail("POST", f"studies/{poor}/transition/", {"action": "PUBLISH"})
    assert api.study(poor)["status"] == "UNPUBLISHED"
    prolific.clock.move(1)
    assert "enough money" in api.detail("PATCH", f"studies/{rich}/", {"total_available_places": 4})
    assert api.study(rich)["total_available_places"] == 3
    someone = prolific.participant()
    someone.take(rich)
    batch = api("POST", "submissions/bonus-payments/", {"study_id": rich, "csv_bonuses": f"{someone.id},1"}, 201)
    assert "enough money" in api.detail("POST", f"bulk-bonus-payments/{batch['id']}/pay/")
    assert (prolific.charges, prolific.market.owed[prolific.workspace.id].total) == ([], 0)
    prolific.market.unknowns.refusal_status = 422
    api.detail("POST", f"bulk-bonus-payments/{batch['id']}/pay/", status=422)
    api.move(rich, "STOP")
    assert api.balance() == (420, 280), "free places are released, the one inside is not"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"completion_code": "X"}, "no longer supported"),
        ({"eligibility_requirements": []}, "no longer supported"),
        ({"reward": 1.5}, "integer"),
        ({"reward": True}, "integer"),
        ({"reward": 0}, "greater than or equal to 1"),
        ({"prolific_id_option": "query"}, "not a valid choice"),
        ({"completion_codes": []}, "required"),
        ({"completion_codes": [REVIEW, {**OURS, "code": "C-DONE"}]}, "unique"),
        ({"completion_codes": [{**REVIEW, "code": None}]}, "null"),
        ({"completion_codes": [{**REVIEW, "actions": [{"action": "PAY"}]}]}, "not a valid action"),
        ({"completion_codes": [{**REVIEW, "actions": [{"action": "DYNAMIC_PAYMENT"}]}]}, "researcher only"),
        ({"completion_codes": [REVIEW, screen_out(5, 100)]}, "below the reward"),
        ({"completion_codes": [REVIEW, screen_out(5), {**screen_out(5), "code": "X"}]}, "Only one"),
        ({"maximum_allowed_time": 10}, "at least 17"),
        ({"maximum_allowed_time": 1440}, "below 24 hours"),
        ({"external_study_url": "http://study.example"}, "valid URL"),
        ({"filters": [{"filter_id": "shoe-size", "selected_values": ["1"]}]}, "does not exist"),
        ({"filters": [{"filter_id": "current-country-of-residence", "selected_values": ["US"]}]}, "not valid choices"),
        ({"project": "0" * 24}, "no such project"),
    ],
)
def test_drafts_that_are_refused(prolific: StandIn, api: Api, change: dict[str, Any], words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        api.draft(**change)
    assert prolific.market.studies == {}
    study = api.draft()
    assert words in str(api.detail("PATCH", f"studies/{study}/", change)), "and a change to the same"


def test_what_is_missing_is_named(api: Api) -> None:
    wrong = api.detail("POST", "studies/", {"name": "Talk"})
    assert set(wrong) == {
        "description", "external_study_url", "prolific_id_option", "total_available_places",
        "estimated_completion_time", "reward", "completion_codes",
    }  # fmt: skip


def test_places_only_grow(prolific: StandIn, api: Api) -> None:
    """And more of them bring a study back that was full or stopped."""
    study = api.live(total_available_places=1)
    assert "only be increased" in str(api.detail("PATCH", f"studies/{study}/", {"total_available_places": 0}))
    assert "cannot be changed" in str(api.detail("PATCH", f"studies/{study}/", {"reward": 200}))
    prolific.participant().take(study)
    assert api.study(study)["status"] == "AWAITING REVIEW"
    assert api("PATCH", f"studies/{study}/", {"total_available_places": 2})["status"] == "ACTIVE"
    api.move(study, "STOP")
    assert api("PATCH", f"studies/{study}/", {"total_available_places": 3})["status"] == "ACTIVE"
    assert api("PATCH", f"studies/{study}/", {"total_available_places": 3})["total_available_places"] == 3
    assert api.balance() == (10000, 10000 - 3 * 140)
    api.detail("DELETE", f"studies/{study}/")
    draft = api.draft()
    api("DELETE", f"studies/{draft}/", status=204)
    api("GET", f"studies/{draft}/", status=404)


@pytest.mark.parametrize("refuses", [True, False])
def test_the_table_of_transitions(prolific: StandIn, api: Api, refuses: bool) -> None:
    prolific.market.unknowns.refuses_wrong_transition = refuses
    study = api.draft()
    wrong = 400 if refuses else 200
    for action in ("PAUSE", "START", "STOP", "CANCEL_PUBLISH"):
        api.move(study, action, wrong)
    api("POST", f"studies/{study}/transition/", {"action": "SCHEDULE_PUBLISH", "publish_at": "2030-01-01T00:00:00Z"})
    assert api.study(study)["status"] == "SCHEDULED"
    assert api.move(study, "CANCEL_PUBLISH")["status"] == "UNPUBLISHED"
    api.move(study, "PUBLISH")
    prolific.clock.move(1)
    for action, status in (("PAUSE", "PAUSED"), ("START", "ACTIVE"), ("PAUSE", "PAUSED"), ("STOP", "COMPLETED")):
        assert api.move(study, action)["status"] == status
        api.move(study, "PUBLISH", wrong)
    api.move(study, "STOP", wrong)
    api.move(study, "EXPIRE", 400)


def test_returned_lapsed_and_timed_out(prolific: StandIn, api: Api) -> None:
    """Each frees its place; a reservation that lapses leaves no trace; who is late cannot hand in."""
    study = api.live(total_available_places=3, maximum_allowed_time=20)
    returns, lapses, late = (prolific.participant() for _ in range(3))
    returns.take(study)
    returns.give_back()
    lapses.reserve(study)
    late.take(study)
    assert api.study(study)["places_taken"] == 2
    prolific.clock.move(10 * 60 + 1)
    assert lapses.status is None
    prolific.clock.move(10 * 60)
    assert (returns.status, late.status) == ("RETURNED", "TIMED-OUT")
    with pytest.raises(NotAllowed):
        late.hand_in("C-DONE")
    told = api.study(study)
    assert (told["status"], told["places_taken"], told["number_of_submissions"]) == ("ACTIVE", 0, 2)
    assert lapses.studies() == [study], "who did not begin may come again"
    assert returns.studies() == []
    lapses.take(study)
    lapses.hand_in("C-DONE")
    lapses.give_back()
    assert lapses.status == "RETURNED", "as long as nobody has reviewed it"


@pytest.mark.parametrize("reopens", [True, False])
def test_a_place_given_back_in_a_full_house(prolific: StandIn, api: Api, reopens: bool) -> None:
    prolific.market.unknowns.reopens = reopens
    study, someone = api.inside(total_available_places=1)
    someone.give_back()
    assert api.study(study)["status"] == ("ACTIVE" if reopens else "COMPLETED")


@pytest.mark.parametrize("counts", [True, False])
def test_whether_reserved_places_are_taken(prolific: StandIn, api: Api, counts: bool) -> None:
    prolific.market.unknowns.reserved_is_taken = counts
    study = api.live()
    prolific.participant().reserve(study)
    assert api.study(study)["places_taken"] == int(counts)


@pytest.mark.parametrize("frees", [True, False])
def test_rejecting(prolific: StandIn, api: Api, frees: bool) -> None:
    prolific.market.unknowns.rejected_frees_place = frees
    study, someone = api.inside(total_available_places=1)
    why = {"rejection_category": "LOW_EFFORT", "message": "x" * 99}
    api.act(someone, "REJECT", 400, **why)
    someone.hand_in("C-DONE")
    api.act(someone, "REJECT", 400, **why)
    api.act(someone, "REJECT", 400, **{**why, "rejection_category": "BORED"}, completion_code="x")
    assert api.act(someone, "REJECT", **{**why, "message": "x" * 100})["status"] == "REJECTED"
    api.act(someone, "APPROVE", 400)
    assert api.study(study)["status"] == ("ACTIVE" if frees else "COMPLETED")
    assert prolific.charges == []


@pytest.mark.parametrize("allowed", [True, False])
def test_approving_what_was_given_back(prolific: StandIn, api: Api, allowed: bool) -> None:
    """Where it is possible, it takes a place again, or one more."""
    prolific.market.unknowns.approves_returned = allowed
    study = api.live(total_available_places=1, maximum_allowed_time=20)
    gone, other = prolific.participant(), prolific.participant()
    gone.take(study)
    gone.give_back()
    other.take(study)
    api.act(gone, "APPROVE", 200 if allowed else 400)
    assert gone.earned == (100 if allowed else 0)
    assert api.study(study)["total_available_places"] == (2 if allowed else 1)
    api("POST", "submissions/bulk-approve/", {"study_id": study, "participant_ids": [gone.id, other.id]})
    prolific.clock.move(1)
    assert other.status == "ACTIVE", "what cannot be approved is passed over without a word"
    api.act(other, "APPROVE", 400)


def test_nobody_reviews(prolific: StandIn, api: Api) -> None:
    _, someone = api.inside()
    someone.hand_in("not the code")
    assert api("GET", f"submissions/{someone.submission_id}/")["entered_code"] == "not the code"
    prolific.clock.move(21 * DAY_S - 60)
    assert someone.status == "AWAITING REVIEW"
    prolific.clock.move(120)
    assert (someone.status, someone.earned) == ("APPROVED", 100)


def test_codes_act(prolific: StandIn, api: Api) -> None:
    """Approved at once unless too fast; put into a group; asked to return; no code; another's code."""
    group = api("POST", "participant-groups/", {"workspace_id": prolific.workspace.id, "name": "done"}, 201)["id"]
    quick = {"code": "C-AUTO", "code_type": "COMPLETED", "actions": [{"action": "AUTOMATICALLY_APPROVE"}]}
    joins = {
        "code": "C-JOIN", "code_type": "SCREENED_IN",
        "actions": [{"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": group}],
    }  # fmt: skip
    leaves = {
        "code": "C-OUT", "code_type": "NO_CONSENT", "actions": [{"action": "REQUEST_RETURN", "return_reason": "no"}]
    }  # fmt: skip
    study = api.live(total_available_places=9, completion_codes=[quick, joins, leaves, OURS])
    fast, slow, joining, leaving, silent = (prolific.participant() for _ in range(5))
    for person in (fast, slow, joining, leaving, silent):
        person.take(study)
    fast.hand_in("C-AUTO")
    joining.hand_in("C-JOIN")
    leaving.hand_in("C-OUT")
    silent.hand_in(None)
    prolific.clock.move(150)
    slow.hand_in("C-AUTO")
    assert (fast.status, slow.status) == ("AWAITING REVIEW", "APPROVED")
    members = api("GET", f"participant-groups/{group}/participants/")["results"]
    assert [member["participant_id"] for member in members] == [joining.id]
    assert api("GET", f"submissions/{leaving.submission_id}/")["return_requested"]
    assert silent.status == "AWAITING REVIEW"
    assert api("GET", f"submissions/{silent.submission_id}/")["entered_code"] is None
    with pytest.raises(NotAllowed):
        fast.hand_in("C-AUTO")


@pytest.mark.parametrize("possible", [True, False])
def test_the_researcher_completes(prolific: StandIn, api: Api, possible: bool) -> None:
    """With a researcher's code, which participants cannot use; reserved and timed-out ones as the switches say."""
    prolific.market.unknowns.completes_reserved = possible
    prolific.market.unknowns.completes_timed_out = possible
    study = api.live(total_available_places=3, maximum_allowed_time=20)
    inside, reserved, late, cheat = (prolific.participant() for _ in range(4))
    late.take(study)
    prolific.clock.move(20 * 60 + 1)
    inside.take(study)
    reserved.reserve(study)
    cheat.take(study)
    cheat.hand_in("R-DONE")
    assert cheat.status == "AWAITING REVIEW", "with a code that is none for participants"
    api.act(inside, "COMPLETE", 400, completion_code="C-DONE")
    for _ in range(2):
        assert api.act(inside, "COMPLETE", completion_code="R-DONE")["entered_code"] == "R-DONE"
    api.act(reserved, "COMPLETE", 200 if possible else 400, completion_code="R-DONE")
    api.act(late, "COMPLETE", 200 if possible else 400, completion_code="R-DONE")
    assert late.status == ("AWAITING REVIEW" if possible else "TIMED-OUT")
    assert api.study(study)["total_available_places"] == (4 if possible else 3), "a place more"


@pytest.mark.parametrize("grow", [True, False])
@pytest.mark.parametrize("seen", [True, False])
def test_screened_out_with_pay(prolific: StandIn, api: Api, grow: bool, seen: bool) -> None:
    """The place is free, the money paid; without slots the study pauses itself until there are more."""
    prolific.market.unknowns.screen_out_is_bonus = seen
    prolific.market.unknowns.slots_grow = grow
    study = api.live(completion_codes=[REVIEW, screen_out(1)])
    assert api.balance() == (10000, 10000 - 3 * 140 - 28)
    first, second = prolific.participant(), prolific.participant()
    first.take(study)
    second.take(study)
    assert api.act(first, "COMPLETE", completion_code="R-OUT")["status"] == "SCREENED OUT"
    told = api.study(study)
    assert (told["status"], told["places_taken"]) == ("PAUSED", 1)
    assert [(c.kind, c.price.amount) for c in prolific.charges] == [("screen_out", 20)]
    prolific.clock.move(60)
    assert api("GET", f"submissions/{first.submission_id}/")["bonus_payments"] == ([20] if seen else [])
    api.act(second, "COMPLETE", 400, completion_code="R-OUT")
    api.move(study, "START", 400)
    more = {"completion_codes": [REVIEW, screen_out(2)]}
    api("PATCH", f"studies/{study}/", more, 200 if grow else 400)
    if grow:
        assert api.move(study, "START")["status"] == "ACTIVE"
        api.act(second, "COMPLETE", completion_code="R-OUT")
        fewer = {"completion_codes": [REVIEW, screen_out(1)]}
        assert "only be increased" in str(api.detail("PATCH", f"studies/{study}/", fewer))
        changed = {"completion_codes": [{**REVIEW, "code": "C-NEW"}, screen_out(9)]}
        assert "cannot be changed" in str(api.detail("PATCH", f"studies/{study}/", changed))


def test_paid_in_part(prolific: StandIn, api: Api) -> None:
    partly = {**OURS, "code": "R-PART", "actions": [{"action": "DYNAMIC_PAYMENT"}]}
    _, someone = api.inside(completion_codes=[REVIEW, partly])
    api.act(someone, "COMPLETE", 400, completion_code="R-PART")
    share = {"percentage_of_reward": 40, "message_to_participant": "Thanks"}
    told = api.act(someone, "COMPLETE", completion_code="R-PART", completion_code_data=share)
    assert (told["status"], someone.earned) == ("PARTIALLY APPROVED", 40)


@pytest.mark.parametrize("status", [403, 400])
def test_what_a_workspace_lacks(prolific: StandIn, api: Api, status: int) -> None:
    prolific.market.unknowns.gated_status = status
    prolific.workspace.features.clear()
    study = api.draft()
    api("PATCH", f"studies/{study}/", {"completion_codes": [REVIEW, screen_out(1)]}, status)
    api("PATCH", f"studies/{study}/", {"is_external_study_url_secure": True}, status)
    api("POST", f"studies/{study}/test-study", status=status)
    api("POST", "researchers/participants/", {"email": "a@example.org"}, status)
    prolific.workspace.features.add("test_participants")
    api("POST", f"studies/{study}/test-study", status=400)
    person = api("POST", "researchers/participants/", {"email": "a@example.org"}, 201)["participant_id"]
    copy = api("POST", f"studies/{study}/test-study")["study_id"]
    prolific.clock.move(1)
    assert prolific.participant(person).studies() == [copy]
    assert prolific.participant().studies() == []


def test_lists_come_in_pages(prolific: StandIn, api: Api) -> None:
    """Twenty at a time; past the end is 404; one route may give all at once, or not."""
    study = api.live(total_available_places=45)
    people = [prolific.participant() for _ in range(45)]
    for person in people:
        person.take(study)
        prolific.clock.move(1)
    api("GET", "submissions/", status=400)
    first = api("GET", "submissions/", study=study)
    assert (len(first["results"]), first["meta"]["count"]) == (20, 45)
    assert [row["participant_id"] for row in first["results"]] == [person.id for person in people[:20]]
    second = api("GET", first["_links"]["next"]["href"])
    third = api("GET", second["_links"]["next"]["href"])
    assert (len(third["results"]), third["_links"]["next"]["href"]) == (5, None)
    api("GET", "submissions/", study=study, page=4, status=404)
    assert len(api("GET", "submissions/", study=study, page_size=100)["results"]) == 45
    assert api("GET", f"submissions/?study={study}&status=timed_out")["results"] == []
    assert len(api("GET", f"studies/{study}/submissions/")["results"]) == 45
    prolific.market.unknowns.pages_study_submissions = True
    assert len(api("GET", f"studies/{study}/submissions/", ordering="-started_at")["results"]) == 20
    for number in range(25):
        api.draft(internal_name=f"talk {number}")
    listed = api("GET", f"projects/{prolific.project.id}/studies/", ordering="-date_created")
    assert (listed["results"][0]["internal_name"], len(listed["results"])) == ("talk 24", 20)
    assert [row["id"] for row in api("GET", "studies/", state="(awaiting_review|active)")["results"]] == [study]
    assert api("GET", "workspaces/", limit=1000)["meta"]["count"] == 1


def test_a_page_shifts_while_it_is_read(prolific: StandIn, api: Api) -> None:
    study = api.live(total_available_places=45)
    people = [prolific.participant() for _ in range(21)]
    for person in people:
        person.take(study)
        prolific.clock.move(1)

    def shift(answer: Any) -> Any:
        del prolific.market.studies[study].submissions[0]
        return answer

    prolific.faults.next("GET submissions/", Fault(change=shift))
    first = api("GET", "submissions/", study=study)
    api("GET", first["_links"]["next"]["href"], status=404)


def test_who_may_take_part(prolific: StandIn, api: Api) -> None:
    """Filters and groups are honoured, also as they change while the study runs; who is inside stays."""
    known = {each["filter_id"]: each for each in api("GET", "filters/")["results"]}
    labels = known["current-country-of-residence"]["choices"]
    germany = next(name for name, label in labels.items() if label == "Germany")
    api("POST", "participant-groups/", {"workspace_id": prolific.workspace.id}, 400)
    made = {"workspace_id": prolific.workspace.id, "name": "blocked"}
    group = api("POST", "participant-groups/", made, 201)["id"]
    filters = [
        {"filter_id": "current-country-of-residence", "selected_values": [germany]},
        {"filter_id": "approval_rate", "selected_range": {"lower": 95, "upper": 100}},
        {"filter_id": "participant_group_blocklist", "selected_values": [group]},
    ]
    study = api.live(filters=filters, submissions_config={"max_concurrent_submissions": 2})
    fits = prolific.participant(country="Germany")
    assert fits.studies() == [study]
    assert prolific.participant(country="France").studies() == []
    assert prolific.participant(country="Germany", approval_rate=90).studies() == []
    inside = prolific.participant(country="Germany")
    inside.take(study)
    api("POST", f"participant-groups/{group}/participants/", {"participant_ids": [fits.id, inside.id]})
    assert fits.studies() == []
    inside.hand_in("C-DONE")
    api("DELETE", f"participant-groups/{group}/participants/", {"participant_ids": [fits.id, "f" * 24]})
    fits.take(study)
    prolific.participant(country="Germany").take(study)
    third = prolific.participant(country="Germany")
    with pytest.raises(NotAllowed):
        third.take(study)
    fits.give_back()
    assert third.studies() == [study]
    prolific.market.pool = 10_000
    count = {"workspace_id": prolific.workspace.id, "filters": filters[:1]}
    assert api("POST", "eligibility-count/", count)["count"] == round(10_000 / len(labels))
    listed = [{"filter_id": "custom_allowlist", "selected_values": [fits.id]}]
    assert api("POST", "eligibility-count/", {**count, "filters": listed})["count"] == 0, "fewer than 25"
    prolific.market.unknowns.lists_approvals = False
    assert "approval_numbers" not in str(api("GET", "filters/"))


@pytest.mark.parametrize("takes_known", [True, False])
def test_a_group_with_somebody_unknown(prolific: StandIn, api: Api, takes_known: bool) -> None:
    prolific.market.unknowns.group_takes_known = takes_known
    group = api("POST", "participant-groups/", {"workspace_id": prolific.workspace.id, "name": "g"}, 201)["id"]
    people = {"participant_ids": [prolific.participant().id, "f" * 24]}
    assert api("POST", f"participant-groups/{group}/participants/", people, 400)["error"]["error_code"] == 140003
    assert api("GET", f"participant-groups/{group}/")["participant_count"] == int(takes_known)
    api("DELETE", f"participant-groups/{group}/", status=204)
    assert api("GET", "participant-groups/", workspace_id=prolific.workspace.id)["results"] == []


def test_whose_things_they_are(prolific: StandIn, api: Api) -> None:
    """A wrong token, another workspace's things, and a study in a foreign project, which fails only at publishing."""
    other = prolific.market.open_workspace("other-token", currency="USD", total=50_00)
    stranger = Api(prolific, "other-token")
    assert stranger("GET", f"workspaces/{other.id}/balance/")["currency_code"] == "USD"
    study = api.draft()
    stranger("GET", f"studies/{study}/", status=403)
    stranger("GET", f"workspaces/{prolific.workspace.id}/", status=403)
    Api(prolific, "wrong")("GET", "users/me/", status=401)
    assert httpx.get(f"{prolific.base}users/me/").status_code == 401
    misplaced = api.draft(project=prolific.market.project_of(other).id)
    refused = api.move(misplaced, "PUBLISH", 400)
    assert refused["error"]["error_code"] == 140007
    new = api("POST", f"workspaces/{prolific.workspace.id}/projects/", {"title": "Mine"}, 201)["id"]
    assert api("GET", f"projects/{new}/")["workspace"] == prolific.workspace.id
    me = api("GET", "users/me/")
    assert (me["currency_code"], me["available_balance"]) == ("GBP", 10000)


@pytest.mark.parametrize("redirects", [True, False])
def test_a_path_without_its_slash(prolific: StandIn, api: Api, redirects: bool) -> None:
    prolific.market.unknowns.slash_redirects = redirects
    api("GET", "users/me", status=301 if redirects else 404)
    api("DELETE", "users/me/", status=405)


@pytest.mark.parametrize("shape", ["wrapped", "bare", "message"])
@pytest.mark.parametrize("detail", ["No.", ["No.", "Never."], {"name": ["No."]}])
def test_shapes_of_errors(prolific: StandIn, api: Api, shape: str, detail: Any) -> None:
    prolific.market.unknowns.error_shape = shape
    prolific.faults.next("GET users/me/", ApiError(400, detail))
    said = api("GET", "users/me/", status=400)
    assert (said["error"] if shape == "wrapped" else said)["detail"] == detail


def test_faults_by_route_and_number(prolific: StandIn, api: Api) -> None:
    """Planned for the second call of a route; cut before or after; HTML; empty; slow; done, and answered as an error."""
    faults = prolific.faults
    faults.next("GET users/me/", None, BAD_GATEWAY, EMPTY_GATEWAY, BUSY_FOR_A_SECOND, WRONG_TOKEN)
    api("GET", "users/me/")
    assert "<h1>502" in api("GET", "users/me/", status=502)
    assert api("GET", "users/me/", status=503) is None
    assert api.http.get("users/me/").headers["Retry-After"] == "1"
    api("GET", "users/me/", status=401)
    study = api.draft()
    faults.next("POST studies/{}/transition/ PUBLISH", CUT_BEFORE, CUT_AFTER)
    for status in ("UNPUBLISHED", "PUBLISHING"):
        with pytest.raises(httpx.RemoteProtocolError):
            api.move(study, "PUBLISH")
        assert prolific.market.studies[study].status == status
    faults.next("PATCH studies/{}/", ERROR_AFTER)
    api("PATCH", f"studies/{study}/", {"total_available_places": 5}, 500)
    assert api.study(study)["total_available_places"] == 5
    faults.always("*", Fault(wait_s=0.3))
    began = time.monotonic()
    api("GET", "users/me/")
    assert time.monotonic() - began > 0.3
    faults.clear()
    faults.next("GET studies/{}/", Fault(change=lambda answer: {**answer, "status": "DREAMING"}))
    assert api.study(study)["status"] == "DREAMING"
    outcomes = [call.outcome for call in prolific.journal.of("POST studies/{}/transition/ PUBLISH")]
    assert outcomes == ["cut before", "cut after"]
    assert prolific.journal.calls[0].params == {"path": "users/me/"}
    prolific.throttle.most_per_second = 1
    api("GET", "users/me/")
    api("GET", "users/me/", status=429)


@pytest.mark.parametrize("shared", [True, False])
def test_the_wallet_is_busy(prolific: StandIn, api: Api, shared: bool) -> None:
    prolific.market.unknowns.wallet_is_shared = shared
    prolific.market.unknowns.retry_after = True
    study, someone = api.inside()
    someone.hand_in("C-DONE")
    batch = api("POST", "submissions/bonus-payments/", {"study_id": study, "csv_bonuses": f"{someone.id},1"}, 201)
    api("POST", "submissions/bulk-approve/", {"submission_ids": [someone.submission_id]})
    api("POST", f"bulk-bonus-payments/{batch['id']}/pay/", status=429 if shared else 202)
    prolific.clock.move(1)
    api("POST", f"bulk-bonus-payments/{batch['id']}/pay/", status=202)


def test_passing_words(prolific: StandIn, api: Api) -> None:
    prolific.market.unknowns.says_processing = True
    prolific.market.unknowns.no_code = "NOCODE"
    study = api.draft()
    assert api.move(study, "PUBLISH")["status"] == "PROCESSING"
    prolific.clock.move(1)
    someone = prolific.participant()
    someone.take(study)
    someone.hand_in(None)
    assert api("GET", f"submissions/{someone.submission_id}/")["status"] == "PROCESSING"
    prolific.clock.move(1)
    assert api("GET", f"submissions/{someone.submission_id}/")["entered_code"] == "NOCODE"


def test_a_signed_arrival(prolific: StandIn, api: Api) -> None:
    """RS256 over what the link says, for two minutes; the key stands where anybody reads it."""
    study = api.live(is_external_study_url_secure=True)
    someone = prolific.participant()
    link, _, token = someone.take(study).partition("&prolific_token=")
    head, claims, signature = token.split(".")

    def data(text: str) -> bytes:
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    (key,) = httpx.get(f"{prolific.url}/.well-known/study/jwks.json").json()["keys"]
    assert json.loads(data(head)) == {"alg": "RS256", "typ": "JWT", "kid": key["kid"]}
    assert (int.from_bytes(data(key["n"]), "big"), int.from_bytes(data(key["e"]), "big")) == (MODULUS, EXPONENT)
    plain = pow(int.from_bytes(data(signature), "big"), EXPONENT, MODULUS).to_bytes(math.ceil(2048 / 8), "big")
    assert plain.endswith(hashlib.sha256(f"{head}.{claims}".encode()).digest())
    told = json.loads(data(claims))
    assert (told["aud"], told["sub"], told["exp"] - told["iat"]) == (link, someone.submission_id, 120)
    assert told["prolific"]["PROLIFIC_PID"] == someone.id


@pytest.mark.parametrize("ids", ["sample", "placeholders"])
def test_the_preview(prolific: StandIn, api: Api, ids: str) -> None:
    prolific.market.unknowns.preview_ids = ids
    study = api.draft()
    answer = httpx.get(f"{prolific.url}/researcher/preview/{study}")
    assert ("{{%PROLIFIC_PID%}}" in unquote(answer.headers["Location"])) == (ids == "placeholders")


class _Hook(BaseHTTPRequestHandler):
    """Refuses the first event, takes the others."""

    got: list[tuple[dict[str, str], bytes]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append((dict(self.headers), body))
        self.send_response(503 if len(self.got) == 1 else 204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


def test_hooks(prolific: StandIn, api: Api) -> None:
    """Confirmed by a header's secret; signed; tried again after a refusal; a new secret takes the old one's place."""
    prolific.market.unknowns.hook_tries = 2
    got: list[tuple[dict[str, str], bytes]] = []
    receiver = HTTPServer(("127.0.0.1", 0), type("Hook", (_Hook,), {"got": got}))
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    try:
        workspace = prolific.workspace.id
        made = {
            "workspace_id": workspace,
            "event_type": "study.status.change",
            "target_url": f"http://127.0.0.1:{receiver.server_port}/",
        }
        api("POST", "hooks/subscriptions/", made, 400)
        old, new = (api("POST", "hooks/secrets/", {"workspace_id": workspace}, 201)["value"] for _ in range(2))
        assert old != new
        answer = api.http.post("hooks/subscriptions/", json=made)
        hook = f"hooks/subscriptions/{answer.json()['id']}/"
        api("POST", hook, {"secret": "wrong"}, 400)
        assert api("POST", hook, {"secret": answer.headers["X-Hook-Secret"]})["is_enabled"]
        study = api.live()
        api.study(study)
        _wait_for(lambda: len(got) == 1)
        prolific.clock.move(61)
        _wait_for(lambda: len(got) == 2)
        headers, body = got[1]
        assert json.loads(body) == {
            "resource_id": study, "event_type": "study.status.change", "status": "ACTIVE", "metadata": None,
        }  # fmt: skip
        moment = headers["X-Prolific-Request-Timestamp"]
        assert headers["X-Prolific-Request-Signature"] == hook_signature(new, moment, body)
        assert headers["X-Event-ID"] == got[0][0]["X-Event-ID"]
        _wait_for(lambda: api("GET", f"{hook}events/", status=200)["results"][0]["status"] == "SUCCEEDED")
        api("DELETE", hook, status=204)
    finally:
        receiver.shutdown()
        receiver.server_close()


def _wait_for(done: Callable[[], bool]) -> None:
    until = time.monotonic() + 10
    while not done():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_messages(prolific: StandIn, api: Api) -> None:
    someone = prolific.participant()
    api("POST", "messages/", {"recipient_id": someone.id, "body": "Hello", "study_id": "s"}, 204)
    assert someone.person.mails == [{"study_id": "s", "body": "Hello"}]
    api("GET", "messages/", status=400)
    assert api("GET", "messages/unread/")["results"] == []
    someone.writes("Where is my money?", category="payment-timing")
    (message,) = api("GET", "messages/unread/")["results"]
    assert (message["sender_id"], message["data"]["category"]) == (someone.id, "payment-timing")


@pytest.mark.parametrize("strict", [True, False])
def test_figures_that_nobody_knows(prolific: StandIn, api: Api, strict: bool) -> None:
    """The shortest time for an estimate of 5 minutes is 16.47; the smallest screen-out; what test participants cost."""
    prolific.market.unknowns.shortest_time_rounds_up = strict
    prolific.market.unknowns.has_smallest_screen_out = strict
    prolific.market.unknowns.test_study_costs = strict
    study, wanted = api.draft(), 400 if strict else 200
    api("PATCH", f"studies/{study}/", {"maximum_allowed_time": 16}, wanted)
    api("PATCH", f"studies/{study}/", {"completion_codes": [REVIEW, screen_out(1, 9)]}, wanted)
    someone = prolific.participant(test=True)
    copy = api("POST", f"studies/{study}/test-study")["study_id"]
    prolific.clock.move(1)
    someone.take(copy)
    someone.hand_in("C-DONE")
    api.act(someone, "APPROVE")
    assert someone.earned == (100 if strict else 0)


@pytest.mark.parametrize("possible", [True, False])
def test_editing_a_published_study(prolific: StandIn, api: Api, possible: bool) -> None:
    prolific.market.unknowns.edits_published = possible
    prolific.market.unknowns.holds_screen_outs = possible
    study = api.live(completion_codes=[REVIEW, screen_out(1)])
    api("PATCH", f"studies/{study}/", {"description": "Another"}, 200 if possible else 400)
    assert api.balance()[1] == 10000 - 3 * 140 - (28 if possible else 0)


def test_a_storm(prolific: StandIn, api: Api) -> None:
    """Many at once: never more people than places, and every penny that left the workspace is somebody's."""
    prolific.workspace.total = 1000_00
    study = api.live(total_available_places=40)
    refused: list[str] = []

    def take_part(number: int) -> None:
        someone = prolific.participant()
        try:
            someone.take(study)
        except NotAllowed:
            refused.append(someone.id)
            return
        if number % 4:
            someone.hand_in("C-DONE")
            Api(prolific).act(someone, "APPROVE")
        else:
            someone.give_back()

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(take_part, range(80)))
    told = api.study(study)
    approved = len(prolific.market.submissions("APPROVED"))
    assert told["places_taken"] == approved <= 40
    assert approved + len(prolific.market.submissions("RETURNED")) + len(refused) == 80
    assert [charge.balance for charge in prolific.charges] == [100_000 - 140 * n for n in range(1, approved + 1)]
    assert api.balance() == (100_000 - 140 * approved, 100_000 - 140 * 40)


def test_every_switch_is_tried() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    assert [field.name for field in fields(Unknowns) if f"unknowns.{field.name} = " not in source] == []


def test_dollars(api: Api) -> None:
    """A workspace of another currency, without fee: every figure is in its cents."""
    with StandIn(currency="USD", balance=2_00, fee=0, vat=0) as dollars:
        there = Api(dollars)
        study = there.live(total_available_places=2)
        assert there.study(study)["currency_code"] == "USD"
        assert there.study(study)["total_cost"] == 200
        assert (
            there("GET", "reward-recommendations/", workspace_id=dollars.workspace.id)[0]["min_reward_per_hour"] == 800
        )


def test_by_hand() -> None:
    """What the command prints is all that a program needs; Ctrl-C ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "servers.prolific", "--port", "0", "--currency", "USD", "--balance", "7.50"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(4)]
        told = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines[:2])
        token = {"Authorization": f"Token {told['PROLIFIC_TOKEN']}"}
        me = httpx.get(f"{told['PROLIFIC_API']}users/me/", headers=token).json()
        assert (me["currency_code"], me["balance"]) == ("USD", 750)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
    finally:
        process.kill()
        process.communicate()
