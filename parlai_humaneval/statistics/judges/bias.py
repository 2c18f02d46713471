"""What judges, which are models, go by beside the replies: the place in which they stand, and their length.

Both orders of the same candidates are asked, so that a judge that goes by what it reads chooses what stands first half of
the time (of two), and the same in both orders.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pandas as pd

from parlai_humaneval.statistics.core.clustered import cluster_sums, clustered_share
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.pairs import is_turn, orient_pairs
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.filters import finished, is_set

SOURCE = "Zheng et al. 2023, §3.3"
OF_CHOICE = ["worker", "technique", "setting", "metric", "thing", "order"]
COLUMNS = [*OF_CHOICE, "dialogue", "options", "answer", "first", "longest"]


def choices(tables: Tables, lengths: Mapping[str, int] | None = None) -> pd.DataFrame:
    """A row for each choice among replies or dialogues, of raters or of judges.

    ``thing``: what was chosen from; ``order``: of a judge, else 1. ``options``: how many there were; ``answer``: what was
    chosen, sorted, or tie. ``first``: 1 where the one that was chosen stood first, and ``longest`` where it was the
    longest of all; nan where none or several were chosen, or lengths are equal or not known.

    Args:
        tables: of raters, or of judges.
        lengths: dialogue → letters of the speaker who is judged there, for choices between dialogues.

    Assumes nothing of the answers: they are only gathered.

    Source: Zheng et al. 2023, §3.3.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> found = choices(example_tables())
    >>> sorted(found['options'].unique().tolist())
    [2, 3]
    """
    parts = [part for part in (_of_turns(tables.turns), _of_whole(tables.comparisons, lengths or {})) if len(part)]
    found: pd.DataFrame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=COLUMNS)
    return found


def first_chosen(chosen: pd.DataFrame, *, name: str = "first shown chosen", level: float = 0.95) -> Result:
    """How often what stood first was chosen, tested against chance; ``chosen``: of :func:`choices`, of as many options.

    Above chance: what stands first is preferred. Assumes that dialogues are independent of each other.

    Source: Zheng et al. 2023, §3.3.

    >>> rows = pd.DataFrame({'first': [1, 1, 1, 0] * 3, 'options': 2, 'dialogue': list('aabbccddeeff')})
    >>> print(first_chosen(rows))
    first shown chosen: 0.750, 95% interval 0.500 to 0.945, statistic 2.236, p = .25, n = 12 [sign-flip test, clustered by
    dialogue; near 0 and 1 binomial of the effective number of answers]
    """
    return _share(chosen, "first", chosen["options"], name, level)


def longest_chosen(chosen: pd.DataFrame, *, name: str = "longest chosen", level: float = 0.95) -> Result:
    """How often the longest was chosen, as :func:`first_chosen`. People may prefer long replies, too: read it beside theirs.

    Assumes that dialogues are independent of each other.

    Source: Zheng et al. 2023, §3.3.

    >>> rows = pd.DataFrame({'longest': [1, 0] * 6, 'options': 2, 'dialogue': list('aabbccddeeff')})
    >>> longest_chosen(rows).estimate
    0.5
    """
    return _share(chosen, "longest", chosen["options"], name, level)


def inconsistent(chosen: pd.DataFrame, *, name: str = "changed with the order", level: float = 0.95) -> Result:
    """Of things that a judge was asked about in both orders: how often it answered otherwise in the second.

    0 is a judge that does not mind the order; one that always takes what stands first has 1. Assumes that dialogues are
    independent of each other.

    Source: Zheng et al. 2023, §3.3.

    >>> rows = pd.DataFrame(dict.fromkeys(OF_CHOICE[:4], 'x'), index=range(4))
    >>> rows = rows.assign(thing=list('ppqq'), order=[1, 2, 1, 2], dialogue=list('aabb'), answer=list('mnmm'))
    >>> inconsistent(rows).estimate
    0.5
    """
    keys = [key for key in OF_CHOICE if key != "order"]
    both = chosen.groupby(keys, sort=False).agg(
        orders=("order", "nunique"), answers=("answer", "nunique"), dialogue=("dialogue", "first")
    )
    both = both[both["orders"] == 2]
    changed = np.asarray(both["answers"] > 1, dtype=float)
    sums = cluster_sums(changed, np.ones(len(both)), both["dialogue"].to_numpy(dtype=object))
    return clustered_share(sums, name=name, level=level, cluster="dialogue").but(p_value=None, statistic=None)


def _share(chosen: pd.DataFrame, what: str, options: pd.Series[int], name: str, level: float) -> Result:
    values = chosen[what].to_numpy(dtype=float)
    known = ~np.isnan(values)
    chance = float(1 / options.iloc[0]) if len(options) else 0.5
    sums = cluster_sums(values[known], np.ones(int(known.sum())), chosen["dialogue"].to_numpy(dtype=object)[known])
    return clustered_share(sums, name=name, null=chance, level=level, cluster="dialogue")


def _of_turns(turns: pd.DataFrame) -> pd.DataFrame:
    """Replies of one turn among which was chosen; equal ones, which were shown as one, are one."""
    asked = ~is_set(turns, "automatic") & ~is_set(turns, "continued_each") & is_set(turns, "complete", missing=1)
    cards = turns["same_as"].isna() & turns["rank"].isna() & turns["tick_choices"].isna()
    rows: pd.DataFrame = turns[finished(turns) & asked & cards.to_numpy(dtype=bool) & ~is_set(turns, "failed")]
    if rows.empty:
        nothing: pd.DataFrame = pd.DataFrame(columns=COLUMNS)
        return nothing
    length = rows["text"].str.len().to_numpy(dtype=float)
    said: pd.DataFrame = pd.DataFrame(
        {
            **_named(rows),
            "thing": (rows["dialogue_id"].astype(str) + ":" + rows["turn"].astype(str)).to_numpy(dtype=object),
            "dialogue": rows["dialogue_id"].to_numpy(dtype=object),
            "card": rows["candidate_id"].fillna(rows["model"]).to_numpy(dtype=object),
            "selected": rows["selected"].to_numpy(dtype=int),
            "first": (rows["position"].to_numpy(dtype=int) == 1).astype(float),
            "length": length,
        },
        index=range(len(rows)),
    )
    turn = said.groupby(OF_CHOICE, sort=False).ngroup()
    cards, longest = said.groupby(turn)["length"].transform("size"), said.groupby(turn)["length"].transform("max")
    is_longest = said["length"] == longest
    told_apart = is_longest.groupby(turn).transform("sum") == 1
    picked = said[said["selected"] == 1].sort_values("card")
    answer = picked.groupby(turn[picked.index])["card"].agg(lambda names: ";".join(map(str, names)))
    of_one = picked[picked.groupby(turn[picked.index])["card"].transform("size") == 1]
    first = pd.Series(of_one["first"].to_numpy(), index=turn[of_one.index])
    long = is_longest[of_one.index].astype(float).where(told_apart[of_one.index])
    longest_picked = pd.Series(long.to_numpy(), index=turn[of_one.index])
    once = said[~turn.duplicated() & (cards > 1)]
    codes = turn[once.index]
    found: pd.DataFrame = once.assign(
        options=cards[once.index],
        answer=codes.map(answer).fillna(""),
        first=codes.map(first),
        longest=codes.map(longest_picked),
    )[COLUMNS]
    return found


def _of_whole(comparisons: pd.DataFrame, lengths: Mapping[str, int]) -> pd.DataFrame:
    rows = comparisons[finished(comparisons) & ~is_set(comparisons, "automatic")]
    rows = orient_pairs(rows[~is_turn(rows)])
    outcome, first_a = rows["outcome"].to_numpy(dtype=float), rows["first_a"].to_numpy(dtype=float)
    decided = outcome != 0
    first = np.where(decided, np.where(outcome > 0, first_a, 1 - first_a), np.nan)
    sizes = [rows[name].map(lengths).to_numpy(dtype=float, na_value=np.nan) for name in ("dialogue_a", "dialogue_b")]
    longer_a = np.where(sizes[0] == sizes[1], np.nan, (sizes[0] > sizes[1]).astype(float))
    longer_a[np.isnan(sizes[0]) | np.isnan(sizes[1])] = np.nan
    found: pd.DataFrame = pd.DataFrame(
        {
            **_named(rows),
            "thing": rows["item_id"].to_numpy(dtype=object),
            "dialogue": rows["dialogue_a"].to_numpy(dtype=object),
            "options": 2,
            "answer": rows["outcome"].to_numpy(dtype=object),
            "first": first,
            "longest": np.where(decided, np.where(outcome > 0, longer_a, 1 - longer_a), np.nan),
        },
        columns=COLUMNS,
    )
    return found


def _named(rows: pd.DataFrame) -> dict[str, object]:
    order = rows["order"].to_numpy(dtype=int) if "order" in rows else 1
    names = {name: rows[name].fillna("").to_numpy(dtype=object) for name in ("technique", "setting", "metric")}
    return {"worker": rows["worker_id"].to_numpy(dtype=object), **names, "order": order}


def judged_lengths(judgements: pd.DataFrame) -> dict[str, int]:
    """Dialogue → letters of the speaker who is judged there, by the table ``judgements`` of raters.

    Assumes nothing; dialogues of which nobody in particular is judged are left out.

    Source: Zheng et al. 2023, §3.3.

    >>> from parlai_humaneval.tables.example import example_tables
    >>> judged_lengths(example_tables().judgements)
    {}
    """
    found: dict[str, int] = {}
    for cell in judgements["shown"].dropna():
        for shown in json.loads(cell):
            if shown.get("judged") is not None:
                said = (line["text"] for line in shown["lines"] if line["speaker"] == shown["judged"])
                found.setdefault(shown["dialogue_id"], sum(map(len, said)))
    return found
