"""Filling rows of tables from records, and the rows of live dialogues.

Those are rows of turns, dialogues, comparisons, ratings and points.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any

from pydantic import BaseModel

from parlai_humaneval.display.text import parted
from parlai_humaneval.schema.rebuild import points, ranks
from parlai_humaneval.schema.records import Candidate, CriterionRecord, DialogueRecord, Rated
from parlai_humaneval.tables.columns import Row, iso_time
from parlai_humaneval.tables.schema import TABLES, TIE, TableName, is_problem

PRACTICE = "practice"  # Key of a record's ``checks`` that holds how the worker did in practice
MEPHISTO = ("task_run_id", "unit_id", "assignment_id")
_PLAIN = {str, int, float}  # as they are most of the time
_OTHERWISE = {"worker_id": "worker", "dialogue_status": "status"}
"""Column → the field of records that it holds, where that has another name."""


def row_of(table: TableName, *sources: BaseModel | None, **given: Any) -> Row:
    """A row of a table: each column holds what is ``given``, or else the field of its name of the first of ``sources``
    that has one; lists and the like as JSON."""
    for column, place, name in _fields(table, tuple(map(type, sources)), tuple(given)):
        value = getattr(sources[place], name)
        given[column] = value if value is None or type(value) in _PLAIN else _cell(value)
    return given


@cache
def _fields(table: TableName, kinds: tuple[type[Any], ...], given: tuple[str, ...]) -> tuple[tuple[str, int, str], ...]:
    """Column that is not ``given`` → the place of the first of these kinds that has it, and its name there."""
    names = [(column.name, _OTHERWISE.get(column.name, column.name)) for column in TABLES[table]]
    return tuple(
        (column, place, name)
        for column, name in names
        if column not in given
        for place in [
            n
            for n, kind in enumerate(kinds)
            if name in getattr(kind, "model_fields", ()) or isinstance(getattr(kind, name, None), property)
        ][:1]
    )


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return json_cell(value) if isinstance(value, list | dict | BaseModel) else value


def json_cell(value: object) -> str:
    """A value that does not fit into a plain cell, as JSON."""

    def plain(inside: object) -> object:
        return inside.model_dump(mode="json") if isinstance(inside, BaseModel) else str(inside)

    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=plain)


def copied(source: object, *names: str) -> Row:
    """The fields of these names, which have columns of the same names."""
    return {name: _cell(getattr(source, name)) for name in names}


def shown_columns(candidate: Candidate) -> Row:
    """Columns on how a reply was shown that need more than a field of the reply."""
    earlier = [reply.model_dump() for reply in candidate.asked_again]
    told = candidate.info and candidate.info.thoughts
    return {
        "masked": int(bool(candidate.masks)),
        "changes": ";".join(candidate.changes),
        "images": json_cell(candidate.images) if candidate.images else None,
        "withdrawn": json.dumps(earlier, ensure_ascii=False) if earlier else None,
        "thoughts": told or "\n\n".join(filter(None, parted(candidate.raw_text or "").thoughts)) or None,
    }


def usage_columns(candidates: Sequence[Candidate]) -> Row:
    """Tokens and cost of all these replies, as reported by servers; None without reports. Costs in several currencies
    have no sum."""
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
        of_turn = {
            "written": int(turn.written is not None),
            "written_text": turn.written,
            "human_images": json_cell(turn.human_images) if turn.human_images else None,
            "ticks": ";".join(turn.ticks or ()),
            "tick_choices": "" if turn.ticks is None else ";".join(c.name for c in record.turn_criteria),
            "tick_problems": "" if turn.ticks is None else tick_problems(record.turn_criteria),
        }
        for candidate in turn.candidates:
            yield row_of(
                "turns",
                candidate,
                turn,
                record,
                candidate.info,
                selected=int(turn.picks(candidate)),
                continued=int(candidate.candidate_id == turn.continued),
                **of_turn,
                **shown_columns(candidate),
                **usage_columns([candidate]),
            )


def tick_problems(criteria: Sequence[CriterionRecord]) -> str:
    """Names of the ticks that mark problems, joined by ;."""
    return ";".join(one.name for one in criteria if one.reversed or is_problem(one.name))


def dialogue_row(record: DialogueRecord) -> Row:
    """The row of a dialogue in the table ``dialogues``."""
    return row_of(
        "dialogues",
        record,
        record.context,
        started=iso_time(record.started_at),
        seconds=None if record.finished_at is None else record.finished_at - record.started_at - record.away_s,
        n_turns=len(record.complete_turns),
        complete=int(record.status == "complete"),
        n_turns_started=len(record.turns),
        models=";".join(model.name for model in record.models),
        model_settings=json_cell(record.models),
        checks_failed=";".join(failed_checks(record.checks)),
        **usage_columns([candidate for turn in record.turns for candidate in turn.candidates]),
    )


def comparison_row(
    record: Rated, model_a: str, model_b: str, winner: str | None, *sources: BaseModel, **others: Any
) -> Row:
    """A comparison of two models, of which one won or, without a ``winner``, none. ``sources``: what the row is filled
    from before the record; ``others``: what stands besides."""
    return row_of("comparisons", *sources, record, **{**comparison_cells(model_a, model_b, winner), **others})


def comparison_cells(model_a: str, model_b: str, winner: str | None) -> Row:
    """The compared models, and the winner."""
    return {
        "model_a": model_a,
        "model_b": model_b,
        "winner": TIE if winner is None else winner,
        "tied": int(winner is None),
        "selected_a": int(winner == model_a),
        "selected_b": int(winner == model_b),
        "n_models": 2,
        "both_bad": 0,
        "automatic": 0,
    }


def comparison_rows(record: DialogueRecord) -> Iterator[Row]:
    """A row for each pair of models whose replies were shown together, turn by turn; then the verdict, if any. With two
    models ``winner`` is the one chosen. With more, each pair is read alone: a reply that was chosen won against one
    that was not, which is what the pair tests of Liu et al. 2023 compare."""
    same = {"dialogue_a": record.dialogue_id, "dialogue_b": record.dialogue_id}
    for turn in record.complete_turns:
        shown = sorted((c for c in turn.candidates if not c.failed), key=lambda candidate: candidate.model)
        # A model against itself has no winner, so its turns are only in `turns`. So are turns without a choice.
        if not turn.offers_choice or len({c.model for c in shown}) < len(shown):
            continue
        for first, second in combinations(shown, 2):
            a, b = (turn.picks(c) for c in (first, second))
            yield comparison_row(
                record,
                first.model,
                second.model,
                None if a == b else first.model if a else second.model,
                turn,
                item_id=f"{record.dialogue_id}:{turn.turn}",
                position_a=first.position,
                selected_a=int(a),
                selected_b=int(b),
                n_models=len(shown),
                automatic=int(turn.automatic),
                **same,
            )
    models = sorted({model.name for model in record.models})
    if record.verdict is not None and len(models) == 2:
        of_first = (c.position for t in record.turns for c in t.candidates if c.model == models[0] and c.position)
        yield comparison_row(
            record,
            models[0],
            models[1],
            record.verdict_model or None,
            item_id=f"{record.dialogue_id}:verdict",
            seconds=record.final_seconds,
            position_a=next(of_first, None),
            both_bad=int(record.verdict == "both_bad"),
            **same,
        )


def rating_row(asked: CriterionRecord | None, record: Rated, **others: Any) -> Row:
    """A rating on the scale of what was ``asked``, where the record has it; ``others``: of what, and the value."""
    scale = {"reversed": int(asked is not None and asked.reversed), "statement": asked and asked.text}
    return row_of("ratings", asked, record, **scale, **others)


def rating_rows(record: DialogueRecord) -> Iterator[Row]:
    """A row for each rating that was given at the end of the dialogue."""
    names = list(dict.fromkeys(model.name for model in record.models))
    asked = {criterion.name: criterion for criterion in record.criteria}
    for name, rating in record.final_ratings.items():
        yield rating_row(
            asked.get(name),
            record,
            model=";".join(names),
            criterion=name,
            value=rating,
            degraded=int(names == [record.quality_control_model]),
            seconds=record.final_seconds,
        )


def point_rows(record: DialogueRecord) -> Iterator[Row]:
    """A row for each model that was chosen from several. Records of the first schema have no points: they are counted."""
    won = record.points or points(record)
    placed = record.ranks or ranks(won)
    turns, started = len(record.complete_turns), iso_time(record.started_at)
    for model in sorted(won):
        of_model = {"model": model, "points": won[model], "rank": placed[model]}
        yield row_of("points", record, n_turns=turns, started=started, **of_model)


def failed_checks(checks: Mapping[str, Any]) -> list[str]:
    """Names of the quality checks that did not pass; the practice, which is next to them, is not one of them."""
    return [
        name
        for name, outcome in checks.items()
        if name != PRACTICE and isinstance(outcome, dict) and outcome.get("passed") is False
    ]
