"""Records of rated dialogues → tidy tables, on which all analysis works."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from parlai_humaneval.analysis.columns import TableError, from_rows
from parlai_humaneval.analysis.table_rows import Row, comparison_rows, iso_time, point_rows, rating_rows
from parlai_humaneval.protocol.records import DialogueRecord

PRACTICE = "practice"
"""Key of a record's ``checks`` that holds how the worker did in practice."""


@dataclass(frozen=True)
class Tables:
    """The tidy tables; :data:`parlai_humaneval.analysis.columns.COLUMNS` says what every column means.

    Each has all its columns even with no rows. ``turns``: a row per candidate. ``dialogues``: a row per dialogue.
    ``comparisons``: a row per answered comparison of two models. ``ratings``: a row per rating at the end.
    ``points``: a row per dialogue and model that was chosen from several.
    """

    turns: pd.DataFrame
    dialogues: pd.DataFrame
    comparisons: pd.DataFrame
    ratings: pd.DataFrame = field(default_factory=lambda: from_rows("ratings", []))
    points: pd.DataFrame = field(default_factory=lambda: from_rows("points", []))


def tables(records: Sequence[DialogueRecord]) -> Tables:
    """Tidy tables of ``records``, in their order; unfinished dialogues are kept and marked as such.

    Raises:
        TableError: two records have the same ``dialogue_id``.
    """
    counts = Counter(record.dialogue_id for record in records)
    repeated = [dialogue for dialogue, count in counts.items() if count > 1]
    if repeated:
        raise TableError(f"dialogue_id {repeated[0]!r} stands in {counts[repeated[0]]} records; each must be unique.")
    return Tables(
        turns=from_rows("turns", [row for record in records for row in _turn_rows(record)]),
        dialogues=from_rows("dialogues", [_dialogue_row(record) for record in records]),
        comparisons=from_rows("comparisons", [row for record in records for row in comparison_rows(record)]),
        ratings=from_rows("ratings", [row for record in records for row in rating_rows(record)]),
        points=from_rows("points", [row for record in records for row in point_rows(record)]),
    )


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
                "model": candidate.model,
                "position": candidate.position,
                "selected": int(candidate.candidate_id in turn.selected),
                "continued": int(candidate.candidate_id == turn.continued),
                "candidate_id": candidate.candidate_id,
                "text": candidate.text,
                "raw_text": candidate.raw_text,
                "masked": int(bool(candidate.masks)),
                "latency_s": candidate.latency_s,
                "same_as": candidate.same_as,
                "failed": int(candidate.failed),
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


def failed_checks(checks: Mapping[str, Any]) -> list[str]:
    """Names of the quality checks that did not pass; the practice, which stands beside them, is none."""
    return [
        name
        for name, outcome in checks.items()
        if name != PRACTICE and isinstance(outcome, dict) and outcome.get("passed") is False
    ]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
