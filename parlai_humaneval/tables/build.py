"""Records of raters, and answers of judges → tidy tables, on which all analysis works.

Judges are models. Their tables are next to those of raters (`.columns.Tables.judges`) and are never among them: nothing
that counts raters' answers reads them. They hold the rows that a rater with the same answers would have; each row says
``rater_kind`` judge, which ``judge`` and in which ``order`` of the candidates; both orders of a thing have a row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, TypeVar, get_args

from parlai_humaneval.schema.judge_answers import JUDGE, AnyLine, JudgeAnswer, JudgeCard, UnjudgedItem
from parlai_humaneval.schema.records import DialogueRecord, GivenAnswer, JudgementRecord, Rated, Turn
from parlai_humaneval.tables import build_dialogues as live
from parlai_humaneval.tables import build_judgements as judged
from parlai_humaneval.tables import columns
from parlai_humaneval.tables.columns import HOW_REPEATS, Repeats, Row, TableError, Tables, from_rows
from parlai_humaneval.tables.files import Checked, settled, tables_of
from parlai_humaneval.tables.schema import JUDGE_COLUMNS, STUDY, TableName

__all__ = ["Tables", "tables"]

R = TypeVar("R", DialogueRecord, JudgementRecord)


def tables(records: Sequence[Rated], *, repeats: Repeats | None = None) -> Tables:
    """Tidy tables of live dialogues and of judgements of finished ones, in their order.

    What is unfinished is kept and marked as such. Attention checks are in ``judgements`` only.

    Args:
        records: of raters.
        repeats: which of several records of the same worker and id count (:func:`.files.settled`); None: they are
            refused.

    Raises:
        TableError: two dialogues have the same ``dialogue_id``, or two judgements the same ``judgement_id``.

    >>> tables([]).comparisons.columns[:3].tolist()
    ['item_id', 'worker_id', 'metric']
    """
    dialogues = [record for record in records if isinstance(record, DialogueRecord)]
    judgements = [record for record in records if isinstance(record, JudgementRecord)]
    ids = Counter(("dialogue_id", record.dialogue_id) for record in dialogues)
    ids += Counter(("judgement_id", record.judgement_id) for record in judgements)
    for (name, one), count in ids.items():
        if count > 1 and repeats is None:
            raise TableError(f"{name} {one!r} is in {count} records, but must be unique", try_=HOW_REPEATS)
    results = [record for record in judgements if record.expected is None]
    makers = (judged.pair_rows, judged.ranking_rows, judged.verdict_rows)
    rows: dict[TableName, Iterable[Row]] = {
        "turns": [*_all(live.turn_rows, dialogues), *_all(judged.replay_turn_rows, results)],
        "dialogues": map(live.dialogue_row, dialogues),
        "comparisons": [
            *_all(live.comparison_rows, dialogues),
            *(row for make in makers for row in _all(make, results)),
        ],
        "ratings": [*_all(live.rating_rows, dialogues), *_all(judged.replay_rating_rows, results)],
        "points": _all(live.point_rows, dialogues),
        "segments": _all(judged.segment_rows, results),
        "judgements": map(judged.judgement_row, judgements),
    }
    made = {name: settled(name, from_rows(name, list(found)), repeats) for name, found in rows.items()}
    if repeats is not None:
        for name, (frame, _) in made.items():
            columns.check_unique(name, frame)
    return tables_of({name: Checked(frame.reset_index(drop=True), told) for name, (frame, told) in made.items()})


def _all(make: Callable[[R], Iterable[Row]], records: Iterable[R]) -> Iterator[Row]:
    return chain.from_iterable(map(make, records))


def judge_tables(records: Sequence[Rated], lines: Sequence[AnyLine]) -> Tables | None:
    """Tables of what judges answered about the turns, dialogues and items of ``records``, and about items that no rater
    has judged; None: nothing. Answers about what stands nowhere any more are left out, and so are those of a version
    that no card describes. Of two answers to the same the first counts."""
    cards = {(line.judge, line.version): line for line in lines if isinstance(line, JudgeCard)}
    # The first record of each dialogue and of each item: what was asked is the same in all of them.
    bases: dict[tuple[str, str, str], Rated] = {}
    for record in (*records, *(line.record for line in lines if isinstance(line, UnjudgedItem))):
        name = record.item_id if isinstance(record, JudgementRecord) else record.dialogue_id
        bases.setdefault((name, record.setting, record.metric), record)
    rows: dict[TableName, list[Row]] = {name: [] for name in get_args(TableName)}
    first: dict[object, JudgeAnswer] = {}
    for line in lines:
        if isinstance(line, JudgeAnswer):
            first.setdefault(line.key, line)
    for answer in first.values():
        base = bases.get((answer.thing, answer.setting, answer.metric))
        card = cards.get((answer.judge, answer.version))
        if base is not None and card is not None:
            rows["judgements"].append({**_judgement_row(base, answer, card), **_judge_columns(answer)})
            for table, made in _rows(base, answer):
                rows[table] += [{**row, **_judge_columns(answer)} for row in made]
    if not rows["judgements"]:
        return None
    return tables_of({name: Checked(from_rows(name, found, JUDGE_COLUMNS[name])) for name, found in rows.items()})


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
        places = {dialogue_id: place for place, dialogue_id in enumerate(answer.shown, start=1)}
        dialogues = list(base.dialogues)
        if len(places) >= len(dialogues):  # else the same dialogue twice, or of another version: as they stood
            dialogues = [one.model_copy(update={"position": places[one.dialogue_id]}) for one in dialogues]
        record = base.model_copy(update={"answers": answer.answers, "dialogues": dialogues})
        yield "comparisons", judged.pair_rows(record)
        yield "segments", judged.segment_rows(record)
        yield "ratings", judged.replay_rating_rows(record)
        return
    (given,) = answer.answers
    asked_nothing: dict[str, Any] = {"turns": [], "verdict": None, "verdict_model": None, "final_ratings": {}}
    if given.question_id == judged.TURN:
        turns = [_as_chosen(turn, given, answer.shown) for turn in base.turns if turn.turn == given.turn]
        judged_dialogue = base.model_copy(update={**asked_nothing, "turns": turns})
        yield "turns", live.turn_rows(judged_dialogue)
        yield "comparisons", live.comparison_rows(judged_dialogue)
    elif given.question_id == judged.VERDICT:
        winner = dict(zip(("a", "b"), answer.shown, strict=False)).get(str(given.option))  # in the order that it read
        of_verdict = {**asked_nothing, "verdict": given.option, "verdict_model": winner}
        for row in live.comparison_rows(base.model_copy(update=of_verdict)):
            place = answer.shown.index(row["model_a"]) + 1
            yield "comparisons", [{**row, "seconds": given.seconds, "position_a": place}]
    else:
        of_end = base.model_copy(update={**asked_nothing, "final_ratings": given.ratings})
        yield "ratings", ({**row, "seconds": given.seconds} for row in live.rating_rows(of_end))


def _as_chosen(turn: Turn, given: GivenAnswer, shown: Sequence[str]) -> Turn:
    ticked, chosen = turn.ticks is not None, set(given.selected)
    candidates = []
    for one in turn.candidates:
        card = one.same_as or one.candidate_id
        place = {"position": shown.index(card) + 1} if card in shown else {}
        candidates.append(one.model_copy(update=place))
    # Equal replies were shown as one, and are chosen together.
    selected = [one.candidate_id for one in turn.candidates if {one.candidate_id, one.same_as} & chosen]
    return turn.model_copy(
        update={
            "candidates": candidates,
            "selected": [] if ticked else selected,
            "ticks": list(given.selected) if ticked else None,
            "none_said": given.none_said,
            "reason": None,
            "seconds": given.seconds,
        }
    )


_OF_ANSWER = (
    *("seconds", "question", "seed", "schema_version", "outcome", "reminded", "images_described", "served_model"),
    *("prompt_tokens", "completion_tokens", "estimated", "cost", "currency"),
)


def _judgement_row(base: Rated, answer: JudgeAnswer, card: JudgeCard) -> Row:
    group = base.group if isinstance(base, JudgementRecord) else sorted({model.name for model in base.models})
    return {
        "item_id": answer.unit,
        **live.copied(base, *STUDY, "task_name"),
        **live.copied(answer, *_OF_ANSWER),
        "group": ";".join(group),
        "dialogues": ";".join(answer.dialogues),
        "status": "complete" if answer.answers else "failed",
        "failure": None if answer.answers else answer.outcome,
        "gold": 0,
        "started": columns.iso_time(answer.at - answer.seconds),
        "answers": live.json_cell([given.model_dump(mode="json", exclude_defaults=True) for given in answer.answers]),
        "judge_version": answer.version,
        "package_version": card.package_version,
        "judge_model": card.model,
        "family": ";".join(card.family),
        "prompt": live.json_cell(answer.prompts),
        "reply": live.json_cell(answer.replies),
    }
