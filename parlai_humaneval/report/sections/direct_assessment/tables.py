"""Tables of the section on direct assessment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from parlai_humaneval.report.sections.direct_assessment.types import (
    Correlations,
    DialogueCount,
    ModelRow,
    OpinionRow,
    PairRow,
    RaterPairsRow,
    ReplicationRow,
    WorkerCount,
)
from parlai_humaneval.report.views import (
    Cell,
    DataTable,
    TableColumn,
)


def scores_table(models: Sequence[ModelRow], criteria: Sequence[str], of: Literal["z", "raw"]) -> DataTable:
    """As the paper's Table 3 (z) and Table 10 (raw)."""
    names = [("overall", "Overall"), *((f"criterion_{number}", name) for number, name in enumerate(criteria))]
    return DataTable(
        key=f"direct_assessment_{of}",
        title="Standardised scores (z) by criterion" if of == "z" else "Raw scores by criterion",
        columns=(
            TableColumn(key="rank", label="Rank", kind="count"),
            TableColumn(key="model", label="Model"),
            TableColumn(key="n_ratings", label="Ratings", kind="count"),
            TableColumn(key="overall", label="Overall", kind="number"),
            TableColumn(key="low", label="from", kind="number"),
            TableColumn(key="high", label="to", kind="number"),
            *(TableColumn(key=key, label=label, kind="number") for key, label in names[1:]),
        ),
        rows=tuple(_scores_row(model, criteria, of) for model in models),
        notes=("Reversed criteria are turned round: more is better. The degraded model is left out.",),
    )


def _scores_row(model: ModelRow, criteria: Sequence[str], of: Literal["z", "raw"]) -> dict[str, Cell]:
    scores = model.criteria if of == "z" else model.raw
    overall = (
        (model.overall, model.overall_low, model.overall_high)
        if of == "z"
        else (model.raw_overall, model.raw_overall_low, model.raw_overall_high)
    )
    return {
        "rank": model.rank,
        "model": model.model,
        "n_ratings": model.n_ratings,
        **dict(zip(("overall", "low", "high"), overall, strict=True)),
        **{f"criterion_{number}": scores[name] for number, name in enumerate(criteria)},
    }


def workers_table(workers: WorkerCount, dialogues: DialogueCount) -> DataTable:
    """As the paper's Table 1."""
    failed = None if workers.passed is None else workers.total - workers.passed
    lost = None if dialogues.passed is None else dialogues.total - dialogues.passed
    parts: tuple[tuple[str, int | None, int | None, float | None], ...] = (
        ("all", workers.total, dialogues.total, dialogues.minutes),
        ("passed", workers.passed, dialogues.passed, dialogues.minutes_passed),
        ("failed", failed, lost, dialogues.minutes_failed),
    )
    return DataTable(
        key="direct_assessment_workers",
        title="Workers and dialogues",
        columns=(
            TableColumn(key="workers_are", label="Check"),
            TableColumn(key="workers", label="Workers", kind="count"),
            TableColumn(key="dialogues", label="Dialogues", kind="count"),
            TableColumn(key="seconds", label="Mean time a dialogue", kind="seconds"),
        ),
        rows=tuple(
            {
                "workers_are": name,
                "workers": n_workers,
                "dialogues": n_dialogues,
                "seconds": None if minutes is None else 60 * minutes,
            }
            for name, n_workers, n_dialogues, minutes in parts
        ),
        notes=("Dialogues with the degraded model are not counted.",),
    )


def pairs_table(pairs: Sequence[PairRow]) -> DataTable:
    """Every pair of models."""
    return DataTable(
        key="direct_assessment_pairs",
        title="Pairs of models by overall z",
        columns=(
            TableColumn(key="model_a", label="A"),
            TableColumn(key="model_b", label="B"),
            TableColumn(key="difference", label="A − B", kind="number"),
            TableColumn(key="ci_low", label="from", kind="number"),
            TableColumn(key="ci_high", label="to", kind="number"),
            TableColumn(key="p_clustered", label="p, clustered", kind="p"),
            TableColumn(key="p_clustered_holm", label="p, clustered, Holm", kind="p"),
            TableColumn(key="p_a_higher", label="p that A is higher (paper, one-sided)", kind="p"),
            TableColumn(key="p_b_higher", label="p that B is higher (paper, one-sided)", kind="p"),
        ),
        rows=tuple(pair.model_dump(exclude={"p_value", "p_holm"}) for pair in pairs),
    )


def correlations_table(correlations: Correlations) -> DataTable:
    """As the paper's Table 8: Pearson in the upper right half, Spearman in the lower left."""
    names = correlations.criteria
    rows: list[dict[str, Cell]] = []
    for i, name in enumerate(names):
        cells = {
            f"criterion_{j}": None if i == j else correlations.pearson[i][j] if i < j else correlations.spearman[i][j]
            for j in range(len(names))
        }
        rows.append({"criterion": name, **cells})
    return DataTable(
        key="direct_assessment_correlations",
        title="Correlation of criteria over models",
        columns=(
            TableColumn(key="criterion", label="Criterion"),
            *(TableColumn(key=f"criterion_{j}", label=name, kind="number") for j, name in enumerate(names)),
        ),
        rows=tuple(rows),
        notes=("Upper right half: Pearson's r; lower left: Spearman's ρ; of raw scores.",),
    )


def opinions_table(opinions: Sequence[OpinionRow]) -> DataTable:
    """As the paper's Table 2, and the scores besides."""
    return DataTable(
        key="direct_assessment_opinions",
        title="What raters thought of their topics",
        columns=(
            TableColumn(key="opinion", label="Opinion"),
            TableColumn(key="n", label="Dialogues", kind="count"),
            TableColumn(key="share", label="Share", kind="share"),
            TableColumn(key="share_passed", label="of workers who passed", kind="share"),
            TableColumn(key="share_failed", label="of workers who failed", kind="share"),
            TableColumn(key="overall", label="Overall z", kind="number"),
            TableColumn(key="overall_low", label="from", kind="number"),
            TableColumn(key="overall_high", label="to", kind="number"),
        ),
        rows=tuple(row.model_dump(exclude={"n_scored"}) for row in opinions),
        notes=("Counts are of all rated dialogues, the degraded model's too; scores are without them.",),
    )


def raters_table(raters: Sequence[RaterPairsRow]) -> DataTable:
    """Quartiles of the agreement of two raters."""
    return DataTable(
        key="direct_assessment_raters",
        title="Agreement of two raters of the same models (Pearson's r)",
        columns=(
            TableColumn(key="workers", label="Workers"),
            TableColumn(key="n_workers", label="In a pair", kind="count"),
            TableColumn(key="n_pairs", label="Pairs", kind="count"),
            TableColumn(key="first_quartile", label="First quartile", kind="number"),
            TableColumn(key="median", label="Median", kind="number"),
            TableColumn(key="third_quartile", label="Third quartile", kind="number"),
        ),
        rows=tuple(row.model_dump(exclude={"histogram"}) for row in raters),
    )


def replications_table(replications: Sequence[ReplicationRow], criteria: Sequence[str]) -> DataTable:
    """As the last row of the paper's Table 3."""
    return DataTable(
        key="direct_assessment_replications",
        title="Replication: correlation of the scores of two runs",
        columns=(
            TableColumn(key="run_a", label="Run"),
            TableColumn(key="run_b", label="against"),
            TableColumn(key="n_models", label="Models", kind="count"),
            TableColumn(key="overall", label="Overall", kind="number"),
            TableColumn(key="overall_low", label="from", kind="number"),
            TableColumn(key="overall_high", label="to", kind="number"),
            *(TableColumn(key=f"criterion_{j}", label=name, kind="number") for j, name in enumerate(criteria)),
            TableColumn(key="same_at_05", label="Same conclusions, p < .05", kind="share"),
            TableColumn(key="same_at_10", label="p < .1", kind="share"),
        ),
        rows=tuple(
            {
                **row.model_dump(exclude={"r"}),
                "overall": row.r.get("overall"),
                **{f"criterion_{j}": row.r.get(name) for j, name in enumerate(criteria)},
            }
            for row in replications
        ),
    )
