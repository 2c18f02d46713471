"""Section ``by_group``: win rates by topic, opener, or any other grouping of the study, and whether groups differ at all."""

from __future__ import annotations

from typing import ClassVar

import pandas as pd

from parlai_humaneval._util.errors import choose_from
from parlai_humaneval.report.conclusions import BY_WORKER
from parlai_humaneval.report.section import Options, Section, say, told
from parlai_humaneval.report.sections.comparisons import ComparedRow, group_words
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, look, method, shown, table
from parlai_humaneval.statistics.core.multiplicity import ALPHA, corrected_fields
from parlai_humaneval.statistics.preference import win_rates
from parlai_humaneval.statistics.preference.paired_answers import by_question, paired_answers, values_of
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.columns import TableError
from parlai_humaneval.tables.schema import COLUMNS_FILE

KEY = "by_group"


class QuestionRate(win_rates.GroupRate, ComparedRow):
    """The rate under one question."""


class QuestionTest(win_rates.GroupTest, ComparedRow):
    """The test under one question; corrected over all pairs and columns of it."""

    @property
    def differs(self) -> bool:
        return self.test.p_decides is not None and self.test.p_decides < ALPHA


class ByGroup(Section):
    """Whether win rates depend on the group, and the win rates in each."""

    TITLE: ClassVar[str] = "Win rates by group"

    tests: list[QuestionTest]
    rates: list[QuestionRate]

    def data_tables(self) -> list[DataTable]:
        return shown(table("by_group_tests", self.tests), table("by_group_rates", self.rates, *say(KEY, "of_rates")))

    def figures(self) -> list[Figure]:
        figures: list[Figure] = []
        # Where nothing differs a figure would only invite to read the best group.
        for place, test in enumerate([test for test in self.tests if test.differs][:2], 1):
            names = (test.group, test.by, test.model_a, test.model_b)
            rates = [(r.value, r.win_rate) for r in self.rates if (r.group, r.by, r.model_a, r.model_b) == names]
            named = {"a": test.model_a, "b": test.model_b, "by": test.by, "where": group_words(test)}
            figures += interval_figures(**look("by_group", f"_{place}", **named), results=rates)
        return figures

    def methods(self) -> list[Method]:
        return [method(KEY, "same_in_all_groups"), BY_WORKER] if self.tests else []


def build(tables: Tables, options: Options) -> ByGroup | None:
    """None where nothing is compared, or no column of the tables groups it. Raises TableError: no table has a column of
    ``options.by``."""
    frames = (tables.comparisons, tables.dialogues, tables.turns, tables.judgements)
    unknown = [name for name in options.by if name != "opener" and not any(name in frame for frame in frames)]
    if unknown:
        known = dict.fromkeys(["opener", *(str(name) for frame in frames for name in frame)])
        choice = choose_from(unknown[0], [name for name in known if _may_group(tables, name)])
        raise TableError(f"no table has a column {unknown[0]!r}", where="--by", **choice)
    columns = [name for name in options.by or COLUMNS_FILE["groupings"] if options.by or _may_group(tables, name)]
    answers = paired_answers(tables) if columns else pd.DataFrame()
    if answers.empty:
        return None
    section = ByGroup(tests=[], rates=[])
    values = {name: values_of(tables, answers, name) for name in columns}
    many: dict[str, int] = {}
    for group, places in by_question(answers):
        counts = {name: win_rates.most_groups(answers.iloc[places], values[name][places]) for name in options.by}
        many |= {name: count for name, count in counts.items() if count > max(win_rates.MOST_GROUPS, many.get(name, 0))}
        tests: list[QuestionTest] = []
        for name in columns:
            rates, tested = win_rates.group_rates(answers.iloc[places], values[name][places], name, level=options.level)
            tests += [QuestionTest.of(one, group) for one in tested]
            section.rates += [QuestionRate.of(one, group) for one in rates]
        section.tests += corrected_fields(tests, ComparedRow(**group).group, "test")
    if not section.tests and not options.by:
        return None
    asked = [{"row": test, "where": group_words(test)} for test in section.tests]
    smallest = min((test.test.p_decides for test in section.tests if test.test.p_decides is not None), default=None)
    limits = {"fewest": win_rates.FEWEST, "most": win_rates.MOST_GROUPS, "many": many}
    return section.model_copy(update=told(KEY, smallest=smallest, tests=asked, by=options.by, **limits))


def _may_group(tables: Tables, column: str) -> bool:
    """Whether a column has a few values that come again and again."""
    frames = [tables.comparisons, tables.dialogues, tables.turns, tables.judgements]
    for frame in frames:
        name = "human_text" if column == "opener" and column not in frame and frame is tables.turns else column
        if name not in frame:
            continue
        given = frame.loc[frame["turn"].eq(1), name] if name == "human_text" else frame[name]
        counts = given.value_counts()
        if (
            1 < (counts >= win_rates.FEWEST).sum() <= win_rates.MOST_GROUPS
            and counts[counts >= win_rates.FEWEST].sum() >= 0.8 * counts.sum()
        ):
            return True
    return False
