"""Raters' reasons for their choices: their length and their words (Smith et al. 2022, App. C.5).

The texts are data of unknown writers, counted here and never shown as anything but text. Words that say nothing of
their own are left out, as in the list of NLTK that the paper used (M. F. Porter's Snowball stop words); “never”, “well”
or “keep” do.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtr

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval._util.data_files import packaged, read_text
from parlai_humaneval._util.text import UNSPACED, on_one_line
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.multiplicity import holm
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Part
from parlai_humaneval.statistics.preference.pairs import counted_comparisons, is_turn, orient_pairs
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set, of_unfinished
from parlai_humaneval.tables.schema import TIE

STOP_WORDS = frozenset(read_text(packaged("stop_words.txt")).split())  # English words that say nothing of their own

Unit = Literal["group", "reason"]

MAX_DOCUMENT_SHARE = 0.8
N_TERMS = 20
NONE_CHOSEN = "none"  # Stands for the chosen model where none was
REASON_COLUMNS = ("technique", "setting", "comparison", "model", "nobody", "worker_id", "reason")
_TURN = ["dialogue_id", "worker_id", "setting", "metric", "turn"]
_TOKEN = re.compile(r"(?u)\b\w\w+\b")  # as scikit-learn's vectoriser cuts words


def reasons(tables: Tables) -> pd.DataFrame:
    """Every written reason, once for each model that it supports, from ``turns`` and ``comparisons``."""
    rows = tables.turns
    own = rows["own_worker"].isna() & rows["judgement_id"].isna() & rows["reason"].notna()
    left = of_unfinished(rows["dialogue_id"], rows["worker_id"], tables.dialogues)
    kept = own.to_numpy(dtype=bool) & finished(rows) & ~left & ~is_set(rows, "failed")
    rows = rows.loc[kept, [*_TURN, "technique", "model", "selected", "reason"]]
    rows = rows.assign(**{name: rows[name].fillna("") for name in ("technique", "setting")})
    turns = np.asarray(rows.groupby(_TURN, sort=False).ngroup(), dtype=np.int64)
    codes, names = pd.factorize(rows["model"], sort=True)
    present = np.zeros((int(turns.max(initial=-1)) + 1, len(names)), dtype=bool)
    present[turns, codes] = True
    sets, of_turn = np.unique(present, axis=0, return_inverse=True)
    words = np.array([";".join(str(name) for name in names[one]) for one in sets], dtype=object)
    of_row = of_turn.reshape(-1)[turns]
    shown, several = words[of_row], sets.sum(axis=1)[of_row] > 1
    # A single model's reason is about its reply, found good or not.
    chosen = is_set(rows, "selected") | ~several
    nobody = ~np.isin(turns, turns[chosen])
    rows = rows.assign(comparison=shown, nobody=False)
    lost = rows[nobody].drop_duplicates(_TURN).assign(model=NONE_CHOSEN, nobody=True)
    of_turns = pd.concat([rows[chosen], lost])[list(REASON_COLUMNS)]
    known = tables.comparisons["reason"].notna().to_numpy(dtype=bool)
    # Turns in the table of turns already have their reasons.
    told = tables.turns.loc[tables.turns["reason"].notna().to_numpy(dtype=bool), "dialogue_id"].unique()
    known = known & ~(is_turn(tables.comparisons) & tables.comparisons["dialogue_a"].isin(told).to_numpy(dtype=bool))
    pairs = orient_pairs(counted_comparisons(replace(tables, comparisons=tables.comparisons[known])))
    picked = np.where(pairs["outcome"] > 0, pairs["model_a"], np.where(pairs["outcome"] < 0, pairs["model_b"], TIE))
    met, tied = pairs["model_a"] + ";" + pairs["model_b"], (pairs["outcome"] == 0).astype(bool)
    named = pairs.assign(comparison=met, model=picked, nobody=tied)[list(REASON_COLUMNS)]
    found: pd.DataFrame = pd.concat([of_turns, named], ignore_index=True)
    return found[np.array([bool(str(text).strip()) for text in found["reason"]], dtype=bool)]


def word_counts(texts: Sequence[str]) -> Floats:
    """The number of words in each text, split at blanks."""
    return np.array([len(str(text).split()) for text in texts], dtype=float)


def mean_words(
    texts: Sequence[str], workers: npt.ArrayLike, *, name: str = "words a reason", level: float = 0.95
) -> Result:
    """Mean number of words, with the interval clustered by rater."""
    return clustered_mean(word_counts(texts), workers, name=name, limits=(0.0, np.inf), level=level)


def top_terms(
    texts: Mapping[str, Sequence[str]],
    *,
    n: int = N_TERMS,
    unit: Unit = "group",
    max_share: float = MAX_DOCUMENT_SHARE,
    stop_words: frozenset[str] = STOP_WORDS,
) -> dict[str, list[tuple[str, float]]]:
    """The terms that weigh most in each group of ``texts`` by TF-IDF, the heaviest first, with their weights."""
    parts = {name: [" ".join(texts[name])] if unit == "group" else list(texts[name]) for name in texts}
    # “don't” is cut in two; so must the list be cut.
    stop = {token for word in stop_words for token in _TOKEN.findall(word)}
    counts = {
        name: [Counter(token for token in _TOKEN.findall(text.lower()) if token not in stop) for text in parts[name]]
        for name in parts
    }
    documents = [document for of_group in counts.values() for document in of_group]
    # The smoothed inverse document frequency, ln((1 + N) / (1 + documents with the term)) + 1.
    total, holding = len(documents), Counter(term for document in documents for term in document)
    rarity = {term: math.log((1 + total) / (1 + k)) + 1 for term, k in holding.items() if k <= max_share * total}
    heaviest = {}
    for name, of_group in counts.items():
        parts_of: dict[str, list[float]] = {}
        for document in of_group:  # mean weights over the documents, each of whose weights have the length 1
            weights = {term: count * rarity[term] for term, count in document.items() if term in rarity}
            length = math.hypot(*weights.values())
            for term, weight in weights.items():
                parts_of.setdefault(term, []).append(weight / length)
        means = {term: math.fsum(of_term) / len(of_group) for term, of_term in parts_of.items()}
        heaviest[name] = sorted(means.items(), key=lambda entry: (-round(entry[1], 12), entry[0]))[:n]
    return heaviest


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
    """A word of reasons for one model. ``raters``, ``others``: raters who used it for this model, for another one.

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
    found = _WORD.findall(spaced.lower().replace("’", "'"))
    words = {word for word in found if word not in STOP_WORDS and len(word) > 1}
    if spaced is text:
        return words
    return words | {run[at : at + 2] for run in UNSPACED.findall(text) for at in range(max(1, len(run) - 1))}


def telling_words(
    reasons: Mapping[str, Sequence[tuple[str, str]]], *, prior: float = PRIOR
) -> dict[str, list[TellingWord]]:
    """The most distinctive words of reasons for each model, the strongest first; only words that favor the model.

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
    # The odds of a single word are infinite, and meaningless.
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
                example=on_one_line(examples[model, words[column]], EXAMPLE),
            )
            for column, p in sorted(zip(columns, p_values[row], strict=True), key=lambda item: -z[row, item[0]])
            if z[row, column] > 0
        ]
    return found
