"""Rows of the tables that a dialogue may or may not have: comparisons, ratings, points."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from itertools import combinations
from typing import Any

from parlai_humaneval.protocol.records.dialogue import Candidate, CriterionRecord, DialogueRecord, Turn
from parlai_humaneval.protocol.records.points import points, ranks

TIE = "tie"
"""``winner`` where both candidates were chosen, or none."""

PRACTICE = "practice"
"""Key of a record's ``checks`` that holds how the worker did in practice."""

Row = dict[str, Any]


def comparison_rows(record: DialogueRecord) -> Iterator[Row]:
    """A row for each pair of models whose replies were shown together, turn by turn; then the verdict, if any.

    With two models ``winner`` is the one chosen. With more, each pair is read alone: a reply that was chosen won
    against one that was not, which is what the pair tests of Liu et al. 2023 compare.
    """
    for turn in record.complete_turns:
        yield from _turn_comparisons(record, turn)
    if record.verdict is not None and len({model.name for model in record.models}) == 2:
        yield _verdict(record)


def _turn_comparisons(record: DialogueRecord, turn: Turn) -> Iterator[Row]:
    shown = sorted((c for c in turn.candidates if not c.failed), key=lambda candidate: candidate.model)
    # A model against itself has no winner; its turns stand in `turns` only. So do turns in which none is chosen from.
    if turn.continued_each or turn.ticks is not None or len({c.model for c in shown}) < len(shown):
        return
    for first, second in combinations(shown, 2):
        a, b = (int(c.candidate_id in turn.selected) for c in (first, second))
        yield {
            **_comparison(record, first.model, second.model),
            "item_id": f"{record.dialogue_id}:{turn.turn}",
            "winner": _winner(first, second, a, b),
            "seconds": turn.seconds,
            "turn": turn.turn,
            "position_a": first.position,
            "selected_a": a,
            "selected_b": b,
            "n_models": len(shown),
            "both_bad": 0,
            "automatic": int(turn.automatic),
            "reason": turn.reason,
        }


def _winner(first: Candidate, second: Candidate, a: int, b: int) -> str:
    return TIE if a == b else first.model if a else second.model


def _verdict(record: DialogueRecord) -> Row:
    first, second = sorted({model.name for model in record.models})
    position = next((c.position for t in record.turns for c in t.candidates if c.model == first and c.position), None)
    return {
        **_comparison(record, first, second),
        "item_id": f"{record.dialogue_id}:verdict",
        "winner": record.verdict_model or TIE,
        "seconds": record.final_seconds,
        "position_a": position,
        "selected_a": int(record.verdict_model == first),
        "selected_b": int(record.verdict_model == second),
        "n_models": 2,
        "both_bad": int(record.verdict == "both_bad"),
        "automatic": 0,
    }


def _comparison(record: DialogueRecord, model_a: str, model_b: str) -> Row:
    return {
        "worker_id": record.worker,
        "metric": record.metric,
        "model_a": model_a,
        "model_b": model_b,
        "dialogue_a": record.dialogue_id,
        "dialogue_b": record.dialogue_id,
        "technique": record.technique,
        "setting": record.setting,
        "question": record.question,
        "dialogue_status": record.status,
    }


def rating_rows(record: DialogueRecord) -> Iterator[Row]:
    """A row for each rating that was given at the end of the dialogue."""
    names = list(dict.fromkeys(model.name for model in record.models))
    asked: dict[str, CriterionRecord] = {criterion.name: criterion for criterion in record.criteria}
    for name, rating in record.final_ratings.items():
        criterion = asked.get(name)
        yield {
            "dialogue_id": record.dialogue_id,
            "worker_id": record.worker,
            "technique": record.technique,
            "setting": record.setting,
            "model": ";".join(names),
            "criterion": name,
            "value": rating,
            "reversed": int(criterion is not None and criterion.reversed),
            "degraded": int(names == [record.quality_control_model]),
            "statement": criterion and criterion.text,
            "scale": criterion and criterion.scale,
            "minimum": criterion and criterion.minimum,
            "maximum": criterion and criterion.maximum,
            "session": record.session,
            "conversation": record.conversation,
            "metric": record.metric,
            "seconds": record.final_seconds,
            "dialogue_status": record.status,
        }


def point_rows(record: DialogueRecord) -> Iterator[Row]:
    """A row for each model that was chosen from several. Records of the first schema have no points: they are counted."""
    won = record.points or points(record)
    placed = record.ranks or ranks(won)
    for model in sorted(won):
        yield {
            "dialogue_id": record.dialogue_id,
            "worker_id": record.worker,
            "technique": record.technique,
            "setting": record.setting,
            "model": model,
            "points": won[model],
            "rank": placed[model],
            "n_turns": len(record.complete_turns),
            "metric": record.metric,
            "started": iso_time(record.started_at),
            "dialogue_status": record.status,
        }


def iso_time(seconds_since_epoch: float) -> str:
    """ISO 8601 in UTC, to the millisecond."""
    return datetime.fromtimestamp(seconds_since_epoch, tz=timezone.utc).isoformat(timespec="milliseconds")


def failed_checks(checks: Mapping[str, Any]) -> list[str]:
    """Names of the quality checks that did not pass; the practice, which stands beside them, is none."""
    return [
        name
        for name, outcome in checks.items()
        if name != PRACTICE and isinstance(outcome, dict) and outcome.get("passed") is False
    ]
