"""Whether a worker may take part, by blocks and by those rules of the study that can be checked here, whatever the crowd."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mephisto_tasks.admission.refusal import Refusal, Rule, StudyState, Visitor
from mephisto_tasks.config.errors import ConfigError
from mephisto_tasks.config.worker_rules import WorkerRules
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE, ERASED_BUT_BLOCKED, blocked_here
from mephisto_tasks.storage.results import ResultsError, query, task_names, worker_records
from mephisto_tasks.storage.work import Work, work_done
from mephisto_tasks.workers.lists import FollowedList, WorkerListError
from mephisto_tasks.workers.roster import known_workers
from parlai_humaneval._util.errors import choose_from
from parlai_humaneval.i18n.translate import phrase
from parlai_humaneval.schema.records import JudgementRecord

logger = logging.getLogger(__name__)

PREFIX = "workers."

BLOCKED = phrase(
    "You cannot take part in this study. If you believe that this is a mistake, please write to the requester."
)
NOT_INVITED = phrase(
    "This study is only for people whom the researchers have invited, and you are not among them. There is no penalty: "
    "please return the task. Thank you for your interest!"
)
NOT_QUALIFIED = phrase(
    "This study is only for people who have qualified for it in an earlier task of ours. There is no penalty: please return "
    "the task. Thank you for your interest!"
)
SEEN_BEFORE = phrase(
    "You have helped us in an earlier study that this one builds on, and it needs people who have not. Thank you for your "
    "help then! There is no penalty: please return the task."
)
DONE_ALL = phrase(
    "You have already taken part in this study as often as one person may. Thank you! Please return the task."
)
DONE_ALL_ACROSS = phrase(
    "You have already taken part in this study and its sister studies as often as one person may. Thank you! Please return "
    "the task."
)


@dataclass(frozen=True)
class Eligibility:
    """The rules of a launch, with their files, which are read again when they change.

    ``remarks``: what the researcher should know, in sentences. ``checked_here``: the qualifications among those that the
    rules name which are checked here, and not by the crowd's site alone.
    """

    rules: WorkerRules
    data_dir: Path
    task_name: str
    allowed: FollowedList | None = None
    barred: FollowedList | None = None
    checked_here: frozenset[str] = frozenset()
    remarks: list[str] = field(default_factory=list)

    def refusal(self, worker: Any, pseudonym: str, *, new_unit: bool = True) -> Refusal | None:
        """Why a worker (Mephisto's) may not take part, as of now; None: they may.

        ``new_unit`` False: they are in a unit, or would resume one, which counts to their limits already.
        """
        return (
            self._listed(str(worker.worker_name), pseudonym)
            or self._qualified(worker)
            or self._seen_before(str(worker.db_id))
            or (self._had_enough(str(worker.db_id)) if new_unit else None)
        )

    def rated_elsewhere(self, worker_id: str) -> set[frozenset[str]]:
        """Groups of models that the worker rated in a study of ``across_tasks``, and may not rate here."""
        if not self.rules.pair_once:
            return set()
        return {models for task in self.rules.across_tasks for models in self._rated(task, worker_id)}

    def _rated(self, task: str, worker_id: str) -> Iterator[frozenset[str]]:
        try:
            known = task in task_names(self.data_dir)
            for record in worker_records(self.data_dir, task, worker_id) if known else ():
                if isinstance(record, JudgementRecord):
                    if record.group and record.status == "complete":
                        yield frozenset(record.group)
                elif record.status == "complete" or record.complete_turns:
                    yield frozenset(model.name for model in record.models)
        except ResultsError as error:  # as in _work
            logger.warning("what a worker rated in task %r cannot be read, and does not count: %s", task, error)

    def _listed(self, name: str, pseudonym: str) -> Refusal | None:
        if self.barred is not None and self.barred.has(name, pseudonym):
            return Refusal("block_list", f"named in {self.rules.block_list}", BLOCKED)
        if self.allowed is not None and not self.allowed.has(name, pseudonym):
            return Refusal("allow_list", f"not named in {self.rules.allow_list}", NOT_INVITED)
        return None

    def _qualified(self, worker: Any) -> Refusal | None:
        for name in self.rules.qualifications:
            if name in self.checked_here and not worker.is_qualified(name):
                return Refusal("qualification", f"does not hold the qualification {name}", NOT_QUALIFIED)
        for name in self.rules.not_qualifications:
            if name in self.checked_here and worker.is_qualified(name):
                return Refusal("qualification", f"holds the qualification {name}", SEEN_BEFORE)
        return None

    def _seen_before(self, worker_id: str) -> Refusal | None:
        for task in self.rules.exclude_tasks:
            if any(work.done > 0 for work in self._work(task, worker_id)):
                return Refusal("took_part_before", f"took part in {task}, which exclude_tasks names", SEEN_BEFORE)
        return None

    def _had_enough(self, worker_id: str) -> Refusal | None:
        rules = self.rules
        if rules.max_units is None and rules.max_units_across is None:
            return None
        here = counted(self._work(self.task_name, worker_id))
        if rules.max_units is not None and here >= rules.max_units:
            return Refusal("max_units", f"has begun {here} of max_units={rules.max_units}", DONE_ALL)
        if rules.max_units_across is None:
            return None
        together = here + sum(counted(self._work(task, worker_id)) for task in rules.across_tasks)
        if together < rules.max_units_across:
            return None
        why = f"has begun {together} of max_units_across={rules.max_units_across}"
        return Refusal("max_units_across", why, DONE_ALL_ACROSS)

    def _work(self, task: str, worker_id: str) -> list[Work]:
        try:
            return work_done(self.data_dir, task, worker_id) if task in task_names(self.data_dir) else []
        except ResultsError as error:  # a damaged file must not keep anybody out
            logger.warning("what a worker did in task %r cannot be read, and does not count: %s", task, error)
            return []


class BlockRule(Rule):
    """Turns away workers who are blocked: in all studies, in this one, by its checks, or still after they were erased."""

    def __init__(self, data_dir: Path, task_name: str, block_qualification: str | None) -> None:
        self._data_dir = data_dir
        self._places = {BLOCKED_EVERYWHERE: "in all studies", blocked_here(task_name): "in this study"}
        if block_qualification:
            self._places[block_qualification] = f"by {block_qualification}"

    def refusal(self, visitor: Visitor) -> Refusal | None:
        for name, place in self._places.items():
            if visitor.worker.get_granted_qualification(name) is not None:
                return Refusal("blocked", f"blocked {place} (parlai-humaneval workers show says why)", BLOCKED)
        erased = ERASED_BUT_BLOCKED.read(self._data_dir)
        if any(line.worker == visitor.pseudonym and line.qualification in self._places for line in erased):
            return Refusal("blocked", "was blocked, forgotten, and is kept out (parlai-humaneval forget)", BLOCKED)
        return None


class EligibilityRule(Rule):
    """Holds a launch to its :class:`Eligibility`."""

    def __init__(self, eligibility: Eligibility, study: StudyState) -> None:
        self._eligibility, self._study = eligibility, study

    def refusal(self, visitor: Visitor) -> Refusal | None:
        worker = visitor.worker.db_id
        if visitor.stage == "registers" and (groups := self._eligibility.rated_elsewhere(worker)):
            self._study.bar_groups(worker, groups)
        new_unit = not (self._study.goes_on(worker) or self._study.availability(worker) == "busy")
        return self._eligibility.refusal(visitor.worker, visitor.pseudonym, new_unit=new_unit)


def counted(work: Iterable[Work]) -> int:
    """Units that count to a worker's limit: those in which they did anything, except those that we ended."""
    return sum(one.outcome in ("complete", "running") or (one.outcome == "partial" and one.done > 0) for one in work)


def load_eligibility(
    rules: WorkerRules,
    data_dir: Path,
    task_name: str,
    *,
    site_has_qualifications: bool = False,
    remarks: Sequence[str] = (),
) -> Eligibility:
    """Read the files that rules name, and look up all else that they name; nothing is written.

    Args:
        rules: of the launch.
        data_dir: of the launch.
        task_name: of the launch.
        site_has_qualifications: the crowd's site has some of its own, so that those unknown here may be its.
        remarks: what the crowd has to say of the rules.

    Raises:
        ConfigError: a file, study or qualification does not exist; the message names the setting.
    """

    def pseudonyms() -> Collection[str]:
        return known_workers(data_dir) if _has_database(data_dir) else ()

    allowed = _list("allow_list", rules.allow_list, pseudonyms)
    barred = _list("block_list", rules.block_list, pseudonyms)
    if allowed and barred and (both := allowed.listed.names & barred.listed.names):
        what = f"names {len(both)} workers who are in allow_list, too"
        raise ConfigError(what, where=f"{PREFIX}block_list", try_="take them out of one")
    known = task_names(data_dir) if _has_database(data_dir) else []
    _check_excluded(rules.exclude_tasks, known, task_name)
    rows = query(data_dir, "SELECT qualification_name FROM qualifications") if _has_database(data_dir) else []
    held_here = {str(row[0]) for row in rows}
    named = [*rules.qualifications, *rules.not_qualifications]
    if not site_has_qualifications:
        _check_qualifications(named, held_here)
    found = [remark for listed in (allowed, barred) if listed is not None for remark in listed.listed.remarks]
    new = [name for name in rules.across_tasks if name not in known]
    if new:
        found.append(
            f"{PREFIX}across_tasks: {', '.join(new)} is not in {data_dir} yet; it counts once it was launched."
        )
    checked_here = frozenset(name for name in named if name in held_here)
    return Eligibility(rules, data_dir, task_name, allowed, barred, checked_here, [*found, *remarks])


def _has_database(data_dir: Path) -> bool:
    return (data_dir / "database.db").is_file()


def _list(setting: str, path: str, pseudonyms: Callable[[], Collection[str]]) -> FollowedList | None:
    if not path:
        return None
    try:
        return FollowedList(Path(path).expanduser(), pseudonyms)
    except WorkerListError as error:
        raise ConfigError(error, where=f"{PREFIX}{setting}") from error


def _check_excluded(names: Iterable[str], known: Collection[str], task_name: str) -> None:
    where = f"{PREFIX}exclude_tasks"
    for name in names:
        if name == task_name:
            limit = f"limit how often a worker may take part by {PREFIX}max_units=…"
            raise ConfigError(f"{name} is this study itself", where=where, try_=limit)
        if name not in known:
            what = f"there is no study {name!r} in this data directory{'' if known else ', nor any other'}"
            raise ConfigError(what, where=where, **choose_from(name, known))


def _check_qualifications(named: Iterable[str], held_here: Collection[str]) -> None:
    for name in named:
        if name not in held_here:
            known = sorted(name for name in held_here if not name.startswith(BLOCKED_EVERYWHERE))
            what = (
                f"no qualification {name!r} was ever given in this data directory{'' if known else ', nor any other'}"
            )
            raise ConfigError(what, where=f"{PREFIX}qualifications", **choose_from(name, known))
