"""When dialogues and judgements began and how long they took, as far as the tables say."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from parlai_humaneval.tables.from_records import Tables

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Objects = npt.NDArray[np.object_]
Keys: TypeAlias = "Objects | pd.Series[Any]"


class RaterClock:
    """Times of ``tables``, in seconds; nan where nothing is said.

    Dialogues are known by their names, and by "NAME by WORKER", as they are called where several people rated one.
    """

    def __init__(self, tables: Tables) -> None:
        dialogues = tables.dialogues
        keys = pd.MultiIndex.from_frame(dialogues[["dialogue_id", "worker_id"]])
        seconds = dialogues["seconds"].to_numpy(dtype=float, na_value=np.nan)
        own: pd.Series[Any] = pd.Series(seconds, index=keys)
        turns = _time_of_turns(tables.turns)
        self._talk = _by_both_names(own)
        self._seconds = _by_both_names(own.dropna().combine_first(_sums(turns)))
        self._turns = _by_both_names(turns)
        self._started = _by_both_names(pd.Series(_epoch(dialogues["started"]), index=keys))
        self._rows = {
            name: _by_both_names(_first_rows(rows))
            for name, rows in (("turns", tables.turns), ("ratings", tables.ratings))
        }
        judged = tables.judgements
        self._judged: pd.Series[Any] = pd.Series(_epoch(judged["started"]), index=judged["judgement_id"])
        # Who held a dialogue does not matter when its pair is judged.
        self._of_dialogue = own.groupby(level=0).mean()

    def seconds(self, dialogues: Keys, workers: Keys) -> Floats:
        """Of whole conversations: their own time, else that of their turns together."""
        return _found(self._seconds, pd.MultiIndex.from_arrays([dialogues, workers]))

    def of_turns(self, dialogues: Keys, workers: Keys, turns: Floats) -> Floats:
        """Of each of these turns, which are all that were answered in their conversations.

        A conversation's time is spread over its turns, as raters talk to be able to answer; where it is not known, a
        turn takes its own time.
        """
        if not len(turns):
            return np.zeros(0)
        keys = pd.MultiIndex.from_arrays([dialogues, workers])
        codes, names = pd.factorize(keys)
        spread = _found(self._talk, keys) / np.bincount(codes, minlength=len(names))[codes]
        own = _found(self._turns, pd.MultiIndex.from_arrays([dialogues, workers, turns]))
        return np.where(np.isnan(spread), own, spread)

    def order(self, dialogues: Keys, workers: Keys, turns: Floats | None = None) -> Ints:
        """By when conversations began, as far as it is said, then by the rows of the table; turns of one in their order.

        Without ``turns`` these are ratings.
        """
        rows = self._rows["ratings" if turns is None else "turns"]
        row = _found(rows, pd.MultiIndex.from_arrays([dialogues, workers]))
        within = np.zeros(len(row)) if turns is None else turns
        return np.asarray(np.lexsort((within, row, self.started(dialogues, workers))), dtype=np.int64)

    def started(self, dialogues: Keys, workers: Keys) -> Floats:
        return _found(self._started, pd.MultiIndex.from_arrays([dialogues, workers]))

    def judged(self, judgements: pd.Series[Any]) -> Floats:
        return _found(self._judged, pd.Index(judgements))

    def collected(self, dialogues: pd.Series[Any]) -> Floats:
        return _found(self._of_dialogue, pd.Index(dialogues.unique()))


def _time_of_turns(turns: pd.DataFrame) -> pd.Series[Any]:
    """By dialogue, worker and turn: each reply's row holds the time of its whole turn."""
    own = turns[turns["judgement_id"].isna().to_numpy(dtype=bool) & turns["seconds"].notna().to_numpy(dtype=bool)]
    own = own.drop_duplicates(["dialogue_id", "worker_id", "turn"])
    keys = pd.MultiIndex.from_arrays([own["dialogue_id"], own["worker_id"], own["turn"].to_numpy(dtype=float)])
    found: pd.Series[Any] = pd.Series(own["seconds"].to_numpy(dtype=float), index=keys)
    return found


def _sums(turns: pd.Series[Any]) -> pd.Series[Any]:
    """Of whole dialogues."""
    return turns.groupby(level=[0, 1]).sum()


def _first_rows(rows: pd.DataFrame) -> pd.Series[Any]:
    """At which row a dialogue of a worker begins."""
    first = ~rows.duplicated(["dialogue_id", "worker_id"]).to_numpy(dtype=bool)
    keys = pd.MultiIndex.from_frame(rows[["dialogue_id", "worker_id"]][first])
    found: pd.Series[Any] = pd.Series(np.flatnonzero(first).astype(float), index=keys)
    return found


def _by_both_names(known: pd.Series[Any]) -> pd.Series[Any]:
    if known.empty:
        return known
    dialogues, workers, *more = (known.index.get_level_values(level) for level in range(known.index.nlevels))
    names = pd.Index(dialogues.to_numpy(dtype=object) + " by " + workers.to_numpy(dtype=object))
    other = known.set_axis(pd.MultiIndex.from_arrays([names, workers, *more]))
    both: pd.Series[Any] = pd.concat([known, other])
    found: pd.Series[Any] = both[~both.index.duplicated()]
    return found


def _found(known: pd.Series[Any], keys: pd.Index[Any]) -> Floats:
    if known.empty:
        return np.full(len(keys), np.nan)
    return np.asarray(known.reindex(keys).to_numpy(dtype=float))


def _epoch(times: pd.Series[Any]) -> Floats:
    """Seconds since 1970; nan where nothing is said, or nothing that can be read."""
    read = pd.to_datetime(times.fillna(""), utc=True, errors="coerce", format="ISO8601")
    seconds = (read - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(seconds=1)
    return np.asarray(seconds.to_numpy(dtype=float))
