"""``parlai-humaneval try``: what is named becomes a model, what is broken is told at once, and a link leads to it."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from forked import Forked
from live import Rater
from test_commands_as_processes import arguments, environment

from mephisto_tasks.cli.demo import first_answer, given_model
from mephisto_tasks.simulation.page_client import PageClient
from mephisto_tasks.storage.results import read_dialogues, task_names
from parlai_humaneval._util.text import on_one_line
from parlai_humaneval.models.selection import model_given
from parlai_humaneval.models.zoo.entries import ZooError
from parlai_humaneval.schema.steps import EndStep

REPLY = "def reply(history):\n    return 'I have heard %d lines.' % len(history)\n"
Answer = Callable[[str, dict[str, str], Any], tuple[int, Any]]
"""Path, headers (in small letters) and body of a request → status and JSON."""


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    """A server that answers so; its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

        def _answer(self, body: Any) -> None:
            status, said = answer(self.path, {name.lower(): text for name, text in self.headers.items()}, body)
            content = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *values: Any) -> None:
            """Nothing: the terminal is the tests'."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, name="server-of-test", daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}"
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def chat_server(key: str = "", models: tuple[str, ...] = ("org/tiny-chat",)) -> Answer:
    """OpenAI-compatible; with a ``key``, only for who has it."""

    def answer(path: str, headers: dict[str, str], body: Any) -> tuple[int, Any]:
        if key and headers.get("authorization") != f"Bearer {key}":
            return 401, {"error": {"message": "no key"}}
        if path == "/v1/models":
            return 200, {"object": "list", "data": [{"id": model} for model in models]}
        if path == "/v1/chat/completions":
            assert body["model"] in models
            text = f"I am number {models.index(body['model'])} and heard {body['messages'][-1]['content']}"
            return 200, {"model": body["model"], "choices": [{"message": {"content": text}, "finish_reason": "stop"}]}
        return 404, {"error": "no such path"}

    return answer


def contract_server(path: str, headers: dict[str, str], body: Any) -> tuple[int, Any]:
    """Of the JSON contract, which has one address only."""
    assert "authorization" not in headers
    return (404, {}) if body is None else (200, {"text": f"line {len(body['history'])}"})


def answered(model: str, **options: Any) -> tuple[str, str]:
    """Name and first answer of what is named so."""
    given = given_model(model, "retrieval", options.get("served_model"), options.get("api_key_env"))
    return given.name, first_answer(given)[1]


def test_functions_folders_and_names_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, a function of it, a module here, a model of the zoo; a name that is taken is not taken twice."""
    monkeypatch.chdir(tmp_path)
    for name in ("my-bot.py", "mine.py", "eliza.py"):
        Path(name).write_text(REPLY + REPLY.replace("reply", "answer").replace("heard", "noted"))
    assert answered("my-bot.py") == ("my_bot", "I have heard 1 lines.")
    assert answered(str(tmp_path / "my-bot.py:answer")) == ("answer", "I have noted 1 lines.")
    assert answered("mine:answer") == ("answer", "I have noted 1 lines.")
    assert answered("./eliza.py")[0] == "eliza_tried"
    assert answered("eliza")[0] == "eliza"


def test_a_server_says_itself_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenAI-compatible with or without /v1, or of the JSON contract; nobody who does not ask for it gets a key."""
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with server(chat_server()) as url:
        for address in (url, f"{url}/", f"{url}/v1", f"{url}/v1/", f"{url}/v1/models", f"{url}/v1/chat/completions"):
            assert answered(address) == ("tiny_chat", "I am number 0 and heard Hi!")
    with server(chat_server(key="secret")) as url:
        assert answered(url) == ("tiny_chat", "I am number 0 and heard Hi!")
        monkeypatch.setenv("OPENAI_API_KEY", "wrong")
        with pytest.raises(ZooError, match="requires a key; put it into the environment variable OPENAI_API_KEY"):
            answered(url)
        monkeypatch.setenv("MY_KEY", "secret")
        assert answered(url, api_key_env="MY_KEY")[1] == "I am number 0 and heard Hi!"
    with server(chat_server(models=("a", "b"))) as url:
        with pytest.raises(ZooError, match=r"lists 2 models \(a, b\); choose one: http://\S+#a$"):
            answered(url)
        assert answered(url, served_model="b") == ("b", "I am number 1 and heard Hi!")
        assert answered(f"{url}/v1#b")[0] == "b"
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    with server(contract_server) as url:
        assert answered(f"{url}/reply") == ("127_0_0_1", "line 1")


def test_a_server_that_refuses_a_field_is_asked_without_it(capsys: pytest.CaptureFixture[str]) -> None:
    """The entry that is made for it gets the option, and the terminal is told; the name of a model is not guessed."""

    def picky(path: str, headers: dict[str, str], body: Any) -> tuple[int, Any]:
        if body is not None and "seed" in body:
            return 422, {
                "detail": [
                    {"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}
                ]
            }
        if body is not None and body["model"] != "org/tiny-chat":
            return 404, {"error": {"message": f"The model `{body['model']}` does not exist"}}
        return chat_server()(path, headers, body)

    with server(picky) as url:
        given, answer, _ = first_answer(given_model(f"{url}/v1/chat/completions", "retrieval", None, None))
        assert answer == "I am number 0 and heard Hi!"
        assert (given.options["send_seed"], given.options["base_url"]) == (False, f"{url}/v1")
        assert "From now on, requests use `send_seed: false`" in capsys.readouterr().err
        with pytest.raises(ZooError, match="served_model: org/tiny-chat"):
            answered(url, served_model="other")


def test_a_chat_server_that_lists_no_models_is_known_by_its_whole_address() -> None:
    """Its path says what it is; which model it has, only its user knows."""

    def silent(path: str, headers: dict[str, str], body: Any) -> tuple[int, Any]:
        return (404, {}) if body is None else chat_server()(path, headers, body)

    with server(silent) as url:
        with pytest.raises(ZooError, match=r"lists no models .* name its model: http://\S+#NAME$"):
            answered(f"{url}/v1/chat/completions")
        assert answered(f"{url}/v1/chat/completions", served_model="org/tiny-chat")[0] == "tiny_chat"


@pytest.mark.parametrize(
    ("files", "named", "sentence"),
    [
        ({"my_bot.py": REPLY}, "my_bto.py", r"no file, folder or model “my_bto.py”\. Did you mean my_bot.py\?"),
        ({}, "retreival", r"Did you mean retrieval\?"),
        ({}, "whatever", "expected a file .*, a folder of weights, an address"),
        ({}, "", "no model is given"),
        ({"bot.py": "def answer(h): return 'x'\n"}, "bot.py", "bot.py has no function reply, but answer; name one"),
        ({"bot.py": "x = 1\n"}, "bot.py", "bot.py has no function reply; add one: def reply"),
        ({"bot.py": "reply = 1\n"}, "bot.py", "reply in .* is not a function, but int"),
        ({"bot.py": "def reply(:\n"}, "bot.py", "cannot be imported: SyntaxError"),
        (
            {"bot.py": "import no_such_thing\ndef reply(h): ...\n"},
            "bot.py",
            "the package no_such_thing is not installed",
        ),
        ({"bot.py": "def reply(): return 'x'\n"}, "bot.py", "it must take one argument, the history"),
        (
            {"bot.py": "def reply(h): raise OSError('no weights')\n"},
            "bot.py",
            r"^the function reply of bot.py does not answer: OSError: no weights \(bot.py, line 1\)$",
        ),
        ({"bot.py": "def reply(h): return h[-1]['text']\n"}, "bot.py", r"not subscriptable .*; use history\[-1\].text"),
        ({"bot.py": "def reply(h): return h[-1].lower()\n"}, "bot.py", r"'lower' .*; use history\[-1\].text"),
        ({"bot.py": "def reply(h): return 'You said ' + h[-1]\n"}, "bot.py", r"; use history\[-1\].text"),
        (
            {"bot.py": "def reply(h): return 3\n"},
            "bot.py",
            r"^\S*bot.py:reply returned an int, not a string; return",
        ),
        ({"bot.py": "def reply(h): yield 'x'\n"}, "bot.py", "functions cannot stream; return the whole reply$"),
        ({"bot.py": "def reply(h): return ''\n"}, "bot.py", "no text in any of its replies"),
        ({"folder/notes.txt": ""}, "folder", "folder is not a model: it has neither config.json .* but notes.txt"),
        ({"folder/config.json": "{"}, "folder", "config.json is not a model's configuration"),
        ({"notes.txt": ""}, "notes.txt", "notes.txt is not a model"),
        ({}, "http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1 does not respond .*check that the server is running"),
        ({}, "http://me:key@127.0.0.1:9/", "must not contain a user, password or query"),
        ({}, "http://[::1/v1", r"http://\[::1/v1 is not an address"),
        ({}, "http://localhost:99999/", "http://localhost:99999/ is not an address: Port out of range"),
        ({}, "http://a b/", "http://a b does not respond"),
        ({}, "retrieval", "cannot be its own opponent"),
    ],
)
def test_what_is_no_model_is_told_in_one_sentence(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    files: dict[str, str],
    named: str,
    sentence: str,
) -> None:
    """Misspelt, empty, broken at import, broken when asked, not there: before anybody gets a link, and only once."""
    monkeypatch.chdir(tmp_path)
    for name, content in files.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text(content)
    with pytest.raises(ZooError, match=sentence) as error:
        answered(named)
    assert "\n" not in str(error.value)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


def test_a_server_that_is_no_model_is_told_in_one_sentence() -> None:
    """It answers, but neither lists models nor keeps the JSON contract."""
    with (
        server(lambda path, headers, body: (404, {"detail": "nothing here"})) as url,
        pytest.raises(
            ZooError, match=r"asked with the JSON contract because it lists no models .* status 404"
        ) as error,
    ):
        answered(url)
    assert "\n" not in str(error.value)


def test_a_file_is_not_run_to_find_its_functions(tmp_path: Path) -> None:
    """A file that has another function is not imported for the message about it."""
    bot = tmp_path / "bot.py"
    bot.write_text("print(1 / 0)\ndef answer(history): return 'x'\n")
    with pytest.raises(ZooError, match="has no function reply, but answer"):
        model_given(str(bot), [])


@contextmanager
def tried(folder: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process of a try, the link that it printed, and what it said before."""
    command = arguments(folder, "try", *options, "--port", "0", "--data-dir", str(folder / "data"))
    process = Forked(
        command, env=environment(folder), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "Ctrl-C to end the study" in line:
                link = re.search(r"http://\S+\?invitation=\S+", said)
                assert link is not None, said
                yield process, link.group(), said
                return
        raise AssertionError(f"it ended without a link:\n{said}")
    finally:
        process.kill()
        process.communicate()


async def opinion(link: str) -> str:
    """Somebody opens the link, as a browser does, and finishes a chat; what they are told at its end."""
    import aiohttp

    async with aiohttp.ClientSession() as browser, browser.get(link) as response:
        assert response.status == 200
        address = urlsplit(str(response.url))
    guest = Rater(f"{address.scheme}://{address.netloc}")
    guest.client = PageClient(guest.url, parameters=parse_qsl(address.query), heartbeat_s=0.5)
    async with guest:
        end = (await guest.finish()).step
    assert isinstance(end, EndStep)
    return end.text


def test_what_a_model_says_is_no_code_for_the_terminal() -> None:
    """Colours, titles and line breaks of a model's answer are shown as what they are."""
    assert on_one_line("red \x1b[31m and\n\x07 more", 99) == "red �[31m and � more"
    assert on_one_line("a" * 300, 200) == "a" * 200 + "…"


@pytest.mark.slow
def test_from_a_function_to_who_is_ahead(tmp_path: Path) -> None:
    """It says what the model says, prints a link; two people chat; Ctrl-C says who is ahead, and where the answers are."""
    (tmp_path / "my_bot.py").write_text(REPLY)
    with tried(tmp_path, "my_bot.py", "metric=humanness", "--turns", "2", "--opponent", "eliza") as (
        process,
        link,
        said,
    ):
        assert "the function reply of my_bot.py says “I have heard 1 lines.” to “Hi!”" in said
        assert "my_bot against eliza" in said
        assert "works only on this machine" in said
        for _ in range(2):
            assert "This study is unpaid" in asyncio.run(opinion(link)), "they do a favour"
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=30)
    assert process.returncode == 0, rest
    assert "Traceback" not in rest
    assert re.search(r"was chosen in \d+ % of 4 turns", " ".join(rest.split())), rest
    (task_name,) = task_names(tmp_path / "data")
    assert f"report --task-name {task_name}" in rest
    records = read_dialogues(tmp_path / "data", task_name)
    assert [(record.status, len(record.complete_turns)) for record in records] == [("complete", 2)] * 2
    assert {record.metric for record in records} == {"humanness"}
    assert len({record.worker for record in records}) == 2
    assert {model.name for model in records[0].models} == {"my_bot", "eliza"}
