"""One sequential study, from the first arrival to its answer: who is asked what, and what is decided.

Nothing here knows of a crowd platform: whoever runs the study says who came, what they answered and when, and stores the
log. ``replay`` makes the same study of its log, or says where it differs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from parlai_humaneval._util.arrays import Flags, Floats, Ints
from parlai_humaneval._util.errors import HumanevalError
from parlai_humaneval.statistics.core.formatting import counted
from parlai_humaneval.statistics.core.sequential import PRIOR_COUNT, PRIOR_VARIANCE, share_interval, squares
from parlai_humaneval.statistics.ranking.fit import Strengths
from parlai_humaneval.stopping.batch import Studies, drawn_pairs
from parlai_humaneval.stopping.estimates import strengths_after_stopping
from parlai_humaneval.stopping.events import (
    Answered,
    Arrived,
    Began,
    Chose,
    Claimed,
    Ended,
    Event,
    Extended,
    Folded,
    Left,
    Looked,
    Outcome,
    Returned,
)
from parlai_humaneval.stopping.fixed_plans import Peek, first_crossing, fixed_plan
from parlai_humaneval.stopping.forecast import SIMULATIONS, forecast
from parlai_humaneval.stopping.rule import StoppingRule
from parlai_humaneval.stopping.simulation import Crowd
from parlai_humaneval.stopping.status import Forecast, PairStatus, StoppingStatus, in_words

_ONE = np.zeros(1, dtype=np.int64)
"""The row of a live study among the studies."""
MANY_TIMED_OUT = 0.05
"""From this share on, those who ran out of time may make the answer one about the quick."""

MANY_LEFT = 0.1
"""From so many dialogues (workers) for each worker on, those who leave are warned of."""
MOST_ALIKE = 0.8
"""Of turns of one worker, in simulations: whoever came."""


class StudyError(HumanevalError, ValueError):
    """What was asked of the study cannot be."""


@dataclass
class _Worker:
    """Someone who came: their number in the order of arrival, what they were given, until when (``due``) they are waited
    for, and what they answered."""

    number: int
    dialogues: tuple[tuple[str, ...], ...]
    places: list[list[int]]
    """Of each dialogue, its columns among the worker's shares."""
    shares: Floats
    done: Floats
    """Of the same shape; the part of each dialogue that was answered."""
    due: float
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    so_far: dict[int, Outcome] = field(default_factory=dict)
    """Of dialogues, what was chosen in them before they were finished."""
    late: int = 0
    """Of the outcomes, those that are no evidence."""
    overdue: bool = False
    """Whether any of these came after the worker's time had run out."""
    gone: bool = False
    folded: bool = False

    @property
    def is_through(self) -> bool:
        return self.gone or len(self.outcomes) == len(self.dialogues)


class SequentialStudy:
    """A study that ends when its answer is reached.

    Attributes:
        rule: that by which it ends; its cap may have been raised since the study ``began``.
        log: all that happened; it only ever grows.
        ended: why nobody else is needed; None as long as somebody is.
        answered, in_flight, folded: dialogues that were finished, that were begun and may still be, and that are evidence.
        cut_off: dialogues that their workers left in the middle, and that are evidence as far as they went.
        turns: that were noted before their dialogues were finished; they change nothing until their worker is folded in.
        timed_out, unheard: workers who ran out of time, and who left before they had chosen anything.

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
        self._begin(Began(rule=rule, seed=seed, cut_off="filled", **asked))

    @classmethod
    def of(cls, began: Began) -> SequentialStudy:
        """The study that began so, by an earlier version perhaps, and in which nobody has come yet."""
        study = cls.__new__(cls)
        study._begin(began)
        return study

    def _begin(self, began: Began) -> None:
        self.rule, self.seed, self.began = began.rule, began.seed, began
        self.log: list[Event] = [began]
        self.studies = Studies(began.rule, filled=began.cut_off == "filled")
        self.pairs = self.studies.evidence.pairs
        self.now = 0.0
        self.ended: Literal["decided", "cap"] | None = None
        self.answered, self.in_flight, self.folded = 0, 0, 0
        self.cut_off, self.timed_out, self.unheard, self.turns = 0, 0, 0, 0
        self._workers: dict[str, _Worker] = {}
        self._order: list[str] = []

    @property
    def open(self) -> list[tuple[str, str]]:
        """Pairs that are not decided."""
        return [self._names(int(pair)) for pair in np.flatnonzero(self._open_pairs[0])]

    @property
    def free(self) -> int:
        """Dialogues that can be given before the cap."""
        return self.rule.max_dialogues - self.answered - self.in_flight

    def arrive(self, worker: str, dialogues: int = 1, *, at: float) -> Arrived:
        """Give a worker so many dialogues, or as many as the cap allows, drawn from the pairs that are open.

        Raises:
            StudyError: the worker has taken part, no dialogue was asked for, or nobody else is needed (for now).
        """
        if dialogues < 1:
            raise StudyError(f"worker {worker} asks for {dialogues} dialogues", try_="give at least one")
        if worker in self._workers:
            raise StudyError(
                f"worker {worker} has taken part in this study: all dialogues of a worker are drawn when they "
                "come, and count once",
                try_="ask for more dialogues at that time, or send somebody else",
            )
        self.look(at=at)
        self._refuse_more()
        asked, dialogues = dialogues, min(dialogues, self.free)
        shown, groups, propensity = self._draw(dialogues)
        event = Arrived(
            at=self.now,
            worker=worker,
            asked=asked,
            dialogues=groups,
            propensities=(propensity,) * len(groups),
            open=tuple(self.open),
        )
        columns = np.concatenate(shown)
        due = self.now + self.rule.timeout * len(groups)
        number = int(self.studies.admit(_ONE, columns[None], np.array([due]))[0])
        ends = np.cumsum([len(each) for each in shown])
        places = [list(range(end - len(each), end)) for end, each in zip(ends, shown, strict=True)]
        shares, done = np.full((2, len(columns)), np.nan)
        self._workers[worker] = _Worker(number, groups, places, shares, done, due)
        self._order.append(worker)
        self.in_flight += len(groups)
        self.log.append(event)
        return event

    def answer(self, worker: str, dialogue: int, outcome: Outcome, *, at: float) -> None:
        """Note what came of a worker's dialogue, by its place from 0; after the last one the worker is through.

        What comes after the worker left or ran out of time, or after the study's end, is kept in the log, and is no
        evidence.

        Raises:
            StudyError: nobody such came, there is no such dialogue, or it was answered.
        """
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
        came.late += late
        self.log.append(Answered(at=self.now, worker=worker, dialogue=dialogue, outcome=outcome, late=late))
        if not late:
            self._count(came, dialogue, outcome, 1.0)
            self._if_through(came)

    def choose(self, worker: str, dialogue: int, outcome: Outcome, *, whole: int, at: float) -> None:
        """Note what a worker has chosen so far in a dialogue that they have not finished; see :class:`.Chose`.

        Nothing is noted that is no evidence: after they left or ran out of time, or after the study's end; nor in studies
        that leave such dialogues out.

        Raises:
            StudyError: nobody such came, there is no such dialogue, or it was finished.
        """
        came = self._came(worker)
        self._check(worker, came, dialogue, outcome)
        self.look(at=at)
        late = came.folded or came.gone or self.now >= came.due or self.ended is not None
        if not late and self.studies.evidence.filled and came.so_far.get(dialogue) != outcome:
            event = Chose(at=self.now, worker=worker, dialogue=dialogue, outcome=outcome, whole=whole)
            came.so_far[dialogue] = outcome
            self.turns += 1
            self.log.append(event)
            self._count(came, dialogue, outcome, event.done)

    def _count(self, came: _Worker, dialogue: int, outcome: Outcome, done: float) -> None:
        places = [self.rule.models.index(model) for model in came.dialogues[dialogue]]
        pairs = [(i, j) for i in range(len(places)) for j in range(i + 1, len(places))]
        for column, (i, j) in zip(came.places[dialogue], pairs, strict=True):
            came.shares[column], came.done[column] = outcome.share(i, j), done
        self.studies.answer(_ONE, np.array([came.number]), came.shares[None], came.done[None])

    def finish(self, worker: str, outcomes: Sequence[Outcome], *, at: float) -> None:
        """Note what came of all of a worker's dialogues that were not answered yet.

        Raises:
            StudyError: see :meth:`answer`; or there are more or fewer outcomes than dialogues.
        """
        came = self._came(worker)
        left = [number for number in range(len(came.dialogues)) if number not in came.outcomes]
        if len(outcomes) != len(left):
            raise StudyError(
                f"{len(outcomes)} outcomes for the {len(left)} open dialogues of worker {worker}",
                try_="give one each, or say that the worker left",
            )
        for number, outcome in zip(left, outcomes, strict=True):
            self._check(worker, came, number, outcome)
        for number, outcome in zip(left, outcomes, strict=True):
            self.answer(worker, number, outcome, at=at)

    def leave(self, worker: str, *, at: float) -> None:
        """Note that a worker left: what they finished counts, the rest is free for others.

        Raises:
            StudyError: nobody such came.
        """
        came = self._came(worker)
        self.look(at=at)
        if not came.is_through and not came.folded:
            came.gone = True
            self.in_flight -= len(came.dialogues) - len(came.outcomes)
            self.log.append(Left(at=self.now, worker=worker))
            self._if_through(came)

    def has_left(self, worker: str) -> bool:
        """Whether a worker came and left."""
        came = self._workers.get(worker)
        return came is not None and came.gone

    def can_return(self, worker: str) -> bool:
        """Whether what a worker goes on to answer would be evidence: they came, and are not folded in yet."""
        came = self._workers.get(worker)
        return came is not None and self._is_waited_for(came) and self._freed_dialogues(came) <= self.free

    def went_on_without(self, worker: str) -> bool:
        """Whether a worker came and did not finish, and nothing that they would answer now can be evidence."""
        came = self._workers.get(worker)
        return came is not None and len(came.outcomes) < len(came.dialogues) and not self._is_waited_for(came)

    def under_way(self) -> list[str]:
        """Workers who came, have not left and lack answers, and are not folded in; in the order of arrival."""
        return [name for name in self._order if not (came := self._workers[name]).is_through and not came.folded]

    def _is_waited_for(self, came: _Worker) -> bool:
        return self.ended is None and not came.folded and self.now < came.due

    def _freed_dialogues(self, came: _Worker) -> int:
        return len(came.dialogues) - len(came.outcomes) if came.gone else 0

    def come_back(self, worker: str, *, at: float) -> None:
        """Note that a worker who had left goes on where they were, with as much time as they would have had.

        Raises:
            StudyError: nobody such came, they had not left, or what they answer cannot be evidence any more.
        """
        came = self._came(worker)
        self.look(at=at)
        if not came.gone or not self.can_return(worker):
            raise StudyError(f"worker {worker} cannot go on: they had not left, or the study went on without them")
        self.in_flight += self._freed_dialogues(came)
        came.gone = False
        self.studies.end(_ONE, np.array([came.number]), np.array([np.inf]))
        self.log.append(Returned(at=self.now, worker=worker))

    def extend(self, max_dialogues: int, *, at: float) -> None:
        """Raise the cap, also after it was reached.

        Raises:
            StudyError: it is no higher than before.
        """
        if max_dialogues <= self.rule.max_dialogues:
            raise StudyError(f"the cap is {self.rule.max_dialogues} already: a cap of {max_dialogues} is no higher")
        self.look(at=at)
        self.rule = self.studies.rule = self.rule.model_copy(update={"max_dialogues": max_dialogues})
        if self.ended == "cap":
            self.ended = None
        self.log.append(Extended(at=self.now, max_dialogues=max_dialogues))

    def look(self, *, at: float) -> None:
        """Let time pass, so that nobody is waited for who has run out of it.

        The clock never goes back, whatever the clocks of several machines say.
        """
        if not np.isfinite(at):
            raise StudyError(f"the time is {at}", try_="give seconds")
        self.now = max(self.now, float(at))
        before = len(self.log)
        self._fold()
        if len(self.log) > before:
            self.log.insert(before, Looked(at=self.now))

    def standing(self) -> StoppingStatus:
        """What is known now: every number may be looked at whenever one likes."""
        rule, variance = self.rule, float(self.studies.evidence.variance(_ONE)[0])
        return StoppingStatus(
            pairs=tuple(self._pair(pair) for pair in range(self.pairs.count)),
            answer=in_words(rule.models, self.studies.decisions, rule.margin),
            level=1 - rule.alpha,
            workers=int(self.studies.folded[0]),
            dialogues=self.folded,
            answered=self.answered,
            in_flight=self.in_flight,
            cap=rule.max_dialogues,
            fixed=fixed_plan(rule, variance=variance),
            fixed_pooled=fixed_plan(rule, variance=variance, pooled=True),
            timed_out=self.timed_out,
            cut_off=self.cut_off,
            warnings=tuple(self._warnings()),
            ended=self.ended,
        )

    def forecast(self, *, crowd: Crowd | None = None, simulations: int = SIMULATIONS, seed: int = 0) -> Forecast:
        """How many dialogues are to go, by simulation from what is known; without a ``crowd``, workers are as they were.

        Raises:
            StudyError: models are shown in panels, of which no simulation is there.
        """
        return self.ahead(crowd=crowd, simulations=simulations, seed=seed)()

    def ahead(
        self, *, crowd: Crowd | None = None, simulations: int = SIMULATIONS, seed: int = 0
    ) -> Callable[[], Forecast]:
        """What makes the :meth:`forecast` from here, which takes seconds, whatever happens in the study meanwhile.

        Raises:
            StudyError: see :meth:`forecast`.
        """
        if self.rule.shown == "panel":
            raise StudyError("no forecast of panels: how much a dialogue of several models tells differs too much")
        begun, like, known = self.answered + self.in_flight, crowd or self._crowd(), copy.deepcopy(self.studies)
        return lambda: forecast(known, begun=begun, crowd=like, simulations=simulations, seed=seed)

    def _crowd(self) -> Crowd:
        """Workers with as many turns and dialogues, and as much variance, as those who came; of nobody, the usual ones."""
        turns = [outcome.turns for came in self._workers.values() for outcome in came.outcomes.values()]
        if not turns:
            return Crowd()
        typical, dialogues = round(float(np.median(turns))), [len(came.dialogues) for came in self._workers.values()]
        icc = (self._spread() - 1 / typical) / (1 - 1 / typical) if typical > 1 else 0.0
        return Crowd(turns=typical, icc=min(max(icc, 0.0), MOST_ALIKE), dialogues=float(np.mean(dialogues)))

    def _spread(self) -> float:
        """Variance of a pair's shares between workers, in that of a single turn; what is usual, where few are known."""
        seen, possible = PRIOR_COUNT * PRIOR_VARIANCE, PRIOR_COUNT / 4
        for pair in range(self.pairs.count):
            shares, terms, _ = self.studies.of_pair(0, pair)
            if len(shares) > 1:
                mean = float(shares @ terms / terms.sum())
                seen += float(squares((shares - mean) * terms, terms).sum())
                possible += (len(shares) - 1) * mean * (1 - mean)
        return seen / possible

    def strengths(self) -> Strengths | None:
        """Of all models, “after optional stopping”; None before there is anything to go by.

        All answers count, also those that came after the answer was reached, which nothing was stopped by, and turns of
        dialogues that were never finished.
        """
        answered = (
            (worker, came.dialogues[number], outcome)
            for worker, came in self._workers.items()
            for number, outcome in sorted({**came.so_far, **came.outcomes}.items())
        )
        return strengths_after_stopping(answered, level=1 - self.rule.alpha)

    def peeks(self) -> list[Peek]:
        """What a fixed analysis would have said of each pair by looking after every worker."""
        return [self._peek(pair) for pair in self.standing().pairs]

    def _peek(self, pair: PairStatus) -> Peek:
        number = int(self.pairs.number[self.rule.models.index(pair.first), self.rule.models.index(pair.second)])
        found = first_crossing(self.studies.of_pair(0, number)[0], self.rule.alpha)
        after, better = found or (None, None)
        wrongly = None if better is None or pair.decided is None else better != pair.decided
        return Peek(first=pair.first, second=pair.second, after=after, better=better, wrongly=wrongly)

    def _came(self, worker: str) -> _Worker:
        if worker not in self._workers:
            raise StudyError(f"nobody called {worker} came to this study", try_="say first that they arrived")
        return self._workers[worker]

    def _check(self, worker: str, came: _Worker, dialogue: int, outcome: Outcome) -> None:
        if not 0 <= dialogue < len(came.dialogues):
            raise StudyError(f"worker {worker} has {len(came.dialogues)} dialogues, and none at place {dialogue}")
        if dialogue in came.outcomes:
            raise StudyError(f"dialogue {dialogue} of worker {worker} was answered before: an answer counts once")
        if len(outcome.picks) != len(came.dialogues[dialogue]):
            models = ", ".join(came.dialogues[dialogue])
            raise StudyError(f"{len(outcome.picks)} picks for a dialogue of {models}", try_="give one number a model")

    def _refuse_more(self) -> None:
        if self.ended == "decided":
            raise StudyError("the answer is reached: nobody else is needed")
        if self.free < 1:
            raise StudyError(
                f"the cap of {self.rule.max_dialogues} dialogues is reached"
                + (
                    f", with {self.in_flight} of them in flight: only when somebody leaves is one free"
                    * (not self.ended)
                )
            )

    def _draw(self, dialogues: int) -> tuple[list[Ints], tuple[tuple[str, ...], ...], float]:
        """Pairs of each dialogue, its models, and the chance with which it has them."""
        open_pairs, models = self._open_pairs, self.rule.models
        if self.rule.shown == "panel":
            shown = sorted({i for pair in np.flatnonzero(open_pairs[0]) for i in self._ends(int(pair))})
            pairs = np.array([self.pairs.number[i, j] for i in shown for j in shown if i < j])
            return [pairs] * dialogues, (tuple(models[i] for i in shown),) * dialogues, 1.0
        rng = np.random.default_rng([self.seed, len(self._order)])
        drawn = drawn_pairs(open_pairs, dialogues, rng)[0]
        groups = tuple(self._names(int(pair)) for pair in drawn)
        return [np.array([pair]) for pair in drawn], groups, 1 / int(open_pairs.sum())

    def _if_through(self, came: _Worker) -> None:
        if came.is_through:
            self.studies.end(_ONE, np.array([came.number]), np.array([self.now]))
            self._fold()

    def _fold(self) -> None:
        """Fold in who is through, one at a time, so that the log says after whom each claim was made."""
        claimed = self._claims()
        while self.ended is None and self.studies.advance(_ONE, np.array([self.now]), most=1):
            worker = self._order[int(self.studies.folded[0]) - 1]
            came = self._workers[worker]
            came.folded = True
            timed_out = came.overdue or not came.is_through
            self.timed_out += timed_out
            self.in_flight -= 0 if came.is_through else len(came.dialogues) - len(came.outcomes)
            evidence = len(came.outcomes) - came.late
            self.folded += evidence
            begun = {place for place, columns in enumerate(came.places) if not np.isnan(came.shares[columns]).any()}
            self.cut_off += len(begun - came.outcomes.keys())
            self.unheard += not begun
            self.log.append(Folded(worker=worker, dialogues=evidence, timed_out=timed_out))
            claimed = self._note_claims(claimed)
            if not self._open_pairs.any():
                self._end("decided")
        if self.ended is None and self.free < 1 and int(self.studies.folded[0]) == len(self._order):
            self._end("cap")

    def _end(self, why: Literal["decided", "cap"]) -> None:
        self.ended = why
        self.log.append(Ended(at=self.now, why=why))

    def _claims(self) -> tuple[Flags, Flags]:
        return self.studies.decisions.better[0].copy(), self.studies.decisions.equal[0].copy()

    def _note_claims(self, before: tuple[Flags, Flags]) -> tuple[Flags, Flags]:
        decisions, evidence = self.studies.decisions, self.studies.evidence
        after = self._claims()
        for i, j in np.argwhere(after[0] & ~before[0]):
            through, pair = bool(decisions.through[0, i, j]), self.pairs.number[i, j]
            value = None if through else float(evidence.pooled[0, 0 if i < j else 1, pair])
            self._claim("better", int(i), int(j), through, value)
        for pair in np.flatnonzero(after[1] & ~before[1]):
            self._claim("equal", *self._ends(int(pair)), False, float(evidence.equal[0, :, pair].min()))
        return after

    def _claim(self, claim: Literal["better", "equal"], i: int, j: int, through: bool, value: float | None) -> None:
        names = {"first": self.rule.models[i], "second": self.rule.models[j]}
        self.log.append(Claimed(claim=claim, through=through, e_value=value, dialogues=self.folded, **names))

    @property
    def _open_pairs(self) -> Flags:
        return self.studies.decisions.open()

    def _pair(self, pair: int) -> PairStatus:
        i, j = self._ends(pair)
        decisions, models = self.studies.decisions, self.rule.models
        shares, terms, asked = self.studies.of_pair(0, pair)
        low, high = self._interval(shares, terms, asked)
        better = bool(decisions.better[0, i, j]), bool(decisions.better[0, j, i])
        equal = bool(decisions.equal[0, pair])
        return PairStatus(
            first=models[i],
            second=models[j],
            decided="first" if better[0] else "second" if better[1] else "equal" if equal else None,
            through=bool(decisions.through[0, i, j] | decisions.through[0, j, i]),
            workers=len(shares),
            dialogues=self.studies.dialogues_of(0, pair),
            share=float(shares @ terms / terms.sum()) if len(shares) else None,
            low=low,
            high=high,
        )

    def _interval(self, shares: Floats, terms: Floats, asked: Floats) -> tuple[float, float]:
        """It holds all that an interval by either filling holds (see :class:`.Evidence`)."""
        if not len(shares):
            return 0.0, 1.0
        is_cut = self.studies.evidence.filled and bool((terms < asked).any())
        margin, level = self.rule.margin, 1 - self.rule.alpha
        ends = [
            share_interval(shares, filled, asked=asked, margin=margin, level=level, last=True)
            for filled in ((terms, asked) if is_cut else (terms,))
        ]
        return min(float(low[0]) for low, _ in ends), max(float(high[0]) for _, high in ends)

    def _warnings(self) -> list[str]:
        said = [self._contradiction(int(pair)) for pair in np.flatnonzero(self.studies.contradicted()[0])]
        share = self.timed_out / max(1, int(self.studies.folded[0]))
        if share > MANY_TIMED_OUT:
            said.append(
                f"{counted(self.timed_out, 'worker')} ({share:.0%}) ran out of time, and what they answered later is no "
                "evidence: if slow workers prefer other models, the answer is one about the quick. Give more time in your "
                "next study; that of this one is fixed"
            )
        said += self._warnings_of_leaving()
        return said

    def _warnings_of_leaving(self) -> list[str]:
        """Where many left in the middle, what that costs; where many did before they chose anything, what nobody knows."""
        workers, said = max(1, int(self.studies.folded[0])), []
        if self.studies.evidence.filled and self.cut_off > MANY_LEFT * workers:
            said.append(
                f"raters left {counted(self.cut_off, 'dialogue')} in the middle: the missing turns are filled in two ways, "
                "and only what holds by both is decided, which takes more dialogues. Where leaving depends both on a "
                "rater's taste and on their last choice, neither way is right"
            )
        if self.studies.evidence.filled and self.unheard > MANY_LEFT * workers:
            said.append(
                f"{counted(self.unheard, 'rater')} of {workers:,} left before they had chosen anything, and count for no "
                "model: if raters with other tastes leave so early, the answer is one about those who stay"
            )
        return said

    def _contradiction(self, pair: int) -> str:
        first, second = self._names(pair)
        return (
            f"dialogues of {first} and {second} contradict those with other models: who is better may go in a circle. What "
            "follows through others may be wrong; a study with transitive=false does not rest on that"
        )

    def _ends(self, pair: int) -> tuple[int, int]:
        return int(self.pairs.first[pair]), int(self.pairs.second[pair])

    def _names(self, pair: int) -> tuple[str, str]:
        first, second = self._ends(pair)
        return self.rule.models[first], self.rule.models[second]


class ReplayError(HumanevalError, ValueError):
    """A log does not lead to the decisions that it holds."""


def replay(log: Sequence[Event], *, rule: StoppingRule | None = None, cut_off: bool = False) -> SequentialStudy:
    """The study that a log is of, with each decision made again; it can go on from there.

    Args:
        log: all that happened.
        rule: that with which it is to go on, which must be the one with which it began, or one with a higher cap.
        cut_off: what the study made of the last that came from outside may not have been written any more.

    Raises:
        RuleChanged: it is another one.
        ReplayError: the log does not begin with the study's beginning, or another decision or assignment follows from it.
    """
    if not log or not isinstance(log[0], Began):
        raise ReplayError("the log does not begin with the beginning of a study: it is cut off, or of something else")
    if rule is not None:
        log[0].rule.refuse_change(rule)
    study = SequentialStudy.of(log[0])
    for event in log[1:]:
        _again(study, event)
    for place, (now, before) in enumerate(zip(study.log, log, strict=False)):
        if now != before:
            raise ReplayError(f"event {place + 1} of the log differs when it is replayed: {before!r} is now {now!r}")
    if len(study.log) < len(log) or (len(study.log) > len(log) and not cut_off):
        raise ReplayError(f"the log has {len(log)} events, and {len(study.log)} when it is replayed: it was changed")
    return study


def _again(study: SequentialStudy, event: Event) -> None:
    try:
        if isinstance(event, Arrived):
            study.arrive(event.worker, event.asked, at=event.at)
        elif isinstance(event, Answered):
            study.answer(event.worker, event.dialogue, event.outcome, at=event.at)
        elif isinstance(event, Chose):
            study.choose(event.worker, event.dialogue, event.outcome, whole=event.whole, at=event.at)
        elif isinstance(event, Left):
            study.leave(event.worker, at=event.at)
        elif isinstance(event, Returned):
            study.come_back(event.worker, at=event.at)
        elif isinstance(event, Extended):
            study.extend(event.max_dialogues, at=event.at)
        elif isinstance(event, Looked):
            study.look(at=event.at)
    except StudyError as error:
        raise ReplayError(error, where="the log holds what could not happen") from error
