"""The link to the partners' page: who is let in, who knows of it, and how long it is good."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import stat
from pathlib import Path

import aiohttp
import pytest
from live import Launch, Rater, records
from partner_hands import Partner, settings

from mephisto_tasks.chat import wizard as room
from mephisto_tasks.chat import wizard as words
from mephisto_tasks.config.task import ConfigError
from mephisto_tasks.server.static import WRONG_LINK
from parlai_humaneval.schema.steps import EndStep


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "TICK_S", 0.05)
    monkeypatch.setattr(room, "AWAY_S", 0.6)


def _style_digest(page: str) -> str:
    """As a policy names the one style that it lets in."""
    style = page.split("<style>")[1].split("</style>")[0]
    return f"'sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}'"


async def test_a_wrong_link_is_refused_in_a_sentence(start: Launch, data_dir: Path) -> None:
    """Pages, files, requests and websockets: 403, and nothing else; without its slash the right one leads on."""
    async with start(**settings(data_dir)) as run, aiohttp.ClientSession() as session:
        assert run.partner_url is not None
        token = run.partner_url.rstrip("/").rpartition("/")[2]
        for path in ("", "/", "/wrong", "/wrong/", "/wrong/task_config.json", f"/{token[:-1]}/", f"/{token}x/is_alive"):
            async with session.get(f"{run.url}/partner{path}") as response:
                assert response.status == 403, path
                text = await response.text()
                assert "<h1>Wrong link</h1>" in text
                assert WRONG_LINK.split(".")[0] in text
                assert _style_digest(text) in response.headers["Content-Security-Policy"]
        async with session.post(f"{run.url}/partner/wrong/request_agent", json={}) as response:
            assert response.status == 403
        with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
            await session.ws_connect(f"{run.url}/partner/wrong/")
        async with session.get(run.partner_url.rstrip("/")) as response:
            assert response.status == 200
            assert str(response.url) == run.partner_url


async def test_the_token_is_told_to_partners_only(
    start: Launch, data_dir: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is neither in what a rater gets, nor in the log, nor in what is stored with the run; its file is private."""
    caplog.set_level(logging.DEBUG)
    async with start(**settings(data_dir)) as run, Partner(run) as partner, Rater(run, "w1") as rater:
        assert run.partner_url is not None
        token = run.partner_url.rstrip("/").rpartition("/")[2]
        await partner.reply("hello")
        await rater.state()
        async with aiohttp.ClientSession() as session:
            for path in ("/", "/task_config.json", "/health", "/wrap_crowd_source.js"):
                assert token not in await (await session.get(run.url + path)).text()
        assert token not in rater.newest.model_dump_json()
        assert "person" not in rater.newest.model_dump_json()
    assert token not in caplog.text
    holding = [path for path in data_dir.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    (only,) = holding
    assert stat.S_IMODE(only.stat().st_mode) == 0o600


async def test_a_partner_costs_nothing_and_is_no_worker(start: Launch, data_dir: Path) -> None:
    """Mephisto hears neither of their page nor of its answers: the run has one unit, and one worker."""
    async with start(**settings(data_dir)) as run, Partner(run) as partner, Rater(run, "w1") as rater:
        await partner.reply("hello")
        await rater.state()
        assert [worker.worker_name for worker in run.operator.db.find_workers()] == ["w1_sandbox"]
        assert len(run.operator.db.find_agents()) == 1
        assert run.live_run.architect._router.health()["agents"] == 1


async def test_the_end_of_a_launch_tells_partners_and_the_same_link_is_good_again(
    start: Launch, data_dir: Path
) -> None:
    """A waiting rater is paused, not failed; the page of the partner ends; a second launch has the same token."""
    async with start(**settings(data_dir)) as run, Partner(run) as partner, Rater(run, "w1"):
        await partner.asked()
        ending = asyncio.create_task(partner.until("end"))
        first_url = run.partner_url
        await asyncio.to_thread(lambda: run.study.closing.set())
        await asyncio.sleep(0.5)
        assert run.room is not None
        run.room.say_goodbye()
        state = await ending
        assert isinstance(state.step, EndStep)
        assert (state.step.title, state.step.next) == (words.ENDED[0], "stay")
    (record,) = records(run)
    assert (record.status, record.failure) == ("partial", None)
    async with start(**settings(data_dir)) as again:
        assert first_url is not None
        assert again.partner_url is not None
        assert first_url.split("/partner/")[1] == again.partner_url.split("/partner/")[1]
        async with Partner(again, "p1") as partner:
            await partner.until("wait")


async def test_without_a_human_model_there_is_no_partners_page(start: Launch) -> None:
    """Nothing is served and nothing is announced."""
    async with start() as run, aiohttp.ClientSession() as session:
        assert (run.room, run.partner_url, run.warning()) == (None, None, None)
        async with session.get(f"{run.url}/partner/any/") as response:
            assert response.status == 404


async def test_another_architect_is_refused(start: Launch, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mephisto's own routers know no partners: said before anything is deployed."""
    from mephisto_tasks.launch import preparation

    monkeypatch.setattr(preparation, "ARCHITECT_TYPE", "another")
    with pytest.raises(ConfigError, match="human model needs another"):
        async with start(**settings(data_dir)):
            pass
