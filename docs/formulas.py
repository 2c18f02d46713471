"""A hook of mkdocs: formulas, written in LaTeX, become MathML, which browsers draw by themselves."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(r'<(span|div) class="arithmatex">\s*\\([(\[])(.*?)\\[)\]]\s*</\1>', re.DOTALL)
"""As ``pymdownx.arithmatex`` writes them, in lines and in blocks."""


def on_page_content(content: str, **_: Any) -> str:
    """The page with its formulas drawn; a formula that is not LaTeX stops the build with an error that names it."""
    return FORMULA.sub(_drawn, content)


def _drawn(match: re.Match[str]) -> str:
    tag, bracket, latex = match.groups()
    drawn = convert(html.unescape(latex), display="block" if bracket == "[" else "inline")
    return f'<{tag} class="formula">{drawn}</{tag}>'
