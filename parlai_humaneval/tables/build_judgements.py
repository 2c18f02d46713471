"""Rows of the tables that judgements of finished dialogues fill: judgements, segments, comparisons of two dialogues.

Below them are rows of dialogues that somebody else rated again, with the answers of their own rater: replies of turns
(chosen, ticked or ranked) are in ``turns``, ratings in ``ratings``, rankings and verdicts pair by pair in
``comparisons`` (Liu et al. 2023, third-party annotation; Ma et al. 2023, preference ranking and dimensions).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import combinations

from parlai_humaneval.schema import records
from parlai_humaneval.tables import build_dialogues
from parlai_humaneval.tables.columns import Row, iso_time
from parlai_humaneval.tables.schema import FEATURES, TIE

SIDES = {"first": 1, "second": 2}  # option of a question on two dialogues → its position

SIGN_OF_FIRST = {"first": 1, "same": 0, "second": -1}
"""Option of a question on two speakers → how the one who speaks first did against the other."""
TURN, RANK, VERDICT = "turn", "rank", "verdict"
SCALES = ("final", "rate")
"""Questions that are answered on scales: what the own rater was asked at the end, and the scales of the study."""


def subject(dialogue: records.ShownDialogue) -> str:
    """The subject of a judged dialogue: the judged speaker, or else the models that speak, joined by ;."""
    if dialogue.judged is not None:
        return dialogue.entities[dialogue.judged]
    return ";".join(dict.fromkeys(name for name in dialogue.entities if name != records.HUMAN)) or records.HUMAN


def judgement_row(record: records.JudgementRecord) -> Row:
    """The row of a judgement in the table ``judgements``."""
    # The answers of one form share its time, which counts once.
    steps = {(answer.at, answer.seconds) for answer in record.answers}
    wanted = {"dialogue_id", "position", "entities", "judged", "k", "lines", "context", "source"}
    shown = [one.model_dump(mode="json", include=wanted, exclude_defaults=True) for one in record.dialogues]
    return build_dialogues.row_of(
        "judgements",
        record,
        group=";".join(record.group),
        dialogues=";".join(one.dialogue_id for one in record.dialogues),
        seconds=sum(seconds for _, seconds in steps) if steps else None,
        gold=int(record.expected is not None),
        checks_failed=";".join(build_dialogues.failed_checks(record.checks)),
        reason="; ".join(answer.reason for answer in record.answers if answer.reason),
        kind=";".join(one.kind for one in record.dialogues),
        k=";".join(str(one.k) for one in record.dialogues if one.k is not None),
        question="\n".join(dict.fromkeys(question.text for question in record.questions)),
        started=iso_time(record.started_at),
        answers=build_dialogues.json_cell(
            [answer.model_dump(mode="json", exclude_defaults=True) for answer in record.answers]
        ),
        shown=build_dialogues.json_cell(shown),
    )


def pair_rows(record: records.JudgementRecord) -> Iterator[Row]:
    """A row for each metric under which two dialogues were compared (Smith et al. 2022, §3.1.3). A model against itself
    has no winner, and no row."""
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
        yield build_dialogues.comparison_row(
            record,
            subject(first),
            subject(second),
            None if chosen is None else subject(chosen),
            answer,
            metric=question.question_id,
            dialogue_a=first.dialogue_id,
            dialogue_b=second.dialogue_id,
            position_a=first.position,
            side=first.position,
            question=question.text,
            start=_start(first) if _start(first) == _start(second) else None,
        )


def _start(shown: records.ShownDialogue) -> str:
    """How a dialogue begins: the id of its start, else a number of its first line, which may be somebody's text."""
    if shown.settings.get("start_id"):
        return str(shown.settings["start_id"])
    first = shown.lines[0].text.strip().casefold() if shown.lines else ""
    return f"s{hashlib.sha256(first.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def segment_rows(record: records.JudgementRecord) -> Iterator[Row]:
    """A row for each speaker of a segment who was labelled (Deriu et al. 2020, §3.1)."""
    if len(record.dialogues) != 1 or len(record.dialogues[0].entities) != 2:
        return
    (shown,) = record.dialogues
    for entity in (0, 1):
        answer = record.answer(f"label_{entity}")
        if answer is None or answer.option is None:
            continue
        yield build_dialogues.row_of(
            "segments",
            record,
            shown,
            k=len(shown.lines) // 2 if shown.k is None else shown.k,
            entity=entity,
            model=shown.entities[entity],
            opponent=shown.entities[1 - entity],
            label=answer.option,
            seconds=answer.seconds,
            position=entity + 1,
            **{name: _sign(record, name, entity) for name in FEATURES},
        )


def _sign(record: records.JudgementRecord, feature: str, entity: int) -> int | None:
    """1, 0 or −1: how the speaker did against the other; None where it was not asked or answered."""
    answer = record.answer(feature)
    sign = None if answer is None else SIGN_OF_FIRST.get(answer.option or "")
    return None if sign is None else sign * (1 - 2 * entity)


def replay_turn_rows(record: records.JudgementRecord) -> Iterator[Row]:
    """A row for each candidate of each turn that the new rater answered."""
    for shown, rating, question, answer, turn in _answered_turns(record, (TURN, RANK)):
        ticked = question.kind == "tick"
        places = _places(turn, answer) if question.kind == "rank" else {}
        best = min(places.values(), default=0)
        asked = _was_own_rater_asked(turn)
        of_turn = {
            "turn": turn.turn,
            "dialogue_id": shown.dialogue_id,
            "metric": record.metric if question.kind == "rank" else rating.metric,
            "written": int(turn.written is not None),
            "written_text": turn.written,
            "human_images": build_dialogues.json_cell(turn.human_images) if turn.human_images else None,
            "complete": 1,
            "ticks": ";".join(answer.selected) if ticked else "",
            "tick_choices": ";".join(question.options) if ticked else "",
            "automatic": 0,
            "question": question.text,
            "own_worker": rating.worker,
            "own_ticks": ";".join(turn.ticks or ()),
            "own_asked": int(asked),
            "own_technique": rating.technique,
            "own_setting": rating.setting,
        }
        for candidate in turn.candidates:
            place = places.get(candidate.candidate_id)
            chosen = not ticked and candidate.candidate_id in answer.selected
            yield build_dialogues.row_of(
                "turns",
                answer,
                candidate,
                turn,
                record,
                **of_turn,
                **build_dialogues.shown_columns(candidate),
                selected=int(chosen or (place is not None and place == best)),
                continued=int(candidate.candidate_id == turn.continued),
                rank=place,
                own_selected=int(turn.picks(candidate)) if asked else None,
            )


def ranking_rows(record: records.JudgementRecord) -> Iterator[Row]:
    """A row for each two replies of a turn that were ranked; the same place is a tie."""
    for shown, rating, question, answer, turn in _answered_turns(record, (RANK,)):
        places = _places(turn, answer)
        ranked = sorted((c for c in turn.candidates if c.candidate_id in places), key=lambda c: c.model)
        if len({candidate.model for candidate in ranked}) < len(ranked):
            continue
        best = min(places.values(), default=0)
        for a, b in combinations(ranked, 2):
            rank_a, rank_b = places[a.candidate_id], places[b.candidate_id]
            # The chosen one of the two, if the other was not; empty if the dialogue's own rater was not asked.
            picked = [one.model for one in (a, b) if turn.picks(one)]
            yield build_dialogues.comparison_row(
                record,
                a.model,
                b.model,
                None if rank_a == rank_b else a.model if rank_a < rank_b else b.model,
                answer,
                dialogue_a=shown.dialogue_id,
                dialogue_b=shown.dialogue_id,
                turn=turn.turn,
                position_a=a.position,
                selected_a=int(rank_a == best),
                selected_b=int(rank_b == best),
                n_models=len(ranked),
                question=question.text,
                rank_a=rank_a,
                rank_b=rank_b,
                own_worker=rating.worker,
                **(_own(picked[0] if len(picked) == 1 else None) if _was_own_rater_asked(turn) else {}),
            )


def verdict_rows(record: records.JudgementRecord) -> Iterator[Row]:
    """A row where the new rater said which of two partners is better."""
    question, answer = _question(record, VERDICT), record.answer(VERDICT)
    rating = record.dialogues[0].replayed if record.dialogues else None
    if question is None or answer is None or rating is None or not answer.selected:
        return
    at = {c.position: c.model for turn in rating.turns for c in turn.candidates}
    sides = {side: at[place] for side, place in (("a", 1), ("b", 2)) if place in at}
    if len(set(sides.values())) != 2:
        return
    model_a, model_b = sorted(sides.values())
    verdict = answer.selected[0]
    yield build_dialogues.comparison_row(
        record,
        model_a,
        model_b,
        sides.get(verdict),
        answer,
        metric=rating.metric,
        dialogue_a=record.dialogues[0].dialogue_id,
        dialogue_b=record.dialogues[0].dialogue_id,
        position_a=1 if sides["a"] == model_a else 2,
        both_bad=int(verdict == "both_bad"),
        question=question.text,
        own_worker=rating.worker,
        **({} if rating.verdict is None else _own(sides.get(rating.verdict))),
    )


def _own(winner: str | None) -> Row:
    return {"own_winner": winner or TIE, "own_tied": int(winner is None)}


def replay_rating_rows(record: records.JudgementRecord) -> Iterator[Row]:
    """A row for each rating on a scale: of the end of a replayed dialogue, or of a whole dialogue."""
    for name in SCALES:
        question, answer = _question(record, name), record.answer(name)
        if question is None or answer is None:
            continue
        shown = record.dialogues[0]
        rating = shown.replayed
        asked = {criterion.name: criterion for criterion in question.criteria}
        for criterion, value in answer.ratings.items():
            yield build_dialogues.rating_row(
                asked.get(criterion),
                record,
                dialogue_id=shown.dialogue_id,
                model=subject(shown),
                criterion=criterion,
                value=value,
                degraded=0,
                conversation=record.number,
                metric=rating.metric if rating and name == "final" else record.metric,
                seconds=answer.seconds,
                own_worker=rating and rating.worker,
                own_value=rating and rating.final_ratings.get(criterion),
                own_technique=rating and rating.technique,
                own_setting=rating and rating.setting,
            )


Answered = tuple[
    records.ShownDialogue, records.ReplayedRating, records.AskedQuestion, records.GivenAnswer, records.Turn
]


def _answered_turns(record: records.JudgementRecord, names: tuple[str, ...]) -> Iterator[Answered]:
    rating = record.dialogues[0].replayed if record.dialogues else None
    if rating is None:
        return
    turns: dict[int | None, records.Turn] = {turn.turn: turn for turn in rating.turns}
    only = rating.turns[0].turn if len(rating.turns) == 1 else None
    for answer in record.answers:
        question = _question(record, answer.question_id)
        turn = turns.get(only if answer.turn is None else answer.turn)
        if answer.question_id in names and question is not None and turn is not None:
            yield record.dialogues[0], rating, question, answer, turn


def _question(record: records.JudgementRecord, name: str) -> records.AskedQuestion | None:
    return next((question for question in record.questions if question.question_id == name), None)


def _was_own_rater_asked(turn: records.Turn) -> bool:
    return turn.complete and not turn.automatic and not turn.continued_each


def _places(turn: records.Turn, answer: records.GivenAnswer) -> dict[str, int]:
    """Candidate → place; replies that were shown as one share it."""
    places = {}
    for candidate in turn.candidates:
        place = answer.ranks.get(candidate.candidate_id, answer.ranks.get(candidate.same_as or ""))
        if place is not None and not candidate.failed:
            places[candidate.candidate_id] = place
    return places
