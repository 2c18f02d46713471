"""Pseudonyms of workers, the same in every export of a data directory."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path

from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval._util.files import create_once

KEY_BYTES = 32


class PseudonymKeyError(HumanevalError, RuntimeError):
    """The key file cannot be used; the message says which and what to do."""


class Pseudonymizer:
    """Makes pseudonyms with a key, without which nobody can test whether one belongs to a known worker id."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < KEY_BYTES:
            raise PseudonymKeyError(f"A pseudonym key has at least {KEY_BYTES} bytes, and this one has {len(secret)}")
        self._secret = secret

    def worker(self, name: str) -> str:
        """“w” and 12 hexadecimal digits: HMAC-SHA256 of ``name``, cut to 48 bits."""
        return "w" + hmac.new(self._secret, name.encode("utf-8"), hashlib.sha256).hexdigest()[:12]

    @classmethod
    def load_or_create(cls, path: Path) -> Pseudonymizer:
        """The pseudonymizer of the key file ``path``, made at first use: random, readable by its owner only. Two
        processes that make it at once end with the same key. Raises PseudonymKeyError: the file is there but no key, or
        cannot be read or made."""
        try:
            secret = create_once(path, secrets.token_bytes(KEY_BYTES))
        except OSError as error:
            raise PseudonymKeyError(f"The pseudonym key {path} cannot be read or made: {error.strerror}") from error
        if len(secret) != KEY_BYTES:
            what = f"{path} is not a pseudonym key ({len(secret)} bytes instead of {KEY_BYTES})"
            raise PseudonymKeyError(what, try_="restore the right file, or remove this one for new pseudonyms")
        return cls(secret)
