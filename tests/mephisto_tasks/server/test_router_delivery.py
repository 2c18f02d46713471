"""Between page and operator nothing is lost, nothing comes twice, and order is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from chaos import ChaosProxy
from fake_operator import Served
from live import eventually

from mephisto_tasks.server.security import Browser
from mephisto_tasks.simulation.page_client import PageClient, PageError, PageSocket
from parlai_humaneval.schema.steps import MessageStep, PageState

Pages = Callable[..., PageClient]


async def reply(client: PageClient, state: PageState, text: str = "Hello") -> PageState:
    assert isinstance(state.step, MessageStep)
    return await client.answer({"kind": "message", "step_id": state.step.step_id, "text": text})


async def test_a_whole_task(served: Served, open_page: Pages) -> None:
    """Register, practise, hand the practice in, work as the new agent, hand the task in."""
    async with open_page(served.url) as client:
        details = await client.register()
        assert details["agent_id"] == "practice-1"
        state = await client.next_state()
        state = await reply(client, state, "practice")
        assert (await client.submit_onboarding())["agent_id"] == "task-1"
        state = await client.next_state()
        state = await reply(client, state, "real")
        assert state.version == 2
        await client.submit_task()
        await client.submit_task()
    assert [answer["text"] for answer in served.operator.answers["task-1"]] == ["real"]
    assert served.operator.count("submit_unit") == 1
    assert served.operator.count("submit_onboarding") == 1


async def test_what_is_sent_while_the_page_is_away_waits_for_it(served: Served, open_page: Pages) -> None:
    """Mephisto's own routers drop it: packets sent to a closed socket."""
    async with ChaosProxy(served.port, seed=1) as proxy:
        proxy.calm = True
        async with open_page(proxy.url) as client:
            await client.register()
            state = await client.next_state()
            agent_id = client.agent_id
            assert agent_id is not None
            proxy.cut_all()
            for _ in range(3):
                served.operator.show(agent_id)
            assert (await client.next_state(state.version + 2)).version == 4
            assert client.reconnects >= 1
            await eventually(lambda: served.router.health()["queued"] == 0)


async def test_every_update_arrives_once_in_order_through_chaos(served: Served) -> None:
    """400 numbered updates over connections that are cut in mid-frame: 0 … 399 arrive, in order, once."""
    got: list[int] = []

    def hear(packet: dict[str, Any]) -> None:
        if "number" in packet["data"]:
            got.append(packet["data"]["number"])

    async with ChaosProxy(served.port, seed=7) as proxy, aiohttp.ClientSession() as session:
        body = {"provider_data": {"worker_name": "w1", "agent_registration_id": "a1-w1"}}
        async with session.post(f"{served.url}/request_agent", json=body) as response:
            details = (await response.json())["data"]
        agent_id, token = details["agent_id"], details["agent_token"]
        socket = PageSocket(session, proxy.url, agent_id, token, hear, heartbeat_s=0.2)
        for number in range(400):
            served.operator.update(agent_id, {"number": number, "text": f"{number} " * 40})
            await asyncio.sleep(0.002)
        await eventually(lambda: len(got) >= 400, 20)
        await socket.close()
        assert got == list(range(400))
        assert proxy.cuts >= 10


async def run_rater(client: PageClient, answers: int) -> None:
    async with client:
        await client.register()
        state = await client.next_state()
        await reply(client, state, "practice")
        await client.submit_onboarding()
        state = await client.next_state()
        for number in range(answers):
            state = await reply(client, state, f"answer {number}")
        await client.submit_task()


async def test_a_study_through_chaos_loses_and_doubles_nothing(
    served: Served, open_page: Pages, chaos_proxy: Callable[..., ChaosProxy]
) -> None:
    """Eight raters, all their HTTP and websockets cut at random: each answer counts once, in its order."""
    async with chaos_proxy(served.port, seed=3, cut_after=(300, 3500)) as proxy:
        clients = [open_page(proxy.url, f"w{number}") for number in range(8)]
        await asyncio.gather(*(run_rater(client, 12) for client in clients))
        assert proxy.cuts >= 20
    operator = served.operator
    expected = [f"answer {number}" for number in range(12)]
    for number in range(1, 9):
        assert [answer["text"] for answer in operator.answers[f"task-{number}"]] == expected
        assert [answer["text"] for answer in operator.answers[f"practice-{number}"]] == ["practice"]
    assert operator.count("submit_unit") == 8
    assert operator.count("submit_onboarding") == 8


async def test_two_requests_of_one_page_make_one_agent(served: Served, open_page: Pages) -> None:
    """A page that asks again because it heard nothing must not become two agents."""
    served.operator.mute = True
    browser = Browser()
    async with open_page(served.url, browser=browser) as first, open_page(served.url, browser=browser) as second:
        asking = [asyncio.create_task(client.register()) for client in (first, second)]
        await eventually(lambda: served.operator.heard)
        await asyncio.sleep(0.1)
        served.operator.mute = False
        assert served.operator.count("register_agent") == 1
        served.operator.to_operator(served.operator.heard.pop())
        answers = await asyncio.gather(*asking)
    assert answers[0]["agent_token"] == answers[1]["agent_token"]


async def test_a_reload_keeps_agent_token_and_place(served: Served, open_page: Pages) -> None:
    async with open_page(served.url) as client:
        before = await client.register()
        await reply(client, await client.next_state())
        after = await client.register()
        assert (after["agent_id"], after["agent_token"]) == (before["agent_id"], before["agent_token"])
        assert (await client.next_state()).version == 2
        assert (await reply(client, await client.next_state())).version == 3


async def test_the_newest_of_two_windows_wins(served: Served, open_page: Pages) -> None:
    """The older window is told why in a sentence and stays closed; the newer one goes on."""
    async with open_page(served.url) as old, open_page(served.url) as new:
        await old.register()
        await old.next_state()
        await new.register()
        assert "another window" in await old.next_error()
        with pytest.raises(PageError, match="another window"):
            await old.next_state(after_version=99)
        await asyncio.sleep(0.3)  # an old window that came back would now throw the new one out
        assert (await reply(new, await new.next_state())).version == 2
        assert new.errors == []


async def test_a_page_does_not_shut_itself_out(served: Served, open_page: Pages) -> None:
    """Its older connection may still look open when it comes back: no “another window” for the same page."""
    async with open_page(served.url) as client, aiohttp.ClientSession() as session:
        await client.register()
        await client.next_state()
        await eventually(lambda: served.router.health()["queued"] == 0)
        data = {"agent_token": client.agent_token, "last_seq": 0, "page_id": "one load of the page"}
        alive = {"packet_type": "alive", "subject_id": client.agent_id, "data": data}
        # The router hangs up at once: an answer to its closing would find no line, and its code would be lost here.
        hears = session.ws_connect(served.url, autoclose=False)
        async with hears as older, session.ws_connect(served.url) as newer:
            for socket in (older, newer):
                await socket.send_json(alive)
                assert (await socket.receive_json(timeout=5))["packet_type"] == "update_status"
            heard = [message.json()["packet_type"] async for message in older]
            assert "error" not in heard
            assert older.close_code == 1008
            assert not newer.closed


async def test_an_older_window_is_told_the_reason_in_a_word(served: Served, open_page: Pages) -> None:
    """The page knows by it that nothing is broken, and does not urge the rater to reload."""
    async with open_page(served.url) as client, aiohttp.ClientSession() as session:
        await client.register()
        await client.next_state()
        async with session.ws_connect(served.url) as older, session.ws_connect(served.url) as newer:
            for socket, page_id in ((older, "one load"), (newer, "another load")):
                data = {"agent_token": client.agent_token, "last_seq": 99, "page_id": page_id}
                await socket.send_json({"packet_type": "alive", "subject_id": client.agent_id, "data": data})
                assert (await socket.receive_json(timeout=5))["packet_type"] == "update_status"
            packets = [message.json() async for message in older]
        (problem,) = [packet["data"] for packet in packets if packet["packet_type"] == "error"]
        assert (problem["fatal"], problem["reason"]) == (True, "other_window")


async def test_a_large_message_passes_whole(served: Served, open_page: Pages) -> None:
    """Just under the limit, beyond what ASCII would take, and through compression."""
    async with open_page(served.url) as client:
        await client.register()
        text = "é" * 100_000
        await reply(client, await client.next_state(), text)
        assert served.operator.answers["practice-1"][0]["text"] == text


async def test_whatever_a_model_writes_can_be_sent(served: Served, open_page: Pages) -> None:
    """Half a surrogate pair from a byte-level model must not end the connection."""
    async with open_page(served.url) as client:
        await client.register()
        state = await client.next_state()
        served.operator.update("practice-1", {"update_id": "x", "kind": "other", "text": "\ud83d \u2028 \x00"})
        assert (await reply(client, state)).version == 2
        assert client.reconnects == 0


async def test_what_pages_say_before_the_operator_listens_is_kept(
    serve: Callable[..., Served], open_page: Pages
) -> None:
    """A rater may open the link in the moment between the port's opening and Mephisto's readiness."""
    served = serve()
    served.router.disconnect_operator()
    served.router.connect_operator(served.operator)
    async with open_page(served.url) as client:
        assert (await client.register())["agent_id"] == "practice-1"


async def test_packets_keep_their_order_towards_the_operator(served: Served, open_page: Pages) -> None:
    """An answer and the hand-in right behind it reach Mephisto in that order."""
    async with open_page(served.url) as client:
        await client.register()
        await client.submit_onboarding()
        state = await client.next_state()
        await reply(client, state)
        await client.submit_task()
    kinds = [packet["packet_type"] for packet in served.operator.heard]
    assert kinds == ["register_agent", "submit_onboarding", "mephisto_bound_live_update", "submit_unit"]
