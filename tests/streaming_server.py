"""Chat completions on loopback that come word by word: what a model says, and how fast, goes by its served name."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Says:
    """A reply, and the seconds before its first word and after each."""

    text: str
    first_s: float
    word_s: float


class _Handler(BaseHTTPRequestHandler):
    models: Mapping[str, Says]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        says = self.models[asked["model"]]
        time.sleep(says.first_s)
        self.send_response(200)
        if not asked.get("stream"):
            choice = {"index": 0, "message": {"role": "assistant", "content": says.text}, "finish_reason": "stop"}
            body = json.dumps({"choices": [choice]}).encode()
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            return
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):
            for word in says.text.split(" "):
                self._piece({"delta": {"content": f"{word} "}, "finish_reason": None})
                time.sleep(says.word_s)
            self._piece({"delta": {}, "finish_reason": "stop"})
            self.wfile.write(b"data: [DONE]\n\n")

    def _piece(self, choice: dict[str, Any]) -> None:
        piece = {"object": "chat.completion.chunk", "choices": [{"index": 0, **choice}]}
        self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())

    def log_message(self, *_: Any) -> None:
        """Nothing on the terminal."""


@contextmanager
def streaming_models(folder: Path, models: Mapping[str, Says]) -> Iterator[Path]:
    """A server of these models while the block runs, and a zoo file that names them."""
    handler = type("Handler", (_Handler,), {"models": models})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    options = {
        "model": "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent",
        "base_url": f"http://127.0.0.1:{server.server_port}/v1",
        "api_key_env": "",
    }
    zoo = folder / "streaming.yaml"
    zoo.write_text(yaml.safe_dump({"models": {m: {"options": {**options, "served_model": m}} for m in models}}))
    try:
        yield zoo
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
