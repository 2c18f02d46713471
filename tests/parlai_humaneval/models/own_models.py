"""Models of one's own in tests: code written to a folder, put into a pool, and asked."""

from __future__ import annotations

import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parlai_humaneval.models.model_pool import ModelPool
from parlai_humaneval.models.zoo.entries import ModelSpec, Running

AGENTS = {
    "callable": "parlai_humaneval.agents.callable:CallableAgent",
    "command": "parlai_humaneval.agents.command:CommandAgent",
    "http_endpoint": "parlai_humaneval.agents.http_endpoint:HttpEndpointAgent",
}


def written(path: Path, code: str) -> Path:
    """A file of code, indented as it stands in the test."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(code), encoding="utf-8")
    return path


def own(kind: str, folder: Path, name: str = "mine", outage_s: float = 0, **options: Any) -> ModelSpec:
    """A model as a zoo file in ``folder`` would describe it; nobody waits for one that is gone, unless told so."""
    running = Running(outage_s=outage_s)
    return ModelSpec(name=name, options={"model": AGENTS[kind], **options}, folder=folder, running=running)


def said(pool: ModelPool, *messages: str, **arguments: Any) -> list[str]:
    """What the pool's one model says to each message of one conversation, as it said it."""
    (name,) = pool.specs
    speaker = pool.speaker([name], **{"seed": 7, **arguments})
    replies = []
    for message in messages:
        speaker.observe({"text": message, "episode_done": False})
        candidate = speaker.act()["candidates"][0]
        replies.append(str(candidate["raw_text"] or candidate["text"]))
    return replies


PROGRAM = """
    import json, os, sys, time

    def answer(text, question):
        {how}

    for line in sys.stdin:
        question = json.loads(line)
        text = question["history"][-1]["text"]
        print(json.dumps({{"text": answer(text, question)}}))
"""
"""It does not flush: that must not be asked of anyone."""


def program(folder: Path, how: str, **options: Any) -> ModelSpec:
    """A model whose ``answer(text, question)`` runs ``how``."""
    written(folder / "bot.py", PROGRAM.format(how=how))
    return own("command", folder, command=f"{sys.executable} bot.py", **{"start_timeout_s": 20, **options})


def eventually(true: Callable[[], bool]) -> None:
    """Wait until it is true, at most ten seconds."""
    deadline = time.monotonic() + 10
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_gone(pid: str | int) -> bool:
    """No process, or one that has ended and waits for its parent to notice."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
