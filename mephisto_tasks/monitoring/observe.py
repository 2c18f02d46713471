"""Records, the launch's snapshot and the work done → :class:`.status.StudyStatus`, repeatedly at little cost.

The statistics are the report's own, taken from its document; nothing is estimated here."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mephisto_tasks.control.snapshot import DecidingNow, GroupStatus, Snapshot, is_alive, read_snapshot
from mephisto_tasks.crowds.crowd import SiteState
from mephisto_tasks.crowds.registry import crowd_of, crowds
from mephisto_tasks.monitoring import status
from mephisto_tasks.monitoring.status import WORDS
from mephisto_tasks.payments.ledger import Ledger
from mephisto_tasks.payments.policy import DOLLARS, PayError
from mephisto_tasks.payments.statement import Books, due, terms_of
from mephisto_tasks.storage import results, sqlite
from mephisto_tasks.storage.locks import running_task_run
from mephisto_tasks.storage.logs import DECISIONS, stopping_logs
from mephisto_tasks.storage.provider_names import CrowdError
from mephisto_tasks.storage.results import currencies_of
from mephisto_tasks.storage.work import Work, completed_work
from parlai_humaneval._util.files import file_stamp
from parlai_humaneval.allocation.groups import Cell
from parlai_humaneval.report.build import build_report
from parlai_humaneval.report.conclusions import DECIDED
from parlai_humaneval.report.document import Document, Facts, TaskFacts
from parlai_humaneval.report.facts import qualifying
from parlai_humaneval.report.section import Options, Summary
from parlai_humaneval.report.sections.crowd_time import CrowdTime
from parlai_humaneval.report.sections.stopping import pairs_remark
from parlai_humaneval.report.summary import leading, name_of
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord, Rated
from parlai_humaneval.statistics.core.formatting import counted, sentence
from parlai_humaneval.stopping.study import ReplayError, replay
from parlai_humaneval.tables.build import tables
from parlai_humaneval.tables.columns import TableError

SHARE_OF_TIME = 0.1
"""At most so much of the processor's time goes into reading and estimating, however large a study is …"""
MOST_WAIT_S = 60.0  # … unless more would lie between two of them
SILENT_S = 15.0  # A launch writes its snapshot about once a second
QUIET_S = 3.0  # after how long of its silence it is looked whether its disk is full
SITES_S = 60.0  # how often crowds' sites are asked, at most
LEAST_FREE = 16 * 1024  # bytes that a launch needs to write anything at all


@dataclass(frozen=True)
class _Stored:
    """What was read of the records, and when. ``problem``: why it could not be read again later. ``by_log``: what is
    decided by the study's log, where no launch's own word is there."""

    document: Document
    books: Books
    groups: list[GroupStatus]
    read_at: float
    by_log: DecidingNow | None = None
    problem: str | None = None

    @property
    def work(self) -> list[Work]:
        return [one.work for one in self.books.dues]


class Observer:
    """Looks at one study. Not thread-safe. ``draws``: of each bootstrap, as of ``report``. ``clock``: the time, in
    seconds since the epoch."""

    def __init__(
        self, data_dir: Path, task_name: str, *, draws: int = 1_000, clock: Callable[[], float] = time.time
    ) -> None:
        self._data_dir, self._task_name = data_dir, task_name
        self._options, self._clock, self._files = Options(draws=draws), clock, results.StateFiles()
        self._stored: _Stored | None = None
        self._seen: object = None
        self._stamp: object = None
        self._document: Document | None = None
        self._not_before = 0.0
        self._sites: list[SiteState] = []
        self._site_problem: str | None = None
        self._sites_asked: float | None = None

    @property
    def document(self) -> Document:
        """The report that the newest standing has its answers from."""
        assert self._stored is not None, "standing() comes first"
        return self._stored.document

    def standing(self) -> status.StudyStatus:
        """How the study stands now. What is stored is read again only where that takes little of the time; a database
        that cannot be read for a while leaves the answers as they were, with the reason. Raises ResultsError: no such
        task or no database, at the first look; TableError: records that contradict each other, at the first look."""
        now = self._clock()
        stored = self._read(now)
        if self._sites_asked is None or now >= self._sites_asked + SITES_S:
            self._sites_asked = now
            try:
                providers = {run.provider for run in results.stored_runs(self._data_dir, self._task_name)}
                crowds = map(crowd_of, sorted(providers))
                self._sites = [one for crowd in crowds for one in crowd.site_states(self._data_dir, self._task_name)]
                self._site_problem = None
            except results.ResultsError:
                self._sites_asked = None  # said with the answers, which cannot be read either
            except CrowdError as error:
                self._site_problem = str(error)
        snapshot, alive = read_snapshot(self._data_dir, self._task_name), is_alive(self._data_dir, self._task_name)
        is_quiet = snapshot is not None and alive and self._clock() - snapshot.at > QUIET_S
        if snapshot is not None and is_quiet and shutil.disk_usage(self._data_dir).free < LEAST_FREE:
            # The launch cannot write this down itself.
            trouble = sqlite.WORDS["lasting"]["full"].format(data_dir=self._data_dir)
            snapshot = snapshot.model_copy(update={"trouble": trouble})
        standing = _standing(now, self._task_name, stored, snapshot, alive)
        return standing.model_copy(update={"sites": self._sites, "site_problem": self._site_problem})

    def _read(self, now: float) -> _Stored:
        if self._stored is not None and now < self._not_before:
            return self._stored
        began, is_first = time.thread_time(), self._stored is None
        try:
            signs = self._signs()
            if self._stored is None or signs != self._seen:
                records = results.read_records(self._data_dir, self._task_name, self._files)
                practice = results.practice_count(self._data_dir, [self._task_name], self._files)
                decided = file_stamp(DECISIONS.path(self._data_dir, self._task_name))
                stamp = ([_stamp(record) for record in records], practice, decided)
                if self._document is None or stamp != self._stamp:
                    known = records[0].technique if records else results.technique_of(self._data_dir, self._task_name)
                    facts = TaskFacts(tasks=[self._task_name], technique=known or "", practice=practice)
                    whole = replace(tables(records), stopping=stopping_logs(self._data_dir, [self._task_name]))
                    self._document = build_report(whole, self._options, title=self._task_name, task=facts)
                    self._stamp = stamp
                self._stored = _Stored(self._document, self._books(), list(_groups_of(records)), now, self._by_log())
                self._seen = signs
            self._stored = replace(self._stored, read_at=now, problem=None)
        except (results.ResultsError, TableError, PayError, OSError) as error:
            if self._stored is None:
                raise
            self._stored = replace(self._stored, problem=str(error))
        if not is_first:  # most of the first takes the importing
            self._not_before = now + min(MOST_WAIT_S, (time.thread_time() - began) / SHARE_OF_TIME)
        return self._stored

    def _signs(self) -> object:
        """What tells, at little cost, whether anything is stored that was not at the last look."""
        agents = [agent for agent, _ in results.stored_states(self._data_dir, self._task_name, files=self._files)]
        practised = results.query(self._data_dir, "practices", [self._task_name, ""])
        results.practice_logs(self._data_dir, practised, self._files)
        payments = Ledger(self._data_dir, self._task_name).payments()
        decided = file_stamp(DECISIONS.path(self._data_dir, self._task_name))
        run = running_task_run(self._data_dir, self._task_name)
        return agents, practised, self._files.changes, payments, decided, run

    def _books(self) -> Books:
        terms = terms_of(self._data_dir, self._task_name)
        works = completed_work(self._data_dir, self._task_name, files=self._files)
        currencies = currencies_of(self._data_dir, self._task_name)
        dues = [due(work, terms, {}, currencies.get(work.task_run_id, DOLLARS)) for work in works]
        return Books(self._task_name, terms, dues, Ledger(self._data_dir, self._task_name).payments(), [])

    def _by_log(self) -> DecidingNow | None:
        if read_snapshot(self._data_dir, self._task_name) is not None:
            return None
        try:
            study = replay(DECISIONS.read(self._data_dir, self._task_name), cut_off=True)
        except ReplayError:
            return None
        return DecidingNow(standing=study.standing(), margin=study.rule.margin)


def _stamp(record: Rated) -> tuple[object, ...]:
    parts = len(record.answers) if isinstance(record, JudgementRecord) else len(record.complete_turns)
    return record.unit_id, record.started_at, record.status, record.finished_at, parts, record.interrupted


def _groups_of(records: Iterable[Rated]) -> Iterator[GroupStatus]:
    counts: Counter[Cell] = Counter()
    for record in records:
        if isinstance(record, DialogueRecord):
            models = tuple(model.name for model in record.models)
            if record.quality_control_model and models == (record.quality_control_model,):
                continue
        elif record.expected is None:
            models = tuple(record.group)
        else:
            continue
        counts[Cell(models, record.metric, record.setting)] += record.status == "complete"
    for cell, completed in counts.items():
        yield GroupStatus.of(cell, completed=completed, wanted=None)


def _standing(
    now: float, task_name: str, stored: _Stored, snapshot: Snapshot | None, alive: bool
) -> status.StudyStatus:
    document, facts = stored.document, stored.document.facts
    deciding = stored.by_log if snapshot is None or snapshot.deciding is None else snapshot.deciding
    # Also where its log says nothing: tests of one look would still be of a study that looks again and again.
    is_decided = deciding is not None or DECIDED in document.sections
    leads = [] if is_decided else leading(document.summaries())
    answers = [status.Answer(name=name_of(one), summary=one, looked_at=_looked_at(document, one)) for one in leads]
    state, words = _state(now, snapshot, alive)
    if alive and snapshot is not None and snapshot.trouble is not None:
        words = f"{words} {snapshot.trouble}"
    said: dict[str, Any] = {"counted": "dialogues", "groups": stored.groups}
    if snapshot is not None:
        names = ("counted", "groups", "remaining", "door", "models", "orders")
        said = {name: getattr(snapshot, name) for name in names}
    if snapshot is not None and alive:
        said |= {"url": snapshot.url, "inside": snapshot.inside}
    began, remaining = None if snapshot is None else snapshot.began, said.get("remaining")
    ended = [work.ended for work in stored.work if work.outcome == "complete"]
    return status.StudyStatus(
        task_name=task_name,
        technique=", ".join(facts.techniques),
        at=now,
        state=state,
        state_words=words,
        note=facts.note,
        headline=_headline(document, deciding),
        answers=answers,
        deciding=deciding,
        looking=WORDS["looking"]["whenever"] if is_decided else _looking(facts, answers),
        drop_outs=_drop_outs(stored.work),
        practice=facts.raters.practice,
        raters=status.Raters(**{name: getattr(facts.raters, name) for name in status.Raters.model_fields}),
        pay=_pay(stored.books, remaining),
        end=status.estimated_end(now, state, remaining, ended, began, said["groups"], deciding),
        checks=sorted(facts.flagged, key=lambda check: -check.units),
        remarks=[
            *([] if deciding is None else [pairs_remark(deciding.standing.pairs)]),
            *(snapshot.remarks if snapshot is not None and alive else ()),
            *stored.books.notes,
            *qualifying(facts, leads, document.in_short()),
        ],
        problem=stored.problem,
        read_at=stored.read_at,
        snapshot=snapshot,
        **said,
    )


def _headline(document: Document, deciding: DecidingNow | None) -> str:
    """What is decided; where only the log could say so and does not, that; of every other study its answer."""
    if deciding is not None:
        return sentence(str(deciding))
    stopping = document.sections.get(DECIDED)
    return document.headline() if stopping is None else stopping.headline


def _state(now: float, snapshot: Snapshot | None, alive: bool) -> tuple[status.State, str]:
    if alive and (snapshot is None or snapshot.ended is not None):
        return "starting", "A launch is starting."
    if snapshot is None:
        return "not_running", "No launch is running. These are the stored results."
    if snapshot.ended is not None:
        return "ended", f"No launch is running: the last one ended {ago(now - snapshot.ended)} ago."
    if not alive:
        return "cut_off", f"No launch is running: the last one was interrupted {ago(now - snapshot.at)} ago."
    if now - snapshot.at > SILENT_S:
        return "silent", f"The launch is running, but has not reported anything for {ago(now - snapshot.at)}."
    if snapshot.closing:
        return "ending", "The launch is ending."
    if snapshot.broken is not None:
        return "broken", f"Assignments have stopped after several failures in a row: {snapshot.broken}"
    if snapshot.paused is not None:
        since = ago(now - snapshot.paused.since)
        return "paused", f"Paused for {since}: no new raters start; active raters finish."
    return "running", f"Running for {ago(now - snapshot.began)}."


def ago(seconds: float) -> str:
    """“12 s”, “3 min”, “2 h 5 min”, “4 days”."""
    whole = max(0, round(seconds))
    if whole < 120:
        return f"{whole}\u00a0s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes}\u00a0min"
    hours = minutes // 60
    return f"{hours}\u00a0h {minutes % 60}\u00a0min" if hours < 48 else counted(hours // 24, "day")


def _looked_at(document: Document, answer: Summary) -> list[status.LookedAt]:
    times = document.sections.get("crowd_time")
    if not isinstance(times, CrowdTime):
        return []
    group = (answer.technique, answer.setting, answer.metric)
    of_group = (pair for pair in times.pairs if (pair.technique, pair.setting, pair.metric) == group)
    looks = {frozenset((pair.model_a, pair.model_b)): pair.anytime for pair in of_group}
    known = ((pair, looks.get(frozenset((pair.first, pair.second)))) for pair in answer.pairs)
    return [status.LookedAt(first=pair.first, second=pair.second, p=p.p_value) for pair, p in known if p is not None]


def _looking(facts: Facts, answers: Sequence[status.Answer]) -> str:
    if not answers:
        return ""
    can, said = any(answer.looked_at for answer in answers), WORDS["looking"]
    if any(setting.values.get("planned_for_looking") is True for setting in facts.settings):
        return str(said["planned" if can else "planned_without"])
    return f"{said['costs']} {said['stays_valid'] if can else said['wait']}"


def _drop_outs(work: Sequence[Work]) -> status.DropOuts:
    ended = [one for one in work if one.outcome in ("complete", "partial")]
    left = [one for one in ended if one.outcome == "partial"]
    places = Counter((one.done, one.whole, one.counted) for one in left)
    after = [
        status.LeftAfter(done=done, whole=whole, counted=what, count=count)
        for (done, whole, what), count in sorted(places.items(), key=lambda place: (-place[1], place[0]))
    ]
    return status.DropOuts(left=len(left), of=len(ended), after=after)


def _pay(books: Books, remaining: int | None) -> status.Pay | None:
    paid_works = [one for one in books.dues if not one.work.simulated and one.work.reward]
    if not paid_works:
        return None
    currency, reward = paid_works[-1].currency, paid_works[-1].work.reward
    per_hour = books.hourly.get(currency)
    owed, paid, written = books.totals(currency)
    owed_in_sandbox, paid_in_sandbox = books.at_sites([crowd.provider_type for crowd in crowds() if crowd.is_trial])
    return status.Pay(
        reward=float(reward),
        per_hour=None if per_hour is None else float(per_hour),
        owed=float(owed),
        paid=float(paid),
        written=float(written),
        owed_in_sandbox=float(owed_in_sandbox),
        paid_in_sandbox=float(paid_in_sandbox),
        to_spend=None if remaining is None else float(remaining * reward),
        currency=currency,
        also=[
            status.PayIn(currency=other, owed=float(owed), paid=float(paid), written=float(written))
            for other in books.currencies
            if other != currency
            for owed, paid, written in [books.totals(other)]
        ],
    )
