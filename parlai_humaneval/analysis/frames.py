"""Records of rated dialogues → tidy tables, on which all analysis works."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import pandas as pd

from parlai_humaneval.analysis.columns import TableError, from_rows
from parlai_humaneval.protocol.records import DialogueRecord, Turn

TIE = "tie"
"""``winner`` where both candidates were chosen, or none."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Tables:
    """The tidy tables; :data:`parlai_humaneval.analysis.columns.COLUMNS` says what every column means.

    Each has all its columns even with no rows. ``turns``: a row per candidate shown.
    ``dialogues``: a row per dialogue. ``comparisons``: a row per answered comparison of two models.
    """

    turns: pd.DataFrame
    dialogues: pd.DataFrame
    comparisons: pd.DataFrame


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
        comparisons=from_rows("comparisons", [row for record in records for row in _comparison_rows(record)]),
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
            "written_text": turn.written,
            "reason": turn.reason,
            "complete": int(turn.complete),
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
            }


def _dialogue_row(record: DialogueRecord) -> Row:
    return {
        "dialogue_id": record.dialogue_id,
        "worker_id": record.worker,
        "technique": record.technique,
        "setting": record.setting,
        "started": _iso(record.started_at),
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
        "final_ratings": _json(record.final_ratings),
        "feedback": record.feedback,
        "checks": _json(record.checks),
        "refused_answers": record.refused_answers,
        "seed": record.seed,
        "task_name": record.task_name,
        "task_run_id": record.task_run_id,
        "unit_id": record.unit_id,
        "assignment_id": record.assignment_id,
        "schema_version": record.schema_version,
    }


def _comparison_rows(record: DialogueRecord) -> Iterator[Row]:
    for turn in record.complete_turns:
        # A model against itself has no winner; its turns stand in `turns` only.
        if len({candidate.model for candidate in turn.candidates}) != 2 or len(turn.candidates) != 2:
            continue
        first, second = sorted(turn.candidates, key=lambda candidate: candidate.model)
        yield {
            "item_id": f"{record.dialogue_id}:{turn.turn}",
            "worker_id": record.worker,
            "metric": record.metric,
            "model_a": first.model,
            "model_b": second.model,
            "dialogue_a": record.dialogue_id,
            "dialogue_b": record.dialogue_id,
            "winner": _winner(turn),
            "seconds": turn.seconds,
            "technique": record.technique,
            "setting": record.setting,
            "turn": turn.turn,
            "position_a": first.position,
            "reason": turn.reason,
            "question": record.question,
            "dialogue_status": record.status,
        }


def _winner(turn: Turn) -> str:
    chosen = [candidate.model for candidate in turn.candidates if candidate.candidate_id in turn.selected]
    return chosen[0] if len(chosen) == 1 else TIE


def _iso(seconds_since_epoch: float) -> str:
    return datetime.fromtimestamp(seconds_since_epoch, tz=timezone.utc).isoformat(timespec="milliseconds")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
