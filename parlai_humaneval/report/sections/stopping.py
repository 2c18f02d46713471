"""Section ``stopping``: the decisions of studies that stop once they reach one, their cost and how certain they are.

Everything is made of the study's log, by making each of its decisions again. It answers before every other section: their
intervals and tests are right for one look at an end that was planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationError

from parlai_humaneval.report import views
from parlai_humaneval.report.conclusions import DECIDED, DECIDED_TITLE, best_of_pairs
from parlai_humaneval.report.facts import decided_designs, questions_in
from parlai_humaneval.report.section import Best, DecidedRule, Options, PairLine, Section, Summary, say
from parlai_humaneval.statistics.core.formatting import percent, sentence
from parlai_humaneval.statistics.core.multiplicity import Family
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import Column, Estimate, Key, Name, Row, table_of
from parlai_humaneval.statistics.ranking.fit import strength_note
from parlai_humaneval.stopping.estimates import AFTER, NOTE
from parlai_humaneval.stopping.events import Began, Claimed, PairStatus, StoppingStatus, read_log
from parlai_humaneval.stopping.simulation import FEWEST
from parlai_humaneval.stopping.study import ReplayError, replay
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import StoppingLog
from parlai_humaneval.techniques.registry import techniques

Design = tuple[str, str, str]
"""Technique, setting, metric."""
UNKNOWN: Design = ("", "", "")
PREFERENCE = "preference"  # The metric that asks for no more
MOST_NAMED = 6  # Pairs in a sentence for a paper; of more, what was decided of all together
BY_CLAIMS = "claims that stay valid however often you look"
NO_LOG = "its log of decisions is not among these tables, so its decisions are unknown"
CHANGED = (
    "the decisions in its log do not follow from its events ({why}). The log was changed or is incomplete, so its "
    "decisions are not reported"
)


class StudyPart(Row):
    """Part of a study's description; ``study``: its name."""

    study: Annotated[str, Column(telling=True)]
    technique: Annotated[str, Column(telling=True)]
    setting: Annotated[str, Column(telling=True)]
    metric: Annotated[str, Column(telling=True)]

    @property
    def design(self) -> Design:
        return self.technique, self.setting, self.metric


class DecidedStudy(StudyPart):
    """A study that stops once it reaches a decision: its rule, its size, and its outcome.

    ``said``: how it stands, in a sentence. ``helped``: what a ``judge`` adds. ``unit``: what its dialogues are called.
    ``question``: the raters' question, if it is known and is not a general preference. ``trouble``: why nothing can be
    said of it, and then it has no numbers. ``rated``: whether models were rated together, or each by itself.
    ``of_fixed``, ``of_pooled``: shares of ``fixed`` and ``fixed_pooled`` dialogues. All else as in
    :class:`~parlai_humaneval.stopping.events.StoppingStatus`.
    """

    models: list[str]
    answer: Annotated[str, Column()]
    said: str
    ended: Literal["decided", "cap"] | None
    next_step: str = ""
    trouble: str = ""
    margin: Annotated[float | None, Column(kind="points")] = None
    alpha: Annotated[float | None, Column("False claims at most", "share")] = None
    max_dialogues: Annotated[int | None, Column("Cap")] = None
    transitive: bool | None = None
    rated: Literal["together", "apart"] = "together"
    pairs: Annotated[int | None, Column()] = None
    open: Annotated[int | None, Column("Pairs open")] = None
    answered: Annotated[int | None, Column(name="dialogues")] = None
    dialogues: Annotated[int | None, Column("That count", name="evidence")] = None
    workers: Annotated[int | None, Column()] = None
    fixed: Annotated[float | None, Column("Fixed plan", "count")] = None
    of_fixed: Annotated[float | None, Column("Of it", "share")] = None
    fixed_pooled: Annotated[float | None, Column("Fixed, all together", "count")] = None
    of_pooled: Annotated[float | None, Column("Of it", "share")] = None
    timed_out: Annotated[int | None, Column("Ran out of time")] = None
    cut_off: int = 0
    helped: str = ""
    judge: str = ""
    unit: str = "dialogue"
    question: str = ""
    warnings: list[str] = Field(default_factory=list)


class DecidedPair(StudyPart):
    """Two models. ``claim``: what was decided; empty: nothing yet. ``through``: it follows from what was decided of others.

    ``after``: dialogues that counted by then. ``estimate``: of the share of turns that the ``first`` won; ``low``, ``high``:
    an interval for it, of coverage ``level`` at all times together; ``share``: the mean.
    """

    first: Annotated[str, Column(name="model_a")]
    second: Annotated[str, Column(name="model_b")]
    decided: Literal["first", "second", "equal"] | None
    claim: str
    through: Annotated[bool, Key(), Column("Decided", "text", name="state", of="state", in_json=False)]
    after: Annotated[int | None, Column("After dialogues")]
    estimate: Annotated[float | None, Column("A chosen", "share")]
    low: Annotated[float, Column("At any time from", "share", name="anytime_low")]
    high: Annotated[float, Column("to", "share", name="anytime_high")]
    share: Annotated[float | None, Column("Mean", "share", name="share_after_stopping")]
    workers: Annotated[int, Column(name="n_workers")]
    dialogues: Annotated[int, Column(name="n_dialogues")]
    level: float

    @property
    def state(self) -> str:
        """The decision, and whether it follows from others; or that the pair is open."""
        return f"{self.claim}{', through others' if self.through else ''}" or "open"

    def ahead_first(self) -> DecidedPair:
        """The pair with the better model first or, without a decision, the model that won more."""
        share, estimate = self.share, self.estimate
        if self.decided == "first" or (self.decided != "second" and (estimate is None or estimate >= 0.5)):
            return self
        turned = {"first": self.second, "second": self.first, "low": 1 - self.high, "high": 1 - self.low}
        turned |= {"share": None if share is None else 1 - share}
        turned |= {"estimate": None if estimate is None else 1 - estimate}
        return self.model_copy(update=turned | {"decided": "first" if self.decided == "second" else self.decided})

    def line(self) -> PairLine:
        """The pair in a summary, as :meth:`ahead_first` has it."""
        pair = self.ahead_first()
        met = pair.share is not None
        return PairLine(
            first=pair.first,
            second=pair.second,
            **dict(zip(("gap", "low", "high"), pair.gap if met else (None,) * 3, strict=True)),
            share=True,
            **dict.fromkeys(("p_paper", "p_clustered", "p_decides")),
            differs=self.decided in ("first", "second"),
            family="",
            family_tests=0,
            met=met,
        )

    @property
    def gap(self) -> tuple[float, float, float]:
        """How far the first is ahead, of two that met, and the interval of that: differences of two shares."""
        return 2 * (self.estimate or 0.0) - 1, 2 * self.low - 1, 2 * self.high - 1


class PeekedPair(StudyPart):
    """The result of testing a pair after every worker at a fixed level: the ``better`` model, ``after`` how many.

    ``wrongly``: against what was decided; None where nothing was, or it would have said nothing.
    """

    model_a: Annotated[str, Column()]
    model_b: Annotated[str, Column()]
    better: Annotated[str, Column("Would have been called better")]
    after: Annotated[int | None, Column("After raters")]
    wrongly: Annotated[bool | None, Column(kind="text")]


class StoppedModel(StudyPart):
    """A model's strength in log-odds, after optional stopping; there is no test of it."""

    model: Name
    strength: Annotated[Result, Estimate("Strength", name="strength_after_stopping", ends="ci")]
    strength_note: Annotated[str, Column()] = ""


class Stopping(Section):
    """Studies that stop once they reach a decision."""

    TITLE: ClassVar[str] = DECIDED_TITLE

    studies: list[DecidedStudy]
    pairs: list[DecidedPair]
    peeks: list[PeekedPair]
    strengths: list[StoppedModel]

    def labels(self) -> Mapping[Design, str]:
        return {
            study.design: say("stopping", "label", study=study, title=DECIDED_TITLE, after=AFTER, note=NOTE)[0]
            for study in self.studies
        }

    def pairs_of(self, study: DecidedStudy) -> list[DecidedPair]:
        return [pair for pair in self.pairs if pair.study == study.study]

    def summary(self) -> list[Summary]:
        told = [study for study in self.studies if not study.trouble]
        return [self._summary(study, several=len(told) > 1) for study in told]

    def _summary(self, study: DecidedStudy, several: bool) -> Summary:
        pairs = self.pairs_of(study)
        lines = [pair.line() for pair in pairs]
        known = any(line.met for line in lines)
        return Summary(
            section=DECIDED,
            **Family(*study.design, study.study if several else study.metric)._asdict(),
            what="how far the first is ahead of the second",
            verdict=sentence(study.said),
            models=[],
            pairs=lines if known else [],
            reference=None,
            model_table="",
            pair_table="stopping_pairs",
            remarks=[*study.warnings, *([pairs_remark(pairs, in_points=True)] if known else []), *_about(self, study)],
            best=_best(study, lines),
            level=1 - (study.alpha or 0.0),
            rule=_rule(study),
            paper=_paper(study, pairs),
        )

    def data_tables(self) -> list[views.DataTable]:
        # Where testing would have said nothing, there are names, and nothing of them.
        peeks = self.peeks if any(peek.better for peek in self.peeks) else []
        studies, peeked = views.table("stopping_studies", self.studies), views.table("stopping_peeks", peeks)
        strengths = table_of("stopping_strengths", f"Strengths, {AFTER}", self.strengths, NOTE)
        return views.shown(pairs_table(self.pairs), studies, peeked, strengths)

    def figures(self) -> list[views.Figure]:
        return [
            figure
            for place, study in enumerate(self.studies, start=1)
            if study.margin is not None
            for figure in pairs_figures(f"stopping_pairs_{place}", self.pairs_of(study), study.margin)
        ]

    def methods(self) -> list[views.Method]:
        names = ("deciding_as_answers_come", "intervals_that_hold_at_all_times", "testing_after_every_worker")
        return [views.method("stopping", name, fewest=FEWEST) for name in names]


def build(tables: Tables, options: Options) -> Stopping | None:
    """All studies that stop once they reach a decision, including those without a log; None if there are none."""
    found = Stopping(studies=[], pairs=[], peeks=[], strengths=[])
    for log in tables.stopping:
        _tell(found, log, tables)
    found.studies = list(_with_designs(found.studies, decided_designs(tables)))
    if not found.studies:
        return None
    named = len(found.studies) > 1
    found.headline = " ".join(_named(sentence(study.said), study, named) for study in found.studies)
    found.remarks = [
        _named(words, study, named)
        for study in found.studies
        for words in (*study.warnings, *([] if study.trouble else _about(found, study)))
    ]
    return found


def _with_designs(studies: Sequence[DecidedStudy], designs: Sequence[Design]) -> Iterator[DecidedStudy]:
    """The studies, and those whose log is not there; one whose log does not say what was asked is of what no other is of."""
    known = {study.design for study in studies}
    others = [design for design in designs if design not in known]
    for study in studies:
        yield _untold(study.study, others.pop(0), study.trouble) if others and study.design == UNKNOWN else study
    yield from (_untold("", design, NO_LOG) for design in others)


def _named(words: str, study: DecidedStudy, named: bool) -> str:
    name = study.study or ", ".join(filter(None, study.design))
    return f"{name}: {words}" if named and name else words


def _question(began: Began, tables: Tables) -> str:
    """What was asked, in its words: as the tables have it, or as the technique asks; empty of a general preference, and
    where it is not one question."""
    if began.metric in ("", PREFERENCE):
        return ""
    entry = techniques().get(began.technique)
    asks = {} if entry is None else entry.questions_of.get(began.setting, entry.questions)
    which = began.technique, began.metric
    asked = dict.fromkeys(one.text for one in questions_in(tables) if (one.technique, one.metric) == which)
    (said,) = asked if len(asked) == 1 else (asks.get(began.metric, ""),)
    return said


def _tell(found: Stopping, log: StoppingLog, tables: Tables) -> None:
    try:
        study = replay(read_log(log.events), cut_off=True)
    except (ValidationError, ReplayError) as error:
        why = error if isinstance(error, ReplayError) else "one of its events cannot be read"
        first = log.events[0] if log.events else {}
        technique, setting, metric = (str(first.get(name) or "") for name in ("technique", "setting", "metric"))
        found.studies.append(_untold(log.study, (technique, setting, metric), CHANGED.format(why=why)))
        return
    began, standing = study.began, study.standing()
    names = {"study": log.study, "technique": began.technique, "setting": began.setting, "metric": began.metric}
    rule = study.rule
    found.studies.append(
        DecidedStudy.of(
            rule,
            standing,
            names,
            models=list(rule.models),
            said=str(standing),
            pairs=len(standing.pairs),
            open=len(standing.open),
            of_fixed=standing.answered / standing.fixed,
            of_pooled=standing.answered / standing.fixed_pooled,
            helped="" if standing.judge is None else sentence(standing.judge.said),
            judge="" if standing.judge is None else standing.judge.plain_name,
            question=_question(began, tables),
            warnings=[sentence(warning) for warning in standing.warnings],
        )
    )
    after: dict[frozenset[str], int] = {}
    for event in study.log:
        if isinstance(event, Claimed):
            after.setdefault(frozenset((event.first, event.second)), event.dialogues)
    found.pairs += pair_rows(standing, names, after=after)
    for peek in study.peeks():
        better = {"first": peek.first, "second": peek.second, None: ""}[peek.better]
        pair = {"model_a": peek.first, "model_b": peek.second}
        found.peeks.append(PeekedPair(**names, **pair, after=peek.after, better=better, wrongly=peek.wrongly))
    strengths = study.strengths() if standing.ended else None  # their intervals are right for one look
    if strengths is not None:
        of_models = {strength.name.removeprefix("strength of "): strength for strength in strengths.models}
        for model, strength in of_models.items():
            note = strength_note(strengths.order, model, strength)
            found.strengths.append(StoppedModel(**names, model=model, strength=strength, strength_note=note))


def _untold(study: str, design: Design, trouble: str) -> DecidedStudy:
    said = f"this study stops once it reaches a decision, and {trouble}"
    names = dict(zip(("technique", "setting", "metric"), design, strict=True))
    return DecidedStudy(study=study, **names, models=[], answer="", said=said, ended=None, trouble=trouble)


def pair_rows(
    standing: StoppingStatus, names: Mapping[str, str], after: Mapping[frozenset[str], int] | None = None
) -> list[DecidedPair]:
    """The pairs of a study. ``names``: its own, and of what was asked; ``after``: how many dialogues each was decided."""
    known = after or {}
    return [
        DecidedPair.of(names, pair, after=known.get(frozenset((pair.first, pair.second))), level=standing.level)
        for pair in standing.pairs
    ]


def pairs_remark(pairs: Iterable[DecidedPair | PairStatus], *, in_points: bool = False) -> str:
    """What intervals of pairs are of; and where some are decided, what that does to them. ``in_points``: they are gaps."""
    is_decided = any(pair.decided is not None for pair in pairs)
    return say("stopping", "pairs_remark", decided=is_decided, in_points=in_points, after=AFTER)[0]


def _rule(study: DecidedStudy) -> DecidedRule | None:
    """For other sections' words and figures; None where nothing can be said of the study."""
    if study.margin is None or study.alpha is None or study.max_dialogues is None:
        return None
    rule = {name: getattr(study, name) for name in ("margin", "alpha", "max_dialogues", "rated")}
    return DecidedRule(**rule, dialogues=study.answered or 0)


def _paper(study: DecidedStudy, pairs: Sequence[DecidedPair]) -> str:
    """What was decided, with estimates, intervals and rule, as it can be in a paper; empty before there is an answer."""
    if not any(pair.share is not None for pair in pairs):
        return ""
    ahead = [pair.ahead_first() for pair in pairs if pair.share is not None]
    facts = {"study": study, "entry": techniques().get(study.technique), "preference": PREFERENCE}
    return " ".join(say("stopping", "paper", pairs=ahead if len(ahead) <= MOST_NAMED else [], **facts))


def _best(study: DecidedStudy, lines: Sequence[PairLine]) -> Best | None:
    best = best_of_pairs(dict.fromkeys(study.models), lines)
    if best is None or study.alpha is None:
        return None
    leader = best.together[0] if len(best.together) == 1 else None
    return best.model_copy(update={"leader": leader, "by": BY_CLAIMS, "risk": study.alpha})


def pairs_table(pairs: Sequence[DecidedPair], *, while_it_runs: bool = False) -> views.DataTable:
    """Each pair: what was decided, and what dialogues of the two say. ``while_it_runs``: as a study is watched."""
    levels = " or ".join(percent(level) for level in sorted({pair.level for pair in pairs}))
    made = table_of(
        "stopping_pairs",
        f"Pairs of models, {'as they stand' if while_it_runs else AFTER}",
        [pair.ahead_first() for pair in pairs],
        pairs_remark(pairs),
        *([f"Simultaneous coverage of the intervals at all times: {levels}."] if levels else []),
    )
    hidden = ("study", "technique", "setting", "metric", "after") if while_it_runs else ()
    return made.model_copy(update={"columns": tuple(one for one in made.columns if one.key not in hidden)})


def pairs_figures(key: str, pairs: Sequence[DecidedPair], margin: float) -> list[views.IntervalFigure]:
    """One figure of all pairs that met, on a band of what counts as equal; none where none did."""
    points = tuple(
        views.IntervalPoint(label=f"{pair.first} over {pair.second}", estimate=gap, low=low, high=high)
        for pair in (pair.ahead_first() for pair in pairs if pair.share is not None)
        for gap, low, high in [pair.gap]
    )
    looks = views.look("stopping_pairs") | {
        "key": key,
        "x_label": views.points_label(margin),
        "band": (-margin, margin),
    }
    return [views.IntervalFigure(**looks, points=points)] if points else []


def _about(found: Stopping, study: DecidedStudy) -> list[str]:
    """The rule of a study, what it took, and what testing on the way would have said."""
    peeks = [peek for peek in found.peeks if peek.study == study.study and peek.better]
    # Before that many workers nobody would have tested anything.
    is_tested = any(pair.workers >= FEWEST for pair in found.pairs_of(study))
    return say("stopping", "about", study=study, peeks=peeks, is_tested=is_tested)
