"""Section ``justifications``: the reasons that raters wrote for their choices (Smith et al. 2022, App. C.5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from parlai_humaneval.report.section import Options, Part, Section
from parlai_humaneval.report.sentences import told
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, method
from parlai_humaneval.statistics.core.formatting import percent
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import EVERY, Column, Estimate, Key, Name, Row, table_of
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

TERMS = "justifications_terms"
"""A second table of the same rows."""


class Term(Part):
    """A word and its TF-IDF weight."""

    term: str
    weight: float


class ReasonGroup(Row):
    """Reasons for choosing ``model`` where ``comparison`` (models joined by ;) was shown.

    ``nobody``: no model was chosen, and ``model`` is tie or none. ``words``: the mean of a reason, clustered by worker.
    """

    technique: Name
    setting: Name
    comparison: Annotated[str, Column("Compared", table=EVERY)]
    model: Annotated[str, Column("Chosen", table=EVERY)]
    nobody: bool = False
    n_workers: Annotated[int, Column("Reasons", "count", name="n", of="words", path="n"), Column()]
    words: Annotated[Result, Estimate("Words a reason", name="mean_words", ends="ci")]
    median_words: Annotated[float, Column("Median")]
    terms: Annotated[
        list[Term], Key(), Column("Top terms", "text", name="top_terms", of="top_terms", table=TERMS, in_json=False)
    ] = Field(default_factory=list)

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
            table_of("justifications_words", "How long are the reasons?", self.groups),
            table_of(TERMS, "Which words weigh most in them?", self.groups),
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
    groups = [
        group
        for (technique, setting), own in rows.groupby(["technique", "setting"], sort=True)
        for group in _groups(own, str(technique), str(setting), options)
    ]
    counts = word_counts(rows["reason"].tolist())
    repeats = rows.groupby("worker_id")["reason"].agg(lambda texts: bool(len(texts) >= 5 and texts.nunique() == 1))
    facts = {
        "n": len(rows),
        "workers": rows["worker_id"].nunique(),
        "mean": counts.mean(),
        "repeating": int(repeats.sum()),
    }
    return Justifications(groups=groups, **told("justifications", groups=groups, single=(counts == 1).mean(), **facts))


def _groups(rows: pd.DataFrame, technique: str, setting: str, options: Options) -> Iterator[ReasonGroup]:
    groups = list(rows.groupby(["comparison", "model", "nobody"], sort=True))
    unit: Unit = "group" if len(groups) >= FEWEST_GROUPS else "reason"
    terms = top_terms({str(place): own["reason"].tolist() for place, (_, own) in enumerate(groups)}, unit=unit)
    for place, ((comparison, model, nobody), own) in enumerate(groups):
        texts = own["reason"].tolist()
        yield ReasonGroup(
            technique=technique,
            setting=setting,
            comparison=str(comparison),
            model=str(model),
            nobody=bool(nobody),
            words=mean_words(texts, own["worker_id"].to_numpy(dtype=object), level=options.level),
            n_workers=int(own["worker_id"].nunique()),
            median_words=float(np.median(word_counts(texts))),
            terms=[Term(term=term, weight=weight) for term, weight in terms[str(place)]],
        )
