"""A retrieval model: the reply that followed the most similar context in a corpus of conversations.

TF-IDF with cosine similarity (G. Salton and C. Buckley, “Term-weighting approaches in automatic text
retrieval”, Information Processing & Management 24(5), 1988), computed by scikit-learn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from nltk.stem import PorterStemmer
from parlai.core.loader import register_agent
from parlai.core.opt import Opt
from parlai.core.params import ParlaiParser
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
from sklearn.pipeline import FeatureUnion

from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line

WEIGHT_OF_LAST = 0.85
"""Share of the partner's last message in the similarity; the rest goes to the bot's line before it."""
NEARLY_BEST = 0.85
"""Replies whose score is at least this share of the best take part in the draw, so that answers vary."""


WEIGHT_OF_PHRASES = 0.4
"""What all words and pairs of words count beside the stems of content words alone: “what about you?” is shared by
lines about anything, “bicycles” is not."""

_stem = lru_cache(maxsize=None)(PorterStemmer().stem)
_WORD = re.compile(r"(?u)\b\w[\w']*\b")


def _content(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in ENGLISH_STOP_WORDS]


def _vectorizer() -> FeatureUnion:
    content = TfidfVectorizer(analyzer=_content, sublinear_tf=True)
    phrases = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, token_pattern=_WORD.pattern)
    weights = {"content": 1.0, "phrases": WEIGHT_OF_PHRASES}
    return FeatureUnion([("content", content), ("phrases", phrases)], transformer_weights=weights)


@dataclass(frozen=True)
class ReplyIndex:
    """Every reply of a corpus, under the vectors of the two lines before it."""

    replies: list[str]
    vectorizer: Any
    last: Any
    before: Any

    @classmethod
    def build(cls, conversations: Sequence[Dialogue]) -> ReplyIndex:
        """Index ``conversations``, a row for each line that answers another; well under a second for a thousand."""
        rows = [
            (turns[i], turns[i - 1], turns[i - 2] if i > 1 else "")
            for turns in (conversation.texts for conversation in conversations)
            for i in range(1, len(turns))
        ]
        replies, last, before = (list(column) for column in zip(*rows, strict=True))
        vectorizer = _vectorizer()
        vectors = vectorizer.fit_transform(last)
        return cls(replies, vectorizer, vectors, vectorizer.transform(before))

    def scores(self, last: str, before: str) -> npt.NDArray[np.float64]:
        """Similarity of every row to this context, from 0; the shape is ``(rows,)``."""
        query = self.vectorizer.transform([last, before])
        near_last = (self.last @ query[0].T).toarray().ravel()
        near_before = (self.before @ query[1].T).toarray().ravel()
        total: npt.NDArray[np.float64] = WEIGHT_OF_LAST * near_last + (1 - WEIGHT_OF_LAST) * near_before
        return total


def _index_of(corpus: Path) -> ReplyIndex:
    """That of a file; models of this process that answer from the packaged corpus share one."""
    return _packaged_index() if corpus == PACKAGED_CORPUS else ReplyIndex.build(load_dialogues(corpus))


@lru_cache(maxsize=1)
def _packaged_index() -> ReplyIndex:
    return ReplyIndex.build(load_dialogues(PACKAGED_CORPUS))


@register_agent("parlai_humaneval/retrieval")
class RetrievalAgent(DialogueAgent):
    """Answers from the corpus, avoiding what has already been said in this dialogue.

    A persona changes nothing: what it would have to say stands in the corpus or nowhere.
    """

    @classmethod
    def add_cmdline_args(cls, parser: ParlaiParser, partial_opt: Opt | None = None) -> ParlaiParser:
        super().add_cmdline_args(parser, partial_opt)
        group = parser.add_argument_group("Retrieval arguments")
        group.add_argument(
            "--corpus",
            type=str,
            default=str(PACKAGED_CORPUS),
            help="Conversations to answer from: JSONL, ParlAI's text, fbdialog or Conversations format",
        )
        group.add_argument("--seed", type=int, default=0, help="Decides between replies that fit about equally well")
        return parser

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.index: ReplyIndex = shared["index"] if shared else _index_of(Path(opt.get("corpus") or PACKAGED_CORPUS))

    def share(self) -> dict[str, Any]:
        """The index is shared by all clones."""
        return {**super().share(), "index": self.index}

    def reply(self, dialogue: Sequence[Line], rng: random.Random) -> str:
        replies: list[str] = self.index.replies
        last = dialogue[-1][1]
        before = dialogue[-2][1] if len(dialogue) > 1 else ""
        scores = self.index.scores(last, before)
        said = {text for _, text in dialogue}
        rows: list[int] = [int(row) for row in np.argsort(-scores, kind="stable") if replies[row] not in said]
        if not rows:
            return rng.choice(replies)
        if scores[rows[0]] <= 0:
            return replies[rng.choice(self._questions(rows))]
        near = [row for row in rows if scores[row] >= NEARLY_BEST * scores[rows[0]]]
        return replies[rng.choice(near)]

    def _questions(self, rows: Sequence[int]) -> Sequence[int]:
        return [row for row in rows if self.index.replies[row].endswith("?")] or rows
