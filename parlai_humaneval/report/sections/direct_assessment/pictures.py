"""Figures and methods of the section on direct assessment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parlai_humaneval.analysis.reports.facts import CLUSTERED
from parlai_humaneval.report.sections.direct_assessment.types import (
    Correlations,
    ModelRow,
    RaterPairsRow,
    Significance,
)
from parlai_humaneval.report.views import (
    Curve,
    CurveFigure,
    Figure,
    HeatFigure,
    IntervalFigure,
    IntervalPoint,
    Method,
)

PAPER = "Ji et al. 2022"


def figures(
    models: Sequence[ModelRow],
    significance: Significance,
    correlations: Correlations,
    raters: Sequence[RaterPairsRow],
) -> list[Figure]:
    """Scores with intervals, p of all pairs, correlations of criteria, and agreement of raters."""
    return [*_scores(models), *_heat(models, significance, correlations), *_agreement(raters)]


def _scores(models: Sequence[ModelRow]) -> Iterator[Figure]:
    points = tuple(
        IntervalPoint(label=model.model, estimate=model.overall, low=model.overall_low, high=model.overall_high)
        for model in models
        if model.overall is not None
    )
    if points:
        yield IntervalFigure(
            key="direct_assessment_scores",
            title="Overall score of each model, with its interval",
            x_label="overall z (0: the mean of all that a worker rated)",
            points=points,
            reference=0.0,
        )


def _heat(models: Sequence[ModelRow], significance: Significance, correlations: Correlations) -> Iterator[Figure]:
    # Of two models there is one p, which the table has; a correlation over two models is 1 or -1, whatever they are.
    if len(models) < 3:
        return
    names = tuple(significance.models)
    yield HeatFigure(
        key="direct_assessment_significance",
        title="p that the model of the row is better than that of the column (rank-sum, one-sided)",
        rows=names,
        columns=names,
        values=tuple(map(tuple, significance.p)),
        scale="p",
    )
    yield HeatFigure(
        key="direct_assessment_significance_clustered",
        title="p that the two models differ (clustered by worker, Holm)",
        rows=names,
        columns=names,
        values=tuple(map(tuple, significance.p_clustered)),
        scale="p",
    )
    yield HeatFigure(
        key="direct_assessment_criteria",
        title="Pearson correlation of criteria over models",
        rows=tuple(correlations.criteria),
        columns=tuple(correlations.criteria),
        values=tuple(map(tuple, correlations.pearson)),
        scale="correlation",
    )


def _agreement(raters: Sequence[RaterPairsRow]) -> Iterator[Figure]:
    curves = []
    for row in raters:
        width = 2 / len(row.histogram)
        middles = tuple(round(-1 + width * (number + 0.5), 6) for number in range(len(row.histogram)))
        curves.append(Curve(name=row.workers, x=middles, y=tuple(row.histogram)))
    if curves:
        yield CurveFigure(
            key="direct_assessment_rater_agreement",
            title="Agreement of two raters of the same models",
            x_label="Pearson's r of two raters",
            y_label="share of pairs",
            curves=tuple(curves),
            share=True,
        )


def methods(*, checked: bool, pairs: bool, raters: bool, replicated: bool) -> list[Method]:
    """Of what is shown, and of nothing else."""
    return [
        text
        for wanted, text in zip((checked, True, True, pairs, True, raters, replicated), _ALL, strict=True)
        if wanted
    ]


_ALL = (
    Method(
        name="Worker check",
        text="One-sided rank-sum test that the worker rates the degraded model lower than the others, all of the worker's "
        "ratings together, on the criteria where more is better. Passed at p < .05; who gives one and the same rating "
        "throughout does not pass.",
        source=f"{PAPER}, §3.2",
    ),
    Method(
        name="Scores",
        text="Reversed criteria are turned round (100 − x). z: rating minus the worker's mean, by the worker's standard "
        "deviation (n − 1), over all criteria and models, the degraded one's too. A model's score is the mean over "
        "ratings of a criterion; overall is the mean of the criteria. The degraded model is left out.",
        source=f"{PAPER}, §3.3",
    ),
    Method(name="Intervals", text=CLUSTERED, source="Cameron & Miller 2015"),
    Method(
        name="Significance",
        text="The paper's test: one-sided rank-sum on the overall z of dialogues, which takes them as independent. Beside "
        "it the difference of overall z, clustered by worker, with Holm's correction over all pairs.",
        source=f"{PAPER}, §4.2, Figure 3",
    ),
    Method(
        name="Correlation of criteria",
        text="Pearson's r and Spearman's ρ of raw scores over models.",
        source=f"{PAPER}, Table 8",
    ),
    Method(
        name="Agreement of raters",
        text="Pearson's r of each two workers over what both rated, who have at least three models in common. (The paper "
        "takes pairs of the same HIT.) Pairs share workers, so there is no interval.",
        source=f"{PAPER}, §4.1, Figure 2",
    ),
    Method(
        name="Replication",
        text="Pearson's r of the scores of two runs over models, with Fisher's interval, and the share of pairs of models "
        "on which the one-sided tests of both runs conclude the same: A is better, B is better, or neither.",
        source=f"{PAPER}, §4.2, Table 3",
    ),
)
