"""What a presenter does to a text that may give a model away, without a presenter."""

from __future__ import annotations

from typing import Any

from parlai_humaneval.display.masking import clean_cuts, giveaways, masked_text
from parlai_humaneval.schema.records import Mask


def mask_identity(text: str, names: Any, *, ai_talk: bool = False, **given: Any) -> tuple[str, list[Mask]]:
    """The text as it may be shown, and its masks."""
    masks = giveaways(text, names, ai_talk=ai_talk, **given)
    masks = clean_cuts(text, masks) if ai_talk else masks
    return masked_text(text, masks), masks


def unmask(shown: str, masks: list[Mask]) -> str:
    """The text before it was masked."""
    for mask in masks:  # from the first on, so that what stands before each is as it was
        shown = shown[: mask.start] + mask.original + shown[mask.start + len(mask.replacement) :]
    return shown
