"""A workspace of the stand-in of Prolific: lists, filters, groups of participants, messages, hooks and arrivals."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from urllib.parse import unquote

import httpx
import pytest

from servers.prolific import (
    Fault,
    NotAllowed,
    StandIn,
)
from servers.prolific.signing import EXPONENT, MODULUS, hook_signature

from .hands import REVIEW, Api, screen_out


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
