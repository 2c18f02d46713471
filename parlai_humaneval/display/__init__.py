"""The parts of a reply that a rater may see, and here the settings for them."""

from typing import Literal

from pydantic import BaseModel, Field, model_validator
from typing_extensions import Self

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.i18n.translate import worded

Emoji = Literal["keep", "strip"]

NO_CLASSIFIER = "none"
"""As ``disclosure_classifier``: talk of being a program is found by lists alone."""


class ReplyDisplay(BaseModel, extra="forbid", use_attribute_docstrings=True):
    """How replies look, and which are not shown."""

    appearance: Literal["auto", "as_said", "plain", "markdown"] = "auto"
    """How replies look: markdown, as_said, plain or auto. markdown: rendered, the same for all models. as_said: exactly
    as written. plain: without markdown, HTML tags, special tokens or empty lines. auto: markdown if any model is a chat
    LLM or writes markdown in its first reply (in finished dialogues: in any line), otherwise as_said; a study keeps the
    look it began with. A look that only one model has gives it away."""
    emoji: Emoji = "keep"
    """Whether emoji are shown (keep) or removed (strip). Strip them if only one model uses them, and they are not part
    of your question."""
    max_chars: int | None = Field(default=5000, ge=20)
    """Maximum length of a reply on the page, in characters; longer replies are cut after a sentence. null: no limit.
    People do not read pages. A limit that few replies reach changes little."""
    hide_ai_talk: bool | None = None
    """Whether “As an AI language model” and similar phrases are masked; null: only if replies are compared, and not for
    humanness. Such phrases reveal a program, and people then judge that instead of the reply."""
    disclosures_file: str = ""
    """YAML file with model names and phrases by which programs reveal themselves, in addition to the packaged list.
    Your model may use a name that no list knows."""
    disclosure_classifier: str = ""
    """module:function (text → score) that finds phrases that reveal a program, in addition to the packaged lists and
    the packaged classifier for English. Sentences with a score of at least disclosure_threshold are masked. none: turn
    off the packaged classifier as well."""
    disclosure_threshold: float = Field(default=0.5, allow_inf_nan=False)
    """Classifier score from which a sentence counts as revealing that a program wrote it. Lower thresholds mask more,
    including harmless sentences."""
    filter: Literal["none", "mask", "block"] = "none"
    """What happens to offensive replies: none (they are shown), mask (the words are hidden), or block (the model is
    asked again, then left out). This protects raters, but hides a flaw of the model."""
    filter_words_file: str = ""
    """Text file of words for the filter, one per line, in addition to its own list. Other languages and fields have
    other offensive words."""
    filter_classifier: str = ""
    """module:function (text → score) as an additional filter; needs filter=block. Replies can offend without bad
    words."""
    filter_threshold: float = Field(default=0.5, allow_inf_nan=False)
    """Score from which the classifier blocks a reply. Lower thresholds block more, including harmless replies."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.filter == "none" and (self.filter_words_file or self.filter_classifier):
            raise InvalidValue(worded(__file__, "no_filter"))
        if self.disclosure_classifier and self.hide_ai_talk is False:
            raise InvalidValue(worded(__file__, "no_hiding"))
        if self.filter_classifier and self.filter != "block":
            raise InvalidValue(worded(__file__, "whole_replies"))
        return self


class ReplySettings(ReplyDisplay):
    """The same for live replies, with when they appear."""

    streaming: bool = False
    """Whether raters see replies grow word by word while models write them, at the same pace, so speed reveals no
    model. Raters choose when all replies are complete. They wait less, but the papers' raters saw whole replies."""

    ask_again: int = Field(default=2, ge=0, le=10)
    """How often a model is asked for another reply if its reply gives it away (its name, or a phrase that reveals a
    program), before that is masked. 0: mask immediately. The first reply is recorded, with the reason. A new reply
    reads better than one with gaps."""
    typing: Literal["none", "natural", "fixed"] = "none"
    """When replies appear: as soon as all are ready (none), or not before a delay that depends on their length
    (natural) or is typing_seconds (fixed). This hides how fast each model is."""
    typing_seconds: float = Field(default=6.0, gt=0, le=120)
    """Delay in seconds. fixed: time after the rater's message, which should exceed the slowest model's. natural: the
    longest wait. Too long a wait makes people leave."""

    @model_validator(mode="after")
    def _streamable(self) -> Self:
        if self.streaming and self.typing != "none":
            raise InvalidValue(worded(__file__, "typing", typing=self.typing))
        if self.streaming and self.filter == "block":
            raise InvalidValue(worded(__file__, "streamed_filter"))
        if self.streaming and self.disclosure_classifier not in ("", NO_CLASSIFIER):
            raise InvalidValue(worded(__file__, "streamed_classifier"))
        return self
