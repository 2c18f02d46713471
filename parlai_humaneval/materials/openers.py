"""First lines and topics that start a conversation: plain text files, one a line."""

from __future__ import annotations

from pathlib import Path

from parlai_humaneval.materials.instructions import MaterialError, packaged, read_text, text_lines


def load_openers(path: Path | None = None) -> list[str]:
    """First lines of a conversation, in the file's order; default: the packaged ones.

    Ma et al. 2023 (FFAEval), §3.3, start from utterances of this kind.

    Raises:
        MaterialError: an unreadable or empty file, an empty line, or a line that stands twice.
    """
    return _load(path or packaged("openers.txt"), "opener")


def load_topics(path: Path | None = None) -> list[str]:
    """Topics to offer to a rater who does not know what to talk about; default: the packaged ones.

    Raises:
        MaterialError: an unreadable or empty file, an empty line, or a line that stands twice.
    """
    return _load(path or packaged("topics.txt"), "topic")


def _load(path: Path, what: str) -> list[str]:
    first_seen: dict[str, int] = {}
    for number, line in enumerate(text_lines(read_text(path)), start=1):
        text = line.strip()
        if not text:
            raise MaterialError(
                "the line is empty", where=f"{path}, line {number}", try_=f"write one {what} or remove the line"
            )
        if text in first_seen:
            raise MaterialError(
                f"the {what} of line {first_seen[text]} stands here again", where=f"{path}, line {number}"
            )
        first_seen[text] = number
    if not first_seen:
        raise MaterialError(f"holds no {what}", where=path, try_="write one a line")
    return list(first_seen)
