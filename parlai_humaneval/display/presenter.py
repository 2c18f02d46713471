"""How a model's reply is shown to a person, and which replies are withheld."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from parlai_humaneval.display import NO_CLASSIFIER, Emoji, ReplyDisplay, masking
from parlai_humaneval.display.appearance import ELLIPSIS, Appearance, looked_over
from parlai_humaneval.display.filtering import ResponseFilter, TextJudge, load_classifier, read_words
from parlai_humaneval.display.markdown import compiled, markup_of, plain_end, words_of
from parlai_humaneval.display.text import ONLY_THOUGHTS, SENTENCE, UNSPACED, is_blank, is_thinking, without_thoughts
from parlai_humaneval.display.vocabulary import Vocabulary, packaged, vocabulary_with
from parlai_humaneval.schema.records import Mask, MaskKind

WORDS_PER_S = 20.0
"""Several times as fast as people read: the clock is to hide the models' rhythm, and not to set one."""
FINISH_S = 1.0
"""Once every reply is complete, the rest of them is shown within this time."""
HELD_BACK = 13
"""Words at the end of an unfinished reply that are never shown yet: a phrase that will be hidden may begin there. The
longest one of the samples that the tests measure masks with is recognised by its fourteenth word, most by their eighth."""

_WORD = rf"\s*(?:[^\s{UNSPACED}]+|\X)"
_HELD_WORD = rf"[^\s{UNSPACED}]+|(?:[{UNSPACED}]\p{{M}}*){{1,3}}"


def word_ends(text: str) -> list[int]:
    """Where each word of ``text`` ends; of Chinese, Thai and the like each character is one."""
    return [match.end() for match in compiled(_WORD).finditer(text) if not match.group().isspace()]


def settled_end(text: str) -> int:
    """The length of an unfinished ``text`` without its last :data:`HELD_BACK` words; three characters of Chinese, Thai
    and the like count as a word."""
    begins = [match.start() for match in compiled(_HELD_WORD).finditer(text)]
    return begins[-HELD_BACK] if len(begins) > HELD_BACK else 0


class CommonClock:
    """Shows the same number of words of every reply, as many as the slowest unfinished one has, and at a steady pace.

    A reply that is complete and shorter stands still at its end. A reply that changes (its model was asked again)
    stays as it is shown until the new text has as many words; if that does not begin with what was shown, it is among
    ``replaced``.

    Example:
        >>> clock = CommonClock(2, words_per_s=1.0)
        >>> clock.heard(0, "one two three", complete=True)
        >>> clock.heard(1, "eins zwei")
        >>> clock.shown(10.0), clock.shown(11.0), clock.shown(99.0)
        (['', ''], ['one', 'eins'], ['one two', 'eins zwei'])
    """

    def __init__(self, replies: int, *, words_per_s: float = WORDS_PER_S) -> None:
        self._texts = [""] * replies
        self._ends: list[list[int]] = [[] for _ in range(replies)]
        self._complete = [False] * replies
        self._shown = [""] * replies
        self._words = 0.0
        self._words_per_s = words_per_s
        self._at: float | None = None
        self.replaced: set[int] = set()

    def heard(self, place: int, text: str, *, complete: bool = False) -> None:
        """All that may be shown of the reply at ``place`` (from 0) by now; ``complete``: it will not change any more."""
        self._texts[place] = text
        self._ends[place] = word_ends(text)
        waited = not all(self._complete)
        self._complete[place] = complete
        if waited and all(self._complete):
            left = max(map(len, self._ends)) - self._words
            self._words_per_s = max(self._words_per_s, left / FINISH_S)

    def shown(self, at: float) -> list[str]:
        """What is shown of each reply ``at`` a time in seconds, which never goes back."""
        waits = [len(ends) for ends, complete in zip(self._ends, self._complete, strict=True) if not complete]
        most = min(waits) if waits else max(map(len, self._ends), default=0)
        if self._at is not None:
            self._words = max(self._words, min(self._words + self._words_per_s * (at - self._at), most))
        self._at = at
        for place, ends in enumerate(self._ends):
            words = int(self._words)
            if words <= len(ends) or self._complete[place]:
                now = self._texts[place][: ends[min(words, len(ends)) - 1]] if words and ends else ""
                if not now.startswith(self._shown[place]):
                    self.replaced.add(place)
                self._shown[place] = now
        return list(self._shown)

    @property
    def is_over(self) -> bool:
        """Whether every reply is complete and shown to its end."""
        return all(self._complete) and self._words >= max(map(len, self._ends), default=0)


@dataclass(frozen=True)
class Presented:
    """A reply as it is shown, what of it was hidden, and what else was done, by the names of ``CHANGES``."""

    text: str
    masks: list[Mask] = field(default_factory=list)
    changes: list[str] = field(default_factory=list)


_TELLING: dict[MaskKind, str] = {
    "name": "a model's name",
    "maker": "a maker's name",
    "ai_disclosure": "talk of being a program",
    "system_prompt": "its instructions",
}


_TRIED_OUT = (
    "I am well, thanks. What about you?",
    "I'm ChatGPT, made by OpenAI.",
    "As an AI language model, I don't have a body, and I was trained on text by my developers.",
)
"""What people say, and what programs say: where these have been looked at, replies in English take no time."""
_FOUL = "damn"
_UNSETTLED = frozenset({"unsafe_mark", "model_tokens", "speaker_labels"})
"""Changes after which more of a reply's beginning may go: an invented turn, or the person's words again."""
_ADDRESS = re.compile(r"[\[<]|\w://|www\.")
"""Where something may begin of which the page draws the words alone, once it knows them."""
_TELLING_END = "\n\nAs an AI language model, I have no feelings."
"""In what precedes talk of being a program, more is hidden; an unfinished reply may come to that."""


@dataclass(frozen=True)
class Presenter:
    """Shows replies as a study's settings say (see :class:`~parlai_humaneval.display.ReplyDisplay`): first the
    looks, then the masks in what is left. ``prompts``: instructions that are not to be repeated. ``block``: replies in
    which ``response_filter`` finds something are refused, and not only masked. ``disclosures``: somebody's own
    classifier. ``vocabulary``: None for the packaged one."""

    appearance: Appearance = "as_said"
    emoji: Emoji = "keep"
    max_chars: int | None = None
    ai_talk: bool = False
    prompts: tuple[str, ...] = ()
    vocabulary: Vocabulary | None = None
    response_filter: ResponseFilter | None = None
    block: bool = False
    disclosure_model: masking.DisclosureModel | None = None
    disclosures: TextJudge | None = None
    ask_again: int = 0

    def prepare(self, names: Sequence[str]) -> threading.Thread:
        """Have what looks for give-aways made at once, in a thread: it takes two seconds or three."""
        thread = threading.Thread(target=self._try_out, args=(names,), name="prepare replies", daemon=True)
        thread.start()
        return thread

    def _try_out(self, names: Sequence[str]) -> None:
        for text in _TRIED_OUT:
            self.present(text, names)
        if self.response_filter is not None:
            self.response_filter.places(_FOUL)

    def refuse(self, text: str) -> str | None:
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
        told = [mask for mask in self.present(text, names).masks if mask.kind in _TELLING]
        if not told:
            return None
        return "gives itself away: " + "; ".join(f"{_TELLING[mask.kind]}, “{mask.original}”" for mask in told)

    def present(self, text: str, names: Sequence[str]) -> Presented:
        looks, changes = self._looks(text)
        masks = self._masks(looks, names)
        if self._displayed_words(looks) != looks and self._hidden_by_markup(looks, masks, names):
            looks, changes = replace(self, appearance="plain")._looks(text)
            masks = self._masks(looks, names)
        if self.ai_talk:
            masks = masking.clean_cuts(looks, masks)
        return Presented(masking.masked_text(looks, masks), masks, changes)

    def settled(self, text: str, names: Sequence[str]) -> str:
        """The beginning of a reply under way that is shown as it is whatever follows: before the first sentence that
        contains something hidden, and before everything whose look may still change. Empty with ``block`` and with a
        classifier, which judge whole replies."""
        if is_thinking(text) or self.block or self.disclosures is not None:
            return ""
        text = without_thoughts(text)
        if self.appearance == "plain":
            text = text[: plain_end(text)]
        elif self.appearance == "markdown" and (address := _ADDRESS.search(text)):
            text = text[: address.start()]
        looks, changes = self._looks(text)
        end = settled_end(looks)
        if self.max_chars is not None:  # no reply is cut in its first half
            end = min(end, self.max_chars // 2 - len(ELLIPSIS) * 4)
        if end <= 0 or not _UNSETTLED.isdisjoint(changes):
            return ""
        masks = self._masks(f"{looks}{_TELLING_END}" if self.ai_talk else looks, names)
        if self._displayed_words(looks) != looks and self._hidden_by_markup(looks, masks, names):
            return ""
        hidden = min((mask.start for mask in masks), default=len(looks))
        if hidden < len(looks):
            end = min(end, max(match.start() for match in SENTENCE.finditer(looks) if match.start() <= hidden))
        begun = max(match.start() for match in SENTENCE.finditer(looks) if match.group())
        if self.disclosure_model is not None and end > begun:
            end = min(end, self.disclosure_model.innocent_end(looks, begun, len(looks)))
        return looks[: masking.uncut_end(looks, begun, end, self.vocabulary or packaged(), self.ai_talk)].rstrip()

    def _masks(self, looks: str, names: Sequence[str]) -> list[Mask]:
        masks = masking.giveaways(looks, names, ai_talk=self.ai_talk, prompts=self.prompts, vocabulary=self.vocabulary)
        found = self._disclosures(looks)
        if self.disclosure_model is not None:
            known = [(mask.start, mask.end) for mask in masks if mask.kind == "ai_disclosure"]
            found = [*self.disclosure_model.telling_sentences(looks, known), *found]
        more: list[masking.Place] = [(start, end, "ai_disclosure") for start, end in found]
        if self.response_filter is not None:
            more += [(start, end, "offensive") for start, end in self.response_filter.places(looks)]
        places = [*more, *((mask.start, mask.end, mask.kind) for mask in masks)]
        return masking.to_masks(looks, places) if more else masks

    def _displayed_words(self, looks: str) -> str:
        markup = markup_of(looks) if self.appearance == "markdown" else None
        return looks if markup is None else words_of(markup)

    def _hidden_by_markup(self, looks: str, masks: Sequence[Mask], names: Sequence[str]) -> bool:
        """Whether signs within what is to be hidden would have the page show it: “Chat**GPT**”."""
        displayed = self._masks(self._displayed_words(looks), names)
        known, shown = ([re.sub(r"[\W_]+", "", m.original).casefold() for m in some] for some in (masks, displayed))
        return any(all(one not in mask for mask in known) for one in shown)

    def _disclosures(self, looks: str) -> list[tuple[int, int]]:
        """The sentences that the classifier objects to; all of them where it does to each, or to none by itself."""
        if self.disclosures is None or self.disclosures.objection(looks) is None:
            return []
        sentences = [match.span() for match in SENTENCE.finditer(looks) if match.group()]
        telling = [span for span in sentences if self.disclosures.objection(looks[slice(*span)]) is not None]
        return telling if 0 < len(telling) < len(sentences) else [(0, len(looks))]

    def _looks(self, text: str) -> tuple[str, list[str]]:
        return looked_over(
            text,
            appearance=self.appearance, emoji=self.emoji, max_chars=self.max_chars, vocabulary=self.vocabulary,
        )  # fmt: skip


AS_SAID = Presenter()
"""As the model said it, but for names that give it away, marks of its format, and characters that nobody sees."""


def presenter_of(
    looks: ReplyDisplay,
    options: Iterable[dict[str, Any]],
    *,
    compared: bool,
    ask_again: int = 0,
    names: Iterable[str] = (),
) -> Presenter:
    """What shows replies by these settings; a DataError where a file or classifier cannot be used.
    ``options``: of each model; its ``system_prompt`` is not repeated. ``compared``: what ``hide_ai_talk`` means where
    it is not set. ``names``: of models in play, whose patterns are made at once."""
    checked = None
    if looks.filter != "none":
        words = read_words(Path(looks.filter_words_file).expanduser()) if looks.filter_words_file else []
        classifier = load_classifier(looks.filter_classifier) if looks.filter_classifier else None
        checked = ResponseFilter(words, classifier, looks.filter_threshold)
    ai_talk = compared if looks.hide_ai_talk is None else looks.hide_ai_talk
    disclosures = None
    if ai_talk and looks.disclosure_classifier not in ("", NO_CLASSIFIER):
        finder = load_classifier(looks.disclosure_classifier, "disclosure_classifier")
        disclosures = TextJudge(finder, looks.disclosure_threshold, "the disclosure classifier")
    presenter = Presenter(
        appearance="as_said" if looks.appearance == "auto" else looks.appearance,
        emoji=looks.emoji,
        max_chars=looks.max_chars,
        ai_talk=ai_talk,
        vocabulary=vocabulary_with(Path(looks.disclosures_file).expanduser()) if looks.disclosures_file else None,
        prompts=tuple(str(chosen["system_prompt"]) for chosen in options if chosen.get("system_prompt")),
        response_filter=checked,
        block=looks.filter == "block",
        disclosure_model=masking.packaged_model() if ai_talk and looks.disclosure_classifier != NO_CLASSIFIER else None,
        disclosures=disclosures,
        ask_again=ask_again,
    )
    if in_play := list(names):
        presenter.prepare(in_play)
    return presenter
