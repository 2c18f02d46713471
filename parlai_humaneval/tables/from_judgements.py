"""Rows of the tables that judgements of finished dialogues fill: judgements, segments, comparisons of two dialogues.

Below them, rows of dialogues that are rated once more by somebody else, beside what their own rater said: replies of
turns (chosen, ticked or ranked) stand in ``turns``, ratings in ``ratings``, rankings and verdicts pair by pair in
``comparisons`` (Liu et al. 2023, third-party annotation; Ma et al. 2023, preference ranking and dimensions).
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from parlai_humaneval.protocol.records.dialogue import Candidate, Turn
from parlai_humaneval.protocol.records.judgement import (
    HUMAN,
    AskedQuestion,
    GivenAnswer,
    JudgementRecord,
    ReplayedRating,
    ShownDialogue,
)
from parlai_humaneval.tables.columns import Row, iso_time
from parlai_humaneval.tables.from_dialogues import failed_checks, json_cell, shown_columns
from parlai_humaneval.tables.schema import FEATURES, TIE

SIDES = {"first": 1, "second": 2}
"""Option of a question on two dialogues → the position that it stands for."""

SIGN_OF_FIRST = {"first": 1, "same": 0, "second": -1}
"""Option of a question on two speakers → how the one who speaks first did against the other."""
TURN, RANK, VERDICT = "turn", "rank", "verdict"
SCALES = ("final", "rate")
"""Questions that are answered on scales: what the own rater was asked at the end, and the scales of the study."""


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
        "language": record.language,
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
        "settings": json_cell(record.settings),
        "answers": json_cell([answer.model_dump(mode="json", exclude_defaults=True) for answer in record.answers]),
        "shown": json_cell([_shown(dialogue) for dialogue in record.dialogues]),
        "checks": json_cell(record.checks),
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
            "tied": int(chosen is None),
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


def replay_turn_rows(record: JudgementRecord) -> Iterator[Row]:
    """A row for each candidate of each turn that the new rater answered."""
    for shown, rating, question, answer, turn in _answered_turns(record, (TURN, RANK)):
        ticked = question.kind == "tick"
        places = _places(turn, answer) if question.kind == "rank" else {}
        best = min(places.values(), default=0)
        asked = _own_asked(turn)
        for candidate in turn.candidates:
            place = places.get(candidate.candidate_id)
            chosen = not ticked and candidate.candidate_id in answer.selected
            yield {
                "dialogue_id": shown.dialogue_id,
                "worker_id": record.worker,
                "technique": record.technique,
                "setting": record.setting,
                "metric": record.metric if question.kind == "rank" else rating.metric,
                "turn": turn.turn,
                **shown_columns(candidate),
                "selected": int(chosen or (place is not None and place == best)),
                "continued": int(candidate.candidate_id == turn.continued),
                "written": int(turn.written is not None),
                "seconds": answer.seconds,
                "human_text": turn.human_text,
                "human_fixed": int(turn.human_fixed),
                "human_suggested": int(turn.human_suggested),
                "written_text": turn.written,
                "reason": answer.reason,
                "complete": 1,
                "none_said": int(answer.none_said),
                "ticks": ";".join(answer.selected) if ticked else "",
                "tick_choices": ";".join(question.options) if ticked else "",
                "automatic": 0,
                "continued_each": int(turn.continued_each),
                "question": question.text,
                "dialogue_status": record.status,
                "judgement_id": record.judgement_id,
                "rank": place,
                "own_worker": rating.worker,
                "own_selected": int(candidate.candidate_id in turn.selected) if asked else None,
                "own_ticks": ";".join(turn.ticks or ()),
                "own_asked": int(asked),
                "own_technique": rating.technique,
                "own_setting": rating.setting,
            }


def ranking_rows(record: JudgementRecord) -> Iterator[Row]:
    """A row for each two replies of a turn that were ranked; the same place is a tie."""
    for shown, rating, question, answer, turn in _answered_turns(record, (RANK,)):
        places = _places(turn, answer)
        ranked = sorted((c for c in turn.candidates if c.candidate_id in places), key=lambda c: c.model)
        if len({candidate.model for candidate in ranked}) < len(ranked):
            continue
        best = min(places.values(), default=0)
        for a, b in combinations(ranked, 2):
            rank_a, rank_b = places[a.candidate_id], places[b.candidate_id]
            yield {
                **comparison(record, a.model, b.model, answer),
                "item_id": record.item_id,
                "dialogue_a": shown.dialogue_id,
                "dialogue_b": shown.dialogue_id,
                "winner": _better(a, b, rank_b - rank_a),
                "tied": int(rank_a == rank_b),
                "turn": turn.turn,
                "position_a": a.position,
                "selected_a": int(rank_a == best),
                "selected_b": int(rank_b == best),
                "n_models": len(ranked),
                "question": question.text,
                "rank_a": rank_a,
                "rank_b": rank_b,
                "own_worker": rating.worker,
                **_own_winner(turn, a, b),
            }


def verdict_rows(record: JudgementRecord) -> Iterator[Row]:
    """A row where the new rater said which of two partners is better."""
    question, answer = _question(record, VERDICT), record.answer(VERDICT)
    rating = _replayed(record)
    if question is None or answer is None or rating is None or not answer.selected:
        return
    sides = _sides(rating)
    if len(set(sides.values())) != 2:
        return
    model_a, model_b = sorted(sides.values())
    verdict = answer.selected[0]
    winner = sides.get(verdict)
    yield {
        **comparison(record, model_a, model_b, answer),
        "item_id": record.item_id,
        "metric": rating.metric,
        "dialogue_a": record.dialogues[0].dialogue_id,
        "dialogue_b": record.dialogues[0].dialogue_id,
        "winner": winner or TIE,
        "tied": int(winner is None),
        "position_a": 1 if sides["a"] == model_a else 2,
        "selected_a": int(winner == model_a),
        "selected_b": int(winner == model_b),
        "n_models": 2,
        "both_bad": int(verdict == "both_bad"),
        "question": question.text,
        "own_worker": rating.worker,
        **({} if rating.verdict is None else _own(sides.get(rating.verdict))),
    }


def replay_rating_rows(record: JudgementRecord) -> Iterator[Row]:
    """A row for each rating on a scale: of the end of a replayed dialogue, or of a whole dialogue."""
    for name in SCALES:
        question, answer = _question(record, name), record.answer(name)
        if question is None or answer is None:
            continue
        shown = record.dialogues[0]
        rating = shown.replayed
        asked = {criterion.name: criterion for criterion in question.criteria}
        for criterion, value in answer.ratings.items():
            about = asked.get(criterion)
            yield {
                "dialogue_id": shown.dialogue_id,
                "worker_id": record.worker,
                "technique": record.technique,
                "setting": record.setting,
                "model": subject(shown),
                "criterion": criterion,
                "value": value,
                "reversed": int(about is not None and about.reversed),
                "degraded": 0,
                "statement": about and about.text,
                "scale": about and about.scale,
                "minimum": about and about.minimum,
                "maximum": about and about.maximum,
                "session": record.session,
                "conversation": record.number,
                "metric": rating.metric if rating and name == "final" else record.metric,
                "seconds": answer.seconds,
                "dialogue_status": record.status,
                "judgement_id": record.judgement_id,
                "own_worker": rating and rating.worker,
                "own_value": rating and rating.final_ratings.get(criterion),
                "own_technique": rating and rating.technique,
                "own_setting": rating and rating.setting,
            }


Answered = tuple[ShownDialogue, ReplayedRating, AskedQuestion, GivenAnswer, Turn]


def _answered_turns(record: JudgementRecord, names: tuple[str, ...]) -> Iterator[Answered]:
    rating = _replayed(record)
    if rating is None:
        return
    turns = {turn.turn: turn for turn in rating.turns}
    for answer in record.answers:
        question = _question(record, answer.question_id)
        turn = turns.get(_turn_number(answer, rating))
        if answer.question_id in names and question is not None and turn is not None:
            yield record.dialogues[0], rating, question, answer, turn


def _turn_number(answer: GivenAnswer, rating: ReplayedRating) -> int:
    """The turn that an answer is about: where only one was replayed, that one."""
    if answer.turn is None and len(rating.turns) == 1:
        return rating.turns[0].turn
    return answer.turn or 0


def _question(record: JudgementRecord, name: str) -> AskedQuestion | None:
    return next((question for question in record.questions if question.question_id == name), None)


def _replayed(record: JudgementRecord) -> ReplayedRating | None:
    return record.dialogues[0].replayed if record.dialogues else None


def _own_asked(turn: Turn) -> bool:
    """Whether the dialogue's own rater chose or ticked in this turn."""
    return turn.complete and not turn.automatic and not turn.continued_each


def _places(turn: Turn, answer: GivenAnswer) -> dict[str, int]:
    """Candidate → place; replies that were shown as one share it."""
    places = {}
    for candidate in turn.candidates:
        place = answer.ranks.get(candidate.candidate_id, answer.ranks.get(candidate.same_as or ""))
        if place is not None and not candidate.failed:
            places[candidate.candidate_id] = place
    return places


def _better(a: Candidate, b: Candidate, lead_of_a: int) -> str:
    return TIE if lead_of_a == 0 else a.model if lead_of_a > 0 else b.model


def _own_winner(turn: Turn, a: Candidate, b: Candidate) -> Row:
    """Who of two was chosen where the other was not; nothing where the dialogue's own rater was not asked."""
    if not _own_asked(turn):
        return {}
    chosen = [one for one in (a, b) if one.candidate_id in turn.selected]
    return _own(chosen[0].model if len(chosen) == 1 else None)


def _own(winner: str | None) -> Row:
    return {"own_winner": winner or TIE, "own_tied": int(winner is None)}


def _sides(rating: ReplayedRating) -> dict[str, str]:
    """“a” and “b” of a verdict → the models that stood first and second."""
    at = {c.position: c.model for turn in rating.turns for c in turn.candidates}
    return {side: at[place] for side, place in (("a", 1), ("b", 2)) if place in at}
