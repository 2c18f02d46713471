"""A launch before a server that refuses: a history too long for it ends no dialogue, other refusals name their option."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from hands import by_model
from live import Launch, Rater, eventually, records

from mephisto_tasks.cli.report import answers_of
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.build import tables

MOST_WORDS = 25
TURNS = 4

Refuse = Callable[[dict[str, Any]], str | None]
"""From a request to what the server says against it; None: it answers."""


@contextmanager
def serving(refuse: Refuse) -> Iterator[str]:
    """A chat-completions server that refuses with status 400; its whole address, as people copy it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = refuse(body)
            choice = {"message": {"content": "I see, and what else?"}, "finish_reason": "stop"}
            answer = {"choices": [choice]} if said is None else {"error": {"message": said}}
            content = json.dumps(answer).encode()
            self.send_response(400 if said else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *values: Any) -> None:
            """Nothing: the terminal is the tests'."""

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/v1/chat/completions"
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def zoo_of(folder: Path, address: str) -> str:
    options = {
        "model": "parlai_humaneval.agents.chat_completions:ChatCompletionsAgent",
        "base_url": address, "served_model": "m", "api_key_env": "", "request_retries": 0,
    }  # fmt: skip
    path = folder / "served.yaml"
    path.write_text(yaml.safe_dump({"models": {"served": {"options": options}}}))
    return str(path)


def too_long(body: dict[str, Any]) -> str | None:
    words = sum(len(message["content"].split()) for message in body["messages"])
    return "the request exceeds the available context size, try increasing it" if words > MOST_WORDS else None


async def test_a_dialogue_that_outgrows_its_server_is_completed(start: Launch, data_dir: Path, tmp_path: Path) -> None:
    """Guards the rater's dialogue, the record of what the model did not read, and that the report says so."""
    with serving(too_long) as address:
        async with start(
            models=["served", "retrieval"], zoo_files=[zoo_of(tmp_path, address)], turns=TURNS, dialogues_per_group=1
        ) as run:
            async with Rater(run) as rater:
                await rater.finish()
            await eventually(run.is_done)
            (record,) = records(run)
            task_name = run.task_name
    assert record.status == "complete"
    infos = [by_model(turn)["served"].info for turn in record.turns]
    left_out = [info.turns_left_out or 0 for info in infos if info is not None]
    assert len(left_out) == TURNS
    assert left_out[0] == 0
    assert left_out[-1] > 0
    turns = tables([record]).turns
    served = turns[turns["model"] == "served"].sort_values("turn")
    assert list(served["turns_left_out"].fillna(0).astype(int)) == left_out
    found, known = answers_of(data_dir, task_name)
    document = build_report(found, Options(draws=100), title=task_name, task=known)
    assert any("were written without the oldest turns" in line for line in document.in_short())


async def test_a_refusal_in_a_study_names_the_option_in_the_record(start: Launch, tmp_path: Path) -> None:
    """Guards whoever reads why a dialogue failed: the option of the zoo entry is in the sentence."""
    with serving(lambda body: "Unrecognized request argument supplied: seed" if "seed" in body else None) as address:
        async with start(
            models=["served", "retrieval"], zoo_files=[zoo_of(tmp_path, address)], turns=1, dialogues_per_group=1
        ) as run:
            async with Rater(run) as rater:
                await rater.finish()
            await eventually(lambda: bool(records(run)))
            record = records(run)[0]
    assert record.status == "failed"
    assert "write `send_seed: false` in the options of its zoo entry" in str(record.failure)
