"""Launches to which people come by invitation: real pages over HTTP, from the link to the last step and back again."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import aiohttp
import pytest
from click.testing import CliRunner
from live import TASK, Launch, Rater, records, rows

from mephisto_tasks.admission.admission import DONE_ALL
from mephisto_tasks.cli.invite import invite
from mephisto_tasks.crowds.invitations.entry import FULL
from mephisto_tasks.crowds.invitations.gate import COOKIE
from mephisto_tasks.crowds.link.crowd import GIVEN_BACK, NO_LINK
from mephisto_tasks.launch.launch import RunningStudy
from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.storage.work import completed_work

LINK = ["place=link"]
INVITED_ONLY = "This study is by invitation"
PAGES = ("/", "/index.html", "/task_config.json")


class Guest(Rater):
    """Somebody's page under the link that they were given, or under the address that a browser made of it."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        super().__init__(f"{parts.scheme}://{parts.netloc}", "guest")
        self.client = PageClient(self.url, parameters=parse_qsl(parts.query), heartbeat_s=0.5)


def run_invite(data_dir: Path, *arguments: str) -> dict[str, Any]:
    """What the command says as JSON; it runs beside the launch, as in another terminal."""
    done = CliRunner().invoke(invite, ["--task-name", TASK, "--data-dir", str(data_dir), "--json", *arguments])
    assert done.exit_code == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def links(data_dir: Path, *names: str) -> dict[str, str]:
    """A link for each name."""
    people = data_dir / "people.csv"
    people.write_text("name\n" + "".join(f"{name}\n" for name in names))
    said = run_invite(data_dir, "--names", str(people), "--out", str(data_dir / "links.csv"), "--force")
    return {row["name"]: row["link"] for row in said["invitations"]}


def class_link(data_dir: Path, limit: int) -> str:
    said = run_invite(data_dir, "--open", "--limit", str(limit))
    return str(said["invitations"][0]["link"])


def workers(data_dir: Path) -> list[str]:
    return [str(name) for (name,) in rows(data_dir, "SELECT worker_name FROM workers ORDER BY worker_id")]


THANKED = DONE_ALL.replace("return the task", "close this page")
"""Nothing is returned by who was invited."""


def _next(answers: list[Any], worker: Any) -> Any:
    """Each answer once; the last one is a function, asked again and again."""
    return answers.pop(0) if len(answers) > 1 else answers[0](worker)


async def test_a_person_takes_part_once_whatever_link_and_launch(
    start: Launch, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their link leads through the task; then it, a new one, and the next launch say that they have done all, at once."""
    study = {"overrides": LINK, "dialogues_per_group": 3}
    async with start(**study) as run:
        link = links(data_dir, "Ann")["Ann"]
        assert link.startswith(run.url)
        async with Guest(link) as ann:
            await ann.finish()
        async with Guest(link).client as page:
            assert (await page.register("look"))["failure_reason"] == THANKED
        run_invite(data_dir, "--revoke", "Ann")
        new = links(data_dir, "Ann")["Ann"]
        assert new != link
        async with Guest(new) as ann:
            assert ann.client.refused == THANKED
        ben_link = links(data_dir, "Ben")["Ben"]
        async with Guest(ben_link) as ben:
            await ben.state()
            told = (await ben.client.register("give_back"))["failure_reason"]
            assert told == GIVEN_BACK[1]
        # In that moment his dialogue may be in nobody's hands, and Mephisto have nothing for him: his page asks again.
        task_run = run.live_run.task_run
        answers = [[], [], task_run.get_valid_units_for_worker]
        with monkeypatch.context() as patch:
            patch.setattr(task_run, "get_valid_units_for_worker", lambda worker: _next(answers, worker))
            async with Guest(ben_link) as ben:
                await ben.finish()
        assert len(answers) == 1
    async with start(**study) as run, Guest(links(data_dir, "Ann")["Ann"]) as ann:
        assert ann.client.refused == THANKED
    # Who gave a dialogue back and changed their mind goes on with it: it is read once.
    assert [record.status for record in records(run)] == ["complete", "complete"]
    assert [work.outcome for work in completed_work(data_dir, run.task_name)] == ["complete", "continued", "complete"]
    names = workers(data_dir)
    assert len(names) == 2
    assert all(name.startswith("invitation:w") for name in names)
    assert b"Ann" not in (data_dir / "database.db").read_bytes()
    signature = new.rpartition(".")[2].encode()
    holding = {path.name for path in data_dir.rglob("*") if path.is_file() and signature in path.read_bytes()}
    assert holding == {"links.csv"}, "no record holds what lets people in"


async def _plain_page(session: aiohttp.ClientSession, address: str, **headers: str) -> tuple[int, str]:
    """Status and title of what a browser gets; nothing of the study is in it, and its style is let in."""
    async with session.get(address, headers=headers) as response:
        text = await response.text()
        policy = response.headers["Content-Security-Policy"]
    style = text.split("<style>")[1].split("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy
    assert not any(word in text.lower() for word in ("chat", "repl", "script"))
    return response.status, text.split("<h1>")[1].split("</h1>")[0]


async def _refusal(link: str) -> str:
    """What a page is told that asks for work all the same."""
    async with Guest(link) as guest:
        assert guest.client.agent_id is None
        return str(guest.client.refused)


async def test_a_bad_link_gets_a_plain_page_and_nothing_of_the_study(start: Launch, data_dir: Path) -> None:
    """Forged, withdrawn, used up, named twice or none at all: neither page, nor words of the task, nor work."""
    async with start(overrides=LINK) as run, aiohttp.ClientSession() as session:
        good = links(data_dir, "Ann", "Ben")
        run_invite(data_dir, "--revoke", "Ben")
        query = urlsplit(good["Ann"]).query
        bad = {
            f"?{query.swapcase().replace('INVITATION', 'invitation')}": (403, "Wrong link"),
            "?invitation=": (403, "Wrong link"),
            f"?{query}&invitation=other": (403, "Wrong link"),
            f"?{urlsplit(good['Ben']).query}": (410, "This link is no longer valid"),
            f"?{query}{'a' * 9000}": (403, "Wrong link"),
            "": (403, INVITED_ONLY),
            "?PROLIFIC_PID=5f0000000000000000000000": (403, INVITED_ONLY),
        }
        for address, expected in bad.items():
            for page in PAGES:
                assert await _plain_page(session, f"{run.url}{page}{address}") == expected
            assert await _refusal(f"{run.url}/{address}")
        for pretext in ("h2c", "websocket"):  # a page does not become a line by asking for one
            assert await _plain_page(session, f"{run.url}/task_config.json", Upgrade=pretext) == (403, INVITED_ONLY)
        assert await _plain_page(session, f"{run.url}/", Upgrade="h2c") == (403, INVITED_ONLY)
        assert await _refusal(f"{run.url}/") == NO_LINK
        assert workers(data_dir) == []
        for page in PAGES:
            async with session.get(f"{run.url}{page}?{query}") as response:
                assert response.status == 200, page


def browser() -> aiohttp.ClientSession:
    """It keeps cookies of addresses without a name, too, as real ones do."""
    return aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True))


async def test_a_class_comes_by_one_link(start: Launch, data_dir: Path) -> None:
    """Each browser is a worker and stays it; with all places taken, the next browser reads so."""
    async with start(overrides=LINK, dialogues_per_group=5):
        link = class_link(data_dir, 2)
        async with browser() as ada, browser() as bob, browser() as late, browser() as new:
            addresses = [str((await each.get(link)).url) for each in (ada, bob, ada)]
            late_address = str((await late.get(link)).url)
            assert addresses[0] == addresses[2]
            assert addresses[0] != addresses[1]
            cookie = next(cookie for cookie in ada.cookie_jar if cookie.key == COOKIE)
            assert (cookie["httponly"], cookie["samesite"]) == (True, "Lax")
            async with Guest(addresses[0]) as guest:
                await guest.finish()
            async with Guest(addresses[0]) as guest:
                assert guest.client.refused == THANKED
            async with Guest(addresses[1]) as guest:
                await guest.finish()
            for each in (late, new):
                assert await _plain_page(each, link) == (410, FULL[0])
            assert FULL[1] in await _refusal(late_address)
            assert "only part" in await _refusal(link)
            assert (await ada.get(link)).status == 200, "who has a place keeps it"
    assert len(workers(data_dir)) == 2
    assert run_invite(data_dir, "--list")["invitations"][0]["state"] == "full"


async def test_colleagues_may_come_beside_a_panel(start: Launch, data_dir: Path) -> None:
    """One launch has both doors; the panel's page is not shut to those who come without an invitation."""
    panel = ["mephisto.provider.panel=prolific", "mephisto.provider.completion_code=C1"]
    public = "mephisto.architect.public_url=https://study.example.org"
    async with start(overrides=[*LINK, *panel, public]) as run, aiohttp.ClientSession() as session:
        link = links(data_dir, "Ann")["Ann"]
        assert link.startswith("https://study.example.org/?invitation=")
        here = _served_from(run)
        async with session.get(f"{here}/?PROLIFIC_PID=5f0000000000000000000000") as response:
            assert response.status == 200
        async with Guest(link.replace("https://study.example.org", here)) as ann:
            await ann.finish()
    assert len(workers(data_dir)) == 1


def _served_from(run: RunningStudy) -> str:
    return f"http://127.0.0.1:{run.live_run.architect._port}"
