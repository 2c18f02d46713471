"""Section ``justifications``: the reasons that raters wrote for their choices (Smith et al. 2022, App. C.5), and the words
that tell models apart in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from parlai_humaneval.report.section import Options, Part, Section, say, told
from parlai_humaneval.report.views import DataTable, Figure, Method, interval_figures, look, method, shown, table
from parlai_humaneval.statistics.core.formatting import percent
from parlai_humaneval.statistics.core.multiplicity import ALPHA
from parlai_humaneval.statistics.core.result import Result
from parlai_humaneval.statistics.core.rows import EVERY, Column, Estimate, Key, Name, Row
from parlai_humaneval.statistics.preference.reasons import (
    FEWEST,
    MAX_DOCUMENT_SHARE,
    N_TERMS,
    PRIOR,
    Unit,
    mean_words,
    reasons,
    telling_words,
    top_terms,
    word_counts,
)
from parlai_humaneval.tables.build import Tables

FEWEST_GROUPS = 3
"""With fewer groups of reasons each reason is a document: two documents share most words that matter."""

MOST_WORDS, LEAST_Z = 10, 1.96
"""As many telling words of a model are listed, with a z of at least this."""

TERMS = "justifications_terms"
"""A second table of the same rows."""


class Term(Part):
    """A word and its TF-IDF weight."""

    term: str
    weight: float


class ReasonGroup(Row):
    """Reasons for choosing ``model`` where ``comparison`` (models joined by ;) was shown.

    ``nobody``: no model was chosen, and ``model`` is tie or none. ``words``: the mean of a reason, clustered by rater.
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


class WordRow(Row):
    """A word that goes with reasons for ``model`` rather than the others that were compared with it; ``comparison``: "" of
    models rated one at a time. ``workers``, ``others``: raters who used it in reasons for this model, and others."""

    technique: Name
    setting: Name
    comparison: Annotated[str, Column("Compared")]
    model: Annotated[str, Column("Chosen")]
    word: Annotated[str, Column("Word")]
    raters: Annotated[int, Column("Raters")]
    others: Annotated[int, Column("For the others")]
    log_odds: Annotated[float, Column("Log odds")]
    z: Annotated[float, Column("z")]
    p_holm: Annotated[float, Column("p, Holm", "p")]
    example: Annotated[str, Column("Example")]


class Justifications(Section):
    """Length and telling words of the reasons, by what was compared and chosen (Smith et al. 2022, App. C.5)."""

    TITLE: ClassVar[str] = "Reasons that raters gave"

    groups: list[ReasonGroup]
    telling: list[WordRow] = Field(default_factory=list)

    def data_tables(self) -> list[DataTable]:
        telling = table("justifications_words_of_models", self.telling, *say("justifications", "of_words"))
        weighty = [table(TERMS, self.groups)] if any(group.terms for group in self.groups) else []
        return shown(table("justifications_words", self.groups), *weighty, telling)

    def figures(self) -> list[Figure]:
        lengths = [(group.label, group.words) for group in self.groups]
        return [*interval_figures(**look("justifications_words"), results=lengths)]

    def methods(self) -> list[Method]:
        return [
            method("justifications", "words_a_reason"),
            method("justifications", "top_terms", n=N_TERMS, most=percent(MAX_DOCUMENT_SHARE), fewest=FEWEST_GROUPS),
            *([method("justifications", "telling_words", prior=PRIOR, fewest=FEWEST)] if self.telling else []),
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
    of_worker = rows.groupby("worker_id")["reason"]
    repeats = (of_worker.size() >= 5) & (of_worker.nunique() == 1)
    facts: dict[str, Any] = {
        "n": len(rows),
        "workers": rows["worker_id"].nunique(),
        "mean": counts.mean(),
        "repeating": int(repeats.sum()),
    }
    telling = list(_telling(rows))
    sure = [row for row in telling if row.p_holm < ALPHA]
    facts |= {"single": (counts == 1).mean(), "telling": telling, "sure": sure}
    return Justifications(groups=groups, telling=telling, **told("justifications", groups=groups, **facts))


def _telling(rows: pd.DataFrame) -> Iterator[WordRow]:
    """Words of reasons for each model of what was compared, or of all models that were rated one at a time."""
    chosen = rows[~rows["nobody"].to_numpy(dtype=bool)]
    together = chosen["comparison"].where(chosen["comparison"].str.contains(";"), "")
    for (technique, setting, comparison), own in chosen.groupby(["technique", "setting", together], sort=True):
        names = {"technique": str(technique), "setting": str(setting), "comparison": str(comparison)}
        texts = {
            str(model): list(zip(of["worker_id"].astype(str), of["reason"].astype(str), strict=True))
            for model, of in own.groupby("model", sort=True)
        }
        for model, words in telling_words(texts).items():
            yield from (WordRow.of(word, names, model=model) for word in words[:MOST_WORDS] if word.z >= LEAST_Z)


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
