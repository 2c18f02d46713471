"""What the section on agreement holds."""

from __future__ import annotations

from typing import ClassVar, Literal

from parlai_humaneval.report.rows import Columns, part_table
from parlai_humaneval.report.section import Part, Section
from parlai_humaneval.report.sections.agreement.judged import Scale, Source
from parlai_humaneval.report.views import DataTable, Figure, IntervalFigure, IntervalPoint, Method

Score = float | None
Kind = Literal["own", "several"]


class AgreementRow(Part):
    """Agreement on ``what``, of one technique, setting and metric.

    ``kind``: ``own``, of the dialogue's own rater and somebody who rated it once more; ``several``, of all who judged
    the same, the own rater among them where it is known what they said. ``n`` things were judged twice or more,
    ``per_thing`` times each in the mean, by ``n_raters`` people (with ``own``: besides own raters), in ``n_dialogues``.

    ``percent``: pairs of raters who said the same, clustered by dialogue. ``kappa``: Cohen's for ``own``, Fleiss' for
    ``several``; None on scales of more than ten points. ``alpha``: Krippendorff's at level ``scale``. Intervals of both
    are a bootstrap over dialogues.
    """

    source: Source
    technique: str
    setting: str
    metric: str
    what: str
    kind: Kind
    scale: Scale
    n: int
    per_thing: float
    n_raters: int
    n_dialogues: int
    percent: Score
    percent_low: Score
    percent_high: Score
    kappa: Score
    kappa_low: Score
    kappa_high: Score
    alpha: Score
    alpha_low: Score
    alpha_high: Score


WHO = {"own": "own rater and another", "several": "several raters"}
_COLUMNS: Columns = (
    ("source", "Table", "text"),
    ("technique", "Technique", "text"),
    ("setting", "Setting", "text"),
    ("metric", "Metric", "text"),
    ("what", "What", "text"),
    ("kind", "Who", "text"),
    ("n", "Judged twice or more", "count"),
    ("per_thing", "Times each", "number"),
    ("n_raters", "Raters", "count"),
    ("n_dialogues", "Dialogues", "count"),
    ("percent", "Agree", "share"),
    ("percent_low", "from", "share"),
    ("percent_high", "to", "share"),
    ("kappa", "κ", "number"),
    ("kappa_low", "from", "number"),
    ("kappa_high", "to", "number"),
    ("scale", "Level of α", "text"),
    ("alpha", "α", "number"),
    ("alpha_low", "from", "number"),
    ("alpha_high", "to", "number"),
)


class Agreement(Section):
    """How far people who judged the same agree."""

    TITLE: ClassVar[str] = "Agreement of raters"

    rows: list[AgreementRow]
    seed: int
    draws: int

    def data_tables(self) -> list[DataTable]:
        notes = ("own: the dialogue's own rater and somebody who rated it once more (Cohen's κ); several: Fleiss' κ.",)
        return [part_table("agreement_measures", "Agreement on what was judged twice", _COLUMNS, self.rows, notes)]

    def figures(self) -> list[Figure]:
        points = tuple(
            IntervalPoint(label=name_of(row), estimate=row.alpha, low=row.alpha_low, high=row.alpha_high)
            for row in self.rows
            if row.alpha is not None
        )
        title = "Krippendorff's α with its interval (0: chance, 1: full agreement)"
        figure = IntervalFigure(key="agreement_alpha", title=title, x_label="α", points=points, reference=0.0)
        return [figure] if points else []

    def methods(self) -> list[Method]:
        return [
            Method(
                name="Agreement",
                text="Share of pairs of raters of the same thing who said the same, with a CR1 t interval clustered by "
                "dialogue; of ratings, who gave the same number. Of turns reply by reply: chosen or not, and each tick.",
                source="Liu et al. 2023, “Experiments”; Deriu et al. 2020, Table 3",
            ),
            Method(
                name="κ and α",
                text="Cohen's κ of the own rater and another; Fleiss' κ of several. Krippendorff's α: nominal for yes or "
                "no, ordinal for winner (B, tie, A) and label (bot, unsure, human), interval for ratings. Intervals: "
                f"percentiles of {self.draws:,} bootstraps over whole dialogues, seed {self.seed}. Krippendorff takes .667 "
                "as the least for tentative conclusions on single answers; means over many can be sure with less.",
                source="Cohen 1960; Fleiss 1971; Krippendorff 2004",
            ),
        ]


def name_of(row: AgreementRow) -> str:
    """“label (spot_the_bot), several raters”."""
    metric = "" if row.metric == row.what else row.metric
    where = ", ".join(text for text in (row.technique, row.setting, metric) if text)
    return f"{row.what}{f' ({where})' if where else ''}, {WHO[row.kind]}"
