"""Keep keys and passwords out of zoo files, whose options are shown, recorded and published; also in addresses."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml

from parlai_humaneval._util.errors import Problem

LONGEST_NAME = 40
"""Characters; names of variables are shorter, most keys are longer."""
LONGEST_WORD = 15
"""Characters of capitals and digits without an underscore; beyond, they are rather a key."""

_KEY_OPTION = re.compile(
    r"(.*_)?(api_?key|secret_?key|access_?key|(api|auth|access|hf|bearer)_?token|passwo?r?d|secret)"
    r"|key|token|bearer|authorization",
    re.IGNORECASE,
)
_KEY_PARAMETER = re.compile(
    r"(.*[_-])?(key|apikey|token|secret|password|passwd|pwd|sig|signature|auth|authorization)|code", re.I
)
_KEY_VALUE = re.compile(
    r"\b(sk-[\w-]{12,}|hf_\w{16,}|gh[opsu]_\w{20,}|xox[abp]-[\w-]{10,}|AKIA[0-9A-Z]{16}|(Bearer|Basic)\s+[\w.~+/=-]{16,})"
)
_REFUSED = re.compile(
    r"\b(api|access|auth|authentication|secret)[ _-]?(key|token)s?\b|\bbearer\b|\bunauthori[sz]ed\b|\bunauthenticated\b"
    r"|\b(authentication|authorization)\b|\binvalid[ _]credentials?\b",
    re.IGNORECASE,
)
"""What servers write about a key that is wrong or missing. “Unknown key”, “token limit” are of something else."""
_IN_WORDS = frozenset({400, 401, 403, 404, 422, 500})
"""With these statuses; a gateway's 503, or too many requests, may speak of keys that are right."""
SHORTEST_KEY = 8
"""A shorter “key” is a placeholder (``none``, ``EMPTY``), and may be a word of any reply."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def key_trouble(options: Mapping[str, Any], above: str = "") -> Problem | None:
    """What is wrong with options that hold a key, at any depth; ``above`` precedes their names."""
    return next(_troubles(options, above), None)


def is_variable_name(value: str) -> bool:
    """Whether it can be meant as the name of an environment variable, rather than a key put there by mistake."""
    if not _NAME.fullmatch(value):
        return False
    if value in os.environ:
        return True
    digits = any(character.isdigit() for character in value)
    mixed = digits and any(character.islower() for character in value)
    random = digits and "_" not in value and len(value) > LONGEST_WORD
    return len(value) <= LONGEST_NAME and not mixed and not random


def not_a_name(option: str) -> str:
    return f"{option} takes the NAME of an environment variable, such as MY_SERVER_KEY, not the key"


def without_key(text: str, key: str) -> str:
    """``text`` with ``key`` blotted out, whole and, where it is a header (``Bearer …``), word by word."""
    for secret in sorted({key, *key.split()}, key=len, reverse=True):
        if len(secret) >= SHORTEST_KEY:
            text = text.replace(secret, "[key]")
    return text


def refused_key(status: int, said: str, *, variable: str, option: str, sent: bool) -> str:
    """What to say of an answer that means a wrong key, by its ``status`` or what it ``said`` (some servers answer 400,
    404 or 500); nothing of any other. ``option``: of the zoo file, which names the ``variable``. ``sent``: whether
    there was a key."""
    in_words = status in _IN_WORDS and bool(_REFUSED.search(said))
    if not in_words and status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
        return ""
    if not sent:
        lacking = f"{variable} is not set" if variable else f"{option} does not name an environment variable with a key"
        return f": it requires a key, and {lacking}"
    if status == HTTPStatus.FORBIDDEN and not in_words:
        return f": the key in {variable} is wrong, or this is not allowed with it"
    return f": the key in {variable} is wrong"


def key_in_address(address: str) -> Problem | None:
    if "://" not in address:
        return None
    try:
        parts = urlsplit(address.strip())
    except ValueError:
        return None
    if "@" in parts.netloc:
        return Problem(
            "the address contains a name or password, which would be recorded with every dialogue", try_=_CURE
        )
    named = (name for text in (parts.query, parts.fragment) for name, value in parse_qsl(text) if value)
    found = next((name for name in named if _KEY_PARAMETER.fullmatch(name)), None)
    if found is None:
        return None
    what = f"“{found}” in the address looks like a key, which would be recorded with every dialogue"
    return Problem(what, try_=_CURE)


_CURE = (
    "put it into an environment variable and set authorization_env to its name (or api_key_env, where a model has that)",
)


def _troubles(options: Mapping[str, Any], above: str) -> Iterator[Problem]:
    for name, value in options.items():
        option = f"{above}{name}"
        if isinstance(value, Mapping):
            yield from _troubles(value, f"{option}.")
        elif value in (None, ""):
            continue
        elif str(name).endswith("_env"):
            if not is_variable_name(str(value).strip()):
                yield Problem(not_a_name(option))
        elif _KEY_OPTION.fullmatch(str(name).replace("-", "_")):
            yield Problem("keys do not belong in zoo files", where=option, try_=_CURE)
        else:
            yield from _troubles_within(value, option)


def _troubles_within(value: Any, option: str) -> Iterator[Problem]:
    """Hides keys in a value that is not a mapping: a list, an address, JSON as text, or words with a key among them."""
    if isinstance(value, list | tuple):
        for number, part in enumerate(value):
            yield from _troubles({str(number): part}, f"{option}.")
    if not isinstance(value, str):
        return
    if trouble := key_in_address(value):
        yield trouble.within(option)
    elif value.lstrip().startswith("{"):
        found = None
        with suppress(yaml.YAMLError, ValueError):
            found = yaml.safe_load(value)
        if isinstance(found, Mapping):
            yield from _troubles(found, f"{option}.")
    if _KEY_VALUE.search(value):
        what = "something in it looks like a key, and keys do not belong in zoo files"
        yield Problem(what, where=option, try_=("put it in an environment variable",))


_PATH_OF_INTERFACE = re.compile(r"/+(?:chat(?:/+completions)?|completions|responses|models)/*$")


def base_of(address: str) -> str:
    """The base of an address: without slashes at its end, and without the path of one of the interface's parts."""
    return _PATH_OF_INTERFACE.sub("", address.strip()).rstrip("/")


def speaks_chat(address: str) -> bool:
    return bool(re.search(r"/chat/+completions/*$", address.strip()))
