"""What a document says of the data beside its statistics: designs, questions, set-up, raters, versions."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import datetime, timezone
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd

from parlai_humaneval import __version__
from parlai_humaneval._util.arrays import Flags
from parlai_humaneval.report.document import (
    AttentionChecks,
    Design,
    DialogueCount,
    Facts,
    Flagged,
    ModelFact,
    Question,
    Raters,
    SettingFact,
    Statement,
    TaskFacts,
)
from parlai_humaneval.report.section import Options
from parlai_humaneval.tables.build import Tables
from parlai_humaneval.tables.filters import finished, is_set, median, rater_kinds, unique

HUMAN = "human"
"""In segments the people whose dialogues were judged; in other tables a model may have this name."""
Cell = tuple[str, str, str]
"""Technique, setting, metric; empty where a table does not say."""

_MODEL_COLUMNS = {
    "turns": ("model",),
    "comparisons": ("model_a", "model_b"),
    "ratings": ("model",),
    "segments": ("model", "opponent"),
}
"""Tables of answers; ``points`` repeats turns."""


def models_in(tables: Tables) -> set[str]:
    """Every model that was rated; people whose dialogues were rated are none."""
    return {name for table, columns in _MODEL_COLUMNS.items() for name in _model_names(getattr(tables, table), table)}


def designs_of(tables: Tables) -> list[Design]:
    """Sorted by technique, setting and metric."""
    rows: dict[Cell, dict[str, int]] = {}
    models: dict[Cell, set[str]] = {}
    workers: dict[Cell, set[str]] = {}
    for table, columns in _MODEL_COLUMNS.items():
        for cell, own in _cells(getattr(tables, table)[["technique", "setting", "metric", "worker_id", *columns]]):
            rows.setdefault(cell, {})[table] = len(own)
            models.setdefault(cell, set()).update(_model_names(own, table))
            workers.setdefault(cell, set()).update(map(str, own["worker_id"].unique()))
    return [
        Design(
            technique=cell[0],
            setting=cell[1],
            metric=cell[2],
            models=sorted(models[cell]),
            workers=len(workers[cell]),
            tables=rows[cell],
        )
        for cell in sorted(rows)
    ]


def _cells(frame: pd.DataFrame) -> Iterator[tuple[Cell, pd.DataFrame]]:
    keys = frame[["technique", "setting", "metric"]].fillna("").astype(str)
    for cell, own in frame.groupby([keys["technique"], keys["setting"], keys["metric"]], sort=True):
        technique, setting, metric = map(str, cell)
        yield (technique, setting, metric), own


def _model_names(frame: pd.DataFrame, table: str) -> Iterator[str]:
    for column in _MODEL_COLUMNS[table]:
        for cell in frame[column].dropna().unique():
            yield from (name for name in str(cell).split(";") if table != "segments" or name != HUMAN)


_TURN = ["dialogue_id", "worker_id", "turn"]
LIBRARIES = ("numpy", "scipy", "pandas", "statsmodels", "scikit-learn", "matplotlib")


def facts_of(
    tables: Tables,
    options: Options,
    *,
    title: str,
    task: TaskFacts | None = None,
    notes: tuple[str, ...] = (),
    now: datetime | None = None,
) -> Facts:
    """Facts of ``tables``; ``task`` adds what only the database of tasks knows: practice, and who was left out.

    Args:
        tables: as the sections get them.
        options: of the sections.
        title: names the study, in a few words.
        task: what the database knows of the same answers, if they come from there.
        notes: what a reader must know of how the document was made.
        now: date of the document; None: the present.
    """
    return Facts(
        title=title,
        made=(now or datetime.now(timezone.utc)).isoformat(timespec="seconds"),
        tasks=_tasks(tables, task),
        from_task=task is not None,
        techniques=_techniques(tables, task),
        include_partial=options.include_partial,
        models=_models(tables),
        questions=_questions(tables),
        statements=_statements(tables),
        designs=designs_of(tables),
        settings=settings_of(tables),
        raters=_raters(tables, options, task),
        excluded=None if task is None else task.excluded,
        flagged=_flagged(tables, options.include_partial),
        repeats=list(tables.repeats),
        notes=[*notes, *(one.words for one in tables.cleaned)],
        seed=options.seed,
        draws=options.draws,
        level=options.level,
        versions=_versions(),
    )


def _tasks(tables: Tables, task: TaskFacts | None) -> list[str]:
    told = {name for frame in (tables.dialogues, tables.judgements) for name in unique(frame["task_name"])}
    return sorted(told) or ([] if task is None else task.tasks)


def _techniques(tables: Tables, task: TaskFacts | None) -> list[str]:
    found = sorted({name for frame in _frames(tables) for name in unique(frame["technique"])})
    return found or ([task.technique] if task is not None and task.technique else [])


def _frames(tables: Tables) -> list[pd.DataFrame]:
    return [
        tables.dialogues,
        tables.judgements,
        tables.turns,
        tables.comparisons,
        tables.ratings,
        tables.segments,
        tables.points,
    ]


def _versions() -> dict[str, str]:
    found = {"parlai-humaneval": __version__, "Python": ".".join(map(str, sys.version_info[:3]))}
    return found | {name: metadata.version(name) for name in LIBRARIES}


def _models(tables: Tables) -> list[ModelFact]:
    known: dict[str, ModelFact] = {}
    for text in unique(tables.dialogues["model_settings"]):
        for model in _list(text):
            if isinstance(model, dict) and "name" in model:
                wanted = {key: model[key] for key in ("name", "description", "source", "options") if model.get(key)}
                known.setdefault(str(model["name"]), ModelFact(**wanted))
    names = sorted({*known, *models_in(tables)})
    return [known.get(name, ModelFact(name=name)) for name in names]


def _questions(tables: Tables) -> list[Question]:
    asked: dict[tuple[str, str, str], None] = {}
    for frame in (
        tables.dialogues,
        tables.turns,
        tables.comparisons,
        tables.judgements[~is_set(tables.judgements, "gold")],
    ):
        rows = frame.loc[frame["question"].notna(), ["technique", "metric", "question"]].drop_duplicates()
        for technique, metric, question in rows.fillna("").itertuples(index=False):
            for line in str(question).split("\n"):
                asked.setdefault((str(technique), str(metric), line))
    return [Question(technique=technique, metric=metric, text=text) for technique, metric, text in sorted(asked)]


def _statements(tables: Tables) -> list[Statement]:
    found: dict[tuple[str, str], Statement] = {}
    columns = ["criterion", "statement", "scale", "minimum", "maximum"]
    rows = tables.ratings.loc[tables.ratings["statement"].notna(), columns].drop_duplicates()
    for criterion, text, scale, low, high in rows.itertuples(index=False):
        found[str(criterion), str(text)] = Statement(
            criterion=str(criterion), text=str(text), scale=_text(scale), minimum=_number(low), maximum=_number(high)
        )
    for listed in unique(tables.dialogues["turn_criteria"]):
        for one in _list(listed):
            name, text = str(one.get("name", "")), str(one.get("text", ""))
            found.setdefault((name, text), Statement(criterion=name, text=text, scale=str(one.get("scale", ""))))
    return [found[key] for key in sorted(found)]


def settings_of(tables: Tables) -> list[SettingFact]:
    """The settings of each technique and setting, as they were launched; nothing where the tables do not say."""
    found = []
    for frame in (tables.dialogues, tables.judgements):
        rows = frame[frame["settings"].notna()].assign(setting=frame["setting"].fillna(""))
        for (technique, setting, text), own in rows.groupby(["technique", "setting", "settings"], sort=True):
            values = _object(str(text))
            if values:
                fact = SettingFact(technique=str(technique), setting=str(setting), values=values, units=len(own))
                found.append(fact)
    return found


def _raters(tables: Tables, options: Options, task: TaskFacts | None) -> Raters:
    dialogues, gold = tables.dialogues, is_set(tables.judgements, "gold")
    judgements, checks = tables.judgements[~gold], tables.judgements[gold]
    complete = dialogues[is_set(dialogues, "complete")]
    units = pd.concat([dialogues["worker_id"], judgements["worker_id"]]).value_counts()
    days = sorted(str(day)[:10] for day in pd.concat([dialogues["started"], tables.judgements["started"]]).dropna())
    answered = _turns(tables)
    begun = dialogues["n_turns_started"].fillna(dialogues["n_turns"])
    kinds = rater_kinds(tables)
    return Raters(
        workers=kinds.workers,
        workers_finished=kinds.workers - _unfinished_workers(dialogues, judgements),
        simulated=kinds.simulated,
        people=kinds.people,
        dialogues=_status_count(_status(dialogues)) if len(dialogues) else None,
        turns=answered,
        turns_not_answered=max(0, int(begun.sum()) - (answered or 0)) if len(dialogues) else None,
        judgements=_status_count(judgements["status"]) if len(tables.judgements) else None,
        items=int(judgements["item_id"].nunique()) if len(judgements) else None,
        dialogues_shown=int(judgements["dialogues"].str.split(";").explode().nunique()) if len(judgements) else None,
        attention_checks=_attention(checks) if len(checks) else None,
        practice=None if task is None else task.practice,
        units_per_worker_median=float(units.median()) if len(units) else None,
        units_per_worker_most=int(units.max()) if len(units) else None,
        median_turn_seconds=_median_turn(tables.turns, options.include_partial),
        median_dialogue_seconds=median(complete["seconds"]),
        median_judgement_seconds=median(
            judgements[judgements["status"].eq("complete").to_numpy(dtype=bool)]["seconds"]
        ),
        first_day=days[0] if days else "",
        last_day=days[-1] if days else "",
    )


def _median_turn(turns: pd.DataFrame, include_partial: bool) -> float | None:
    """Over turns in which something was asked: others are answered at once by the program, in 0 s."""
    counts = finished(turns) | include_partial
    first_hand = turns["judgement_id"].isna().to_numpy(dtype=bool)
    rows = turns[[*_TURN, "seconds"]][counts & _asked_turns(turns) & first_hand]
    return median(rows.drop_duplicates(_TURN)["seconds"])


def _asked_turns(turns: pd.DataFrame) -> Flags:
    several = turns.duplicated(["dialogue_id", "worker_id", "judgement_id", "turn"], keep=False).to_numpy(dtype=bool)
    choice = several & ~is_set(turns, "continued_each") & ~is_set(turns, "automatic")
    return np.asarray(choice | turns["tick_choices"].notna().to_numpy(dtype=bool), dtype=bool)


def _attention(checks: pd.DataFrame) -> AttentionChecks:
    failed = ~is_set(checks, "gold_passed", missing=1)
    return AttentionChecks(
        passed=int(is_set(checks, "gold_passed").sum()),
        failed=int(failed.sum()),
        not_answered=int(checks["gold_passed"].isna().sum()),
        workers_failing=int(checks[failed]["worker_id"].nunique()),
    )


def _status_count(status: pd.Series[Any]) -> DialogueCount:
    counts = status.value_counts()
    return DialogueCount(**{name: int(counts.get(name, 0)) for name in DialogueCount.model_fields})


def _status(dialogues: pd.DataFrame) -> pd.Series[Any]:
    return dialogues["status"].fillna(dialogues["complete"].map({1: "complete", 0: "partial"}))


def _turns(tables: Tables) -> int | None:
    """Answered ones; a table of turns from elsewhere, without its dialogues, holds answered ones only."""
    if len(tables.dialogues):
        return int(tables.dialogues["n_turns"].sum())
    if not len(tables.turns):
        return None
    own = is_set(tables.turns, "complete", missing=1) & tables.turns["own_worker"].isna().to_numpy(dtype=bool)
    return len(tables.turns[_TURN][own].drop_duplicates())


def _unfinished_workers(dialogues: pd.DataFrame, judgements: pd.DataFrame) -> int:
    begun = pd.concat([dialogues["worker_id"], judgements["worker_id"]])
    ended = [_is_complete(_status(dialogues)), _is_complete(judgements["status"])]
    done = begun[np.concatenate(ended)]
    return len(set(begun.dropna()) - set(done))


def _is_complete(status: pd.Series[Any]) -> Flags:
    """What tables from elsewhere do not call unfinished is complete."""
    return status.fillna("complete").eq("complete").to_numpy(dtype=bool)


def _flagged(tables: Tables, include_partial: bool) -> list[Flagged]:
    """Checks that raters failed, in dialogues and judgements that count; attention checks are no judgements."""
    dialogues, judgements = tables.dialogues, tables.judgements[~is_set(tables.judgements, "gold")]
    counting = [
        dialogues[_is_complete(_status(dialogues)) | include_partial],
        judgements[_is_complete(judgements["status"])],
    ]
    units = pd.concat([frame[["worker_id", "checks_failed"]] for frame in counting])
    rows = units[units["checks_failed"].notna()]
    exploded = rows.assign(check=rows["checks_failed"].astype(str).str.split(";")).explode("check")
    return [
        Flagged(
            check=str(check),
            units=len(failed),
            workers=int(failed["worker_id"].nunique()),
            of_units=len(units),
            of_workers=int(units["worker_id"].nunique()),
        )
        for check, failed in exploded.groupby("check", sort=True)
    ]


def _list(text: str) -> Iterator[Any]:
    """Entries of a JSON list; nothing where the text, which may come from anywhere, is none."""
    value = _json(text)
    yield from (one for one in value if isinstance(one, dict)) if isinstance(value, list) else ()


def _object(text: str) -> dict[str, Any]:
    value = _json(text)
    return value if isinstance(value, dict) else {}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _text(value: Any) -> str:
    return "" if pd.isna(value) else str(value)


def _number(value: Any) -> float | None:
    return None if pd.isna(value) or not np.isfinite(float(value)) else float(value)
