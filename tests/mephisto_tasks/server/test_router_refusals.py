"""What the router refuses: each with a sentence, and without effect on anything else."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from fake_operator import Served

from mephisto_tasks.server.security import RateLimit
from mephisto_tasks.simulation.page_client import PageClient, PageError

Pages = Callable[..., PageClient]


async def post(served: Served, path: str, **options: Any) -> tuple[int, dict[str, Any]]:
    async with aiohttp.ClientSession() as session, session.post(served.url + path, **options) as response:
        return response.status, await response.json()


async def talk(served: Served, *messages: Any) -> tuple[list[dict[str, Any]], int | None]:
    """Sends on a connection of its own; returns all packets until the router closes it, and the close code."""
    # The router may hang up at once: an answer to its closing would find no line, and its code would be lost here.
    async with aiohttp.ClientSession() as session, session.ws_connect(served.url, autoclose=False) as socket:
        for message in messages:
            if isinstance(message, bytes):
                await socket.send_bytes(message)
            else:
                await socket.send_str(message if isinstance(message, str) else json.dumps(message))
        heard: list[dict[str, Any]] = []
        while True:
            message = await socket.receive(timeout=5)
            if message.type is not aiohttp.WSMsgType.TEXT:
                return heard, socket.close_code
            heard.append(json.loads(message.data))


def alive(agent_id: str, token: object) -> dict[str, Any]:
    return {"packet_type": "alive", "subject_id": agent_id, "data": {"agent_token": token, "last_seq": 0}}


@pytest.mark.parametrize("token", ["", "wrong", "é" * 43, None, 7])
async def test_a_wrong_token_opens_no_websocket(served: Served, open_page: Pages, token: object) -> None:
    """The agent ids count up, so anyone can guess one; without its token nothing of it is told."""
    async with open_page(served.url) as client:
        await client.register()
        await client.next_state()
        agent_id = client.agent_id
        assert agent_id is not None
        async with aiohttp.ClientSession() as session, session.ws_connect(served.url) as socket:
            await socket.send_json(alive(agent_id, token))
            answer = await socket.receive_json(timeout=5)
            assert answer["packet_type"] == "error"
        assert (await client.answer({"kind": "message", "step_id": "m1", "text": "Hi"})).version == 2


@pytest.mark.parametrize("agent_id", ["practice-2", "mephisto", "nobody"])
async def test_unknown_agents_are_refused_and_not_remembered(served: Served, agent_id: str) -> None:
    """Nobody can pose as the operator, or fill memory with invented agents."""
    heard, code = await talk(served, alive(agent_id, "x"))
    assert heard[0]["data"]["fatal"] is True
    assert code == 1008
    assert served.router.health()["agents"] == 0


async def test_one_agent_cannot_speak_for_another(served: Served, open_page: Pages) -> None:
    """A forged packet from an admitted page reaches nobody, and the page may go on for itself."""
    async with open_page(served.url, "mallory") as mallory, open_page(served.url, "alice") as alice:
        await mallory.register()
        await alice.register()
        state = await mallory.next_state()
        await alice.next_state()
        forged = {"update_id": "u", "kind": "message", "step_id": "m1", "text": "forged"}
        await mallory.send_raw(
            {"packet_type": "mephisto_bound_live_update", "subject_id": alice.agent_id, "data": forged}
        )
        assert "This connection has another agent." in await mallory.next_error()
        assert alice.agent_id not in served.operator.answers
        bodies: dict[str, dict[str, Any]] = {
            "/submit_task": {"USED_AGENT_ID": alice.agent_id, "final_data": {}},
            "/submit_onboarding": {"provider_data": {"USED_AGENT_ID": alice.agent_id}},
            "/submit_metadata": {"USED_AGENT_ID": alice.agent_id, "metadata": {}},
        }
        for path, body in bodies.items():
            for token in (mallory.agent_token, "", "x"):
                status, answer = await post(served, path, json={**body, "agent_token": token})
                assert (status, "no access" in answer["error"]) == (403, True)
        assert (await mallory.answer({"kind": "message", "step_id": "m1", "text": "mine"})).version == 2
        assert state.version == 1
    assert {packet["packet_type"] for packet in served.operator.heard} == {
        "register_agent",
        "mephisto_bound_live_update",
    }


MALFORMED = [
    "",
    "{",
    "[]",
    "null",
    '"alive"',
    "[" * 100_000,
    '{"packet_type": "alive", "subject_id": "\\ud800", "data": {}}',
    '{"packet_type": "alive", "subject_id": "1", "data": {}, "client_timestamp": 1' + "0" * 5000 + "}",
    '{"packet_type": "alive"}',
    '{"packet_type": "alive", "subject_id": "1", "data": []}',
    '{"packet_type": "alive", "subject_id": {"a": 1}, "data": {}}',
    '{"packet_type": "alive", "subject_id": "practice-1", "data": {"last_seq": -1}}',
    '{"packet_type": "alive", "subject_id": "practice-1", "data": {"last_seq": NaN}}',
    '{"packet_type": "alive", "subject_id": "practice-1", "data": {"last_seq": 1e400}}',
]


async def test_malformed_packets_are_answered(served: Served, open_page: Pages) -> None:
    """Each gets an error packet on a connection that stays open and useful."""
    async with open_page(served.url) as client:
        await client.register()
        state = await client.next_state()
        mine: list[dict[str, Any]] = [
            {"packet_type": "no such", "subject_id": client.agent_id, "data": {}},
            {"packet_type": "client_bound_live_update", "subject_id": client.agent_id, "data": {}},
            {"packet_type": "request_statuses", "subject_id": client.agent_id, "data": {}},
            {"packet_type": "agent_details", "subject_id": client.agent_id, "data": {}},
            {"packet_type": "mephisto_bound_live_update", "subject_id": client.agent_id, "data": {}},
            {"packet_type": "ack", "subject_id": client.agent_id, "data": {"last_seq": "all"}},
            {
                "packet_type": "mephisto_bound_live_update",
                "subject_id": client.agent_id,
                "data": {"update_id": []},
            },
        ]
        messages: list[Any] = [*MALFORMED, *mine]
        for number, message in enumerate(messages):
            await client.send_raw(message)
            assert await client.next_error(number)
        assert client.reconnects == 0
        step = state.step.model_dump()
        assert (await client.answer({"kind": "message", "step_id": step["step_id"], "text": "Hi"})).version == 2
    assert {packet["packet_type"] for packet in served.operator.heard} == {
        "register_agent",
        "mephisto_bound_live_update",
    }


async def test_what_is_too_long_is_refused_with_a_reason(served: Served) -> None:
    """An oversized message ends its connection politely; the server goes on."""
    heard, code = await talk(served, "x" * 300_000)
    assert "256 kB" in heard[0]["data"]["error"]
    assert code == 1009
    with contextlib.suppress(ConnectionError, aiohttp.ClientError):  # the rest is not read: cut off, maybe hard
        assert (await talk(served, "x" * 3_000_000))[0] == []
    status, answer = await post(served, "/request_agent", json={"provider_data": {"x": "y" * 300_000}})
    assert (status, "64 kB" in answer["error"]) == (413, True)
    assert (await talk(served, b"binary"))[1] == 1003
    assert served.operator.heard == []


async def test_uploads_are_refused(served: Served, open_page: Pages) -> None:
    """Neither as a form nor by naming a file for Mephisto to fetch."""
    form = aiohttp.FormData()
    form.add_field("file", b"bytes", filename="a.txt")
    status, answer = await post(served, "/submit_task", data=form)
    assert (status, "cannot be uploaded" in answer["error"]) == (415, True)
    async with open_page(served.url) as client:
        await client.register()
        body = {
            "USED_AGENT_ID": client.agent_id,
            "agent_token": client.agent_token,
            "final_data": {"files": [{"filename": "/etc/passwd"}]},
        }
        status, answer = await post(served, "/submit_task", json=body)
    assert (status, served.operator.count("submit_unit")) == (400, 0)


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b"\xff\xfe",
        b"{}",
        b'{"provider_data": {"worker_name": null, "agent_registration_id": "x"}}',
        b'{"provider_data": {"worker_name": "w", "agent_registration_id": "x", "more": NaN}}',
    ],
)
async def test_malformed_requests_never_reach_the_operator(served: Served, body: bytes) -> None:
    """Mephisto would raise on them and leave the page waiting."""
    status, answer = await post(served, "/request_agent", data=body, headers={"Content-Type": "application/json"})
    assert status == 400
    assert answer["error"].endswith(".")
    assert served.operator.heard == []


async def test_a_strange_time_stamp_does_not_reach_mephisto(served: Served) -> None:
    """Mephisto computes with it: text there would end the packet's handling."""
    provider = {"worker_name": "w", "agent_registration_id": "a-w"}
    for strange in ("now", [1], True, 10**400):
        status, _ = await post(served, "/request_agent", json={"provider_data": provider, "client_timestamp": strange})
        assert status == 200
    assert {packet["client_timestamp"] for packet in served.operator.heard} == {None}


async def test_a_silent_operator_is_reported(serve: Callable[..., Served]) -> None:
    """503 with a sentence after the time limit; the next try asks again."""
    served = serve(operator_timeout_s=1.0)
    served.operator.mute = True
    body = {"provider_data": {"worker_name": "w", "agent_registration_id": "a-w"}}
    status, answer = await post(served, "/request_agent", json=body)
    assert (status, "keeps trying" in answer["error"]) == (503, True)
    await asyncio.sleep(0.1)
    served.operator.mute = False
    status, answer = await post(served, "/request_agent", json=body)
    assert (status, answer["data"]["agent_id"]) == (200, "practice-1")


async def test_nothing_is_accepted_once_the_operator_has_left(served: Served, open_page: Pages) -> None:
    """“Submitted!” must not be said when nobody will ever hear of it."""
    async with open_page(served.url) as client:
        await client.register()
        await client.submit_onboarding()
        served.router.disconnect_operator()
        body = {"USED_AGENT_ID": client.agent_id, "agent_token": client.agent_token}
        assert (await post(served, "/submit_task", json=body))[0] == 503


async def test_a_flood_is_stopped(served: Served, open_page: Pages) -> None:
    """Too many packets end the connection with a sentence; the page comes back and works."""
    async with open_page(served.url) as client:
        await client.register()
        state = await client.next_state()
        agent = served.router.agents.get("practice-1")
        assert agent is not None
        agent.limit = RateLimit(per_second=5, burst=3)
        beat: dict[str, Any] = {"packet_type": "heartbeat", "subject_id": client.agent_id, "data": {}}
        for _ in range(10):
            await client.send_raw(beat)
        assert "Too many messages" in await client.next_error()
        await asyncio.sleep(0.2)
        confirmed = await client.answer({"kind": "message", "step_id": "m1", "text": "Hi"})
        assert confirmed.version == state.version + 1


async def test_a_refused_page_knows_why(served: Served) -> None:
    """The client side of the above: what the router says reaches the caller as PageError."""
    async with PageClient(served.url, worker_id="w", assignment_id="a") as client:
        with pytest.raises(PageError, match="register"):
            await client.answer({"kind": "message"})
        client.details = {"agent_id": "nobody", "agent_token": "x"}
        with pytest.raises(PageError, match="no longer open here") as raised:
            await client.submit_task()
        assert raised.value.status == 404


async def test_a_hand_in_that_the_operator_did_not_take_ends_nothing(served: Served, open_page: Pages) -> None:
    """A page that hands in too early is told to go on, and can: answer, then hand in again."""
    async with open_page(served.url) as client:
        await client.register()
        await client.submit_onboarding()
        state = await client.next_state()
        await client.submit_task()
        confirmed = await client.answer({"kind": "message", "step_id": "m1", "text": "Hi"})
        assert confirmed.version == state.version + 1
        await client.submit_task()
    assert served.operator.count("submit_unit") == 2


async def test_an_answer_after_the_work_was_taken_changes_nothing(served: Served, open_page: Pages) -> None:
    async with open_page(served.url) as client:
        await client.register()
        await client.submit_onboarding()
        await client.next_state()
        await client.submit_task()
        assert client.agent_id is not None
        served.operator.set_status(client.agent_id, "completed")
        late = {"update_id": "late", "kind": "message", "step_id": "m1", "text": "late"}
        await client.send_raw(
            {"packet_type": "mephisto_bound_live_update", "subject_id": client.agent_id, "data": late}
        )
        assert "has been submitted" in await client.next_error()
    assert served.operator.answers == {}
