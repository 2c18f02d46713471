"""Every check by name, and running them; which of them a paper uses stands in its technique's entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parlai_humaneval._util.errors import misspelt
from parlai_humaneval.quality import choices, judgements, messages, ratings
from parlai_humaneval.quality.verdicts import Check, CheckError, DialogueCheck, JudgementCheck, Verdict, WorkerCheck
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord, Rated
from parlai_humaneval.techniques.registry import techniques

SMITH = "Smith et al. 2022, App. B.4"
LIU = "Liu et al. 2023, “Experiments”"
JI = "Ji et al. 2022, §3.2"
ATTENTION = "attention checks and fixed patterns, as with live dialogues"
READING = "reading speed: Brysbaert 2019, Carver 1992"

_ALL: tuple[Check, ...] = (
    DialogueCheck("short_messages", SMITH, "Messages under three words on average.", messages.short_messages),
    DialogueCheck("greeting", SMITH, "First typed message greets again after the fixed greeting.", messages.greeting),
    DialogueCheck("capitals", SMITH, "Several messages mostly in capitals.", messages.capitals),
    DialogueCheck("repeats_first", SMITH, "Later messages repeat the first.", messages.repeats_first),
    DialogueCheck("offensive", SMITH, "Offensive words, by an English word list.", messages.offensive),
    DialogueCheck("same_position", LIU, "The same positions chosen in every turn.", choices.same_position),
    DialogueCheck("short_tokens", LIU, "Messages under two words on average.", messages.short_tokens),
    DialogueCheck(
        "too_fast", READING, "Half of the turns answered before the replies could be read.", choices.too_fast
    ),
    WorkerCheck("constant_scores", JI, "All slider ratings of the worker are equal.", ratings.constant_scores),
    WorkerCheck("rank_sum", JI, "The degraded model not rated lower than the others.", ratings.rank_sum),
)
_JUDGEMENTS = (
    JudgementCheck(
        "failed_gold", ATTENTION, "Attention checks answered wrong, more than a third.", judgements.failed_gold
    ),
    JudgementCheck("too_fast", READING, "Half of the items answered before they could be read.", judgements.too_fast),
    JudgementCheck("same_side", ATTENTION, "Always the dialogue on the same side chosen.", judgements.same_side),
    JudgementCheck(
        "one_label", ATTENTION, "Every speaker, person or program, labelled the same.", judgements.one_label
    ),
)
JUDGEMENT_CHECKS: dict[str, JudgementCheck] = {check.name: check for check in _JUDGEMENTS}
"""Name → check on judgements of finished dialogues; all are on workers."""

CHECKS: dict[str, Check] = {check.name: check for check in (*_ALL, *_JUDGEMENTS)} | {
    check.name: check for check in _ALL
}
"""Name → check. ``too_fast`` is one of live dialogues and, in :data:`JUDGEMENT_CHECKS`, one of judgements."""

EVERYWHERE = ("too_fast",)


def default_checks(technique: str, setting: str = "", metric: str = "") -> tuple[str, ...]:
    """Names of the checks that the paper of a technique uses, and ``too_fast`` everywhere.

    Records may be of a technique that is not known here; they have the checks that are everywhere.

    Raises:
        CheckError: the technique's entry names a check that does not exist.
    """
    entry = techniques().get(technique)
    return (*(() if entry is None else known_checks(entry.checks_for(setting, metric))), *EVERYWHERE)


def known_checks(names: Iterable[str]) -> tuple[str, ...]:
    """``names`` without repeats.

    Raises:
        CheckError: an unknown name; the message lists the known ones.
    """
    wanted = tuple(dict.fromkeys(names))
    unknown = [name for name in wanted if name not in CHECKS]
    if unknown:
        what = f"there is no check {unknown[0]!r}" if len(unknown) == 1 else f"there are no checks {', '.join(unknown)}"
        meant = misspelt(unknown[0], CHECKS) if len(unknown) == 1 else None
        raise CheckError(what, misspelt=meant, try_=f"choose among these checks: {', '.join(CHECKS)}")
    return wanted


def needs_all_records(names: Iterable[str]) -> bool:
    """Whether any of ``names``, which are known, looks at all that a worker did: live, or judging finished dialogues."""
    return any(name in JUDGEMENT_CHECKS or CHECKS[name].scope == "worker" for name in names)


def names_for(record: Rated, names: Iterable[str] | None) -> tuple[str, ...]:
    """``names``, or where they are None the defaults of the record's technique. Raises CheckError."""
    if names is None:
        return default_checks(record.technique, record.setting, record.metric)
    return known_checks(names)


def check_dialogue(record: Rated, names: Iterable[str] | None = None) -> list[Verdict]:
    """Verdicts of the dialogue checks among ``names`` (None: the technique's defaults); checks on workers are skipped.

    A judgement of finished dialogues has none: all of its checks are on workers.

    Raises:
        CheckError: an unknown name.
    """
    wanted = names_for(record, names)
    if isinstance(record, JudgementRecord):
        return []
    found = (CHECKS[name] for name in wanted)
    return [check.judge(record) for check in found if isinstance(check, DialogueCheck)]


def check_workers(records: Sequence[Rated], names: Iterable[str] | None = None) -> dict[str, list[Verdict]]:
    """Worker → verdicts of the worker checks among ``names`` (None: the defaults of the worker's techniques).

    All of a worker's ``records`` are judged together, whichever task they come from: live dialogues by the checks on
    these, judgements of finished ones by theirs. Workers stand in order of first appearance; dialogue checks are skipped.

    Raises:
        CheckError: an unknown name.
    """
    wanted = None if names is None else known_checks(names)
    by_worker: dict[str, list[Rated]] = {}
    for record in records:
        by_worker.setdefault(record.worker, []).append(record)
    return {worker: _judge_worker(own, wanted) for worker, own in by_worker.items()}


def _judge_worker(records: Sequence[Rated], wanted: tuple[str, ...] | None) -> list[Verdict]:
    live = [record for record in records if isinstance(record, DialogueRecord)]
    judged = [record for record in records if isinstance(record, JudgementRecord)]
    of_live = (CHECKS[name] for name in _names_of(live, wanted))
    of_judged = (JUDGEMENT_CHECKS[name] for name in _names_of(judged, wanted) if name in JUDGEMENT_CHECKS)
    return [
        *(check.judge(live) for check in of_live if isinstance(check, WorkerCheck)),
        *(check.judge(judged) for check in of_judged),
    ]


def _names_of(records: Sequence[Rated], wanted: tuple[str, ...] | None) -> list[str]:
    return list(dict.fromkeys(name for record in records for name in names_for(record, wanted)))


def checked(records: Sequence[Rated], names: Iterable[str] | None = None) -> None:
    """Write every verdict into ``record.checks[check]``, those on a worker into each of the worker's records.

    A verdict on judgements is not written into live dialogues, nor the other way round. Other keys of
    ``record.checks`` (``practice``) stay as they are.

    Raises:
        CheckError: an unknown name.
    """
    wanted = None if names is None else known_checks(names)
    live = [record for record in records if isinstance(record, DialogueRecord)]
    judged = [record for record in records if isinstance(record, JudgementRecord)]
    for kind in (live, judged):
        of_workers = check_workers(kind, wanted)
        for record in kind:
            own = names_for(record, wanted)
            verdicts = check_dialogue(record, own) + [v for v in of_workers[record.worker] if v.check in own]
            record.checks.update({verdict.check: verdict.model_dump() for verdict in verdicts})
