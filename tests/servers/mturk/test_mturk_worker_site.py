"""The site of MTurk's workers: what they find, see in the frame, accept, return and submit."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import aiohttp
import pytest
import pytest_asyncio
from markupsafe import Markup

from servers.mturk import StandIn

from .test_mturk_stand_in import ADULT, connect, hit, new_hit, new_type


@pytest.fixture
def mturk() -> Iterator[StandIn]:
    with StandIn() as server:
        yield server


@pytest_asyncio.fixture
async def worker(mturk: StandIn) -> AsyncIterator[aiohttp.ClientSession]:
    """Signed in as A1."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(mturk.url, cookie_jar=jar) as session:
        await session.post("/login", data={"worker": "A1"})
        yield session


async def look(session: aiohttp.ClientSession, path: str, **form: str) -> tuple[str, str]:
    """Path and text of the page where one ends up; with a form, by posting it."""
    async with session.request("POST" if form else "GET", path, data=form or None) as answer:
        assert answer.status == 200
        return answer.url.path_qs, await answer.text()


def framed(page: str) -> tuple[str, dict[str, str]]:
    """The address in the frame, and what it says."""
    found = re.search(r'<iframe[^>]* src="([^"]+)"', page)
    assert found
    parts = urlsplit(str(Markup(found.group(1)).unescape()))
    return f"{parts.scheme}://{parts.netloc}{parts.path}", {k: v[0] for k, v in parse_qs(parts.query).items()}


async def test_from_the_list_to_the_dashboard(mturk: StandIn, worker: aiohttp.ClientSession) -> None:
    client = connect(mturk)
    hit_id = new_hit(client)
    group = hit(client, hit_id)["HITGroupId"]
    assert f"/mturk/preview?groupId={group}" in (await look(worker, "/projects"))[1]
    _, preview = await look(worker, f"/mturk/preview?groupId={group}")
    page = {"x": "1", "y": "2", "hitId": hit_id}
    assert framed(preview) == ("https://study.example/", {**page, "assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE"})
    assert mturk.crowd.assignments() == []
    _, accepted = await look(worker, "/mturk/accept", hitId=hit_id)
    _, told = framed(accepted)
    assert told == {**page, "assignmentId": told["assignmentId"], "workerId": "A1", "turkSubmitTo": mturk.url}
    assert hit(client, hit_id)["HITStatus"] == "Unassignable"
    _, submitted = await look(worker, "/mturk/externalSubmit", assignmentId=told["assignmentId"], answer="<b>ü</b>")
    assert "Your work was submitted" in submitted
    client.approve_assignment(AssignmentId=told["assignmentId"])
    client.send_bonus(WorkerId="A1", AssignmentId=told["assignmentId"], BonusAmount="0.5", Reason="<i>thanks</i>")
    _, dashboard = await look(worker, "/dashboard")
    assert "Approved" in dashboard
    assert "$0.5: &lt;i&gt;thanks&lt;/i&gt;" in dashboard


async def test_returned_or_too_slow(mturk: StandIn, worker: aiohttp.ClientSession) -> None:
    """Work that was given back, or took too long, cannot be gone on with; the HIT is in the list again."""
    client = connect(mturk)
    hit_id = new_hit(client)
    for end in ("returned", "too slow"):
        path, accepted = await look(worker, "/mturk/accept", hitId=hit_id)
        assignment = framed(accepted)[1]["assignmentId"]
        if end == "returned":
            await look(worker, "/mturk/return", assignmentId=assignment)
        else:
            mturk.clock.move(601)
        assert "You are not working on this HIT" in (await look(worker, path))[1]
        _, late = await look(worker, "/mturk/externalSubmit", assignmentId=assignment, answer="late")
        assert "There was a problem" in late
        assert hit(client, hit_id)["HITStatus"] == "Assignable"
    assert [a.status for a in mturk.crowd.assignments()] == ["Returned", "Abandoned"]


@pytest.mark.parametrize(
    ("guarded", "seen"),
    [("Accept", "accept"), ("PreviewAndAccept", "list"), ("DiscoverPreviewAndAccept", "nothing")],
)
async def test_who_does_not_qualify(mturk: StandIn, worker: aiohttp.ClientSession, guarded: str, seen: str) -> None:
    client = connect(mturk)
    hit_id = new_hit(client, new_type(client, QualificationRequirements=[{**ADULT, "ActionsGuarded": guarded}]))
    group: Any = hit(client, hit_id)["HITGroupId"]
    assert (group in (await look(worker, "/projects"))[1]) == (seen != "nothing")
    path, preview = await look(worker, f"/mturk/preview?groupId={group}")
    assert path.startswith("/mturk/preview") == (seen == "accept")
    assert ("disabled" in preview) == (seen == "accept")
    path, _ = await look(worker, "/mturk/accept", hitId=hit_id)
    assert path.startswith("/projects?problem=")
    assert mturk.crowd.assignments() == []


async def test_nobody_goes_on_with_work_of_others(mturk: StandIn, worker: aiohttp.ClientSession) -> None:
    client = connect(mturk)
    other = mturk.crowd.accept("A2", new_hit(client))
    assert "You are not working" in (await look(worker, f"/mturk/continue?assignmentId={other.id}"))[1]
    await look(worker, "/mturk/return", assignmentId=other.id)
    assert other.status == "InProgress"
