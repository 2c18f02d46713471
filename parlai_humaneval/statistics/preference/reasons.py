"""What raters wrote to explain their choices: how long, and in which words (Smith et al. 2022, App. C.5).

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

from parlai_humaneval._util.arrays import Floats
from parlai_humaneval.statistics.core.means import clustered_mean
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import counted_comparisons, is_turn, orient_pairs
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set, of_unfinished
from parlai_humaneval.tables.schema import TIE

_WORDS = """
i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his
himself she she's her hers herself it it's its itself they them their theirs themselves what which who whom this
that that'll these those am is are was were be been being have has had having do does did doing a an the and but if
or because as until while of at by for with about against between into through during before after above below to
from up down in out on off over under again further then once here there when where why how all any both each few
more most other some such no nor not only own same so than too very s t can will just don don't should should've now
d ll m o re ve y ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn
isn't ma mightn mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won
won't wouldn wouldn't
"""

STOP_WORDS = frozenset(_WORDS.split())  # English words that say nothing of their own

Unit = Literal["group", "reason"]

MAX_DOCUMENT_SHARE = 0.8
N_TERMS = 20
NONE_CHOSEN = "none"  # Stands for the chosen model where none was
REASON_COLUMNS = ("technique", "setting", "comparison", "model", "nobody", "worker_id", "reason")
_TURN = ["dialogue_id", "worker_id", "setting", "metric", "turn"]
_TOKEN = re.compile(r"(?u)\b\w\w+\b")  # as scikit-learn's vectoriser cuts words


def reasons(tables: Tables) -> pd.DataFrame:
    """Every written reason once for each model that it speaks for, from ``turns`` and ``comparisons``."""
    of_turns, of_pairs = _of_turns(tables), _of_comparisons(tables)
    found = pd.concat([of_turns, of_pairs], ignore_index=True)
    return found[np.array([bool(str(text).strip()) for text in found["reason"]], dtype=bool)]


def _of_turns(tables: Tables) -> pd.DataFrame:
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
    reasons: pd.DataFrame = pd.concat([rows[chosen], lost])[list(REASON_COLUMNS)]
    return reasons


def _of_comparisons(tables: Tables) -> pd.DataFrame:
    known = tables.comparisons["reason"].notna().to_numpy(dtype=bool)
    # Turns that stand in the table of turns have brought their reasons along.
    told = tables.turns.loc[tables.turns["reason"].notna().to_numpy(dtype=bool), "dialogue_id"].unique()
    known = known & ~(is_turn(tables.comparisons) & tables.comparisons["dialogue_a"].isin(told).to_numpy(dtype=bool))
    rows = orient_pairs(counted_comparisons(replace(tables, comparisons=tables.comparisons[known])))
    chosen = np.where(rows["outcome"] > 0, rows["model_a"], np.where(rows["outcome"] < 0, rows["model_b"], TIE))
    named = rows.assign(
        comparison=rows["model_a"] + ";" + rows["model_b"], model=chosen, nobody=(rows["outcome"] == 0).astype(bool)
    )
    return named[list(REASON_COLUMNS)]


def word_counts(texts: Sequence[str]) -> Floats:
    """Words of each text, cut at blanks."""
    return np.array([len(str(text).split()) for text in texts], dtype=float)


def mean_words(
    texts: Sequence[str], workers: npt.ArrayLike, *, name: str = "words a reason", level: float = 0.95
) -> Result:
    """Mean number of words, with the interval clustered by worker."""
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
