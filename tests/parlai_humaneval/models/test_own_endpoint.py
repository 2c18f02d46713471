"""A server as a model: a real one on loopback that answers, breaks in every way, goes away and comes back."""

from __future__ import annotations

import json
import logging
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from functools import partial
from typing import Any

import psutil
import pytest
from own_models import own, said

from parlai_humaneval.models.model_pool import ModelFailed, ModelPool
from parlai_humaneval.models.pool.loading import load_agent
from parlai_humaneval.models.zoo.entries import ModelSpec, ZooError
from parlai_humaneval.models.zoo.files import missing

Behaviour = Callable[[dict[str, Any], socket.socket], bytes]
"""From a question to the bytes that go back; it may use the connection itself."""


def ok(body: bytes, kind: str = "application/json") -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def hello(question: dict[str, Any], connection: socket.socket) -> bytes:
    return ok(json.dumps({"text": f"heard {len(question['history'])}"}).encode())


class Server:
    """One request a connection; ``behaviour`` may be changed, ``requests`` are what came."""

    def __init__(self, port: int = 0) -> None:
        self.behaviour: Behaviour = hello
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._socket.accept()
                threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        with closing(connection), suppress(OSError), connection.makefile("rb") as stream:
            head = "".join(iter(lambda: stream.readline().decode().rstrip("\r\n") + "\n", "\n"))
            lengths = [line.split(":")[1] for line in head.lower().splitlines() if line.startswith("content-length")]
            question = json.loads(stream.read(int(lengths[0])))
            self.requests.append((head, question))
            reply = self.behaviour(question, connection)
            if reply.startswith(b"HTTP/"):  # else a client would send its next question into the closed connection
                reply = reply.replace(b"\r\n", b"\r\nConnection: close\r\n", 1)
            connection.sendall(reply)

    def close(self) -> None:
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.close()


def endpoint(url: str, **options: Any) -> ModelSpec:
    return own("http_endpoint", None, url=url, **{"connect_retries": 0, **options})  # type: ignore[arg-type]


def test_the_question_is_posted_and_the_answer_comes_back(server: Server) -> None:
    """Guards the contract over HTTP, and that a model is asked once when it is loaded."""
    with ModelPool([endpoint(server.url)]) as pool:
        assert said(pool, "Hi, 👍!", "And?", personas={"mine": ["I cook."]}) == ["heard 1", "heard 3"]
    (_, greeting), (head, first), _ = server.requests
    assert greeting == {"history": [{"speaker": "human", "text": "Hi!"}], "persona": [], "seed": 0}
    assert first == {"history": [{"speaker": "human", "text": "Hi, 👍!"}], "persona": ["I cook."], "seed": 7}
    assert head.startswith("POST / HTTP/1.1\n")
    assert "content-type: application/json" in head.lower()


FAULTS: dict[str, tuple[Behaviour, str]] = {
    "500": (
        lambda q, c: b"HTTP/1.1 500 Oh\r\nContent-Length: 9\r\n\r\nno memory",
        r"answered with status 500 Oh: 'no memory'",
    ),
    "redirect": (
        lambda q, c: b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
        r"redirects to another address \(status 302\)",
    ),
    "empty": (lambda q, c: b"HTTP/1.1 204 No Content\r\n\r\n", "status 204"),
    "html": (lambda q, c: ok(b"<html>Sign in</html>", "text/html"), "not JSON in UTF-8: '<html>Sign in</html>'"),
    "no text": (lambda q, c: ok(b'{"reply": "Hi"}'), 'not a JSON object with a "text"'),
    "a number": (lambda q, c: ok(b'{"text": 3}'), "is not a string"),
    "cut at once": (lambda q, c: b"", "closed the connection in the middle"),
    "cut later": (lambda q, c: ok(b'{"text": "Hello!"}')[:-5], "closed the connection in the middle"),
    "no HTTP": (lambda q, c: b"hello there\r\n\r\n", "closed the connection in the middle"),
    "10 MB": (lambda q, c: ok(b'{"text": "' + b"x" * 10_000_000 + b'"}'), "longer than 1,000,000 bytes"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_a_sentence_and_the_next_answer_counts(server: Server, fault: str) -> None:
    """Guards a dialogue against a server that broke once, and the log against riddles when it stays broken."""
    behaviour, sentence = FAULTS[fault]
    with ModelPool([endpoint(server.url)], retries=1) as pool:
        server.behaviour = behaviour
        with pytest.raises(ModelFailed, match=f"(?s)mine failed: .*{sentence}"):
            said(pool, "Hi!")
        left = [1]

        def once(question: dict[str, Any], connection: socket.socket) -> bytes:
            left[0] -= 1
            return (behaviour if left[0] >= 0 else hello)(question, connection)

        server.behaviour = once
        assert said(pool, "Hi!") == ["heard 1"]


def test_silence_and_dripping_end_at_the_time_out(server: Server) -> None:
    """Guards the threads: a server that sends a byte now and then would hold one for ever."""
    ended = threading.Event()

    def drips(question: dict[str, Any], connection: socket.socket) -> bytes:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not ended.wait(0.1):
            connection.sendall(b" ")
        return b""

    def is_silent(question: dict[str, Any], connection: socket.socket) -> bytes:
        ended.wait(20)
        return b""

    with ModelPool([endpoint(server.url, request_timeout_s=0.5)], retries=0) as pool:
        for behaviour in (drips, is_silent):
            server.behaviour = behaviour
            with pytest.raises(ModelFailed, match=r"gave no answer within 0\.5 s"):
                said(pool, "Hi!")
    ended.set()


def test_a_server_that_comes_back_is_waited_for(server: Server) -> None:
    """Guards a dialogue while the server is started anew: connecting is tried again, with pauses."""
    with ModelPool([endpoint(server.url, connect_retries=4)], retries=0) as pool:
        assert said(pool, "Hi!") == ["heard 1"]
        server.close()
        back: list[Server] = []
        threading.Timer(0.7, lambda: back.append(Server(server.port))).start()
        assert said(pool, "Hi!") == ["heard 1"]
        assert len(back[0].requests) == 1
        back[0].close()


def test_no_server_is_found_when_it_is_loaded(server: Server) -> None:
    """Guards raters: a study whose server was not started does not begin."""
    server.close()
    with pytest.raises(ZooError, match=rf"mine cannot be loaded: .*{server.url} cannot be reached: .*refused"):
        load_agent(endpoint(server.url))


SECRET = "s3cret-word"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"url": ""}, "write http://… or https://…"),
        ({"url": "ftp://127.0.0.1/"}, "write http://… or https://…"),
        ({"url": "http://"}, "write http://… or https://…"),
        ({"url": f"http://me:{SECRET}@127.0.0.1/"}, "environment variable and set authorization_env to its name"),
        ({"url": f"http://127.0.0.1:1/?key={SECRET}"}, "“key” in the address looks like a key"),
        ({"url": f"http://127.0.0.1:1/?k={SECRET}"}, r"http://127\.0\.0\.1:1/ cannot be reached"),
        (
            {"url": "http://127.0.0.1:1/", "authorization_env": "NO_SUCH_KEY"},
            "the environment variable NO_SUCH_KEY is not set",
        ),
        ({"url": "http://127.0.0.1:1/", "authorization_env": "BAD_KEY"}, "BAD_KEY contains characters that a header"),
    ],
)
def test_wrong_settings_are_refused_and_tell_no_secret(
    options: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Guards keys: the message says what to do and does not repeat them."""
    monkeypatch.setenv("BAD_KEY", f"Bearer {SECRET}\nX-More: 1")
    found = " ".join(missing(endpoint(**options)))
    assert re.search(sentence, found) or "cannot be reached" in sentence, "models check asks no server"
    assert SECRET not in found
    with pytest.raises(ZooError, match=f"mine.*{sentence}") as caught:
        load_agent(endpoint(**options))
    assert SECRET not in str(caught.value)


def test_a_key_from_the_environment_is_sent_and_never_logged(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards the key: in the header of each request, and in no log, error or option."""
    monkeypatch.setenv("MY_KEY", f"Bearer {SECRET}")
    caplog.set_level(logging.DEBUG)
    with ModelPool([endpoint(server.url, authorization_env="MY_KEY")], retries=0) as pool:
        said(pool, "Hi!")
        server.behaviour = FAULTS["500"][0]
        with pytest.raises(ModelFailed) as caught:
            said(pool, "Hi!")
        agent = pool.worker("mine").agent
    assert all(f"Bearer {SECRET}" in head for head, _ in server.requests)
    assert len(server.requests) == 3
    assert SECRET not in caplog.text + str(caught.value) + json.dumps(agent.opt, default=str)


def test_a_wrong_key_is_called_one(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guards against hopeless tries, and a search in the wrong place: some servers say with any status what is wrong."""

    def refusing(status: int, words: str) -> Behaviour:
        return lambda q, c: f"HTTP/1.1 {status} No\r\nContent-Length: {len(words)}\r\n\r\n{words}".encode()

    monkeypatch.setenv("MY_KEY", f"Bearer {SECRET}")
    with ModelPool([endpoint(server.url, authorization_env="MY_KEY")], retries=1) as pool:
        for status, words, tries in ((401, "", 1), (400, "API key not valid", 1), (500, "invalid api_key", 1)):
            server.behaviour, before = refusing(status, words), len(server.requests)
            with pytest.raises(ModelFailed, match="the key in MY_KEY is wrong"):
                said(pool, "Hi!")
            assert len(server.requests) - before == tries
        server.behaviour = refusing(403, "not in your country")
        with pytest.raises(ModelFailed, match="the key in MY_KEY is wrong, or this is not allowed with it"):
            said(pool, "Hi!")
    server.behaviour = refusing(401, "")
    with pytest.raises(
        ZooError, match="it requires a key, and authorization_env does not name an environment variable"
    ):
        load_agent(endpoint(server.url))


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        (
            "v1/chat/completions",
            422,
            "OpenAI's API: use the agent .*ChatCompletionsAgent with base_url http",
        ),
        ("reply", 422, 'must take a JSON object with "history", "persona" and "seed"'),
        ("reply", 404, "check the path in the url"),
        ("reply", 405, "sent by POST"),
        ("reply", 415, "must take application/json"),
        ("reply", 413, "a whole dialogue at once"),
    ],
)
def test_a_refused_question_is_told_with_what_the_server_must_take(
    server: Server, path: str, status: int, says: str
) -> None:
    """Guards whoever writes a server against a status alone; one with OpenAI's interface has an agent of its own."""
    server.behaviour = lambda q, c: f"HTTP/1.1 {status} No\r\nContent-Length: 0\r\n\r\n".encode()
    with pytest.raises(ZooError, match=says):
        load_agent(endpoint(f"{server.url}{path}"))


@pytest.mark.parametrize("escaped", [False, True])
def test_a_key_that_the_server_repeats_is_blotted_out(
    server: Server, escaped: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Guards dialogues, errors and logs against a server that echoes headers, also in its status line and JSON escapes."""
    monkeypatch.setenv("MY_KEY", f"Bearer {SECRET}")
    caplog.set_level(logging.INFO)
    key = "".join(f"\\u{ord(letter):04x}" for letter in SECRET) if escaped else SECRET
    with ModelPool([endpoint(server.url + "?v=2", authorization_env="MY_KEY")], retries=0) as pool:
        server.behaviour = lambda q, c: ok(f'{{"text": "You sent {key} to me."}}'.encode())
        assert said(pool, "Hi!") == ["You sent [key] to me."]
        error = f"HTTP/1.1 403 {SECRET}\r\nContent-Length: 150\r\n\r\n{'x' * 115}{SECRET}".ljust(300)
        for broken in (error.encode(), ok(f'{{"reply": "{SECRET}"}}'.encode()), f"no HTTP, {SECRET}\r\n\r\n".encode()):
            server.behaviour = partial(lambda broken, question, connection: broken, broken)
            with pytest.raises(ModelFailed) as failed:
                said(pool, "Hi!")
            assert SECRET not in "".join(traceback.format_exception(failed.value))
            assert SECRET[:5] not in str(failed.value)
    assert SECRET not in caplog.text
    assert "HTTP Request" not in caplog.text


def test_closing_the_pool_closes_the_connections(server: Server) -> None:
    """Guards a process that runs many studies against files that stay open; a failed greeting leaves none either."""

    def open_to_server() -> int:
        return sum(bool(one.raddr) and one.raddr.port == server.port for one in psutil.Process().net_connections())

    server.behaviour = lambda q, c: ok(b'{"text": "Hi"}')
    pool = ModelPool([endpoint(server.url)], retries=0).load()
    (name,) = pool.specs
    client = pool.worker(name).agent.endpoint._client
    assert not client.is_closed
    pool.close()
    pool.close()
    assert client.is_closed
    server.behaviour = lambda q, c: ok(b'{"text": 3}')
    with pytest.raises(ZooError) as failed:  # the error holds the agent, so that nothing was collected as garbage
        load_agent(endpoint(server.url))
    assert '{"text": 3}' in str(failed.value)
    assert open_to_server() == 0


def test_requests_of_conversations_run_at_once(server: Server) -> None:
    """Guards waiting: four people do not wait for one another, and five never ask at once of four."""
    under_way, most = [0], [0]
    lock, all_there = threading.Lock(), threading.Barrier(4, timeout=10)

    def meets(question: dict[str, Any], connection: socket.socket) -> bytes:
        with lock:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        all_there.wait()  # passes only when four requests are here at once
        time.sleep(0.02)
        with lock:
            under_way[0] -= 1
        return hello(question, connection)

    with ModelPool([endpoint(server.url, concurrency=4)], retries=0) as pool:
        server.behaviour = meets
        people = [threading.Thread(target=said, args=[pool, "Hi!"]) for _ in range(8)]
        for person in people:
            person.start()
        for person in people:
            person.join()
    assert most == [4]
    assert len(server.requests) == 9
