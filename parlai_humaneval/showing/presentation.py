"""How a model's reply is shown to a person, and which replies are not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from parlai_humaneval.protocol.records.dialogue import Mask
from parlai_humaneval.showing.appearance import Appearance, Emoji, looked_over
from parlai_humaneval.showing.blanks import is_blank
from parlai_humaneval.showing.clean_cuts import clean_cuts
from parlai_humaneval.showing.identity import Place, giveaways, masked_text, to_masks
from parlai_humaneval.showing.response_filter import ResponseFilter
from parlai_humaneval.showing.vocabulary import Vocabulary, packaged


@dataclass(frozen=True)
class Presented:
    """A reply as it is shown. ``masks``: what was hidden, offsets as in ``Mask``; ``changes``: what else was done,
    by the names of ``showing.appearance.CHANGES``."""

    text: str
    masks: list[Mask] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


class Presenter(Protocol):
    """Decides what a person sees of a reply. Thread-safe, and the same for every model."""

    def refuse(self, text: str) -> str | None:
        """Why no person may see ``text``; None: they may. A refused model is asked again."""

    def present(self, text: str, names: Sequence[str]) -> Presented:
        """``text`` as it is shown; ``names``: zoo names of the models in play."""


@dataclass(frozen=True)
class SettledPresenter:
    """Shows replies as a study's settings say (see :class:`~parlai_humaneval.showing.reply_settings.ReplyLooks`).

    First the looks are seen to, then what gives the model away or is offensive is masked in what is left.

    ``ai_talk``: whether talk of being a program is masked, without a mark where that can be helped. ``prompts``:
    instructions that are not to be repeated. ``vocabulary``: the words by which programs give themselves away.
    ``response_filter``: finds offensive words; ``block``: such replies are refused, and not only masked.
    """

    appearance: Appearance = "as_said"
    emoji: Emoji = "keep"
    max_chars: int | None = None
    ai_talk: bool = False
    prompts: tuple[str, ...] = ()
    vocabulary: Vocabulary = field(default_factory=packaged)
    response_filter: ResponseFilter | None = None
    block: bool = False

    def refuse(self, text: str) -> str | None:
        """Offensive replies where they are blocked, and those of which nothing is left to show."""
        looks, changes = self._looks(text)
        if changes and is_blank(looks):
            return f"nothing is left to show without {', '.join(changes)}"
        if not self.block or self.response_filter is None:
            return None
        # Thoughts and tags that are not shown need not be fit to be read; what is cut off for its length may not be, either.
        return self.response_filter.reason(looks)

    def present(self, text: str, names: Sequence[str]) -> Presented:
        """The looks, then the masks, whose offsets are into the text without what ``changes`` name."""
        looks, changes = self._looks(text)
        masks = giveaways(looks, names, ai_talk=self.ai_talk, prompts=self.prompts, vocabulary=self.vocabulary)
        if self.response_filter is not None:
            told: list[Place] = [(mask.start, mask.end, mask.kind) for mask in masks]
            offensive: list[Place] = [(start, end, "offensive") for start, end in self.response_filter.places(looks)]
            masks = to_masks(looks, [*offensive, *told])
        if self.ai_talk:
            masks = clean_cuts(looks, masks)
        return Presented(masked_text(looks, masks), masks, changes)

    def _looks(self, text: str) -> tuple[str, list[str]]:
        return looked_over(
            text,
            appearance=self.appearance,
            emoji=self.emoji,
            max_chars=self.max_chars,
            vocabulary=self.vocabulary,
        )


AS_SAID: Presenter = SettledPresenter()
"""As the model said it, but for names that give it away, marks of its format, and characters that nobody sees."""
