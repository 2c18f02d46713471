"""Who stands behind the answers of tables: people, or programs that were put in their place."""

from __future__ import annotations

from typing import NamedTuple, get_args

import pandas as pd

from parlai_humaneval.tables.columns import TableName, Tables
from parlai_humaneval.tables.counting import is_set


class RaterKinds(NamedTuple):
    """Workers in all tables: how many there are, how many are programs and how many people; others are not known."""

    workers: int
    simulated: int
    people: int

    @property
    def note(self) -> str:
        """What everything that is made of the tables says in its first line where raters were simulated; else empty."""
        if not self.simulated:
            return ""
        if self.simulated == self.workers:
            who = "All raters are" if self.workers > 1 else "The only rater is"
            return f"{who} simulated ({self.simulated:,}): nothing here was rated by people."
        others = self.workers - self.simulated - self.people
        unknown = f", {others:,} of whom it is not known" if others else ""
        return f"Simulated and real raters are mixed: {self._mixed}{unknown}."

    @property
    def kind(self) -> str:
        """“simulated”, or how many of each: first column of a report's CSV files; empty where nobody was simulated."""
        if not self.simulated:
            return ""
        return "simulated" if self.simulated == self.workers else self._mixed

    @property
    def _mixed(self) -> str:
        return f"{self.simulated:,} simulated, {self.people:,} {'person' if self.people == 1 else 'people'}"


def rater_kinds(tables: Tables) -> RaterKinds:
    """Count the workers of all tables by kind; one of whom both is said is a program."""
    rows = _by_rater(tables)
    known, simulated = rows.dropna(subset=["simulated"]), simulated_raters(tables)
    return RaterKinds(int(rows["worker_id"].nunique()), len(simulated), len(set(known["worker_id"]) - simulated))


def simulated_raters(tables: Tables) -> set[str]:
    """The workers whom a table calls programs."""
    rows = _by_rater(tables)
    return set(rows.loc[is_set(rows, "simulated"), "worker_id"])


def _by_rater(tables: Tables) -> pd.DataFrame:
    rows: pd.DataFrame = pd.concat([getattr(tables, name)[["worker_id", "simulated"]] for name in get_args(TableName)])
    return rows
