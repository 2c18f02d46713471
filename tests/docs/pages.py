"""The pages of the documentation, as blocks: what stands in a fence, and what is said of it in a comment above."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = REPOSITORY / "docs" / "pages"
NOT_RUN = re.compile(r"<!--\s*not run: (?P<why>.+?)\s*-->", re.DOTALL)
FENCE = re.compile(r"(?P<language>\w*)(?: title=\"(?P<file>[\w/.-]+)\")?")
"""What stands behind the ticks: what the block holds and, where it is a file, its name."""
ELLIPSIS = "…"
LANGUAGES = ("bash", "text", "python", "yaml", "json", "toml", "csv", "po")
"""A fence says what it holds; another word would be a typing error, and its commands would go untested."""


@dataclass(frozen=True)
class Block:
    """A fence. ``file``: the name of the file that it is; ``not_run``: why it cannot run in a test; both mostly empty."""

    page: Path
    line: int
    language: str
    file: str
    text: str
    not_run: str

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command, without comments."""
        lines = self.text.replace("\\\n", " ").splitlines()
        return [words for words in (shlex.split(line, comments=True) for line in lines) if words]

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"


def documents() -> list[Path]:
    """What people read: README, how to contribute, and the pages of the site."""
    return [REPOSITORY / "README.md", REPOSITORY / "CONTRIBUTING.md", *sorted(PAGES.rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """The fences of a page that are no part of another file; a comment counts for the fence right below it."""
    why = ""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        if token.type == "html_block" and (match := NOT_RUN.search(token.content)):
            why = " ".join(match["why"].split())
        elif token.type == "fence":
            assert token.map is not None
            fence = FENCE.fullmatch(token.info.strip())
            assert fence, f"{page}:{token.map[0] + 1}: ```{token.info}"
            yield Block(page, token.map[0] + 1, fence["language"], fence["file"] or "", token.content, why)
            why = ""
        elif token.level == 0 and token.nesting == 1:
            assert not why, f"{page}: “not run: {why}” stands above no block"
