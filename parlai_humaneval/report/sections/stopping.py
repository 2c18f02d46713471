"""Section ``stopping``: what a study that ends when it is decided has decided, after how much, and how sure that is.

Everything is made of the study's log, by making each of its decisions again. It answers before every other section: their
intervals and tests are right for one look at an end that was planned.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import Field, ValidationError

from parlai_humaneval.report.conclusions import DECIDED, best_of_pairs
from parlai_humaneval.report.facts import settings_of
from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published, row_table
from parlai_humaneval.report.section import Best, DecidedRule, Options, PairLine, Section, Summary
from parlai_humaneval.report.views import DataTable, Figure, IntervalFigure, IntervalPoint, Method, method, points_label
from parlai_humaneval.statistics.core.formatting import counted, percent, sentence
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.ranking.fit import strength_note
from parlai_humaneval.stopping.estimates import AFTER, NOTE
from parlai_humaneval.stopping.events import Claimed, read_log
from parlai_humaneval.stopping.fixed_plans import FEWEST, Peek
from parlai_humaneval.stopping.status import PairStatus, StoppingStatus
from parlai_humaneval.stopping.study import ReplayError, SequentialStudy, replay
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import StoppingLog

Design = tuple[str, str, str]
"""Technique, setting, metric."""
UNKNOWN: Design = ("", "", "")
TITLE = "What was decided, and when"
BY_CLAIMS = "claims that stay right however often one looks"
OF_ONE_LOOK = "P-values that stand here are those of one look at an end that was planned, and decide nothing."
AFTER_STOPPING = f"Estimates {AFTER}. {NOTE} Both stand under “{TITLE}”. {OF_ONE_LOOK}"
"""What every other answer of such a study says of itself."""
NOT_OVER = (
    "This study goes on until it is decided. What stands here is right for one look at an end that was planned: go by the "
    f"claims, and by the intervals that one may look at whenever one likes. Both stand under “{TITLE}”."
)
"""The same, before its end."""
OWN_DIALOGUES = "Intervals are of dialogues of the two models alone, and each holds at all times together."
NO_LOG = "its log of decisions is not among these tables, so that nothing can be said of what was decided"
CHANGED = (
    "its log does not lead to the decisions that stand in it ({why}). It was changed, or is not whole: nothing is said here "
    "of what was decided"
)


class StudyPart(Row):
    """A part of what is told of a study; ``study``: its name."""

    study: str
    technique: str
    setting: str
    metric: str

    @property
    def design(self) -> Design:
        return self.technique, self.setting, self.metric


class DecidedStudy(StudyPart):
    """A study that ends when it is decided: its rule, what it took, and what came of it.

    ``said``: how it stands, in a sentence. ``ended``: why nobody else is needed; None: it goes on. ``next_step``: what can
    be done where it ended with pairs open. ``trouble``: why nothing can be said of it, and then it has no numbers.
    ``dialogues``: that were finished, of ``evidence`` that count. ``of_fixed``, ``of_pooled``: of ``fixed`` and
    ``fixed_pooled`` dialogues, which a fixed plan needs that makes each pair a study of its own, and one that estimates all
    models together. ``warnings``: what speaks against trusting the answer.
    ``cut_off``: dialogues that their workers left in the middle, which count as far as they went.
    """

    models: list[str]
    answer: str
    said: str
    ended: Literal["decided", "cap"] | None
    next_step: str = ""
    trouble: str = ""
    margin: float | None = None
    alpha: float | None = None
    max_dialogues: int | None = None
    transitive: bool | None = None
    pairs: int | None = None
    open: int | None = None
    dialogues: int | None = None
    evidence: int | None = None
    workers: int | None = None
    fixed: float | None = None
    of_fixed: float | None = None
    fixed_pooled: float | None = None
    of_pooled: float | None = None
    timed_out: int | None = None
    cut_off: int = 0
    warnings: list[str] = Field(default_factory=list)


class DecidedPair(StudyPart):
    """Two models. ``claim``: what was decided; empty: nothing yet. ``through``: it follows from what was decided of others.

    ``after``: dialogues that counted by then. ``share_after_stopping``: of turns that ``model_a`` won; ``anytime_low``,
    ``anytime_high``: an interval for it, of coverage ``level`` at all times together.
    """

    model_a: str
    model_b: str
    decided: Literal["first", "second", "equal"] | None
    claim: str
    through: bool
    after: int | None
    n_workers: int
    n_dialogues: int
    share_after_stopping: float | None
    anytime_low: float
    anytime_high: float
    level: float

    @property
    def state(self) -> str:
        """What was decided, and whether through others; or that it is open."""
        return f"{self.claim}{', through others' if self.through else ''}" or "open"

    def ahead_first(self) -> DecidedPair:
        """The pair with the better model first, or of those that are not told apart that which won more."""
        share = self.share_after_stopping
        if self.decided == "first" or (self.decided != "second" and (share is None or share >= 0.5)):
            return self
        return self.model_copy(
            update={
                "model_a": self.model_b,
                "model_b": self.model_a,
                "decided": "first" if self.decided == "second" else self.decided,
                "share_after_stopping": None if share is None else 1 - share,
                "anytime_low": 1 - self.anytime_high,
                "anytime_high": 1 - self.anytime_low,
            }
        )

    def line(self) -> PairLine:
        """The pair in a summary, as :meth:`ahead_first` has it."""
        pair = self.ahead_first()
        gap = _gap(pair.share_after_stopping)
        low, high = pair.ends if gap is not None else (None, None)
        return PairLine(
            first=pair.model_a,
            second=pair.model_b,
            gap=gap,
            low=low,
            high=high,
            share=True,
            p_paper=None,
            p_clustered=None,
            p_decides=None,
            differs=self.decided in ("first", "second"),
            family="",
            family_tests=0,
            met=self.share_after_stopping is not None,
        )

    @property
    def ends(self) -> tuple[float, float]:
        """The interval as one of a difference of two shares."""
        return 2 * self.anytime_low - 1, 2 * self.anytime_high - 1


class PeekedPair(StudyPart):
    """What a fixed analysis would have said of a pair by testing after every worker: who is ``better``, ``after`` how many.

    ``wrongly``: against what was decided; None where nothing was, or it would have said nothing.
    """

    model_a: str
    model_b: str
    after: int | None
    better: str
    wrongly: bool | None


class StoppedModel(StudyPart):
    """A model's strength in log-odds, after optional stopping; there is no test of it."""

    FROM = published(ends("strength", "strength_after_stopping"))

    model: str
    strength: Result
    strength_note: str = ""


class Stopping(Section):
    """Studies that end when they are decided."""

    TITLE: ClassVar[str] = TITLE

    studies: list[DecidedStudy]
    pairs: list[DecidedPair]
    peeks: list[PeekedPair]
    strengths: list[StoppedModel]

    def labels(self) -> Mapping[Design, str]:
        return {study.design: _label(study) for study in self.studies}

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
            technique=study.technique,
            setting=study.setting,
            metric=study.metric,
            question=study.study if several else study.metric,
            what="how far the first is ahead of the second",
            verdict=sentence(study.said),
            models=[],
            pairs=lines if known else [],
            reference=None,
            model_table="",
            pair_table="stopping_pairs",
            remarks=[
                *study.warnings,
                *([own_dialogues(pairs, in_points=True)] if known else []),
                *_told_of(self, study),
            ],
            best=_best(study, lines),
            level=1 - (study.alpha or 0.0),
            rule=_rule(study),
        )

    def data_tables(self) -> list[DataTable]:
        peeks = (
            self.peeks if any(peek.better for peek in self.peeks) else []
        )  # else there are names, and nothing of them
        tables = [
            pairs_table(self.pairs),
            part_table("stopping_studies", "The rule, and what it took", _STUDIES, self.studies, (), _NAMES),
            part_table("stopping_peeks", "What testing after every worker would have said", _PEEKS, peeks, (), _NAMES),
            part_table("stopping_strengths", f"Strengths, {AFTER}", _STRENGTHS, self.strengths, (NOTE,), _NAMES),
        ]
        return [table for table in tables if table.rows]

    def figures(self) -> list[Figure]:
        return [
            figure
            for place, study in enumerate(self.studies, start=1)
            if study.margin is not None
            for figure in pairs_figures(f"stopping_pairs_{place}", self.pairs_of(study), study.margin)
        ]

    def methods(self) -> list[Method]:
        return list(_METHODS)


def build(tables: Tables, options: Options) -> Stopping | None:
    """Of all studies that end when they are decided, also of those whose log is not there; None where there is none."""
    found = Stopping(studies=[], pairs=[], peeks=[], strengths=[])
    for log in tables.stopping:
        _tell(found, log)
    found.studies = list(_with_designs(found.studies, _stopped_by_settings(tables)))
    if not found.studies:
        return None
    named = len(found.studies) > 1
    found.headline = " ".join(_named(sentence(study.said), study, named) for study in found.studies)
    found.remarks = [_named(words, study, named) for study in found.studies for words in _remarks(found, study)]
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


def _tell(found: Stopping, log: StoppingLog) -> None:
    try:
        study = replay(read_log(log.events), cut_off=True)
    except ValidationError:
        found.studies.append(_untold(log.study, _design_of(log), CHANGED.format(why="an event of it cannot be read")))
        return
    except ReplayError as error:
        found.studies.append(_untold(log.study, _design_of(log), CHANGED.format(why=error)))
        return
    began, standing = study.began, study.standing()
    names = {"study": log.study, "technique": began.technique, "setting": began.setting, "metric": began.metric}
    found.studies.append(_study(names, study, standing))
    found.pairs += pair_rows(standing, names, after=_claimed_after(study))
    found.peeks += [_peeked(names, peek) for peek in study.peeks()]
    strengths = study.strengths() if standing.ended else None  # their intervals are right for one look
    if strengths is not None:
        of_models = {strength.name.removeprefix("strength of "): strength for strength in strengths.models}
        for model, strength in of_models.items():
            note = strength_note(strengths.order, model, strength)
            found.strengths.append(StoppedModel(**names, model=model, strength=strength, strength_note=note))


def _untold(study: str, design: Design, trouble: str) -> DecidedStudy:
    technique, setting, metric = design
    said = f"this study ends when it is decided, and {trouble}"
    names = {"study": study, "technique": technique, "setting": setting, "metric": metric}
    return DecidedStudy(**names, models=[], answer="", said=said, ended=None, trouble=trouble)


def _design_of(log: StoppingLog) -> Design:
    first = log.events[0] if log.events else {}
    technique, setting, metric = (str(first.get(name) or "") for name in ("technique", "setting", "metric"))
    return technique, setting, metric


def _stopped_by_settings(tables: Tables) -> list[Design]:
    return sorted(
        {
            (fact.technique, fact.setting, str(fact.values.get("metric", "")))
            for fact in settings_of(tables)
            if fact.values.get("stop") == "decided"
        }
    )


def _study(names: Mapping[str, str], study: SequentialStudy, standing: StoppingStatus) -> DecidedStudy:
    rule = study.rule
    return DecidedStudy(
        **names,
        models=list(rule.models),
        answer=standing.answer,
        said=str(standing),
        ended=standing.ended,
        next_step=standing.next_step,
        margin=rule.margin,
        alpha=rule.alpha,
        max_dialogues=rule.max_dialogues,
        transitive=rule.transitive,
        pairs=len(standing.pairs),
        open=len(standing.open),
        dialogues=standing.answered,
        evidence=standing.dialogues,
        workers=standing.workers,
        fixed=standing.fixed,
        of_fixed=standing.answered / standing.fixed,
        fixed_pooled=standing.fixed_pooled,
        of_pooled=standing.answered / standing.fixed_pooled,
        timed_out=standing.timed_out,
        cut_off=standing.cut_off,
        warnings=[sentence(warning) for warning in standing.warnings],
    )


def _claimed_after(study: SequentialStudy) -> dict[frozenset[str], int]:
    after: dict[frozenset[str], int] = {}
    for event in study.log:
        if isinstance(event, Claimed):
            after.setdefault(frozenset((event.first, event.second)), event.dialogues)
    return after


def pair_rows(
    standing: StoppingStatus, names: Mapping[str, str], after: Mapping[frozenset[str], int] | None = None
) -> list[DecidedPair]:
    """The pairs of a study. ``names``: its own, and of what was asked; ``after``: how many dialogues each was decided."""
    known = after or {}
    return [
        _pair(pair, names, known.get(frozenset((pair.first, pair.second))), standing.level) for pair in standing.pairs
    ]


def _pair(pair: PairStatus, names: Mapping[str, str], after: int | None, level: float) -> DecidedPair:
    return DecidedPair(
        **names,
        model_a=pair.first,
        model_b=pair.second,
        decided=pair.decided,
        claim=pair.claim,
        through=pair.through,
        after=after,
        n_workers=pair.workers,
        n_dialogues=pair.dialogues,
        share_after_stopping=pair.share,
        anytime_low=pair.low,
        anytime_high=pair.high,
        level=level,
    )


def _peeked(names: Mapping[str, str], peek: Peek) -> PeekedPair:
    better = {"first": peek.first, "second": peek.second, None: ""}[peek.better]
    pair = {"model_a": peek.first, "model_b": peek.second}
    return PeekedPair(**names, **pair, after=peek.after, better=better, wrongly=peek.wrongly)


def _gap(share: float | None) -> float | None:
    return None if share is None else 2 * share - 1


def own_dialogues(pairs: Iterable[DecidedPair | PairStatus], *, in_points: bool = False) -> str:
    """What intervals of pairs are of; and where some are decided, what that does to them. ``in_points``: they are gaps."""
    if all(pair.decided is None for pair in pairs):
        return OWN_DIALOGUES
    value, nothing, zero = ("the points lie", "0", "0") if in_points else ("the share lies", "one half", "50 %")
    return (
        f"{OWN_DIALOGUES} Of a pair that is decided {value} a little too far from {nothing}, as its dialogues stopped when "
        f"they were clear ({AFTER}). Where a decision also rests on dialogues with other models, the interval may still "
        f"hold {zero}."
    )


def _rule(study: DecidedStudy) -> DecidedRule | None:
    """For other sections' words and figures; None where nothing can be said of the study."""
    if study.margin is None or study.alpha is None or study.max_dialogues is None:
        return None
    return DecidedRule(
        margin=study.margin, alpha=study.alpha, max_dialogues=study.max_dialogues, dialogues=study.dialogues or 0
    )


def _best(study: DecidedStudy, lines: Sequence[PairLine]) -> Best | None:
    best = best_of_pairs(dict.fromkeys(study.models), lines)
    if best is None or study.alpha is None:
        return None
    leader = best.together[0] if len(best.together) == 1 else None
    return best.model_copy(update={"leader": leader, "by": BY_CLAIMS, "risk": study.alpha})


def _label(study: DecidedStudy) -> str:
    if study.trouble:
        return f"Estimates {AFTER}. {NOTE} Neither is known here: {study.trouble}."
    return NOT_OVER if study.ended is None else AFTER_STOPPING


def pairs_table(pairs: Sequence[DecidedPair], *, while_it_runs: bool = False) -> DataTable:
    """Each pair: what was decided, and what dialogues of the two say. ``while_it_runs``: as a study is watched."""
    rows = [{**pair.model_dump(), "state": pair.state} for pair in (pair.ahead_first() for pair in pairs)]
    shown, of = (_PAIRS_NOW, "as they stand") if while_it_runs else (_PAIRS, AFTER)
    return row_table(
        "stopping_pairs", f"Pairs of models, {of}", shown, rows, (own_dialogues(pairs), *_coverage(pairs)), _NAMES
    )


def _coverage(pairs: Sequence[DecidedPair]) -> list[str]:
    levels = " or ".join(percent(level) for level in sorted({pair.level for pair in pairs}))
    return [f"Coverage of each interval at all times together: {levels}."] if levels else []


def pairs_figures(key: str, pairs: Sequence[DecidedPair], margin: float) -> list[IntervalFigure]:
    """One figure of all pairs that met, on a band of what counts as equal; none where none did."""
    points = tuple(
        IntervalPoint(label=f"{pair.model_a} over {pair.model_b}", estimate=gap, low=low, high=high)
        for pair in (pair.ahead_first() for pair in pairs)
        if (gap := _gap(pair.share_after_stopping)) is not None
        for low, high in [pair.ends]
    )
    figure = IntervalFigure(
        key=key,
        title="How far the first is ahead of the second, with intervals that hold at all times",
        x_label=points_label(margin),
        points=points,
        reference=0.0,
        share=True,
        band=(-margin, margin),
        in_points=True,
        labels_above=True,
    )
    return [figure] if points else []


def _remarks(found: Stopping, study: DecidedStudy) -> Iterator[str]:
    yield from study.warnings
    if not study.trouble:
        yield from _told_of(found, study)


def _told_of(found: Stopping, study: DecidedStudy) -> Iterator[str]:
    if study.next_step:
        yield study.next_step
    yield _rule_words(study)
    # Before that many workers nobody would have tested anything.
    if any(pair.n_workers >= FEWEST for pair in found.pairs_of(study)):
        yield _peek_words([peek for peek in found.peeks if peek.study == study.study], study.alpha or 0.0)


def _rule_words(study: DecidedStudy) -> str:
    return (
        f"Two models are equal where their win rates are less than {100 * (study.margin or 0):g} points apart. The chance "
        f"of any false claim is {percent(study.alpha)} at most, however often one looks. The cap is {study.max_dialogues:,} "
        f"dialogues. {_took_words(study)}"
    )


def _took_words(study: DecidedStudy) -> str:
    """How much there is, beside fixed plans; before all is decided nothing is saved against one."""
    begins = "It took" if study.ended is not None else "There is" if study.dialogues == 1 else "There are"
    took = f"{begins} {_dialogues_words(study.dialogues or 0, study.evidence or 0, study.workers or 0)}."
    if study.cut_off:
        verb = (
            "was left in the middle and counts as far as it"
            if study.cut_off == 1
            else ("were left in the middle and count as far as they")
        )
        took += f" {study.cut_off:,} more {verb} went."
    shares = (study.of_fixed, study.of_pooled) if study.ended == "decided" else (None, None)
    apart, pooled = (f" ({percent(share)} of it)" if share is not None else "" for share in shares)
    return (
        f"{took} For the variance that was seen, a fixed plan that makes each pair a study of its own takes "
        f"{study.fixed:,.0f}{apart}, one for all models together {study.fixed_pooled:,.0f}{pooled}."
    )


def _dialogues_words(dialogues: int, evidence: int, workers: int) -> str:
    """“180 dialogues; 179 of them count, of 179 workers”, “1 dialogue; it counts, of 1 worker”."""
    if not dialogues:
        return "no dialogues so far"
    if not evidence:
        which = "it does not count yet" if dialogues == 1 else "none of them counts yet"
        return f"{counted(dialogues, 'dialogue')}; {which}"
    all_count = "it counts" if dialogues == 1 else "all of them count"
    some_count = f"{evidence:,} of them {'counts' if evidence == 1 else 'count'}"
    which = all_count if evidence == dialogues else some_count
    return f"{counted(dialogues, 'dialogue')}; {which}, of {counted(workers, 'worker')}"


def _peek_words(peeks: Sequence[PeekedPair], alpha: float) -> str:
    said = [
        f"{peek.better} is better than {peek.model_b if peek.better == peek.model_a else peek.model_a} after "
        f"{counted(peek.after or 0, 'worker')}{_IN_FACT[peek.wrongly]}"
        for peek in peeks
        if peek.better
    ]
    told, risk = "; ".join(said) or "nothing", f"{alpha:g}".removeprefix("0")
    return f"Who had tested each pair after every worker, and stopped at p < {risk}, would have said: {told}."


_IN_FACT = {True: ", wrongly by what was decided", False: "", None: ", which is not decided"}
_NAMES = ("study", "technique", "setting", "metric")
_LABELS: Labels = {
    "study": ("Study", "text"),
    "state": ("Decided", "text"),
    "after": ("After dialogues", "count"),
    "share_after_stopping": ("A chosen", "share"),
    "anytime_low": ("At any time from", "share"),
    "anytime_high": ("to", "share"),
    "answer": ("Answer", "text"),
    "margin": ("Margin", "points"),
    "alpha": ("False claims at most", "share"),
    "max_dialogues": ("Cap", "count"),
    "open": ("Pairs open", "count"),
    "pairs": ("Pairs", "count"),
    "dialogues": ("Dialogues", "count"),
    "evidence": ("That count", "count"),
    "workers": ("Workers", "count"),
    "fixed": ("Fixed plan", "count"),
    "of_fixed": ("Of it", "share"),
    "fixed_pooled": ("Fixed, all together", "count"),
    "of_pooled": ("Of it", "share"),
    "timed_out": ("Ran out of time", "count"),
    "better": ("Would have been called better", "text"),
    "wrongly": ("Wrongly", "text"),
    "strength_after_stopping": ("Strength", "number"),
}
_OF_PAIR = "model_a model_b state {}share_after_stopping anytime_low anytime_high n_workers n_dialogues"
_PAIRS = columns(f"study technique setting metric {_OF_PAIR.format('after ')}", _LABELS)
_PAIRS_NOW = columns(_OF_PAIR.format(""), _LABELS)
_STUDIES = columns(
    "study technique setting metric answer margin alpha max_dialogues pairs open dialogues evidence workers fixed of_fixed "
    "fixed_pooled of_pooled timed_out",
    _LABELS,
)
_PEEKS = columns(
    "study technique setting metric model_a model_b better after wrongly",
    {**_LABELS, "after": ("After workers", "count")},
)
_STRENGTHS = columns(
    "study technique setting metric model strength_after_stopping ci_low ci_high strength_note", _LABELS
)

_METHODS = (
    method("stopping", "deciding_as_answers_come"),
    method("stopping", "intervals_that_hold_at_all_times"),
    method("stopping", "testing_after_every_worker", fewest=FEWEST),
)
