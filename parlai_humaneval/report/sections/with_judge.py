"""Section ``with_judge``: the gain in precision from adding a judge's answers to people's, if a reader asks for it.

Prediction-powered inference: people's answers on a part of what a judge answered. No other section knows of it.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from parlai_humaneval.report.facts import decided_designs
from parlai_humaneval.report.section import Options, Section, told
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, look, method
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import AskedRow, Column, Estimate, p_columns, table_of
from parlai_humaneval.statistics.judges.tables import prediction_powered
from parlai_humaneval.tables.columns import TableError, Tables

FIGURES = 12  # with more answers, the figure shows those that are worth most
NAMED = 2  # Estimates that are named of those that are left out


class WithJudgeRow(AskedRow):
    """One answer (``what``) by people and judge together. ``people``: by people alone; ``judge``: by the judge alone, which
    may be far off; ``weight``: of the judge's, 0 where it does not help. ``human`` dialogues or comparisons of people are
    ``worth`` so many: as many by people alone would have been as exact (``gain`` is the ratio)."""

    what: Annotated[str, Column("Of")]
    result: Annotated[
        Result,
        Estimate("People and judge", "number", name="together"),
        p_columns(after="p_holm"),
        Column("People alone", "number", name="people", path="details.people"),
        Column("From, people alone", "number", name="people_low", path="details.people_low", last=True),
        Column("To, people alone", "number", name="people_high", path="details.people_high", last=True),
        Column("Human", "count", name="human", path="details.human"),
        Column("Worth", "count", name="worth", path="details.worth"),
        Column("Gain", "number", name="gain", path="details.gain", last=True),
        Column("Weight of the judge", "number", name="weight", path="details.lambda", last=True),
        Column("Judge alone", "number", name="judge_alone", path="details.judge", last=True),
    ]
    said: str

    @property
    def gain(self) -> float:
        return float(self.result.details["gain"] or 1.0)


class WithJudge(Section):
    """People's answers, made more exact by a judge's."""

    TITLE: ClassVar[str] = "People's answers with a judge's"
    ASKED_FOR: ClassVar[bool] = True

    judge: str
    rows: list[WithJudgeRow]
    trouble: str = ""

    def data_tables(self) -> list[DataTable]:
        title = f"By people and {self.judge}, and by people alone"
        note = "Human: judgements by people. Worth: human judgements needed for this precision without the judge."
        return [table_of("with_judge", title, self.rows, note)] if self.rows else []

    def figures(self) -> list[Figure]:
        """Differences and shares are on scales of their own: win rates alone are drawn."""
        shares = [row for row in self.rows if row.what.startswith("win rate")]
        most = sorted(shares, key=lambda row: -row.gain)[:FIGURES]
        found = [(row.what, row.result) for row in shares if row in most]
        return [*interval_figures(**look("with_judge", judge=self.judge), results=found)]

    def methods(self) -> list[Method]:
        return [method("judges", "with_judge")]

    def in_short(self) -> list[str]:
        return [self.headline] if self.headline else self.remarks[:1]


def build(tables: Tables, options: Options) -> WithJudge | None:
    """Only where a judge is asked for. Studies that stopped once they reached a decision are left out: their intervals are
    others."""
    if options.judged is None:
        return None
    trouble, results = "", list[Result]()
    try:
        results = prediction_powered(tables, options.judged, level=options.level)
    except TableError as error:
        trouble = str(error)
    decided = set(decided_designs(tables))
    names = ("technique", "setting", "metric")
    rows = [
        WithJudgeRow(**{name: str(of.details[name]) for name in names}, what=of.name, result=of, said=of.notes[0])
        for of in results
    ]
    # A study of ratings decides by all criteria together, and has no metric.
    kept = [row for row in rows if not decided & {(row.technique, row.setting, of) for of in (row.metric, "")}]
    section = WithJudge(judge=options.judge, rows=kept, trouble=trouble)
    passed_over = [row.what for row in rows if row not in kept]
    best = max(kept, key=lambda row: row.gain, default=None)
    helped = best if best is not None and best.gain > 1 else None
    return section.model_copy(update=told("with_judge", s=section, best=helped, passed_over=passed_over, most=NAMED))
