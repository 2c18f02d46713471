"""Signatures for links and for ids made by this server, so that nobody can forge or change them."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from itsdangerous import BadSignature, Signer

from mephisto_tasks.storage.provider_names import CrowdError
from parlai_humaneval._util.files import create_once

KEY_BYTES = 32


class DamagedKey(CrowdError):
    """A key that nothing can be signed with; the message says what to do."""


class LinkSigner:
    """Signs short texts with HMAC-SHA256 and the key of a file, which is made at first use."""

    def __init__(self, key_file: Path, purpose: str, without_it: str) -> None:
        """``purpose``: what is signed for one is good for no other. ``without_it``: what to do where the key is lost."""
        self.key_file, self._purpose, self._without_it = key_file, purpose, without_it

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
            what = f"{self.key_file} is damaged ({len(key)} bytes instead of {KEY_BYTES})"
            raise DamagedKey(what, try_=f"restore the correct file, or remove it and {self._without_it}")
        return Signer(key, salt=self._purpose, key_derivation="hmac", digest_method=hashlib.sha256)


RATERS_KEY = "raters.key"  # in the data directory: a rater is the same in every study there
SIGNATURE = "signature"  # key in a registration's ``provider_data``; in the address it is ``sig``
_SIGNED_NAME = re.compile(r"rater-[0-9a-f]{16}")


class SignedIds:
    """Makes pairs of a worker's name and an assignment, and knows them again."""

    def __init__(self, data_dir: Path) -> None:
        without = "ask raters to press Start again: earlier addresses are not valid without it"
        self._signer = LinkSigner(data_dir / RATERS_KEY, "rater", without)

    def fresh(self) -> dict[str, str]:
        """The parameters of an address for somebody new; nothing is stored. Raises DamagedKey, OSError."""
        worker, assignment = f"rater-{secrets.token_hex(8)}", f"try-{secrets.token_hex(8)}"
        signed = self._signer.signed(f"{worker}/{assignment}")
        return {"worker_id": worker, "assignment_id": assignment, "sig": signed.rpartition(".")[2]}

    def is_signed(self, provider_data: Mapping[str, Any]) -> bool:
        """Whether the ids of a registration are a pair that was made here."""
        signature = provider_data.get(SIGNATURE)
        pair = f"{provider_data['worker_name']}/{provider_data.get('assignment_id')}"
        return isinstance(signature, str) and self._signer.opened(f"{pair}.{signature}") == pair

    def is_damaged(self, provider_data: Mapping[str, Any]) -> bool:
        """Whether ids are ours, or say so, without their signature; names that somebody typed need none."""
        claims = provider_data.get(SIGNATURE) is not None or _SIGNED_NAME.fullmatch(str(provider_data["worker_name"]))
        return bool(claims) and not self.is_signed(provider_data)
