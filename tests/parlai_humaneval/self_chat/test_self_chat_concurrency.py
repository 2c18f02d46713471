"""A server that answers many at once is kept as busy as the zoo file allows, and no dialogue waits for a slower one."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from make_talkers import acts, contents, counting, dialogues

from parlai_humaneval.models.zoo.entries import ModelSpec, Running
from parlai_humaneval.self_chat import SelfChatSettings, generate

AGENT = "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent"
THREADS = 6
MANY = 24
"""More than an agent asks at once by itself."""
HOPELESS_S = 60.0
"""After which a server that waits in vain answers all the same, so that a wrong program fails and does not hang."""


class CountingServer(ThreadingHTTPServer):
    """An OpenAI-compatible server in threads; ``hold`` is called in each request's thread, and may wait.

    ``at_once``: requests under way; ``most``: the most there were; ``answered``: so far.
    """

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.changed = threading.Condition()
        self.at_once = self.most = self.asked = self.answered = 0
        self.in_vain = False

    def hold(self, number: int) -> None:
        """Called with the number of the request, from 0."""

    def wait_until(self, true: Any) -> None:
        with self.changed:
            if not self.changed.wait_for(true, HOPELESS_S):
                self.in_vain = True

    def spec(self, name: str = "served", **running: Any) -> ModelSpec:
        options = {"model": AGENT, "base_url": f"http://127.0.0.1:{self.server_address[1]}/v1", "served_model": "s"}
        return ModelSpec(name=name, options={**options, "request_timeout_s": 120}, running=Running(**running))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: CountingServer

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.changed:
            number = self.server.asked
            self.server.asked += 1
            self.server.at_once += 1
            self.server.most = max(self.server.most, self.server.at_once)
            self.server.changed.notify_all()
        self.server.hold(number)
        said = f"reply to “{asked['messages'][-1]['content'][-30:]}”"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": said}}
        body = json.dumps({"id": "1", "object": "chat.completion", "created": 0, "model": "s", "choices": [choice]})
        with self.server.changed:
            self.server.at_once -= 1
            self.server.answered += 1
            self.server.changed.notify_all()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body.encode())))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[CountingServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-a-test")
    server = CountingServer()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(10)


def test_as_many_are_asked_at_once_as_the_model_has_threads(server: CountingServer, tmp_path: Path) -> None:
    """Guards the speed of servers: whatever ``running.threads`` allows is under way, and never more."""
    server.hold = lambda number: server.wait_until(  # type: ignore[method-assign]  # what the test's server does
        lambda: server.most >= THREADS
    )
    settings = SelfChatSettings(num_dialogues=2 * THREADS, exchanges=2)
    (file,) = generate([server.spec(threads=THREADS)], [("served", "served")], settings, tmp_path)
    assert (file.dialogues, file.replies) == (2 * THREADS, 3 * 2 * THREADS)
    assert not server.in_vain, f"{server.most} requests were under way at most, of {THREADS}"
    assert server.most == THREADS


def test_more_are_asked_at_once_than_by_default_where_the_entry_says_so(server: CountingServer, tmp_path: Path) -> None:
    """Guards the entry's word against limits further in: of the agent, of its connections, of dialogues under way."""
    server.hold = lambda number: server.wait_until(  # type: ignore[method-assign]  # as above
        lambda: server.most >= MANY
    )
    settings = SelfChatSettings(num_dialogues=2 * MANY, exchanges=1)
    generate([server.spec(threads=MANY)], [("served", "served")], settings, tmp_path)
    assert not server.in_vain, f"{server.most} requests were under way at most, of {MANY}"
    assert server.most == MANY


def test_each_model_of_a_pair_is_kept_busy(server: CountingServer, tmp_path: Path) -> None:
    """Guards tournaments of servers: of two models, each gets as many requests at once as it may."""
    server.hold = lambda number: server.wait_until(  # type: ignore[method-assign]  # as above
        lambda: server.most >= 2 * THREADS
    )
    specs = [server.spec(name, threads=THREADS) for name in ("a", "b")]
    settings = SelfChatSettings(num_dialogues=2 * THREADS, exchanges=1)
    (file,) = generate(specs, [("a", "b")], settings, tmp_path)
    assert file.dialogues == 2 * THREADS
    assert not server.in_vain, f"{server.most} requests were under way at most, of {2 * THREADS}"


def test_a_slow_reply_holds_up_its_own_dialogue_only(server: CountingServer, tmp_path: Path) -> None:
    """Guards against dialogues that advance in step: while one waits for its reply, all of the others are finished."""
    replies = 7 * (THREADS - 1)  # of all dialogues but one
    server.hold = lambda number: (  # type: ignore[method-assign]  # as above
        server.wait_until(lambda: server.answered >= replies) if number == 0 else None
    )
    finished: list[int] = []
    settings = SelfChatSettings(num_dialogues=THREADS, exchanges=4)
    (file,) = generate(
        [server.spec(threads=THREADS)],
        [("served", "served")],
        settings,
        tmp_path,
        on_progress=lambda step: finished.append(server.answered),
    )
    assert not server.in_vain, "the others waited for the slow one"
    assert file.dialogues == THREADS
    assert [dialogue["number"] for dialogue in dialogues(file.path)] == list(range(THREADS))
    assert min(len(acts(dialogue)) for dialogue in dialogues(file.path)) == 8


def test_how_many_are_asked_at_once_changes_no_dialogue(server: CountingServer, tmp_path: Path) -> None:
    """Guards equal dialogues: one request at a time, and many, lead to the same file."""
    for threads in (1, 5):
        settings = SelfChatSettings(num_dialogues=7, exchanges=2, start="openers")
        generate([server.spec(threads=threads)], [("served", "served")], settings, tmp_path / str(threads))
    assert contents(tmp_path / "1") == contents(tmp_path / "5")


def test_batches_that_came_apart_come_together_again(talkers: Any, tmp_path: Path) -> None:
    """Guards the speed of models that compute here: dialogues that end at unlike times leave no batch half empty."""
    contexts = tmp_path / "contexts.jsonl"
    opening = [(who, f"Line {n}.") for n, who in enumerate(["human", "bot"] * 2)]
    lines = [{"context_id": str(n), "opening": opening[: n % 5], "topic": "ends"} for n in range(20)]
    contexts.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    settings = SelfChatSettings(num_dialogues=40, exchanges=4, start="contexts", start_file=str(contexts))
    (file,) = generate(talkers.specs(a=counting), [("a", "a")], settings, tmp_path / "out", batch_size=8)
    batches = talkers.agents["a"].batches
    assert sum(batches) == file.replies
    while len(batches) > 1 and batches[-1] < 8:
        batches.pop()  # the last dialogues are fewer than a batch holds
    assert sum(batch == 8 for batch in batches) >= 0.8 * len(batches)
