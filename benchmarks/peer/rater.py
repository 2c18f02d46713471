"""A rater of ParlAI's pairwise per-turn task: sends what its page sends, over HTTP and the websocket."""

from __future__ import annotations

import asyncio
import json
import random
import time
import uuid
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import aiohttp

if TYPE_CHECKING:
    Socket = aiohttp.ClientWebSocketResponse[bool]

Found = TypeVar("Found")
TIMEOUT_S = 120.0
MESSAGE = "I have had quite a busy week so far, how about you?"
REASON = "It fits what I said before much better."


class TurnedAway(RuntimeError):
    """The peer gave a rater no task, though there were some."""


async def register(session: aiohttp.ClientSession, url: str, worker: str) -> dict[str, Any]:
    """Ask Mephisto's router for a task as its mock page does; the data of the ``agent_details`` packet."""
    registration = {
        "worker_name": worker,
        "agent_registration_id": f"a-{worker}",
        "assignment_id": f"a-{worker}",
        "provider_type": "mock",
    }
    body = {"provider_data": registration, "client_timestamp": time.time()}
    async with session.post(f"{url}/request_agent", json=body) as response:
        response.raise_for_status()
        packet = await response.json()
    details: dict[str, Any] = packet["data"]
    if details["failure_reason"] or not details["agent_id"]:
        raise TurnedAway(f"the peer turned a rater away: {details['failure_reason']}")
    return details


class PeerRater:
    """One worker who rates one dialogue of ``turns`` turns.

    ``arriving`` is shared by all raters, who ask for a task one after the other: when several ask at the same moment,
    Mephisto gives some of them none, and the units are lost. ``think_s``: mean pause before an answer, in seconds.
    """

    def __init__(self, url: str, worker: str, turns: int, think_s: float, arriving: asyncio.Lock) -> None:
        self._url, self._worker, self._turns, self._arriving = url, worker, turns, arriving
        self._think_s, self._random = think_s, random.Random(worker)
        self._agent_id = ""
        self._seen: set[str] = set()
        self.waits_s: list[float] = []
        """Seconds from sending a message to receiving both replies."""

    async def run(self) -> list[float]:
        """The whole dialogue; returns :attr:`waits_s`."""
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_S)
        async with aiohttp.ClientSession(timeout=timeout) as session:
            async with self._arriving:
                details = await register(session, self._url, self._worker)
            self._agent_id = details["agent_id"]
            async with session.ws_connect(f"{self._url}/", heartbeat=None) as socket:
                await self._send(socket, "alive", {})
                before = details["init_task_data"]["past_live_updates"]
                self._seen.update(update["update_id"] for update in before)
                shown = _replies(before)
                await self._dialogue(socket, shown or await self._receive_replies(socket))
            body = {"USED_AGENT_ID": self._agent_id, "final_data": {}, "client_timestamp": time.time()}
            async with session.post(f"{self._url}/submit_task", json=body) as response:
                response.raise_for_status()
        return self.waits_s

    async def _dialogue(self, socket: Socket, shown: Mapping[str, Any]) -> None:
        for turn in range(1, self._turns + 1):
            await self._think()
            await self._answer(socket, "", _choice(shown, last=turn == self._turns))
            if turn == self._turns:
                return
            await self._receive(socket, _asks_for_message)  # the page offers the text field only then
            await self._think()
            sent = time.perf_counter()
            await self._answer(socket, MESSAGE, {})
            shown = await self._receive_replies(socket)
            self.waits_s.append(time.perf_counter() - sent)

    async def _think(self) -> None:
        if self._think_s:
            await asyncio.sleep(self._pause_s(self._think_s))

    def _pause_s(self, mean_s: float) -> float:
        """How long the rater thinks before the next answer."""
        return self._random.expovariate(1 / mean_s)

    async def _answer(self, socket: Socket, text: str, task_data: dict[str, Any]) -> None:
        data = {"update_id": uuid.uuid4().hex, "text": text, "task_data": task_data, "episode_done": False}
        await self._send(socket, "mephisto_bound_live_update", data)

    async def _send(self, socket: Socket, kind: str, data: dict[str, Any]) -> None:
        packet = {"packet_type": kind, "subject_id": self._agent_id, "data": data, "client_timestamp": time.time()}
        await socket.send_str(json.dumps(packet))

    async def _receive_replies(self, socket: Socket) -> Mapping[str, Any]:
        return await self._receive(socket, lambda update: _replies([update]))

    async def _receive(self, socket: Socket, find: Callable[[dict[str, Any]], Found | None]) -> Found:
        """The first new update in which ``find`` finds something; Mephisto sends many of them twice."""

        async def wait() -> Found:
            while True:
                packet = await socket.receive_json()
                update = packet["data"]
                if packet["packet_type"] == "client_bound_live_update" and update["update_id"] not in self._seen:
                    self._seen.add(update["update_id"])
                    found = find(update)
                    if found is not None:
                        return found

        return await asyncio.wait_for(wait(), TIMEOUT_S)


def _asks_for_message(update: dict[str, Any]) -> str | None:
    """The chosen reply, which comes back to stand in the dialogue."""
    data = update.get("task_data") or {}
    return update["text"] if "task_turn_idx" in data and "top_bot_data" not in data else None


def _replies(updates: list[dict[str, Any]]) -> Mapping[str, Any] | None:
    """The newest update's two replies, or None when it shows none."""
    data = (updates[-1].get("task_data") or {}) if updates else {}
    return data if "top_bot_data" in data else None


def _choice(shown: Mapping[str, Any], *, last: bool) -> dict[str, Any]:
    """What the page sends when the upper reply is chosen."""
    top, bottom = shown["top_bot_data"], shown["bottom_bot_data"]
    chosen = {
        "accepted_bot_response": top["top_bot_response"],
        "accepted_bot_id": top["top_bot_id"],
        "not_accepted_bot_response": bottom["bottom_bot_response"],
        "not_accepted_bot_id": bottom["bottom_bot_id"],
        "justification_value": REASON,
    }
    return {**chosen, "finished": True} if last else chosen
