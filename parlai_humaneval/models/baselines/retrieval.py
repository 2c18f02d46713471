"""A retrieval model: the reply that followed the most similar context in a corpus of conversations, by TF-IDF with
cosine similarity (G. Salton and C. Buckley, Information Processing & Management 24(5), 1988)."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from parlai.core.loader import register_agent
from parlai.core.opt import Opt

from parlai_humaneval._util.installing import module_alone
from parlai_humaneval.dialogues.dialogue import Dialogue
from parlai_humaneval.dialogues.files import PACKAGED_CORPUS, load_dialogues
from parlai_humaneval.models.agent.dialogue_agent import DialogueAgent, Line

WEIGHT_OF_LAST = 0.85
"""Share of the partner's last message in the similarity; the rest goes to the bot's line before it."""
NEARLY_BEST = 0.85
"""Replies whose score is at least this share of the best take part in the draw, so that answers vary."""


WEIGHT_OF_PHRASES = 0.4
"""Weight of words and pairs of words relative to the stems of content words alone, which are rarer."""

_stem = lru_cache(maxsize=None)(module_alone("nltk.stem.porter").PorterStemmer().stem)
_STOP_WORDS = module_alone("sklearn.feature_extraction._stop_words").ENGLISH_STOP_WORDS
_WORD = re.compile(r"(?u)\b\w[\w']*\b")


def _content(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP_WORDS]


def _phrases(text: str) -> list[str]:
    words = _WORD.findall(text.lower())
    return [*words, *map(" ".join, pairwise(words))]


KINDS = ((_content, 1.0), (_phrases, WEIGHT_OF_PHRASES))
Term = tuple[int, str]
Postings = dict[Term, tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]]
"""Term → the rows that hold it, and its weight in each."""


@dataclass(frozen=True)
class ReplyIndex:
    """Every reply of a corpus, under the vectors of the two lines before it: the numbers of scikit-learn's vectorizer,
    whose import takes half of the time of a launch."""

    replies: list[str]
    rarity: list[dict[str, float]]
    last: Postings
    before: Postings

    @classmethod
    def build(cls, conversations: Sequence[Dialogue]) -> ReplyIndex:
        """Index ``conversations``, a row for each line that answers another; well under a second for a thousand."""
        rows = [
            (turns[i], turns[i - 1], turns[i - 2] if i > 1 else "")
            for turns in (conversation.texts for conversation in conversations)
            for i in range(1, len(turns))
        ]
        replies, last, before = (list(column) for column in zip(*rows, strict=True))
        rarity = []
        for terms, _ in KINDS:
            holding = Counter(term for text in last for term in set(terms(text)))
            weights = np.log((len(last) + 1) / (np.array(list(holding.values()), float) + 1)) + 1
            rarity.append(dict(zip(holding, weights.tolist(), strict=True)))
        index = cls(replies, rarity, {}, {})
        for texts, postings in ((last, index.last), (before, index.before)):
            found: dict[Term, list[tuple[int, float]]] = {}
            for row, text in enumerate(texts):
                for term, weight in index.vector(text).items():
                    found.setdefault(term, []).append((row, weight))
            for term, places in found.items():
                in_rows, values = zip(*places, strict=True)
                postings[term] = np.array(in_rows), np.array(values)
        return index

    def vector(self, text: str) -> dict[Term, float]:
        """The weights of what is in a text: by how often it is there, and how rare it is; of each kind one long."""
        weights: dict[Term, float] = {}
        for kind, ((terms, share), rarity) in enumerate(zip(KINDS, self.rarity, strict=True)):
            counts = Counter(term for term in terms(text) if term in rarity)
            known = sorted(counts)
            values = (np.log([counts[term] for term in known]) + 1) * [rarity[term] for term in known]
            length = 0.0
            for value in values.tolist():
                length += value * value
            scaled = values / (sqrt(length) or 1) * share
            weights |= {(kind, term): value for term, value in zip(known, scaled.tolist(), strict=True)}
        return weights

    def scores(self, last: str, before: str) -> npt.NDArray[np.float64]:
        """Similarity of every row to this context, from 0; the shape is ``(rows,)``."""
        near = []
        for text, postings in ((last, self.last), (before, self.before)):
            total = np.zeros(len(self.replies))
            for term, weight in self.vector(text).items():
                if term in postings:
                    rows, weights = postings[term]
                    total[rows] += weights * weight
            near.append(total)
        return WEIGHT_OF_LAST * near[0] + (1 - WEIGHT_OF_LAST) * near[1]


@lru_cache(maxsize=1)
def _packaged_index() -> ReplyIndex:
    return ReplyIndex.build(load_dialogues(PACKAGED_CORPUS))


@register_agent("parlai_humaneval/retrieval")
class RetrievalAgent(DialogueAgent):
    """Answers from the corpus, avoiding what has already been said in this dialogue. A persona changes nothing."""

    OPTIONS = "retrieval"
    KNOWN: ClassVar = {"corpus": {"default": str(PACKAGED_CORPUS)}}
    SHARED = ("index",)

    def __init__(self, opt: Opt, shared: dict[str, Any] | None = None) -> None:
        super().__init__(opt, shared)
        self.index: ReplyIndex
        if shared:
            self.index = shared["index"]
        else:
            corpus = Path(opt.get("corpus") or PACKAGED_CORPUS)
            self.index = _packaged_index() if corpus == PACKAGED_CORPUS else ReplyIndex.build(load_dialogues(corpus))

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
            questions = [row for row in rows if replies[row].endswith("?")]
            return replies[rng.choice(questions or rows)]
        near = [row for row in rows if scores[row] >= NEARLY_BEST * scores[rows[0]]]
        return replies[rng.choice(near)]
