"""Sentences of a report: items of lists in ``templates/*.md.j2``, filled from facts.

An item begins with “- ” and goes on in lines that are indented. A line end within it is a blank, and next to a tag nothing.
What is filled in stays as it is, whatever it holds: only the template's own text is folded.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parlai_humaneval.statistics.core import formatting

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")
_SENTENCE = re.compile(r"^- (.+(?:\n +\S.*)*)", re.MULTILINE)
_LINE_ENDS = re.compile(r"\s*\n\s*(?=\{[%#])|(?<=[%#]\})\s*\n\s*")


def say(template: str, part: str, /, **facts: Any) -> list[str]:
    """The sentences of a macro of a template, such as ``say("judges", "remarks", section=section)``.

    Besides ``facts``, a template has the functions of :mod:`~parlai_humaneval.statistics.core.formatting`.
    """
    said: list[str] = []

    def note(caller: Any) -> str:
        said.append(str(caller()))
        return ""

    getattr(_templates().get_template(f"{template}.md.j2").make_module({**facts, "say": note}), part)()
    return said


def sentence(template: str, part: str, /, **facts: Any) -> str:
    """The same, one after the other."""
    return " ".join(say(template, part, **facts))


def told(template: str, **facts: Any) -> dict[str, Any]:
    """Headline and remarks of a section, each a macro of its template."""
    return {"headline": " ".join(say(template, "headline", **facts)), "remarks": say(template, "remarks", **facts)}


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemBytecodeCache, FunctionLoader, StrictUndefined

    class Kept(FileSystemBytecodeCache):  # type: ignore[misc]  # mypy reads no Jinja
        """Nothing hangs on it: what cannot be read is compiled anew, and what cannot be written is not kept."""

        def load_bytecode(self, bucket: Any) -> None:
            try:
                super().load_bytecode(bucket)
            except Exception:  # noqa: BLE001 - half a file may raise anything
                bucket.reset()

        def dump_bytecode(self, bucket: Any) -> None:
            with suppress(OSError):  # a full disk, or a folder of somebody else's
                super().dump_bytecode(bucket)

    def source(name: str) -> str:
        text = (TEMPLATES / name).read_text(encoding="utf-8")
        sentences = _SENTENCE.sub(r"{% call say() %}\1{% endcall %}", text)
        return re.sub(r"\s*\n\s*", " ", _LINE_ENDS.sub("", sentences))

    written = {name: value for name, value in vars(formatting).items() if callable(value)}
    # As Python keeps what it has compiled: else each report would compile its sentences, which takes .01 to .04 s a section.
    folder = TEMPLATES / "__pycache__"
    keeps = not sys.dont_write_bytecode and os.access(TEMPLATES, os.W_OK)
    if keeps:
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
    templates = Environment(
        loader=FunctionLoader(source),
        undefined=StrictUndefined,
        autoescape=False,
        bytecode_cache=Kept(str(folder), f"%s.{sys.implementation.cache_tag}") if keeps else None,
    )
    templates.filters |= written
    templates.globals |= written
    return templates
