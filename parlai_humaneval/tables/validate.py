"""Rules within a row, and between the rows of one turn, beyond the type of each column.

The messages name table, column and row, what stands there and what was expected, as those of
:mod:`parlai_humaneval.tables.columns` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval._util.arrays import Flags
from parlai_humaneval._util.data_files import packaged, read_yaml
from parlai_humaneval.tables.columns import HOW_REPEATS, Numbered, TableError, refuse
from parlai_humaneval.tables.filters import MOST_POINTS, SLIDER_MAXIMUM, SLIDER_MINIMUM, is_set, on_sliders
from parlai_humaneval.tables.schema import STUDY, TABLES, TIE, TableName
from parlai_humaneval.techniques.registry import picking, with_trait

RULES: Mapping[str, str] = read_yaml(packaged("table_rules.yaml"))
_DIALOGUES = {"dialogue_a": "model_a", "dialogue_b": "model_b"}
_TURN = ["dialogue_id", "worker_id", "setting", "metric", "turn", "judgement_id"]


def check_rules(table: TableName, frame: pd.DataFrame) -> None:
    """Refuse a table (as :func:`~parlai_humaneval.tables.columns.typed` gives it) with rows that cannot be. Empty cells
    are never refused here, and nothing is changed. Raises TableError."""
    if frame.empty:
        return
    for column in TABLES[table]:
        values = frame[column.name]
        if column.least is not None:
            numbers = values.to_numpy(dtype=float, na_value=np.nan)
            refuse(table, values, numbers < column.least, f"{column.least} or more")
        if column.is_time and values.notna().any():
            known = pd.to_datetime(values, errors="coerce", utc=True, format="ISO8601").notna()
            refuse(table, values, ~known & values.notna(), "an ISO 8601 time, like 2024-05-01T09:30:00+00:00")
    for check in _CHECKS.get(table, ()):
        check(frame)


def _two_models(frame: pd.DataFrame) -> None:
    a, b, winner, tied = (frame[name] for name in ("model_a", "model_b", "winner", "tied"))
    for model in (a, b):
        refuse("comparisons", model, (model == TIE) & tied.isna(), RULES["model"].format(tie=TIE), RULES["rename"])
    refuse("comparisons", b, a == b, RULES["two"])
    known = (winner == a) | (winner == b) | (winner == TIE)
    refuse("comparisons", winner, ~known, words_of_row("winner", {"a": a, "b": b}, tie=TIE))
    refuse("comparisons", winner, (tied == 1) & (winner != TIE), RULES["tied"].format(tie=TIE))
    for column in _DIALOGUES:
        lacks = frame[column].isna() & frame["turn"].notna()
        refuse("comparisons", frame[column], lacks, RULES["dialogue"])
    key = in_alphabet(frame[["item_id", "worker_id", "judgement_id", *STUDY, "model_a", "model_b", *_DIALOGUES]])
    swapped = (a > b).to_numpy(dtype=bool)
    both = key.duplicated(keep=False) & ~key.assign(swapped=swapped).duplicated(keep=False)
    refuse("comparisons", a, both, RULES["swapped"], ("keep one of them", HOW_REPEATS))


def in_alphabet(keys: pd.DataFrame) -> pd.DataFrame:
    """Comparisons with the model first in the alphabet as ``model_a``, with its dialogue."""
    swap, found = (keys["model_a"] > keys["model_b"]).to_numpy(dtype=bool), keys.copy()
    for a, b in (("model_a", "model_b"), ("dialogue_a", "dialogue_b")):
        found[a], found[b] = keys[a].where(~swap, keys[b]), keys[b].where(~swap, keys[a])
    return found


def with_dialogues(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Comparisons in which no dialogue is empty: each item without ids gets two dialogues of its own, one a model. What
    is clustered by dialogue is then clustered by item, the most that is known: the same two dialogues have the same id
    for everybody who judged them. The ids are those of the item and the model with a colon between."""
    empty = {column: comparisons[column].isna().to_numpy(dtype=bool) for column in _DIALOGUES}
    if not any(mask.any() for mask in empty.values()):
        return comparisons
    own = {
        column: (comparisons["item_id"] + ":" + comparisons[model]).where(mask, comparisons[column])
        for (column, model), mask in zip(_DIALOGUES.items(), empty.values(), strict=True)
    }
    return comparisons.assign(**own)


def _scales(frame: pd.DataFrame) -> None:
    value, low, high = (frame[name] for name in ("value", "minimum", "maximum"))
    values, lows, highs = (each.to_numpy(dtype=float, na_value=np.nan) for each in (value, low, high))
    refuse("ratings", high, highs < lows, words_of_row("low", {"end": low}))
    refuse("ratings", value, values < lows, words_of_row("low", {"end": low}))
    refuse("ratings", value, values > highs, words_of_row("high", {"end": high}))
    # Ratings of direct assessment that name no scale of their own are on its sliders.
    sliders, technique = on_sliders(frame), frame["technique"]
    ours = sliders & (technique.isna() | technique.isin(with_trait("sliders"))).to_numpy(dtype=bool)
    for end, limit, beyond, word in (
        (low, SLIDER_MINIMUM, values < SLIDER_MINIMUM, "more"),
        (high, SLIDER_MAXIMUM, values > SLIDER_MAXIMUM, "less"),
    ):
        wanted = RULES["slider"].format(limit=limit, word=word, column=end.name)
        refuse("ratings", value, ours & end.isna().to_numpy(dtype=bool) & beyond, wanted)
    check_criteria(frame, sliders)
    _slider_scales(frame, sliders)


def _one_turn(frame: pd.DataFrame) -> None:
    continued = is_set(frame, "continued")
    # Positions count from 1. A 0 means a failed reply, which nobody could choose; otherwise ``failed`` must be 0.
    unknown = (frame["position"] == 0) & frame["failed"].isna() & (is_set(frame, "selected") | continued)
    refuse("turns", frame["position"], unknown, RULES["place"])
    turn = frame.groupby(_TURN, dropna=False, sort=False).ngroup()
    for column in ("seconds", "written"):
        _same_within(frame[column], turn)
    single = continued & ~is_set(frame, "continued_each")
    _refuse_several(
        frame, turn, single & (np.bincount(turn, weights=single)[turn] > 1), "continued: 1", RULES["continued"]
    )
    refuse("turns", frame["continued"], pd.Series(continued & is_set(frame, "written")), RULES["written"])


def _same_within(values: pd.Series[Any], turn: pd.Series[int]) -> None:
    codes = turn.to_numpy()
    first = np.unique(codes, return_index=True)[1][codes]
    leader = values.iloc[first].set_axis(values.index)
    same = (values == leader).to_numpy(dtype=bool, na_value=False) | (values.isna() & leader.isna())

    def wanted(place: int) -> Numbered:
        there = leader.iloc[place]
        return f"{'an empty cell' if pd.isna(there) else there} as in row ", int(first[place]), " of the same turn"

    refuse("turns", values, pd.Series(~same, values.index), wanted)


def _refuse_several(frame: pd.DataFrame, turn: pd.Series[int], several: Flags, what: str, why: str) -> None:
    places = np.flatnonzero(several)
    if len(places):
        first = places[0]
        start, *others = [int(place) for place in places if turn.iloc[place] == turn.iloc[first]]
        one_turn = f"(dialogue_id {frame['dialogue_id'].iloc[first]!r}, turn {frame['turn'].iloc[first]})"
        rows: Numbered = (start, *(part for place in others for part in (", ", place)))
        raise TableError((f"turns.{what} in rows ", *rows, f", which are one turn {one_turn}{why}"), places.tolist())


def picks_one(turns: pd.DataFrame) -> Flags:
    """Rows of turns whose technique, or its setting, has one reply of a turn chosen."""
    technique, setting = turns["technique"], turns["setting"]
    one = picking("one")
    return (_named(technique, one) | _named(setting, one)) & ~_named(setting, picking("any"))


def _named(column: pd.Series[Any], names: frozenset[str]) -> Flags:
    there = [value for value in column.unique() if isinstance(value, str) and value.lower() in names]
    return np.asarray(column.isin(there).to_numpy(dtype=bool))


def _one_pick(frame: pd.DataFrame) -> None:
    """Where one reply is chosen, one place is. Equal replies may share it, and are chosen together. Ranks by raters who
    judged a turn again do not count as picks: several replies can be the best."""
    apart = picks_one(frame) & (frame["same_as"].isna() & frame["rank"].isna()).to_numpy(dtype=bool)
    apart &= ~(is_set(frame, "failed") | is_set(frame, "continued_each"))
    if not apart.any():
        return
    turn = frame.groupby(_TURN, dropna=False, sort=False).ngroup()
    position = frame["position"].to_numpy(dtype=np.int64)
    # A place that is not known (0) is one of its own.
    place = np.where(position > 0, position, 1 + position.max() + np.arange(len(frame)))
    card = np.unique(turn.to_numpy() * (1 + place.max()) + place, return_inverse=True)[1]
    # Replies of one place are one reply said by several models. Our own tables say so in same_as.
    selected = is_set(frame, "selected")
    n, picked, named = (
        np.bincount(card, weights=apart & what)
        for what in (apart, selected, frame["candidate_id"].notna().to_numpy(dtype=bool))
    )
    wrong = (n > 1) & (((picked > 0) & (picked < n)) | (named > 0))
    _refuse_several(frame, turn, apart & wrong[card], "position: the same", RULES["position"])
    chosen = apart & selected
    first = chosen & ~pd.Series(np.where(chosen, card, -1)).duplicated().to_numpy(dtype=bool)
    _refuse_several(
        frame, turn, chosen & (np.bincount(turn, weights=first)[turn] > 1), "selected: 1", RULES["selected"]
    )


FEWEST = 4
"""From so many ratings on, a criterion or worker without one above ten is taken to be on a scale of a few points."""
MOST_SHORT_VALUES = 3
"""A worker who gave so many different values, all from 1 to 10, did not move a slider from 0 to 100."""
STEP = 0.5  # Scales of a few points have points, or points and halves; shares have any value up to one
_ENDS = ["minimum", "maximum"]
NAME_THEM = RULES["ends"]


def check_criteria(ratings: pd.DataFrame, sliders: Flags) -> None:
    """Every criterion of one technique, setting and metric has one scale, those on ``sliders`` apart from the others.
    Raises TableError."""
    groups = [*(ratings[name].fillna("") for name in (*STUDY, "criterion")), pd.Series(sliders, index=ratings.index)]
    _refuse_others(ratings, groups, ratings[_ENDS].astype(float), RULES["criterion"])


def check_sliders(sliders: pd.DataFrame, *, unnamed: bool = False) -> None:
    """Sliders of one technique have the same ends, as each worker's ratings are standardised together. ``unnamed``:
    also those whose ends no column names, which are taken for 0 and 100. Raises TableError."""
    ends: pd.DataFrame = sliders[_ENDS].astype(float)
    if unnamed:
        ends = ends.fillna({"minimum": SLIDER_MINIMUM, "maximum": SLIDER_MAXIMUM})
    _refuse_others(sliders, [sliders["technique"].fillna("")], ends, RULES["technique"])


def _refuse_others(ratings: pd.DataFrame, groups: list[pd.Series[Any]], ends: pd.DataFrame, why: str) -> None:
    if ends.drop_duplicates().dropna(how="all").shape[0] < 2:
        return
    first = ends.groupby(groups, sort=False).transform("first")
    for column in _ENDS:
        wrong = ends[column].notna() & (ends[column] != first[column])
        refuse("ratings", ratings[column], wrong, words_of_row("first", {"end": first[column]}, why=why))


def words_of_row(rule: str, of_rows: Mapping[str, pd.Series[Any]], **facts: object) -> Callable[[int], str]:
    """The values that a rule expects in the row at a place: with its values, and with ``facts``."""
    return lambda place: RULES[rule].format(**facts, **{name: values.iloc[place] for name, values in of_rows.items()})


def _slider_scales(ratings: pd.DataFrame, sliders: Flags) -> None:
    """Refuse sliders of one technique with different ends. If no column names the scales of a technique, also refuse
    criteria or workers with only points and halves up to ten, or only shares up to one, if others exceed these."""
    check_sliders(ratings[sliders])
    rows = ratings[(ratings["scale"].isna() & ratings["maximum"].isna()).to_numpy(dtype=bool) & sliders]
    technique, value = rows["technique"].fillna(""), rows["value"].astype(float)
    highest = value.groupby(technique, sort=False).transform("max")
    several = highest > MOST_POINTS
    if not several.any():
        return
    for column, lowest, fewest_values, who in (
        ("criterion", 0, 2, "on"),
        ("worker_id", 1, MOST_SHORT_VALUES, "of rater"),
    ):
        keys = [technique, rows["setting"].fillna(""), rows[column]]
        own = value.groupby(keys, sort=False)
        shares = own.transform("max") <= 1
        points = (own.transform("min") >= lowest) & ((value % STEP) == 0).groupby(keys, sort=False).transform("all")
        short = (
            several
            & (own.transform("max") <= MOST_POINTS)
            & (own.transform("size") >= FEWEST)
            & (own.transform("nunique") >= fewest_values)
            & (points | shares)
        )
        wrong = pd.Series(False, index=ratings.index)
        wrong[rows.index[short]] = True
        of_rows = {"name": ratings[column], "most": highest.reindex(ratings.index)}
        wanted = words_of_row("short", of_rows, ends=NAME_THEM, who=who, points=MOST_POINTS)
        refuse("ratings", ratings["value"], wrong, wanted)


_CHECKS: Mapping[TableName, tuple[Callable[[pd.DataFrame], None], ...]] = {
    "turns": (_one_turn, _one_pick),
    "comparisons": (_two_models,),
    "ratings": (_scales,),
}
