"""Who has left: Mephisto asks for statuses and believes only “disconnect”."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
from chaos import ChaosProxy
from fake_operator import Served
from live import eventually

from mephisto_tasks.server import agents
from mephisto_tasks.server.agents import ASLEEP_S, AwakeTime
from mephisto_tasks.simulation.page_client import PageClient

Pages = Callable[..., PageClient]


async def statuses(served: Served) -> dict[str, str]:
    return await asyncio.to_thread(served.operator.ask_statuses)


async def test_a_page_that_goes_silent_has_left(serve: Callable[..., Served], open_page: Pages) -> None:
    """Reported after the limit, not before; a page whose heartbeats come stays."""
    limit_s = 2.0
    served = serve(disconnect_after_s=limit_s)
    async with open_page(served.url, "stays", heartbeat_s=0.1) as stays:
        async with open_page(served.url, "leaves", heartbeat_s=0.1) as leaves:
            for client in (stays, leaves):
                await client.register()
                await client.next_state()
            last_heard = time.monotonic()
        heard: list[tuple[float, str]] = []
        while not heard or heard[-1][1] == "onboarding":
            now = await statuses(served)
            assert now["practice-1"] == "onboarding"
            heard.append((time.monotonic() - last_heard, now["practice-2"]))
            await asyncio.sleep(0.1)
        assert heard[0][1] == "onboarding"
        assert heard[-1][1] == "disconnect"
        assert heard[-1][0] >= limit_s


async def test_nobody_has_left_while_the_server_was_asleep(serve: Callable[..., Served], open_page: Pages) -> None:
    """Guards raters whose server was stopped for longer than they may be silent: it goes on, and asks who is there before
    it has read a heartbeat."""
    served = serve(disconnect_after_s=1)
    async with open_page(served.url, heartbeat_s=0.1) as client:
        await client.register()
        await client.next_state()
        loop = served.router._loop
        assert loop is not None
        for _ in range(3):
            loop.call_soon_threadsafe(time.sleep, 1.5)
            assert await statuses(served) == {"practice-1": "onboarding"}
            await asyncio.sleep(0.3)


def test_time_stands_still_in_a_sleep() -> None:
    """Guards the limit itself: awake it is a clock like others, and it never runs backwards."""
    clock = [100.0]
    awake = AwakeTime(lambda: clock[0])
    seen = [awake.now()]
    for _ in range(20):  # two seconds awake
        clock[0] += 0.1
        seen.append(awake.now())
        awake.look()
    assert awake.now() - seen[0] == pytest.approx(2)
    clock[0] += 3600
    seen += [awake.now()]
    awake.look()
    clock[0] += 0.1
    seen += [awake.now()]
    assert seen[-1] - seen[0] == pytest.approx(2 + ASLEEP_S + 0.1)
    assert seen == sorted(seen)


async def test_a_page_that_never_connected_has_left(
    serve: Callable[..., Served], open_page: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registered and closed at once: node's router would keep its unit for ever, and programs could fill a study so.
    Whoever came to their task may be away for longer.
    """
    monkeypatch.setattr(agents, "NEVER_CAME_S", 0.2)
    served = serve(disconnect_after_s=20)
    async with open_page(served.url, "came") as came, open_page(served.url, "never") as never:
        await came.register()
        await came.next_state()
        await never.register()
    await asyncio.sleep(0.4)
    assert await statuses(served) == {"practice-1": "onboarding", "practice-2": "disconnect"}


async def test_a_short_break_is_no_departure(serve: Callable[..., Served], open_page: Pages) -> None:
    """A closed socket alone means nothing: Wi-Fi changes, reloads."""
    served = serve(disconnect_after_s=5)
    async with ChaosProxy(served.port, seed=1) as proxy:
        proxy.calm = True
        async with open_page(proxy.url) as client:
            await client.register()
            await client.next_state()
            proxy.cut_all()
            await asyncio.sleep(0.1)
            assert await statuses(served) == {"practice-1": "onboarding"}


async def test_who_handed_in_cannot_leave(serve: Callable[..., Served], open_page: Pages) -> None:
    """The page closes after its work was taken; Mephisto must not hear that as a disconnect."""
    served = serve(disconnect_after_s=0.2)
    async with open_page(served.url) as client:
        await client.register()
        await client.submit_onboarding()
        await client.next_state()
        await client.submit_task()
        served.operator.set_status("task-1", "completed")
    await asyncio.sleep(0.4)
    assert await statuses(served) == {}


async def test_a_finished_agent_is_not_marked(serve: Callable[..., Served], open_page: Pages) -> None:
    """Only onboarding, waiting and in task need a page."""
    served = serve(disconnect_after_s=0.2)
    async with open_page(served.url) as client:
        await client.register()
        served.operator.set_status("practice-1", "timeout")
    await asyncio.sleep(0.4)
    assert await statuses(served) == {"practice-1": "timeout"}


async def test_the_page_hears_its_status(served: Served, open_page: Pages) -> None:
    """By packet when the operator sets it, and with every heartbeat."""
    async with open_page(served.url, heartbeat_s=0.1) as client:
        await client.register()
        await client.next_state()
        served.operator.set_status("practice-1", "waiting")
        await eventually(lambda: client.status == "waiting")
        client.status = None
        await eventually(lambda: client.status == "waiting")
