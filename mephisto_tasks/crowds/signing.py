"""What a link says, signed: nobody can make one up, nor turn one into another."""

from __future__ import annotations

import hashlib
import secrets
from pathlib import Path
from urllib.parse import urlencode

from itsdangerous import BadSignature, Signer

from mephisto_tasks.storage.crowd_errors import CrowdError
from parlai_humaneval._util.files import create_once

KEY_BYTES = 32


class DamagedKey(CrowdError):
    """A key that nothing can be signed with; the message says what to do."""


class LinkSigner:
    """Signs short texts with HMAC-SHA256 and the key of a file, which is made at first use."""

    def __init__(self, key_file: Path, purpose: str, without_it: str) -> None:
        """``purpose``: what is signed for one is good for no other. ``without_it``: what to do where the key is lost."""
        self.key_file = key_file
        self._purpose = purpose
        self._without_it = without_it

    def signed(self, text: str) -> str:
        """The text, a dot, and the signature; fit for an address and a cookie."""
        signed: bytes = self._signer().sign(text.encode())
        return signed.decode("ascii")

    def opened(self, token: str) -> str | None:
        """The text of a token; None where the signature is not ours. Without a key there is none: nobody makes one so."""
        if not self.key_file.exists():
            return None
        signer = self._signer()
        try:
            text: bytes = signer.unsign(token.encode("ascii"))
        except (BadSignature, UnicodeError):
            return None
        # The last letter of a signature holds more than its bits: of several spellings, only ours is good.
        return text.decode("ascii") if signer.sign(text) == token.encode() else None

    @property
    def has_key(self) -> bool:
        """Whether anything was ever signed, and its key is still there. Raises DamagedKey: it is damaged."""
        return self.key_file.exists() and self._signer() is not None

    def _signer(self) -> Signer:
        """Raises DamagedKey where the key is not whole: with none of it, anybody could sign."""
        key = create_once(self.key_file, secrets.token_bytes(KEY_BYTES))
        if len(key) != KEY_BYTES:
            raise DamagedKey(
                f"{self.key_file} is damaged ({len(key)} bytes instead of {KEY_BYTES}). Put the right file back; or remove "
                f"it, and {self._without_it}."
            )
        return Signer(key, salt=self._purpose, key_derivation="hmac", digest_method=hashlib.sha256)


def link(base: str, parameters: dict[str, str]) -> str:
    """An address of the study with these parameters."""
    return f"{base.rstrip('/')}/?{urlencode(parameters)}"
