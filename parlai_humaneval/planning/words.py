"""The sentences of plans: the blocks of ``data/plan_words.jinja``, filled with what was planned."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from parlai_humaneval._util.data_files import packaged

if TYPE_CHECKING:
    from jinja2 import Template


def points(share: float) -> str:
    """“10 points”."""
    return f"{100 * share:.3g} points"


def percent(share: float | None) -> str:
    """“2.5 %”, “20 %”."""
    return f"{100 * (share or 0.0):.1f}".removesuffix(".0") + " %"


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


_FILLED = (" \n", "\ue000\ue001")
"""In what is filled in, blanks and line ends stand for themselves: only the template's own text is folded."""


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    blocks = Environment(
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
        finalize=lambda value: str(value).translate(str.maketrans(*_FILLED)),
    )
    blocks.filters |= {"f": format, "points": points, "percent": percent, "times": _times}
    return blocks.from_string(packaged("plan_words.jinja").read_text(encoding="utf-8"))


def paragraphs(block: str, **facts: Any) -> tuple[str, ...]:
    """The paragraphs of a block that have something to say."""
    template = _template()
    text = "".join(template.blocks[block](template.new_context(facts)))
    parts = [" ".join(re.split(r"[ \n]+", part.strip(" \n"))) for part in re.split(r"\n\s*\n", text) if part.strip()]
    return tuple(part.translate(str.maketrans(*reversed(_FILLED))) for part in parts)


def sentence(block: str, **facts: Any) -> str:
    """The only paragraph of a block; empty where it says nothing."""
    return "".join(paragraphs(block, **facts))
