"""A sequential study, from the first arrival to its answer: the questions for each worker, and the decisions.

This module knows nothing of crowd platforms: the caller reports who came, what they answered and when, and stores the
log. ``replay`` makes the same study of its log, or says where it differs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.stopping import events
from parlai_humaneval.stopping.batch import Studies, in_words
from parlai_humaneval.stopping.estimates import crowd_seen, pair_status, strengths_after_stopping, warnings
from parlai_humaneval.stopping.events import Event, Forecast, JudgeHelp, Outcome, StoppingStatus
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import SIMULATIONS, Crowd, Peek, first_crossing, fixed_plan, forecast
from parlai_humaneval.stopping.units import Scores, Unit, Worker, begun, drawn
from parlai_humaneval.techniques.registry import techniques

_ONE = np.zeros(1, dtype=np.int64)  # The row of a live study among the studies


class StudyError(HumanevalError, ValueError):
    """A request to the study cannot be met."""


class SequentialStudy:
    """A study that stops once it reaches a decision. ``rule``: that by which it ends; its cap may have been raised since
    the study ``began``. ``log``: all that happened; it only ever grows. ``ended``: why nobody else is needed; None as
    long as somebody is. ``answered``, ``in_flight``, ``folded``: dialogues that were finished, that were begun and may
    still be, and that are evidence. ``cut_off``: dialogues that their workers left in the middle, and that are evidence
    as far as they went. ``turns``: that were noted before their dialogues were finished; they change nothing until
    their worker is folded in. ``timed_out``, ``unheard``: workers who ran out of time, and who left before they had
    chosen anything. What cannot be (an unknown worker, an answer that counts twice …) is a :class:`StudyError`; ``at``
    is a time in seconds.

    >>> rule = StoppingRule(models=('A', 'B'), margin=0.2, max_dialogues=200)
    >>> study = SequentialStudy(rule, seed=1)
    >>> for number in range(40):
    ...     if study.ended is None:
    ...         given = study.arrive(f'w{number}', at=number * 60.0)
    ...         study.finish(f'w{number}', [Outcome(picks=(5, 1), turns=6)], at=number * 60.0 + 50)
    >>> print(study.standing())
    answer reached: A > B; 8 % of the dialogues of a fixed plan
    """

    def __init__(
        self, rule: StoppingRule, *, seed: int = 0, technique: str = "", setting: str = "", metric: str = ""
    ) -> None:
        asked = {"technique": technique, "setting": setting, "metric": metric}
        began = events.Began(rule=rule, seed=seed, cut_off="filled", equality="even", order="paths", **asked)
        self._begin(began)

    @classmethod
    def of(cls, began: events.Began) -> SequentialStudy:
        """The study of a first event, perhaps of an earlier version, before anybody has come."""
        study = cls.__new__(cls)
        study._begin(began)
        return study

    def _begin(self, began: events.Began) -> None:
        self.rule, self.seed, self.began = began.rule, began.seed, began
        self.log: list[Event] = [began]
        how = {"together": began.equality != "one_by_one", "even": began.equality == "even"}
        self.studies = Studies(began.rule, filled=began.cut_off == "filled", paths=began.order == "paths", **how)
        self.pairs = self.studies.evidence.pairs
        self.now = 0.0
        self.ended: Literal["decided", "cap"] | None = None
        self.answered, self.in_flight, self.folded = 0, 0, 0
        self.cut_off, self.timed_out, self.unheard, self.turns = 0, 0, 0, 0
        self._workers: dict[str, Worker] = {}
        self._units: list[Unit] = []

    @property
    def open(self) -> list[tuple[str, str]]:
        """Pairs that are not decided."""
        return [self._names(int(pair)) for pair in np.flatnonzero(self.studies.decisions.open()[0])]

    @property
    def asked(self) -> list[tuple[str, str]]:
        """Pairs that dialogues are drawn from."""
        return [self._names(int(pair)) for pair in np.flatnonzero(self.studies.decisions.asked[0])]

    @property
    def free(self) -> int:
        """Dialogues that can be given before the cap; a single one does not count if it could be compared with
        nothing."""
        alone = self.rule.is_apart and self._left == 1 and self._half is None
        return 0 if alone else self._left

    @property
    def _left(self) -> int:
        return self.rule.max_dialogues - self.answered - self.in_flight

    @property
    def _half(self) -> Unit | None:
        """The unit that began last, if it waits for a second worker to rate its other model, and the two are open."""
        unit = self._units[-1] if self._units else None
        if unit is None or not unit.not_given or unit.is_through or unit.workers[0].folded:
            return None
        (pair,) = unit.columns
        return unit if pair in self.open else None

    def arrive(self, worker: str, dialogues: int = 1, *, at: float) -> events.Arrived:
        """Give a worker so many dialogues, or as many as the cap allows, drawn from the pairs that are asked about. Where
        models are rated each by itself, and a worker is to rate one, they rate one of two models, and who comes next the
        other one."""
        if dialogues < 1:
            raise StudyError(f"rater {worker} asks for {dialogues} dialogues", try_="give at least one")
        if worker in self._workers:
            raise StudyError(
                f"rater {worker} has taken part in this study: all dialogues of a rater are drawn when they "
                "come, and count once",
                try_="ask for more dialogues at that time, or send somebody else",
            )
        self.look(at=at)
        if self.ended == "decided":
            raise StudyError("the answer is reached: nobody else is needed")
        if self.free < 1:
            left = f", with {self.in_flight} of them in progress: one becomes free only when somebody leaves"
            raise StudyError(f"the cap of {self.rule.max_dialogues} dialogues is reached{'' if self.ended else left}")
        asked, half, most = self.studies.decisions.asked, self._half, min(dialogues, self.free)
        if half is not None and dialogues == 1:
            unit, groups = half, half.not_given
            chance = 1 / int(asked.sum())
        else:
            if self._units and self._units[-1].not_given:
                self._end_unit(self._units[-1])  # nobody will rate its other model
            rng = np.random.default_rng([self.seed, len(self._workers)])
            all_groups, chance = drawn(self.rule, asked, most, rng)
            unit, groups = begun(self.rule, int(self.studies.arrived[0]), all_groups), all_groups[:most]
            place = {pair: number for number, pair in enumerate(map(self._names, range(self.pairs.count)))}
            shown = np.array([place[pair] for pair in unit.columns])
            self.studies.admit(_ONE, shown[None], np.array([self.now]))
            self._units.append(unit)
        event = events.Arrived(
            at=self.now,
            worker=worker,
            asked=dialogues,
            dialogues=groups,
            propensities=(chance,) * len(groups),
            open=tuple(self.open),
            among=() if self.asked == self.open else tuple(self.asked),
        )
        came = Worker(worker, unit, groups, self.now + self.rule.timeout * len(groups))
        unit.workers.append(came)
        self.studies.wait(_ONE, np.array([unit.number]), np.array([came.due]))
        self._workers[worker] = came
        self.in_flight += len(groups)
        self.log.append(event)
        return event

    def predict(self, worker: str, dialogue: int, share: float, mean: float, *, at: float) -> None:
        """Note what a judge had said of what a worker is about to be asked; see :class:`.Predicted`. Only the first item
        that was drawn for a dialogue counts: whether there is another one may follow from what it was."""
        came = self._came(worker)
        if not self.rule.judge:
            raise StudyError("this study began without a judge", try_="begin another study to use a judge")
        if not 0 <= dialogue < len(came.dialogues) or len(came.dialogues[dialogue]) != 2:
            raise StudyError(f"rater {worker} has no dialogue of two models at position {dialogue}")
        if dialogue in came.outcomes or dialogue in came.so_far:
            raise StudyError(
                f"rater {worker} has answered in dialogue {dialogue}: an answer of a judge after that of a person is not a "
                "prediction",
                try_="let the judge answer before any rater is asked",
            )
        self.look(at=at)
        if dialogue in came.foreseen or not self._is_waited_for(came):
            return
        came.foreseen.add(dialogue)
        event = events.Predicted(at=self.now, worker=worker, dialogue=dialogue, share=share, mean=mean)
        self.log.append(event)
        unit = came.unit
        unit.predicted[unit.columns_of(dialogue)] = event.share - event.mean
        self.studies.predict(_ONE, np.array([unit.number]), unit.predicted[None])

    def answer(self, worker: str, dialogue: int, outcome: Outcome, *, at: float) -> None:
        """Note what came of a worker's dialogue, by its place from 0; after the last one the worker is through.
        Outcomes that come after the worker left or ran out of time, or after the study's end, are kept in the log, but
        do not count as evidence."""
        came = self._came(worker)
        self._check(worker, came, dialogue, outcome)
        self.look(at=at)
        came.outcomes[dialogue] = outcome
        self.answered += 1
        given_up = came.folded or came.gone
        self.in_flight -= not given_up
        # Also of those who still wait behind somebody else: what counts must not depend on how long that one takes.
        came.overdue |= not given_up and self.now >= came.due
        late = given_up or came.overdue or self.ended is not None
        if late:
            came.late.add(dialogue)
        self.log.append(events.Answered(at=self.now, worker=worker, dialogue=dialogue, outcome=outcome, late=late))
        if not late:
            self._count(came, dialogue, outcome, 1.0)
            self._if_through(came.unit)

    def choose(self, worker: str, dialogue: int, outcome: Outcome, *, whole: int, at: float) -> None:
        """Note what a worker has chosen so far in a dialogue that they have not finished; see :class:`.Chose`. Nothing
        is noted that does not count as evidence: after they left or ran out of time, or after the study's end; nor in
        studies that leave such dialogues out, or rate each model by itself, because a comparison takes two ratings."""
        came = self._came(worker)
        self._check(worker, came, dialogue, outcome)
        self.look(at=at)
        late = came.folded or came.gone or self.now >= came.due or self.ended is not None
        counts = self.studies.evidence.filled and not self.rule.is_apart
        if not late and counts and came.so_far.get(dialogue) != outcome:
            event = events.Chose(at=self.now, worker=worker, dialogue=dialogue, outcome=outcome, whole=whole)
            came.so_far[dialogue] = outcome
            self.turns += 1
            self.log.append(event)
            self._count(came, dialogue, outcome, event.done)

    def finish(self, worker: str, outcomes: Sequence[Outcome], *, at: float) -> None:
        """Note the outcomes of all of a worker's open dialogues."""
        came = self._came(worker)
        left = [number for number in range(len(came.dialogues)) if number not in came.outcomes]
        if len(outcomes) != len(left):
            what = f"{len(outcomes)} outcomes for the {len(left)} open dialogues of rater {worker}"
            raise StudyError(what, try_="give one each, or say that the rater left")
        for number, outcome in zip(left, outcomes, strict=True):
            self._check(worker, came, number, outcome)
        for number, outcome in zip(left, outcomes, strict=True):
            self.answer(worker, number, outcome, at=at)

    def leave(self, worker: str, *, at: float) -> None:
        """Note that a worker left: finished dialogues count, the rest is free for others."""
        came = self._came(worker)
        self.look(at=at)
        if not came.is_through and not came.folded:
            came.gone = True
            self.in_flight -= came.left
            self.log.append(events.Left(at=self.now, worker=worker))
            self._if_through(came.unit)

    def come_back(self, worker: str, *, at: float) -> None:
        """Note that a worker who had left continues where they were, with the time that was left."""
        came = self._came(worker)
        self.look(at=at)
        if not came.gone or not self.can_return(worker):
            raise StudyError(f"rater {worker} cannot continue: they had not left, or the study went on without them")
        self.in_flight += came.left
        came.gone = False
        self.studies.end(_ONE, np.array([came.unit.number]), np.array([np.inf]))
        self.log.append(events.Returned(at=self.now, worker=worker))

    def extend(self, max_dialogues: int, *, at: float) -> None:
        """Raise the cap, even after it was reached."""
        if max_dialogues <= self.rule.max_dialogues:
            raise StudyError(f"the cap is {self.rule.max_dialogues} already: a cap of {max_dialogues} is not higher")
        self.look(at=at)
        self.rule = self.studies.rule = self.rule.model_copy(update={"max_dialogues": max_dialogues})
        if self.ended == "cap":
            self.ended = None
        self.log.append(events.Extended(at=self.now, max_dialogues=max_dialogues))

    def look(self, *, at: float) -> None:
        """Let time pass, so that workers who have run out of it are no longer waited for. The clock never goes back,
        whatever the clocks of several machines say."""
        if not np.isfinite(at):
            raise StudyError(f"the time is {at}", try_="give seconds")
        self.now = max(self.now, float(at))
        before = len(self.log)
        self._fold()
        if len(self.log) > before:
            self.log.insert(before, events.Looked(at=self.now))

    def has_left(self, worker: str) -> bool:
        """Whether a worker came and left."""
        came = self._workers.get(worker)
        return came is not None and came.gone

    def can_return(self, worker: str) -> bool:
        """Whether a worker's further answers would count: they came, and are not folded in yet."""
        came = self._workers.get(worker)
        return came is not None and self._is_waited_for(came) and came.gone * came.left <= self._left

    def went_on_without(self, worker: str) -> bool:
        """Whether a worker came and did not finish, and further answers would no longer count."""
        came = self._workers.get(worker)
        return came is not None and came.left > 0 and not self._is_waited_for(came)

    def under_way(self) -> list[str]:
        """Workers who came, have not left and lack answers, and are not folded in; in the order of arrival."""
        return [name for name, came in self._workers.items() if not came.is_through and not came.folded]

    def _is_waited_for(self, came: Worker) -> bool:
        return self.ended is None and not came.folded and self.now < came.due

    def standing(self) -> StoppingStatus:
        """The current state: every number is valid at all times."""
        rule, evidence = self.rule, self.studies.evidence
        weight, worth = (float(of_one[0]) for of_one in evidence.help_of_judge(_ONE))
        variance = float(evidence.variance(_ONE)[0]) * worth  # a fixed plan has people alone
        left = {"timed_out": self.timed_out, "cut_off": self.cut_off}
        return StoppingStatus(
            pairs=tuple(pair_status(self.studies, pair) for pair in range(self.pairs.count)),
            answer=in_words(rule.models, self.studies.decisions, rule.margin),
            level=1 - rule.alpha,
            workers=sum(came.folded for came in self._workers.values()),
            dialogues=self.folded,
            answered=self.answered,
            in_flight=self.in_flight,
            cap=rule.max_dialogues,
            judge=JudgeHelp(name=rule.judge, weight=weight, worth=worth) if rule.judge else None,
            fixed=self._each * fixed_plan(rule, variance=variance),
            fixed_pooled=self._each * fixed_plan(rule, variance=variance, pooled=rule.shown == "pairs"),
            **left,
            warnings=warnings(self.studies, **left, unheard=self.unheard),
            ended=self.ended,
            unit=self.unit,
        )

    @property
    def unit(self) -> str:
        """What the cap counts, in words: judgements, where finished dialogues are judged."""
        entry = techniques().get(self.began.technique)
        return "judgement" if entry is not None and entry.engine == "judging" else "dialogue"

    @property
    def _each(self) -> float:
        """Dialogues for a comparison of two models: two where each is rated on its own, and a part of one where a dialogue,
        or a worker, compares more than two."""
        rule = self.rule
        if rule.shown == "pairs":
            return 2.0 if rule.is_apart else 1.0
        compared = len(self._units[0].groups) if rule.is_apart and self._units else len(rule.models)
        return (compared if rule.is_apart else 1) / (compared * (compared - 1) / 2)

    def forecast(
        self, *, crowd: Crowd | Scores | None = None, simulations: int = SIMULATIONS, seed: int = 0
    ) -> Forecast:
        """Forecast the remaining dialogues by simulation; without a ``crowd``, workers stay as they were."""
        return self.ahead(crowd=crowd, simulations=simulations, seed=seed)()

    def ahead(
        self, *, crowd: Crowd | Scores | None = None, simulations: int = SIMULATIONS, seed: int = 0
    ) -> Callable[[], Forecast]:
        """A function that makes the :meth:`forecast` from this state, in seconds, whatever happens in the study
        meanwhile."""
        begun, known = self.answered + self.in_flight, copy.deepcopy(self.studies)
        workers = self._workers.values()
        outcomes = [outcome for came in workers for outcome in came.outcomes.values()]
        like = crowd or crowd_seen(self.studies, outcomes, [len(came.dialogues) for came in workers])
        unit, options = {"unit": self.unit}, {"simulations": simulations, "seed": seed}
        return lambda: forecast(known, begun=begun, crowd=like, **options).model_copy(update=unit)

    def strengths(self) -> Strengths | None:
        """Strengths of all models, “after optional stopping”; None if there is no data yet, or if each model is rated
        on its own, so that none wins. All answers count, also those that came after the answer was reached, which
        nothing was stopped by, and turns of dialogues that were never finished."""
        answered = (
            (worker, came.dialogues[number], outcome)
            for worker, came in self._workers.items()
            for number, outcome in sorted({**came.so_far, **came.outcomes}.items())
            if len(outcome.picks) > 1
        )
        return strengths_after_stopping(answered, level=1 - self.rule.alpha)

    def peeks(self) -> list[Peek]:
        """The result of a fixed analysis of each pair, checked after every worker."""
        found = []
        for number, pair in enumerate(self.standing().pairs):
            crossed = first_crossing(self.studies.of_pair(0, number)[0], self.rule.alpha)
            after, better = crossed or (None, None)
            wrongly = None if better is None or pair.decided is None else better != pair.decided
            found.append(Peek(first=pair.first, second=pair.second, after=after, better=better, wrongly=wrongly))
        return found

    def _came(self, worker: str) -> Worker:
        if worker not in self._workers:
            raise StudyError(f"no rater {worker} has arrived in this study", try_="record the arrival first")
        return self._workers[worker]

    def _check(self, worker: str, came: Worker, dialogue: int, outcome: Outcome) -> None:
        if not 0 <= dialogue < len(came.dialogues):
            raise StudyError(f"rater {worker} has {len(came.dialogues)} dialogues, and none at position {dialogue}")
        if dialogue in came.outcomes:
            raise StudyError(f"dialogue {dialogue} of rater {worker} was answered before: an answer counts once")
        if len(outcome.picks) != len(came.dialogues[dialogue]):
            models = ", ".join(came.dialogues[dialogue])
            raise StudyError(f"{len(outcome.picks)} picks for a dialogue of {models}", try_="give one number per model")

    def _count(self, came: Worker, dialogue: int, outcome: Outcome, done: float) -> None:
        unit = came.unit
        if self.rule.is_apart:
            unit.rate(came.dialogues[dialogue][0], outcome)
        else:
            unit.count(dialogue, outcome, done)
        self.studies.answer(_ONE, np.array([unit.number]), unit.shares[None], unit.done[None])

    def _if_through(self, unit: Unit) -> None:
        if unit.is_through:
            self._end_unit(unit)
            self._fold()

    def _end_unit(self, unit: Unit) -> None:
        self.studies.end(_ONE, np.array([unit.number]), np.array([self.now]))

    def _fold(self) -> None:
        """Fold in who is through, one at a time, so that the log says after whom each claim was made."""
        decisions = self.studies.decisions
        while self.ended is None:
            better, equal = decisions.better[0].copy(), decisions.equal[0].copy()
            if not self.studies.advance(_ONE, np.array([self.now]), most=1):
                break
            for came in self._units[int(self.studies.folded[0]) - 1].workers:
                self._note_folded(came)
            for i, j in np.argwhere(decisions.better[0] & ~better):
                through, pair = bool(decisions.through[0, i, j]), self.pairs.number[i, j]
                value = None if through else float(self.studies.evidence.pooled[0, 0 if i < j else 1, pair])
                self._claim("better", i, j, value, through=through)
            for pair in np.flatnonzero(decisions.equal[0] & ~equal):
                value = float(self.studies.evidence.equal[0, :, pair].min())
                self._claim("equal", self.pairs.first[pair], self.pairs.second[pair], value)
            if not decisions.open().any():
                self._end("decided")
        if self.ended is None and self.free < 1 and int(self.studies.folded[0]) == len(self._units):
            self._end("cap")

    def _note_folded(self, came: Worker) -> None:
        came.folded = True
        timed_out = came.overdue or not came.is_through
        self.timed_out += timed_out
        self.in_flight -= 0 if came.is_through else came.left
        self.folded += came.evidence
        self.cut_off += len(came.begun - came.outcomes.keys())
        self.unheard += not came.begun
        self.log.append(events.Folded(worker=came.name, dialogues=came.evidence, timed_out=timed_out))

    def _end(self, why: Literal["decided", "cap"]) -> None:
        self.ended = why
        self.log.append(events.Ended(at=self.now, why=why))

    def _claim(
        self, claim: Literal["better", "equal"], i: int, j: int, value: float | None, *, through: bool = False
    ) -> None:
        names = {"first": self.rule.models[i], "second": self.rule.models[j]}
        self.log.append(events.Claimed(claim=claim, through=through, e_value=value, dialogues=self.folded, **names))

    def _names(self, pair: int) -> tuple[str, str]:
        return self.rule.models[self.pairs.first[pair]], self.rule.models[self.pairs.second[pair]]


class ReplayError(HumanevalError, ValueError):
    """A log does not lead to its decisions."""


def replay(log: Sequence[Event], *, rule: StoppingRule | None = None, cut_off: bool = False) -> SequentialStudy:
    """The study that a log is of, with each decision made again; it can go on from there. ``log``: all that happened.
    ``rule``: that with which it is to go on, which must be the one with which it began, or one with a higher cap.
    ``cut_off``: what the study made of the last that came from outside may not have been written any more. Raises
    RuleChanged: it is another one. Raises ReplayError: the log does not begin with the study's beginning, or another
    decision or assignment follows from it."""
    if not log or not isinstance(log[0], events.Began):
        raise ReplayError("the log does not begin with the start of a study: it was cut, or it is another log")
    if rule is not None:
        log[0].rule.refuse_change(rule)
    study = SequentialStudy.of(log[0])
    for event in log[1:]:
        try:
            match event:  # what comes from outside happens again; the rest follows from it
                case events.Arrived():
                    study.arrive(event.worker, event.asked, at=event.at)
                case events.Predicted():
                    study.predict(event.worker, event.dialogue, event.share, event.mean, at=event.at)
                case events.Answered():
                    study.answer(event.worker, event.dialogue, event.outcome, at=event.at)
                case events.Chose():
                    study.choose(event.worker, event.dialogue, event.outcome, whole=event.whole, at=event.at)
                case events.Left():
                    study.leave(event.worker, at=event.at)
                case events.Returned():
                    study.come_back(event.worker, at=event.at)
                case events.Extended():
                    study.extend(event.max_dialogues, at=event.at)
                case events.Looked():
                    study.look(at=event.at)
        except StudyError as error:
            raise ReplayError(error, where="the log contains impossible events") from error
    for place, (now, before) in enumerate(zip(study.log, log, strict=False)):
        if not (now.is_again(before) if isinstance(now, events.Claimed) else now == before):
            raise ReplayError(f"event {place + 1} of the log differs when it is replayed: {before!r} is now {now!r}")
    if len(study.log) < len(log) or (len(study.log) > len(log) and not cut_off):
        raise ReplayError(f"the log has {len(log)} events, but {len(study.log)} when it is replayed: it was changed")
    study.log[: len(log)] = log
    return study
