"""The tables of judged segments, as the paper prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parlai_humaneval.report.sections.segments.effects import models_of
from parlai_humaneval.report.sections.segments.types import Analysis, ModelRow, SpeakerRow
from parlai_humaneval.report.views import Cell, DataTable, TableColumn
from parlai_humaneval.tables.schema import LABELS

Columns = Sequence[tuple[str, str, str]]
"""Key, label and kind."""

_INTERVAL = (("ci_low", "low", "share"), ("ci_high", "high", "share"))


def tables_of(found: Analysis, key: str, title: str) -> Iterator[DataTable]:
    """Those that have rows; ``key`` and ``title`` end theirs."""
    for table in (_models, _survival, _matrix, _pairs, _tests, _features, _labels, _stability, _seconds):
        made = table(found)
        if made.rows:
            yield made.model_copy(update={"key": f"segments_{made.key}{key}", "title": f"{made.title}{title}"})


def _table(key: str, title: str, columns: Columns, rows: Sequence[dict[str, Cell]], *notes: str) -> DataTable:
    made = tuple(
        TableColumn.model_validate({"key": name, "label": label, "kind": kind}) for name, label, kind in columns
    )
    keys = [column.key for column in made]
    return DataTable(
        key=key,
        title=title,
        columns=made,
        rows=tuple({name: row.get(name) for name in keys} for row in rows),
        notes=notes,
    )


def _speaker(row: SpeakerRow) -> dict[str, Cell]:
    cells: dict[str, Cell] = {"model": row.model, "n": row.n, "human": row.human, "unsure": row.unsure, "bot": row.bot}
    return {**cells, "taken_for_human": row.taken_for_human.estimate, "spotted": row.spotted.estimate}


def _range(low: int | None, high: int | None) -> str | None:
    return None if low is None or high is None else f"{low}–{high}"


def _ranked(row: ModelRow) -> dict[str, Cell]:
    fields = ("wins", "losses", "ties", "win_rate", "ci_low", "ci_high", "p_clustered", "cluster", "cluster_workers")
    return {
        **_speaker(row),
        **{name: getattr(row, name) for name in fields},
        "ranks": _range(row.rank_low, row.rank_high),
        "ranks_workers": _range(row.rank_low_workers, row.rank_high_workers),
    }


def _models(found: Analysis) -> DataTable:
    columns: Columns = (
        ("model", "Model", "text"),
        ("n", "Labels", "count"),
        *((label, label.capitalize(), "count") for label in LABELS),
        ("taken_for_human", "Taken for human", "share"),
        ("wins", "Wins", "count"),
        ("losses", "Losses", "count"),
        ("ties", "Ties", "count"),
        ("win_rate", "Win rate", "share"),
        *_INTERVAL,
        ("p_clustered", "p (clustered)", "p"),
        ("ranks", "Ranks, segments resampled", "text"),
        ("cluster", "Cluster", "count"),
        ("ranks_workers", "Ranks, workers resampled", "text"),
        ("cluster_workers", "Cluster", "count"),
    )
    people = [] if found.humans is None else [_speaker(found.humans)]
    return _table(
        "models",
        "Bots, best first, and people",
        columns,
        [*(_ranked(row) for row in found.models), *people],
        "Win rate: of decided segments against other bots; interval and p clustered by worker, p against one half, "
        "not corrected.",
    )


def _survival(found: Analysis) -> DataTable:
    lengths = [str(k) for k in found.lengths]
    columns: list[tuple[str, str, str]] = [("model", "Model", "text")]
    for k in lengths:
        columns += [(f"s{k}", f"S({k})", "share"), (f"s{k}_low", "low", "share"), (f"s{k}_high", "high", "share")]
    rows: list[dict[str, Cell]] = []
    for row in [*found.models, *([] if found.humans is None else [found.humans])]:
        cells: dict[str, Cell] = {"model": row.model}
        for k in lengths:
            cells |= {
                f"s{k}": row.survival.get(k),
                f"s{k}_low": row.survival_low.get(k),
                f"s{k}_high": row.survival_high.get(k),
            }
        rows.append(cells)
    return _table("survival", "Share not spotted within k exchanges", columns, rows, "Bands clustered by worker.")


def _matrix(found: Analysis) -> DataTable:
    """The paper's Table 1."""
    names = [row.model for row in found.models if row.wins + row.losses + row.ties]
    columns: Columns = [("model", "Win rate of", "text"), *((f"against {name}", name, "share") for name in names)]
    rates = {(pair.model_a, pair.model_b): pair.win_rate_a for pair in found.pairs}
    rows: list[dict[str, Cell]] = []
    for name in names:
        cells: dict[str, Cell] = {"model": name}
        for other in names:
            turned = rates.get((other, name))
            cells[f"against {other}"] = rates.get((name, other), None if turned is None else 1 - turned)
        rows.append(cells)
    return _table("matrix", "Win rate of row over column, ties left out", columns, rows)


def _pairs(found: Analysis) -> DataTable:
    columns: Columns = (
        ("model_a", "A", "text"),
        ("model_b", "B", "text"),
        ("n", "Segments", "count"),
        ("wins_a", "A wins", "count"),
        ("wins_b", "B wins", "count"),
        ("ties", "Ties", "count"),
        ("tie_share", "Ties", "share"),
        ("win_rate_a", "Win rate of A", "share"),
        *_INTERVAL,
        ("p_clustered", "p (clustered)", "p"),
        ("p_clustered_holm", "Holm", "p"),
        ("p_value", "p (paper's χ²)", "p"),
        ("p_holm", "Holm", "p"),
    )
    return _table("pairs", "Pairs of bots", columns, [row.model_dump() for row in found.pairs])


def _tests(found: Analysis) -> DataTable:
    columns: Columns = (
        ("model_a", "A", "text"),
        ("model_b", "B", "text"),
        ("log_hazard_ratio", "Log hazard ratio of B", "number"),
        ("ci_low", "low", "number"),
        ("ci_high", "high", "number"),
        ("p_clustered", "p (clustered)", "p"),
        ("p_clustered_holm", "Holm", "p"),
        ("p_value", "p (score test)", "p"),
        ("p_holm", "Holm", "p"),
        ("p_zhao_sun", "p (Zhao & Sun, the paper's)", "p"),
        ("p_zhao_sun_holm", "Holm", "p"),
        ("p_permutation", "p (permutation)", "p"),
        ("p_permutation_holm", "Holm", "p"),
    )
    rows = [
        {**row.model_dump(exclude={"models"}), "model_a": row.models[0], "model_b": row.models[1]}
        for row in found.tests
    ]
    note = "Above 0: B is spotted sooner. One step from 0: too small where the difference is large."
    return _table("tests", "Is one spotted sooner? All pairs of bots", columns, rows, note)


def _features(found: Analysis) -> DataTable:
    columns: Columns = (
        ("model", "Model", "text"),
        ("feature", "Feature", "text"),
        ("win_rate", "Win rate", "share"),
        *_INTERVAL,
        ("effect", "Effect (log hazard ratio)", "number"),
        ("effect_low", "low", "number"),
        ("effect_high", "high", "number"),
        ("p_clustered", "p (clustered)", "p"),
        ("p_clustered_holm", "Holm", "p"),
        ("p_dialogue", "p (by dialogue)", "p"),
        ("p_value", "p (the paper's)", "p"),
        ("p_holm", "Holm", "p"),
    )
    rows = [row.model_dump() for row in found.features]
    return _table("features", "Features, and their effect on being spotted", columns, rows, "Below 0: survives longer.")


def _labels(found: Analysis) -> DataTable:
    """The paper's Table 3."""
    columns: list[tuple[str, str, str]] = [("model", "Model", "text")]
    for label in LABELS:
        columns += [(label, label.capitalize(), "share"), (f"{label}_low", "low", "share")]
        columns += [(f"{label}_high", "high", "share"), (f"{label}_n", "n", "count")]
    rows: list[dict[str, Cell]] = []
    for model in models_of(found.labels):
        cells: dict[str, Cell] = {"model": model}
        for row in found.labels:
            if row.model == model:
                cells |= {row.label: row.share, f"{row.label}_low": row.ci_low, f"{row.label}_high": row.ci_high}
                cells[f"{row.label}_n"] = row.either
        rows.append(cells)
    return _table("labels", "Pairs of raters who both gave the label, of those of whom one did", columns, rows)


def _stability(found: Analysis) -> DataTable:
    columns: Columns = (
        ("left_out", "Without", "text"),
        ("dialogues", "Dialogues of each pair", "count"),
        ("stability", "Most frequent ranking", "share"),
        ("as_all", "Ranking of all data", "share"),
    )
    rows: list[dict[str, Cell]] = [
        {"left_out": row.left_out or "none", "dialogues": n, "stability": share, "as_all": same}
        for row in found.stability
        for n, share, same in zip(row.dialogues, row.stability, row.as_all, strict=True)
    ]
    return _table("stability", "Stability of the ranking", columns, rows)


def _seconds(found: Analysis) -> DataTable:
    columns: Columns = (
        ("kind", "Dialogues", "text"),
        ("k", "Exchanges", "text"),
        ("n", "Segments", "count"),
        ("median_seconds", "Median time", "seconds"),
    )
    rows: list[dict[str, Cell]] = [
        {
            "kind": "all" if row.kind is None else row.kind.replace("_", "–"),
            "k": "any" if row.k is None else str(row.k),
            "n": row.n,
            "median_seconds": row.median_seconds,
        }
        for row in found.seconds
    ]
    return _table("seconds", "Time to judge a segment", columns, rows)
