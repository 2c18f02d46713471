"""The shape of a section: fields are its JSON, methods are what is shown of it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from parlai_humaneval.report.views import DataTable, Figure, Method
from parlai_humaneval.statistics.core.clustered import RATIO, agreement_shown
from parlai_humaneval.statistics.core.effect_sizes import complement
from parlai_humaneval.statistics.core.formatting import format_p
from parlai_humaneval.statistics.core.multiplicity import ALPHA, DecidedBy, deciding
from parlai_humaneval.statistics.core.once_each import OnceEach, once_each_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import is_by_both
from parlai_humaneval.statistics.ranking.fit import LEAD
from parlai_humaneval.tables.build import Tables


@dataclass(frozen=True)
class Options:
    """What a report may be told: ``draws`` of each bootstrap, all from ``seed``; intervals of coverage ``level``.

    ``onboarding_seconds``: that each worker spent before the first answer, 0 where it is not known. ``reuse``: each
    collected dialogue is judged at most so many times; None: as often as there are partners for it.
    ``include_partial``: answered turns of unfinished live dialogues count too.
    """

    seed: int = 0
    draws: int = 1_000
    level: float = 0.95
    onboarding_seconds: float = 0.0
    reuse: int | None = None
    include_partial: bool = False


class Part(BaseModel):
    """A piece of a section's JSON; a number that cannot be estimated is None."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, defer_build=True)


class ModelLine(Part):
    """A model in the small table and in the forest plot of a summary.

    Attributes:
        n: number of observations, which ``unit`` names: "turns", "dialogues", "segments".
        estimate, low, high: the value and the ends of its interval; None where they cannot be estimated.
        share: the value is a share, and is written in percent.
        rank_low, rank_high: the ranks that the tests of pairs leave possible, 1 the best; None where none was made.
    """

    model: str
    n: int
    unit: str
    estimate: float | None
    low: float | None
    high: float | None
    share: bool
    rank_low: int | None = None
    rank_high: int | None = None

    @classmethod
    def of(cls, model: str, result: Result, unit: str, *, share: bool, n: int | None = None) -> ModelLine:
        """The line of an estimate; ``n`` where that of the result counts something else."""
        n = result.n if n is None else n
        ends = {"low": result.ci_low, "high": result.ci_high}
        return cls(model=model, n=n, unit=unit, estimate=result.estimate, share=share, **ends)


class PairLine(Part):
    """Two models of a summary: which of them is ahead, and what the paper's test and the clustered one say.

    Attributes:
        first, second: the models, of which ``first`` is ahead or equal.
        gap, low, high: how far it is ahead, and the interval of that; ``share``: in percentage points.
        superiority: how often ``first`` does better than ``second``, ties counting half, with its interval: the one
            effect size that all techniques have (see :mod:`~parlai_humaneval.statistics.core.effect_sizes`).
        p_paper: of the test of the paper; it takes every answer for independent. ``independent``: it is of the model that
            ``gap`` is of, as no paper tests the pair so.
        p_clustered: of the test by worker.
        p_decides: what :func:`deciding` goes by, corrected where ``family`` has several tests; ``decided_by``: whose.
        gap_per_worker, p_per_worker: gap and p, corrected as ``p_decides`` is, where every worker counts once instead of
            every answer; below 0: ``second`` is ahead. None where that was not asked.
        differs: whether ``p_decides`` is below .05; None where it cannot be tested.
        family, family_tests: the tests that were corrected together, and how many they are.
        met: whether the two were ever shown or compared together; else only a model of all choices tells of them.
        modelled: gap and p are those of a model of all choices, in which other models count too; ``superiority`` is of
            the answers that had both.
        by_dialogue: gap and p are clustered by dialogue as well as by worker.
    """

    first: str
    second: str
    gap: float | None
    low: float | None
    high: float | None
    share: bool
    superiority: float | None = None
    superiority_low: float | None = None
    superiority_high: float | None = None
    p_paper: float | None
    p_clustered: float | None
    p_decides: float | None
    gap_per_worker: float | None = None
    p_per_worker: float | None = None
    decided_by: DecidedBy = "clustered"
    differs: bool | None
    family: str
    family_tests: int
    met: bool = True
    modelled: bool = False
    by_dialogue: bool = False
    independent: bool = False

    @classmethod
    def of(
        cls,
        a: str,
        b: str,
        clustered: Result,
        p_paper: float | None,
        *,
        share: bool,
        paper: Result | None = None,
        superiority: Result | None = None,
        fewer_is_better: bool = False,
    ) -> PairLine:
        """The line of ``clustered``, the difference a − b, corrected as its details say; turned round where b is ahead.

        Args:
            a, b: names of the models.
            clustered: the difference, tested by worker.
            p_paper: of the paper's test, as it is shown.
            share: the difference is one of two shares.
            paper: the paper's test, two-sided and corrected, which may decide; None: it may not.
            superiority: of a over b.
            fewer_is_better: the model with the lower value is ahead.
        """
        gap, low, high = clustered.estimate, clustered.ci_low, clustered.ci_high
        # Of two strengths one of which has no bound it is only known who was chosen more often.
        ahead = clustered.details.get(LEAD) if gap is None else gap
        ahead = None if ahead is None else float(ahead) * (-1 if fewer_is_better else 1)
        if ahead is not None and ahead < 0:
            a, b, superiority = b, a, None if superiority is None else complement(superiority)
        once = once_each_of(clustered) or OnceEach(None, None)
        gap_once = once.estimate
        if gap is not None and gap < 0:
            gap, low, high = -gap, None if high is None else -high, None if low is None else -low
            gap_once = None if gap_once is None else -gap_once
        p_decides, decided_by = deciding(paper, clustered)
        p_decides = p_decides if ahead is not None else None
        return cls(
            first=a,
            second=b,
            gap=gap,
            low=low,
            high=high,
            share=share,
            superiority=None if superiority is None else superiority.estimate,
            superiority_low=None if superiority is None else superiority.ci_low,
            superiority_high=None if superiority is None else superiority.ci_high,
            p_paper=p_paper,
            p_clustered=clustered.p_value,
            p_decides=p_decides,
            gap_per_worker=gap_once,
            p_per_worker=once.p_decides,
            decided_by=decided_by,
            differs=None if p_decides is None else p_decides < ALPHA,
            family=str(clustered.details.get("family", "")),
            family_tests=int(clustered.details.get("family_tests") or 0),
            by_dialogue=is_by_both(clustered),
        )

    def superiority_of(self, model: str) -> tuple[float | None, float | None, float | None]:
        """The probability of superiority of either model over the other, with its interval."""
        share, low, high = self.superiority, self.superiority_low, self.superiority_high
        return (share, low, high) if model == self.first else (_rest(share), _rest(high), _rest(low))


def _rest(share: float | None) -> float | None:
    return None if share is None else 1 - share


class Best(Part):
    """Which model leads, and which cannot be told from it.

    Attributes:
        leader: the first of ``together``, or one of ``untested`` that ranks above them; None where the second has the same
            value, or where nothing orders them.
        unordered: groups of models, none of which can be ranked above another; empty where one leads, or values are equal.
        together: the models that may be the best, best first.
        told: those that are significantly below another one.
        untested: those of which no test could be made.
        by: how the pairs were tested together.
        risk: the chance of any mistake.
    """

    leader: str | None
    together: list[str]
    told: list[str]
    untested: list[str] = Field(default_factory=list)
    unordered: list[list[str]] = Field(default_factory=list)
    by: str
    risk: float = ALPHA


class DecidedRule(Part):
    """By which rule a study ends when it is decided, and what that took.

    Attributes:
        margin: two models whose win rates are less apart are equal.
        alpha: the chance of any false claim, however often one looks.
        max_dialogues: the cap; ``dialogues``: how many there are.
    """

    margin: float
    alpha: float
    max_dialogues: int
    dialogues: int


class Summary(Part):
    """What a section answers about one technique, setting, metric and question, for a report that begins with that.

    Attributes:
        section: key of the section.
        what: what the values are, as the label of an axis: "turns in which the reply was chosen".
        verdict: the answer in one sentence, with interval and p-value.
        pairs: the largest gap first, and last those that have none.
        reference: the value by chance alone; None where there is none.
        model_table, pair_table: keys of the section's tables (CSV files) that the numbers come from; "" for none.
        cite: the table that ``pair_table`` is the key of, in words; "" where there are no p-values.
        remarks: what qualifies the answer, each once.
        best: who leads, and who cannot be told from it, by the tests of ``pairs``; None where ``models`` stand in the
            order to go by, or where there are no tests.
        level: coverage of the intervals of ``pairs``.
        rule: of a study that ends when it is decided, whose intervals hold at all times; None of every other.
    """

    section: str
    technique: str
    setting: str
    metric: str
    question: str
    what: str
    verdict: str
    models: list[ModelLine]
    pairs: list[PairLine]
    reference: float | None
    model_table: str
    pair_table: str
    cite: str = ""
    remarks: list[str]
    best: Best | None = None
    level: float = 0.95
    rule: DecidedRule | None = None

    @field_validator("pairs")
    @classmethod
    def _largest_gap_first(cls, pairs: list[PairLine]) -> list[PairLine]:
        return sorted(pairs, key=lambda pair: -1.0 if pair.gap is None else pair.gap, reverse=True)


class SectionLeftOut(Part):
    """Workers whom a section leaves out by a check of its own, although their answers are in the tables.

    ``section``: its title; ``why``: what they did, after “who”; ``of``: as many workers were checked.
    """

    section: str
    why: str
    workers: list[str]
    of: int


class Section(Part, ABC):
    """One topic of a report.

    Attributes:
        headline: the answer in one sentence, with its interval; empty where the section answers no question.
        remarks: what a reader must know before using it: what could not be estimated and why, where the
            i.i.d. and the clustered answer disagree (:func:`disagreement`), what was left out.
    """

    TITLE: ClassVar[str]

    headline: str = ""
    remarks: list[str] = Field(default_factory=list)

    @abstractmethod
    def data_tables(self) -> list[DataTable]:
        """The tables, most important first."""

    @abstractmethod
    def figures(self) -> list[Figure]:
        """The figures; none where there is nothing to draw."""

    @abstractmethod
    def methods(self) -> list[Method]:
        """How its numbers were made."""

    def left_out(self) -> SectionLeftOut | None:
        """Workers whom the section leaves out by a check of its own; None: it counts all."""
        return None

    def summary(self) -> list[Summary]:
        """Its answers, each a technique, setting, metric and question; none where it answers no question.

        Their numbers are those of its rows.
        """
        return []

    def labels(self) -> Mapping[tuple[str, str, str], str]:
        """Technique, setting and metric → what other sections have to say first of their answers to that; mostly nothing."""
        return {}

    def in_short(self) -> list[str]:
        """What a reader of the summary must know of a section that answers no question; most have nothing."""
        return []


Builder = Callable[[Tables, Options], "Section | None"]
"""Makes a section; None where the tables hold nothing for it."""


def results_disagree(what: str, paper: Result, clustered: Result) -> str | None:
    """A sentence where the test that takes every observation for independent and the clustered one disagree.

    ``what`` begins the sentence: "A against B (preference)". The p-values are those to go by: corrected ones where there
    are. None where they agree, or one of them cannot be made.
    """
    p_independent, p_clustered = paper.p_decides, clustered.p_decides
    if p_independent is None or p_clustered is None or (p_independent < ALPHA) == (p_clustered < ALPHA):
        return None
    holm = ", corrected" if clustered.p_decides != clustered.p_value else ""
    together = (
        "the answers of a worker, and those on a dialogue," if is_by_both(clustered) else "the answers of a worker"
    )
    first, second = f"{format_p(p_independent)}{holm}", f"{format_p(p_clustered)}{holm}"
    if p_independent < ALPHA:
        return (
            f"{what}: significant if every answer were independent ({first}), but not once {together} "
            f"are taken together ({second}). Believe the second."
        )
    begins = (
        f"{what}: not significant if every answer were independent ({first}), but significant once {together} are taken "
        f"together ({second})"
    )
    if not agreement_shown(clustered):
        return (
            f"{begins}. The larger p decides, against what the interval beside it says: nothing shows that workers differ "
            "less from each other than chance would have it."
        )
    ratio = clustered.details[RATIO]
    return (
        f"{begins}: workers agree with each other more than chance would have it (their sums vary {float(ratio or 0):.2f} "
        "times as much as those of independent answers). Believe the second."
    )
