"""The packaged conversations that the embedded models speak from."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

PACKAGED_CORPUS = Path(__file__).resolve().parents[1] / "data" / "corpus.jsonl"


class CorpusError(ValueError):
    """A corpus file is missing or ill-formed; the message names the file, the line and what was expected."""


class Conversation(BaseModel):
    """One dialogue; two speakers take turns, beginning with the first."""

    model_config = ConfigDict(extra="ignore")

    dialogue_id: str = Field(min_length=1)
    turns: list[str] = Field(min_length=2)


def load_corpus(path: Path = PACKAGED_CORPUS) -> list[Conversation]:
    """Read a JSONL file of ``{"dialogue_id", "turns": ["…", …]}``, one dialogue a line.

    Raises:
        CorpusError: when the file cannot be read, a line is not of this form, or nothing is in it.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read ({error}); expected a JSONL file of dialogues") from error
    conversations = [_parse(path, number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not conversations:
        raise CorpusError(f"{path}: is empty; expected one dialogue a line")
    return conversations


def _parse(path: Path, number: int, line: str) -> Conversation:
    try:
        return Conversation.model_validate_json(line)
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        form = '{"dialogue_id": "…", "turns": ["…", "…"]}'
        raise CorpusError(f"{path}:{number}: {key or 'line'}: {problem['msg']}; expected {form}") from error
