"""How a model's reply is shown to a person, and which replies are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from parlai_humaneval.protocol.records import Mask
from parlai_humaneval.quality.identity import mask_identity


@dataclass(frozen=True)
class Presented:
    """A reply as it is shown. ``masks``: names hidden, offsets as in ``Candidate``; ``changes``: what else was done."""

    text: str
    masks: list[Mask] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


class Presenter(Protocol):
    """Decides what a person sees of a reply. Thread-safe, and the same for every model."""

    def refuse(self, text: str) -> str | None:
        """Why no person may see ``text``; None: they may. A refused model is asked again."""

    def present(self, text: str, names: Sequence[str]) -> Presented:
        """``text`` as it is shown; ``names``: zoo names of the models in play."""


class AsSaid:
    """As the model said it, but for names that give it away."""

    def refuse(self, text: str) -> str | None:
        """Nothing is refused."""
        return None

    def present(self, text: str, names: Sequence[str]) -> Presented:
        """Names of models and makers are masked."""
        shown, masks = mask_identity(text, names)
        return Presented(shown, masks)


AS_SAID: Presenter = AsSaid()
