"""Every answer as a pair of models with a winner, from turns and comparisons, and the style of both texts.

Style is what can be counted without judging: words, and the marks of lists, headers and bold text, as in the style control
of Chatbot Arena (Li, Angelopoulos & Chiang 2024). Code between fences has no marks. Texts are data: they are only counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Floats, Ints, Objects
from parlai_humaneval._util.text import UNSPACED, count_words, json_list
from parlai_humaneval.dialogues.messages import replies_in
from parlai_humaneval.statistics.preference.pairs import GROUP, counted_comparisons, orient_pairs
from parlai_humaneval.tables.choices import ComparisonGroup, choice_groups, first_hand_dialogues
from parlai_humaneval.tables.columns import Tables
from parlai_humaneval.tables.schema import COLUMNS_FILE

STYLE = ("words", "list items", "headers", "bold")
"""What is counted of a reply: words (of Chinese and kana, characters by 1.5), list items, headers, bold stretches."""
_LIST = re.compile(r"\n\s*(?:[-*+]|\d+[.)])(?=\s)")
_HEADER = re.compile(r"\n#{1,6}(?=\s)")
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_COLUMNS = [*GROUP, "model_a", "model_b", "outcome", "first_a", "worker_id", "dialogue_a", "dialogue_b", "turn"]
_COLUMNS += ["judgement_id", "source"]


@lru_cache(maxsize=2)
def paired_answers(tables: Tables) -> pd.DataFrame:
    """A row for each answer about two models: turns, verdicts and finished dialogues, ``model_a`` first in the alphabet.

    ``outcome``: 1 A won, 0 a tie, −1 B won; of several replies of a turn, each pair by itself. ``first_a``: 1 A was shown
    first, 0 B was, nan not known. ``source``: the row of the table of comparisons, −1 of a turn. Turns are those that
    :func:`~parlai_humaneval.tables.choices.choice_groups` counts, comparisons those of :func:`.counted_comparisons`.
    """
    groups = [group for group in choice_groups(tables) if group.kind != "single"]
    of_turns = [rows for group in groups for rows in _of_turns(group)]
    compared = orient_pairs(counted_comparisons(tables))
    asked = {group.family for group in groups}
    design = zip(compared["technique"], compared["setting"], compared["metric"], strict=True)
    again = compared["kind"].eq("turn").to_numpy(dtype=bool) & np.array([one in asked for one in design], dtype=bool)
    compared = compared.assign(source=compared.index)[_COLUMNS][~again]
    parts = [part for part in (*of_turns, compared.astype({"turn": float})) if len(part)]
    every: pd.DataFrame = pd.concat(parts, ignore_index=True) if parts else compared
    return every


def _of_turns(group: ComparisonGroup) -> Iterator[pd.DataFrame]:
    turns, dialogues = group.turns, first_hand_dialogues(group)
    for a, b in combinations(range(len(group.models)), 2):
        both = ~np.isnan(turns.chosen[:, a]) & ~np.isnan(turns.chosen[:, b])
        ahead = np.sign(group.positions[both, b] - group.positions[both, a])
        if not both.any():
            continue
        yield pd.DataFrame(
            {
                **dict(zip(GROUP, (group.technique, group.setting, "turn", group.metric), strict=True)),
                "model_a": group.models[a],
                "model_b": group.models[b],
                "outcome": (turns.chosen[both, a] - turns.chosen[both, b]).astype(int),
                "first_a": np.where(ahead == 0, np.nan, (ahead + 1) / 2),
                "worker_id": turns.workers[both],
                "dialogue_a": dialogues[both],
                "dialogue_b": dialogues[both],
                "turn": turns.turns[both],
                "judgement_id": None,
                "source": -1,
            }
        )


def by_question(pairs: pd.DataFrame) -> Iterator[tuple[dict[str, str], Ints]]:
    """Technique, setting, kind and metric, with the indices of their pairs, sorted by these names."""
    questions = pairs.groupby(list(GROUP), sort=True).ngroup().to_numpy(dtype=np.int64)
    for number in range(int(questions.max(initial=-1)) + 1):
        places = np.flatnonzero(questions == number)
        yield {name: str(pairs[name].iloc[int(places[0])]) for name in GROUP}, places


def style_counts(text: str) -> tuple[float, float, float, float]:
    """Words, list items, headers and bold stretches of a text.

    >>> style_counts('# Two ways' + chr(10) + '- **walk**' + chr(10) + '- take the bus')
    (9.0, 2.0, 1.0, 1.0)
    """
    in_lines = "\n" in text
    if not text.isascii() and UNSPACED.search(text):
        words = count_words(text)
    elif in_lines or "  " in text:
        words = len(text.split())
    else:  # most of 100,000 replies, for which splitting takes half of the time
        words = text.strip().count(" ") + 1
    if "```" in text:
        text = _CODE.sub("", text)
    bold = len(_BOLD.findall(text)) if "**" in text or "__" in text else 0
    if text[:1].isalpha() and not in_lines:
        return float(words), 0.0, 0.0, float(bold)
    lines = f"\n{text}"
    return float(words), float(len(_LIST.findall(lines))), float(len(_HEADER.findall(lines))), float(bold)


def styles_of(tables: Tables, pairs: pd.DataFrame) -> tuple[Floats, Floats]:
    """The styles of A's and of B's texts, pairs × ``STYLE``; nan for an unknown text.

    A turn has its two replies, a verdict or finished dialogue all that the model says in it; otherwise the columns of the
    table of comparisons that hold texts (``reply_columns`` of ``columns.yaml``).
    """
    turns, wanted = tables.turns, pairs["kind"].to_numpy(dtype=object)
    texts = turns.loc[(turns["text"].notna() & turns["own_worker"].isna()).to_numpy(dtype=bool)]
    texts = texts[["dialogue_id", "worker_id", "turn", "model", "text"]]
    live = np.array([style_counts(text) for text in texts["text"].tolist()], dtype=float).reshape(-1, len(STYLE))
    of_turn = [texts[name].to_numpy() for name in ("dialogue_id", "worker_id", "turn", "model")]
    sides = [np.full((len(pairs), len(STYLE)), np.nan) for _ in "ab"]
    keys = [[pairs[name] for name in (f"dialogue_{side}", "worker_id", "turn", f"model_{side}")] for side in "ab"]
    replies, others = np.flatnonzero(wanted == "turn"), np.flatnonzero(wanted != "turn")
    if len(replies):
        names = [[key.to_numpy()[replies] for key in side] for side in keys]
        for found, at in zip(sides, _places_of(of_turn, *names), strict=True):
            found[replies] = np.where((at >= 0)[:, None], live[at] if len(live) else np.nan, np.nan)
    if len(others):
        said = pd.DataFrame(live, columns=list(STYLE)).groupby([of_turn[0], of_turn[3]]).sum()
        whole = pd.concat([part for part in (said, _of_judged(tables.judgements)) if len(part)] or [said])
        whole = whole[~whole.index.duplicated()]
        for found, (dialogue, _, _, model) in zip(sides, keys, strict=True):
            index = pd.MultiIndex.from_arrays([dialogue.iloc[others], model.iloc[others]])
            found[others] = whole.reindex(index).to_numpy(dtype=float) if len(whole) else np.nan
    for own, given in zip(sides, _of_columns(tables.comparisons, pairs), strict=True):
        own[np.isnan(own)] = given[np.isnan(own)]
    return sides[0], sides[1]


def _places_of(known: Sequence[Any], *wanted: Sequence[Any]) -> list[Ints]:
    """Where each of the ``wanted`` keys is among the ``known`` ones, each a list of columns; −1: nowhere."""
    sizes = np.cumsum([len(keys[0]) for keys in (known, *wanted)])[:-1]
    codes = np.zeros(sizes[-1] + len(wanted[-1][0]), dtype=np.int64)
    for columns in zip(known, *wanted, strict=True):
        own = pd.factorize(np.concatenate([np.asarray(column, dtype=object) for column in columns]))
        codes = pd.factorize(codes * (len(own[1]) + 1) + own[0] + 1)[0].astype(np.int64)
    index, *asked = np.split(codes, sizes)
    unique, first = np.unique(index, return_index=True)
    places = np.full(int(codes.max(initial=0)) + 1, -1, dtype=np.int64)
    places[unique] = first
    return [places[one] for one in asked]


def _of_judged(judgements: pd.DataFrame) -> pd.DataFrame:
    """Counts of all lines of each model in each finished dialogue that was shown."""
    known: dict[tuple[str, str], Sequence[float]] = {}
    seen: set[str] = set()
    for names, shown in zip(judgements["dialogues"], judgements["shown"], strict=True):
        if not isinstance(shown, str) or names in seen:
            continue
        seen.add(names)
        for dialogue in (one for one in json_list(shown) if isinstance(one, dict)):
            lines, speakers = dialogue.get("lines") or [], dialogue.get("entities") or []
            for model in dict.fromkeys(map(str, speakers)):
                said = [line["text"] for line in lines if str(speakers[line.get("speaker", 0)]) == model]
                known[str(dialogue.get("dialogue_id")), model] = _total(said)
    index = pd.MultiIndex.from_tuples(list(known), names=["dialogue_id", "model"]) if known else None
    return pd.DataFrame(list(known.values()), index=index, columns=list(STYLE))


def _of_columns(comparisons: pd.DataFrame, pairs: pd.DataFrame) -> list[Floats]:
    """Counts of A and of B by columns of comparisons such as ``response_a`` and ``response_b``."""
    sides = [np.full((len(pairs), len(STYLE)), np.nan) for _ in "ab"]
    stem = next((one for one in COLUMNS_FILE["reply_columns"] if {f"{one}_a", f"{one}_b"} <= {*comparisons}), None)
    at = np.flatnonzero(pairs["source"].to_numpy() >= 0)
    if stem is None or not len(at):
        return sides
    rows = comparisons.loc[pairs["source"].to_numpy()[at]]
    turned = (rows["model_a"].astype(str) != pairs["model_a"].iloc[at].to_numpy()).to_numpy(dtype=bool)
    cells = [rows[f"{stem}_{side}"].to_numpy(dtype=object) for side in "ab"]
    for own, other, into in ((cells[0], cells[1], sides[0]), (cells[1], cells[0], sides[1])):
        for place, cell in zip(at, np.where(turned, other, own), strict=True):
            if isinstance(cell, str):
                into[place] = _total(replies_in(cell))
    return sides


def _total(texts: Sequence[str]) -> Sequence[float]:
    return [sum(one) for one in zip(*map(style_counts, texts), strict=True)] or [0.0] * len(STYLE)


def values_of(tables: Tables, pairs: pd.DataFrame, column: str) -> Objects:
    """The value of ``column`` for each pair, from the table that has it, or None.

    Looked up in comparisons, then in dialogues, turns and judgements by the dialogue of A; ``opener`` is the first message
    of the person where no table has such a column.
    """
    found = np.full(len(pairs), None, dtype=object)
    sources = pairs["source"].to_numpy()
    if column in tables.comparisons and (sources >= 0).any():
        rows = np.flatnonzero(sources >= 0)
        found[rows] = tables.comparisons[column].loc[sources[rows]].to_numpy(dtype=object)
    for frame, keys in (
        (tables.dialogues, ["dialogue_id"]),
        (tables.turns, ["dialogue_id", "turn"]),
        (tables.turns, ["dialogue_id"]),
        (tables.judgements, ["judgement_id"]),
    ):
        name = "human_text" if column == "opener" and "opener" not in frame and keys == ["dialogue_id"] else column
        missing = pd.isna(found)
        if name not in frame or not missing.any():
            continue
        known = frame[frame[name].notna().to_numpy(dtype=bool)]
        known = (known.sort_values("turn", kind="stable") if name == "human_text" else known).drop_duplicates(keys)
        if not len(known):
            continue
        names = [pairs["dialogue_a" if key == "dialogue_id" else key] for key in keys]
        index = pd.MultiIndex.from_arrays(names) if len(names) > 1 else pd.Index(names[0])
        given = known.set_index(keys)[name].reindex(index).to_numpy(dtype=object)
        found = np.where(missing & pd.notna(given), given, found)
    return found
