"""A rater's page without a browser, for simulated raters, tests and benchmarks: ``register()``, ``next_state()``,
``answer({…})``. Its websocket never gives up: it reconnects, catches up, repeats what was lost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import ssl
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

import aiohttp

from mephisto_tasks.server import packets
from mephisto_tasks.server.packets import Packet
from mephisto_tasks.server.security import SECRETS, Browser
from parlai_humaneval.schema.steps import EndStep, PageState

HEARTBEAT_S = 5.0
_HANDSHAKE_S = 10.0
_FIRST_DELAY_S = 0.05
_LONGEST_DELAY_S = 2.0
_DEFLATE_WINDOW = 15


class Backoff:
    """Delays from 0.05 s, doubling to 2 s, each shortened at random: pages do not return all at once."""

    def __init__(self) -> None:
        self._delay = _FIRST_DELAY_S

    def reset(self) -> None:
        self._delay = _FIRST_DELAY_S

    async def wait(self) -> None:
        await asyncio.sleep(self._delay * random.uniform(0.5, 1.0))
        self._delay = min(2 * self._delay, _LONGEST_DELAY_S)


@dataclass(eq=False, repr=False)
class PageSocket:
    """Speaks for one agent until :meth:`close` or a fatal error. ``on_packet`` gets every packet once and in order;
    answers are sent again on every reconnect and every ``heartbeat_s`` until :meth:`confirmed`."""

    _session: aiohttp.ClientSession
    _url: str
    _agent_id: str
    token: str | None
    _on_packet: Callable[[Packet], None]
    heartbeat_s: float = HEARTBEAT_S

    def __post_init__(self) -> None:
        self.reconnects = -1
        self._token = {} if self.token is None else {"agent_token": self.token}
        self._page_id = uuid.uuid4().hex
        self._last_seq = 0
        self._unconfirmed: dict[str, Packet] = {}
        self._socket: aiohttp.ClientWebSocketResponse[bool] | None = None
        self._connected = asyncio.Event()
        self._closed = False
        self._task = asyncio.create_task(self._run())

    async def answer(self, data: dict[str, Any]) -> None:
        """Sends an answer, and again until its ``update_id`` is confirmed."""
        packet = self._packet(packets.MEPHISTO_BOUND, data)
        self._unconfirmed[data["update_id"]] = packet
        if self._socket is not None:
            await self._send(self._socket, packet)

    def confirmed(self, update_id: str) -> None:
        self._unconfirmed.pop(update_id, None)

    async def send_raw(self, message: Packet | str, timeout: float = 10.0) -> None:
        """Sends ``message`` as it is, once, on the connection of the moment. Raises TimeoutError."""
        await asyncio.wait_for(self._connected.wait(), timeout)
        if self._socket is not None:
            await self._socket.send_str(message if isinstance(message, str) else json.dumps(message))

    async def close(self) -> None:
        self._closed = True
        if self._task is not asyncio.current_task():
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def _run(self) -> None:
        backoff = Backoff()
        while not self._closed:
            with contextlib.suppress(aiohttp.ClientError, OSError, asyncio.TimeoutError):
                await self._converse(backoff)
            if not self._closed:
                await backoff.wait()

    async def _converse(self, backoff: Backoff) -> None:
        connect = self._session.ws_connect(
            self._url, compress=_DEFLATE_WINDOW, heartbeat=4 * self.heartbeat_s, max_msg_size=0
        )
        socket = await asyncio.wait_for(connect, _HANDSHAKE_S)
        if self._closed:  # Python 3.11 loses a cancellation that comes with the connection
            await socket.close()
            return
        self.reconnects += 1
        beat: asyncio.Task[None] | None = None
        try:
            alive = {**self._token, "last_seq": self._last_seq, "page_id": self._page_id}
            await self._send(socket, self._packet(packets.ALIVE, alive))
            self._socket = socket
            self._connected.set()
            await self._say_again(socket)
            beat = asyncio.create_task(self._beat(socket))
            async for message in socket:
                if message.type is aiohttp.WSMsgType.TEXT:
                    backoff.reset()
                    await self._take(socket, json.loads(message.data))
        finally:
            self._socket = None
            self._connected.clear()
            if beat is not None:
                beat.cancel()
            await socket.close()

    async def _beat(self, socket: aiohttp.ClientWebSocketResponse[bool]) -> None:
        while True:
            await asyncio.sleep(self.heartbeat_s)
            await self._send(socket, self._packet(packets.HEARTBEAT, dict(self._token)))
            await self._say_again(socket)

    async def _say_again(self, socket: aiohttp.ClientWebSocketResponse[bool]) -> None:
        for packet in list(self._unconfirmed.values()):
            await self._send(socket, packet)

    async def _take(self, socket: aiohttp.ClientWebSocketResponse[bool], packet: Packet) -> None:
        seq = packet.get("router_seq")
        if seq is None:
            self._hear(packet)
            return
        if seq > self._last_seq:
            self._last_seq = seq
            self._hear(packet)
        await self._send(socket, self._packet(packets.ACK, {"last_seq": self._last_seq}))

    def _hear(self, packet: Packet) -> None:
        if packet["packet_type"] == packets.ERROR and packet["data"].get("fatal"):
            self._closed = True
        self._on_packet(packet)

    @staticmethod
    async def _send(socket: aiohttp.ClientWebSocketResponse[bool], packet: Packet) -> None:
        # A connection that broke shows itself to the reader as well, which then opens a new one.
        with contextlib.suppress(aiohttp.ClientError, ConnectionError):
            await socket.send_str(packets.encode({**packet, "client_timestamp": time.time()}))

    def _packet(self, packet_type: str, data: dict[str, Any]) -> Packet:
        return {"packet_type": packet_type, "subject_id": self._agent_id, "data": data}


Details = dict[str, Any]  # the ``data`` of an ``agent_details`` packet

Found = TypeVar("Found")
_TRY_AGAIN = frozenset({502, 503, 504})
_ONE_REQUEST_S = 40.0


class PageError(RuntimeError):
    """The router refused something for good; ``status`` is the HTTP status, None on the websocket."""

    def __init__(self, sentence: str, status: int | None = None) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(eq=False)
class PageClient:
    """Speaks as the page does, and survives cut connections. ``refused``: why there is no task for the worker.
    ``parameters``: of the page's address, where that says who comes. A ``browser`` may be shared."""

    base_url: str
    _: KW_ONLY
    worker_id: str = "by-address"
    assignment_id: str = "by-address"
    provider_data: Mapping[str, Any] = field(default_factory=dict)
    parameters: Sequence[tuple[str, str]] | None = None
    heartbeat_s: float = HEARTBEAT_S
    request_timeout_s: float = 90.0
    certificates: ssl.SSLContext | None = None
    browser: Browser = field(default_factory=Browser)
    agrees: bool = True

    def __post_init__(self) -> None:
        self.refused: str | None = None
        self.details: Details = {}
        self.state: PageState | None = None
        self.status: str | None = None
        self.errors: list[str] = []
        self._base_url = self.base_url.rstrip("/")
        self._registration: dict[str, Any] = {
            "worker_name": self.worker_id,
            "agent_registration_id": f"{self.assignment_id}-{self.worker_id}",
            "assignment_id": self.assignment_id,
            **self.provider_data,
        }
        if self.parameters is not None:
            self._registration["parameters"] = [list(pair) for pair in self.parameters]
        self._fatal: str | None = None
        self._session: aiohttp.ClientSession | None = None
        self._socket: PageSocket | None = None
        self._confirming: dict[str, PageState] = {}
        self._news = asyncio.Event()

    async def __aenter__(self) -> PageClient:
        connector = aiohttp.TCPConnector(ssl=self.certificates or True)
        self._session = aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=_ONE_REQUEST_S))
        return self

    async def __aexit__(self, kind: object, error: object, trace: object) -> None:
        await self._hang_up()
        if self._session is not None:
            await self._session.close()

    @property
    def agent_id(self) -> str | None:
        return self.details.get("agent_id")

    @property
    def agent_token(self) -> str | None:
        return self.details.get("agent_token")

    @property
    def reconnects(self) -> int:
        return 0 if self._socket is None else max(0, self._socket.reconnects)

    async def register(self, here_to: str | None = None) -> Details:
        """Ask for a task; ``here_to``: look, begin, decline or give_back, by link. Raises PageError or TimeoutError."""
        purpose = {} if here_to is None else {"here_to": here_to}
        body = {"provider_data": {**self._registration, **purpose, SECRETS: [self.browser.secret]}}
        details = await self._become(await self._post("/request_agent", body))
        form = details.get("consent")
        if form is None or not self.agrees:
            return details
        self._registration["consent"] = {"version": form["version"], "digest": form["digest"]}
        return await self.register(here_to)

    async def enter(self, here_to: str | None = None) -> Details:
        """:meth:`register`, and again as often as the page would by itself, where a study is full for now."""
        while (wait_s := (await self.register(here_to)).get("try_again_s")) is not None:
            await asyncio.sleep(wait_s)
        return self.details

    async def submit_onboarding(self) -> Details:
        """Hands the practice in; then this client speaks for the agent of the task, or is ``refused``."""
        data: dict[str, Any] = {**self._registration, "USED_AGENT_ID": self.agent_id, "onboarding_data": {}}
        body = {"provider_data": data, "agent_token": self.agent_token}
        return await self._become(await self._post("/submit_onboarding", body))

    async def submit_task(self) -> None:
        body: dict[str, Any] = {"USED_AGENT_ID": self.agent_id, "final_data": {}, "agent_token": self.agent_token}
        await self._post("/submit_task", body)

    async def next_state(self, after_version: int | None = None, timeout: float = 30.0) -> PageState:
        """The newest state above ``after_version`` (None: any). Raises TimeoutError, PageError."""
        floor = -1 if after_version is None else after_version
        return await self._until(lambda: self.state if self.state and self.state.version > floor else None, timeout)

    async def answer(self, answer: dict[str, Any], timeout: float = 60.0) -> PageState:
        """Send ``answer`` until it is confirmed; the state that confirmed it, whose notice tells of a refusal, or the
        last state, where the page has come to its end meanwhile."""
        socket = self._need_socket()
        data = {"update_id": uuid.uuid4().hex, **answer}
        await socket.answer(data)
        try:
            return await self._until(lambda: self._confirming.get(data["update_id"]) or self._end(), timeout)
        finally:
            socket.confirmed(data["update_id"])

    def _end(self) -> PageState | None:
        return self.state if self.state is not None and isinstance(self.state.step, EndStep) else None

    async def send_raw(self, packet: Packet | str) -> None:
        await self._need_socket().send_raw(packet)

    async def next_error(self, after: int = 0, timeout: float = 10.0) -> str:
        """The error packet's sentence number ``after`` (from 0), once it has come."""
        return await self._until(lambda: self.errors[after] if len(self.errors) > after else None, timeout)

    # -- inside ---------------------------------------------------------------------------------

    def _need_socket(self) -> PageSocket:
        if self._socket is None:
            raise PageError("This page has no task yet. Call register() first.")
        return self._socket

    async def _hang_up(self) -> None:
        if self._socket is not None:
            await self._socket.close()
            self._socket = None

    async def _become(self, packet: Packet) -> Details:
        await self._hang_up()
        self.details = packet["data"]
        self.refused = self.details.get("failure_reason")
        self.state, self._fatal = None, None
        self._confirming.clear()
        if self.agent_id is not None and self.refused is None:
            for update in (self.details.get("init_task_data") or {}).get("past_live_updates") or []:
                self._take_update(update)
            self._socket = PageSocket(
                self._need_session(),
                f"{self._base_url}/",
                self.agent_id,
                self.agent_token,
                self._take,
                self.heartbeat_s,
            )
        return self.details

    def _take(self, packet: Packet) -> None:
        kind, data = packet["packet_type"], packet["data"]
        if kind == packets.CLIENT_BOUND:
            self._take_update(data)
        elif kind in (packets.UPDATE_STATUS, packets.HEARTBEAT):
            self.status = data.get("status", self.status)
        elif kind == packets.ERROR:
            self.errors.append(str(data.get("error", "")))
            if data.get("fatal"):
                self._fatal = self.errors[-1]
        self._news.set()

    def _take_update(self, update: dict[str, Any]) -> None:
        if update.get("kind") != "state":
            return
        state = PageState.model_validate(update["state"])
        for update_id in state.confirmed:
            self._confirming.setdefault(update_id, state)
            if self._socket is not None:
                self._socket.confirmed(update_id)
        if self.state is None or state.version > self.state.version:
            self.state = state

    async def _until(self, find: Callable[[], Found | None], timeout: float) -> Found:
        return await asyncio.wait_for(self._watch(find), timeout)

    async def _watch(self, find: Callable[[], Found | None]) -> Found:
        while (found := find()) is None:
            if self._fatal is not None:
                raise PageError(self._fatal)
            news = self._news
            await news.wait()
            if self._news is news:
                self._news = asyncio.Event()
        return found

    def _need_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise PageError("Open the client with “async with PageClient(…) as client”.")
        return self._session

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        deadline, backoff = time.monotonic() + self.request_timeout_s, Backoff()
        while True:
            try:
                stamped = {**body, "client_timestamp": time.time()}
                async with self._need_session().post(self._base_url + path, json=stamped) as response:
                    answer: dict[str, Any] = await response.json()
                    if response.status in _TRY_AGAIN:
                        raise aiohttp.ClientResponseError(response.request_info, (), status=response.status)
                    if response.status != 200:
                        raise PageError(answer.get("error", response.reason or ""), response.status)
                    return answer
            except (aiohttp.ClientError, OSError, asyncio.TimeoutError) as error:
                if time.monotonic() > deadline:
                    raise asyncio.TimeoutError(f"{path} got no answer: {error!r}") from error
            await backoff.wait()
