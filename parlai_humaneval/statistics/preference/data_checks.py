"""What is odd in a table of turns, though it can be read: replies that lack, models that change, nothing to choose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Ints
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.tables.choices import of_own_rater
from parlai_humaneval.tables.filters import is_set
from parlai_humaneval.tables.validate import picks_one

SHOWN = 3  # As many turns of a kind are named; the others are counted

_STUDY = ["technique", "setting", "metric"]
_RATED = ["dialogue_id", "worker_id"]
_NEEDED = [*_STUDY, *_RATED, "turn", "model", "selected", "written", "seconds", "complete", "none_said", "automatic"]
_NEEDED += ["continued_each", "tick_choices"]


def data_warnings(turns: pd.DataFrame) -> list[str]:
    """Sentences on what may be a mistake in a checked table, or in the study; none of it keeps the table from being
    read."""
    rows = turns[_NEEDED][of_own_rater(turns) & ~is_set(turns, "continued_each")]
    if rows.empty:
        return []
    rows = rows.assign(setting=rows["setting"].fillna(""))
    found: list[str] = []
    for names, part in rows.groupby(_STUDY, sort=True):
        title = ", ".join(str(name) for name in names if name)
        found += [f"{title}: {text}" for text in _of_study(part)]
    return found


def _of_study(rows: pd.DataFrame) -> Iterator[str]:
    dialogue = np.asarray(rows.groupby(_RATED, sort=False).ngroup(), dtype=np.int64)
    turn = np.asarray(rows.groupby([*_RATED, "turn"], sort=False).ngroup(), dtype=np.int64)
    one = pd.Series(rows["model"].to_numpy()).groupby(dialogue).transform("nunique").to_numpy() == 1
    several = np.bincount(turn)[turn] > 1
    one_model = one & (np.bincount(dialogue, weights=several)[dialogue] == 0)
    alone = (picks_one(rows) & rows["tick_choices"].isna().to_numpy(dtype=bool)) & one_model
    if alone.any():
        n, turns = (len(np.unique(codes[alone])) for codes in (dialogue, turn))
        yield (
            f"{counted(n, 'dialogue')} {'has' if n == 1 else 'have'} only one model, although raters choose one of "
            f"several replies, so {counted(turns, 'turn')} in {'it' if n == 1 else 'them'} cannot be counted."
        )
    yield from _nothing_chosen(rows[~alone], turn[~alone])
    yield from _changing_turns(rows, dialogue, turn)


def _nothing_chosen(rows: pd.DataFrame, turn: Ints) -> Iterator[str]:
    """As far as the table tells, these turns were answered: our own say so, others have a time where any turn has one."""
    asked = picks_one(rows) & is_set(rows, "complete", missing=1)
    asked &= ~is_set(rows, "automatic") & ~is_set(rows, "none_said")
    timed = rows["seconds"].notna().to_numpy(dtype=bool)
    if timed.any():
        asked &= timed | rows["complete"].notna().to_numpy(dtype=bool)
    if not asked.any():
        return
    acted = np.bincount(turn, weights=is_set(rows, "selected") | is_set(rows, "written"))
    all_asked = np.unique(turn[asked])
    none = int((acted[all_asked] == 0).sum())
    if none:
        yield (
            f"raters must choose a reply, but did not choose any in {none:,} of {counted(len(all_asked), 'turn')}, so "
            f"{'this turn is' if none == 1 else 'these turns are'} not counted. Check the column selected."
        )


def _changing_turns(rows: pd.DataFrame, dialogue: Ints, turn: Ints) -> Iterator[str]:
    model = pd.factorize(rows["model"])[0]
    distinct = pd.DataFrame({"turn": turn, "model": model}).drop_duplicates()
    in_turn = np.bincount(distinct["turn"])[turn]
    in_dialogue = pd.Series(model).groupby(dialogue).transform("nunique").to_numpy()
    uneven = np.bincount(dialogue, weights=in_turn < in_dialogue)[dialogue] > 0
    lacking, other = [], []
    # Without pandas' groups, as a table may lack a reply in every dialogue.
    shown_in: dict[int, dict[int, set[str]]] = {}
    for code, number, name in zip(dialogue[uneven], rows["turn"][uneven], rows["model"][uneven], strict=True):
        shown_in.setdefault(code, {}).setdefault(number, set()).add(name)
    first = rows["dialogue_id"].iloc[np.unique(dialogue, return_index=True)[1]].tolist()
    for code, by_turn in shown_in.items():
        counts = Counter(frozenset(models) for models in by_turn.values())
        usual = max(counts, key=lambda models: (counts[models], len(models), sorted(models)))
        for number, shown in by_turn.items():
            if shown - usual:
                elsewhere = f"elsewhere {_joined(usual)}"
                other.append(f"dialogue {first[code]} has {_joined(shown)} in turn {number}, {elsewhere}")
            elif shown != usual:
                lacking.append(f"dialogue {first[code]} has no reply of {_joined(usual - shown)} in turn {number}")
    if other:
        yield (
            f"in {counted(len(other), 'turn')}, the models differ from the dialogue's other turns ({_first(other)}). Is a "
            "name misspelt? A dialogue whose models change is analysed separately, as a dialogue of all its models."
        )
    if lacking:
        yield f"in {counted(len(lacking), 'turn')}, some models have no reply ({_first(lacking)})."


def _joined(models: AbstractSet[str]) -> str:
    return ", ".join(sorted(models))


def _first(texts: list[str]) -> str:
    more = len(texts) - SHOWN
    return "; ".join(texts[:SHOWN]) + (f"; and {more:,} more" if more > 0 else "")
