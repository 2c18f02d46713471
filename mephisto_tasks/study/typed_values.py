"""Values as they are typed for hydra."""

from __future__ import annotations

import re
from typing import Any

_PLAIN = re.compile(r"[A-Za-z_][\w./-]*")
"""Words that need no quotes."""
_OTHER_THAN_WORDS = frozenset({"null", "true", "false", "nan", "inf"})


def in_quotes(value: str) -> str:
    """As hydra's grammar has it, in which a backslash is one but before a quote."""
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), value)
    return f"'{escaped}'"


def as_typed(value: Any) -> str:
    """A value of YAML or JSON as hydra reads it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}: {as_typed(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(as_typed, value)) + "]"
    if isinstance(value, (int, float)):
        return str(value)
    text = str(value)
    return text if _PLAIN.fullmatch(text) and text.lower() not in _OTHER_THAN_WORDS else in_quotes(text)
