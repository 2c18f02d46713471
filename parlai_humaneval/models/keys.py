"""Keys and passwords stay out of zoo files: their options are shown, recorded and published."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

NAME_OPTION = "_env"
"""Ending of the options that hold the NAME of an environment variable."""
LONGEST_NAME = 40
"""Characters; names of variables are shorter, most keys are longer."""
LONGEST_WORD = 15
"""Characters of capitals and digits without an underscore; beyond, they are rather a key."""

_KEY_OPTION = re.compile(
    r"(.*_)?(api_?key|secret_?key|access_?key|(api|auth|access|hf|bearer)_?token|passwo?r?d|secret)"
    r"|key|token|bearer|authorization",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def key_trouble(options: Mapping[str, Any]) -> str | None:
    """What is wrong with options that hold a key, at any depth; None where nothing is. The key is not repeated."""
    return next(_troubles(options, ""), None)


def is_variable_name(value: str) -> bool:
    """Whether it can be meant as the name of an environment variable, and is no key put there by mistake.

    A variable that is set has a name, whatever it looks like.
    """
    if not _NAME.fullmatch(value):
        return False
    if value in os.environ:
        return True
    digits = any(character.isdigit() for character in value)
    mixed = digits and any(character.islower() for character in value)
    random = digits and "_" not in value and len(value) > LONGEST_WORD
    return len(value) <= LONGEST_NAME and not mixed and not random


def not_a_name(option: str) -> str:
    """The sentence for an option whose value is no name of a variable."""
    return f"{option} takes the NAME of an environment variable, such as MY_SERVER_KEY, not the key"


def _troubles(options: Mapping[str, Any], above: str) -> Iterator[str]:
    for name, value in options.items():
        option = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _troubles(value, f"{option}.")
        elif value in (None, ""):
            continue
        elif str(name).endswith(NAME_OPTION):
            if not is_variable_name(str(value).strip()):
                yield not_a_name(option)
        elif _KEY_OPTION.fullmatch(str(name).replace("-", "_")):
            yield (
                f"{option}: keys do not belong in zoo files: put it in an environment variable and name that in "
                "api_key_env (or authorization_env, where a model has that)"
            )
        elif _holds_password(value):
            yield f"{option}: the address holds a name or password, which would be recorded with every dialogue"


def _holds_password(value: Any) -> bool:
    if not isinstance(value, str) or "://" not in value:
        return False
    try:
        return "@" in urlsplit(value.strip()).netloc
    except ValueError:
        return False
