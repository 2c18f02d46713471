"""The packaged conversations that the embedded models speak from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from parlai_humaneval.protocol.dialogues.files import load_dialogues
from parlai_humaneval.protocol.materials.files import MaterialError

PACKAGED_CORPUS = Path(__file__).resolve().parents[2] / "data" / "corpus.jsonl"

CorpusError = MaterialError
"""A corpus file is missing or ill-formed; the message names the file, the line and what was expected."""


@dataclass(frozen=True)
class Conversation:
    """One dialogue; two speakers take turns, beginning with the first."""

    dialogue_id: str
    turns: list[str]


def load_corpus(path: Path = PACKAGED_CORPUS) -> list[Conversation]:
    """Read the conversations of a dialogue file, in any format of :mod:`parlai_humaneval.protocol.dialogues.files`.

    Raises:
        CorpusError: when the file cannot be read, a line is not of its format, or nothing is in it.
    """
    return [
        Conversation(dialogue.dialogue_id, [line.text for line in dialogue.lines]) for dialogue in load_dialogues(path)
    ]
