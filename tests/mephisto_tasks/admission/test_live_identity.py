"""Whose a registration is: attacks with what stands in somebody's address, browsers that come back, and floods of names."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from live import Launch, Rater, browser_of, eventually, launch, rows
from mturk_hands import Turker, mturk_at_home, on_mturk_beside

from mephisto_tasks.admission import browsers
from mephisto_tasks.admission import identity as waiting_room
from mephisto_tasks.admission.browsers import FILE
from mephisto_tasks.admission.identity import OTHER_BROWSER, PHRASES, STUDY_OVER_TITLE
from mephisto_tasks.admission.visits import GO_ON_THERE
from mephisto_tasks.crowds.link.crowd import GIVEN_BACK, RETURNED_NOW
from mephisto_tasks.crowds.mturk import crowd as mturk_crowd
from mephisto_tasks.crowds.panels import crowd as panel_crowd
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.server.security import COOKIE, Browser
from mephisto_tasks.simulation.page_client import PageClient
from parlai_humaneval.schema.steps import ChooseStep

PROLIFIC = [
    "place=link",
    "mephisto.provider.panel=prolific",
    "mephisto.provider.completion_code=C1DONE",
    "mephisto.architect.public_url=https://study.example.org",
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudy]:
    with launch(tmp_path_factory.mktemp("identity"), dialogues_per_group=60, turns=3) as run:
        yield run


async def ask(run: RunningStudy, *, cookies: dict[str, str] | None = None, **registration: str) -> dict[str, Any]:
    """What somebody's program is told who posts this, without a browser of ours."""
    name, assignment = registration["worker_name"], registration.get("assignment_id", "none")
    body = {"agent_registration_id": f"{assignment}-{name}", "provider_type": "mock", **registration}
    async with (
        aiohttp.ClientSession(cookies=cookies) as session,
        session.post(f"{run.url}/request_agent", json={"provider_data": body}) as response,
    ):
        assert response.status == 200
        told: dict[str, Any] = (await response.json())["data"]
        return told


@pytest.mark.parametrize(
    "forged",
    [
        {"worker_name": "victim", "assignment_id": "a-victim"},
        {"worker_name": "victim", "assignment_id": "another"},
        {"worker_name": "somebody", "agent_registration_id": "a-victim-victim"},
    ],
    ids=["the whole address", "the name", "the registration"],
)
async def test_nobody_takes_a_worker_over_with_what_stands_in_their_address(
    run: RunningStudy, forged: dict[str, str]
) -> None:
    """Neither agent nor token nor a word of the dialogue is handed out, and the true worker is not disturbed."""
    async with Rater(run, "victim") as victim:
        state = await victim.talk_until("choose", turn=1)
        told = await ask(run, **forged)
        assert told["agent_id"] is None
        assert told.get("agent_token") is None
        assert told["init_task_data"] is None
        assert (told["title"], told["failure_reason"]) == (OTHER_BROWSER, GO_ON_THERE)
        assert told["worker_id"] is None
        assert victim.client.reconnects == 0
        assert victim.client.errors == []
        assert isinstance(state.step, ChooseStep)
        after = await victim.choose()
        assert after.version > state.version


async def test_a_stranger_learns_nothing_of_how_a_worker_fares(run: RunningStudy) -> None:
    """Whoever has finished, and whoever is at work, is the same to them."""
    async with Rater(run, "done") as done, Rater(run, "at-work") as at_work:
        await done.finish()
        await at_work.state()
        told = [await ask(run, worker_name=name, assignment_id=f"a-{name}") for name in ("done", "at-work")]
    for each in told:
        del each["request_id"]
    assert told[0] == told[1]


async def test_a_page_of_another_study_is_not_let_in(run: RunningStudy) -> None:
    """Guards this study from answers of a tab that stayed open from the one before, at the same address."""
    async with (
        aiohttp.ClientSession() as session,
        session.get(f"{run.url}/task_config.json") as configured,
        session.post(f"{run.url}/fresh_ids", json={}) as given,
    ):
        study = (await configured.json())["study"]
        assert (await given.json())["study"] == study
    told = await ask(run, worker_name="stayed", study="0123456789abcdef")
    assert (told["agent_id"], told["screen"], told["title"]) == (None, "other_study", STUDY_OVER_TITLE)
    assert rows(run.data_dir, "SELECT worker_id FROM workers WHERE worker_name = 'stayed'") == []
    assert (await ask(run, worker_name="comes", study=study)).get("screen") != "other_study"


async def test_a_reload_and_a_second_tab_are_the_same_browser(run: RunningStudy) -> None:
    async with Rater(run, "tabs") as first:
        state = await first.talk_until("choose", turn=1)
        async with Rater(run, "tabs") as second:
            assert second.client.agent_id == first.client.agent_id
            assert await second.state() == state


async def test_the_cookie_alone_is_enough_and_it_is_kept_from_scripts(run: RunningStudy) -> None:
    """Of a browser that stores nothing for its page; and one that shows nothing at all is given a secret."""
    jar = aiohttp.CookieJar(unsafe=True)  # of an address without a name
    body = {"provider_data": {"worker_name": "cook", "agent_registration_id": "a-cook", "assignment_id": "a"}}
    async with aiohttp.ClientSession(cookie_jar=jar) as browser:
        async with browser.post(f"{run.url}/request_agent", json=body) as response:
            first = (await response.json())["data"]["agent_id"]
            cookie = response.cookies[COOKIE]
            assert (cookie["httponly"], cookie["samesite"], cookie["secure"]) == (True, "Lax", "")
        async with browser.post(f"{run.url}/request_agent", json=body) as response:
            told = await response.json()
            assert told["data"]["agent_id"] == first, told
            assert COOKIE not in response.cookies
    assert (await ask(run, worker_name="cook", assignment_id="a"))["title"] == OTHER_BROWSER
    stored = b"".join(path.read_bytes() for path in run.data_dir.rglob("*") if path.is_file())
    assert cookie.value.encode() not in stored
    assert browser_of("tabs").secret.encode() not in stored


async def test_start_gives_signed_ids_which_do_not_count_without_their_signature(run: RunningStudy) -> None:
    async with aiohttp.ClientSession() as session, session.post(f"{run.url}/fresh_ids", json={}) as response:
        ids = await response.json()
    assert set(ids) == {"worker_id", "assignment_id", "sig", "study"}
    name, assignment = ids["worker_id"], ids["assignment_id"]
    for signature in ({}, {"signature": "A" * 43}, {"signature": ids["sig"][:-1]}):
        told = await ask(run, worker_name=name, assignment_id=assignment, **signature)
        assert told["failure_reason"] == PHRASES["damaged"]
    mine = Browser()

    def page(browser: Browser, **data: str) -> PageClient:
        return PageClient(run.url, worker_id=name, assignment_id=assignment, provider_data=data, browser=browser)

    async with page(mine, signature=ids["sig"]) as client:
        assert (await client.register())["agent_id"] is not None
    async with page(mine) as client:  # the browser that came with it needs it no more
        assert (await client.register())["agent_id"] is not None
    async with page(Browser(), signature=ids["sig"]) as client:  # the whole address, copied
        assert (await client.register())["title"] == OTHER_BROWSER
    assert (await ask(run, worker_name="typed", assignment_id="a", signature=ids["sig"]))["failure_reason"] == PHRASES[
        "damaged"
    ]


async def test_a_browser_is_known_again_after_a_kill_and_another_one_still_refused(
    start: Launch, data_dir: Path
) -> None:
    async with start(dialogues_per_group=5) as run:
        async with Rater(run, "w") as rater:
            await rater.state()
        run.live_run.worker_pool.agents.clear()  # all that a killed launch knew
    assert (data_dir / FILE).stat().st_mode & 0o777 == 0o600
    async with start(dialogues_per_group=5) as run:
        assert (await ask(run, worker_name="w", assignment_id="a-w"))["title"] == OTHER_BROWSER
        async with Rater(run, "w") as rater:
            assert rater.client.refused is None
            assert (await rater.state()).step.kind == "choose"


async def test_a_full_disk_lets_nobody_in_by_halves(
    run: RunningStudy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The page is told to ask again, and nobody has the name meanwhile; with space, whoever asks first comes in."""

    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(browsers, "_read", full)
        body = {"provider_data": {"worker_name": "waits", "agent_registration_id": "a-waits", "assignment_id": "a"}}
        async with aiohttp.ClientSession() as page, page.post(f"{run.url}/request_agent", json=body) as response:
            assert response.status == 503
    assert "disk is full" in caplog.text
    assert rows(run.data_dir, "SELECT * FROM workers WHERE worker_name LIKE 'waits%'") == []
    async with PageClient(run.url, worker_id="waits", assignment_id="a") as client:
        assert (await client.register())["agent_id"] is not None


# -- too many at once -------------------------------------------------------------------------


async def test_a_flood_of_made_up_workers_stays_outside_and_those_inside_are_unhurt(
    start: Launch, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each worker inside is a thread; who is too many is none, and no row of the database either."""
    monkeypatch.setattr(waiting_room, "SOONEST_AGAIN_S", 0.2)
    monkeypatch.setattr(waiting_room, "A_SECOND", 10_000)
    most, came = 4, 120
    async with (
        start(dialogues_per_group=400, max_concurrent=most) as run,
        Rater(run, "real") as real,
        Rater(run, "real too") as other,
    ):
        state = await real.talk_until("choose", turn=1)
        before = threading.active_count()
        made_up = [ask(run, worker_name=f"x{number}", assignment_id="a") for number in range(came)]
        told = await asyncio.gather(*made_up)
        inside = [each for each in told if each["agent_id"] is not None]
        assert len(inside) == most - 2
        assert threading.active_count() <= before + most
        outside = [each for each in told if each["agent_id"] is None]
        assert {each["failure_reason"] for each in outside} == {waiting_room.FULL}
        assert {each["screen"] for each in outside} == {"full"}
        assert all(each["try_again_s"] > 0 for each in outside)
        assert rows(run.data_dir, "SELECT COUNT(*) FROM workers") == [(most,)]
        assert run.study.presence.door().waited == came - (most - 2)
        assert await real.choose() != state
        async with Rater(run, "real") as again:  # who is inside gets back in
            assert again.client.agent_id == real.client.agent_id
            waiting = asyncio.create_task(_enters(run, "patient"))
            await eventually(lambda: run.study.presence.door().waited == came - (most - 2) + 1)
            await other.finish()
            assert await asyncio.wait_for(waiting, 30) is not None


async def _enters(run: RunningStudy, worker: str) -> str | None:
    async with PageClient(run.url, worker_id=worker, assignment_id="a") as client:
        await client.enter()
        return client.agent_id


# -- who comes by a link, or from MTurk --------------------------------------------------------


def _page(run: RunningStudy, person: str, session: str, browser: Browser) -> PageClient:
    sent = [("PROLIFIC_PID", person), ("STUDY_ID", "s"), ("SESSION_ID", session)]
    return PageClient(f"http://127.0.0.1:{run.live_run.architect._port}", parameters=sent, browser=browser)


async def test_a_participant_of_a_panel_is_one_browser_whoever_knows_their_ids(start: Launch) -> None:
    """Nor can their task be returned by others, nor their completion code be read."""
    async with start(overrides=PROLIFIC, dialogues_per_group=5, max_concurrent=2) as run:
        ann, stranger = Browser(), Browser()
        async with _page(run, "ann", "s1", ann) as page:
            assert (await page.register("begin"))["agent_id"] is not None
            for session in ("s1", "s2"):
                async with _page(run, "ann", session, stranger) as other:
                    for purpose in ("look", "begin", "decline", "give_back"):
                        told = await other.register(purpose)
                        assert (told["title"], told["failure_reason"]) == (
                            OTHER_BROWSER,
                            panel_crowd.PHRASES["go_on_there_by_panel"],
                        )
                        assert (told["agent_id"], told.get("redirect")) == (None, None)
            async with _page(run, "ann", "s1", ann) as again:
                assert (await again.register("look"))["agent_id"] == page.agent_id
            async with _page(run, "ben", "s3", stranger) as ben, _page(run, "cat", "s4", Browser()) as cat:
                assert (await ben.register("begin"))["agent_id"] is not None
                assert (await cat.register("look"))["preview"]
                told = await cat.register("begin")  # who only looks takes no place
                assert (told["screen"], told.get("redirect")) == ("full", None)
                assert rows(run.data_dir, "SELECT COUNT(*) FROM workers") == [(2,)]
                assert (await ben.register("give_back"))["failure_reason"] in (RETURNED_NOW[1], GIVEN_BACK[1])
                await eventually(lambda: len(run.live_run.task_runner.running_units) == 1)
                assert (await cat.register("begin"))["agent_id"] is not None


async def test_a_hit_belongs_to_the_browser_that_opened_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For another HIT the worker may come with another browser: MTurk vouches for them."""
    with mturk_at_home(monkeypatch, tmp_path / "home") as mturk:
        async with on_mturk_beside(tmp_path / "data", dialogues=3) as run:
            turker = Turker(run, mturk)
            async with turker:
                state = await turker.talk_until("choose", turn=1)
                ids = {"worker_name": turker.worker, "assignment_id": turker.assignment.id}
                told = await ask(run, **ids, hit_id=turker.assignment.hit.id)
                assert (told["title"], told["failure_reason"]) == (
                    OTHER_BROWSER,
                    mturk_crowd.PHRASES["go_on_there_on_mturk"],
                )
                assert told["agent_id"] is None
                told = await ask(run, **ids, hit_id=turker.assignment.hit.id, agent_registration_id="made up")
                assert told["agent_id"] is None
                assert await turker.choose() != state
                await turker.do_all()
            another = Turker(run, mturk)
            another.client.browser = Browser()
            async with another:
                assert another.client.details.get("title") != OTHER_BROWSER


async def test_what_a_worker_left_goes_on_in_their_own_browser_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever says to be a worker of MTurk, with a HIT of their own making, begins anew, and reads nothing of theirs."""
    gone = "mephisto.architect.disconnect_after_s=0.5"
    said = "words of the true worker"
    with mturk_at_home(monkeypatch, tmp_path / "home") as mturk:
        async with on_mturk_beside(tmp_path / "data", gone, dialogues=3) as run:
            turker = Turker(run, mturk)

            def page(assignment: str, browser: Browser) -> PageClient:
                return PageClient(
                    run.url,
                    worker_id=turker.worker,
                    assignment_id=assignment,
                    provider_data={"hit_id": turker.assignment.hit.id},
                    browser=browser,
                )

            async def left() -> None:
                await eventually(lambda: not run.live_run.task_runner.running_units)

            async with turker:
                await turker.choose()
                await turker.write(said)
            await left()
            async with page("their next", turker.client.browser) as theirs:
                await theirs.register()
                assert said in (await theirs.next_state()).model_dump_json()
            await left()
            async with page("made up", Browser()) as stranger:
                await stranger.register()
                assert stranger.refused is None
                assert said not in (await stranger.next_state()).model_dump_json()
            await left()
            async with page("their last", turker.client.browser) as theirs:
                await theirs.register()
                assert said in (await theirs.next_state()).model_dump_json()
