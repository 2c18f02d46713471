"""Answers as who said what of which thing: the long form in which the agreement of raters is taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.statistics.pair_wins import oriented
from parlai_humaneval.tables.counting import finished, is_set, nobody_won
from parlai_humaneval.tables.from_records import Tables

Source = Literal["turns", "comparisons", "ratings", "segments"]
Scale = Literal["nominal", "ordinal", "interval"]
Objects = npt.NDArray[np.object_]

CHOSEN = "chosen"
LABELS = {"bot": 0.0, "unsure": 1.0, "human": 2.0}
"""In order, from bot to human."""
OWN_RATER = "own rater"
"""Stands where the table does not name them."""
_GROUP = ["technique", "setting", "metric"]
_MODELS = ("model", "model_a", "model_b", "kind")
"""Columns that say whom an answer is about, in the tables that have them."""


@dataclass(frozen=True)
class Judged:
    """Answers on one question. ``rows``: ``thing``, ``dialogue``, ``turn``, ``worker``, ``label`` (a number), ``own``,
    ``own_worker``; and ``model``, ``model_a``, ``model_b`` and ``kind``, empty where the table has no such column.

    ``own``: what the dialogue's own rater, ``own_worker``, had said of the thing, nan where that is not known.
    """

    source: Source
    technique: str
    setting: str
    metric: str
    what: str
    scale: Scale
    rows: pd.DataFrame

    @property
    def names(self) -> dict[str, Any]:
        """What the question is called in a row."""
        return {name: getattr(self, name) for name in ("source", "technique", "setting", "metric", "what")}

    @property
    def again(self) -> pd.DataFrame:
        """Rows of things of which it is known what the own rater had said."""
        rows: pd.DataFrame = self.rows[self.rows["own"].notna().to_numpy(dtype=bool)]
        return rows


def questions(tables: Tables) -> Iterator[Judged]:
    """All questions that were answered, with all answers."""
    yield from _turns(tables.turns)
    yield from _comparisons(tables)
    yield from _ratings(tables.ratings)
    yield from _segments(tables.segments)


def judged(tables: Tables) -> Iterator[Judged]:
    """Those of which some thing was judged by two people, or by one besides the dialogue's own rater; each thing counts once
    of everybody."""
    for question in questions(tables):
        once = question.rows.drop_duplicates(["thing", "worker"])
        if once["own"].notna().any() or once["thing"].duplicated().any():
            yield replace(question, rows=once)


def _turns(turns: pd.DataFrame) -> Iterator[Judged]:
    """Reply by reply: chosen or not, and each tick; turns that both raters were asked about. Ranks stand elsewhere."""
    asked = ~is_set(turns, "automatic") & ~is_set(turns, "continued_each") & is_set(turns, "complete", missing=1)
    shown = turns["same_as"].isna().to_numpy(dtype=bool) & ~is_set(turns, "failed")
    rows = turns[finished(turns) & asked & shown & turns["rank"].isna().to_numpy(dtype=bool)]
    known = is_set(rows, "own_asked", missing=1)
    ticked = rows["tick_choices"].notna().to_numpy(dtype=bool)
    label = rows["selected"].to_numpy(dtype=float, na_value=np.nan)
    own = np.where(known, rows["own_selected"].to_numpy(dtype=float, na_value=np.nan), np.nan)
    things = [rows["dialogue_id"], rows["turn"], rows["candidate_id"].fillna(rows["model"])]
    # A dialogue that was rated once more keeps the name of its own technique.
    named = rows.assign(
        technique=rows["own_technique"].fillna(rows["technique"]), setting=rows["own_setting"].fillna(rows["setting"])
    )
    said = _said(named, things, named["dialogue_id"], label, own)
    yield from _by_group("turns", said[~ticked], CHOSEN, "nominal")
    choices = dict.fromkeys(name for text in rows["tick_choices"].dropna().unique() for name in str(text).split(";"))
    for name in choices:
        could = np.array([name in str(text).split(";") for text in rows["tick_choices"].fillna("")], dtype=bool)
        again = known & rows["own_worker"].notna().to_numpy(dtype=bool)
        own_tick = np.where(again, _has(rows["own_ticks"], name), np.nan)
        ticks = _said(named, things, named["dialogue_id"], _has(rows["ticks"], name), own_tick)
        yield from _by_group("turns", ticks[ticked & could], name, "nominal")


def _has(ticks: pd.Series[str], name: str) -> npt.NDArray[np.float64]:
    return np.array([float(name in str(text).split(";")) for text in ticks.fillna("")], dtype=float)


def _comparisons(tables: Tables) -> Iterator[Judged]:
    """Who won: B, a tie or A, which is the first in the alphabet."""
    rows = tables.comparisons
    rows = oriented(rows[finished(rows) & ~is_set(rows, "automatic")])
    own = rows["own_winner"]
    lead = ((own == rows["model_a"]).astype(float) - (own == rows["model_b"]).astype(float)) * ~nobody_won(rows, "own_")
    known = np.where(own.notna(), lead, np.nan)
    things = [rows[name] for name in ("kind", "item_id", "model_a", "model_b", "dialogue_a", "dialogue_b", "turn")]
    said = _said(rows, things, rows["dialogue_a"], rows["outcome"].to_numpy(dtype=float), known)
    yield from _by_group("comparisons", said, "winner", "ordinal")


def _ratings(ratings: pd.DataFrame) -> Iterator[Judged]:
    rows = ratings[finished(ratings)]
    own = rows["own_value"].to_numpy(dtype=float, na_value=np.nan)
    named = rows.assign(
        technique=rows["own_technique"].fillna(rows["technique"]), setting=rows["own_setting"].fillna(rows["setting"])
    )
    value = rows["value"].to_numpy(dtype=float, na_value=np.nan)
    things = [rows["dialogue_id"], rows["model"], rows["criterion"]]
    said = _said(named, things, rows["dialogue_id"], value, own)
    for name, part in said.groupby(rows["criterion"].to_numpy(dtype=object), sort=True):
        yield from _by_group("ratings", part, str(name), "interval")


def _segments(segments: pd.DataFrame) -> Iterator[Judged]:
    rows = segments[finished(segments)]
    nobody = np.full(len(rows), np.nan)
    things = [rows["dialogue_id"], rows["k"], rows["entity"]]
    said = _said(rows, things, rows["dialogue_id"], rows["label"].map(LABELS).to_numpy(dtype=float), nobody)
    yield from _by_group("segments", said, "label", "ordinal")


def _said(
    rows: pd.DataFrame,
    things: Sequence[pd.Series[Any]],
    dialogues: pd.Series[str],
    label: npt.ArrayLike,
    own: npt.ArrayLike,
) -> pd.DataFrame:
    """Rows of :class:`Judged`, with what they are grouped by; ``things``: columns that name a thing together."""
    names = pd.DataFrame(dict(enumerate(things)))
    codes: npt.ArrayLike = names.groupby(list(names.columns), sort=False, dropna=False).ngroup() if len(names) else []
    said: pd.DataFrame = pd.DataFrame(
        {
            **{name: rows[name].fillna("").to_numpy(dtype=object) for name in _GROUP},
            "thing": np.asarray(codes, dtype=int),
            "dialogue": dialogues.to_numpy(dtype=object),
            "worker": rows["worker_id"].to_numpy(dtype=object),
            "label": np.asarray(label, dtype=float),
            "own": np.asarray(own, dtype=float),
            "own_worker": _own_workers(rows),
            "turn": rows["turn"].to_numpy(dtype=float, na_value=np.nan) if "turn" in rows else np.nan,
            **{name: rows[name].to_numpy(dtype=object) if name in rows else "" for name in _MODELS},
        },
        index=rows.index,
    )
    return said


def _own_workers(rows: pd.DataFrame) -> Objects:
    if "own_worker" not in rows:
        return np.full(len(rows), OWN_RATER, dtype=object)
    return np.asarray(rows["own_worker"].fillna(OWN_RATER).to_numpy(dtype=object))


def _by_group(source: Source, said: pd.DataFrame, what: str, scale: Scale) -> Iterator[Judged]:
    known = said[said["label"].notna().to_numpy(dtype=bool)]
    for key, rows in known.groupby(_GROUP, sort=True):
        technique, setting, metric = (str(part) for part in key)
        yield Judged(source, technique, setting, metric, what, scale, rows)
