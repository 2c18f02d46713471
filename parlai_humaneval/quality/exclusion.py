"""Leaving out what fails checks; nothing is ever deleted, and every exclusion has its reason."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from parlai_humaneval.quality.registry import check_dialogue, check_workers, known_checks, names_for
from parlai_humaneval.quality.verdicts import Scope, Verdict
from parlai_humaneval.schema.records import AnyRated, DialogueRecord, JudgementRecord, Rated


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Failure(_Model):
    """A check that failed, and on what: one dialogue, or (``dialogue_id`` None) the worker as a whole."""

    check: str
    worker: str
    dialogue_id: str | None
    reason: str


class CheckCount(_Model):
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


class Exclusions(_Model):
    """Who and what is left out, by which check and why.

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
    """Split off what fails a check.

    A check that cannot be judged excludes nobody. A failed check on the worker leaves out all that they did, live and
    judging, in either scope.

    Args:
        records: dialogues, and judgements of finished ones, of one task or several; they are not changed.
        checks: names; None: for each record those of its technique's paper. Empty: nothing is left out.
        scope: ``worker`` (Smith et al. 2022, App. B.3: one failed dialogue, and all of the worker's go) or ``dialogue``
            (Liu et al. 2023: only the failed dialogue goes).

    Returns:
        The records kept, in their order, and what was excluded and why.

    Raises:
        CheckError: an unknown name.
    """
    wanted = None if checks is None else known_checks(checks)
    judged = _Judged(records, [check_dialogue(record, wanted) for record in records], check_workers(records, wanted))
    names = (
        dict.fromkeys(name for record in records for name in names_for(record, wanted)) if wanted is None else wanted
    )
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
    """Workers who failed a check in any of several tasks are left out of all of them (Smith et al. 2022, App. B.3).

    Who fails a task with live dialogues is left out of those on finished ones too, and the other way round.

    With ``checks`` None every task is judged by the checks of its own technique's paper. Workers are compared by
    pseudonym, so all tasks must come from one data directory: another has other pseudonyms for the same people.

    Args:
        tasks: name of the task → its dialogues or judgements.
        checks: names, applied in every task, or None.

    Returns:
        Task → records kept, in their order; and what was excluded, over all tasks.

    Raises:
        CheckError: an unknown name.
    """
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

    def _verdicts(self) -> Iterator[tuple[DialogueRecord, Verdict]]:
        for record, verdicts in zip(self.records, self.of_dialogues, strict=True):
            if isinstance(record, DialogueRecord):  # judgements have none of their own
                yield from ((record, verdict) for verdict in verdicts)

    def _worker_verdicts(self) -> Iterator[tuple[str, Verdict]]:
        for worker, verdicts in self.of_workers.items():
            for verdict in verdicts:
                yield worker, verdict

    def failures(self) -> list[Failure]:
        dialogues = [
            Failure(check=verdict.check, worker=record.worker, dialogue_id=record.dialogue_id, reason=verdict.reason)
            for record, verdict in self._verdicts()
            if verdict.passed is False
        ]
        workers = [
            Failure(check=verdict.check, worker=worker, dialogue_id=None, reason=verdict.reason)
            for worker, verdict in self._worker_verdicts()
            if verdict.passed is False
        ]
        return dialogues + workers

    def left_out(self, scope: Scope, check: str | None = None) -> list[bool]:
        def fails(verdicts: Sequence[Verdict]) -> bool:
            return any(verdict.passed is False and check in (None, verdict.check) for verdict in verdicts)

        failed = [fails(verdicts) for verdicts in self.of_dialogues]
        workers = {worker for worker, verdicts in self.of_workers.items() if fails(verdicts)}
        if scope == "worker":
            workers |= {record.worker for record, bad in zip(self.records, failed, strict=True) if bad}
        return [bad or record.worker in workers for record, bad in zip(self.records, failed, strict=True)]

    def count(self, check: str, scope: Scope) -> CheckCount:
        on_dialogues = [(record.worker, verdict) for record, verdict in self._verdicts() if verdict.check == check]
        on_workers = [(worker, verdict) for worker, verdict in self._worker_verdicts() if verdict.check == check]
        found = on_dialogues + on_workers
        removed = [record for record, out in zip(self.records, self.left_out(scope, check), strict=True) if out]
        return CheckCount(
            check=check,
            judged=sum(verdict.passed is not None for _, verdict in found),
            not_judged=sum(verdict.passed is None for _, verdict in found),
            dialogues_failed=sum(verdict.passed is False for _, verdict in on_dialogues),
            workers_failed=len({worker for worker, verdict in found if verdict.passed is False}),
            dialogues_removed=len(removed) - _judgements(removed),
            turns_removed=_turns(removed),
            judgements_removed=_judgements(removed),
        )
