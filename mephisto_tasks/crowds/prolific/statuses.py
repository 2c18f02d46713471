"""Prolific's names for the status of a study or a submission."""

from __future__ import annotations

RESERVED, ACTIVE, AWAITING_REVIEW = "RESERVED", "ACTIVE", "AWAITING REVIEW"
APPROVED, PARTIALLY_APPROVED, SCREENED_OUT = "APPROVED", "PARTIALLY APPROVED", "SCREENED OUT"
REJECTED, RETURNED, TIMED_OUT = "REJECTED", "RETURNED", "TIMED-OUT"
UNPUBLISHED, PUBLISHING, PAUSED, COMPLETED = "UNPUBLISHED", "PUBLISHING", "PAUSED", "COMPLETED"


def plain(word: object) -> str:
    """Prolific's word as the constants here have it, whichever way it is written: ``timed_out`` is ``TIMED-OUT``."""
    spaced = " ".join(str(word or "").upper().replace("_", " ").replace("-", " ").split())
    return TIMED_OUT if spaced == "TIMED OUT" else spaced
