"""Records of rated dialogues → tidy tables, on which all analysis works."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import pandas as pd

from parlai_humaneval.protocol.records.dialogue import DialogueRecord
from parlai_humaneval.protocol.records.judgement import JudgementRecord
from parlai_humaneval.protocol.records.rated import Rated
from parlai_humaneval.tables.columns import TableError, TableName, from_rows
from parlai_humaneval.tables.from_judgements import judgement_row, pair_rows, segment_rows
from parlai_humaneval.tables.from_replays import ranking_rows, replay_rating_rows, replay_turn_rows, verdict_rows
from parlai_humaneval.tables.record_rows import (
    Row,
    comparison_rows,
    failed_checks,
    iso_time,
    point_rows,
    rating_rows,
)
from parlai_humaneval.tables.reply_columns import server_columns, shown_columns, usage_columns


@dataclass(frozen=True, eq=False)  # a table equals itself only, so that what was made of it can be kept
class Tables:
    """The tidy tables; :data:`parlai_humaneval.tables.columns.COLUMNS` says what every column means.

    Each has all its columns even with no rows. ``turns``: a row per candidate. ``dialogues``: a row per live dialogue.
    ``comparisons``: a row per answered comparison of two models. ``ratings``: a row per rating on a scale.
    ``points``: a row per dialogue and model that was chosen from several. ``segments``: a row per speaker judged in the
    beginning of a finished dialogue. ``judgements``: a row per judgement of finished dialogues.
    """

    turns: pd.DataFrame
    dialogues: pd.DataFrame
    comparisons: pd.DataFrame
    ratings: pd.DataFrame = field(default_factory=lambda: from_rows("ratings", []))
    points: pd.DataFrame = field(default_factory=lambda: from_rows("points", []))
    segments: pd.DataFrame = field(default_factory=lambda: from_rows("segments", []))
    judgements: pd.DataFrame = field(default_factory=lambda: from_rows("judgements", []))


def tables(records: Sequence[Rated]) -> Tables:
    """Tidy tables of live dialogues and of judgements of finished ones, in their order.

    What is unfinished is kept and marked as such. Attention checks stand in ``judgements`` only.

    Raises:
        TableError: two dialogues have the same ``dialogue_id``, or two judgements the same ``judgement_id``.
    """
    dialogues = [record for record in records if isinstance(record, DialogueRecord)]
    judgements = [record for record in records if isinstance(record, JudgementRecord)]
    _unique("dialogue_id", [record.dialogue_id for record in dialogues])
    _unique("judgement_id", [record.judgement_id for record in judgements])
    results = [record for record in judgements if record.expected is None]
    rows: dict[TableName, list[Row]] = {
        "turns": _all(_turn_rows, dialogues) + _all(replay_turn_rows, results),
        "dialogues": _all(lambda record: [_dialogue_row(record)], dialogues),
        "comparisons": [
            *_all(comparison_rows, dialogues),
            *(row for make in (pair_rows, ranking_rows, verdict_rows) for row in _all(make, results)),
        ],
        "ratings": _all(rating_rows, dialogues) + _all(replay_rating_rows, results),
        "points": _all(point_rows, dialogues),
        "segments": _all(segment_rows, results),
        "judgements": _all(lambda record: [judgement_row(record)], judgements),
    }
    return Tables(**{name: from_rows(name, found) for name, found in rows.items()})


R = TypeVar("R", DialogueRecord, JudgementRecord)


def _all(make: Callable[[R], Iterable[Row]], records: Sequence[R]) -> list[Row]:
    """The rows of all records, each of which says whether its rater is a program."""
    return [{**row, "simulated": int(record.simulated)} for record in records for row in make(record)]


def _unique(name: str, ids: Sequence[str]) -> None:
    repeated = next(((one, count) for one, count in Counter(ids).items() if count > 1), None)
    if repeated is not None:
        raise TableError(f"{name} {repeated[0]!r} stands in {repeated[1]} records; each must be unique.")


def _turn_rows(record: DialogueRecord) -> Iterator[Row]:
    for turn in record.turns:
        of_turn: Row = {
            "dialogue_id": record.dialogue_id,
            "worker_id": record.worker,
            "technique": record.technique,
            "setting": record.setting,
            "metric": record.metric,
            "turn": turn.turn,
            "written": int(turn.written is not None),
            "seconds": turn.seconds,
            "human_text": turn.human_text,
            "human_fixed": int(turn.human_fixed),
            "human_suggested": int(turn.human_suggested),
            "written_text": turn.written,
            "reason": turn.reason,
            "complete": int(turn.complete),
            "none_said": int(turn.none_said),
            "ticks": ";".join(turn.ticks or ()),
            "tick_choices": "" if turn.ticks is None else ";".join(c.name for c in record.turn_criteria),
            "automatic": int(turn.automatic),
            "continued_each": int(turn.continued_each),
            "question": record.question,
            "dialogue_status": record.status,
        }
        for candidate in turn.candidates:
            yield {
                **of_turn,
                **shown_columns(candidate),
                "selected": int(candidate.candidate_id in turn.selected),
                "continued": int(candidate.candidate_id == turn.continued),
                **usage_columns([candidate]),
                **server_columns(candidate),
            }


def _dialogue_row(record: DialogueRecord) -> Row:
    return {
        "dialogue_id": record.dialogue_id,
        "worker_id": record.worker,
        "technique": record.technique,
        "setting": record.setting,
        "started": iso_time(record.started_at),
        "seconds": None if record.finished_at is None else record.finished_at - record.started_at,
        "n_turns": len(record.complete_turns),
        "complete": int(record.status == "complete"),
        "status": record.status,
        "failure": record.failure,
        "n_turns_started": len(record.turns),
        "metric": record.metric,
        "question": record.question,
        "models": ";".join(model.name for model in record.models),
        "model_settings": _json([model.model_dump(mode="json") for model in record.models]),
        "settings": _json(record.settings),
        "persona": _json(record.context.persona),
        "topic": record.context.topic,
        "topic_source": record.context.topic_source,
        "opinion": record.context.opinion,
        "topic_changes": _json([change.model_dump() for change in record.context.topic_changes]),
        "context": _json(record.context.model_dump(mode="json")),
        "session": record.session,
        "conversation": record.conversation,
        "conversations": record.conversations,
        "quality_control_model": record.quality_control_model,
        "turn_criteria": _json([criterion.model_dump(mode="json") for criterion in record.turn_criteria]),
        "verdict": record.verdict,
        "verdict_model": record.verdict_model,
        "ended_by_rater": int(record.ended_by_rater),
        "final_ratings": _json(record.final_ratings),
        "final_seconds": record.final_seconds,
        **usage_columns([candidate for turn in record.turns for candidate in turn.candidates]),
        "feedback": record.feedback,
        "checks": _json(record.checks),
        "checks_failed": ";".join(failed_checks(record.checks)),
        "refused_answers": record.refused_answers,
        "seed": record.seed,
        "task_name": record.task_name,
        "task_run_id": record.task_run_id,
        "unit_id": record.unit_id,
        "assignment_id": record.assignment_id,
        "schema_version": record.schema_version,
    }


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
