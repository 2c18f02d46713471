"""Whether a visitor may begin now: one ordered list of rules, and one place that logs refusals."""

from __future__ import annotations

import logging
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from mephisto_tasks._util.compat import default_data_dir
from mephisto_tasks.admission import visits
from mephisto_tasks.admission.browsers import BrowserBook
from mephisto_tasks.admission.identity import (
    BUSY,
    STUDY,
    CapacityRule,
    ConsentRule,
    CrowdRule,
    EntryRule,
    IdentityRule,
    OnePageRule,
    Reception,
    StudyRule,
)
from mephisto_tasks.admission.visits import ClaimPolicy, IsDamaged, Refusal, Rule, Stage, StudyState, Visitor
from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.config.task import WorkerRules
from mephisto_tasks.storage.logs import BLOCKED_EVERYWHERE, ERASED_BUT_BLOCKED, REFUSALS, RefusalLine, blocked_here
from mephisto_tasks.storage.results import PSEUDONYM_KEY, ResultsError, query, task_names, worker_records
from mephisto_tasks.storage.work import Work, completed_work
from mephisto_tasks.workers.roster import FollowedList, known_workers
from parlai_humaneval._util.data_files import DataError
from parlai_humaneval._util.errors import choose_from
from parlai_humaneval._util.terminal import typed_program
from parlai_humaneval.i18n.translate import phrase, phrases, t
from parlai_humaneval.materials.consent import Consent
from parlai_humaneval.schema.pseudonyms import Pseudonymizer
from parlai_humaneval.schema.records import JudgementRecord

logger = logging.getLogger(__name__)

PREFIX = "workers."

PHRASES = phrases(__file__)
BLOCKED = PHRASES["blocked"]
SEEN_BEFORE = PHRASES["seen_before"]
DONE_ALL = PHRASES["done_all"]
DONE_ALL_ACROSS = PHRASES["done_all_across"]

PAUSED = phrase("The researchers have paused this study. Please come back later, or return the task.")
ALL_DONE = phrase("All {many} in this study have been completed. Thank you for your interest! Please return the task.")


@dataclass(frozen=True)
class Eligibility:
    """The rules of a launch, with their files, which are read again when they change."""

    rules: WorkerRules
    data_dir: Path
    task_name: str
    allowed: FollowedList | None = None
    barred: FollowedList | None = None
    checked_here: frozenset[str] = frozenset()  # qualifications of the rules that the site does not check alone
    remarks: list[str] = field(default_factory=list)  # what the researcher should know

    def refusal(self, worker: Any, pseudonym: str, *, new_unit: bool = True) -> Refusal | None:
        """Why a worker (Mephisto's) may not take part; None: they may. ``new_unit`` False: their unit counts to limits
        already."""
        rules, name, number = self.rules, str(worker.worker_name), str(worker.db_id)
        if self.barred is not None and self.barred.has(name, pseudonym):
            return Refusal("block_list", f"named in {rules.block_list}", BLOCKED)
        if self.allowed is not None and not self.allowed.has(name, pseudonym):
            return Refusal("allow_list", f"not named in {rules.allow_list}", PHRASES["not_invited"])
        for held in rules.qualifications:
            if held in self.checked_here and not worker.is_qualified(held):
                return Refusal("qualification", f"does not hold the qualification {held}", PHRASES["not_qualified"])
        for held in rules.not_qualifications:
            if held in self.checked_here and worker.is_qualified(held):
                return Refusal("qualification", f"holds the qualification {held}", SEEN_BEFORE)
        for task in rules.exclude_tasks:
            if any(work.done > 0 for work in self._work(task, number)):
                return Refusal("took_part_before", f"took part in {task}, which exclude_tasks names", SEEN_BEFORE)
        if not new_unit or (rules.max_units is None and rules.max_units_across is None):
            return None
        here = counted(self._work(self.task_name, number))
        if rules.max_units is not None and here >= rules.max_units:
            return Refusal("max_units", f"has begun {here} of max_units={rules.max_units}", DONE_ALL)
        if rules.max_units_across is None:
            return None
        together = here + sum(counted(self._work(task, number)) for task in rules.across_tasks)
        why = f"has begun {together} of max_units_across={rules.max_units_across}"
        return None if together < rules.max_units_across else Refusal("max_units_across", why, DONE_ALL_ACROSS)

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

    def _work(self, task: str, worker_id: str) -> list[Work]:
        try:
            return completed_work(self.data_dir, task, worker_id) if task in task_names(self.data_dir) else []
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
            return Refusal("blocked", "was blocked and forgotten, and stays out (parlai-humaneval forget)", BLOCKED)
        return None


class EligibilityRule(Rule):
    """Holds a launch to its :class:`Eligibility`."""

    def __init__(self, eligibility: Eligibility, study: StudyState) -> None:
        self._eligibility, self._study = eligibility, study

    def refusal(self, visitor: Visitor) -> Refusal | None:
        worker = visitor.worker.db_id
        if visitor.stage == "registers" and (groups := self._eligibility.rated_elsewhere(worker)):
            self._study.bar_groups(worker, groups)
        new_unit = not (self._study.can_resume(worker) or self._study.availability(worker) == "busy")
        return self._eligibility.refusal(visitor.worker, visitor.pseudonym, new_unit=new_unit)


class PracticeRule(Rule):
    """``reset``: the command that has a worker practise again, with {pseudonym}; where a study is only tried out."""

    def __init__(self, study: StudyState, reset: str = "") -> None:
        self._study, self._reset = study, reset

    def refusal(self, visitor: Visitor) -> Refusal | None:
        practice = self._study.config.onboarding_qualification
        if not practice or not visitor.worker.is_disqualified(practice):
            return None
        why = f"failed the practice round {practice} (parlai-humaneval workers reset-practice lets them try again)"
        is_paid = self._study.config.payment.practice > 0
        words = PHRASES["practice_failed_paid"] if is_paid else PHRASES["practice_failed"]
        if self._reset:
            again, command = PHRASES["practice_again"], self._reset.format(pseudonym=visitor.pseudonym)
            words = f"{t(words)} {t(again, command=command)}"
        return Refusal("practice_failed", why, words)


class WorkRule(Rule):
    """Says why there is nothing to do for a worker now, where there is a better reason than Mephisto's."""

    stages: ClassVar[tuple[Stage, ...]] = ("looks", "unserved")

    def __init__(self, study: StudyState, eligibility: Eligibility, most_units: int = 0) -> None:
        self._study, self._eligibility, self._most_units = study, eligibility, most_units

    def refusal(self, visitor: Visitor) -> Refusal | None:
        study, worker = self._study, str(visitor.worker.db_id)
        if study.remaining == 0:
            return self._refusal("all_done", "all work is done", ALL_DONE)
        if study.paused:
            return self._refusal("paused", "the launch offers no work", PAUSED, passes=True, outcome=None)
        standing = study.availability(worker)
        if standing in ("done_all", "all_taken") and study.went_on_without(worker):
            return self._refusal(
                "went_on", "was away for so long that the study went on without them", PHRASES["went_on"]
            )
        if standing in ("done_all", "all_taken") and worker in study.left:
            return self._refusal(
                "all_taken", "others have taken over the interrupted work", PHRASES["given_on"], passes=True
            )
        match standing:
            case "busy":
                return self._refusal("busy", "has another page of the study open", BUSY, passes=True, outcome=None)
            case "done_all" if self._eligibility.rated_elsewhere(worker):
                why = "has rated everything that one rater may rate, here and in across_tasks (pair_once)"
                return self._refusal("done_all", why, DONE_ALL_ACROSS)
            case "done_all":
                return self._refusal("done_all", "has rated everything that one rater may rate", DONE_ALL)
            case "all_taken" if not study.keeps_places():  # if it does, they ask again until it is clear
                return self._refusal(
                    "all_taken", "others are doing all remaining work", PHRASES["all_taken"], passes=True
                )
            case "interrupted":
                why = "the server of a model is down"
                return self._refusal("interrupted", why, PHRASES["interrupted"], passes=True, outcome=None)
            case "open" if self._has_had_most(worker):
                return self._refusal("most_units", f"has done maximum_units_per_worker={self._most_units}", DONE_ALL)
        return None

    def _has_had_most(self, worker_id: str) -> bool:
        """Mephisto counts so and says nothing of it."""
        if not self._most_units:
            return False
        work = completed_work(self._eligibility.data_dir, self._eligibility.task_name, worker_id)
        return sum(unit.outcome == "complete" for unit in work) >= self._most_units

    def _refusal(self, kind: str, why: str, words: str, **how: Any) -> Refusal:
        return Refusal(kind, why, self._study.in_words(words), **how)


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
    """Read what rules name. ``site_has_qualifications``: those unknown here may be the site's. Raises ConfigError."""

    def has_database() -> bool:
        return (data_dir / "database.db").is_file()

    def pseudonyms() -> Collection[str]:  # asked again whenever a list is saved: the first launch makes the database
        return known_workers(data_dir) if has_database() else ()

    def followed(setting: str, path: str) -> FollowedList | None:
        try:
            return FollowedList(Path(path).expanduser(), pseudonyms) if path else None
        except DataError as error:
            raise ConfigError(error, where=f"{PREFIX}{setting}") from error

    allowed, barred = followed("allow_list", rules.allow_list), followed("block_list", rules.block_list)
    if allowed and barred and (both := allowed.listed.names & barred.listed.names):
        what = f"names {len(both)} raters who are in allow_list, too"
        raise ConfigError(what, where=f"{PREFIX}block_list", try_="remove each from one of the two lists")
    known = task_names(data_dir) if has_database() else []
    where = f"{PREFIX}exclude_tasks"
    for name in rules.exclude_tasks:
        if name == task_name:
            limit = f"limit how often a rater may take part with {PREFIX}max_units=…"
            raise ConfigError(f"{name} is this study itself", where=where, try_=limit)
        if name not in known:
            what = f"there is no study {name!r} in this data directory{'' if known else ', nor any other'}"
            raise ConfigError(what, where=where, **choose_from(name, known))
    rows = query(data_dir, "qualifications") if has_database() else []
    held_here = {str(row[0]) for row in rows}
    named = [*rules.qualifications, *rules.not_qualifications]
    if lacking := [] if site_has_qualifications else [name for name in named if name not in held_here]:
        given = sorted(name for name in held_here if not name.startswith(BLOCKED_EVERYWHERE))
        what = f"no qualification {lacking[0]!r} was ever granted in this data directory"
        advice = choose_from(lacking[0], given)
        raise ConfigError(f"{what}{'' if given else ', nor any other'}", where=f"{PREFIX}qualifications", **advice)
    found = [remark for listed in (allowed, barred) if listed is not None for remark in listed.listed.remarks]
    if new := ", ".join(name for name in rules.across_tasks if name not in known):
        found.append(f"{PREFIX}across_tasks: {new} is not in {data_dir} yet. The rule covers launched tasks only.")
    checked_here = frozenset(name for name in named if name in held_here)
    return Eligibility(rules, data_dir, task_name, allowed, barred, checked_here, [*found, *remarks])


class Admission:
    """Asks rules in order; the first refusal counts. Thread-safe."""

    def __init__(
        self,
        rules: Sequence[Rule],
        data_dir: Path,
        task_name: str,
        close: Callable[[], None] = lambda: None,
        page_words: Mapping[str, Any] = MappingProxyType({}),
        words_for_them: Callable[[str], str] = str,
    ) -> None:
        self.rules, self.close, self.page_words = list(rules), close, page_words
        self._words_for_them = words_for_them
        self._data_dir, self._task_name = data_dir, task_name
        self._pseudonyms = Pseudonymizer.load_or_create(data_dir / PSEUDONYM_KEY)
        self._logged: set[tuple[str, str]] = set()

    def decide(self, visitor: Visitor) -> Refusal | None:
        """Why the visitor cannot go on from their stage; None: they can. Raises NotYetKnown, BookUnusable: not known
        now."""
        for rule in self.rules:
            if visitor.stage not in rule.stages:
                continue
            if visitor.worker is not None:
                visitor.pseudonym = self._pseudonyms.worker(str(visitor.worker.worker_name))
            elif visitor.stage == "looks":  # nothing is known of them
                return None
            if (refusal := rule.refusal(visitor)) is not None:
                if visitor.stage == "looks" and refusal.passes:
                    return None  # they may read what the task is meanwhile
                if visitor.worker is not None:
                    self._log(visitor, refusal)
                return replace(refusal, words=self._words_for_them(t(refusal.words)))
        return None

    def _log(self, visitor: Visitor, refusal: Refusal) -> None:
        """Write the truth down, once for each worker and reason."""
        logger.info("worker %s is turned away: %s", visitor.pseudonym, refusal.why)
        if (visitor.pseudonym, refusal.kind) not in self._logged:
            self._logged.add((visitor.pseudonym, refusal.kind))
            line = RefusalLine(worker=visitor.pseudonym, kind=refusal.kind, why=refusal.why)
            REFUSALS.append(self._data_dir, line, task=self._task_name)


def study_admission(
    study: StudyState,
    eligibility: Eligibility,
    consent: Consent | None,
    claims: ClaimPolicy,
    damaged: IsDamaged | None = None,
    reception: Reception | None = None,
    most_units: int = 0,
    is_tryout: bool = False,
) -> Admission:
    """The admission of a launch, by rules in this order. ``most_units``: 0 means any number. ``is_tryout``: raters who
    fail the practice read how to try it again, and nobody returns anything. Raises BookUnusable."""
    data_dir, task_name = eligibility.data_dir, eligibility.task_name
    where = [] if data_dir == default_data_dir() else ["--data-dir", str(data_dir)]
    of_task = shlex.join(["--task-name", task_name, *where]).replace("{", "{{").replace("}", "}}")
    program = typed_program().replace("{", "{{").replace("}", "}}")
    reset = f"{program} workers reset-practice {{pseudonym}} {of_task}" if is_tryout else ""
    book, agreed = BrowserBook(data_dir), ConsentRule(consent, data_dir, task_name)
    book.open()
    identity, capacity = IdentityRule(book, claims, damaged, reception), CapacityRule(study)
    same_study = StudyRule(task_name)
    page_words = {**agreed.page_words(), STUDY: same_study.study}
    rules: list[Rule] = [
        same_study,
        identity,
        CrowdRule(reception),
        OnePageRule(),
        capacity,
        agreed,
        EntryRule(identity, capacity, reception),
        BlockRule(data_dir, task_name, study.config.block_qualification),
        PracticeRule(study, reset),
        EligibilityRule(eligibility, study),
        WorkRule(study, eligibility, most_units),
    ]
    return Admission(rules, data_dir, task_name, book.close, page_words, visits.only_closing if is_tryout else str)
