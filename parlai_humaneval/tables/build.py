"""Records of rated dialogues → tidy tables, on which all analysis works."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord, Rated
from parlai_humaneval.tables.build_dialogues import comparison_rows, dialogue_row, point_rows, rating_rows, turn_rows
from parlai_humaneval.tables.build_judgements import (
    judgement_row,
    pair_rows,
    ranking_rows,
    replay_rating_rows,
    replay_turn_rows,
    segment_rows,
    verdict_rows,
)
from parlai_humaneval.tables.columns import HOW_REPEATS, Repeats, Row, TableError, Tables, check_unique, from_rows
from parlai_humaneval.tables.repeats import settled
from parlai_humaneval.tables.schema import TableName

__all__ = ["Tables", "tables"]


def tables(records: Sequence[Rated], *, repeats: Repeats | None = None) -> Tables:
    """Tidy tables of live dialogues and of judgements of finished ones, in their order.

    What is unfinished is kept and marked as such. Attention checks stand in ``judgements`` only.

    Args:
        records: of raters.
        repeats: which of several records of the same worker and id count (:func:`.repeats.settled`); None: they are
            refused.

    Raises:
        TableError: two dialogues have the same ``dialogue_id``, or two judgements the same ``judgement_id``.
    """
    dialogues = [record for record in records if isinstance(record, DialogueRecord)]
    judgements = [record for record in records if isinstance(record, JudgementRecord)]
    if repeats is None:
        _unique("dialogue_id", [record.dialogue_id for record in dialogues])
        _unique("judgement_id", [record.judgement_id for record in judgements])
    results = [record for record in judgements if record.expected is None]
    rows: dict[TableName, list[Row]] = {
        "turns": _all_rows(turn_rows, dialogues) + _all_rows(replay_turn_rows, results),
        "dialogues": _all_rows(lambda record: [dialogue_row(record)], dialogues),
        "comparisons": [
            *_all_rows(comparison_rows, dialogues),
            *(row for make in (pair_rows, ranking_rows, verdict_rows) for row in _all_rows(make, results)),
        ],
        "ratings": _all_rows(rating_rows, dialogues) + _all_rows(replay_rating_rows, results),
        "points": _all_rows(point_rows, dialogues),
        "segments": _all_rows(segment_rows, results),
        "judgements": _all_rows(lambda record: [judgement_row(record)], judgements),
    }
    frames = {name: from_rows(name, found) for name, found in rows.items()}
    if repeats is None:
        return Tables(**frames, repeats=(), judges=None, stopping=(), cleaned=())
    chosen = {name: settled(name, frame, repeats) for name, frame in frames.items()}
    for name, (frame, _) in chosen.items():
        check_unique(name, frame)
    whole = {name: frame.reset_index(drop=True) for name, (frame, _) in chosen.items()}
    repeated = tuple(one for _, told in chosen.values() for one in told)
    return Tables(**whole, repeats=repeated, judges=None, stopping=(), cleaned=())


R = TypeVar("R", DialogueRecord, JudgementRecord)


def _all_rows(make: Callable[[R], Iterable[Row]], records: Sequence[R]) -> list[Row]:
    return [{**row, "simulated": int(record.simulated)} for record in records for row in make(record)]


def _unique(name: str, ids: Sequence[str]) -> None:
    repeated = next(((one, count) for one, count in Counter(ids).items() if count > 1), None)
    if repeated is not None:
        raise TableError(
            f"{name} {repeated[0]!r} stands in {repeated[1]} records, and must be unique", try_=HOW_REPEATS
        )
