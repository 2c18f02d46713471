"""Ids of raters whom no crowd's site names: made up by the server, and signed, where the page's Start asks for them."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mephisto_tasks.crowds.signing import LinkSigner

KEY = "raters.key"
"""In the data directory: a rater is the same in every study there."""
SIGNATURE = "signature"
"""Key in a registration's ``provider_data``; in the address it is ``sig``."""
_SIGNED_NAME = re.compile(r"rater-[0-9a-f]{16}")


class SignedIds:
    """Makes pairs of a worker's name and an assignment, and knows them again."""

    def __init__(self, data_dir: Path) -> None:
        self._seal = LinkSigner(
            data_dir / KEY,
            "rater",
            "let raters press Start once more: addresses that were made before are no good without it",
        )

    def fresh(self) -> dict[str, str]:
        """The parameters of an address for somebody new. Nothing is stored: whoever never comes leaves no trace.

        Raises:
            DamagedKey, OSError: the key cannot be used.
        """
        worker, assignment = f"rater-{secrets.token_hex(8)}", f"try-{secrets.token_hex(8)}"
        signed = self._seal.signed(_pair(worker, assignment))
        return {"worker_id": worker, "assignment_id": assignment, "sig": signed.rpartition(".")[2]}

    def is_signed(self, provider_data: Mapping[str, Any]) -> bool:
        """Whether the ids of a registration are a pair that was made here."""
        signature = provider_data.get(SIGNATURE)
        pair = _pair(str(provider_data["worker_name"]), str(provider_data.get("assignment_id")))
        return isinstance(signature, str) and self._seal.opened(f"{pair}.{signature}") == pair

    def is_damaged(self, provider_data: Mapping[str, Any]) -> bool:
        """Whether the ids are ours, or say that they are, without the signature that belongs to them.

        Names that somebody typed into the address need none.
        """
        claims = provider_data.get(SIGNATURE) is not None or _SIGNED_NAME.fullmatch(str(provider_data["worker_name"]))
        return bool(claims) and not self.is_signed(provider_data)


def _pair(worker: str, assignment: str) -> str:
    return f"{worker}/{assignment}"
