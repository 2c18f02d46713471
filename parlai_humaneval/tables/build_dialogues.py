"""Rows of the tables that live dialogues fill: turns, dialogues, comparisons, ratings, points."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from parlai_humaneval.display.thoughts import parted
from parlai_humaneval.schema.rebuild import points, ranks
from parlai_humaneval.schema.records import Candidate, CriterionRecord, DialogueRecord, Turn
from parlai_humaneval.tables.columns import Row, iso_time
from parlai_humaneval.tables.schema import TIE, is_problem

PRACTICE = "practice"
"""Key of a record's ``checks`` that holds how the worker did in practice."""


def shown_columns(candidate: Candidate) -> Row:
    """Whose it is, where it stood and how it was shown."""
    return {
        "model": candidate.model,
        "position": candidate.position,
        "candidate_id": candidate.candidate_id,
        "text": candidate.text,
        "raw_text": candidate.raw_text,
        "masked": int(bool(candidate.masks)),
        "changes": ";".join(candidate.changes),
        "blocked": candidate.blocked,
        "withdrawn": _withdrawn(candidate),
        "thoughts": _thoughts(candidate),
        "latency_s": candidate.latency_s,
        "same_as": candidate.same_as,
        "failed": int(candidate.failed),
    }


def _withdrawn(candidate: Candidate) -> str | None:
    earlier = [reply.model_dump() for reply in candidate.asked_again]
    return json.dumps(earlier, ensure_ascii=False) if earlier else None


def _thoughts(candidate: Candidate) -> str | None:
    told = candidate.info and candidate.info.thoughts
    return told or "\n\n".join(filter(None, parted(candidate.raw_text or "").thoughts)) or None


def server_columns(candidate: Candidate) -> Row:
    """What the server said of this one reply; empty for a model that computed here."""
    info = candidate.info
    return {
        "served_model": info and info.served_model,
        "finish_reason": info and info.finish_reason,
        "requests": info and info.requests,
        "outage_s": info and info.outage_s,
        "turns_left_out": info and info.turns_left_out,
    }


def usage_columns(candidates: Sequence[Candidate]) -> Row:
    """Tokens and money of all these replies, as far as servers told; None where none did.

    Costs in several currencies have no sum.
    """
    infos = [candidate.info for candidate in candidates if candidate.info is not None]
    prompt = [info.prompt_tokens for info in infos if info.prompt_tokens is not None]
    completion = [info.completion_tokens for info in infos if info.completion_tokens is not None]
    priced = [(info.cost, info.currency) for info in infos if info.cost is not None]
    currencies = {currency for _, currency in priced}
    one = len(currencies) == 1
    return {
        "prompt_tokens": sum(prompt) if prompt else None,
        "completion_tokens": sum(completion) if completion else None,
        "cost": sum(cost for cost, _ in priced) if one else None,
        "currency": currencies.pop() if one else None,
    }


def turn_rows(record: DialogueRecord) -> Iterator[Row]:
    """A row for each candidate of each turn, answered or not."""
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
            "tick_problems": "" if turn.ticks is None else tick_problems(record.turn_criteria),
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


def tick_problems(criteria: Sequence[CriterionRecord]) -> str:
    """Names of those that a good reply does not get, joined by ;."""
    return ";".join(one.name for one in criteria if one.reversed or is_problem(one.name))


def dialogue_row(record: DialogueRecord) -> Row:
    """The row of a dialogue in the table ``dialogues``."""
    return {
        "dialogue_id": record.dialogue_id,
        "worker_id": record.worker,
        "technique": record.technique,
        "setting": record.setting,
        "started": iso_time(record.started_at),
        "seconds": None if record.finished_at is None else record.finished_at - record.started_at - record.away_s,
        "n_turns": len(record.complete_turns),
        "complete": int(record.status == "complete"),
        "status": record.status,
        "failure": record.failure,
        "n_turns_started": len(record.turns),
        "metric": record.metric,
        "question": record.question,
        "language": record.language,
        "models": ";".join(model.name for model in record.models),
        "model_settings": json_cell([model.model_dump(mode="json") for model in record.models]),
        "settings": json_cell(record.settings),
        "persona": json_cell(record.context.persona),
        "topic": record.context.topic,
        "topic_source": record.context.topic_source,
        "opinion": record.context.opinion,
        "topic_changes": json_cell([change.model_dump() for change in record.context.topic_changes]),
        "context": json_cell(record.context.model_dump(mode="json")),
        "session": record.session,
        "conversation": record.conversation,
        "conversations": record.conversations,
        "quality_control_model": record.quality_control_model,
        "turn_criteria": json_cell([criterion.model_dump(mode="json") for criterion in record.turn_criteria]),
        "verdict": record.verdict,
        "verdict_model": record.verdict_model,
        "ended_by_rater": int(record.ended_by_rater),
        "final_ratings": json_cell(record.final_ratings),
        "final_seconds": record.final_seconds,
        **usage_columns([candidate for turn in record.turns for candidate in turn.candidates]),
        "feedback": record.feedback,
        "checks": json_cell(record.checks),
        "checks_failed": ";".join(failed_checks(record.checks)),
        "refused_answers": record.refused_answers,
        "seed": record.seed,
        "task_name": record.task_name,
        "task_run_id": record.task_run_id,
        "unit_id": record.unit_id,
        "assignment_id": record.assignment_id,
        "schema_version": record.schema_version,
    }


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
            "winner": TIE if a == b else first.model if a else second.model,
            "tied": int(a == b),
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


def _verdict(record: DialogueRecord) -> Row:
    first, second = sorted({model.name for model in record.models})
    position = next((c.position for t in record.turns for c in t.candidates if c.model == first and c.position), None)
    return {
        **_comparison(record, first, second),
        "item_id": f"{record.dialogue_id}:verdict",
        "winner": record.verdict_model or TIE,
        "tied": int(not record.verdict_model),
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


def failed_checks(checks: Mapping[str, Any]) -> list[str]:
    """Names of the quality checks that did not pass; the practice, which stands beside them, is none."""
    return [
        name
        for name, outcome in checks.items()
        if name != PRACTICE and isinstance(outcome, dict) and outcome.get("passed") is False
    ]


def json_cell(value: object) -> str:
    """A value that is no plain cell, as JSON."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
