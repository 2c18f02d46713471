"""Models of one's own in tests: code written to a folder, put into a pool, and asked."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from parlai_humaneval.models.pool import ModelPool
from parlai_humaneval.models.zoo import ModelSpec

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


def own(kind: str, folder: Path, name: str = "mine", **options: Any) -> ModelSpec:
    """A model as a zoo file in ``folder`` would describe it."""
    return ModelSpec(name=name, options={"model": AGENTS[kind], **options}, folder=folder)


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
