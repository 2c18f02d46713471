"""Finished dialogues that come with this project, to try out what needs some.

People wrote their part for this project; what packaged models said is what they answered there.
"""

from __future__ import annotations

from parlai_humaneval.protocol.dialogues.dialogue import Dialogue
from parlai_humaneval.protocol.dialogues.files import load_dialogues
from parlai_humaneval.protocol.dialogues.sources import dialogues_of
from parlai_humaneval.protocol.materials.files import packaged, read_text, text_lines
from parlai_humaneval.protocol.records.dialogue import DialogueRecord

MODELS = ("eliza", "retrieval")
"""Those that speak in the samples."""


def between_people() -> list[Dialogue]:
    """Dialogues of two people."""
    return load_dialogues(packaged("human_dialogues.jsonl"))


def with_a_model() -> list[Dialogue]:
    """Dialogues of a person with one of :data:`MODELS`, six with each."""
    return load_dialogues(packaged("sample_chats.jsonl"))


def rated() -> list[Dialogue]:
    """Dialogues of a person with both :data:`MODELS` behind one partner: the good replies were selected at every turn."""
    lines = text_lines(read_text(packaged("sample_ratings.jsonl")))
    records = [DialogueRecord.model_validate_json(line) for line in lines if line.strip()]
    return [dialogue for record in records for dialogue in dialogues_of(record)]
