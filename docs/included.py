"""A hook of mkdocs: what a page includes stands in the site; whoever reads the page elsewhere has a link, or a sentence."""

from __future__ import annotations

import re
from typing import Any

INCLUDED = re.compile(
    r'^(?P<indent> *)(?:\[[^\]]*\]\((?:\.\./)+(?P<file>\S+) "included(?: as (?P<language>\w+))?"\)'
    r"|\*[^*]*\* <!-- included: (?P<fact>\S+) -->)$",
    re.MULTILINE,
)
"""A line of its own: a link to a file of the repository, or a sentence about what is generated (``docs.facts``)."""


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with what it includes, as ``pymdownx.snippets`` reads it; a file ``as`` a language is code."""
    return INCLUDED.sub(_snippet, markdown)


def _snippet(match: re.Match[str]) -> str:
    indent, language, name = match["indent"], match["language"], match["file"] or match["fact"]
    lines = [f'--8<-- "{name}"']
    if language:
        lines = [f'```{language} title="{name}"', *lines, "```"]
    return "\n".join(indent + line for line in lines)
