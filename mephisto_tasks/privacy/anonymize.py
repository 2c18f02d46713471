"""Tidy tables → the same with names drawn by lot, coarse times, clean texts, and rows in an order that tells nothing.

The lots are kept in memory alone: when the command has ended, nobody can tell which name stands for whom.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, get_args

import pandas as pd

from mephisto_tasks.privacy.pii import Cleaner, Found
from parlai_humaneval.tables.columns import Tables, typed
from parlai_humaneval.tables.schema import TableName

Coarse = Literal["day", "week"]
FIRST_DAY = pd.Timestamp("2000-01-01", tz="UTC")
"""Stands for the day on which a study began."""

Kind = Literal["worker", "dialogue", "judgement", "item", "session", "candidate", "run"]
IDS: Mapping[str, Kind] = {
    "worker_id": "worker",
    "own_worker": "worker",
    "dialogue_id": "dialogue",
    "dialogue_a": "dialogue",
    "dialogue_b": "dialogue",
    "judgement_id": "judgement",
    "item_id": "item",
    "session": "session",
    "candidate_id": "candidate",
    "same_as": "candidate",
    "task_run_id": "run",
}
"""Columns of ids → what they name."""
DROPPED = ("seed", "unit_id", "assignment_id")
"""Columns that lead back to the data directory, and that nothing is worked out from."""
WHOLE_SECONDS = ("seconds", "final_seconds")
TENTHS = ("latency_s", "outage_s")
PUBLIC = frozenset(
    {"technique", "setting", "metric", "model", "model_a", "model_b", "winner", "own_winner", "verdict_model", "models"}
    | {"group", "kind", "status", "dialogue_status", "criterion", "scale", "label", "opponent", "task_name", "currency"}
    | {
        "language",
        "question",
        "statement",
        "finish_reason",
        "served_model",
        "tick_choices",
        "tick_problems",
        "checks_failed",
        "k",
    }
    | {
        "own_technique",
        "own_setting",
        "quality_control_model",
        "verdict",
        "opinion",
        "topic_source",
        "ticks",
        "own_ticks",
    }
)
"""Columns of words of the study itself, which nobody typed into a page."""
_ID_KEYS: Mapping[str, Kind] = {
    "dialogue_id": "dialogue",
    "worker": "worker",
    "candidate_id": "candidate",
    "selected": "candidate",
    "continued": "candidate",
    "same_as": "candidate",
    "item_id": "item",
    "judgement_id": "judgement",
}
"""Keys of ids in columns that hold JSON."""
_KEYS_DROPPED = ("at", "unit_id", "assignment_id")
_SETTINGS_DROPPED = ("seed", "study_seed")
"""By them, and the order of candidates and materials, it could be worked out who came first."""
_CANDIDATES_AS_KEYS = frozenset({"ranks"})
_OUR_CANDIDATE = re.compile(r"[0-9a-f]{12,32}")


@dataclass(frozen=True)
class Review:
    """What was found in a cell; ``row``: the id by which the release names its dialogue or judgement."""

    table: str
    column: str
    row: str
    found: Found


@dataclass
class Names:
    """Names drawn by lot, the same for the same thing in all tables of one release."""

    given: dict[tuple[Kind, str], str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def of(self, kind: Kind, name: str) -> str:
        """The new name; what follows a colon (a turn, “verdict”, a model) is kept behind that of a dialogue."""
        base, colon, rest = name.partition(":")
        if kind == "item":
            # Of a dialogue's own turns the item is the dialogue and the turn; of others it is a name of its own.
            if ("dialogue", base) in self.given and colon:
                return f"{self.given['dialogue', base]}:{rest}"
            end = ":verdict" if name.endswith(":verdict") else ""
            return self._drawn(kind, name) + end
        return f"{self._drawn(kind, base)}{colon}{rest}" if kind == "dialogue" else self._drawn(kind, name)

    def _drawn(self, kind: Kind, name: str) -> str:
        if (kind, name) not in self.given:
            drawn = f"{kind[0]}{secrets.token_hex(6)}"
            while drawn in self.taken:
                drawn = f"{kind[0]}{secrets.token_hex(6)}"
            self.taken.add(drawn)
            self.given[kind, name] = drawn
        return self.given[kind, name]


class Anonymizer:
    """Makes the tables of one release; used once. ``reviews``: all that was found in texts."""

    def __init__(self, cleaner: Cleaner, coarse: Coarse) -> None:
        self._cleaner, self._coarse = cleaner, coarse
        self._names = Names()
        self._cleaned: dict[str, tuple[str, list[Found]]] = {}
        self.reviews: list[Review] = []

    def tables(self, tables: Tables) -> Tables:
        """The tables as they may be published."""
        began = _began(tables)
        for name in get_args(TableName):  # dialogues are named before the items that are made of them
            frame = getattr(tables, name)
            for column in ("dialogue_id", "dialogue_a", "dialogue_b"):
                for value in frame[column].dropna() if column in frame else ():
                    self._names.of("dialogue", str(value))
        changed: dict[str, Any] = {
            name: self._table(name, getattr(tables, name), began) for name in get_args(TableName)
        }
        return replace(tables, **changed)

    def _table(self, table: TableName, frame: pd.DataFrame, began: pd.Timestamp | None) -> pd.DataFrame:
        if frame.empty:
            return frame
        rows = frame.astype(object).where(frame.notna(), None)
        new = pd.DataFrame(
            {
                column: rows[column] if column in IDS else self._column(table, column, rows, began)
                for column in map(str, rows.columns)
            },
            index=rows.index,
        )
        for column, kind in IDS.items():
            if column in new:
                new[column] = [_mapped(value, partial(self._names.of, kind)) for value in new[column]]
        # Names are drawn by lot, so that in their order nothing is left of the order of time. Rows of one stay together.
        by = [column for column in ("dialogue_id", "judgement_id", "item_id") if column in new]
        ordered = new.sort_values(by, kind="stable", na_position="last").reset_index(drop=True)
        return typed(table, ordered)

    def _column(self, table: TableName, column: str, rows: pd.DataFrame, began: pd.Timestamp | None) -> list[Any]:
        values = rows[column].tolist()
        if column in DROPPED:
            return [None] * len(values)
        if column == "started":
            return [_mapped(value, lambda text: self._day(text, began)) for value in values]
        if column in WHOLE_SECONDS:
            return [None if value is None else max(1.0, float(round(value))) for value in values]
        if column in TENTHS:
            return [None if value is None else round(float(value), 1) for value in values]
        if column == "dialogues" and table == "judgements":
            return [_mapped(value, self._listed_dialogues) for value in values]
        if column in PUBLIC:
            return values
        named = [self._row_name(rows, place) for place in range(len(rows))]
        return [
            self._cell(table, column, value, name) if isinstance(value, str) else value
            for value, name in zip(values, named, strict=True)
        ]

    def _row_name(self, rows: pd.DataFrame, place: int) -> str:
        for column in ("judgement_id", "dialogue_id", "item_id"):
            value = rows[column].iloc[place] if column in rows else None
            if isinstance(value, str):
                return self._names.of(IDS[column], value)
        return ""

    def _listed_dialogues(self, text: str) -> str:
        return ";".join(self._names.of("dialogue", name) for name in text.split(";"))

    def _day(self, text: str, began: pd.Timestamp | None) -> str:
        """Days since the study began, as a date: no time of day, and no real day."""
        days = (pd.Timestamp(text) - (began or pd.Timestamp(text))).days
        whole = days - days % 7 if self._coarse == "week" else days
        return str((FIRST_DAY + pd.Timedelta(days=whole)).isoformat())

    def _cell(self, table: str, column: str, text: str, row: str) -> str:
        if text[:1] in "{[":
            try:
                data = json.loads(text)
            except ValueError:
                pass
            else:
                return json.dumps(self._json(data, table, column, row), ensure_ascii=False)
        return self._text(table, column, text, row)

    def _json(self, data: Any, table: str, column: str, row: str, key: str = "") -> Any:
        if isinstance(data, dict):
            return {
                self._key(name, key): self._json(item, table, column, row, name)
                for name, item in data.items()
                if not name.endswith("_at")
                and name not in (_SETTINGS_DROPPED if column == "settings" else _KEYS_DROPPED)
            }
        if isinstance(data, list):
            return [self._json(item, table, column, row, key) for item in data]
        if isinstance(data, float) and key.endswith("seconds"):
            return max(1.0, float(round(data)))
        if not isinstance(data, str) or not data:
            return data
        kind = _ID_KEYS.get(key)
        if kind == "candidate" and ("candidate", data) not in self._names.given and not _OUR_CANDIDATE.fullmatch(data):
            kind = None  # a criterion that was ticked, or a verdict
        if kind is not None:
            return self._names.of(kind, data)
        return self._text(table, column, data, row)

    def _key(self, name: str, of: str) -> str:
        return self._names.of("candidate", name) if of in _CANDIDATES_AS_KEYS else name

    def _text(self, table: str, column: str, text: str, row: str) -> str:
        if text not in self._cleaned:
            self._cleaned[text] = self._cleaner.clean(text)
        clean, found = self._cleaned[text]
        self.reviews += [Review(table, column, row, one) for one in found]
        return clean

    def counts(self) -> dict[str, int]:
        """Mark → how often it stands in the release."""
        counts: dict[str, int] = defaultdict(int)
        for review in self.reviews:
            counts[review.found.mark] += 1
        return dict(sorted(counts.items()))


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    return change(value) if isinstance(value, str) and value else value


def _began(tables: Tables) -> pd.Timestamp | None:
    times = pd.concat([tables.dialogues["started"], tables.judgements["started"]]).dropna()
    read = pd.to_datetime(times, utc=True, errors="coerce", format="ISO8601").dropna()
    return None if read.empty else read.min().floor("D")
