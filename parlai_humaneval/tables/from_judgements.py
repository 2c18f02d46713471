"""Rows of the tables that judgements of finished dialogues fill: judgements, segments, comparisons of two dialogues."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from parlai_humaneval.protocol.records.judgement import HUMAN, GivenAnswer, JudgementRecord, ShownDialogue
from parlai_humaneval.tables.record_rows import TIE, Row, failed_checks, iso_time
from parlai_humaneval.tables.schema_judged import FEATURES

SIDES = {"first": 1, "second": 2}
"""Option of a question on two dialogues → the position that it stands for."""

SIGN_OF_FIRST = {"first": 1, "same": 0, "second": -1}
"""Option of a question on two speakers → how the one who speaks first did against the other."""


def subject(dialogue: ShownDialogue) -> str:
    """Who is judged in a dialogue: the judged speaker, or else the models that speak, joined by ;."""
    if dialogue.judged is not None:
        return dialogue.entities[dialogue.judged]
    return ";".join(dict.fromkeys(name for name in dialogue.entities if name != HUMAN)) or HUMAN


def exchanges_shown(dialogue: ShownDialogue) -> int:
    """Exchanges that the rater saw: ``k``, or all complete ones."""
    return len(dialogue.lines) // 2 if dialogue.k is None else dialogue.k


def seconds_of(record: JudgementRecord) -> float | None:
    """Time over all steps of the item; the answers of one form share theirs, which counts once."""
    steps = {(answer.at, answer.seconds) for answer in record.answers}
    return sum(seconds for _, seconds in steps) if steps else None


def judgement_row(record: JudgementRecord) -> Row:
    """The row of a judgement in the table ``judgements``."""
    passed = record.gold_passed
    return {
        "judgement_id": record.judgement_id,
        "item_id": record.item_id,
        "worker_id": record.worker,
        "technique": record.technique,
        "setting": record.setting,
        "metric": record.metric,
        "group": ";".join(record.group),
        "dialogues": ";".join(shown.dialogue_id for shown in record.dialogues),
        "status": record.status,
        "seconds": seconds_of(record),
        "gold": int(record.expected is not None),
        "gold_passed": None if passed is None else int(passed),
        "checks_failed": ";".join(failed_checks(record.checks)),
        "reason": "; ".join(answer.reason for answer in record.answers if answer.reason),
        "session": record.session,
        "number": record.number,
        "numbers": record.numbers,
        "kind": ";".join(shown.kind for shown in record.dialogues),
        "k": ";".join(str(shown.k) for shown in record.dialogues if shown.k is not None),
        "question": "\n".join(dict.fromkeys(question.text for question in record.questions)),
        "started": iso_time(record.started_at),
        "interrupted": int(record.interrupted),
        "failure": record.failure,
        "feedback": record.feedback,
        "refused_answers": record.refused_answers,
        "seed": record.seed,
        "task_name": record.task_name,
        "task_run_id": record.task_run_id,
        "unit_id": record.unit_id,
        "assignment_id": record.assignment_id,
        "schema_version": record.schema_version,
        "settings": _json(record.settings),
        "answers": _json([answer.model_dump(mode="json", exclude_defaults=True) for answer in record.answers]),
        "shown": _json([_shown(dialogue) for dialogue in record.dialogues]),
        "checks": _json(record.checks),
    }


def _shown(dialogue: ShownDialogue) -> dict[str, Any]:
    """A dialogue as it stood on the page; how it was made and rated before is left to its source."""
    wanted = {"dialogue_id", "position", "entities", "judged", "k", "lines", "context", "source"}
    return dialogue.model_dump(mode="json", include=wanted, exclude_defaults=True)


def pair_rows(record: JudgementRecord) -> Iterator[Row]:
    """A row for each metric under which two dialogues were compared (Smith et al. 2022, §3.1.3).

    A model against itself has no winner, and no row.
    """
    if len(record.dialogues) != 2:
        return
    first, second = sorted(record.dialogues, key=subject)
    if subject(first) == subject(second):
        return
    for question in record.questions:
        answer = record.answer(question.question_id)
        if answer is None or answer.option is None:
            continue
        chosen = next((shown for shown in (first, second) if shown.position == SIDES.get(answer.option)), None)
        yield {
            **comparison(record, subject(first), subject(second), answer),
            "item_id": record.item_id,
            "metric": question.question_id,
            "dialogue_a": first.dialogue_id,
            "dialogue_b": second.dialogue_id,
            "winner": TIE if chosen is None else subject(chosen),
            "position_a": first.position,
            "selected_a": int(chosen is first),
            "selected_b": int(chosen is second),
            "n_models": 2,
            "side": first.position,
            "question": question.text,
        }


def comparison(record: JudgementRecord, model_a: str, model_b: str, answer: GivenAnswer) -> Row:
    """What every comparison that stems from a judgement has."""
    return {
        "worker_id": record.worker,
        "metric": record.metric,
        "model_a": model_a,
        "model_b": model_b,
        "seconds": answer.seconds,
        "technique": record.technique,
        "setting": record.setting,
        "both_bad": 0,
        "automatic": 0,
        "reason": answer.reason,
        "dialogue_status": record.status,
        "judgement_id": record.judgement_id,
    }


def segment_rows(record: JudgementRecord) -> Iterator[Row]:
    """A row for each speaker of a segment who was labelled (Deriu et al. 2020, §3.1)."""
    if len(record.dialogues) != 1 or len(record.dialogues[0].entities) != 2:
        return
    (shown,) = record.dialogues
    for entity in (0, 1):
        answer = record.answer(f"label_{entity}")
        if answer is None or answer.option is None:
            continue
        yield {
            "dialogue_id": shown.dialogue_id,
            "worker_id": record.worker,
            "k": exchanges_shown(shown),
            "entity": entity,
            "model": shown.entities[entity],
            "opponent": shown.entities[1 - entity],
            "label": answer.option,
            **{name: _sign(record, name, entity) for name in FEATURES},
            "seconds": answer.seconds,
            "item_id": record.item_id,
            "judgement_id": record.judgement_id,
            "position": entity + 1,
            "technique": record.technique,
            "setting": record.setting,
            "metric": record.metric,
            "kind": shown.kind,
            "dialogue_status": record.status,
        }


def _sign(record: JudgementRecord, feature: str, entity: int) -> int | None:
    """1, 0 or −1: how the speaker did against the other; None where it was not asked or answered."""
    answer = record.answer(feature)
    if answer is None or answer.option not in SIGN_OF_FIRST:
        return None
    return SIGN_OF_FIRST[answer.option] * (1 - 2 * entity)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
