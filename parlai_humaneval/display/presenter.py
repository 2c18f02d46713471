"""How a model's reply is shown to a person, and which replies are not."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from parlai_humaneval.display.appearance import Appearance, Emoji, looked_over
from parlai_humaneval.display.disclosure_model import DisclosureModel
from parlai_humaneval.display.filtering import ResponseFilter, TextJudge
from parlai_humaneval.display.markdown_tree import markup_of, words_of
from parlai_humaneval.display.masking import SENTENCE, Place, clean_cuts, giveaways, masked_text, to_masks
from parlai_humaneval.display.text import is_blank
from parlai_humaneval.display.thoughts import ONLY_THOUGHTS
from parlai_humaneval.display.vocabulary import Vocabulary, packaged
from parlai_humaneval.schema.records import Mask, MaskKind


@dataclass(frozen=True)
class Presented:
    """A reply as it is shown. ``masks``: what was hidden, offsets as in ``Mask``; ``changes``: what else was done,
    by the names of ``showing.appearance.CHANGES``."""

    text: str
    masks: list[Mask] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


_TELLING: dict[MaskKind, str] = {
    "name": "a model's name",
    "maker": "a maker's name",
    "ai_disclosure": "talk of being a program",
    "system_prompt": "its instructions",
}
"""Kinds of masks that hide who speaks, in words."""


_TRIED_OUT = (
    "I am well, thanks. What about you?",
    "I'm ChatGPT, made by OpenAI.",
    "As an AI language model, I don't have a body, and I was trained on text by my developers.",
)
"""What people say, and what programs say: where these have been looked at, replies in English take no time."""
_FOUL = "damn"
"""A word that the list of offensive ones is asked about."""


class Presenter(Protocol):
    """Decides what a person sees of a reply. Thread-safe, and the same for every model.

    ``ask_again``: how often a model is asked again whose reply :meth:`doubt` has something against.
    """

    @property
    def ask_again(self) -> int: ...

    def refuse(self, text: str) -> str | None:
        """Why no person may see ``text``; None: they may. A refused model is asked again."""

    def doubt(self, text: str, names: Sequence[str]) -> str | None:
        """What of ``text`` gives its model away and would have to be hidden, in words for the record; None: nothing."""

    def present(self, text: str, names: Sequence[str]) -> Presented:
        """``text`` as it is shown; ``names``: zoo names of the models in play."""


@dataclass(frozen=True)
class SettledPresenter:
    """Shows replies as a study's settings say (see :class:`~parlai_humaneval.display.settings.ReplyLooks`).

    First the looks are seen to, then what gives the model away or is offensive is masked in what is left.

    ``ai_talk``: whether talk of being a program is masked, without a mark where that can be helped. ``prompts``:
    instructions that are not to be repeated. ``vocabulary``: the words by which programs give themselves away.
    ``response_filter``: finds offensive words; ``block``: such replies are refused, and not only masked.
    ``disclosure_model``: the packaged classifier of talk of being a program, in sentences in which no phrase finds any.
    ``disclosures``: somebody's own; sentences that it finds are masked as well.
    ``ask_again``: how often a model is asked again before anything that gives it away is masked.
    """

    appearance: Appearance = "as_said"
    emoji: Emoji = "keep"
    max_chars: int | None = None
    ai_talk: bool = False
    prompts: tuple[str, ...] = ()
    vocabulary: Vocabulary = field(default_factory=packaged)
    response_filter: ResponseFilter | None = None
    block: bool = False
    disclosure_model: DisclosureModel | None = None
    disclosures: TextJudge | None = None
    ask_again: int = 0

    def prepare(self, names: Sequence[str]) -> threading.Thread:
        """Have what looks for give-aways of the models ``names`` made at once, beside everything else: it takes two
        seconds or three, which else the first reply would take longer. A reply that comes earlier waits for it.

        Returns:
            The thread that does it.
        """
        thread = threading.Thread(target=self._try_out, args=(names,), name="prepare replies", daemon=True)
        thread.start()
        return thread

    def _try_out(self, names: Sequence[str]) -> None:
        """Vocabularies are read, and patterns compiled, where they are first needed."""
        for text in _TRIED_OUT:
            self.present(text, names)
        if self.response_filter is not None:
            self.response_filter.places(_FOUL)

    def refuse(self, text: str) -> str | None:
        """Offensive replies where they are blocked, and those of which nothing is left to show."""
        looks, changes = self._looks(text)
        if changes and is_blank(looks):
            if "thoughts" in changes:
                return ONLY_THOUGHTS
            return f"nothing is left to show without {', '.join(changes)}"
        if self.disclosures is not None and (failure := self.disclosures.failure(looks)):
            return failure
        if not self.block or self.response_filter is None:
            return None
        # Thoughts and tags that are not shown need not be fit to be read; what is cut off for its length may not be, either.
        return self.response_filter.reason(looks) or self.response_filter.reason(self._displayed_words(looks))

    def doubt(self, text: str, names: Sequence[str]) -> str | None:
        """What would be masked because it gives the model away, offensive words aside."""
        told = [mask for mask in self.present(text, names).masks if mask.kind in _TELLING]
        if not told:
            return None
        return "gives itself away: " + "; ".join(f"{_TELLING[mask.kind]}, “{mask.original}”" for mask in told)

    def present(self, text: str, names: Sequence[str]) -> Presented:
        """The looks, then the masks, whose offsets are into the text without what ``changes`` name."""
        looks, changes = self._looks(text)
        masks = self._masks(looks, names)
        if self._displayed_words(looks) != looks and self._hidden_by_markup(looks, masks, names):
            looks, changes = replace(self, appearance="plain")._looks(text)
            masks = self._masks(looks, names)
        if self.ai_talk:
            masks = clean_cuts(looks, masks)
        return Presented(masked_text(looks, masks), masks, changes)

    def _masks(self, looks: str, names: Sequence[str]) -> list[Mask]:
        masks = giveaways(looks, names, ai_talk=self.ai_talk, prompts=self.prompts, vocabulary=self.vocabulary)
        found = [*self._unforeseen(looks, masks), *self._disclosures(looks)]
        more: list[Place] = [(start, end, "ai_disclosure") for start, end in found]
        if self.response_filter is not None:
            more += [(start, end, "offensive") for start, end in self.response_filter.places(looks)]
        return to_masks(looks, [*more, *((mask.start, mask.end, mask.kind) for mask in masks)]) if more else masks

    def _displayed_words(self, looks: str) -> str:
        markup = markup_of(looks) if self.appearance == "markdown" else None
        return looks if markup is None else words_of(markup)

    def _hidden_by_markup(self, looks: str, masks: Sequence[Mask], names: Sequence[str]) -> bool:
        """Whether the page would show what is to be hidden, because signs stand within it: “Chat**GPT**”. Such a reply is
        shown as plain text, in which it is masked."""
        known = [_bare(mask.original) for mask in masks]
        shown = (_bare(mask.original) for mask in self._masks(self._displayed_words(looks), names))
        return any(all(one not in mask for mask in known) for one in shown)

    def _unforeseen(self, looks: str, masks: Sequence[Mask]) -> list[tuple[int, int]]:
        if self.disclosure_model is None:
            return []
        known = [(mask.start, mask.end) for mask in masks if mask.kind == "ai_disclosure"]
        return self.disclosure_model.telling_sentences(looks, known)

    def _disclosures(self, looks: str) -> list[tuple[int, int]]:
        """The sentences, as (start, end), that the classifier takes for talk of being a program; all of them where it finds
        it in each, or in none by itself."""
        if self.disclosures is None or self.disclosures.objection(looks) is None:
            return []
        sentences = [match.span() for match in SENTENCE.finditer(looks) if match.group()]
        telling = [span for span in sentences if self.disclosures.objection(looks[slice(*span)]) is not None]
        return telling if 0 < len(telling) < len(sentences) else [(0, len(looks))]

    def _looks(self, text: str) -> tuple[str, list[str]]:
        return looked_over(
            text,
            appearance=self.appearance,
            emoji=self.emoji,
            max_chars=self.max_chars,
            vocabulary=self.vocabulary,
        )


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


AS_SAID: Presenter = SettledPresenter()
"""As the model said it, but for names that give it away, marks of its format, and characters that nobody sees."""
