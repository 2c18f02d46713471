"""Debian's Firefox, by WebDriver BiDi: Playwright drives a build of its own alone, and nothing is downloaded here."""

from __future__ import annotations

import asyncio
import json
import queue
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aiohttp import ClientSession, ClientWebSocketResponse, WSMsgType

NAMES = ("firefox-esr", "firefox")
PATIENCE_S = 30.0
_LISTENING = re.compile(rb"WebDriver BiDi listening on (ws://\S+)")
_BUTTON = """
(name) => [...(document.querySelector("[role=dialog]") ?? document).querySelectorAll("button")].find((button) =>
  button.textContent.trim() === name && button.getClientRects().length && button.ariaDisabled !== "true")
"""


def find_firefox() -> str | None:
    """Path of the first of :data:`NAMES` on the PATH; None where there is none."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class Firefox:
    """One tab. Every method waits for what it needs to see, and fails if it does not come. ``errors``: of the console."""

    def __init__(self, address: str) -> None:
        self.errors: list[str] = []
        self._answers: dict[int, queue.Queue[dict[str, Any]]] = {}
        self._socket: ClientWebSocketResponse | None = None
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._listen(address)))
        self._thread.start()
        assert self._ready.wait(PATIENCE_S), "Firefox does not answer"
        self._ask("session.new", capabilities={})
        self._ask("session.subscribe", events=["log.entryAdded"])
        self._tab = self._ask("browsingContext.getTree")["contexts"][0]["context"]

    def size(self, width: int, height: int) -> None:
        """Of the window, as on a phone or a desktop."""
        viewport = {"width": width, "height": height}
        self._ask("browsingContext.setViewport", context=self._tab, viewport=viewport)

    def open(self, url: str) -> None:
        self._ask("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, as JSON keeps it."""
        found = self._run(f"JSON.stringify({expression}) ?? 'null'")
        return json.loads(found["value"])

    def until(self, expression: str) -> Any:
        """The value of an expression, once it is true."""
        late = time.monotonic() + PATIENCE_S
        while not (value := self.evaluate(expression)):
            assert time.monotonic() < late, f"{expression}\n{self.evaluate('document.body.innerText')}"
            time.sleep(0.05)
        return value

    def press(self, name: str) -> None:
        """A button by its words, in the dialog if one is open."""
        self.click(f"({_BUTTON})({json.dumps(name)})")

    def click(self, element: str) -> None:
        """In the middle of the element that an expression gives, which is scrolled to where it can be seen."""
        place, before = "", "?"
        while place != before:  # a step that has just come may still scroll
            before = place
            place = self.until(f"Object.values(({element})?.getBoundingClientRect().toJSON() ?? {{}}).join()")
        node = self._run(f"(() => {{ const at = {element}; at.scrollIntoView({{block: 'nearest'}}); return at; }})()")
        origin = {"type": "element", "element": {"sharedId": node["sharedId"]}}
        steps = [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
            *({"type": kind, "button": 0} for kind in ("pointerDown", "pointerUp")),
        ]
        self._act({"type": "pointer", "id": "mouse", "actions": steps})

    def write(self, text: str) -> None:
        """Key by key, into the step's text field."""
        self.click("(document.querySelector('[role=dialog] textarea') ?? document.querySelector('textarea'))")
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keyboard", "actions": keys})

    def close(self) -> None:
        self._ask("browser.close")
        self._thread.join(PATIENCE_S)

    def _act(self, actions: dict[str, Any]) -> None:
        self._ask("input.performActions", context=self._tab, actions=[actions])

    def _run(self, expression: str) -> dict[str, Any]:
        answer = self._ask(
            "script.evaluate", expression=expression, target={"context": self._tab}, awaitPromise=True
        )  # fmt: skip
        assert answer["type"] == "success", answer
        result: dict[str, Any] = answer["result"]
        return result

    def _ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = len(self._answers)
        self._answers[number] = queue.Queue()
        assert self._socket is not None
        packet = json.dumps({"id": number, "method": method, "params": params})
        asyncio.run_coroutine_threadsafe(self._socket.send_str(packet), self._loop).result(PATIENCE_S)
        answer = self._answers[number].get(timeout=PATIENCE_S)
        assert answer["type"] == "success", answer
        result: dict[str, Any] = answer["result"]
        return result

    async def _listen(self, address: str) -> None:
        async with ClientSession() as session, session.ws_connect(f"{address}/session", max_msg_size=0) as socket:
            self._socket = socket
            self._ready.set()
            async for message in socket:
                if message.type != WSMsgType.TEXT:
                    break
                packet = message.json()
                if packet.get("id") in self._answers:
                    self._answers[packet["id"]].put(packet)
                elif packet.get("method") == "log.entryAdded" and packet["params"]["level"] in ("error", "warn"):
                    self.errors.append(str(packet["params"]["text"]))


@contextmanager
def firefox(path: str, folder: Path) -> Iterator[Firefox]:
    """A window with its own profile, in ``folder``, while the block runs. Nothing moves by itself there."""
    (folder / "user.js").write_text('user_pref("ui.prefersReducedMotion", 1);\n')
    command = [path, "--headless", "--no-remote", "--profile", str(folder), "--remote-debugging-port", "0"]
    process = subprocess.Popen([*command, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        assert process.stderr is not None
        said = next(filter(None, map(_LISTENING.match, process.stderr)), None)
        assert said, "Firefox ended at once"
        browser = Firefox(said[1].decode())
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop it
        yield browser
        browser.close()
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()
