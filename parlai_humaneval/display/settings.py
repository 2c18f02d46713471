"""The settings of how replies are shown, for tasks and for the Bot Speaker on the command line."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import Self

from parlai_humaneval._util.errors import InvalidValue
from parlai_humaneval.display.appearance import Emoji
from parlai_humaneval.display.disclosure_model import packaged_model
from parlai_humaneval.display.filtering import ResponseFilter, TextJudge, load_classifier, read_words
from parlai_humaneval.display.presenter import SettledPresenter
from parlai_humaneval.display.vocabulary import packaged, vocabulary_with

Filtering = Literal["none", "mask", "block"]
AppearanceSetting = Literal["auto", "as_said", "plain", "markdown"]
Typing = Literal["none", "natural", "fixed"]

NO_CLASSIFIER = "none"
"""As ``disclosure_classifier``: talk of being a program is found by lists alone."""


class ReplyLooks(BaseModel):
    """How replies look, and which are not shown."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    appearance: AppearanceSetting = "auto"
    """markdown: drawn, the same for all models. as_said: letter by letter. plain: no markdown, HTML tags, special
    tokens or empty lines. auto: markdown where a model is a chat LLM, else as_said; a study keeps the look that it
    began with. A look that only one model has gives it away."""
    emoji: Emoji = "keep"
    """Whether emoji are shown (keep) or removed (strip). Strip them where one model alone uses them, and they are not
    what you ask about."""
    max_chars: int | None = Field(default=5000, ge=20)
    """Longest reply that is shown; what is over it is cut off after a sentence. null: any length. People do not read
    pages; a limit that few replies reach changes little."""
    hide_ai_talk: bool | None = None
    """Whether “As an AI language model” and the like are masked; null: where replies are compared, unless for
    humanness. Such words give a program away, and people then judge that instead of the reply."""
    disclosures_file: str = ""
    """Names of models, and words by which programs speak of themselves, besides the packaged list: a YAML file. Yours
    may speak of itself by a name that no list knows."""
    disclosure_classifier: str = ""
    """module:function (text → score): finds talk of being a program besides the packaged lists and the packaged
    classifier, which knows English. Sentences that it scores at disclosure_threshold or more are masked. none: not even
    the packaged one is asked."""
    disclosure_threshold: float = Field(default=0.5, allow_inf_nan=False)
    """From this score on the classifier takes a text for talk of being a program. Lower ones mask more, harmless
    sentences among them."""
    filter: Filtering = "none"
    """Offensive replies: none (shown), mask (the words are hidden), or block (the model is asked again, then left out).
    It protects raters, but hides a fault of the model."""
    filter_words_file: str = ""
    """Words that the filter finds besides its own list: a text file with one a line. Words offend in other languages
    and fields than the list's."""
    filter_classifier: str = ""
    """module:function (text → score), asked by the filter as well; needs filter=block. Replies can offend without any
    bad word."""
    filter_threshold: float = Field(default=0.5, allow_inf_nan=False)
    """From this score on the classifier's reply is blocked. Lower ones block more, harmless replies among them."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.filter == "none" and (self.filter_words_file or self.filter_classifier):
            raise InvalidValue(
                "filter_words_file and filter_classifier do nothing with filter=none", try_="say filter=mask or block"
            )
        if self.disclosure_classifier and self.hide_ai_talk is False:
            raise InvalidValue(
                "disclosure_classifier does nothing with hide_ai_talk=false", try_="leave one of them out"
            )
        if self.filter_classifier and self.filter != "block":
            raise InvalidValue(
                "filter_classifier judges whole replies, of which no part can be masked", try_="say filter=block"
            )
        return self


class ReplySettings(ReplyLooks):
    """The same for live replies, with when they appear."""

    ask_again: int = Field(default=2, ge=0, le=10)
    """How often a model whose reply gives it away (its name, talk of being a program) is asked for another one before
    that is masked. What it said first is recorded, with the reason. 0: it is masked at once. A new reply reads better
    than one with gaps."""
    typing: Typing = "none"
    """Replies appear when all are there; with natural not before a time that goes by their length, with fixed not
    before typing_seconds. How fast a model is then does not tell which it is."""
    typing_seconds: float = Field(default=6.0, gt=0, le=120)
    """fixed: seconds after the rater's message; choose more than the slowest model takes. natural: the longest wait.
    Too long a wait makes people leave."""


def presenter_of(
    looks: ReplyLooks,
    options: Iterable[dict[str, Any]],
    *,
    compared: bool,
    ask_again: int = 0,
    names: Iterable[str] = (),
) -> SettledPresenter:
    """What shows replies by these settings.

    Args:
        looks: the settings.
        options: of each model in play; its ``system_prompt`` is not repeated to raters.
        compared: what ``hide_ai_talk`` means where it is not set.
        ask_again: how often a model is asked again whose reply gives it away.
        names: of the models in play: what looks for give-aways of theirs is made at once, and not with the first reply.

    Raises:
        FilterError: the words file or the classifier cannot be used.
        VocabularyError: the same of the file of disclosures.
    """
    checked = None
    if looks.filter != "none":
        words = read_words(Path(looks.filter_words_file).expanduser()) if looks.filter_words_file else []
        classifier = load_classifier(looks.filter_classifier) if looks.filter_classifier else None
        checked = ResponseFilter(words, classifier, looks.filter_threshold)
    ai_talk = compared if looks.hide_ai_talk is None else looks.hide_ai_talk
    disclosures = None
    if ai_talk and looks.disclosure_classifier not in ("", NO_CLASSIFIER):
        finder = load_classifier(looks.disclosure_classifier, "disclosure_classifier")
        disclosures = TextJudge(finder, looks.disclosure_threshold, "the classifier of talk of being a program")
    presenter = SettledPresenter(
        appearance="as_said" if looks.appearance == "auto" else looks.appearance,
        emoji=looks.emoji,
        max_chars=looks.max_chars,
        ai_talk=ai_talk,
        vocabulary=vocabulary_with(Path(looks.disclosures_file).expanduser()) if looks.disclosures_file else packaged(),
        prompts=tuple(str(chosen["system_prompt"]) for chosen in options if chosen.get("system_prompt")),
        response_filter=checked,
        block=looks.filter == "block",
        disclosure_model=packaged_model() if ai_talk and looks.disclosure_classifier != NO_CLASSIFIER else None,
        disclosures=disclosures,
        ask_again=ask_again,
    )
    if in_play := list(names):
        presenter.prepare(in_play)
    return presenter
