"""Errors and faults of the stand-in of Prolific, on demand; and that every switch of what nobody knows is tried."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import fields
from pathlib import Path
from typing import Any

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
    StandIn,
    Unknowns,
)

from .hands import Api


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


def test_every_switch_is_tried() -> None:
    """In any file of tests here."""
    source = "".join(file.read_text(encoding="utf-8") for file in Path(__file__).parent.glob("test_*.py"))
    assert [field.name for field in fields(Unknowns) if f"unknowns.{field.name} = " not in source] == []


def test_by_hand() -> None:
    """What the command prints is all that a program needs; Ctrl-C ends it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "servers.prolific", "--port", "0", "--currency", "USD", "--balance", "7.50"],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # in the background it is ignored
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
