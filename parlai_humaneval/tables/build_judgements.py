"""Rows of the tables that judgements of finished dialogues fill: judgements, segments, comparisons of two dialogues.

Below them, rows of dialogues that are rated once more by somebody else, beside what their own rater said: replies of
turns (chosen, ticked or ranked) stand in ``turns``, ratings in ``ratings``, rankings and verdicts pair by pair in
``comparisons`` (Liu et al. 2023, third-party annotation; Ma et al. 2023, preference ranking and dimensions).

Answers of judges → tidy tables of their own, with the rows that a rater with the same answers would have.

Judges are models. Their tables stand beside those of raters (:attr:`.columns.Tables.judges`) and are never among them:
nothing that counts raters' answers reads them. Each row says ``rater_kind`` judge, which ``judge`` and in which ``order`` of
the candidates; both orders of a thing have a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, get_args

from parlai_humaneval.schema.judge_answers import JUDGE, AnyLine, JudgeAnswer, JudgeCard, UnjudgedItem
from parlai_humaneval.schema.records import (
    HUMAN,
    AskedQuestion,
    Candidate,
    DialogueRecord,
    GivenAnswer,
    JudgementRecord,
    Rated,
    ReplayedRating,
    ShownDialogue,
    Turn,
)
from parlai_humaneval.tables.build_dialogues import (
    comparison_rows,
    failed_checks,
    json_cell,
    rating_rows,
    shown_columns,
    turn_rows,
)
from parlai_humaneval.tables.columns import Row, Tables, from_rows, iso_time
from parlai_humaneval.tables.schema import FEATURES, JUDGE_COLUMNS, TIE, TableName

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
        "shown": json_cell([_shown_dialogue(dialogue) for dialogue in record.dialogues]),
        "checks": json_cell(record.checks),
    }


def _shown_dialogue(dialogue: ShownDialogue) -> dict[str, Any]:
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
        asked = _was_own_rater_asked(turn)
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
                "winner": TIE if rank_a == rank_b else a.model if rank_a < rank_b else b.model,
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
    at = {c.position: c.model for turn in rating.turns for c in turn.candidates}
    sides = {side: at[place] for side, place in (("a", 1), ("b", 2)) if place in at}
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


def _was_own_rater_asked(turn: Turn) -> bool:
    return turn.complete and not turn.automatic and not turn.continued_each


def _places(turn: Turn, answer: GivenAnswer) -> dict[str, int]:
    """Candidate → place; replies that were shown as one share it."""
    places = {}
    for candidate in turn.candidates:
        place = answer.ranks.get(candidate.candidate_id, answer.ranks.get(candidate.same_as or ""))
        if place is not None and not candidate.failed:
            places[candidate.candidate_id] = place
    return places


def _own_winner(turn: Turn, a: Candidate, b: Candidate) -> Row:
    """Who of two was chosen where the other was not; nothing where the dialogue's own rater was not asked."""
    if not _was_own_rater_asked(turn):
        return {}
    chosen = [one for one in (a, b) if one.candidate_id in turn.selected]
    return _own(chosen[0].model if len(chosen) == 1 else None)


def _own(winner: str | None) -> Row:
    return {"own_winner": winner or TIE, "own_tied": int(winner is None)}


def judge_tables(records: Sequence[Rated], lines: Sequence[AnyLine]) -> Tables | None:
    """Tables of what judges answered about the turns, dialogues and items of ``records``, and about items that no rater
    has judged; None: nothing.

    Answers about what stands nowhere any more are left out, and so are those of a version that no card describes. Of two
    answers to the same the first counts.
    """
    cards = {(line.judge, line.version): line for line in lines if isinstance(line, JudgeCard)}
    bases = _bases([*records, *(line.record for line in lines if isinstance(line, UnjudgedItem))])
    rows: dict[TableName, list[Row]] = {name: [] for name in get_args(TableName)}
    for answer in _first_of_each(line for line in lines if isinstance(line, JudgeAnswer)):
        base = bases.get((answer.thing, answer.setting, answer.metric))
        card = cards.get((answer.judge, answer.version))
        if base is not None and card is not None:
            rows["judgements"].append({**_judgement_row(base, answer, card), **_judge_columns(answer)})
            for name, made in _rows(base, answer):
                rows[name] += [{**row, **_judge_columns(answer)} for row in made]
    if not rows["judgements"]:
        return None
    frames = {name: from_rows(name, found, JUDGE_COLUMNS[name]) for name, found in rows.items()}
    return Tables(**frames, repeats=(), judges=None, stopping=(), cleaned=())


def _first_of_each(answers: Iterable[JudgeAnswer]) -> list[JudgeAnswer]:
    found: dict[tuple[str, str, str, str, int], JudgeAnswer] = {}
    for answer in answers:
        found.setdefault(answer.key, answer)
    return list(found.values())


Thing = tuple[str, str, str]
"""Dialogue or item, setting, metric."""


def _bases(records: Sequence[Rated]) -> dict[Thing, Rated]:
    """The first record of each dialogue and of each item: what was asked is the same in all of them."""
    found: dict[Thing, Rated] = {}
    for record in records:
        name = record.item_id if isinstance(record, JudgementRecord) else record.dialogue_id
        found.setdefault((name, record.setting, record.metric), record)
    return found


def _judge_columns(answer: JudgeAnswer) -> Row:
    return {
        "worker_id": answer.judge,
        "simulated": 1,
        "judgement_id": f"{answer.judge}:{answer.unit}:{answer.metric}:{answer.order}",
        "rater_kind": JUDGE,
        "judge": answer.judge,
        "order": answer.order,
    }


def _rows(base: Rated, answer: JudgeAnswer) -> Iterator[tuple[TableName, Iterable[Row]]]:
    if not answer.answers:
        return
    if isinstance(base, JudgementRecord):
        judged = base.model_copy(update={"answers": answer.answers, "dialogues": _in_order(base.dialogues, answer)})
        yield "comparisons", pair_rows(judged)
        yield "segments", segment_rows(judged)
        yield "ratings", replay_rating_rows(judged)
        return
    (given,) = answer.answers
    asked_nothing: dict[str, Any] = {"turns": [], "verdict": None, "verdict_model": None, "final_ratings": {}}
    if given.question_id == TURN:
        turns = [_as_chosen(turn, given, answer.shown) for turn in base.turns if turn.turn == given.turn]
        judged_dialogue = base.model_copy(update={**asked_nothing, "turns": turns})
        yield "turns", turn_rows(judged_dialogue)
        yield "comparisons", comparison_rows(judged_dialogue)
    elif given.question_id == VERDICT:
        yield "comparisons", _verdict_rows(base.model_copy(update=asked_nothing), given, answer.shown)
    else:
        of_end = base.model_copy(update={**asked_nothing, "final_ratings": given.ratings})
        yield "ratings", ({**row, "seconds": given.seconds} for row in rating_rows(of_end))


def _in_order(dialogues: Sequence[ShownDialogue], answer: JudgeAnswer) -> list[ShownDialogue]:
    places = {dialogue_id: place for place, dialogue_id in enumerate(answer.shown, start=1)}
    if len(places) < len(dialogues):  # the same dialogue twice, or of another version: as they stood
        return list(dialogues)
    return [shown.model_copy(update={"position": places[shown.dialogue_id]}) for shown in dialogues]


def _as_chosen(turn: Turn, given: GivenAnswer, shown: Sequence[str]) -> Turn:
    ticked = turn.ticks is not None
    chosen = set(given.selected)
    # Equal replies were shown as one, and are chosen together.
    selected = [one.candidate_id for one in turn.candidates if {one.candidate_id, one.same_as} & chosen]
    return turn.model_copy(
        update={
            "candidates": [_placed(one, shown) for one in turn.candidates],
            "selected": [] if ticked else selected,
            "ticks": list(given.selected) if ticked else None,
            "none_said": given.none_said,
            "reason": None,
            "seconds": given.seconds,
        }
    )


def _placed(candidate: Candidate, shown: Sequence[str]) -> Candidate:
    card = candidate.same_as or candidate.candidate_id
    return candidate.model_copy(update={"position": shown.index(card) + 1}) if card in shown else candidate


def _verdict_rows(base: DialogueRecord, given: GivenAnswer, shown: Sequence[str]) -> Iterator[Row]:
    """``shown``: the two models in the order in which the judge read the conversations with them."""
    verdict = given.option
    winner = dict(zip(("a", "b"), shown, strict=False)).get(str(verdict))
    judged = base.model_copy(update={"verdict": verdict, "verdict_model": winner})
    for row in comparison_rows(judged):
        yield {**row, "seconds": given.seconds, "position_a": shown.index(row["model_a"]) + 1}


def _judgement_row(base: Rated, answer: JudgeAnswer, card: JudgeCard) -> Row:
    group = base.group if isinstance(base, JudgementRecord) else sorted({model.name for model in base.models})
    return {
        "item_id": answer.unit,
        "technique": base.technique,
        "setting": base.setting,
        "metric": base.metric,
        "group": ";".join(group),
        "dialogues": ";".join(answer.dialogues),
        "status": "complete" if answer.answers else "failed",
        "failure": None if answer.answers else answer.outcome,
        "seconds": answer.seconds,
        "gold": 0,
        "question": answer.question,
        "started": iso_time(answer.at - answer.seconds),
        "seed": answer.seed,
        "task_name": base.task_name,
        "schema_version": answer.schema_version,
        "answers": json_cell([given.model_dump(mode="json", exclude_defaults=True) for given in answer.answers]),
        "outcome": answer.outcome,
        "reminded": int(answer.reminded),
        "judge_version": answer.version,
        "package_version": card.package_version,
        "judge_model": card.model,
        "served_model": answer.served_model,
        "family": ";".join(card.family),
        "prompt": json_cell(answer.prompts),
        "reply": json_cell(answer.replies),
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "estimated": int(answer.estimated),
        "cost": answer.cost,
        "currency": answer.currency,
    }
