"""Names that must stay the same whenever the same dialogues are generated: of files, of speakers, and of chance."""

from __future__ import annotations

import hashlib
import re

from parlai_humaneval.self_chat.settings import Pair

BETWEEN = "--"
"""Stands between the two names of a pair."""
LONGEST = 80
"""Characters of a model's name in a file's name: two of them and an ending fit into the 255 that file systems take."""


def file_stem(pair: Pair) -> str:
    """``NAME`` of a self-chat and ``A--B`` of a pair, fit for a file's name.

    A name with other characters than letters, digits, dots, underscores and single hyphens has them replaced, and gets
    a part of its hash, so that two models never share a file.
    """
    first, second = (_safe(name) for name in pair)
    return first if pair[0] == pair[1] else f"{first}{BETWEEN}{second}"


def _safe(name: str) -> str:
    plain = re.sub(r"-{2,}", "-", re.sub(r"[^A-Za-z0-9._-]", "_", name)).strip(".-")[:LONGEST]
    return plain if plain == name else f"{plain or 'model'}-{_digest(name).hex()[:8]}"


def speaker_ids(pair: Pair) -> tuple[str, str]:
    """What the two sides are called in the file, in the order of ``pair``: ``a_1`` and ``a_2``, or ``a`` and ``b``."""
    first, second = pair
    return (f"{first}_1", f"{first}_2") if first == second else pair


def dialogue_id(pair: Pair, seed: int, number: int) -> str:
    """Unique over models, seeds and numbers; the same in every run."""
    return f"{file_stem(pair)}:{seed}:{number}"


def seed_of(pair: Pair, seed: int, number: int, side: int) -> int:
    """The chance of one side of one dialogue. It hangs on nothing else, such as what is generated beside it."""
    return int.from_bytes(_digest(f"{pair[0]}\n{pair[1]}\n{seed}\n{number}\n{side}")[:4], "big")


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
