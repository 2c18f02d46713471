"""The words by which Prolific says how far a study or a submission is."""

from __future__ import annotations

RESERVED, ACTIVE, AWAITING_REVIEW = "RESERVED", "ACTIVE", "AWAITING REVIEW"
APPROVED, PARTIALLY_APPROVED, SCREENED_OUT = "APPROVED", "PARTIALLY APPROVED", "SCREENED OUT"
REJECTED, RETURNED, TIMED_OUT = "REJECTED", "RETURNED", "TIMED-OUT"
SUBMISSION = (
    RESERVED, ACTIVE, AWAITING_REVIEW, APPROVED, PARTIALLY_APPROVED, SCREENED_OUT, REJECTED, RETURNED, TIMED_OUT,
)  # fmt: skip
"""Of submissions. Prolific may say others: read again later."""
UNPUBLISHED, SCHEDULED, PUBLISHING, PAUSED, COMPLETED = "UNPUBLISHED", "SCHEDULED", "PUBLISHING", "PAUSED", "COMPLETED"
STUDY = (UNPUBLISHED, SCHEDULED, PUBLISHING, ACTIVE, PAUSED, AWAITING_REVIEW, COMPLETED)  # of studies
_KNOWN = {word.replace("-", " "): word for word in (*SUBMISSION, *STUDY)}


def plain(word: object) -> str:
    """Prolific's word as the constants here have it, whichever way it is written: ``timed_out`` is ``TIMED-OUT``."""
    spaced = " ".join(str(word or "").upper().replace("_", " ").replace("-", " ").split())
    return _KNOWN.get(spaced, spaced)
