"""Records → what a study that ends when it is decided counts of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import partial

from mephisto_tasks.session.stopping import Course
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord, Rated, Turn
from parlai_humaneval.stopping.events import Outcome
from parlai_humaneval.tables.build_judgements import pair_rows

Models = tuple[str, ...]


def note_record(course: Course, worker: str, record: Rated) -> None:
    """Count a finished dialogue or judgement of a worker, or as much of a dialogue as there is; attention checks are never
    counted."""
    models, of_record = _models(record), partial(outcome_of, record)
    if record.status == "complete":
        course.note(worker, models, of_record)
    elif isinstance(record, DialogueRecord):
        course.choose(worker, models, of_record, whole=int(record.settings["turns"]))


def note_missing(course: Course, finished: Iterable[tuple[str, Rated]]) -> None:
    """Count those of the workers' ``finished`` dialogues or judgements, oldest first, that are not counted yet.

    A worker may have several of the same models: those that are counted are the oldest.
    """
    seen: Counter[tuple[str, frozenset[str]]] = Counter()
    for worker, record in finished:
        models = _models(record)
        if outcome_of(record, models) is not None:
            seen[worker, frozenset(models)] += 1
            if seen[worker, frozenset(models)] > course.noted(worker, models):
                note_record(course, worker, record)


def unknown_workers(course: Course, finished: Iterable[tuple[str, Rated]]) -> int:
    """How many workers finished what would be evidence, and never came by the study's log.

    That a worker came is written down before anything is shown to them, so that no launch that died leaves one.
    """
    return len(
        {worker for worker, record in finished if outcome_of(record, _models(record)) and not course.came(worker)}
    )


def _models(record: Rated) -> Models:
    if isinstance(record, JudgementRecord):
        return () if record.expected is not None else tuple(record.group)
    return tuple(model.name for model in record.models)


def outcome_of(record: Rated, models: Models) -> Outcome | None:
    """How often each of the models was chosen; None where nothing was, and nothing could be."""
    if len(models) < 2:
        return None
    if isinstance(record, JudgementRecord):
        return _of_judgement(record, models)
    if record.verdict is not None:
        return Outcome(picks=tuple(int(model == record.verdict_model) for model in models), turns=1)
    return _of_turns(record, models)


def _of_turns(record: DialogueRecord, models: Models) -> Outcome | None:
    chosen = [_chosen(turn) for turn in record.complete_turns if _chooses(turn)]
    if not chosen:
        return None
    return Outcome(picks=tuple(sum(model in of_turn for of_turn in chosen) for model in models), turns=len(chosen))


def _chooses(turn: Turn) -> bool:
    """Whether something was chosen, and nothing of any model was missing."""
    return turn.ticks is None and not turn.continued_each and not any(candidate.failed for candidate in turn.candidates)


def _chosen(turn: Turn) -> set[str]:
    return {candidate.model for candidate in turn.candidates if candidate.candidate_id in turn.selected}


def _of_judgement(record: JudgementRecord, models: Models) -> Outcome | None:
    rows = [row for row in pair_rows(record) if row["metric"] == record.metric]
    if not rows:
        return None
    won = [row["winner"] for row in rows if not row["tied"]]
    return Outcome(picks=tuple(won.count(model) for model in models), turns=len(rows))
