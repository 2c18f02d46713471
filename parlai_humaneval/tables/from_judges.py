"""Answers of judges → tidy tables of their own, with the rows that a rater with the same answers would have.

Judges are models. Their tables stand beside those of raters (:attr:`.columns.Tables.judges`) and are never among them:
nothing that counts raters' answers reads them. Each row says ``rater_kind`` judge, which ``judge`` and in which ``order`` of
the candidates; both orders of a thing have a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, get_args

from parlai_humaneval.protocol.records.dialogue import Candidate, DialogueRecord, Turn
from parlai_humaneval.protocol.records.judge_answer import JUDGE, AnyLine, JudgeAnswer, JudgeCard, UnjudgedItem
from parlai_humaneval.protocol.records.judgement import GivenAnswer, JudgementRecord, Rated, ShownDialogue
from parlai_humaneval.tables.columns import Row, TableName, Tables, from_rows, iso_time
from parlai_humaneval.tables.from_dialogues import comparison_rows, json_cell, rating_rows, turn_rows
from parlai_humaneval.tables.from_judgements import TURN, VERDICT, pair_rows, replay_rating_rows, segment_rows
from parlai_humaneval.tables.schema import JUDGE_COLUMNS


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
            rows["judgements"].append({**_judgement_row(base, answer, card), **_of_judge(answer)})
            for name, made in _rows(base, answer):
                rows[name] += [{**row, **_of_judge(answer)} for row in made]
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


def _of_judge(answer: JudgeAnswer) -> Row:
    """What every row says of who answered."""
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
    """The dialogues in the places in which the judge read them."""
    places = {dialogue_id: place for place, dialogue_id in enumerate(answer.shown, start=1)}
    if len(places) < len(dialogues):  # the same dialogue twice, or of another version: as they stood
        return list(dialogues)
    return [shown.model_copy(update={"position": places[shown.dialogue_id]}) for shown in dialogues]


def _as_chosen(turn: Turn, given: GivenAnswer, shown: Sequence[str]) -> Turn:
    """The turn with the judge's choice, and the replies in the places in which it read them."""
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
