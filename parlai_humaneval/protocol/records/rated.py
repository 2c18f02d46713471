"""What a rater leaves behind: a live dialogue, or a judgement of finished ones."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

from parlai_humaneval.protocol.records.dialogue import DialogueRecord
from parlai_humaneval.protocol.records.judgement import JudgementRecord

__all__ = ["AnyRated", "Rated"]

Rated: TypeAlias = DialogueRecord | JudgementRecord

AnyRated = TypeVar("AnyRated", bound=DialogueRecord | JudgementRecord)
"""Either kind, the same one going in and coming out."""
