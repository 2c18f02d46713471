"""The base of sections: fields are a section's JSON, methods its display."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, PrivateAttr, field_validator

from parlai_humaneval.report.views import DataTable, Figure, Method
from parlai_humaneval.report.views import Part as Part
from parlai_humaneval.statistics.core import formatting
from parlai_humaneval.statistics.core.multiplicity import ALPHA, DecidedBy, OnceEach, deciding, once_each_of
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.two_way import QUESTION, is_by_both, shared_by
from parlai_humaneval.statistics.preference.win_rates import complement
from parlai_humaneval.statistics.ranking.fit import LEAD
from parlai_humaneval.tables.build import Tables

if TYPE_CHECKING:
    from jinja2 import Environment


@dataclass(frozen=True)
class Options:
    """Options of a report: ``draws`` of each bootstrap, all from ``seed``; intervals of coverage ``level``.

    ``onboarding_seconds``: that each worker spent before the first answer, 0 where it is not known. ``reuse``: each
    collected dialogue is judged at most so many times; None: as often as there are partners for it.
    ``include_partial``: answered turns of unfinished live dialogues count too. ``judge``: the name of one whose answers are
    combined with people's, in a section of its own; ``judged``: these answers. ``by``: columns by whose values win rates are
    compared; none: those of ``groupings`` in ``columns.yaml`` that have few values.
    """

    seed: int = 0
    draws: int = 1_000
    level: float = 0.95
    onboarding_seconds: float = 0.0
    reuse: int | None = None
    include_partial: bool = False
    judge: str = ""
    judged: Tables | None = None
    by: tuple[str, ...] = ()

    @property
    def bootstrap(self) -> dict[str, Any]:
        """Options of an estimate that draws samples."""
        return {"seed": self.seed, "draws": self.draws, "level": self.level}


SUPERIORITY = ("superiority", "superiority_low", "superiority_high")


class ModelLine(Part):
    """A model in the small table and in the forest plot of a summary; ``n`` observations, which ``unit`` names.

    ``share``: the value is one, and is written in percent. ``rank_low``, ``rank_high``: the ranks that the tests of pairs
    leave possible, 1 the best; None where none was made.
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
        ends = {"estimate": result.estimate, "low": result.ci_low, "high": result.ci_high}
        return cls(model=model, n=result.n if n is None else n, unit=unit, share=share, **ends)


class PairLine(Part):
    """Two models of a summary: the leader, and the results of the paper's test and the clustered one.

    ``first`` is ahead of ``second`` by ``gap`` (``share``: in percentage points), or equal. ``superiority``: how often it
    does better, ties counting half: the one effect size that all techniques have. ``p_paper``: of the paper's test, which
    takes every answer for independent (``independent``: no paper tests such pairs so). ``p_decides``: what
    :func:`deciding` goes by, corrected with the ``family_tests`` of ``family``; ``differs``: it is below .05, None where
    it cannot be tested. ``gap_per_worker``, ``p_per_worker``: where every worker counts once; below 0: ``second`` is
    ahead. ``met``: the two were shown or compared together. ``modelled``: gap and p are of a model of all choices, in
    which other models count too. ``by_dialogue``: clustered by dialogue as well as by worker, or, with ``by_question``,
    by the question that both dialogues answer.
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
    by_question: bool = False
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

        ``p_paper``: of the paper's test, as it is shown; ``paper``: that test, two-sided and corrected, where it may decide.
        ``superiority``: of a over b. ``fewer_is_better``: the model with the lower value is ahead.
        """
        gap, low, high = clustered.estimate, clustered.ci_low, clustered.ci_high
        # If one of two strengths is unbounded, only the more frequently chosen model is known.
        ahead = clustered.details.get(LEAD) if gap is None else gap
        ahead = None if ahead is None else float(ahead) * (-1 if fewer_is_better else 1)
        if ahead is not None and ahead < 0:
            a, b, superiority = b, a, None if superiority is None else complement(superiority)
        better = superiority
        of_superiority = (None,) * 3 if better is None else (better.estimate, better.ci_low, better.ci_high)
        once = once_each_of(clustered) or OnceEach(None, None)
        gaps = [gap, low, high, once.estimate]
        if gap is not None and gap < 0:
            gaps = [None if end is None else -end for end in (gap, high, low, once.estimate)]
        p_decides, decided_by = deciding(paper, clustered)
        p_decides = p_decides if ahead is not None else None
        return cls(
            first=a,
            second=b,
            **dict(zip(("gap", "low", "high", "gap_per_worker"), gaps, strict=True)),
            share=share,
            **dict(zip(SUPERIORITY, of_superiority, strict=True)),
            p_paper=p_paper,
            p_clustered=clustered.p_value,
            p_decides=p_decides,
            p_per_worker=once.p_decides,
            decided_by=decided_by,
            differs=None if p_decides is None else p_decides < ALPHA,
            family=str(clustered.details.get("family", "")),
            family_tests=int(clustered.details.get("family_tests") or 0),
            by_dialogue=is_by_both(clustered),
            by_question=shared_by(clustered) == QUESTION,
        )

    def superiority_of(self, model: str) -> tuple[float | None, float | None, float | None]:
        """The probability of superiority of either model over the other, with its interval."""
        share, low, high = self.superiority, self.superiority_low, self.superiority_high
        if model != self.first:
            share, low, high = (None if part is None else 1 - part for part in (share, high, low))
        return share, low, high


class Best(Part):
    """The leading model, and the models tied with it, by ``by`` and at ``risk`` of any mistake.

    ``leader``: None where the second has the same value, or nothing orders them. ``together``: the models that may be
    the best, best first; ``told``: those significantly below another one; ``untested``: no test possible.
    ``unordered``: groups of models, none of which can be ranked above another; empty where one leads, or values are
    equal.
    """

    leader: str | None
    together: list[str]
    told: list[str]
    untested: list[str] = Field(default_factory=list)
    unordered: list[list[str]] = Field(default_factory=list)
    by: str
    risk: float = ALPHA


class DecidedRule(Part):
    """The rule by which a study stops once it reaches a decision: models whose win rates differ by less than ``margin`` are
    equal, and the chance of any false claim of either kind is ``alpha``, however often one looks. ``max_dialogues``: the cap
    of its ``dialogues``. ``rated``: whether models were rated together, or each by itself.
    """

    margin: float
    alpha: float
    max_dialogues: int
    dialogues: int
    rated: Literal["together", "apart"] = "together"


class Summary(Part):
    """A section's answer about one technique, setting, metric and question, for the beginning of a report.

    ``what``: what the values are, as the label of an axis. ``verdict``: the answer in one sentence. ``pairs``: the
    largest gap first, with intervals of coverage ``level``. ``paper``: the answer as a paper has it, where that is more
    than the verdict. ``reference``: the value by chance alone. ``model_table``, ``pair_table``: keys of the tables that
    the numbers come from; ``cite``: the latter in words. ``best``: None if ``models`` are already in the final order,
    or there are no tests. ``rule``: if the study stops once it reaches a decision, whose intervals hold at all times.
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
    reference: float | None = None
    model_table: str
    pair_table: str = ""
    cite: str = ""
    remarks: list[str] = Field(default_factory=list)
    best: Best | None = None
    level: float = 0.95
    rule: DecidedRule | None = None
    paper: str = ""
    of_decided: bool = Field(default=False, exclude=True)

    @property
    def design(self) -> tuple[str, str, str]:
        """Technique, setting and metric."""
        return self.technique, self.setting, self.metric

    @property
    def decides_all(self) -> bool:
        """Whether this is what was decided by all ratings of single models together, of whatever criteria."""
        return self.rule is not None and self.rule.rated == "apart"

    @field_validator("pairs")
    @classmethod
    def _largest_gap_first(cls, pairs: list[PairLine]) -> list[PairLine]:
        return sorted(pairs, key=lambda pair: -1.0 if pair.gap is None else pair.gap, reverse=True)


OfDecided = Literal["", "some", "all"]


class SectionLeftOut(Part):
    """Workers whom a section excludes by its own check, although their answers are in the tables.

    ``section``: its title; ``why``: what they did, after “who”; ``of``: as many workers were checked.
    """

    section: str
    why: str
    workers: list[str]
    of: int


class Section(Part):
    """One topic of a report.

    Attributes:
        headline: the answer in one sentence, with its interval; empty where the section answers no question.
        remarks: what a reader must know before using it: what could not be estimated and why, where the
            i.i.d. and the clustered answer disagree (:func:`disagreement`), what was left out.
        of_decided: how many of the studies whose models it tests stop once they reach a decision, so that none of their
            p-values is to be cited.
    """

    TITLE: ClassVar[str] = ""
    ASKED_FOR: ClassVar[bool] = False
    """Whether an option asks for it: then what it says in short is never among remarks that a summary has no room for."""

    headline: str = ""
    remarks: list[str] = Field(default_factory=list)
    of_decided: OfDecided = Field(default="", exclude=True)

    def heading(self) -> str:
        """The title of the section."""
        return self.TITLE

    def data_tables(self) -> list[DataTable]:
        """The tables, most important first."""
        return []

    def figures(self) -> list[Figure]:
        """The figures, if there is anything to draw."""
        return []

    def methods(self) -> list[Method]:
        """The methods behind its numbers."""
        return []

    def left_out(self) -> SectionLeftOut | None:
        """Workers whom the section excludes by its own check; None: it counts all."""
        return None

    def summary(self) -> list[Summary]:
        """Its answers, each a technique, setting, metric and question; none where it answers no question.

        Their numbers are those of its rows.
        """
        return []

    def tested(self) -> list[tuple[str, str, str]]:
        """Technique, setting and metric of each question about which it estimates or tests something."""
        return [answer.design for answer in self.summary()]

    def labels(self) -> Mapping[tuple[str, str, str], str]:
        """Technique, setting and metric → a label for other sections' answers to the same; usually none."""
        return {}

    def in_short(self) -> list[str]:
        """Lines for the summary from a section that answers no question; usually none."""
        return []


Builder = Callable[[Tables, Options], "Section | None"]
"""Makes a section; None where the tables hold nothing for it."""


class FailedSection(Section):
    """Replaces a failed analysis: a remark that names the analysis and its error."""

    _title: str = PrivateAttr(default="")

    @classmethod
    def of(cls, title: str, error: Exception, where: str) -> FailedSection:
        """Make the section for the failed analysis of this title; ``where``: file and line."""
        why = f"{type(error).__name__}: {error}".removesuffix(": ")
        section = cls(remarks=[f"The analysis “{title}” failed and is left out ({why}; {where})."])
        section._title = title
        return section

    def heading(self) -> str:
        return self._title

    def in_short(self) -> list[str]:
        return self.remarks


TEMPLATES = Path(__file__).with_name("templates")
_SENTENCE = re.compile(r"^- (.+(?:\n +\S.*)*)", re.MULTILINE)
_LINE_ENDS = re.compile(r"\s*\n\s*(?=\{[%#])|(?<=[%#]\})\s*\n\s*")


def say(template: str, part: str, /, **facts: Any) -> list[str]:
    """The sentences of a macro of a template, such as ``say("judges", "remarks", section=section)``.

    Besides ``facts``, a template has the functions of :mod:`~parlai_humaneval.statistics.core.formatting`.
    """
    said: list[str] = []

    def note(caller: Any) -> str:
        said.append(str(caller()))
        return ""

    getattr(_templates().get_template(f"{template}.md.j2").make_module({**facts, "say": note}), part)()
    return said


def sentence(template: str, part: str, /, **facts: Any) -> str:
    """The sentences of :func:`say`, joined."""
    return " ".join(say(template, part, **facts))


def told(template: str, **facts: Any) -> dict[str, Any]:
    """Headline and remarks of a section, each a macro of its template."""
    return {"headline": " ".join(say(template, "headline", **facts)), "remarks": say(template, "remarks", **facts)}


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemBytecodeCache, FunctionLoader, StrictUndefined

    class Kept(FileSystemBytecodeCache):  # type: ignore[misc]  # mypy reads no Jinja
        """The cache is optional: unreadable templates are compiled again, and unwritable ones are not kept."""

        def load_bytecode(self, bucket: Any) -> None:
            try:
                super().load_bytecode(bucket)
            except Exception:  # noqa: BLE001 - half a file may raise anything
                bucket.reset()

        def dump_bytecode(self, bucket: Any) -> None:
            with suppress(OSError):  # a full disk, or a folder of somebody else's
                super().dump_bytecode(bucket)

    def source(name: str) -> str:
        text = (TEMPLATES / name).read_text(encoding="utf-8")
        sentences = _SENTENCE.sub(r"{% call say() %}\1{% endcall %}", text)
        return re.sub(r"\s*\n\s*", " ", _LINE_ENDS.sub("", sentences))

    written = {name: value for name, value in vars(formatting).items() if callable(value)}
    # As Python keeps what it has compiled: else each report would compile its sentences, which takes .01 to .04 s a section.
    folder = TEMPLATES / "__pycache__"
    keeps = not sys.dont_write_bytecode and os.access(TEMPLATES, os.W_OK)
    if keeps:
        with suppress(OSError):
            folder.mkdir(exist_ok=True)
    templates = Environment(
        loader=FunctionLoader(source),
        undefined=StrictUndefined,
        autoescape=False,
        bytecode_cache=Kept(str(folder), f"%s.{sys.implementation.cache_tag}") if keeps else None,
    )
    templates.filters |= written
    templates.globals |= written
    return templates
