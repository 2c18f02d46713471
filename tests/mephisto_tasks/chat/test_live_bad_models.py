"""Models of one's own that break while people talk to them, replies that nobody expects, and launches that cannot begin."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import scripted_models
import yaml
from click.testing import CliRunner
from hands import always, by_model, cards
from live import Launch, Rater, eventually, records

from mephisto_tasks.cli.launch import launch
from mephisto_tasks.launch.running import RunningStudy, StudyBroken
from mephisto_tasks.session.study import STOPPED, UnitWords, filled
from parlai_humaneval.schema.steps import EndStep, PageState

SERVER = Path(__file__).resolve().parents[3] / "examples" / "own_server"


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


class Server:
    """The server of the examples, as a process that can be killed and started again at its address."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "my_server.py", str(self.port)],
            cwd=SERVER,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline().strip() == self.url

    def die(self) -> None:
        self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.die()


def zoo_of(folder: Path, **models: dict[str, Any]) -> str:
    """A zoo file; its models by name, with their options."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "own.yaml"
    path.write_text(yaml.safe_dump({"models": {name: {"options": options} for name, options in models.items()}}))
    return str(path)


def endpoint(url: str, **options: Any) -> dict[str, Any]:
    return {"model": "parlai_humaneval.agents.http_endpoint:HttpEndpointAgent", "url": url, **options}


def stopped_and_paid(state: PageState) -> bool:
    """Whether the rater reads that it ends through no fault of theirs, that all is kept, and that they are paid."""
    step = state.step
    assert isinstance(step, EndStep), step
    return (step.title, step.text, step.next) == (STOPPED[0], filled(STOPPED[1], UnitWords()), "submit")


async def broken_in_turn_two(run: RunningStudy, break_it: Any) -> PageState:
    """A rater whose models break between the first turn and the second; the unit is handed in."""
    async with Rater(run) as rater:
        await rater.talk_until("message", turn=2)
        break_it()
        state = await rater.write("and now?")
        await rater.client.submit_task()
    await eventually(lambda: not run.live_run.task_runner.running_units)
    return state


async def test_a_server_that_dies_ends_the_dialogue_fairly(start: Launch, server: Server, tmp_path: Path) -> None:
    """Guards turn 1 and the pay when a server is killed in turn 2 and stays away; the record names its address."""
    zoo = zoo_of(tmp_path, served=endpoint(server.url, connect_retries=0))
    async with start(models=["served", "retrieval"], zoo_files=[zoo], model_outage_s=0.8) as run:
        assert stopped_and_paid(await broken_in_turn_two(run, server.die))
        (record,) = records(run)
    assert record.status == "failed"
    assert [turn.human_text for turn in record.turns] == ["Hi!", "and now?"]
    assert len(record.complete_turns) == 1
    assert f"{server.url} cannot be reached" in str(record.failure)


async def test_a_server_that_comes_back_is_heard_again(start: Launch, server: Server, tmp_path: Path) -> None:
    """Guards the dialogue while a server is started anew: the rater waits a little and completes it; so it was already
    when nobody waited for servers but their own client."""
    zoo = zoo_of(tmp_path, served=endpoint(server.url, connect_retries=6))
    async with start(models=["served", "retrieval"], zoo_files=[zoo], model_retries=1, model_outage_s=0) as run:
        async with Rater(run) as rater:
            await rater.talk_until("message", turn=2)
            server.die()
            threading.Timer(0.8, server.start).start()
            await rater.write("and now?")
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    assert record.status == "complete"
    assert by_model(record.turns[1])["served"].text == "You have told me 2 thing(s). The last had 2 word(s)."


async def test_a_program_that_hangs_ends_the_dialogue_and_then_the_launch(start: Launch, tmp_path: Path) -> None:
    """Guards a model that times out for ever: it is killed each time, and not one rater after another is paid for it."""
    (tmp_path / "hangs.py").write_text(
        "import json, sys, time\n"
        "for line in sys.stdin:\n"
        "    if len(json.loads(line)['history']) > 1:\n"
        "        time.sleep(60)\n"
        '    print(\'{"text": "Hello!"}\')\n'
    )
    agent = "parlai_humaneval.agents.command:CommandAgent"
    command = {"model": agent, "command": f"{sys.executable} hangs.py", "request_timeout_s": 1}
    run_until_broken = start(
        models=["program", "retrieval"],
        zoo_files=[zoo_of(tmp_path, program=command)],
        model_retries=1,
        stop_after_failures=1,
    )
    run = await run_until_broken.__aenter__()
    assert stopped_and_paid(await broken_in_turn_two(run, lambda: None))
    await eventually(run.is_done)
    with pytest.raises(StudyBroken, match=r"stopped after 1 failed.*gave no answer within 1 s and was ended"):
        await run_until_broken.__aexit__(None, None, None)
    (record,) = records(run)
    assert record.status == "failed"
    assert len(record.complete_turns) == 1


@pytest.mark.parametrize("nothing", ["", " \n\t", "\x00\x1b\x07", "\u200b\u2060\ufeff"])
async def test_replies_of_nothing_are_never_shown(start: Launch, nothing: str) -> None:
    """Guards the card: white space and characters without a shape are no reply, however often they come."""
    always({"alpha": nothing})
    async with start(model_retries=1) as run:
        async with Rater(run) as rater:
            assert stopped_and_paid(await rater.state())
            await rater.client.submit_task()
        await eventually(lambda: not run.live_run.task_runner.running_units)
        (record,) = records(run)
    assert record.status == "failed"
    assert "no reply from alpha: no text in any of its replies" in str(record.failure)


async def test_a_reply_of_ten_thousand_words(start: Launch) -> None:
    """Guards the page and the record against a model that does not stop: people see its beginning, the record has all."""
    endless = " ".join(f"word{number}" for number in range(10_000))
    always({"alpha": endless, "beta": "Hello!"})
    async with start(turns=2) as run:
        async with Rater(run) as rater:
            state = await rater.state()
            (shown,) = (text for text in cards(state) if text != "Hello!")
            state = await rater.choose(cards(state).index(shown))
            assert state.transcript[-1].text == shown
            await rater.write("That was long.")
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
    assert shown.startswith("word0 word1 ")
    assert len(shown) <= 5000 < len(endless)
    assert record.status == "complete"
    candidate = by_model(record.turns[0])["alpha"]
    assert (candidate.text, candidate.raw_text) == (shown, endless)
    heard = [dialogue for name, dialogue in scripted_models.HEARD if name == "beta" and len(dialogue) == 3]
    assert heard[0][1] == ("bot", shown)


HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)> {{7*7}} ${7*7} %s\n"
    "\x00\x08\x1b[31mred\x1b[0m \x7f\x9b \u202eback\u202c \ufeff\ud800 'quoted' \"doubly\" \\n </textarea>-->"
)
"""Markup, placeholders, control characters, a change of direction, half a character."""


async def test_markup_and_control_characters(start: Launch) -> None:
    """Guards page, terminal and files: the page is sent text without unseen characters; the record has what was said.

    That the page shows markup as text, and runs none, is seen in a real browser by the browser tests.
    """
    always({"alpha": HOSTILE, "beta": "Hello!"})
    async with start(turns=2) as run:
        async with Rater(run) as rater:
            state = await rater.state()
            (shown,) = (text for text in cards(state) if text != "Hello!")
            await rater.choose(cards(state).index(shown))
            await rater.write("Pardon?")
            await rater.finish()
        await eventually(run.is_done)
        (record,) = records(run)
        stored = next(run.data_dir.glob("data/runs/NO_PROJECT/*/*/*/state.json")).read_text(encoding="utf-8")
    unseen = {character for character in shown if not character.isprintable()} - {"\n"}
    assert not unseen
    assert shown.startswith("<script>alert(1)</script><img src=x onerror=alert(1)> {{7*7}} ${7*7} %s\n")
    assert shown.endswith("'quoted' \"doubly\" \\n </textarea>-->")
    candidate = by_model(record.turns[0])["alpha"]
    assert candidate.text == shown
    assert candidate.raw_text == HOSTILE.replace("\ud800", "?")
    assert record.status == "complete"
    json.loads(stored)


def launched_in_vain(tmp_path: Path, models: str, zoo: str) -> str:
    """What ``launch`` says when it cannot begin. Nothing may have begun: no run, no units, no lock."""
    data_dir = tmp_path / "data"
    settings = [
        f"mephisto.blueprint.models=[{models}]",
        f"mephisto.blueprint.zoo_files=[{zoo}]",
        "mephisto.architect.port=0",
    ]
    done = CliRunner().invoke(launch, ["pw_turn", *settings, "--data-dir", str(data_dir)])
    assert done.exit_code == 1, done.output
    assert done.exception is None or isinstance(done.exception, SystemExit)
    assert "Traceback" not in done.output
    assert not (data_dir / "database.db").exists()
    assert not (data_dir / "data").exists()
    return " ".join(done.output.split())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("models: {mine: {option: {model: repeat_label}}}", "own.yaml: models.mine.option: unknown key"),
        ("models: {mine: {options: {model: repeat_label, beem_size: 3}}}", "no option called beem_size"),
        ("models: {mine: {options: {model_file: /no/such/model}}}", "model_file /no/such/model does not exist"),
        ("models: {mine: {options: {model: 'no_such_module:Agent'}}}", "no_such_module:Agent cannot be imported"),
        ("models: {mine: [", "not YAML"),
        ("models: {yours: {options: {model: repeat_label}}}", "no model is called “mine”"),
    ],
)
def test_a_wrong_zoo_file_or_an_absent_model_begins_nothing(tmp_path: Path, text: str, sentence: str) -> None:
    """Guards the first minute of a study: one sentence with the key or file, and no half-begun run."""
    zoo = tmp_path / "own.yaml"
    zoo.write_text(text)
    assert sentence in launched_in_vain(tmp_path, "mine,retrieval", str(zoo))


@pytest.mark.parametrize(
    "error",
    ["torch.cuda.OutOfMemoryError('CUDA out of memory. Tried to allocate 9 GiB')", "MemoryError()"],
)
async def test_out_of_memory_while_loading_begins_nothing(start: Launch, tmp_path: Path, error: str) -> None:
    """Guards the second model being too large for the machine: one sentence with a cure; the next launch begins afresh."""
    code = f"class Greedy(Agent):\n    def __init__(self, *_):\n        raise {error}\n"
    (tmp_path / "greedy.py").write_text(f"import torch\nfrom parlai.core.agents import Agent\n{code}")
    sys.modules.pop("greedy", None)
    before = threading.active_count()
    said = launched_in_vain(tmp_path, "retrieval,greedy", zoo_of(tmp_path, greedy={"model": "greedy:Greedy"}))
    assert "greedy cannot be loaded: memory ran out" in said
    assert "use a smaller model" in said
    await eventually(lambda: threading.active_count() <= before)
    async with start(models=["retrieval", "eliza"], zoo_files=[]) as run, Rater(run) as rater:
        await rater.state()
