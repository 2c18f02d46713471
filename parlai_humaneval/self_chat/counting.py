"""What is in a file of generated dialogues, and how much of it is repeated or empty."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from parlai_humaneval.self_chat.settings import Pair


class GeneratedFile(BaseModel):
    """One file of dialogues, all of them counted, whichever run they come from.

    Args:
        path: the JSONL file.
        models: the pair.
        dialogues: how many the file holds.
        generated: how many of them are of this run.
        replies: lines that a model said; those of the beginnings are not counted.
        repeated: replies that are exactly a line which the same speaker has said before in the same dialogue.
        empty: replies without text after all tries.
        equal_dialogues: dialogues whose lines are exactly those of another one before them in the file.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path
    models: Pair
    dialogues: int
    generated: int
    replies: int
    repeated: int
    empty: int
    equal_dialogues: int


def count(path: Path, pair: Pair, generated: int) -> GeneratedFile:
    """Count the dialogues of a finished file."""
    replies = repeated = empty = equal = dialogues = 0
    seen: set[tuple[str, ...]] = set()
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            acts = [act for exchange in json.loads(line)["dialog"] for act in exchange]
            dialogues += 1
            own = [act for act in acts if not act.get("seeded")]
            replies += len(own)
            empty += sum(bool(act.get("empty")) for act in own)
            repeated += _repeated(acts)
            texts = tuple(act["text"] for act in acts)
            equal += texts in seen
            seen.add(texts)
    return GeneratedFile(
        path=path,
        models=pair,
        dialogues=dialogues,
        generated=generated,
        replies=replies,
        repeated=repeated,
        empty=empty,
        equal_dialogues=equal,
    )


def _repeated(acts: Iterable[Mapping[str, Any]]) -> int:
    said: set[tuple[str, str]] = set()
    found = 0
    for act in acts:
        line = (act["id"], act["text"])
        found += line in said and not act.get("seeded") and not act.get("empty")
        said.add(line)
    return found
