"""The site of Prolific's participants: what they find, take, open, return and complete; and what the researcher sees."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import pytest_asyncio

from servers.prolific import StandIn

from .hands import REVIEW, Api

SOMEBODY = "5f2d7a1c9e8b4a6d3c0f1e2b"


@pytest_asyncio.fixture
async def person(prolific: StandIn) -> AsyncIterator[aiohttp.ClientSession]:
    """Signed in."""
    jar = aiohttp.CookieJar(unsafe=True)
    async with aiohttp.ClientSession(prolific.url, cookie_jar=jar) as session:
        await session.post("/login", data={"participant": SOMEBODY})
        yield session


async def look(session: aiohttp.ClientSession, path: str, **form: str) -> tuple[str, str]:
    """Path and text of the page where one ends up; with a form, by posting it."""
    async with session.request("POST" if form else "GET", path, data=form or None) as answer:
        assert answer.status == 200
        return answer.url.path_qs, await answer.text()


async def leads_to(session: aiohttp.ClientSession, path: str) -> str:
    async with session.get(path, allow_redirects=False) as answer:
        return answer.headers["Location"]


async def test_from_the_list_to_the_money(prolific: StandIn, person: aiohttp.ClientSession) -> None:
    study = Api(prolific).live(name="Talk & <b>rate</b>")
    assert "Talk &amp; &lt;b&gt;rate" in (await look(person, "/studies"))[1]
    place, page = await look(person, f"/studies/{study}/reserve", x="")
    assert "RESERVED" in page
    submission = place.rpartition("/")[2]
    assert await leads_to(person, f"{place}/open") == (
        f"https://study.example/?PROLIFIC_PID={SOMEBODY}&STUDY_ID={study}&SESSION_ID={submission}"
    )
    assert await look(person, "/submissions/complete?cc=C-DONE") == (place, (await look(person, place))[1])
    assert "AWAITING REVIEW" in (await look(person, "/studies"))[1]
    Api(prolific)("POST", f"submissions/{submission}/transition/", {"action": "APPROVE"})
    _, money = await look(person, f"/researcher/workspaces/studies/{study}")
    assert "98.60 GBP" in money
    assert SOMEBODY in money


async def test_returned_too_late_or_without_a_code(prolific: StandIn, person: aiohttp.ClientSession) -> None:
    api = Api(prolific)
    studies = [api.live(completion_codes=[REVIEW], maximum_allowed_time=20) for _ in range(3)]
    place, _ = await look(person, f"/studies/{studies[0]}/reserve", x="")
    assert "another study" in (await look(person, f"/studies/{studies[1]}/reserve", x=""))[1]
    assert "RETURNED" in (await look(person, f"{place}/return", x=""))[1]
    place, _ = await look(person, f"/studies/{studies[1]}/reserve", x="")
    await leads_to(person, f"{place}/open")
    await look(person, "/researcher/clock", minutes="21")
    assert "TIMED-OUT" in (await look(person, place))[1]
    assert "the time is over" in (await look(person, f"{place}/code", code="C-DONE"))[1]
    assert "not taking part" in (await look(person, "/submissions/complete?cc=C-DONE"))[1]
    place, _ = await look(person, f"/studies/{studies[2]}/reserve", x="")
    await leads_to(person, f"{place}/open")
    assert "AWAITING REVIEW" in (await look(person, f"{place}/code", code=""))[1]
    (last,) = prolific.market.submissions("AWAITING REVIEW")
    assert last.code is None
    assert "not a place of yours" in (await look(person, f"/submissions/{'0' * 24}"))[1]
