"""A launch that stops when its study is decided. Raters count in the order in which they came, so that later ones'
evidence waits for earlier ones, for a while also where a launch's end cut them off."""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from mephisto_tasks.config.names import ConfigError
from mephisto_tasks.config.stopping import refused_change
from mephisto_tasks.storage.sqlite import Saving
from parlai_humaneval.i18n.translate import worded
from parlai_humaneval.schema.records import DialogueRecord, JudgementRecord, Rated
from parlai_humaneval.statistics.survival.spotting import GOODNESS
from parlai_humaneval.stopping import events as log
from parlai_humaneval.stopping.rule import RuleChanged, StoppingRule
from parlai_humaneval.stopping.study import ReplayError, SequentialStudy, StudyError, replay
from parlai_humaneval.tables.build_judgements import pair_rows, segment_rows

RETURN_S = 20.0  # A page that was left open finds a new launch within so many seconds (it tries every eight)
PATIENCE_S = 90.0  # A launch waits no longer than this. A browser lets a page in the background try once a minute.


class Absent:
    """Workers who had begun, and have not come back. They are gone once silent for ``silence_s``; but an open page has
    :data:`RETURN_S` to find a launch again, and nobody is waited for longer than :data:`PATIENCE_S`."""

    def __init__(self, last_seen: Mapping[str, float], silence_s: float) -> None:
        self._last_seen = dict(last_seen)
        self._silence_s = silence_s
        self._opened: float | None = None

    def __len__(self) -> int:
        return len(self._last_seen)

    def opens(self, at: float) -> None:
        self._opened = at

    def stop_waiting(self, worker: str) -> None:
        self._last_seen.pop(worker, None)

    def gone(self, now: float) -> list[str]:
        return [worker for worker, seen in self._last_seen.items() if now >= self._until(seen)]

    def _until(self, seen: float) -> float:
        silent = seen + self._silence_s
        if self._opened is None:
            return silent + PATIENCE_S
        return min(max(silent, self._opened + RETURN_S), self._opened + PATIENCE_S, silent + PATIENCE_S)


Models = tuple[str, ...]
Keep = Callable[[Sequence[log.Event]], None]

FORECAST_S = 30.0  # between two forecasts: one takes seconds


@dataclass(eq=False, repr=False)
class StoppingMonitor:
    """The questions for each worker, and the decisions. Thread-safe; workers go by Mephisto's ids, in the log by
    ``name_of``. ``kept`` events are on the disk. Workers who leave during ``closing`` may come back, and are not
    drop-outs."""

    _study: SequentialStudy
    _kept: int
    _keep: Keep
    saving: Saving
    _name_of: Callable[[str], str]
    _closing: threading.Event
    _clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        self.predictions: Mapping[str, tuple[str, float]] = {}
        """Item → a model of it, and the share that a judge gave it before any rater was asked."""
        self._absent = Absent({}, 0.0)
        self._unbegun: set[str] = set()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._drawn = {event.worker: event.dialogues for event in self._study.log if isinstance(event, log.Arrived)}
        self._answered: dict[str, set[int]] = defaultdict(set)
        for event in self._study.log:
            if isinstance(event, log.Answered):
                self._answered[event.worker].add(event.dialogue)
        self._standing: tuple[int, log.StoppingStatus] | None = None  # after so many events
        self._foreseen: log.Forecast | None = None
        self._foreseen_of: tuple[int, int] | None = None
        self._foreseen_at = 0.0
        self._foreseeing = threading.Thread()

    @property
    def rule(self) -> StoppingRule:
        return self._study.rule

    @property
    def is_over(self) -> bool:
        with self._lock:
            return self._study.ended is not None

    @property
    def free(self) -> int:
        with self._lock:
            return 0 if self._study.ended is not None else self._study.free

    @property
    def missing(self) -> int:
        """Dialogues that are still to be finished, at most; 0 when the answer is reached."""
        with self._lock:
            return 0 if self._study.ended is not None else self._study.free + self._study.in_flight

    def open_groups(self) -> list[Models]:
        """The groups that can be drawn now; empty when the answer is reached."""
        with self._lock:
            study = self._study
            if study.ended == "decided":
                return []
            named = {model for pair in study.open for model in pair}
            if study.rule.is_apart:
                return [(model,) for model in study.rule.models if model in named]
            if study.rule.shown == "pairs":
                return list(study.asked)
            return [tuple(model for model in study.rule.models if model in named)]

    def keeps_places(self, ahead: int = 0) -> bool:
        """Whether nothing can be given out now, but may be soon, to raters who come back; ``ahead``: of others."""
        with self._lock:
            study = self._study
            return study.ended is None and study.free <= ahead and len(self._absent) > 0

    def expect(self, last_seen: Mapping[str, float], silence_s: float) -> None:
        """Wait for whom an earlier launch cut off; others saw nothing, and get what was drawn."""
        with self._lock:
            began = {self._name_of(worker): at for worker, at in last_seen.items()}
            newest = {
                event.worker: event.at
                for event in self._study.log
                if isinstance(event, (log.Arrived, log.Chose, log.Answered, log.Returned))
            }
            under_way = self._study.under_way()
            self._absent = Absent({name: max(newest[name], began.get(name, 0.0)) for name in under_way}, silence_s)
            self._unbegun = set(under_way) - set(began)

    @property
    def awaited(self) -> int:
        with self._lock:
            return len(self._absent)

    def opens(self) -> None:
        with self._lock:
            self._absent.opens(self._clock())
        self._write()  # announce a raised cap before the next rater comes

    def came(self, worker: str) -> bool:
        """Whether the worker has taken part: all that they are asked was drawn then, and began."""
        name = self._name_of(worker)
        with self._lock:
            return name in self._drawn and not (name in self._unbegun and self._study.can_return(name))

    def went_on_without(self, worker: str) -> bool:
        with self._lock:
            return self._study.went_on_without(self._name_of(worker))

    def can_go_on(self, worker: str) -> bool:
        """Whether what the worker still answers can be evidence."""
        with self._lock:
            return self._study.can_return(self._name_of(worker))

    def draw(self, worker: str, dialogues: int) -> list[Models]:
        """Note that a worker came, on the disk, and draw their dialogues; nothing if they came before, or nobody is
        needed. A worker who was cut off before anything was shown gets the earlier draw."""
        name = self._name_of(worker)
        if name in self._unbegun:
            return list(self._drawn[name]) if self.come_back(worker) else []
        with self._lock:
            try:
                arrived = self._study.arrive(name, dialogues, at=self._clock())
            except StudyError:
                return []
            self._drawn[name] = arrived.dialogues
        self._write()
        return list(arrived.dialogues)

    def give(self, worker: str, place: int, item_id: str, among: Sequence[str]) -> None:
        """Note a judge's answer about the item for a worker's drawn dialogue, and about all items ``among`` which it
        was drawn; nothing if the judge had not answered."""
        if item_id not in self.predictions:
            return
        name = self._name_of(worker)
        with self._lock:
            first = self._drawn[name][place][0]
            said = {item: self.predictions[item] for item in among if item in self.predictions}
            shares = {item: share if model == first else 1 - share for item, (model, share) in said.items()}
            mean = sum(shares.values()) / len(shares)
            self._study.predict(name, place, shares[item_id], mean, at=self._clock())
        self._write()

    def note(
        self, worker: str, models: Iterable[str], outcome: Callable[[Models], log.Outcome | None], so_far: int = 0
    ) -> None:
        """Note what came of a worker's dialogue about these models: ``outcome`` for them in the order in which they
        were drawn; None: nothing was answered. One that was not drawn here, or is noted, changes nothing. ``so_far``:
        only the choices up to now, in a dialogue of so many turns."""
        name = self._name_of(worker)
        with self._lock:
            place = self._next(name, models)
            answer = None if place is None else outcome(self._drawn[name][place])
            if place is not None and answer is not None and so_far:
                self._study.choose(name, place, answer, whole=so_far, at=self._clock())
            elif place is not None and answer is not None:
                self._study.answer(name, place, answer, at=self._clock())
                self._answered[name].add(place)
        self._write()

    def noted(self, worker: str, models: Iterable[str]) -> int:
        name = self._name_of(worker)
        with self._lock:
            return len(self._answered[name].intersection(self._about(name, models)))

    def _next(self, name: str, models: Iterable[str]) -> int | None:
        return next((place for place in self._about(name, models) if place not in self._answered[name]), None)

    def _about(self, name: str, models: Iterable[str]) -> list[int]:
        group = frozenset(models)
        return [place for place, drawn in enumerate(self._drawn.get(name, ())) if frozenset(drawn) == group]

    def leave(self, worker: str) -> None:
        """Note that a worker's unit is over; what they finished counts, and the rest is free for others."""
        name = self._name_of(worker)
        with self._lock:
            if name in self._drawn and not self._closing.is_set():
                self._study.leave(name, at=self._clock())
        self._write()

    def come_back(self, worker: str) -> bool:
        """Note that a worker goes on with what they left; False: it could not be evidence any more."""
        name = self._name_of(worker)
        with self._lock:
            if not self._study.can_return(name):
                return False
            self._absent.stop_waiting(name)
            self._unbegun.discard(name)
            if self._study.has_left(name):
                self._study.come_back(name, at=self._clock())
        self._write()
        return True

    def look(self) -> None:
        """Wait no longer for raters who have run out of time, or were cut off and have been away for too long."""
        with self._lock:
            now = self._clock()
            for name in [] if self._closing.is_set() else self._absent.gone(now):
                self._absent.stop_waiting(name)
                self._study.leave(name, at=now)
            self._study.look(at=now)
        self._write()

    def standing(self) -> log.StoppingStatus:
        with self._lock:
            events = len(self._study.log) - self._study.turns
            if self._standing is None or self._standing[0] != events:  # its intervals take a tenth of a second
                self._standing = events, self._study.standing()
            return self._standing[1]

    def forecast(self) -> log.Forecast | None:
        """The dialogues that the study still needs, as last foreseen (updated now and then); None: no forecast."""
        with self._lock:
            study = self._study
            if study.ended is not None:
                return None
            state = study.folded, study.answered + study.in_flight
            too_soon = self._foreseen is not None and self._clock() - self._foreseen_at < FORECAST_S
            if state == self._foreseen_of or too_soon or self._foreseeing.is_alive():
                return self._foreseen
            self._foreseeing = threading.Thread(target=self._foresee, args=(study.ahead(), state), daemon=True)
        self._foreseeing.start()
        return self._foreseen

    def _foresee(self, ahead: Callable[[], log.Forecast], state: tuple[int, int]) -> None:
        self._foreseen, self._foreseen_of, self._foreseen_at = ahead(), state, self._clock()

    def _write(self) -> None:
        """What is not on the disk yet, in order; nothing while nobody came: settings stay free."""
        with self._writing:
            with self._lock:
                events = self._study.log[self._kept :] if len(self._study.log) > 1 else []
            if events:
                self.saving.until_done(lambda: self._keep(events), even_in_a_hurry=True)
                self._kept += len(events)


def monitor_of(
    events: Sequence[log.Event],
    rule: StoppingRule,
    keep: Keep,
    saving: Saving,
    name_of: Callable[[str], str],
    closing: threading.Event,
    *,
    seed: int,
    technique: str,
    setting: str,
    metric: str,
    clock: Callable[[], float] = time.time,
) -> StoppingMonitor:
    """The monitor of a study that begins, or goes on with earlier ``events``. Raises ConfigError."""
    if not events:
        study = SequentialStudy(rule, seed=seed, technique=technique, setting=setting, metric=metric)
        return StoppingMonitor(study, 0, keep, saving, name_of, closing, clock)
    try:
        study = replay(events, cut_off=True)
        study.rule.refuse_change(rule.model_copy(update={"max_dialogues": study.rule.max_dialogues}))
    except RuleChanged as changed:
        raise refused_change(changed, rule) from changed
    except ReplayError as error:
        raise ConfigError(
            error,
            where="the log of this study's decisions cannot be continued",
            try_="put the file back as it was, or begin another study: task_name=…",
        ) from error
    if rule.max_dialogues < study.rule.max_dialogues:
        raise ConfigError(worded(__file__, "lower_cap", cap=rule.max_dialogues, before=study.rule.max_dialogues))
    if rule.max_dialogues > study.rule.max_dialogues:
        study.extend(rule.max_dialogues, at=clock())
    return StoppingMonitor(study, len(events), keep, saving, name_of, closing, clock)


def note_record(monitor: StoppingMonitor, worker: str, record: Rated) -> None:
    """Count a finished dialogue or judgement, or as much of a dialogue as there is; attention checks never are."""
    models, of_record = _models(record), partial(outcome_of, record)
    if record.status == "complete":
        monitor.note(worker, models, of_record)
    elif isinstance(record, DialogueRecord):
        monitor.note(worker, models, of_record, so_far=int(record.settings["turns"]))


def note_missing(monitor: StoppingMonitor, finished: Iterable[tuple[str, Rated]]) -> None:
    """Count those of the workers' ``finished`` records, oldest first, that are not counted yet."""
    seen: Counter[tuple[str, frozenset[str]]] = Counter()
    for worker, record in finished:
        models = _models(record)
        if outcome_of(record, models) is not None:
            seen[worker, frozenset(models)] += 1
            if seen[worker, frozenset(models)] > monitor.noted(worker, models):
                note_record(monitor, worker, record)


def unknown_workers(monitor: StoppingMonitor, finished: Iterable[tuple[str, Rated]]) -> int:
    """How many workers finished what would be evidence, and never came by the log, which is written first."""
    evidence = {worker for worker, record in finished if outcome_of(record, _models(record))}
    return sum(not monitor.came(worker) for worker in evidence)


def _models(record: Rated) -> Models:
    if isinstance(record, JudgementRecord):
        return () if record.expected is not None else tuple(record.group)
    return tuple(model.name for model in record.models)


def outcome_of(record: Rated, models: Models) -> log.Outcome | None:
    """How often each of the models was chosen, or how the one that is there was rated; None where nothing was, and nothing
    could be."""
    if len(models) == 1 and isinstance(record, DialogueRecord):
        return _of_ratings(record)
    if len(models) < 2:
        return None
    if isinstance(record, JudgementRecord):
        return _of_judgement(record, models)
    if record.verdict is not None:
        return log.Outcome(picks=tuple(int(model == record.verdict_model) for model in models), turns=1)
    chosen = [
        {candidate.model for candidate in turn.candidates if turn.picks(candidate)}
        for turn in record.complete_turns
        if turn.offers_choice and not any(candidate.failed for candidate in turn.candidates)
    ]
    if not chosen:
        return None
    return log.Outcome(picks=tuple(sum(model in of_turn for of_turn in chosen) for model in models), turns=len(chosen))


def _of_ratings(record: DialogueRecord) -> log.Outcome | None:
    """For a finished dialogue with one model: the points of all scales at its end, or, without scales, how often the
    model was ticked. A scale on which a high rating is a bad one is turned round. None before the end."""
    if record.status != "complete":
        return None
    scales = {criterion.name: criterion for criterion in record.criteria if criterion.name in record.final_ratings}
    ticks = [
        criterion.reversed != (criterion.name in turn.ticks)
        for turn in record.complete_turns
        if turn.ticks is not None
        for criterion in record.turn_criteria
    ]
    if scales:
        given = (
            scale.maximum - rating if scale.reversed else rating - scale.minimum
            for scale, rating in ((scales[name], record.final_ratings[name]) for name in scales)
        )
        points, most = round(sum(given)), round(sum(scale.maximum - scale.minimum for scale in scales.values()))
    else:
        points, most = sum(ticks), len(ticks)
    return log.Outcome(picks=(points,), turns=most) if most else None


def _of_judgement(record: JudgementRecord, models: Models) -> log.Outcome | None:
    if labels := {row["model"]: GOODNESS[row["label"]] for row in segment_rows(record)}:
        best = max(labels.values())
        is_tie = len(labels) != len(models) or set(labels.values()) == {best}
        return log.Outcome(picks=tuple(int(not is_tie and labels[model] == best) for model in models), turns=1)
    rows = [row for row in pair_rows(record) if row["metric"] == record.metric]
    if not rows:
        return None
    won = [row["winner"] for row in rows if not row["tied"]]
    return log.Outcome(picks=tuple(won.count(model) for model in models), turns=len(rows))
