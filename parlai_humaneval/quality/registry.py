"""Every check by name, its verdict, and running them; which of them a paper uses is part of its technique's entry."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, Field, field_validator

from parlai_humaneval._util.errors import HumanevalError, misspelt
from parlai_humaneval.quality import answers
from parlai_humaneval.quality.answers import Finding
from parlai_humaneval.schema.records import AnyRated, DialogueRecord, JudgementRecord, Rated
from parlai_humaneval.techniques.registry import techniques

Scope = Literal["dialogue", "worker"]
Judged = TypeVar("Judged")


class CheckError(HumanevalError, ValueError):
    """A check that does not exist, or settings of checks that cannot be used; the message lists what there is."""


class Verdict(BaseModel, extra="forbid", frozen=True):
    """A finding under the name of its check, as it is stored and reported. ``value`` is never nan or infinite."""

    check: str
    passed: bool | None
    reason: str
    value: float | None = None

    @field_validator("value")
    @classmethod
    def _finite(cls, value: float | None) -> float | None:
        return value if value is not None and math.isfinite(value) else None


@dataclass(frozen=True)
class _Check(Generic[Judged]):
    name: str
    source: str
    description: str
    function: Callable[[Judged], Finding]
    scope: Scope = "worker"

    def judge(self, judged: Judged) -> Verdict:
        finding = self.function(judged)
        return Verdict(check=self.name, passed=finding.passed, reason=finding.reason, value=finding.value)


@dataclass(frozen=True)
class DialogueCheck(_Check[DialogueRecord]):
    """Judges one live dialogue."""

    scope: Scope = "dialogue"


class WorkerCheck(_Check[Sequence[DialogueRecord]]):
    """Judges a worker by all of their live dialogues together."""


class JudgementCheck(_Check[Sequence[JudgementRecord]]):
    """Judges a worker by all of their judgements of finished dialogues together."""


Check = DialogueCheck | WorkerCheck | JudgementCheck

SMITH = "Smith et al. 2022, Appendix B.4"
LIU = "Liu et al. 2023, “Experiments”"
JI = "Ji et al. 2022, §3.2"
ATTENTION = "attention checks and fixed patterns, as for live dialogues"
READING = "reading speed: Brysbaert 2019, Carver 1992"

_ALL: tuple[Check, ...] = (
    DialogueCheck("short_messages", SMITH, "Messages are shorter than three words on average.", answers.short_messages),
    DialogueCheck("greeting", SMITH, "The first typed message is a second greeting.", answers.greeting),
    DialogueCheck("capitals", SMITH, "Several messages are mostly in capitals.", answers.capitals),
    DialogueCheck("repeats_first", SMITH, "Later messages repeat the first message.", answers.repeats_first),
    DialogueCheck("offensive", SMITH, "Messages contain offensive words from a list.", answers.offensive),
    DialogueCheck("same_position", LIU, "The rater chose the same positions in every turn.", answers.same_position),
    DialogueCheck("short_tokens", LIU, "Messages are shorter than two words on average.", answers.short_tokens),
    DialogueCheck(
        "too_fast", READING, "At least half the turns were answered before they could be read.", answers.too_fast
    ),
    WorkerCheck("constant_scores", JI, "All slider ratings by the rater are equal.", answers.constant_scores),
    WorkerCheck("rank_sum", JI, "The degraded model is not rated lower than the others.", answers.rank_sum),
)
_JUDGEMENTS = (
    JudgementCheck(
        "failed_gold", ATTENTION, "The rater failed more than a third of the attention checks.", answers.failed_gold
    ),
    JudgementCheck(
        "too_fast", READING, "At least half the items were answered before they could be read.", answers.too_fast_items
    ),
    JudgementCheck("same_side", ATTENTION, "The rater always chose the dialogue on the same side.", answers.same_side),
    JudgementCheck("one_label", ATTENTION, "Every speaker, person or program, got the same label.", answers.one_label),
)
JUDGEMENT_CHECKS: dict[str, JudgementCheck] = {check.name: check for check in _JUDGEMENTS}
"""Name → check on judgements of finished dialogues; all are on workers."""

CHECKS: dict[str, Check] = {check.name: check for check in (*_ALL, *_JUDGEMENTS, *_ALL)}
"""Name → check. ``too_fast`` is one of live dialogues and, in :data:`JUDGEMENT_CHECKS`, one of judgements."""

EVERYWHERE = ("too_fast",)


def default_checks(technique: str, setting: str = "", metric: str = "") -> tuple[str, ...]:
    """Names of the checks that the paper of a technique uses, and ``too_fast`` everywhere."""
    entry = techniques().get(technique)
    return (*(() if entry is None else known_checks(entry.checks_for(setting, metric))), *EVERYWHERE)


def known_checks(names: Iterable[str]) -> tuple[str, ...]:
    """``names`` without repeats."""
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
    """``names``, or where they are None the defaults of the record's technique. A simulated rater reads nothing, so the
    defaults do not ask whether they read too fast. Raises CheckError."""
    if names is not None:
        return known_checks(names)
    defaults = default_checks(record.technique, record.setting, record.metric)
    return tuple(name for name in defaults if not (record.simulated and name in EVERYWHERE))


def check_dialogue(record: Rated, names: Iterable[str] | None = None) -> list[Verdict]:
    """Verdicts of the dialogue checks among ``names`` (None: the technique's defaults); checks on workers are skipped."""
    wanted = names_for(record, names)
    if isinstance(record, JudgementRecord):
        return []
    found = (CHECKS[name] for name in wanted)
    return [check.judge(record) for check in found if isinstance(check, DialogueCheck)]


def check_workers(records: Sequence[Rated], names: Iterable[str] | None = None) -> dict[str, list[Verdict]]:
    """Worker → verdicts of the worker checks among ``names`` (None: the defaults of the worker's techniques)."""
    wanted = None if names is None else known_checks(names)
    by_worker: dict[str, list[Rated]] = {}
    for record in records:
        by_worker.setdefault(record.worker, []).append(record)
    verdicts: dict[str, list[Verdict]] = {}
    for worker, own in by_worker.items():
        live = [record for record in own if isinstance(record, DialogueRecord)]
        judged = [record for record in own if isinstance(record, JudgementRecord)]
        of_live = (CHECKS[name] for record in live for name in names_for(record, wanted))
        of_judged = (JUDGEMENT_CHECKS.get(name) for record in judged for name in names_for(record, wanted))
        verdicts[worker] = [
            *(check.judge(live) for check in dict.fromkeys(of_live) if isinstance(check, WorkerCheck)),
            *(check.judge(judged) for check in dict.fromkeys(of_judged) if check is not None),
        ]
    return verdicts


def checked(records: Sequence[Rated], names: Iterable[str] | None = None) -> None:
    """Write every verdict into ``record.checks[check]``, those on a worker into each of the worker's records."""
    wanted = None if names is None else known_checks(names)
    live = [record for record in records if isinstance(record, DialogueRecord)]
    judged = [record for record in records if isinstance(record, JudgementRecord)]
    for kind in (live, judged):
        of_workers = check_workers(kind, wanted)
        for record in kind:
            own = names_for(record, wanted)
            verdicts = check_dialogue(record, own) + [v for v in of_workers[record.worker] if v.check in own]
            record.checks.update({verdict.check: verdict.model_dump() for verdict in verdicts})


class Failure(BaseModel, extra="forbid"):
    """A check that failed, and on what: one dialogue, or (``dialogue_id`` None) the worker as a whole."""

    check: str
    worker: str
    dialogue_id: str | None
    reason: str


class CheckCount(BaseModel, extra="forbid"):
    """What one check did. Checks overlap: a dialogue that fails two is counted in both rows.

    ``judged`` and ``not_judged`` count dialogues, or workers for a check on workers (``too_fast`` is both).
    ``dialogues_failed``: dialogues that failed themselves (none for a check on workers). ``workers_failed``: workers
    with a failure. ``dialogues_removed``, ``turns_removed`` and ``judgements_removed``: what this check alone would leave
    out; complete turns count, and judgements of finished dialogues, attention checks among them.
    """

    check: str
    judged: int = 0
    not_judged: int = 0
    dialogues_failed: int = 0
    workers_failed: int = 0
    dialogues_removed: int = 0
    turns_removed: int = 0
    judgements_removed: int = 0


class Exclusions(BaseModel, extra="forbid"):
    """The workers and data that are left out, by which check and why.

    ``scope``: worker, where one failure leaves out all that the worker did; dialogue, where a failed dialogue goes
    alone. ``workers``, ``dialogues`` and ``judgements``: ids left out, in order of appearance; a worker stands there only
    when all that is theirs goes because of them.
    """

    scope: Scope
    failures: list[Failure] = Field(default_factory=list)
    workers: list[str] = Field(default_factory=list)
    dialogues: list[str] = Field(default_factory=list)
    counts: list[CheckCount] = Field(default_factory=list)
    dialogues_total: int = 0
    workers_total: int = 0
    turns_total: int = 0
    turns_removed: int = 0
    judgements: list[str] = Field(default_factory=list)
    judgements_total: int = 0


def exclude(
    records: Sequence[AnyRated], checks: Iterable[str] | None = None, scope: Scope = "worker"
) -> tuple[list[AnyRated], Exclusions]:
    """Split off what fails a check."""
    wanted = None if checks is None else known_checks(checks)
    judged = _Judged(records, [check_dialogue(record, wanted) for record in records], check_workers(records, wanted))
    of_each = dict.fromkeys(name for record in records for name in names_for(record, wanted))
    names = of_each if wanted is None else wanted
    out = judged.left_out(scope)
    gone = [record for record, is_out in zip(records, out, strict=True) if is_out]
    failures = judged.failures()
    whole = {failure.worker for failure in failures if scope == "worker" or failure.dialogue_id is None}
    exclusions = Exclusions(
        scope=scope,
        failures=failures,
        workers=[worker for worker in judged.of_workers if worker in whole],
        dialogues=[record.dialogue_id for record in gone if not isinstance(record, JudgementRecord)],
        counts=[judged.count(name, scope) for name in names],
        dialogues_total=len(records) - _judgements(records),
        workers_total=len(judged.of_workers),
        turns_total=_turns(records),
        turns_removed=_turns(gone),
        judgements=[record.judgement_id for record in gone if isinstance(record, JudgementRecord)],
        judgements_total=_judgements(records),
    )
    return [record for record, is_out in zip(records, out, strict=True) if not is_out], exclusions


def exclude_everywhere(
    tasks: Mapping[str, Sequence[AnyRated]], checks: Iterable[str] | None = None
) -> tuple[dict[str, list[AnyRated]], Exclusions]:
    """Workers who failed a check in any of several tasks are left out of all of them (Smith et al. 2022, App. B.3)."""
    together = [record for records in tasks.values() for record in records]
    _, exclusions = exclude(together, checks, scope="worker")
    gone = set(exclusions.workers)
    return {task: [r for r in records if r.worker not in gone] for task, records in tasks.items()}, exclusions


def _turns(records: Iterable[Rated]) -> int:
    return sum(len(record.complete_turns) for record in records if not isinstance(record, JudgementRecord))


def _judgements(records: Iterable[Rated]) -> int:
    return sum(isinstance(record, JudgementRecord) for record in records)


@dataclass(frozen=True)
class _Judged:
    records: Sequence[Rated]
    of_dialogues: Sequence[Sequence[Verdict]]
    of_workers: Mapping[str, Sequence[Verdict]]

    def verdicts(self) -> Iterator[tuple[str, DialogueRecord | None, Verdict]]:
        """Whose, on which dialogue (None: on all that the worker did), and what."""
        for record, verdicts in zip(self.records, self.of_dialogues, strict=True):
            if isinstance(record, DialogueRecord):  # judgements have none of their own
                yield from ((record.worker, record, verdict) for verdict in verdicts)
        for worker, verdicts in self.of_workers.items():
            yield from ((worker, None, verdict) for verdict in verdicts)

    def failures(self) -> list[Failure]:
        return [
            Failure(check=of.check, worker=worker, dialogue_id=record and record.dialogue_id, reason=of.reason)
            for worker, record, of in self.verdicts()
            if of.passed is False
        ]

    def left_out(self, scope: Scope, check: str | None = None) -> list[bool]:
        def fails(verdicts: Sequence[Verdict]) -> bool:
            return any(verdict.passed is False and check in (None, verdict.check) for verdict in verdicts)

        failed = [fails(verdicts) for verdicts in self.of_dialogues]
        workers = {worker for worker, verdicts in self.of_workers.items() if fails(verdicts)}
        if scope == "worker":
            workers |= {record.worker for record, bad in zip(self.records, failed, strict=True) if bad}
        return [bad or record.worker in workers for record, bad in zip(self.records, failed, strict=True)]

    def count(self, check: str, scope: Scope) -> CheckCount:
        found = [(worker, record, of.passed) for worker, record, of in self.verdicts() if of.check == check]
        removed = [record for record, out in zip(self.records, self.left_out(scope, check), strict=True) if out]
        return CheckCount(
            check=check,
            judged=sum(passed is not None for _, _, passed in found),
            not_judged=sum(passed is None for _, _, passed in found),
            dialogues_failed=sum(passed is False and record is not None for _, record, passed in found),
            workers_failed=len({worker for worker, _, passed in found if passed is False}),
            dialogues_removed=len(removed) - _judgements(removed),
            turns_removed=_turns(removed),
            judgements_removed=_judgements(removed),
        )
