"""Section ``justifications``: the reasons that raters wrote for their choices (Smith et al. 2022, App. C.5)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from parlai_humaneval.report.rows import Labels, Row, columns, ends, part_table, published, row_table
from parlai_humaneval.report.section import Options, Part, Section
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, method
from parlai_humaneval.statistics.core.formatting import counted, percent
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.preference.reasons import (
    MAX_DOCUMENT_SHARE,
    N_TERMS,
    Unit,
    mean_words,
    reasons,
    top_terms,
    word_counts,
)
from parlai_humaneval.tables.build import Tables

FEWEST_GROUPS = 3
"""With fewer groups of reasons each reason is a document: two documents share most words that matter."""

_LABELS: Labels = {
    "comparison": ("Compared", "text"),
    "model": ("Chosen", "text"),
    "n": ("Reasons", "count"),
    "mean_words": ("Words a reason", "number"),
    "median_words": ("Median", "number"),
    "top_terms": ("Top terms", "text"),
}
_WORDS = columns("technique setting comparison model n n_workers mean_words ci_low ci_high median_words", _LABELS)
_TERMS = columns("technique setting comparison model top_terms", _LABELS)


class Term(Part):
    """A word and its TF-IDF weight."""

    term: str
    weight: float


class ReasonGroup(Row):
    """Reasons for choosing ``model`` where ``comparison`` (models joined by ;) was shown.

    ``nobody``: no model was chosen, and ``model`` is tie or none. ``words``: the mean of a reason, clustered by worker.
    """

    FROM = published(ends("words", "mean_words"), n="words.n")

    technique: str
    setting: str
    comparison: str
    model: str
    nobody: bool = False
    words: Result
    n_workers: int
    median_words: float
    terms: list[Term] = Field(default_factory=list)

    @property
    def top_terms(self) -> str:
        return ", ".join(term.term for term in self.terms)

    @property
    def label(self) -> str:
        return f"{self.model} of {self.comparison.replace(';', ', ')}" if ";" in self.comparison else self.model


class Justifications(Section):
    """Length and telling words of the reasons, by what was compared and chosen (Smith et al. 2022, App. C.5)."""

    TITLE: ClassVar[str] = "Reasons that raters gave"

    groups: list[ReasonGroup]

    def data_tables(self) -> list[DataTable]:
        return [
            part_table("justifications_words", "How long are the reasons?", _WORDS, self.groups),
            _terms_table(self.groups),
        ]

    def figures(self) -> list[Figure]:
        label = "words a reason, by the model that was chosen"
        lengths = [(group.label, group.words) for group in self.groups]
        return [*interval_figures("justifications_words", "Length of reasons", label, lengths)]

    def methods(self) -> list[Method]:
        return [
            method("justifications", "words_a_reason"),
            Method(
                name="Top terms",
                text=f"TF-IDF; the {N_TERMS} heaviest terms, without stop words and terms in more than "
                f"{percent(MAX_DOCUMENT_SHARE)} of documents. A document holds all reasons for one model in one "
                f"comparison; with fewer than {FEWEST_GROUPS} of those every reason is one, and weights are means.",
                source="Smith et al. 2022, App. C.5 (Table 7)",
            ),
        ]


def build(tables: Tables, options: Options) -> Justifications | None:
    """None where nobody wrote a reason."""
    rows = reasons(tables)
    if rows.empty:
        return None
    section = Justifications(groups=[])
    for (technique, setting), own in rows.groupby(["technique", "setting"], sort=True):
        section.groups += _groups(own, str(technique), str(setting), options)
    section.headline = _headline(section, rows)
    section.remarks = _remarks(section, rows)
    return section


def _groups(rows: pd.DataFrame, technique: str, setting: str, options: Options) -> list[ReasonGroup]:
    groups = {
        (str(comparison), str(model), bool(nobody)): own
        for (comparison, model, nobody), own in rows.groupby(["comparison", "model", "nobody"], sort=True)
    }
    unit: Unit = "group" if len(groups) >= FEWEST_GROUPS else "reason"
    names = {str(number): key for number, key in enumerate(groups)}
    terms = top_terms({name: groups[key]["reason"].tolist() for name, key in names.items()}, unit=unit)
    return [_group(groups[key], technique, setting, *key, terms[name], options.level) for name, key in names.items()]


def _group(
    rows: pd.DataFrame,
    technique: str,
    setting: str,
    comparison: str,
    model: str,
    nobody: bool,
    terms: list[tuple[str, float]],
    level: float,
) -> ReasonGroup:
    texts = rows["reason"].tolist()
    return ReasonGroup(
        technique=technique,
        setting=setting,
        comparison=comparison,
        model=model,
        nobody=nobody,
        words=mean_words(texts, rows["worker_id"].to_numpy(dtype=object), level=level),
        n_workers=int(rows["worker_id"].nunique()),
        median_words=float(np.median(word_counts(texts))),
        terms=[Term(term=term, weight=weight) for term, weight in terms],
    )


def _terms_table(groups: list[ReasonGroup]) -> DataTable:
    rows = [{**group.flat(), "top_terms": group.top_terms} for group in groups]
    return row_table("justifications_terms", "Which words weigh most in them?", _TERMS, rows)


def _headline(section: Justifications, rows: pd.DataFrame) -> str:
    texts = rows["reason"].tolist()
    workers = int(rows["worker_id"].nunique())
    start = (
        f"{counted(len(texts), 'reason')} by {counted(workers, 'worker')}, {word_counts(texts).mean():.1f} words each"
    )
    known = [group for group in section.groups if group.words.estimate is not None and group.words.n > 1]
    if len(known) < 2:
        return f"{start} on average."
    longest, shortest = (pick(known, key=lambda group: group.words.estimate or 0.0) for pick in (max, min))
    if longest.words.estimate == shortest.words.estimate:
        return f"{start} on average, whichever model was chosen."
    return (
        f"{start} on average; the longest for {longest.label} ({_length(longest)}), the shortest for "
        f"{shortest.label} ({_length(shortest)})."
    )


def _length(group: ReasonGroup) -> str:
    words = group.words
    if words.ci_low is None or words.ci_high is None:
        return f"{words.estimate:.1f}, no interval can be given"
    return f"{words.estimate:.1f}, interval {words.ci_low:.1f} to {words.ci_high:.1f}"


def _remarks(section: Justifications, rows: pd.DataFrame) -> list[str]:
    found = []
    short = float((word_counts(rows["reason"].tolist()) == 1).mean())
    if short >= 0.05:
        found.append(f"{percent(short)} of reasons are a single word.")
    if any(not group.terms for group in section.groups):
        found.append("Where no terms are given, all words are stop words or stand in nearly all other reasons too.")
    repeated = rows.groupby("worker_id")["reason"].agg(lambda texts: bool(len(texts) >= 5 and texts.nunique() == 1))
    if repeated.any():
        found.append(f"{counted(int(repeated.sum()), 'worker')} wrote the same reason every time, five times or more.")
    return found
