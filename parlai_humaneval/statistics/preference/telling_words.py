"""Words of raters' reasons that go with one model rather than the others (Monroe, Colaresi & Quinn 2008)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.special import ndtr

from parlai_humaneval._util.text import UNSPACED
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.core.rows import Part
from parlai_humaneval.statistics.preference.reasons import STOP_WORDS

SOURCE = "Monroe, Colaresi & Quinn 2008, Fightin' Words, eq. 16–22"
PRIOR = 100.0
"""Words that the prior weighs as much as, at most: as many as were counted."""
FEWEST = 3
"""A word that fewer raters used is not tested."""
EXAMPLE = 100
"""As many characters of a reason are shown as an example."""
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")
"""A word begins with a letter; what follows may have an apostrophe or hyphen inside."""


class TellingWord(Part):
    """A word of reasons for one model. ``raters``, ``others``: who used it in reasons for this model, for another one.

    ``log_odds``: log ratio of the odds of the word, drawn towards that of all reasons by the prior; ``z``: by its standard
    error; ``p_holm``: two-sided, corrected over all words. ``example``: a reason that has it, cut.
    """

    word: str
    raters: int
    others: int
    log_odds: float
    z: float
    p_holm: float
    example: str


def words_in(text: str) -> set[str]:
    """The words of a text, in lower case, without stop words; of runs of Chinese or kana, every two characters in a row.

    >>> sorted(words_in("It's more detailed, and don't ask me"))
    ['ask', 'detailed']
    >>> sorted(words_in('更有趣'))
    ['更有', '有趣']
    """
    spaced = UNSPACED.sub(" ", text) if not text.isascii() else text
    words = {
        word for word in _WORD.findall(spaced.lower().replace("’", "'")) if word not in STOP_WORDS and len(word) > 1
    }
    if spaced is text:
        return words
    return words | {pair for run in UNSPACED.findall(text) for pair in _pairs(run)}


def _pairs(run: str) -> Iterator[str]:
    yield from (run[at : at + 2] for at in range(max(1, len(run) - 1)))


def telling_words(
    reasons: Mapping[str, Sequence[tuple[str, str]]], *, prior: float = PRIOR
) -> dict[str, list[TellingWord]]:
    """The words of reasons for each model, those that tell it most from the others first; only words that lean towards it.

    Args:
        reasons: of each model, rater and text. A rater counts once for each word and model, however often it is written.
        prior: α₀, as many words as all reasons together weigh in each estimate; at most as many as were counted.

    A z of 4 says that the log odds of the word are four standard errors higher in reasons for this model. ``p_holm`` below
    .05: a word that leans so far by chance is in one of twenty studies. Words go with a choice; they need not be its cause.

    Assumes that raters are independent, and that the uses of a word are few among all words, so that z is normal.
    Source: ``SOURCE``.

    >>> short, kind = ['short', 'short answer', 'short', 'answer'] * 4, ['kind', 'so kind', 'kind answer', 'answer'] * 4
    >>> rated = {'a': [(str(i), text) for i, text in enumerate(short)], 'b': [(str(i), text) for i, text in enumerate(kind)]}
    >>> [(word.word, word.raters, word.others, round(word.z, 1)) for word in telling_words(rated)['a']][:1]
    [('short', 12, 0, 2.8)]
    """
    used: dict[str, Counter[str]] = {}
    examples: dict[tuple[str, str], str] = {}
    for model, texts in reasons.items():
        of_rater: dict[str, set[str]] = {}
        for rater, text in texts:
            words_of_text = words_in(text)
            of_rater.setdefault(rater, set()).update(words_of_text)
            for word in words_of_text:
                examples.setdefault((model, word), text)
        used[model] = Counter(word for words in of_rater.values() for word in words)
    every = sum(used.values(), Counter[str]())
    words = sorted(every)
    table = np.array([[used[model][word] for word in words] for model in used], dtype=float).reshape(len(used), -1)
    total = table.sum(axis=0)
    if len(used) < 2 or not total.sum():
        return {model: [] for model in used}
    alpha = min(prior, float(total.sum())) * total / total.sum()
    others = total - table
    own, rest = table + alpha, others + alpha
    sums = [side.sum(axis=1, keepdims=True) for side in (own, rest)]
    # Of the only word there is the odds are infinite, and tell nothing.
    with np.errstate(divide="ignore", invalid="ignore"):
        log_odds = np.log(own / (sums[0] - own)) - np.log(rest / (sums[1] - rest))
    z = np.nan_to_num(log_odds / np.sqrt(1 / own + 1 / rest), posinf=0.0, neginf=0.0)
    tested = total >= FEWEST
    found: dict[str, list[TellingWord]] = {}
    # What tells the first of two models from the second tells the second from the first: one test, not two.
    of_models = 2 * ndtr(-np.abs(z[: 1 if len(used) == 2 else None, tested]))
    corrected = np.array(holm(of_models.ravel().tolist()), dtype=float).reshape(of_models.shape)
    p_values = np.broadcast_to(corrected, (len(used), corrected.shape[1]))
    for row, model in enumerate(used):
        columns = np.flatnonzero(tested)
        found[model] = [
            TellingWord(
                word=words[column],
                raters=int(table[row, column]),
                others=int(others[row, column]),
                log_odds=float(log_odds[row, column]),
                z=float(z[row, column]),
                p_holm=float(p),
                example=_cut(examples[model, words[column]]),
            )
            for column, p in sorted(zip(columns, p_values[row], strict=True), key=lambda item: -z[row, item[0]])
            if z[row, column] > 0
        ]
    return found


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXAMPLE else f"{line[: EXAMPLE - 1]}…"
