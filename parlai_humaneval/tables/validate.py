"""What must hold within a row, and between the rows of one turn, beyond the type of each column.

The messages name table, column and row, what stands there and what was expected, as those of
:mod:`parlai_humaneval.tables.columns` do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.tables.columns import HOW_REPEATS, TableError, refuse
from parlai_humaneval.tables.filters import SLIDER_MAXIMUM, SLIDER_MINIMUM, on_sliders
from parlai_humaneval.tables.scales import check_scales
from parlai_humaneval.tables.schema import TIE, TableName
from parlai_humaneval.techniques.registry import picking

LEAST: Mapping[TableName, Mapping[str, int]] = {
    "turns": {"turn": 1, "position": 0, "seconds": 0, "latency_s": 0, "rank": 1},
    "dialogues": {"seconds": 0, "n_turns": 0, "n_turns_started": 0, "final_seconds": 0},
    "comparisons": {"seconds": 0, "turn": 1, "position_a": 0, "side": 1, "rank_a": 1, "rank_b": 1},
    "ratings": {"seconds": 0},
    "points": {"points": 0, "rank": 1, "n_turns": 0},
    "segments": {"k": 1, "seconds": 0},
    "judgements": {"seconds": 0},
}
"""Table → column → smallest value that it may have."""

_DIALOGUES = {"dialogue_a": "model_a", "dialogue_b": "model_b"}
_TURN = ["dialogue_id", "worker_id", "setting", "metric", "turn", "judgement_id"]


def check_rules(table: TableName, frame: pd.DataFrame) -> None:
    """Refuse a table (as :func:`~parlai_humaneval.tables.columns.typed` gives it) with rows that cannot be.

    Empty cells are never refused here. Nothing is changed.

    Raises:
        TableError: a value below the least possible one; a place 0 of a reply that was chosen; a winner that is
            neither model nor tie; a model compared with itself, called ``tie``, or with another once more the other way
            round; a rating outside its own scale, or on another scale than those it is counted with; a time that is no
            ISO 8601 time; rows of one turn that contradict each other (several replies with which the dialogue went on,
            different seconds …), or the technique (several replies chosen where one is); a comparison of a
            turn without its dialogue.
    """
    if frame.empty:
        return
    for column, least in LEAST[table].items():
        refuse(table, column, frame[column], _holds(frame[column] < least), f"{least} or more")
    for check in _CHECKS.get(table, ()):
        check(frame)


def _holds(mask: pd.Series[Any]) -> pd.Series[bool]:
    held: pd.Series[bool] = mask.fillna(False).astype(bool)
    return held


def _known_places(frame: pd.DataFrame) -> None:
    """Places count from 1. A 0 stands for a reply that failed, which nobody could choose; else ``failed`` must say 0."""
    chosen = _holds(frame["selected"] == 1) | _holds(frame["continued"] == 1)
    nowhere = _holds(frame["position"] == 0) & frame["failed"].isna() & chosen
    wanted = (
        "1 or more, as this reply was chosen: the first place is 1. 0 is for replies that failed; where places are not "
        "known, add a column failed with 0"
    )
    refuse("turns", "position", frame["position"], nowhere, wanted)


def _two_models(frame: pd.DataFrame) -> None:
    models, winner = frame[["model_a", "model_b"]], frame["winner"]
    for column in models:
        name = f"a model's name: {TIE!r} stands for a comparison that nobody won"
        advice = "call the model otherwise, or say in a column tied which comparisons nobody won"
        refuse("comparisons", str(column), models[column], (models[column] == TIE) & frame["tied"].isna(), name, advice)
    same = models["model_a"] == models["model_b"]
    refuse(
        "comparisons", "model_b", models["model_b"], same, "another model than model_a, as a model has no winner alone"
    )
    known = (winner == models["model_a"]) | (winner == models["model_b"]) | (winner == TIE)

    def wanted(place: int) -> str:
        return f"{models['model_a'].iloc[place]!r} (model_a), {models['model_b'].iloc[place]!r} (model_b) or {TIE!r}"

    refuse("comparisons", "winner", winner, ~known, wanted)
    refuse("comparisons", "winner", winner, _holds(frame["tied"] == 1) & (winner != TIE), f"{TIE!r}, as tied is 1")
    for column in _DIALOGUES:
        lacks = frame[column].isna() & frame["turn"].notna()
        refuse("comparisons", column, frame[column], lacks, "the dialogue of the turn that is given")
    swapped = (frame["model_a"] > frame["model_b"]).to_numpy(dtype=bool)
    key: pd.DataFrame = frame[["item_id", "worker_id", "judgement_id", "technique", "setting", "metric"]].copy()
    for a, b in (("model_a", "model_b"), ("dialogue_a", "dialogue_b")):
        key[a], key[b] = frame[a].where(~swapped, frame[b]), frame[b].where(~swapped, frame[a])
    both = key.duplicated(keep=False) & ~key.assign(swapped=swapped).duplicated(keep=False)
    refuse(
        "comparisons",
        "model_a",
        frame["model_a"],
        both,
        "each item once a worker and metric: this one stands there with model_a and model_b swapped, too",
        ("keep one of them", HOW_REPEATS),
    )


def with_dialogues(comparisons: pd.DataFrame) -> pd.DataFrame:
    """Comparisons in which no dialogue is empty: each item without ids gets two dialogues of its own, one a model.

    What is clustered by dialogue is then clustered by item, the most that is known: the same two dialogues have the same
    id for everybody who judged them. The ids are those of the item and the model with a colon between.
    """
    empty = {column: comparisons[column].isna().to_numpy(dtype=bool) for column in _DIALOGUES}
    if not any(mask.any() for mask in empty.values()):
        return comparisons
    own = {
        column: (comparisons["item_id"] + ":" + comparisons[model]).where(mask, comparisons[column])
        for (column, model), mask in zip(_DIALOGUES.items(), empty.values(), strict=True)
    }
    assigned: pd.DataFrame = comparisons.assign(**own)
    return assigned


def _own_scale(frame: pd.DataFrame) -> None:
    value, low, high = (frame[name] for name in ("value", "minimum", "maximum"))
    refuse("ratings", "maximum", high, _holds(high < low), lambda place: f"{low.iloc[place]:g} (minimum) or more")
    refuse("ratings", "value", value, _holds(value < low), lambda place: f"{low.iloc[place]:g} (minimum) or more")
    refuse("ratings", "value", value, _holds(value > high), lambda place: f"{high.iloc[place]:g} (maximum) or less")
    _on_slider(frame)


def _on_slider(frame: pd.DataFrame) -> None:
    """Ratings of direct assessment that name no scale of their own are on its sliders."""
    value, technique = frame["value"], frame["technique"]
    sliders = pd.Series(on_sliders(frame), index=frame.index) & (technique.isna() | (technique == "direct_assessment"))
    for column, end, beyond, word in (
        ("minimum", SLIDER_MINIMUM, value < SLIDER_MINIMUM, "more"),
        ("maximum", SLIDER_MAXIMUM, value > SLIDER_MAXIMUM, "less"),
    ):
        wanted = f"{end:g} or {word}, the end of a slider; a column {column} says so where the scale is another"
        refuse("ratings", "value", value, sliders & frame[column].isna() & _holds(beyond), wanted)


def _started(table: TableName) -> Callable[[pd.DataFrame], None]:
    def check(frame: pd.DataFrame) -> None:
        times = frame["started"]
        known = pd.to_datetime(times, errors="coerce", utc=True, format="ISO8601").notna()
        refuse(table, "started", times, ~(known | times.isna()), "an ISO 8601 time, like 2024-05-01T09:30:00+00:00")

    return check


def _one_turn(frame: pd.DataFrame) -> None:
    turn = frame.groupby(_TURN, dropna=False, sort=False).ngroup()
    for column in ("seconds", "written"):
        _same_within(frame, turn, column)
    continued = _holds(frame["continued"] == 1)
    single = continued & ~_holds(frame["continued_each"] == 1)
    counts = np.bincount(turn.to_numpy(), weights=single.to_numpy(dtype=float))
    _refuse_several(
        frame,
        turn,
        single & (counts[turn.to_numpy()] > 1),
        "continued: 1",
        "; a dialogue goes on with one reply. Put 0 in the others, or 1 in continued_each where every model went on with "
        "its own.",
    )
    refuse(
        "turns",
        "continued",
        frame["continued"],
        continued & _holds(frame["written"] == 1),
        "0, as written is 1: the dialogue went on with what the rater wrote",
    )


def _same_within(frame: pd.DataFrame, turn: pd.Series[int], column: str) -> None:
    values = frame[column]
    codes = turn.to_numpy()
    first = np.unique(codes, return_index=True)[1][codes]
    leader = values.iloc[first].set_axis(frame.index)
    differs = ~(_holds(values == leader) | (values.isna() & leader.isna()))

    def wanted(place: int) -> str:
        there = leader.iloc[place]
        return f"{'an empty cell' if pd.isna(there) else there} as in row {first[place] + 1} of the same turn"

    refuse("turns", column, values, differs, wanted)


def _refuse_several(frame: pd.DataFrame, turn: pd.Series[int], several: pd.Series[bool], what: str, why: str) -> None:
    if several.any():
        places = np.flatnonzero(several.to_numpy())
        first = places[0]
        rows = [int(place) + 1 for place in places if turn.iloc[place] == turn.iloc[first]]
        raise TableError(
            f"turns.{what} in rows {', '.join(map(str, rows))}, which are one turn (dialogue_id "
            f"{frame['dialogue_id'].iloc[first]!r}, turn {frame['turn'].iloc[first]}){why}",
            places.tolist(),
        )


def picks_one(turns: pd.DataFrame) -> npt.NDArray[np.bool_]:
    """Rows of turns whose technique, or its setting, has one reply of a turn chosen."""
    technique, setting = turns["technique"], turns["setting"]
    one = picking("one")
    return (_named(technique, one) | _named(setting, one)) & ~_named(setting, picking("any"))


def _named(column: pd.Series[Any], names: frozenset[str]) -> npt.NDArray[np.bool_]:
    there = [value for value in column.unique() if isinstance(value, str) and value.lower() in names]
    return np.asarray(column.isin(there).to_numpy(dtype=bool))


def _one_pick(frame: pd.DataFrame) -> None:
    """Where one reply is chosen, one place is. Equal replies may share it, and are chosen together.

    Ranks of those who judged a turn once more are no picks: several replies can be the best.
    """
    apart = picks_one(frame) & (frame["same_as"].isna() & frame["rank"].isna()).to_numpy(dtype=bool)
    apart &= ~(_holds(frame["failed"] == 1) | _holds(frame["continued_each"] == 1)).to_numpy(dtype=bool)
    if not apart.any():
        return
    turn = frame.groupby(_TURN, dropna=False, sort=False).ngroup()
    position = frame["position"].to_numpy(dtype=np.int64)
    # A place that is not known (0) is one of its own.
    place = np.where(position > 0, position, 1 + position.max() + np.arange(len(frame)))
    card = np.unique(turn.to_numpy() * (1 + place.max()) + place, return_inverse=True)[1]
    _one_card(frame, turn, card, apart)
    chosen = apart & (frame["selected"] == 1).to_numpy(dtype=bool)
    first = chosen & ~pd.Series(np.where(chosen, card, -1)).duplicated().to_numpy(dtype=bool)
    counts = np.bincount(turn.to_numpy(), weights=first)
    _refuse_several(
        frame,
        turn,
        pd.Series(chosen & (counts[turn.to_numpy()] > 1), index=frame.index),
        "selected: 1",
        "; this technique has one reply chosen. Keep 1 in the row that was chosen. Where both said the same and were shown "
        "as one reply, same_as says so (candidate_id of the other); where any number may be chosen, the setting is "
        "sata_user or sata_random.",
    )


def _one_card(
    frame: pd.DataFrame, turn: pd.Series[int], card: npt.NDArray[np.int64], apart: npt.NDArray[np.bool_]
) -> None:
    """Replies of one place are one reply said by several models. Our own tables say so in ``same_as``."""
    size = int(card.max()) + 1
    selected = (frame["selected"] == 1).to_numpy(dtype=bool)
    n = np.bincount(card, weights=apart, minlength=size)
    picked = np.bincount(card, weights=apart & selected, minlength=size)
    named = np.bincount(card, weights=apart & frame["candidate_id"].notna().to_numpy(dtype=bool), minlength=size)
    wrong = (n > 1) & (((picked > 0) & (picked < n)) | (named > 0))
    _refuse_several(
        frame,
        turn,
        pd.Series(apart & wrong[card], index=frame.index),
        "position: the same",
        "; two replies stand in two places. Replies that were equal and shown as one are chosen together, and all but one "
        "have same_as (candidate_id of that one). Where places are not known, put 0, and 0 in a column failed.",
    )


_CHECKS: Mapping[TableName, tuple[Callable[[pd.DataFrame], None], ...]] = {
    "turns": (_known_places, _one_turn, _one_pick),
    "dialogues": (_started("dialogues"),),
    "comparisons": (_two_models,),
    "ratings": (_own_scale, check_scales),
    "points": (_started("points"),),
    "judgements": (_started("judgements"),),
}
